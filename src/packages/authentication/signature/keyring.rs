//! Public keys with the user IDs and subkeys that the primary key has signed (RFC 9580, section
//! 10.1).
//!
//! The rules are the same as in Go's `openpgp.ReadKeyRing`: a wrong self-signature, binding or
//! revocation makes its whole key invalid, and a block without a valid key cannot be decoded.

use std::iter::Peekable;

use pgp::packet::{Packet, PacketParser, PublicKey, PublicSubkey, SignatureType, UserId};
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, KeyVersion, PublicParams, Tag, VerifyingKey};

use super::signature_packet::{SignaturePacket, Unreadable, can_sign};

/// Minimum length of RSA keys in Go since 1.24.
const FEWEST_RSA_BITS: u16 = 1024;

/// A primary key with its user IDs and subkeys.
#[derive(Debug)]
pub(super) struct Entity {
    pub(super) primary: PublicKey,
    pub(super) revocations: Vec<SignaturePacket>,
    pub(super) identities: Vec<Identity>,
    pub(super) subkeys: Vec<Subkey>,
}

/// A user ID that the key claims.
#[derive(Debug)]
pub(super) struct Identity {
    /// The newest; `None` when there are only revocations.
    pub(super) self_signature: Option<SignaturePacket>,
    pub(super) revocations: Vec<SignaturePacket>,
}

/// A subkey that the primary key claims, and that claims the primary key if it may sign.
#[derive(Debug)]
pub(super) struct Subkey {
    pub(super) key: PublicSubkey,
    /// The newest.
    pub(super) binding: SignaturePacket,
    pub(super) revocations: Vec<SignaturePacket>,
}

/// Number of signatures that may still be verified, because keys come from the network, and
/// verifying takes time.
#[derive(Debug)]
pub(super) struct Budget(pub(super) usize);

/// A packet of a key block. Unsupported and irrelevant packets are skipped where that is safe.
#[derive(Debug)]
enum Part {
    Primary(PublicKey),
    Subkey(PublicSubkey),
    UserId(UserId),
    Signature(SignaturePacket),
    /// Ends a group of signatures.
    Other,
    Malformed,
}

impl Budget {
    fn spend_one(&mut self) -> Result<(), String> {
        self.0 = self
            .0
            .checked_sub(1)
            .ok_or("too many signatures on the keys")?;
        Ok(())
    }
}

/// Reads the keys of a block, at least one. Keys that cannot be read are skipped if there is
/// another.
///
/// # Errors
/// The reason why no key can be read.
pub(super) fn read_keys(bytes: &[u8], budget: &mut Budget) -> Result<Vec<Entity>, String> {
    let mut parts = parse_packets(bytes)?.into_iter().peekable();
    let mut entities = Vec::new();
    let mut problem = "the block contains no key".to_owned();
    while let Some(part) = parts.next() {
        let Part::Primary(primary) = part else {
            "the block does not start with a key".clone_into(&mut problem);
            continue;
        };
        let mut parts_of_key = Vec::new();
        while let Some(part) = parts.next_if(|part| !matches!(part, Part::Primary(_))) {
            parts_of_key.push(part);
        }
        match Entity::read(primary, parts_of_key, budget) {
            Ok(entity) => entities.push(entity),
            Err(reason) => problem = reason,
        }
    }
    if entities.is_empty() {
        Err(problem)
    } else {
        Ok(entities)
    }
}

