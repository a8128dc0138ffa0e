//! Upgrades of modules: from registries, and from git repositories with tags, branches and commits.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::get::module_lock_file;
use crate::modules::{commit_of, publish as publish_tag, push_tag};
use provlock_test::archive::{self, Packing};

/// Publishes versions of the module acme/net/aws, each with a file that names it.
pub(crate) fn publish_module(registry: &Registry, versions: &[&str]) {
    let list: Vec<Value> = versions
        .iter()
        .map(|version| json!({ "version": version }))
        .collect();
    registry.serve(
        "/v1/modules/acme/net/aws/versions",
        json!({ "modules": [{ "versions": list }] }).to_string(),
    );
    for version in versions {
        let files = [("main.tf".to_owned(), format!("# {version}\n").into_bytes())];
        registry.serve(
            &format!("/net-{version}.zip"),
            archive::pack(&files, Packing::Deflated),
        );
        let location =
            json!({ "location": format!("https://registry.opentofu.org/net-{version}.zip") });
        registry.serve(
            &format!("/v1/modules/acme/net/aws/{version}/download"),
            location.to_string(),
        );
    }
}

/// A project that calls a version of the registry's module, which is locked at 1.0.0.
fn registry_project(call: &str) -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    publish_module(&registry, &["1.0.0"]);
    environment.write("main.tf", call);
    environment.provlock(["lock", "--modules"]).assert_code(0);
    publish_module(&registry, &["1.0.0", "1.1.0", "2.0.0", "3.0.0-rc.1"]);
    (registry, environment)
}

const CALL: &str =
    "module \"net\" {\n  source  = \"acme/net/aws\"\n  version = \"~> 1.0\" # ours\n}\n";

/// A project that calls modules of a git repository, whose tags are v1.0.0 and network-1.0.0, with
/// locked modules.
fn git_project(query: &str) -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    publish_tag(&environment, "# one\n", "v1.0.0");
    let work = environment.root().join("work");
    environment.git(&work, ["tag", "network-1.0.0"]);
    environment.git(
        &work,
        ["push", "--quiet", "../modules.git", "network-1.0.0"],
    );
    let repository = environment.root().join("modules.git");
    let source = format!("git::file://{}//network{query}", repository.display());
    environment.write(
        "main.tf",
        format!("module \"network\" {{\n  source = \"{source}\n}}\n"),
    );
    (registry, environment)
}

fn publish_more(environment: &TestEnvironment) {
    for tag in [
        "v1.9.0",
        "v1.10.0",
        "v2.0.0-rc.1",
        "network-1.1.0",
        "other-9.0.0",
        "v3",
    ] {
        publish_tag(environment, &format!("# {tag}\n"), tag);
    }
}

