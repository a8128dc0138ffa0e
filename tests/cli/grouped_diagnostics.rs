//! `lock`, `verify` and `upgrade` print a diagnostic that many root modules share once.

use super::lock::requires;
use super::many_roots::{LOCK_ALL, PROVIDER};
use provlock_test::files::{entry, lock_file};
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

#[test]
fn a_finding_of_three_hundred_root_modules_is_shown_once() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    for number in 0..300 {
        let version = if number < 298 { "~> 3.0" } else { "> 9.0" };
        let text = format!("{PROVIDER}{}", requires("hashicorp/null", version));
        environment.write(format!("live/{number:03}/main.tf"), text);
    }
    lock_says_once(&environment);
    verify_says_once(&environment);
    environment.write("live/010/main.tf", environment.read("live/011/main.tf"));
    registry
        .publish("hashicorp/null", "3.3.0")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("hashicorp/null", "4.0.0")
        .platforms(["linux_amd64"])
        .done();
    upgrade_says_once(&environment);
}

fn lock_says_once(environment: &TestEnvironment) {
    environment.provlock(LOCK_ALL).matches(str![[r#"
exit code: 2
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in 298 root modules
error[no-matching-version]: no version of hashicorp/null meets all constraints: > 9.0.0, in 2 root modules
 --> live/298/main.tf:7:17
  |
7 |       version = "> 9.0"
  |                 ^^^^^^^ no version meets > 9.0.0
  |
  = the newest version is 3.2.4
  = also in live/299
help: relax one of the constraints
Locked 298 of 300 root modules: 298 changed, 0 up to date; 2 failed; [SIZE] downloaded
2 errors
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
}

fn verify_says_once(environment: &TestEnvironment) {
    for number in [7, 8, 9] {
        let lock_file = environment.read(format!("live/{number:03}/.terraform.lock.hcl"));
        let text = lock_file.replace("  hashes = [\n", "  hashes = [\n    \"zh:0\",\n");
        environment.write(format!("live/{number:03}/.terraform.lock.hcl"), text);
    }
    environment.write("live/010/main.tf", "locals {\n");
    environment.provlock(["verify", "-r", "--allow", "single-platform"]).matches(str![[r#"
exit code: 2
----- stdout -----
error[malformed-hash]: the hash zh:0 cannot match any package: it is not zh: and 64 lower-case hexadecimal digits, in 3 root modules
 --> live/007/.terraform.lock.hcl:8:5
  |
8 |     "zh:0",
  |     ^^^^^^
  |
  = also in live/008 and live/009
help: remove the hash, then run: provlock lock live/007 live/008 live/009

warning[unsorted-hashes]: the hashes of hashicorp/null are unsorted or duplicated, in 3 root modules
 --> live/007/.terraform.lock.hcl:9:5
  |
9 |     "h1:DtNFvSSFRQfRiy/2IIgxol70KAERtZXn1/Npr/JrVvg=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ should be further up
  |
  = also in live/008 and live/009
help: provlock lock live/007 live/008 live/009 --repair

----- stderr -----
error[invalid-configuration]: the "{" after locals is never closed
 --> live/010/main.tf:1:8
  |
1 | locals {
  |        ^
  |
  = root module: live/010

3 errors and 3 warnings in 3 files
300 root modules: 3 with errors, 294 OK, 2 without a lock file; 1 could not be checked
"#]]);
}

fn upgrade_says_once(environment: &TestEnvironment) {
    environment.provlock(["upgrade", "-r", "--check"]).matches(str![[r#"
exit code: 2
----- stdout -----
provider         locked   allowed   change   newest   root modules
hashicorp/null   3.2.4    3.3.0     minor    4.0.0    298
  held back by live/000/main.tf:7  ~> 3.0, and in 297 other places
  https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.3.0
  https://github.com/hashicorp/terraform-provider-null/compare/v3.2.4...v3.3.0
----- stderr -----
error[no-matching-version]: no version of hashicorp/null meets all constraints: > 9.0.0, in 2 root modules
 --> live/298/main.tf:7:17
  |
7 |       version = "> 9.0"
  |                 ^^^^^^^ no version meets > 9.0.0
  |
  = the newest version is 4.0.0
  = also in live/299
help: relax one of the constraints
298 of 300 root modules: 298 can move, 0 up to date; 2 failed
2 errors
Constraints hold back 1 provider; to change them, too: provlock upgrade -r --constraints
"#]]);
    environment.provlock(["upgrade", "-r", "--check", "--format", "markdown"]).matches(str![[r#"
exit code: 2
----- stdout -----
| Provider | Locked | Allowed | Change | Newest | Root modules | Held back by |
|---|---|---|---|---|---|---|
| `hashicorp/null` | `3.2.4` | [`3.3.0`](https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.3.0) | [minor](https://github.com/hashicorp/terraform-provider-null/compare/v3.2.4...v3.3.0) | `4.0.0` | 298 | `live/000/main.tf:7  ~> 3.0, and in 297 other places` |
----- stderr -----
error[no-matching-version]: no version of hashicorp/null meets all constraints: > 9.0.0, in 2 root modules
 --> live/298/main.tf:7:17
  |
7 |       version = "> 9.0"
  |                 ^^^^^^^ no version meets > 9.0.0
  |
  = the newest version is 4.0.0
  = also in live/299
help: relax one of the constraints
298 of 300 root modules: 298 can move, 0 up to date; 2 failed
2 errors
Constraints hold back 1 provider; to change them, too: provlock upgrade -r --constraints
"#]]);
}

/// Paths are relative to the directory in which the user started the program.
#[test]
fn root_modules_below_the_directory_of_the_command_are_named_with_it() {
    let environment = TestEnvironment::new();
    let hash = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let locked = entry("hashicorp/null", "3.2.4", "", &[hash, "zh:0"]);
    for root in ["a", "b", "c"] {
        let text = format!("{PROVIDER}{}", requires("hashicorp/null", ""));
        environment.write(format!("five/{root}/main.tf"), text);
        let lock_file = lock_file(std::slice::from_ref(&locked));
        environment.write(format!("five/{root}/.terraform.lock.hcl"), lock_file);
    }
    environment.write("five/c/main.tf", "locals {\n");
    let verify = ["-C", "five", "verify", "-r", "--allow", "single-platform"];
    environment.provlock(verify).matches(str![[r#"
exit code: 2
----- stdout -----
error[malformed-hash]: the hash zh:0 cannot match any package: it is not zh: and 64 lower-case hexadecimal digits, in 2 root modules
 --> five/a/.terraform.lock.hcl:8:5
  |
8 |     "zh:0",
  |     ^^^^^^
  |
  = also in five/b
help: remove the hash, then run: provlock -C five lock a b

----- stderr -----
error[invalid-configuration]: the "{" after locals is never closed
 --> five/c/main.tf:1:8
  |
1 | locals {
  |        ^
  |
  = root module: five/c

2 errors in five/a/.terraform.lock.hcl and five/b/.terraform.lock.hcl
3 root modules: 2 with errors; 1 could not be checked
"#]]);
    let lock = ["-C", "five", "lock", "-r", "--offline", "-v"];
    environment.provlock(lock).assert_stderr_has("five/b");
    let inside = ["verify", "-r", "--allow", "single-platform"];
    environment
        .command(inside)
        .run_in("five")
        .run()
        .assert_stdout_has("  = also in b\n");
}

#[test]
fn unsorted_hashes_of_several_entries_are_one_finding() {
    let environment = TestEnvironment::new();
    let lock_file = ["alpha", "beta"].map(|name| {
        format!(
            "provider \"registry.opentofu.org/acme/{name}\" {{
  version = \"1.0.0\"
  hashes = [
    \"zh:{}\",
    \"h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",
  ]
}}

",
            "0".repeat(64)
        )
    });
    environment.write_lock_file(lock_file.concat());
    let required = ["alpha", "beta"]
        .map(|name| format!("    {name} = {{ source = \"acme/{name}\" }}\n"))
        .concat();
    let configuration = format!("terraform {{\n  required_providers {{\n{required}  }}\n}}\n");
    environment.write("main.tf", configuration);
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stdout -----
note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails
 --> .terraform.lock.hcl:1:10
  |
1 | provider "registry.opentofu.org/acme/alpha" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
...
9 | provider "registry.opentofu.org/acme/beta" {
  |          ---------------------------------
  |
help: provlock lock -p all, or set platforms in provlock.toml

warning[unsorted-hashes]: the hashes of acme/alpha and acme/beta are unsorted or duplicated
  --> .terraform.lock.hcl:5:5
   |
 5 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ should be further up
...
13 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
   |     ------------------------------------------------- should be further up
   |
help: provlock lock --repair

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning and 1 note in .terraform.lock.hcl
"#]]);
}

#[test]
fn a_warning_about_the_configuration_of_both_tools_is_shown_once() {
    let mut environment = TestEnvironment::new();
    let missing = environment.home().join("missing.tfrc");
    environment.set("TF_CLI_CONFIG_FILE", missing);
    let module = "module \"m\" {\n  source = \"app.terraform.io/a/b/c\"\n}\n";
    for host in ["registry.opentofu.org", "registry.terraform.io"] {
        let text = lock_file(&[entry(&format!("{host}/hashicorp/null"), "3.2.4", "", &[])]);
        environment.write(format!("{host}/.terraform.lock.hcl"), text);
        environment.write(format!("{host}/main.tf"), module);
    }
    let output = environment.provlock(["verify", "-r"]);
    let warnings = output
        .stderr
        .matches("TF_CLI_CONFIG_FILE names does not exist");
    assert_eq!(warnings.count(), 1, "{output}");
}
