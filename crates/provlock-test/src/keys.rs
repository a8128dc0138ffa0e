//! Keys that gpg made for tests (`testdata/keys/make.sh`), and signatures with them.

use pgp::composed::{
    ArmorOptions, Deserializable, DetachedSignature, SignedPublicKey, SignedSecretKey,
};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{SignatureConfig, SignatureType, Subpacket, SubpacketData};
use pgp::ser::Serialize;
use pgp::types::{Duration, KeyDetails, Password, SigningKey, Timestamp};

/// A key pair, both halves in ASCII armor.
#[derive(Debug)]
pub struct Key {
    pub public: &'static str,
    secret: &'static str,
    /// Seconds since 1970; signatures are made then.
    signs_at: SigningTime,
}

#[derive(Debug, Clone, Copy)]
enum SigningTime {
    Now,
    At(u32),
}

/// Form and validity of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Binary,
    Armored,
    /// Made a day ago for one hour.
    Expired,
    /// Made tomorrow.
    Future,
}

macro_rules! key {
    ($name:literal, $signs_at:expr) => {
        Key {
            public: include_str!(concat!(
                "../../../testdata/keys/test-only-",
                $name,
                ".public.asc"
            )),
            secret: include_str!(concat!(
                "../../../testdata/keys/test-only-",
                $name,
                ".secret.asc"
            )),
            signs_at: $signs_at,
        }
    };
}

/// RSA, 2048 bits.
pub static RSA: Key = key!("rsa", SigningTime::Now);
/// Ed25519.
pub static ED25519: Key = key!("ed25519", SigningTime::Now);
/// A second Ed25519 key, for releases that the publisher did not sign.
pub static OTHER: Key = key!("other", SigningTime::Now);
/// A primary key that only certifies, with a subkey that signs.
pub static SUBKEY: Key = key!("subkey", SigningTime::Now);
/// RSA, valid in the year 2020 only; its signatures are made on 1 July 2020.
pub static EXPIRED: Key = key!("expired", SigningTime::At(1_593_561_600));

impl Key {
    /// The public key, parsed.
    pub fn certificate(&self) -> SignedPublicKey {
        SignedPublicKey::from_string(self.public).unwrap().0
    }

    /// The ID of the primary key, 16 upper-case hexadecimal digits.
    pub fn key_id(&self) -> String {
        self.certificate()
            .legacy_key_id()
            .to_string()
            .to_uppercase()
    }

    /// The fingerprint of the primary key, 40 upper-case hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        format!("{:X}", self.certificate().fingerprint())
    }

    /// The ID of the key that signs: the subkey's if there is one.
    pub fn signing_key_id(&self) -> String {
        let certificate = self.certificate();
        let id = certificate
            .public_subkeys
            .first()
            .map_or(certificate.legacy_key_id(), |key| key.key.legacy_key_id());
        id.to_string().to_uppercase()
    }

    /// A detached signature over `data`.
    pub fn sign(&self, data: &[u8], form: Form) -> Vec<u8> {
        let secret = SignedSecretKey::from_string(self.secret).unwrap().0;
        let now = Timestamp::now().as_secs();
        let (created, lifetime) = match (form, self.signs_at) {
            (Form::Expired, _) => (now - 86_400, Some(3_600)),
            (Form::Future, _) => (now + 86_400, None),
            (_, SigningTime::Now) => (now, None),
            (_, SigningTime::At(seconds)) => (seconds, None),
        };
        let signature = match secret.secret_subkeys.first() {
            Some(subkey) => detached(&subkey.key, data, created, lifetime),
            None => detached(&secret.primary_key, data, created, lifetime),
        };
        match form {
            Form::Armored => signature.to_armored_bytes(ArmorOptions::default()).unwrap(),
            Form::Binary | Form::Expired | Form::Future => signature.to_bytes().unwrap(),
        }
    }
}

fn detached(
    key: &impl SigningKey,
    data: &[u8],
    created: u32,
    lifetime: Option<u32>,
) -> DetachedSignature {
    let mut config = SignatureConfig::v4(
        SignatureType::Binary,
        key.algorithm(),
        HashAlgorithm::Sha256,
    );
    let mut hashed = vec![
        SubpacketData::SignatureCreationTime(Timestamp::from_secs(created)),
        SubpacketData::IssuerFingerprint(key.fingerprint()),
    ];
    hashed.extend(
        lifetime
            .map(|seconds| SubpacketData::SignatureExpirationTime(Duration::from_secs(seconds))),
    );
    config.hashed_subpackets = hashed
        .into_iter()
        .map(|data| Subpacket::regular(data).unwrap())
        .collect();
    config.unhashed_subpackets =
        vec![Subpacket::regular(SubpacketData::IssuerKeyId(key.legacy_key_id())).unwrap()];
    DetachedSignature::new(config.sign(key, &Password::empty(), data).unwrap())
}
