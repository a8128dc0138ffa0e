//! Differences between lock files, and upgrades, as Markdown for a pull request.
//!
//! Text from files is shown as code, in which GitHub and GitLab see neither markup nor mentions.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use provlock::diagnostic::words::few;
use provlock::diagnostic::{Diagnostic, Severity};
use provlock::lockfile::{Direction, EntryChange};

use super::coverage;
use super::diff::{FileDiff, nothing_differs};
use super::foreign::safe_line;
use super::issue::Issue;
use super::row::{Change, Row};
use super::style::{count, group_by};
use super::upgrade::{Edited, MoveGroup};
use super::verify::{Found, numbers};

/// GitHub allows 65,536 characters in a comment; the folded hashes are omitted near that limit.
const LENGTH_LIMIT: usize = 60_000;

const ROOT_MODULES: &str = "Root modules";

/// A section for each file that differs, one for all files with the same changes, or one line if no file differs.
pub(crate) fn render(files: &[FileDiff]) -> String {
    let changed: Vec<_> = files.iter().filter(|file| !file.is_empty()).collect();
    if changed.is_empty() {
        return format!("{}.\n", nothing_differs(files));
    }
    let text = sections(&changed, |file| table_of_file(file) + &folded_hashes(file));
    if text.chars().count() <= LENGTH_LIMIT {
        return text;
    }
    let text = sections(&changed, table_of_file);
    text + "\nThe hashes are too many to be listed here; `provlock diff --format json` has them.\n"
}

/// The sections of files. Files with the same content share one.
fn sections(files: &[&FileDiff], content: impl Fn(&FileDiff) -> String) -> String {
    let groups = group_by(files.iter().map(|file| (content(file), code(&file.path.display().to_string()))));
    let section = |(content, paths): (String, Vec<String>)| match &paths[..] {
        [path] => format!("#### {path}\n\n{content}"),
        paths => format!("#### {} lock files\n\n{}\n\n{content}", paths.len(), few(paths)),
    };
    groups.into_iter().map(section).collect::<Vec<_>>().join("\n")
}

/// Returns the findings for the summary of a job.
pub(crate) fn findings(causes: &[Diagnostic], found: Found<'_>) -> String {
    let row = |finding: &Diagnostic| {
        let issue = Issue::new(finding, None, found);
        let level = match issue.severity {
            Severity::Error => "**error**",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let position = issue.positions.first().map(|first| cell(&format!("{}:{}", first.path, first.start.0)));
        let help = issue.help.as_ref().map(|help| format!("**help:** {}", cell(help)));
        let text = std::iter::once(&issue.message).chain(&issue.notes).map(|text| cell(text)).chain(help);
        let text = text.collect::<Vec<_>>().join("<br>");
        vec![format!("{level} {}", cell(issue.code.as_str())), text, position.unwrap_or_default()]
    };
    let numbers = numbers(&causes.iter().collect::<Vec<_>>());
    let title = if causes.is_empty() { "nothing was found" } else { numbers.as_str() };
    let lines = coverage::lines(found.coverage);
    let lines = lines.iter().map(|line| code(&found.invocation.secrets.redact(line)) + "\n\n");
    let mut text = format!("#### provlock verify: {title}\n\n{}", lines.collect::<String>());
    if causes.is_empty() {
        return text;
    }
    text += "| | Finding | First place |\n|---|---|---|\n";
    for (index, cells) in causes.iter().map(row).enumerate() {
        let line = format!("| {} |\n", cells.join(" | "));
        if text.len() + line.len() > LENGTH_LIMIT {
            let _ = writeln!(text, "\n{} more causes are not listed here.", causes.len() - index);
            break;
        }
        text += &line;
    }
    text + "\n"
}

/// Returns the description of a pull request: providers and modules that move and that are held back, and rewritten
/// constraints. If `many`, the root modules are shown.
pub(crate) fn upgrade(groups: &[MoveGroup<'_>], edits: &BTreeSet<Edited>, many: bool) -> String {
    let roots = |group: &MoveGroup<'_>| many.then(|| cell_of_roots(group));
    let mut tables = Vec::new();
    for (subject, of_modules) in [("Provider", false), ("Module", true)] {
        let is_moving =
            |group: &&MoveGroup<'_>| group.first.is_of_module() == of_modules && !group.first.allowed().is_empty();
        let moving: Vec<_> = groups.iter().filter(is_moving).collect();
        let has_dates = moving.iter().any(|group| !group.released().is_empty());
        let row = |group: &MoveGroup<'_>| {
            let change = group.change().map(|change| linked(change.to_string(), group.comparison()));
            let allowed = linked(cell(group.first.allowed()), group.release_notes());
            let cells = [cell(&group.first.name), cell(&group.locked()), allowed, change.unwrap_or_default()];
            cells.into_iter().chain(has_dates.then(|| group.released())).chain(roots(group)).collect()
        };
        if !moving.is_empty() {
            let header = [subject, "From", "To", "Change"].into_iter().chain(has_dates.then_some("Released"));
            let header: Vec<_> = header.chain(many.then_some(ROOT_MODULES)).collect();
            tables.push(table(&header, moving.into_iter().map(row)));
        }
    }
    if tables.is_empty() {
        tables.push("Nothing can move.\n".to_owned());
    }
    if !edits.is_empty() {
        let row = |edit: &Edited| vec![cell(&edit.position()), cell(&edit.old), cell(&edit.new)];
        tables.push(table(&["Constraint", "From", "To"], edits.iter().map(row)));
    }
    let held_back: Vec<_> = groups.iter().filter(|group| !group.reasons().is_empty()).collect();
    if !held_back.is_empty() {
        let row = |group: &&MoveGroup<'_>| {
            let version =
                if group.first.allowed().is_empty() { group.locked() } else { group.first.allowed().to_owned() };
            let reasons = group.reasons().iter().map(|reason| cell(reason)).collect::<Vec<_>>().join("<br>");
            let cells = [cell(&group.first.name), cell(&version), cell(&group.first.newest), reasons];
            cells.into_iter().chain(roots(group)).collect()
        };
        let header = ["Held back", "At", "Newest", "By"].into_iter().chain(many.then_some(ROOT_MODULES));
        tables.push(table(&header.collect::<Vec<_>>(), held_back.iter().map(row)));
    }
    tables.join("\n")
}

