//! An entry before its values are checked, and the problems found in a file.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

use super::lfs::LFS_HELP;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, SourceFile};
use crate::provider::{ConstraintError, ConstraintList, Version, VersionError};

/// Something for each attribute of an entry but `hashes`, in the order in which attributes are
/// written.
pub type PerAttribute<T> = [Option<T>; 4];

/// An entry. A part that is missing or of the wrong type is `None`, and was reported.
pub(super) struct RawEntry<'a> {
    pub(super) span: Range<usize>,
    /// The type of the block.
    pub(super) keyword: Range<usize>,
    pub(super) label: Option<Text<'a>>,
    pub(super) attributes: PerAttribute<Attribute<Option<Text<'a>>>>,
    pub(super) hashes: Option<Attribute<Vec<Text<'a>>>>,
    pub(super) unknown_attributes: Vec<Range<usize>>,
}

/// An attribute with its value.
pub(super) struct Attribute<T> {
    pub(super) layout: AttributeLayout,
    pub(super) value: T,
}

/// A string literal's value and place.
#[derive(Debug)]
pub struct Text<'a> {
    pub(super) value: Cow<'a, str>,
    pub(super) span: Range<usize>,
}

/// The places of the parts of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttributeLayout {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

impl AttributeLayout {
    /// From the key to the end of the value.
    pub(super) fn span(&self) -> Range<usize> {
        self.key.start..self.value.end
    }
}

/// A text that is replaced.
#[derive(Debug)]
pub(super) struct ValueRepair {
    pub(super) span: Range<usize>,
    /// New value, without quotes.
    pub(super) new: String,
    pub(super) change: String,
}

/// Collects the problems of a file.
#[derive(Debug)]
pub struct Problems {
    pub(super) file: Arc<SourceFile>,
    /// Command that writes the file anew.
    pub(super) remedy: Remedy,
    /// Values that are not in canonical form, if they are collected instead of reported.
    pub(super) repairs: Option<Vec<ValueRepair>>,
    /// Help for values that are not in canonical form.
    pub(super) canonical_help: &'static str,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Problems {
    pub(super) fn location(&self, span: Range<usize>) -> Location {
        Location::new(&self.file, span)
    }

    pub(super) fn report_error(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) {
        let location = self.location(span);
        self.diagnostics.push(
            Diagnostic::error(code, message)
                .at_location(location)
                .help(help),
        );
    }

    pub(super) fn report_syntax_error(&mut self, span: Range<usize>, message: impl Into<String>) {
        let help = Help::text("correct the file, or remove it and run: ").and(self.remedy.clone());
        self.report_error(Code::LockFileSyntax, span, message, help);
    }

    /// Reports that the file is a pointer of Git LFS.
    pub(super) fn report_lfs_pointer(&mut self) {
        let message = "the lock file is a pointer of Git LFS, so its entries are not here";
        let help = format!("git lfs pull; then {LFS_HELP}");
        self.report_error(Code::LockFileSyntax, 0..0, message, help);
    }

    /// Reports an address whose canonical text is different.
    pub(super) fn report_other_address(
        &mut self,
        found: &Text<'_>,
        message: String,
        canonical: &impl Display,
    ) {
        let change = format!("provider {:?} → \"{canonical}\"", found.value);
        self.report_or_collect(found.span.clone(), message, canonical.to_string(), change);
    }

    /// Reports a value that is not in canonical form, or collects its repair.
    fn report_or_collect(
        &mut self,
        span: Range<usize>,
        message: String,
        canonical: String,
        change: String,
    ) {
        if let Some(repairs) = &mut self.repairs {
            repairs.push(ValueRepair {
                span,
                new: canonical,
                change,
            });
            return;
        }
        let help = Help::from(Remedy::RepairLockFile).and_text(self.canonical_help);
        self.report_error(Code::NotCanonical, span, message, help);
    }

    /// Reports a value whose canonical text is different.
    pub(super) fn report_other_form(
        &mut self,
        found: &Text<'_>,
        what: &str,
        canonical: &impl Display,
    ) {
        let canonical = canonical.to_string();
        let message = format!(
            "{what} must be written {canonical:?}, not {:?}",
            found.value
        );
        let change = format!("{what}: {:?} → {canonical:?}", found.value);
        self.report_or_collect(found.span.clone(), message, canonical, change);
    }

    /// Reads a version, which must be written in canonical form. `None` for any other text, which
    /// is reported.
    pub(super) fn read_version(&mut self, text: Text<'_>, name: &str) -> Option<Version> {
        match text.value.parse() {
            Ok(version) => Some(version),
            Err(VersionError::NotCanonical(version)) => {
                self.report_other_form(&text, &format!("the version of {name}"), &version);
                None
            }
            Err(error) => {
                let message = format!("{:?} is not a version of {name}: {error}", text.value);
                self.report_syntax_error(text.span, message);
                None
            }
        }
    }

    /// Reads constraints, which must be written in canonical form, with a function for this kind of
    /// entry. `None` for any other text, which is reported.
    pub(super) fn read_constraints(
        &mut self,
        text: Text<'_>,
        name: &str,
        parse: fn(&str) -> Result<ConstraintList, ConstraintError>,
    ) -> Option<ConstraintList> {
        match parse(&text.value) {
            Ok(constraints) if constraints.to_string() == text.value => Some(constraints),
            Ok(constraints) => {
                self.report_other_form(&text, &format!("the constraints of {name}"), &constraints);
                None
            }
            Err(error) => {
                let message = format!(
                    "the constraints {:?} of {name} cannot be read: {error}",
                    text.value
                );
                self.report_syntax_error(text.span, message);
                None
            }
        }
    }
}
