//! What `diff` says: one line per provider, one line per provider of a single file, and the difference line by line.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use provlock::dialect::Dialect;
use provlock::hash::{Hash, HashScheme};
use provlock::lockfile::{Change, Direction, LockDiff, LockedProvider, Locks, ProviderDiff, Step};
use sha2::{Digest as _, Sha256};

use super::style::{Color, count, paint, printable};
use crate::cli::ui::{Ui, Verbosity};

/// Two versions of a lock file, compared.
pub(crate) struct FileDiff {
    /// The file's path, as it is shown.
    pub(crate) path: PathBuf,
    pub(crate) dialect: Dialect,
    pub(crate) difference: LockDiff,
}

/// The schemes that are counted, with their names.
pub(super) const SCHEMES: [(HashScheme, &str); 3] =
    [(HashScheme::H1, "h1"), (HashScheme::Zh, "zh"), (HashScheme::Unknown, "other")];

/// The lines for stdout, grouped by file. Unchanged providers are shown when more was asked for.
pub(crate) fn render(files: &[FileDiff], ui: &Ui) -> String {
    let all = ui.verbosity >= Verbosity::Verbose;
    let mut text = String::new();
    for file in files {
        let shown: Vec<_> = file.difference.providers.iter().filter(|p| all || p.change != Change::Unchanged).collect();
        if shown.is_empty() {
            continue;
        }
        let rows: Vec<_> = shown.into_iter().map(|provider| Row::new(provider, file.dialect)).collect();
        let _ = writeln!(text, "{}", printable(&file.path.display().to_string()));
        let width = |cell: fn(&Row) -> &String| rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0);
        let widths = [width(|row| &row.name), width(|row| &row.version), width(|row| &row.step)];
        text.extend(rows.iter().map(|row| row.line(widths, ui.stdout_color) + "\n"));
    }
    text
}

/// What is said when no provider changed.
pub(crate) fn no_difference(files: usize, bytes_differ: bool) -> String {
    let layout = if bytes_differ { "; only comments or layout differ" } else { "" };
    format!("No provider differs in {}{layout}", count(files, "lock file"))
}

/// One provider's line, in columns.
struct Row {
    symbol: &'static str,
    color: Color,
    name: String,
    version: String,
    /// How the version moved; may be empty.
    step: String,
    details: String,
}

impl Row {
    fn new(provider: &ProviderDiff, dialect: Dialect) -> Self {
        let (symbol, color) = match provider.change {
            _ if replaced(provider).is_some() => ("!", Color::Red),
            Change::Added => ("+", Color::Green),
            Change::Changed => ("~", Color::Yellow),
            Change::Removed => ("-", Color::Red),
            Change::Unchanged => ("=", Color::Dim),
        };
        let name = printable(&provider.address.short(dialect));
        let details = printable(&details(provider).join("; "));
        Self { symbol, color, name, version: versions(provider), step: step(provider).unwrap_or_default(), details }
    }

    fn line(&self, [name, version, step]: [usize; 3], color: bool) -> String {
        let step = if self.step.is_empty() { String::new() } else { format!("{:step$}   ", self.step) };
        let symbol = paint(color, self.color, self.symbol);
        let line = format!("  {symbol} {:name$}   {:version$}   {step}{}", self.name, self.version, self.details);
        line.trim_end().to_owned()
    }
}

/// `5.60.0 → 5.82.2`, or the only version that there is.
pub(super) fn versions(provider: &ProviderDiff) -> String {
    let text = |entry: &Option<LockedProvider>| entry.as_ref().map(|entry| entry.version.to_string());
    match (text(&provider.old), text(&provider.new)) {
        (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
        (old, new) => new.or(old).unwrap_or_default(),
    }
}

/// `minor`, `major downgrade`; none when the version stayed.
pub(super) fn step(provider: &ProviderDiff) -> Option<String> {
    let moved = provider.version_move()?;
    let step = step_name(moved.step);
    Some(match moved.direction {
        Direction::Upgrade => step.to_owned(),
        Direction::Downgrade => format!("{step} downgrade"),
    })
}

pub(super) fn step_name(step: Step) -> &'static str {
    match step {
        Step::Major => "major",
        Step::Minor => "minor",
        Step::Patch => "patch",
    }
}

/// What else changed: a warning first, then constraints and hashes.
fn details(provider: &ProviderDiff) -> Vec<String> {
    replaced(provider).into_iter().chain(constraints(provider)).chain(hashes(provider)).collect()
}

/// Hashes that took the place of others while the version stayed: the release was replaced, or somebody changed the file.
pub(super) fn replaced(provider: &ProviderDiff) -> Option<String> {
    if provider.hashes_replaced() {
        return Some("hashes replaced under the same version".to_owned());
    }
    provider.zh_replaced().map(|removed| format!("{removed} zh replaced under the same version"))
}

