//! `provlock sbom`: locked providers and modules as `CycloneDX`, SPDX and a snapshot for GitHub, by
//! their own schemas.

use std::path::Path;

use provlock_test::{Output, Registry, TestEnvironment, keys};
use serde_json::{Value, json};

use super::lock::requires;

const FORMATS: [&str; 3] = ["cyclonedx", "spdx", "github-snapshot"];
const ZH: &str = "zh:0000000000000000000000000000000000000000000000000000000000000001";
const ZH2: &str = "zh:0000000000000000000000000000000000000000000000000000000000000002";
const H1: &str = "h1:L5V05xwp/Gto1leRryuesxjMfgZwjb7oool4WS1UEFQ=";
const SHA: &str = "0123456789012345678901234567890123456789";

fn provider(address: &str, version: &str, hashes: &[&str]) -> String {
    format!(
        "provider \"{address}\" {{\n  version = \"{version}\"\n{}}}\n\n",
        list(hashes)
    )
}

fn module(
    key: &str,
    source: &str,
    version: Option<&str>,
    package: &str,
    hashes: &[&str],
) -> String {
    let version = version
        .map(|version| format!("  version = \"{version}\"\n"))
        .unwrap_or_default();
    let (source, package) = (
        format!("  source = \"{source}\"\n"),
        format!("  package = \"{package}\"\n"),
    );
    format!(
        "module \"{key}\" {{\n{source}{version}{package}{}}}\n\n",
        list(hashes)
    )
}

fn list(hashes: &[&str]) -> String {
    if hashes.is_empty() {
        String::new()
    } else {
        format!(
            "  hashes = [\n    \"{}\",\n  ]\n",
            hashes.join("\",\n    \"")
        )
    }
}

fn call(name: &str, source: &str) -> String {
    format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n")
}

/// Runs `sbom`, and validates its output.
fn sbom(environment: &TestEnvironment, format: &str, arguments: &[&str]) -> Value {
    let arguments = ["sbom", "--format", format]
        .into_iter()
        .chain(arguments.iter().copied());
    let output = environment
        .command(arguments)
        .env("GITHUB_SHA", SHA)
        .env("GITHUB_REF", "refs/heads/main")
        .run();
    output.assert_code(0);
    validated(format, &output)
}

fn validated(format: &str, output: &Output) -> Value {
    let name = match format {
        "cyclonedx" => "cyclonedx-1.6",
        "spdx" => "spdx-2.3",
        _ => "github-snapshot",
    };
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/sbom/{name}.schema.json"));
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    if format == "cyclonedx" {
        // What is in other files: no document here has a signature or a licence.
        schema["definitions"]["signature"] = json!(false);
        schema["definitions"]["license"]["properties"]["id"] = json!(false);
    }
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
    value
}

/// References that a component depends on, in `CycloneDX`.
fn required_by<'a>(document: &'a Value, by: &str) -> Vec<&'a str> {
    let all = document["dependencies"].as_array().unwrap();
    let found = all
        .iter()
        .find(|dependency| dependency["ref"] == by)
        .unwrap_or_else(|| panic!("{by}\n{document:#}"));
    found["dependsOn"]
        .as_array()
        .unwrap()
        .iter()
        .map(|other| other.as_str().unwrap())
        .collect()
}

fn component<'a>(document: &'a Value, reference: &str) -> &'a Value {
    let mut all = document["components"].as_array().unwrap().iter();
    all.find(|component| component["bom-ref"] == reference)
        .unwrap_or_else(|| panic!("{reference}\n{document:#}"))
}

const NULL: &str = "pkg:terraform/hashicorp/null@3.2.4?repository_url=registry.opentofu.org";

/// A root module that requires a provider itself, and one on another host in a local module.
fn project() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write(
        "main.tf",
        requires("hashicorp/null", "~> 3.2") + &call("dns", "./dns"),
    );
    environment.write(
        "dns/main.tf",
        requires("registry.example.com:8443/acme/dns", ""),
    );
    environment.write_lock_file(
        provider(
            "registry.example.com:8443/acme/dns",
            "1.0.0-rc.1+build.5",
            &[],
        ) + &provider(
            "registry.opentofu.org/hashicorp/null",
            "3.2.4",
            &[H1, ZH, ZH2, "h9:later"],
        ),
    );
    environment
}

