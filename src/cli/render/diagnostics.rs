//! Diagnostics as text, in the layout of the Rust compiler's.

use std::collections::BTreeMap;
use std::ops::Range;

use annotate_snippets::renderer::DEFAULT_TERM_WIDTH;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use provlock::diagnostic::{Diagnostic, Label, Severity};

use super::foreign::{masked, printable, safe_to_show};
use super::help::Invocation;
use super::pages;
use super::style::{TextStyle, count};

/// Most errors, and most warnings, that are shown of one file.
const MOST_OF_A_FILE: usize = 100;

/// Number of bytes before and after a position that are shown of a long line; terminals show fewer.
const FARTHEST: usize = 1000;

/// Renders diagnostics, each without a final newline. If very many are about one file, only the
/// number of the last ones is shown.
pub(crate) fn render_all<'a>(
    list: impl IntoIterator<Item = &'a Diagnostic>,
    invocation: &Invocation,
    style: TextStyle,
) -> Vec<String> {
    // Of each file and severity, the number of diagnostics, and what diagnostics that are not shown
    // left out themselves.
    let mut numbers_by_file: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    let mut texts = Vec::new();
    for diagnostic in list {
        if let Some(label) = diagnostic.labels.first() {
            let (number, left_out) = numbers_by_file
                .entry((label.location.path(), diagnostic.severity))
                .or_default();
            *number += 1;
            if *number > MOST_OF_A_FILE {
                *left_out += diagnostic.left_out;
                continue;
            }
        }
        texts.push(render(diagnostic, invocation, style));
    }
    for ((path, severity), (number, left_out)) in numbers_by_file {
        if number <= MOST_OF_A_FILE {
            continue;
        }
        let more = count(
            number - MOST_OF_A_FILE + left_out,
            &format!("more {severity}"),
        );
        let listed = if left_out == 0 { "all" } else { "more" };
        texts.push(printable(&format!(
            "and {more} in {}; --json lists {listed}",
            path.display()
        )));
    }
    texts
}

/// Returns a diagnostic as it is shown in a terminal: message, excerpts of files, notes and help.
fn render(diagnostic: &Diagnostic, invocation: &Invocation, style: TextStyle) -> String {
    let diagnostic = &safe_to_show(&invocation.with_user_paths(diagnostic), invocation);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut title = level
        .primary_title(printable(&diagnostic.message))
        .id(diagnostic.code.as_str());
    if style.hyperlinks
        && let Some(page) = pages::url(diagnostic.code)
    {
        title = title.id_url(page);
    }
    let mut group = Group::with_title(title);

    let primary = diagnostic.labels.first();
    for nearby in diagnostic.labels.chunk_by(are_near) {
        let file = &nearby[0].location.file;
        // No line of a file with tokens is shown, only its position. A file as a whole has no text
        // here, and an empty line would not be its first.
        if file.is_private || file.text.is_empty() {
            group = with_positions(group, nearby, invocation);
        } else {
            group = with_excerpt(group, nearby, primary, invocation);
        }
    }
    for note in diagnostic.all_notes() {
        group = group.element(Level::NOTE.no_name().message(printable(&note)));
    }

    let renderer = if style.color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let renderer = renderer.term_width(style.columns.unwrap_or(DEFAULT_TERM_WIDTH));
    let Some(help) = invocation.help(diagnostic) else {
        return renderer.render(&[group]);
    };
    let help_group = Group::with_title(Level::HELP.secondary_title(printable(&help)));
    // Rendered together, the two would be connected by a line, which belongs to an excerpt.
    if diagnostic.labels.is_empty() {
        let text = renderer.render(&[group]);
        return text + "\n" + &renderer.render(&[help_group]);
    }
    renderer.render(&[group, help_group])
}

