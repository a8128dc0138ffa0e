//! Differences between lock files, and upgrades, as Markdown for a pull request.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use provlock::diagnostic::words::first_few;
use provlock::diagnostic::{Diagnostic, Severity};

use super::coverage;
use super::diff::{self, FileDiff, nothing_differs};
use super::foreign::safe_line;
use super::issue::Issue;
use super::style::{count, group_by_key, joined_with_and};
use super::table::{Cell, Piece, Table, TableRow, code_span};
use super::upgrade::{self, EditText, MoveGroup};
use super::verify::Verification;

/// GitHub allows 65,536 characters in a comment; the folded hashes are omitted near that limit.
const LENGTH_LIMIT: usize = 60_000;

/// A section for each file that differs, one for all files with the same changes, or one line if no
/// file differs.
pub(crate) fn sections_of_files(files: &[FileDiff<'_>]) -> String {
    let changed: Vec<_> = files.iter().filter(|file| !file.is_empty()).collect();
    if changed.is_empty() {
        return format!("{}.\n", nothing_differs(files));
    }
    let text = sections(&changed, |file| markdown_table(file) + &folded_hashes(file));
    if text.chars().count() <= LENGTH_LIMIT {
        return text;
    }
    sections(&changed, markdown_table)
        + "\nThe hashes are too many to be listed here; `provlock diff --format json` has them.\n"
}

fn markdown_table(file: &FileDiff<'_>) -> String {
    let with_unchanged = false;
    diff::entry_table(file, with_unchanged).markdown(LENGTH_LIMIT)
}

/// The sections of files. Files with the same content share one.
fn sections(files: &[&FileDiff<'_>], content: impl Fn(&FileDiff<'_>) -> String) -> String {
    let groups = group_by_key(
        files
            .iter()
            .map(|file| (content(file), code_span(&file.path.display().to_string()))),
    );
    let mut sections = Vec::new();
    for (content, paths) in groups {
        sections.push(match &paths[..] {
            [path] => format!("#### {path}\n\n{content}"),
            paths => format!(
                "#### {} lock files\n\n{}\n\n{content}",
                paths.len(),
                first_few(paths)
            ),
        });
    }
    sections.join("\n")
}

/// Returns the summary of a job: facts about the run, and a table of the findings and failures.
pub(crate) fn job_summary(causes: &[Diagnostic], verification: Verification<'_>) -> String {
    let mut numbers = verification.numbers_in_words();
    if !verification.errors.is_empty() {
        let failures = count(verification.errors.len(), "failed check");
        numbers = joined_with_and([numbers, failures].iter().filter(|part| !part.is_empty()));
    }
    let title = if numbers.is_empty() {
        "nothing was found"
    } else {
        numbers.as_str()
    };
    let mut lines = vec![verification.run.line()];
    lines.extend(coverage::lines_by_kind(verification.coverage));
    lines.extend(verification.lines_about_not_checked());
    let mut text = format!("#### provlock verify: {title}\n\n");
    for line in lines {
        text += &code_span(&verification.invocation.secrets.redact(&line));
        text += "\n\n";
    }
    if causes.is_empty() {
        return text;
    }
    let table = Table {
        header: vec!["level", "finding", "first place"],
        rows: causes
            .iter()
            .map(|cause| finding_row(cause, verification))
            .collect(),
    };
    text + &table.markdown(LENGTH_LIMIT) + "\n"
}

/// The row of a finding or failure.
fn finding_row(finding: &Diagnostic, verification: Verification<'_>) -> TableRow {
    let issue = Issue::in_report_by_root(finding, None, verification);
    let level = match issue.severity {
        Severity::Error => Piece::Strong(issue.severity.to_string()),
        _ => Piece::Own(issue.severity.to_string()),
    };
    let code = Piece::Foreign(issue.code.to_string());
    let mut position = String::new();
    if let Some(first) = issue.positions.first() {
        position = format!("{}:{}", first.path, first.start.0);
    }
    TableRow {
        cells: vec![
            Cell::new([level, code]),
            Cell::new(issue.lines().into_iter().map(Piece::Foreign)),
            Cell::foreign(position),
        ],
        ..TableRow::default()
    }
}

/// Returns the description of a pull request: providers and modules that move and that are held
/// back, and rewritten constraints. With `with_roots`, the root modules are shown.
pub(crate) fn pull_request_text(
    groups: &[MoveGroup<'_>],
    edits: &BTreeSet<EditText>,
    with_roots: bool,
) -> String {
    let mut sections = Vec::new();
    if groups.iter().all(|group| group.first.allowed().is_empty()) {
        sections.push("Nothing can move.\n".to_owned());
    }
    for table in upgrade::make_tables(groups, with_roots) {
        sections.push(table.markdown(LENGTH_LIMIT));
    }
    if !edits.is_empty() {
        let mut rows = Vec::new();
        for edit in edits {
            let cells = [&edit.position(), &edit.old, &edit.new].map(Cell::foreign);
            rows.push(TableRow {
                cells: cells.into(),
                ..TableRow::default()
            });
        }
        let table = Table {
            header: vec!["constraint", "from", "to"],
            rows,
        };
        sections.push(table.markdown(LENGTH_LIMIT));
    }
    sections.join("\n")
}

/// The added and removed hashes, folded.
fn folded_hashes(file: &FileDiff<'_>) -> String {
    let mut lines = String::new();
    let mut total = 0;
    for row in &file.rows {
        let removed = &row.hashes.removed;
        let added = &row.hashes.added;
        if removed.is_empty() && added.is_empty() {
            continue;
        }
        total += removed.len() + added.len();
        // Each line starts with a sign, so that none can end the code block.
        let _ = writeln!(lines, "@@ {} @@", safe_line(&row.name));
        for hash in removed {
            let _ = writeln!(lines, "- {}", safe_line(hash.as_str()));
        }
        for hash in added {
            let _ = writeln!(lines, "+ {}", safe_line(hash.as_str()));
        }
    }
    if total == 0 {
        return String::new();
    }
    let summary = count(total, "hash");
    format!(
        "\n<details>\n<summary>{summary} added or removed</summary>\n\n```diff\n{lines}```\n\n</details>\n"
    )
}
