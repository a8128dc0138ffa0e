//! Modules in OCI registries: tags that are locked by their digest, pinned and upgraded.

use jiff::{SignedDuration, Timestamp};

use super::get::module_lock_file;
use super::json_output::validated;
use provlock_test::{Registry, TestEnvironment, str, survived};

const HOST: &str = "oci.example.com";
const REPOSITORY: &str = "oci.example.com/acme/network";

/// A project that calls the module with this query; its tags are 1.0.0 and latest.
fn project(query: &str) -> (Registry, TestEnvironment, String) {
    let (registry, mut environment) = Registry::with_project();
    registry.add_oci_host(HOST);
    let digest = registry.publish_oci_module(REPOSITORY, "1.0.0", "# one\n", None);
    registry.publish_oci_module(REPOSITORY, "latest", "# one\n", None);
    environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
    environment.write("main.tf", call(query));
    (registry, environment, digest)
}

fn call(query: &str) -> String {
    format!("module \"network\" {{\n  source = \"oci://{REPOSITORY}{query}\"\n}}\n")
}

fn lock(environment: &TestEnvironment) {
    environment.provlock(["lock", "--modules"]).assert_code(0);
}

fn installed(environment: &TestEnvironment) -> String {
    environment.read(
        environment
            .project()
            .join(".terraform/modules/network/main.tf"),
    )
}