/// `constraints ~> 4.0 → ~> 5.0`
fn constraints(provider: &ProviderDiff) -> Option<String> {
    let (Some(old), Some(new)) = (&provider.old, &provider.new) else { return None };
    let (old, new) = (old.constraints.to_string(), new.constraints.to_string());
    match (old.as_str(), new.as_str()) {
        _ if old == new => None,
        (_, "") => Some(format!("constraints {old} removed")),
        ("", _) => Some(format!("constraints {new}")),
        _ => Some(format!("constraints {old} → {new}")),
    }
}

/// How many hashes an entry has or how their number changed; for the same version also which way.
pub(super) fn hashes(provider: &ProviderDiff) -> Option<String> {
    let (old, new) = match (&provider.old, &provider.new) {
        (Some(old), Some(new)) => (old, new),
        (None, Some(new)) => return Some(hash_counts(&new.hashes)),
        _ => return None,
    };
    let of_scheme = |(scheme, name): (HashScheme, &str)| {
        let counts = |hash: &&Hash| hash.scheme() == scheme;
        let removed = old.hashes.difference(&new.hashes).filter(counts).count();
        let added = new.hashes.difference(&old.hashes).filter(counts).count();
        let (before, after) = (counted(&old.hashes, scheme), counted(&new.hashes, scheme));
        if old.version == new.version && added > 0 && removed > 0 {
            Some(format!("{name} {added} added, {removed} removed"))
        } else {
            (before != after).then(|| format!("{name} {before} → {after}"))
        }
    };
    let changes: Vec<_> = SCHEMES.into_iter().filter_map(of_scheme).collect();
    (!changes.is_empty()).then(|| changes.join(", "))
}

pub(super) fn counted(hashes: &BTreeSet<Hash>, scheme: HashScheme) -> usize {
    hashes.iter().filter(|hash| hash.scheme() == scheme).count()
}

/// `2 h1, 15 zh`
pub(super) fn hash_counts(hashes: &BTreeSet<Hash>) -> String {
    let counts = SCHEMES.into_iter().map(|(scheme, name)| (counted(hashes, scheme), name));
    let counts: Vec<_> =
        counts.filter(|(number, _)| *number > 0).map(|(number, name)| format!("{number} {name}")).collect();
    if counts.is_empty() { "no hashes".to_owned() } else { counts.join(", ") }
}

/// One line per provider, for `git diff`. The line differs whenever the entry does: it ends with the start of a checksum
/// over the hashes.
pub(crate) fn summary(locks: &Locks) -> String {
    let line = |(address, provider): (&_, &LockedProvider)| {
        let constraints = match provider.constraints.to_string() {
            text if text.is_empty() => String::new(),
            text => format!("  {text}"),
        };
        let hashes = match hash_counts(&provider.hashes) {
            counts if provider.hashes.is_empty() => counts,
            counts => format!("{counts}  #{}", checksum(&provider.hashes)),
        };
        format!("{address}  {}{constraints}  {hashes}\n", provider.version)
    };
    locks.iter().map(line).collect()
}

fn checksum(hashes: &BTreeSet<Hash>) -> String {
    let mut digest = Sha256::new();
    for hash in hashes {
        // A line break cannot make two lists look like one: it is doubled where a hash holds one.
        digest.update(hash.as_str().replace('\n', "\n\n"));
        digest.update("\n");
    }
    digest.finalize()[..4].iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// The change of a file as `diff -u` shows it; empty when there is none. A file that is not there is `/dev/null`.
pub(crate) fn unified(path: &Path, old: Option<&[u8]>, new: Option<&[u8]>, color: bool) -> String {
    let name = path.display().to_string().replace('\\', "/");
    let name = name.trim_start_matches('/');
    let header = |side: &str, bytes: Option<&[u8]>| match bytes {
        Some(_) => format!("{side}/{name}"),
        None => "/dev/null".to_owned(),
    };
    let (old_name, new_name) = (header("a", old), header("b", new));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let difference = similar::TextDiff::from_lines(&*old, &*new);
    let text = difference.unified_diff().header(&old_name, &new_name).to_string();
    if color { text.split_inclusive('\n').map(painted).collect() } else { text }
}

fn painted(line: &str) -> String {
    let color = match line.as_bytes().first() {
        Some(b'+') => Color::Green,
        Some(b'-') => Color::Red,
        Some(b'@') => Color::Dim,
        _ => return line.to_owned(),
    };
    let text = line.trim_end_matches(['\r', '\n']);
    paint(true, color, text) + &line[text.len()..]
}
