//! The project's policy: `[policy]` and `[trust]` of provlock.toml.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

#[cfg(test)]
use super::tests::schema;
use super::values;
use super::{ModuleOrigin, ModulePattern};
use crate::diagnostic::{Code, Diagnostic, Location, Severity, SourceFile};
use crate::provider::{
    Authentication, ConstraintList, Dialect, Hostname, MOST_TERMS, ProviderAddress,
    ProviderPatternSpec, ProviderSpec, Version,
};

/// Words at the position of a rule.
const LABEL_OF_RULE: &str = "this rule is for it";

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
    /// The modules that may be called: `github.com/acme/*`, or `acme/*` of the default registry.
    pub allowed_modules: Option<Vec<ModulePattern>>,
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
    pub(crate) fn depends_on_registry_data(&self) -> bool {
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

    /// Whether a change may add no hosts.
    pub(crate) fn denies_new_hosts(&self) -> bool {
        self.rules.iter().any(|rules| rules.denies_new_hosts)
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
        let mut is_exempt = false;
        for rules in &self.rules {
            if rules.exempts_from_min_age(address, dialect) {
                is_exempt = true;
            } else if rules.has_age() {
                return false;
            }
        }
        is_exempt
    }

    /// Whether the policy allows a provider, or its namespace, by name. Then its address is not a
    /// typing error.
    pub(crate) fn names(&self, address: &ProviderAddress, dialect: Dialect) -> bool {
        self.rules.iter().any(|rules| {
            rules.allows_namespace_of(address, dialect) || rules.allows_by_name(address, dialect)
        })
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
        let mut errors = Vec::new();
        for rules in &self.rules {
            errors.extend(rules.against_address(address, dialect));
        }
        without_duplicates(errors)
    }

    /// The hosts that the policy names, with their ports.
    pub(crate) fn hosts(&self) -> BTreeSet<String> {
        let mut hosts = BTreeSet::new();
        for rules in &self.rules {
            for host in rules.allowed_hosts.iter().flatten() {
                hosts.insert(host.as_ascii().to_owned());
            }
            for pattern in rules.allowed_modules.iter().flatten() {
                hosts.extend(pattern.host().map(|host| host.as_ascii().to_owned()));
            }
            let mut patterns: Vec<_> = rules.allowed_namespaces.iter().flatten().collect();
            let allowed = rules.allow.iter().flatten();
            patterns.extend(allowed.map(|rule| rule.providers.get_ref()));
            patterns.extend(rules.trust.iter().map(|rule| rule.providers.get_ref()));
            for pattern in patterns {
                let host = pattern.resolve(Dialect::default()).hostname;
                hosts.extend(host.map(|host| host.as_ascii().to_owned()));
            }
        }
        hosts
    }

    /// Whether the policy lists the modules that may be called.
    pub(crate) fn lists_modules(&self) -> bool {
        self.rules
            .iter()
            .any(|rules| rules.allowed_modules.is_some())
    }

    /// Whether every list of modules allows a module.
    pub(crate) fn allows_module(&self, origin: &ModuleOrigin, dialect: Dialect) -> bool {
        let mut lists = self
            .rules
            .iter()
            .filter_map(|rules| rules.allowed_modules.as_ref());
        lists.all(|patterns| {
            patterns
                .iter()
                .any(|pattern| pattern.matches(origin, dialect))
        })
    }

    /// Returns the reasons why the policy does not allow a version of a provider, if it allows any.
    pub(crate) fn against_version(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
        version: &Version,
    ) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        for rules in &self.rules {
            errors.extend(rules.against_version(address, dialect, version));
        }
        without_duplicates(errors)
    }

    /// Returns the reason why the policy allows no version that these constraints allow; a warning
    /// if it allows some of them.
    pub(crate) fn against_constraints(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
        constraints: &ConstraintList,
    ) -> Option<Diagnostic> {
        let mut ranges = Vec::new();
        for rules in &self.rules {
            let allow = rules.allow.as_deref().unwrap_or_default();
            for rule in allow.iter().chain(&rules.deny).chain(&rules.require) {
                ranges.push(rule.versions.clone());
            }
        }
        if ranges.is_empty() {
            return None;
        }
        // The number of samples grows with the terms, and comparing them takes quadratic time.
        if constraints.terms().len() > MOST_TERMS {
            let message = format!(
                "{} has more than {MOST_TERMS} version constraints",
                address.short(dialect)
            );
            return Some(
                Diagnostic::error(Code::VersionNotAllowed, message).help("use fewer constraints"),
            );
        }

        // Samples of all ranges stand for all versions.
        ranges.push(constraints.clone());
        let terms = ConstraintList::merge(&ranges);
        let samples: BTreeSet<_> = terms
            .samples()
            .filter(|version| constraints.allows(version))
            .collect();
        let mut refusals = Vec::new();
        for version in &samples {
            let reasons = self.against_version(address, dialect, version);
            refusals.extend(reasons.into_iter().next());
        }

        let (severity, which) = if refusals.len() == samples.len() {
            (Severity::Error, "does not allow any version")
        } else {
            (Severity::Warning, "does not allow every version")
        };
        // Without a refusal, the policy allows every version that the constraints allow.
        let example = refusals.pop()?;
        let mut required = address.short(dialect) + " that is required";
        if !constraints.is_empty() {
            let _ = write!(required, " ({constraints})");
        }
        let summary = Diagnostic {
            severity,
            message: format!("the policy {which} of {required}"),
            ..example.clone()
        };
        Some(
            summary
                .note(example.message)
                .help("require versions that the rule allows"),
        )
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
        let mut errors = Vec::new();
        for rules in &self.rules {
            errors.extend(rules.against_signature(address, dialect, release, found));
        }
        without_duplicates(errors)
    }

    /// The fingerprints of the keys that every file which names keys for a provider accepts; none
    /// if no file does.
    pub(crate) fn trusted_keys(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
    ) -> BTreeSet<String> {
        let mut trusted: Option<BTreeSet<String>> = None;
        for rules in &self.rules {
            let mut keys = BTreeSet::new();
            for rule in rules.trusting(address, dialect) {
                keys.extend(rule.fingerprints.iter().cloned());
            }
            // A file without keys for the provider leaves the choice to the other files.
            if keys.is_empty() {
                continue;
            }
            // A nearer file can only tighten the policy, so each file must accept the key.
            if let Some(earlier) = &trusted {
                keys.retain(|key| earlier.contains(key));
            }
            trusted = Some(keys);
        }
        trusted.unwrap_or_default()
    }
}

