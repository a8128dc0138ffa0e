//! What to do next, as data: a renderer decides how a command is quoted and where it runs.

use std::path::{Path, PathBuf};

use crate::provider::Dialect;

/// What to do next: words, and commands of this program among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Help {
    parts: Vec<HelpPart>,
}

/// A piece of [`Help`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HelpPart {
    /// Words, shown as they are.
    Text(String),
    /// A command of this program.
    Command(CommandLine),
}

/// A command of this program that a user can run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandLine {
    /// The directory to run in, relative to the one that the program was started in; empty for that one itself.
    pub directory: PathBuf,
    /// What follows the program's name.
    pub arguments: Vec<CommandArgument>,
}

/// One argument of a [`CommandLine`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandArgument {
    /// A subcommand, a flag or a value.
    Word(String),
    /// A path, which must not be taken for a flag.
    Path(PathBuf),
}

impl Help {
    /// Help that begins with words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// Help that begins with a command.
    pub fn command(command: impl Into<CommandLine>) -> Self {
        Self::default().and_command(command)
    }

    /// Adds words.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(HelpPart::Text(text.into()));
        self
    }

    /// Adds a command.
    #[must_use]
    pub fn and_command(mut self, command: impl Into<CommandLine>) -> Self {
        self.parts.push(HelpPart::Command(command.into()));
        self
    }

    /// The pieces in their order; nothing is to be put between them.
    pub fn parts(&self) -> &[HelpPart] {
        &self.parts
    }

    /// Lets the commands run in `directory`, which their own directories are relative to.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        for part in &mut self.parts {
            if let HelpPart::Command(command) = part {
                *command = std::mem::take(command).in_directory(directory);
            }
        }
        self
    }

    /// Lets the commands that are for the root module in `directory` be for many, given the arguments that name those.
    #[must_use]
    pub fn for_many(mut self, directory: &Path, many: &[CommandArgument]) -> Self {
        for part in &mut self.parts {
            if let HelpPart::Command(command) = part {
                *command = std::mem::take(command).for_many(directory, many);
            }
        }
        self
    }

    /// Lets the commands name a dialect, which another machine might not detect.
    #[must_use]
    pub fn in_dialect(mut self, dialect: Dialect) -> Self {
        for part in &mut self.parts {
            if let HelpPart::Command(command) = part {
                let words = ["--dialect", dialect.name()].map(|word| CommandArgument::Word(word.to_owned()));
                command.arguments.extend(words);
            }
        }
        self
    }
}

impl CommandLine {
    /// The command run in `directory`, which its own directory is relative to.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        if directory != Path::new(".") {
            // Joining an empty path would add a separator.
            let is_empty = self.directory.as_os_str().is_empty();
            self.directory = if is_empty { directory.to_owned() } else { directory.join(&self.directory) };
        }
        self
    }

    /// Commands that take root modules, if this one is for the root module in `directory`.
    fn for_many(mut self, directory: &Path, many: &[CommandArgument]) -> Self {
        let is_here = self.directory.as_os_str().is_empty() && directory == Path::new(".");
        let takes_many = |name: &CommandArgument| matches!(name, CommandArgument::Word(name) if matches!(name.as_str(), "lock" | "upgrade" | "verify"));
        if (is_here || self.directory == directory) && self.arguments.first().is_some_and(takes_many) {
            self.directory = PathBuf::new();
            self.arguments.splice(1..1, many.iter().cloned());
        }
        self
    }

    /// Adds a path.
    #[must_use]
    pub fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.arguments.push(CommandArgument::Path(path.into()));
        self
    }
}

impl From<CommandLine> for Help {
    fn from(command: CommandLine) -> Self {
        Self::command(command)
    }
}

impl From<&str> for Help {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Help {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for CommandLine {
    fn from(words: [T; N]) -> Self {
        words.into_iter().collect()
    }
}

impl<T: Into<String>> FromIterator<T> for CommandLine {
    fn from_iter<I: IntoIterator<Item = T>>(words: I) -> Self {
        let arguments = words.into_iter().map(|word| CommandArgument::Word(word.into())).collect();
        Self { directory: PathBuf::new(), arguments }
    }
}
