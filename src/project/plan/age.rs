//! Why a version that the constraints allow is not chosen.

use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Severity};
use crate::packages::{DemandedAge, NotOldEnough, PublicationDates, Source};
use crate::provider::{Dialect, ProviderAddress, Version};

/// How many versions of a provider are skipped for their age, newest first; older ones are then not asked about.
const MOST_ASKED_ABOUT: usize = 30;

/// How old a version must be to be chosen.
#[derive(Clone, Copy)]
pub(crate) struct MinimumAge<'a> {
    /// The age.
    pub demanded: DemandedAge,
    /// When versions were published.
    pub dates: &'a PublicationDates,
}

/// The kinds of reasons why versions are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// They are too young.
    TooYoung,
    /// When they were published is not known, so that they cannot be shown to be old enough.
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
    /// What is wrong with it.
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

/// Whether one more version may be asked about after those that were skipped.
pub(super) fn may_ask_more(skipped: &[RejectedVersion]) -> bool {
    let is_asked_about = |reason| matches!(reason, Reason::TooYoung | Reason::AgeNotKnown);
    skipped.iter().filter(|rejected| is_asked_about(rejected.reason)).count() < MOST_ASKED_ABOUT
}

/// Adds a version that is skipped. The newest of those that the policy does not allow stands for all, which may be
/// many.
pub(super) fn skip(skipped: &mut Vec<RejectedVersion>, rejected: RejectedVersion) {
    let is_said = |other: &RejectedVersion| other.reason == Reason::NotAllowed && rejected.reason == Reason::NotAllowed;
    if !skipped.iter().any(is_said) {
        skipped.push(rejected);
    }
}

/// What to say about the versions of a provider that were skipped, the newest first.
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

/// The error when nothing else can be chosen than what was skipped.
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
    /// Why a version is not old enough, or cannot be shown to be.
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
