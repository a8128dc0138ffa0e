//! The rule by which the newest version of a provider or of a module is selected.

use super::age::{RejectedVersion, SkippedVersions};

/// Edit of the text that asks for a version: a constraint, or the source of a module.
#[derive(Clone)]
pub(crate) enum Edit<E, R> {
    /// The edited text, which may be unchanged.
    Done(E),
    /// The text must change, and no edit is requested.
    NotRequested,
    /// The text must change, and cannot be edited for this reason.
    Impossible(R),
}

/// The newest version that may be selected.
pub(crate) struct NewestAccepted<V, E, R> {
    /// The version, with its edit; `None` if no version may be selected.
    pub(crate) selected: Option<(V, E)>,
    /// Newer versions that were rejected.
    pub(crate) skipped: SkippedVersions,
    /// The newest version for which the edit is impossible, with the reason.
    pub(crate) impossible: Option<(V, R)>,
}

/// Selects the first of these versions, newest first, for which an edit is done and that is not
/// rejected.
///
/// # Errors
/// The error of `edit`.
pub(crate) fn newest_accepted<V, E, R, Failure>(
    versions: impl IntoIterator<Item = V>,
    is_current: impl Fn(&V) -> bool,
    edit: impl Fn(&V) -> Result<Edit<E, R>, Failure>,
    rejects: impl Fn(&V, &E) -> Option<RejectedVersion>,
) -> Result<NewestAccepted<V, E, R>, Failure> {
    let mut newest = NewestAccepted {
        selected: None,
        skipped: SkippedVersions::default(),
        impossible: None,
    };
    for version in versions {
        // The date of a version costs a request, so that few are looked up; the current one needs
        // none.
        if !is_current(&version) && !newest.skipped.may_ask_more() {
            continue;
        }
        match edit(&version)? {
            Edit::NotRequested => {}
            Edit::Impossible(reason) => {
                newest.impossible.get_or_insert((version, reason));
            }
            Edit::Done(edited) => {
                let Some(rejected) = rejects(&version, &edited) else {
                    newest.selected = Some((version, edited));
                    break;
                };
                newest.skipped.push(rejected);
            }
        }
    }
    Ok(newest)
}

impl<E, R> From<Result<E, R>> for Edit<E, R> {
    fn from(edited: Result<E, R>) -> Self {
        match edited {
            Ok(edited) => Self::Done(edited),
            Err(reason) => Self::Impossible(reason),
        }
    }
}
