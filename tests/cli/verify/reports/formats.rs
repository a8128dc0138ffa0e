//! Findings for machines: SARIF and GitHub's annotations. JSON is what the other tests read.

use std::path::Path;

use serde_json::Value;

use super::{NULL, ZH, entry, good, lock};
use crate::lock::requires;
use provlock_test::{Fault, Registry, TestEnvironment, Times, str};

fn with_findings() -> TestEnvironment {
    let environment = good();
    environment.write("main.tf", requires("hashicorp/null", "~> 2.0"));
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[ZH, ZH])]);
    environment.write(
        format!("terraform.d/plugins/{NULL}/terraform-provider-null_3.2.4_linux_amd64.zip"),
        "",
    );
    environment
}

/// Parses a log and validates it. The schema is OASIS's, as the crate `serde-sarif` 0.8.0 ships it.
fn sarif(environment: &TestEnvironment, arguments: &[&str], code: i32) -> Value {
    let output = environment.provlock(
        ["verify", "--allow", "single-platform", "--format", "sarif"]
            .iter()
            .chain(arguments),
    );
    output.assert_code(code);
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/testdata/sarif-2.1.0.schema.json"
    );
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    // The pattern for languages is not a regular expression.
    for definition in ["run", "toolComponent"] {
        schema["definitions"][definition]["properties"]["language"]
            .as_object_mut()
            .unwrap()
            .remove("pattern");
    }
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
    value
}

#[test]
fn sarif_follows_its_schema_and_names_the_places() {
    let log = sarif(&with_findings(), &[], 1);
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    let ids: Vec<_> = results
        .iter()
        .map(|result| result["ruleId"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "bundled-plugins",
            "version-outside-constraints",
            "unsorted-hashes"
        ]
    );
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(
            run["tool"]["driver"]["rules"][index]["id"],
            result["ruleId"]
        );
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], ".terraform.lock.hcl");
    }
    let region = &results[1]["locations"][0]["physicalLocation"]["region"];
    let expected =
        serde_json::json!({ "startLine": 5, "startColumn": 17, "endLine": 5, "endColumn": 24 });
    assert_eq!(*region, expected);
    let related = &results[1]["relatedLocations"][0];
    assert_eq!(
        related["physicalLocation"]["artifactLocation"]["uri"],
        "main.tf"
    );
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn sarif_without_findings_is_a_log_too_and_failures_are_in_it() {
    let environment = good();
    assert_eq!(
        sarif(&environment, &[], 0)["runs"][0]["results"],
        serde_json::json!([])
    );
    environment.write("main.tf", "terraform {");
    let log = sarif(&environment, &[], 2);
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let failure = &invocation["toolExecutionNotifications"][0];
    assert_eq!(failure["level"], "error");
    let place = &failure["locations"][0]["physicalLocation"];
    assert_eq!(
        (
            &place["artifactLocation"]["uri"],
            &place["region"]["startLine"]
        ),
        (&"main.tf".into(), &1.into())
    );
}

#[test]
fn paths_are_those_of_the_repository() {
    let environment = TestEnvironment::new();
    environment.git_init(".");
    environment.write("in fra/a/main.tf", requires("hashicorp/null", ""));
    let log = sarif(&environment, &["-C", "in fra", "a"], 1);
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "in%20fra/a/main.tf");
}

#[test]
fn github_gets_one_command_for_each_finding() {
    let output = with_findings().provlock(["verify", "--format", "github"]);
    output.assert_code(1);
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{output}");
    assert!(
        lines[0].starts_with("::error file=.terraform.lock.hcl,title=bundled-plugins::"),
        "{output}"
    );
    let expected = "::error file=.terraform.lock.hcl,line=5,col=17,title=version-outside-constraints::hashicorp/null \
                    is locked at 3.2.4, but the configuration requires ~> 2.0%0Ahelp: provlock upgrade hashicorp/null";
    assert_eq!(lines[1], expected);
    assert!(
        lines[2]
            .starts_with("::warning file=.terraform.lock.hcl,line=9,col=5,title=unsorted-hashes::"),
        "{output}"
    );
}

