//! The notation of `provlock.toml`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;

use globset::Glob;
use serde::Deserialize;
use toml::Spanned;

#[cfg(test)]
use super::tests::schema;
use super::values::{self, Fingerprint, Loosened, PlatformName};
use super::{
    CacheTable, Denied, FileLevels, LevelOverride, Levels, MissingPlatform, PathLevels,
    PlatformSelection, Policy, RootFilter, Rules, Settings, TrustRule, WithoutPlatforms,
};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Location, Result, SourceFile, words};
use crate::provider::{Dialect, OciRepository, ProviderSpec, PublicKey, SharedCache};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "provlock.toml"))]
pub(super) struct File {
    /// The tool whose rules apply; detected from the files if omitted.
    #[cfg_attr(test, schemars(schema_with = "schema::dialect"))]
    dialect: Option<Dialect>,
    /// The platforms to lock and to check.
    #[cfg_attr(test, schemars(schema_with = "schema::platforms"))]
    platforms: Option<PlatformSelection>,
    /// Platforms for which a provider has no package, by provider, such as `hashicorp/template`.
    #[cfg_attr(test, schemars(schema_with = "schema::without_platforms"))]
    without_platforms: BTreeMap<Spanned<String>, Vec<Spanned<PlatformName>>>,
    /// Whether modules that are not installed are fetched.
    fetch_modules: Option<bool>,
    /// The lock file and the mirror of modules.
    modules: ModulesTable,
    /// The root modules that a recursive search finds.
    roots: RootFilter,
    /// Rules for providers: `lock` and `upgrade` refuse violations, and `verify` reports them.
    policy: Rules,
    /// The levels of findings.
    verify: VerifyTable,
    /// The fingerprints of the keys that may sign, by provider, such as
    /// `registry.example.com/acme/*`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Vec<String>>"))]
    trust: BTreeMap<Spanned<String>, Vec<Fingerprint>>,
    /// Hashes that others have published. Only the topmost file may have this table.
    #[cfg_attr(test, schemars(with = "SharedCacheTable"))]
    cache: Option<SharedCacheTable>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "modules"))]
struct ModulesTable {
    /// Whether the modules are locked, too.
    lock: Option<bool>,
    /// The directory of a mirror, relative to the settings file. `get` installs modules from it
    /// only.
    mirror: Option<PathBuf>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "verify"))]
struct VerifyTable {
    /// Findings that are errors; `warnings` means all warnings.
    #[cfg_attr(test, schemars(schema_with = "schema::denied"))]
    deny: Vec<Spanned<Denied>>,
    /// Findings that are warnings.
    #[cfg_attr(test, schemars(schema_with = "schema::loosened"))]
    warn: Vec<Spanned<Loosened>>,
    /// Findings that are not reported.
    #[cfg_attr(test, schemars(schema_with = "schema::loosened"))]
    allow: Vec<Spanned<Loosened>>,
    /// Other levels for some root modules. If several contain a finding, the last applies.
    paths: Vec<PathsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "paths"))]
struct PathsTable {
    /// Globs of their directories.
    #[serde(deserialize_with = "values::globs")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    paths: Vec<Glob>,
    /// Findings that are errors; `warnings` means all warnings.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "schema::denied"))]
    deny: Vec<Spanned<Denied>>,
    /// Findings that are warnings.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "schema::loosened"))]
    warn: Vec<Spanned<Loosened>>,
    /// Findings that are not reported.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "schema::loosened"))]
    allow: Vec<Spanned<Loosened>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "cache"))]
struct SharedCacheTable {
    /// The repository of an OCI registry: `oci://HOST/PATH`.
    #[cfg_attr(test, schemars(with = "String"))]
    shared: Spanned<OciRepository>,
    /// The keys whose signatures are trusted: `ed25519:BASE64`.
    #[serde(deserialize_with = "values::trusted_keys")]
    #[cfg_attr(test, schemars(length(min = 1)))]
    trusted_keys: Vec<PublicKey>,
}