#[test]
fn a_module_of_a_registry_moves_within_its_constraint() {
    let (registry, environment) = registry_project(CALL);
    let before = environment.snapshot();
    environment.provlock(["upgrade"]).assert_code(0);
    environment
        .provlock(["upgrade", "--modules", "--check"])
        .matches(str![[r#"
exit code: 1
----- stdout -----
module       locked   allowed   change   newest   held back by
module.net   1.0.0    1.1.0     minor    2.0.0    main.tf:3  ~> 1.0
----- stderr -----
1 module can move within the constraints; 1 held back
Constraints hold back 1 module; to change them, too: provlock upgrade --modules --constraints
"#]]);
    environment
        .provlock(["upgrade", "--modules", "--check", "--format", "markdown"])
        .matches(str![[r#"
exit code: 1
----- stdout -----
| Module | Locked | Allowed | Change | Newest | Held back by |
|---|---|---|---|---|---|
| `module.net` | `1.0.0` | `1.1.0` | minor | `2.0.0` | `main.tf:3  ~> 1.0` |
----- stderr -----
1 module can move within the constraints; 1 held back
Constraints hold back 1 module; to change them, too: provlock upgrade --modules --constraints
"#]]);
    before.assert_same(&environment.snapshot());
    environment
        .provlock(["upgrade", "--modules"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
  ~ module.net   1.0.0 → 1.1.0
Upgraded 0 providers and 1 module (1 changed)
1 module held back from the newest version; see: provlock upgrade --modules --check
"#]]);
    let locked = module_lock_file(&environment);
    assert!(
        locked.contains("version     = \"1.1.0\"") && locked.contains("aws@1.1.0\""),
        "{locked}"
    );
    assert_eq!(environment.read("main.tf"), CALL);
    environment.provlock(["get"]).assert_code(0);
    environment
        .provlock(["upgrade", "--modules", "--check"])
        .assert_code(0);

    environment
        .provlock(["upgrade", "module.net@1.0.0"])
        .assert_code(0);
    assert!(module_lock_file(&environment).contains("version     = \"1.0.0\""));
    let before = environment.snapshot();
    environment
        .provlock(["upgrade", "module.net@1.5.0"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[no-matching-version]: module.net has no version 1.5.0
 --> main.tf:2:13
  |
2 |   source  = "acme/net/aws"
  |             ^^^^^^^^^^^^^^ called here
  |
  = the newest version is 2.0.0
"#]]);
    environment
        .provlock(["upgrade", "module.net@2.0.0"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[version-outside-constraints]: module.net cannot be 2.0.0, because the call requires ~> 1.0
 --> main.tf:3:13
  |
3 |   version = "~> 1.0" # ours
  |             ^^^^^^^^ asked for here
  |
help: change that: provlock upgrade --constraints module.net@2.0.0
"#]]);
    environment
        .provlock(["upgrade", "module.nit"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: there is no call module.nit of a module that could be locked
help: a call in a called module has the names of both: module.network.module.endpoints
"#]]);
    environment
        .provlock(["upgrade", "--modules", "--offline"])
        .assert_code(2)
        .assert_stderr_has("modules cannot be upgraded offline");
    environment.provlock(["upgrade", "--modules", "--no-fetch-modules"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: modules cannot be upgraded if none may be fetched, because their versions are unknown
help: omit --no-fetch-modules, or set fetch-modules = true in provlock.toml
"#]]);
    environment
        .provlock(["lock", "module.net"])
        .assert_code(2)
        .assert_stderr_has("provlock upgrade module.net");
    before.assert_same(&environment.snapshot());
    assert_eq!(
        registry.requests_to("registry.opentofu.org/net-2.0.0.zip"),
        0
    );
}

#[test]
fn the_constraint_of_a_module_is_rewritten_and_every_other_byte_stays() {
    let (_registry, environment) = registry_project(CALL);
    environment
        .provlock(["upgrade", "--modules", "--constraints", "--dry-run"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
--- a/.modules.lock.hcl
+++ b/.modules.lock.hcl
@@ -3,11 +3,11 @@
 
 module "net" {
   source      = "registry.opentofu.org/acme/net/aws"
-  version     = "1.0.0"
-  constraints = "~> 1.0"
-  package     = "registry::registry.opentofu.org/acme/net/aws@1.0.0"
+  version     = "2.0.0"
+  constraints = "~> 2.0"
+  package     = "registry::registry.opentofu.org/acme/net/aws@2.0.0"
   hashes = [
-    "h1:IgcXS8MkUAggSqxftsK6zYhIJ6rgHyCeUlq0i9BJFvM=",
-    "zh:[HASH]",
+    "h1:/6MIs+uFiKlBmxsENUao/6LqOAYSvbWgRhcFaj9qulQ=",
+    "zh:[HASH]",
   ]
 }
--- a/main.tf
+++ b/main.tf
@@ -1,4 +1,4 @@
 module "net" {
   source  = "acme/net/aws"
-  version = "~> 1.0" # ours
+  version = "~> 2.0" # ours
 }

module       locked   allowed   change   newest
module.net   1.0.0    2.0.0     major    2.0.0
----- stderr -----
  ~ module.net   1.0.0 → 2.0.0   constraints ~> 2.0
Would upgrade 0 providers and 1 module (1 changed)
"#]]);
    let output = environment.provlock(["upgrade", "module.net", "--constraints", "--json"]);
    output.assert_code(0);
    let root = validated(&output.stdout)["roots"][0].clone();
    let edit =
        json!({ "file": "main.tf", "line": 3, "column": 14, "old": "~> 1.0", "new": "~> 2.0" });
    assert_eq!(root["constraint_edits"], json!([edit]));
    let versions = json!([{
        "address": "net",
        "source": "registry.opentofu.org/acme/net/aws",
        "locked": "1.0.0",
        "allowed": "2.0.0",
        "change": { "direction": "upgrade", "step": "major" },
        "newest": "2.0.0",
        "held_back_by": [],
        "too_young": false,
    }]);
    assert_eq!(root["module_versions"], versions);
    assert_eq!(
        root["modules"][0]["version"],
        json!({ "old": "1.0.0", "new": "2.0.0" })
    );
    assert_eq!(
        environment.read("main.tf"),
        CALL.replace("~> 1.0", "~> 2.0")
    );
    let locked = module_lock_file(&environment);
    assert!(
        locked.contains("constraints = \"~> 2.0\"") && locked.contains("version     = \"2.0.0\""),
        "{locked}"
    );
    environment.provlock(["lock", "--check"]).assert_code(0);
}

#[test]
fn a_module_that_is_too_young_is_not_chosen() {
    let (registry, environment) = registry_project(CALL);
    registry.add_host("api.opentofu.org");
    let published =
        |days: i64| (Timestamp::now() - SignedDuration::from_hours(24 * days)).to_string();
    let versions = [("v2.0.0", 100), ("v1.1.0", 2), ("v1.0.0", 300)]
        .map(|(version, days)| json!({ "id": version, "published": published(days) }));
    registry.serve(
        "/registry/docs/modules/acme/net/aws/index.json",
        json!({ "versions": versions }).to_string(),
    );
    let before = environment.snapshot();
    environment
        .provlock(["upgrade", "--modules", "--min-age", "7d", "--check"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
module       locked   allowed   newest   held back by
module.net   1.0.0              2.0.0    its age
----- stderr -----
warning[too-young]: module.net 1.1.0 is not chosen: published [TIME], and it must be 7 days old
0 modules can move within the constraints; 1 held back
"#]]);
    let named = environment.provlock(["upgrade", "module.net@1.1.0", "--min-age", "7d"]);
    named.assert_code(2).assert_stderr_has("error[too-young]");
    before.assert_same(&environment.snapshot());
    environment
        .provlock(["upgrade", "--modules", "--min-age", "7d", "--constraints"])
        .assert_code(0);
    assert!(environment.read("main.tf").contains("~> 2.0"));
}

#[test]
fn a_tag_makes_room_for_the_newest_of_the_same_form() {
    let (_registry, environment) = git_project("?ref=v1.0.0\" # the network");
    environment.provlock(["lock", "--modules"]).assert_code(0);
    publish_more(&environment);
    let before = environment.snapshot();
    environment
        .provlock(["upgrade", "--modules"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 0 providers
1 module held back from the newest version; see: provlock upgrade --modules --check
"#]]);
    environment
        .provlock(["upgrade", "--modules", "--check"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
module           locked   allowed   newest    held back by
module.network   v1.0.0             v1.10.0   main.tf:2  ref=v1.0.0
----- stderr -----
0 modules can move within the constraints; 1 held back
Constraints hold back 1 module; to change them, too: provlock upgrade --modules --constraints
"#]]);
    before.assert_same(&environment.snapshot());
    let old = environment.read("main.tf");
    environment
        .provlock(["upgrade", "--modules", "--constraints"])
        .assert_code(0);
    assert_eq!(
        environment.read("main.tf"),
        old.replace("v1.0.0", "v1.10.0")
    );
    let locked = module_lock_file(&environment);
    assert!(
        locked.contains("//network?ref=v1.10.0\"")
            && locked.contains(&commit_of(&environment, "v1.10.0")),
        "{locked}"
    );
    environment.provlock(["lock", "--check"]).assert_code(0);

    environment
        .provlock(["upgrade", "module.network@1.9.0", "--constraints"])
        .assert_code(0);
    assert_eq!(environment.read("main.tf"), old.replace("v1.0.0", "v1.9.0"));
    environment
        .provlock(["upgrade", "module.network@v1.10.0"])
        .assert_code(2)
        .assert_stderr_has("--constraints");
    environment
        .provlock(["upgrade", "module.network@v1.5.0"])
        .assert_code(2)
        .assert_stderr_has("no version v1.5.0");
}

#[test]
fn tags_with_a_name_move_among_their_own() {
    let (_registry, environment) = git_project("?ref=network-1.0.0&depth=1\"");
    environment.provlock(["lock", "--modules"]).assert_code(0);
    publish_more(&environment);
    environment
        .provlock(["upgrade", "--modules", "--constraints"])
        .assert_code(0);
    assert!(
        environment
            .read("main.tf")
            .contains("?ref=network-1.1.0&depth=1\"\n"),
        "{}",
        environment.read("main.tf")
    );
}

#[test]
fn a_commit_moves_with_the_tag_in_the_comment_beside_it() {
    let (_registry, environment) = git_project("?ref=v1.0.0\"");
    let old = commit_of(&environment, "v1.0.0");
    let text = environment
        .read("main.tf")
        .replace("v1.0.0\"", &format!("{old}\" # v1.0.0, see the wiki"));
    environment.write("main.tf", &text);
    environment.provlock(["lock", "--modules"]).assert_code(0);
    publish_more(&environment);
    environment
        .provlock(["upgrade", "--modules", "--check"])
        .assert_code(0)
        .assert_stdout_has("main.tf:2  # v1.0.0");
    environment
        .provlock(["upgrade", "module.network", "--constraints"])
        .assert_code(0);
    let new = commit_of(&environment, "v1.10.0");
    assert_eq!(
        environment.read("main.tf"),
        text.replace(&old, &new).replace("v1.0.0", "v1.10.0")
    );
    assert!(module_lock_file(&environment).contains(&format!("modules.git?ref={new}\"")));
    // The tag of a commit without a comment is unknown.
    let alone = environment
        .read("main.tf")
        .replace(" # v1.10.0, see the wiki", "");
    environment.write("main.tf", &alone);
    environment
        .provlock(["upgrade", "--modules", "--constraints"])
        .assert_code(0);
    assert_eq!(environment.read("main.tf"), alone);
}

#[test]
fn a_branch_moves_to_its_newest_commit_and_a_moved_tag_does_not() {
    for (query, moves) in [
        ("?ref=main\"", true),
        ("\"", true),
        ("?ref=v1.0.0\"", false),
    ] {
        let (_registry, environment) = git_project(query);
        environment.provlock(["lock", "--modules"]).assert_code(0);
        let locked = module_lock_file(&environment);
        publish_tag(&environment, "# two\n", "v0.1.0");
        push_tag(&environment, "v1.0.0");
        environment.provlock(["lock", "--check"]).assert_code(0);
        if moves {
            let young = environment.provlock(["upgrade", "--modules", "--min-age", "7d"]);
            young.assert_code(0).assert_stderr_has("warning[too-young]");
            assert_eq!(module_lock_file(&environment), locked, "{query}");
        }
        environment
            .provlock(["upgrade", "--modules", "--check"])
            .assert_code(i32::from(moves));
        environment
            .provlock(["upgrade", "--modules"])
            .assert_code(0);
        assert_eq!(module_lock_file(&environment) != locked, moves, "{query}");
        assert_eq!(
            module_lock_file(&environment).contains(&commit_of(&environment, "main")),
            moves,
            "{query}"
        );
    }
}

#[test]
fn root_modules_that_share_a_call_write_it_once() {
    let (registry, environment) = Registry::with_project();
    publish_module(&registry, &["1.0.0", "2.0.0"]);
    environment.write("modules/shared/main.tf", CALL);
    for root in ["one", "two"] {
        let call = "terraform {\n  backend \"local\" {}\n}\nmodule \"shared\" {\n  source = \"../modules/shared\"\n}\n";
        environment.write(format!("{root}/main.tf"), call);
    }
    environment
        .provlock(["upgrade", "-r", "--modules"])
        .assert_code(0);
    let table = environment.provlock(["upgrade", "-r", "--modules", "--check"]);
    table.matches(str![[r#"
exit code: 0
----- stdout -----
module              locked   allowed   newest   root modules
module.shared.net   1.0.0              2.0.0    2
  held back by modules/shared/main.tf:3  ~> 1.0
----- stderr -----
2 root modules: 0 can move, 0 up to date, 2 held back
Constraints hold back 1 module; to change them, too: provlock upgrade -r --modules --constraints
"#]]);
    environment
        .provlock(["upgrade", "-r", "module.shared.module.net", "--constraints"])
        .assert_code(0);
    assert_eq!(
        environment.read("modules/shared/main.tf"),
        CALL.replace("~> 1.0", "~> 2.0")
    );
    for root in ["one", "two"] {
        let locked = environment.read(environment.project().join(root).join(".modules.lock.hcl"));
        assert!(locked.contains("version     = \"2.0.0\""), "{locked}");
    }
    environment
        .provlock(["lock", "-r", "--check"])
        .assert_code(0);
    environment
        .provlock(["upgrade", "-r", "module.other"])
        .assert_code(2)
        .assert_stderr_has("module.other");
}
