//! Effects of changed files that no reading of a root module includes.

/// Maximum size of such a file in bytes; a larger one is not read.
pub(super) const MAX_SIZE: u64 = 1 << 20;
/// Maximum size in bytes of a file that is only searched.
pub(super) const MAX_SEARCHED_SIZE: u64 = 8 << 20;

/// Effect of a changed file, as a verb phrase.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// The effect is known, and becomes a note for reviewers.
    Note(String),
    /// The effect is not known, and becomes a finding that an owner has to allow.
    NeedsOwner(String),
}

impl Effect {
    pub(super) fn note(verb_phrase: &str) -> Self {
        Self::Note(verb_phrase.to_owned())
    }

    pub(super) fn needs_owner(verb_phrase: &str) -> Self {
        Self::NeedsOwner(verb_phrase.to_owned())
    }
}
