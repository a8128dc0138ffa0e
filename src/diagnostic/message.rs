//! One diagnostic.

use std::path::{self, Path, PathBuf};

use super::code::{Code, Severity};
use super::pattern::Pattern;
use super::reason::Reason;
use super::remedy::Help;
use super::source_file::Location;
use crate::provider::{Dialect, ProviderAddress};

/// Words at the user's call of the module that a diagnostic is about.
const CALLED: &str = "called from here";

/// A place, and a few words about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Location of the label.
    pub location: Location,
    /// A few words; may be empty.
    pub text: String,
}

/// A path in a message, so that the message can be written for another directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedPath {
    /// The path as the user knows it.
    pub path: PathBuf,
    /// The message with a mark in place of the path.
    words: String,
}

impl NamedPath {
    /// Stands for the path. No file name contains it.
    const MARK: &str = "\0";

    /// The message with a different path.
    pub fn message(&self, path: &str) -> String {
        self.words.replace(Self::MARK, path)
    }
}

/// The message of a new diagnostic: a text, a text that names a path, or a pattern of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    text: String,
    /// Becomes [`Diagnostic::shared_message`].
    shared: Option<String>,
    /// Becomes [`Diagnostic::named`].
    named: Option<Box<NamedPath>>,
    /// Becomes [`Diagnostic::pattern`].
    pattern: Option<Pattern>,
}

impl Message {
    /// A message that `format` writes with a path, which may be the path of a file that each root
    /// module has.
    pub fn naming(path: &Path, format: impl Fn(path::Display<'_>) -> String) -> Self {
        // Below `.terraform` the path is the same in every root module, so one message fits all of
        // them.
        let in_root: PathBuf = path
            .components()
            .skip_while(|part| !part.as_os_str().to_string_lossy().starts_with(".terraform"))
            .collect();
        let mut shared = None;
        if !in_root.as_os_str().is_empty() {
            shared = Some(format(in_root.display()));
        }
        let named = NamedPath {
            path: path.to_owned(),
            words: format(Path::new(NamedPath::MARK).display()),
        };
        Self {
            text: format(path.display()),
            shared,
            named: Some(Box::new(named)),
            pattern: None,
        }
    }
}

impl<T: Into<String>> From<T> for Message {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            shared: None,
            named: None,
            pattern: None,
        }
    }
}

impl From<Pattern> for Message {
    fn from(pattern: Pattern) -> Self {
        Self {
            pattern: Some(pattern.clone()),
            ..Self::from(pattern.message())
        }
    }
}

/// The root modules that a diagnostic is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RootModules {
    /// A root module.
    One {
        /// Its directory, as the user knows it.
        directory: PathBuf,
        /// Whether a note names it, because it is one of many.
        is_noted: bool,
    },
    /// Root modules that were selected together.
    Selected {
        /// The paths that the user has named.
        paths: Vec<PathBuf>,
        /// Whether these stand for all root modules below.
        recursive: bool,
        /// The root modules that it is about.
        directories: Vec<PathBuf>,
    },
}

/// An error, a warning or a finding, independent of how it will be shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
#[display("{message}")] // The places are for a renderer.
pub struct Diagnostic {
    /// Its weight.
    pub severity: Severity,
    /// Its stable name.
    pub code: Code,
    /// The reason, where the code has several.
    pub reason: Option<Reason>,
    /// One sentence: a lower-case fragment without a full stop.
    pub message: String,
    /// The message without the directory of a root module, if it names a file of one: several root
    /// modules may share it.
    pub shared_message: Option<String>,
    /// A path in the message that depends on the directory of the run.
    pub named: Option<Box<NamedPath>>,
    /// The message with the names in it, if diagnostics with other names are folded with it.
    pub pattern: Option<Pattern>,
    /// The places it is about, the most important first; empty when it is about no file.
    pub labels: Vec<Label>,
    /// More facts, one line each.
    pub notes: Vec<String>,
    /// The next step, if possible as a command to run.
    pub help: Option<Help>,
    /// The root modules that it is about, if it is about any: the remedies in its help are for
    /// them.
    pub root_modules: Option<Box<RootModules>>,
    /// The dialect that remedies must name, because another machine might not detect it.
    pub dialect: Option<Dialect>,
    /// The providers that it is about; empty when it is about none in particular.
    pub providers: Vec<ProviderAddress>,
    /// Number of omitted positions.
    pub more_labels: usize,
    /// Number of omitted diagnostics of its kind.
    pub left_out: usize,
}

impl Diagnostic {
    /// An error about no particular file.
    pub fn error(code: Code, message: impl Into<Message>) -> Self {
        let Message {
            text,
            shared,
            named,
            pattern,
        } = message.into();
        Self {
            severity: Severity::Error,
            code,
            reason: None,
            message: text,
            shared_message: shared,
            named,
            pattern,
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
            root_modules: None,
            dialect: None,
            providers: Vec::new(),
            more_labels: 0,
            left_out: 0,
        }
    }

    /// A finding about a change that cannot be decided.
    pub(crate) fn not_decided(reason: Reason, message: impl Into<Message>) -> Self {
        Self {
            reason: Some(reason),
            ..Self::finding(Code::NotDecided, message)
        }
    }

    /// A finding about a new publisher. A new host is a warning.
    pub(crate) fn publisher_added(reason: Reason, message: impl Into<Message>) -> Self {
        let finding = Self::finding(Code::PublisherAdded, message);
        let is_host = matches!(reason, Reason::HostAdded | Reason::HostChanged);
        Self {
            severity: if is_host {
                Severity::Warning
            } else {
                finding.severity
            },
            reason: Some(reason),
            ..finding
        }
    }

