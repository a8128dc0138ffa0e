//! Reading a lock file, with the rules of OpenTofu's `internal/depsfile/locks_file.go`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use hcl_edit::Span as _;
use hcl_edit::expr::Expression;
use hcl_edit::structure;
use hcl_edit::structure::{Block, Body, Structure};
use hcl_edit::template::{Element, StringTemplate};

use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, Severity, SourceFile};
use crate::provider::{AddressError, ConstraintList, Dialect, Hash, ProviderAddress, Version, VersionError};
use crate::system::files::{self, BYTE_ORDER_MARK};

use super::lock_file::{BlockLayout, Entry, LOCK_FILE_NAME, LockFile, LockedProvider, Parsed, TopLevelBlock};
use super::marker::{MARKER_SIZE, short_size};
use super::raw_entry::{Attribute, AttributeLayout, RawEntry, Text};
use super::recognise::recognise;

const NOT_CANONICAL_HELP: &str = "write it as the message says; OpenTofu and Terraform refuse any other form";

/// Reads a lock file. `path` is how diagnostics name it; the dialect gives the host of an address without one.
///
/// Reports everything that is wrong, or the first syntax error only. The commands in the help run in the directory of
/// the lock file.
pub fn parse(path: &Path, bytes: &[u8], dialect: Dialect) -> Parsed {
    parse_with(recognise, path, bytes, dialect)
}

/// Reads a lock file, with hcl-edit only if `recognise` does not recognise it.
pub(super) fn parse_with(
    recognise: impl Fn(&str) -> Option<Vec<RawEntry<'_>>>,
    path: &Path,
    bytes: &[u8],
    dialect: Dialect,
) -> Parsed {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let decoded = std::str::from_utf8(text);
    let mut reader = Reader {
        file: SourceFile::new(path, decoded.map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)),
        dialect,
        diagnostics: Vec::new(),
        entries: Vec::new(),
        blocks: Vec::new(),
    };
    match decoded {
        Err(error) => {
            let start = error.valid_up_to();
            let encoding = if files::is_utf16(bytes) { "UTF-16 text, and must be UTF-8" } else { "not UTF-8 text" };
            reader.syntax_error(start..start, format!("the lock file is {encoding}"));
        }
        Ok(text) => match recognise(text) {
            Some(entries) => entries.into_iter().for_each(|entry| reader.read_recognised(entry)),
            None => reader.parse(text),
        },
    }
    reader.finish(bytes)
}

/// Collects the entries of a file and its problems.
struct Reader {
    file: Arc<SourceFile>,
    dialect: Dialect,
    diagnostics: Vec<Diagnostic>,
    entries: Vec<Entry>,
    blocks: Vec<TopLevelBlock>,
}

