//! Diagnostics as text, in the layout of the Rust compiler's.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use provlock::diagnostic::{Diagnostic, Label, Severity};

use super::style::printable;

/// Renders a diagnostic without a final newline.
pub(crate) fn render(diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = printable(&diagnostic.message);
    let paths: Vec<String> =
        diagnostic.labels.iter().map(|label| label.location.path().display().to_string()).collect();
    let texts: Vec<String> = diagnostic.labels.iter().map(|label| printable(&label.text)).collect();
    let notes: Vec<String> = diagnostic.notes.iter().map(|note| printable(note)).collect();
    let help = diagnostic.help.as_deref().map(printable);

    let mut group = Group::with_title(level.primary_title(title.as_str()).id(diagnostic.code.as_str()));
    let shown: Vec<_> = diagnostic.labels.iter().zip(&paths).zip(&texts).enumerate().collect();
    for same_file in shown.chunk_by(|a, b| a.1.0.0.location.file == b.1.0.0.location.file) {
        let (_, ((first, path), _)) = same_file[0];
        let mut snippet = Snippet::source(first.location.file.text.as_str()).path(path.as_str()).fold(true);
        for (index, ((label, _), text)) in same_file {
            let kind = if *index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            let text = Some(text.as_str()).filter(|text| !text.is_empty());
            snippet = snippet.annotation(kind.span(clamped(label)).label(text));
        }
        group = group.element(snippet);
    }
    for note in &notes {
        group = group.element(Level::NOTE.no_name().message(note.as_str()));
    }
    let mut report = vec![group];
    if let Some(help) = &help {
        report.push(Group::with_title(Level::HELP.secondary_title(help.as_str())));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&report)
}

/// A span that the renderer can show: within the text and on one line.
fn clamped(label: &Label) -> std::ops::Range<usize> {
    let text = &label.location.file.text;
    let start = text.floor_char_boundary(label.location.span.start.min(text.len()));
    let line_end = text[start..].find(['\n', '\r']).map_or(text.len(), |offset| start + offset);
    let end = text.floor_char_boundary(label.location.span.end.min(line_end));
    start..end.max(start)
}