    /// A warning about no particular file.
    pub fn warning(code: Code, message: impl Into<Message>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    /// The same as a warning.
    #[must_use]
    pub(crate) fn into_warning(self) -> Self {
        Self {
            severity: Severity::Warning,
            ..self
        }
    }

    /// A finding about no particular file, at the level of its code's rule.
    pub fn finding(code: Code, message: impl Into<Message>) -> Self {
        let error = Self::error(code, message);
        Self {
            severity: code.rule().map_or(Severity::Error, |rule| rule.level),
            ..error
        }
    }

    /// Sets the message that several root modules share.
    #[must_use]
    pub fn with_shared_message(self, message: impl Into<String>) -> Self {
        Self {
            shared_message: Some(message.into()),
            ..self
        }
    }

    /// Sets the message by a pattern, by which it is folded with others.
    #[must_use]
    pub(crate) fn with_pattern(self, pattern: Pattern) -> Self {
        Self {
            message: pattern.message(),
            pattern: Some(pattern),
            ..self
        }
    }

    /// Adds a place.
    #[must_use]
    pub fn at(mut self, location: Location, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            location,
            text: text.into(),
        });
        self
    }

    /// Adds a location that the message explains.
    #[must_use]
    pub fn at_location(self, location: Location) -> Self {
        self.at(location, "")
    }

    /// Adds locations that the message explains.
    #[must_use]
    pub fn at_each_location<'a>(self, locations: impl IntoIterator<Item = &'a Location>) -> Self {
        self.at_each(locations, "")
    }

    /// Adds places with the same words.
    #[must_use]
    pub fn at_each<'a>(self, places: impl IntoIterator<Item = &'a Location>, text: &str) -> Self {
        places
            .into_iter()
            .fold(self, |diagnostic, place| diagnostic.at(place.clone(), text))
    }

    /// Adds a location in a module that the user's `call` leads to. The call comes first, because
    /// it is in a file of the user, where reports and editors can show the diagnostic.
    #[must_use]
    pub(crate) fn at_called(
        mut self,
        call: Option<&Location>,
        location: Location,
        text: impl Into<String>,
    ) -> Self {
        // Several locations in a module may have the same call.
        if let Some(call) = call
            && !self.has_label_at(call)
        {
            self = self.at(call.clone(), CALLED);
        }
        self.at(location, text)
    }

    /// Whether one of the last labels is at a location. A diagnostic may have very many.
    fn has_label_at(&self, location: &Location) -> bool {
        const LAST: usize = 100;
        self.labels.iter().rev().take(LAST).any(|label| {
            label.location.span == location.span && label.location.file == location.file
        })
    }

    /// Puts the user's `call` before the places in the module that it leads to.
    #[must_use]
    pub(crate) fn called_from(mut self, call: Option<&Location>) -> Self {
        if let Some(call) = call {
            self.labels.retain(|label| label.location != *call);
            let label = Label {
                location: call.clone(),
                text: CALLED.to_owned(),
            };
            self.labels.insert(0, label);
        }
        self
    }

    /// Adds a note, which is one line.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a provider that it is about.
    #[must_use]
    pub fn about(mut self, provider: &ProviderAddress) -> Self {
        self.providers.push(provider.clone());
        self
    }

    /// Sets the next step for the user.
    #[must_use]
    pub fn help(mut self, help: impl Into<Help>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the root module that it is about. A note names the root module if it is one of many.
    #[must_use]
    pub fn in_root(self, root: &Path, is_one_of_many: bool) -> Self {
        self.in_root_modules(RootModules::One {
            directory: root.to_owned(),
            is_noted: is_one_of_many,
        })
    }

    /// Sets the root modules that it is about.
    #[must_use]
    pub fn in_root_modules(self, root_modules: RootModules) -> Self {
        Self {
            root_modules: Some(Box::new(root_modules)),
            ..self
        }
    }

    /// Sets the dialect that remedies must name, because another machine might not detect it.
    #[must_use]
    pub fn in_dialect(self, dialect: Dialect) -> Self {
        Self {
            dialect: Some(dialect),
            ..self
        }
    }

    /// The root module that it is about, if it is one of many, as the user knows it.
    pub fn root(&self) -> Option<&Path> {
        match self.root_modules.as_deref()? {
            RootModules::One {
                directory,
                is_noted: true,
            } => Some(directory),
            _ => None,
        }
    }

    /// The notes, then a note that says how many were omitted, and a note with the root module if
    /// it is one of many.
    pub fn all_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.left_out > 0 {
            notes.push(format!("{} more of this kind are omitted", self.left_out));
        }
        if let Some(root) = self.root() {
            notes.push(format!("root module: {}", root.display()));
        }
        notes
    }

    /// An error of the operating system about a file: what was tried, on which path, and why it
    /// failed.
    pub fn io(attempt: &str, path: &Path, error: &std::io::Error) -> Self {
        // A file of a revision is read by git, whose errors are complete.
        if let Some(complete) = error
            .get_ref()
            .and_then(|error| error.downcast_ref::<Self>())
        {
            return complete.clone();
        }
        let words = error.to_string();
        // `tempfile` adds the name of a removed file; the message contains the path already.
        let words = words
            .split_once(" at path \"")
            .map_or(words.as_str(), |(words, _)| words);
        let message = Message::naming(path, |path| format!("cannot {attempt} {path}: {words}"));
        Self::error(Code::Io, message)
    }
}

impl std::error::Error for Diagnostic {}
