//! The notation of `provlock.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, SeqAccess, Visitor};
use toml::Spanned;

#[cfg(test)]
use super::tests::schema;
use super::{
    CacheTable, Denied, FileLevels, Levels, PathLevels, PlatformSelection, Policy, ProviderRule, RootFilter, Rules,
    Settings, TrustRule, parse_duration,
};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Location, Result, SourceFile, words};
use crate::provider::{
    AddressError, ConstraintList, Hostname, OciRepository, PatternError, ProviderPatternSpec, ProviderSpec, PublicKey,
    SharedCache,
};
use crate::system::glob;

const PLATFORMS: &str = "\"all\" or a list of platforms, for example [\"linux_amd64\", \"darwin_arm64\"]";

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "provlock.toml"))]
pub(super) struct File {
    /// The tool whose rules apply; detected from the files if omitted.
    #[cfg_attr(test, schemars(schema_with = "schema::dialect"))]
    dialect: Option<Spanned<String>>,
    /// The platforms to lock and to check.
    #[cfg_attr(test, schemars(schema_with = "schema::platforms"))]
    platforms: Option<Spanned<Platforms>>,
    /// Whether modules that are not installed are fetched.
    fetch_modules: Option<bool>,
    /// The lock file of modules.
    modules: ModulesTable,
    /// The root modules that a recursive search finds.
    roots: Roots,
    /// Rules for providers: `lock` and `upgrade` refuse violations, and `verify` reports them.
    policy: PolicyTable,
    /// The levels of findings.
    verify: VerifyTable,
    /// The fingerprints of the keys that may sign, by provider, such as `registry.example.com/acme/*`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Vec<String>>"))]
    trust: BTreeMap<Spanned<String>, Spanned<Vec<Spanned<String>>>>,
    /// Hashes that others have published. Only the topmost file may have this table.
    #[cfg_attr(test, schemars(with = "SharedCacheTable"))]
    cache: Option<Spanned<SharedCacheTable>>,
}

/// One word, or a list.
enum Platforms {
    Word(String),
    List(Vec<Spanned<String>>),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "modules"))]
struct ModulesTable {
    /// Whether the modules are locked, too.
    lock: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "roots"))]
struct Roots {
    /// Globs of directories. Only these are root modules, and a path without a glob makes any directory one.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    include: Vec<Spanned<String>>,
    /// Globs of excluded directories.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    exclude: Vec<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "policy"))]
struct PolicyTable {
    /// The hosts that providers may come from.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    allowed_hosts: Option<Vec<Spanned<String>>>,
    /// The namespaces that providers may come from: `[HOSTNAME/]NAMESPACE`.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    allowed_namespaces: Option<Vec<Spanned<String>>>,
    /// If present, every provider must match a rule for its address and version.
    #[cfg_attr(test, schemars(with = "Vec<ProviderRuleTable>"))]
    allow: Option<Vec<ProviderRuleTable>>,
    /// Providers, or versions of them, that may not be used.
    deny: Vec<ProviderRuleTable>,
    /// The versions that a provider must have wherever it is used.
    #[cfg_attr(test, schemars(schema_with = "schema::requirements"))]
    require: Vec<ProviderRuleTable>,
    /// Whether every release must be signed.
    require_signed: bool,
    /// How long ago a version must have been published to be selected, such as `7d`.
    #[cfg_attr(test, schemars(with = "String"))]
    min_age: Option<Spanned<String>>,
    /// How long ago the first version of a provider must have been published, such as `30d`.
    #[cfg_attr(test, schemars(with = "String"))]
    min_provider_age: Option<Spanned<String>>,
    /// The tiers that providers of Terraform's registry may have: `official`, `partner`, `community`.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    tiers: Option<Vec<String>>,
    /// The providers whose age does not matter.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    min_age_exempt: Vec<Spanned<String>>,
    /// Whether every module call must have a version, a tag or a commit.
    pin_modules: bool,
    /// Whether a change may add hosts that no lock file of the base contains.
    #[cfg_attr(test, schemars(schema_with = "schema::new_hosts"))]
    new_hosts: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "rule"))]
