//! `[without-platforms]`: platforms for which a provider has no package.

use provlock_test::git::Repository;
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

use super::lock::{BOTH, requires};
use super::verify::found;

const PLATFORMS: &str = "platforms = [\"darwin_arm64\", \"linux_amd64\"]\n";
const EXEMPT: &str = "[without-platforms]\n\"acme/old\" = [\"darwin_arm64\"]\n";

/// A configuration that requires acme/new, which has packages for two platforms, and acme/old,
/// which has one for Linux only.
fn project(settings: &str) -> (Registry, TestEnvironment, [Published; 2]) {
    let (registry, environment) = Registry::with_project();
    let published = [
        registry.publish("acme/new", "1.0.0").platforms(BOTH).done(),
        registry
            .publish("acme/old", "1.0.0")
            .platforms(["linux_amd64"])
            .done(),
    ];
    environment.write("new.tf", requires("acme/new", ""));
    environment.write("old/old.tf", requires("acme/old", ""));
    environment.write("call.tf", "module \"old\" {\n  source = \"./old\"\n}\n");
    environment.write("provlock.toml", settings);
    (registry, environment, published)
}

fn exempted() -> (Registry, TestEnvironment, [Published; 2]) {
    project(&format!("{PLATFORMS}{EXEMPT}"))
}

/// The lock file with each provider for the platforms that it has.
fn expected([new, old]: &[Published; 2]) -> String {
    let new = new.lock_file("", &BOTH);
    let old = old.lock_file("", &["linux_amd64"]);
    new + &old[old.find("\nprovider").unwrap()..]
}