/// The errors from all files, each once.
#[expect(
    clippy::mutable_key_type,
    reason = "the cached lines of a file are not part of the hash"
)]
fn without_duplicates(mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = HashSet::new();
    errors.retain(|error| seen.insert(error.clone()));
    errors
}

impl Rules {
    /// Returns the reasons why the file does not allow a provider, whatever its version.
    fn against_address(&self, address: &ProviderAddress, dialect: Dialect) -> Vec<Diagnostic> {
        let name = address.short(dialect);
        let mut errors = Vec::new();
        if let Some(hosts) = &self.allowed_hosts
            && !hosts.contains(&address.hostname)
        {
            let message = format!(
                "the policy does not allow {name}: its host is {}",
                address.hostname
            );
            let host = address.hostname.as_ascii();
            let help =
                format!("use another provider, or add {host:?} to allowed-hosts in provlock.toml");
            errors.push(Diagnostic::error(Code::HostNotAllowed, message).help(help));
        }
        if self.allowed_namespaces.is_some() && !self.allows_namespace_of(address, dialect) {
            let namespace = format!("{}/{}", address.hostname, address.namespace);
            let message = format!("the policy does not allow {name}: its namespace is {namespace}");
            let help = format!(
                "use another provider, or add {namespace:?} to allowed-namespaces in provlock.toml"
            );
            errors.push(Diagnostic::error(Code::NamespaceNotAllowed, message).help(help));
        }
        for rule in rules_for(&self.deny, address, dialect) {
            // A rule with versions denies only these.
            if rule.versions.is_empty() {
                let message = format!("the policy denies {name}");
                let error = self.error_by_rule(rule, Code::ProviderNotAllowed, message);
                errors.push(error.help("use another provider"));
            }
        }
        if let Some(allow) = &self.allow
            && rules_for(allow, address, dialect).next().is_none()
        {
            let message =
                format!("the policy does not allow {name}: no [[policy.allow]] matches it");
            let help = "use another provider, or add it to provlock.toml";
            errors.push(Diagnostic::error(Code::ProviderNotAllowed, message).help(help));
        }
        errors
    }

