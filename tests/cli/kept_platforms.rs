//! Platforms that a lock file covers stay covered if the user names none.

use provlock::provider::Platform;

use super::lock::{lock_file, requires};
use provlock_test::publish::{PackagesMap, Published};
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str, url};

const ALL: [&str; 4] = [
    "darwin_arm64",
    "linux_amd64",
    "linux_arm64",
    "windows_amd64",
];
const TERRAFORM: [&str; 2] = ["--dialect", "terraform"];

fn publish(registry: &Registry, version: &str) -> Published {
    let current = Platform::current().to_string();
    let others = registry
        .publish("hashicorp/null", version)
        .on_host("registry.terraform.io")
        .platforms(ALL);
    if ALL.contains(&current.as_str()) {
        others.done()
    } else {
        others.platform(&current).done()
    }
}

/// A project whose lock file covers three platforms at 1.0.0; 1.1.0 is allowed as well.
fn project() -> (Registry, TestEnvironment, [Published; 2]) {
    let (registry, environment) = Registry::with_project();
    let published = ["1.0.0", "1.1.0"].map(|version| publish(&registry, version));
    environment.write("main.tf", requires("hashicorp/null", "1.0.0"));
    let lock = ["lock", "-p", "linux_amd64,darwin_arm64,windows_amd64"];
    environment
        .provlock([&lock[..], &TERRAFORM].concat())
        .assert_code(0);
    environment.write("main.tf", requires("hashicorp/null", "~> 1.0"));
    (registry, environment, published)
}

fn recorded(environment: &TestEnvironment, published: &Published) -> Vec<&'static str> {
    let lock_file = environment.lock_file();
    ALL.into_iter()
        .filter(|platform| lock_file.contains(published.h1(platform)))
        .collect()
}

#[test]
fn an_upgrade_keeps_the_platforms_that_are_known() {
    let (_registry, environment, [_, new]) = project();
    let output = environment.provlock([&["upgrade"][..], &TERRAFORM].concat());
    output.assert_code(0).assert_lacks("warning");
    let kept = recorded(&environment, &new);
    assert!(
        ["darwin_arm64", "linux_amd64", "windows_amd64"]
            .iter()
            .all(|platform| kept.contains(platform)),
        "{output}"
    );
    assert!(
        kept.contains(&"linux_arm64") == (Platform::current().to_string() == "linux_arm64"),
        "{output}"
    );
}

#[test]
fn platforms_that_are_named_are_all_there_are() {
    let (_registry, environment, [_, new]) = project();
    let upgrade = ["upgrade", "-p", "linux_arm64"];
    environment
        .provlock([&upgrade[..], &TERRAFORM].concat())
        .assert_code(0)
        .assert_lacks("warning");
    assert_eq!(recorded(&environment, &new), ["linux_arm64"]);
}

/// A project without the cached hashes of the locked version, so that their platforms are not
/// known.
fn forgetful_project() -> (Registry, TestEnvironment, [Published; 2]) {
    let (registry, environment, published) = project();
    environment.provlock(["cache", "clean"]).assert_code(0);
    registry.reset_statistics();
    (registry, environment, published)
}

#[test]
fn platforms_missing_in_the_cache_come_from_locked_packages() {
    let (_registry, environment, [_, new]) = forgetful_project();
    let output = environment.provlock([&["upgrade"][..], &TERRAFORM].concat());
    output.assert_code(0).assert_lacks("warning");
    let kept = recorded(&environment, &new);
    assert!(
        ["darwin_arm64", "linux_amd64", "windows_amd64"]
            .iter()
            .all(|platform| kept.contains(platform)),
        "{output}"
    );
}

