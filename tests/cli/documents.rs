//! Every command in README.md and docs/ runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use provlock::provider::PublicKey;
use provlock_test::{Registry, TestEnvironment};

use super::lock::requires;
use super::upgrade::modules::publish_module;
use provlock_test::git::Repository;

/// Commands that cannot run here.
const EXCEPTIONS: [&str; 10] = [
    // The settings are there already; the tutorial begins without.
    "provlock init",
    // The command asks on a terminal which upgrades to make.
    "provlock upgrade -i",
    // It asks for the token on a terminal.
    "provlock login registry.example.com",
    // There is no such registry.
    "provlock cache push -r",
    "provlock cache push -r --signing-key signing-key",
    // Spacelift mounts the file.
    "--config /mnt/workspace/provlock.toml",
    // There is no such mirror.
    "--net-mirror https://mirror.example.com/providers/",
    "--modules-mirror ./modules",
    "--oci-mirror 'ghcr.io/acme/providers/{namespace}/{type}'",
    "'oci://ghcr.io/acme/providers/${namespace}/${type}'",
];

/// README.md and the documents for users.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let in_docs = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let mut documents: Vec<_> = in_docs.filter(is_page).collect();
    documents.push(root.join("README.md"));
    documents.sort();
    documents
}

/// The lines of a document's code blocks, fenced or indented, that run provlock, each with where it
/// is.
fn commands(document: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(document).unwrap();
    let (mut found, mut is_fenced) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        is_fenced ^= line.trim_start().starts_with("```");
        let mut command = line.trim();
        for prefix in ["$ ", "- ", "run: "] {
            command = command.strip_prefix(prefix).unwrap_or(command);
        }
        let runs = command.starts_with("provlock ")
            || command.starts_with("printf ") && command.contains("| provlock ");
        if runs && (is_fenced || line.starts_with("    ")) {
            found.push((
                format!("{}:{}", document.display(), number + 1),
                command.to_owned(),
            ));
        }
    }
    found
}

/// Readers copy examples, so no example may contain a key whose private half is known, such as the
/// keys of RFC 8032.
#[test]
fn the_keys_of_examples_are_keys_that_could_be_trusted() {
    let texts: Vec<_> = documents()
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let quoted = texts.iter().flat_map(|text| text.split('"'));
    let keys: Vec<_> = quoted.filter(|text| text.starts_with("ed25519:")).collect();
    assert!(!keys.is_empty());
    for key in keys {
        assert!(key.parse::<PublicKey>().is_ok(), "{key}");
    }
}

/// A repository as the documents have it: root modules that are locked, branches, tags and files to
/// compare.
fn repository(registry: &Registry) -> Repository {
    for version in ["5.60.0", "5.80.0", "5.82.2", "6.3.0"] {
        registry
            .publish("hashicorp/aws", version)
            .platforms(["linux_amd64", "darwin_arm64", "windows_amd64"])
            .done();
    }
    publish_module(registry, &["5.13.0", "5.14.0"]);
    let mut environment = TestEnvironment::with_registry(registry);
    environment.set("TOKEN", "secret");
    environment.set("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main");
    environment.write(
        "provlock.toml",
        "platforms = [\"linux_amd64\", \"darwin_arm64\"]\n",
    );
    let root_modules = [
        "",
        "infra",
        "infra/dns",
        "apps",
        "live",
        "live/dns",
        "modules/examples",
        "examples/complete",
    ];
    for root_module in root_modules {
        let backend = "terraform {\n  backend \"s3\" {}\n}\n";
        let call =
            "module \"network\" {\n  source  = \"acme/net/aws\"\n  version = \"~> 5.0\"\n}\n";
        let call = if root_module.is_empty() { call } else { "" };
        environment.write(
            Path::new(root_module).join("main.tf"),
            format!("{backend}{call}"),
        );
        environment.write(
            Path::new(root_module).join("versions.tf"),
            requires("hashicorp/aws", "~> 5.0"),
        );
    }
    let repository = Repository::around(environment);
    let environment = &repository.environment;
    for root_module in root_modules {
        let directory = if root_module.is_empty() {
            "."
        } else {
            root_module
        };
        environment
            .provlock(["-C", directory, "upgrade", "hashicorp/aws@5.60.0"])
            .assert_code(0);
        environment
            .provlock(["-C", directory, "lock", "--modules"])
            .assert_code(0);
    }
    let lock_file = environment.lock_file();
    environment.write("OLD", &lock_file);
    environment.write("NEW", &lock_file);
    repository.environment.commit_all(".");
    for name in ["refs/tags/v1", "refs/tags/v2", "refs/remotes/origin/main"] {
        repository.git(["update-ref", name, "HEAD"]);
    }
    repository
}

