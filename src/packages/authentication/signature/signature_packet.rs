//! The claims in a signature packet, which are not verified yet (RFC 9580, sections 5.2.3 and
//! 5.2.3.7).

use pgp::crypto::hash::HashAlgorithm;
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::packet::{
    RevocationCode, Signature, SignatureType, SignatureVersion, Subpacket, SubpacketData,
};
use pgp::types::{Fingerprint, KeyDetails};

/// A version 4 signature packet with its subpackets digested. A later hashed subpacket overrides an
/// earlier one; of the unhashed ones only the issuer and the embedded signature are used, which
/// authenticate themselves.
#[derive(Clone, Debug)]
pub(super) struct SignaturePacket {
    pub(super) packet: Signature,
    pub(super) kind: SignatureType,
    /// Seconds since 1970.
    pub(super) created: u64,
    /// Seconds for which the signature is valid; `None` if unlimited.
    pub(super) lifetime: Option<u64>,
    /// Seconds after its creation for which the key is valid; `None` if unlimited.
    pub(super) key_lifetime: Option<u64>,
    /// Whether the key flags allow it to sign data; false if there are no key flags.
    pub(super) may_sign: bool,
    pub(super) is_primary_user_id: bool,
    pub(super) revocation_reason: Option<RevocationCode>,
    pub(super) has_critical_notation: bool,
    pub(super) issuer: Option<[u8; 8]>,
    issuer_fingerprint: Option<[u8; 20]>,
    /// The signature of a subkey over the primary key.
    pub(super) back_signature: Option<Box<SignaturePacket>>,
}

/// The reason why a signature packet cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// Its version, an algorithm or a critical subpacket is not supported: the packet is ignored.
    Unsupported,
    /// It is not well-formed.
    Malformed(&'static str),
}

impl SignaturePacket {
    /// Reads the parts of a signature packet that decide whether it is accepted.
    pub(super) fn read(packet: Signature) -> Result<Self, Unreadable> {
        let config = packet.config().ok_or(Unreadable::Unsupported)?.clone();
        if packet.version() != SignatureVersion::V4
            || !can_sign(config.pub_alg)
            || !is_accepted_hash(config.hash_alg)
            || config.hashed_subpackets.iter().any(forbids_use)
        {
            return Err(Unreadable::Unsupported);
        }
        let mut signature = Self {
            packet,
            kind: config.typ,
            created: 0,
            lifetime: None,
            key_lifetime: None,
            may_sign: false,
            is_primary_user_id: false,
            revocation_reason: None,
            has_critical_notation: false,
            issuer: None,
            issuer_fingerprint: None,
            back_signature: None,
        };
        // RFC 9580 requires the time in the signed part, and expiry cannot be checked without it.
        if !config
            .hashed_subpackets
            .iter()
            .any(|part| matches!(part.data, SubpacketData::SignatureCreationTime(_)))
        {
            return Err(Unreadable::Malformed("a signature without creation time"));
        }
        for part in &config.hashed_subpackets {
            signature.read_signed(part);
        }
        // An issuer and an embedded signature prove themselves, so the unsigned part may have them,
        // too.
        for part in config
            .hashed_subpackets
            .iter()
            .chain(&config.unhashed_subpackets)
        {
            signature.read_self_authenticating(&part.data)?;
        }
        Ok(signature)
    }

    /// Reads a subpacket of the signed part.
    fn read_signed(&mut self, part: &Subpacket) {
        match &part.data {
            SubpacketData::SignatureCreationTime(time) => self.created = u64::from(time.as_secs()),
            SubpacketData::SignatureExpirationTime(duration) => {
                self.lifetime = limited_lifetime(duration.as_secs());
            }
            SubpacketData::KeyExpirationTime(duration) => {
                self.key_lifetime = limited_lifetime(duration.as_secs());
            }
            SubpacketData::KeyFlags(flags) => self.may_sign |= flags.sign(),
            SubpacketData::IsPrimary(is_primary) => self.is_primary_user_id = *is_primary,
            SubpacketData::RevocationReason(code, _) => self.revocation_reason = Some(*code),
            SubpacketData::Notation(_) => self.has_critical_notation |= part.is_critical,
            _ => {}
        }
    }

