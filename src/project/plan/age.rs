//! Versions that are skipped although the constraints allow them, most often for their age; and
//! registry data about providers as a whole.

use jiff::Timestamp;

use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Diagnostic, Help, RunOption, Severity};
use crate::packages::{DemandedAge, Listing, NotOldEnough, PublicationDates, Source};
use crate::provider::{Dialect, ProviderAddress};
use crate::settings::Policy;

/// Maximum number of versions of a provider whose ages are looked up, newest first.
const MOST_ASKED_ABOUT: usize = 30;

/// Kind of reason for which versions are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// They are too young.
    TooYoung,
    /// Their publication dates are not known.
    AgeNotKnown,
    /// The source does not have all their packages.
    Incomplete,
    /// The policy does not allow them.
    NotAllowed,
}

/// A version that was skipped, with the reason.
#[derive(derive_more::Display)]
#[display("{version} is not chosen: {why}")]
pub(crate) struct SkippedVersion {
    pub(crate) reason: SkipReason,
    pub(crate) version: String,
    /// The reason in words.
    pub(crate) why: String,
}

/// Versions that were skipped although the constraints allow them, newest first.
#[derive(Default)]
pub(crate) struct SkippedVersions(pub(super) Vec<SkippedVersion>);

impl SkippedVersion {
    /// Returns the version if it is too young or its date is not known.
    pub(crate) fn if_too_young(
        version: &impl ToString,
        age: DemandedAge,
        published: impl FnOnce() -> Result<Timestamp, String>,
    ) -> Option<Self> {
        let NotOldEnough { is_date_known, why } = age.why_not_old_enough(published)?;
        let reason = if is_date_known {
            SkipReason::TooYoung
        } else {
            SkipReason::AgeNotKnown
        };
        Some(Self {
            reason,
            version: version.to_string(),
            why,
        })
    }
}

/// Whether two versions are named together. Each date of a version that is too young is shown, even
/// if two versions were published at the same time.
fn has_same_reason(one: &SkippedVersion, next: &SkippedVersion) -> bool {
    one.reason != SkipReason::TooYoung && one.why == next.why
}

impl SkippedVersions {
    /// Whether no more ages may be looked up.
    pub(crate) fn has_reached_limit(&self) -> bool {
        let mut asked_about = 0;
        for skipped in &self.0 {
            if let SkipReason::TooYoung | SkipReason::AgeNotKnown = skipped.reason {
                asked_about += 1;
            }
        }
        asked_about >= MOST_ASKED_ABOUT
    }

    /// Adds a version. Of versions that the policy forbids, only the newest is kept.
    pub(crate) fn push(&mut self, skipped: SkippedVersion) {
        let mut known = self.0.iter();
        if skipped.reason == SkipReason::NotAllowed
            && known.any(|known| known.reason == SkipReason::NotAllowed)
        {
            return;
        }
        self.0.push(skipped);
    }

    /// Reason for the newest skipped version.
    pub(crate) fn reason(&self) -> Option<SkipReason> {
        self.0.first().map(|skipped| skipped.reason)
    }

    /// Returns the warning about skipped versions of a provider or a module; `None` if there are
    /// none.
    pub(crate) fn warning(&self, name: &str) -> Option<Diagnostic> {
        let first = self.0.first()?;
        let code = match first.reason {
            SkipReason::TooYoung | SkipReason::AgeNotKnown => Code::TooYoung,
            SkipReason::Incomplete => Code::PlatformNotKnown,
            SkipReason::NotAllowed => Code::VersionNotAllowed,
        };
        let mut warning = Diagnostic::warning(code, format!("{name} {first}"));
        for (index, group) in self.0.chunk_by(has_same_reason).enumerate() {
            // Newest first, so that the first of a group is its newest.
            let Some((newest, others)) = group.split_first() else {
                continue;
            };
            // The message has the reason of the first group.
            if index > 0 {
                warning = warning.note(newest.to_string());
            }
            if !others.is_empty() {
                let are = if others.len() == 1 { "is" } else { "are" };
                let versions = first_few(others.iter().map(|skipped| &skipped.version));
                warning = warning.note(format!("{versions} {are} not chosen for the same reason"));
            }
        }
        if self.has_reached_limit() {
            let help = format!("only the newest {MOST_ASKED_ABOUT} versions were checked");
            return Some(warning.help(help));
        }
        if first.reason == SkipReason::Incomplete {
            return Some(warning.help(Help::run_online()));
        }
        Some(warning)
    }