#[test]
fn every_command_runs() {
    let registry = Registry::start();
    let repository = repository(&registry);
    let (mut failed, mut ran) = (Vec::new(), 0);
    for (place, command) in documents().iter().flat_map(|document| commands(document)) {
        let without_comment = command.split(" # ").next().unwrap_or_default().trim();
        // The two programs are not here.
        let is_ours = |part: &&str| !part.starts_with("tofu ") && !part.starts_with("terraform ");
        let command = &without_comment
            .split(" && ")
            .take_while(is_ours)
            .collect::<Vec<_>>()
            .join(" && ");
        if EXCEPTIONS.contains(&command.as_str())
            || EXCEPTIONS[2..]
                .iter()
                .any(|exception| command.ends_with(exception))
        {
            continue;
        }
        let before = repository.environment.snapshot();
        let output = repository.environment.program("sh", ["-c", command]).run();
        if repository.environment.snapshot() != before {
            repository.git(["reset", "--quiet", "--hard"]);
            repository.git(["clean", "--quiet", "--force", "-d"]);
        }
        ran += 1;
        if !matches!(output.code, Some(0 | 1)) {
            failed.push(format!("{place}\n{output}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(ran > 50, "only {ran} commands were found");
}

/// The pages of docs/ and the documents at the top, each with its text.
fn pages() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let at_the_top = [
        "ARCHITECTURE.md",
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ]
    .map(|name| root.join(name));
    let pages = documents().into_iter().chain(at_the_top);
    pages
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

/// The targets of the links in a page, without those to other hosts.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
}

/// Anchors of the headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let is_kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    titles
        .map(|title| {
            title
                .chars()
                .filter(is_kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let mut broken = Vec::new();
    for (page, text) in &pages {
        for link in links(text) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            let leads = match dunce::canonicalize(&target) {
                Ok(target) if !anchor.is_empty() => pages
                    .get(&target)
                    .is_some_and(|text| anchors(text).contains(anchor)),
                target => target.is_ok(),
            };
            // The site has only what is in docs/.
            let is_on_the_site =
                !page.parent().unwrap().ends_with("docs") || !path.starts_with("..");
            if !leads || !is_on_the_site {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(pages.values().flat_map(|text| links(text)).count() > 100);
}

#[test]
fn every_page_is_in_the_book() {
    let pages = pages();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let summary: BTreeSet<_> = links(&pages[&docs.join("SUMMARY.md")])
        .map(str::to_owned)
        .collect();
    let in_docs = pages
        .keys()
        .filter_map(|page| page.strip_prefix(&docs).ok());
    let names: BTreeSet<_> = in_docs
        .map(|page| page.display().to_string())
        .filter(|name| name != "SUMMARY.md")
        .collect();
    assert_eq!(summary, names);
}

/// The paths in a line's code, such as `a/b.rs` or `a/{b,c}.rs`.
fn paths(line: &str) -> Vec<String> {
    let is_path = |code: &&str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_./{},-".contains(letter);
        code.contains('/') && code.chars().all(is_part)
    };
    let alternatives = |code: &str| match code.split_once('{').zip(code.split_once('}')) {
        Some(((before, rest), (_, after))) => {
            let names = rest.split('}').next().unwrap_or_default().split(',');
            names.map(|name| format!("{before}{name}{after}")).collect()
        }
        None => vec![code.to_owned()],
    };
    line.split('`')
        .skip(1)
        .step_by(2)
        .filter(is_path)
        .flat_map(alternatives)
        .collect()
}

/// A path is relative to the repository, to `src`, to `src/project`, or to the room at the start of
/// its row.
#[test]
fn architecture_names_existing_files() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(repository.join("ARCHITECTURE.md")).unwrap();
    let (mut missing, mut found) = (Vec::new(), 0);
    for line in text.lines() {
        let paths = paths(line);
        let room = paths
            .first()
            .map_or_else(PathBuf::new, |room| Path::new("src").join(room));
        let directories = [
            Path::new(""),
            Path::new("src"),
            Path::new("src/project"),
            &room,
        ];
        for path in &paths {
            let exists = |directory: &&Path| {
                let path = repository.join(directory).join(path);
                path.exists() || path.with_extension("rs").exists()
            };
            found += 1;
            if !directories.iter().any(exists) {
                missing.push(path.clone());
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
    assert!(found > 100, "only {found} paths were found");
}

#[test]
fn the_front_page_is_short() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(text.lines().count() <= 90);
}

/// Until Cargo.toml names a repository, provlock has no address: only the address of the reader's
/// copy, on a host that cannot exist.
#[test]
fn no_page_names_a_place_of_provlock_that_is_not_there() {
    let is_known = !env!("CARGO_PKG_REPOSITORY").is_empty();
    let mut wrong = Vec::new();
    for (page, text) in pages() {
        let words =
            text.split(|letter: char| letter.is_whitespace() || "`\"'()|<>,".contains(letter));
        for word in words.map(|word| word.trim_end_matches(['.', ';'])) {
            let parts: Vec<_> = word.split(['/', ':', '@']).collect();
            let (_, of_project) = word
                .split_once("github.com/")
                .or_else(|| word.split_once("ghcr.io/"))
                .unwrap_or_default();
            let is_ours = of_project
                .split('/')
                .nth(1)
                .is_some_and(|name| name.starts_with("provlock"));
            // The place of the reader's own facts, and the example for who sets the repository.
            let is_an_example =
                word.starts_with("oci://ghcr.io/acme/") || page.ends_with("docs/releasing.md");
            if parts.contains(&"OWNER") || is_ours && !is_known && !is_an_example {
                wrong.push(format!("{}: {word}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fenced blocks of a page, each with its language.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let fences = text.split("```").skip(1).step_by(2);
    fences
        .map(|block| block.split_once('\n').unwrap())
        .collect()
}

/// Follows the tutorial in an empty directory, in its order, and looks for the output that it
/// shows.
#[test]
fn the_tutorial_can_be_followed() {
    let registry = Registry::start();
    for version in ["3.6.3", "3.7.2"] {
        let platforms = ["linux_amd64", "darwin_arm64", "windows_amd64"];
        registry
            .publish("hashicorp/random", version)
            .platforms(platforms)
            .done();
    }
    let repository = Repository::around(TestEnvironment::with_registry(&registry));
    let environment = &repository.environment;
    fs::remove_dir_all(environment.project().join(".git")).unwrap();
    let tutorial = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorial.md");
    let (mut shown, mut ran) = (String::new(), 0);
    for (language, block) in blocks(&fs::read_to_string(tutorial).unwrap()) {
        match language {
            "hcl" => {
                let (name, content) = block.split_once('\n').unwrap();
                environment.write(name.trim_start_matches("# "), content);
            }
            "sh" => {
                shown.clear();
                for line in block.lines() {
                    let (command, code) = line.split_once("# exit ").unwrap_or((line, "0"));
                    let output = environment.program("sh", ["-c", command]).run();
                    output.assert_code(code.parse().unwrap());
                    shown += &(output.stdout + &output.stderr);
                    ran += 1;
                }
            }
            _ => {
                for line in block.lines() {
                    assert!(shown.contains(line), "not shown: {line}\n{shown}");
                }
            }
        }
    }
    assert!(ran > 15);
    assert!(environment.read("main.tf").contains("3.7"));
}
