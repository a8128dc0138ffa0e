//! Provider versions: semantic versioning 2.0, <https://semver.org>, as OpenTofu reads and sorts it by
//! <https://github.com/apparentlymart/go-versions>, with numbers below 2^64.
//!
//! A version is not a `semver::Version`, which refuses three things that OpenTofu takes: fewer than
//! three numbers (`1.2`), leading zeros in numbers (`1.02.3`) and in the identifiers of a
//! prerelease (`1.2.3-01`). Its order of prereleases is another one too. `semver` has the grammar
//! of identifiers: that of build metadata is OpenTofu's for prereleases.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use semver::BuildMetadata as Identifiers;

/// A provider version such as `5.82.2` or `3.0.0-rc.1+build.5`.
///
/// Versions are totally ordered: by precedence first, then, so that equal versions are the same
/// text, by build metadata.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
    /// Third number.
    pub patch: u64,
    /// Text after `-`; empty for a release.
    prerelease: Identifiers,
    /// Text after `+`; may be empty.
    metadata: Identifiers,
}

/// Error of a text that is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// More than three numbers.
    #[error("a version has only three numbers: major, minor, patch")]
    TooManyNumbers,
    /// A number does not fit 64 bits.
    #[error("the number {0} is too large")]
    NumberTooLarge(String),
    /// Something else where a number belongs.
    #[error("{0:?} is not a number")]
    NotANumber(String),
    /// `v1.2.3`.
    #[error("a version does not start with \"v\"")]
    LeadingV,
    /// An `x`, `X` or `*` where a number belongs.
    #[error("wildcards are not supported; omit the numbers that may vary")]
    Wildcard,
    /// An empty or forbidden part after `-` or `+`.
    #[error("{0:?} is not a valid prerelease or build metadata")]
    BadSuffix(String),
    /// The same version has a shorter or longer normal form.
    #[error("the version must be written {0}")]
    NotCanonical(Version),
}

impl Version {
    /// A release version without metadata.
    pub fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
            prerelease: Identifiers::EMPTY,
            metadata: Identifiers::EMPTY,
        }
    }

    /// Whether this is a prerelease. Only an exact constraint selects it.
    pub fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }

    /// Compares by precedence, that is, without build metadata (<https://semver.org/#spec-item-10>), in OpenTofu's
    /// order.
    pub fn cmp_precedence(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            // A release is newer than its prereleases (<https://semver.org/#spec-item-11>).
            .then(self.prerelease.is_empty().cmp(&other.prerelease.is_empty()))
            .then_with(|| cmp_identifiers(&self.prerelease, &other.prerelease))
    }

    /// The version without build metadata, which constraints of modules ignore.
    pub(crate) fn without_metadata(&self) -> Self {
        Self {
            metadata: Identifiers::EMPTY,
            ..self.clone()
        }
    }

    /// Number of bytes beside the numbers.
    pub(crate) fn text_length(&self) -> usize {
        self.prerelease.len() + self.metadata.len()
    }

    /// The text with two numbers, as `~> 1.2` has it.
    pub(crate) fn without_patch(&self) -> String {
        let full = self.to_string();
        let (numbers, suffix) = full.split_at(full.find(['-', '+']).unwrap_or(full.len()));
        format!(
            "{}{suffix}",
            numbers.rsplit_once('.').map_or(numbers, |(two, _)| two)
        )
    }

    /// Parses one to three numbers with optional suffixes; missing numbers are zero.
    ///
    /// Returns how many numbers were written, which decides the meaning of `~>`.
    pub(crate) fn parse_partial(text: &str) -> Result<(Self, usize), VersionError> {
        if text.starts_with(['v', 'V']) {
            return Err(VersionError::LeadingV);
        }
        let (rest, metadata) = split_suffix(text, '+');
        if metadata.is_empty() && rest.len() < text.len() {
            return Err(VersionError::BadSuffix("+".to_owned()));
        }
        let (numbers, prerelease) = split_suffix(rest, '-');
        let mut parsed = [0u64; 3];
        let mut numbers_written = 0;
        for part in numbers.split('.') {
            if numbers_written == 3 {
                return Err(VersionError::TooManyNumbers);
            }
            parsed[numbers_written] = parse_number(part)?;
            numbers_written += 1;
        }
        let [major, minor, patch] = parsed;
        let prerelease = parse_identifiers(prerelease)?;
        let metadata = parse_identifiers(metadata)?;
        Ok((
            Self {
                major,
                minor,
                patch,
                prerelease,
                metadata,
            },
            numbers_written,
        ))
    }
}

