//! Every output that a page shows is what the program prints.
//!
//! A `console` block of a page has commands after `$ `, each with its output. A comment
//! `<!-- testdata/pages/NAME.sh -->` in the page makes a new repository by that script, and the
//! blocks below it run there, one after the other. A line `...` stands for any lines, and
//! `# exit 1` after a command for its exit code. `SNAPSHOTS=overwrite` writes the outputs that
//! differ into the pages.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use provlock_test::git::Repository;
use provlock_test::snapbox::{Assert, Data};
use provlock_test::{Registry, TestEnvironment};

const SCRIPT: &str = "<!-- testdata/pages/";

/// A registry with the providers of the pages, on both default hosts.
fn registry() -> Registry {
    let registry = Registry::start();
    let releases = [
        ("hashicorp/aws", "5.60.0"),
        ("hashicorp/aws", "5.82.2"),
        ("hashicorp/aws", "6.3.0"),
        ("hashicorp/null", "3.2.3"),
        ("hashicorp/null", "3.2.4"),
        ("hashicorp/random", "3.6.3"),
        ("hashicorp/random", "3.7.2"),
    ];
    for host in ["registry.opentofu.org", "registry.terraform.io"] {
        for (provider, version) in releases {
            registry
                .publish(&format!("{host}/{provider}"), version)
                .platforms(["linux_amd64", "darwin_arm64", "windows_amd64"])
                .done();
        }
    }
    // The dates of versions.
    registry.add_host("api.opentofu.org");
    registry.serve(
        "/registry/docs/providers/hashicorp/aws/index.json",
        r#"{"addr": {"display": "hashicorp/aws"}, "versions": [{"id": "v5.82.2", "published": "2024-12-20T12:00:00Z"}]}"#,
    );

    // A registry that refuses requests without a token.
    registry
        .publish("registry.example.com/acme/gamma", "1.5.0")
        .done();
    registry.require_token("registry.example.com", "secret");
    registry
}

/// A repository that a script of `testdata/pages` has made.
fn repository(registry: &Registry, script: &Path) -> Repository {
    let repository = Repository::around(TestEnvironment::with_registry(registry));
    let text =
        fs::read_to_string(script).unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    // A script may run others: `. "$PAGES/NAME.sh"`.
    repository
        .environment
        .program("sh", ["-euc", &text])
        .env("PAGES", script.parent().unwrap())
        .run()
        .assert_code(0);
    repository
}

/// Runs the command of a line. Returns the line with the exit code, and the output, results before
/// status.
fn run(repository: &Repository, line: &str) -> (String, String) {
    let command = line.split("# exit ").next().unwrap().trim_end();
    let output = repository.environment.program("sh", ["-c", command]).run();
    let code = match output.code {
        Some(0) => String::new(),
        code => format!("    # exit {}", code.unwrap_or_default()),
    };
    let text = format!("{}{}", output.stdout, output.stderr);
    (format!("{command}{code}"), text)
}

/// Whether the printed lines are the shown ones, in which `...` stands for any lines.
fn is_shown(shown: &[&str], printed: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else {
        return printed.is_empty();
    };
    if *first == "..." {
        return (0..=printed.len()).any(|skipped| is_shown(rest, &printed[skipped..]));
    }
    let is_same = printed
        .first()
        .is_some_and(|line| without_sizes(line) == without_sizes(first));
    is_same && is_shown(rest, &printed[1..])
}

/// A line without numbers of bytes: compressed sizes depend on the processor.
fn without_sizes(line: &str) -> String {
    let mut words: Vec<_> = line.split(' ').collect();
    for index in 1..words.len() {
        let unit = words[index].trim_matches([')', ';', ',']);
        if ["B", "KiB", "MiB"].contains(&unit) {
            words[index - 1] = "";
        }
    }
    words.join(" ")
}

/// Returns a page with the outputs that its commands print, and the number of commands.
fn with_outputs(registry: &Registry, page: &str) -> (String, usize) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/pages");
    let (mut result, mut ran) = (String::new(), 0);
    let mut current = None;
    let mut remaining = page.lines().peekable();
    while let Some(line) = remaining.next() {
        result += line;
        result.push('\n');
        if let Some(rest) = line.strip_prefix(SCRIPT) {
            let name = rest.split(' ').next().unwrap();
            current = Some(repository(registry, &scripts.join(name)));
        }
        if line != "```console" {
            continue;
        }
        let repository = current.as_ref().expect("a script above the first block");

        while let Some(command) = remaining.next_if(|line| line.starts_with("$ ")) {
            let mut shown = Vec::new();
            let is_output = |line: &&str| !line.starts_with("$ ") && *line != "```";
            while let Some(line) = remaining.next_if(is_output) {
                shown.push(line.trim_end());
            }
            let (line, text) = run(repository, &command[2..]);
            let mut printed: Vec<_> = text.trim_end().lines().map(str::trim_end).collect();
            if is_shown(&shown, &printed) {
                printed = shown;
            }
            let _ = writeln!(result, "$ {line}");
            for line in printed {
                let _ = writeln!(result, "{line}");
            }
            ran += 1;
        }
    }
    (result, ran)
}

/// Asserts that a page shows what its commands print, and that it has as many commands.
fn assert_outputs(name: &str, at_least: usize) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let page = fs::read_to_string(&path).unwrap();
    let (actual, ran) = with_outputs(&registry(), &page);
    Assert::new()
        .action_env("SNAPSHOTS")
        .eq(actual, Data::read_from(&path, None).raw());
    assert!(ran >= at_least, "{name}: only {ran} commands ran");
}

#[test]
fn the_front_page_shows_what_is_printed() {
    assert_outputs("README.md", 2);
}

#[test]
fn the_page_about_ci_shows_what_is_printed() {
    assert_outputs("docs/ci.md", 8);
}

#[test]
fn the_page_of_the_gate_shows_what_is_printed() {
    assert_outputs("docs/gate.md", 5);
}

#[test]
fn the_page_of_findings_shows_what_is_printed() {
    assert_outputs("docs/findings.md", 8);
}

#[test]
fn the_page_about_fleets_shows_what_is_printed() {
    assert_outputs("docs/fleet.md", 3);
}

#[test]
fn the_page_about_git_shows_what_is_printed() {
    assert_outputs("docs/git.md", 5);
}

#[test]
fn pages_about_modules_and_registries_show_what_is_printed() {
    assert_outputs("docs/modules.md", 1);
    assert_outputs("docs/private-registries.md", 1);
}

#[test]
fn the_page_about_upgrades_shows_what_is_printed() {
    assert_outputs("docs/upgrading.md", 2);
}
