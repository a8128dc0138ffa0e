//! Reading a lock file, with the rules of OpenTofu's `internal/depsfile/locks_file.go`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use hcl_edit::Span as _;
use hcl_edit::expr::Expression;
use hcl_edit::structure;
use hcl_edit::structure::{Block, Body, Structure};
use hcl_edit::template::{Element, StringTemplate};

use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, Severity, SourceFile};
use crate::hcl::{parse, scan};
use crate::provider::{Dialect, Hash};
use crate::system::files::{self, BYTE_ORDER_MARK};

use super::conflicts::{MARKER_SIZE, TAKE_ONE_SIDE, split_conflicts};
use super::entry_kind::EntryKind;
use super::lfs::is_lfs_pointer;
use super::lock_file::{BlockLayout, Entry, LockFileOf, ModuleLockFile, Parsed, TopLevelBlock};
use super::module::{LockedModule, MODULE_LOCK_FILE_NAME};
use super::raw_entry::{
    Attribute, AttributeLayout, PerAttribute, Problems, RawEntry, Text, ValueRepair,
};
use super::recognise::entries_if_canonical;

/// Reads a lock file of providers. `path` is how diagnostics name it; the dialect gives the host of
/// an address without one.
///
/// Reports everything that is wrong, or the first syntax error only. The commands in the help run
/// in the directory of the lock file.
pub fn parse(path: &Path, bytes: &[u8], dialect: Dialect) -> Parsed {
    parse_as(path, bytes, dialect)
}

impl ModuleLockFile {
    /// Reads a lock file of modules, as [`parse`] does.
    pub fn parse(path: &Path, bytes: &[u8]) -> Parsed<LockedModule> {
        parse_as(path, bytes, Dialect::default())
    }
}

/// [`parse`] for any kind of entry.
pub fn parse_as<T: EntryKind>(path: &Path, bytes: &[u8], dialect: Dialect) -> Parsed<T> {
    parse_with(entries_if_canonical::<T>, path, bytes, dialect)
}

/// Reads a lock file, with hcl-edit only if `entries_if_canonical` returns `None`.
pub(super) fn parse_with<T: EntryKind>(
    entries_if_canonical: impl Fn(&str) -> Option<Vec<RawEntry<'_>>>,
    path: &Path,
    bytes: &[u8],
    dialect: Dialect,
) -> Parsed<T> {
    let reader = read_lock_file(
        entries_if_canonical,
        path,
        bytes,
        dialect,
        OtherForms::Report,
    );
    reader.finish(bytes)
}

/// Returns the values that are not in canonical form, and the file. Other problems are not
/// reported.
pub(super) fn values_to_repair<T: EntryKind>(
    path: &Path,
    bytes: &[u8],
    dialect: Dialect,
) -> (Arc<SourceFile>, Vec<ValueRepair>) {
    let reader: Reader<T> = read_lock_file(
        entries_if_canonical::<T>,
        path,
        bytes,
        dialect,
        OtherForms::Collect,
    );
    let Problems { file, repairs, .. } = reader.problems;
    (file, repairs.unwrap_or_default())
}

/// Handling of values that are not in canonical form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherForms {
    Report,
    /// [`Problems::repairs`] collects them.
    Collect,
}

/// Reads the entries and the problems of a lock file.
///
/// `entries_if_canonical` returns the entries of a text in canonical form without hcl-edit, which
/// takes much longer; every other text is parsed.
fn read_lock_file<T: EntryKind>(
    entries_if_canonical: impl Fn(&str) -> Option<Vec<RawEntry<'_>>>,
    path: &Path,
    bytes: &[u8],
    dialect: Dialect,
    other_forms: OtherForms,
) -> Reader<T> {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let decoded = std::str::from_utf8(text);
    let shown_text = match decoded {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(text),
    };
    let file = SourceFile::new(path, shown_text);
    let mut reader = Reader {
        problems: Problems {
            file,
            remedy: T::remedy(),
            repairs: match other_forms {
                OtherForms::Report => None,
                OtherForms::Collect => Some(Vec::new()),
            },
            canonical_help: T::CANONICAL_HELP,
            diagnostics: Vec::new(),
        },
        dialect,
        entries: Vec::new(),
        blocks: Vec::new(),
    };
    let text = match decoded {
        Ok(text) => text,
        Err(error) => {
            let start = error.valid_up_to();
            let encoding = if files::is_utf16(bytes) {
                "UTF-16 text, and must be UTF-8"
            } else {
                "not UTF-8 text"
            };
            reader
                .problems
                .report_syntax_error(start..start, format!("the lock file is {encoding}"));
            return reader;
        }
    };
    // Without Git LFS, a checkout has a pointer in place of the file.
    if is_lfs_pointer(bytes) {
        reader.problems.report_lfs_pointer();
        return reader;
    }
    match entries_if_canonical(text) {
        Some(entries) => {
            for entry in entries {
                reader.read_canonical_entry(entry);
            }
        }
        None => reader.parse_text(text),
    }
    reader
}

