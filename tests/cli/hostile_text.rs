//! Hostile text from registries, files and arguments is shown without secrets, and escaped: neither
//! a terminal nor the runner of a workflow obeys it.

use std::fs;

use serde_json::{Value, json};

use super::json_output::validated;
use super::lock::{lock_file, requires};
use provlock_test::publish::Publish;
use provlock_test::registry::{Discovery, Registry};
use provlock_test::{Fault, Output, TestEnvironment, Times, survived, url};

const HOST: &str = "registry.example.com";
const PROVIDER: &str = "registry.example.com/acme/gamma";
const TOKEN: &str = "s3cr3t-t0ken";
/// Colours, reversed and invisible text, a line that is a workflow command, commands within a line,
/// and the token.
const HOSTILE: &str = "MARK\u{1b}[31m\u{202e}\u{200b}\u{9b}2J\u{7}\u{8}\u{7f}\r\n::error::MARK ##[add-mask]x ##vso[y]s3cr3t-t0ken";
/// Characters that no output contains.
const HIDDEN: [char; 8] = [
    '\u{1b}', '\u{202e}', '\u{200b}', '\u{9b}', '\u{7}', '\u{8}', '\u{7f}', '\r',
];

/// A provider that is locked, from a registry that wants a token.
struct Project {
    registry: Registry,
    environment: TestEnvironment,
}