    /// Reads a subpacket that proves itself, in the signed part or outside: with a wrong issuer, a
    /// key is chosen that does not verify the signature, and an embedded signature is verified
    /// itself. Other subpackets are not read.
    fn read_self_authenticating(&mut self, data: &SubpacketData) -> Result<(), Unreadable> {
        match data {
            SubpacketData::IssuerKeyId(id) => {
                self.issuer = id.as_ref().try_into().ok();
            }
            SubpacketData::IssuerFingerprint(Fingerprint::V4(fingerprint)) => {
                self.issuer_fingerprint = Some(*fingerprint);
                self.issuer = fingerprint.last_chunk().copied();
            }
            SubpacketData::EmbeddedSignature(_) if self.back_signature.is_some() => {
                return Err(Unreadable::Malformed(
                    "a signature with two embedded signatures",
                ));
            }
            SubpacketData::EmbeddedSignature(embedded) => {
                self.back_signature = Some(Box::new(Self::read((**embedded).clone())?));
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the signature claims to be made by this key.
    pub(super) fn is_by(&self, key: &impl KeyDetails) -> bool {
        match (self.issuer_fingerprint, key.fingerprint()) {
            (Some(issuer), Fingerprint::V4(fingerprint)) => issuer == fingerprint,
            _ => self
                .issuer
                .is_some_and(|issuer| issuer == key.legacy_key_id().as_ref()),
        }
    }

    /// Whether the signature is one over a file.
    pub(super) fn is_over_data(&self) -> bool {
        matches!(self.kind, SignatureType::Binary | SignatureType::Text)
    }

    /// End of the signature's validity, in seconds since 1970.
    pub(super) fn expiry(&self) -> Option<u64> {
        self.lifetime.map(|lifetime| self.created + lifetime)
    }

    /// Whether this signature revokes a key now. A revocation because of compromise always does,
    /// whatever its date.
    pub(super) fn revokes(&self, now: u64) -> bool {
        self.revocation_reason == Some(RevocationCode::KeyCompromised) || !self.is_out_of_date(now)
    }

    /// Whether the signature is not yet or no longer valid, as in Go's `SigExpired`.
    pub(super) fn is_out_of_date(&self, now: u64) -> bool {
        self.created > now || self.expiry().is_some_and(|expiry| now > expiry)
    }
}

/// Whether keys of the algorithm can make signatures.
pub(super) fn can_sign(algorithm: PublicKeyAlgorithm) -> bool {
    matches!(
        algorithm,
        PublicKeyAlgorithm::RSA
            | PublicKeyAlgorithm::RSASign
            | PublicKeyAlgorithm::DSA
            | PublicKeyAlgorithm::ECDSA
            | PublicKeyAlgorithm::EdDSALegacy
            | PublicKeyAlgorithm::Ed25519
            | PublicKeyAlgorithm::Ed448
    )
}

/// OpenTofu and Terraform accept SHA-1, but not MD5 and RIPEMD-160.
fn is_accepted_hash(algorithm: HashAlgorithm) -> bool {
    matches!(
        algorithm,
        HashAlgorithm::Sha1
            | HashAlgorithm::Sha224
            | HashAlgorithm::Sha256
            | HashAlgorithm::Sha384
            | HashAlgorithm::Sha512
            | HashAlgorithm::Sha3_256
            | HashAlgorithm::Sha3_512
    )
}

/// Whether a hashed subpacket forbids use of the signature: a critical subpacket that Go's library
/// does not know, or a certification that is not exportable.
fn forbids_use(part: &Subpacket) -> bool {
    match part.data {
        SubpacketData::ExportableCertification(exportable) => !exportable,
        SubpacketData::Revocable(_)
        | SubpacketData::RevocationKey(_)
        | SubpacketData::SignatureTarget(..)
        | SubpacketData::PreferredEncryptionModes(_)
        | SubpacketData::Experimental(..)
        | SubpacketData::Other(..) => part.is_critical,
        _ => false,
    }
}

/// A lifetime in seconds; zero stands for none.
fn limited_lifetime(seconds: u32) -> Option<u64> {
    if seconds == 0 {
        None
    } else {
        Some(u64::from(seconds))
    }
}

#[cfg(test)]
mod tests {
    use pgp::packet::{KeyFlags, Notation, PacketHeader};
    use pgp::types::{Duration, KeyId, Mpi, SignatureBytes, Tag, Timestamp};

    use super::*;

    fn created() -> Subpacket {
        Subpacket::critical(SubpacketData::SignatureCreationTime(Timestamp::from_secs(
            1000,
        )))
        .unwrap()
    }

    fn packet(hash: HashAlgorithm, hashed: Vec<Subpacket>, unhashed: Vec<Subpacket>) -> Signature {
        let header = PacketHeader::new_fixed(Tag::Signature, 100);
        let bytes = SignatureBytes::Mpis(vec![Mpi::from_slice(&[1])]);
        Signature::v4(
            header,
            SignatureType::Binary,
            PublicKeyAlgorithm::RSA,
            hash,
            [0; 2],
            bytes,
            hashed,
            unhashed,
        )
    }

    fn read(
        hashed: Vec<Subpacket>,
        unhashed: Vec<Subpacket>,
    ) -> Result<SignaturePacket, Unreadable> {
        SignaturePacket::read(packet(
            HashAlgorithm::Sha256,
            [vec![created()], hashed].concat(),
            unhashed,
        ))
    }

    #[test]
    fn only_hashed_subpackets_are_used_and_the_last_wins() {
        let lifetime = |seconds| {
            Subpacket::regular(SubpacketData::SignatureExpirationTime(Duration::from_secs(
                seconds,
            )))
            .unwrap()
        };
        let mut flags = KeyFlags::default();
        flags.set_sign(true);
        let flags = Subpacket::regular(SubpacketData::KeyFlags(flags)).unwrap();
        let issuer = Subpacket::regular(SubpacketData::IssuerKeyId(KeyId::from([7; 8]))).unwrap();

        let signature = read(
            vec![lifetime(1), lifetime(5)],
            vec![flags.clone(), lifetime(9), issuer],
        )
        .unwrap();
        assert_eq!((signature.created, signature.expiry()), (1000, Some(1005)));
        assert!(!signature.may_sign);
        assert_eq!(signature.issuer, Some([7; 8]));
        let out_of_date = [999, 1000, 1005, 1006].map(|now| signature.is_out_of_date(now));
        assert_eq!(out_of_date, [true, false, false, true]);

        let signature = read(vec![lifetime(1), lifetime(0), flags], vec![]).unwrap();
        assert_eq!(signature.expiry(), None, "zero is for ever");
        assert!(signature.may_sign);
        assert_eq!(signature.issuer, None);
    }

    #[test]
    fn unknown_critical_subpackets_are_refused() {
        let unknown = || SubpacketData::Other(99, vec![1].into());
        let critical = Subpacket::critical(unknown()).unwrap();
        assert!(read(vec![Subpacket::regular(unknown()).unwrap()], vec![]).is_ok());
        assert!(
            read(vec![], vec![critical.clone()]).is_ok(),
            "what is not hashed anyone can add"
        );
        assert_eq!(
            read(vec![critical], vec![]).unwrap_err(),
            Unreadable::Unsupported
        );
        let local = Subpacket::regular(SubpacketData::ExportableCertification(false)).unwrap();
        assert_eq!(
            read(vec![local], vec![]).unwrap_err(),
            Unreadable::Unsupported
        );

        let notation = || {
            SubpacketData::Notation(Notation {
                readable: true,
                name: vec![b'n'].into(),
                value: vec![b'v'].into(),
            })
        };
        assert!(
            !read(vec![Subpacket::regular(notation()).unwrap()], vec![])
                .unwrap()
                .has_critical_notation
        );
        assert!(
            read(vec![Subpacket::critical(notation()).unwrap()], vec![])
                .unwrap()
                .has_critical_notation
        );
    }

    #[test]
    fn what_cannot_be_read_is_unsupported_or_malformed() {
        for hash in [
            HashAlgorithm::Md5,
            HashAlgorithm::Ripemd160,
            HashAlgorithm::Other(77),
        ] {
            assert_eq!(
                SignaturePacket::read(packet(hash, vec![created()], vec![])).unwrap_err(),
                Unreadable::Unsupported
            );
        }
        assert!(
            SignaturePacket::read(packet(HashAlgorithm::Sha1, vec![created()], vec![])).is_ok()
        );
        let without_time =
            SignaturePacket::read(packet(HashAlgorithm::Sha256, vec![], vec![created()]));
        assert!(
            matches!(without_time, Err(Unreadable::Malformed(_))),
            "{without_time:?}"
        );
        let embedded = packet(HashAlgorithm::Sha256, vec![created()], vec![]);
        let embedded =
            Subpacket::regular(SubpacketData::EmbeddedSignature(Box::new(embedded))).unwrap();
        assert!(
            read(vec![], vec![embedded.clone()])
                .unwrap()
                .back_signature
                .is_some()
        );
        let twice = read(vec![embedded.clone()], vec![embedded]);
        assert!(matches!(twice, Err(Unreadable::Malformed(_))), "{twice:?}");
    }
}
