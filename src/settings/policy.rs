//! The project's policy: `[policy]` and `[trust]` of provlock.toml.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

#[cfg(test)]
use super::tests::schema;
use super::values;
use crate::diagnostic::{Code, Diagnostic, Location, Severity, SourceFile};
use crate::provider::{
    Authentication, ConstraintList, Dialect, Hostname, MOST_TERMS, ProviderAddress,
    ProviderPatternSpec, ProviderSpec, Version,
};

/// Words at the position of a rule.
const FOR_IT: &str = "this rule is for it";

/// Policy of a project: it allows a provider if all settings files do. An additional file can only
/// forbid more. The default allows everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The rules of each file, the nearest first.
    pub rules: Vec<Rules>,
}

/// The policy of one settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "policy"))]
pub struct Rules {
    /// The hosts that providers may come from.
    pub allowed_hosts: Option<Vec<Hostname>>,
    /// The namespaces that providers may come from: `[HOSTNAME/]NAMESPACE`.
    #[serde(deserialize_with = "values::namespaces")]
    pub allowed_namespaces: Option<Vec<ProviderPatternSpec>>,
    /// If present, every provider must match a rule for its address and version.
    pub allow: Option<Vec<ProviderRule>>,
    /// Providers, or versions of them, that may not be used.
    pub deny: Vec<ProviderRule>,
    /// The versions that a provider must have wherever it is used.
    #[cfg_attr(test, schemars(schema_with = "schema::requirements"))]
    pub require: Vec<ProviderRule>,
    /// Whether every release must be signed.
    pub require_signed: bool,
    /// Minimum age of a version that is selected, such as `7d`.
    #[serde(deserialize_with = "values::duration")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub min_age: Option<Duration>,
    /// Minimum age of the first version of a provider, such as `30d`.
    #[serde(deserialize_with = "values::duration")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub min_provider_age: Option<Duration>,
    /// The tiers that providers of Terraform's registry may have: `official`, `partner`,
    /// `community`.
    pub tiers: Option<Vec<String>>,
    /// The providers whose age does not matter.
    pub min_age_exempt: Vec<ProviderSpec>,
    /// Whether every module call must have a version, a tag or a commit.
    pub pin_modules: bool,
    /// Whether a change may add hosts that no lock file of the base contains.
    #[serde(rename = "new-hosts", deserialize_with = "values::denies_new_hosts")]
    #[cfg_attr(test, schemars(schema_with = "schema::new_hosts"))]
    pub denies_new_hosts: bool,
    /// Signing keys that are accepted.
    #[serde(skip)]
    pub trust: Vec<TrustRule>,
    /// The file, for the positions of rules.
    #[serde(skip)]
    pub(super) source: Option<Arc<SourceFile>>,
}

/// One `[[policy.allow]]`, `[[policy.deny]]` or `[[policy.require]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "rule"))]
pub struct ProviderRule {
    /// The providers of the rule: `acme/gamma`, or `acme/*`.
    #[serde(rename = "provider")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) providers: Spanned<ProviderPatternSpec>,
    /// The versions of the rule, such as `< 2.1`; all if omitted.
    #[serde(default)]
    pub versions: ConstraintList,
    /// Its reason, in one line.
    #[serde(default, deserialize_with = "values::one_line")]
    pub reason: Option<String>,
}

/// One line of the `[trust]` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRule {
    /// The providers whose packages must be signed by one of the keys.
    pub(super) providers: Spanned<ProviderPatternSpec>,
    /// Full fingerprints of the accepted signing keys, upper-case hexadecimal digits.
    pub fingerprints: Vec<String>,
}

impl Policy {
    /// The minimum age of a version to be chosen.
    pub fn min_age(&self) -> Option<Duration> {
        self.rules.iter().filter_map(|rules| rules.min_age).max()
    }

    /// Minimum age of the first version of a provider.
    pub(crate) fn min_provider_age(&self) -> Option<Duration> {
        self.rules
            .iter()
            .filter_map(|rules| rules.min_provider_age)
            .max()
    }

