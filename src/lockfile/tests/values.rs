use super::super::{
    Direction, EntryChange, Locks, Step, VersionMove, canonical_text, detect_dialect, diff,
};
use super::{HEADER, address, locked};
use crate::provider::{Dialect, Hash};

fn one(version: &str, hashes: &[&str]) -> Locks {
    Locks::from([(address("a.b/c/d"), locked(version, "", hashes))])
}

#[test]
fn canonical_text_is_the_text_of_opentofu_and_terraform() {
    let locks = Locks::from([
        (address("zürich.test/a/b"), locked("1.0.0", "", &[])),
        (
            address("a.b-c/aa/x"),
            locked("1.2.3", ">= 1.0.0, < 2.0.0", &["zh:b", "h1:\n", "h1:A"]),
        ),
        (
            address("a.b/zz/x"),
            locked("2.0.0", "", &["h1:${x}%{y}\"\\$\u{200b}é\u{301}\u{e0001}"]),
        ),
    ]);
    let expected = r#"
provider "a.b/zz/x" {
  version = "2.0.0"
  hashes = [
    "h1:$${x}%%{y}\"\\$\u200béX\U000e0001",
  ]
}

provider "a.b-c/aa/x" {
  version     = "1.2.3"
  constraints = ">= 1.0.0, < 2.0.0"
  hashes = [
    "h1:\n",
    "h1:A",
    "zh:b",
  ]
}

provider "zürich.test/a/b" {
  version = "1.0.0"
}
"#;
    assert_eq!(
        canonical_text(&locks, Dialect::Tofu),
        format!("{HEADER}{}", expected.replace('X', "\u{301}"))
    );
    assert_eq!(
        canonical_text(&Locks::new(), Dialect::Terraform),
        HEADER.replace("tofu", "terraform")
    );
}

#[test]
fn dialect_is_detected_from_hosts_then_header() {
    let file = |header: &str, hosts: &[&str]| {
        let blocks = hosts
            .iter()
            .map(|host| format!("provider \"{host}/a/b\" {{\n"));
        detect_dialect(format!("{header}{}", blocks.collect::<String>()).as_bytes())
    };
    let terraform_header = HEADER.replace("tofu", "terraform");
    let (tofu, terraform) = ("registry.opentofu.org", "registry.terraform.io");
    assert_eq!(file("", &[]), None);
    assert_eq!(file("", &["x.example"]), None);
    assert_eq!(file(HEADER, &[]), Some(Dialect::Tofu));
    assert_eq!(
        file(HEADER, &["x.example", terraform]),
        Some(Dialect::Terraform)
    );
    assert_eq!(file(&terraform_header, &[tofu]), Some(Dialect::Tofu));
    assert_eq!(
        file(&terraform_header, &[tofu, terraform]),
        Some(Dialect::Terraform)
    );
    assert_eq!(
        file(&format!("\u{feff}{}", HEADER.replace('\n', "\r\n")), &[]),
        Some(Dialect::Tofu)
    );
    assert_eq!(file("<<<<<<< \n\u{1}{\n", &[tofu]), Some(Dialect::Tofu));
    assert_eq!(file("\u{feff}", &[tofu]), Some(Dialect::Tofu));
    assert_eq!(file(" \r\n\t ", &[tofu]), Some(Dialect::Tofu));
    assert_eq!(
        detect_dialect(format!("\u{ff}provider  \"{tofu}/a/b\"").as_bytes()),
        None
    );
    // Only the first word of a line counts, however often the line contains the word.
    assert_eq!(file("# provider provider ", &[tofu]), None);
    assert_eq!(file(&format!("x = 1 {HEADER}"), &[]), None);
    let commented = format!("/*\n{HEADER}provider \"{terraform}/a/b\" {{\n}}\n*/\n");
    assert_eq!(file(&commented, &[]), None);
    assert_eq!(file(&commented, &[tofu]), Some(Dialect::Tofu));
    assert_eq!(
        file("# /*\n// /*\nx = \"/*\"\n", &[tofu]),
        Some(Dialect::Tofu),
        "no comment begins there"
    );
    assert_eq!(file("/* never closed\n", &[tofu]), None);
}

