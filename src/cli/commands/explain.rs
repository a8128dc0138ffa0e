//! `explain`: the meaning of a code, and the next step.

use std::fmt::Write as _;

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use provlock::diagnostic::Code;
use serde_json::json;
use textwrap::{Options, WordSplitter};

use crate::cli::args::NoRequestsArgs;
use crate::cli::render::json::Explanation;
use crate::cli::render::pages;
use crate::cli::run::outcome::Outcome;
use crate::cli::ui::{Ui, columns};

/// Explain the code of a finding or error
#[derive(Args)]
#[command(before_help = "Example: provlock explain hash-not-published")]
pub(crate) struct ExplainArgs {
    /// The code, as in error[CODE] [default: list all codes]
    #[arg(value_name = "CODE", hide_possible_values = true, value_parser = parser())]
    code: Option<Code>,
    #[command(flatten)]
    _offline: NoRequestsArgs,
}

/// Accepts the codes, proposes the nearest one for any other, and gives completions.
fn parser() -> impl clap::builder::TypedValueParser<Value = Code> {
    let names = Code::ALL.iter().map(|code| code.as_str());
    PossibleValuesParser::new(names).try_map(|name| {
        for code in Code::ALL {
            if code.as_str() == name {
                return Ok(*code);
            }
        }
        Err("unknown code")
    })
}

pub(crate) fn run(arguments: &ExplainArgs, ui: &Ui) -> Outcome {
    let codes = arguments
        .code
        .as_ref()
        .map_or(Code::ALL, std::slice::from_ref);
    if ui.is_json() {
        let explanations: Vec<_> = codes.iter().map(|code| Explanation::new(*code)).collect();
        ui.print_json(json!({ "explanations": explanations }), &[], &[]);
    } else {
        ui.print(
            &arguments
                .code
                .map_or_else(list, |code| page(code, columns())),
        );
    }
    Outcome::Done
}

/// Returns the meaning of a code, the next step, and the ways to suppress it, in lines of at most
/// `columns` columns.
fn page(code: Code, columns: usize) -> String {
    let mut paragraphs = vec![format!("{code}: {}", code.summary())];
    paragraphs.extend(pages::page(code).split("\n\n").map(unmarked));
    paragraphs.extend(pages::suppression(code));
    // Text to be copied stays whole.
    let options = Options::new(columns)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(&paragraphs.join("\n\n"), options) + "\n"
}

/// Returns a paragraph of Markdown without emphasis, in one line; a list keeps its items.
fn unmarked(paragraph: &str) -> String {
    paragraph
        .replace("**", "")
        .replace("\n- ", "\r- ")
        .replace('\n', " ")
        .replace('\r', "\n")
}

/// Every code with its summary, a line each.
fn list() -> String {
    let width = Code::ALL
        .iter()
        .map(|code| code.as_str().len())
        .max()
        .unwrap_or_default();
    Code::ALL.iter().fold(String::new(), |mut text, code| {
        _ = writeln!(text, "{:width$}  {}", code.as_str(), code.summary());
        text
    })
}
