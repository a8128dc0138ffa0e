//! The rule by which the newest version of a provider or of a module is selected.

use super::age::{SkippedVersion, SkippedVersions};

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
    /// Newer versions that were skipped.
    pub(crate) skipped: SkippedVersions,
    /// The newest version for which the edit is impossible, with the reason.
    pub(crate) not_editable: Option<(V, R)>,
}

/// Rules by which a version of a provider, or of a module, is selected.
pub(crate) trait SelectionRules {
    /// A version; a tag or commit for a module in git.
    type Version;
    /// The edited text.
    type Edited;
    /// Reason for which a text cannot be edited.
    type Reason;
    /// Reason for which a search fails as a whole.
    type Error;

    /// Whether a version is the locked or present one, whose date is never requested.
    fn is_current(&self, version: &Self::Version) -> bool;

    /// The edit after which the text asks for a version.
    fn edit_for(
        &self,
        version: &Self::Version,
    ) -> Result<Edit<Self::Edited, Self::Reason>, Self::Error>;

    /// The reason for which a version is not selected, although the text asks for it after the
    /// edit; `None` for a version that may be selected.
    fn why_skipped(&self, version: &Self::Version, edited: &Self::Edited)
    -> Option<SkippedVersion>;
}

/// The newest version by some rules.
type Newest<R> = NewestAccepted<
    <R as SelectionRules>::Version,
    <R as SelectionRules>::Edited,
    <R as SelectionRules>::Reason,
>;

/// Selects the first of these versions, newest first, for which an edit is done and that is not
/// skipped.
///
/// # Errors
/// The error of an edit.
pub(crate) fn newest_accepted<R: SelectionRules>(
    rules: &R,
    versions: impl IntoIterator<Item = R::Version>,
) -> Result<Newest<R>, R::Error> {
    let mut newest = NewestAccepted {
        selected: None,
        skipped: SkippedVersions::default(),
        not_editable: None,
    };
    for version in versions {
        // The date of a version costs a request, so that few are looked up; the current one needs
        // none.
        if !rules.is_current(&version) && newest.skipped.has_reached_limit() {
            continue;
        }
        match rules.edit_for(&version)? {
            Edit::NotRequested => {}
            Edit::Impossible(reason) => {
                newest.not_editable.get_or_insert((version, reason));
            }
            Edit::Done(edited) => {
                let Some(skipped) = rules.why_skipped(&version, &edited) else {
                    newest.selected = Some((version, edited));
                    break;
                };
                newest.skipped.push(skipped);
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
