//! `completions`: scripts that complete commands and flags in a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::ui::Ui;
use super::{Cli, Outcome};

#[derive(Args)]
#[command(after_help = "Example: provlock completions bash > /etc/bash_completion.d/provlock")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArgs, ui: &Ui) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "provlock", &mut script);
    ui.print_bytes(&script);
    Outcome::Done
}
