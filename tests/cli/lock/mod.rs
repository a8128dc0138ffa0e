//! `provlock lock` against registries: what it writes, what it says, what it refuses.

mod compared;
#[cfg(target_os = "linux")]
mod names_not_utf8;
mod refusals;

use std::collections::BTreeSet;

pub(super) use provlock_test::files::{lock_file, requires};
use provlock_test::registry::Registry;
use provlock_test::{Fault, TestEnvironment, Times, str, url};

pub(super) const BOTH: [&str; 2] = ["darwin_arm64", "linux_amd64"];
pub(super) const LOCK_BOTH: [&str; 5] = ["lock", "-p", "linux_amd64", "-p", "darwin_arm64"];

#[test]
fn writes_what_tofu_providers_lock_would_write() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.1.0")
        .platforms(BOTH)
        .done();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64", "darwin_arm64", "windows_amd64"])
        .done();
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));

    let output = environment.provlock(LOCK_BOTH);

    output.matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   2 h1, 4 zh
Locked 1 provider for darwin_arm64 and linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert_eq!(environment.lock_file(), null.lock_file("~> 3.0", &BOTH));
}

#[test]
fn empty_variables_are_unset_and_wrong_ones_are_named() {
    let (_registry, environment, _) = Registry::with_required("hashicorp/null", "3.2.4", BOTH, "");
    let lock = ["lock", "-p", "linux_amd64"];
    let variables = [
        "PROVLOCK_PLATFORMS",
        "PROVLOCK_DIALECT",
        "PROVLOCK_CACHE_DIR",
    ];
    let empty = variables
        .iter()
        .fold(environment.command(lock), |command, variable| {
            command.env(variable, "")
        });
    empty.run().matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 3 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    let output = environment
        .command(["verify"])
        .env("PROVLOCK_PLATFORMS", "")
        .run();
    output.assert_code(0).assert_lacks("platform-not-known");

    let output = environment
        .command(["lock"])
        .env("PROVLOCK_PLATFORMS", "linux")
        .run();
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'linux' for 'PROVLOCK_PLATFORMS': "linux" is not a platform; write OS_ARCH, for example linux_amd64 or darwin_arm64

help: for more information, try '--help'.
"#]]);
    let output = environment
        .command(["verify"])
        .env("PROVLOCK_DIALECT", "tf")
        .run();
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'tf' for 'PROVLOCK_DIALECT': "tf" is not a dialect; write "tofu" or "terraform"

help: for more information, try '--help'.
"#]]);
    let output = environment
        .command(["lock", "-p", "linux"])
        .env("PROVLOCK_PLATFORMS", "linux_amd64")
        .run();
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'linux' for '--platform <OS_ARCH>': "linux" is not a platform; write OS_ARCH, for example linux_amd64 or darwin_arm64

help: for more information, try '--help'.
"#]]);
}