#[test]
fn hashes_that_the_registry_reports_need_no_package_of_the_locked_version() {
    let (registry, environment) = Registry::with_project();
    let platforms = ["darwin_arm64", "linux_amd64", "windows_amd64"];
    let current = Platform::current().to_string();
    let published = ["1.0.0", "1.1.0"].map(|version| {
        let null = registry
            .publish("hashicorp/null", version)
            .packages(PackagesMap::Right)
            .platforms(platforms);
        if platforms.contains(&current.as_str()) {
            null.done()
        } else {
            null.platform(&current).done()
        }
    });
    environment.write("main.tf", requires("hashicorp/null", "1.0.0"));
    environment.provlock(["lock"]).assert_code(0);
    environment.write("main.tf", requires("hashicorp/null", "~> 1.0"));
    environment.provlock(["cache", "clean"]).assert_code(0);
    environment
        .provlock(["upgrade"])
        .assert_code(0)
        .assert_lacks("warning");
    assert_eq!(
        platforms.map(|platform| environment.lock_file().contains(published[1].h1(platform))),
        [true; 3]
    );
    assert_eq!(
        registry.requests_to("*_1.0.0_*.zip"),
        1,
        "only `lock` has looked at a package"
    );
    assert_eq!(registry.requests_to("*_1.1.0_*.zip"), 1);
}

#[test]
fn an_entry_with_unknown_platforms_needs_named_platforms() {
    let (_registry, environment, [old, new]) = forgetful_project();
    let unknown = format!("h1:{}=", "A".repeat(43));
    // The package of the current platform would be looked at.
    let other = if cfg!(windows) {
        "linux_amd64"
    } else {
        "windows_amd64"
    };
    environment.write_lock_file(environment.lock_file().replace(old.h1(other), &unknown));
    let before = environment.lock_file();
    let output = environment.provlock([&["upgrade"][..], &TERRAFORM].concat());
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-known]: hashicorp/null 1.0.0 has 3 h1 hashes, one for each platform, and 1.1.0 would have 2
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.terraform.io/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = no platforms were requested, and 1 hash is for an unknown platform
help: name all platforms that your team uses, as in: provlock upgrade -p [..]; or in provlock.toml
"#]]);
    assert_eq!(environment.lock_file(), before, "nothing is written");
    let named = ["upgrade", "-p", "linux_arm64"];
    environment
        .provlock([&named[..], &TERRAFORM].concat())
        .assert_code(0);
    assert_eq!(recorded(&environment, &new), ["linux_arm64"]);
}

#[test]
fn a_platform_that_the_new_version_lacks_is_not_lost_in_silence() {
    let (registry, environment, _) = project();
    let current = Platform::current().to_string();
    let smaller = registry
        .publish("hashicorp/null", "1.2.0")
        .on_host("registry.terraform.io");
    let smaller = smaller.platforms(["darwin_arm64", "linux_amd64", "linux_arm64"]);
    if current == "windows_amd64" {
        return;
    }
    smaller.done();
    let output = environment.provlock([&["upgrade"][..], &TERRAFORM].concat());
    output
        .assert_code(2)
        .assert_stderr_has("1.2.0 is not published for windows_amd64");
    output.assert_stderr_has("provlock upgrade -p ");
}

#[test]
fn hashes_that_are_replaced_are_replaced_for_the_platforms_that_are_known() {
    let (registry, environment, [old, _]) = project();
    // The cache contains the old packages, by the hashes in the lock file.
    let wrong = old
        .all_zh()
        .into_iter()
        .fold(environment.lock_file(), |text, zh| {
            text.replace(&zh, &format!("zh:{}", "0".repeat(64)))
        });
    environment.write_lock_file(wrong);
    let again = registry
        .publish("hashicorp/null", "1.0.0")
        .on_host("registry.terraform.io")
        .platforms(ALL);
    let again = again.package_file("README.md", "released again").done();
    environment.provlock([&["lock"][..], &TERRAFORM].concat()).matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the hashes of hashicorp/null 1.0.0 in the lock file differ from those published by registry.terraform.io
 --> .terraform.lock.hcl:8:5
  |
8 |     "h1:DaCHaDKtcWf1tDZ4d6xQzbR8SvZplB5aNhIDJze92Ws=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ none of the 4 recorded hashes is among the published ones (signed)
  |
  = the release was replaced after it was locked, or the lock file was changed by hand or by an attacker
help: compare with the provider's release page; if the new release is right: provlock lock --accept-changed-hashes hashicorp/null --dialect terraform
"#]]);
    let lock = ["lock", "--accept-changed-hashes"];
    environment
        .provlock([&lock[..], &TERRAFORM].concat())
        .assert_code(0)
        .assert_lacks("one for each platform");
    let kept = recorded(&environment, &again);
    assert!(
        ["darwin_arm64", "linux_amd64", "windows_amd64"]
            .iter()
            .all(|platform| kept.contains(platform)),
        "{kept:?}"
    );
}

