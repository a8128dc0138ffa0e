//! `explain`: what a code means and what to do about it.

use std::fmt::Write as _;

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use provlock::diagnostic::Code;

use super::outcome::Outcome;
use crate::cli::render::json::{Explanation, Output};
use crate::cli::render::pages;
use crate::cli::ui::Ui;

/// Explain the code of a finding or error
#[derive(Args)]
#[command(before_help = "Example: provlock explain hash-not-published")]
pub(crate) struct ExplainArgs {
    /// The code, as in error[CODE] [default: list all codes]
    #[arg(value_name = "CODE", hide_possible_values = true, value_parser = parser())]
    code: Option<Code>,
}

/// Accepts the codes, proposes the nearest one for any other, and gives completions.
fn parser() -> impl clap::builder::TypedValueParser<Value = Code> {
    let names = Code::ALL.iter().map(|code| code.as_str());
    let code = |name: String| Code::ALL.iter().copied().find(|code| code.as_str() == name).ok_or("unknown code");
    PossibleValuesParser::new(names).try_map(code)
}

pub(crate) fn run(arguments: &ExplainArgs, ui: &Ui) -> Outcome {
    let codes = arguments.code.as_ref().map_or(Code::ALL, std::slice::from_ref);
    if ui.is_json() {
        let explanations = codes.iter().map(|code| Explanation::new(*code)).collect();
        ui.print_json(&Output { explanations, ..ui.output(&[], &[]) });
    } else {
        ui.print(&arguments.code.map_or_else(list, page));
    }
    Outcome::Done
}

/// What a code means, what to do about it, and how to suppress it.
fn page(code: Code) -> String {
    let suppression = pages::suppression(code).map_or_else(String::new, |sentence| format!("\n{sentence}\n"));
    format!("{code}: {}\n\n{}\n{suppression}", code.summary(), pages::page(code))
}

/// Every code with its summary, a line each.
fn list() -> String {
    let width = Code::ALL.iter().map(|code| code.as_str().len()).max().unwrap_or_default();
    Code::ALL.iter().fold(String::new(), |mut text, code| {
        _ = writeln!(text, "{:width$}  {}", code.as_str(), code.summary());
        text
    })
}
