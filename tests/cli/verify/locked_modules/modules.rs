//! Findings about locked modules.

use super::{NOTHING, found, messages};
use crate::get::module_lock_file;
use crate::lock::requires;
use crate::modules::{publish, push_tag};
use provlock_test::archive::{self, Packing};
use provlock_test::{Registry, TestEnvironment, str, survived};

/// A project with locked modules: of a registry, in git, and in an archive, which calls a fourth.
pub(crate) struct Project {
    pub(crate) registry: Registry,
    pub(crate) environment: TestEnvironment,
}

impl Project {
    pub(crate) fn new() -> Self {
        let (registry, environment) = Registry::with_project();
        registry
            .publish("acme/gamma", "1.5.0")
            .platforms(["linux_amd64"])
            .done();
        publish(&environment, &requires("acme/gamma", "~> 1.0"), "v1.0.0");
        let project = Self {
            registry,
            environment,
        };
        let versions = serde_json::json!({ "modules": [{ "versions": [{ "version": "1.2.0" }] }] });
        project
            .registry
            .serve("/v1/modules/acme/vpc/aws/versions", versions.to_string());
        project.leads_to("https://registry.opentofu.org/vpc.zip");
        project.serve("vpc.zip", "# vpc\n");
        project.serve("leaf.zip", "# leaf\n");
        project.serve(
            "site.zip",
            "module \"leaf\" {\n  source = \"https://registry.opentofu.org/leaf.zip\"\n}\n",
        );
        let environment = &project.environment;
        environment.write(
            "main.tf",
            format!(
                "module \"network\" {{\n  source = \"git::file://{}//network?ref=v1.0.0\"\n}}\n\n\
                 module \"site\" {{\n  source = \"https://registry.opentofu.org/site.zip\"\n}}\n\n\
                 module \"vpc\" {{\n  source  = \"acme/vpc/aws\"\n  version = \"~> 1.0\"\n}}\n",
                environment.root().join("modules.git").display()
            ),
        );
        environment
            .provlock(["lock", "-p", "linux_amd64", "--modules"])
            .assert_code(0);
        project
    }

    /// Sets where the registry says that version 1.2.0 is.
    pub(crate) fn leads_to(&self, location: &str) {
        let location = serde_json::json!({ "location": location });
        self.registry.serve(
            "/v1/modules/acme/vpc/aws/1.2.0/download",
            location.to_string(),
        );
    }