/// Adds the positions of labels, with their texts, without an excerpt.
fn with_positions<'a>(
    mut group: Group<'a>,
    labels: &[Label],
    invocation: &Invocation,
) -> Group<'a> {
    for label in labels {
        group = group.element(origin(label, invocation));
        if !label.text.is_empty() {
            group = group.element(Level::NOTE.no_name().message(printable(&label.text)));
        }
    }
    group
}

/// Adds an excerpt of a file with nearby labels. `primary` is the first label of the diagnostic.
fn with_excerpt<'a>(
    mut group: Group<'a>,
    labels: &[Label],
    primary: Option<&Label>,
    invocation: &Invocation,
) -> Group<'a> {
    let first = &labels[0];
    let file = &first.location.file;
    let range = excerpt_range(&file.text, labels.iter().map(span_on_one_line));
    let text = masked(&file.text[range.clone()], &invocation.secrets);
    let (first_line, _) = file.line_column(range.start);
    let mut snippet = Snippet::source(text).fold(true).line_start(first_line);

    let starts_a_line = range.start == 0 || file.text.as_bytes()[range.start - 1] == b'\n';
    if starts_a_line {
        snippet = snippet.path(path_of(first, invocation));
    } else {
        // From a part of a line the renderer cannot compute the column.
        group = group.element(origin(first, invocation));
    }
    for label in labels {
        let is_primary = primary.is_some_and(|primary| std::ptr::eq(primary, label));
        let kind = if is_primary {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        let span = span_on_one_line(label);
        let mut annotation = kind.span(span.start - range.start..span.end - range.start);
        let text = printable(&label.text);
        if !text.is_empty() {
            annotation = annotation.label(text);
        }
        snippet = snippet.annotation(annotation);
    }
    group.element(snippet)
}

fn path_of(label: &Label, invocation: &Invocation) -> String {
    let path = invocation.user_file_path(label.location.path());
    printable(&path.display().to_string())
}

/// The position of a label, without an excerpt.
fn origin(label: &Label, invocation: &Invocation) -> Origin<'static> {
    let (line, column) = label.location.line_column();
    Origin::path(path_of(label, invocation))
        .line(line)
        .char_column(column)
}

/// Whether positions are shown in one excerpt, because they are near each other.
fn are_near(a: &Label, b: &Label) -> bool {
    let file = &a.location.file;
    if *file != b.location.file {
        return false;
    }
    let mut starts = [span_on_one_line(a).start, span_on_one_line(b).start];
    starts.sort_unstable();
    let between = starts[0]..starts[1];
    between.len() <= 64 * FARTHEST
        && file.text[between]
            .lines()
            .all(|line| line.len() <= FARTHEST)
}

/// The part of a text with the lines of the spans, or with parts of long lines: the renderer reads
/// its whole input several times.
fn excerpt_range(text: &str, spans: impl Iterator<Item = Range<usize>>) -> Range<usize> {
    let mut start = text.len();
    let mut end = 0;
    for span in spans {
        start = start.min(span.start);
        end = end.max(span.end);
    }
    // A position after the last line break is shown on the line before.
    if start == text.len() {
        start = text.trim_end_matches('\n').len();
    }
    let from = text.floor_char_boundary(start.saturating_sub(FARTHEST));
    let to = text.ceil_char_boundary(end.saturating_add(FARTHEST).min(text.len()));
    let line_start = text[from..start]
        .rfind('\n')
        .map_or(from, |newline| from + newline + 1);
    let line_end = text[end..to]
        .find('\n')
        .map_or(to, |length| end + length + 1);
    line_start..line_end
}

