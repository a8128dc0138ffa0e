//! Units whose module is in a git repository.

use provlock_test::{TestEnvironment, str, with_slashes};

use super::{LOCK_ALL, Providers, generate, unit, verify};
use crate::lock::requires;

#[test]
fn a_remote_module_is_fetched_and_what_it_calls_is_read() {
    let providers = Providers::publish();
    let Providers {
        null, random, tls, ..
    } = &providers;
    let environment = TestEnvironment::with_registry(&providers.registry);
    let modules = environment.root().join("modules");
    let main =
        "module \"name\" {\n  source = \"../name\"\n}\nresource \"null_resource\" \"a\" {}\n";
    environment.write(modules.join("app/main.tf"), main);
    environment.write(
        modules.join("app/provider.tf"),
        "provider \"replaced\" {}\n",
    );
    environment.write(
        modules.join("name/main.tf"),
        requires("hashicorp/tls", "~> 4.0"),
    );
    environment.git_init(&modules);
    environment.commit_all(&modules);
    environment.git(&modules, ["tag", "v1"]);
    environment.write(
        "root.hcl",
        generate("provider", &requires("hashicorp/random", "~> 3.0")),
    );
    let directory = with_slashes(modules.to_str().unwrap());
    let source = format!(
        "git::file:///{}//app?ref=v1",
        directory.trim_start_matches('/')
    );
    environment.write("live/app/terragrunt.hcl", unit(&source));
    environment.write("live/app/.terraform.lock.hcl", "");

    environment.provlock(LOCK_ALL).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null     3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/app
  + hashicorp/random   3.7.2   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/app
  + hashicorp/tls      4.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/app
Locked 1 Terragrunt unit: 1 changed, 0 up to date; [SIZE] downloaded
"#]]);

    let locked = Providers::lock_file(&[(null, ""), (random, "~> 3.0"), (tls, "~> 4.0")]);
    assert_eq!(environment.read("live/app/.terraform.lock.hcl"), locked);
    assert_eq!(verify(&environment), Vec::<String>::new());
    environment.write(
        "live/app/.terraform.lock.hcl",
        Providers::lock_file(&[(null, "~> 3.0"), (random, "~> 3.0")]),
    );
    environment.provlock(["verify", "--allow", "single-platform", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/tls is required, but not locked
 --> live/app/terragrunt.hcl:5:12
  |
5 |   source = "git::file://[ROOT]/modules//app?ref=v1"
  |            [..] called from here
  |
 ::: git::file:[..]/modules?ref=v1//name/main.tf:5:17
  |
5 |       version = "~> 4.0"
  |                 -------- required here
  |
help: provlock -C live/app lock

warning[constraints-differ]: the lock file records the constraints "~> 3.0" for hashicorp/null, but the configuration has none
 --> live/app/.terraform.lock.hcl:6:17
  |
6 |   constraints = "~> 3.0"
  |                 ^^^^^^^^
  |
  = the locked version 3.2.4 meets the constraints of the configuration
help: provlock -C live/app lock

----- stderr -----
1 error and 1 warning in live/app/.terraform.lock.hcl and live/app/terragrunt.hcl
"#]]);
}
