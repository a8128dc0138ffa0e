//! Text for a terminal: lines are no wider than the terminal, except for parts that must stay whole.

use std::borrow::Cow;

use console::strip_ansi_codes;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Breaks the lines that are wider than a terminal: between the cells of a row, or otherwise between words. The
/// following lines are indented. A path stays whole, and so do commands and excerpts of files, which users copy.
pub(crate) fn fitted(text: &str, columns: Option<usize>) -> Cow<'_, str> {
    let Some(columns) = columns.filter(|columns| *columns > 0) else { return text.into() };
    if text.lines().all(|line| textwrap::core::display_width(line) <= columns) {
        return text.into();
    }
    let lines: Vec<_> = text.split('\n').map(|line| fitted_line(line, columns)).collect();
    lines.join("\n").into()
}

fn fitted_line(line: &str, columns: usize) -> String {
    if is_excerpt(&strip_ansi_codes(line)) {
        return line.to_owned();
    }
    let (indent, rest) = line.split_at(line.len() - line.trim_start_matches([' ', '│', '├', '└', '─']).len());
    // The lines of a tree continue.
    let next = indent.replace('├', "│").replace(['└', '─'], " ") + "  ";
    let options = |separate| {
        let options = Options::new(columns).break_words(false).word_splitter(WordSplitter::NoHyphenation);
        let options = options.wrap_algorithm(WrapAlgorithm::FirstFit).word_separator(WordSeparator::Custom(separate));
        options.subsequent_indent(&next)
    };
    let rows = textwrap::wrap(rest, options(cells).initial_indent(indent));
    let lines = rows.iter().flat_map(|row| match row.strip_prefix(&next).or_else(|| row.strip_prefix(indent)) {
        Some(rest) => textwrap::wrap(rest, options(words).initial_indent(&row[..row.len() - rest.len()])),
        None => vec![row.clone()],
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a line is part of an excerpt of a file, or contains its position.
fn is_excerpt(line: &str) -> bool {
    let line = line.trim_start();
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    after_number.starts_with('|') || ["-->", ":::", "..."].iter().any(|arrow| line.starts_with(arrow))
}

/// The cells of a row, which are further apart than words.
fn cells(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    split(line, "  ")
}

/// Words. A proposed command is one word.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mark = if strip_ansi_codes(line).starts_with("help: ") { " provlock " } else { ": provlock " };
    let Some((before, command)) = line.split_once(mark) else { return split(line, " ") };
    let end = [", ", "; "].iter().filter_map(|end| command.find(end)).min().map_or(command.len(), |end| end + 2);
    let (start, after) = line.split_at(before.len() + mark.len() - "provlock ".len());
    let (command, after) = after.split_at("provlock ".len() + end);
    Box::new(split(start, " ").chain([Word::from(command)]).chain(split(after, " ")))
}

/// Parts between gaps, each with the spaces after it.
fn split<'a>(text: &'a str, gap: &'static str) -> Box<dyn Iterator<Item = Word<'a>> + 'a> {
    let mut rest = text;
    Box::new(std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(gap).map_or(rest.len(), |start| start + spaces(&rest[start..]));
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(Word::from(word))
    }))
}

fn spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn lines_fit_a_terminal() {
        for (text, expected) in [
            ("short\n", "short\n"),
            ("warning[a-code]: some words that are too many\n", "warning[a-code]: some words\n  that are too many\n"),
            ("  + acme/alpha   1.0.0   signed   1 h1, 2 zh", "  + acme/alpha   1.0.0\n    signed   1 h1, 2 zh"),
            (
                "├── module.vpc   ./modules/vpc/versions.tf:5\nend",
                "├── module.vpc\n│     ./modules/vpc/versions.tf:5\nend",
            ),
            ("└── module.vpc   ./modules/vpc.tf:5", "└── module.vpc\n      ./modules/vpc.tf:5"),
            (
                "help: either relax it: provlock lock --prune -C live",
                "help: either relax it:\n  provlock lock --prune -C live",
            ),
            ("see: provlock lock -p linux_amd64,a, or else", "see:\n  provlock lock -p linux_amd64,a,\n  or else"),
            ("help: make one with provlock lock -r", "help: make one with\n  provlock lock -r"),
            ("12 | version = \"of an excerpt of a file\"", "12 | version = \"of an excerpt of a file\""),
            ("   --> a directory/with spaces.tf:5:10", "   --> a directory/with spaces.tf:5:10"),
            ("an/absolute/path/that/is/too/long.tf ok", "an/absolute/path/that/is/too/long.tf\n  ok"),
            ("\u{1b}[1mred words that are too\u{1b}[0m so many", "\u{1b}[1mred words that are too\u{1b}[0m so\n  many"),
        ] {
            assert_eq!(fitted(text, Some(28)), expected);
            assert_eq!(fitted(text, None), text);
        }
    }
}
