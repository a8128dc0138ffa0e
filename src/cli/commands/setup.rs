//! `setup`: configures other programs to use provlock.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use clap::{Args, Subcommand};
use provlock::diagnostic::{Code, Diagnostic};
use provlock::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use provlock::system::{Tree, files};

use crate::cli::args::NoRequestsArgs;
use crate::cli::git;
use crate::cli::run::outcome::Outcome;
use crate::cli::ui::Ui;

/// Set up other programs to use provlock
#[derive(Subcommand)]
pub(crate) enum SetupCommand {
    /// Set up git to use provlock for diffs and merges
    Git(GitArgs),
}

#[derive(Args)]
#[command(before_help = "Example: provlock setup git --write")]
#[command(
    after_help = "Without --write the lines are only printed. Attributes are for everybody, to be committed; the \
    configuration is for one clone."
)]
pub(crate) struct GitArgs {
    /// Add the lines to .gitattributes and to this clone's configuration
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    _offline: NoRequestsArgs,
}

const ATTRIBUTES_FILE: &str = ".gitattributes";

/// The lines for `.gitattributes`: a pattern without a slash is for every directory.
const ATTRIBUTES: [(&str, &str); 2] = [
    (
        LOCK_FILE_NAME,
        ".terraform.lock.hcl merge=provlock diff=provlock",
    ),
    (
        MODULE_LOCK_FILE_NAME,
        ".modules.lock.hcl merge=provlock diff=provlock",
    ),
];

/// Git's configuration. Without provlock, `git diff` shows the file unchanged: git adds the file to
/// the command, whose shell also has it as `$1`. If git has to merge common ancestors with each
/// other, they must not get markers.
const CONFIGURATION: [(&str, &str); 4] = [
    ("merge.provlock.name", "lock files, provider by provider"),
    (
        "merge.provlock.driver",
        "provlock merge %O %A %B --path %P --marker-size %L",
    ),
    ("merge.provlock.recursive", "binary"),
    (
        "diff.provlock.textconv",
        "command -v provlock >/dev/null || exec cat -- \"$1\"; provlock diff --textconv",
    ),
];

pub(crate) fn run(command: &SetupCommand, ui: &Ui) -> Result<Outcome> {
    let SetupCommand::Git(arguments) = command;
    if arguments.write {
        write_git_configuration(ui)?;
    } else {
        ui.print(&git_configuration());
    }
    Ok(Outcome::Done)
}

/// Returns the lines for `.gitattributes`, and the commands of git, for the user to copy.
fn git_configuration() -> String {
    let attributes = ATTRIBUTES.map(|(_, line)| line).join("\n");
    let mut text = format!("# {ATTRIBUTES_FILE}\n{attributes}\n\n# once in each clone\n");
    for (variable, value) in CONFIGURATION {
        let quote = if value.contains('"') { '\'' } else { '"' };
        let _ = writeln!(text, "git config {variable} {quote}{value}{quote}");
    }
    text
}

/// Adds the lines that are missing in `.gitattributes`, and sets the variables of git.
fn write_git_configuration(ui: &Ui) -> Result<()> {
    let top = git::top_directory()?;
    refuse_link(&top.join(ATTRIBUTES_FILE))?;
    let mut changed = false;
    for (name, line) in ATTRIBUTES {
        // A different file may set the attributes already.
        if git::read_attributes(&top, &["merge", "diff"], name)? != ["provlock", "provlock"] {
            append_line(&top.join(ATTRIBUTES_FILE), line)?;
            ui.status(&format!("Added to {ATTRIBUTES_FILE}: {line}"));
            changed = true;
        }
    }
    for (variable, value) in CONFIGURATION {
        if git::read_variable(variable)?.as_deref() != Some(value) {
            git::set_variable(variable, value)?;
            ui.status(&format!("Set {variable} to: {value}"));
            changed = true;
        }
    }
    if !changed {
        ui.status("Up to date: git runs provlock for lock files");
    }
    Ok(())
}

/// Refuses a file of attributes that is a link, which git does not read. Its target may be any
/// file.
fn refuse_link(path: &Path) -> Result<()> {
    if !Tree::Work.is_symlink(path) {
        return Ok(());
    }
    let message = format!(
        "cannot write {}: it is a symbolic link, and git reads no attributes from one",
        path.display()
    );
    let error = Diagnostic::error(Code::Io, message);
    Err(error.help("replace the link by a file").into())
}

/// Adds the line at the end, where it has precedence over all lines before it.
fn append_line(path: &Path, line: &str) -> Result<()> {
    let old = lockfile::read(path)?;
    let mut new = old.clone().unwrap_or_default();
    let line_break: &[u8] = if new.windows(2).any(|pair| pair == b"\r\n") {
        b"\r\n"
    } else {
        b"\n"
    };
    if !new.is_empty() && !new.ends_with(b"\n") {
        new.extend_from_slice(line_break);
    }
    new.extend_from_slice(line.as_bytes());
    new.extend_from_slice(line_break);
    Ok(files::write(path, old.as_deref(), &new)?)
}