    /// Returns the error if all versions that the constraints allow were skipped.
    pub(crate) fn error(&self, name: &str) -> Option<Diagnostic> {
        let help = match self.reason()? {
            SkipReason::TooYoung | SkipReason::AgeNotKnown => {
                Help::text("to use it anyway, pass ").and(RunOption::AnyAge)
            }
            SkipReason::Incomplete => Help::run_online(),
            SkipReason::NotAllowed => Help::text(
                "allow a different version in required_providers, or use a different provider",
            ),
        };
        let error = Diagnostic {
            severity: Severity::Error,
            ..self.warning(name)?
        };
        Some(error.help(help))
    }
}

/// Publication dates and other registry data about providers, at a time.
#[derive(Clone, Copy)]
pub(crate) struct RegistryData<'a> {
    pub(crate) dates: &'a PublicationDates,
    pub(crate) now: Timestamp,
}

/// Warning of a registry about a provider.
pub(in crate::project) fn registry_warning(address: &ProviderAddress, text: &str) -> Diagnostic {
    let message = format!("{} says about {address}: {text}", address.hostname);
    let warning = Diagnostic::finding(Code::ProviderWarning, message);
    warning.help(if says_what_to_do(text) {
        "check this advice before you follow it"
    } else {
        "ask its publisher what this means for its users"
    })
}

/// Whether the warning of a registry contains a next step, as in `please use acme/other instead`.
fn says_what_to_do(text: &str) -> bool {
    const STEPS: [&str; 14] = [
        "please",
        "use",
        "update",
        "upgrade",
        "migrate",
        "migrating",
        "switch",
        "replace",
        "replaced",
        "moved",
        "instead",
        "see",
        "visit",
        "http",
    ];
    let text = text.to_lowercase();
    text.split(|c: char| !c.is_alphanumeric())
        .any(|word| STEPS.contains(&word) || word == "https")
}

impl RegistryData<'_> {
    /// Returns warnings about a provider: its registry hides it, or warns of it.
    pub(in crate::project) fn registry_warnings(
        &self,
        address: &ProviderAddress,
    ) -> Vec<Diagnostic> {
        let Listing {
            unlisted, warning, ..
        } = self.dates.listing(address).unwrap_or_default();
        let mut warnings = Vec::new();
        if unlisted == Some(true) {
            let message = format!(
                "{} no longer lists {address} in its search",
                address.hostname
            );
            warnings.push(
                Diagnostic::finding(Code::ProviderWarning, message)
                    .help("find out why its publisher or the registry hides it"),
            );
        }
        if let Some(text) = warning
            && !text.trim().is_empty()
        {
            warnings.push(registry_warning(address, &text));
        }
        warnings
    }

    /// Returns an error for each rule about tiers and about the age of the provider itself that a
    /// provider violates.
    pub(in crate::project) fn policy_violations(
        &self,
        address: &ProviderAddress,
        policy: &Policy,
        dialect: Dialect,
        source: &Source,
    ) -> Vec<Diagnostic> {
        let name = address.short(dialect);
        let mut errors = Vec::new();
        // No other registry has tiers.
        if policy.judges_tiers() && address.hostname.is_default_of(Dialect::Terraform) {
            errors.extend(self.tier_violation(address, policy, &name));
        }
        if let Some(age) = policy.min_provider_age()
            && !policy.is_exempt_from_min_age(address, dialect)
            && let Some(NotOldEnough { is_date_known, why }) = (DemandedAge { age, now: self.now })
                .why_not_old_enough(|| self.dates.oldest_publication_date(address, source))
        {
            let is = if is_date_known { "is" } else { "may be" };
            let message = format!("the first version of {name} {is} too young: {why}");
            let error = Diagnostic::finding(Code::ProviderTooYoung, message)
                .help("wait, or use a different provider");
            errors.push(error);
        }
        errors
    }

    /// Returns an error if the policy does not allow the tier of a provider, or it is unknown.
    fn tier_violation(
        &self,
        address: &ProviderAddress,
        policy: &Policy,
        name: &str,
    ) -> Option<Diagnostic> {
        let listing = self.dates.listing(address);
        let tier = listing.and_then(|listing| {
            listing
                .tier
                .ok_or_else(|| format!("{} lists none", address.hostname))
        });
        let message = match tier {
            Ok(tier) if policy.allows_tier(&tier) => return None,
            Ok(tier) => format!("the policy does not allow {name}: its tier is {tier}"),
            Err(why) => format!("the tier of {name} is not known, because {why}"),
        };
        let help = "use a different provider, or add its tier to tiers in provlock.toml";
        Some(Diagnostic::finding(Code::TierNotAllowed, message).help(help))
    }
}
