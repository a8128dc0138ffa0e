//! More root modules than provlock keeps in memory at the same time.

use super::lock::requires;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str, url};

const ROOTS: usize = 130;
const ALL: [&str; 3] = ["-r", "-p", "linux_amd64"];

fn command<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command], &ALL[..], more].concat()
}

fn root(number: usize) -> String {
    format!("live/{number:03}")
}

/// Root modules that require hashicorp/null, which has two versions. The last also requires
/// hashicorp/random.
fn roots() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.3")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("hashicorp/random", "3.7.2")
        .platforms(["linux_amd64"])
        .done();
    for number in 0..ROOTS {
        let text = format!(
            "terraform {{\n  backend \"local\" {{}}\n}}\n{}",
            requires("hashicorp/null", "3.2.3")
        );
        environment.write(format!("{}/main.tf", root(number)), text);
    }
    environment.write(
        format!("{}/module/main.tf", root(ROOTS - 1)),
        requires("hashicorp/random", ""),
    );
    environment.write(
        format!("{}/more.tf", root(ROOTS - 1)),
        "module \"m\" {\n  source = \"./module\"\n}\n",
    );
    (registry, environment)
}

fn has_lock_file(environment: &TestEnvironment, number: usize) -> bool {
    environment
        .project()
        .join(root(number))
        .join(".terraform.lock.hcl")
        .exists()
}

#[test]
fn shared_packages_are_fetched_once_and_results_are_in_order() {
    let (registry, environment) = roots();

    let output = environment.provlock(command("lock", &["-v"]));

    output.assert_code(0);
    let shown = output
        .stderr
        .lines()
        .filter(|line| line.starts_with("live/") && line.ends_with(':'));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        (0..ROOTS)
            .map(|number| format!("{}:", root(number)))
            .collect::<Vec<_>>()
    );
    assert!((0..ROOTS).all(|number| has_lock_file(&environment, number)));
    for (asked, times) in [
        (url::VERSIONS, 2),
        (url::DOWNLOAD, 2),
        (url::SHASUMS, 2),
        (url::PACKAGE, 2),
    ] {
        assert_eq!(registry.requests_to(asked), times, "{asked}");
    }
    environment
        .provlock(command("lock", &["--offline"]))
        .matches(str![[r#"
exit code: 0
----- stderr -----
Locked 130 root modules: 0 changed, 130 up to date
"#]]);
}

#[test]
fn a_provider_is_looked_for_in_all_before_the_first_is_locked() {
    let (_registry, environment) = roots();

    environment.provlock(command("lock", &["hashicorp/aws"])).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: no root module requires hashicorp/aws, and there is no directory of that name
help: correct its name, or require it in a configuration first
"#]]);
    environment.provlock(command("lock", &["hashicorp/random"])).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/random   3.7.2   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/129
Locked 1 root module: 1 changed, 0 up to date; [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert!((0..ROOTS).all(|number| has_lock_file(&environment, number) == (number == ROOTS - 1)));
}

#[test]
fn upgrades_are_planned_for_all_and_shared_constraints_agreed_among_all() {
    let (_registry, environment) = roots();
    environment.write("modules/m/main.tf", requires("hashicorp/null", "3.2.3"));
    for number in [0, ROOTS - 1] {
        let call = "terraform {\n  backend \"local\" {}\n}\nmodule \"shared\" {\n  source = \"../../modules/m\"\n}\n";
        environment.write(format!("{}/main.tf", root(number)), call);
    }

    environment
        .provlock(command("upgrade", &["--check"]))
        .matches(str![[r#"
exit code: 1
----- stdout -----
provider           locked   allowed   newest   root modules
hashicorp/null              3.2.3     3.2.4    130
  held back by modules/m/main.tf:5  3.2.3, and in 128 other places
  https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.2.3
hashicorp/random            3.7.2     3.7.2    live/129
  https://github.com/hashicorp/terraform-provider-random/releases/tag/v3.7.2
----- stderr -----
130 root modules: 130 can move, 0 up to date
Constraints hold back 1 provider; to change them, too: provlock upgrade -r --constraints -p linux_amd64
"#]]);
    environment
        .provlock(command("upgrade", &["--constraints", "--quiet"]))
        .assert_code(0);

    assert!(environment.read("modules/m/main.tf").contains("\"3.2.4\""));
    for number in [0, 64, ROOTS - 1] {
        assert!(
            environment
                .read(format!("{}/.terraform.lock.hcl", root(number)))
                .contains("\"3.2.4\"")
        );
    }
}