#[test]
fn a_job_gets_a_summary_by_cause() {
    let mut environment = with_findings();
    environment.set("SOURCE_DATE_EPOCH", "1700000000");
    environment.set("GITHUB_STEP_SUMMARY", environment.root().join("summary.md"));
    environment
        .provlock(["verify", "--format", "github"])
        .assert_code(1);
    let summary = environment.read(environment.root().join("summary.md"));
    let expected = "\
#### provlock verify: 2 errors and 1 warning

`provlock 0.1.0, 2023-11-14T22:13:20Z, offline`

`1 root module: with errors`

`Not checked: platforms (select with -p), hashes against the registry (--online)`

| Level | Finding | First place |
|---|---|---|
";
    assert!(summary.starts_with(expected), "{summary}");
    let line = "| **error**<br>`version-outside-constraints` | `hashicorp/null is locked at 3.2.4, but the \
                configuration requires ~> 2.0`<br>`help: provlock upgrade hashicorp/null` | \
                `.terraform.lock.hcl:5` |\n";
    assert!(summary.contains(line), "{summary}");
    assert_eq!(summary.lines().count(), 10 + 3 + 1, "{summary}");
    environment.provlock(["verify"]).assert_code(1);
    assert_eq!(
        environment.read(environment.root().join("summary.md")),
        summary,
        "only the annotations need it"
    );
    environment
        .provlock(["verify", "--format", "github"])
        .assert_code(1);
    assert_eq!(
        environment.read(environment.root().join("summary.md")),
        summary.repeat(2),
        "other steps have theirs"
    );
}

#[test]
fn a_report_contains_the_output_of_its_format() {
    let mut environment = with_findings();
    environment.set("SOURCE_DATE_EPOCH", "1700000000");
    let run = |arguments: &[&str]| environment.provlock(["verify"].iter().chain(arguments));
    let report = [
        "--format",
        "github",
        "--report",
        "sarif=a.sarif",
        "--report",
        "text=a.txt",
    ];
    assert_eq!(
        run(&report).assert_code(1).stdout,
        run(&["--format", "github"]).stdout
    );
    assert_eq!(
        environment.read("a.sarif"),
        run(&["--format", "sarif"]).stdout
    );
    assert_eq!(environment.read("a.txt"), run(&[]).stdout);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let environment = with_findings();
    let output = environment.provlock(["verify", "--report", "sarif=missing/a.sarif"]);
    output.assert_code(2);
    assert!(
        output
            .stderr
            .contains("cannot write the report missing/a.sarif"),
        "{}",
        output.stderr
    );
    for wrong in ["a.sarif", "sarif=", "markdown=a.md"] {
        let output = environment.provlock(["verify", "--report", wrong]);
        output.assert_code(2);
        assert!(output.stderr.contains("FORMAT=FILE"), "{}", output.stderr);
    }
}

#[test]
fn a_report_replaces_no_other_report_and_no_file_that_provlock_reads() {
    let environment = with_findings();
    environment.write("sub/.keep", "");
    let refused = |reports: &[&str], why: &str| {
        let before = environment.snapshot();
        let reports = reports.iter().flat_map(|report| ["--report", report]);
        let output = environment.provlock(["verify"].into_iter().chain(reports));
        output
            .assert_code(2)
            .assert_stderr_has("error[invalid-argument]")
            .assert_stderr_has(why);
        before.assert_same(&environment.snapshot());
    };
    refused(&["json=x", "junit=x"], "two reports are to be written to x");
    refused(
        &["json=x", "html=y", "text=sub/.././x"],
        "two reports are to be written to sub/.././x",
    );
    for name in [
        ".terraform.lock.hcl",
        ".modules.lock.hcl",
        "provlock.toml",
        "sub/provlock.toml",
        "PROVLOCK.toml",
    ] {
        refused(
            &[&format!("sarif={name}")],
            &format!("{name} is a file that provlock reads"),
        );
    }
}

#[test]
fn gitlab_gets_a_code_quality_report() {
    let environment = with_findings();
    let report = |environment: &TestEnvironment, code: i32| {
        let output =
            environment.provlock(["verify", "--allow", "single-platform", "--format", "gitlab"]);
        output.assert_code(code);
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        let mut issues = report.as_array().unwrap().clone();
        let run = issues.pop().unwrap();
        assert_eq!(
            run["check_name"], "provlock-run",
            "the last is about the run"
        );
        issues
    };
    let issues = report(&environment, 1);
    let field = |name: &'static str| {
        issues
            .iter()
            .map(move |issue| issue[name].as_str().unwrap())
    };
    assert!(field("check_name").eq([
        "bundled-plugins",
        "version-outside-constraints",
        "unsorted-hashes"
    ]));
    assert!(field("severity").eq(["critical", "major", "minor"]));
    let place = serde_json::json!({ "path": ".terraform.lock.hcl", "lines": { "begin": 5 } });
    assert_eq!(issues[1]["location"], place);
    let description = field("description").nth(1).unwrap();
    assert!(
        description.contains("is locked at 3.2.4")
            && description.contains("help: provlock upgrade"),
        "{description}"
    );
    let fingerprints: std::collections::BTreeSet<_> = field("fingerprint").collect();
    assert_eq!(fingerprints.len(), issues.len());

    // Lines above a finding do not change it.
    let lock_file = environment.lock_file();
    environment.write_lock_file(format!("# A comment.\n{lock_file}"));
    let moved = report(&environment, 1);
    assert_eq!(moved[1]["location"]["lines"]["begin"], 6);
    assert_eq!(moved[1]["fingerprint"], issues[1]["fingerprint"]);

    assert_eq!(report(&good(), 0), Vec::<Value>::new());
    environment.write("main.tf", "terraform {");
    let failed = report(&environment, 2);
    assert_eq!(
        (&failed[0]["severity"], &failed[0]["location"]["path"]),
        (&"major".into(), &"main.tf".into())
    );
}

