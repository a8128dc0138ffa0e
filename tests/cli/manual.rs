//! `--help`, `-h` and `provlock help`.

use std::collections::HashMap;

use provlock_test::{Output, TestEnvironment, str};

const COMMANDS: [&str; 17] = [
    "init",
    "lock",
    "get",
    "verify",
    "upgrade",
    "pin",
    "diff",
    "tree",
    "sbom",
    "merge",
    "mirror",
    "explain",
    "setup",
    "login",
    "logout",
    "cache",
    "completions",
];

fn help(arguments: &[&str]) -> Output {
    let output = TestEnvironment::new()
        .command(arguments)
        .env("COLUMNS", "80")
        .run();
    output.assert_code(0).assert_stdout_has("Usage: provlock ");
    output
}

#[test]
fn commands_are_listed_in_the_order_of_their_use() {
    let output = help(&["-h"]);
    let after = output
        .stdout
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1);
    let lines = after
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "));
    let names: Vec<_> = lines
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names[..COMMANDS.len()], COMMANDS);
    assert_eq!(names[COMMANDS.len()..], ["help"]);
}

#[test]
fn short_help_fits_one_screen() {
    for command in COMMANDS {
        let output = help(&[command, "-h"]);
        let lines = output.stdout.lines().count();
        let remedy = "a flag that is not needed every day has `hide_short_help = true`";
        assert!(lines <= 50, "{lines} lines; {remedy}\n{output}");
    }
}

#[test]
fn help_of_a_command_is_its_long_help() {
    for command in COMMANDS {
        assert_eq!(
            help(&["help", command]).stdout,
            help(&[command, "--help"]).stdout
        );
    }
}

#[test]
fn flags_stand_below_the_same_headings_everywhere() {
    for command in COMMANDS {
        let output = help(&[command, "--help"]);
        let headings = output
            .stdout
            .lines()
            .filter(|line| !line.contains(' ') && line.ends_with(':'));
        for heading in headings {
            let known = [
                "Examples:",
                "Commands:",
                "Arguments:",
                "Options:",
                "Selection:",
                "Modules:",
                "Sources:",
                "Network:",
                "Output:",
            ];
            assert!(known.contains(&heading), "{heading}\n{output}");
        }
    }
}

#[test]
fn flags_have_the_same_order_everywhere() {
    for form in ["-h", "--help"] {
        let mut order = HashMap::new();
        for command in COMMANDS {
            let output = help(&[command, form]);
            let is_own = |line: &&str| line.starts_with("  -") || line.starts_with("      --");
            let is_heading = |line: &&str| !line.contains(' ') && line.ends_with(':');
            let listed = output
                .stdout
                .lines()
                .filter(|line| is_own(line) || is_heading(line));
            let name = |line: &str| {
                line.split_whitespace()
                    .find(|word| !word.ends_with(','))
                    .unwrap()
                    .to_owned()
            };
            let listed: Vec<_> = listed.map(name).collect();
            for (index, before) in listed.iter().enumerate() {
                for after in &listed[index + 1..] {
                    order.insert((before.clone(), after.clone()), command);
                    let other = order.get(&(after.clone(), before.clone()));
                    assert_eq!(other, None, "{command} {form} has {before} before {after}");
                }
            }
        }
    }
}

/// The flags of a command itself come first.
#[test]
fn flags_of_every_command_come_last() {
    for form in ["-h", "--help"] {
        for command in COMMANDS {
            let output = help(&[command, form]);
            let (own, global) = output
                .stdout
                .split_once("\nGlobal options:\n")
                .unwrap_or_else(|| panic!("{output}"));
            for flag in [
                "--chdir",
                "--dialect",
                "--config",
                "--verbose",
                "--quiet",
                "--help",
            ] {
                assert!(
                    !own.contains(&format!("{flag} ")) && global.contains(flag),
                    "{flag}: {output}"
                );
            }
            let is_heading = |line: &str| line.ends_with(':') && !line.starts_with(' ');
            assert!(!global.lines().any(is_heading), "{output}");
            assert!(!output.stdout.contains('`'), "{output}");
        }
    }
}

/// At 60 columns no line of an example is broken, and no word of any text.
#[test]
fn help_can_be_read_and_pasted_on_a_narrow_terminal() {
    for command in COMMANDS {
        let wide = help(&[command, "--help"]);
        let narrow = TestEnvironment::new()
            .command([command, "--help"])
            .env("COLUMNS", "60")
            .run();
        for line in wide.stdout.lines().take_while(|line| !line.is_empty()) {
            assert!(
                narrow.stdout.lines().any(|other| other == line),
                "{line}\n{narrow}"
            );
        }
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&narrow.stdout), words(&wide.stdout), "{command}");
    }
}

