//! Mirrors of modules: filling one, and reading modules from it without a network.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::get::module_lock_file;
use super::json_output::validated;
use super::modules::commit_of;
use super::verify::LockedModules;
use provlock_test::{Output, TestEnvironment, str, survived};
use serde_json::Value;

/// A project with four locked modules, and a directory for their mirror.
struct Mirrored {
    project: LockedModules,
    mirror: PathBuf,
    /// The locked commit of the git repository.
    commit: String,
}

impl Mirrored {
    /// A filled mirror.
    fn new() -> Self {
        let mirrored = Self::empty();
        mirrored.fill(&[]).assert_code(0);
        mirrored
    }

    /// A mirror that does not exist yet.
    fn empty() -> Self {
        let project = LockedModules::new();
        let environment = &project.environment;
        Self {
            mirror: environment.root().join("mirror"),
            commit: commit_of(environment, "v1.0.0"),
            project,
        }
    }

    /// The output without the commit of the git repository, which differs from run to run.
    fn shown(&self, mut output: Output) -> Output {
        output.stderr = output.stderr.replace(&self.commit, "[COMMIT]");
        output.stderr = output.stderr.replace(&self.commit[..12], "[COMMIT]");
        output
    }

    fn environment(&self) -> &TestEnvironment {
        &self.project.environment
    }

    fn fill(&self, arguments: &[&str]) -> Output {
        let mirror = self.mirror.to_str().unwrap();
        let command = ["mirror", "--modules", mirror];
        self.environment().provlock(command.iter().chain(arguments))
    }

    /// Runs a command that reads modules from the mirror.
    fn run(&self, arguments: &[&str]) -> Output {
        let mirror = self.mirror.to_str().unwrap();
        let flags = ["--modules-mirror", mirror];
        self.environment().provlock(arguments.iter().chain(&flags))
    }

    /// Removes all that the modules come from, and the cache.
    fn leave_the_network(&self) {
        let repository = self.environment().root().join("modules.git");
        fs::rename(&repository, repository.with_extension("gone")).unwrap();
        for name in ["vpc.zip", "leaf.zip", "site.zip"] {
            self.project.registry.serve(&format!("/{name}"), "gone");
        }
        fs::remove_dir_all(self.environment().home().join(".cache")).unwrap();
    }

    /// The directory of the package with this file of the configuration.
    fn package(&self, configuration: &str) -> PathBuf {
        let packages = fs::read_dir(self.mirror.join("contents")).unwrap();
        let mut packages = packages.map(|entry| entry.unwrap().path());
        packages
            .find(|path| {
                let text = fs::read_to_string(path.join("main.tf"));
                text.is_ok_and(|text| text.contains(configuration))
            })
            .unwrap()
    }