    /// Whether the policy depends on a registry's facts about a provider as a whole.
    pub(crate) fn judges_listings(&self) -> bool {
        self.rules
            .iter()
            .any(|rules| rules.min_provider_age.is_some() || rules.tiers.is_some())
    }

    /// Whether the policy has a rule for tiers.
    pub(crate) fn judges_tiers(&self) -> bool {
        self.rules.iter().any(|rules| rules.tiers.is_some())
    }

    /// Whether the policy allows a tier.
    pub(crate) fn allows_tier(&self, tier: &str) -> bool {
        self.rules
            .iter()
            .filter_map(|rules| rules.tiers.as_ref())
            .all(|tiers| tiers.iter().any(|one| one == tier))
    }

    pub(crate) fn pins_modules(&self) -> bool {
        self.rules.iter().any(|rules| rules.pin_modules)
    }

    /// Whether a provider is exempt from the minimum ages: every file that sets an age, and at
    /// least one file, must exempt it.
    pub(crate) fn is_exempt_from_min_age(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
    ) -> bool {
        let exempts = |rules: &Rules| {
            rules
                .min_age_exempt
                .iter()
                .any(|provider| provider.resolve(dialect) == *address)
        };
        self.rules.iter().any(exempts)
            && self
                .rules
                .iter()
                .all(|rules| !rules.has_age() || exempts(rules))
    }

    /// Whether the policy allows a provider, or its namespace, by name. Then its address is not a
    /// typing error.
    pub(crate) fn names(&self, address: &ProviderAddress, dialect: Dialect) -> bool {
        self.rules
            .iter()
            .any(|rules| rules.names(address, dialect) || rules.allows_by_name(address, dialect))
    }

    /// Whether the policy allows a provider's host by name. Then it is not a typing error.
    pub(crate) fn names_host(&self, address: &ProviderAddress) -> bool {
        let mut allowed = self
            .rules
            .iter()
            .filter_map(|rules| rules.allowed_hosts.as_ref());
        allowed.any(|hosts| hosts.contains(&address.hostname))
    }

    /// Returns the reasons why the policy does not allow a provider, whatever its version.
    pub(crate) fn against_address(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
    ) -> Vec<Diagnostic> {
        let name = address.short(dialect);
        self.each(|rules, errors| {
            if rules.allowed_hosts.as_ref().is_some_and(|hosts| !hosts.contains(&address.hostname)) {
                let message = format!("the policy does not allow {name}: its host is {}", address.hostname);
                let host = address.hostname.as_ascii();
                let help = format!("use another provider, or add {host:?} to allowed-hosts in provlock.toml");
                errors.push(Diagnostic::error(Code::HostNotAllowed, message).help(help));
            }
            if rules.allowed_namespaces.is_some() && !rules.names(address, dialect) {
                let namespace = format!("{}/{}", address.hostname, address.namespace);
                let message = format!("the policy does not allow {name}: its namespace is {namespace}");
                let help = format!("use another provider, or add {namespace:?} to allowed-namespaces in provlock.toml");
                errors.push(Diagnostic::error(Code::NamespaceNotAllowed, message).help(help));
            }
            let denied = of(&rules.deny, address, dialect).filter(|rule| rule.versions.is_empty());
            errors.extend(denied.map(|rule| {
                let message = format!("the policy denies {name}");
                rules.not_met(rule, Code::ProviderNotAllowed, message).help("use another provider")
            }));
            if rules.allow.as_ref().is_some_and(|rules| of(rules, address, dialect).next().is_none()) {
                let message = format!("the policy does not allow {name}: no [[policy.allow]] matches it");
                let help = "use another provider, or add it to provlock.toml";
                errors.push(Diagnostic::error(Code::ProviderNotAllowed, message).help(help));
            }
        })
    }

