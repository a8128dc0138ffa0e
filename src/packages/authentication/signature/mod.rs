//! Verifies detached OpenPGP signatures by the rules of OpenTofu and Terraform, which are the rules
//! of
//! <https://github.com/ProtonMail/go-crypto>.
//!
//! rPGP does the cryptography, and this module applies the policy of Go's ProtonMail/go-crypto
//! (`openpgp.ReadArmoredKeyRing`, `openpgp.CheckDetachedSignature`), which OpenTofu and Terraform
//! call once per reported key:
//! - Every key of an armored block is used, its primary key and its subkeys alike, if the key flags
//!   allow it to sign.
//! - The first signature packet whose issuer is one of those keys decides. Packets of unknown
//!   version or algorithm, made over MD5 or RIPEMD-160, or with an unknown critical subpacket are
//!   skipped; SHA-1 is accepted.
//! - Revocation, expiry and validity are checked at the current time, not at the signature's date.
//!
//! Differences, all of them refusals where Go would accept: keys and signatures of version 6, ECDSA
//! over Brainpool curves, ECDSA over secp256k1 with a high `s` (half of what gpg makes), private
//! key blocks, and inputs beyond the limits below.

mod armor;
mod error;
mod keyring;
mod signature_packet;

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use pgp::packet::{Packet, PacketParser};
use pgp::types::{KeyDetails, VerifyingKey};
use serde::Deserialize;

pub use self::error::{Expired, SignatureError};
use self::keyring::{Budget, Entity, Subkey};
use self::signature_packet::{SignaturePacket, Unreadable};
use crate::provider::{Authentication, Dialect};

/// Most bytes of all armored keys together.
pub(crate) const MOST_KEY_BYTES: usize = 1 << 20;
/// Most bytes of a signature file.
pub(crate) const MOST_SIGNATURE_BYTES: usize = 64 << 10;
/// Most keys that are tried.
pub(crate) const MOST_KEYS: usize = 64;
/// Name of an expired key in a message.
const KEY: &str = "signing key";

/// Most self-signatures that are verified on all keys together.
const MOST_SELF_SIGNATURES: usize = 512;

/// A public key as the registry reports it, in `gpg_public_keys`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct OpenPgpKey {
    /// The armored key block; it may contain several keys.
    pub ascii_armor: String,
    /// The key's ID according to the registry, for messages only.
    #[serde(default)]
    pub key_id: String,
}

/// The rules for the signatures of a registry's releases.
#[derive(Clone, Copy, Debug)]
pub struct SignaturePolicy {
    /// Dialect whose rules apply: only the tofu dialect accepts an expired signature, with a
    /// warning.
    pub dialect: Dialect,
    /// `OPENTOFU_ENFORCE_GPG_VALIDATION=true`: a provider without signing keys is refused. The
    /// terraform dialect always refuses it.
    pub enforce_validation: bool,
    /// `OPENTOFU_ENFORCE_GPG_EXPIRATION=true`: expired keys and signatures are refused. Has no
    /// effect in the terraform dialect.
    pub enforce_expiration: bool,
}

/// Verifies a detached binary signature over a message with any of the keys. `now` is the time of
/// the check: keys and signatures must have been made before it, and must not have expired. Also
/// returns the expired key or signature that was accepted.
///
/// # Errors
/// No key made an acceptable signature. As in OpenTofu and Terraform, a bad key or signature ends
/// the search; the next key is tried only if a key did not issue the signature or, in the tofu
/// dialect, has expired.
pub fn verify_detached(
    message: &[u8],
    signature: &[u8],
    keys: &[OpenPgpKey],
    policy: SignaturePolicy,
    now: SystemTime,
) -> Result<(Authentication, Option<Expired>), SignatureError> {
    if keys.is_empty() {
        return Err(SignatureError::NoKeys);
    }
    if signature.len() > MOST_SIGNATURE_BYTES {
        return Err(SignatureError::TooLarge(
            "the signature file is larger than 64 KiB",
        ));
    }
    // Each key costs time to decode and to verify with, and the registry decides how many there
    // are.
    if keys.len() > MOST_KEYS
        || keys.iter().map(|key| key.ascii_armor.len()).sum::<usize>() > MOST_KEY_BYTES
    {
        return Err(SignatureError::TooLarge(
            "the registry reports too many signing keys",
        ));
    }
    let now_seconds = match now.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs(),
        Err(_) => 0,
    };
    let mut budget = Budget(MOST_SELF_SIGNATURES);
    // The first expired key or signature, in the tofu dialect.
    let mut first_expired = None;
    for key in keys {
        let entities = decode_keys(key, &mut budget)?;
        match check_first_signature(message, signature, &entities, now_seconds) {
            Ok((signed, None)) => return Ok((signed, None)),
            Ok((signed, Some(expired))) => match policy.dialect {
                // A later key may be valid, so OpenTofu tries all keys before it accepts an expired
                // one.
                Dialect::Tofu => first_expired = first_expired.or(Some((signed, expired))),
                Dialect::Terraform if expired.is_key => return Ok((signed, Some(expired))),
                Dialect::Terraform => return Err(SignatureError::Expired(expired)),
            },
            Err(SignatureError::NoKeyMatches) => {}
            Err(error) => return Err(error),
        }
    }
    match first_expired {
        Some((_, expired)) if policy.enforce_expiration => Err(SignatureError::Expired(expired)),
        Some((signed, expired)) => Ok((signed, Some(expired))),
        None => Err(SignatureError::NoKeyMatches),
    }
}