/// Parses the packets of keys. Unsupported packets are skipped, and malformed ones stay in their
/// place, so that the key around them can be refused.
///
/// # Errors
/// The text ends within a packet.
fn parse_packets(bytes: &[u8]) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    for packet in PacketParser::new(bytes) {
        match packet {
            Ok(Packet::PublicKey(key)) => parts.push(Part::Primary(key)),
            Ok(Packet::PublicSubkey(key)) => parts.push(Part::Subkey(key)),
            Ok(Packet::UserId(id)) => parts.push(Part::UserId(id)),
            Ok(Packet::Signature(signature)) => match SignaturePacket::read(signature) {
                Ok(signature) => parts.push(Part::Signature(signature)),
                // Go skips signatures of algorithms that it does not know, and so a key can have
                // newer ones, too.
                Err(Unreadable::Unsupported) => {}
                Err(Unreadable::Malformed(_)) => parts.push(Part::Malformed),
            },
            Ok(Packet::Trust(_)) => {}
            Ok(_) => parts.push(Part::Other),
            Err(pgp::errors::Error::PacketIncomplete { .. } | pgp::errors::Error::IO { .. }) => {
                return Err("the key is truncated".to_owned());
            }
            Err(error) if is_unsupported(&error) => {}
            Err(_) => parts.push(Part::Malformed),
        }
    }
    Ok(parts)
}

/// Whether a packet could not be read because it is unknown rather than wrong.
pub(super) fn is_unsupported(error: &pgp::errors::Error) -> bool {
    match error {
        pgp::errors::Error::Unsupported { .. } | pgp::errors::Error::Unimplemented { .. } => true,
        pgp::errors::Error::InvalidPacketContent { source } => is_unsupported(source),
        _ => false,
    }
}

impl Entity {
    /// Reads a key: the packet of its primary key, and the packets up to the next primary key.
    ///
    /// # Errors
    /// The key is unsupported or malformed, has no valid user ID or a wrong self-signature, or the
    /// budget for checking signatures is used up.
    fn read(primary: PublicKey, parts: Vec<Part>, budget: &mut Budget) -> Result<Self, String> {
        if primary.version() != KeyVersion::V4
            || !can_sign(primary.algorithm())
            || is_too_short(&primary)
        {
            return Err("the key's version, algorithm or size is not supported".to_owned());
        }
        let mut entity = Self {
            primary,
            revocations: Vec::new(),
            identities: Vec::new(),
            subkeys: Vec::new(),
        };
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::UserId(id) => {
                    entity.add_identity(&id, take_signatures(&mut parts), budget)?;
                }
                Part::Subkey(key) => entity.add_subkey(key, take_signatures(&mut parts), budget)?,
                Part::Signature(signature) if signature.kind == SignatureType::KeyRevocation => {
                    budget.spend_one()?;
                    signature
                        .packet
                        .verify_key(&entity.primary)
                        .map_err(|_| "a revocation of the key is wrong")?;
                    entity.revocations.push(signature);
                }
                Part::Malformed => return Err("the key has a malformed packet".to_owned()),
                Part::Primary(_) | Part::Signature(_) | Part::Other => {}
            }
        }
        if entity.identities.is_empty() {
            Err("the key has no valid user ID".to_owned())
        } else {
            Ok(entity)
        }
    }

    /// Adds a user ID with its signatures, if the primary key has signed or revoked it. Signatures
    /// by other keys are skipped.
    ///
    /// # Errors
    /// A signature of a different kind follows the user ID, or a signature by the primary key is
    /// wrong.
    fn add_identity(
        &mut self,
        id: &UserId,
        signatures: Vec<SignaturePacket>,
        budget: &mut Budget,
    ) -> Result<(), String> {
        let mut identity = Identity {
            self_signature: None,
            revocations: Vec::new(),
        };
        for signature in signatures {
            let is_revocation = signature.kind == SignatureType::CertRevocation;
            if !is_revocation && !signature.packet.is_certification() {
                return Err("a signature of another type follows a user ID".to_owned());
            }
            // Others may certify a user ID; only the key's own signature proves that it belongs to
            // the key.
            if !signature.is_by(&self.primary) {
                continue;
            }
            budget.spend_one()?;
            let valid = signature
                .packet
                .verify_certification(&self.primary, Tag::UserId, id);
            valid.map_err(|_| "a self-signature of the key is wrong")?;
            if is_revocation {
                identity.revocations.push(signature);
            } else {
                keep_newest(&mut identity.self_signature, signature);
            }
        }
        if identity.self_signature.is_some() || !identity.revocations.is_empty() {
            self.identities.push(identity);
        }
        Ok(())
    }

    /// Adds a subkey with its newest binding signature. A subkey that may sign must have signed the
    /// primary key in return.
    fn add_subkey(
        &mut self,
        key: PublicSubkey,
        signatures: Vec<SignaturePacket>,
        budget: &mut Budget,
    ) -> Result<(), String> {
        let mut newest_binding = None;
        let mut revocations = Vec::new();
        for signature in signatures {
            budget.spend_one()?;
            let valid = signature.packet.verify_subkey_binding(&self.primary, &key);
            valid.map_err(|_| "a signature that binds a subkey is wrong")?;
            if signature.kind == SignatureType::SubkeyRevocation {
                revocations.push(signature);
                continue;
            }
            // Without this signature by the subkey, an attacker could bind the signing subkey of a
            // different key to this one.
            if signature.may_sign {
                self.check_back_signature(&key, &signature, budget)?;
            }
            keep_newest(&mut newest_binding, signature);
        }
        let binding = newest_binding.ok_or("a subkey has no binding signature")?;
        self.subkeys.push(Subkey {
            key,
            binding,
            revocations,
        });
        Ok(())
    }

    /// A subkey that may sign must have signed the primary key; otherwise a primary key could claim
    /// a foreign subkey.
    fn check_back_signature(
        &self,
        key: &PublicSubkey,
        binding: &SignaturePacket,
        budget: &mut Budget,
    ) -> Result<(), String> {
        let back_signature = binding
            .back_signature
            .as_ref()
            .ok_or("a signing subkey lacks its cross-signature")?;
        budget.spend_one()?;
        let valid = back_signature
            .packet
            .verify_primary_key_binding(key, &self.primary);
        if valid.is_err() || is_too_short(key) {
            return Err("the cross-signature of a subkey is wrong".to_owned());
        }
        Ok(())
    }

    /// The user ID whose self-signature is used for the key: a user ID that is not revoked, then
    /// one marked as primary, then the newest self-signature.
    pub(super) fn primary_identity(&self) -> Option<&Identity> {
        let mut best = self.identities.first()?;
        for identity in &self.identities[1..] {
            // Of equally preferred ones, the first.
            if identity.rank() > best.rank() {
                best = identity;
            }
        }
        Some(best)
    }
}