impl Project {
    fn new(change: impl FnOnce(Publish<'_>) -> Publish<'_>) -> Self {
        let (registry, mut environment) = Registry::with_project();
        let release = registry
            .publish("acme/gamma", "1.5.0")
            .on_host(HOST)
            .platforms(["linux_amd64"]);
        let published = change(release).done();
        registry.require_token(HOST, TOKEN);
        environment.set("TF_TOKEN_registry_example_com", TOKEN);
        environment.write("main.tf", requires(PROVIDER, ""));
        environment.write_lock_file(lock_file(&[published.entry("", &published.all_zh())]));
        Self {
            registry,
            environment,
        }
    }

    fn good() -> Self {
        Self::new(|release| release)
    }

    /// Metadata with other members.
    fn patched(members: Value) -> Self {
        Self::new(|release| release.patch_metadata(members))
    }

    /// A hash in the lock file, as it stands there.
    fn with_hash(hash: &str) -> Self {
        let project = Self::good();
        let text = project.environment.lock_file().replacen(
            "    \"zh:",
            &format!("    \"{hash}\",\n    \"zh:"),
            1,
        );
        project.environment.write_lock_file(text);
        project
    }
}

/// [`HOSTILE`] in a string of HCL.
fn in_hcl() -> String {
    HOSTILE
        .chars()
        .map(|c| {
            if c.is_ascii_graphic() || c == ' ' {
                c.to_string()
            } else {
                format!("\\u{:04x}", u32::from(c))
            }
        })
        .collect()
}

/// Fails if something in the output is obeyed or secret.
#[track_caller]
fn assert_harmless(name: &str, output: &Output, format: &str) {
    output
        .assert_lacks(TOKEN)
        .assert_lacks("##[")
        .assert_lacks("##vso[");
    for text in [&output.stdout, &output.stderr] {
        for c in HIDDEN {
            assert!(!text.contains(c), "{name}: {c:?} in {output}");
        }
        if matches!(format, "json" | "sarif") && text.starts_with('{') {
            let _: Value = serde_json::from_str(text).unwrap();
            continue;
        }
        for line in text
            .lines()
            .filter(|line| line.trim_start().starts_with("::"))
        {
            let is_own = format == "github"
                && ["::error ", "::warning ", "::notice "]
                    .iter()
                    .any(|own| line.starts_with(own));
            assert!(
                is_own || line.trim_start().starts_with(":::"),
                "{name}: {line:?} in {output}"
            );
        }
    }
}

/// The commands that show problems, with their formats.
const RUNS: [(&[&str], &str); 11] = [
    (&["lock", "-p", "linux_amd64", "--no-cache"], "text"),
    (
        &[
            "lock",
            "-p",
            "linux_amd64",
            "--no-cache",
            "--color",
            "always",
        ],
        "color",
    ),
    (
        &["lock", "-p", "linux_amd64", "--no-cache", "--json"],
        "json",
    ),
    (
        &["lock", "-p", "linux_amd64", "--no-cache", "--dry-run"],
        "text",
    ),
    (&["verify", "--online", "--no-cache"], "text"),
    (&["verify", "--online", "--no-cache", "--json"], "json"),
    (
        &["verify", "--online", "--no-cache", "--format", "github"],
        "github",
    ),
    (
        &["verify", "--online", "--no-cache", "--format", "sarif"],
        "sarif",
    ),
    (
        &["verify", "--online", "--no-cache", "--format", "gitlab"],
        "gitlab",
    ),
    (
        &["verify", "--online", "--no-cache", "--format", "junit"],
        "junit",
    ),
    (
        &["verify", "--online", "--no-cache", "--format", "html"],
        "html",
    ),
];

/// An input that may be echoed, and a project that contains it.
type Case = (&'static str, fn() -> Project);

const CASES: [Case; 21] = [
    ("a warning of the registry", || {
        let project = Project::good();
        project.registry.warn(PROVIDER, &[HOSTILE]);
        project
    }),
    ("a listing", || {
        let project = Project::good();
        let text = json!({ "data": { "attributes": { "tier": HOSTILE, "warning": HOSTILE } }, "included": [] });
        project
            .registry
            .serve("/v2/providers/acme/delta", text.to_string());
        project
            .registry
            .publish("acme/delta", "1.0.0")
            .on_host("registry.terraform.io")
            .platforms(["linux_amd64"])
            .done();
        project
            .environment
            .write("main.tf", requires("registry.terraform.io/acme/delta", ""));
        project
            .environment
            .write("provlock.toml", "[policy]\ntiers = [\"official\"]\n");
        project
    }),
    ("a plugin protocol", || {
        Project::patched(json!({ "protocols": [HOSTILE] }))
    }),
    ("an operating system", || {
        Project::patched(json!({ "os": HOSTILE }))
    }),
    ("an architecture", || {
        Project::patched(json!({ "arch": HOSTILE }))
    }),
    ("a file name", || {
        Project::patched(json!({ "filename": HOSTILE }))
    }),
    ("the URL of a package", || {
        Project::patched(json!({ "download_url": format!("https://[{HOSTILE}") }))
    }),
    ("the URL of SHA256SUMS", || {
        Project::patched(json!({ "shasums_url": HOSTILE }))
    }),
    ("the URL of a signature", || {
        Project::patched(json!({ "shasums_signature_url": HOSTILE }))
    }),
    ("a checksum", || {
        Project::patched(json!({ "shasum": HOSTILE }))
    }),
    ("a platform of the packages", || {
        Project::patched(json!({ "packages": { HOSTILE: { "hashes": [], "package_size": 1 } } }))
    }),
    ("a hash of the packages", || {
        let (hash, registry) = (format!("zh:{HOSTILE}"), Registry::start());
        let same = registry
            .publish("acme/gamma", "1.5.0")
            .on_host(HOST)
            .platforms(["linux_amd64"])
            .done();
        let size = same.packages["linux_amd64"].archive.len();
        Project::patched(
            json!({ "packages": { "linux_amd64": { "hashes": [hash], "package_size": size } } }),
        )
    }),
    ("a key", || {
        let key = json!({ "key_id": HOSTILE, "ascii_armor": HOSTILE });
        Project::patched(json!({ "signing_keys": { "gpg_public_keys": [key] } }))
    }),
    ("a discovery document", || {
        let project = Project::good();
        let service = format!("https://[{HOSTILE}");
        project.registry.discovery(
            HOST,
            Discovery::Document(json!({ "providers.v1": service })),
        );
        project
    }),
    ("a list of versions that is none", || {
        let project = Project::good();
        project
            .registry
            .fault(url::VERSIONS, Times::Always, Fault::Body(HOSTILE.into()));
        project
    }),
    ("SHA256SUMS", || {
        let project = Project::good();
        project
            .registry
            .fault(url::SHASUMS, Times::Always, Fault::Body(HOSTILE.into()));
        project
    }),
    ("an entry of an archive", || {
        Project::new(|release| release.package_file(&format!("../{HOSTILE}"), ""))
    }),
    ("a hash of the lock file", || {
        Project::with_hash(&format!("x:{}", in_hcl()))
    }),
    ("constraints of the lock file", || {
        let project = Project::good();
        let constraints = format!("\"1.5.0\"\n  constraints = \"{}\"", in_hcl());
        project
            .environment
            .write_lock_file(project.environment.lock_file().replacen(
                "\"1.5.0\"",
                &constraints,
                1,
            ));
        project
    }),
    ("the source of a module", || {
        let project = Project::good();
        project.environment.write(
            "module.tf",
            format!("module \"m\" {{\n  source = \"{}\"\n}}\n", in_hcl()),
        );
        project
    }),
    ("a comment beside an error", || {
        let project = Project::good();
        project.environment.write(
            "broken.tf",
            format!("module {{ # {}\n", HOSTILE.replace(['\r', '\n'], "")),
        );
        project
    }),
];

#[test]
fn nothing_that_is_echoed_is_obeyed_or_secret() {
    let mut echoed = Vec::new();
    for (name, project) in CASES {
        let project = project();
        let mut shown = String::new();
        for (arguments, format) in RUNS {
            let output = project
                .environment
                .command(arguments)
                .env("GITHUB_ACTIONS", "true")
                .run();
            if format != "color" {
                assert_harmless(name, &output, format);
            }
            if format == "json" {
                validated(&output.stdout);
            }
            output.assert_lacks(TOKEN);
            shown += &(output.stdout + &output.stderr);
        }
        if shown.contains("MARK") {
            echoed.push(name);
        }
    }
    assert!(
        echoed.len() >= CASES.len() / 2,
        "only these are shown at all: {echoed:?}"
    );
    survived(
        "foreign text with commands, invisible characters and a token",
        CASES.len() * RUNS.len(),
    );
}

#[test]
fn comparisons_obey_nothing_either() {
    let project = Project::with_hash(&format!("x:{}", in_hcl()));
    let text = project.environment.lock_file();
    project.environment.write(
        "old.hcl",
        text.lines()
            .filter(|line| !line.contains("MARK"))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    for format in ["text", "markdown", "unified", "json"] {
        let arguments = ["diff", "old.hcl", ".terraform.lock.hcl", "--format", format];
        let output = project
            .environment
            .command(arguments)
            .env("GITHUB_ACTIONS", "true")
            .run();
        assert_harmless(format, &output, format);
        if format != "text" {
            output
                .assert_stdout_has("MARK")
                .assert_stdout_has("[redacted]");
        }
    }
}

#[test]
fn long_texts_are_cut() {
    let long = "x".repeat(1 << 19);
    let project =
        Project::patched(json!({ "protocols": vec![long.get(..10_000).unwrap_or_default(); 60] }));
    project.registry.warn(PROVIDER, &[long.as_str(); 7]);
    for (arguments, _) in RUNS {
        let output = project.environment.provlock(arguments);
        output.assert_lacks(&long);
        assert!(
            output.stdout.len() + output.stderr.len() < 150_000,
            "{arguments:?}: {}",
            output.stderr.len()
        );
    }
}

#[test]
fn a_secret_of_the_environment_in_an_expression_is_not_shown() {
    let environment = TestEnvironment::new();
    environment.write(
        "main.tf",
        "variable \"password\" {}\nmodule \"m\" {\n  source = \"x y ${var.password}\"\n}\n\
         module \"n\" {\n  source = \"git::https://me:hunter2@h.test/m.git\"\n}\n",
    );
    let output = environment
        .command(["verify"])
        .env("TF_VAR_password", "correct horse")
        .run();
    output.assert_lacks("correct horse").assert_lacks("hunter2");
    assert!(output.stdout.contains("[redacted]"), "{output}");
}

/// A platform that a registry lists becomes part of the URL of the next request, which carries the
/// token.
#[test]
fn invalid_platforms_are_never_requested() {
    let project = Project::good();
    let platforms = json!([
        { "os": "../../../admin/delete?x=", "arch": "amd64" },
        { "os": "linux", "arch": "amd64/../../admin" },
        { "os": "linux", "arch": "amd64" },
    ]);
    let versions = json!({ "versions": [{ "version": "1.5.0", "protocols": ["5.0"], "platforms": platforms }] });
    project.registry.fault(
        url::VERSIONS,
        Times::Always,
        Fault::Body(versions.to_string().into()),
    );
    fs::remove_file(project.environment.project().join(".terraform.lock.hcl")).unwrap();

    project
        .environment
        .provlock(["lock", "-p", "all", "--no-cache"])
        .assert_code(0);

    assert!(
        project.registry.requests_to("*") > 0
            && project
                .registry
                .requests()
                .iter()
                .all(|request| !request.url().contains("admin"))
    );
    survived("a platform that is part of a path", 2);
}

/// Every command, with its format.
const COMMANDS: [(&[&str], &str); 33] = [
    (&["lock", "-r", "-p", "linux_amd64"], "text"),
    (&["lock", "-r", "-p", "linux_amd64", "-v"], "text"),
    (
        &["lock", "-r", "-p", "linux_amd64", "--check", "--json"],
        "json",
    ),
    (&["lock", "-r", "-p", "linux_amd64", "--dry-run"], "text"),
    (&["upgrade", "-r", "-p", "linux_amd64"], "text"),
    (&["upgrade", "-r", "--dry-run", "-v"], "text"),
    (
        &["upgrade", "-r", "--dry-run", "--format", "markdown"],
        "text",
    ),
    (&["verify", "-r"], "text"),
    (&["verify", "-r", "-v"], "text"),
    (&["verify", "-r", "--json"], "json"),
    (&["verify", "-r", "--format", "github"], "github"),
    (&["verify", "-r", "--format", "sarif"], "sarif"),
    (&["verify", "-r", "--format", "gitlab"], "gitlab"),
    (&["verify", "-r", "--format", "junit"], "junit"),
    (&["verify", "-r", "--format", "html"], "html"),
    (&["tree", "-r", "--format", "html"], "html"),
    (&["verify", "-r", "--installed"], "text"),
    (&["get", "-r"], "text"),
    (&["get", "-r", "--json"], "json"),
    (&["pin", "-r", "--dry-run"], "text"),
    (&["pin", "-r", "--json"], "json"),
    (&["init", "--dry-run"], "text"),
    (&["init", "--dry-run", "--json"], "json"),
    (&["tree"], "text"),
    (&["tree", "-r"], "text"),
    (&["tree", "--json"], "json"),
    (&["sbom", "-r"], "json"),
    (&["sbom", "-r", "--format", "spdx"], "json"),
    (&["diff", "-r"], "text"),
    (&["diff", "-r", "--format", "markdown"], "text"),
    (&["diff", "-r", "--format", "unified"], "text"),
    (&["mirror", "mirrored", "-r", "-p", "linux_amd64"], "text"),
    (&["merge", "MARK/.terraform.lock.hcl"], "text"),
];

/// Names of directories and files, and text in files, in every command that shows them.
#[cfg(target_os = "linux")]
#[test]
fn no_command_obeys_the_name_of_a_directory() {
    // A name cannot contain a slash.
    let name = HOSTILE;
    let mut runs = 0;
    for place in [
        "a directory",
        "a file",
        "a module",
        "a unit",
        "a lock file that is broken",
    ] {
        let project = Project::good();
        let environment = &project.environment;
        let root = |directory: &str| {
            environment.write(
                format!("{directory}/main.tf"),
                environment.read("main.tf") + "terraform {\n  backend \"s3\" {}\n}\n",
            );
        };
        match place {
            "a directory" => root(name),
            "a file" => _ = environment.write(format!("{name}.tf"), "module {\n"),
            "a module" => {
                environment.write(format!("{name}/main.tf"), "resource {\n");
                environment.write(
                    "module.tf",
                    format!("module \"m\" {{\n  source = \"./{}\"\n}}\n", in_hcl()),
                );
            }
            "a unit" => {
                _ = environment.write(
                    format!("{name}/terragrunt.hcl"),
                    "terraform {\n  source = \"git::https://h.test/a.git\"\n}\nremote_state {\n  backend = \"s3\"\n}\n",
                );
            }
            _ => {
                root(name);
                environment.write(
                    format!("{name}/.terraform.lock.hcl"),
                    format!("provider \"{}\" {{}}\n", in_hcl()),
                );
            }
        }
        environment.git_init(".");
        let mut shown = 0;
        for (arguments, format) in COMMANDS {
            let output = environment
                .command(arguments)
                .env("GITHUB_ACTIONS", "true")
                .run();
            assert_harmless(place, &output, format);
            shown += usize::from(format!("{}{}", output.stdout, output.stderr).contains("MARK"));
            runs += 1;
        }
        assert!(shown > 0, "no command shows the name of {place}");
    }
    survived(
        "the name of a file or a directory with commands for a terminal or a runner",
        runs,
    );
}

/// A script may pass on names from a pull request.
#[test]
fn arguments_in_errors_are_escaped() {
    let environment = TestEnvironment::new();
    let typed = HOSTILE.replace(TOKEN, "");
    for words in [
        "TYPED",
        "verify TYPED",
        "verify --deny TYPED",
        "verify --report TYPED",
        "verify --TYPED",
        "verify --base TYPED",
        "verify -C TYPED",
        "verify --config TYPED",
        "lock -p TYPED",
        "lock TYPED",
        "lock --min-age TYPED",
        "lock --fs-mirror TYPED",
        "lock --net-mirror TYPED",
        "lock --oci-mirror TYPED",
        "lock --var TYPED",
        "lock --var-file TYPED",
        "upgrade TYPED",
        "tree TYPED",
        "diff TYPED b",
        "diff --git TYPED",
        "merge TYPED",
        "mirror TYPED TYPED",
        "explain TYPED",
        "login TYPED",
        "logout TYPED",
        "setup TYPED",
        "cache TYPED",
        "completions TYPED",
        "help TYPED",
    ] {
        for (json, format) in [(None, "text"), (Some("--json"), "json")] {
            let words = words.split(' ').map(|word| word.replace("TYPED", &typed));
            let arguments: Vec<_> = words.chain(json.map(str::to_owned)).collect();
            let output = environment
                .command(&arguments)
                .env("GITHUB_ACTIONS", "true")
                .run();
            assert_harmless("an argument", &output, format);
        }
    }
    for variable in [
        "PROVLOCK_DIALECT",
        "PROVLOCK_PLATFORMS",
        "PROVLOCK_COLOR",
        "PROVLOCK_CACHE_DIR",
        "TF_VAR_a",
        "TF_WORKSPACE",
    ] {
        let output = environment
            .command(["lock"])
            .env(variable, &typed)
            .env("GITHUB_ACTIONS", "true")
            .run();
        assert_harmless(variable, &output, "text");
    }
}
