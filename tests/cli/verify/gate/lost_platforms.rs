//! A change that removes the hashes of platforms under the same version.

use super::gate::{Gate, OTHER_H1};
use super::{H1, NULL, ZH};
use crate::cache::cached;
use crate::lock::requires;
use provlock_test::publish::{PackagesMap, Publish, Published};
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};
use std::fs;

const THIRD_H1: &str = "h1:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
const FLAGS: [&str; 1] = ["-r"];
const THREE: [&str; 3] = ["darwin_arm64", "linux_amd64", "linux_arm64"];
const TWO: [&str; 2] = ["linux_amd64", "linux_arm64"];
const LOCK: &str = ".terraform.lock.hcl";

/// Two root modules whose entries have three `h1:`.
fn gate(prepare: impl FnOnce(&Gate)) -> Gate {
    Gate::with(|gate| {
        for root in ["live", "other"] {
            gate.root(root, NULL, &[H1, OTHER_H1, THIRD_H1, ZH]);
        }
        prepare(gate);
    })
}

/// A committed project that is locked for three platforms of two providers.
struct Project {
    _registry: Registry,
    environment: TestEnvironment,
    published: [Published; 2],
}

impl Project {
    fn new(map: Option<PackagesMap>, settings: &str) -> Self {
        let (registry, environment) = Registry::with_project();
        let published = ["acme/null", "acme/zeta"].map(|name| {
            let publish = registry.publish(name, "3.2.4").platforms(THREE);
            map.into_iter().fold(publish, Publish::packages).done()
        });
        let main = format!("{}provider \"zeta\" {{}}\n", requires("acme/null", ""));
        environment.write(
            "main.tf",
            main.replace(
                "    null =",
                "    zeta = { source = \"acme/zeta\" }\n    null =",
            ),
        );
        environment.write("provlock.toml", settings);
        environment.write(LOCK, Self::lock_file(&published, &THREE));
        environment.git_init(".");
        environment.commit_all(".");
        Self {
            _registry: registry,
            environment,
            published,
        }
    }

    fn lock_file(published: &[Published], platforms: &[&str]) -> String {
        let entries: Vec<_> = published
            .iter()
            .map(|one| one.entry_for("", platforms))
            .collect();
        crate::lock::lock_file(&entries)
    }

    /// Keeps the hashes of these platforms only.
    fn keep(&self, platforms: &[&str]) {
        self.environment
            .write(LOCK, Self::lock_file(&self.published, platforms));
    }
}

#[test]
fn a_change_that_loses_platforms_is_a_warning() {
    let gate = gate(|_| {});
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0]);
    for root in ["live", "other"] {
        gate.root(root, NULL, &[H1, OTHER_H1, ZH]);
    }
    assert_eq!(gate.judge(&FLAGS), ["platforms-lost", "platforms-lost"]);
    assert_eq!(gate.errors(&FLAGS), [] as [&str; 0]);

    // All platforms but one, and all.
    gate.root("other", NULL, &[H1, OTHER_H1, THIRD_H1, ZH]);
    gate.root("live", NULL, &[H1, ZH]);
    assert_eq!(gate.judge(&FLAGS), ["platforms-lost"]);
    gate.root("live", NULL, &[ZH]);
    assert_eq!(gate.judge(&FLAGS), ["platforms-lost"]);

    // An added hash may be for one of two lost platforms, but not for both.
    let fourth = "h1:AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=";
    gate.root("live", NULL, &[H1, fourth, ZH]);
    assert_eq!(gate.judge(&FLAGS), ["platforms-lost", "hash-not-checked"]);
}

#[test]
fn a_root_module_that_moves_and_loses_platforms_is_compared_with_itself() {
    let gate = gate(|_| {});
    gate.rename("live", "moved");
    gate.root("moved", NULL, &[H1, OTHER_H1, ZH]);
    assert_eq!(gate.judge(&FLAGS), ["platforms-lost"]);
}

#[test]
fn a_change_that_loses_a_platform_while_all_are_required_is_an_error() {
    let gate = gate(|gate| {
        let settings = gate.read("provlock.toml");
        gate.write("provlock.toml", format!("platforms = \"all\"\n{settings}"));
    });
    gate.root("live", NULL, &[H1, OTHER_H1, ZH]);
    assert_eq!(gate.errors(&FLAGS), ["platforms-lost"]);
}

