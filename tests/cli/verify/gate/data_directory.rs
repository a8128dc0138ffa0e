//! Data directories of other names than `.terraform` (`TF_DATA_DIR`) that git tracks.

use super::gate::Gate;
use provlock_test::str;

const MANIFEST: &str = "{\"Modules\":[{\"Key\":\"m\",\"Source\":\"https://example.com/m.zip\",\"Dir\":\"DIR/modules/m\"}]}";
/// A directory with installed modules, the value of `TF_DATA_DIR`, and whether there is a finding.
type Case = (&'static str, fn(&Gate) -> String, bool);

const FLAGS: [&str; 3] = ["-r", "--allow", "hash-not-checked"];

/// A root module `live` that calls a module which is not installed, in a run with `TF_DATA_DIR`.
fn gate(data_directory: impl FnOnce(&Gate) -> String) -> Gate {
    let mut gate = Gate::with(|gate| {
        gate.write(
            "live/call.tf",
            "module \"m\" {\n  source = \"https://example.com/m.zip\"\n}\n",
        );
    });
    let data_directory = data_directory(&gate);
    gate.0.environment.set("TF_DATA_DIR", data_directory);
    gate
}

/// Installs an empty module in a data directory.
fn install(gate: &Gate, directory: &str, name: &str) {
    gate.write(
        &format!("{directory}/modules/modules.json"),
        MANIFEST.replace("DIR", name),
    );
    gate.write(&format!("{directory}/modules/m/main.tf"), "");
}

#[test]
fn modules_that_a_change_installs_are_an_error() {
    let gate = gate(|_| ".tfdata".to_owned());
    assert_eq!(gate.judge(&FLAGS), ["module-not-installed"]);
    install(&gate, "live/.tfdata", ".tfdata");
    gate.commit();
    gate.run(&FLAGS).matches(str![[r#"
exit code: 1
----- stdout -----
error[tracked-data-directory]: git tracks 2 files such as live/.tfdata/modules/m/main.tf, which init would trust as installed by itself
help: remove the directory of TF_DATA_DIR from git, and add it to .gitignore; if this is intended, an owner allows it with --warn tracked-data-directory

----- stderr -----
1 error in live/.terraform.lock.hcl
3 root modules: 1 with errors, 1 OK, 1 excluded by provlock.toml
1 changed module: needs no lock file
"#]]);
    let new = ["--new", "-r", "--allow", "module-not-installed"];
    assert_eq!(gate.judge(&new), ["tracked-data-directory"]);
    gate.git(&["branch", "--force", "main"]);
    assert_eq!(
        gate.judge(&new),
        [] as [&str; 0],
        "the base has the same files"
    );
    gate.write("live/.tfdata/modules/m/main.tf", "locals {}\n");
    assert_eq!(gate.judge(&new), ["tracked-data-directory"]);
    gate.reset();
    gate.write("live/.tfdata/environment", "evil");
    assert_eq!(gate.judge(&new), ["tracked-data-directory"]);
}

#[test]
fn the_data_directory_may_be_anywhere_in_the_repository() {
    let cases: [Case; 6] = [
        ("live/a/b", |_| "a/./b".to_owned(), true),
        ("data", |_| "../data".to_owned(), true),
        (
            "shared",
            |gate| gate.project().join("shared").display().to_string(),
            true,
        ),
        ("live/.terraform", |_| "elsewhere".to_owned(), true),
        ("live/other", |_| "elsewhere".to_owned(), false),
        (
            "live/elsewhere",
            |gate| gate.0.environment.home().display().to_string(),
            false,
        ),
    ];
    for (directory, value, is_found) in cases {
        let gate = gate(value);
        install(&gate, directory, ".");
        let found = gate.errors(&FLAGS);
        assert_eq!(
            found.contains(&"tracked-data-directory".to_owned()),
            is_found,
            "{directory}: {found:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_does_not_hide_tracked_data() {
    let attempts: [fn(&Gate); 3] = [
        |gate| gate.link("../real", "live/.tfdata"),
        |gate| {
            gate.write(".gitignore", ".tfdata\n");
            gate.link("../real", "live/.tfdata");
        },
        |gate| {
            std::fs::create_dir(gate.project().join("live/.tfdata")).unwrap();
            gate.link("../../real/modules", "live/.tfdata/modules");
        },
    ];
    for attempt in attempts {
        let gate = gate(|_| ".tfdata".to_owned());
        install(&gate, "real", "../real");
        attempt(&gate);
        assert!(
            gate.errors(&FLAGS)
                .contains(&"tracked-data-directory".to_owned())
        );
    }
}