    /// Serves an archive with this configuration and a file whose name begins with a dot.
    pub(crate) fn serve(&self, name: &str, configuration: &str) {
        let files = [
            ("main.tf", configuration),
            (".keep", ""),
            ("files/motd", "Welcome.\n"),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        self.registry.serve(
            &format!("/{name}"),
            archive::pack(&files, Packing::Deflated),
        );
    }

    /// Changes the configuration or the lock file of modules.
    pub(crate) fn edit(&self, file: &str, old: &str, new: &str) {
        let path = self.environment.project().join(file);
        let text = self.environment.read(&path);
        assert!(text.contains(old), "{old} is not in {text}");
        self.environment.write(file, text.replace(old, new));
    }

    /// Moves the tag of the repository to a commit with another configuration.
    pub(crate) fn move_tag(&self, configuration: &str) {
        let work = self.environment.root().join("work");
        self.environment
            .write(work.join("network/main.tf"), configuration);
        self.environment
            .git(&work, ["commit", "--quiet", "--all", "--message=m"]);
        push_tag(&self.environment, "v1.0.0");
    }

    /// Installs the modules, and returns the path of one.
    pub(in crate::verify) fn install(&self, key: &str) -> std::path::PathBuf {
        self.environment.provlock(["get"]).assert_code(0);
        self.environment
            .project()
            .join(".terraform/modules")
            .join(key)
    }

    #[track_caller]
    pub(in crate::verify) fn found(&self, arguments: &[&str]) -> Vec<String> {
        found(&self.environment, arguments)
    }
}

pub(in crate::verify) const LOCK: &str = ".modules.lock.hcl";

#[test]
fn locked_and_cached_modules_need_no_request_and_have_no_findings() {
    let project = Project::new();
    assert_eq!(
        module_lock_file(&project.environment)
            .matches("module \"")
            .count(),
        4
    );
    let requests = project.registry.requests().len();
    std::fs::rename(
        project.environment.root().join("modules.git"),
        project.environment.root().join("gone.git"),
    )
    .unwrap();
    assert_eq!(project.found(&[]), NOTHING);
    assert_eq!(project.found(&["-r"]), NOTHING);
    project
        .environment
        .provlock(["verify", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required, for linux_amd64
OK: 4 modules locked as called
Not checked: hashes against the registry (--online does)
"#]]);
    assert_eq!(project.registry.requests().len(), requests);
}

#[test]
fn calls_and_entries_are_compared() {
    let project = Project::new();
    project.edit("main.tf", "~> 1.0", ">= 1.1");
    assert_eq!(project.found(&[]), ["warning module-lock-stale"]);
    project.edit("main.tf", ">= 1.1", "~> 2.0");
    assert_eq!(
        project.found(&[]),
        [
            "error module-version-outside-constraints",
            "warning module-not-installed"
        ]
    );
    project.edit("main.tf", "~> 2.0", "~> 1.0");

    project.edit("main.tf", "ref=v1.0.0", "ref=v1.0.1");
    assert_eq!(
        project.found(&[]),
        ["error module-lock-stale", "warning module-not-installed"]
    );
    project.edit("main.tf", "ref=v1.0.1", "ref=v1.0.0");

    project.edit("main.tf", "module \"vpc\"", "module \"vnet\"");
    assert_eq!(
        project.found(&[]),
        ["error module-not-locked", "warning module-not-installed"]
    );
    let output =
        project
            .environment
            .provlock(["verify", "--allow", "single-platform,module-not-installed"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[module-not-locked]: module "vnet" is not locked
  --> main.tf:10:13
   |
10 |   source  = "acme/vpc/aws"
   |             ^^^^^^^^^^^^^^ called here
   |
help: provlock lock --modules

----- stderr -----
1 error in main.tf
"#]]);
    project.edit("main.tf", "module \"vnet\"", "module \"vpc\"");

    let main = project
        .environment
        .read(project.environment.project().join("main.tf"));
    project
        .environment
        .write("main.tf", main.split("module \"vpc\"").next().unwrap());
    assert_eq!(project.found(&[]), ["warning module-lock-stale"]);
}

#[test]
fn a_missing_file_is_found_where_modules_are_to_be_locked() {
    let project = Project::new();
    std::fs::remove_file(project.environment.project().join(LOCK)).unwrap();
    assert_eq!(project.found(&[]), ["warning module-not-installed"]);
    project
        .environment
        .write("provlock.toml", "[modules]\nlock = true\n");
    assert_eq!(
        project.found(&[]),
        ["error module-not-locked", "warning module-not-installed"]
    );
    assert_eq!(
        project.found(&["-r"]),
        ["error module-not-locked", "warning module-not-installed"]
    );
    let output =
        project
            .environment
            .provlock(["verify", "--allow", "single-platform,module-not-installed"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[module-not-locked]: .modules.lock.hcl is missing, so module "network", module "site" and module "vpc" are not locked
 --> main.tf:2:12
  |
2 |   source = "git::file://[ROOT]/modules.git//network?ref=v1.0.0"
  |            ^^^[..] called here
  |
help: provlock lock --modules

----- stderr -----
1 error in main.tf
"#]]);
    project
        .environment
        .write("provlock.toml", "[modules]\nlock = false\n");
    assert_eq!(project.found(&[]), ["warning module-not-installed"]);
}

#[test]
fn duplicate_module() {
    let project = Project::new();
    let text = module_lock_file(&project.environment);
    let site = text
        .split("module \"site\"")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    project
        .environment
        .write(LOCK, format!("{text}\nmodule \"site\"{site}\n"));
    assert_eq!(
        project.found(&[]),
        ["error duplicate-module", "warning module-not-installed"]
    );
    project.environment.provlock(["verify", "--allow", "single-platform"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[duplicate-module]: module.site is locked twice
  --> .modules.lock.hcl:41:8
   |
12 | module "site" {
   |        ------ first here
...
41 | module "site" {
   |        ^^^^^^ again here
   |
help: remove one of the two blocks

warning[module-not-installed]: 3 modules are not installed, so what they require is not known
  --> main.tf:2:12
   |
 2 |   source = "git::file://[ROOT]/modules.git//network?ref=v1.0.0"
   |            ^^^[..] module "network"
...
 6 |   source = "https://registry.opentofu.org/site.zip"
   |            ---------------------------------------- module "site"
...
10 |   source  = "acme/vpc/aws"
   |             -------------- module "vpc"
   |
help: install them with tofu get or tofu init; to fetch them for the check only: provlock verify --online

----- stderr -----
1 error and 1 warning in .modules.lock.hcl and main.tf
"#]]);
    project.environment.provlock(["get"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[duplicate-module]: module.site is locked twice
  --> .modules.lock.hcl:41:8
   |
12 | module "site" {
   |        ------ first here
...
41 | module "site" {
   |        ^^^^^^ again here
   |
help: remove one of the two blocks
"#]]);
}

#[test]
fn an_entry_that_get_refuses_is_found_offline() {
    let project = Project::new();
    let good = module_lock_file(&project.environment);
    let commit = good
        .split("?ref=")
        .nth(2)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let attempts = [
        (
            commit.as_str(),
            "v1.0.0",
            "module-package-foreign",
            "is not a full commit id",
        ),
        (
            commit.as_str(),
            &commit[..12],
            "module-package-foreign",
            "is not a full commit id",
        ),
        (
            "/modules.git?ref=",
            "/others.git?ref=",
            "module-package-foreign",
            "not a package of its source",
        ),
        (
            "acme/vpc/aws@1.2.0",
            "acme/vpc/aws@1.3.0",
            "module-package-foreign",
            "not a package of its source",
        ),
        (
            "acme/vpc/aws@1.2.0",
            "evil/vpc/aws@1.2.0",
            "module-package-foreign",
            "not a package of its source",
        ),
        (
            "  version     = \"1.2.0\"\n",
            "",
            "module-package-foreign",
            "not a package of its source",
        ),
        (
            "h1:",
            "h9:",
            "no-hashes",
            "has no hash that could identify its package",
        ),
        ("hashes = [", "hashes = [\n}", "lock-file-syntax", ""),
    ];
    for (old, new, code, why) in attempts {
        let at = good.find(old).unwrap();
        project.environment.write(
            LOCK,
            format!("{}{new}{}", &good[..at], &good[at + old.len()..]),
        );
        let found = project.found(&["--allow", "unknown-hash-scheme,module-not-installed"]);
        assert!(
            found.contains(&format!("error {code}")),
            "{old} {new} {found:?}"
        );
        assert!(
            messages(&project.environment, &[]).contains(why),
            "{old} {new}"
        );
        let get = project.environment.provlock(["get"]);
        get.assert_code(2);
        assert!(
            !project
                .environment
                .project()
                .join(".terraform/modules")
                .exists(),
            "{get}"
        );
    }
    survived(
        "a module entry with a different or changeable package",
        attempts.len(),
    );
}

#[test]
fn an_archive_on_this_machine_is_only_that_of_its_own_source() {
    let (_registry, environment) = Registry::with_project();
    for name in ["site.zip", "evil.zip"] {
        let files = [("main.tf".to_owned(), format!("# {name}\n").into_bytes())];
        std::fs::write(
            environment.project().join(name),
            archive::pack(&files, Packing::Deflated),
        )
        .unwrap();
    }
    let url = |name: &str| format!("file://{}", environment.project().join(name).display());
    let calls = |source: &str| format!("module \"site\" {{\n  source = \"{source}\"\n}}\n");
    let locked = |name: &str| {
        environment.write("main.tf", calls(&url(name)));
        environment.provlock(["lock", "--modules"]).assert_code(0);
        module_lock_file(&environment)
    };
    let evil = locked("evil.zip");
    assert!(
        evil.contains(&format!("package = \"{}\"", url("evil.zip"))),
        "{evil}"
    );
    environment.provlock(["get"]).assert_code(0);
    std::fs::remove_dir_all(environment.project().join(".terraform")).unwrap();
    let sources = [
        &url("site.zip"),
        "http://plain.test/site.zip",
        "https://registry.opentofu.org/site.zip",
    ];
    for source in sources {
        environment.write("main.tf", calls(source));
        environment.write(LOCK, evil.replacen(&url("evil.zip"), source, 1));
        let found = found(&environment, &["--allow", "module-not-installed"]);
        assert!(
            found.contains(&"error module-package-foreign".to_owned()),
            "{source}: {found:?}"
        );
        let get = environment.provlock(["get"]);
        get.assert_code(2)
            .assert_stderr_has("not a package of its source");
        assert!(!environment.project().join(".terraform").exists());
    }
    survived(
        "a module entry with an archive on this machine",
        sources.len(),
    );
}

#[test]
fn a_lock_file_of_modules_that_git_does_not_have_is_found() {
    let project = Project::new();
    let environment = &project.environment;
    commit_all(environment);
    assert_eq!(project.found(&["--allow-outside"]), NOTHING);
    environment.git(".", ["rm", "--quiet", "--cached", LOCK]);
    assert_eq!(
        project.found(&["--allow-outside"]),
        ["warning untracked-lock-file"]
    );
    let output = environment.provlock(["verify", "--allow-outside", "--allow", "single-platform"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[untracked-lock-file]: git does not track .modules.lock.hcl
--> .modules.lock.hcl:1:1
 |
help: git add .modules.lock.hcl

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in .modules.lock.hcl
"#]]);
    environment.write(".gitignore", "*.lock.hcl\n");
    assert_eq!(
        project.found(&["--allow-outside"]),
        ["warning untracked-lock-file"]
    );
    assert!(messages(environment, &["--allow-outside"]).contains("git ignores .modules.lock.hcl"));
    environment.git(".", ["add", "--force", LOCK]);
    assert_eq!(project.found(&["--allow-outside"]), NOTHING);
}

pub(in crate::verify) fn commit_all(environment: &TestEnvironment) {
    environment.git_init(".");
    environment.commit_all(".");
}

#[test]
fn changes_of_the_module_lock_file_are_checked() {
    let project = Project::new();
    let environment = &project.environment;
    commit_all(environment);
    let base = |more: &[&str]| {
        let missing = [
            "--base",
            "HEAD",
            "--allow-outside",
            "--allow",
            "module-not-installed",
        ];
        found(
            environment,
            &missing.iter().chain(more).copied().collect::<Vec<_>>(),
        )
    };
    assert_eq!(base(&[]), NOTHING);
    let good = module_lock_file(environment);
    let id = good
        .split("?ref=")
        .nth(2)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let h1 = format!(
        "h1:{}",
        good.split("h1:").nth(1).unwrap().split('"').next().unwrap()
    );
    let other = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let zh = format!(
        "zh:{}",
        good.split("zh:").nth(1).unwrap().split('"').next().unwrap()
    );
    let of_site = good.split("module \"site\"").nth(1).unwrap();
    let h1_of_site = format!(
        "h1:{}",
        of_site
            .split("h1:")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
    );
    let attempts = [
        (id.as_str(), "0".repeat(40), "error hashes-replaced"),
        (h1.as_str(), other.to_owned(), "error hashes-replaced"),
        (
            h1.as_str(),
            format!("{other}\",\n    \"{h1}"),
            "error hashes-replaced",
        ),
        (
            zh.as_str(),
            format!("zh:{}", "0".repeat(64)),
            "error hashes-replaced",
        ),
        (
            &format!("    \"{h1_of_site}\",\n"),
            String::new(),
            "error hashes-replaced",
        ),
        (
            &format!("    \"{h1}\",\n"),
            String::new(),
            "error lock-file-syntax",
        ),
        (
            "  version     = \"1.2.0\"\n",
            String::new(),
            "error module-package-foreign",
        ),
        (
            "registry::registry.opentofu.org/acme",
            "https://evil.test/x.zip?".to_owned(),
            "warning publisher-added",
        ),
        (
            "registry::registry.opentofu.org/acme",
            "https://evil.test/x.zip?".to_owned(),
            "error hashes-replaced",
        ),
    ];
    for (old, new, expected) in &attempts {
        assert!(good.contains(old), "{old}");
        environment.write(LOCK, good.replacen(old, new, 1));
        let found = base(&[]);
        assert!(
            found.contains(&(*expected).to_owned()),
            "{old} {new}: {found:?}"
        );
    }
    let fresh = format!(
        "\nmodule \"zz\" {{\n  source  = \"git::https://github.com/acme/zz.git?ref=v1\"\n  package = \"git::https://github.com/acme/zz.git?ref={}\"\n  hashes = [\n    \"{other}\",\n  ]\n}}\n",
        "1".repeat(40)
    );
    environment.write(LOCK, good.clone() + &fresh);
    let unconfirmed = base(&[]);
    assert!(
        unconfirmed.contains(&"warning hash-not-checked".to_owned()),
        "{unconfirmed:?}"
    );
    std::fs::remove_file(environment.project().join(LOCK)).unwrap();
    assert_eq!(base(&[]), ["error root-removed"], "the file is gone");
    survived(
        "a pull request edits the lock file of modules",
        attempts.len() + 1,
    );
    environment.write(LOCK, &good);
    project.edit("main.tf", "~> 1.0", "~> 1.0, >= 1.1");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert_eq!(base(&[]), NOTHING);
}

#[test]
fn a_call_of_a_publisher_that_was_not_called_before_is_found_without_a_lock_of_modules() {
    let project = Project::new();
    let environment = &project.environment;
    std::fs::remove_file(environment.project().join(LOCK)).unwrap();
    environment.write("first/main.tf", "resource \"terraform_data\" \"a\" {}\n");
    commit_all(environment);
    let added = || {
        let verify = environment.provlock(["verify", "--base", "HEAD", "--allow-outside", "-r"]);
        verify
            .stdout
            .matches("[publisher-added]: module \"")
            .count()
    };
    assert_eq!(added(), 0);
    project.serve("evil.zip", "# evil\n");
    let of = |source: &str| format!("\nmodule \"more\" {{\n  source = \"{source}\"\n}}\n");
    let main = environment.read("main.tf");
    for (source, expected) in [
        ("https://registry.opentofu.org/evil.zip", 0),
        ("acme/other/aws", 0),
        ("evil/vpc/aws", 1),
        ("git::https://github.com/evil/vpc.git", 1),
        ("https://evil.test/vpc.zip", 1),
        ("https://registry.opentofu.org:8443/evil.zip", 1),
        ("oci://registry.opentofu.org/evil/vpc", 1),
    ] {
        environment.write("main.tf", main.clone() + &of(source));
        assert_eq!(added(), expected, "{source}");
    }
    // Another version or folder of what was called before, in the only line that names it.
    environment.write(
        "main.tf",
        main.replace("//network?ref=v1.0.0", "?ref=v1.1.0")
            .replace("acme/vpc/aws", "acme/net/aws"),
    );
    assert_eq!(added(), 0);
    environment.write("main.tf", main.replace("acme/vpc/aws", "evil/vpc/aws"));
    assert_eq!(added(), 1);
    environment.write("main.tf", &main);
    let others = ["first/main.tf", "new/main.tf", "modules/uncalled/main.tf"];
    for file in others {
        environment.write(file, of("acme/other/aws"));
        assert_eq!(added(), 0, "the base calls modules of acme elsewhere");
        environment.write(file, of("evil/vpc/aws"));
        assert_eq!(added(), 1, "{file}");
        std::fs::remove_file(environment.project().join(file)).unwrap();
    }
    environment.write(LOCK, "");
    environment.write("main.tf", main + &of("evil/vpc/aws"));
    assert_eq!(
        added(),
        1,
        "the change brings the first lock file of modules"
    );
    survived(
        "a change that calls a module of a new publisher",
        7 + others.len(),
    );
}

#[test]
fn the_tree_shows_what_is_locked() {
    let project = Project::new();
    let lock_file = module_lock_file(&project.environment);
    let commit = lock_file
        .split("?ref=")
        .nth(2)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let row = format!("── module.network {}   ", &commit[..12]);
    project
        .environment
        .provlock(["tree"])
        .assert_code(0)
        .assert_stdout_has(&row);
    let report = super::validated(&project.environment.provlock(["tree", "--json"]).stdout);
    let requirers = report["roots"][0]["requirements"][0]["required_by"]
        .as_array()
        .unwrap();
    let call = requirers
        .iter()
        .find(|requirer| requirer["module"] == "module.network")
        .unwrap();
    assert_eq!(call["locked"], commit);
}

/// The location of a version is a page that says where the archive is.
#[test]
fn a_version_whose_location_leads_on_is_locked_with_the_hashes_of_the_archive() {
    let project = Project::new();
    let environment = &project.environment;
    let before = module_lock_file(environment);
    let page = |location: &str| {
        let page = format!(r#"<head><meta name="terraform-get" content="{location}"></head>"#);
        project.registry.serve("/vpc/latest", page);
    };
    let lock = || {
        let _ = std::fs::remove_file(environment.project().join(LOCK));
        environment
            .provlock(["lock", "-p", "linux_amd64", "--modules", "--no-cache"])
            .assert_code(0);
    };
    project.leads_to("https://registry.opentofu.org/vpc/latest");
    page("https://registry.opentofu.org/vpc.zip");
    lock();
    let archive = "https://registry.opentofu.org/vpc.zip";
    assert_eq!(
        module_lock_file(environment),
        before.replace(
            "registry::registry.opentofu.org/acme/vpc/aws@1.2.0",
            archive
        )
    );
    environment.provlock(["get", "--no-cache"]).assert_code(0);
    assert_eq!(project.found(&["--online"]), NOTHING);

    page("https://registry.opentofu.org/vpc.zip//files");
    assert_eq!(
        project
            .found(&["--online", "--no-cache"])
            .first()
            .map(String::as_str),
        Some("error module-replaced")
    );
    lock();
    let narrowed = module_lock_file(environment);
    assert!(
        narrowed.contains("acme/vpc/aws@1.2.0//files\"\n  hashes = [\n    \"h1:"),
        "{narrowed}"
    );
    assert_eq!(
        narrowed.matches("\"zh:").count(),
        before.matches("\"zh:").count(),
        "{narrowed}"
    );
    environment.provlock(["get", "--no-cache"]).assert_code(0);
    assert_eq!(
        environment.read(environment.project().join(".terraform/modules/vpc/motd")),
        "Welcome.\n"
    );
    assert_eq!(project.found(&["--online"]), NOTHING);
    project.serve("vpc.zip", "# replaced\n");
    assert_eq!(
        project.found(&["--online", "--no-cache"]),
        NOTHING,
        "the directory is the same"
    );
}