/// The codes of errors and notes that `verify --online` reports.
fn found(environment: &TestEnvironment) -> Vec<String> {
    let output = environment.provlock(["verify", "--online", "--json"]);
    let report = validated(&output.stdout);
    let findings = report["roots"][0]["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_tag_is_locked_by_its_digest_and_installed_from_it() {
    for query in ["?tag=1.0.0", "", "?tag=latest"] {
        let (registry, environment, digest) = project(query);
        let output = environment.provlock(["lock", "--modules"]);
        let start = format!("sha256:{}", &digest[7..19]);
        output.assert_code(0).assert_stderr_has(&start);
        let lock_file = module_lock_file(&environment);
        let package = format!("package = \"oci://{REPOSITORY}?digest={digest}\"");
        assert!(lock_file.contains(&package), "{lock_file}");
        let source = format!("source  = \"oci://{REPOSITORY}{query}\"");
        assert!(lock_file.contains(&source), "{lock_file}");
        environment.provlock(["lock", "--check"]).assert_code(0);
        environment
            .provlock(["verify"])
            .assert_code(0)
            .assert_stderr_has("OK: 1 module locked as called");
        assert_eq!(found(&environment), [] as [&str; 0], "{query}");

        // The tag moves between `lock` and `get`.
        let tag = if query.contains("1.0.0") {
            "1.0.0"
        } else {
            "latest"
        };
        registry.publish_oci_module(REPOSITORY, tag, "# two\n", None);
        environment.provlock(["cache", "clean"]).assert_code(0);
        environment.provlock(["get"]).assert_code(0);
        assert_eq!(installed(&environment), "# one\n");
        lock(&environment);
        assert_eq!(module_lock_file(&environment), lock_file, "{query}");
    }
    survived(
        "a tag of an OCI registry that moves between lock and get",
        3,
    );
}

#[test]
fn a_moved_tag_is_reported_and_latest_moves_on_purpose() {
    for (query, tag, expected) in [
        ("?tag=1.0.0", "1.0.0", &["module-moved"][..]),
        ("?tag=latest", "latest", &[]),
        ("", "latest", &[]),
    ] {
        let (registry, environment, _) = project(query);
        lock(&environment);
        registry.publish_oci_module(REPOSITORY, tag, "# two\n", None);
        assert_eq!(found(&environment), expected, "{query}");
    }
    let (registry, environment, digest) = project("?tag=v1");
    registry.publish_oci_module(REPOSITORY, "v1", "# one\n", None);
    lock(&environment);
    let new =
        registry.publish_oci_module(REPOSITORY, "v1", "# one\n", Some("2026-01-01T00:00:00Z"));
    let output = environment.provlock(["verify", "--online"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[module-moved]: the tag of oci://oci.example.com/acme/network?tag=v1 resolves to a different digest than when it was locked
 --> .modules.lock.hcl:6:13
  |
6 |   package = "oci://oci.example.com/acme/network?digest=sha256:9b1a0dba1f4dc33fd75e47a7dcdb433e19099b76618567fe6cf8a3e5d998009a"
  |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ module "network"
  |
 ::: main.tf:2:12
  |
2 |   source = "oci://oci.example.com/acme/network?tag=v1"
  |            ------------------------------------------- called here
  |
  = locked digest: sha256:9b1a0dba1f4dc33fd75e47a7dcdb433e19099b76618567fe6cf8a3e5d998009a
  = digest now: sha256:bc8e807575e0c79763de122c349cd78e014167a8a07a10bf0db7d42821578fa3
  = both have the same files
help: find out why; provlock get installs the locked digest, and init the new one

----- stderr -----
1 error in .modules.lock.hcl
"#]]);
    registry.remove_manifest(REPOSITORY, &digest);
    assert_eq!(found(&environment), ["module-moved", "module-withdrawn"]);
    registry.remove_manifest(REPOSITORY, "v1");
    assert_eq!(found(&environment), ["module-withdrawn"]);
    assert_ne!(new, digest);
    survived(
        "a moved tag, a replaced archive or a withdrawn version of a locked module",
        3,
    );
}

#[test]
fn a_package_that_is_not_of_the_source_is_not_installed() {
    let (registry, environment, digest) = project("?tag=1.0.0");
    let evil =
        registry.publish_oci_module("oci.example.com/evil/network", "1.0.0", "# evil\n", None);
    lock(&environment);
    let lock_file = module_lock_file(&environment);
    let packages = [
        format!("oci://oci.example.com/evil/network?digest={evil}"),
        format!("oci://evil.example.com/acme/network?digest={digest}"),
        format!("oci://{REPOSITORY}?tag=1.0.0"),
        format!("oci://{REPOSITORY}?tag=1.0.0&digest={digest}"),
        format!("oci://{REPOSITORY}//inner?digest={digest}"),
        format!("oci://{REPOSITORY}"),
        format!("oci://{REPOSITORY}?digest=sha256:{}", "0".repeat(64)),
    ];
    for package in &packages {
        let path = environment.project().join(".modules.lock.hcl");
        let old = format!("oci://{REPOSITORY}?digest={digest}");
        environment.write(&path, lock_file.replace(&old, package));
        environment.provlock(["cache", "clean"]).assert_code(0);
        let output = environment.provlock(["get"]);
        assert_ne!(output.code, Some(0), "{package}");
        assert!(
            !environment
                .project()
                .join(".terraform/modules/network")
                .exists(),
            "{package}"
        );
    }
    survived(
        "a lock file of modules with a package of an OCI registry that is not of the source",
        packages.len(),
    );
}

#[test]
fn a_digest_in_a_source_decides_whatever_its_form() {
    let (_registry, environment, digest) = project("?tag=1.0.0");
    for query in [
        format!("?digest={digest}"),
        format!("?digest={}", digest.replace(':', "%3A")),
    ] {
        environment.write("main.tf", call(&query));
        lock(&environment);
        environment.provlock(["lock", "--check"]).assert_code(0);
        environment.provlock(["get"]).assert_code(0);
        assert_eq!(found(&environment), [] as [&str; 0], "{query}");
    }
}

#[test]
fn pin_writes_the_digest_and_the_tag_as_a_comment() {
    for (query, comment) in [("?tag=1.0.0", "1.0.0"), ("", "latest")] {
        let (registry, environment, digest) = project(query);
        environment
            .provlock(["pin", "--check"])
            .assert_code(1)
            .assert_stderr_has("Would pin 1 call");
        environment.provlock(["pin"]).assert_code(0);
        let pinned = call(query).replace(
            &format!("acme/network{query}\""),
            &format!("acme/network?digest={digest}\" # {comment}"),
        );
        assert_eq!(environment.read("main.tf"), pinned);
        environment
            .provlock(["pin", "--check"])
            .assert_code(0)
            .assert_stderr_has("Nothing to pin");
        lock(&environment);

        // Without the locked digest, the present one would be pinned.
        environment.write("main.tf", call(query));
        lock(&environment);
        registry.publish_oci_module(REPOSITORY, comment, "# two\n", None);
        environment.provlock(["pin", "--offline"]).assert_code(0);
        assert_eq!(environment.read("main.tf"), pinned);
        environment.provlock(["lock", "--check"]).assert_code(0);
    }
}

#[test]
fn upgrade_moves_to_the_newest_tag_that_is_a_version() {
    let (registry, environment, digest) = project("?tag=1.0.0");
    lock(&environment);
    for tag in ["1.2.0", "1.10.0", "2.0.0-rc.1", "v9.0.0", "stable", "1.3"] {
        registry.publish_oci_module(REPOSITORY, tag, &format!("# {tag}\n"), None);
    }
    let output = environment.provlock(["upgrade", "--modules", "--check"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
module           locked   allowed   newest   held back by
module.network   1.0.0              1.10.0   main.tf:2  tag=1.0.0
----- stderr -----
0 modules can move within the constraints; 1 held back
Constraints hold back 1 module; to change them, too: provlock upgrade --modules --constraints
"#]]);
    environment
        .provlock(["upgrade", "--modules", "--constraints"])
        .assert_code(0);
    assert_eq!(environment.read("main.tf"), call("?tag=1.10.0"));
    environment.provlock(["get"]).assert_code(0);
    assert_eq!(installed(&environment), "# 1.10.0\n");
    environment
        .provlock(["upgrade", "module.network@1.2.0", "--constraints"])
        .assert_code(0);
    assert_eq!(environment.read("main.tf"), call("?tag=1.2.0"));

    // A digest moves with the tag in its comment.
    let pinned = |digest: &str, tag: &str| {
        call(&format!("?digest={digest}")).replace("\"\n}", &format!("\" # {tag}\n}}"))
    };
    environment.write("main.tf", pinned(&digest, "1.0.0"));
    lock(&environment);
    environment
        .provlock(["upgrade", "--modules", "--constraints"])
        .assert_code(0);
    let new = digest_of(&environment);
    assert_eq!(environment.read("main.tf"), pinned(&new, "1.10.0"));
    environment.provlock(["lock", "--check"]).assert_code(0);
    environment.provlock(["get"]).assert_code(0);
    assert_eq!(installed(&environment), "# 1.10.0\n");
}

/// The locked digest.
fn digest_of(environment: &TestEnvironment) -> String {
    let lock_file = module_lock_file(environment);
    let (_, rest) = lock_file.split_once("?digest=").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_tag_without_a_version_moves_to_its_present_digest() {
    let (registry, environment, old) = project("");
    lock(&environment);
    let new = registry.publish_oci_module(REPOSITORY, "latest", "# two\n", None);
    environment
        .provlock(["upgrade", "--modules"])
        .assert_code(0);
    assert_eq!(digest_of(&environment), new);
    assert_ne!(old, new);
    assert_eq!(environment.read("main.tf"), call(""));
    // The tags are not requested, which not everybody may do who may read packages.
    assert_eq!(registry.requests_to("oci.example.com/*/tags/list*"), 0);

    environment.provlock(["pin"]).assert_code(0);
    let newest = registry.publish_oci_module(REPOSITORY, "latest", "# three\n", None);
    environment
        .provlock(["upgrade", "--modules", "--constraints"])
        .assert_code(0);
    let expected = call(&format!("?digest={newest}")).replace("\"\n}", "\" # latest\n}");
    assert_eq!(environment.read("main.tf"), expected);
}

#[test]
fn the_minimum_age_applies_to_the_creation_date() {
    let (registry, environment, _) = project("?tag=1.0.0");
    lock(&environment);
    let days = |days: i64| {
        let date = Timestamp::now() - SignedDuration::from_hours(24 * days);
        date.to_string()
    };
    registry.publish_oci_module(REPOSITORY, "1.1.0", "# 1.1.0\n", Some(&days(30)));
    registry.publish_oci_module(REPOSITORY, "1.2.0", "# 1.2.0\n", Some(&days(2)));
    registry.publish_oci_module(REPOSITORY, "1.3.0", "# 1.3.0\n", Some("yesterday"));
    registry.publish_oci_module(REPOSITORY, "1.4.0", "# 1.4.0\n", None);
    let output = environment.provlock(["upgrade", "--modules", "--constraints", "--min-age", "7d"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[too-young]: module.network 1.4.0 is not chosen: its publication date is not known: its manifest has no annotation org.opencontainers.image.created
 |
 = 1.3.0 is not chosen: its publication date is not known: its manifest has "yesterday" as org.opencontainers.image.created, which is not a date and time
 = 1.2.0 is not chosen: published [TIME], and it must be 7 days old
  ~ module.network   sha256:9b1a0dba1f4d → sha256:[..]   oci://oci.example.com/acme/network?tag=1.1.0
  ~ main.tf:2   tag=1.0.0 → tag=1.1.0
Upgraded 0 providers and 1 module (1 changed)
1 module held back from the newest version; see: provlock upgrade --modules --check --min-age 7d --constraints
"#]]);
    assert_eq!(environment.read("main.tf"), call("?tag=1.1.0"));

    // For a digest, too.
    let digest = digest_of(&environment);
    let pinned = call(&format!("?digest={digest}")).replace("\"\n}", "\" # 1.1.0\n}");
    environment.write("main.tf", &pinned);
    lock(&environment);
    environment
        .provlock(["upgrade", "--modules", "--constraints", "--min-age", "7d"])
        .assert_code(0);
    assert_eq!(environment.read("main.tf"), pinned);
}

#[test]
fn bills_of_materials_contain_the_digest() {
    let (_registry, environment, digest) = project("?tag=1.0.0");
    lock(&environment);
    let output = environment.provlock(["sbom"]);
    let bill: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let component = &bill["components"][1];
    assert_eq!(component["version"], digest.as_str());
    let purl = format!("pkg:oci/network@{digest}?repository_url=oci.example.com%2Facme%2Fnetwork");
    assert_eq!(component["purl"], purl.as_str());
}

#[test]
fn a_removed_repository_and_a_missing_tag_are_errors_that_name_the_package() {
    let (_registry, environment, _) = project("?tag=2.0.0");
    let output = environment.provlock(["lock", "--modules"]);
    output.assert_code(2).assert_stderr_has("?tag=2.0.0");
    let output = environment.provlock(["pin"]);
    output.assert_code(2).assert_stderr_has("?tag=2.0.0");
    assert_eq!(environment.read("main.tf"), call("?tag=2.0.0"));
}

#[test]
fn terraform_knows_no_modules_in_oci_registries() {
    let (_registry, environment, _) = project("?tag=1.0.0");
    let before = environment.read("main.tf");
    for command in [
        &["lock", "--modules", "--dialect", "terraform"][..],
        &["pin", "--dialect", "terraform"],
    ] {
        let output = environment.provlock(command);
        output.assert_lacks("panicked");
        assert_eq!(environment.read("main.tf"), before);
    }
}
