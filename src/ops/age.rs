//! Why a version that the constraints allow is not chosen.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::select::Candidate;
use super::upgrade::UpgradeRequest;
use crate::address::ProviderAddress;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::platform::Platform;
use crate::settings::PlatformSelection;
use crate::source::{AvailableVersions, PublicationDates, Source};
use crate::version::Version;

/// How many versions of a provider are skipped for their age, newest first; older ones are then not asked about.
const MOST_ASKED_ABOUT: usize = 30;

const INCOMPLETE_HELP: &str = "run the command once without --offline, with the same cache";

/// How old a version must be to be chosen.
#[derive(Clone, Copy)]
pub struct MinimumAge<'a> {
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
    /// They are too young, or cannot be shown to be old enough.
    TooYoung,
    /// The source does not have all their packages.
    Incomplete,
}

/// Why a version is not chosen.
pub(super) struct RejectedVersion {
    pub(super) reason: Reason,
    version: Version,
    why: String,
}

impl std::fmt::Display for RejectedVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is not chosen: {}", self.version, self.why)
    }
}

impl Reason {
    fn code(self) -> Code {
        match self {
            Self::TooYoung => Code::TooYoung,
            Self::Incomplete => Code::PlatformNotKnown,
        }
    }
}

/// Whether one more version may be asked about after those that were skipped.
pub(super) fn may_ask_more(skipped: &[RejectedVersion]) -> bool {
    skipped.iter().filter(|objection| objection.reason == Reason::TooYoung).count() < MOST_ASKED_ABOUT
}

/// What to say about the versions that were skipped, the newest first.
pub(super) fn warning(candidate: &Candidate<'_>, skipped: &[RejectedVersion]) -> Option<Diagnostic> {
    let (first, others) = skipped.split_first()?;
    let warning = Diagnostic::warning(first.reason.code(), format!("{} {first}", candidate.name()));
    let warning = match first.reason {
        _ if !may_ask_more(skipped) => {
            warning.help(format!("only the newest {MOST_ASKED_ABOUT} versions were asked about"))
        }
        Reason::TooYoung => warning,
        Reason::Incomplete => warning.help(INCOMPLETE_HELP),
    };
    Some(others.iter().map(ToString::to_string).fold(warning, Diagnostic::note))
}

/// The error when nothing else can be chosen than what was skipped.
pub(super) fn error(candidate: &Candidate<'_>, skipped: &[RejectedVersion]) -> Option<Diagnostic> {
    let help = match skipped.first()?.reason {
        Reason::TooYoung => "choose it all the same with --min-age 0d",
        Reason::Incomplete => INCOMPLETE_HELP,
    };
    let error = Diagnostic { severity: Severity::Error, ..warning(candidate, skipped)? };
    Some(error.help(help))
}

impl UpgradeRequest<'_> {
    /// Why a version is not to be chosen. What is locked already is not chosen anew, however young it is.
    pub(super) fn objection(
        &self,
        candidate: &Candidate<'_>,
        version: &Version,
        available: &AvailableVersions,
        source: &Source,
    ) -> Option<RejectedVersion> {
        if candidate.has_locked(version) {
            return None;
        }
        let incomplete = self.incomplete(candidate.address, version, available, source);
        let incomplete =
            incomplete.map(|why| RejectedVersion { reason: Reason::Incomplete, version: version.clone(), why });
        incomplete.or_else(|| candidate.minimum_age?.objection(candidate.address, version, source))
    }

    /// Which packages of a version the source does not have, if it must have them all. All platforms are those that it has
    /// packages for, of whatever version.
    fn incomplete(
        &self,
        address: &ProviderAddress,
        version: &Version,
        available: &AvailableVersions,
        source: &Source,
    ) -> Option<String> {
        if !self.only_complete {
            return None;
        }
        let platforms = |version| source.platforms(address, version).unwrap_or_default();
        let present = platforms(version);
        let wanted: BTreeSet<Platform> = match self.lock.platforms {
            PlatformSelection::These(wanted) => wanted.iter().cloned().collect(),
            PlatformSelection::All if present.is_empty() => return Some("none of its packages is in the cache".into()),
            PlatformSelection::All => available.versions.keys().flat_map(platforms).collect(),
        };
        let missing: Vec<_> = wanted.difference(&present).map(ToString::to_string).collect();
        match &missing[..] {
            [] => None,
            [platform] => Some(format!("its package for {platform} is not in the cache")),
            [first @ .., last] => {
                Some(format!("its packages for {} and {last} are not in the cache", first.join(", ")))
            }
        }
    }
}

impl MinimumAge<'_> {
    /// Why a version is not old enough, or cannot be shown to be.
    pub(super) fn objection(
        &self,
        address: &ProviderAddress,
        version: &Version,
        source: &Source,
    ) -> Option<RejectedVersion> {
        if self.age.is_zero() {
            return None;
        }
        let age = SignedDuration::try_from(self.age).unwrap_or(SignedDuration::MAX);
        let why = match self.dates.published(address, version, source) {
            Ok(date) if self.now.duration_since(date) >= age => return None,
            Ok(date) => format!("published {date:.0}, and it must be {} old", self.shown_age()),
            Err(why) => format!("when it was published is not known, because {why}"),
        };
        Some(RejectedVersion { reason: Reason::TooYoung, version: version.clone(), why })
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
