use std::path::Path;

use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::lockfile::{LockFile, Locks, canonical_text, parse};
use crate::provider::ProviderAddress;

/// Reads `aws 5.0.0 [~> 5.0] a b; null 3.2.4 [] c`: name, version, constraints, hashes.
fn locks(text: &str) -> Locks {
    text.split(';')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(entry)
        .collect()
}

fn entry(text: &str) -> (ProviderAddress, Arc<LockedProvider>) {
    let (head, rest) = text.split_once('[').unwrap();
    let (constraints, hashes) = rest.split_once(']').unwrap();
    let (name, version) = head.trim().split_once(' ').unwrap();
    let provider = LockedProvider {
        version: version.parse().unwrap(),
        constraints: constraints.parse().unwrap(),
        hashes: hashes
            .split_whitespace()
            .map(|hash| format!("h1:{hash}").parse().unwrap())
            .collect(),
    };
    (
        ProviderAddress::parse(name, Dialect::Tofu).unwrap(),
        provider.into(),
    )
}

fn conflicts(merged: &Merged) -> Vec<(String, ConflictReason)> {
    merged
        .conflicts
        .iter()
        .map(|conflict| (conflict.address.name.clone(), conflict.reason))
        .collect()
}

/// Merges each base, ours and theirs without a conflict.
#[track_caller]
fn merges(cases: &[[&str; 5]]) {
    for [what, base, ours, theirs, expected] in cases {
        let merged = merge(&locks(base), &locks(ours), &locks(theirs));
        assert_eq!(conflicts(&merged), [], "{what}");
        assert_eq!(merged.locks, locks(expected), "{what}");
    }
}

#[test]
fn entries_and_hashes_that_can_be_merged_are() {
    merges(&[
        [
            "each adds one",
            "",
            "aws 5.0.0 [] a",
            "null 3.0.0 [] b",
            "aws 5.0.0 [] a; null 3.0.0 [] b",
        ],
        [
            "both add the same version",
            "",
            "aws 5.0.0 [] a",
            "aws 5.0.0 [] b",
            "aws 5.0.0 [] a b",
        ],
        [
            "we upgrade",
            "aws 5.0.0 [] a",
            "aws 5.1.0 [] b",
            "aws 5.0.0 [] a",
            "aws 5.1.0 [] b",
        ],
        [
            "they remove",
            "aws 5.0.0 [] a; null 3.0.0 [] b",
            "aws 5.0.0 [] a; null 3.0.0 [] b",
            "aws 5.0.0 [] a",
            "aws 5.0.0 [] a",
        ],
        ["both remove", "aws 5.0.0 [] a", "", "", ""],
        [
            "both upgrade alike",
            "aws 5.0.0 [] a",
            "aws 5.1.0 [] b",
            "aws 5.1.0 [] c",
            "aws 5.1.0 [] b c",
        ],
        [
            "each adds a platform",
            "aws 5.0.0 [] a",
            "aws 5.0.0 [] a b",
            "aws 5.0.0 [] a c",
            "aws 5.0.0 [] a b c",
        ],
        [
            "a hash that we removed stays away",
            "aws 5.0.0 [] a b",
            "aws 5.0.0 [] b",
            "aws 5.0.0 [] a b c",
            "aws 5.0.0 [] b c",
        ],
        [
            "hashes of another version are not a base",
            "aws 5.0.0 [] a",
            "aws 5.1.0 [] a b",
            "aws 5.1.0 [] c",
            "aws 5.1.0 [] a b c",
        ],
    ]);
}

#[test]
fn terms_of_constraints_that_can_be_merged_are() {
    merges(&[
        [
            "each adds a term",
            "aws 5.0.0 [>= 4.0.0] a",
            "aws 5.0.0 [>= 4.0.0, < 6.0.0] a",
            "aws 5.0.0 [>= 4.0.0, != 5.1.0] a",
            "aws 5.0.0 [>= 4.0.0, != 5.1.0, < 6.0.0] a",
        ],
        [
            "each replaces the term",
            "aws 5.0.0 [~> 4.0] a",
            "aws 5.0.0 [~> 5.0] a",
            "aws 5.0.0 [>= 5.0.0] a",
            "aws 5.0.0 [>= 5.0.0, ~> 5.0] a",
        ],
        [
            "the terms have a base of any version",
            "aws 4.0.0 [~> 4.0] a",
            "aws 5.0.0 [~> 5.0] b",
            "aws 5.0.0 [~> 4.0, ~> 5.0] b",
            "aws 5.0.0 [~> 5.0] b",
        ],
        [
            "we drop all hashes and a term goes",
            "aws 5.0.0 [~> 5.0] a",
            "aws 5.0.0 [~> 5.0]",
            "aws 5.0.0 [] a",
            "aws 5.0.0 []",
        ],
    ]);
}

