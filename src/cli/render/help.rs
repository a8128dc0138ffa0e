//! Help as one line of text: commands quoted so that they can be pasted into the user's shell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use provlock::diagnostic::words::joined_with_and;
use provlock::diagnostic::{Diagnostic, HelpPart, Remedy, RootModules};
use provlock::project::Selection;
use provlock::provider::{Dialect, Platform};
use provlock::system::{Boundary, Secrets, files};

use super::remedy::{self, RepeatedFlag};
use super::repository_paths::{RepositoryPaths, with_renamed_paths};
use crate::cli::args::Targets;

/// Start of the program. Commands in help repeat its directory, so that a user can paste them.
pub(crate) struct Invocation {
    /// Secrets, which are never shown.
    pub(crate) secrets: Secrets,
    /// The directory of `-C`, absolute and as the user knows it.
    start: PathBuf,
    /// The directory where OpenTofu and Terraform keep modules, if it is not the default.
    pub(crate) data_directory: Option<PathBuf>,
    /// Flags of the command that commands in help repeat.
    pub(crate) repeated: Vec<RepeatedFlag>,
    /// Names on the command line, which the same command in help repeats if it has none.
    names: OnceLock<Names>,
    boundary: OnceLock<Boundary>,
    /// The directory of `-C`, to which the directories of commands are relative; `.` without the
    /// flag.
    directory: PathBuf,
    shell: Shell,
}

/// Providers and modules on the command line of a command.
#[derive(Clone)]
pub(crate) struct Names {
    command: &'static str,
    without_versions: Vec<String>,
    /// The names with the requested versions.
    with_versions: Vec<String>,
}

/// The shells that commands are quoted for.
#[derive(Clone, Copy)]
enum Shell {
    Posix,
    PowerShell,
}

impl Shell {
    /// The most common shell of this system.
    const CURRENT: Self = if cfg!(windows) {
        Self::PowerShell
    } else {
        Self::Posix
    };
}

impl Invocation {
    /// An invocation with the directory of `-C`, if it was given, about that directory. It has no
    /// secrets yet.
    pub(crate) fn new(chdir: Option<&Path>) -> Self {
        let directory = chdir.unwrap_or(Path::new(".")).to_owned();
        let start = std::env::current_dir().unwrap_or_default().join(&directory);
        Self {
            secrets: Secrets::default(),
            start,
            data_directory: None,
            repeated: Vec::new(),
            names: OnceLock::new(),
            boundary: OnceLock::new(),
            directory,
            shell: Shell::CURRENT,
        }
    }

    /// Sets the paths of the command, relative to that directory; empty for the directory itself.
    /// Returns the boundary around the paths of the first call.
    pub(crate) fn set_paths(&self, paths: &[PathBuf]) -> &Boundary {
        self.boundary.get_or_init(|| {
            let paths = if paths.is_empty() {
                &[PathBuf::new()][..]
            } else {
                paths
            };
            let data_directory = self
                .data_directory
                .as_ref()
                .map(|path| self.start.join(path));
            Boundary::around(paths.iter().map(|path| self.start.join(path))).and(data_directory)
        })
    }

    /// Sets the providers and modules that a command names: each without and with its version.
    pub(crate) fn set_names(&self, command: &'static str, targets: &Targets) {
        let _ = self.names.set(Names {
            command,
            without_versions: targets.names(),
            with_versions: targets.names_with_versions(),
        });
    }

    /// The files that may be quoted: those in the repositories around the paths, and in the data
    /// directory.
    pub(crate) fn boundary(&self) -> &Boundary {
        self.set_paths(&[])
    }

    /// A path relative to the directory from which the user started the program, where a terminal
    /// or an editor looks for it.
    pub(crate) fn user_path(&self, path: &Path) -> PathBuf {
        if self.directory == Path::new(".") {
            return path.to_owned();
        }
        // Without `.`, which stands for the directory itself.
        self.directory.join(path).components().collect()
    }