#[test]
fn junit_has_a_suite_for_each_root_module() {
    let environment = with_findings();
    environment.write("a & b/main.tf", "module \"a\" {\n  source = \"./a\"\n}\n");
    environment.write("a & b/a/main.tf", "");
    environment.write("a & b/.terraform.lock.hcl", "");
    environment.write("broken/main.tf", "terraform {");
    environment.write("broken/.terraform.lock.hcl", "");
    let verify = [
        "verify",
        "-r",
        "--allow",
        "single-platform",
        "--format",
        "junit",
    ];
    environment.provlock(verify).matches(str![[r#"
exit code: 2
----- stdout -----
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="provlock verify" timestamp="[TIME]">
  <testsuite name="." tests="3" failures="2" errors="0">
    <testcase classname="." name="bundled-plugins: ./terraform.d/plugins contains packages of hashicorp/null, which are installed instead of the registry&apos;s">
      <failure type="bundled-plugins" message="./terraform.d/plugins contains packages of hashicorp/null, which are installed instead of the registry&apos;s">./terraform.d/plugins contains packages of hashicorp/null, which are installed instead of the registry&apos;s
help: remove this directory, or name a mirror in the CLI configuration</failure>
    </testcase>
    <testcase classname="." name="version-outside-constraints: hashicorp/null is locked at 3.2.4, but the configuration requires ~&gt; 2.0" file=".terraform.lock.hcl" line="5">
      <failure type="version-outside-constraints" message="hashicorp/null is locked at 3.2.4, but the configuration requires ~&gt; 2.0">.terraform.lock.hcl:5:17
hashicorp/null is locked at 3.2.4, but the configuration requires ~&gt; 2.0
help: provlock upgrade hashicorp/null</failure>
    </testcase>
    <testcase classname="." name="unsorted-hashes: the hashes of hashicorp/null are unsorted or duplicated" file=".terraform.lock.hcl" line="9">
      <system-out>.terraform.lock.hcl:9:5
the hashes of hashicorp/null are unsorted or duplicated
help: provlock lock --repair</system-out>
    </testcase>
  </testsuite>
  <testsuite name="a &amp; b" tests="1" failures="0" errors="0">
    <testcase classname="a &amp; b" name="verify"/>
  </testsuite>
  <testsuite name="broken" tests="1" failures="0" errors="1">
    <testcase classname="broken" name="invalid-configuration: the &quot;{&quot; after terraform is never closed" file="broken/main.tf" line="1">
      <error type="invalid-configuration" message="the &quot;{&quot; after terraform is never closed">broken/main.tf:1:11
the &quot;{&quot; after terraform is never closed
root module: broken</error>
    </testcase>
  </testsuite>
  <testsuite name="not checked" tests="2" failures="0" errors="0" skipped="2">
    <properties>
      <property name="version" value="0.1.0"/>
      <property name="network" value="offline"/>
    </properties>
    <testcase classname="not checked" name="Not checked: platforms (select with -p), hashes against the registry (--online)">
      <skipped message="Not checked: platforms (select with -p), hashes against the registry (--online)"/>
    </testcase>
    <testcase classname="not checked" name="Not checked: 1 root module that could not be read">
      <skipped message="Not checked: 1 root module that could not be read"/>
    </testcase>
  </testsuite>
</testsuites>
----- stderr -----
error[invalid-configuration]: the "{" after terraform is never closed
 --> broken/main.tf:1:11
  |
1 | terraform {
  |           ^
  |
  = root module: broken
2 errors and 1 warning in .terraform.lock.hcl
3 root modules: 1 with errors, 1 OK; 1 could not be checked
"#]]);
}

/// A tool that shows only the numbers of failed tests must not show a root module as passed that
/// was not checked.
#[test]
fn junit_has_no_passed_test_for_a_root_module_that_was_partly_checked() {
    let (registry, environment) = Registry::with_project();
    for name in ["acme/one", "acme/two"] {
        registry
            .publish(name, "1.0.0")
            .platforms(["linux_amd64"])
            .done();
        environment.write(
            Path::new(&name["acme/".len()..]).join("main.tf"),
            requires(name, ""),
        );
    }
    environment
        .provlock(["lock", "one", "two", "-p", "linux_amd64"])
        .assert_code(0);
    let environment = &environment;
    let report = |code: i32, arguments: &[&str]| {
        let verify = [
            "verify",
            "one",
            "two",
            "-p",
            "linux_amd64",
            "--format",
            "junit",
        ];
        let mut run = environment.command(verify.iter().chain(arguments));
        run = run.env("TF_REGISTRY_DISCOVERY_RETRY", "0");
        run.run().assert_code(code).stdout.clone()
    };
    let passed = "  <testsuite name=\"two\" tests=\"1\" failures=\"0\" errors=\"0\">\n    \
                  <testcase classname=\"two\" name=\"verify\"/>\n";
    let whole = report(0, &["--online"]);
    assert!(whole.contains(passed), "{whole}");

    registry.fault("*/two/versions", Times::Always, Fault::Status(500));
    let failed = report(2, &["--online"]);
    let suite = "<testsuite name=\"two\" tests=\"1\" failures=\"0\" errors=\"1\">";
    assert!(
        failed.contains(suite) && !failed.contains("name=\"provlock\""),
        "{failed}"
    );
    registry.clear_faults();

    let module = "module \"q\" {\n  source = \"s3::https://s3.amazonaws.com/x/y.zip\"\n}\n";
    environment.write("two/module.tf", module);
    let skipped = "  <testsuite name=\"two\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">\n    \
                   <testcase classname=\"two\" name=\"verify\">\n      <skipped message=\"partly checked\"/>\n";
    let incomplete = report(0, &["--online", "--allow", "module-not-installed"]);
    assert!(incomplete.contains(skipped), "{incomplete}");
    let warned = report(0, &["--online"]);
    assert!(
        warned.contains("module-not-installed") && warned.contains("skipped=\"1\""),
        "{warned}"
    );
    environment.write("two/module.tf", "");
    std::fs::remove_file(environment.project().join("two/.terraform.lock.hcl")).unwrap();
    let unlocked = report(0, &["--allow", "lock-file-missing"]);
    assert!(
        unlocked.contains("<skipped message=\"without a lock file\"/>"),
        "{unlocked}"
    );
}

/// The problem matcher of the documentation finds each finding that has a place.
#[test]
fn an_editor_finds_the_places_in_the_text() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/integrations.md"))
            .unwrap();
    let mut blocks = page
        .split("```json\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap());
    let tasks: Value = serde_json::from_str(
        blocks
            .find(|block| block.contains("problemMatcher"))
            .unwrap(),
    )
    .unwrap();
    let matcher = &tasks["tasks"][0]["problemMatcher"]["pattern"];
    let pattern = |index: usize| {
        regex_automata::meta::Regex::new(matcher[index]["regexp"].as_str().unwrap()).unwrap()
    };
    let (first, second) = (pattern(0), pattern(1));
    let output = with_findings().provlock([
        "verify",
        "-r",
        "--allow",
        "single-platform",
        "--color",
        "never",
    ]);
    let lines: Vec<_> = output.stdout.lines().collect();
    let groups = |regex: &regex_automata::meta::Regex, line: &str| {
        let mut captures = regex.create_captures();
        regex.captures(line, &mut captures);
        let groups: Option<Vec<_>> = (1..=3)
            .map(|group| Some(line[captures.get_group(group)?.range()].to_owned()))
            .collect();
        groups
    };
    let problems: Vec<_> = lines
        .windows(2)
        .filter_map(|pair| Some([groups(&first, pair[0])?, groups(&second, pair[1])?].concat()))
        .map(|groups| {
            [&groups[0], &groups[1], &groups[3], &groups[4], &groups[5]]
                .map(String::as_str)
                .join(" ")
        })
        .collect();
    let expected = [
        "error version-outside-constraints .terraform.lock.hcl 5 17",
        "warning unsorted-hashes .terraform.lock.hcl 9 5",
    ];
    assert_eq!(problems, expected, "{output}");
}
