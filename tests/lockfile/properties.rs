//! Properties of every edit of a lock file: without a change the file stays the same to the byte,
//! and so does an unchanged entry; a canonical file stays canonical, and an edit repeated changes
//! nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use provlock::lockfile::{LockFileOf, LocksOf, canonical_text, detect_dialect, parse_as};
use provlock::provider::Dialect;
use provlock_test::lock_reader::{LockEntry, lock_entries};

use super::changes;
use super::generated::Sample;
use super::rng::Rng;

/// Result of testing the properties on a file.
pub enum Verdict {
    /// All are fulfilled.
    Kept,
    /// The file cannot be read, for these reasons.
    Refused(Vec<String>),
    /// One is violated.
    Broken(String),
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Tests the properties with the changes that every file is put through and with random ones.
pub fn check_file<T: Sample>(path: &Path, bytes: &[u8], series: u64) -> Verdict {
    let lock_file = match read::<T>(path, bytes) {
        Ok(lock_file) => lock_file,
        Err(problems) => return Verdict::Refused(problems),
    };
    let mut rng = Rng::new(bytes.len() as u64);
    let mut wanted: Vec<LocksOf<T>> = changes::always(&mut rng, lock_file.locks().len())
        .iter()
        .map(|change| changes::apply(lock_file.locks().clone(), change))
        .collect();
    for _ in 0..series {
        wanted.push(
            changes::random(&mut rng, 4)
                .iter()
                .fold(lock_file.locks().clone(), changes::apply),
        );
    }
    let checked = check_unchanged(&lock_file).and_then(|()| {
        wanted
            .iter()
            .try_for_each(|new| check_change(&lock_file, new))
    });
    checked.map_or_else(Verdict::Broken, |()| Verdict::Kept)
}

/// The lock file, or the problem with the file.
pub fn read<T: Sample>(path: &Path, bytes: &[u8]) -> Result<LockFileOf<T>, Vec<String>> {
    let parsed = parse_as(path, bytes, detect_dialect(bytes).unwrap_or_default());
    let problems = parsed.diagnostics.iter().map(|diagnostic| {
        let place = diagnostic
            .labels
            .first()
            .map_or((0, 0), |label| label.location.line_column());
        format!("{}:{}: {}: {diagnostic}", place.0, place.1, diagnostic.code)
    });
    parsed.lock_file.ok_or_else(|| problems.collect())
}

/// Without a change the file is the same to the byte.
pub fn check_unchanged<T: Sample>(lock_file: &LockFileOf<T>) -> Result<(), String> {
    let same = lock_file
        .edit(lock_file.locks())
        .map_err(|error| error.to_string())?;
    require(
        same == lock_file.bytes(),
        "an edit without a change changes the file",
        &same,
    )
}

/// For one change: a canonical file stays canonical, a second edit changes nothing, and comments
/// and line breaks stay.
pub fn check_change<T: Sample>(lock_file: &LockFileOf<T>, new: &LocksOf<T>) -> Result<(), String> {
    let old = &lock_file.bytes()[..];
    let edited = lock_file.edit(new).map_err(|error| error.to_string())?;
    let again = read::<T>(Path::new("edited"), &edited)
        .map_err(|problems| format!("edited: {problems:?}"))?;
    require(
        again.locks() == new,
        "the edited file says something else",
        &edited,
    )?;
    // hcl-rs does not evaluate strings with escaped templates, which no hash or version contains.
    let text = &again.file().text;
    if !text.contains("$${") && !text.contains("%%{") {
        let entries = lock_entries(text, T::BLOCK)
            .map_err(|error| format!("hcl-rs does not read it: {error}: {text}"))?;
        require(entries == plain(new), "hcl-rs reads other entries", &edited)?;
    }
    if let Some(dialect) = canonical_dialect(lock_file) {
        let canonical = canonical_text::<T>(new, dialect);
        require(
            edited == canonical.as_bytes(),
            "a canonical file is no longer canonical",
            &edited,
        )?;
    }
    require(
        again.edit(new).as_ref() == Ok(&edited),
        "a second edit changes the file",
        &edited,
    )?;
    if lock_file.file().text.trim().is_empty() {
        return Ok(());
    }
    let starts = old.starts_with(BYTE_ORDER_MARK) == edited.starts_with(BYTE_ORDER_MARK);
    require(starts, "the byte order mark does not stay", &edited)?;
    let ends = old.ends_with(b"\n") == edited.ends_with(b"\n");
    let is_empty = again.file().text.is_empty();
    require(
        ends || is_empty,
        "the end of the file does not stay",
        &edited,
    )?;
    let (plain, with_return) = line_breaks(old);
    if plain == 0 && with_return > 0 {
        require(line_breaks(&edited).0 == 0, "CRLF does not stay", &edited)?;
    }
    check_other_entries(lock_file, new, &again.file().text)?;
    check_comments(lock_file, new, &edited)
}

/// The block of an entry that does not change stays byte for byte.
fn check_other_entries<T: Sample>(
    lock_file: &LockFileOf<T>,
    new: &LocksOf<T>,
    edited: &str,
) -> Result<(), String> {
    let (before, after) = (blocks::<T>(&lock_file.file().text), blocks::<T>(edited));
    let unchanged = lock_file
        .locks()
        .iter()
        .filter(|(address, entry)| new.get(*address) == Some(*entry));
    for (address, _) in unchanged {
        let label = address.to_string();
        require(
            before.get(&label) == after.get(&label),
            &format!("the entry of {label} changed"),
            edited.as_bytes(),
        )?;
    }
    Ok(())
}

/// The blocks of entries by their labels.
fn blocks<T: Sample>(text: &str) -> BTreeMap<String, &str> {
    // hcl-edit refuses a carriage return in a comment, which HCL allows.
    let mut readable = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let is_lone = character == '\r' && rest.peek() != Some(&'\n');
        readable.push(if is_lone { ' ' } else { character });
    }
    let body = hcl_edit::parser::parse_body(&readable).unwrap();
    let blocks = body
        .iter()
        .filter_map(hcl_edit::structure::Structure::as_block);
    let blocks = blocks.filter(|block| block.ident.as_str() == T::BLOCK);
    blocks
        .map(|block| {
            (
                block.labels[0].as_str().to_owned(),
                &text[hcl_edit::Span::span(block).unwrap()],
            )
        })
        .collect()
}

