//! Source of the tables of attacks in docs/evidence.md: tests report how many cases they have
//! tried.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::json;

/// Says that the program has survived so many cases of an attack or a fault, to be called when all
/// of them have been checked. An attack that several tests try counts once, with the sum of their
/// cases.
///
/// A line of JSON with the name of the test is added to the file that `PROVLOCK_THREATS` names, if
/// it is set; `.ci/threats` makes the tables of it.
pub fn survived(attack: &str, cases: usize) {
    let Some(path) = std::env::var_os("PROVLOCK_THREATS") else {
        return;
    };
    let thread = std::thread::current();
    let test = thread
        .name()
        .expect("tests run on threads that have their names");
    let line = format!(
        "{}\n",
        json!({ "attack": attack, "cases": cases, "test": test })
    );
    // In one piece, because tests run in parallel.
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
}