    /// [`Invocation::user_path`] for a file. A path that leads up ends in a directory that it need
    /// not enter. The address of a package stays.
    pub(crate) fn user_file_path(&self, path: &Path) -> PathBuf {
        if path.to_string_lossy().contains("://") {
            return path.to_owned();
        }
        let user_path = self.user_path(path);
        if path.starts_with("..") {
            return files::join(Path::new(""), &user_path);
        }
        user_path
    }

    /// Returns the same run as if it was started at the top of the repository. Outside of a
    /// repository it stays as it is.
    pub(crate) fn started_at_top(&self, paths: &RepositoryPaths<'_>) -> Self {
        let mut directory = self.directory.clone();
        let mut start = self.start.clone();
        let mut repeated = self.repeated.clone();
        if let Some(top) = paths.top {
            directory = PathBuf::from(".");
            top.clone_into(&mut start);
            repeated = repeated.iter().map(|flag| flag.at_top(paths)).collect();
        }
        Self {
            secrets: self.secrets.clone(),
            start,
            data_directory: self.data_directory.clone(),
            repeated,
            names: self.names.clone(),
            boundary: self.boundary.clone(),
            directory,
            shell: self.shell,
        }
    }

    /// The diagnostic with paths in its words as [`Invocation::user_path`] returns them. Locations
    /// stay.
    pub(crate) fn with_user_paths(&self, diagnostic: &Diagnostic) -> Diagnostic {
        if self.directory == Path::new(".") {
            return diagnostic.clone();
        }
        let rename = |path: &Path| self.user_file_path(path).display().to_string();
        let mut diagnostic = with_renamed_paths(diagnostic, None, &rename);
        // The note with the user's path takes the place of the note that `all_notes` adds.
        if let Some(root) = diagnostic.root().map(Path::to_owned) {
            diagnostic = diagnostic
                .note(format!("root module: {}", rename(&root)))
                .in_root(&root, false);
        }
        diagnostic
    }

    /// The help of a diagnostic in the form that is shown. Commands start with the program's name
    /// and change to their directory.
    pub(crate) fn help(&self, diagnostic: &Diagnostic) -> Option<String> {
        let help = diagnostic.help.as_ref()?;
        let mut text = String::new();
        if remedy::runs_in_each_root(diagnostic) {
            text += "in each root module: ";
        }
        for part in help.parts() {
            match part {
                HelpPart::Text(words) => text += words,
                HelpPart::Exempt(exempted) => text += &exemption(exempted),
                HelpPart::Remedy(Remedy::Option(option)) => text += &remedy::flag_of_option(option),
                HelpPart::Remedy(Remedy::InstallModules) => text += "tofu get or terraform get",
                HelpPart::Remedy(remedy) => text += &self.remedy_command(remedy, diagnostic),
            }
        }
        Some(text)
    }

    /// Returns a command of this program for root modules, quoted, with the directory that it runs
    /// in.
    pub(crate) fn suggest(
        &self,
        words: Vec<String>,
        selection: &Selection,
        dialect: Option<Dialect>,
    ) -> String {
        let Selection {
            paths, recursive, ..
        } = selection.clone();
        let roots = RootModules::Selected {
            paths,
            recursive,
            directories: Vec::new(),
        };
        let (directory, mut arguments) = remedy::with_root_modules(words, Some(&roots), dialect);
        if let Some(names) = self.names.get()
            && arguments.first().is_some_and(|word| word == names.command)
        {
            arguments.extend(names.without_versions.iter().cloned());
        }
        // A suggested command completes an offline run, so it runs online.
        let repeated = self.repeated.iter().filter(|flag| !flag.is_offline());
        let in_each_root = false;
        self.command_line(directory, arguments, repeated, in_each_root)
    }

    /// Returns the command of a remedy, quoted for the user's shell, with the root modules of the
    /// diagnostic.
    fn remedy_command(&self, remedy: &Remedy, diagnostic: &Diagnostic) -> String {
        if let Some(words) =
            remedy::command_of_other_program(remedy, diagnostic, |path| self.user_path(path))
        {
            return self.quoted_words(&words);
        }
        let mut words = remedy::own_command(remedy);
        // The same command for all providers is for the providers and modules that the user named.
        if let Some(names) = self.names.get()
            && remedy::is_for_all_providers(remedy)
            && words.first().is_some_and(|word| word == names.command)
        {
            words.extend(names.with_versions.iter().cloned());
        }
        let roots = diagnostic.root_modules.as_deref();
        let (directory, arguments) = remedy::with_root_modules(words, roots, diagnostic.dialect);
        let in_each_root = remedy::runs_in_each_root(diagnostic);
        self.command_line(directory, arguments, self.repeated.iter(), in_each_root)
    }

