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
use crate::cli::ui::{Ui, prose_columns};

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
        ui.print(&arguments.code.map_or_else(list_of_codes, |code| {
            explanation_page(code, prose_columns())
        }));
    }
    Outcome::Done
}

/// Returns the severity and class of a code, its meaning, and the next steps of the author, the
/// reviewer and the owner, in lines of at most `columns` columns.
fn explanation_page(code: Code, columns: usize) -> String {
    let severity = match pages::severity(code) {
        Some(severity) => severity.to_string(),
        None => "not a finding of verify".to_owned(),
    };
    let mut paragraphs = vec![
        format!("{code}: {}", code.summary()),
        format!("Severity: {severity}\nClass: {}", pages::class(code)),
    ];
    for paragraph in pages::markdown(code).split("\n\n") {
        paragraphs.push(without_markdown(paragraph));
    }
    if let Some(questions) = pages::reviewer_questions(code) {
        paragraphs.push(format!("Reviewer: ask. {}", without_markdown(questions)));
    }
    if let Some(ways) = pages::suppression_list(code) {
        paragraphs.push(format!("Owner: let through, by one of:\n{ways}"));
    }

    // Words that users copy stay whole.
    let options = Options::new(columns)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(&paragraphs.join("\n\n"), options) + "\n"
}

/// Returns a paragraph of Markdown without emphasis and links, in one line. A list keeps its items,
/// and a table its rows.
fn without_markdown(paragraph: &str) -> String {
    let mut text = String::new();
    for line in paragraph.lines().map(str::trim) {
        // The line below the header of a table.
        if line.starts_with("| ---") {
            continue;
        }
        let is_item = line.starts_with("- ") || line.starts_with('|');
        if !text.is_empty() {
            text.push(if is_item { '\n' } else { ' ' });
        }
        text += line.trim_matches('|').trim();
    }
    without_links(&text.replace("**", ""))
}

/// Returns a text with only the words of its links.
fn without_links(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((start, words)) = before.rsplit_once('[') else {
            break;
        };
        let Some((_, following)) = after.split_once(')') else {
            break;
        };
        result += start;
        result += words;
        rest = following;
    }
    result + rest
}

/// Every code with its summary, a line each.
fn list_of_codes() -> String {
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