    /// Returns the reasons why the policy does not allow a version of a provider, if it allows any.
    pub(crate) fn against_version(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
        version: &Version,
    ) -> Vec<Diagnostic> {
        let name = || address.short(dialect);
        self.each(|rules, errors| {
            let error = |rule: &ProviderRule, message| {
                rules
                    .not_met(rule, Code::VersionNotAllowed, message)
                    .help("use another version")
            };
            let denied = of(&rules.deny, address, dialect).filter(|rule| rule.denies(version));
            errors.extend(denied.map(|rule| {
                let message = format!("the policy denies {} {version} ({})", name(), rule.versions);
                error(rule, message)
            }));
            let allowing: Vec<_> = rules
                .allow
                .iter()
                .flat_map(|rules| of(rules, address, dialect))
                .collect();
            let is_allowed = allowing.iter().any(|rule| rule.is_met(version));
            let allowing = if is_allowed {
                None
            } else {
                allowing.first().copied()
            };
            let required =
                of(&rules.require, address, dialect).filter(|rule| !rule.is_met(version));
            errors.extend(allowing.into_iter().chain(required).map(|rule| {
                let message = format!(
                    "the policy requires {} {}, not {version}",
                    name(),
                    rule.versions
                );
                error(rule, message)
            }));
        })
    }

    /// Returns the reason why the policy allows no version that these constraints allow; a warning
    /// if it allows some of them.
    pub(crate) fn against_constraints(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
        constraints: &ConstraintList,
    ) -> Option<Diagnostic> {
        let of_file = |rules: &'_ Rules| {
            [
                rules.allow.as_deref().unwrap_or_default(),
                &rules.deny,
                &rules.require,
            ]
            .concat()
        };
        self.rules.iter().flat_map(of_file).next()?;
        if constraints.terms().len() > MOST_TERMS {
            let message = format!(
                "{} has more than {MOST_TERMS} version constraints",
                address.short(dialect)
            );
            return Some(
                Diagnostic::error(Code::VersionNotAllowed, message).help("use fewer constraints"),
            );
        }
        let lists = self
            .rules
            .iter()
            .flat_map(of_file)
            .map(|rule| rule.versions)
            .chain([constraints.clone()]);
        let terms = ConstraintList::merge(&lists.collect::<Vec<_>>());
        let allowed: BTreeSet<_> = terms
            .samples()
            .filter(|version| constraints.allows(version))
            .collect();
        let against = |version| {
            self.against_version(address, dialect, version)
                .into_iter()
                .next()
        };
        let mut refused: Vec<_> = allowed.iter().filter_map(against).collect();
        let (severity, which) = if refused.len() == allowed.len() {
            (Severity::Error, "does not allow any version")
        } else {
            (Severity::Warning, "does not allow every version")
        };
        let example = refused.pop()?;
        let asked = if constraints.is_empty() {
            String::new()
        } else {
            format!(" ({constraints})")
        };
        let message = format!(
            "the policy {which} of {} that is required{asked}",
            address.short(dialect)
        );
        let example = Diagnostic {
            severity,
            message,
            ..example.clone()
        }
        .note(example.message);
        Some(example.help("require versions that the rule allows"))
    }

    /// Returns the reasons why the policy does not allow a release with the authentication `found`.
    /// `release` is its name and version.
    pub(crate) fn against_signature(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
        release: &str,
        found: &Authentication,
    ) -> Vec<Diagnostic> {
        let accepts = |rule: &TrustRule| match found {
            Authentication::Signed { fingerprint, .. } => rule.fingerprints.contains(fingerprint),
            _ => false,
        };
        self.each(|rules, errors| {
            if rules.require_signed && !matches!(found, Authentication::Signed { .. }) {
                let message = format!("the policy requires a signature, and {release} has none ({found})");
                let help = "use another provider, or ask its author to publish a signing key in the registry";
                errors.push(Diagnostic::error(Code::UnsignedProvider, message).help(help));
            }
            let is_accepted = rules.trusting(address, dialect).any(accepts);
            if !is_accepted && let Some(rule) = rules.trusting(address, dialect).next() {
                errors.push(not_trusted(release, found).at_each(&rules.location(&rule.providers), FOR_IT));
            }
        })
    }

    /// The fingerprints of the keys that every file which names keys for a provider accepts; none
    /// if no file does.
    pub(crate) fn trusted_keys(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
    ) -> BTreeSet<String> {
        let accepted = |rules: &Rules| {
            let trusted = rules
                .trusting(address, dialect)
                .flat_map(|rule| &rule.fingerprints);
            trusted.cloned().collect::<BTreeSet<_>>()
        };
        let named = self
            .rules
            .iter()
            .map(accepted)
            .filter(|keys| !keys.is_empty());
        named.reduce(|all, keys| &all & &keys).unwrap_or_default()
    }

    /// The errors from all files, without duplicates.
    fn each(&self, judge: impl Fn(&Rules, &mut Vec<Diagnostic>)) -> Vec<Diagnostic> {
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        self.rules.iter().for_each(|rules| judge(rules, &mut all));
        all.retain(|error| seen.insert(error.clone()));
        all
    }
}