#[test]
fn providers_are_components_with_the_hashes_of_their_archives() {
    let environment = project();
    let before = environment.snapshot();
    let document = sbom(&environment, "cyclonedx", &[]);
    before.assert_same(&environment.snapshot());
    assert_eq!(document["metadata"]["component"]["name"], "project");
    assert_eq!(document["metadata"].get("timestamp"), None);
    let null = component(&document, NULL);
    assert_eq!(
        (&null["group"], &null["name"], &null["version"]),
        (&json!("hashicorp"), &json!("null"), &json!("3.2.4"))
    );
    let reference = |hash: &str| {
        let hashes = [json!({ "alg": "SHA-256", "content": hash.trim_start_matches("zh:") })];
        json!({ "type": "distribution", "url": "https://registry.opentofu.org", "hashes": hashes })
    };
    assert_eq!(
        null["externalReferences"],
        json!([reference(ZH), reference(ZH2)])
    );
    let property = |name: &str, value: &str| json!({ "name": name, "value": value });
    let expected = [
        property("provlock:address", "registry.opentofu.org/hashicorp/null"),
        property("provlock:hash", H1),
        property("provlock:hash", "h9:later"),
    ];
    assert_eq!(null["properties"], json!(expected));
    let dns =
        "pkg:terraform/acme/dns@1.0.0-rc.1%2Bbuild.5?repository_url=registry.example.com:8443";
    assert_eq!(required_by(&document, "project"), ["root:."]);
    assert_eq!(required_by(&document, "root:."), [dns, NULL]);
    assert_eq!(
        document["compositions"],
        json!([{ "aggregate": "complete", "dependencies": ["root:."] }])
    );
}

#[test]
fn the_default_registry_of_package_urls_is_terraforms() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write_lock_file(provider(
        "registry.terraform.io/hashicorp/null",
        "3.2.4",
        &[ZH],
    ));
    let document = sbom(&environment, "cyclonedx", &[]);
    assert_eq!(
        required_by(&document, "root:."),
        ["pkg:terraform/hashicorp/null@3.2.4"]
    );
}

#[test]
fn spdx_has_packages_with_checksums_and_relationships() {
    let document = sbom(&project(), "spdx", &[]);
    let packages = document["packages"].as_array().unwrap();
    let null = packages
        .iter()
        .find(|package| package["name"] == "hashicorp/null")
        .unwrap();
    assert_eq!(
        null["checksums"][1],
        json!({ "algorithm": "SHA256", "checksumValue": &ZH2[3..] })
    );
    assert_eq!(
        null["checksums"].as_array().unwrap().len(),
        2,
        "an h1: is no SHA-256 of a file"
    );
    assert_eq!(null["externalRefs"][0]["referenceLocator"], NULL);
    assert_eq!(
        null["annotations"][1]["comment"],
        format!("provlock:hash={H1}")
    );
    let relations: Vec<_> = document["relationships"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    let relation = |from: &str, kind: &str, to: &Value| {
        json!({
            "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to,
        })
    };
    assert_eq!(
        relations[0],
        &relation("SPDXRef-DOCUMENT", "DESCRIBES", &json!("SPDXRef-Project"))
    );
    assert!(
        relations.contains(&&relation(
            "SPDXRef-RootModule-0--",
            "DEPENDS_ON",
            &null["SPDXID"]
        )),
        "{document:#}"
    );
}

#[test]
fn a_snapshot_has_a_manifest_for_each_lock_file() {
    let document = sbom(&project(), "github-snapshot", &[]);
    assert_eq!(
        (&document["sha"], &document["ref"]),
        (&json!(SHA), &json!("refs/heads/main"))
    );
    let manifest = &document["manifests"][".terraform.lock.hcl"];
    assert_eq!(manifest["file"]["source_location"], ".terraform.lock.hcl");
    let expected = json!({ "package_url": NULL, "relationship": "direct", "scope": "runtime", "dependencies": [] });
    assert_eq!(manifest["resolved"][NULL], expected);
}

#[test]
fn a_snapshot_is_of_the_commit_that_is_checked_out() {
    let environment = project();
    environment
        .provlock(["sbom", "--format", "github-snapshot"])
        .assert_code(2)
        .assert_stderr_has("run in a git repository");
    environment.git(".", ["init", "--quiet", "--initial-branch", "trunk"]);
    environment.commit_all(".");
    let output = environment.provlock(["sbom", "--format", "github-snapshot"]);
    output.assert_code(0);
    let document = validated("github-snapshot", &output);
    assert_eq!(document["ref"], "refs/heads/trunk");
    assert_eq!(document["sha"], environment.git(".", ["rev-parse", "HEAD"]));
    environment.git(".", ["checkout", "--quiet", "--detach"]);
    environment
        .provlock(["sbom", "--format", "github-snapshot"])
        .assert_code(2)
        .assert_stderr_has("GITHUB_REF");
}

/// A registry module that calls a module in git, whose package requires a provider; and an archive.
fn with_modules() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let calls = call("vpc", "acme/vpc/aws")
        + &call("local", "./local")
        + &call("site", "https://h.test/site.zip");
    environment.write("main.tf", calls);
    environment.write(
        "local/main.tf",
        call("tags", "git::https://h.test/tags.git//modules/a?ref=v1"),
    );
    environment.write_lock_file(provider(
        "registry.opentofu.org/hashicorp/null",
        "3.2.4",
        &[ZH],
    ));
    let git = format!("git::https://h.test/tags.git?ref={SHA}");
    let source = "git::https://h.test/tags.git//modules/a?ref=v1";
    let registry = "registry.opentofu.org/acme/vpc/aws";
    environment.write(
        ".modules.lock.hcl",
        module("local.tags", source, None, &git, &[H1])
            + &module(
                "site",
                "https://h.test/site.zip",
                None,
                "https://h.test/site.zip",
                &[H1, ZH],
            )
            + &module(
                "vpc",
                registry,
                Some("2.0.0"),
                &format!("registry::{registry}@2.0.0"),
                &[H1],
            )
            + &module("vpc.tags", source, None, &git, &[H1]),
    );
    environment
}

