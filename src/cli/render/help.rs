//! Help as one line of text: commands quoted so that they can be pasted into the user's shell.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use provlock::diagnostic::{CommandArgument, CommandLine, Help, HelpPart};
use provlock::system::{Boundary, Secrets};

/// How the program was started. Commands in help repeat it, so that they mean the same where a user pastes them.
pub(crate) struct Invocation {
    /// What must not be shown.
    pub(crate) secrets: Secrets,
    /// The directory of `-C`, absolute and as the user knows it.
    start: PathBuf,
    /// The paths that the command is about, relative to that directory; the directory itself if there are none.
    paths: Vec<PathBuf>,
    boundary: OnceLock<Boundary>,
    /// The directory of `-C`, which the directories of commands are relative to; `.` without.
    directory: PathBuf,
    shell: Shell,
}

/// The shells that commands are quoted for.
#[derive(Clone, Copy)]
enum Shell {
    Posix,
    PowerShell,
}

impl Shell {
    /// The one that users of this system most likely have.
    const CURRENT: Self = if cfg!(windows) { Self::PowerShell } else { Self::Posix };
}

impl Invocation {
    /// Started with `-C` and its directory, or without.
    pub(crate) fn new(chdir: Option<&Path>) -> Self {
        let directory = chdir.unwrap_or(Path::new(".")).to_owned();
        let start = std::env::current_dir().unwrap_or_default().join(&directory);
        let (secrets, paths, boundary) = (Secrets::default(), Vec::new(), OnceLock::new());
        Self { secrets, start, paths, boundary, directory, shell: Shell::CURRENT }
    }

    /// The same for a command that is about these paths, relative to the directory of `-C`.
    pub(crate) fn about(self, paths: Vec<PathBuf>) -> Self {
        Self { paths, ..self }
    }

    /// The same for a run that knows secrets.
    pub(crate) fn hiding(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// What may be quoted: the repositories that the command is about, and the directory in which the user has both programs
    /// keep modules.
    pub(crate) fn boundary(&self) -> &Boundary {
        self.boundary.get_or_init(|| {
            let paths = if self.paths.is_empty() { &[PathBuf::new()][..] } else { &self.paths };
            let data_directory = std::env::var_os("TF_DATA_DIR").filter(|path| !path.is_empty());
            Boundary::around(paths.iter().map(|path| self.start.join(path)))
                .and(data_directory.map(|path| self.start.join(path)))
        })
    }

    /// A path as it is from where the program was started, which is where a terminal or an editor looks for it.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        if self.directory == Path::new(".") { path.to_owned() } else { self.directory.join(path) }
    }

    /// Help as it is shown. Commands start with the program's name and change to their directory.
    pub(crate) fn help(&self, help: &Help) -> String {
        let part = |part: &HelpPart| match part {
            HelpPart::Text(text) => text.clone(),
            HelpPart::Command(command) => command_line(&command.clone().in_directory(&self.directory), self.shell),
        };
        help.parts().iter().map(part).collect()
    }
}

fn command_line(command: &CommandLine, shell: Shell) -> String {
    let mut words = vec!["provlock".to_owned()];
    if !command.directory.as_os_str().is_empty() {
        words.extend(["-C".to_owned(), quoted(&path(&command.directory), shell)]);
    }
    words.extend(command.arguments.iter().map(|argument| match argument {
        CommandArgument::Word(word) => quoted(word, shell),
        CommandArgument::Path(argument) => quoted(&path(argument), shell),
    }));
    words.join(" ")
}

/// A path that is not taken for a flag.
fn path(path: &Path) -> String {
    let text = path.display().to_string();
    if text.starts_with('-') { format!("./{text}") } else { text }
}

/// A word as a shell reads it. In PowerShell typographic quotes end a quoted text, too, and are doubled as the plain one is
/// (see `about_Quoting_Rules`); an `@` means something at the beginning of a word only (`about_Splatting`).
fn quoted(word: &str, shell: Shell) -> String {
    let is_plain = |c: char| match shell {
        Shell::Posix => c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c),
        Shell::PowerShell => c.is_ascii_alphanumeric() || "/\\._-+=:@".contains(c),
    };
    let is_splatted = matches!(shell, Shell::PowerShell) && word.starts_with('@');
    if !word.is_empty() && word.chars().all(is_plain) && !is_splatted {
        return word.to_owned();
    }
    let inner: String = match shell {
        Shell::Posix => word.replace('\'', "'\\''"),
        Shell::PowerShell => word
            .chars()
            .flat_map(|c| std::iter::repeat_n(c, if matches!(c, '\'' | '\u{2018}'..='\u{201b}') { 2 } else { 1 }))
            .collect(),
    };
    format!("'{inner}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posix(directory: &str) -> Invocation {
        Invocation { directory: PathBuf::from(directory), shell: Shell::Posix, ..Invocation::new(None) }
    }

    #[test]
    fn commands_stand_among_words() {
        let help = Help::text("wait: ").and_command(["lock"]).and_text(", or ").and_command(["diff", "--git", "a b"]);
        assert_eq!(posix(".").help(&help), "wait: provlock lock, or provlock diff --git 'a b'");
    }

    #[test]
    fn a_command_changes_to_its_directory() {
        let help = Help::command(CommandLine::from(["lock"]).in_directory(Path::new("a")));
        let joined = Path::new("live").join("a").display().to_string();
        assert_eq!(posix("live").help(&help), format!("provlock -C {} lock", quoted(&joined, Shell::Posix)));
        assert_eq!(posix("live").help(&Help::command(["lock"])), "provlock -C live lock");
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
                let invocation = Invocation { directory: PathBuf::from(directory), shell, ..Invocation::new(None) };
                assert_eq!(invocation.help(&Help::command(["lock"])), format!("provlock -C {expected} lock"));
            }
        }
        let help = Help::command(CommandLine::from(["merge"]).path("-x"));
        assert_eq!(posix(".").help(&help), "provlock merge ./-x");
    }
}