#[test]
fn contradicting_changes_are_a_conflict() {
    use ConflictReason::{NoHashLeft, RemovedByThem, RemovedByUs, Versions};
    for (what, base, ours, theirs, reason) in [
        (
            "two upgrades",
            "aws 5.0.0 [] a",
            "aws 5.1.0 [] b",
            "aws 5.2.0 [] c",
            Versions,
        ),
        (
            "two additions",
            "",
            "aws 5.1.0 [] b",
            "aws 5.2.0 [] c",
            Versions,
        ),
        (
            "an upgrade and a new platform",
            "aws 5.0.0 [] a",
            "aws 5.1.0 [] b",
            "aws 5.0.0 [] a c",
            Versions,
        ),
        (
            "we remove, they upgrade",
            "aws 5.0.0 [] a",
            "",
            "aws 5.1.0 [] b",
            RemovedByUs,
        ),
        (
            "we add a platform, they remove",
            "aws 5.0.0 [] a",
            "aws 5.0.0 [] a b",
            "",
            RemovedByThem,
        ),
        (
            "each keeps another hash",
            "aws 5.0.0 [] a b",
            "aws 5.0.0 [] a",
            "aws 5.0.0 [] b",
            NoHashLeft,
        ),
    ] {
        let side = |text: &str| locks(&format!("{text}; null 3.0.0 [] n"));
        let merged = merge(&side(base), &side(ours), &side(theirs));
        assert_eq!(conflicts(&merged), [("aws".to_owned(), reason)], "{what}");
        assert_eq!(merged.locks, locks("null 3.0.0 [] n"), "{what}");
    }
}

#[test]
fn a_conflict_is_reported_by_provider() {
    let merged = merge(
        &locks("aws 5.0.0 [] a"),
        &locks("aws 5.1.0 [] b"),
        &locks("aws 5.2.0 [] c"),
    );
    let diagnostic = merged.conflicts[0].diagnostic(Dialect::Tofu);
    assert_eq!(
        diagnostic.message,
        "conflict: ours has hashicorp/aws 5.1.0, theirs 5.2.0"
    );
    assert_eq!(diagnostic.notes, ["locked at 5.0.0 before"]);
    let merged = merge(
        &Locks::new(),
        &locks("aws 5.1.0 [] b"),
        &locks("aws 5.2.0 [] c"),
    );
    assert_eq!(
        merged.conflicts[0].diagnostic(Dialect::Terraform).notes,
        [""; 0]
    );
}

/// Few values, so that the sides often share them.
fn any_locks() -> impl Strategy<Value = Locks> {
    let hashes = subsequence(vec!["h1:a", "h1:b", "zh:c", "zh:d"], 0..=4);
    let terms = subsequence(vec![">= 1.0.0", "~> 1.0", "< 3.0.0"], 0..=3);
    let provider =
        (select(vec!["1.0.0", "1.1.0"]), terms, hashes).prop_map(|(version, terms, hashes)| {
            Arc::new(LockedProvider {
                version: version.parse().unwrap(),
                constraints: terms.join(",").parse().unwrap(),
                hashes: hashes
                    .into_iter()
                    .map(|hash| hash.parse().unwrap())
                    .collect(),
            })
        });
    let address =
        select(vec!["aws", "null", "random"]).prop_map(|name| entry(&format!("{name} 1.0.0 []")).0);
    btree_map(address, provider, 0..=3)
}

fn lock_file(bytes: &[u8]) -> LockFile {
    let parsed = parse(Path::new("lock.hcl"), bytes, Dialect::Tofu);
    parsed.lock_file.unwrap_or_else(|| {
        panic!(
            "{:?}\n{}",
            parsed.diagnostics,
            String::from_utf8_lossy(bytes)
        )
    })
}

fn canonical(locks: &Locks) -> LockFile {
    lock_file(canonical_text(locks, Dialect::Tofu).as_bytes())
}

