//! Files that are generated from code: completions and man pages from the definition of the command
//! line, and the schema of JSON output from its types.

use clap::CommandFactory as _;
use clap::ValueEnum as _;
use clap_complete::{Generator as _, Shell};
use provlock_test::generated;

use super::{Cli, completions, program};
use crate::cli::render::json;

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn completions_are_current() {
    for shell in Shell::value_variants() {
        let script = completions::script(*shell).unwrap();
        generated(
            &format!("completions/{}", shell.file_name("provlock")),
            &script,
        );
    }
}

#[test]
fn the_schema_is_current() {
    let schema = serde_json::to_string_pretty(&json::schema()).unwrap() + "\n";
    generated("docs/output.schema.json", schema.as_bytes());
}

#[test]
fn man_pages_are_current() {
    let command = program();
    let mut pages = Vec::new();
    check_man_pages(&command, &mut pages);
    for page in [
        "provlock.1",
        "provlock-setup-git.1",
        "provlock-cache-dir.1",
        "provlock-cache-clean.1",
    ] {
        assert!(
            pages.iter().any(|name| name == page),
            "{page} is not there: {pages:?}"
        );
    }
}

/// Checks the man page of a command, and the pages of its subcommands, to which it refers.
fn check_man_pages(command: &clap::Command, pages: &mut Vec<String>) {
    generated(
        &format!("docs/man/{}.1", page_name(command)),
        &man_page(command),
    );
    pages.push(format!("{}.1", page_name(command)));
    for subcommand in with_pages(command) {
        check_man_pages(subcommand, pages);
    }
}

fn page_name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or("provlock")
}

/// The commands below a command, without `help`.
fn with_pages(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command
        .get_subcommands()
        .filter(|subcommand| subcommand.get_name() != "help")
}

/// The page from clap, and the other sections of a manual.
fn man_page(command: &clap::Command) -> Vec<u8> {
    let mut page = Vec::new();
    // The page is the same for every build.
    let command_of_page = command
        .clone()
        .after_help(None)
        .disable_help_subcommand(true)
        .long_version(None);
    clap_mangen::Man::new(command_of_page)
        .render(&mut page)
        .unwrap();
    let mut page = String::from_utf8(page).unwrap();
    let text =
        |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string).unwrap_or_default();
    let examples = text(command.get_before_long_help().or(command.get_before_help()));
    let after = text(command.get_after_help());
    let notes: Vec<_> = after
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("Exit codes: "))
        .map(roff)
        .collect();
    let codes = after
        .lines()
        .find_map(|line| line.strip_prefix("Exit codes: "))
        .unwrap_or("0 done, 2 failed");
    let sections = [
        ("NOTES", notes.concat()),
        (
            "EXAMPLES",
            if examples.is_empty() {
                examples
            } else {
                preformatted(&examples)
            },
        ),
        ("ENVIRONMENT", environment(command)),
        (
            "FILES",
            FILES
                .iter()
                .map(|(file, meaning)| entry(file, meaning))
                .collect(),
        ),
        (
            "\"EXIT STATUS\"",
            codes.split(", ").map(exit_code).collect(),
        ),
        ("\"SEE ALSO\"", see_also(command)),
    ];
    for (title, lines) in sections {
        if !lines.is_empty() {
            page.extend([".SH ", title, "\n", &lines]);
        }
    }
    page.into_bytes()
}

const FILES: [(&str, &str); 4] = [
    (
        ".terraform.lock.hcl",
        "The dependency lock file of a root module",
    ),
    (
        "provlock.toml",
        "Settings of a project, beside the configuration or above it",
    ),
    (
        "~/.tofurc, ~/.terraformrc",
        "The CLI configuration of OpenTofu and Terraform: mirrors, credentials helpers",
    ),
    (
        "~/.terraform.d/credentials.tfrc.json",
        "Tokens of registries and mirrors",
    ),
];

/// The environment variables of flags; on the first page also the other variables, as in
/// docs/environment.md.
fn environment(command: &clap::Command) -> String {
    let mut entries = String::new();
    for argument in command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
    {
        if let Some((variable, flag)) = argument.get_env().zip(argument.get_long()) {
            entries += &entry(
                &variable.to_string_lossy(),
                &format!("The value of --{flag} unless that is given"),
            );
        }
    }
    if page_name(command) != "provlock" {
        return entries + ".PP\n" + &roff("provlock(1) lists the other variables.");
    }
    let document = include_str!("../../../docs/environment.md").replace('`', "");
    for line in document
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("---"))
    {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (variable, meaning) = (cells[0], cells[1]);
        if variable != "variable" && !meaning.starts_with('-') {
            entries += &entry(variable, &without_links(meaning));
        }
    }
    entries
}

/// Markdown with the words of its links alone.
fn without_links(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().replace('[', "");
    parts.fold(first, |text, part| {
        text + &part
            .split_once(')')
            .map_or("", |(_, rest)| rest)
            .replace('[', "")
    })
}

/// The related pages.
fn see_also(command: &clap::Command) -> String {
    let root = program();
    let pages = with_pages(&root).map(|subcommand| format!("provlock-{}", subcommand.get_name()));
    let pages = std::iter::once("provlock".to_owned())
        .chain(pages)
        .filter(|page| page != page_name(command));
    roff(
        &pages
            .map(|page| format!("{page}(1)"))
            .collect::<Vec<_>>()
            .join(", "),
    )
}

fn exit_code(code: &str) -> String {
    let (number, meaning) = code.split_once(' ').unwrap();
    assert!(number.parse::<u8>().is_ok(), "{code}");
    entry(number, meaning)
}

/// A term and its meaning.
fn entry(term: &str, meaning: &str) -> String {
    format!(".TP\n\\fB{}\\fR\n{}", roff(term).trim_end(), roff(meaning))
}

/// Examples in the form that users type.
fn preformatted(examples: &str) -> String {
    let lines = examples
        .lines()
        .map(|line| line.trim_start_matches("Example: ").trim_start());
    let lines: String = lines
        .filter(|line| !line.is_empty() && *line != "Examples:")
        .map(roff)
        .collect();
    format!(".nf\n{lines}.fi\n")
}

/// A line of text. A dot or a quote at its start is escaped, because it would be a request.
fn roff(text: &str) -> String {
    let guard = if text.starts_with(['.', '\'']) {
        "\\&"
    } else {
        ""
    };
    guard.to_owned() + &text.replace('\\', "\\\\").replace('-', "\\-") + "\n"
}