/// The parts of the attributes of an entry, each at the index of its rule.
struct SplitAttributes<'a> {
    layouts: PerAttribute<AttributeLayout>,
    locations: PerAttribute<Location>,
    values: PerAttribute<Text<'a>>,
}

/// Collects the entries of a file and its problems.
struct Reader<T: EntryKind> {
    problems: Problems,
    dialect: Dialect,
    entries: Vec<Entry<T>>,
    blocks: Vec<TopLevelBlock>,
}

impl<T: EntryKind> Reader<T> {
    /// Returns the lock file, unless a problem is an error, and the problems in the order of their
    /// positions.
    fn finish(mut self, bytes: &[u8]) -> Parsed<T> {
        self.report_duplicates();
        let Problems {
            file,
            mut diagnostics,
            ..
        } = self.problems;
        // Users read problems from the top of the file; repeated entries were found last.
        diagnostics.sort_by_key(|diagnostic| {
            diagnostic
                .labels
                .first()
                .map(|label| label.location.span.start)
        });
        // A warning, such as that of an ignored block, does not make the file unusable.
        let has_error = diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error);
        if has_error {
            return Parsed {
                lock_file: None,
                diagnostics,
            };
        }

        let mut byte_order_mark: &'static [u8] = &[];
        if bytes.starts_with(BYTE_ORDER_MARK) {
            byte_order_mark = BYTE_ORDER_MARK;
        }
        let mut locks = BTreeMap::new();
        let mut indexes = BTreeMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            locks.insert(entry.address.clone(), Arc::clone(&entry.locked));
            indexes.insert(entry.address.clone(), index);
        }
        Parsed {
            lock_file: Some(LockFileOf {
                file,
                byte_order_mark,
                dialect: self.dialect,
                locks,
                indexes,
                entries: self.entries,
                blocks: self.blocks,
                is_new: false,
            }),
            diagnostics,
        }
    }

    /// Reports git's conflict markers, which would otherwise be a syntax error somewhere near.
    /// Returns whether there are any.
    fn report_conflict_markers(&mut self) -> bool {
        let opening = "<".repeat(MARKER_SIZE);
        let closing = ">".repeat(MARKER_SIZE);
        let mut first_marker = None;
        let mut conflicts = 0;
        let mut start = 0;
        for line in self.problems.file.text.split_inclusive('\n') {
            if line.starts_with(&opening) {
                conflicts += 1;
            }
            if line.starts_with(&opening) || line.starts_with(&closing) {
                first_marker.get_or_insert(start..start + line.trim_end().len());
            }
            start += line.len();
        }
        let Some(first_marker) = first_marker else {
            return false;
        };
        let help = self.help_for_conflicts();
        let diagnostic = Diagnostic::error(
            Code::ConflictMarkers,
            "the lock file contains git conflict markers",
        )
        .at(self.problems.location(first_marker), "the first of them")
        // A closing marker alone is the rest of a conflict.
        .note(format!("conflicts in the file: {}", conflicts.max(1)))
        .help(help);
        self.problems.diagnostics.push(diagnostic);
        true
    }

    /// The command that merges the sides of each conflict, if both sides can be read. Modules are
    /// not locked again.
    fn help_for_conflicts(&self) -> Help {
        let SourceFile { path, text, .. } = &*self.problems.file;
        match split_conflicts(path, text.as_bytes()) {
            // `merge` needs two sides that can be read, so it is suggested only for them.
            Ok(Some(sides))
                if self.is_readable_side(&sides.ours) && self.is_readable_side(&sides.theirs) => {}
            _ => return Help::text(TAKE_ONE_SIDE),
        }
        let help = Help::from(Remedy::Merge {
            file: T::FILE_NAME.into(),
            resolve: false,
        });
        if T::FILE_NAME == MODULE_LOCK_FILE_NAME {
            return help;
        }
        help.and_text("; to lock the entries in conflict again: ")
            .and(Remedy::Merge {
                file: T::FILE_NAME.into(),
                resolve: true,
            })
    }

    /// Whether a side is a lock file, without conflict markers.
    fn is_readable_side(&self, side: &[u8]) -> bool {
        let path = &self.problems.file.path;
        matches!(split_conflicts(path, side), Ok(None))
            && parse_as::<T>(path, side, self.dialect).lock_file.is_some()
    }

    /// Reports entries that repeat the address of an earlier entry, with both places.
    fn report_duplicates(&mut self) {
        let mut first: BTreeMap<_, &Entry<T>> = BTreeMap::new();
        for entry in &self.entries {
            let Some(earlier) = first.get(&entry.address) else {
                first.insert(&entry.address, entry);
                continue;
            };
            let label = entry.address.to_string();
            let message = format!("{} is locked twice", T::label_name(&label));
            let error = Diagnostic::error(T::DUPLICATE, message)
                .at(entry.block.clone(), "again here")
                .at(earlier.block.clone(), "first here")
                .help("remove one of the two blocks");
            self.problems.diagnostics.push(error);
        }
    }

    /// Parses a text with hcl-edit, and reads its entries.
    fn parse_text(&mut self, text: &str) {
        if self.report_conflict_markers() {
            return;
        }
        if let Some(fault) = scan::find_lone_return(text.as_bytes()) {
            let message = format!("the lock file cannot be parsed: {}", fault.message);
            return self.problems.report_syntax_error(fault.span, message);
        }
        match parse::body(text) {
            Ok(body) => self.read_body(&body),
            Err(error) => {
                let start = error.location().offset();
                self.problems.report_syntax_error(
                    start..start,
                    format!("the lock file cannot be parsed: {}", error.message()),
                );
            }
        }
    }

    /// Reads an entry of a text in canonical form.
    fn read_canonical_entry(&mut self, written: RawEntry<'_>) {
        let span = written.span.clone();
        let entry = self.read_entry(written);
        self.blocks.push(TopLevelBlock { span, entry });
    }

    /// Reads the entries of a parsed file, and reports everything beside them.
    fn read_body(&mut self, body: &Body) {
        for structure in body {
            let span = span_of(structure);
            match structure {
                Structure::Attribute(attribute) => {
                    self.report_attribute(
                        attribute,
                        &format!("a lock file contains {} blocks only", T::BLOCK),
                    );
                    self.blocks.push(TopLevelBlock { span, entry: None });
                }
                Structure::Block(block) => {
                    let mut entry = None;
                    if block.ident.as_str() == T::BLOCK {
                        entry = self.read_block(block);
                    } else {
                        self.report_block(block);
                    }
                    self.blocks.push(TopLevelBlock { span, entry });
                }
            }
        }
    }

    /// Reports a block of another type, which is ignored or unknown.
    fn report_block(&mut self, block: &Block) {
        let span = span_of(&block.ident);
        let name = block.ident.as_str();
        if name == T::IGNORED_BLOCK {
            let message =
                format!("{name} blocks in a lock file have no meaning yet; this one is ignored");
            let location = self.problems.location(span);
            let warning = Diagnostic::warning(Code::LockFileSyntax, message).at_location(location);
            self.problems
                .diagnostics
                .push(warning.help("remove the block"));
        } else {
            let message = format!(
                "unknown block type {name}: a lock file contains {} blocks only",
                T::BLOCK
            );
            self.problems.report_syntax_error(span, message);
        }
    }

    /// Reads one entry and returns its index, unless a required part is missing.
    fn read_block(&mut self, block: &Block) -> Option<usize> {
        let label = self.read_label(block);
        let name = name_of::<T>(label.as_ref()).into_owned();
        let mut attributes = PerAttribute::default();
        let mut hashes = None;
        let mut unknown_attributes = Vec::new();
        for structure in &block.body {
            match structure {
                Structure::Attribute(attribute) => {
                    let key = attribute.key.as_str();
                    if key == "hashes" {
                        hashes = Some(self.read_hash_list(attribute, &name));
                    } else if let Some(index) =
                        T::ATTRIBUTES.iter().position(|rule| rule.name == key)
                    {
                        attributes[index] = Some(self.read_text(attribute, &format!("the {key}")));
                    } else {
                        let known: Vec<_> = T::ATTRIBUTES.iter().map(|rule| rule.name).collect();
                        self.report_attribute(
                            attribute,
                            &format!("an entry has {} and hashes", known.join(", ")),
                        );
                        unknown_attributes.push(attribute_layout(attribute).span());
                    }
                }
                Structure::Block(inner) => {
                    let message = format!(
                        "unknown block {}: an entry contains no blocks",
                        inner.ident.as_str()
                    );
                    self.problems
                        .report_syntax_error(span_of(&inner.ident), message);
                }
            }
        }
        self.read_entry(RawEntry {
            span: span_of(block),
            keyword: span_of(&block.ident),
            label,
            attributes,
            hashes,
            unknown_attributes,
        })
    }

    /// Reports an attribute that is not known, with what is `expected` in its place.
    fn report_attribute(&mut self, attribute: &structure::Attribute, expected: &str) {
        let span = span_of(&attribute.key);
        let unknown = attribute.key.as_str();
        if !T::KEEPS_UNKNOWN_ATTRIBUTES {
            return self
                .problems
                .report_syntax_error(span, format!("unknown attribute {unknown}: {expected}"));
        }
        let message = format!("unknown attribute {unknown} is ignored: {expected}");
        let warning = Diagnostic::warning(Code::LockFileSyntax, message)
            .at_location(self.problems.location(span));
        let help = "a newer provlock may have written it; correct or remove it if it is a mistake";
        self.problems.diagnostics.push(warning.help(help));
    }

    /// Checks the values of one entry and returns its index, unless a required part is missing.
    fn read_entry(&mut self, raw_entry: RawEntry<'_>) -> Option<usize> {
        let RawEntry {
            span,
            keyword,
            label,
            attributes,
            hashes: hash_list,
            unknown_attributes,
        } = raw_entry;

        let mut address = None;
        if let Some(label) = &label {
            address = T::read_address(label, self.dialect, &mut self.problems);
        }
        let name = name_of::<T>(label.as_ref());
        for (rule, attribute) in T::ATTRIBUTES.iter().zip(&attributes) {
            if rule.is_required && attribute.is_none() {
                let span = match &label {
                    Some(label) => label.span.clone(),
                    None => keyword.clone(),
                };
                self.problems
                    .report_syntax_error(span, format!("the entry of {name} has no {}", rule.name));
            }
        }

        let mut located_hashes = Vec::new();
        let mut hashes_layout = None;
        if let Some(list) = hash_list {
            hashes_layout = Some(list.layout);
            for text in list.value {
                located_hashes.extend(self.read_hash(text));
            }
        }
        let SplitAttributes {
            layouts,
            locations,
            values,
        } = self.split_attributes(attributes);
        let hashes = located_hashes
            .iter()
            .map(|(hash, _)| hash.clone())
            .collect();
        let locked = T::read_values(&name, values, hashes, &mut self.problems);

        // All problems of the entry are reported by now.
        let label = label.as_ref()?;
        self.entries.push(Entry {
            address: address?,
            locked: Arc::new(locked?),
            block: self.problems.location(label.span.clone()),
            attributes: locations,
            hashes: located_hashes,
            layout: BlockLayout {
                span,
                label_end: label.span.end,
                attributes: layouts,
                hashes: hashes_layout,
                unknown_attributes,
            },
        });
        Some(self.entries.len() - 1)
    }

    /// Parts attributes, each at the index of its rule.
    fn split_attributes<'a>(
        &self,
        attributes: PerAttribute<Attribute<Option<Text<'a>>>>,
    ) -> SplitAttributes<'a> {
        let mut split = SplitAttributes {
            layouts: PerAttribute::default(),
            locations: PerAttribute::default(),
            values: PerAttribute::default(),
        };
        for (index, attribute) in attributes.into_iter().enumerate() {
            if let Some(Attribute { layout, value }) = attribute {
                let location = self.problems.location(layout.value.clone());
                split.locations[index] = Some(location);
                split.layouts[index] = Some(layout);
                split.values[index] = value;
            }
        }
        split
    }

    /// The label of a block, which must have one.
    fn read_label<'a>(&mut self, block: &'a Block) -> Option<Text<'a>> {
        if let [label] = &block.labels[..] {
            return Some(Text {
                value: Cow::Borrowed(label.as_str()),
                span: label.span().unwrap_or_default(),
            });
        }
        let count = block.labels.len();
        let message = format!(
            "a {} block has one label, {}; this one has {count}",
            T::BLOCK,
            T::LABEL
        );
        self.problems
            .report_syntax_error(span_of(&block.ident), message);
        None
    }

    /// A hash with its location. A malformed one is reported.
    fn read_hash(&mut self, text: Text<'_>) -> Option<(Hash, Location)> {
        match text.value.parse() {
            Ok(hash) => Some((hash, self.problems.location(text.span))),
            Err(error) => {
                let help = Help::text("remove the hash, then run: ").and(T::remedy());
                self.problems
                    .report_error(Code::MalformedHash, text.span, error.to_string(), help);
                None
            }
        }
    }

    /// The value of an attribute other than `hashes`, which must be a string.
    fn read_text(
        &mut self,
        attribute: &structure::Attribute,
        what: &str,
    ) -> Attribute<Option<Text<'static>>> {
        Attribute {
            layout: attribute_layout(attribute),
            value: self.read_string(&attribute.value, what),
        }
    }

    /// The items of `hashes`, which must be a list of strings.
    fn read_hash_list(
        &mut self,
        attribute: &structure::Attribute,
        name: &str,
    ) -> Attribute<Vec<Text<'static>>> {
        let layout = attribute_layout(attribute);
        let Expression::Array(array) = &attribute.value else {
            let message = format!("the hashes of {name} must be a list of strings");
            self.problems
                .report_syntax_error(span_of(&attribute.value), message);
            return Attribute {
                layout,
                value: Vec::new(),
            };
        };
        if array.is_empty() {
            let message =
                format!("the hashes of {name} must contain at least one hash or be omitted");
            self.problems
                .report_syntax_error(span_of(&attribute.value), message);
        }
        let value = array
            .iter()
            .filter_map(|item| self.read_string(item, "a hash"))
            .collect();
        Attribute { layout, value }
    }

    /// The value of an expression that must be a string on one line.
    fn read_string(&mut self, expression: &Expression, what: &str) -> Option<Text<'static>> {
        let span = span_of(expression);
        let on_one_line = !self.problems.file.text[span.clone()].contains('\n');
        match constant_text(expression) {
            Some(value) if on_one_line => Some(Text {
                value: Cow::Owned(value),
                span,
            }),
            _ => {
                self.problems.report_syntax_error(
                    span,
                    format!("{what} must be a quoted string on one line"),
                );
                None
            }
        }
    }
}