proptest! {
    #[test]
    fn an_unchanged_side_does_not_affect_the_merge(base in any_locks(), side in any_locks()) {
        let all_of_it = Merged { locks: side.clone(), conflicts: vec![] };
        prop_assert_eq!(merge(&base, &side, &base), all_of_it.clone());
        prop_assert_eq!(merge(&base, &base, &side), all_of_it.clone());
        prop_assert_eq!(merge(&base, &side, &side), all_of_it);
    }

    #[test]
    fn swapped_sides_give_the_same_merge(base in any_locks(), ours in any_locks(), theirs in any_locks()) {
        let (merged, swapped) = (merge(&base, &ours, &theirs), merge(&base, &theirs, &ours));
        prop_assert_eq!(&merged.locks, &swapped.locks);
        let addresses = |merged: &Merged| merged.conflicts.iter().map(|c| c.address.clone()).collect::<Vec<_>>();
        prop_assert_eq!(addresses(&merged), addresses(&swapped));
    }

    #[test]
    fn a_merge_neither_invents_nor_loses_hashes(base in any_locks(), ours in any_locks(), theirs in any_locks()) {
        let merged = merge(&base, &ours, &theirs);
        for address in ours.keys().filter(|address| theirs.contains_key(*address)) {
            let in_conflict = merged.conflicts.iter().any(|conflict| conflict.address == *address);
            prop_assert!(in_conflict != merged.locks.contains_key(address));
        }
        for (address, provider) in &merged.locks {
            let sides: Vec<_> = [&ours, &theirs].into_iter().filter_map(|side| side.get(address)).collect();
            prop_assert!(sides.iter().any(|side| side.version == provider.version));
            prop_assert!(provider.hashes.iter().all(|hash| sides.iter().any(|side| side.hashes.contains(hash))));
            let had_hashes = sides.iter().all(|side| !side.hashes.is_empty());
            prop_assert!(!(had_hashes && provider.hashes.is_empty()));
        }
    }

    #[test]
    fn markers_contain_both_sides(
        (base, ours, theirs) in (any_locks(), any_locks(), any_locks()),
        size in 7_usize..12,
        windows: bool,
        label in option::of("[a-z/]{1,8}"),
    ) {
        let merged = merge(&base, &ours, &theirs);
        let style = MarkerStyle { size, ours: label.unwrap_or_default(), theirs: "topic".to_owned() };
        let text = canonical_text(&ours, Dialect::Tofu).replace('\n', if windows { "\r\n" } else { "\n" });
        let written = with_markers(&lock_file(text.as_bytes()), &canonical(&theirs), &merged, &style).unwrap();
        let sides = split_conflicts(Path::new("lock.hcl"), &written).unwrap();
        if merged.conflicts.is_empty() {
            prop_assert_eq!(sides, None);
            prop_assert_eq!(lock_file(&written).locks().clone(), merged.locks.clone());
            return Ok(());
        }
        let sides = sides.unwrap();
        prop_assert_eq!(&sides.style, &style);
        for (side, bytes) in [(&ours, &sides.ours), (&theirs, &sides.theirs)] {
            let entry = |address: &ProviderAddress| Some((address.clone(), side.get(address)?.clone()));
            let entries = merged.conflicts.iter().filter_map(|conflict| entry(&conflict.address));
            let expected: Locks = merged.locks.clone().into_iter().chain(entries).collect();
            prop_assert_eq!(lock_file(bytes).locks().clone(), expected);
            prop_assert_eq!(bytes.windows(2).any(|pair| pair == b"\r\n"), windows);
        }
        let [base, ours, theirs] = [&sides.base, &sides.ours, &sides.theirs].map(|side| lock_file(side));
        let again = merge(base.locks(), ours.locks(), theirs.locks());
        prop_assert_eq!(conflicts(&again), conflicts(&merged));
        prop_assert_eq!(again.locks, merged.locks);
    }

    #[test]
    fn splitting_survives_any_text(lines in prop::collection::vec(
        select(vec![
            "<<<<<<< a", "<<<<<<<< b", "||||||| c", "=======", "========", ">>>>>>> d", ">>>>>>>", "x", "\u{e4}",
        ]),
        0..12,
    )) {
        let _ = split_conflicts(Path::new("lock.hcl"), lines.join("\n").as_bytes());
    }
}

#[test]
fn markers_surround_only_the_conflict() {
    let (base, ours, theirs) = (
        locks("aws 5.0.0 [] a; null 3.0.0 [] n"),
        locks("aws 5.1.0 [] b; null 3.0.0 [] n"),
        locks("aws 5.2.0 [] c; null 3.0.0 [] n m"),
    );
    let text = canonical_text(&ours, Dialect::Tofu).replace("\nprovider", "\n# about it\nprovider");
    let merged = merge(&base, &ours, &theirs);
    let written = with_markers(
        &lock_file(text.as_bytes()),
        &canonical(&theirs),
        &merged,
        &MarkerStyle::default(),
    );
    let expected = "\
# This file is maintained automatically by \"tofu init\".
# Manual edits may be lost in future updates.

# about it
<<<<<<< ours
provider \"registry.opentofu.org/hashicorp/aws\" {
  version = \"5.1.0\"
  hashes = [
    \"h1:b\",
  ]
}
=======
provider \"registry.opentofu.org/hashicorp/aws\" {
  version = \"5.2.0\"
  hashes = [
    \"h1:c\",
  ]
}
>>>>>>> theirs

