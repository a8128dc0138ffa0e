//! Packages in a directory.

use std::fs;
use std::path::Path;

use super::archives::{ArchiveSpec, EntrySpec};
use super::*;

fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn a_directory_has_the_hash_of_the_archive_that_it_was_packed_in() {
    let directory = tempfile::tempdir().unwrap();
    // "a-b" sorts before "a/b" by bytes, but not if directories are listed in order.
    let files = [
        "terraform-provider-x_v1.0.0",
        "a/b",
        "a-b",
        "a.b",
        "a/c/d",
        "B",
    ];
    let mut entries = Vec::new();
    for name in files {
        write(directory.path(), name, name.as_bytes());
        entries.push(EntrySpec::new(name.as_bytes(), name.as_bytes()));
    }
    fs::create_dir(directory.path().join("empty")).unwrap();
    let archive = ArchiveSpec {
        entries,
        ..ArchiveSpec::default()
    }
    .build();
    let packed = hash_zip(archive.as_slice(), "x", &Limits::default()).unwrap();
    assert_eq!(hash_directory(directory.path(), "x").unwrap(), packed.h1);
}

#[test]
fn a_directory_without_the_executable_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "bin/terraform-provider-x", b"program");
    write(directory.path(), "terraform-provider-xy", b"program");
    let expected = Refusal::NoExecutable("terraform-provider-x".to_owned());
    match hash_directory(directory.path(), "x") {
        Err(PackageError::Refused { zh: None, refusal }) => assert_eq!(refusal, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_directory_is_a_read_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("nothing");
    match hash_directory(&missing, "x") {
        Err(PackageError::Read(error)) => {
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert!(error.to_string().contains("nothing"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_hashed_as_its_target() {
    use std::os::unix::fs::symlink;

    let [linked, plain, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    write(other.path(), "target", b"content");
    write(linked.path(), "terraform-provider-x", b"program");
    symlink(other.path().join("target"), linked.path().join("file")).unwrap();
    write(plain.path(), "terraform-provider-x", b"program");
    write(plain.path(), "file", b"content");
    let expected = hash_directory(plain.path(), "x").unwrap();
    assert_eq!(hash_directory(linked.path(), "x").unwrap(), expected);

    symlink(linked.path(), other.path().join("package")).unwrap();
    assert_eq!(
        hash_directory(&other.path().join("package"), "x").unwrap(),
        expected
    );

    symlink(other.path(), linked.path().join("loop")).unwrap();
    let problem = match hash_directory(linked.path(), "x") {
        Err(PackageError::Refused {
            refusal: Refusal::Entry { problem, .. },
            ..
        }) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(problem, EntryProblem::NotRegular);
}