/// The entries as [`lock_entries`] reads them.
fn plain<T: Sample>(locks: &LocksOf<T>) -> BTreeMap<String, LockEntry> {
    let entry = |locked: &T| {
        let values = T::ATTRIBUTES
            .iter()
            .map(|attribute| attribute.name)
            .zip(locked.attributes());
        let mut values: BTreeMap<_, _> = values
            .map(|(name, value)| (name, value.map(Cow::into_owned)))
            .collect();
        let mut value = |name: &str| values.remove(name).flatten();
        LockEntry {
            source: value("source"),
            version: value("version"),
            constraints: value("constraints"),
            package: value("package"),
            hashes: locked.hashes().iter().map(ToString::to_string).collect(),
        }
    };
    locks
        .iter()
        .map(|(address, locked)| (address.to_string(), entry(locked)))
        .collect()
}

/// Comments stay, except for the comments of removed entries.
fn check_comments<T: Sample>(
    lock_file: &LockFileOf<T>,
    new: &LocksOf<T>,
    edited: &[u8],
) -> Result<(), String> {
    if lock_file
        .locks()
        .keys()
        .any(|address| !new.contains_key(address))
    {
        return Ok(());
    }
    let after = comments(std::str::from_utf8(edited).unwrap());
    for comment in comments(&lock_file.file().text) {
        // A block comment of a removed hash may come to stand in a comment that ends with its line.
        let is_kept = after.iter().any(|kept| kept.contains(comment));
        require(is_kept, &format!("the comment {comment:?} is lost"), edited)?;
    }
    Ok(())
}

fn require(holds: bool, property: &str, edited: &[u8]) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("{property}:\n{}", String::from_utf8_lossy(edited)))
    }
}

/// The dialect in which the file is canonical, if it is.
fn canonical_dialect<T: Sample>(lock_file: &LockFileOf<T>) -> Option<Dialect> {
    let is_canonical = |dialect: &Dialect| {
        canonical_text::<T>(lock_file.locks(), *dialect).as_bytes() == lock_file.bytes()
    };
    [Dialect::Tofu, Dialect::Terraform]
        .into_iter()
        .find(is_canonical)
}

/// Number of line breaks that are `\n`, and that are `\r\n`.
fn line_breaks(bytes: &[u8]) -> (usize, usize) {
    let with_return = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
    (
        bytes.split(|byte| *byte == b'\n').count() - 1 - with_return,
        with_return,
    )
}

/// The comments of a file, without white space at their ends. Written apart from the library's own
/// scanner.
fn comments(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(['"', '#', '/']) {
        rest = &rest[start..];
        let length = if let Some(inside) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = inside.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if let Some(inside) = rest.strip_prefix("/*") {
            // The end of `/*/ a */` is not its third character.
            inside.find("*/").map_or(rest.len(), |end| end + 4)
        } else if rest.starts_with('#') || rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            1
        };
        let (piece, after) = rest.split_at(length);
        if piece.len() > 1 && !piece.starts_with('"') || piece == "#" {
            found.push(piece.trim_end());
        }
        rest = after;
    }
    found
}
