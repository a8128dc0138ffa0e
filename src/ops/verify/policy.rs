//! The project's policy: what `[policy]` and `[trust]` of provlock.toml allow.

use super::{Subject, VerifyRequest, finding, look_alike};
use crate::address::{Hostname, ProviderAddress};
use crate::authentication::Authentication;
use crate::cli_config::ProviderPattern;
use crate::diagnostic::{Code, Diagnostic, Location, Severity};
use crate::dialect::Dialect;
use crate::lockfile::Entry;
use crate::settings::Settings;

/// A directory beside the configuration that the programs take for a mirror.
const BUNDLED: &str = "terraform.d/plugins";

/// A policy that was read and understood.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    hosts: Option<Vec<Hostname>>,
    namespaces: Option<Vec<ProviderPattern>>,
    require_signed: bool,
    trust: Vec<Trust>,
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
    /// Hosts, namespaces and patterns that cannot be understood.
    pub fn new(settings: &Settings, dialect: Dialect) -> Result<Self, Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let mut invalid = |key: &str, text: &str, error: &dyn std::fmt::Display| {
            let message = format!("{key} of provlock.toml: {text:?}: {error}");
            errors.push(Diagnostic::error(Code::InvalidArgument, message));
        };
        let policy = &settings.policy;
        let hosts = policy.allowed_hosts.as_ref().map(|hosts| {
            let host =
                |text: &String| Hostname::parse(text).map_err(|error| invalid("allowed-hosts", text, &error)).ok();
            hosts.iter().filter_map(host).collect()
        });
        let namespaces = policy.allowed_namespaces.as_ref().map(|namespaces| {
            let namespace = |text: &String| {
                let pattern = ProviderPattern::parse(&format!("{text}/*"), dialect);
                pattern.map_err(|error| invalid("allowed-namespaces", text, &error)).ok()
            };
            namespaces.iter().filter_map(namespace).collect()
        });
        let trust = settings.trust.iter().filter_map(|rule| {
            let pattern = ProviderPattern::parse(&rule.providers, dialect);
            let providers = pattern.map_err(|error| invalid("trust", &rule.providers, &error)).ok()?;
            Some(Trust { providers, fingerprints: rule.fingerprints.clone(), location: rule.location.clone() })
        });
        let rules = Self { hosts, namespaces, require_signed: policy.require_signed, trust: trust.collect() };
        if errors.is_empty() { Ok(rules) } else { Err(errors) }
    }

    /// Whether the policy names a provider's namespace, so that it is meant as it is written.
    fn names(&self, address: &ProviderAddress) -> bool {
        self.namespaces.as_ref().is_some_and(|patterns| patterns.iter().any(|pattern| pattern.matches(address)))
    }
}

/// Packages beside the configuration, which the programs install instead of the registry's.
pub(super) fn bundled_plugins(request: &VerifyRequest<'_>) -> Option<Diagnostic> {
    let directory = request.root.join(BUNDLED);
    let is_used = std::fs::read_dir(&directory).is_ok_and(|mut entries| entries.next().is_some());
    let message = format!("{} holds packages, which are installed instead of the registry's", directory.display());
    let help = format!("remove {}, or name a mirror in the CLI configuration", directory.display());
    is_used.then(|| Diagnostic::error(Code::BundledPlugins, message).help(help))
}

/// What the policy and common sense say about the addresses in the lock file.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.entries().iter().flat_map(|entry| check_address(subject, entry)).collect()
}

fn check_address(subject: &Subject<'_>, entry: &Entry) -> Vec<Diagnostic> {
    let (rules, address) = (subject.request.rules, &entry.address);
    let name = subject.name(address);
    let mut findings = Vec::new();
    let mut error = |code, message: String, help: String| {
        findings.push(finding(Severity::Error, code, message, &entry.block, "").help(help));
    };
    if rules.hosts.as_ref().is_some_and(|hosts| !hosts.contains(&address.hostname)) {
        let message = format!("the policy does not allow {name}: its host is {}", address.hostname);
        let help =
            format!("use another provider, or add {:?} to allowed-hosts in provlock.toml", address.hostname.as_ascii());
        error(Code::HostNotAllowed, message, help);
    }
    if rules.namespaces.is_some() && !rules.names(address) {
        let namespace = format!("{}/{}", address.hostname, address.namespace);
        let message = format!("the policy does not allow {name}: its namespace is {namespace}");
        let help = format!("use another provider, or add {namespace:?} to allowed-namespaces in provlock.toml");
        error(Code::NamespaceNotAllowed, message, help);
    }
    if let Some(known) = look_alike::of(address).filter(|_| !rules.names(address)) {
        let message = format!("{address} looks like {known}, but is not");
        let help = format!(
            "make sure that it is not {known} that is meant; if it is right, allow its namespace in provlock.toml"
        );
        error(Code::LookAlike, message, help);
    }
    findings
}

/// What the policy says about the signature of an entry's release.
pub(super) fn check_signature(subject: &Subject<'_>, entry: &Entry, found: &Authentication) -> Vec<Diagnostic> {
    let (rules, release) = (subject.request.rules, subject.release(entry));
    let mut findings = Vec::new();
    let signed = matches!(found, Authentication::Signed { .. });
    if rules.require_signed && !signed {
        let message = format!("the policy requires a signature, and {release} has none ({found})");
        let error = finding(Severity::Error, Code::UnsignedProvider, message, &entry.block, "");
        findings.push(error.help("use another provider, or ask its author to publish a signing key in the registry"));
    }
    let trusted: Vec<_> = rules.trust.iter().filter(|rule| rule.providers.matches(&entry.address)).collect();
    let accepts = |rule: &&Trust| match found {
        Authentication::Signed { fingerprint, .. } => rule.fingerprints.contains(fingerprint),
        _ => false,
    };
    if let Some(rule) = trusted.first().filter(|_| !trusted.iter().any(accepts)) {
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
        let error = finding(Severity::Error, Code::KeyNotTrusted, message, &entry.block, "");
        findings.push(error.at(rule.location.clone(), "this rule is for it").help(help));
    }
    findings
}
