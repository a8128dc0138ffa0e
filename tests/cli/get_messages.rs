//! Messages about locked modules, from `get` and the commands that lock them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::get::{module_lock_file, project};
use super::modules::push_tag;
use provlock_test::{TestEnvironment, str};

#[test]
fn the_same_result_in_many_root_modules_is_shown_once() {
    let environment = TestEnvironment::new();
    for root in ["a", "b", "c", "d", "e"] {
        let call = "module \"m\" {\n  source = \"git::https://git.test/m.git?ref=v1\"\n}\n";
        environment.write(
            format!("{root}/main.tf"),
            format!("terraform {{\n  backend \"s3\" {{}}\n}}\n{call}"),
        );
    }
    let failed = environment.provlock(["get", "-r", "--offline"]);
    failed.assert_code(2);
    assert_eq!(failed.stderr.matches("error[").count(), 1, "{failed}");
    failed
        .assert_stderr_has("in 5 root modules")
        .assert_stderr_has("2 more: -v lists them");
    for root in ["a", "b", "c", "d", "e"] {
        environment.write(
            format!("{root}/main.tf"),
            "terraform {\n  backend \"s3\" {}\n}\n",
        );
        environment.write(format!("{root}/.modules.lock.hcl"), "");
    }
    let done = environment.provlock(["get", "-r", "--offline"]);
    assert_eq!(
        done.assert_code(0)
            .stderr
            .matches("Wrote modules.json; no module of a different package is called")
            .count(),
        1,
        "{done}"
    );
    done.assert_stderr_has("a, b, c and 2 more: ");
    let all = environment.provlock(["get", "-r", "--offline", "-v"]);
    assert_eq!(
        all.assert_code(0)
            .stderr
            .matches("no module of a different package is called")
            .count(),
        5,
        "{all}"
    );
}