impl Reader {
    fn finish(mut self, bytes: &[u8]) -> Parsed {
        self.report_duplicates();
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.labels.first().map(|label| label.location.span.start));
        let failed = self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        let lock_file = (!failed).then(|| LockFile {
            file: self.file,
            bytes: bytes.to_vec(),
            dialect: self.dialect,
            locks: self.entries.iter().map(|entry| (entry.address.clone(), entry.provider.clone())).collect(),
            indexes: self.entries.iter().enumerate().map(|(index, entry)| (entry.address.clone(), index)).collect(),
            entries: self.entries,
            blocks: self.blocks,
            is_new: false,
        });
        Parsed { lock_file, diagnostics: self.diagnostics }
    }

    fn location(&self, span: Range<usize>) -> Location {
        Location::new(&self.file, span)
    }

    fn error(&mut self, code: Code, span: Range<usize>, message: impl Into<String>, help: impl Into<Help>) {
        let location = self.location(span);
        self.diagnostics.push(Diagnostic::error(code, message).at(location, "").help(help));
    }

    fn syntax_error(&mut self, span: Range<usize>, message: impl Into<String>) {
        let help = Help::text("correct the file, or remove it and run: ").and(Remedy::lock());
        self.error(Code::LockFileSyntax, span, message, help);
    }

    /// Reports git's conflict markers, which would otherwise be a syntax error somewhere near.
    fn report_conflicts(&mut self, size: usize) -> bool {
        let kinds = ["<", ">"].map(|character| character.repeat(size));
        let mut start = 0;
        let mut markers = Vec::new();
        for line in self.file.text.split_inclusive('\n') {
            if let Some(kind) = kinds.iter().find(|marker| line.starts_with(*marker)) {
                markers.push((kind, start..start + line.trim_end().len()));
            }
            start += line.len();
        }
        let Some((_, first)) = markers.first() else { return false };
        let count = markers.iter().filter(|(kind, _)| *kind == &kinds[0]).count();
        let merge = |resolve| Remedy::Merge { file: LOCK_FILE_NAME.into(), resolve };
        let help = Help::from(merge(false)).and_text("; to lock again what is in conflict: ").and(merge(true));
        let diagnostic = Diagnostic::error(Code::ConflictMarkers, "the lock file contains git conflict markers")
            .at(self.location(first.clone()), "the first of them")
            .note(format!("conflicts in the file: {}", count.max(1)))
            .help(help);
        self.diagnostics.push(diagnostic);
        true
    }

    /// Reports entries that repeat the provider of an earlier entry, with both places.
    fn report_duplicates(&mut self) {
        let mut first = BTreeMap::new();
        for entry in &self.entries {
            match first.entry(&entry.address) {
                btree_map::Entry::Vacant(place) => _ = place.insert(entry),
                btree_map::Entry::Occupied(earlier) => self.diagnostics.push(
                    Diagnostic::error(Code::DuplicateProvider, format!("{} is locked twice", entry.address))
                        .at(entry.block.clone(), "again here")
                        .at(earlier.get().block.clone(), "first here")
                        .help("remove one of the two blocks"),
                ),
            }
        }
    }

    fn parse(&mut self, text: &str) {
        if self.report_conflicts(MARKER_SIZE) {
            return;
        }
        match hcl_edit::parser::parse_body(text) {
            Ok(body) => self.read_file(&body),
            Err(_) if short_size(text.as_bytes()).is_some_and(|size| self.report_conflicts(size)) => {}
            Err(error) => {
                let (start, message) = (error.location().offset(), error.message());
                self.syntax_error(start..start, format!("the lock file cannot be parsed: {message}"));
            }
        }
    }

    fn read_recognised(&mut self, written: RawEntry<'_>) {
        let span = written.span.clone();
        let entry = self.read_entry(written);
        self.blocks.push(TopLevelBlock { span, entry });
    }

    fn read_file(&mut self, body: &Body) {
        for structure in body {
            let span = span_of(structure);
            match structure {
                Structure::Attribute(attribute) => {
                    let message = format!(
                        "unknown attribute {}: a lock file contains provider blocks only",
                        attribute.key.as_str()
                    );
                    self.syntax_error(span_of(&attribute.key), message);
                }
                Structure::Block(block) => {
                    let entry = match block.ident.as_str() {
                        "provider" => self.read_provider(block),
                        _ => self.report_block(block),
                    };
                    self.blocks.push(TopLevelBlock { span, entry });
                }
            }
        }
    }

    /// `module` is reserved for a later version of the format. Any other type is unknown.
    fn report_block(&mut self, block: &Block) -> Option<usize> {
        let span = span_of(&block.ident);
        if block.ident.as_str() == "module" {
            let message = "module blocks in a lock file have no meaning yet; this one is ignored";
            let location = self.location(span);
            self.diagnostics
                .push(Diagnostic::warning(Code::LockFileSyntax, message).at(location, "").help("remove the block"));
        } else {
            let message =
                format!("unknown block type {}: a lock file contains provider blocks only", block.ident.as_str());
            self.syntax_error(span, message);
        }
        None
    }

    /// Reads one entry and returns its index, unless it lacks an address or a version.
    fn read_provider(&mut self, block: &Block) -> Option<usize> {
        let label = self.label(block);
        let name = name_of(label.as_ref()).to_owned();
        let (mut version, mut constraints, mut hashes) = (None, None, None);
        for structure in &block.body {
            match structure {
                Structure::Attribute(attribute) => match attribute.key.as_str() {
                    "version" => version = Some(self.text_attribute(attribute, "the version")),
                    "constraints" => constraints = Some(self.text_attribute(attribute, "the constraints")),
                    "hashes" => hashes = Some(self.list_attribute(attribute, &name)),
                    other => {
                        let message =
                            format!("unknown attribute {other}: an entry has version, constraints and hashes");
                        self.syntax_error(span_of(&attribute.key), message);
                    }
                },
                Structure::Block(inner) => {
                    let message = format!("unknown block {}: an entry contains no blocks", inner.ident.as_str());
                    self.syntax_error(span_of(&inner.ident), message);
                }
            }
        }
        let (span, keyword) = (span_of(block), span_of(&block.ident));
        self.read_entry(RawEntry { span, keyword, label, version, constraints, hashes })
    }

    /// Checks the values of one entry and returns its index, unless it lacks an address or a version.
    fn read_entry(&mut self, written: RawEntry<'_>) -> Option<usize> {
        let RawEntry { span, keyword, label, version, constraints, hashes } = written;
        let address = label.as_ref().and_then(|label| self.address(label));
        let name = name_of(label.as_ref());
        if version.is_none() {
            let span = label.as_ref().map_or(keyword, |label| label.span.clone());
            self.syntax_error(span, format!("the entry of {name} has no version"));
        }
        let (version, version_layout) = version.map(|a| (a.value, a.layout)).unzip();
        let version = version.flatten().and_then(|text| self.version(text, name));
        let (constraints, constraints_layout) = constraints.map(|a| (a.value, a.layout)).unzip();
        let constraints = constraints.flatten().and_then(|text| self.constraints(text, name));
        let (hashes, hashes_layout) = hashes.map(|a| (a.value, a.layout)).unzip();
        let hashes: Vec<_> = hashes.into_iter().flatten().filter_map(|text| self.hash(text)).collect();
        let (address, label, version) = (address?, label?, version?);
        let layout = BlockLayout {
            span,
            label_end: label.span.end,
            version: version_layout?,
            constraints: constraints_layout,
            hashes: hashes_layout,
        };
        let provider = LockedProvider {
            version,
            constraints: constraints.unwrap_or_default(),
            hashes: hashes.iter().map(|(hash, _)| hash.clone()).collect(),
        };
        self.entries.push(Entry {
            address,
            provider: Arc::new(provider),
            block: self.location(label.span),
            version: self.location(layout.version.value.clone()),
            constraints: layout.constraints.as_ref().map(|attribute| self.location(attribute.value.clone())),
            hashes,
            layout,
        });
        Some(self.entries.len() - 1)
    }

    fn label<'a>(&mut self, block: &'a Block) -> Option<Text<'a>> {
        if let [label] = &block.labels[..] {
            return Some(Text { value: Cow::Borrowed(label.as_str()), span: label.span().unwrap_or_default() });
        }
        let count = block.labels.len();
        let message = format!("a provider block has one label, the provider's address; this one has {count}");
        self.syntax_error(span_of(&block.ident), message);
        None
    }

    fn address(&mut self, label: &Text<'_>) -> Option<ProviderAddress> {
        match ProviderAddress::parse_canonical(&label.value, self.dialect) {
            Ok(address) => Some(address),
            Err(error @ AddressError::NotCanonical(_)) => {
                let message = format!("provider {:?}: {error}", label.value);
                self.error(Code::NotCanonical, label.span.clone(), message, NOT_CANONICAL_HELP);
                None
            }
            Err(error) => {
                self.syntax_error(label.span.clone(), format!("provider {:?}: {error}", label.value));
                None
            }
        }
    }

    fn version(&mut self, text: Text<'_>, name: &str) -> Option<Version> {
        match text.value.parse() {
            Ok(version) => Some(version),
            Err(VersionError::NotCanonical(version)) => {
                self.not_canonical(&text, &format!("the version of {name}"), &version);
                None
            }
            Err(error) => {
                let message = format!("{:?} is not a version of {name}: {error}", text.value);
                self.syntax_error(text.span, message);
                None
            }
        }
    }

    fn constraints(&mut self, text: Text<'_>, name: &str) -> Option<ConstraintList> {
        match ConstraintList::from_str(&text.value) {
            Ok(constraints) if constraints.to_string() == text.value => Some(constraints),
            Ok(constraints) => {
                self.not_canonical(&text, &format!("the constraints of {name}"), &constraints);
                None
            }
            Err(error) => {
                let message = format!("the constraints {:?} of {name} cannot be read: {error}", text.value);
                self.syntax_error(text.span, message);
                None
            }
        }
    }

    fn not_canonical(&mut self, found: &Text<'_>, what: &str, canonical: &impl Display) {
        let canonical = canonical.to_string();
        let message = format!("{what} must be written {canonical:?}, not {:?}", found.value);
        self.error(Code::NotCanonical, found.span.clone(), message, NOT_CANONICAL_HELP);
    }

    fn hash(&mut self, text: Text<'_>) -> Option<(Hash, Location)> {
        match text.value.parse() {
            Ok(hash) => Some((hash, self.location(text.span))),
            Err(error) => {
                let help = Help::text("remove the hash, then run: ").and(Remedy::lock());
                self.error(Code::MalformedHash, text.span, error.to_string(), help);
                None
            }
        }
    }

    fn text_attribute(&mut self, attribute: &structure::Attribute, what: &str) -> Attribute<Option<Text<'static>>> {
        Attribute { layout: attribute_layout(attribute), value: self.string(&attribute.value, what) }
    }

    /// The items of `hashes`, which must be a list of strings.
    fn list_attribute(&mut self, attribute: &structure::Attribute, name: &str) -> Attribute<Vec<Text<'static>>> {
        let layout = attribute_layout(attribute);
        let Expression::Array(array) = &attribute.value else {
            let message = format!("the hashes of {name} must be a list of strings");
            self.syntax_error(span_of(&attribute.value), message);
            return Attribute { layout, value: Vec::new() };
        };
        if array.is_empty() {
            let message = format!("the hashes of {name} must contain at least one hash or be omitted");
            self.syntax_error(span_of(&attribute.value), message);
        }
        let value = array.iter().filter_map(|item| self.string(item, "a hash")).collect();
        Attribute { layout, value }
    }

    /// The value of an expression that must be a string on one line.
    fn string(&mut self, expression: &Expression, what: &str) -> Option<Text<'static>> {
        let span = span_of(expression);
        let on_one_line = !self.file.text[span.clone()].contains('\n');
        match constant_text(expression) {
            Some(value) if on_one_line => Some(Text { value: Cow::Owned(value), span }),
            _ => {
                self.syntax_error(span, format!("{what} must be a quoted string on one line"));
                None
            }
        }
    }
}