/// Both hashes are of no package, so their platforms are unknown. Each command in help leads on.
#[test]
fn the_help_for_unknown_platforms_accepts_changed_hashes_too() {
    let registry = Registry::start();
    let null = publish(&registry, "1.0.0");
    let environment = TestEnvironment::with_registry(&registry);
    environment.write("main.tf", requires("hashicorp/null", "1.0.0"));
    let wrong = ["A", "E"].map(|letter| format!("h1:{}=", letter.repeat(43)));
    environment.write_lock_file(lock_file(&[null.entry("1.0.0", &wrong)]));
    let run = |help: &str| environment.provlock(help.split(' ').skip(1));
    let output = run("provlock lock -p linux_amd64,darwin_arm64 --dialect terraform");
    output
        .assert_code(2)
        .assert_stderr_has("error[hashes-changed]");
    let accept = "provlock lock --accept-changed-hashes hashicorp/null --dialect terraform";
    output.assert_stderr_has(accept);
    let output = run(accept);
    output
        .assert_code(2)
        .assert_stderr_has("error[platform-not-known]");
    let named = "provlock lock --accept-changed-hashes -p linux_amd64,darwin_arm64 hashicorp/null --dialect terraform";
    output.assert_stderr_has(named);
    run(named).assert_code(0);
}

/// Two platforms that are not the current one, whose hashes the lock file has.
fn locked_elsewhere(registry: &Registry) -> (TestEnvironment, Vec<&'static str>) {
    let environment = TestEnvironment::with_registry(registry);
    let current = Platform::current().to_string();
    let others: Vec<_> = ALL
        .into_iter()
        .filter(|platform| *platform != current)
        .take(2)
        .collect();
    environment.write("main.tf", requires("hashicorp/null", "1.0.0"));
    let lock = ["lock", "-p", &others.join(",")];
    environment
        .provlock([&lock[..], &TERRAFORM].concat())
        .assert_code(0);
    (environment, others)
}

#[test]
fn lock_adds_only_named_platforms() {
    let registry = Registry::start();
    let null = publish(&registry, "1.0.0");
    let (environment, others) = locked_elsewhere(&registry);
    let before = environment.lock_file();
    for forget in [false, true] {
        if forget {
            environment.provlock(["cache", "clean"]).assert_code(0);
        }
        let output = environment.provlock([&["lock"][..], &TERRAFORM].concat());
        output
            .assert_code(0)
            .assert_stderr_has("Up to date: 1 provider\n");
        let current = Platform::current().to_string();
        output.assert_stderr_has(&format!(
            "The lock file does not cover {current}; to add it: provlock lock -p {current}"
        ));
        assert_eq!(environment.lock_file(), before);
    }
    environment
        .provlock([&["lock", "--check"][..], &TERRAFORM].concat())
        .assert_code(0);
    let current = Platform::current().to_string();
    let named = environment.provlock([&["lock", "-p", &current][..], &TERRAFORM].concat());
    named.assert_code(0).assert_lacks("does not cover");
    assert_eq!(
        recorded(&environment, &null).len(),
        others.len() + usize::from(ALL.contains(&current.as_str()))
    );
}

