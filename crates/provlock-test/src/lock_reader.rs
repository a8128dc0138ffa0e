//! A second reader of lock files: hcl-rs, through serde, into plain structs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

/// An entry of a lock file of providers or of modules.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct LockEntry {
    pub source: Option<String>,
    pub version: Option<String>,
    pub constraints: Option<String>,
    pub package: Option<String>,
    pub hashes: BTreeSet<String>,
}

/// Reads the entries of a lock file by label. `block` is `provider` or `module`.
///
/// # Errors
/// Fails if the file is not HCL, or an entry is malformed.
pub fn lock_entries(text: &str, block: &str) -> Result<BTreeMap<String, LockEntry>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // hcl-rs refuses a carriage return in a comment, which OpenTofu and Terraform accept.
    let text = text.replace("\r\n", "\n").replace('\r', " ");
    let mut blocks: BTreeMap<String, hcl::Value> =
        hcl::from_str(&text).map_err(|error| error.to_string())?;
    let entries = blocks
        .remove(block)
        .unwrap_or_else(|| hcl::Value::Object(hcl::Map::new()));
    let mut entries: BTreeMap<String, LockEntry> =
        hcl::from_value(entries).map_err(|error| error.to_string())?;
    // An entry without constraints may have an empty text of them.
    for entry in entries.values_mut() {
        entry.constraints = entry.constraints.take().filter(|text| !text.is_empty());
    }
    Ok(entries)
}

/// Fails unless hcl-rs reads exactly the entries of a lock file, and the hashes that are written
/// without escapes. A file with conflict markers is not HCL and is skipped.
pub fn check_lock_file(path: &Path, text: &str) {
    if text.contains("\n<<<<<<< ") || text.starts_with("<<<<<<< ") {
        return;
    }
    for block in ["provider", "module"] {
        let entries = lock_entries(text, block)
            .unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()));
        let start = format!("{block} \"");
        let labels: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix(&start)?.split('"').next())
            .collect();
        assert_eq!(
            entries.keys().map(String::as_str).collect::<BTreeSet<_>>(),
            labels,
            "{}\n{text}",
            path.display()
        );
        let hashes = entries.values().flat_map(|entry| &entry.hashes);
        let invented: Vec<_> = hashes
            .filter(|hash| is_plain(hash) && !text.contains(&format!("\"{hash}\"")))
            .collect();
        assert_eq!(invented, [""; 0], "{}\n{text}", path.display());
    }
    let read = ["provider", "module"].map(|block| lock_entries(text, block).unwrap_or_default());
    let read: BTreeSet<&str> = read
        .iter()
        .flat_map(BTreeMap::values)
        .flat_map(|entry| &entry.hashes)
        .map(String::as_str)
        .collect();
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
    let lost: Vec<_> = lines
        .filter(|hash| is_plain(hash) && !read.contains(hash))
        .collect();
    assert_eq!(lost, [""; 0], "{}\n{text}", path.display());
}

/// Whether a string is written in HCL as it is, without escapes.
fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'$' | b'%'))
}
