//! Recognises lock files in canonical form, in which OpenTofu and Terraform write them
//! (`SaveLocksToBytes` in OpenTofu's `internal/depsfile/locks_file.go`). For ten providers with 30
//! hashes each, hcl-edit takes 60 times as long.

use std::borrow::Cow;
use std::ops::Range;

use super::entry_kind::EntryKind;
use super::raw_entry::{Attribute, AttributeLayout, PerAttribute, RawEntry, Text};

/// The entries of a text in this form; `None` for any other text.
///
/// Lines of comments and blank lines may stand between blocks. A string contains one line of ASCII
/// without `\`, `$` and `%`, so that its value is its text.
pub(super) fn entries_if_canonical<T: EntryKind>(text: &str) -> Option<Vec<RawEntry<'_>>> {
    let mut cursor = Cursor { text, position: 0 };
    let mut entries = Vec::new();
    loop {
        cursor.skip_comments()?;
        if cursor.rest().is_empty() {
            return Some(entries);
        }
        entries.push(cursor.read_entry::<T>()?);
    }
}

/// A position in a text. Each method moves it behind the text that it recognises, or returns
/// `None`.
struct Cursor<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn skip(&mut self, expected: &str) -> Option<()> {
        self.rest()
            .starts_with(expected)
            .then(|| self.position += expected.len())
    }

    /// Skips blank lines and lines that start with `#`.
    fn skip_comments(&mut self) -> Option<()> {
        while self.rest().starts_with(['#', '\n']) {
            let line = self.rest().find('\n')?;
            if self.rest()[..line].contains('\r') {
                return None;
            }
            self.position += line + 1;
        }
        Some(())
    }

    /// Reads an entry: attributes in the order of [`EntryKind::ATTRIBUTES`], then the hashes.
    /// `None` for any other form.
    fn read_entry<T: EntryKind>(&mut self) -> Option<RawEntry<'a>> {
        let start = self.position;
        self.skip(T::BLOCK)?;
        let keyword = start..self.position;
        self.skip(" ")?;
        let label = self.read_string()?;
        self.skip(" {\n")?;
        let mut attributes = PerAttribute::default();
        for (rule, attribute) in T::ATTRIBUTES.iter().zip(&mut attributes) {
            match self.skip_key(rule.name) {
                Some(key) => *attribute = Some(self.read_text_attribute(key)?),
                // The HCL parser reports the missing attribute with its position.
                None if rule.is_required => return None,
                None => {}
            }
        }
        let hashes = match self.skip_key("hashes") {
            Some(key) => Some(self.read_list_attribute(key)?),
            None => None,
        };
        self.skip("}")?;
        let span = start..self.position;
        self.skip("\n")?;
        Some(RawEntry {
            span,
            keyword,
            label: Some(label),
            attributes,
            hashes,
            unknown_attributes: Vec::new(),
        })
    }

    /// The indented name of an attribute, up to where the value starts.
    fn skip_key(&mut self, name: &str) -> Option<Range<usize>> {
        let value = self
            .rest()
            .strip_prefix("  ")?
            .strip_prefix(name)?
            .trim_start_matches(' ')
            .strip_prefix("= ")?;
        let start = self.position + "  ".len();
        self.position = self.text.len() - value.len();
        Some(start..start + name.len())
    }

    fn read_text_attribute(&mut self, key: Range<usize>) -> Option<Attribute<Option<Text<'a>>>> {
        let text = self.read_string()?;
        self.skip("\n")?;
        Some(Attribute {
            layout: AttributeLayout {
                key,
                value: text.span.clone(),
            },
            value: Some(text),
        })
    }

    /// A list with an item on each line, and at least one.
    fn read_list_attribute(&mut self, key: Range<usize>) -> Option<Attribute<Vec<Text<'a>>>> {
        let start = self.position;
        self.skip("[\n")?;
        let mut items = Vec::new();
        while self.skip("    ").is_some() {
            items.push(self.read_string()?);
            self.skip(",\n")?;
        }
        self.skip("  ]")?;
        let layout = AttributeLayout {
            key,
            value: start..self.position,
        };
        self.skip("\n")?;
        (!items.is_empty()).then_some(Attribute {
            layout,
            value: items,
        })
    }

    fn read_string(&mut self) -> Option<Text<'a>> {
        let start = self.position;
        self.skip("\"")?;
        let value = &self.rest()[..memchr::memchr(b'"', self.rest().as_bytes())?];
        // The program that is shipped is built for size, and memchr for speed: a loop takes a sixth
        // of `verify -r`.
        let has_escapes = memchr::memchr3(b'\\', b'$', b'%', value.as_bytes()).is_some();
        let has_line_breaks = memchr::memchr2(b'\n', b'\r', value.as_bytes()).is_some();
        if has_escapes || has_line_breaks || !value.is_ascii() {
            return None;
        }
        self.position += value.len();
        self.skip("\"")?;
        Some(Text {
            value: Cow::Borrowed(value),
            span: start..self.position,
        })
    }
}