# about it
provider \"registry.opentofu.org/hashicorp/null\" {
  version = \"3.0.0\"
  hashes = [
    \"h1:m\",
    \"h1:n\",
  ]
}
";
    assert_eq!(String::from_utf8(written.unwrap()).unwrap(), expected);
}

#[test]
fn a_removed_entry_is_an_empty_side() {
    let (base, kept) = (locks("aws 5.0.0 [] a"), locks("aws 5.1.0 [] b"));
    for (ours, theirs) in [(Locks::new(), kept.clone()), (kept.clone(), Locks::new())] {
        let merged = merge(&base, &ours, &theirs);
        let written = with_markers(
            &canonical(&ours),
            &canonical(&theirs),
            &merged,
            &MarkerStyle::default(),
        )
        .unwrap();
        let sides = split_conflicts(Path::new("lock.hcl"), &written)
            .unwrap()
            .unwrap();
        assert_eq!(lock_file(&sides.ours).locks(), &ours);
        assert_eq!(lock_file(&sides.theirs).locks(), &theirs);
    }
}

#[test]
fn a_byte_order_mark_and_a_missing_line_break_are_no_trouble() {
    let (ours, theirs) = (locks("aws 5.1.0 [] b"), locks("aws 5.2.0 [] c"));
    let text = format!(
        "\u{feff}{}",
        canonical_text(&ours, Dialect::Tofu).trim_end()
    );
    let merged = merge(&Locks::new(), &ours, &theirs);
    let written = with_markers(
        &lock_file(text.as_bytes()),
        &canonical(&theirs),
        &merged,
        &MarkerStyle::default(),
    )
    .unwrap();
    assert!(
        written.starts_with("\u{feff}# This".as_bytes())
            && written.ends_with(b"}\n>>>>>>> theirs\n")
    );
    let sides = split_conflicts(Path::new("lock.hcl"), &written)
        .unwrap()
        .unwrap();
    assert_eq!(lock_file(&sides.theirs).locks(), &theirs);
}

#[test]
fn conflicts_have_the_markers_of_the_first_one() {
    let text = b"<<<<<<< HEAD\no\n=======\nt\n>>>>>>> topic\n\
                 <<<<<<<< mine\no\n========\nt\n>>>>>>>> later\n";
    let sides = split_conflicts(Path::new("lock.hcl"), text)
        .unwrap()
        .unwrap();
    assert_eq!(
        sides.style,
        MarkerStyle {
            size: 7,
            ours: "HEAD".to_owned(),
            theirs: "topic".to_owned(),
        }
    );
}

#[test]
fn conflicts_are_read_anywhere_in_an_entry() {
    let text = b"a\r\n<<<<<<< HEAD\r\no\r\n||||||| 1234\r\n<<<<<<<<< nested\r\n=========\r\n\
                 =======\r\nt\r\n>>>>>>> topic\r\nz";
    let sides = split_conflicts(Path::new("lock.hcl"), text)
        .unwrap()
        .unwrap();
    assert_eq!(sides.ours, b"a\r\no\r\nz");
    assert_eq!(sides.base, b"a\r\n<<<<<<<<< nested\r\n=========\r\nz");
    assert!(sides.base_is_complete);
    assert_eq!(sides.theirs, b"a\r\nt\r\nz");
    assert_eq!(
        sides.style,
        MarkerStyle {
            size: 7,
            ours: "HEAD".to_owned(),
            theirs: "topic".to_owned()
        }
    );
}

#[test]
fn unmatched_markers_are_refused_with_their_position() {
    for (text, line) in [
        ("<<<<<<< a\nx\n", 1),
        ("x\n=======\n", 2),
        (">>>>>>> a\n", 1),
        ("<<<<<<< a\n<<<<<<< a\n=======\n>>>>>>> b\n", 2),
        ("<<<<<<< a\n=======\n=======\n>>>>>>> b\n", 3),
        ("<<<<<<< a\n=======\n>>>>>>> b\n||||||| c\n", 4),
        ("<<<<<<< a\n=======\n>>>>>>>> b\n", 1),
    ] {
        let error = split_conflicts(Path::new("lock.hcl"), text.as_bytes()).unwrap_err();
        assert_eq!(error[0].code, Code::ConflictMarkers, "{text}");
        assert_eq!(
            error[0].labels[0].location.line_column(),
            (line, 1),
            "{text}"
        );
    }
}
