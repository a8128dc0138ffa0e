//! Lock files that OpenTofu 1.12.6 wrote: `testdata/locks/recorded` contains, for each case of the
//! conformance kit about the form of the lock file, the file before (`.old`) and after. If the old
//! file is canonical, the bytes must be the same (`.bytes`); otherwise the content (`.semantic`),
//! because OpenTofu rewrites what provlock keeps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::super::{LockFile, parse};
use crate::hcl::trivia;
use crate::provider::Dialect;

fn files() -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/locks/recorded");
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

fn read(name: &str, bytes: &[u8]) -> LockFile {
    let parsed = parse(Path::new(name), bytes, Dialect::Tofu);
    parsed
        .lock_file
        .unwrap_or_else(|| panic!("{name}: {:?}", parsed.diagnostics))
}

#[test]
fn canonical_files_are_edited_to_the_same_bytes() {
    let files = files();
    let mut count = 0;
    for (name, new) in &files {
        let Some(case) = name.strip_suffix(".bytes.hcl") else {
            continue;
        };
        let old = read(case, &files[&format!("{case}.old.hcl")]);
        let edited = old.edit(read(name, new).locks()).unwrap();
        assert_eq!(
            String::from_utf8(edited),
            String::from_utf8(new.clone()),
            "{case}"
        );
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn other_files_keep_their_form() {
    let files = files();
    let mut count = 0;
    for (name, new) in &files {
        let Some(case) = name.strip_suffix(".semantic.hcl") else {
            continue;
        };
        let (old, new) = (
            read(case, &files[&format!("{case}.old.hcl")]),
            read(name, new),
        );
        let edited = read(case, &old.edit(new.locks()).unwrap());
        assert_eq!(edited.locks(), new.locks(), "{case}");
        assert_eq!(edited.edit(new.locks()).unwrap(), edited.bytes(), "{case}");
        let (before, after) = (&old.file().text, &edited.file().text);
        let comments = trivia::comments(after, 0..after.len());
        for comment in trivia::comments(before, 0..before.len()) {
            assert!(comments.contains(&comment), "{case}: {comment} is lost");
        }
        if before.contains("\r\n") {
            assert_eq!(
                after.matches('\n').count(),
                after.matches("\r\n").count(),
                "{case}"
            );
        }
        assert_eq!(
            old.bytes().starts_with(b"\xef\xbb\xbf"),
            edited.bytes().starts_with(b"\xef\xbb\xbf"),
            "{case}"
        );
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn files_that_terraform_refuses_are_refused() {
    let files = files();
    let refused: Vec<_> = files
        .iter()
        .filter(|(name, _)| name.starts_with("refused-"))
        .collect();
    assert!(refused.len() >= 25, "{}", refused.len());
    for (name, bytes) in refused {
        let parsed = parse(Path::new(name), bytes, Dialect::Tofu);
        assert!(parsed.lock_file.is_none(), "{name}");
        assert!(!parsed.diagnostics.is_empty(), "{name}");
    }
}