    /// Returns the command line of this program with its arguments and the repeated flags, quoted.
    /// It begins with `-C` unless the user runs it where the program was started, or in each root
    /// module.
    fn command_line<'a>(
        &self,
        directory: Option<&Path>,
        arguments: Vec<String>,
        repeated: impl Iterator<Item = &'a RepeatedFlag>,
        in_each_root: bool,
    ) -> String {
        let mut words = vec!["provlock".to_owned()];
        let mut start = None;
        if let Some(directory) = directory {
            start = Some(self.user_path(directory));
        } else if !in_each_root && self.directory != Path::new(".") {
            start = Some(self.directory.clone());
        }
        if let Some(start) = start {
            words.push("-C".to_owned());
            words.push(remedy::path_argument(&start));
        }

        let mut flags = Vec::new();
        for flag in repeated {
            // A relative path is relative to the directory of the command.
            flags.extend(flag.words_for_command(&arguments, |path: &Path| {
                if directory.is_some() {
                    files::join(&self.start, path)
                } else {
                    path.to_owned()
                }
            }));
        }
        words.extend(arguments);
        words.extend(flags);
        self.quoted_words(&words)
    }

    fn quoted_words(&self, words: &[String]) -> String {
        let quoted: Vec<_> = words
            .iter()
            .map(|word| quote_for_shell(word, self.shell))
            .collect();
        quoted.join(" ")
    }
}

/// The lines of the settings that exempt providers from platforms.
fn exemption(exempted: &BTreeMap<String, BTreeSet<Platform>>) -> String {
    let mut lines = Vec::new();
    for (provider, platforms) in exempted {
        let platforms: Vec<_> = platforms
            .iter()
            .map(|platform| format!("\"{platform}\""))
            .collect();
        lines.push(format!("{provider:?} = [{}]", platforms.join(", ")));
    }
    let condition = if lines.len() == 1 {
        "if the provider has none"
    } else {
        "if the providers have none"
    };
    let lines = joined_with_and(lines);
    format!("{condition}, add {lines} to [without-platforms] in provlock.toml")
}

/// Quotes a word for a shell if that is necessary.
fn quote_for_shell(word: &str, shell: Shell) -> String {
    let other_plain = match shell {
        Shell::Posix => "/._-+=:,@%",
        Shell::PowerShell => "/\\._-+=:@",
    };
    let is_plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || other_plain.contains(c));
    // An `@` is special only at the beginning of a word (`about_Splatting`).
    let is_splatted = matches!(shell, Shell::PowerShell) && word.starts_with('@');
    if !word.is_empty() && is_plain && !is_splatted {
        return word.to_owned();
    }

    let mut inner = String::new();
    for c in word.chars() {
        match (shell, c) {
            (Shell::Posix, '\'') => inner.push_str("'\\''"),
            // Typographic quotes end a quoted text, too, and are doubled like the plain one (see
            // `about_Quoting_Rules`).
            (Shell::PowerShell, '\'' | '\u{2018}'..='\u{201b}') => inner.extend([c, c]),
            _ => inner.push(c),
        }
    }
    format!("'{inner}'")
}

#[cfg(test)]
mod tests {
    use provlock::diagnostic::{Code, Help, LockRemedy};

    use super::*;

    fn posix(directory: &str) -> Invocation {
        Invocation {
            directory: PathBuf::from(directory),
            shell: Shell::Posix,
            ..Invocation::new(None)
        }
    }

    fn shown(invocation: &Invocation, help: impl Into<Help>) -> String {
        invocation
            .help(&Diagnostic::error(Code::Io, "no").help(help))
            .unwrap()
    }

