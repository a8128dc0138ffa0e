//! The project's policy: what `[policy]` and `[trust]` of provlock.toml allow.

use crate::address::{Hostname, ProviderAddress};
use crate::authentication::Authentication;
use crate::cli_config::{PatternError, ProviderPattern};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Location, Result};
use crate::dialect::Dialect;
use crate::settings::Settings;

/// A policy that was read and understood.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    hosts: Option<Vec<Hostname>>,
    namespaces: Option<Vec<ProviderPattern>>,
    require_signed: bool,
    trust: Vec<Trust>,
    min_age_exempt: Vec<ProviderAddress>,
}

#[derive(Clone, Debug)]
struct Trust {
    providers: ProviderPattern,
    fingerprints: Vec<String>,
    location: Location,
}

impl Rules {
    /// Reads the policy of a project's settings.
    ///
    /// # Errors
    /// Namespaces, patterns and addresses that cannot be understood, each with its place.
    pub fn new(settings: &Settings, dialect: Dialect) -> Result<Self> {
        let policy = &settings.policy;
        let mut errors = Diagnostics::default();
        let namespace = |text: &str| match ProviderPattern::parse(&format!("{text}/*"), dialect) {
            Err(PatternError::Shape) => Err("a namespace is [HOSTNAME/]NAMESPACE".to_owned()),
            pattern => pattern.map_err(|error| error.to_string()),
        };
        let namespaces = policy.allowed_namespaces.as_ref().map(|list| {
            let namespaces = list.iter().map(|text| text.read("allowed-namespaces", namespace));
            understood(namespaces, &mut errors)
        });
        let trust = settings.trust.iter().map(|rule| {
            let providers = rule.providers.read("[trust]", |text| ProviderPattern::parse(text, dialect))?;
            let location = rule.providers.location.clone();
            Ok(Trust { providers, fingerprints: rule.fingerprints.clone(), location })
        });
        let trust = understood(trust, &mut errors);
        let address = |text: &str| ProviderAddress::parse(text, dialect);
        let exempt = policy.min_age_exempt.iter().map(|text| text.read("min-age-exempt", address));
        let min_age_exempt = understood(exempt, &mut errors);
        let (hosts, require_signed) = (policy.allowed_hosts.clone(), policy.require_signed);
        let rules = Self { hosts, namespaces, require_signed, trust, min_age_exempt };
        errors.into_result(rules)
    }

    /// The providers that no age is demanded of.
    pub fn min_age_exempt(&self) -> &[ProviderAddress] {
        &self.min_age_exempt
    }

    /// Whether the policy names a provider's namespace, so that it is meant as it is written.
    pub(super) fn names(&self, address: &ProviderAddress) -> bool {
        self.namespaces.as_ref().is_some_and(|patterns| patterns.iter().any(|pattern| pattern.matches(address)))
    }

    /// Why the policy does not allow a provider, whatever its version.
    pub(super) fn against_address(&self, address: &ProviderAddress, dialect: Dialect) -> Vec<Diagnostic> {
        let name = address.short(dialect);
        let mut errors = Vec::new();
        if self.hosts.as_ref().is_some_and(|hosts| !hosts.contains(&address.hostname)) {
            let message = format!("the policy does not allow {name}: its host is {}", address.hostname);
            let host = address.hostname.as_ascii();
            let help = format!("use another provider, or add {host:?} to allowed-hosts in provlock.toml");
            errors.push(Diagnostic::error(Code::HostNotAllowed, message).help(help));
        }
        if self.namespaces.is_some() && !self.names(address) {
            let namespace = format!("{}/{}", address.hostname, address.namespace);
            let message = format!("the policy does not allow {name}: its namespace is {namespace}");
            let help = format!("use another provider, or add {namespace:?} to allowed-namespaces in provlock.toml");
            errors.push(Diagnostic::error(Code::NamespaceNotAllowed, message).help(help));
        }
        errors
    }

    /// Why the policy does not allow a release that was authenticated as `found` says. `release` is its name and version.
    pub(super) fn against_signature(
        &self,
        address: &ProviderAddress,
        release: &str,
        found: &Authentication,
    ) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        if self.require_signed && !matches!(found, Authentication::Signed { .. }) {
            let message = format!("the policy requires a signature, and {release} has none ({found})");
            let help = "use another provider, or ask its author to publish a signing key in the registry";
            errors.push(Diagnostic::error(Code::UnsignedProvider, message).help(help));
        }
        let rules: Vec<_> = self.trust.iter().filter(|rule| rule.providers.matches(address)).collect();
        let accepts = |rule: &&Trust| match found {
            Authentication::Signed { fingerprint, .. } => rule.fingerprints.contains(fingerprint),
            _ => false,
        };
        if let Some(rule) = rules.first().filter(|_| !rules.iter().any(accepts)) {
            errors.push(rule.not_met(release, found));
        }
        errors
    }
}

/// The values that could be read; the errors of the others are collected.
fn understood<T>(values: impl Iterator<Item = Result<T>>, errors: &mut Diagnostics) -> Vec<T> {
    values.filter_map(|value| value.map_err(|error| errors.extend(error)).ok()).collect()
}

impl Trust {
    fn not_met(&self, release: &str, found: &Authentication) -> Diagnostic {
        let (message, help) = match found {
            Authentication::Signed { fingerprint, .. } => (
                format!("{release} is signed by a key that [trust] does not list: {fingerprint}"),
                format!(
                    "ask the provider's author whether the key has changed; if so, add {fingerprint} to provlock.toml"
                ),
            ),
            other => (
                format!("{release} is not signed by a key that [trust] lists ({other})"),
                "ask the provider's author why the release is not signed".to_owned(),
            ),
        };
        let error = Diagnostic::error(Code::KeyNotTrusted, message).help(help);
        error.at(self.location.clone(), "this rule is for it")
    }
}