impl Identity {
    /// Is greater for an identity that is preferred.
    fn rank(&self) -> impl PartialOrd {
        let signature = self.self_signature.as_ref();
        (
            std::cmp::Reverse(self.revocations.len()),
            signature.map(|signature| (signature.is_primary_user_id, signature.created)),
        )
    }
}

/// Takes the signatures that follow immediately.
fn take_signatures(parts: &mut Peekable<impl Iterator<Item = Part>>) -> Vec<SignaturePacket> {
    let mut packets = Vec::new();
    while let Some(part) = parts.next_if(|part| matches!(part, Part::Signature(_))) {
        if let Part::Signature(signature) = part {
            packets.push(signature);
        }
    }
    packets
}

fn keep_newest(kept: &mut Option<SignaturePacket>, signature: SignaturePacket) {
    if kept
        .as_ref()
        .is_none_or(|kept| signature.created > kept.created)
    {
        *kept = Some(signature);
    }
}

/// Whether the key is an RSA key with too few bits. The encoding of the modulus starts with its
/// length in bits.
fn is_too_short(key: &impl VerifyingKey) -> bool {
    let PublicParams::RSA(parameters) = key.public_params() else {
        return false;
    };
    let Ok(encoded) = parameters.to_bytes() else {
        return true;
    };
    encoded
        .first_chunk()
        .is_none_or(|bits| u16::from_be_bytes(*bits) < FEWEST_RSA_BITS)
}