    /// Returns the reasons why the file does not allow a version of a provider.
    fn against_version(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
        version: &Version,
    ) -> Vec<Diagnostic> {
        let name = address.short(dialect);
        let mut errors = Vec::new();
        for rule in rules_for(&self.deny, address, dialect) {
            if rule.denies(version) {
                let message = format!("the policy denies {name} {version} ({})", rule.versions);
                let error = self.error_by_rule(rule, Code::VersionNotAllowed, message);
                errors.push(error.help("use another version"));
            }
        }

        // One of the rules that allow, and all that require, must be met.
        let mut unmet = Vec::new();
        if let Some(allow) = &self.allow {
            let allowing: Vec<_> = rules_for(allow, address, dialect).collect();
            if !allowing.iter().any(|rule| rule.is_met(version)) {
                unmet.extend(allowing.first().copied());
            }
        }
        for rule in rules_for(&self.require, address, dialect) {
            if !rule.is_met(version) {
                unmet.push(rule);
            }
        }
        for rule in unmet {
            let message = format!(
                "the policy requires {name} {}, not {version}",
                rule.versions
            );
            let error = self.error_by_rule(rule, Code::VersionNotAllowed, message);
            errors.push(error.help("use another version"));
        }
        errors
    }

    /// Returns the reasons why the file does not allow a release with this authentication.
    fn against_signature(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
        release: &str,
        authentication: &Authentication,
    ) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        if self.require_signed && !matches!(authentication, Authentication::Signed { .. }) {
            let message = format!(
                "the policy requires a signature, and {release} has none ({authentication})"
            );
            let help =
                "use another provider, or ask its author to publish a signing key in the registry";
            errors.push(Diagnostic::error(Code::UnsignedProvider, message).help(help));
        }
        let trusting: Vec<_> = self.trusting(address, dialect).collect();
        // A release must meet only one of several rules.
        let is_accepted = trusting.iter().any(|rule| rule.accepts(authentication));
        if !is_accepted && let Some(rule) = trusting.first() {
            let location = self.location(&rule.providers);
            errors.push(not_trusted(release, authentication).at_each(&location, LABEL_OF_RULE));
        }
        errors
    }

    pub(super) fn has_age(&self) -> bool {
        self.min_age.is_some() || self.min_provider_age.is_some()
    }

    /// Whether the file lists the namespace of a provider as allowed.
    fn allows_namespace_of(&self, address: &ProviderAddress, dialect: Dialect) -> bool {
        let Some(namespaces) = &self.allowed_namespaces else {
            return false;
        };
        namespaces
            .iter()
            .any(|namespace| namespace.resolve(dialect).matches(address))
    }

    fn exempts_from_min_age(&self, address: &ProviderAddress, dialect: Dialect) -> bool {
        self.min_age_exempt
            .iter()
            .any(|provider| provider.resolve(dialect) == *address)
    }

    /// Whether a rule allows a provider, or its namespace, by name.
    fn allows_by_name(&self, address: &ProviderAddress, dialect: Dialect) -> bool {
        let Some(allow) = &self.allow else {
            return false;
        };
        rules_for(allow, address, dialect).any(|rule| {
            let providers = rule.providers.get_ref().resolve(dialect);
            providers.namespace.is_some()
        })
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

    /// An error because of a rule, with the reason and the position of the rule.
    fn error_by_rule(&self, rule: &ProviderRule, code: Code, mut message: String) -> Diagnostic {
        if let Some(reason) = &rule.reason {
            let _ = write!(message, ": {reason}");
        }
        Diagnostic::error(code, message).at_each(&self.location(&rule.providers), LABEL_OF_RULE)
    }
}

/// The rules that are for a provider.
fn rules_for<'a>(
    rules: &'a [ProviderRule],
    address: &ProviderAddress,
    dialect: Dialect,
) -> impl Iterator<Item = &'a ProviderRule> {
    rules
        .iter()
        .filter(move |rule| rule.providers.get_ref().resolve(dialect).matches(address))
}

impl TrustRule {
    /// Whether one of the keys has signed a release.
    fn accepts(&self, found: &Authentication) -> bool {
        match found {
            Authentication::Signed { fingerprint, .. } => self.fingerprints.contains(fingerprint),
            _ => false,
        }
    }
}

impl ProviderRule {
    /// Whether the rule denies a version and not the whole provider. A range denies its
    /// prereleases, too, and a version denies itself with any build metadata.
    fn denies(&self, version: &Version) -> bool {
        // A rule without versions denies the provider.
        if self.versions.is_empty() {
            return false;
        }
        self.has_in_range(version) || self.has_in_range(&version.without_metadata())
    }

    /// Whether the version is in the range, prerelease or not.
    fn has_in_range(&self, version: &Version) -> bool {
        let mut terms = self.versions.terms().iter();
        terms.all(|term| term.is_met_by(version))
    }

    /// Whether the rule allows or requires the version. A prerelease must be named by the rule.
    fn is_met(&self, version: &Version) -> bool {
        self.versions.is_empty() || self.versions.allows(version)
    }
}

/// The error for a release that no key in `[trust]` has signed.
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
