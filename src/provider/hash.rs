//! Package hashes as a lock file records them: OpenTofu's `internal/getproviders/hash.go`.

use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A hash with its scheme, such as `h1:…` or `zh:…`, ordered by its bytes.
///
/// Schemes other than `h1` and `zh` are kept and never compared, so any text `scheme:value` is a
/// hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub struct Hash(Arc<str>);

/// Scheme of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashScheme {
    /// `h1`: the files of the package, whatever it is packed in.
    H1,
    /// `zh`: the bytes of the zip archive.
    Zh,
    /// A scheme that this program does not know.
    Unknown,
}

impl HashScheme {
    /// Description of a well-formed hash of the scheme.
    pub fn form(self) -> &'static str {
        match self {
            Self::H1 => "h1: and the base64 of 32 bytes",
            Self::Zh => "zh: and 64 lower-case hexadecimal digits",
            Self::Unknown => "a scheme, a colon and anything",
        }
    }
}

/// For each byte, whether it is a lower-case hexadecimal digit. A large repository has many
/// millions of digits in its lock files, and the program that is shipped is built for size: nothing
/// but a table makes one step of each there.
const IS_LOWER_HEX: [bool; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [false; 256];
    let mut index = 0;
    while index < digits.len() {
        table[digits[index] as usize] = true;
        index += 1;
    }
    table
};

/// Hashes by their schemes, and malformed hashes, which cannot match any package.
///
/// Code takes it apart without `..`, so that the compiler lists each place that has to know a new
/// scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HashesByScheme<'a> {
    /// Each platform's package has its own.
    pub h1: Vec<&'a Hash>,
    /// Hashes in SHA256SUMS, which lists all packages of a release.
    pub zh: Vec<&'a Hash>,
    /// Of schemes that this program does not know.
    pub unknown: Vec<&'a Hash>,
    /// Of a known scheme, but not in its form.
    pub malformed: Vec<&'a Hash>,
}

impl HashesByScheme<'_> {
    /// The scheme of all hashes, if they have the same and its form.
    pub fn only(&self) -> Option<HashScheme> {
        let Self {
            h1,
            zh,
            unknown,
            malformed,
        } = self;
        if !malformed.is_empty() {
            return None;
        }
        match (h1.is_empty(), zh.is_empty(), unknown.is_empty()) {
            (false, true, true) => Some(HashScheme::H1),
            (true, false, true) => Some(HashScheme::Zh),
            (true, true, false) => Some(HashScheme::Unknown),
            _ => None,
        }
    }
}

impl<'a> FromIterator<&'a Hash> for HashesByScheme<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Hash>>(hashes: I) -> Self {
        let mut lists = Self::default();
        for hash in hashes {
            let list = match hash.scheme() {
                HashScheme::Unknown => &mut lists.unknown,
                HashScheme::H1 | HashScheme::Zh if !hash.is_well_formed() => &mut lists.malformed,
                HashScheme::H1 => &mut lists.h1,
                HashScheme::Zh => &mut lists.zh,
            };
            list.push(hash);
        }
        lists
    }
}

/// The text has no `scheme:` in front.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a hash; a hash starts with its scheme, as in \"h1:\" or \"zh:\"")]
pub struct HashError(pub String);

impl Hash {
    /// `h1:` with the base64 of a SHA-256 digest.
    pub fn h1(digest: &[u8; 32]) -> Self {
        Self(format!("h1:{}", BASE64.encode(digest)).into())
    }

    /// `zh:` with the lower-case hexadecimal digits of a SHA-256 digest.
    pub fn zh(digest: &[u8; 32]) -> Self {
        let mut text = String::with_capacity(67);
        text.push_str("zh:");
        for byte in digest {
            text.push(char::from(b"0123456789abcdef"[usize::from(byte >> 4)]));
            text.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
        }
        Self(text.into())
    }

    /// The `zh:` of an archive whose bytes are all in memory.
    pub fn zh_of(bytes: &[u8]) -> Self {
        Self::zh(&Sha256::digest(bytes).into())
    }

    /// The whole text, `scheme:value`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scheme, as far as it is known.
    pub fn scheme(&self) -> HashScheme {
        match self.0.as_bytes() {
            [b'h', b'1', b':', ..] => HashScheme::H1,
            [b'z', b'h', b':', ..] => HashScheme::Zh,
            _ => HashScheme::Unknown,
        }
    }

    /// The text before the colon, `h1` or `zh` as far as the scheme is known.
    pub fn scheme_name(&self) -> &str {
        self.0.split_once(':').map_or("", |(name, _)| name)
    }

    /// The text after the scheme.
    pub fn value(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, value)| value)
    }

    /// Whether the value has the form its scheme demands: 64 lower-case hexadecimal digits for
    /// `zh`, the base64 of 32 bytes for `h1`. Hashes of unknown schemes are never malformed.
    pub fn is_well_formed(&self) -> bool {
        match self.0.as_bytes() {
            [b'h', b'1', b':', value @ ..] => {
                // Nothing is allocated, because a large repository has very many hashes. The
                // decoder wants three bytes for every four characters: a longer value has no room.
                let mut digest = [0; 33];
                BASE64.decode_slice(value, &mut digest) == Ok(32)
            }
            [b'z', b'h', b':', digits @ ..] => {
                digits.len() == 64 && digits.iter().all(|&byte| IS_LOWER_HEX[usize::from(byte)])
            }
            _ => true,
        }
    }

    /// Whether it is a well-formed hash of the scheme.
    pub fn is_well_formed_as(&self, scheme: HashScheme) -> bool {
        self.scheme() == scheme && self.is_well_formed()
    }

    /// Whether its scheme is known.
    pub fn is_known(&self) -> bool {
        self.scheme() != HashScheme::Unknown
    }
}

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        match text.bytes().position(|byte| byte == b':') {
            Some(position) if position > 0 => Ok(Self(text.into())),
            _ => Err(HashError(text.to_owned())),
        }
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_a_scheme_in_front() {
        for text in ["foo", "", ":abc", "h1"] {
            assert!(text.parse::<Hash>().is_err(), "{text}");
        }
        for text in ["h1:", "h 1:x", "h2:abc", "zh:xyz"] {
            assert_eq!(text.parse::<Hash>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn digests_are_written_as_their_scheme_demands() {
        let digest: [u8; 32] = std::array::from_fn(|index| u8::try_from(index * 8).unwrap());
        let zh = "zh:0008101820283038404850586068707880889098a0a8b0b8c0c8d0d8e0e8f0f8";
        assert_eq!(Hash::zh(&digest).as_str(), zh);
        assert_eq!(
            Hash::h1(&digest).as_str(),
            "h1:AAgQGCAoMDhASFBYYGhweICIkJigqLC4wMjQ2ODo8Pg="
        );
        assert!(Hash::zh(&digest).is_well_formed() && Hash::h1(&digest).is_well_formed());
    }

    #[test]
    fn malformed_values_are_known_by_their_scheme() {
        let well_formed = |text: &str| text.parse::<Hash>().unwrap().is_well_formed();
        assert!(well_formed("h2:anything"));
        assert!(!well_formed("zh:0008"));
        assert!(!well_formed(&format!("zh:{}", "A".repeat(64))));
        assert!(!well_formed("h1:AAAA"));
    }
}
