//! Repair of values in a form that no tool of the lock file's format writes: OpenTofu and Terraform
//! refuse them, or rewrite them with their next change. Bots leave such values.

use std::path::Path;

use super::edit;
use super::entry_kind::EntryKind;
use super::lock_file::{Entry, LockFileOf};
use super::parse::{parse_as, values_to_repair};
use super::raw_entry::ValueRepair;
use crate::diagnostic::words::count;
use crate::diagnostic::{Diagnostics, Location, Result};
use crate::provider::Dialect;

/// A lock file in canonical form, and its changes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Repaired {
    /// Bytes of the repaired file.
    pub bytes: Vec<u8>,
    /// Changes in file order; empty if the file needs none.
    pub repairs: Vec<Repair>,
}

/// A repaired value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// Position of the old value.
    pub location: Location,
    /// Description of the change, such as `the constraints of acme/gamma: ">=1" → ">= 1.0.0"`.
    pub change: String,
}

/// Rewrites addresses, versions and constraints that are not canonical, and lists of hashes that
/// are unsorted or contain a hash twice. Every version and every hash stays, and an entry without
/// such values stays byte for byte.
///
/// # Errors
/// The file has other faults, which are reported as by [`parse_as`].
pub fn repair_as<T: EntryKind>(path: &Path, bytes: &[u8], dialect: Dialect) -> Result<Repaired> {
    let (file, values) = values_to_repair::<T>(path, bytes, dialect);
    let mut repairs: Vec<_> = values
        .iter()
        .map(|value| Repair {
            location: Location::new(&file, value.span.clone()),
            change: value.change.clone(),
        })
        .collect();

    // With canonical values the file is read by the strict rules.
    let canonical = if values.is_empty() {
        bytes.to_vec()
    } else {
        let mark = bytes.len() - file.text.len();
        [
            &bytes[..mark],
            with_new_values(&file.text, &values).as_bytes(),
        ]
        .concat()
    };
    let parsed = parse_as::<T>(path, &canonical, dialect);
    let Some(lock_file) = parsed.lock_file else {
        return Err(parsed.diagnostics.into_iter().collect::<Diagnostics>());
    };

    for entry in lock_file.entries() {
        repairs.extend(repair_of_order(entry, dialect));
    }
    repairs.sort_by_key(|repair| repair.location.span.start);
    Ok(Repaired {
        bytes: bytes_with_sorted_hashes(&lock_file)?,
        repairs,
    })
}

/// The bytes of a lock file with sorted hashes.
fn bytes_with_sorted_hashes<T: EntryKind>(lock_file: &LockFileOf<T>) -> Result<Vec<u8>> {
    if lock_file.entries().iter().all(edit::has_sorted_hashes) {
        return Ok(lock_file.bytes());
    }
    lock_file.with_sorted_hashes()
}

/// Replaces values in a text. All values are string literals.
fn with_new_values(text: &str, values: &[ValueRepair]) -> String {
    let mut sorted: Vec<_> = values.iter().collect();
    sorted.sort_by_key(|value| value.span.start);
    let mut new = String::with_capacity(text.len());
    let mut end = 0;
    for value in sorted {
        new.push_str(&text[end..value.span.start]);
        new.extend(["\"", &value.new, "\""]);
        end = value.span.end;
    }
    new.push_str(&text[end..]);
    new
}

/// The repair of a list of hashes that is unsorted or contains a hash twice; `None` for any other
/// list.
fn repair_of_order<T: EntryKind>(entry: &Entry<T>, dialect: Dialect) -> Option<Repair> {
    let first = entry
        .hashes
        .windows(2)
        .find(|pair| pair[0].0 >= pair[1].0)?;
    let duplicates = entry.hashes.len() - entry.locked.hashes().len();
    let is_sorted = entry.hashes.is_sorted_by(|(one, _), (next, _)| one <= next);
    let removed = format!("{} removed", count(duplicates, "duplicate"));
    let what = match (is_sorted, duplicates) {
        (_, 0) => "sorted".to_owned(),
        (true, _) => removed,
        (false, _) => format!("sorted, {removed}"),
    };
    Some(Repair {
        location: first[1].1.clone(),
        change: format!("the hashes of {}: {what}", T::name(&entry.address, dialect)),
    })
}
