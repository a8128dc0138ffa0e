//! Keys for Ed25519 (RFC 8032) as text.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// What a public key begins with.
const PUBLIC: &str = "ed25519:";
/// What a private key begins with.
const PRIVATE: &str = "ed25519-private:";
/// The bytes of a key, of either kind (RFC 8032, section 5.1.5).
const LENGTH: usize = 32;

/// A key that signatures are checked with: `ed25519:` and the base64 of its 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; LENGTH]);

/// A key that signs: `ed25519-private:` and the base64 of its 32 bytes. Nothing shows it but [`SigningKey::reveal`].
pub struct SigningKey {
    pair: Ed25519KeyPair,
    text: String,
}

/// Why a text is not a key. It does not quote the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not a public key.
    #[error(
        "this is not a public key; write it as provlock cache keygen prints it, ed25519: and the base64 of 32 bytes"
    )]
    NotPublic,
    /// A private key where a public one belongs.
    #[error(
        "this is a private key: replace it, since others have seen it, and write the public key, which begins with ed25519:"
    )]
    Private,
    /// Not a private key.
    #[error("it is not a private key as provlock cache keygen writes it, ed25519-private: and the base64 of 32 bytes")]
    NotPrivate,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

impl PublicKey {
    /// Whether the signature over a message was made with the key that belongs to this one.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

impl SigningKey {
    /// A new key.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = [0; LENGTH];
        SystemRandom::new().fill(&mut seed).map_err(|_| KeyError::NoRandomness)?;
        Self::of_seed(&seed).ok_or(KeyError::NoRandomness)
    }

    /// Reads a key; white space around it does not count.
    ///
    /// # Errors
    /// The text is not one.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let seed = decode(text.trim(), PRIVATE).ok_or(KeyError::NotPrivate)?;
        Self::of_seed(&seed).ok_or(KeyError::NotPrivate)
    }

    /// The key as text: for the file that keeps it, and nothing else.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// What nothing may show: the whole key, and its base64 alone.
    pub fn secrets(&self) -> [&str; 2] {
        [self.reveal(), self.value()]
    }

    /// The base64 in its text.
    fn value(&self) -> &str {
        &self.text[PRIVATE.len()..]
    }

    /// The key that its signatures are checked with.
    pub fn public_key(&self) -> PublicKey {
        let mut bytes = [0; LENGTH];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        PublicKey(bytes)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }

    fn of_seed(seed: &[u8; LENGTH]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        Some(Self { pair, text: format!("{PRIVATE}{}", BASE64_STANDARD.encode(seed)) })
    }
}

fn decode(text: &str, prefix: &str) -> Option<[u8; LENGTH]> {
    BASE64_STANDARD.decode(text.strip_prefix(prefix)?).ok()?.try_into().ok()
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wrong = if text.starts_with(PRIVATE) { KeyError::Private } else { KeyError::NotPublic };
        decode(text, PUBLIC).map(Self).ok_or(wrong)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", BASE64_STANDARD.encode(self.0))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the signing key of {}", self.public_key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first test of RFC 8032, section 7.1.
    #[test]
    fn keys_and_signatures_are_those_of_the_standard() {
        let key = SigningKey::parse("ed25519-private:nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n").unwrap();
        assert_eq!(key.public_key().to_string(), "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
        let signature = key.sign(b"");
        assert_eq!(signature[..4], [0xe5, 0x56, 0x43, 0x00]);
        assert!(key.public_key().verifies(b"", &signature));
        assert!(!key.public_key().verifies(b"x", &signature));
        assert!(!key.public_key().verifies(b"", &signature[..63]));
    }

    #[test]
    fn a_new_key_is_another_one_and_is_not_shown() {
        let [one, other] = [(); 2].map(|()| SigningKey::generate().unwrap());
        assert_ne!(one.public_key(), other.public_key());
        let read = SigningKey::parse(one.reveal()).unwrap();
        assert_eq!(read.public_key(), one.public_key());
        assert_eq!(one.public_key().to_string().parse(), Ok(one.public_key()));
        assert!(!format!("{one:?}").contains(one.value()));
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_quoted() {
        let private = "ed25519-private:nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
        assert_eq!(private.parse::<PublicKey>(), Err(KeyError::Private));
        for text in
            ["", "ed25519:", "ed25519:AAAA", "rsa:AAAA", "ed25519:!", "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="]
        {
            assert_eq!(text.parse::<PublicKey>(), Err(KeyError::NotPublic), "{text}");
            assert_eq!(SigningKey::parse(text).unwrap_err(), KeyError::NotPrivate, "{text}");
        }
    }
}