#[test]
fn branch_in_lock_file_is_not_shown_as_commit() {
    let environment = TestEnvironment::new();
    let source = "git::https://h.test/tags.git?ref=main";
    environment.write("main.tf", call("tags", source));
    for reference in ["main", &SHA[..12]] {
        let package = format!("git::https://h.test/tags.git?ref={reference}");
        environment.write(
            ".modules.lock.hcl",
            module("tags", source, None, &package, &[H1]),
        );
        let document = sbom(&environment, "cyclonedx", &[]);
        let tags = component(
            &document,
            "pkg:generic/tags?vcs_url=git%2Bhttps:%2F%2Fh.test%2Ftags.git",
        );
        assert_eq!(tags["version"], Value::Null);
    }
}

#[test]
fn modules_are_components_with_commit_and_address() {
    let document = sbom(&with_modules(), "cyclonedx", &[]);
    let vpc = "pkg:terraform/acme/vpc/aws@2.0.0?repository_url=registry.opentofu.org";
    let tags =
        format!("pkg:generic/tags@{SHA}?vcs_url=git%2Bhttps:%2F%2Fh.test%2Ftags.git%40{SHA}");
    let site = format!(
        "pkg:generic/site.zip?checksum=sha256:{}&download_url=https:%2F%2Fh.test%2Fsite.zip",
        ZH.trim_start_matches("zh:")
    );
    assert_eq!(required_by(&document, vpc), [&*tags]);
    assert_eq!(
        required_by(&document, "root:."),
        [&*site, &*tags, vpc, NULL]
    );
    let git = component(&document, &tags);
    assert_eq!(
        (&git["version"], &git["externalReferences"]),
        (
            &json!(SHA),
            &json!([{ "type": "vcs", "url": "https://h.test/tags.git" }])
        )
    );
    let called: Vec<_> = git["properties"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| p["name"] == "provlock:module")
        .collect();
    assert_eq!(
        called.len(),
        2,
        "both calls of the package are named: {git:#}"
    );
    assert_eq!(
        component(&document, &site)["externalReferences"][0]["hashes"][0]["alg"],
        "SHA-256"
    );
    let spdx = sbom(&with_modules(), "spdx", &[]);
    let packages = spdx["packages"].as_array().unwrap();
    let git = packages
        .iter()
        .find(|package| package["name"] == "tags")
        .unwrap();
    assert_eq!(
        git["downloadLocation"],
        format!("git+https://h.test/tags.git@{SHA}")
    );
    let snapshot = sbom(&with_modules(), "github-snapshot", &[]);
    assert_eq!(
        snapshot["manifests"][".terraform.lock.hcl"]["resolved"][vpc]["dependencies"],
        json!([tags])
    );
}

