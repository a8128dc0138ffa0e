//! Every report says when and of what it is, and what was not checked.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{H1, NULL, ZH, commit_all_in, entry, lock_file};
use crate::json_output::validated;
use crate::lock::requires;
use provlock_test::TestEnvironment;

/// `SOURCE_DATE_EPOCH` and the time that it stands for.
const EPOCH: (&str, &str) = ("1700000000", "2023-11-14T22:13:20Z");
const OFFLINE: &str =
    "Not checked: platforms (select with -p), hashes against the registry (--online)";
const UNKNOWN: &str = "Not checked: unknown requirements of 1 root module";
const UNLOCKED: &str = "Not checked: 1 root module without a lock file";

/// A repository with a root module whose requirements are not all known, and one without a lock
/// file, in a directory below the top. Returns also the commit.
fn partly_known() -> (TestEnvironment, String) {
    let mut environment = TestEnvironment::new();
    environment.set("SOURCE_DATE_EPOCH", EPOCH.0);
    let call = "module \"m\" {\n  source = \"s3::https://s3.amazonaws.com/b/m.zip\"\n}\n";
    environment.write(
        "live/a/main.tf",
        requires("hashicorp/null", "~> 3.0") + call,
    );
    let locked = lock_file(&[entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH])]);
    environment.write("live/a/.terraform.lock.hcl", locked);
    environment.write(
        "live/b/main.tf",
        "provider \"null\" {\n  a = 1\n}\nresource \"null_resource\" \"a\" {}\n",
    );
    environment.git_init(".");
    let commit = commit_all_in(&environment);
    (environment, commit)
}

fn report(environment: &TestEnvironment, format: &str, arguments: &[&str]) -> String {
    let verify = [
        "verify",
        "-r",
        "--allow",
        "single-platform,module-not-installed",
        "--format",
        format,
    ];
    let output = environment.provlock(verify.iter().chain(arguments));
    output.assert_code(0);
    output.stdout.clone()
}

#[test]
fn every_report_says_what_was_not_checked_and_of_what_it_is() {
    let (mut environment, commit) = partly_known();
    let line = format!(
        "provlock {}, {}, commit {commit}, offline",
        env!("CARGO_PKG_VERSION"),
        EPOCH.1
    );
    let base = ["--base", "HEAD"];
    let line_with_base = line.replace(", offline", &format!(", base {commit}, offline"));

    let json = validated(&report(&environment, "json", &base));
    let expected = json!({
        "time": EPOCH.1, "version": env!("CARGO_PKG_VERSION"), "commit": commit, "base": commit, "online": false,
        "severities": [
            { "flag": "allow", "finding": "single-platform" },
            { "flag": "allow", "finding": "module-not-installed" },
        ],
        "not_checked": [OFFLINE, UNKNOWN, UNLOCKED],
    });
    assert_eq!(json["run"], expected);

    let sarif: Value = serde_json::from_str(&report(&environment, "sarif", &base)).unwrap();
    let run = &sarif["runs"][0];
    assert_eq!(run["invocations"][0]["startTimeUtc"], EPOCH.1);
    let properties = json!({ "commit": commit, "base": commit, "online": false, "notChecked": [OFFLINE, UNKNOWN, UNLOCKED] });
    assert_eq!(run["properties"], properties);
    let notes = run["invocations"][0]["toolExecutionNotifications"]
        .as_array()
        .unwrap();
    assert_eq!(notes.len(), 3);
    assert!(
        notes.iter().all(|note| note["level"] == "note"),
        "{notes:#?}"
    );
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);

    let gitlab: Value = serde_json::from_str(&report(&environment, "gitlab", &base)).unwrap();
    let entries = gitlab.as_array().unwrap();
    assert_eq!(entries.len(), 1, "{gitlab:#}");
    let description = [line_with_base.as_str(), OFFLINE, UNKNOWN, UNLOCKED].join("\n");
    assert_eq!(entries[0]["description"], description.as_str());
    assert_eq!(entries[0]["severity"], "info");

    let junit = report(&environment, "junit", &base);
    for part in [
        &format!(
            "<testsuites name=\"provlock verify\" timestamp=\"{}\">",
            EPOCH.1
        ),
        "<testsuite name=\"not checked\" tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"3\">",
        &format!("<property name=\"commit\" value=\"{commit}\"/>"),
        &format!("<property name=\"base\" value=\"{commit}\"/>"),
        "<property name=\"network\" value=\"offline\"/>",
        &format!("<skipped message=\"{UNKNOWN}\"/>"),
    ] {
        assert!(junit.contains(part), "{part}\n{junit}");
    }

    let html = report(&environment, "html", &base);
    for line in [&line_with_base, OFFLINE, UNKNOWN, UNLOCKED] {
        assert!(html.contains(&format!("<p>{line}</p>")), "{line}\n{html}");
    }

    environment.set("GITHUB_STEP_SUMMARY", environment.root().join("summary.md"));
    report(&environment, "github", &[]);
    let summary = environment.read(environment.root().join("summary.md"));
    for line in [&line, OFFLINE, UNKNOWN, UNLOCKED] {
        assert!(
            summary.contains(&format!("\n`{line}`\n")),
            "{line}\n{summary}"
        );
    }
}