#[test]
fn only_without_an_entry_a_provider_is_taken_for_one_of_hashicorp() {
    let (_registry, environment) = Registry::with_project();
    environment.write("main.tf", requires("hashicorp/nosuch", ""));
    let output = environment.provlock(LOCK_BOTH);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: registry.opentofu.org has no provider registry.opentofu.org/hashicorp/nosuch
 --> main.tf:4:16
  |
4 |       source = "hashicorp/nosuch"
  |                ^^^^^^^^^^^^^^^^^^ required here
  |
  = asked for https://registry.opentofu.org/v1/providers/hashicorp/nosuch/versions
help: correct its source in required_providers
"#]]);
    environment.write("main.tf", "resource \"nosuch_thing\" \"a\" {}\n");
    environment.provlock(LOCK_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: registry.opentofu.org has no provider registry.opentofu.org/hashicorp/nosuch
 --> main.tf:1:10
  |
1 | resource "nosuch_thing" "a" {}
  |          ^^^^^^^^^^^^^^ required here
  |
  = asked for https://registry.opentofu.org/v1/providers/hashicorp/nosuch/versions
  = required_providers has no source for it, so it is assumed to be a hashicorp provider
help: correct its source in required_providers
"#]]);
}

#[test]
fn a_second_run_does_not_touch_the_file() {
    let (registry, environment, _) = Registry::with_required("hashicorp/null", "3.2.4", BOTH, "");
    environment.provlock(LOCK_BOTH).assert_code(0);
    registry
        .publish("hashicorp/null", "3.3.0")
        .platforms(BOTH)
        .done();
    let before = environment.snapshot();

    let output = environment.provlock(LOCK_BOTH);

    output.matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider for darwin_arm64 and linux_amd64
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn keeps_comments_and_layout_of_the_file_that_is_there() {
    let (_registry, environment, null) =
        Registry::with_required("hashicorp/null", "3.2.4", BOTH, "");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let before = environment
        .lock_file()
        .replace("  version", "  # pinned by Ada\n  version")
        .replace('\n', "\r\n");
    environment.write_lock_file(&before);

    environment.provlock(LOCK_BOTH).matches(str![[r#"
exit code: 0
----- stderr -----
  ~ hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   h1 for darwin_arm64 added
Locked 1 provider for darwin_arm64 and linux_amd64 (1 changed); [SIZE] downloaded
"#]]);

    let after = environment.lock_file();
    assert!(after.contains("# pinned by Ada\r\n"), "{after}");
    let added = format!("    \"{}\",\r\n", null.h1("darwin_arm64"));
    assert_eq!(after.replace(&added, ""), before);
}

#[test]
fn check_and_dry_run_write_nothing() {
    let (_registry, environment, _) = Registry::with_required("hashicorp/null", "3.2.4", BOTH, "");
    let before = environment.snapshot();

    let check = environment.provlock(["lock", "-p", "linux_amd64", "--check"]);
    check.matches(str![[r#"
exit code: 1
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 3 zh
Would lock 1 provider for linux_amd64 (1 added); [SIZE] downloaded
"#]]);
    let dry_run = environment.provlock(["lock", "-p", "linux_amd64", "--dry-run"]);
    dry_run.matches(str![[r#"
exit code: 0
----- stdout -----
--- /dev/null
+++ b/.terraform.lock.hcl
@@ -0,0 +1,12 @@
+# This file is maintained automatically by "tofu init".
+# Manual edits may be lost in future updates.
+
+provider "registry.opentofu.org/hashicorp/null" {
+  version = "3.2.4"
+  hashes = [
+    "h1:DtNFvSSFRQfRiy/2IIgxol70KAERtZXn1/Npr/JrVvg=",
+    "zh:[HASH]",
+    "zh:[HASH]",
+    "zh:[HASH]",
+  ]
+}
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 3 zh
Would lock 1 provider for linux_amd64 (1 added)
"#]]);

    before.assert_same(&environment.snapshot());
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    environment
        .provlock(["lock", "-p", "linux_amd64", "--check"])
        .assert_code(0);
}

#[test]
fn entries_that_are_not_required_stay_until_pruned() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let old = registry
        .publish("acme/old", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write_lock_file(lock_file(&[old.entry("", &old.all_zh())]));
    let locked = null.entry_for("", &["linux_amd64"]);

    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  = acme/old         1.0.0                                  not required by the configuration; --prune removes it, also if a state still needs it
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
"#]]);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[old.entry("", &old.all_zh()), locked.clone()])
    );

    environment
        .provlock(["lock", "-p", "linux_amd64", "--prune"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
  - acme/old   1.0.0
Locked 1 provider for linux_amd64 (1 removed, 1 unchanged)
"#]]);
    assert_eq!(environment.lock_file(), lock_file(&[locked]));
}

#[test]
fn only_the_providers_that_are_named_are_locked() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    environment.write(
        "main.tf",
        format!(
            "{}provider \"random\" {{}}\n",
            requires("hashicorp/null", "")
        ),
    );

    environment
        .provlock(["lock", "-p", "linux_amd64", "null"])
        .assert_code(0);
    assert_eq!(
        environment.lock_file(),
        null.lock_file("", &["linux_amd64"])
    );

    let output = environment.provlock(["lock", "-p", "linux_amd64", "acme/gamma"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: the configuration does not require acme/gamma
help: choose a provider that required_providers lists
"#]]);
    environment
        .provlock(["lock", "terraform.io/builtin/terraform"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: terraform.io/builtin/terraform cannot be in a lock file
help: omit it; only providers from registries and mirrors are locked
"#]]);
}

#[test]
fn platforms_come_from_the_flag_then_the_environment_then_the_settings() {
    let (registry, mut environment) = Registry::with_project();
    let platforms = ["darwin_arm64", "freebsd_amd64", "linux_amd64"];
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(platforms)
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write("provlock.toml", "platforms = \"all\"\n");
    let mut locked = |arguments: &[&str], variable: Option<&str>| {
        if let Some(value) = variable {
            environment.set("PROVLOCK_PLATFORMS", value);
        }
        let _ = std::fs::remove_file(environment.project().join(".terraform.lock.hcl"));
        environment
            .provlock([&["lock"], arguments].concat())
            .assert_code(0);
        let text = environment.lock_file();
        platforms
            .into_iter()
            .filter(|platform| text.contains(null.h1(platform)))
            .collect::<Vec<_>>()
    };
    assert_eq!(locked(&[], None), platforms);
    assert_eq!(
        locked(&[], Some("linux_amd64,freebsd_amd64")),
        ["freebsd_amd64", "linux_amd64"]
    );
    assert_eq!(
        locked(&["--platform", "darwin_arm64"], Some("linux_amd64")),
        ["darwin_arm64"]
    );
    assert_eq!(locked(&["-p", "all"], None), platforms);
}

#[test]
fn each_request_is_made_once() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .done();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(BOTH)
        .done();
    registry.fault(
        url::ANY,
        Times::Always,
        Fault::Delay(std::time::Duration::from_millis(30)),
    );
    environment.write(
        "main.tf",
        format!("{}provider \"null\" {{}}\n", requires("acme/gamma", "")),
    );

    environment.provlock(LOCK_BOTH).assert_code(0);

    assert_eq!(registry.requests_to(url::DISCOVERY), 1);
    assert_eq!(registry.requests_to(url::VERSIONS), 2);
    assert_eq!(registry.requests_to(url::DOWNLOAD), 4);
    assert_eq!(registry.requests_to(url::SHASUMS), 2);
    assert_eq!(registry.requests_to(url::SIGNATURE), 2);
    assert_eq!(registry.requests_to(url::PACKAGE), 4);
    assert!(
        registry.statistics().peak_concurrency >= 4,
        "{:?}",
        registry.statistics()
    );
    let agent = format!("provlock/{}", env!("CARGO_PKG_VERSION"));
    assert!(
        registry
            .requests()
            .iter()
            .all(|r| r.method == "CONNECT" || r.header("user-agent") == Some(&agent))
    );
}

#[test]
fn requests_over_http2_share_one_connection() {
    const PLATFORMS: [&str; 4] = [
        "linux_amd64",
        "linux_arm64",
        "darwin_arm64",
        "windows_amd64",
    ];
    let registry = Registry::start_http2();
    // More at once than HTTP/2 lets a connection or a stream hold back.
    let published = ["null", "random", "time"].map(|name| {
        registry
            .publish(&format!("hashicorp/{name}"), "1.0.0")
            .platforms(PLATFORMS)
            .size(3_000_000)
            .done()
    });
    let environment = TestEnvironment::with_registry(&registry);
    for provider in &published {
        let name = provider.address.rsplit('/').next().unwrap();
        environment.write(
            format!("{name}/main.tf"),
            requires(&format!("hashicorp/{name}"), ""),
        );
        environment.write(
            format!("{name}.tf"),
            format!("module \"{name}\" {{\n  source = \"./{name}\"\n}}\n"),
        );
    }

    environment
        .provlock(["lock", "-p", &PLATFORMS.join(",")])
        .assert_code(0);

    let entries = published
        .each_ref()
        .map(|published| published.entry_for("", &PLATFORMS));
    assert_eq!(environment.lock_file(), lock_file(&entries));
    let statistics = registry.statistics();
    assert_eq!(statistics.requests, 1 + 3 * (1 + 4 + 2 + 4));
    let hosts: BTreeSet<_> = registry
        .requests()
        .into_iter()
        .map(|request| request.host)
        .collect();
    assert_eq!(
        statistics.connections,
        hosts.len(),
        "one for each of {hosts:?}"
    );
}

#[test]
fn passing_faults_are_tried_again() {
    for fault in [
        Fault::Status(503),
        Fault::TooManyRequests { retry_after: 0 },
        Fault::Reset,
        Fault::Truncated,
    ] {
        let (registry, environment) = Registry::with_project();
        let null = registry
            .publish("hashicorp/null", "3.2.4")
            .platforms(["linux_amd64"])
            .done();
        registry.fault(url::VERSIONS, Times::First(1), fault.clone());
        registry.fault(url::SHASUMS, Times::First(1), fault.clone());
        registry.fault(url::PACKAGE, Times::First(2), fault.clone());
        environment.write("main.tf", requires("hashicorp/null", ""));

        environment
            .provlock(["lock", "-p", "linux_amd64"])
            .assert_code(0);

        let expected = null.lock_file("", &["linux_amd64"]);
        assert_eq!(environment.lock_file(), expected, "{fault:?}");
    }
}

/// A package is hashed while it arrives, so the first part is not needed again.
#[test]
fn a_broken_download_goes_on_where_it_broke() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .size(20_000_000)
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(["lock", "-p", "linux_amd64", "--no-cache"])
        .assert_code(0);
    let undisturbed = registry.statistics().bytes_sent;
    let expected = null.lock_file("", &["linux_amd64"]);
    assert_eq!(environment.lock_file(), expected);
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    registry.reset_statistics();
    registry.fault(url::PACKAGE, Times::First(1), Fault::CutAt(90));

    environment
        .provlock(["lock", "-p", "linux_amd64", "--no-cache"])
        .assert_code(0);

    assert_eq!(environment.lock_file(), expected);
    assert_eq!(registry.statistics().bytes_sent, undisturbed);
    assert_eq!(registry.requests_to(url::PACKAGE), 2);
}

#[test]
fn an_entry_of_terraforms_registry_gives_its_version_to_that_of_tofu() {
    let (registry, environment) = Registry::with_project();
    let theirs = registry
        .publish("registry.terraform.io/hashicorp/null", "3.1.0")
        .platforms(["linux_amd64"])
        .done();
    let ours = registry
        .publish("hashicorp/null", "3.1.0")
        .platforms(["linux_amd64"])
        .package_file("NOTICE", "rebuilt")
        .done();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("hashicorp/null", ">= 3.0"));
    let theirs = theirs.entry(">= 3.0.0", &theirs.all_zh());
    environment.write_lock_file(lock_file(std::slice::from_ref(&theirs)));

    let output = environment.provlock(["--dialect", "tofu", "lock", "-p", "linux_amd64"]);

    output.matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null                         3.1.0   signed, key 558D46FBE8647CB4   version taken over from registry.terraform.io/hashicorp/null, without its hashes, 1 h1, 2 zh
  = registry.terraform.io/hashicorp/null   3.1.0                                  not required by the configuration; --prune removes it, also if a state still needs it
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
"#]]);
    let ours = ours.entry_for(">= 3.0.0", &["linux_amd64"]);
    assert_eq!(environment.lock_file(), lock_file(&[ours, theirs.clone()]));

    // Not when it is another provider that is to be locked.
    let gamma = registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("gamma/main.tf", requires("acme/gamma", ""));
    environment.write(
        "gamma.tf",
        "module \"gamma\" {\n  source = \"./gamma\"\n}\n",
    );
    environment.write_lock_file(lock_file(std::slice::from_ref(&theirs)));
    environment
        .provlock([
            "--dialect",
            "tofu",
            "lock",
            "-p",
            "linux_amd64",
            "acme/gamma",
        ])
        .assert_code(0);
    let gamma = gamma.entry_for("", &["linux_amd64"]);
    assert_eq!(environment.lock_file(), lock_file(&[gamma, theirs]));
}

#[test]
fn the_line_of_a_new_entry_names_the_key_that_signed_it() {
    let (_registry, environment, _) =
        Registry::with_required("acme/gamma", "1.0.0", ["linux_amd64"], "");
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + acme/gamma   1.0.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_lacks("key");
}

/// `tofu providers lock` adds an entry without hashes for OpenTofu's registry, which `tofu init`
/// removes again.
#[test]
fn a_provider_that_is_required_from_terraforms_registry_stays_the_only_one() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("registry.terraform.io/hashicorp/null", "3.1.0")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("hashicorp/null", "3.1.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write(
        "main.tf",
        requires("registry.terraform.io/hashicorp/null", ">= 3.0"),
    );
    let expected = null.lock_file(">= 3.0.0", &["linux_amd64"]);
    let commands: [&[&str]; 7] = [
        &["lock", "-p", "linux_amd64"],
        &["lock", "-p", "linux_amd64"],
        &["lock", "-p", "linux_amd64", "--check"],
        &["lock", "-p", "linux_amd64", "--prune"],
        &["lock"],
        &["upgrade"],
        &["verify"],
    ];
    for arguments in commands {
        let run = [&["--dialect", "tofu"], arguments].concat();
        environment.provlock(run).assert_code(0);
        assert_eq!(environment.lock_file(), expected, "{arguments:?}");
    }
}

/// The predecessor of a provider that a different root module requires is no reason for an entry.
#[test]
fn an_unneeded_entry_of_terraforms_registry_gets_no_successor() {
    let (registry, environment) = Registry::with_project();
    let theirs = registry
        .publish("registry.terraform.io/hashicorp/null", "3.1.0")
        .platforms(["linux_amd64"])
        .done();
    let gamma = registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("acme/gamma", ""));
    let theirs = theirs.entry("", &theirs.all_zh());
    environment.write_lock_file(lock_file(std::slice::from_ref(&theirs)));
    for arguments in [&["lock", "-p", "linux_amd64"][..], &["upgrade"]] {
        environment
            .provlock([&["--dialect", "tofu"], arguments].concat())
            .assert_code(0);
        let gamma = gamma.entry_for("", &["linux_amd64"]);
        assert_eq!(environment.lock_file(), lock_file(&[gamma, theirs.clone()]));
    }
}
