//! One diagnostic.

use std::fmt;
use std::path::Path;

use super::code::Code;
use super::help::Help;
use super::source_file::Location;
use crate::provider::{Dialect, ProviderAddress};

/// A place with what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Where.
    pub location: Location,
    /// A few words; may be empty.
    pub text: String,
}

/// How much a diagnostic weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing stops.
    Warning,
    /// Something is wrong.
    Error,
}

/// An error, a warning or a finding, independent of how it will be shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Its weight.
    pub severity: Severity,
    /// Its stable name.
    pub code: Code,
    /// One sentence: a lower-case fragment without a full stop.
    pub message: String,
    /// The places it is about, the most important first; empty when it is about no file.
    pub labels: Vec<Label>,
    /// What else is known, one line each.
    pub notes: Vec<String>,
    /// What to do next, if possible the command to run.
    pub help: Option<Help>,
    /// The root module that it is about, as the user knows it, if there are many.
    pub root: Option<Box<Path>>,
    /// The providers that it is about; empty when it is about none in particular.
    pub providers: Vec<ProviderAddress>,
}

impl Diagnostic {
    /// An error about no particular file.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
            root: None,
            providers: Vec::new(),
        }
    }

    /// A warning about no particular file.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds a place.
    #[must_use]
    pub fn at(mut self, location: Location, text: impl Into<String>) -> Self {
        self.labels.push(Label { location, text: text.into() });
        self
    }

    /// Adds a line about what is known.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says which provider it is about.
    #[must_use]
    pub fn about(mut self, provider: &ProviderAddress) -> Self {
        self.providers.push(provider.clone());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<Help>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says which of many root modules it is about.
    #[must_use]
    pub fn in_root(mut self, root: &Path) -> Self {
        self.root = Some(root.into());
        self
    }

    /// What is known, one line each, and which of many root modules it is about.
    pub fn all_notes(&self) -> impl Iterator<Item = String> {
        let root = self.root.as_ref().map(|root| format!("root module: {}", root.display()));
        self.notes.iter().cloned().chain(root)
    }

    /// Lets the commands in its help run in `directory`, which their own directories are relative to.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        self.help = self.help.map(|help| help.in_directory(directory));
        self
    }

    /// Lets the commands in its help name a dialect, which another machine might not detect.
    #[must_use]
    pub fn in_dialect(mut self, dialect: Dialect) -> Self {
        self.help = self.help.map(|help| help.in_dialect(dialect));
        self
    }

    /// Whether another diagnostic differs at most in its places and providers.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let words = |d: &Self| (d.severity, d.code, d.message.clone(), d.notes.clone(), d.help.clone(), d.root.clone());
        words(self) == words(other)
    }

    /// An error of the operating system about a file: what was tried, on which path, and why it failed.
    pub fn io(attempt: &str, path: &Path, error: &std::io::Error) -> Self {
        let words = error.to_string();
        // The library for temporary files adds the name of one that is gone by now; the path is named already.
        let words = words.split_once(" at path \"").map_or(words.as_str(), |(words, _)| words);
        Self::error(Code::Io, format!("cannot {attempt} {}: {words}", path.display()))
    }
}

/// The message alone; the places are for a renderer.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}
