//! Files that are made from the definition of the command line: completions and man pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap::ValueEnum as _;
use clap_complete::{Generator as _, Shell};

use super::Cli;

/// Compares a committed file with what it should be. With `PROVLOCK_UPDATE` set it is written instead.
fn check(path: &str, content: &[u8]) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("PROVLOCK_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }
    let committed = fs::read(&path).unwrap_or_default();
    let command = "PROVLOCK_UPDATE=1 cargo test --bin provlock";
    assert!(committed == content, "{} is out of date; run: {command}", path.display());
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn completions_are_current() {
    for shell in Shell::value_variants() {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut Cli::command(), "provlock", &mut script);
        check(&format!("completions/{}", shell.file_name("provlock")), &script);
    }
}

#[test]
fn man_pages_are_current() {
    let mut command = Cli::command();
    command.build();
    check("docs/man/provlock.1", &man_page(&command));
    for subcommand in command.get_subcommands() {
        let name = subcommand.get_display_name().unwrap();
        check(&format!("docs/man/{name}.1"), &man_page(subcommand));
    }
}

fn man_page(command: &clap::Command) -> Vec<u8> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).unwrap();
    page
}
