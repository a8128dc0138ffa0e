//! `completions`: scripts that make a shell ask this program for completions, and the answers.

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use provlock::system::variables;

use crate::cli::args::NoRequestsArgs;
use crate::cli::run::outcome::Outcome;
use crate::cli::ui::Ui;

/// Print a completion script for a shell
///
/// The script runs provlock to complete flags and their values: platforms, codes, and the providers
/// of the configuration in the current directory.
#[derive(Args)]
#[command(before_help = "Example: source <(provlock completions bash)")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
    #[command(flatten)]
    _offline: NoRequestsArgs,
}

pub(crate) fn run(arguments: &CompletionsArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    ui.print_bytes(&script(arguments.shell)?);
    Ok(Outcome::Done)
}

/// Returns the script that makes a shell ask `provlock` for completions.
pub(super) fn script(shell: Shell) -> anyhow::Result<Vec<u8>> {
    let shells = Shells::builtins();
    let mut script = Vec::new();
    let completer = shells
        .completer(&shell.to_string())
        .with_context(|| format!("no completions for {shell}"))?;
    completer.write_registration(
        variables::COMPLETE,
        "provlock",
        "provlock",
        "provlock",
        &mut script,
    )?;
    if shell == Shell::Zsh {
        // Where zsh has loaded the script as the function of the same name, it is to complete at
        // once.
        script.extend_from_slice(
            b"[[ $funcstack[1] != _provlock ]] || _clap_dynamic_completer_provlock\n",
        );
    }
    Ok(script)
}

/// Answers a shell that asks for completions, and then ends the program.
pub(super) fn answer(program: fn() -> Command) {
    CompleteEnv::with_factory(program)
        .var(variables::COMPLETE)
        .complete();
}