/// The keys in an armored block.
fn decode_keys(key: &OpenPgpKey, budget: &mut Budget) -> Result<Vec<Entity>, SignatureError> {
    let block = armor::decode_public_key(&key.ascii_armor).map_err(str::to_owned);
    match block.and_then(|block| keyring::read_keys(&block, budget)) {
        Ok(entities) => Ok(entities),
        Err(reason) => Err(SignatureError::UndecodableKey {
            key_id: key.key_id.clone(),
            reason,
        }),
    }
}

/// A key that may have made a signature.
#[derive(Clone, Copy)]
struct CandidateKey<'a> {
    entity: &'a Entity,
    /// `None` for the primary key.
    subkey: Option<&'a Subkey>,
    /// The self-signature of the primary key.
    self_signature: &'a SignaturePacket,
}

/// Checks the first signature in `file` whose issuer is one of the entities. Also returns what has
/// expired of the key or the signature.
fn check_first_signature(
    message: &[u8],
    file: &[u8],
    entities: &[Entity],
    now: u64,
) -> Result<(Authentication, Option<Expired>), SignatureError> {
    for packet in PacketParser::new(file) {
        let Some(signature) = read_signature(packet)? else {
            continue;
        };
        let issuer = signature.issuer.ok_or(SignatureError::MalformedSignature(
            "it does not name its issuer",
        ))?;
        let candidates: Vec<CandidateKey> = entities
            .iter()
            .flat_map(|entity| CandidateKey::with_id(entity, issuer))
            .collect();
        let Some(first) = candidates.first() else {
            continue;
        };
        // A signature over a key or a user ID must not pass for one over the checksums.
        if !signature.is_over_data() {
            return Err(SignatureError::MalformedSignature(
                "it is not a signature over a file",
            ));
        }
        return match candidates
            .iter()
            .find(|candidate| candidate.did_make(&signature, message))
        {
            Some(candidate) => candidate.accept(&signature, now),
            None => Err(SignatureError::BadSignature(first.key_id())),
        };
    }
    Err(SignatureError::NoKeyMatches)
}

/// A signature packet of the file; `None` for a packet to skip.
fn read_signature(
    packet: pgp::errors::Result<Packet>,
) -> Result<Option<SignaturePacket>, SignatureError> {
    match packet {
        Ok(Packet::Signature(signature)) => match SignaturePacket::read(signature) {
            Ok(signature) => Ok(Some(signature)),
            Err(Unreadable::Unsupported) => Ok(None),
            Err(Unreadable::Malformed(reason)) => Err(SignatureError::MalformedSignature(reason)),
        },
        Ok(_) => Err(SignatureError::MalformedSignature(
            "it contains something other than signatures",
        )),
        Err(error) if keyring::is_unsupported(&error) => Ok(None),
        Err(_) => Err(SignatureError::MalformedSignature(
            "it is not a binary OpenPGP signature",
        )),
    }
}

impl<'a> CandidateKey<'a> {
    /// The keys of an entity with this ID that may sign.
    fn with_id(entity: &'a Entity, issuer: [u8; 8]) -> Vec<Self> {
        // Without a valid user ID, nothing shows when the key expires and whether it may sign.
        let Some(identity) = entity.primary_identity() else {
            return Vec::new();
        };
        let Some(self_signature) = &identity.self_signature else {
            return Vec::new();
        };

        let primary = Self {
            entity,
            subkey: None,
            self_signature,
        };
        let mut keys = Vec::new();
        if self_signature.may_sign && entity.primary.legacy_key_id().as_ref() == issuer {
            keys.push(primary);
        }
        for subkey in &entity.subkeys {
            if subkey.binding.may_sign && subkey.key.legacy_key_id().as_ref() == issuer {
                keys.push(Self {
                    subkey: Some(subkey),
                    ..primary
                });
            }
        }
        keys
    }

