//! Sources of modules in which programs find different hosts: a person or another program reads
//! `good.test`, and git or a web client requests `evil.test`.

use super::gate::Gate;
use super::gate_bypass::all_are_errors;
use super::{H1, ZH};

const ARCHIVE: &str = "https://good.test/net.zip";
const REPOSITORY: &str = "git::https://good.test/net.git?ref=v1.0.0";
pub(in crate::verify) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn call(name: &str, source: &str) -> String {
    format!(
        "module \"{name}\" {{\n  source = \"{}\"\n}}\n",
        source.replace('\\', "\\\\")
    )
}

pub(in crate::verify) fn locked(name: &str, source: &str, package: &str) -> String {
    let [source, package] = [source, package].map(|text| text.replace('\\', "\\\\"));
    format!(
        "module \"{name}\" {{\n  source  = \"{source}\"\n  package = \"{package}\"\n  hashes = [\n    \"{H1}\",\n    \
         \"{ZH}\",\n  ]\n}}\n"
    )
}

/// A root module with two locked modules.
fn two_modules(gate: &Gate) {
    gate.write(
        "live/net.tf",
        call("archive", ARCHIVE) + &call("repository", REPOSITORY),
    );
    let repository = locked(
        "repository",
        REPOSITORY,
        &REPOSITORY.replace("v1.0.0", COMMIT),
    );
    gate.write(
        "live/.modules.lock.hcl",
        locked("archive", ARCHIVE, ARCHIVE) + &repository,
    );
}

/// Writes another source, and leaves the lock file as it is.
fn change(gate: &Gate, from: &str, to: &str) {
    gate.write(
        "live/net.tf",
        gate.read("live/net.tf")
            .replace(from, &to.replace('\\', "\\\\")),
    );
}

/// Adds a call with an entry in the lock file.
fn add(gate: &Gate, source: &str, recorded: &str) {
    gate.write("live/more.tf", call("more", source));
    let package = recorded.replace("v1.0.0", COMMIT);
    let entries = gate.read("live/.modules.lock.hcl");
    gate.write(
        "live/.modules.lock.hcl",
        entries.replacen(
            "module",
            &(locked("more", recorded, &package) + "module"),
            1,
        ),
    );
}

#[test]
fn a_locked_source_that_leads_to_another_host_is_an_error() {
    all_are_errors(
        "a pull request hides the host of a locked module",
        two_modules,
        &[
            (
                "in front of a #",
                |gate| change(gate, ARCHIVE, "https://evil.test#@good.test/net.zip"),
                "not-decided",
            ),
            (
                "with a port",
                |gate| change(gate, ARCHIVE, "https://evil.test:443#@good.test/net.zip"),
                "not-decided",
            ),
            (
                "with a login",
                |gate| change(gate, ARCHIVE, "https://a:b@evil.test#@good.test/net.zip"),
                "not-decided",
            ),
            (
                "in front of a \\",
                |gate| change(gate, ARCHIVE, "https://evil.test\\@good.test/net.zip"),
                "not-decided",
            ),
            (
                "of a repository",
                |gate| {
                    change(
                        gate,
                        REPOSITORY,
                        "git::https://evil.test#@good.test/net.git?ref=v1.0.0",
                    );
                },
                "not-decided",
            ),
        ],
    );
}

#[test]
fn an_added_source_that_leads_to_another_host_is_an_error() {
    all_are_errors(
        "a pull request hides the host of a locked module",
        two_modules,
        &[
            (
                "the entry has the other host",
                |gate| {
                    add(
                        gate,
                        "git::https://evil.test#@good.test/net.git?ref=v1.0.0",
                        REPOSITORY,
                    );
                },
                "module-lock-stale",
            ),
            (
                "the entry has the same text",
                |gate| {
                    let source = "git::https://evil.test#@good.test/net.git?ref=v1.0.0";
                    add(gate, source, source);
                },
                "module-package-foreign",
            ),
            (
                "the entry of an archive has the same text",
                |gate| {
                    let source = "https://evil.test\\@good.test/net.zip";
                    add(gate, source, source);
                },
                "module-package-foreign",
            ),
        ],
    );
}
