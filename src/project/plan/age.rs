//! Versions that the constraints allow and that are not selected.

use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Severity};
use crate::packages::{DemandedAge, NotOldEnough, PublicationDates, Source};
use crate::provider::{Dialect, ProviderAddress, Version};

/// Maximum number of versions of a provider whose ages are looked up, newest first.
const MOST_ASKED_ABOUT: usize = 30;

/// Minimum age of a version that is selected.
#[derive(Clone, Copy)]
pub(crate) struct MinimumAge<'a> {
    /// The age.
    pub demanded: DemandedAge,
    /// When versions were published.
    pub dates: &'a PublicationDates,
}

/// Kind of reason for which versions are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// They are too young.
    TooYoung,
    /// Their publication dates are not known.
    AgeNotKnown,
    /// The source does not have all their packages.
    Incomplete,
    /// The policy does not allow them.
    NotAllowed,
}

#[derive(derive_more::Display)]
#[display("{version} is not chosen: {why}")]
pub(crate) struct RejectedVersion {
    pub(super) reason: Reason,
    pub(super) version: Version,
    /// The reason in words.
    pub(super) why: String,
}

impl Reason {
    fn code(self) -> Code {
        match self {
            Self::TooYoung | Self::AgeNotKnown => Code::TooYoung,
            Self::Incomplete => Code::PlatformNotKnown,
            Self::NotAllowed => Code::VersionNotAllowed,
        }
    }
}

/// Whether the age of one more version may be looked up after those that were skipped.
pub(super) fn may_ask_more(skipped: &[RejectedVersion]) -> bool {
    let is_asked_about = |reason| matches!(reason, Reason::TooYoung | Reason::AgeNotKnown);
    skipped.iter().filter(|rejected| is_asked_about(rejected.reason)).count() < MOST_ASKED_ABOUT
}

/// Adds a skipped version. Of those that the policy does not allow, only the newest is kept.
pub(super) fn skip(skipped: &mut Vec<RejectedVersion>, rejected: RejectedVersion) {
    let is_said = |other: &RejectedVersion| other.reason == Reason::NotAllowed && rejected.reason == Reason::NotAllowed;
    if !skipped.iter().any(is_said) {
        skipped.push(rejected);
    }
}

/// Returns the warning about skipped versions of a provider, the newest first.
pub(super) fn warning(provider: &ProviderAddress, dialect: Dialect, skipped: &[RejectedVersion]) -> Option<Diagnostic> {
    let (first, others) = skipped.split_first()?;
    let warning = Diagnostic::warning(first.reason.code(), format!("{} {first}", provider.short(dialect)));
    let warning = match first.reason {
        _ if !may_ask_more(skipped) => {
            warning.help(format!("only the newest {MOST_ASKED_ABOUT} versions were asked about"))
        }
        Reason::TooYoung | Reason::AgeNotKnown | Reason::NotAllowed => warning,
        Reason::Incomplete => warning.help(Help::run_online()),
    };
    Some(others.iter().map(ToString::to_string).fold(warning, Diagnostic::note))
}

/// Returns the error if all versions that the constraints allow were skipped.
pub(super) fn error(provider: &ProviderAddress, dialect: Dialect, skipped: &[RejectedVersion]) -> Option<Diagnostic> {
    let help = match skipped.first()?.reason {
        Reason::TooYoung | Reason::AgeNotKnown => Help::text("to use it anyway, pass ").and(Remedy::AnyAge),
        Reason::Incomplete => Help::run_online(),
        Reason::NotAllowed => Help::text("allow another version in required_providers, or use another provider"),
    };
    let error = Diagnostic { severity: Severity::Error, ..warning(provider, dialect, skipped)? };
    Some(error.help(help))
}

impl MinimumAge<'_> {
    /// Returns the version with a reason if it is too young or its date is not known.
    pub(super) fn rejects(
        &self,
        address: &ProviderAddress,
        version: &Version,
        source: &Source,
    ) -> Option<RejectedVersion> {
        let NotOldEnough { is_date_known, why } =
            self.demanded.rejects(|| self.dates.published(address, version, source))?;
        let reason = if is_date_known { Reason::TooYoung } else { Reason::AgeNotKnown };
        Some(RejectedVersion { reason, version: version.clone(), why })
    }
}