#[test]
fn a_new_entry_covers_what_the_others_do() {
    let registry = Registry::start();
    publish(&registry, "1.0.0");
    let gamma = registry
        .publish("acme/gamma", "1.0.0")
        .on_host("registry.terraform.io")
        .platforms(ALL)
        .done();
    for forget in [false, true] {
        let (environment, others) = locked_elsewhere(&registry);
        let gamma_too =
            "required_providers {\n    gamma = {\n      source = \"acme/gamma\"\n    }\n";
        let both = requires("hashicorp/null", "1.0.0").replace("required_providers {\n", gamma_too);
        environment.write("main.tf", both);
        if forget {
            environment.provlock(["cache", "clean"]).assert_code(0);
        }
        environment
            .provlock([&["lock"][..], &TERRAFORM].concat())
            .assert_code(0)
            .assert_lacks("warning");
        assert_eq!(recorded(&environment, &gamma), others, "forget: {forget}");
        environment
            .provlock([&["verify"][..], &TERRAFORM].concat())
            .assert_code(0)
            .assert_lacks("warning");
    }
}

#[test]
fn a_first_lock_file_is_verified_without_a_warning() {
    let (registry, environment) = Registry::with_project();
    publish(&registry, "1.0.0");
    environment.write("main.tf", requires("hashicorp/null", "1.0.0"));
    environment
        .provlock([&["lock"][..], &TERRAFORM].concat())
        .assert_code(0)
        .assert_stderr_has("Other platforms: ");
    environment
        .provlock([&["verify"][..], &TERRAFORM].concat())
        .assert_code(0)
        .assert_lacks("warning");
}

#[test]
fn an_entry_that_has_all_its_release_has_downloads_no_package_of_others() {
    let (registry, environment) = Registry::with_project();
    publish(&registry, "1.0.0");
    let current = Platform::current().to_string();
    let gamma = registry
        .publish("acme/gamma", "1.0.0")
        .on_host("registry.terraform.io");
    gamma.platforms([current.as_str()]).done();
    let gamma_too = "required_providers {\n    gamma = {\n      source = \"acme/gamma\"\n    }\n";
    let both = requires("hashicorp/null", "1.0.0").replace("required_providers {\n", gamma_too);
    environment.write("main.tf", requires("hashicorp/null", "1.0.0"));
    environment
        .provlock([&["lock", "-p", &ALL.join(",")][..], &TERRAFORM].concat())
        .assert_code(0);
    environment.write("main.tf", both);
    environment
        .provlock([&["lock"][..], &TERRAFORM].concat())
        .assert_code(0);
    for arguments in [&["lock", "--check"][..], &["lock"]] {
        environment.provlock(["cache", "clean"]).assert_code(0);
        registry.reset_statistics();
        environment
            .provlock([arguments, &TERRAFORM].concat())
            .assert_code(0)
            .assert_stderr_has("Up to date");
        let packages = registry.requests_to(url::PACKAGE);
        assert_eq!(
            (packages, registry.requests_to(&format!("*_{current}.zip"))),
            (2, 2),
            "{arguments:?}"
        );
    }
}

/// This machine's platform has no package, and the user has not requested one.
#[test]
fn a_provider_for_other_machines_stays_locked_for_them() {
    let (registry, environment) = Registry::with_project();
    let current = Platform::current().to_string();
    let [one, other] = if current.starts_with("linux") {
        ["darwin_arm64", "windows_amd64"]
    } else {
        ["linux_amd64", "linux_arm64"]
    };
    let null = registry
        .publish("hashicorp/null", "1.0.0")
        .on_host("registry.terraform.io")
        .platforms([one, other]);
    null.done();
    environment.write("main.tf", requires("hashicorp/null", "1.0.0"));
    environment
        .provlock([&["lock"][..], &TERRAFORM].concat())
        .assert_code(2)
        .assert_stderr_has("no package for");
    for platforms in [format!("{one},{other}"), one.to_owned()] {
        environment.write_lock_file("");
        environment
            .provlock([&["lock", "-p", &platforms][..], &TERRAFORM].concat())
            .assert_code(0);
        let before = environment.lock_file();
        for forget in [false, true] {
            if forget {
                environment.provlock(["cache", "clean"]).assert_code(0);
            }
            for command in [
                &["lock"][..],
                &["lock", "--check"],
                &["upgrade"],
                &["upgrade", "--check"],
            ] {
                let output = environment.provlock([command, &TERRAFORM].concat());
                output.assert_code(0).assert_stderr_has("Up to date");
                assert_eq!(environment.lock_file(), before, "{output}");
            }
        }
    }
}