/// Returns the only root module as code, or the number of root modules.
fn cell_of_roots(group: &MoveGroup<'_>) -> String {
    let roots = group.roots();
    if roots.bytes().all(|byte| byte.is_ascii_digit()) { roots } else { cell(&roots) }
}

/// A text that links to a page, if there is one.
fn linked(text: String, page: Option<String>) -> String {
    match page {
        Some(page) => format!("[{text}]({page})"),
        None => text,
    }
}

/// Returns a table. The cells are Markdown.
fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let name = |name: &&str| if name.is_empty() { " |".to_owned() } else { format!(" {name} |") };
    let names: String = header.iter().map(name).collect();
    let mut text = format!("|{names}\n|{}\n", "---|".repeat(header.len()));
    text.extend(rows.map(|cells| format!("| {} |\n", cells.join(" | "))));
    text
}

fn table_of_file(file: &FileDiff) -> String {
    let subject = if file.subject == "module" { "Module" } else { "Provider" };
    let cells = |row: &Row| {
        let (version, constraints) = (old_and_new(row, &row.version), old_and_new(row, &row.constraints));
        vec![symbol(row).to_owned(), cell(&row.name), version, change(row), constraints, hash_cell(row)]
    };
    table(&["", subject, "Version", "Change", "Constraints", "Hashes"], changes(file).map(cells))
}

fn changes(file: &FileDiff) -> impl Iterator<Item = &Row> {
    file.rows.iter().filter(|row| row.action != EntryChange::Unchanged)
}

fn symbol(row: &Row) -> &'static str {
    match row.action {
        _ if row.replaced.is_some() => "**!**",
        EntryChange::Added => "**+**",
        EntryChange::Changed => "**~**",
        EntryChange::Removed => "**−**",
        EntryChange::Unchanged => "",
    }
}

fn change(row: &Row) -> String {
    match (row.version_change, row.action) {
        (Some(change), _) if change.direction == Direction::Upgrade => format!("{change} upgrade"),
        (Some(change), _) => format!("**{change}**"),
        (None, EntryChange::Added) => "added".to_owned(),
        (None, EntryChange::Removed) => "removed".to_owned(),
        (None, EntryChange::Changed | EntryChange::Unchanged) => String::new(),
    }
}

fn old_and_new(row: &Row, change: &Change<String>) -> String {
    let text = |text: &Option<String>| text.as_deref().map(cell).unwrap_or_default();
    let (old, new) = (text(&change.old), text(&change.new));
    match (row.action, old.as_str(), new.as_str()) {
        (EntryChange::Removed, _, _) => old,
        (EntryChange::Added, _, _) => new,
        _ if old == new => new,
        (_, _, "") => format!("{old} removed"),
        (_, "", _) => new,
        _ => format!("{old} → {new}"),
    }
}

fn hash_cell(row: &Row) -> String {
    let warning = row.replaced.as_ref().map(|what| format!("**{what}**"));
    warning.into_iter().chain(row.hash_changes()).collect::<Vec<_>>().join("; ")
}

/// The added and removed hashes, folded.
fn folded_hashes(file: &FileDiff) -> String {
    let mut lines = String::new();
    let mut total = 0;
    for row in changes(file) {
        let (removed, added) = (&row.hashes.removed, &row.hashes.added);
        if removed.is_empty() && added.is_empty() {
            continue;
        }
        total += removed.len() + added.len();
        // Each line starts with a sign, so that none can end the code block.
        let _ = writeln!(lines, "@@ {} @@", safe_line(&row.name));
        let line = |sign: char, hash: &String| format!("{sign} {}\n", safe_line(hash));
        lines.extend(removed.iter().map(|hash| line('-', hash)));
        lines.extend(added.iter().map(|hash| line('+', hash)));
    }
    if total == 0 {
        return String::new();
    }
    let summary = count(total, "hash");
    format!("\n<details>\n<summary>{summary} added or removed</summary>\n\n```diff\n{lines}```\n\n</details>\n")
}

/// Code in a table's cell; an empty text stays empty.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// A code span between more backticks than the text has in a row (`CommonMark` 0.31, section 6.1).
fn code(text: &str) -> String {
    let text = safe_line(text);
    if text.is_empty() {
        return text;
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_file_cannot_leave_its_code_span() {
        assert_eq!(code("~> 5.0"), "`~> 5.0`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`a"), "`` `a ``");
        assert_eq!(cell("a|b"), "`a\\|b`");
        assert_eq!(cell(""), "");
        assert_eq!(code("a\n# b\u{202e}"), "`a\\n# b\\u{202e}`");
    }
}
