//! Files that are made from code: completions and man pages from the definition of the command line, and the schema of
//! JSON output from its types.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap::ValueEnum as _;
use clap_complete::{Generator as _, Shell};

use super::Cli;
use crate::cli::render::json;

/// Compares a committed file with what it should be. With `SNAPSHOTS=overwrite` it is written instead.
fn check(path: &str, content: &[u8]) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("SNAPSHOTS").is_some_and(|action| action == "overwrite") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }
    let committed = fs::read(&path).unwrap_or_default();
    let command = "SNAPSHOTS=overwrite cargo test --bin provlock";
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
fn the_schema_is_current() {
    let schema = serde_json::to_string_pretty(&json::schema()).unwrap() + "\n";
    check("docs/output.schema.json", schema.as_bytes());
}

#[test]
fn man_pages_are_current() {
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    check_man_pages(&command, &mut pages);
    for page in ["provlock.1", "provlock-setup-git.1", "provlock-cache-dir.1", "provlock-cache-clean.1"] {
        assert!(pages.iter().any(|name| name == page), "{page} is not there: {pages:?}");
    }
}

/// Checks the page of a command and those of the commands below it, to which it refers.
fn check_man_pages(command: &clap::Command, pages: &mut Vec<String>) {
    let name = format!("{}.1", command.get_display_name().unwrap_or("provlock"));
    check(&format!("docs/man/{name}"), &man_page(command));
    pages.push(name);
    for subcommand in command.get_subcommands() {
        check_man_pages(subcommand, pages);
    }
}

/// The page that clap makes, with sections of the usual names for what stands around the help text.
fn man_page(command: &clap::Command) -> Vec<u8> {
    let mut page = Vec::new();
    // The page is the same for every build.
    let command_of_page = command.clone().after_help(None).long_version(None);
    clap_mangen::Man::new(command_of_page).render(&mut page).unwrap();
    let mut page = String::from_utf8(page).unwrap();
    let around = [command.get_before_help(), command.get_after_help()].map(|text| text.map(ToString::to_string));
    let (mut notes, mut examples, mut codes) = (Vec::new(), Vec::new(), "0 done, 2 could not do it");
    for line in around.iter().flatten().flat_map(|text| text.lines()).filter(|line| !line.is_empty()) {
        if let Some(list) = line.strip_prefix("Exit codes: ") {
            let (list, note) = list.split_once(". ").map_or((list, None), |(list, note)| (list, Some(note)));
            codes = list;
            notes.extend(note.map(roff));
        } else if let Some(example) = line.strip_prefix("Example: ") {
            examples.push(format!(".nf\n{}.fi\n", roff(example)));
        } else {
            notes.push(roff(line));
        }
    }
    let code = |code: &str| {
        let (number, meaning) = code.split_once(' ').unwrap();
        assert!(number.parse::<u8>().is_ok(), "{code}");
        format!(".TP\n\\fB{number}\\fR\n{}", roff(meaning))
    };
    let codes: Vec<_> = codes.split(", ").map(code).collect();
    for (title, lines) in [("NOTES", notes), ("\"EXIT STATUS\"", codes), ("EXAMPLES", examples)] {
        if !lines.is_empty() {
            page.extend([".SH ", title, "\n", &lines.concat()]);
        }
    }
    page.into_bytes()
}

/// A line of text.
fn roff(text: &str) -> String {
    text.replace('\\', "\\\\").replace('-', "\\-") + "\n"
}
