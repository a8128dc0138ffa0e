//! Files of the repository that are made from code.

use std::fs;
use std::path::Path;

/// Compares a committed file with what it should be. With `SNAPSHOTS=overwrite` it is written
/// instead.
pub fn generated(path: &str, content: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os("SNAPSHOTS").is_some_and(|action| action == "overwrite") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }
    let committed = fs::read(&path).unwrap_or_default();
    let command = "SNAPSHOTS=overwrite cargo test --lib --bins";
    assert!(
        committed == content,
        "{} is out of date; run: {command}",
        path.display()
    );
}