/// The text of a string, also of one with constants in its templates, such as `"${"1"}.0.0"`, which
/// OpenTofu evaluates.
fn constant_text(expression: &Expression) -> Option<String> {
    match expression {
        Expression::String(text) => Some(text.value().clone()),
        Expression::StringTemplate(template) => template_text(template),
        Expression::Parenthesis(inner) => constant_text(inner.inner()),
        _ => None,
    }
}

/// The text of a template; `None` if a part of it is no constant.
fn template_text(template: &StringTemplate) -> Option<String> {
    let mut text = String::new();
    for element in template {
        match element {
            Element::Literal(literal) => text += literal.value(),
            Element::Interpolation(interpolation) => match &interpolation.expr {
                Expression::Number(number) => text += &number.value().to_string(),
                expression => text += &constant_text(expression)?,
            },
            Element::Directive(_) => return None,
        }
    }
    Some(text)
}

/// The name of an entry in a message.
fn name_of<'a, T: EntryKind>(label: Option<&'a Text<'_>>) -> Cow<'a, str> {
    match label {
        Some(label) => T::label_name(&label.value),
        None => format!("the {}", T::BLOCK).into(),
    }
}

/// The place of a parsed part, which the parser always gives.
fn span_of(part: &impl hcl_edit::Span) -> Range<usize> {
    part.span().unwrap_or_default()
}

fn attribute_layout(attribute: &structure::Attribute) -> AttributeLayout {
    AttributeLayout {
        key: span_of(&attribute.key),
        value: span_of(&attribute.value),
    }
}
