//! Why a version that the constraints allow is not chosen.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Severity};
use crate::packages::{PublicationDates, Source};
use crate::provider::{Dialect, ProviderAddress, Version};

/// How many versions of a provider are skipped for their age, newest first; older ones are then not asked about.
const MOST_ASKED_ABOUT: usize = 30;

/// How old a version must be to be chosen.
#[derive(Clone, Copy)]
pub(crate) struct MinimumAge<'a> {
    /// The age.
    pub age: Duration,
    /// The time at which the age is measured.
    pub now: Timestamp,
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
}

#[derive(derive_more::Display)]
#[display("{version} is not chosen: {why}")]
pub(super) struct RejectedVersion {
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
        }
    }
}

/// Whether one more version may be asked about after those that were skipped.
pub(super) fn may_ask_more(skipped: &[RejectedVersion]) -> bool {
    skipped.iter().filter(|rejected| rejected.reason != Reason::Incomplete).count() < MOST_ASKED_ABOUT
}

/// What to say about the versions of a provider that were skipped, the newest first.
pub(super) fn warning(provider: &ProviderAddress, dialect: Dialect, skipped: &[RejectedVersion]) -> Option<Diagnostic> {
    let (first, others) = skipped.split_first()?;
    let warning = Diagnostic::warning(first.reason.code(), format!("{} {first}", provider.short(dialect)));
    let warning = match first.reason {
        _ if !may_ask_more(skipped) => {
            warning.help(format!("only the newest {MOST_ASKED_ABOUT} versions were asked about"))
        }
        Reason::TooYoung | Reason::AgeNotKnown => warning,
        Reason::Incomplete => warning.help(Help::run_online()),
    };
    Some(others.iter().map(ToString::to_string).fold(warning, Diagnostic::note))
}

/// The error when nothing else can be chosen than what was skipped.
pub(super) fn error(provider: &ProviderAddress, dialect: Dialect, skipped: &[RejectedVersion]) -> Option<Diagnostic> {
    let help = match skipped.first()?.reason {
        Reason::TooYoung | Reason::AgeNotKnown => Help::text("to use it anyway, pass ").and(Remedy::AnyAge),
        Reason::Incomplete => Help::run_online(),
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
        if self.age.is_zero() {
            return None;
        }
        let age = SignedDuration::try_from(self.age).unwrap_or(SignedDuration::MAX);
        let (reason, why) = match self.dates.published(address, version, source) {
            Ok(date) if self.now.duration_since(date) >= age => return None,
            Ok(date) => (Reason::TooYoung, format!("published {date:.0}, and it must be {} old", self.shown_age())),
            Err(why) => (Reason::AgeNotKnown, format!("when it was published is not known, because {why}")),
        };
        Some(RejectedVersion { reason, version: version.clone(), why })
    }

    fn shown_age(&self) -> String {
        const DAY: u64 = 86_400;
        match self.age.as_secs() {
            DAY => "1 day".to_owned(),
            seconds if seconds % DAY == 0 => format!("{} days", seconds / DAY),
            seconds => format!("{:#}", SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))),
        }
    }
}