impl Rules {
    fn has_age(&self) -> bool {
        self.min_age.is_some() || self.min_provider_age.is_some()
    }

    fn names(&self, address: &ProviderAddress, dialect: Dialect) -> bool {
        let is_it = |namespace: &ProviderPatternSpec| namespace.resolve(dialect).matches(address);
        self.allowed_namespaces
            .as_ref()
            .is_some_and(|namespaces| namespaces.iter().any(is_it))
    }

    /// Whether a rule allows a provider, or its namespace, by name.
    fn allows_by_name(&self, address: &ProviderAddress, dialect: Dialect) -> bool {
        let is_named = |rule: &ProviderRule| {
            rule.providers
                .get_ref()
                .resolve(dialect)
                .namespace
                .is_some()
        };
        self.allow
            .as_ref()
            .is_some_and(|rules| of(rules, address, dialect).any(is_named))
    }

    /// The rules about the signing keys of a provider.
    fn trusting(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
    ) -> impl Iterator<Item = &TrustRule> {
        self.trust
            .iter()
            .filter(move |rule| rule.providers.get_ref().resolve(dialect).matches(address))
    }

    pub(super) fn location(&self, rule: &Spanned<ProviderPatternSpec>) -> Option<Location> {
        self.source
            .as_ref()
            .map(|source| Location::new(source, rule.span()))
    }

    fn not_met(&self, rule: &ProviderRule, code: Code, message: String) -> Diagnostic {
        let message = rule
            .reason
            .iter()
            .fold(message, |message, reason| format!("{message}: {reason}"));
        Diagnostic::error(code, message).at_each(&self.location(&rule.providers), FOR_IT)
    }
}

/// The rules that are for a provider.
fn of<'a>(
    rules: &'a [ProviderRule],
    address: &ProviderAddress,
    dialect: Dialect,
) -> impl Iterator<Item = &'a ProviderRule> {
    rules
        .iter()
        .filter(move |rule| rule.providers.get_ref().resolve(dialect).matches(address))
}

impl ProviderRule {
    /// Whether the rule denies a version and not the whole provider. A range denies its
    /// prereleases, too, and a version denies itself with any build metadata.
    fn denies(&self, version: &Version) -> bool {
        let denies = |version: &Version| {
            self.versions
                .terms()
                .iter()
                .all(|term| term.compares(version))
        };
        !self.versions.is_empty() && (denies(version) || denies(&version.without_metadata()))
    }

    /// Whether the rule allows or requires the version. A prerelease must be named by the rule.
    fn is_met(&self, version: &Version) -> bool {
        self.versions.is_empty() || self.versions.allows(version)
    }
}

fn not_trusted(release: &str, found: &Authentication) -> Diagnostic {
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
    Diagnostic::error(Code::KeyNotTrusted, message).help(help)
}