/// A newer provlock may record more of a module.
#[test]
fn an_unknown_attribute_of_a_locked_module_is_ignored_with_a_warning_and_kept() {
    let (_registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let lock_file = module_lock_file(&environment);
    let future = lock_file.replace(
        "  package = ",
        "  signers = [\"a\", { b = 1 }] # ours\n  package = ",
    );
    assert_ne!(future, lock_file);
    let future = format!("{future}\nformat = 2\n");
    environment.write(".modules.lock.hcl", &future);
    environment.provlock(["get"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[lock-file-syntax]: unknown attribute signers is ignored: an entry has source, version, constraints, package and hashes
  --> .modules.lock.hcl:6:3
   |
 6 |   signers = ["a", { b = 1 }] # ours
   |   ^^^^^^^
...
15 |   signers = ["a", { b = 1 }] # ours
   |   -------
   |
help: a newer provlock may have written it; correct or remove it if it is a mistake

warning[lock-file-syntax]: unknown attribute format is ignored: a lock file contains module blocks only
  --> .modules.lock.hcl:23:1
   |
23 | format = 2
   | ^^^^^^
   |
help: a newer provlock may have written it; correct or remove it if it is a mistake
Installed 2 modules: network, site
"#]]);
    environment
        .provlock(["get", "--json"])
        .assert_code(0)
        .assert_stdout_has("unknown attribute signers");
    environment
        .provlock(["pin", "--check"])
        .assert_stderr_has("unknown attribute signers");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0)
        .assert_stderr_has("unknown attribute signers");
    assert_eq!(module_lock_file(&environment), future);
    environment.provlock(["verify", "--allow", "single-platform"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[lock-file-syntax]: unknown attribute signers is ignored: an entry has source, version, constraints, package and hashes
  --> .modules.lock.hcl:6:3
   |
 6 |   signers = ["a", { b = 1 }] # ours
   |   ^^^^^^^
...
15 |   signers = ["a", { b = 1 }] # ours
   |   -------
   |
help: a newer provlock may have written it; correct or remove it if it is a mistake

warning[lock-file-syntax]: unknown attribute format is ignored: a lock file contains module blocks only
  --> .modules.lock.hcl:23:1
   |
23 | format = 2
   | ^^^^^^
   |
help: a newer provlock may have written it; correct or remove it if it is a mistake

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
2 warnings in .modules.lock.hcl
"#]]);

    // A file that is written again keeps the text, byte for byte.
    let main = environment.read(environment.project().join("main.tf"));
    let extra = "module \"more\" {\n  source = \"https://registry.opentofu.org/site.zip\"\n}\n";
    environment.write("main.tf", format!("{main}\n{extra}"));
    environment.write(
        ".modules.lock.hcl",
        future.replace("?ref=v1.0.0", "?ref=v0.9.0"),
    );
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let written = module_lock_file(&environment);
    assert_eq!(
        written
            .matches("  signers = [\"a\", { b = 1 }] # ours\n")
            .count(),
        2,
        "{written}"
    );
    assert!(
        written.contains("module \"more\"")
            && written.contains("\nformat = 2\n")
            && written.contains("?ref=v1.0.0"),
        "{written}"
    );
    // A missing attribute is still an error, and so is an unknown one in the lock file of
    // providers.
    environment.write(
        ".modules.lock.hcl",
        future.replace("  package = ", "  pakage = "),
    );
    environment
        .provlock(["verify"])
        .assert_code(1)
        .assert_stdout_has("has no package");
    environment.write(".modules.lock.hcl", &future);
    let providers = environment.lock_file();
    environment.write(
        ".terraform.lock.hcl",
        providers.replace("  version ", "  signers = 1\n  version "),
    );
    environment
        .provlock(["verify"])
        .assert_code(1)
        .assert_stdout_has("unknown attribute signers");
}

#[test]
fn differences_in_the_list_of_installed_modules_are_named() {
    let (_registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    environment.provlock(["get"]).assert_code(0);
    let list = ".terraform/modules/modules.json";
    let text = environment.read(environment.project().join(list));
    environment.write(
        list,
        text.replace("modules/network/network\"", "modules/network\""),
    );
    environment.provlock(["get", "--check"]).matches(str![[r#"
exit code: 1
----- stderr -----
modules.json, the list of installed modules, differs from the lock file for 1 module: network
"#]]);
    environment.write(list, text.replace("\"site\"", "\"gone\""));
    environment.provlock(["get", "--check"]).matches(str![[r#"
exit code: 1
----- stderr -----
modules.json, the list of installed modules, differs from the lock file for 2 modules: gone and site
"#]]);
    environment.write(list, "{}");
    environment.provlock(["get", "--check"]).matches(str![[r#"
exit code: 1
----- stderr -----
modules.json, the list of installed modules, differs from the lock file for 2 modules: network and site
"#]]);
    fs::remove_file(environment.project().join(list)).unwrap();
    environment.provlock(["get", "--check"]).matches(str![[r#"
exit code: 1
----- stderr -----
modules.json, the list of installed modules, differs from the lock file for 2 modules: network and site
"#]]);
    environment.provlock(["get"]).matches(str![[r#"
exit code: 0
----- stderr -----
Wrote modules.json; 2 modules up to date
"#]]);
}

#[test]
fn a_submodule_that_cannot_be_fetched_is_named_with_the_call() {
    let (_registry, environment) = project();
    let work = environment.root().join("work");
    let gone = environment.root().join("gone.git");
    environment.write(
        work.join(".gitmodules"),
        format!(
            "[submodule \"leaf\"]\n\tpath = libs/leaf\n\turl = file://{}\n",
            gone.display()
        ),
    );
    let id = "0123456789012345678901234567890123456789";
    let entry = format!("160000,{id},libs/leaf");
    environment.git(&work, ["update-index", "--add", "--cacheinfo", &entry]);
    environment.git(&work, ["add", ".gitmodules"]);
    environment.git(&work, ["commit", "--quiet", "--message=m"]);
    push_tag(&environment, "v1.0.0");
    environment.provlock(["lock", "-p", "linux_amd64", "--modules"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get the module package git::file://[ROOT]/modules.git?ref=v1.0.0: its submodule "libs/leaf" from file://[ROOT]/gone.git: git could not fetch it
 --> main.tf:2:12
  |
2 |   source = "git::file://[ROOT]/modules.git//network?ref=v1.0.0"
  |            ^^^[..] module "network"
  |
  = fatal: '[ROOT]/gone.git' does not appear to be a git repository
  = fatal: Could not read from remote repository.
  = Please make sure you have the correct access rights
  = and the repository exists.
help: check whether git clone can fetch it; git uses its credential helpers and ssh keys, and never prompts
"#]]);

    // The same for a locked module, once its source is removed.
    environment.git(
        environment.root(),
        [
            "init",
            "--quiet",
            "--bare",
            "--initial-branch=main",
            "gone.git",
        ],
    );
    environment.git(&work, ["push", "--quiet", "../gone.git", "main"]);
    let head = environment.git(&work, ["rev-parse", "HEAD~1"]);
    environment.git(
        &work,
        [
            "update-index",
            "--cacheinfo",
            &format!("160000,{head},libs/leaf"),
        ],
    );
    environment.git(&work, ["commit", "--quiet", "--message=m"]);
    push_tag(&environment, "v1.0.0");
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    fs::rename(&gone, environment.root().join("elsewhere.git")).unwrap();
    let failed = environment.provlock(["get", "--no-cache"]);
    failed
        .assert_code(2)
        .assert_stderr_has("module \"network\"")
        .assert_stderr_has("its submodule \"libs/leaf\" from");
}

#[test]
fn a_module_whose_source_depends_on_a_variable_is_locked_for_an_explicit_value_only() {
    let (_registry, environment) = project();
    let variable = "variable \"tag\" {\n  default = \"v1.0.0\"\n}\n";
    let calls = environment
        .read(environment.project().join("main.tf"))
        .replace("v1.0.0", "${var.tag}");
    environment.write("main.tf", format!("{variable}{calls}"));
    let lock = [
        "lock",
        "-p",
        "linux_amd64",
        "--modules",
        "--dialect",
        "tofu",
    ];
    environment.provlock(lock).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: module "network" cannot be locked: the variable "tag" decides from where it comes
 --> main.tf:5:12
  |
5 |   source = "git::file://[ROOT]/modules.git//network?ref=${var.tag}"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: write its source as plain text, or set the value with --var NAME=VALUE
"#]]);
    environment
        .provlock(["lock", "-p", "linux_amd64", "--dialect", "tofu"])
        .assert_code(0);
    environment.write("terraform.tfvars", "tag = \"v1.0.0\"\n");
    environment
        .provlock(lock)
        .assert_code(2)
        .assert_stderr_has("cannot be locked");
    environment
        .provlock(lock.iter().chain(&["--var-file", "terraform.tfvars"]))
        .assert_code(0);
    environment
        .provlock(lock.iter().chain(&["--var", "tag=v1.0.0"]))
        .assert_code(0);
    environment.provlock(lock).assert_code(2);
}

/// The disk of the cache is full, and git is the first to notice.
#[test]
fn a_full_disk_of_the_cache_is_an_error_with_the_directory() {
    let (_registry, environment) = project();
    let git = environment.bin().join("git");
    let script = "#!/bin/sh\ncase \"$*\" in *\" fetch \"*) ;; *) PATH=${PATH#*:} exec git \"$@\" ;; esac\n\
                  echo 'fatal: write error: No space left on device' >&2\nexit 128\n";
    fs::write(&git, script).unwrap();
    fs::set_permissions(git, fs::Permissions::from_mode(0o755)).unwrap();
    let cache = environment.root().join("cache/provlock-modules-v2");
    let lock = ["lock", "-p", "linux_amd64", "--modules"];
    let help = format!(
        "help: free disk space for {}, or keep the cache elsewhere with --cache-dir DIR or PROVLOCK_CACHE_DIR",
        cache.display()
    );
    let output = environment.provlock(lock);
    output
        .assert_code(2)
        .assert_stderr_has("= fatal: write error: No space left on device")
        .assert_stderr_has(&help)
        .assert_lacks("git clone");

    let output = environment.provlock(lock.into_iter().chain(["--no-cache"]));
    output
        .assert_code(2)
        .assert_stderr_has("help: free disk space for ")
        .assert_stderr_has(", the directory for temporary files")
        .assert_lacks("provlock-modules-v2");
}