/// The text of a string, also of one with constants in its templates, such as `"${"1"}.0.0"`, which OpenTofu evaluates.
fn constant_text(expression: &Expression) -> Option<String> {
    match expression {
        Expression::String(text) => Some(text.value().clone()),
        Expression::StringTemplate(template) => template_text(template),
        Expression::Parenthesis(inner) => constant_text(inner.inner()),
        _ => None,
    }
}

fn template_text(template: &StringTemplate) -> Option<String> {
    let piece = |element: &Element| match element {
        Element::Literal(text) => Some(text.value().clone()),
        Element::Interpolation(interpolation) => match &interpolation.expr {
            Expression::Number(number) => Some(number.value().to_string()),
            expression => constant_text(expression),
        },
        Element::Directive(_) => None,
    };
    template.iter().map(piece).collect()
}

/// The name of an entry in a message.
fn name_of<'a>(label: Option<&'a Text<'_>>) -> &'a str {
    label.map_or("the provider", |label| &label.value)
}

/// The place of a parsed part, which the parser always gives.
fn span_of(part: &impl hcl_edit::Span) -> Range<usize> {
    part.span().unwrap_or_default()
}

fn attribute_layout(attribute: &structure::Attribute) -> AttributeLayout {
    AttributeLayout { key: span_of(&attribute.key), value: span_of(&attribute.value) }
}
