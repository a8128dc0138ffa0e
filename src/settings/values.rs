//! The values of `provlock.toml`. The error of a value is at its position in the file.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr as _;
use std::time::Duration;

use globset::Glob;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use super::{Denied, ModulePattern, PlatformSelection, parse_duration};
use crate::diagnostic::Code;
use crate::provider::{
    AddressError, ConstraintList, Dialect, Hostname, OciRepository, PatternError, Platform,
    ProviderPatternSpec, ProviderSpec, PublicKey,
};
use crate::system::glob;

const PLATFORMS: &str =
    "\"all\" or a list of platforms, for example [\"linux_amd64\", \"darwin_arm64\"]";

/// Reads a text by a function, in the deserializer, which knows its position.
struct Text<F>(F);

/// Code of a finding that settings may suppress.
pub(super) struct Loosened(pub(super) Code);

/// Fingerprint of a key, in upper case.
pub(super) struct Fingerprint(pub(super) String);

struct Namespace(ProviderPatternSpec);

struct DirectoryGlob(Glob);

struct OnePlatform(PlatformSelection);

/// One platform, and not `all`.
pub(super) struct PlatformName(pub(super) Platform);

/// Defines types that are read from a text.
macro_rules! types {
    ($($type:ty: $read:expr;)+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text($read))
            }
        }
    )+};
}

types! {
    ConstraintList: Self::from_str;
    Denied: |text: &str| Self::from_str(text).map_err(|error| format!("{text:?}: {error}"));
    Dialect: Self::from_str;
    DirectoryGlob: |text: &str| glob::parse(text.strip_prefix("./").unwrap_or(text)).map(Self);
    Fingerprint: fingerprint;
    Hostname: Self::parse;
    Loosened: loosened;
    ModulePattern: Self::from_str;
    Namespace: namespace;
    OciRepository: Self::parse_url;
    OnePlatform: |text: &str| PlatformSelection::from_str(text).map(Self);
    PlatformName: |text: &str| Platform::parse_written(text).map(Self);
    ProviderPatternSpec: Self::from_str;
    ProviderSpec: without_version;
    PublicKey: Self::from_str;
}

impl<T, E: Display, F: FnOnce(&str) -> Result<T, E>> Visitor<'_> for Text<F> {
    type Value = T;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<R: Error>(self, text: &str) -> Result<T, R> {
        (self.0)(text).map_err(R::custom)
    }
}

pub(super) fn duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    deserializer.deserialize_str(Text(parse_duration)).map(Some)
}

pub(super) fn one_line<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    deserializer.deserialize_str(Text(reason)).map(Some)
}

pub(super) fn denies_new_hosts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<bool, D::Error> {
    deserializer.deserialize_str(Text(new_hosts))
}

pub(super) fn globs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Glob>, D::Error> {
    Ok(Vec::deserialize(deserializer)?
        .into_iter()
        .map(|DirectoryGlob(glob)| glob)
        .collect())
}

pub(super) fn namespaces<'de, D>(
    deserializer: D,
) -> Result<Option<Vec<ProviderPatternSpec>>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(Some(
        Vec::deserialize(deserializer)?
            .into_iter()
            .map(|Namespace(namespace)| namespace)
            .collect(),
    ))
}

impl<'de> Deserialize<'de> for PlatformSelection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlatformsVisitor)
    }
}

struct PlatformsVisitor;

impl<'de> Visitor<'de> for PlatformsVisitor {
    type Value = PlatformSelection;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(PLATFORMS)
    }

    fn visit_str<R: Error>(self, text: &str) -> Result<PlatformSelection, R> {
        if text == "all" {
            Ok(PlatformSelection::All)
        } else {
            Err(R::custom(format!("write {PLATFORMS}")))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<PlatformSelection, A::Error> {
        let platforms: Vec<OnePlatform> = Vec::deserialize(SeqAccessDeserializer::new(list))?;
        if platforms.is_empty() {
            return Err(A::Error::custom(
                "list at least one platform, or omit the setting",
            ));
        }
        Ok(platforms
            .into_iter()
            .map(|OnePlatform(platform)| platform)
            .collect())
    }
}

/// Reads keys, sorted and without duplicates.
pub(super) fn trusted_keys<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PublicKey>, D::Error> {
    let mut keys: Vec<PublicKey> = Vec::deserialize(deserializer)?;
    if keys.is_empty() {
        return Err(D::Error::custom(
            "name at least one key; only facts signed by a trusted key are used",
        ));
    }
    keys.sort();
    keys.dedup();
    Ok(keys)
}

fn loosened(text: &str) -> Result<Loosened, String> {
    match text.parse::<Code>() {
        Ok(code) if code.may_be_suppressed() => Ok(Loosened(code)),
        Ok(code) => Err(format!(
            "{code} cannot be loosened; settings can only deny it"
        )),
        Err(error) => Err(format!("{text:?}: {error}")),
    }
}

fn reason(text: &str) -> Result<String, &'static str> {
    if text.contains(char::is_control) {
        Err("write the reason in one line")
    } else {
        Ok(text.to_owned())
    }
}

fn new_hosts(text: &str) -> Result<bool, &'static str> {
    match text {
        "deny" => Ok(true),
        "allow" => Ok(false),
        _ => Err("write \"deny\" or \"allow\""),
    }
}

fn namespace(text: &str) -> Result<Namespace, String> {
    ProviderPatternSpec::parse_namespace(text)
        .map(Namespace)
        .map_err(|error| match error {
            PatternError::Shape | PatternError::Address(AddressError::Shape) => {
                format!("{text:?} is not a namespace; write [HOSTNAME/]NAMESPACE")
            }
            error => error.to_string(),
        })
}

fn without_version(text: &str) -> Result<ProviderSpec, String> {
    let provider = ProviderSpec::from_str(text)
        .map_err(|error| format!("{text:?} is not a provider: {error}"))?;
    match provider.version() {
        Some(_) => Err(format!(
            "{text:?} names a version; all versions of a provider are exempt"
        )),
        None => Ok(provider),
    }
}

fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    let digits: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect::<String>()
        .to_ascii_uppercase();
    if matches!(digits.len(), 40 | 64) && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(Fingerprint(digits))
    } else {
        Err(format!(
            "{text:?} is not the fingerprint of a key; write its 40 (or 64) hexadecimal digits"
        ))
    }
}