#[test]
fn a_report_outside_of_a_repository_has_no_commit_and_the_time_of_the_run() {
    let environment = super::good();
    let output = environment.provlock(["verify", "--json"]);
    let run = &validated(&output.stdout)["run"];
    assert_eq!((&run["commit"], &run["base"]), (&Value::Null, &Value::Null));
    let time = run["time"].as_str().unwrap();
    assert!(
        time.starts_with("20") && time.ends_with('Z') && time.len() == 20,
        "{time}"
    );
}

#[test]
fn json_has_the_locked_versions_of_each_root_module_and_one_list_of_all_findings() {
    let (environment, _) = partly_known();
    environment.write("live/a/main.tf", requires("hashicorp/null", "~> 2.0"));
    environment.write("live/c/main.tf", requires("hashicorp/null", "~> 2.0"));
    environment.write(
        "live/c/.terraform.lock.hcl",
        environment.read("live/a/.terraform.lock.hcl"),
    );
    environment.write("provlock.toml", "[verify]\nallow = [\"no-hashes\"]\n");
    let verify = [
        "verify",
        "-r",
        "--json",
        "--base",
        "HEAD",
        "--allow",
        "single-platform,untracked-lock-file",
    ];
    let report = validated(&environment.provlock(verify).stdout);
    let roots = report["roots"].as_array().unwrap();
    for root in roots.iter().filter(|root| root["path"] != "live/b") {
        assert_eq!(root["locked"], json!({ NULL: "3.2.4" }), "{root:#}");
    }

    let all = report["all_findings"].as_array().unwrap();
    let of_roots: usize = roots
        .iter()
        .map(|root| root["findings"].as_array().unwrap().len())
        .sum();
    let of_change = report["findings"].as_array().unwrap().len();
    assert_eq!(all.len(), of_roots + of_change);
    assert_eq!(
        (&all[0]["code"], &all[0]["root"]),
        (&"policy-changed".into(), &Value::Null)
    );
    let outside: Vec<_> = all
        .iter()
        .filter(|one| one["code"] == "version-outside-constraints")
        .collect();
    assert_eq!(
        [&outside[0]["root"], &outside[1]["root"]],
        ["live/a", "live/c"]
    );
    assert_eq!(outside[0]["cause"], outside[1]["cause"]);
    let fingerprints: BTreeSet<_> = all
        .iter()
        .map(|one| one["fingerprint"].as_str().unwrap())
        .collect();
    assert_eq!(fingerprints.len(), all.len());
}

/// Findings of every kind of position, seen from several directories.
#[test]
fn fingerprints_and_messages_are_the_same_from_every_directory() {
    let (environment, _) = partly_known();
    // A missing file, a directory of plugins, an untracked file, and a missing module.
    environment.write(
        "live/a/versions.tf",
        "terraform {\n  backend \"s3\" {}\n}\nmodule \"n\" {\n  source = \"./none\"\n}\n",
    );
    environment.write(
        "live/b/versions.tf",
        "terraform {\n  backend \"s3\" {}\n}\n",
    );
    environment.write(
        format!("live/b/terraform.d/plugins/{NULL}/terraform-provider-null_3.2.4_linux_amd64.zip"),
        "",
    );
    environment.write("live/c/main.tf", requires("hashicorp/null", "~> 2.0"));
    environment.write(
        "live/c/.terraform.lock.hcl",
        environment.read("live/a/.terraform.lock.hcl"),
    );
    let of = |arguments: &[&str], format: &str| {
        let output = environment.provlock(arguments.iter().chain(&["-r", "--format", format]));
        output.assert_code(2);
        let mut json: Value = serde_json::from_str(&output.stdout).unwrap();
        if format == "sarif" {
            json = json["runs"][0]["results"].take();
        }
        let mut all: Vec<String> = json
            .as_array()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        all.sort();
        all
    };
    for format in ["gitlab", "sarif"] {
        let top = of(&["verify"], format);
        for arguments in [
            &["-C", "live", "verify"][..],
            &["-C", "live/a", "verify", ".."],
            &["verify", "live"],
            &["verify", "./live"],
        ] {
            assert_eq!(of(arguments, format), top, "{format}: {arguments:?}");
        }
    }
}

/// The numbers of the text, of the page and of the summary of a job.
#[test]
fn every_format_counts_the_same_findings() {
    let (mut environment, _) = partly_known();
    for name in ["c", "d", "e"] {
        environment.write(
            format!("live/{name}/main.tf"),
            requires("hashicorp/null", "~> 2.0"),
        );
        environment.write(
            format!("live/{name}/.terraform.lock.hcl"),
            environment.read("live/a/.terraform.lock.hcl"),
        );
    }
    environment.set("GITHUB_STEP_SUMMARY", environment.root().join("summary.md"));
    let verify = |format: &str| {
        let verify = [
            "verify",
            "-r",
            "--allow",
            "single-platform,module-not-installed,untracked-lock-file",
            "--format",
            format,
        ];
        environment.provlock(verify).assert_code(1).clone()
    };
    verify("text").assert_stderr_has("3 errors in 3 files\n");
    verify("html").assert_stdout_has("<li class=\"error\">3 errors</li>");
    let _ = verify("github");
    let summary = environment.read(environment.root().join("summary.md"));
    assert!(
        summary.starts_with("#### provlock verify: 3 errors\n"),
        "{summary}"
    );
    let sarif: Value = serde_json::from_str(&verify("sarif").stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 3);
    assert_eq!(
        validated(&verify("json").stdout)["all_findings"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}
