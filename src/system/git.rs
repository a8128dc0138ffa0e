//! Runs the git program, and through it no other program.
//!
//! A repository may be hostile, and so may the configuration in its `.git`. Git would run programs
//! for it: hooks, monitors of file systems, filters, ssh, helpers of remotes. All commands of this
//! crate begin with `without_programs`, and commands in the user's repository with
//! [`in_repository`].

use std::path::Path;
use std::process::Command;

use super::{canonicalize, repository};

/// Settings of git that take precedence over its files.
const SETTINGS: [&str; 5] = [
    "core.fsmonitor=false",
    // Git finds no hook below a file.
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// Variables of git's environment.
const VARIABLES: [(&str, &str); 5] = [
    ("LC_ALL", "C"),
    // The index is not rewritten, which would run a hook.
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Replacements of commits are ignored.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // An object that a partial clone lacks is not requested from a remote.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Variables that point git to other configuration, or change how it reads paths.
const REMOVED: [&str; 4] = [
    "GIT_CONFIG",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// Variables that choose the repository and its work tree.
const OTHER_REPOSITORY: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"];

/// Lets a git command, which has no arguments yet, run no hook, monitor or maintenance, request no
/// missing object, and never prompt. `LC_ALL` makes its messages English.
pub(crate) fn without_programs(command: &mut Command) {
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.envs(VARIABLES);
}

/// A git command in the repository around a directory, which is the user's and not trusted: nothing
/// that its configuration contains makes git run a program or use the network. Commands that read
/// files of the work tree also need the filters to be switched off.
///
/// Paths among the arguments are literal. Git treats the directory as a bare repository only if it
/// is in no other repository.
pub fn in_repository(directory: &Path) -> Command {
    let mut command = Command::new("git");
    without_programs(&mut command);
    let bare = if repository::is_bare(directory) {
        "safe.bareRepository=all"
    } else {
        "safe.bareRepository=explicit"
    };
    command.args(["-c", bare, "-C"]).arg(directory);

    // No protocol has this name. Older versions of git do not know GIT_NO_LAZY_FETCH.
    command.env("GIT_ALLOW_PROTOCOL", "-");
    command.env("GIT_LITERAL_PATHSPECS", "1");
    for variable in REMOVED {
        command.env_remove(variable);
    }
    // Hooks of git get these variables, with which git would take `directory` as the top of the
    // work tree.
    if canonicalize(directory).is_ok_and(|directory| repository::top(&directory).is_some()) {
        for variable in OTHER_REPOSITORY {
            command.env_remove(variable);
        }
    }
    command
}
