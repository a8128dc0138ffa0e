//! Lock files.

use std::path::Path;

use provlock::lockfile::{LockFile, canonical_text};
use provlock::provider::Dialect;

use crate::lockfile::properties::{Verdict, check_file, read};

/// Parses a lock file and edits it. Without a change it stays the same to the byte; what is edited says what was asked
/// for, and keeps comments, line breaks and canonical form; an edit repeated changes nothing. Its canonical text means
/// the same.
pub fn lock_file(data: &[u8]) -> bool {
    let path = Path::new(".terraform.lock.hcl");
    match check_file(path, data, 1) {
        Verdict::Refused(_) => return false,
        Verdict::Broken(why) => panic!("{why}"),
        Verdict::Kept => {}
    }
    let locks = read(path, data).expect("it was read before").locks().clone();
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let canonical = canonical_text(&locks, dialect);
        let again = read(path, canonical.as_bytes());
        assert_eq!(again.as_ref().map(LockFile::locks), Ok(&locks), "{canonical}");
    }
    true
}
