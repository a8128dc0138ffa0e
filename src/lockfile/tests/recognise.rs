//! Recognised text is read as the parser of HCL reads it, to the last span.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::parse::parse_with;
use super::super::recognise::entries_if_canonical;
use super::super::{
    EntryKind, LockedModule, LockedProvider, ModuleLocks, canonical_text, parse_as,
};
use super::{HEADER, address, locked};
use crate::lockfile::Locks;
use crate::provider::{Dialect, Version};

const PATH: &str = ".terraform.lock.hcl";

fn is_recognised(bytes: &[u8]) -> bool {
    is_recognised_as::<LockedProvider>(bytes)
}

/// Whether the bytes are recognised, after making sure that both ways of reading them give the
/// same.
pub(super) fn is_recognised_as<T: EntryKind>(bytes: &[u8]) -> bool {
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let quick = parse_as::<T>(Path::new(PATH), bytes, dialect);
        let thorough = parse_with::<T>(|_| None, Path::new(PATH), bytes, dialect);
        assert_eq!(quick, thorough, "{}", String::from_utf8_lossy(bytes));
        assert_eq!(format!("{quick:?}"), format!("{thorough:?}"));
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(text).is_ok_and(|text| entries_if_canonical::<T>(text).is_some())
}

/// The files below a folder that end in `.hcl`.
fn lock_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(lock_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "hcl") {
            found.push(path);
        }
    }
    found
}

fn count_recognised(folder: &Path) -> (usize, usize) {
    let files = lock_files(folder);
    let recognised = files
        .iter()
        .filter(|path| is_recognised(&fs::read(path).unwrap()))
        .count();
    (recognised, files.len())
}

