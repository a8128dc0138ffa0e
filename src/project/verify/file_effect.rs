//! Effects of changed files that no reading of a root module includes.

/// Maximum size of such a file in bytes; a larger one is not decided.
pub(super) const MAX_SIZE: u64 = 1 << 20;
/// Maximum size in bytes of a file that is only searched.
pub(super) const MAX_SEARCHED_SIZE: u64 = 8 << 20;

/// Effect of a changed file, as a verb phrase. A decided effect becomes a note for reviewers, the
/// other one a finding that an owner has to allow.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// The decision of the change is known.
    Decided(String),
    /// The decision of the change is not known.
    NotDecided(String),
}

impl Effect {
    pub(super) fn decided(verb_phrase: &str) -> Self {
        Self::Decided(verb_phrase.to_owned())
    }

    pub(super) fn not_decided(verb_phrase: &str) -> Self {
        Self::NotDecided(verb_phrase.to_owned())
    }
}
