//! Lock files.

use std::path::Path;

use provlock::lockfile::{LockFileOf, LockedModule, LockedProvider, canonical_text};
use provlock::provider::Dialect;

use crate::lockfile::generated::Sample;
use crate::lockfile::properties::{Verdict, check_file, read};

/// Parses a lock file of either kind and edits it. Without a change it stays the same to the byte;
/// an edited file has the requested content, and keeps comments, line breaks and canonical form; an
/// edit repeated changes nothing. Its canonical text means the same.
pub fn lock_file(data: &[u8]) -> bool {
    let [of_providers, of_modules] = [check::<LockedProvider>(data), check::<LockedModule>(data)];
    of_providers || of_modules
}

fn check<T: Sample>(data: &[u8]) -> bool {
    let path = Path::new(T::FILE_NAME);
    match check_file::<T>(path, data, 1) {
        Verdict::Refused(_) => return false,
        Verdict::Broken(why) => panic!("{why}"),
        Verdict::Kept => {}
    }
    let locks = read::<T>(path, data)
        .expect("it was read before")
        .locks()
        .clone();
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let canonical = canonical_text::<T>(&locks, dialect);
        let again = read::<T>(path, canonical.as_bytes());
        assert_eq!(
            again.as_ref().map(LockFileOf::locks),
            Ok(&locks),
            "{canonical}"
        );
    }
    true
}