pub(super) struct ProviderRuleTable {
    /// The providers of the rule: `acme/gamma`, or `acme/*`.
    #[cfg_attr(test, schemars(with = "String"))]
    provider: Spanned<String>,
    /// The versions of the rule, such as `< 2.1`; all if omitted.
    #[cfg_attr(test, schemars(with = "String", default))]
    versions: Option<Spanned<String>>,
    /// Why, in one line.
    #[cfg_attr(test, schemars(with = "String", default))]
    reason: Option<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "verify"))]
struct VerifyTable {
    /// Findings that are errors; `warnings` means all warnings.
    #[cfg_attr(test, schemars(schema_with = "schema::denied"))]
    deny: Vec<Spanned<String>>,
    /// Findings that are warnings.
    #[cfg_attr(test, schemars(schema_with = "schema::loosened"))]
    warn: Vec<Spanned<String>>,
    /// Findings that are not reported.
    #[cfg_attr(test, schemars(schema_with = "schema::loosened"))]
    allow: Vec<Spanned<String>>,
    /// Other levels for some root modules. If several contain a finding, the last applies.
    paths: Vec<PathsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "paths"))]
struct PathsTable {
    /// Globs of their directories.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    paths: Vec<Spanned<String>>,
    #[serde(default)]
    /// Findings that are errors; `warnings` means all warnings.
    #[cfg_attr(test, schemars(schema_with = "schema::denied"))]
    deny: Vec<Spanned<String>>,
    #[serde(default)]
    /// Findings that are warnings.
    #[cfg_attr(test, schemars(schema_with = "schema::loosened"))]
    warn: Vec<Spanned<String>>,
    #[serde(default)]
    /// Findings that are not reported.
    #[cfg_attr(test, schemars(schema_with = "schema::loosened"))]
    allow: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "cache"))]
struct SharedCacheTable {
    /// The repository of an OCI registry: `oci://HOST/PATH`.
    #[cfg_attr(test, schemars(with = "String"))]
    shared: Spanned<String>,
    /// The keys whose signatures are trusted: `ed25519:BASE64`.
    #[cfg_attr(test, schemars(with = "Vec<String>", length(min = 1)))]
    trusted_keys: Spanned<Vec<Spanned<String>>>,
}

impl Settings {
    /// Reads the text of a settings file. Unknown keys and values of the wrong kind are errors at their position.
    pub fn parse(source: &Arc<SourceFile>, path: PathBuf) -> Result<Self> {
        let File { dialect, platforms, fetch_modules, modules, roots, policy, verify, trust, cache } =
            toml::from_str(&source.text).map_err(|error| {
                let location = Location::new(source, error.span().unwrap_or(0..0));
                let message = error.message().trim_end();
                let diagnostic = Diagnostic::error(Code::InvalidArgument, message).at(location, "");
                match key_meant(message) {
                    Some(key) => diagnostic.help(format!("did you mean {key}?")),
                    None => diagnostic,
                }
            })?;
        let mut reader = Reader { source, errors: Diagnostics::default() };
        let base = path.parent().map(Path::to_owned).unwrap_or_default();
        let denies_new_hosts = policy.new_hosts.and_then(|text| reader.one(&text, new_hosts)).unwrap_or_default();
        let pins = policy.pin_modules.then_some(Code::ModuleRefFloating);
        let denied: Vec<_> = pins.into_iter().chain(denies_new_hosts.then_some(Code::HostAdded)).collect();
        let settings = Self {
            verify: vec![reader.verify(&verify, &denied, base.clone())],
            dialect: dialect.and_then(|text| reader.one(&text, str::parse)),
            platforms: platforms.and_then(|platforms| reader.platforms(&platforms)),
            fetch_modules,
            lock_modules: modules.lock,
            roots: vec![RootFilter {
                base,
                include: reader.all(&roots.include, glob::parse),
                exclude: reader.all(&roots.exclude, glob::parse),
            }],
            policy: Policy {
                rules: vec![Rules {
                    allowed_hosts: policy.allowed_hosts.map(|hosts| reader.all(&hosts, Hostname::parse)),
                    allowed_namespaces: policy.allowed_namespaces.map(|list| reader.all(&list, namespace)),
                    allow: policy.allow.map(|rules| reader.provider_rules(&rules)),
                    deny: reader.provider_rules(&policy.deny),
                    require: reader.requirements(&policy.require),
                    require_signed: policy.require_signed,
                    min_age: policy.min_age.and_then(|text| reader.one(&text, parse_duration)),
                    min_provider_age: policy.min_provider_age.and_then(|text| reader.one(&text, parse_duration)),
                    tiers: policy.tiers,
                    min_age_exempt: reader.all(&policy.min_age_exempt, exempt),
                    pin_modules: policy.pin_modules,
                    trust: trust.iter().filter_map(|(providers, keys)| reader.trust_rule(providers, keys)).collect(),
                }],
            },
            cache: cache.and_then(|table| reader.cache(&table)),
            paths: vec![path],
        };
        reader.errors.into_result(settings)
    }
}