impl Settings {
    /// Reads the text of a settings file. Unknown keys and values of the wrong kind are errors at
    /// their position.
    pub fn parse(source: &Arc<SourceFile>, path: PathBuf) -> Result<Self> {
        let File {
            dialect,
            platforms,
            without_platforms,
            fetch_modules,
            modules,
            roots,
            policy: mut rules,
            verify,
            trust,
            cache,
        } = toml::from_str(&source.text).map_err(|error| {
            let message = error.message().trim_end();
            let diagnostic = invalid(source, error.span().unwrap_or(0..0), message);
            match key_meant(message) {
                Some(key) => diagnostic.help(format!("did you mean {key}?")),
                None => diagnostic,
            }
        })?;
        let mut errors = Diagnostics::default();
        for rule in rules.require.iter().filter(|rule| rule.versions.is_empty()) {
            let message = "name the versions that this provider must have, such as \">= 2.1\"";
            errors.push(invalid(source, rule.providers.span(), message));
        }
        for (text, keys) in trust {
            match text.get_ref().parse() {
                Ok(pattern) => rules.trust.push(TrustRule {
                    providers: Spanned::new(text.span(), pattern),
                    fingerprints: keys.into_iter().map(|Fingerprint(digits)| digits).collect(),
                }),
                Err(error) => errors.push(invalid(source, text.span(), error.to_string())),
            }
        }
        let without_platforms = platforms_without_package(without_platforms, source, &mut errors);
        rules.source = Some(Arc::clone(source));
        // Paths in the file are relative to its directory.
        let base = path.parent().map(Path::to_owned).unwrap_or_default();
        let mut cache_table = None;
        if let Some(table) = cache {
            let SharedCacheTable {
                shared,
                trusted_keys,
            } = table;
            cache_table = Some(CacheTable {
                location: Location::new(source, shared.span()),
                shared: SharedCache {
                    repository: shared.into_inner(),
                    trusted_keys,
                },
            });
        }
        let settings = Self {
            verify: vec![verify.into_file_levels(&rules, base.clone(), source, &mut errors)],
            dialect,
            platforms,
            without_platforms,
            fetch_modules,
            lock_modules: modules.lock,
            modules_mirror: modules.mirror.map(|mirror| base.join(mirror)),
            roots: vec![RootFilter { base, ..roots }],
            policy: Policy { rules: vec![rules] },
            cache: cache_table,
            paths: vec![path],
            of_other_users: Vec::new(),
        };
        errors.into_result(settings)
    }
}

/// Reads the table of platforms for which providers have no package.
fn platforms_without_package(
    table: BTreeMap<Spanned<String>, Vec<Spanned<PlatformName>>>,
    source: &Arc<SourceFile>,
    errors: &mut Diagnostics,
) -> WithoutPlatforms {
    let mut without_package = WithoutPlatforms::default();
    for (name, platforms) in table {
        let text = name.get_ref();
        let provider = match ProviderSpec::from_str(text) {
            Ok(provider) if provider.version().is_none() => provider,
            Ok(_) => {
                let message =
                    format!("{text:?} names a version; the platforms are for all of them");
                errors.push(invalid(source, name.span(), message));
                continue;
            }
            Err(error) => {
                let message = format!("{text:?} is not a provider: {error}");
                errors.push(invalid(source, name.span(), message));
                continue;
            }
        };
        if platforms.is_empty() {
            let message = "list at least one platform, or omit the provider";
            errors.push(invalid(source, name.span(), message));
        }
        without_package.extend(platforms.into_iter().map(|platform| MissingPlatform {
            provider: provider.clone(),
            location: Location::new(source, platform.span()),
            platform: platform.into_inner().0,
        }));
    }
    without_package
}

fn invalid(source: &Arc<SourceFile>, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::InvalidArgument, message).at_location(Location::new(source, span))
}

/// The key that serde's message about an unknown one proposes best: ``unknown field `platform`,
/// expected one of `dialect`, `platforms` `` has `platforms`.
fn key_meant(message: &str) -> Option<&str> {
    let mut words = message
        .strip_prefix("unknown field ")?
        .split('`')
        .skip(1)
        .step_by(2);
    words::nearest(words.next()?, words)
}

impl VerifyTable {
    /// The levels of a file. It denies what its policy forbids, unless it sets a different level
    /// itself, so that a nearer file cannot allow it.
    fn into_file_levels(
        self,
        policy: &Rules,
        base: PathBuf,
        source: &Arc<SourceFile>,
        errors: &mut Diagnostics,
    ) -> FileLevels {
        let mut own = levels_of_table(self.deny, self.warn, self.allow, source, errors);
        let code = Code::ModuleRefFloating;
        if policy.pin_modules && !own.names(code) {
            own.0.push(LevelOverride::Deny(Denied::Code(code)));
        }
        let mut paths = Vec::new();
        for table in self.paths {
            paths.push(PathLevels {
                paths: table.paths,
                levels: levels_of_table(table.deny, table.warn, table.allow, source, errors),
            });
        }
        FileLevels {
            base,
            levels: own,
            paths,
        }
    }
}

/// The levels of a table. A finding that is listed twice is an error.
fn levels_of_table(
    deny: Vec<Spanned<Denied>>,
    warn: Vec<Spanned<Loosened>>,
    allow: Vec<Spanned<Loosened>>,
    source: &Arc<SourceFile>,
    errors: &mut Diagnostics,
) -> Levels {
    let mut overrides = Vec::new();
    for denied in deny {
        let span = denied.span();
        overrides.push((LevelOverride::Deny(denied.into_inner()), span));
    }
    for code in warn {
        let span = code.span();
        overrides.push((LevelOverride::Warn(code.into_inner().0), span));
    }
    for code in allow {
        let span = code.span();
        overrides.push((LevelOverride::Allow(code.into_inner().0), span));
    }
    let mut seen = Vec::new();
    let mut levels = Levels::default();
    for (level_override, span) in overrides {
        let findings = level_override.findings();
        if seen.contains(&findings) {
            errors.push(invalid(source, span, format!("{findings} is listed twice")));
        }
        seen.push(findings);
        levels.0.push(level_override);
    }
    levels
}