#[test]
fn an_unchanged_entry_is_not_called_up_to_date_for_one_platform() {
    let (_registry, environment, _) = Registry::with_required(
        "hashicorp/null",
        "3.2.4",
        ["darwin_arm64", "linux_amd64"],
        "~> 3.0",
    );
    environment
        .provlock(["lock", "-p", "linux_amd64,darwin_arm64"])
        .assert_code(0);
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider, covered: darwin_arm64 and linux_amd64, checked now: linux_amd64
"#]]);
    environment.provlock(["lock", "--check"]).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider, covered: darwin_arm64 and linux_amd64, checked now: linux_amd64
Checked now: linux_amd64 only; set platforms in provlock.toml, or, for all: provlock lock --check -p all
"#]]);
    environment.provlock(["upgrade"]).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider, covered: darwin_arm64 and linux_amd64, checked now: linux_amd64
"#]]);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider for linux_amd64
"#]]);
    environment
        .provlock(["lock", "--no-cache"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider, checked now: linux_amd64
"#]]);
}

#[test]
fn platforms_that_not_every_entry_covers_are_not_called_covered() {
    let registry = Registry::start();
    for name in ["hashicorp/null", "hashicorp/random"] {
        registry
            .publish(name, "3.2.4")
            .platforms(["darwin_arm64", "linux_amd64", "windows_amd64"])
            .done();
    }
    let environment = TestEnvironment::with_registry(&registry);
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write("more.tf", "resource \"random_id\" \"a\" {}\n");
    environment
        .provlock(["lock", "-p", "linux_amd64,darwin_arm64", "hashicorp/null"])
        .assert_code(0);
    environment
        .provlock([
            "lock",
            "-p",
            "linux_amd64,windows_amd64",
            "hashicorp/random",
        ])
        .assert_code(0);
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 2 providers, checked now: linux_amd64
"#]]);
}

#[test]
fn summaries_tell_covered_platforms_from_checked_and_added_ones() {
    let (registry, environment) = Registry::with_project();
    for name in ["hashicorp/null", "hashicorp/random"] {
        registry
            .publish(name, "3.2.4")
            .platforms(["darwin_arm64", "linux_amd64"])
            .done();
    }
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write("more.tf", "resource \"random_id\" \"a\" {}\n");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_stderr_has("Locked 2 providers for linux_amd64 (2 added)");
    environment
        .provlock(["lock", "-p", "darwin_arm64"])
        .assert_stderr_has("h1 for darwin_arm64 added")
        .assert_stderr_has("Locked 2 providers for darwin_arm64 (2 changed)");
    let words = "covered: darwin_arm64 and linux_amd64, checked now: linux_amd64";
    environment
        .provlock(["lock"])
        .assert_stderr_has(&format!("Up to date: 2 providers, {words}\n"));
    environment
        .provlock(["lock", "-r", "--check"])
        .assert_stderr_has("Checked now: linux_amd64 only;");
    std::fs::remove_file(environment.project().join("more.tf")).unwrap();
    environment
        .provlock(["lock", "--prune"])
        .assert_stderr_has(&format!(
            "Locked 1 provider, {words} (1 removed, 1 unchanged)\n"
        ));
}