/// The key that serde's message about an unknown one proposes best: ``unknown field `platform`, expected one of
/// `dialect`, `platforms` `` has `platforms`.
fn key_meant(message: &str) -> Option<&str> {
    let mut words = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    words::nearest(words.next()?, words)
}

/// Reads the strings of a file, and collects their errors with locations.
struct Reader<'a> {
    source: &'a Arc<SourceFile>,
    errors: Diagnostics,
}

impl Reader<'_> {
    fn one<T, E: ToString>(
        &mut self,
        text: &Spanned<String>,
        read: impl FnOnce(&str) -> std::result::Result<T, E>,
    ) -> Option<T> {
        read(text.get_ref()).map_err(|error| self.fail(text.span(), error.to_string())).ok()
    }

    fn all<T, E: ToString>(
        &mut self,
        texts: &[Spanned<String>],
        read: impl Fn(&str) -> std::result::Result<T, E>,
    ) -> Vec<T> {
        texts.iter().filter_map(|text| self.one(text, &read)).collect()
    }

    fn platforms(&mut self, platforms: &Spanned<Platforms>) -> Option<PlatformSelection> {
        match platforms.get_ref() {
            Platforms::Word(text) if text == "all" => return Some(PlatformSelection::All),
            Platforms::List(texts) if texts.is_empty() => {
                self.fail(platforms.span(), "list at least one platform, or omit the setting");
            }
            Platforms::Word(_) => self.fail(platforms.span(), format!("write {PLATFORMS}")),
            Platforms::List(texts) => {
                return Some(self.all(texts, str::parse::<PlatformSelection>).into_iter().collect());
            }
        }
        None
    }

    fn provider_rules(&mut self, tables: &[ProviderRuleTable]) -> Vec<ProviderRule> {
        let rule = |ProviderRuleTable { provider, versions, reason }: &ProviderRuleTable| {
            let providers = self.one(provider, str::parse);
            // A rule that is not understood is no rule for all versions.
            let versions = match versions {
                Some(text) => self.one(text, str::parse),
                None => Some(ConstraintList::default()),
            };
            let reason = reason.as_ref().and_then(|text| self.one(text, one_line));
            let location = Location::new(self.source, provider.span());
            Some(ProviderRule { providers: providers?, versions: versions?, reason, location })
        };
        tables.iter().filter_map(rule).collect()
    }

    /// Rules that mean nothing without versions.
    fn requirements(&mut self, tables: &[ProviderRuleTable]) -> Vec<ProviderRule> {
        for ProviderRuleTable { provider, versions, .. } in tables {
            if versions.as_ref().is_none_or(|text| text.get_ref().trim().is_empty()) {
                self.fail(provider.span(), "name the versions that this provider must have, such as \">= 2.1\"");
            }
        }
        self.provider_rules(tables)
    }

    fn trust_rule(
        &mut self,
        providers: &Spanned<String>,
        fingerprints: &Spanned<Vec<Spanned<String>>>,
    ) -> Option<TrustRule> {
        let fingerprints = self.all(fingerprints.get_ref(), fingerprint);
        let location = Location::new(self.source, providers.span());
        Some(TrustRule { providers: self.one(providers, str::parse)?, fingerprints, location })
    }

    fn cache(&mut self, table: &Spanned<SharedCacheTable>) -> Option<CacheTable> {
        let SharedCacheTable { shared, trusted_keys } = table.get_ref();
        let mut keys: Vec<PublicKey> = self.all(trusted_keys.get_ref(), str::parse);
        if trusted_keys.get_ref().is_empty() {
            self.fail(trusted_keys.span(), "name at least one key; only facts signed by a trusted key are used");
        }
        keys.sort();
        keys.dedup();
        let repository = self.one(shared, OciRepository::parse_url)?;
        let location = Location::new(self.source, shared.span());
        Some(CacheTable { shared: SharedCache { repository, trusted_keys: keys }, location })
    }

    /// A file denies what its policy forbids, unless it sets another level itself. So a nearer file cannot allow it.
    fn verify(&mut self, table: &VerifyTable, forbidden: &[Code], base: PathBuf) -> FileLevels {
        let mut levels = self.levels(&table.deny, &table.warn, &table.allow);
        let is_open = |code: &&Code| !levels.warn.contains(code) && !levels.allow.contains(code);
        let denied: Vec<_> = forbidden.iter().filter(is_open).copied().map(Denied::Code).collect();
        levels.deny.extend(denied);
        let of_paths = |table: &PathsTable| PathLevels {
            paths: self.all(&table.paths, glob::parse),
            levels: self.levels(&table.deny, &table.warn, &table.allow),
        };
        FileLevels { base, levels, paths: table.paths.iter().map(of_paths).collect() }
    }

    fn levels(&mut self, deny: &[Spanned<String>], warn: &[Spanned<String>], allow: &[Spanned<String>]) -> Levels {
        let mut seen = BTreeSet::new();
        for text in deny.iter().chain(warn).chain(allow) {
            if !seen.insert(text.get_ref()) {
                self.fail(text.span(), format!("{} is listed twice", text.get_ref()));
            }
        }
        Levels { deny: self.all(deny, denied), warn: self.all(warn, loosened), allow: self.all(allow, loosened) }
    }

    fn fail(&mut self, span: Range<usize>, message: impl Into<String>) {
        let error = Diagnostic::error(Code::InvalidArgument, message);
        self.errors.push(error.at(Location::new(self.source, span), ""));
    }
}

