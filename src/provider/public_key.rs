//! Keys for Ed25519 (RFC 8032) as text.

use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use ring::rand::{SecureRandom as _, SystemRandom};

/// Prefix of a public key.
const PUBLIC: &str = "ed25519:";
/// Prefix of a private key.
const PRIVATE: &str = "ed25519-private:";
/// The bytes of a key, of either kind (RFC 8032, section 5.1.5).
const LENGTH: usize = 32;

/// The keys of the examples in RFC 8032, section 7.1, whose private halves are published there.
const PUBLISHED: [&str; 5] = [
    "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=",
    "/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU=",
    "J4EX/BRMcjQPZ9DyMW6Dhs7/vyskKMnFH+98WX8dQm4=",
    "7Bcrk61eVjv0kyxw4SRQNMNUZ+8u/U1k6/gZaDRn4r8=",
];

/// A key that signatures are checked with: `ed25519:` and the base64 of its 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{PUBLIC}{}", BASE64_STANDARD.encode(self.0))]
pub struct PublicKey([u8; LENGTH]);

/// A key that signs: `ed25519-private:` and the base64 of its 32 bytes. Nothing shows it but
/// [`SigningKey::reveal`].
#[derive(derive_more::Debug)]
#[debug("the signing key of {}", self.public_key())]
pub struct SigningKey {
    key: ed25519_dalek::SigningKey,
    text: String,
}

/// Error of a text that is not a key. It does not quote the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not a public key.
    #[error(
        "this is not a public key; write it as provlock cache keygen prints it, ed25519: and the base64 of 32 bytes"
    )]
    NotPublic,
    /// A private key where a public one belongs.
    #[error(
        "this is a private key: replace it, because it has been exposed, and write the public key, \
         which begins with ed25519:"
    )]
    Private,
    /// Everybody can sign for it.
    #[error(
        "signatures for this key can be made without a private key; make another with provlock cache keygen"
    )]
    Weak,
    /// Everybody knows its private half.
    #[error(
        "the private half of this key is published in RFC 8032; make another with provlock cache keygen"
    )]
    Published,
    /// Not a private key.
    #[error(
        "it is not a private key as provlock cache keygen writes it, ed25519-private: and the base64 of 32 bytes"
    )]
    NotPrivate,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

impl PublicKey {
    /// Verifies a signature of a message.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(key) = VerifyingKey::from_bytes(&self.0) else {
            return false;
        };
        match Signature::from_slice(signature) {
            Ok(signature) => key.verify_strict(message, &signature).is_ok(),
            Err(_) => false,
        }
    }

    /// A key that only its private half can sign for: a point of the curve, in its canonical form
    /// and not of small order, as strict verification demands (RFC 8032, section 5.1.7).
    fn checked(bytes: [u8; LENGTH]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::NotPublic)?;
        if key.is_weak() {
            return Err(KeyError::Weak);
        }
        if key.to_edwards().compress().to_bytes() != bytes {
            return Err(KeyError::NotPublic);
        }
        let is_published = PUBLISHED.contains(&BASE64_STANDARD.encode(bytes).as_str());
        if is_published {
            Err(KeyError::Published)
        } else {
            Ok(Self(bytes))
        }
    }
}

impl SigningKey {
    /// A new key.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = [0; LENGTH];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| KeyError::NoRandomness)?;
        Ok(Self::of_seed(&seed))
    }

    /// Reads a key; white space around it does not count.
    ///
    /// # Errors
    /// The text is not one.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        decode(text.trim(), PRIVATE)
            .map(|seed| Self::of_seed(&seed))
            .ok_or(KeyError::NotPrivate)
    }

    /// The key as text: for the file that keeps it, and nothing else.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Secrets that must not be shown: the whole key, and its base64 alone.
    pub fn secrets(&self) -> [&str; 2] {
        [self.reveal(), self.value()]
    }

    /// The base64 in its text.
    fn value(&self) -> &str {
        &self.text[PRIVATE.len()..]
    }

    /// The key that its signatures are checked with.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.key.verifying_key().to_bytes())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.key.sign(message).to_bytes().to_vec()
    }

    fn of_seed(seed: &[u8; LENGTH]) -> Self {
        let text = format!("{PRIVATE}{}", BASE64_STANDARD.encode(seed));
        Self {
            key: ed25519_dalek::SigningKey::from_bytes(seed),
            text,
        }
    }
}

fn decode(text: &str, prefix: &str) -> Option<[u8; LENGTH]> {
    BASE64_STANDARD
        .decode(text.strip_prefix(prefix)?)
        .ok()?
        .try_into()
        .ok()
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wrong = if text.starts_with(PRIVATE) {
            KeyError::Private
        } else {
            KeyError::NotPublic
        };
        decode(text, PUBLIC).ok_or(wrong).and_then(Self::checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first test of RFC 8032, section 7.1.
    #[test]
    fn keys_and_signatures_are_those_of_the_standard() {
        let key =
            SigningKey::parse("ed25519-private:nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n")
                .unwrap();
        assert_eq!(
            key.public_key().to_string(),
            "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
        );
        let signature = key.sign(b"");
        assert_eq!(signature[..4], [0xe5, 0x56, 0x43, 0x00]);
        assert!(key.public_key().verifies(b"", &signature));
        assert!(!key.public_key().verifies(b"x", &signature));
        assert!(!key.public_key().verifies(b"", &signature[..63]));
    }

    #[test]
    fn keys_that_others_can_sign_for_are_refused() {
        let read = |bytes: &[u8]| {
            format!("{PUBLIC}{}", BASE64_STANDARD.encode(bytes)).parse::<PublicKey>()
        };
        let hex = |text: &str| -> [u8; LENGTH] {
            let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
            std::array::from_fn(byte)
        };
        let mut cases = 0;
        // The y coordinates of the points of small order, and coordinates that are not smaller than
        // the prime.
        let small = [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ];
        let large = (0xed..=0xff).map(|low| hex(&format!("{low:02x}{}7f", "ff".repeat(30))));
        for y in small.into_iter().map(hex).chain(large) {
            for sign in [0, 0x80] {
                let mut bytes = y;
                bytes[LENGTH - 1] |= sign;
                assert!(
                    matches!(read(&bytes), Err(KeyError::Weak | KeyError::NotPublic)),
                    "{bytes:02x?}"
                );
                cases += 1;
            }
        }
        assert_eq!(read(&hex(small[1])), Err(KeyError::Weak));
        let is_point = |low: u8| VerifyingKey::from_bytes(&[low; LENGTH]).is_ok();
        let off = (0..=255).find(|low| !is_point(*low)).unwrap();
        assert_eq!(
            read(&[off; LENGTH]),
            Err(KeyError::NotPublic),
            "not on the curve"
        );
        for seed in [
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        ] {
            let public = SigningKey::of_seed(&hex(seed)).public_key();
            assert_eq!(
                public.to_string().parse::<PublicKey>(),
                Err(KeyError::Published),
                "{public}"
            );
            cases += 1;
        }
        provlock_test::survived("shared facts with unsafe keys", cases);
    }

    #[test]
    fn a_new_key_is_unique_and_not_shown() {
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
        for text in [
            "",
            "ed25519:",
            "ed25519:AAAA",
            "rsa:AAAA",
            "ed25519:!",
            "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
        ] {
            assert_eq!(
                text.parse::<PublicKey>(),
                Err(KeyError::NotPublic),
                "{text}"
            );
            assert_eq!(
                SigningKey::parse(text).unwrap_err(),
                KeyError::NotPrivate,
                "{text}"
            );
        }
    }
}
