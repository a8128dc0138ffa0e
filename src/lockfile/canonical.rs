//! The form in which a lock file is written: for providers `SaveLocksToBytes` in OpenTofu's
//! `internal/depsfile/locks_file.go`, for modules the same with other attributes.

use std::fmt::Write as _;

use crate::provider::Dialect;

use super::entry_kind::{EntryKind, LocksOf};

/// The header with its line breaks.
pub(super) fn header<T: EntryKind>(dialect: Dialect) -> String {
    T::header(dialect)
        .into_iter()
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// The text of a lock file with `locks`: for providers, the bytes that OpenTofu or Terraform would
/// write.
pub fn canonical_text<T: EntryKind>(locks: &LocksOf<T>, dialect: Dialect) -> String {
    let mut text = header::<T>(dialect);
    for (address, locked) in locks {
        text.push('\n');
        push_block::<T>(&mut text, address, locked);
    }
    text
}

/// Writes one entry in canonical form, with its final line break.
pub(super) fn push_block<T: EntryKind>(text: &mut String, address: &T::Address, locked: &T) {
    text.extend([T::BLOCK, " "]);
    push_quoted(text, &address.to_string());
    text.push_str(" {\n");

    // OpenTofu aligns the equals signs of values on one line. The list of hashes is not aligned.
    let values = locked.attributes();
    let mut attributes = Vec::new();
    for (rule, value) in T::ATTRIBUTES.iter().zip(&values) {
        if let Some(value) = value {
            attributes.push((rule.name, value));
        }
    }
    let longest_name = attributes.iter().map(|(name, _)| name.len()).max();
    let width = longest_name.unwrap_or_default();
    for (name, value) in attributes {
        let _ = write!(text, "  {name:width$} = ");
        push_quoted(text, value);
        text.push('\n');
    }

    if !locked.hashes().is_empty() {
        text.push_str("  hashes = [\n");
        for hash in locked.hashes() {
            text.push_str("    ");
            push_quoted(text, hash.as_str());
            text.push_str(",\n");
        }
        text.push_str("  ]\n");
    }
    text.push_str("}\n");
}

/// Writes a string literal that HCL reads back as `value`, with the escapes that OpenTofu writes.
fn push_quoted(text: &mut String, value: &str) {
    text.push('"');
    // Without an early end, the compiler checks many bytes at a time.
    if value
        .bytes()
        .fold(true, |all, byte| all & stands_for_itself(byte))
    {
        // Nearly every address and hash is such a text.
        text.push_str(value);
    } else {
        push_escaped(text, value);
    }
    text.push('"');
}

/// Whether a byte is written without an escape.
fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'$' | b'%')
}

/// Adds a value as it is written between the quotes of a string of HCL.
fn push_escaped(text: &mut String, value: &str) {
    let mut characters = value.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            // Before a brace they would start a template.
            '$' | '%' if characters.peek() == Some(&'{') => text.extend([c, c]),
            c if is_printable(c) => text.push(c),
            c if u32::from(c) < 0x10000 => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(text, "\\U{:08x}", u32::from(c));
            }
        }
    }
}

/// Whether OpenTofu writes a character without an escape: letters, marks, numbers, punctuation,
/// symbols and the space.
fn is_printable(c: char) -> bool {
    // `escape_debug` keeps exactly these, except three that never get here, and marks at the start
    // of a text.
    c.is_ascii_graphic() || c == ' ' || format!("x{c}").escape_debug().count() == 2
}
