//! `completions`: scripts that complete commands and flags in a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use super::outcome::Outcome;
use crate::cli::ui::Ui;

#[derive(Args)]
#[command(after_help = "Example: provlock completions bash > /etc/bash_completion.d/provlock")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArgs, program: &mut Command, ui: &Ui) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, program, "provlock", &mut script);
    ui.print_bytes(&script);
    Outcome::Done
}
