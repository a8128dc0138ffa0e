//! Errors that point at the mistake and propose the most likely correction.

use super::lock::{lock_file, requires};
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

#[test]
fn a_misspelled_provider_is_shown_where_it_is_written() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/aws", "5.0.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("hashicrop/aws", "~> 5.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: registry.opentofu.org has no provider registry.opentofu.org/hashicrop/aws
 --> main.tf:4:16
  |
4 |       source = "hashicrop/aws"
  |                ^^^^^^^^^^^^^^^ required here
  |
  = asked for https://registry.opentofu.org/v1/providers/hashicrop/aws/versions
help: did you mean hashicorp/aws? correct its source in required_providers
"#]]);
}

#[test]
fn a_provider_without_a_source_that_is_known_elsewhere_is_proposed() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("datadog/datadog", "3.0.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", "resource \"datadog_monitor\" \"a\" {}\n");
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: registry.opentofu.org has no provider registry.opentofu.org/hashicorp/datadog
 --> main.tf:1:10
  |
1 | resource "datadog_monitor" "a" {}
  |          ^^^^^^^^^^^^^^^^^ required here
  |
  = asked for https://registry.opentofu.org/v1/providers/hashicorp/datadog/versions
  = required_providers has no source for it, so it is assumed to be a hashicorp provider
help: did you mean datadog/datadog? add datadog = { source = "datadog/datadog" } to required_providers
"#]]);
}

