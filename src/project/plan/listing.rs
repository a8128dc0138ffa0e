//! Registry data about a provider as a whole, whatever its version.

use jiff::Timestamp;

use crate::diagnostic::{Code, Diagnostic};
use crate::packages::{DemandedAge, Listing, PublicationDates, Source};
use crate::provider::{Dialect, ProviderAddress};
use crate::settings::Policy;

/// Registry data about providers at a time.
#[derive(Clone, Copy)]
pub(crate) struct Listings<'a> {
    pub(crate) dates: &'a PublicationDates,
    pub(crate) now: Timestamp,
}

/// Warning of a registry about a provider.
pub(in crate::project) fn warning(address: &ProviderAddress, text: &str) -> Diagnostic {
    let message = format!("{} says about {address}: {text}", address.hostname);
    Diagnostic::finding(Code::ProviderWarning, message).help("ask its publisher what that means for those who use it")
}

impl Listings<'_> {
    /// Warnings of the registry about a provider.
    pub(in crate::project) fn warnings(&self, address: &ProviderAddress) -> impl Iterator<Item = Diagnostic> + use<> {
        let Listing { unlisted, warning: text, .. } = self.dates.listing(address).unwrap_or_default();
        let unlisted = (unlisted == Some(true)).then(|| {
            let message = format!("{} no longer shows {address} to those who look for a provider", address.hostname);
            Diagnostic::finding(Code::ProviderWarning, message)
                .help("find out why its publisher or the registry hides it")
        });
        let text = text.filter(|text| !text.trim().is_empty()).map(|text| warning(address, &text));
        unlisted.into_iter().chain(text)
    }

    /// Returns an error for each rule of the policy that a provider violates.
    pub(in crate::project) fn against(
        &self,
        address: &ProviderAddress,
        policy: &Policy,
        dialect: Dialect,
        source: &Source,
    ) -> Vec<Diagnostic> {
        let name = address.short(dialect);
        let is_exempt = policy.is_exempt_from_min_age(address, dialect);
        let age = policy.min_provider_age().filter(|_| !is_exempt).and_then(|age| {
            let demanded = DemandedAge { age, now: self.now };
            let rejected = demanded.rejects(|| self.dates.first_published(address, source))?;
            let is = if rejected.is_date_known { "is" } else { "may be" };
            let message = format!("the first version of {name} {is} too young: {}", rejected.why);
            Some(Diagnostic::finding(Code::ProviderTooYoung, message).help("wait, or use another provider"))
        });
        // No other registry has tiers.
        let has_tier = policy.judges_tiers() && address.hostname.is_default_of(Dialect::Terraform);
        let tier = has_tier.then(|| self.against_tier(address, policy, &name)).flatten();
        tier.into_iter().chain(age).collect()
    }

    fn against_tier(&self, address: &ProviderAddress, policy: &Policy, name: &str) -> Option<Diagnostic> {
        let listing = self.dates.listing(address);
        let tier = listing.and_then(|listing| listing.tier.ok_or_else(|| format!("{} names none", address.hostname)));
        let message = match tier {
            Ok(tier) if policy.allows_tier(&tier) => return None,
            Ok(tier) => format!("the policy does not allow {name}: its tier is {tier}"),
            Err(why) => format!("the tier of {name} is not known, because {why}"),
        };
        let help = "use another provider, or have its tier added to tiers in provlock.toml";
        Some(Diagnostic::finding(Code::TierNotAllowed, message).help(help))
    }
}