#[test]
fn a_platform_that_a_provider_does_not_have_is_not_locked_where_the_settings_say_so() {
    let (_registry, environment, published) = exempted();

    environment.provlock(["lock"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + acme/new   1.0.0   signed, key 558D46FBE8647CB4   2 h1, 3 zh
  + acme/old   1.0.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 2 providers for darwin_arm64 and linux_amd64 (2 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert_eq!(environment.lock_file(), expected(&published));
    environment.provlock(["lock", "--check"]).assert_code(0);
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 2 providers locked as required, for darwin_arm64 and linux_amd64
Not checked: hashes against the registry (--online does)
Not required, because of [without-platforms]: acme/old for darwin_arm64
"#]]);
    environment
        .provlock(["verify", "--online"])
        .assert_code(0)
        .assert_lacks("warning");
    environment.provlock(["upgrade", "--check"]).assert_code(0);
}

#[test]
fn a_platform_that_a_flag_names_is_exempted_too() {
    let (_registry, environment, published) = project(EXEMPT);
    let both = ["-p", "linux_amd64,darwin_arm64"];
    environment
        .provlock([&["lock"], &both[..]].concat())
        .assert_code(0);
    assert_eq!(environment.lock_file(), expected(&published));
    for arguments in [
        &["verify"][..],
        &["verify", "--online"],
        &["lock", "--check"],
    ] {
        environment
            .provlock([arguments, &both[..]].concat())
            .assert_code(0);
    }
    let all = ["lock", "-p", "all", "--check"];
    environment.provlock(all).assert_code(0);
}

#[test]
fn adding_only_the_platform_that_a_provider_does_not_have_leaves_its_entry() {
    let (_registry, environment, published) = project(EXEMPT);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    environment
        .provlock(["lock", "-p", "darwin_arm64"])
        .assert_code(0);
    assert_eq!(environment.lock_file(), expected(&published));
}

#[test]
fn a_provider_is_not_locked_if_none_of_the_platforms_exists() {
    let (_registry, environment, _) = project(EXEMPT);
    environment
        .provlock(["lock", "-p", "darwin_arm64"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-available]: no platform to lock registry.opentofu.org/acme/old 1.0.0 for
 --> old/old.tf:4:16
  |
4 |       source = "acme/old"
  |                ^^^^^^^^^^ required here
  |
 ::: provlock.toml:2:15
  |
2 | "acme/old" = ["darwin_arm64"]
  |               -------------- exempted here
  |
help: name the platforms, for example: --platform linux_amd64
"#]]);
    assert!(!environment.has_lock_file());
}

#[test]
fn without_such_a_setting_a_platform_that_does_not_exist_is_refused_and_the_help_names_it() {
    let (_registry, environment, published) = project(PLATFORMS);
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-available]: registry.opentofu.org/acme/old 1.0.0 has no package for darwin_arm64
 |
 = there are packages for linux_amd64
help: remove the platform; if the provider has none, add "acme/old" = ["darwin_arm64"] to [without-platforms] in provlock.toml
"#]]);
    assert!(!environment.has_lock_file());

    // The help works.
    environment.write("provlock.toml", format!("{PLATFORMS}{EXEMPT}"));
    environment.provlock(["lock"]).assert_code(0);
    assert_eq!(environment.lock_file(), expected(&published));
    environment.write("provlock.toml", PLATFORMS);
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[platform-missing]: acme/old 1.0.0 is not published for darwin_arm64
  --> .terraform.lock.hcl:16:13
   |
16 |   version = "1.0.0"
   |             ^^^^^^^ published for linux_amd64
   |
help: lock a different version, or remove the platform; if the provider has none, add "acme/old" = ["darwin_arm64"] to [without-platforms] in provlock.toml

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
    environment
        .provlock(["verify", "--online"])
        .assert_code(1)
        .assert_stdout_has("add \"acme/old\" = [\"darwin_arm64\"] to [without-platforms]");
}

#[test]
fn an_exception_for_a_platform_that_exists_is_a_warning() {
    let (_registry, environment, _) = project(&format!(
        "{PLATFORMS}[without-platforms]\n\"acme/old\" = [\"darwin_arm64\"]\nnew = []\n"
    ));
    environment
        .provlock(["lock"])
        .assert_code(2)
        .assert_stderr_has("list at least one platform");
    environment.write(
        "provlock.toml",
        format!("{PLATFORMS}{EXEMPT}\"acme/new\" = [\"darwin_arm64\"]\n"),
    );
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[platform-exists]: acme/new 1.0.0 has a package for darwin_arm64, so the lock file should have its hash
 --> provlock.toml:4:15
  |
4 | "acme/new" = ["darwin_arm64"]
  |               ^^^^^^^^^^^^^^ this line exempts the provider from the platform
  |
help: remove the platform from [without-platforms], then run: provlock lock
  + acme/new   1.0.0   signed, key 558D46FBE8647CB4   1 h1, 3 zh
  + acme/old   1.0.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 2 providers for linux_amd64 (2 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    for arguments in [&[][..], &["--online"]] {
        assert_eq!(
            found(&environment, arguments),
            ["warning platform-exists"],
            "{arguments:?}"
        );
    }
    environment
        .provlock(["verify", "--online", "--deny", "warnings"])
        .assert_code(1);
}

#[test]
fn an_upgrade_to_a_version_with_the_platform_warns_about_the_exception() {
    let (registry, environment, _) = exempted();
    environment.provlock(["lock"]).assert_code(0);
    registry.publish("acme/old", "2.0.0").platforms(BOTH).done();
    environment
        .provlock(["upgrade"])
        .assert_code(0)
        .assert_stderr_has(
            "warning[platform-exists]: acme/old 2.0.0 has a package for darwin_arm64",
        );
}

#[test]
fn merging_and_mirroring_obey_the_exception() {
    let (registry, environment, _) = exempted();
    environment.provlock(["lock"]).assert_code(0);
    environment
        .provlock(["mirror", "mirror"])
        .assert_code(0)
        .assert_stderr_has("Mirrored 3 packages of 2 providers");
    for platform in ["darwin_arm64", "all"] {
        environment
            .provlock(["mirror", "mirror", "-p", platform])
            .assert_code(0);
    }

    let ours = environment.lock_file();
    registry
        .publish("acme/old", "1.1.0")
        .platforms(["linux_amd64"])
        .done();
    environment.provlock(["upgrade", "acme/old"]).assert_code(0);
    let theirs = environment.lock_file();
    let markers = format!("<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n");
    environment.write_lock_file(markers);
    environment.provlock(["merge", "--resolve"]).assert_code(0);
    assert_eq!(environment.lock_file(), theirs);
}

#[test]
fn init_keeps_the_exceptions_and_the_platforms_that_they_are_for() {
    let (_registry, environment, _) = exempted();
    environment.write(
        "new.tf",
        format!("provider \"new\" {{}}\n{}", requires("acme/new", "")),
    );
    environment.provlock(["lock"]).assert_code(0);
    environment.provlock(["init", "--force"]).assert_code(0);
    let settings = environment.read("provlock.toml");
    assert!(
        settings.contains(PLATFORMS) && settings.contains(EXEMPT),
        "{settings}"
    );
    environment
        .provlock(["verify"])
        .assert_code(0)
        .assert_stderr_has("OK: ");
}

#[test]
fn a_pull_request_cannot_exempt_a_provider_from_its_own_check() {
    let (_registry, environment, [new, _]) = exempted();
    environment.provlock(["lock"]).assert_code(0);
    let Repository { environment } = Repository::around(environment);
    environment.commit_all(".");
    let weaker = format!("{PLATFORMS}{EXEMPT}\"acme/new\" = [\"darwin_arm64\"]\n");
    let without = environment
        .lock_file()
        .replace(&format!("    \"{}\",\n", new.h1("darwin_arm64")), "");
    environment.write_lock_file(without);
    let base = ["--base", "HEAD", "--online"];
    for nested in [false, true] {
        if nested {
            environment.git(".", ["checkout", "--quiet", "provlock.toml"]);
            environment.write("provlock.toml", format!("{PLATFORMS}{EXEMPT}"));
        } else {
            environment.write("provlock.toml", &weaker);
        }
        let output = environment.provlock([&["verify", "--json"], &base[..]].concat());
        output.assert_code(1).assert_stdout_has("platforms-lost");
        assert_eq!(
            output.stdout.contains("policy-changed"),
            !nested,
            "{output}"
        );
    }
}

#[test]
fn a_nearer_file_adds_exceptions() {
    let (_registry, environment, _) = exempted();
    environment.write("live/main.tf", requires("acme/old", ""));
    environment.write("live/provlock.toml", "dialect = \"tofu\"\n");
    environment.provlock(["lock", "live"]).assert_code(0);
    environment.write("provlock.toml", PLATFORMS);
    environment.provlock(["lock", "live"]).assert_code(2);
    environment.write("live/provlock.toml", EXEMPT);
    environment.provlock(["lock", "live"]).assert_code(0);
}

#[test]
fn mistakes_in_the_table_are_errors_at_their_position() {
    for (line, message) in [
        (
            "\"acme/old\" = [\"darwin-arm64\"]",
            "did you mean darwin_arm64?",
        ),
        ("\"acme/old\" = [\"all\"]", "is not a platform"),
        ("\"acme/old\" = \"darwin_arm64\"", "invalid type"),
        ("\"acme/old@1.0.0\" = [\"darwin_arm64\"]", "names a version"),
        ("\"acme/*\" = [\"darwin_arm64\"]", "is not a provider"),
    ] {
        let settings = format!("[without-platforms]\n{line}\n");
        let (_registry, environment, _) = project(&settings);
        environment
            .provlock(["lock"])
            .assert_code(2)
            .assert_stderr_has(message)
            .assert_stderr_has("provlock.toml:2:");
    }
}

#[test]
fn providers_without_a_required_platform_are_one_finding_whose_help_names_them_all() {
    let (registry, environment) = Registry::with_project();
    let required = ["alpha", "beta", "gamma", "delta"].map(|name| {
        let published = registry.publish(&format!("acme/{name}"), "1.0.0");
        published.platforms(["linux_amd64"]).done();
        format!("    {name} = {{ source = \"acme/{name}\" }}\n")
    });
    let required = required.concat();
    let configuration = format!("terraform {{\n  required_providers {{\n{required}  }}\n}}\n");
    environment.write("main.tf", configuration);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    environment.write("provlock.toml", PLATFORMS);

    environment.provlock(["verify"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[platform-missing]: 4 providers are not published for darwin_arm64
  --> .terraform.lock.hcl:5:13
   |
 5 |   version = "1.0.0"
   |             ^^^^^^^ published for linux_amd64
...
14 |   version = "1.0.0"
   |             ------- published for linux_amd64
...
23 |   version = "1.0.0"
   |             ------- published for linux_amd64
...
32 |   version = "1.0.0"
   |             ------- published for linux_amd64
   |
   = acme/alpha 1.0.0, acme/beta 1.0.0, acme/delta 1.0.0 and acme/gamma 1.0.0
help: lock a different version, or remove the platform; if the providers have none, add "acme/alpha" = ["darwin_arm64"], "acme/beta" = ["darwin_arm64"], "acme/delta" = ["darwin_arm64"] and "acme/gamma" = ["darwin_arm64"] to [without-platforms] in provlock.toml

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
    let added = "[without-platforms]
\"acme/alpha\" = [\"darwin_arm64\"]
\"acme/beta\" = [\"darwin_arm64\"]
\"acme/delta\" = [\"darwin_arm64\"]
\"acme/gamma\" = [\"darwin_arm64\"]
";
    environment.write("provlock.toml", format!("{PLATFORMS}{added}"));
    environment.provlock(["verify"]).assert_code(0);
}