#[test]
fn a_missing_brace_is_shown_with_the_block_that_it_belongs_to() {
    let environment = TestEnvironment::new();
    environment.write(
        "main.tf",
        "terraform {\n  required_version = \">= 1.6\"\n\nresource \"null_resource\" \"a\" {\n}\n",
    );
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: the "{" after terraform is never closed
 --> main.tf:1:11
  |
1 | terraform {
  |           ^
"#]]);
}

#[test]
fn flags_and_platforms_of_other_tools_get_a_suggestion() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "");
    environment.provlock(["lock", "-p", "macos_arm64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'macos_arm64' for '--platform <OS_ARCH>': "macos_arm64" is not a platform; did you mean darwin_arm64?

help: for more information, try '--help'.
"#]]);
    environment.provlock(["verify", "-json"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: unexpected argument '-json' found

  tip: a similar argument exists: '--json'

Usage: provlock verify [OPTIONS] [PATH]...

help: for more information, try '--help'.
"#]]);
    environment.write("provlock.toml", "platforms = [\"linux_x86_64\"]\n");
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: "linux_x86_64" is not a platform; did you mean linux_amd64?
 --> provlock.toml:1:14
  |
1 | platforms = ["linux_x86_64"]
  |              ^^^^^^^^^^^^^^
"#]]);
}

#[test]
fn words_of_other_tools_get_a_true_answer() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "");
    for (arguments, word, tip) in [
        (&["lock", "-json"][..], "'-json'", "exists: '--json'"),
        (&["tree", "-json"], "'-json'", "exists: '--json'"),
        (
            &["lock", "-recursive"],
            "'-recursive'",
            "exists: '--recursive'",
        ),
        (
            &["verify", "-recursive"],
            "'-recursive'",
            "exists: '--recursive'",
        ),
        (&["lock", "-check"], "'-check'", "exists: '--check'"),
        (
            &["lock", "-oci-mirror=ghcr.io/x"],
            "'-oci-mirror=ghcr.io/x'",
            "exists: '--oci-mirror'",
        ),
        (
            &["lock", "-upgrade"],
            "'-upgrade'",
            "to move to newer versions: provlock upgrade",
        ),
        (
            &["init", "-upgrade"],
            "'-upgrade'",
            "to move to newer versions: provlock upgrade",
        ),
        (
            &["lock", "--upgrade"],
            "'--upgrade'",
            "to move to newer versions: provlock upgrade",
        ),
        (
            &["lock", "-lockfile=readonly"],
            "'-lockfile=readonly'",
            "provlock lock --check",
        ),
        (
            &["install"],
            "'install'",
            "to install locked modules: provlock get",
        ),
        (
            &["check"],
            "'check'",
            "to check lock files: provlock verify",
        ),
        (
            &["version"],
            "'version'",
            "to print the version: provlock --version",
        ),
        (
            &["providers", "lock"],
            "'providers'",
            "to lock providers: provlock lock",
        ),
    ] {
        let output = environment.provlock(arguments);
        output
            .assert_code(2)
            .assert_stderr_has(word)
            .assert_stderr_has(tip)
            .assert_lacks("as a value");
        assert_eq!(output.stderr.matches("tip: ").count(), 1, "{output}");
    }
    // A word without a meaning is named as a whole.
    environment
        .provlock(["lock", "-nonsense"])
        .assert_code(2)
        .assert_stderr_has("unexpected argument '-nonsense' found");
    // A similar command is proposed as before, and letters after one dash are flags.
    environment
        .provlock(["verfy"])
        .assert_code(2)
        .assert_stderr_has("a similar subcommand exists: 'verify'");
    environment.provlock(["verify", "-vv"]).assert_code(0);
    let json = environment.provlock(["lock", "--upgrade", "--json"]);
    json.assert_stdout_has("to move to newer versions: provlock upgrade");
}

#[test]
fn flags_as_terraform_users_type_them_are_accepted() {
    let (registry, environment) = Registry::with_project();
    let gamma = registry
        .publish("acme/gamma", "1.0.0")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    environment.write("live/main.tf", requires("acme/gamma", ""));
    for arguments in [
        &[
            "-chdir=live",
            "lock",
            "-platform=linux_amd64",
            "-platform",
            "darwin_arm64",
        ][..],
        &[
            "lock",
            "-platform=linux_amd64,darwin_arm64",
            "live",
            "--dialect",
            "opentofu",
        ],
    ] {
        environment.provlock(arguments).assert_code(0);
        let text = environment.read("live/.terraform.lock.hcl");
        for platform in ["linux_amd64", "darwin_arm64"] {
            assert!(text.contains(gamma.h1(platform)), "{arguments:?}\n{text}");
        }
        std::fs::remove_file(environment.project().join("live/.terraform.lock.hcl")).unwrap();
    }
    environment.write("live/provlock.toml", "dialect = \"opentofu\"\n");
    environment
        .provlock(["lock", "-platform=linux_amd64", "live"])
        .assert_code(0);
    environment.provlock(["lock", "-platform=linux-amd64", "live"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'linux-amd64' for '--platform <OS_ARCH>': "linux-amd64" is not a platform; did you mean linux_amd64?

help: for more information, try '--help'.
"#]]);
    environment
        .provlock(["verify", "live", "--", "-platform"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot open -platform: No such file or directory (os error 2)
"#]]);
}

#[test]
fn misspelled_settings_get_a_suggestion() {
    let environment = TestEnvironment::new();
    for (text, meant) in [
        ("platform = [\"linux_amd64\"]", "did you mean platforms?"),
        ("fetch_modules = true", "did you mean fetch-modules?"),
        ("[modules]\nlocked = true", "did you mean lock?"),
        ("[policy]\nalowed-hosts = []", "did you mean allowed-hosts?"),
        ("[polices]", "did you mean policy?"),
        (
            "[[policy.deny]]\nprovider = \"a/b\"\nversion = \"1\"",
            "did you mean versions?",
        ),
    ] {
        environment.write("provlock.toml", text);
        environment
            .provlock(["lock"])
            .assert_code(2)
            .assert_stderr_has(meant);
    }
    environment.write("provlock.toml", "colour = true\n");
    environment
        .provlock(["lock"])
        .assert_code(2)
        .assert_stderr_has("unknown field `colour`")
        .assert_lacks("did you mean");
    environment.write("provlock.toml", "[policy]\nmin_age = \"7d\"\n");
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: unknown field `min_age`, expected one of `allowed-hosts`, `allowed-namespaces`, `allowed-modules`, `allow`, `deny`, `require`, `require-signed`, `min-age`, `min-provider-age`, `tiers`, `min-age-exempt`, `pin-modules`, `new-hosts`
 --> provlock.toml:2:1
  |
2 | min_age = "7d"
  | ^^^^^^^
  |
help: did you mean min-age?
"#]]);
}

#[test]
fn a_misspelled_argument_is_proposed_as_a_provider_or_a_path() {
    let (_registry, environment, _) =
        Registry::with_required("hashicorp/random", "3.0.0", ["linux_amd64"], "");
    environment.write("live/network/main.tf", "");
    environment
        .provlock(["upgrade", "hashicorp/rndom"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: the configuration does not require hashicorp/rndom
help: did you mean hashicorp/random?
"#]]);
    environment.provlock(["lock", "random2"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: the configuration does not require hashicorp/random2
help: did you mean hashicorp/random?
"#]]);
    environment.provlock(["lock", "nosuchdir"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: the configuration does not require hashicorp/nosuchdir
help: choose a provider that required_providers lists; there is no file or directory nosuchdir either
"#]]);
    environment
        .provlock(["lock", "live/netwrok"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: the configuration does not require live/netwrok
help: did you mean the path live/network?
"#]]);
    environment
        .provlock(["lock", "./live/netwrok"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot open ./live/netwrok: No such file or directory (os error 2)
help: did you mean ./live/network?
"#]]);
    environment
        .provlock(["verify", "lives/network"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot open lives/network: No such file or directory (os error 2)
help: did you mean live/network?
"#]]);
    environment
        .provlock(["verify", "-r", "elsewhere"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot open elsewhere: No such file or directory (os error 2)
"#]]);
}

#[test]
fn utf_16_is_called_so() {
    let utf16 = |text: &str| {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let environment = TestEnvironment::new();
    environment.write("main.tf", utf16(&requires("acme/gamma", "")));
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: main.tf is UTF-16 text, and HCL is UTF-8
--> main.tf:1:1
 |
help: save it as UTF-8, in PowerShell with: Out-File -Encoding utf8
"#]]);
    environment.write("main.tf", requires("acme/gamma", ""));
    environment.write_lock_file(utf16("provider \"a\" {}\n"));
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-syntax]: the lock file is UTF-16 text, and must be UTF-8
 --> .terraform.lock.hcl:1:1
  |
1 | ��p␀r␀o␀v␀i␀d␀e␀r␀ ␀"␀a␀"␀ ␀{␀}␀
  | ^
  |
help: correct the file, or remove it and run: provlock lock
"#]]);
    environment.write("provlock.toml", utf16("platforms = \"all\"\n"));
    environment
        .provlock(["lock"])
        .assert_code(2)
        .assert_stderr_has("it is UTF-16 text, and must be UTF-8");
}

#[test]
fn errors_in_another_directory_name_it() {
    let environment = TestEnvironment::new();
    environment.write("live/a/main.tf", "terraform {\n");
    environment.write("live/empty/readme", "");
    environment
        .provlock(["-C", "live/a", "lock"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: the "{" after terraform is never closed
 --> live/a/main.tf:1:11
  |
1 | terraform {
  |           ^
"#]]);
    environment
        .provlock(["-C", "live/empty", "lock"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[no-configuration]: live/empty has no configuration (.tf, .tofu, .tf.json or .tofu.json file)
 |
 = in live/empty
help: name the root module's directory, or find all root modules below with --recursive (-r)
"#]]);
    environment
        .provlock(["-C", "live/none", "lock"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot change to the directory live/none
 |
 = caused by: [..] (os error 2)
"#]]);
}

#[test]
fn a_missing_base_is_explained() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "");
    let verify = ["verify", "--base", "HEAD"];
    environment.provlock(verify).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: --base HEAD: this is not a git repository
help: run it in a clone, or name the directory of one with -C
"#]]);
    environment.git_init(".");
    environment.provlock(verify).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: --base HEAD: unknown git commit
help: fetch it first; a shallow clone has only the last commit
"#]]);
    environment
        .command(verify)
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        .run()
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: git for-each-ref failed: detected dubious ownership in repository at '[ROOT]/project'
help: if you trust its owner: git config --global --add safe.directory [ROOT]/project
"#]]);
}

#[test]
fn a_change_of_constraints_alone_is_not_called_up_to_date() {
    let (_registry, environment, _) =
        Registry::with_required("acme/gamma", "2.0.0", ["linux_amd64"], ">= 1.0");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    environment.write("main.tf", requires("acme/gamma", "~> 1.0"));
    environment
        .provlock(["upgrade", "--constraints", "--check"])
        .matches(str![[r#"
exit code: 1
----- stdout -----
--- a/main.tf
+++ b/main.tf
@@ -2,7 +2,7 @@
   required_providers {
     gamma = {
       source = "acme/gamma"
-      version = "~> 1.0"
+      version = "~> 2.0"
     }
   }
 }
provider     locked   allowed   newest
acme/gamma   2.0.0              2.0.0
----- stderr -----
1 version constraint to rewrite
"#]]);
}

#[cfg(unix)]
#[test]
fn a_read_only_lock_file_is_not_replaced_silently() {
    use std::os::unix::fs::PermissionsExt as _;

    let (_registry, environment, _) =
        Registry::with_required("acme/gamma", "1.0.0", ["linux_amd64"], "");
    let path = environment.write_lock_file("");
    let set_mode =
        |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o444);
    let warning = "warning[io]: .terraform.lock.hcl is read-only, but was replaced anyway; it stays read-only";
    environment
        .provlock(["lock", "-p", "linux_amd64", "--dry-run"])
        .assert_code(0)
        .assert_lacks(warning);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0)
        .assert_stderr_has(warning);
    assert!(environment.lock_file().contains("acme/gamma"));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o444);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0)
        .assert_lacks(warning);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_read_as_text_and_is_not_utf_8_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut environment = TestEnvironment::new();
    let invalid = std::ffi::OsStr::from_bytes(b"caf\xe9");
    for variable in ["TF_VAR_region", "TF_DATA_DIR", "OTHER"] {
        environment.set(variable, invalid);
    }
    environment.write("main.tf", "");
    environment.provlock(["tree"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[invalid-argument]: the environment variable TF_VAR_region is not UTF-8 text
 |
 = bytes that are not UTF-8 were replaced by U+FFFD
"#]]);
}

#[test]
fn unpublished_versions_are_not_blamed_on_constraints() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/beta", "1.0.0-beta1")
        .platforms(["linux_amd64"])
        .done();
    registry.serve("/v1/providers/acme/gamma/versions", r#"{"versions": []}"#);
    environment.write("main.tf", requires("acme/gamma", "~> 1.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[no-matching-version]: there is no version of acme/gamma
 --> main.tf:5:17
  |
5 |       version = "~> 1.0"
  |                 ^^^^^^^^ required here
  |
help: check the provider's address, or wait until a version is published
"#]]);
    environment.write("main.tf", requires("acme/beta", ""));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[no-matching-version]: acme/beta has only prereleases
 |
 = the newest version is 1.0.0-beta1
help: name the prerelease exactly in required_providers
"#]]);
}

#[test]
fn offline_misspelled_providers_get_a_suggestion() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicrop/random", ""));
    environment
        .provlock(["lock", "--offline"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: no version of registry.opentofu.org/hashicrop/random is known offline
 --> main.tf:4:16
  |
4 |       source = "hashicrop/random"
  |                ^^^^^^^^^^^^^^^^^^ required here
  |
help: did you mean hashicorp/random? correct its source in required_providers
"#]]);
    environment.write("main.tf", requires("hashicorp/random", ""));
    environment
        .provlock(["lock", "--offline"])
        .assert_code(2)
        .assert_lacks("did you mean");
}

#[test]
fn a_file_of_certificates_that_is_not_there_is_named() {
    let (_registry, mut environment) = Registry::with_project();
    environment.write("main.tf", requires("acme/gamma", ""));
    environment.write("text.pem", "no certificate");
    for (value, why) in [
        ("/nope/certificates.pem", "No such file"),
        ("text.pem", "no certificate"),
    ] {
        environment.set("SSL_CERT_FILE", value);
        let output = environment.provlock(["lock", "-p", "linux_amd64"]);
        output
            .assert_code(2)
            .assert_stderr_has(value)
            .assert_stderr_has(why);
        output.assert_stderr_has(
            "help: SSL_CERT_FILE must name a file of certificates in PEM form, if it is set",
        );
        environment
            .provlock(["lock", "--offline"])
            .assert_code(2)
            .assert_lacks("SSL_CERT_FILE");
    }
}

#[test]
fn a_prerelease_is_the_newest_version_only_for_those_who_ask_for_one() {
    let (registry, environment, _) =
        Registry::with_required("acme/gamma", "1.0.0", ["linux_amd64"], "");
    registry
        .publish("acme/gamma", "2.0.0-rc1")
        .platforms(["linux_amd64"])
        .done();
    for (constraint, newest) in [
        ("~> 3.0", "1.0.0"),
        ("= 2.0.0-rc2", "2.0.0-rc1"),
        (">= 9.0.0-a", "2.0.0-rc1"),
    ] {
        environment.write("main.tf", requires("acme/gamma", constraint));
        environment
            .provlock(["lock", "-p", "linux_amd64"])
            .assert_code(2)
            .assert_stderr_has(&format!("= the newest version is {newest}\n"));
    }
    environment.write("main.tf", requires("acme/gamma", ""));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    for (version, newest) in [("9.0.0", "1.0.0"), ("2.0.0-rc2", "2.0.0-rc1")] {
        environment
            .provlock(["upgrade", &format!("acme/gamma@{version}")])
            .assert_code(2)
            .assert_stderr_has(&format!("the newest version is {newest}"));
    }
}

#[test]
fn a_provider_that_only_terraforms_registry_has_is_found_there() {
    let (registry, environment) = Registry::with_project();
    let [gamma, _] = ["acme/gamma", "acme/delta"].map(|provider| {
        let release = registry.publish(provider, "1.0.0");
        release
            .on_host("registry.terraform.io")
            .platforms(["linux_amd64"])
            .done()
    });
    let both = |gamma: &str| {
        format!(
            "terraform {{\n  required_providers {{\n    gamma = {{\n      source = \"{gamma}\"\n    }}\n    delta = {{\n      source = \"registry.terraform.io/acme/delta\"\n    }}\n  }}\n}}\n"
        )
    };
    let lock = [
        &["--dialect", "tofu"],
        &["lock", "-p", "linux_amd64", "--no-cache"][..],
    ]
    .concat();
    environment.write("main.tf", both("acme/gamma"));
    environment.provlock(&lock).matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: registry.opentofu.org has no provider registry.opentofu.org/acme/gamma
 --> main.tf:4:16
  |
4 |       source = "acme/gamma"
  |                ^^^^^^^^^^^^ required here
  |
  = asked for https://registry.opentofu.org/v1/providers/acme/gamma/versions
  = registry.terraform.io has it
help: to take it from there: gamma = { source = "registry.terraform.io/acme/gamma" } in required_providers
"#]]);
    environment.write("main.tf", both("registry.terraform.io/acme/gamma"));
    environment.provlock(&lock).assert_code(0);

    // A run that requires nothing from Terraform's registry sends it no request.
    registry.reset_statistics();
    environment.write("main.tf", requires("acme/gamma", ""));
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    environment
        .provlock(&lock)
        .assert_code(2)
        .assert_lacks("has it");
    // But the lock file may show it.
    environment.write_lock_file(lock_file(&[gamma.entry("", &gamma.all_zh())]));
    environment
        .provlock(&lock)
        .assert_code(2)
        .assert_stderr_has(
            "= the lock file has it from registry.terraform.io\nhelp: to take it from there",
        );
    assert_eq!(registry.requests_to("registry.terraform.io/*"), 0);
}