#[test]
fn differences() {
    let mut old = one("1.0.0", &["h1:a"]);
    let mut new = one("1.1.0", &["h1:a", "zh:b"]);
    let same = locked("1.0.0", "", &[]);
    old.extend([
        (address("x.y/s/same"), same.clone()),
        (address("x.y/r/removed"), same.clone()),
    ]);
    new.extend([
        (address("x.y/s/same"), same.clone()),
        (address("x.y/a/added"), same),
    ]);
    let difference = diff(&old, &new);
    let changes: Vec<_> = difference
        .entries
        .iter()
        .map(|p| (p.address.name.as_str(), p.change))
        .collect();
    let expected = [
        ("d", EntryChange::Changed),
        ("added", EntryChange::Added),
        ("removed", EntryChange::Removed),
        ("same", EntryChange::Unchanged),
    ];
    assert_eq!(changes, expected);
    assert_eq!(difference.changes().count(), 3);
    assert_eq!(diff(&old, &old).changes().count(), 0);
    let added: Vec<_> = difference.entries[0]
        .hashes_added()
        .into_iter()
        .map(Hash::as_str)
        .collect();
    assert_eq!(added, ["zh:b"]);
    assert!(difference.entries[0].hashes_removed().is_empty());
}

#[test]
fn version_moves() {
    use {Direction::*, Step::*};
    let moved =
        |old: &str, new: &str| diff(&one(old, &[]), &one(new, &[])).entries[0].version_move();
    let expected = |direction, step| Some(VersionMove { direction, step });
    assert_eq!(moved("1.0.0", "2.0.0"), expected(Upgrade, Major));
    assert_eq!(moved("1.9.0", "1.10.0"), expected(Upgrade, Minor));
    assert_eq!(moved("1.0.1", "1.0.0"), expected(Downgrade, Patch));
    assert_eq!(moved("1.0.0-rc.1", "1.0.0"), expected(Upgrade, Patch));
    assert_eq!(moved("1.0.0", "1.0.0"), None);
    assert_eq!(
        diff(&Locks::new(), &one("1.0.0", &[])).entries[0].version_move(),
        None
    );
}

#[test]
fn replaced_hashes() {
    let replaced = |old: (&str, &[&str]), new: (&str, &[&str])| {
        diff(&one(old.0, old.1), &one(new.0, new.1)).entries[0].hashes_replaced()
    };
    assert!(replaced(
        ("1.0.0", &["zh:a", "x:1"]),
        ("1.0.0", &["zh:b", "x:1"])
    ));
    assert!(!replaced(("1.0.0", &["zh:a"]), ("1.0.1", &["zh:b"])));
    assert!(!replaced(
        ("1.0.0", &["zh:a", "h1:a"]),
        ("1.0.0", &["zh:b", "h1:a"])
    ));
    assert!(!replaced(("1.0.0", &[]), ("1.0.0", &["zh:b"])));
    assert!(!replaced(("1.0.0", &["x:1"]), ("1.0.0", &["zh:b"])));
    let zh = |old: &[&str], version, new: &[&str]| {
        diff(&one("1.0.0", old), &one(version, new)).entries[0].zh_replaced()
    };
    assert_eq!(
        zh(
            &["zh:a", "zh:b", "h1:a"],
            "1.0.0",
            &["zh:b", "zh:c", "h1:a"]
        ),
        Some(1)
    );
    assert_eq!(zh(&["zh:a"], "1.0.1", &["zh:b"]), None);
    assert_eq!(
        zh(&["zh:a", "h1:a"], "1.0.0", &["zh:a", "zh:b", "h1:b"]),
        None
    );
    assert_eq!(zh(&["zh:a", "zh:b"], "1.0.0", &["zh:a"]), None);
}