#[test]
fn a_new_version_other_hashes_and_more_hashes_lose_nothing() {
    let gate = gate(|_| {});
    gate.root("live", NULL, &[H1, ZH]);
    let fewer = gate.read("live/.terraform.lock.hcl");
    gate.write("live/.terraform.lock.hcl", fewer.replace("3.2.4", "3.2.5"));
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0]);
    let fourth = "h1:AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=";
    gate.root("live", NULL, &[H1, OTHER_H1, THIRD_H1, fourth, ZH]);
    assert_eq!(gate.judge(&FLAGS), ["hash-not-checked"]);
    gate.root("live", NULL, &[H1, OTHER_H1, fourth, ZH]);
    assert_eq!(gate.judge(&FLAGS), ["hash-not-checked"]);
    gate.root("live", NULL, &[fourth]);
    assert_eq!(gate.judge(&FLAGS), ["hashes-replaced"]);
}

#[test]
fn platforms_that_nobody_knows_are_counted() {
    let project = Project::new(None, "");
    project.keep(&TWO);
    project
        .environment
        .provlock(["verify", "--base", "HEAD"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[platforms-lost]: this change removes the h1 of acme/null 3.2.4 and acme/zeta 3.2.4 for 1 unknown platform
  --> .terraform.lock.hcl:4:10
   |
 4 | provider "registry.opentofu.org/acme/null" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
...
16 | provider "registry.opentofu.org/acme/zeta" {
   |          ---------------------------------
   |
help: provlock lock -p all

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in .terraform.lock.hcl
"#]]);
}

#[test]
fn the_registry_names_lost_platforms() {
    let project = Project::new(Some(PackagesMap::Right), "");
    project.keep(&TWO);
    let output =
        project
            .environment
            .provlock(["verify", "--online", "--no-cache", "--base", "HEAD"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[platforms-lost]: this change removes the h1 of acme/null 3.2.4 and acme/zeta 3.2.4 for darwin_arm64
  --> .terraform.lock.hcl:4:10
   |
 4 | provider "registry.opentofu.org/acme/null" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
...
16 | provider "registry.opentofu.org/acme/zeta" {
   |          ---------------------------------
   |
help: provlock lock -p darwin_arm64 --no-cache

----- stderr -----
Not checked: platforms (select with -p)
1 warning in .terraform.lock.hcl
"#]]);

    // The next step works when it is pasted.
    let help = output
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("help: "));
    project.environment.paste(help.unwrap()).assert_code(0);
    assert_eq!(
        project.environment.lock_file(),
        Project::lock_file(&project.published, &THREE)
    );
}

#[test]
fn the_cache_names_lost_platforms() {
    let project = Project::new(None, "");
    project
        .environment
        .provlock(["verify", "--online", "-p", "darwin_arm64"])
        .assert_code(0);
    project.keep(&TWO);
    project
        .environment
        .provlock(["verify", "--base", "HEAD"])
        .assert_code(0)
        .assert_stdout_has(
            "this change removes the h1 of acme/null 3.2.4 and acme/zeta 3.2.4 for darwin_arm64\n",
        );
    project
        .environment
        .provlock(["verify", "--base", "HEAD", "--no-cache"])
        .assert_code(0)
        .assert_stdout_has("for 1 unknown platform\n");
}

/// An attacker wrote to the cache that the removed `h1:` belongs to a platform that the entry still
/// covers.
#[test]
fn a_cache_hides_no_lost_platform_from_an_online_run() {
    let project = Project::new(None, "");
    let environment = &project.environment;
    environment
        .provlock(["verify", "--online", "-p", "darwin_arm64"])
        .assert_code(0);
    let mut h1 = Vec::new();
    for published in &project.published {
        h1.extend(THREE.map(|platform| published.h1(platform)));
    }
    let facts = format!("{{\"published\":{{\"aix_ppc64\":{h1:?}}}}}");
    for file in cached(environment, "provlock-platforms-v1") {
        fs::write(&file, &facts).unwrap();
    }
    project.keep(&TWO);
    environment
        .provlock(["verify", "--base", "HEAD", "--online"])
        .assert_code(0)
        .assert_stdout_has("this change removes the h1 of acme/null 3.2.4 and acme/zeta 3.2.4");
}

#[test]
fn a_platform_that_the_settings_of_the_base_name_must_not_be_lost() {
    let settings = "platforms = [\"darwin_arm64\", \"linux_amd64\"]\n";
    let project = Project::new(Some(PackagesMap::Right), settings);
    let arguments = ["verify", "--online", "--no-cache", "--base", "HEAD"];
    project.keep(&["darwin_arm64", "linux_amd64"]);
    project
        .environment
        .provlock(arguments)
        .assert_code(0)
        .assert_stdout_has("warning[platforms-lost]: ")
        .assert_stdout_has(" for linux_arm64\n");
    project.keep(&TWO);
    project.environment.write("provlock.toml", "");
    project
        .environment
        .provlock(arguments)
        .assert_code(1)
        .assert_stdout_has("error[platforms-lost]: ")
        .assert_stdout_has(" for darwin_arm64\n");

    // The settings exempt one provider.
    let exempted = format!(
        "{settings}[without-platforms]\n\"acme/null\" = [\"darwin_arm64\"]\n\"acme/zeta\" = [\"darwin_arm64\"]\n"
    );
    let project = Project::new(Some(PackagesMap::Right), &exempted);
    project.keep(&TWO);
    project
        .environment
        .provlock(arguments)
        .assert_code(0)
        .assert_stdout_has("warning[platforms-lost]: ");
}

/// Codes and platforms of findings about platforms.
fn about_platforms(project: &Project, more: &[&str]) -> Vec<String> {
    let arguments = ["verify", "--online", "--no-cache", "--base", "HEAD"];
    let output = project
        .environment
        .provlock(arguments.iter().chain(more).copied());
    let lines = output.stdout.lines();
    lines
        .filter(|line| line.contains("[platform"))
        .map(|line| {
            let (code, message) = line.split_once(": ").unwrap();
            let (_, platforms) = message.split_once(" for ").unwrap_or_default();
            format!("{code} {platforms}").trim().to_owned()
        })
        .collect()
}

#[test]
fn a_lost_platform_is_one_finding() {
    let settings = "platforms = [\"darwin_arm64\", \"linux_amd64\", \"linux_arm64\"]\n";
    let project = Project::new(Some(PackagesMap::Right), settings);
    project.keep(&TWO);
    assert_eq!(
        about_platforms(&project, &[]),
        ["error[platforms-lost] darwin_arm64"]
    );
    project.keep(&["linux_amd64"]);
    assert_eq!(
        about_platforms(&project, &[]),
        ["error[platforms-lost] darwin_arm64 and linux_arm64"]
    );

    // The requirement stays if the finding about the change is not reported, or less severe.
    let missing = "error[platform-missing] darwin_arm64 and linux_arm64 is recorded";
    assert_eq!(
        about_platforms(&project, &["--allow", "platforms-lost"]),
        [missing]
    );
    assert_eq!(
        about_platforms(&project, &["--warn", "platforms-lost"]),
        [
            missing,
            "warning[platforms-lost] darwin_arm64 and linux_arm64"
        ]
    );
}

#[test]
fn a_platform_that_was_missing_before_is_a_finding_of_its_own() {
    let settings = "platforms = [\"darwin_arm64\", \"linux_amd64\", \"linux_arm64\"]\n";
    let project = Project::new(Some(PackagesMap::Right), settings);
    project.keep(&TWO);
    project.environment.commit_all(".");
    assert_eq!(
        about_platforms(&project, &[]),
        ["error[platform-missing] darwin_arm64 is recorded"]
    );
    project.keep(&["linux_amd64"]);
    assert_eq!(
        about_platforms(&project, &[]),
        [
            "error[platform-missing] darwin_arm64 is recorded",
            "error[platforms-lost] linux_arm64"
        ]
    );
}

#[test]
fn too_few_hashes_after_a_loss_are_one_finding() {
    let settings = "platforms = [\"darwin_arm64\", \"linux_amd64\", \"linux_arm64\"]\n";
    let project = Project::new(None, settings);
    project.keep(&TWO);
    let checked = || {
        let arguments = ["verify", "--no-cache", "--base", "HEAD"];
        let output = project.environment.provlock(arguments);
        let lines = output.stdout.lines();
        lines
            .filter(|line| line.contains("[platform"))
            .map(|line| line.split_once(':').unwrap().0.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(checked(), ["error[platforms-lost]"]);
    project.environment.commit_all(".");
    // Both entries lack the same, so that one finding names them.
    assert_eq!(checked(), ["error[platform-not-covered]"]);
}
