//! Identities of parts of a configuration, by which the same part is found in a different revision.

use sha2::{Digest as _, Sha256};

/// Identity of an expression, and of everything that it refers to. Comments, white space and
/// positions do not count.
///
/// It is a tree of hashes, so that it has one size however much decides on a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Adds something that decides on the value: its kind, such as `local`, and its text.
    pub(crate) fn mix(&mut self, kind: &str, text: &str) {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        for part in [kind, text] {
            hasher.update(part.len().to_be_bytes());
            hasher.update(part);
        }
        self.0 = hasher.finalize().into();
    }

    /// Adds everything that decides on a value that this one depends on.
    pub(super) fn add(&mut self, other: Self) {
        if other != Self::default() {
            self.0 = Sha256::new()
                .chain_update(self.0)
                .chain_update(other.0)
                .finalize()
                .into();
        }
    }
}

/// Identity of a module call, or of something that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PartId {
    /// Path of the calls that lead to it, or the kind of another part.
    pub(crate) key: String,
    pub(crate) fingerprint: Fingerprint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_depends_on_kinds_and_texts_and_their_order() {
        let of = |parts: &[(&str, &str)]| {
            let mut fingerprint = Fingerprint::default();
            for (kind, text) in parts {
                fingerprint.mix(kind, text);
            }
            fingerprint
        };
        let one = of(&[("local", "a"), ("var", "b")]);
        assert_eq!(one, of(&[("local", "a"), ("var", "b")]));
        for other in [
            of(&[("var", "b"), ("local", "a")]),
            of(&[("local", "a")]),
            of(&[("loca", "la"), ("var", "b")]),
            of(&[("local", "a"), ("var", "b"), ("var", "")]),
        ] {
            assert_ne!(one, other);
        }
        let mut sum = one;
        sum.add(Fingerprint::default());
        assert_eq!(sum, one, "nothing was added");
        sum.add(one);
        assert_ne!(sum, one);
    }
}
