//! Edits of configuration files: only the text inside a string changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::diagnostic::{Location, SourceFile};
use crate::system::files::{FileChange, canonical_or_given};

/// A new text for a constraint list, or for a part of the source of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintEdit {
    /// The text between the quotes.
    pub location: Location,
    /// The text after the edit.
    pub new: String,
}

/// The contents of the files that edits change, each file once even where several paths lead to it.
pub fn files<'a>(edits: impl IntoIterator<Item = &'a ConstraintEdit>) -> Vec<FileChange> {
    let mut by_file: BTreeMap<PathBuf, Vec<&ConstraintEdit>> = BTreeMap::new();
    for edit in edits {
        let path = edit.location.path();
        by_file
            .entry(canonical_or_given(path))
            .or_default()
            .push(edit);
    }
    by_file.into_values().filter_map(file).collect()
}

/// One file with its edits, in which an edit may be repeated.
fn file(mut edits: Vec<&ConstraintEdit>) -> Option<FileChange> {
    edits.sort_by_key(|edit| edit.location.span.start);
    edits.dedup_by_key(|edit| edit.location.span.start);
    let SourceFile { path, text, .. } = &*edits.first()?.location.file;
    let mut new = String::with_capacity(text.len() + 16);
    let mut copied = 0;
    for edit in &edits {
        new.push_str(&text[copied..edit.location.span.start]);
        new.push_str(&edit.new);
        copied = edit.location.span.end;
    }
    new.push_str(&text[copied..]);
    Some(FileChange {
        path: path.clone(),
        old: Some(text.clone().into_bytes()),
        new: new.into_bytes(),
    })
}

/// The text between the quotes of a string that may be edited, or why it may not be.
pub(crate) fn editable_string(written: &Location) -> Result<Location, &'static str> {
    // The text is that of the file only if every byte of the file could be read as text.
    if written.file.text.contains(char::REPLACEMENT_CHARACTER) {
        return Err("its file is not UTF-8");
    }
    let value = written
        .file
        .text
        .get(written.span.clone())
        .unwrap_or_default();
    let text = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match text {
        Some(text) if !text.contains(['"', '\\', '$', '%', '\n', '\r']) => Ok(Location::new(
            &written.file,
            written.span.start + 1..written.span.end - 1,
        )),
        _ => Err("it is not a plain string"),
    }
}
