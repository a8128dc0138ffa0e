//! Hashes that cannot match any package, because they do not have the form of their scheme.

use crate::diagnostic::{Code, Diagnostic, Help, Location};
use crate::provider::Hash;

use super::entry_kind::EntryKind;
use super::lock_file::LockFileOf;

/// The finding about a malformed hash.
pub(crate) fn malformed_hash<T: EntryKind>(hash: &Hash, location: &Location) -> Diagnostic {
    let form = hash.scheme().form();
    let message = format!("the hash {hash} cannot match any package: it is not {form}");
    Diagnostic::finding(Code::MalformedHash, message)
        .at_location(location.clone())
        .help(Help::text("remove the hash, then run: ").and(T::remedy()))
}

impl<T: EntryKind> LockFileOf<T> {
    /// Errors about the hashes that cannot match any package, in file order.
    pub fn malformed_hashes(&self) -> Vec<Diagnostic> {
        self.kept_malformed_hashes(|_, _| true)
    }

    /// The same about the hashes for which `is_kept` returns `true`.
    pub(crate) fn kept_malformed_hashes(
        &self,
        is_kept: impl Fn(&T::Address, &Hash) -> bool,
    ) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        for entry in self.entries() {
            for (hash, location) in &entry.hashes {
                if !hash.is_well_formed() && is_kept(&entry.address, hash) {
                    errors.push(malformed_hash::<T>(hash, location));
                }
            }
        }
        errors
    }
}