/// A span that the renderer can show: within the text and on one line.
fn span_on_one_line(label: &Label) -> Range<usize> {
    let text = &label.location.file.text;
    let start = text.floor_char_boundary(label.location.span.start.min(text.len()));
    let end = text.floor_char_boundary(
        label
            .location
            .span
            .end
            .clamp(start, start.saturating_add(FARTHEST))
            .min(text.len()),
    );
    let end = text[start..end]
        .find(['\n', '\r'])
        .map_or(end, |length| start + length);
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use provlock::diagnostic::{Code, Location, SourceFile};

    use super::*;

    const PLAIN: TextStyle = TextStyle {
        color: false,
        hyperlinks: false,
        columns: None,
        verbose: false,
    };

    fn render(diagnostic: &Diagnostic) -> String {
        super::render(diagnostic, &Invocation::new(None), PLAIN)
    }

    #[test]
    fn only_the_lines_in_question_are_rendered_and_keep_their_numbers() {
        let file = SourceFile::new("main.tf", "a\n".repeat(41) + "first = 1\r\nb\nsecond\n");
        let place = |text: &str| {
            let start = file.text.find(text).unwrap();
            Location::new(&file, start..start + text.len())
        };
        let both = Diagnostic::error(Code::Io, "twice")
            .at(place("second"), "here")
            .at(place("first"), "and there");
        let expected = "error[io]: twice\n  --> main.tf:44:1\n   |\n42 | first = 1\n   | ----- and there\n43 | b\n\
                        44 | second\n   | ^^^^^^ here";
        assert_eq!(render(&both), expected);
        let end = Diagnostic::error(Code::Io, "end")
            .at_location(Location::new(&file, file.text.len()..file.text.len()));
        assert_eq!(
            render(&end),
            "error[io]: end\n  --> main.tf:44:8\n   |\n44 | second\n   |       ^"
        );
    }

    #[test]
    fn of_a_file_as_a_whole_no_line_is_rendered() {
        let whole = Diagnostic::error(Code::Io, "gone").at(Location::of_file("a.tf"), "here");
        let expected = "error[io]: gone\n--> a.tf:1:1\n = here";
        assert_eq!(render(&whole), expected);
    }

    #[test]
    fn of_a_long_line_a_part_is_rendered() {
        let file = SourceFile::new(
            "main.tf.json",
            "\n{".to_owned() + &"\u{e9}, ".repeat(10_000) + "?" + &", 1".repeat(10_000),
        );
        let at = file.text.find('?').unwrap();
        let error =
            Diagnostic::error(Code::Io, "no").at(Location::new(&file, at..file.text.len()), "what");
        let text = render(&error.at(Location::new(&file, 0..1), "first"));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[..3],
            ["error[io]: no", " --> main.tf.json:2:30002", "  |"],
            "{text}"
        );
        let shown = lines
            .iter()
            .find_map(|line| line.strip_prefix("2 | ..."))
            .unwrap_or_default();
        assert!(
            shown.contains(", ?, 1, 1") && shown.ends_with("..."),
            "{text}"
        );
        assert!(
            text.contains("main.tf.json:1:1\n") && text.len() < 1000,
            "{text}"
        );
    }

    #[test]
    fn of_very_many_in_one_file_the_last_are_counted() {
        let file = SourceFile::new("main.tf", "a\n".repeat(200));
        let other = SourceFile::new("other.tf", "a\n");
        let at = |file, line: usize| {
            Diagnostic::error(Code::Io, "no")
                .at_location(Location::new(file, 2 * line..2 * line + 1))
        };
        let mut list: Vec<_> = (0..102).map(|line| at(&file, line)).collect();
        list.push(at(&other, 0));
        list.extend((0..101).map(|line| Diagnostic {
            severity: Severity::Warning,
            ..at(&file, line)
        }));
        list.extend(vec![Diagnostic::error(Code::Io, "nowhere"); 101]);
        list[101].left_out = 5;
        let texts = render_all(&list, &Invocation::new(None), PLAIN);
        assert_eq!(texts.len(), 100 + 1 + 100 + 101 + 2);
        assert!(
            texts[99].contains("main.tf:100:1") && texts[100].contains("other.tf:1:1"),
            "{texts:#?}"
        );
        let ends = [
            "and 1 more warning in main.tf; --json lists all",
            "and 7 more errors in main.tf; --json lists more",
        ];
        assert_eq!(texts[texts.len() - 2..], ends);
    }
}