    fn index(&self) -> Value {
        let text = fs::read_to_string(self.mirror.join("index.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn write_index(&self, index: &Value) {
        fs::write(self.mirror.join("index.json"), index.to_string()).unwrap();
    }

    fn has_installed(&self) -> bool {
        let modules = self.environment().project().join(".terraform/modules");
        modules.join("modules.json").exists()
    }
}

/// A lock file of modules without hashes of archives.
fn without_archives(lock_file: &str) -> String {
    let mut kept = String::new();
    for line in lock_file.lines() {
        if !line.contains("\"zh:") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn locked_modules_are_mirrored_and_installed_without_a_network() {
    let mirrored = Mirrored::empty();
    let output = mirrored.shown(mirrored.fill(&["--dry-run"]));
    output.matches(str![[r#"
exit code: 0
----- stderr -----
  + git::file://[ROOT]/modules.git?ref=[COMMIT]
  + https://registry.opentofu.org/leaf.zip
  + https://registry.opentofu.org/site.zip
  + registry.opentofu.org/acme/vpc/aws 1.2.0
Would mirror 4 packages of modules in [ROOT]/mirror: 4 to add
Not checked: whether the packages to add can be fetched as they are locked
"#]]);
    assert!(!mirrored.mirror.exists());
    let output = mirrored.shown(mirrored.fill(&[]));
    output.matches(str![[r#"
exit code: 0
----- stderr -----
  + git::file://[ROOT]/modules.git?ref=[COMMIT]   [SIZE]
  + https://registry.opentofu.org/leaf.zip                                                               [SIZE]
  + https://registry.opentofu.org/site.zip                                                               [SIZE]
  + registry.opentofu.org/acme/vpc/aws 1.2.0                                                             [SIZE]
Mirrored 4 packages of modules in [ROOT]/mirror: 4 added ([SIZE])
"#]]);
    let requests = mirrored.project.registry.requests().len();
    mirrored.fill(&["--no-cache"]).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 4 packages of modules in [ROOT]/mirror ([SIZE])
"#]]);
    let output = mirrored.shown(mirrored.fill(&["-v", "--dry-run", "--json"]));
    let report = validated(&output.stdout);
    assert_eq!(report["mirror"]["modules"][3]["action"], "kept");
    assert_eq!(report["mirror"]["written"], false);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
(JSON)
----- stderr -----
  = git::file://[ROOT]/modules.git?ref=[COMMIT]   [SIZE]
  = https://registry.opentofu.org/leaf.zip                                                               [SIZE]
  = https://registry.opentofu.org/site.zip                                                               [SIZE]
  = registry.opentofu.org/acme/vpc/aws 1.2.0                                                             [SIZE]
Up to date: 4 packages of modules in [ROOT]/mirror ([SIZE])
"#]]);
    assert_eq!(mirrored.project.registry.requests().len(), requests);

    mirrored.leave_the_network();
    mirrored.run(&["get"]).matches(str![[r#"
exit code: 0
----- stderr -----
Installed 4 modules: network, site, site.leaf, vpc
"#]]);
    let environment = mirrored.environment();
    for key in ["network/network", "site", "site.leaf", "vpc"] {
        let file = format!(".terraform/modules/{key}/main.tf");
        assert!(environment.project().join(file).exists(), "{key}");
    }
    assert_eq!(mirrored.project.registry.requests().len(), requests);
    mirrored.run(&["get", "--check"]).assert_code(0);
}

#[test]
fn modules_come_from_the_mirror_and_from_nowhere_else() {
    let mirrored = Mirrored::empty();
    mirrored.run(&["get"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-package]: [ROOT]/mirror is not a mirror of modules: index.json is missing
  --> main.tf:2:12
   |
 2 |   source = "git::file://[ROOT]/modules.git//network?ref=v1.0.0"
   |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ module "network"
...
 6 |   source = "https://registry.opentofu.org/site.zip"
   |            ---------------------------------------- module "site"
...
10 |   source  = "acme/vpc/aws"
   |             -------------- module "vpc"
   |
help: fill it on a machine with a network: provlock mirror --modules [ROOT]/mirror
"#]]);

    // The cache and the network have what the mirror lacks.
    mirrored.fill(&[]).assert_code(0);
    fs::remove_dir_all(mirrored.package("# vpc")).unwrap();
    let requests = mirrored.project.registry.requests().len();
    let output = mirrored.run(&["get"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[module-not-installed]: the mirror [ROOT]/mirror does not contain the package of registry.opentofu.org/acme/vpc/aws 1.2.0
  --> main.tf:10:13
   |
10 |   source  = "acme/vpc/aws"
   |             ^^^^^^^^^^^^^^ module "vpc"
   |
help: fill it on a machine with a network: provlock mirror --modules [ROOT]/mirror
"#]]);
    assert!(!mirrored.has_installed());
    assert_eq!(mirrored.project.registry.requests().len(), requests);

    // The next step works.
    let fill = format!("provlock mirror --modules {}", mirrored.mirror.display());
    mirrored.environment().paste(&fill).assert_code(0);
    mirrored.run(&["get"]).assert_code(0);
}

#[test]
fn the_settings_name_the_mirror_of_get() {
    let mirrored = Mirrored::new();
    mirrored.leave_the_network();
    let environment = mirrored.environment();
    environment.write("provlock.toml", "[modules]\nmirror = \"../mirror\"\n");
    environment.provlock(["get"]).matches(str![[r#"
exit code: 0
----- stderr -----
Installed 4 modules: network, site, site.leaf, vpc
"#]]);

    // The flag wins.
    fs::remove_dir_all(environment.project().join(".terraform")).unwrap();
    environment
        .provlock(["get", "--modules-mirror", "nowhere"])
        .assert_code(2)
        .assert_stderr_has("nowhere is not a mirror of modules");
    environment.write("provlock.toml", "[modules]\nmirror = \"nowhere\"\n");
    environment
        .provlock(["get"])
        .assert_code(2)
        .assert_stderr_has("is not a mirror of modules: index.json is missing");
    mirrored.run(&["get"]).assert_code(0);
}

#[test]
fn lock_and_verify_read_modules_from_the_mirror() {
    let mirrored = Mirrored::new();
    let environment = mirrored.environment();
    let lock_file = module_lock_file(environment);
    mirrored.leave_the_network();

    // Locked modules.
    mirrored.run(&["verify"]).matches(str![[r#"
exit code: 0
----- stdout -----
note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/acme/gamma" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: provlock lock -p all --modules-mirror [ROOT]/mirror, or set platforms in provlock.toml

----- stderr -----
OK: 1 provider locked as required
OK: 4 modules locked as called
Not checked: platforms (select with -p), hashes against the registry (--online)
1 note in .terraform.lock.hcl
"#]]);
    mirrored
        .run(&["lock", "--check", "-p", "linux_amd64"])
        .assert_code(0);

    // Calls that no lock file records.
    fs::remove_file(environment.project().join(".modules.lock.hcl")).unwrap();
    let output = mirrored.run(&["lock", "--modules", "-p", "linux_amd64"]);
    mirrored.shown(output).matches(str![[r#"
exit code: 0
----- stderr -----
  + module.network     [COMMIT]   git::file://[ROOT]/modules.git//network?ref=v1.0.0
  + module.site                       https://registry.opentofu.org/site.zip
  + module.site.leaf                  https://registry.opentofu.org/leaf.zip
  + module.vpc         1.2.0          registry.opentofu.org/acme/vpc/aws
Locked 1 provider for linux_amd64 (1 unchanged) and 4 modules (4 added)
"#]]);
    assert_eq!(module_lock_file(environment), without_archives(&lock_file));
    mirrored.project.edit("main.tf", "~> 1.0", "~> 2.0");
    mirrored
        .run(&["lock", "--modules", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[no-matching-version]: no version of registry.opentofu.org/acme/vpc/aws meets "~> 2.0"; the newest is 1.2.0
  --> main.tf:10:13
   |
10 |   source  = "acme/vpc/aws"
   |             ^^^^^^^^^^^^^^ module "vpc"
   |
help: a prerelease is selected only if it is the whole constraint, as in "1.2.0-beta1"
"#]]);

    // Without the mirror nothing is there.
    mirrored.project.edit("main.tf", "~> 2.0", "~> 1.0");
    environment
        .provlock(["verify"])
        .assert_stdout_has("module-not-installed");
}

#[test]
fn a_tag_that_moved_has_two_packages_and_only_a_lock_file_chooses() {
    let mirrored = Mirrored::new();
    let environment = mirrored.environment();
    let old = module_lock_file(environment);
    mirrored.project.move_tag("# moved\n");
    let path = environment.project().join(".modules.lock.hcl");
    fs::remove_file(&path).unwrap();
    environment
        .provlock(["lock", "--modules", "-p", "linux_amd64"])
        .assert_code(0);
    mirrored.fill(&[]).assert_code(0);
    environment.write(".modules.lock.hcl", &old);
    mirrored.run(&["get"]).assert_code(0);
    fs::remove_file(&path).unwrap();
    mirrored
        .run(&["lock", "--modules", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("has 2 packages of git::file://")
        .assert_stderr_has("and no lock file chooses one");
}

#[test]
fn packages_of_no_lock_file_are_pruned() {
    let mirrored = Mirrored::new();
    let foreign = mirrored.mirror.join("contents/notes");
    fs::create_dir(&foreign).unwrap();
    let site = mirrored.package("module \"leaf\"");
    mirrored.project.edit(
        "main.tf",
        "module \"site\" {\n  source = \"https://registry.opentofu.org/site.zip\"\n}\n",
        "",
    );
    mirrored
        .environment()
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    mirrored.fill(&[]).assert_code(0);
    assert!(site.exists(), "nothing is removed without --prune");
    mirrored.fill(&["--prune", "--dry-run"]).matches(str![[r#"
exit code: 0
----- stderr -----
  - [ROOT]/mirror/contents/870ec914714bf07b11a26a15598418e7826c231ffa112496b821b75b1cee9b1f   [SIZE]
  - [ROOT]/mirror/contents/cb8a3eb21a8b78cc65c59bf2e7f0fa3149638213123facd9c05f13fd245f5824   [SIZE]
Would mirror 2 packages of modules in [ROOT]/mirror: 2 already there ([SIZE]), 2 to remove ([SIZE])
"#]]);
    assert!(site.exists());
    mirrored.fill(&["--prune"]).matches(str![[r#"
exit code: 0
----- stderr -----
  - [ROOT]/mirror/contents/870ec914714bf07b11a26a15598418e7826c231ffa112496b821b75b1cee9b1f   [SIZE]
  - [ROOT]/mirror/contents/cb8a3eb21a8b78cc65c59bf2e7f0fa3149638213123facd9c05f13fd245f5824   [SIZE]
Mirrored 2 packages of modules in [ROOT]/mirror: 2 already there ([SIZE]), 2 removed ([SIZE])
"#]]);
    assert!(!site.exists() && foreign.exists());
    assert_eq!(mirrored.index()["packages"].as_array().unwrap().len(), 2);
    mirrored.fill(&["--prune"]).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 2 packages of modules in [ROOT]/mirror ([SIZE])
"#]]);

    // After an error nothing is removed.
    mirrored
        .environment()
        .write(".modules.lock.hcl", "module {");
    mirrored
        .fill(&["--prune"])
        .assert_code(2)
        .assert_stderr_has("nothing is removed from the mirror, because of the errors");
    assert_eq!(mirrored.index()["packages"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_that_was_killed_is_continued() {
    let mirrored = Mirrored::new();
    let unfinished = mirrored.mirror.join("unfinished");
    fs::create_dir_all(unfinished.join("a/package")).unwrap();
    fs::write(unfinished.join("a/package/main.tf"), "half").unwrap();
    fs::remove_file(mirrored.mirror.join("index.json")).unwrap();
    fs::remove_dir_all(mirrored.package("# leaf")).unwrap();
    mirrored.fill(&[]).matches(str![[r#"
exit code: 0
----- stderr -----
  + https://registry.opentofu.org/leaf.zip   [SIZE]
Mirrored 4 packages of modules in [ROOT]/mirror: 1 added ([SIZE]), 3 already there ([SIZE])
"#]]);
    assert!(!unfinished.join("a").exists());
    mirrored.run(&["get"]).assert_code(0);
}

#[test]
fn every_root_module_below_is_mirrored_once() {
    let mirrored = Mirrored::new();
    let environment = mirrored.environment();
    for file in ["main.tf", ".terraform.lock.hcl", ".modules.lock.hcl"] {
        environment.write(format!("other/{file}"), environment.read(file));
    }
    environment.write("without/main.tf", "locals {}\n");
    fs::remove_dir_all(&mirrored.mirror).unwrap();
    let output = mirrored.shown(mirrored.fill(&["-r"]));
    output.matches(str![[r#"
exit code: 0
----- stderr -----
  + git::file://[ROOT]/modules.git?ref=[COMMIT]   [SIZE]
  + https://registry.opentofu.org/leaf.zip                                                               [SIZE]
  + https://registry.opentofu.org/site.zip                                                               [SIZE]
  + registry.opentofu.org/acme/vpc/aws 1.2.0                                                             [SIZE]
Mirrored 4 packages of modules in [ROOT]/mirror: 4 added ([SIZE])
"#]]);
    mirrored.fill(&["without"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[module-not-installed]: without has no .modules.lock.hcl
help: make one with provlock -C without lock --modules
"#]]);
}

#[test]
fn what_a_mirror_of_modules_cannot_do_is_refused() {
    let mirrored = Mirrored::new();
    let environment = mirrored.environment();
    mirrored.run(&["get", "--with-git"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: a mirror of modules contains no git repositories
help: run the command without --with-git
"#]]);
    environment
        .provlock([
            "mirror",
            "--modules",
            "oci://ghcr.io/acme/{namespace}/{type}",
        ])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: modules can be mirrored in a directory only, not in an OCI registry
help: name a directory, and copy or serve it
"#]]);
    mirrored
        .run(&["upgrade", "--modules", "-p", "linux_amd64"])
        .assert_code(2);
    mirrored
        .run(&["lock", "--no-fetch-modules"])
        .assert_code(2)
        .assert_stderr_has("cannot be used with");
    mirrored
        .run(&["mirror", "elsewhere"])
        .assert_code(2)
        .assert_stderr_has("--modules");
    fs::remove_file(mirrored.mirror.join("index.json")).unwrap();
    fs::rename(
        mirrored.mirror.join("contents"),
        mirrored.mirror.join("else"),
    )
    .unwrap();
    symlink("else", mirrored.mirror.join("contents")).unwrap();
    mirrored
        .fill(&[])
        .assert_code(2)
        .assert_stderr_has("is a link, so no mirror is filled there");
}

/// A change of a mirror by an attacker.
type Attack = (&'static str, fn(&Mirrored));

/// Changes of a package that a lock file records.
const ALTERED: [Attack; 11] = [
    ("a changed file", |mirrored| {
        fs::write(mirrored.package("# vpc").join("main.tf"), "# evil\n").unwrap();
    }),
    ("an added file", |mirrored| {
        fs::write(mirrored.package("# vpc").join("evil.tf"), "# evil\n").unwrap();
    }),
    ("a removed file", |mirrored| {
        fs::remove_file(mirrored.package("# vpc").join("files/motd")).unwrap();
    }),
    ("a file that is half-written", |mirrored| {
        fs::write(mirrored.package("# vpc").join("files/motd"), "Wel").unwrap();
    }),
    ("an empty package", |mirrored| {
        let package = mirrored.package("# vpc");
        fs::remove_dir_all(&package).unwrap();
        fs::create_dir(&package).unwrap();
    }),
    ("a link to a file of the machine", |mirrored| {
        let file = mirrored.package("# vpc").join("files/motd");
        fs::remove_file(&file).unwrap();
        symlink("/etc/hosts", file).unwrap();
    }),
    (
        "a link out of the package to a copy of the file",
        |mirrored| {
            let file = mirrored.package("# vpc").join("files/motd");
            fs::rename(&file, mirrored.mirror.join("motd")).unwrap();
            symlink("../../../motd", file).unwrap();
        },
    ),
    ("a link to the package in its place", |mirrored| {
        let package = mirrored.package("# vpc");
        let moved = mirrored.mirror.join("moved");
        fs::rename(&package, &moved).unwrap();
        symlink(moved, package).unwrap();
    }),
    ("the package of another module in its place", |mirrored| {
        let package = mirrored.package("# vpc");
        fs::remove_dir_all(&package).unwrap();
        fs::rename(mirrored.package("# leaf"), &package).unwrap();
    }),
    ("the packages of two modules exchanged", |mirrored| {
        let package = mirrored.package("# vpc");
        let other = mirrored.package("# leaf");
        let aside = mirrored.mirror.join("aside");
        fs::rename(&package, &aside).unwrap();
        fs::rename(&other, &package).unwrap();
        fs::rename(&aside, &other).unwrap();
    }),
    ("a file in the place of the package", |mirrored| {
        let package = mirrored.package("# vpc");
        fs::remove_dir_all(&package).unwrap();
        fs::write(package, "# evil\n").unwrap();
    }),
];

#[test]
fn an_altered_package_is_refused_and_replaced() {
    for (name, attack) in ALTERED {
        let mirrored = Mirrored::new();
        attack(&mirrored);
        let output = mirrored.run(&["get"]);
        output
            .assert_code(2)
            .assert_stderr_has("error[module-replaced]: the package of ")
            .assert_stderr_has("was altered, or is not complete");
        assert!(!mirrored.has_installed(), "{name}");
        mirrored
            .run(&["lock", "-p", "linux_amd64"])
            .assert_code(2)
            .assert_stderr_has("error[module-replaced]: ");
        let output = mirrored.run(&["verify", "--json"]);
        assert_ne!(output.code, Some(0), "{name}: {output}");
        assert!(
            output.stdout.contains("module-replaced"),
            "{name}: {output}"
        );

        // Filling the mirror again repairs it.
        mirrored
            .fill(&[])
            .assert_code(0)
            .assert_stderr_has("its directory had different files");
        mirrored.run(&["get"]).assert_code(0);
    }
    survived("a mirror of modules with an altered package", ALTERED.len());
}

#[test]
fn an_altered_index_is_refused() {
    let attacks: [Attack; 7] = [
        ("no index", |mirrored| {
            fs::remove_file(mirrored.mirror.join("index.json")).unwrap();
        }),
        ("half of it", |mirrored| {
            let text = mirrored.index().to_string();
            fs::write(mirrored.mirror.join("index.json"), &text[..text.len() / 2]).unwrap();
        }),
        ("a link", |mirrored| {
            let index = mirrored.mirror.join("index.json");
            fs::rename(&index, mirrored.mirror.join("moved")).unwrap();
            symlink("moved", index).unwrap();
        }),
        ("a directory", |mirrored| {
            let index = mirrored.mirror.join("index.json");
            fs::remove_file(&index).unwrap();
            fs::create_dir(index).unwrap();
        }),
        ("another format", |mirrored| {
            let mut index = mirrored.index();
            index["format"] = 2.into();
            mirrored.write_index(&index);
        }),
        ("a path in place of a hash", |mirrored| {
            let mut index = mirrored.index();
            index["packages"][0]["h1"] = "h1:../../../etc".into();
            mirrored.write_index(&index);
        }),
        ("too long", |mirrored| {
            let spaces = " ".repeat(17 << 20);
            let text = format!("{}{spaces}", mirrored.index());
            fs::write(mirrored.mirror.join("index.json"), text).unwrap();
        }),
    ];
    for (name, attack) in attacks {
        let mirrored = Mirrored::new();
        attack(&mirrored);
        mirrored
            .run(&["get"])
            .assert_code(2)
            .assert_stderr_has("index");
        assert!(!mirrored.has_installed(), "{name}");
        mirrored
            .run(&["lock", "--modules", "-p", "linux_amd64"])
            .assert_code(2);
    }
    survived("a mirror of modules with an altered index", attacks.len());
}

/// The entry of the index for a source.
fn entry<'a>(index: &'a mut Value, source: &str) -> &'a mut Value {
    let mut packages = index["packages"].as_array_mut().unwrap().iter_mut();
    packages
        .find(|entry| entry["source"].as_str().unwrap().contains(source))
        .unwrap()
}

#[test]
fn an_index_cannot_give_a_call_the_package_of_a_different_source() {
    let attacks: [fn(&mut Value, &str); 6] = [
        // The address of a different repository.
        |index, _| {
            entry(index, "git::")["package"] =
                "git::https://evil.test/a.git?ref=5632352e8042c13b2da684ad5895525f2aeb0f98".into();
        },
        |index, _| entry(index, "git::")["package"] = "https://evil.test/a.zip".into(),
        |index, commit| {
            let package = &mut entry(index, "git::")["package"];
            *package = package.as_str().unwrap().replace(commit, "main").into();
        },
        |index, _| {
            entry(index, "vpc/aws")["package"] =
                "registry::registry.opentofu.org/evil/vpc/aws@1.2.0".into();
        },
        |index, _| entry(index, "vpc/aws")["version"] = "9.9.9".into(),
        |index, _| entry(index, "vpc/aws")["package"] = "git::file:///etc".into(),
    ];
    for (number, attack) in attacks.iter().enumerate() {
        let mirrored = Mirrored::new();
        let environment = mirrored.environment();
        let mut index = mirrored.index();
        attack(&mut index, &mirrored.commit);
        mirrored.write_index(&index);
        // The index does not matter for locked modules.
        mirrored.run(&["get"]).assert_code(0);
        fs::remove_file(environment.project().join(".modules.lock.hcl")).unwrap();
        let output = mirrored.run(&["lock", "--modules", "-p", "linux_amd64"]);
        assert_eq!(output.code, Some(2), "{number}: {output}");
        assert!(!environment.project().join(".modules.lock.hcl").exists());
    }
    survived(
        "an index of a mirror that names a foreign package",
        attacks.len(),
    );
}

#[test]
fn what_a_package_has_besides_its_files_is_not_installed() {
    let mirrored = Mirrored::new();
    let package = mirrored.package("# vpc");
    fs::create_dir(package.join(".git")).unwrap();
    fs::write(package.join(".git/config"), "[core]\nfsmonitor = evil\n").unwrap();
    mirrored.run(&["get"]).assert_code(0);
    let installed = mirrored
        .environment()
        .project()
        .join(".terraform/modules/vpc");
    assert!(installed.join("main.tf").exists() && !installed.join(".git").exists());
}

#[test]
fn a_mirror_that_other_users_can_write_to_can_be_read() {
    let mirrored = Mirrored::new();
    mirrored.leave_the_network();
    open_to_all(&mirrored.mirror);
    mirrored.run(&["verify"]).assert_code(0);
    mirrored.run(&["get"]).assert_code(0);
    let index = mirrored.mirror.join("index.json");
    let mode = fs::metadata(index).unwrap().permissions().mode();
    assert_eq!(mode & 0o444, 0o444, "{mode:o}");
}

/// Lets all users write to a directory and everything in it.
fn open_to_all(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            open_to_all(&entry.path());
        }
    }
}

#[test]
fn a_pull_request_cannot_bring_the_mirror_that_checks_it() {
    let mirrored = Mirrored::new();
    let environment = mirrored.environment();
    let inside = environment.project().join("mirror");
    environment
        .provlock(["mirror", "--modules", "mirror"])
        .assert_code(0);
    environment.git_init(".");
    environment.commit_all(".");
    let arguments = [
        "verify",
        "--allow-outside",
        "--base",
        "HEAD",
        "--modules-mirror",
        "mirror",
    ];
    environment
        .provlock(arguments)
        .assert_code(0)
        .assert_stderr_has("OK: 4 modules locked as called");
    fs::write(inside.join("index.json"), "{}").unwrap();
    environment
        .provlock(arguments)
        .assert_code(2)
        .assert_stderr_has("the mirror mirror differs from the base");
}