impl Version {
    /// Parses a version in a list of a registry or a mirror, in which `2.0` and `02.0.0` are 2.0.0;
    /// `None` for a text that OpenTofu and Terraform skip.
    pub(crate) fn parse_listed(text: &str) -> Option<Self> {
        Self::parse_partial(text).ok().map(|(version, _)| version)
    }
}

fn split_suffix(text: &str, separator: char) -> (&str, &str) {
    text.split_once(separator).unwrap_or((text, ""))
}

fn parse_number(part: &str) -> Result<u64, VersionError> {
    if matches!(part, "x" | "X" | "*") {
        return Err(VersionError::Wildcard);
    }
    if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
        return Err(VersionError::NotANumber(part.to_owned()));
    }
    part.parse()
        .map_err(|_| VersionError::NumberTooLarge(part.to_owned()))
}

/// Compares identifier by identifier. Where one text is at its last identifier and the other is
/// not, the former comes first: there OpenTofu differs from <https://semver.org/#spec-item-11>, and
/// its order decides the content of a lock file.
fn cmp_identifiers(a: &str, b: &str) -> Ordering {
    let mut left = a;
    let mut right = b;
    loop {
        match (left.split_once('.'), right.split_once('.')) {
            (None, None) => return cmp_identifier(left, right),
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some((x, left_rest)), Some((y, right_rest))) => match cmp_identifier(x, y) {
                Ordering::Equal => {
                    left = left_rest;
                    right = right_rest;
                }
                unequal => return unequal,
            },
        }
    }
}

/// Parses the parts of a prerelease or of metadata.
fn parse_identifiers(text: &str) -> Result<Identifiers, VersionError> {
    Identifiers::new(text).map_err(|_| VersionError::BadSuffix(text.to_owned()))
}

fn cmp_identifier(a: &str, b: &str) -> Ordering {
    match (is_number(a), is_number(b)) {
        // Leading zeros are counted, so 01 is more than 2.
        (true, true) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.cmp(b),
    }
}

fn is_number(identifier: &str) -> bool {
    identifier.bytes().all(|byte| byte.is_ascii_digit())
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cmp_precedence(other)
            .then_with(|| self.metadata.cmp(&other.metadata))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Parses the canonical text of a version, the only form in a lock file: `1.5.0`, not `v1.5.0`
    /// or `1.5`.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let (version, numbers_written) = Self::parse_partial(text)?;
        if numbers_written < 3 || version.to_string() != text {
            return Err(VersionError::NotCanonical(version));
        }
        Ok(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_text_is_a_version() {
        for text in [
            "1.5.0",
            "0.0.0",
            "1.2.3-rc.1+build.5",
            "18446744073709551615.0.0",
        ] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "x",
            "v1.5.0",
            "1.5",
            "1.5.0.0",
            "1.5.0 ",
            "1.5.0-",
            "01.5.0",
            ">= 1.0",
            "18446744073709551616.0.0",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn versions_sort_as_opentofu_sorts_them() {
        let sorted = [
            "1.0.0-2",
            "1.0.0-01",
            "1.0.0-10",
            "1.0.0-alpha",
            "1.0.0-rc1",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0",
            "1.0.0+build.5",
            "1.0.1",
        ];
        let versions: Vec<Version> = sorted.iter().map(|text| text.parse().unwrap()).collect();
        assert!(versions.is_sorted(), "{versions:?}");
    }

    #[test]
    fn releases_sort_as_the_semver_crate_sorts_them() {
        let texts = [
            "0.9.9",
            "1.0.0",
            "1.2.3",
            "1.10.0",
            "1.9.9",
            "2.0.0-alpha",
            "2.0.0-beta",
            "2.0.0-2",
            "2.0.0-10",
        ];
        for (a, b) in texts.iter().flat_map(|a| texts.iter().map(move |b| (a, b))) {
            let ours = a.parse::<Version>().unwrap().cmp(&b.parse().unwrap());
            let theirs = semver::Version::parse(a)
                .unwrap()
                .cmp(&semver::Version::parse(b).unwrap());
            assert_eq!(ours, theirs, "{a} and {b}");
        }
    }
}