    /// Whether the key made the signature over the message.
    fn did_make(&self, signature: &SignaturePacket, message: &[u8]) -> bool {
        match self.subkey {
            Some(subkey) => is_valid_over(signature, &subkey.key, message),
            None => is_valid_over(signature, &self.entity.primary, message),
        }
    }

    /// Accepts a signature that the key did make. Also returns what has expired of the two.
    ///
    /// # Errors
    /// The key is revoked, or a signature has a critical notation.
    fn accept(
        &self,
        signature: &SignaturePacket,
        now: u64,
    ) -> Result<(Authentication, Option<Expired>), SignatureError> {
        let mut signatures = vec![signature, self.self_signature];
        if let Some(subkey) = self.subkey {
            signatures.push(&subkey.binding);
            signatures.extend(subkey.binding.back_signature.as_deref());
        }
        if signatures
            .iter()
            .any(|signature| signature.has_critical_notation)
        {
            return Err(SignatureError::UnknownCriticalNotation(self.key_id()));
        }
        if self.is_revoked(now) {
            return Err(SignatureError::RevokedKey(self.key_id()));
        }

        // An expired signature may be accepted later, so all other problems come first.
        let mut expired = self.key_expiry(now);
        if expired.is_none()
            && let Some(signature) = signatures
                .iter()
                .find(|signature| signature.is_out_of_date(now))
        {
            expired = self.out_of_date(
                "the signature by key",
                signature.created,
                signature.expiry(),
                now,
            );
        }
        let fingerprint = format!("{:X}", self.entity.primary.fingerprint());
        Ok((
            Authentication::Signed {
                key_id: self.key_id(),
                fingerprint,
            },
            expired,
        ))
    }

    fn is_revoked(&self, now: u64) -> bool {
        let mut revocations: Vec<_> = self.entity.revocations.iter().collect();
        if let Some(identity) = self.entity.primary_identity() {
            revocations.extend(&identity.revocations);
        }
        if let Some(subkey) = self.subkey {
            revocations.extend(&subkey.revocations);
        }
        revocations.iter().any(|revocation| revocation.revokes(now))
    }

    fn key_expiry(&self, now: u64) -> Option<Expired> {
        let mut keys = vec![(
            self.entity.primary.created_at(),
            self.self_signature.key_lifetime,
        )];
        if let Some(subkey) = self.subkey {
            keys.push((subkey.key.created_at(), subkey.binding.key_lifetime));
        }
        for (created, lifetime) in keys {
            let seconds = u64::from(created.as_secs());
            let expires = lifetime.map(|lifetime| seconds + lifetime);
            if let Some(expired) = self.out_of_date(KEY, seconds, expires, now) {
                return Some(expired);
            }
        }
        None
    }

    /// Returns the reason why a key or signature is not valid `now`: it was made later, or has
    /// expired. Times are in seconds since 1970.
    fn out_of_date(
        &self,
        what: &'static str,
        created: u64,
        expires: Option<u64>,
        now: u64,
    ) -> Option<Expired> {
        let verb;
        let time;
        if created > now {
            verb = "is not valid before";
            time = created;
        } else if let Some(expires) = expires
            && now > expires
        {
            verb = "expired on";
            time = expires;
        } else {
            return None;
        }
        let mut date = "a date that cannot be shown".to_owned();
        if let Ok(time) = i64::try_from(time)
            && let Ok(time) = Timestamp::from_second(time)
        {
            date = time.strftime("%Y-%m-%d").to_string();
        }
        Some(Expired {
            is_key: what == KEY,
            message: format!("{what} {} {verb} {date}", self.key_id()),
        })
    }

    fn key_id(&self) -> String {
        self.entity
            .primary
            .legacy_key_id()
            .to_string()
            .to_ascii_uppercase()
    }
}

fn is_valid_over(signature: &SignaturePacket, key: &impl VerifyingKey, message: &[u8]) -> bool {
    let algorithm = signature.packet.config().map(|config| config.pub_alg);
    algorithm == Some(key.algorithm()) && signature.packet.verify(key, message).is_ok()
}

#[cfg(test)]
mod tests;
