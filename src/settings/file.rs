//! The notation of `provlock.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use super::{PlatformSelection, Policy, RootFilter, Settings, TrustRule, error_at, parse_duration};
use crate::diagnostic::{Location, Result, SourceFile};
use crate::platform::PlatformError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    dialect: Option<Spanned<String>>,
    platforms: Option<Spanned<toml::Value>>,
    #[serde(default)]
    roots: Roots,
    #[serde(default)]
    policy: PolicyTable,
    #[serde(default)]
    trust: BTreeMap<Spanned<String>, Spanned<Vec<Spanned<String>>>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Roots {
    #[serde(default)]
    include: Vec<Spanned<String>>,
    #[serde(default)]
    exclude: Vec<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PolicyTable {
    allowed_hosts: Option<Vec<String>>,
    allowed_namespaces: Option<Vec<String>>,
    #[serde(default)]
    require_signed: bool,
    min_age: Option<Spanned<String>>,
    #[serde(default)]
    min_age_exempt: Vec<String>,
}

pub(super) fn parse(source: &Arc<SourceFile>, path: PathBuf) -> Result<Settings> {
    let file: File = toml::from_str(&source.text)
        .map_err(|error| error_at(source, error.span().unwrap_or(0..0), error.message().trim_end()))?;
    let policy = Policy {
        min_age: file.policy.min_age.map(|text| checked(source, &text, parse_duration)).transpose()?,
        allowed_hosts: file.policy.allowed_hosts,
        allowed_namespaces: file.policy.allowed_namespaces,
        require_signed: file.policy.require_signed,
        min_age_exempt: file.policy.min_age_exempt,
    };
    Ok(Settings {
        dialect: file.dialect.map(|text| checked(source, &text, str::parse)).transpose()?,
        platforms: file.platforms.map(|platforms| selection(source, &platforms)).transpose()?,
        roots: RootFilter { include: globs(source, file.roots.include)?, exclude: globs(source, file.roots.exclude)? },
        policy,
        trust: file.trust.into_iter().map(|(key, value)| trust_rule(source, key, &value)).collect::<Result<_>>()?,
        path: Some(path),
    })
}

/// Reads one string of the file, with its place in the error.
fn checked<T, E: ToString>(
    source: &Arc<SourceFile>,
    text: &Spanned<String>,
    read: impl FnOnce(&str) -> std::result::Result<T, E>,
) -> Result<T> {
    read(text.get_ref()).map_err(|error| error_at(source, text.span(), error.to_string()))
}

fn selection(source: &Arc<SourceFile>, value: &Spanned<toml::Value>) -> Result<PlatformSelection> {
    let read = || match value.get_ref() {
        toml::Value::String(text) if text == "all" => Ok(PlatformSelection::All),
        toml::Value::Array(items) => {
            let texts = items.iter().map(toml::Value::as_str).collect::<Option<Vec<_>>>();
            let texts = texts.ok_or("a platform is a string")?.into_iter();
            texts.map(str::parse).collect::<std::result::Result<_, PlatformError>>().map_err(|error| error.to_string())
        }
        _ => Err("write \"all\" or a list of platforms, for example [\"linux_amd64\", \"darwin_arm64\"]".to_owned()),
    };
    read().map_err(|message| error_at(source, value.span(), message))
}

fn globs(source: &Arc<SourceFile>, patterns: Vec<Spanned<String>>) -> Result<Vec<String>> {
    for pattern in &patterns {
        checked(source, pattern, globset::Glob::new)?;
    }
    Ok(patterns.into_iter().map(Spanned::into_inner).collect())
}

fn trust_rule(
    source: &Arc<SourceFile>,
    providers: Spanned<String>,
    fingerprints: &Spanned<Vec<Spanned<String>>>,
) -> Result<TrustRule> {
    let location = Location::new(source, providers.span());
    let fingerprints = fingerprints.get_ref().iter().map(|text| checked(source, text, fingerprint));
    Ok(TrustRule { fingerprints: fingerprints.collect::<Result<_>>()?, providers: providers.into_inner(), location })
}

fn fingerprint(text: &str) -> std::result::Result<String, String> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_uppercase();
    if matches!(digits.len(), 40 | 64) && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(digits)
    } else {
        Err(format!("{text:?} is not the fingerprint of a key; write its 40 (or 64) hexadecimal digits"))
    }
}
