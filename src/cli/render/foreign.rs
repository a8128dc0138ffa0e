//! Text from outside: from registries, mirrors, archives, lock files, configurations, names of
//! files, the environment, git and helper programs. All output passes through these functions.
//!
//! Every format hides secrets and limits lengths. Control characters and commands are escaped for a
//! terminal and for the runner of a workflow, which would execute them.

use std::fmt::Write as _;

use provlock::diagnostic::words::count;
use provlock::diagnostic::{Diagnostic, Label};
use provlock::system::Secrets;
use serde_json::Value;

use super::help::Invocation;

/// The longest text that is shown, in characters.
const LONGEST_TEXT: usize = 4000;
/// Maximum number of notes, and of positions, of a diagnostic.
const MOST_PARTS: usize = 100;
/// Marks of commands that the runners of GitHub and Azure Pipelines obey anywhere in a line.
const COMMAND_MARKS: [&str; 2] = ["##[", "##vso["];

/// A diagnostic that is safe to show: without secrets, with a limited length, and without text of
/// files outside of the repository.
pub(crate) fn safe_to_show(diagnostic: &Diagnostic, invocation: &Invocation) -> Diagnostic {
    let Diagnostic {
        message,
        labels,
        notes,
        ..
    } = diagnostic;
    let mut safe_labels: Vec<Label> = Vec::new();
    for label in labels.iter().take(MOST_PARTS) {
        let label = safe_label(label, invocation);
        if !safe_labels.contains(&label) {
            safe_labels.push(label);
        }
    }

    // The label in a module is the second one, after the label of the call.
    let mut first_labels = labels.iter().take(2);
    if let Some(outside) = first_labels.find(|label| is_outside(label, invocation)) {
        let path = outside.location.path().display();
        let message = format!("{path} leads out of the repository, so provlock does not quote it");
        let summary = format!("what was found: {}", diagnostic.code.summary());
        return Diagnostic {
            message: safe_text(&message, invocation),
            labels: safe_labels,
            notes: vec![summary],
            help: None,
            ..diagnostic.clone()
        };
    }

    // The errors of git quote files of a repository on this machine, which may be outside.
    let is_git_error_outside = message.contains("the module package git::")
        && invocation.boundary().excludes_package_in(message);
    let notes = if is_git_error_outside { &[][..] } else { notes };
    let mut safe_notes = Vec::new();
    for note in notes.iter().take(MOST_PARTS) {
        safe_notes.push(safe_text(note, invocation));
    }
    for (number, noun) in [
        (labels.len() + diagnostic.more_labels, "place"),
        (notes.len(), "note"),
    ] {
        if number > MOST_PARTS {
            let more = count(number - MOST_PARTS, &format!("more {noun}"));
            safe_notes.push(format!("{more} omitted"));
        }
    }
    Diagnostic {
        message: safe_text(message, invocation),
        labels: safe_labels,
        notes: safe_notes,
        ..diagnostic.clone()
    }
}

/// A text without secrets, with a limited length.
fn safe_text(text: &str, invocation: &Invocation) -> String {
    with_limited_length(&invocation.secrets.redact(text))
}

/// A label, without text if its file is outside of the repository.
fn safe_label(label: &Label, invocation: &Invocation) -> Label {
    if is_outside(label, invocation) {
        Label {
            location: label.location.without_text(),
            text: String::new(),
        }
    } else {
        Label {
            text: safe_text(&label.text, invocation),
            ..label.clone()
        }
    }
}

/// Whether a label shows text of a file outside of the repository.
fn is_outside(label: &Label, invocation: &Invocation) -> bool {
    let file = &label.location.file;
    !file.is_private && !file.text.is_empty() && invocation.boundary().is_outside(&file.path)
}

/// The start of a text that is too long.
pub(crate) fn with_limited_length(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!(
            "{}… ({} more characters)",
            &text[..end],
            text[end..].chars().count()
        ),
        None => text.to_owned(),
    }
}

/// A text on one line without invisible characters and without commands for a terminal or the
/// runner of a workflow.
pub(crate) fn printable(text: &str) -> String {
    without_command_marks(&text.chars().map(escaped).collect::<String>())
}

/// Returns the start of a text that is too long, as [`printable`].
pub(crate) fn safe_line(text: &str) -> String {
    printable(&with_limited_length(text))
}

/// [`printable`] for a text that keeps its lines and tabs.
pub(crate) fn printable_lines(text: &str) -> String {
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\r', '\n']);
        for c in content.chars() {
            if c == '\t' {
                shown.push(c);
            } else {
                shown += &escaped(c);
            }
        }
        shown += &line[content.len()..];
    }
    shown
}

