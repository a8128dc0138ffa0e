//! Differences between lock files as Markdown, for a comment on a pull request.
//!
//! Whatever comes from a file is shown as code, in which GitHub and GitLab see neither markup nor mentions.

use std::fmt::Write as _;

use provlock::hash::Hash;
use provlock::lockfile::{Change, Direction, LockedProvider, ProviderDiff};

use super::diff::{FileDiff, hashes, replaced, step_name};
use super::lock::count_hashes;
use super::style::count;

/// GitHub takes 65,536 characters in a comment; the folded hashes are left out of anything near that.
const LENGTH_LIMIT: usize = 60_000;

/// A section for each file that differs, or one line saying that none does.
pub(crate) fn render(files: &[FileDiff]) -> String {
    let changed: Vec<_> = files.iter().filter(|file| !file.difference.is_empty()).collect();
    if changed.is_empty() {
        return format!("No provider differs in {}.\n", count(files.len(), "lock file"));
    }
    let section = |file: &&FileDiff, details: bool| {
        let path = code(&file.path.display().to_string());
        format!("#### {path}\n\n{}{}", table(file), if details { folded_hashes(file) } else { String::new() })
    };
    let with_hashes: Vec<_> = changed.iter().map(|file| section(file, true)).collect();
    let text = with_hashes.join("\n");
    if text.chars().count() <= LENGTH_LIMIT {
        return text;
    }
    let without: Vec<_> = changed.iter().map(|file| section(file, false)).collect();
    without.join("\n") + "\nThe hashes are too many to be listed here; `provlock diff --format json` has them.\n"
}

fn table(file: &FileDiff) -> String {
    let mut text = "| | Provider | Version | Change | Constraints | Hashes |\n|---|---|---|---|---|---|\n".to_owned();
    for provider in file.difference.changes() {
        let cells = [
            symbol(provider).to_owned(),
            cell(&provider.address.short(file.dialect)),
            old_and_new(provider, |entry| entry.version.to_string()),
            change(provider),
            old_and_new(provider, |entry| entry.constraints.to_string()),
            hash_cell(provider),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

fn symbol(provider: &ProviderDiff) -> &'static str {
    match provider.change {
        _ if replaced(provider).is_some() => "**!**",
        Change::Added => "**+**",
        Change::Changed => "**~**",
        Change::Removed => "**−**",
        Change::Unchanged => "",
    }
}

fn change(provider: &ProviderDiff) -> String {
    let Some(moved) = provider.version_move() else {
        return match provider.change {
            Change::Added => "added".to_owned(),
            Change::Removed => "removed".to_owned(),
            Change::Changed | Change::Unchanged => String::new(),
        };
    };
    match moved.direction {
        Direction::Upgrade => format!("{} upgrade", step_name(moved.step)),
        Direction::Downgrade => format!("**{} downgrade**", step_name(moved.step)),
    }
}

fn old_and_new(provider: &ProviderDiff, value: impl Fn(&LockedProvider) -> String) -> String {
    let text = |entry: &Option<LockedProvider>| entry.as_ref().map(&value).unwrap_or_default();
    let (old, new) = (text(&provider.old), text(&provider.new));
    match (provider.change, old.as_str(), new.as_str()) {
        (Change::Removed, _, _) => cell(&old),
        (Change::Added, _, _) => cell(&new),
        _ if old == new => cell(&new),
        (_, _, "") => format!("{} removed", cell(&old)),
        (_, "", _) => cell(&new),
        _ => format!("{} → {}", cell(&old), cell(&new)),
    }
}

fn hash_cell(provider: &ProviderDiff) -> String {
    let warning = replaced(provider).map(|what| format!("**{what}**"));
    warning.into_iter().chain(hashes(provider)).collect::<Vec<_>>().join("; ")
}

/// The hashes that came and went, folded away.
fn folded_hashes(file: &FileDiff) -> String {
    let mut lines = String::new();
    let mut total = 0;
    for provider in file.difference.changes() {
        let (removed, added) = (provider.hashes_removed(), provider.hashes_added());
        if removed.is_empty() && added.is_empty() {
            continue;
        }
        total += removed.len() + added.len();
        // Each line starts with a sign, so that none can end the code block.
        let _ = writeln!(lines, "@@ {} @@", visible(&provider.address.short(file.dialect)));
        let line = |sign: char, hash: &Hash| format!("{sign} {}\n", visible(hash.as_str()));
        lines.extend(removed.into_iter().map(|hash| line('-', hash)));
        lines.extend(added.into_iter().map(|hash| line('+', hash)));
    }
    if total == 0 {
        return String::new();
    }
    let summary = count_hashes(total);
    format!("\n<details>\n<summary>{summary} added or removed</summary>\n\n```diff\n{lines}```\n\n</details>\n")
}

/// Code in a table's cell; an empty text stays empty.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// A code span between more backticks than the text has in a row (`CommonMark` 0.31, section 6.1).
fn code(text: &str) -> String {
    let text = visible(text);
    if text.is_empty() {
        return text;
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The text on one line, with characters that hide or reorder others made visible.
fn visible(text: &str) -> String {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if hides(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
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
        assert_eq!(code("a\n# b\u{202e}"), "`a\\u{a}# b\\u{202e}`");
    }
}
