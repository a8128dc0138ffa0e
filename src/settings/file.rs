//! The notation of `provlock.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, SeqAccess, Visitor};
use toml::Spanned;

use super::{PlatformSelection, Policy, RootFilter, Settings, TrustRule, Unread};
use super::{error_at, parse_duration, parse_glob};
use crate::address::Hostname;
use crate::diagnostic::{Location, Result, SourceFile};

const PLATFORMS: &str = "\"all\" or a list of platforms, for example [\"linux_amd64\", \"darwin_arm64\"]";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    dialect: Option<Spanned<String>>,
    platforms: Option<Spanned<Platforms>>,
    #[serde(default)]
    roots: Roots,
    #[serde(default)]
    policy: PolicyTable,
    #[serde(default)]
    trust: BTreeMap<Spanned<String>, Spanned<Vec<Spanned<String>>>>,
}

/// One word, or a list.
enum Platforms {
    Word(String),
    List(Vec<Spanned<String>>),
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
    allowed_hosts: Option<Vec<Spanned<String>>>,
    allowed_namespaces: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    require_signed: bool,
    min_age: Option<Spanned<String>>,
    #[serde(default)]
    min_age_exempt: Vec<Spanned<String>>,
}

pub(super) fn parse(source: &Arc<SourceFile>, path: PathBuf) -> Result<Settings> {
    let file: File = toml::from_str(&source.text)
        .map_err(|error| error_at(source, error.span().unwrap_or(0..0), error.message().trim_end()))?;
    let policy = Policy {
        min_age: file.policy.min_age.map(|text| checked(source, &text, parse_duration)).transpose()?,
        allowed_hosts: file.policy.allowed_hosts.map(|hosts| all(source, &hosts, Hostname::parse)).transpose()?,
        allowed_namespaces: file.policy.allowed_namespaces.map(|list| unread_list(source, list)),
        require_signed: file.policy.require_signed,
        min_age_exempt: unread_list(source, file.policy.min_age_exempt),
    };
    let roots = RootFilter {
        include: all(source, &file.roots.include, parse_glob)?,
        exclude: all(source, &file.roots.exclude, parse_glob)?,
    };
    Ok(Settings {
        dialect: file.dialect.map(|text| checked(source, &text, str::parse)).transpose()?,
        platforms: file.platforms.map(|platforms| selection(source, &platforms)).transpose()?,
        roots,
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
    read(text.get_ref()).map_err(|error| error_at(source, text.span(), error.to_string()).into())
}

/// Reads every string of a list.
fn all<T, E: ToString>(
    source: &Arc<SourceFile>,
    texts: &[Spanned<String>],
    read: impl Fn(&str) -> std::result::Result<T, E>,
) -> Result<Vec<T>> {
    texts.iter().map(|text| checked(source, text, &read)).collect()
}

fn unread(source: &Arc<SourceFile>, text: Spanned<String>) -> Unread {
    let location = Location::new(source, text.span());
    Unread { text: text.into_inner(), location }
}

fn unread_list(source: &Arc<SourceFile>, texts: Vec<Spanned<String>>) -> Vec<Unread> {
    texts.into_iter().map(|text| unread(source, text)).collect()
}

fn selection(source: &Arc<SourceFile>, platforms: &Spanned<Platforms>) -> Result<PlatformSelection> {
    match platforms.get_ref() {
        Platforms::Word(text) if text == "all" => Ok(PlatformSelection::All),
        Platforms::List(texts) if texts.is_empty() => {
            Err(error_at(source, platforms.span(), "name at least one platform, or leave the setting out").into())
        }
        Platforms::Word(_) => Err(error_at(source, platforms.span(), format!("write {PLATFORMS}")).into()),
        Platforms::List(texts) => Ok(all(source, texts, str::parse::<PlatformSelection>)?.into_iter().collect()),
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

fn trust_rule(
    source: &Arc<SourceFile>,
    providers: Spanned<String>,
    fingerprints: &Spanned<Vec<Spanned<String>>>,
) -> Result<TrustRule> {
    let fingerprints = all(source, fingerprints.get_ref(), fingerprint)?;
    Ok(TrustRule { fingerprints, providers: unread(source, providers) })
}

fn fingerprint(text: &str) -> std::result::Result<String, String> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_uppercase();
    if matches!(digits.len(), 40 | 64) && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(digits)
    } else {
        Err(format!("{text:?} is not the fingerprint of a key; write its 40 (or 64) hexadecimal digits"))
    }
}