#[test]
fn requirements_of_a_locked_module_are_listed_at_the_module() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", call("net", "git::https://h.test/net.git"));
    let installed = json!({ "Modules": [
        { "Key": "", "Source": "", "Dir": "." },
        { "Key": "net", "Source": "git::https://h.test/net.git", "Dir": ".terraform/modules/net" },
    ] });
    environment.write(".terraform/modules/modules.json", installed.to_string());
    environment.write(
        ".terraform/modules/net/main.tf",
        requires("hashicorp/null", ""),
    );
    environment.write_lock_file(provider(
        "registry.opentofu.org/hashicorp/null",
        "3.2.4",
        &[ZH],
    ));
    let document = sbom(&environment, "cyclonedx", &[]);
    assert_eq!(
        document["compositions"][0]["aggregate"], "incomplete",
        "the module is not locked"
    );
    environment
        .provlock(["sbom"])
        .assert_stderr_has("warning[module-not-locked]: called modules that are not locked");
    assert_eq!(required_by(&document, "root:."), [NULL]);
}

#[test]
fn many_root_modules_are_one_document() {
    let environment = TestEnvironment::new();
    for (root, hash) in [("a", ZH), ("b", ZH2)] {
        environment.write(
            format!("{root}/main.tf"),
            requires("hashicorp/null", "") + "terraform {\n  backend \"s3\" {}\n}\n",
        );
        let locked = provider("registry.opentofu.org/hashicorp/null", "3.2.4", &[hash]);
        environment.write(format!("{root}/.terraform.lock.hcl"), locked);
    }
    for format in FORMATS {
        sbom(&environment, format, &["-r"]);
    }
    let document = sbom(&environment, "cyclonedx", &["-r", "--name", "all"]);
    assert_eq!(document["metadata"]["component"]["name"], "all");
    assert_eq!(required_by(&document, "project"), ["root:a", "root:b"]);
    assert_eq!(
        (
            required_by(&document, "root:a"),
            required_by(&document, "root:b")
        ),
        (vec![NULL], vec![NULL])
    );
    assert_eq!(
        component(&document, NULL)["externalReferences"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        document,
        sbom(&environment, "cyclonedx", &["b", "a", "--name", "all"]),
        "in whatever order"
    );
    let snapshot = sbom(&environment, "github-snapshot", &["-r"]);
    let manifests: Vec<_> = snapshot["manifests"].as_object().unwrap().keys().collect();
    assert_eq!(
        manifests,
        ["a/.terraform.lock.hcl", "b/.terraform.lock.hcl"]
    );
}

#[test]
fn the_same_lock_files_give_the_same_document() {
    let time = |format: &str, seconds: &str| {
        let environment = project();
        let command = environment
            .command(["sbom", "--format", format])
            .env("SOURCE_DATE_EPOCH", seconds);
        command
            .env("GITHUB_SHA", SHA)
            .env("GITHUB_REF", "refs/heads/main")
            .run()
    };
    for format in FORMATS {
        let (one, two) = (time(format, "86400"), time(format, "86400"));
        assert_eq!(one.stdout, two.stdout);
        assert!(
            validated(format, &one)
                .to_string()
                .contains("1970-01-02T00:00:00Z"),
            "{one}"
        );
        time(format, "yesterday")
            .assert_code(2)
            .assert_stderr_has("SOURCE_DATE_EPOCH is \"yesterday\"");
    }
    let number =
        |environment: &TestEnvironment| sbom(environment, "cyclonedx", &[])["serialNumber"].clone();
    let other = project();
    other.write_lock_file(provider(
        "registry.opentofu.org/hashicorp/null",
        "3.2.5",
        &[ZH],
    ));
    assert_eq!(number(&project()), number(&project()));
    assert_ne!(number(&project()), number(&other));
}

#[test]
fn accepted_keys_are_properties() {
    let environment = project();
    let key = "0123456789ABCDEF0123456789ABCDEF01234567";
    environment.write(
        "provlock.toml",
        format!("[trust]\n\"hashicorp/*\" = [\"{key}\"]\n"),
    );
    let document = sbom(&environment, "cyclonedx", &[]);
    let property = json!({ "name": "provlock:trusted-key", "value": key });
    assert_eq!(
        component(&document, NULL)["properties"]
            .as_array()
            .unwrap()
            .last(),
        Some(&property)
    );
    assert_eq!(
        document.to_string().matches(key).count(),
        1,
        "the other provider is of another namespace"
    );
}

/// Each settings file must accept a key: a nearer file takes keys away and adds none.
#[test]
fn only_keys_that_all_settings_files_accept_are_properties() {
    let environment = TestEnvironment::new();
    environment.write("root/main.tf", requires("hashicorp/null", ""));
    let locked = provider("registry.opentofu.org/hashicorp/null", "3.2.4", &[ZH]);
    environment.write("root/.terraform.lock.hcl", locked);
    let [above, both, below] = ["A", "B", "C"].map(|digit| digit.repeat(40));
    let trust = |keys: &[&String]| format!("[trust]\n\"hashicorp/*\" = {}\n", json!(keys));
    let trusted = || {
        let document = sbom(&environment, "cyclonedx", &["root"]);
        let properties = component(&document, NULL)["properties"]
            .as_array()
            .unwrap()
            .clone();
        let keys = properties
            .iter()
            .filter(|property| property["name"] == "provlock:trusted-key");
        keys.map(|property| property["value"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    environment.write("provlock.toml", trust(&[&above, &both]));
    assert_eq!(trusted(), [&*above, &*both]);
    environment.write("root/provlock.toml", trust(&[&both, &below]));
    assert_eq!(trusted(), [&*both]);
    environment.write("root/provlock.toml", "");
    assert_eq!(
        trusted(),
        [&*above, &*both],
        "a file without keys takes none away"
    );
}

#[test]
fn without_root_modules_or_lock_files_there_is_no_document() {
    let environment = TestEnvironment::new();
    for arguments in [&["sbom"][..], &["sbom", "-r"]] {
        let output = environment.provlock(arguments);
        output.assert_code(2);
        assert_eq!(output.stdout, "", "{output}");
    }
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(["sbom"])
        .assert_code(2)
        .assert_stderr_has("error[lock-file-missing]: there is no lock file");
}

#[test]
fn a_lock_file_that_cannot_be_read_is_an_error() {
    let environment = TestEnvironment::new();
    for root in ["a", "b"] {
        environment.write(format!("{root}/main.tf"), requires("hashicorp/null", ""));
        environment.write(
            format!("{root}/.terraform.lock.hcl"),
            provider("registry.opentofu.org/hashicorp/null", "1.0.0", &[]),
        );
    }
    environment.write("b/.terraform.lock.hcl", "provider {");
    let output = environment.provlock(["sbom", "-r"]);
    output
        .assert_code(2)
        .assert_stderr_has("b/.terraform.lock.hcl");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    let incomplete = json!([{ "aggregate": "complete", "dependencies": ["root:a"] },
        { "aggregate": "incomplete", "dependencies": ["project"] }]);
    assert_eq!(
        document["compositions"], incomplete,
        "half a document must not be taken for the whole"
    );
    environment.write("b/.terraform.lock.hcl", "");
    environment.write("b/.modules.lock.hcl", "module {");
    environment
        .provlock(["sbom", "-r"])
        .assert_code(2)
        .assert_stderr_has("b/.modules.lock.hcl");
}

#[test]
fn a_root_module_without_a_lock_file_is_not_complete() {
    let environment = project();
    environment.write(
        "other/main.tf",
        requires("hashicorp/random", "") + "terraform {\n  backend \"s3\" {}\n}\n",
    );
    environment.write("none/main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    let document = sbom(&environment, "cyclonedx", &["-r"]);
    let expected = json!([
        { "aggregate": "complete", "dependencies": ["root:.", "root:none"] },
        { "aggregate": "incomplete", "dependencies": ["root:other"] },
    ]);
    assert_eq!(document["compositions"], expected);
    let spdx = sbom(&environment, "spdx", &["-r"]).to_string();
    assert!(
        spdx.contains("\"NOASSERTION\",\"relationshipType\":\"DEPENDS_ON\""),
        "{spdx}"
    );
}

#[cfg(unix)]
#[test]
fn sbom_prints_no_secrets_or_control_characters() {
    let environment = TestEnvironment::new();
    let name = "a ::error::x ##[group]\u{202e}";
    environment.write(
        format!("{name}/main.tf"),
        "terraform {\n  backend \"s3\" {}\n}\n",
    );
    let git = format!("git::https://me:hunter2@h.test/a b/%22.git?ref={SHA}&sshkey=c2VjcmV0a2V5");
    let zip = "https://t0ken@h.test/a.zip?X-Amz-Signature=abcdef0123";
    let locked = module(
        "a",
        "git::https://me:hunter2@h.test/a b/%22.git",
        None,
        &git,
        &[H1],
    ) + &module("b", zip, None, zip, &["zh:short", "h1:x"])
        + &module(
            "c \u{202e}##[group]",
            "nothing",
            None,
            "nothing that \u{200b}is known?token=abcdefgh",
            &[],
        );
    environment.write(format!("{name}/.modules.lock.hcl"), locked);
    for format in FORMATS {
        let arguments = ["sbom", "-r", "--format", format];
        let output = environment
            .command(arguments)
            .env("GITHUB_SHA", SHA)
            .env("GITHUB_REF", "refs/heads/main")
            .run();
        output.assert_code(0);
        validated(format, &output);
        for secret in [
            "hunter2",
            "t0ken@",
            "abcdef0123",
            "c2VjcmV0a2V5",
            "abcdefgh",
            "##[",
            "\u{202e}",
            "\u{200b}",
        ] {
            output.assert_lacks(secret);
        }
    }
}

#[test]
fn the_demo_has_a_bill_of_materials() {
    let environment = TestEnvironment::new();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for file in ["main.tf", "provlock.toml"] {
        environment.write(
            file,
            std::fs::read(testdata.join("demo").join(file)).unwrap(),
        );
    }
    environment
        .provlock(["lock", "--fs-mirror", &mirror()])
        .assert_code(0);
    for format in FORMATS {
        let document = sbom(&environment, format, &[]);
        assert!(
            document
                .to_string()
                .contains("pkg:terraform/hashicorp/random@3.6.3"),
            "{document:#}"
        );
    }
}

/// Modules as `testdata/module-demo` locks them: in a repository and in an archive on this machine.
#[cfg(unix)]
#[test]
fn sbom_lists_locked_modules() {
    let environment = TestEnvironment::new();
    let place = environment.root().join("network");
    environment.write(place.join("main.tf"), requires("hashicorp/null", ""));
    environment.git_init(&place);
    environment.commit_all(&place);
    environment.git(
        &place,
        ["archive", "--format=zip", "--output", "site.zip", "HEAD"],
    );
    let place = place.to_str().unwrap();
    let calls = call("network", &format!("git::file://{place}"))
        + &call("site", &format!("{place}/site.zip"));
    environment.write("main.tf", calls);
    environment
        .provlock([
            "lock",
            "--modules",
            "--fs-mirror",
            &mirror(),
            "-p",
            "linux_amd64",
        ])
        .assert_code(0);
    for format in FORMATS {
        sbom(&environment, format, &[]);
    }
    let document = sbom(&environment, "cyclonedx", &[]);
    let [network, site] = required_by(&document, "root:.")[..] else {
        panic!("{document:#}")
    };
    assert!(
        network.starts_with("pkg:generic/network@") && site.starts_with("pkg:generic/site.zip?"),
        "{document:#}"
    );
    assert_eq!(
        (
            required_by(&document, network),
            required_by(&document, site)
        ),
        (vec![NULL], vec![NULL])
    );
    assert_eq!(document["compositions"][0]["aggregate"], "complete");
    let packages = sbom(&environment, "spdx", &[])["packages"].clone();
    let locations: Vec<_> = packages
        .as_array()
        .unwrap()
        .iter()
        .map(|package| &package["downloadLocation"])
        .collect();
    assert!(
        locations.iter().all(|location| *location == "NOASSERTION"),
        "SPDX has none on a machine: {locations:?}"
    );
}

fn mirror() -> String {
    format!("{}/testdata/mirror", env!("CARGO_MANIFEST_DIR"))
}

/// The registry of the tests signs; nothing but the cache remembers that.
#[test]
fn the_key_that_has_signed_is_a_property_where_the_cache_knows_it() {
    let (registry, environment) = Registry::with_project();
    registry.publish("hashicorp/null", "3.2.4").done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let property = json!({ "name": "provlock:signed-by", "value": keys::ED25519.fingerprint() });
    let signers = |arguments: &[&str]| {
        let document = sbom(&environment, "cyclonedx", arguments);
        let properties = component(&document, NULL)["properties"]
            .as_array()
            .unwrap()
            .clone();
        properties
            .into_iter()
            .filter(|property| property["name"] == "provlock:signed-by")
            .collect::<Vec<_>>()
    };
    assert_eq!(signers(&[]), [property]);
    assert_eq!(signers(&["--no-cache"]), [json!(null); 0]);
    let annotation = format!("provlock:signed-by={}", keys::ED25519.fingerprint());
    assert!(
        sbom(&environment, "spdx", &[])
            .to_string()
            .contains(&annotation)
    );
    environment.provlock(["cache", "clean"]).assert_code(0);
    assert_eq!(signers(&[]), [json!(null); 0]);
}
