use std::fs;

use tempfile::tempdir;

use super::super::{SIZE_LIMIT, read};
use crate::diagnostic::Code;

#[test]
fn a_missing_file_is_not_an_error() {
    let directory = tempdir().unwrap();
    assert_eq!(
        read(&directory.path().join(".terraform.lock.hcl")).unwrap(),
        None
    );
}

#[test]
fn what_cannot_be_read_is_an_error_with_the_path() {
    let directory = tempdir().unwrap();
    let error = read(directory.path()).unwrap_err();
    assert_eq!(error[0].code, Code::Io);
    assert!(
        error[0]
            .message
            .contains(directory.path().to_str().unwrap()),
        "{error}"
    );
    assert!(error[0].message.contains("directory"), "{error}");
    let large = directory.path().join("large");
    fs::File::create(&large)
        .unwrap()
        .set_len(SIZE_LIMIT + 1)
        .unwrap();
    assert!(read(&large).unwrap_err()[0].message.contains("4 MiB"));
    fs::File::create(&large)
        .unwrap()
        .set_len(SIZE_LIMIT)
        .unwrap();
    assert!(read(&large).unwrap().is_some());
    // Windows says of such a path that it is not there.
    #[cfg(unix)]
    assert_eq!(read(&large.join("x")).unwrap_err()[0].code, Code::Io);
}