/// A text of the same length without secrets and invisible characters, so that positions in it stay
/// valid.
pub(crate) fn masked(text: &str, secrets: &Secrets) -> String {
    secrets.mask(text).chars().map(without_hidden).collect()
}

/// The character, or one of the same length if it is invisible. The renderer of excerpts shows the
/// other control characters of ASCII as pictures.
fn without_hidden(c: char) -> char {
    match c.len_utf8() {
        _ if c.is_ascii() || !is_hidden(c) => c,
        2 => '·',
        3 => '\u{fffd}',
        _ => '🞄',
    }
}

/// A text without commands for the runner of a workflow: GitHub's looks for `::` at the start of a
/// line and for `##[` anywhere, Azure's for `##vso[`.
pub(crate) fn without_runner_commands(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_runner_command(line) {
            safe += &line.replacen("::", ":\\u{3a}", 1);
        } else {
            safe += line;
        }
    }
    without_command_marks(&safe)
}

/// Whether a line begins with two colons. Excerpts begin with three: the third would belong to the
/// command's name, which no command has.
fn is_runner_command(line: &str) -> bool {
    match line.trim_start().strip_prefix("::") {
        Some(rest) => !rest.starts_with(':'),
        None => false,
    }
}

/// JSON with the same values, without invisible characters and without commands for the runner of a
/// workflow. Outside of texts, JSON contains no such characters except line breaks.
pub(crate) fn escape_hidden_in_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_hidden(c) || c == '\n' {
            escaped.push(c);
            continue;
        }
        // The escapes of JSON are for units of UTF-16.
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    // The runner of a workflow looks for commands in every line of the output.
    for mark in COMMAND_MARKS {
        escaped = escaped.replace(mark, &mark.replacen('#', "\\u0023", 1));
    }
    escaped
}

