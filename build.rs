//! Tells the program the commit and the target that it is built from, which `provlock --version`
//! shows.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PROVLOCK_COMMIT");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let build = match commit() {
        Some(commit) => format!("{} {target}", commit.get(..9).unwrap_or(&commit)),
        None => target,
    };
    println!("cargo::rustc-env=PROVLOCK_BUILD={build}");
}

/// The commit that is built: `PROVLOCK_COMMIT` if the packager sets it, else the commit that cargo
/// noted in the package of a registry, else `HEAD` of the repository around. A debug build has
/// none, because each commit would compile it again.
fn commit() -> Option<String> {
    let named = env::var("PROVLOCK_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    named
        .or_else(packaged)
        .or_else(|| if is_release { checked_out() } else { None })
}

/// The commit in `.cargo_vcs_info.json`
/// (<https://doc.rust-lang.org/cargo/commands/cargo-package.html#cargo_vcs_infojson-format>).
fn packaged() -> Option<String> {
    let note = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    note.split('"')
        .skip_while(|part| *part != "sha1")
        .nth(2)
        .map(str::to_owned)
}

/// `HEAD`, if this directory is the top of a repository and not just somewhere in another
/// project's.
fn checked_out() -> Option<String> {
    if !Path::new(".git").exists() {
        return None;
    }
    // The log of HEAD changes with each commit and each checkout, while HEAD itself mostly names a
    // branch.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--verify", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