#[test]
fn short_help_shows_what_people_look_for() {
    for (command, flags) in [
        (
            "lock",
            &[
                "--platform",
                "--fs-mirror",
                "--accept-changed-hashes",
                "--check",
                "--dry-run",
            ][..],
        ),
        (
            "upgrade",
            &[
                "--fs-mirror",
                "--accept-changed-hashes",
                "--constraints",
                "--dry-run",
            ],
        ),
        (
            "verify",
            &[
                "--base",
                "--new",
                "--online",
                "--fs-mirror",
                "--report",
                "--deny",
            ],
        ),
        ("mirror", &["--fs-mirror", "--prune", "--dry-run"]),
    ] {
        let output = help(&[command, "-h"]);
        for flag in flags {
            output.assert_stdout_has(&format!("{flag} "));
        }
    }
}

#[test]
fn short_help_of_lock() {
    help(&["lock", "-h"]).matches(str![[r#"
exit code: 0
----- stdout -----
Example: provlock lock -p linux_amd64,darwin_arm64

Lock every required provider, with hashes for the requested platforms

Usage: provlock lock [OPTIONS] [PROVIDER|PATH]...

Arguments:
  [PROVIDER|PATH]...  Providers [default: all]; and root modules, by a directory
                      or a file in it [default: .]

Selection:
  -r, --recursive              Every root module below the paths, without
                               directories that git ignores
  -p, --platform <OS_ARCH>     Platforms such as linux_amd64, or all [default:
                               provlock.toml's, else the lock file's, else this
                               machine's] [env: PROVLOCK_PLATFORMS]
      --prune                  Remove entries that nothing requires
      --accept-changed-hashes  Replace hashes that do not belong to the release
      --modules                Also lock the modules; the default with
                               .modules.lock.hcl
      --min-age <DURATION>     Select no version younger than this, such as 7d
                               [default: min-age of provlock.toml]

Sources:
      --fs-mirror <DIR>  Take packages from DIR instead of the registries

Network:
      --offline  Make no network requests; use the lock file and the cache, and
                 report what is missing

Output:
      --format <FORMAT>  Output format [default: text] [possible values: text,
                         json]
      --check            Write nothing; exit with 1 if the lock file would
                         change or has a hash that is known to be unpublished
      --dry-run          Write nothing; print the change as a diff

Global options:
  -C, --chdir <DIR>        Change to DIR before doing anything
      --dialect <DIALECT>  Target tool: tofu or terraform [default: detected
                           from the files] [env: PROVLOCK_DIALECT]
      --config <FILE>      Settings file, instead of searching for provlock.toml
      --json               Same as --format json: print the result as one JSON
                           object
  -v, --verbose...         More detail; twice, also each request
  -q, --quiet              Errors only
  -h, --help               Print help (see more with '--help')

Exit codes: 0 done or up to date, 1 --check: the file would change or has a hash
that was never published, 2 failed
"#]]);
}

#[test]
fn long_help_of_diff() {
    help(&["diff", "--help"]).matches(str![[r#"
exit code: 0
----- stdout -----
Examples:
  # HEAD and the working tree
  provlock diff
  # For a comment on a pull request
  provlock diff main --format markdown
  # Two revisions
  provlock diff v1..v2
  # Two files, directories or revisions
  provlock diff OLD NEW

Compare two lock files, provider by provider

Shows the providers that were added, removed or changed, with versions,
constraints and numbers of hashes. An exclamation mark means that hashes were
replaced under the same version. Lock files of modules (.modules.lock.hcl) are
compared in the same way, module by module.

Usage: provlock diff [OPTIONS] [OLD] [NEW]

Arguments:
  [OLD]
          A lock file, or a revision as in git: REV, OLD..NEW or, from their
          merge base, OLD...NEW [default: HEAD]

  [NEW]
          The newer lock file or revision [default: the lock file of the current
          directory]

Selection:
  -r, --recursive
          Compare every lock file that git knows in this directory and below

      --git <REV>
          The revision, if a file has the same name

      --textconv <FILE>
          Print FILE with one line per provider, for git diff

Network:
      --offline
          Make no network requests; this command never does

Output:
      --format <FORMAT>
          Output format [default: text]

          Possible values:
          - text:     For people
          - markdown: A table for a comment on a pull request
          - json:     One JSON object, as with --json
          - unified:  Line by line, as diff -u does

      --exit-code
          Exit with 1 if there are differences

Global options:
  -C, --chdir <DIR>
          Change to DIR before doing anything

      --dialect <DIALECT>
          Target tool: tofu or terraform [default: detected from the files]
          
          [env: PROVLOCK_DIALECT]

      --config <FILE>
          Settings file, instead of searching for provlock.toml

      --json
          Same as --format json: print the result as one JSON object

  -v, --verbose...
          More detail; twice, also each request

  -q, --quiet
          Errors only

      --color <WHEN>
          When to use colour; auto: on a terminal, unless NO_COLOR is set, and
          elsewhere if FORCE_COLOR is set
          
          [default: auto]
          [possible values: auto, always, never]

  -h, --help
          Print help (see a summary with '-h')

Exit codes: 0 done, 1 --exit-code: there are differences, 2 failed
"#]]);
}