/// Text in a form that is safe to print: its lines and tabs stay, and so do the styles of this
/// program if the output has them. All other control and invisible characters are escaped.
pub(crate) fn escape_hidden(text: &str, has_styles: bool) -> String {
    let text = without_runner_commands(text);
    if !text.contains(|c| is_hidden(c) && c != '\n') {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\n' | '\t' => 1,
            '\r' if rest.starts_with("\r\n") => 2,
            '\u{1b}' if has_styles => style_length(rest),
            _ => 0,
        };
        if length > 0 {
            shown += &rest[..length];
            rest = &rest[length..];
        } else {
            shown += &escaped(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    shown
}

/// The length of the style or the end of a hyperlink that a text begins with: `ESC [ 31 m`, or `ESC
/// ] 8 ; ; URL ESC \`. 0 if it begins with anything else.
fn style_length(text: &str) -> usize {
    if let Some(parameters) = text.strip_prefix("\u{1b}[") {
        let end = parameters
            .find(|c: char| !c.is_ascii_digit() && c != ';')
            .unwrap_or(parameters.len());
        return if parameters[end..].starts_with('m') {
            end + 3
        } else {
            0
        };
    }
    let Some(link) = text.strip_prefix("\u{1b}]8;;") else {
        return 0;
    };
    match link.find(is_hidden) {
        Some(end) if link[end..].starts_with("\u{1b}\\") => end + 7,
        _ => 0,
    }
}

/// Whether [`escape_hidden`] would not change the text.
pub(crate) fn is_harmless(text: &str) -> bool {
    !text.contains(is_hidden) && without_runner_commands(text) == text
}

/// Leaves secrets out of all texts in a JSON value, and caps their lengths.
pub(crate) fn redact_texts(value: &mut Value, secrets: &Secrets) {
    match value {
        Value::String(text) => *text = with_limited_length(&secrets.redact(text)),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| redact_texts(item, secrets)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| redact_texts(member, secrets)),
        _ => {}
    }
}

fn without_command_marks(text: &str) -> String {
    COMMAND_MARKS.iter().fold(text.to_owned(), |text, mark| {
        text.replace(mark, &mark.replacen('#', "\\u{23}", 1))
    })
}

fn escaped(c: char) -> String {
    match c {
        '\n' | '\r' | '\t' => c.escape_default().to_string(),
        c if is_hidden(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    }
}

/// Whether a character controls the terminal or is invisible: controls, directions of bidirectional
/// text (Unicode Standard Annex 9), and characters without a width (`Default_Ignorable_Code_Point`
/// in `DerivedCoreProperties`), except variation selectors.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use provlock::diagnostic::{Code, Location};
    use provlock::system::Token;

    use super::*;

    fn secrets() -> Secrets {
        let secrets = Secrets::default();
        secrets.learn(&Token::new("s3cr3t-token").unwrap());
        secrets
    }

    #[test]
    fn nothing_invisible_is_obeyed() {
        for (text, shown) in [
            ("plain ~> 5.0 — é 日本 🦀", "plain ~> 5.0 — é 日本 🦀"),
            ("a\u{1b}[31mb\r\n\tc", "a\\u{1b}[31mb\\r\\n\\tc"),
            ("\u{9b}31m\u{85}", "\\u{9b}31m\\u{85}"),
            (
                "\u{202e}a\u{2066}b\u{200b}c\u{feff}",
                "\\u{202e}a\\u{2066}b\\u{200b}c\\u{feff}",
            ),
            (
                "\u{2028}\u{e0041}\u{ad}\u{3164}",
                "\\u{2028}\\u{e0041}\\u{ad}\\u{3164}",
            ),
            (
                "x ##[group]a ##vso[task]b",
                "x \\u{23}#[group]a \\u{23}#vso[task]b",
            ),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(
            printable_lines("\ta\r\n\u{1b}b\rc\n"),
            "\ta\r\n\\u{1b}b\\rc\n"
        );
        let masked = masked("é\u{85}\u{202e}\u{e0041}s3cr3t-token\t", &secrets());
        assert_eq!(masked, "é·\u{fffd}🞄************\t");
    }

    #[test]
    fn no_line_is_a_command() {
        for (text, shown) in [
            ("::error::x\n", ":\\u{3a}error::x\n"),
            ("a\n  \u{a0}::add-mask::x", "a\n  \u{a0}:\\u{3a}add-mask::x"),
            (" ::: main.tf:5:17\na::b", " ::: main.tf:5:17\na::b"),
            ("1 | ##[add-mask]x", "1 | \\u{23}#[add-mask]x"),
        ] {
            assert_eq!(without_runner_commands(text), shown);
        }
        let hidden = "##[x]##vso[y]\u{7f}\u{9b}\u{202e}\u{e0041}";
        let json = escape_hidden_in_json(&serde_json::json!({ "a": hidden }).to_string());
        assert!(
            !json.contains("##[") && !json.contains("##vso[") && !json.contains(is_hidden),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["a"], hidden);
    }

    #[test]
    fn only_styles_are_written_as_they_are() {
        let styled =
            "\u{1b}[1;31mred\u{1b}[0m \u{1b}]8;;https://a.test\u{1b}\\a\u{1b}]8;;\u{1b}\\\r\n\tb\n";
        assert_eq!(escape_hidden(styled, true), styled);
        assert_eq!(escape_hidden("\u{1b}[31ma\n", false), "\\u{1b}[31ma\n");
        for (text, shown) in [
            ("\u{1b}[2Ja\rb", "\\u{1b}[2Ja\\rb"),
            ("\u{1b}]0;title\u{7}\u{8}", "\\u{1b}]0;title\\u{7}\\u{8}"),
            (
                "\u{1b}]8;;x\u{7}\u{9b}31m\u{1b}[",
                "\\u{1b}]8;;x\\u{7}\\u{9b}31m\\u{1b}[",
            ),
            ("\u{202e}\u{1b}", "\\u{202e}\\u{1b}"),
        ] {
            assert_eq!(escape_hidden(text, true), shown);
        }
    }

    #[test]
    fn positions_omitted_here_or_before_are_one_number() {
        let place = |line: usize| Location::of_file(format!("{line}.tf"));
        let error = (0..MOST_PARTS + 2).fold(Diagnostic::error(Code::Io, "no"), |error, line| {
            error.at_location(place(line))
        });
        let shown = safe_to_show(
            &Diagnostic {
                more_labels: 5,
                ..error
            },
            &Invocation::new(None),
        );
        assert_eq!(
            (shown.labels.len(), shown.notes),
            (MOST_PARTS, vec!["7 more places omitted".to_owned()])
        );
    }

    #[test]
    fn secrets_are_hidden_before_text_is_shortened() {
        let long = "a".repeat(LONGEST_TEXT - 3);
        let error = Diagnostic::error(Code::Io, format!("{long}s3cr3t-token {long}"));
        let error = (0..102).fold(error, |error, _| error.note("my s3cr3t-token"));
        let mut invocation = Invocation::new(None);
        invocation.secrets = secrets();
        let shown = safe_to_show(&error, &invocation);
        assert!(
            !shown.message.contains("s3c") && shown.message.ends_with("more characters)"),
            "{}",
            shown.message
        );
        assert_eq!(
            (shown.notes.len(), shown.notes[99].as_str()),
            (101, "my [redacted]")
        );
        assert_eq!(shown.notes[100], "2 more notes omitted");
        let mut value =
            serde_json::json!({ "a": ["s3cr3t-token", { "b": format!("{long}s3cr3t-token") }] });
        redact_texts(&mut value, &secrets());
        assert_eq!(value["a"][0], "[redacted]");
        assert!(!value.to_string().contains("s3c"));
    }
}
