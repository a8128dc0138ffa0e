//! Modules that are installed or in the cache, compared with the lock file.

use std::path::Path;

use super::modules::Project;
use super::{NOTHING, found};
use crate::modules::push_tag;
use provlock_test::{str, survived};

#[test]
fn installed_modules_are_compared_with_locked_ones() {
    let project = Project::new();
    assert_eq!(
        project.found(&["--installed"]),
        ["warning module-not-installed"]
    );
    let site = project.install("site");
    assert_eq!(project.found(&["--installed"]), NOTHING);
    // Both programs leave hidden names out of all copies but one.
    std::fs::remove_file(site.join(".keep")).unwrap();
    assert_eq!(project.found(&["--installed"]), NOTHING);
    project.environment.write(site.join("evil.tf"), "");
    assert_eq!(project.found(&["--installed"]), ["error module-differs"]);
    let output =
        project
            .environment
            .provlock(["verify", "--installed", "--allow", "single-platform"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[module-differs]: module "site" is not installed as locked: .terraform/modules/site has "evil.tf", which the package does not have
  --> .modules.lock.hcl:12:8
   |
12 | module "site" {
   |        ^^^^^^
   |
   = locked hash: h1:C/4IoAw7zl/iQ3Yav/ouJn3mdsc9rSfJegrYggVThfk=
   = installed hash: h1:wwHn1tWk12AR+5iT+HFofMP0SC8MDdj9n9A96uzytPY=
help: install what is locked with provlock get

----- stderr -----
1 error in .modules.lock.hcl
"#]]);
    assert_eq!(
        project.found(&["--installed", "-r"]),
        ["error module-differs"]
    );
    project.environment.provlock(["get"]).assert_code(0);
    let attempts: [&dyn Fn(); 6] = [
        &|| {
            std::fs::remove_dir_all(&site)
                .and_then(|()| std::fs::create_dir(&site))
                .unwrap();
        },
        &|| {
            std::fs::rename(&site, site.with_extension("moved")).unwrap();
            std::os::unix::fs::symlink(site.with_extension("moved"), &site).unwrap();
        },
        &|| {
            project.edit(
                ".terraform/modules/modules.json",
                "modules/site\"",
                "modules/vpc\"",
            );
        },
        &|| {
            project.edit(
                ".terraform/modules/modules.json",
                "modules/network/network\"",
                "modules/network\"",
            );
        },
        &|| std::fs::write(site.join("files/motd"), "Welcome!\n").unwrap(),
        &|| {
            drop(
                project
                    .environment
                    .write(site.join("files/.git/hooks/evil"), ""),
            );
        },
    ];
    for (number, attempt) in attempts.iter().enumerate() {
        attempt();
        assert_eq!(
            project.found(&["--installed"]),
            ["error module-differs"],
            "{number}"
        );
        let _ = std::fs::remove_file(&site);
        project.environment.provlock(["get"]).assert_code(0);
        assert_eq!(project.found(&["--installed"]), NOTHING, "{number}");
    }
    let list = project.environment.read(".terraform/modules/modules.json");
    let more = r#"{"Key":"evil","Source":"./evil","Dir":"evil"}]}"#;
    project.environment.write(
        ".terraform/modules/modules.json",
        list.replace("]}", &format!(",{more}")),
    );
    assert_eq!(
        project.found(&["--installed"]),
        ["warning module-not-compared"],
        "no call has the record"
    );
    survived(
        "an installed module that differs from the locked one",
        attempts.len() + 1,
    );
}

/// Replaces the commit that is locked: its name leads to other files.
fn forge_commit(project: &Project, network: &Path) {
    let commit = project.environment.git(network, ["rev-parse", "HEAD"]);
    project
        .environment
        .git(network, ["commit", "--quiet", "--all", "--message=evil"]);
    let forged = project.environment.git(network, ["rev-parse", "HEAD"]);
    let object = |id: &str| {
        network
            .join(".git/objects")
            .join(&id[..2])
            .join(id[2..].trim())
    };
    let content = std::fs::read(object(&forged)).unwrap();
    let _ = std::fs::remove_dir_all(network.join(".git/objects/pack"));
    std::fs::create_dir_all(object(&commit).parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(object(&commit));
    std::fs::write(object(&commit), content).unwrap();
}

#[test]
fn the_git_directory_of_an_installed_module_is_not_trusted() {
    let project = Project::new();
    let network = project.install("network");
    let main = network.join("network/main.tf");
    let good = project.environment.read(&main);
    std::fs::remove_dir_all(&network).unwrap();
    let repository = project.environment.root().join("modules.git");
    let clone = || {
        let _ = std::fs::remove_dir_all(&network);
        let (from, to) = (
            repository.display().to_string(),
            network.display().to_string(),
        );
        project
            .environment
            .git(project.environment.root(), ["clone", "--quiet", &from, &to]);
    };
    // On another machine there is no cache to compare with.
    let found = || found(&project.environment, &["--installed", "--no-cache"]);
    let differs = || found().contains(&"error module-differs".to_owned());
    let git = |arguments: &[&str]| drop(project.environment.git(&network, arguments));
    clone();
    assert!(!differs(), "{:?}", found());
    std::fs::write(&main, good.replace('\n', "\r\n")).unwrap();
    assert!(!differs(), "git may write other line ends: {:?}", found());

    let evil = good.replace("acme", "evil");
    let ran = project.environment.root().join("ran");
    let program = project
        .environment
        .write("run.sh", format!("#!/bin/sh\necho >> {}\n", ran.display()));
    let attempts: [&dyn Fn(); 7] = [
        &|| {},
        &|| git(&["update-index", "--assume-unchanged", "network/main.tf"]),
        &|| git(&["update-index", "--skip-worktree", "network/main.tf"]),
        &|| {
            git(&["commit", "--quiet", "--all", "--message=evil"]);
            git(&["replace", "HEAD~1", "HEAD"]);
            git(&["update-ref", "--no-deref", "HEAD", "HEAD~1"]);
        },
        &|| git(&["config", "core.worktree", "/nowhere"]),
        &|| {
            git(&["config", "core.fsmonitor", &program.display().to_string()]);
            git(&["config", "filter.x.clean", &program.display().to_string()]);
            std::fs::write(network.join(".git/info/attributes"), "* filter=x\n").unwrap();
        },
        &|| forge_commit(&project, &network),
    ];
    for (number, attempt) in attempts.iter().enumerate() {
        clone();
        std::fs::write(&main, &evil).unwrap();
        attempt();
        std::fs::write(&main, &evil).unwrap();
        assert!(differs(), "{number}: {:?}", found());
        assert!(!ran.exists(), "{number}: a program of the repository ran");
    }
    survived("a forged .git of an installed module", attempts.len());
}

#[test]
fn a_forged_entry_of_the_cache_is_not_installed() {
    let project = Project::new();
    let cache = project.environment.provlock(["cache", "dir"]).stdout;
    let contents = std::path::Path::new(cache.trim()).join("provlock-modules-v2/contents");
    let mut forged = 0;
    for entry in std::fs::read_dir(contents).unwrap().flatten() {
        let main = entry.path().join("main.tf");
        if main.exists() {
            std::fs::remove_file(&main).unwrap();
            std::fs::write(&main, "# forged\n").unwrap();
            forged += 1;
        }
    }
    assert!(forged >= 3, "{forged}");
    project.environment.provlock(["get"]).assert_code(0);
    let modules = project.environment.project().join(".terraform/modules");
    for key in ["site", "site.leaf", "vpc"] {
        assert!(
            !project
                .environment
                .read(modules.join(key).join("main.tf"))
                .contains("forged"),
            "{key}"
        );
    }
    assert_eq!(project.found(&["--installed"]), NOTHING);
    survived("a forged entry in the cache of module packages", forged);
}

/// Files of a repository that git changes at checkout: a pointer of Git LFS, an encoding, `$Id$`.
#[test]
fn files_that_git_changes_at_checkout_are_locked_as_they_are_in_the_commit() {
    let mut project = Project::new();
    let root = project.environment.root();
    let (work, ran) = (root.join("work"), root.join("ran"));
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt working-tree-encoding=UTF-16LE\n\
                      *.tf ident eol=crlf\nREADME export-ignore export-subst\n";
    // `printf 'the model\n' | sha256sum`
    let pointer = "version https://git-lfs.github.com/spec/v1\n\
                   oid sha256:7276fd6245992f4813a511df25c33edb9893e95194b401c231ccbd4ea362a47f\nsize 10\n";
    project.environment.write(work.join("model.bin"), pointer);
    project
        .environment
        .write(work.join("notes.txt"), "n\0o\0t\0e\0\n\0");
    project
        .environment
        .write(work.join(".gitattributes"), attributes);
    project.environment.commit_all(&work);
    push_tag(&project.environment, "v2.0.0");
    project.edit("main.tf", "ref=v1.0.0", "ref=v2.0.0");
    project.environment.set("GIT_CONFIG_COUNT", "1");
    project
        .environment
        .set("GIT_CONFIG_KEY_0", "filter.lfs.smudge");
    let smudge = format!("echo >> {}; cat > /dev/null; echo the model", ran.display());
    project.environment.set("GIT_CONFIG_VALUE_0", smudge);

    project
        .environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let network = project.install("network");
    assert_eq!(project.environment.read(network.join("model.bin")), pointer);
    assert_eq!(
        project.environment.read(network.join("notes.txt")),
        "note\n"
    );
    assert_eq!(project.found(&["--installed"]), NOTHING);
    project
        .environment
        .provlock(["get", "--check", "--no-cache"])
        .assert_code(0);
    assert!(!ran.exists(), "a filter ran");

    // What `init` installs: git checks the files out.
    std::fs::remove_dir_all(&network).unwrap();
    let repository = root.join("modules.git").display().to_string();
    project.environment.git(
        &root,
        [
            "clone",
            "--quiet",
            &repository,
            &network.display().to_string(),
        ],
    );
    assert!(ran.exists());
    assert_eq!(
        project.environment.read(network.join("model.bin")),
        "the model\n"
    );
    assert_eq!(
        project.found(&["--installed"]),
        ["warning module-not-compared"]
    );
    let output =
        project
            .environment
            .provlock(["verify", "--installed", "--allow", "single-platform"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[module-not-compared]: module "network" is compared in part: "notes.txt" in .terraform/modules/network was not checked
 --> .modules.lock.hcl:4:8
  |
4 | module "network" {
  |        ^^^^^^^^^
  |
  = a filter or an encoding in .gitattributes lets git change such a file when init checks it out
help: install the files of the commit with provlock get

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: installed packages of 1 provider (not installed, or no h1 is locked)
1 warning in .modules.lock.hcl
"#]]);
    for (name, text) in [
        ("model.bin", "another model\n"),
        ("network/main.tf", "# evil\n"),
        ("network/README", "changed\n"),
        ("evil.bin", "added\n"),
    ] {
        let path = network.join(name);
        let right = std::fs::read(&path).ok();
        std::fs::write(&path, text).unwrap();
        assert_eq!(
            project.found(&["--installed"]),
            ["error module-differs"],
            "{name}"
        );
        let _ = right.map_or_else(
            || std::fs::remove_file(&path),
            |right| std::fs::write(&path, right),
        );
    }
    assert_eq!(
        project.found(&["--installed"]),
        ["warning module-not-compared"]
    );
    survived("an installed module that differs from the locked one", 4);
}