    #[test]
    fn commands_are_quoted_within_text() {
        let diff = Remedy::Run(["diff", "--git", "a b"].map(str::to_owned).into());
        let help = Help::text("wait: ")
            .and(Remedy::lock())
            .and_text(", or ")
            .and(diff);
        assert_eq!(
            shown(&posix("."), help),
            "wait: provlock lock, or provlock diff --git 'a b'"
        );
    }

    #[test]
    fn a_command_changes_to_its_directory() {
        let error = Diagnostic::error(Code::Io, "no")
            .help(Remedy::lock())
            .in_root(Path::new("a"), false);
        let joined = Path::new("live").join("a").display().to_string();
        let expected = format!(
            "provlock -C {} lock",
            quote_for_shell(&joined, Shell::Posix)
        );
        assert_eq!(posix("live").help(&error).unwrap(), expected);
        assert_eq!(
            shown(&posix("live"), Remedy::lock()),
            "provlock -C live lock"
        );
    }

    #[test]
    fn a_command_is_for_the_root_module_of_the_diagnostic() {
        let error = |remedy| {
            Diagnostic::error(Code::Io, "no")
                .help(remedy)
                .in_dialect(Dialect::Terraform)
        };
        let shown = |error: Diagnostic| posix(".").help(&error).unwrap();
        let prune = Remedy::Lock(LockRemedy {
            prune: true,
            ..LockRemedy::default()
        });
        let login = Remedy::Login {
            host: "h.test".to_owned(),
        };
        let selected = |recursive| {
            let paths = vec![PathBuf::from("a"), PathBuf::from("-b")];
            RootModules::Selected {
                paths,
                recursive,
                directories: vec![PathBuf::from("a/x"), PathBuf::from("y")],
            }
        };
        assert_eq!(
            shown(error(prune.clone())),
            "provlock lock --prune --dialect terraform"
        );
        assert_eq!(
            shown(error(prune.clone()).in_root(Path::new("."), false)),
            "provlock lock --prune --dialect terraform"
        );
        let below = error(prune.clone()).in_root_modules(selected(true));
        assert_eq!(
            shown(below),
            "provlock lock -r a ./-b --prune --dialect terraform"
        );
        let two = error(prune).in_root_modules(selected(false));
        assert_eq!(
            shown(two),
            "provlock lock a ./-b --prune --dialect terraform"
        );
        let merge = Remedy::Merge {
            file: PathBuf::from("x"),
            resolve: true,
        };
        let many = error(merge).in_root_modules(selected(true));
        for directory in [".", "live"] {
            let help = posix(directory).help(&many).unwrap();
            assert_eq!(
                help,
                "in each root module: provlock merge --resolve x --dialect terraform"
            );
        }
        assert_eq!(
            shown(error(login).in_root(Path::new("a"), false)),
            "provlock -C a login h.test --dialect terraform"
        );
    }

    #[test]
    fn hostile_names_stay_one_word() {
        for (directory, posix, power_shell) in [
            ("my dir; x", "'my dir; x'", "'my dir; x'"),
            ("it's", "'it'\\''s'", "'it''s'"),
            ("a\u{2019}; b", "'a\u{2019}; b'", "'a\u{2019}\u{2019}; b'"),
            ("$(id)`id`", "'$(id)`id`'", "'$(id)`id`'"),
            ("a,b", "a,b", "'a,b'"),
            ("a@b", "a@b", "a@b"),
            ("@b", "@b", "'@b'"),
            ("-rf", "./-rf", "./-rf"),
            ("-C x", "'./-C x'", "'./-C x'"),
        ] {
            for (shell, expected) in [(Shell::Posix, posix), (Shell::PowerShell, power_shell)] {
                let invocation = Invocation {
                    directory: PathBuf::from(directory),
                    shell,
                    ..Invocation::new(None)
                };
                assert_eq!(
                    shown(&invocation, Remedy::lock()),
                    format!("provlock -C {expected} lock")
                );
            }
        }
        let merge = Remedy::Merge {
            file: PathBuf::from("-x"),
            resolve: false,
        };
        assert_eq!(shown(&posix("."), merge), "provlock merge ./-x");
    }
}
