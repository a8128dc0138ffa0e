//! The form in which OpenTofu and Terraform write a lock file: `SaveLocksToBytes` in OpenTofu's
//! `internal/depsfile/locks_file.go`.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::provider::{Dialect, Hash, ProviderAddress};

use super::lock_file::{LockedProvider, Locks};

/// The second line of the header, the same in both dialects.
pub(super) const HEADER_SECOND_LINE: &str = "# Manual edits may be lost in future updates.";

/// The first line of the header.
pub(super) fn header_first_line(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Tofu => "# This file is maintained automatically by \"tofu init\".",
        Dialect::Terraform => "# This file is maintained automatically by \"terraform init\".",
    }
}

/// The header with its line breaks.
pub(super) fn header(dialect: Dialect) -> String {
    format!("{}\n{HEADER_SECOND_LINE}\n", header_first_line(dialect))
}

/// The bytes that OpenTofu or Terraform would write for `locks`.
pub fn canonical_text(locks: &Locks, dialect: Dialect) -> String {
    let mut text = header(dialect);
    for (address, provider) in locks {
        text.push('\n');
        push_block(&mut text, address, provider);
    }
    text
}

/// Writes one `provider` block in canonical form, with its final line break.
pub(super) fn push_block(text: &mut String, address: &ProviderAddress, provider: &LockedProvider) {
    text.push_str("provider ");
    push_quoted(text, &address.to_string());
    text.push_str(" {\n");
    let version = &provider.version;
    if provider.constraints.is_empty() {
        let _ = writeln!(text, "  version = \"{version}\"");
    } else {
        let _ = writeln!(text, "  version     = \"{version}\"\n  constraints = \"{}\"", provider.constraints);
    }
    if !provider.hashes.is_empty() {
        text.push_str("  ");
        push_hashes_attribute(text, &provider.hashes, "  ", "\n");
        text.push('\n');
    }
    text.push_str("}\n");
}

/// `hashes = […]` with one hash on each line, for a place where the indentation is there already.
pub(super) fn push_hashes_attribute<'a>(
    text: &mut String,
    hashes: impl IntoIterator<Item = &'a Hash>,
    indent: &str,
    line_break: &str,
) {
    text.push_str("hashes = [");
    text.push_str(line_break);
    for hash in hashes {
        text.extend([indent, "  "]);
        push_quoted(text, hash.as_str());
        text.extend([",", line_break]);
    }
    text.extend([indent, "]"]);
}

/// A string literal that HCL reads back as `value`.
pub(super) fn quoted(value: &str) -> String {
    let mut text = String::new();
    push_quoted(&mut text, value);
    text
}

/// Writes a string literal that HCL reads back as `value`, with the escapes that OpenTofu writes.
fn push_quoted(text: &mut String, value: &str) {
    text.push('"');
    let stands_for_itself = |byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'$' | b'%');
    // Without an early end, the compiler checks many bytes at a time.
    if value.bytes().fold(true, |all, byte| all & stands_for_itself(byte)) {
        // Nearly every address and hash is such a text.
        text.push_str(value);
    } else {
        push_escaped(text, value);
    }
    text.push('"');
}

fn push_escaped(text: &mut String, value: &str) {
    let mut characters = value.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
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

/// Whether OpenTofu writes a character as it is: letters, marks, numbers, punctuation, symbols and the space.
fn is_printable(c: char) -> bool {
    // `escape_debug` keeps exactly these, except three that never get here, and marks at the start of a text.
    c.is_ascii_graphic() || c == ' ' || format!("x{c}").escape_debug().count() == 2
}

/// The program that wrote a lock file: the one whose default registry its entries name, or else the one in its header.
///
/// Reads line by line, so that even a file that cannot be parsed has a dialect.
pub fn detect_dialect(bytes: &[u8]) -> Option<Dialect> {
    // To check UTF-8 is much faster than to repair it.
    let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    let (mut tofu, mut terraform, mut header) = (false, false, None);
    for line in text.lines().map(str::trim_start) {
        if let Some(host) = provider_host(line) {
            tofu |= host == Dialect::Tofu.default_host_name();
            terraform |= host == Dialect::Terraform.default_host_name();
        } else if header.is_none() {
            header = header_dialect(line.trim_start_matches('\u{feff}'));
        }
    }
    match (tofu, terraform) {
        (true, false) => Some(Dialect::Tofu),
        (false, true) => Some(Dialect::Terraform),
        _ => header,
    }
}

/// The host in the label of a `provider` block that starts on this line.
fn provider_host(line: &str) -> Option<&str> {
    let label = line.strip_prefix("provider")?.trim_start().strip_prefix('"')?;
    label.split_once('/').map(|(host, _)| host)
}

/// The program that a line of the header names.
fn header_dialect(line: &str) -> Option<Dialect> {
    let line = line.trim_end();
    [Dialect::Tofu, Dialect::Terraform].into_iter().find(|dialect| line == header_first_line(*dialect))
}

/// Whether a comment is a line of the standard header.
pub(super) fn is_header_line(comment: &str) -> bool {
    header_dialect(comment).is_some() || comment.trim_end() == HEADER_SECOND_LINE
}