fn namespace(text: &str) -> std::result::Result<ProviderPatternSpec, String> {
    ProviderPatternSpec::parse_namespace(text).map_err(|error| match error {
        PatternError::Shape | PatternError::Address(AddressError::Shape) => {
            format!("{text:?} is not a namespace; write [HOSTNAME/]NAMESPACE")
        }
        error => error.to_string(),
    })
}

fn one_line(text: &str) -> std::result::Result<String, &'static str> {
    if text.contains(char::is_control) { Err("write the reason in one line") } else { Ok(text.to_owned()) }
}

/// Whether hosts that a change brings are denied.
fn new_hosts(text: &str) -> std::result::Result<bool, &'static str> {
    match text {
        "deny" => Ok(true),
        "allow" => Ok(false),
        _ => Err("write \"deny\" or \"allow\""),
    }
}

fn denied(text: &str) -> std::result::Result<Denied, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

fn loosened(text: &str) -> std::result::Result<Code, String> {
    match text.parse::<Code>() {
        Ok(code) if code.may_be_suppressed() => Ok(code),
        Ok(code) => Err(format!("{code} cannot be loosened; settings can only deny it")),
        Err(error) => Err(format!("{text:?}: {error}")),
    }
}

fn exempt(text: &str) -> std::result::Result<ProviderSpec, String> {
    let provider: ProviderSpec = text.parse().map_err(|error| format!("{text:?} is not a provider: {error}"))?;
    match provider.version() {
        Some(_) => Err(format!("{text:?} names a version; all versions of a provider are exempt")),
        None => Ok(provider),
    }
}

impl<'de> Deserialize<'de> for Platforms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(PlatformsVisitor)
    }
}

struct PlatformsVisitor;

impl<'de> Visitor<'de> for PlatformsVisitor {
    type Value = Platforms;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(PLATFORMS)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Platforms, E> {
        Ok(Platforms::Word(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> std::result::Result<Platforms, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Platforms::List)
    }
}

fn fingerprint(text: &str) -> std::result::Result<String, String> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_uppercase();
    if matches!(digits.len(), 40 | 64) && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(digits)
    } else {
        Err(format!("{text:?} is not the fingerprint of a key; write its 40 (or 64) hexadecimal digits"))
    }
}