#[test]
fn own_lock_files_are_read_the_same() {
    let (recognised, count) =
        count_recognised(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/locks"));
    assert!(
        recognised >= 20 && recognised < count,
        "{recognised} of {count}"
    );
}

#[test]
#[ignore = "reads the folder that PROVLOCK_CORPUS names"]
fn lock_files_of_a_folder_are_read_the_same() {
    let folder = std::env::var("PROVLOCK_CORPUS").expect("PROVLOCK_CORPUS=DIR");
    let (recognised, count) = count_recognised(Path::new(&folder));
    println!("{recognised} of {count} lock files are recognised");
    assert!(recognised * 10 > count * 9, "{recognised} of {count}");
}

#[test]
fn files_with_wrong_values_are_recognised() {
    let block = |address: &str, version: &str, constraints: &str, hash: &str| {
        format!(
            "provider \"{address}\" {{\n  version     = \"{version}\"\n  constraints = \"{constraints}\"\n  \
             hashes = [\n    \"{hash}\",\n    \"h1:a\",\n  ]\n}}\n"
        )
    };
    for (address, version, constraints, hash) in [
        ("a.b/c/d", "1.0.0", ">= 1.0.0", "h1:b"),
        ("c/d", "1.0.0", ">= 1.0.0", "h1:b"),
        ("a.b/C/d", "1.0.0", ">= 1.0.0", "h1:b"),
        ("", "", "", ""),
        ("a.b/c/d", "1.0", ">= 1.0.0", "h1:b"),
        ("a.b/c/d", "x", ">=1", "b"),
        ("a.b/c/d", "1.0.0", "%", "h1:b"),
        ("a b", "v1", "one", ":"),
    ] {
        let text = block(address, version, constraints, hash);
        assert_eq!(is_recognised(text.as_bytes()), constraints != "%", "{text}");
        let twice = format!("{HEADER}\n{text}\n# again\n{text}");
        assert_eq!(
            is_recognised(twice.as_bytes()),
            constraints != "%",
            "{twice}"
        );
    }
}

#[test]
fn other_forms_are_left_to_the_parser() {
    let plain =
        "provider \"a.b/c/d\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"h1:a\",\n  ]\n}\n";
    assert!(is_recognised(plain.as_bytes()));
    assert!(is_recognised(b"") && is_recognised(HEADER.as_bytes()));
    for (from, to) in [
        ("\n", "\r\n"),
        ("1.0.0", "1.0.\\u0030"),
        ("1.0.0", "${1}.0.0"),
        ("h1:a", "h1:%{a}"),
        ("h1:a", "h1:$a"),
        ("h1:a", "h1:\u{e9}"),
        ("    \"h1:a\",\n", ""),
        ("\",\n  ]", "\"\n  ]"),
        ("}\n", "}"),
        ("}\n", "} # end\n"),
        ("provider", "\u{feff}provider"),
        ("provider", "module"),
        ("provider", "/* a */ provider"),
        ("  version", "  # a\n  version"),
        ("  version", "  versions"),
        ("  version = \"1.0.0\"\n", ""),
        (
            "  version = \"1.0.0\"\n",
            "  version = \"1.0.0\"\n  version = \"1.0.0\"\n",
        ),
        ("\"a.b/c/d\"", "\"a.b/c/d\" \"e\""),
        ("provider", "<<<<<<< ours\nprovider"),
        ("provider", "# a\rb\nprovider"),
    ] {
        assert!(plain.contains(from));
        let text = plain.replacen(from, to, if from == "\n" { usize::MAX } else { 1 });
        let is_mark = to.starts_with('\u{feff}');
        assert_eq!(is_recognised(text.as_bytes()), is_mark, "{text:?}");
    }
}

#[test]
fn strings_with_any_character_of_ascii_are_read_the_same() {
    for byte in 0..=127 {
        let character = char::from(byte);
        let text = format!(
            "provider \"a.b/c/d\" {{\n  version = \"1.0.0\"\n  hashes = [\n    \"h1:{character}\",\n  ]\n}}\n"
        );
        let ends_the_string = matches!(character, '"' | '\\' | '$' | '%' | '\n' | '\r');
        assert_eq!(is_recognised(text.as_bytes()), !ends_the_string, "{text:?}");
    }
}

fn canonical(entries: &[(u8, u8, Vec<u8>)], dialect: Dialect) -> String {
    let entry = |(name, constraints, hashes): &(u8, u8, Vec<u8>)| {
        let name = address(&format!("a.b/c/{}", char::from(b'a' + name % 5)));
        let hashes: Vec<_> = hashes
            .iter()
            .map(|hash| format!("h{}:{hash}", hash % 3))
            .collect();
        let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
        (
            name,
            locked(
                "1.2.3",
                ["", "1.2.3", ">= 1.0.0, < 2.0.0"][usize::from(constraints % 3)],
                &hashes,
            ),
        )
    };
    canonical_text(&entries.iter().map(entry).collect::<Locks>(), dialect)
}

/// The same entries as modules: those with constraints are from a registry.
fn canonical_modules(entries: &[(u8, u8, Vec<u8>)]) -> String {
    let entry = |(name, kind, hashes): &(u8, u8, Vec<u8>)| {
        let constraints = ["", "1.2.3", "~> 1"][usize::from(kind % 3)]
            .parse()
            .unwrap();
        let (version, package) = (
            (kind % 3 > 0).then(|| Version::new(1, 2, 3)),
            format!("https://h.test/{kind}.zip"),
        );
        let hashes = hashes
            .iter()
            .map(|hash| format!("h{}:{hash}", hash % 3).parse().unwrap())
            .collect();
        let module = LockedModule {
            source: package.clone(),
            version,
            constraints,
            package,
            hashes,
        };
        (format!("a.{}", char::from(b'a' + name % 5)), module.into())
    };
    canonical_text(
        &entries.iter().map(entry).collect::<ModuleLocks>(),
        Dialect::default(),
    )
}

fn changed(mut bytes: Vec<u8>, edits: &[(prop::sample::Index, usize, u8)]) -> Vec<u8> {
    for (place, kind, byte) in edits {
        let place = place.index(bytes.len());
        match kind {
            0 => bytes[place] = *byte,
            1 => bytes.insert(place, *byte),
            _ => _ = bytes.remove(place),
        }
    }
    bytes
}

fn moved_lines(text: &str, edits: &[(prop::sample::Index, prop::sample::Index)]) -> String {
    let mut lines: Vec<_> = text.split_inclusive('\n').collect();
    for (from, to) in edits {
        let line = lines.remove(from.index(lines.len()));
        if !lines.is_empty() {
            lines.insert(to.index(lines.len()), line);
        }
    }
    lines.concat()
}

fn entries() -> impl Strategy<Value = Vec<(u8, u8, Vec<u8>)>> {
    prop::collection::vec(
        (
            any::<u8>(),
            any::<u8>(),
            prop::collection::vec(any::<u8>(), 0..5),
        ),
        0..4,
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(512), // PROPTEST_CASES may ask for more
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn canonical_files_are_recognised(entries in entries()) {
        for dialect in [Dialect::Tofu, Dialect::Terraform] {
            prop_assert!(is_recognised(canonical(&entries, dialect).as_bytes()));
        }
        prop_assert!(is_recognised_as::<LockedModule>(canonical_modules(&entries).as_bytes()));
    }

    #[test]
    fn changed_bytes_are_read_the_same(
        entries in entries(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, any_byte()), 1..4),
    ) {
        is_recognised(&changed(canonical(&entries, Dialect::Tofu).into_bytes(), &edits));
        is_recognised_as::<LockedModule>(&changed(canonical_modules(&entries).into_bytes(), &edits));
    }

    #[test]
    fn changed_lines_are_read_the_same(
        entries in entries(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..3),
    ) {
        is_recognised(moved_lines(&canonical(&entries, Dialect::Tofu), &edits).as_bytes());
        is_recognised_as::<LockedModule>(moved_lines(&canonical_modules(&entries), &edits).as_bytes());
    }
}

/// Mostly bytes that mean something in a lock file.
fn any_byte() -> impl Strategy<Value = u8> {
    prop_oneof![3 => prop::sample::select(&b"\"\\$%{}[]=,# \n\r\t0az/.:<>~"[..]), 1 => any::<u8>()]
}
