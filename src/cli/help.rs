//! Commands in the help of diagnostics, as they work from where the user is.

use std::fmt::Write as _;
use std::path::Path;

use provlock::diagnostic::Diagnostic;

/// How the commands of this program start where they are followed by arguments.
const COMMAND: &str = "provlock ";

/// Lets the commands in the help of a diagnostic run in `directory`, which their own `-C` is relative to.
pub(crate) fn run_in(directory: &Path, mut diagnostic: Diagnostic) -> Diagnostic {
    if directory != Path::new(".")
        && let Some(help) = &mut diagnostic.help
    {
        *help = commands_in(directory, help);
    }
    diagnostic
}

fn commands_in(directory: &Path, help: &str) -> String {
    let mut parts = help.split(COMMAND);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for arguments in parts {
        let own = arguments.strip_prefix("-C ").map(|rest| rest.split_once(' ').unwrap_or((rest, "")));
        let (directory, arguments) = match own {
            Some((own, rest)) => (directory.join(own), rest),
            None => (directory.to_owned(), arguments),
        };
        let _ = write!(text, "{COMMAND}-C {} {arguments}", shell_word(&directory));
    }
    text
}

/// A path as one word of a command, for POSIX shells and for `PowerShell`. A repository may name its directories as it likes.
fn shell_word(path: &Path) -> String {
    let path = path.display().to_string();
    let stands_for_itself = |c: char| c.is_alphanumeric() || "/\\.:_-+@,".contains(c);
    if path.chars().all(stands_for_itself) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_get_the_directory() {
        let moved = |help| commands_in(Path::new("live"), help);
        assert_eq!(moved("wait: provlock lock; see provlock.toml"), "wait: provlock -C live lock; see provlock.toml");
        assert_eq!(moved("provlock verify, or provlock diff"), "provlock -C live verify, or provlock -C live diff");
        let joined = Path::new("live").join("a");
        assert_eq!(moved("provlock -C a lock -p all"), format!("provlock -C {} lock -p all", joined.display()));
        assert_eq!(moved("git add x"), "git add x");
        let hostile = commands_in(Path::new("a'; rm -rf ~"), "provlock lock");
        assert_eq!(hostile, "provlock -C 'a'\\''; rm -rf ~' lock");
    }
}
