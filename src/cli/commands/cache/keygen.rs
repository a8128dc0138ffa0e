//! `cache keygen`: a key to sign shared facts with.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueHint};
use provlock::diagnostic::{Code, Diagnostic};
use provlock::provider::SigningKey;
use provlock::system::{Tree, files};

use crate::cli::args::NoRequestsArgs;
use crate::cli::run::outcome::Outcome;
use crate::cli::ui::Ui;

/// Write a new private key to a file, and print its public key
///
/// `provlock cache push` signs with the private key. Projects with the public key in `trusted-keys`
/// of provlock.toml trust the signed hashes.
#[derive(Args)]
#[command(before_help = "Example: provlock cache keygen signing-key")]
pub(crate) struct KeygenArgs {
    /// The file for the private key; it must not exist
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    _offline: NoRequestsArgs,
}

pub(super) fn run(arguments: &KeygenArgs, ui: &Ui) -> Result<Outcome> {
    let key =
        SigningKey::generate().map_err(|error| Diagnostic::error(Code::Io, error.to_string()))?;
    ui.invocation.secrets.learn_key(&key);
    create(&arguments.file, &format!("{}\n", key.reveal()))?;
    ui.status(&format!(
        "Wrote the private key to {}; add this public key to trusted-keys in provlock.toml:",
        arguments.file.display()
    ));
    ui.print(&format!("{}\n", key.public_key()));
    Ok(Outcome::Done)
}

/// Creates a file that only the user can read. An existing file is not changed.
fn create(path: &Path, text: &str) -> Result<()> {
    if Tree::Work.has(path) {
        let message = format!("{} exists, and a key is never overwritten", path.display());
        return Err(Diagnostic::error(Code::InvalidArgument, message)
            .help("name a file that does not exist")
            .into());
    }
    Ok(files::create_private(path, text.as_bytes())?)
}
