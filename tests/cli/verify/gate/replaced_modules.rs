//! Entries of `.modules.lock.hcl` that a pull request adds for a source that the base locks to a
//! different package.

use provlock_test::survived;

use super::H1;
use super::gate::{COMMIT, Gate, OTHER_H1, locked};

const SOURCE: &str = "git::https://github.com/acme/net.git?ref=v1.0.0";
const FLAGS: [&str; 3] = ["-r", "--allow", "module-not-installed"];

fn call(name: &str, source: &str) -> String {
    format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n")
}

/// A root module in `directory` that calls and locks one module, at this commit.
fn root(gate: &Gate, directory: &str, name: &str, source: &str, commit: &str) {
    let package = format!("git::https://github.com/acme/net.git?ref={commit}");
    gate.write(&format!("{directory}/call.tf"), call(name, source));
    gate.write(
        &format!("{directory}/.modules.lock.hcl"),
        locked(name, source, &package),
    );
}

fn gate(source: &str) -> Gate {
    Gate::with(|gate| root(gate, "live", "net", source, COMMIT))
}

#[test]
fn a_source_has_the_same_package_under_every_name() {
    let (gate, other) = (gate(SOURCE), "f".repeat(40));
    root(&gate, "live", "renamed", SOURCE, COMMIT);
    assert_eq!(
        gate.judge(&FLAGS),
        [] as [&str; 0],
        "it has the same package"
    );
    root(&gate, "live", "renamed", SOURCE, &other);
    assert_eq!(gate.errors(&FLAGS), ["hashes-replaced"]);
    root(&gate, "live", "net", SOURCE, COMMIT);
    root(&gate, "other", "net", SOURCE, &other);
    assert_eq!(
        gate.errors(&FLAGS),
        ["hashes-replaced"],
        "in a different root module"
    );
    root(&gate, "other", "net", SOURCE, COMMIT);
    let lock_file = gate.read("other/.modules.lock.hcl");
    gate.write("other/.modules.lock.hcl", lock_file.replace(H1, OTHER_H1));
    assert_eq!(
        gate.errors(&FLAGS),
        ["hashes-replaced"],
        "with a different hash"
    );
    root(
        &gate,
        "other",
        "net",
        &SOURCE.replace("v1.0.0", "v1.1.0"),
        &other,
    );
    assert_eq!(
        gate.errors(&FLAGS),
        [] as [&str; 0],
        "a different tag has a different commit"
    );
    survived(
        "a pull request locks a module under a new name to a different package",
        3,
    );
}

#[test]
fn a_branch_may_move() {
    let branch = SOURCE.replace("v1.0.0", "main");
    let gate = gate(&branch);
    root(&gate, "other", "net", &branch, &"f".repeat(40));
    assert_eq!(gate.errors(&FLAGS), [] as [&str; 0]);
    assert_eq!(gate.judge(&FLAGS), ["hashes-replaced"]);
}
