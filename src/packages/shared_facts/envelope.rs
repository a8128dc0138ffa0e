//! A signed document: DSSE 1.0 (<https://github.com/secure-systems-lab/dsse>), as in-toto and Sigstore use it.

use serde::{Deserialize, Serialize};

use super::release::ReleaseFacts;
use crate::provider::{ProviderAddress, PublicKey, SigningKey, Version};
use crate::system::bounded::List;

/// The type of the document. It is signed together with the document, so that a signature over
/// another type is not valid here.
const PAYLOAD_TYPE: &str = "application/vnd.provlock.release-facts.v1+json";
/// There is one for each key that has signed.
const MOST_SIGNATURES: usize = 16;

/// Facts about a release with their signatures, not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    #[serde(with = "encoded")]
    payload: Vec<u8>,
    payload_type: String,
    signatures: List<Signature, MOST_SIGNATURES>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Signature {
    /// A hint only: the key that verifies the signature decides.
    #[serde(default)]
    keyid: String,
    #[serde(with = "encoded")]
    sig: Vec<u8>,
}

/// Bytes as base64.
mod encoded {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        BASE64_STANDARD
            .decode(String::deserialize(deserializer)?)
            .map_err(D::Error::custom)
    }
}

impl Envelope {
    /// Signs facts.
    pub fn seal(facts: &ReleaseFacts, key: &SigningKey) -> Self {
        let payload = facts.to_json();
        let signature = Signature {
            keyid: key.public_key().to_string(),
            sig: key.sign(&signed_bytes(&payload)),
        };
        Self {
            payload,
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: List(vec![signature]),
        }
    }

    /// Reads an envelope.
    ///
    /// # Errors
    /// It is not one, as a sentence about it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        match serde_json::from_slice::<Self>(bytes) {
            Ok(envelope) if envelope.payload_type == PAYLOAD_TYPE => Ok(envelope),
            _ => Err("it is not a signed document of facts".to_owned()),
        }
    }

    /// The envelope as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Bytes that it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        self.payload.len()
            + self
                .signatures
                .0
                .iter()
                .map(|signature| signature.sig.len())
                .sum::<usize>()
    }

    /// The facts, if one of the keys has signed them and they are about this release.
    ///
    /// # Errors
    /// Reason why they are not used, as a sentence about the envelope.
    pub fn open(
        &self,
        keys: &[PublicKey],
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<ReleaseFacts, String> {
        if !self.is_signed_by_any(keys) {
            for signature in &self.signatures.0 {
                if let Ok(key) = signature.keyid.parse::<PublicKey>()
                    && keys.contains(&key)
                {
                    return Err(format!("its signature by {key} is not valid"));
                }
            }
            return Err("no key in trusted-keys has signed it".to_owned());
        }

        let facts = ReleaseFacts::parse(&self.payload)?;
        // A valid envelope of a different release could have been copied here.
        if facts.address != *address || facts.version != *version {
            return Err(format!("it is about {} {}", facts.address, facts.version));
        }
        Ok(facts)
    }

    fn is_signed_by_any(&self, keys: &[PublicKey]) -> bool {
        let message = signed_bytes(&self.payload);
        for key in keys {
            for signature in &self.signatures.0 {
                if key.verifies(&message, &signature.sig) {
                    return true;
                }
            }
        }
        false
    }
}

/// The signed bytes: DSSE's "Pre-Authentication Encoding".
fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "DSSEv1 {} {PAYLOAD_TYPE} {} ",
        PAYLOAD_TYPE.len(),
        payload.len()
    )
    .into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;

    use super::*;
    use crate::packages::archive::PackageDigest;
    use crate::provider::{Dialect, Hash};

    fn address(text: &str) -> ProviderAddress {
        ProviderAddress::parse(text, Dialect::Tofu).unwrap()
    }

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn facts() -> ReleaseFacts {
        let h1 = Hash::h1(&[1; 32]);
        let digest = PackageDigest {
            zh: Hash::zh(&[2; 32]),
            h1_with_directories: h1.clone(),
            h1,
            size: 7,
        };
        let packages = BTreeMap::from([("linux_amd64".parse().unwrap(), digest)]);
        ReleaseFacts {
            address: address("acme/gamma"),
            version: version("1.0.0"),
            packages,
        }
    }

    fn envelope(payload: Vec<u8>, sig: Vec<u8>) -> Envelope {
        let signatures = List(vec![Signature {
            keyid: String::new(),
            sig,
        }]);
        Envelope {
            payload,
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures,
        }
    }

    #[test]
    fn what_is_sealed_is_opened_by_its_key_and_for_its_release_alone() {
        let [key, other] = [(); 2].map(|()| SigningKey::generate().unwrap());
        let envelope = Envelope::parse(&Envelope::seal(&facts(), &key).to_json()).unwrap();
        let open = |keys: &[PublicKey], provider: &str, release: &str| {
            envelope.open(keys, &address(provider), &version(release))
        };
        let both = [other.public_key(), key.public_key()];
        assert_eq!(open(&both, "acme/gamma", "1.0.0"), Ok(facts()));
        for keys in [&[other.public_key()][..], &[]] {
            let error = open(keys, "acme/gamma", "1.0.0").unwrap_err();
            assert_eq!(error, "no key in trusted-keys has signed it");
        }
        for (provider, release) in [
            ("acme/delta", "1.0.0"),
            ("h.test/acme/gamma", "1.0.0"),
            ("acme/gamma", "1.0.1"),
        ] {
            let error = open(&both, provider, release).unwrap_err();
            assert_eq!(error, "it is about registry.opentofu.org/acme/gamma 1.0.0");
        }
    }

    #[test]
    fn no_change_of_a_signed_document_is_accepted() {
        let key = SigningKey::generate().unwrap();
        let sealed = Envelope::seal(&facts(), &key);
        let mut cases = 0;
        for (index, bit) in
            (0..sealed.payload.len()).flat_map(|index| (0..8).map(move |bit| (index, bit)))
        {
            let mut changed = sealed.clone();
            changed.payload[index] ^= 1 << bit;
            let error = changed
                .open(
                    &[key.public_key()],
                    &address("acme/gamma"),
                    &version("1.0.0"),
                )
                .unwrap_err();
            assert_eq!(
                error,
                format!("its signature by {} is not valid", key.public_key())
            );
            cases += 1;
        }
        provlock_test::survived("shared facts that were changed", cases);
    }

    #[test]
    fn an_envelope_in_a_different_form_is_refused() {
        let envelope = envelope(b"???>".to_vec(), vec![0xff; 64]);
        let text = String::from_utf8(envelope.to_json()).unwrap();
        assert_eq!(Envelope::parse(text.as_bytes()), Ok(envelope));
        let signature = BASE64_STANDARD.encode([0xff; 64]);
        let changed = [
            // The alphabet for URLs, without padding, with bits that mean nothing, and with white
            // space.
            text.replace("Pz8/Pg==", "Pz8_Pg=="),
            text.replace("Pz8/Pg==", "Pz8/Pg"),
            text.replace("Pz8/Pg==", "Pz8/Ph=="),
            text.replace("Pz8/Pg==", "Pz8/\\nPg=="),
            text.replace(&signature, &signature.replace('/', "_")),
            text.replace(&signature, signature.trim_end_matches('=')),
            text.replacen('{', "{\"payload\":\"\",", 1),
            text.replace("\"sig\"", "\"sig\":\"\",\"sig\""),
        ];
        for other in &changed {
            assert_ne!(*other, text);
            assert!(Envelope::parse(other.as_bytes()).is_err(), "{other}");
        }
        provlock_test::survived("shared facts that were changed", changed.len());
    }

    #[test]
    fn a_signature_over_another_kind_of_document_is_refused() {
        let key = SigningKey::generate().unwrap();
        let payload = facts().to_json();
        let mut envelope = envelope(payload.clone(), key.sign(&payload));
        envelope.signatures.0[0].keyid = key.public_key().to_string();
        let error = envelope.open(
            &[key.public_key()],
            &address("acme/gamma"),
            &version("1.0.0"),
        );
        assert_eq!(
            error,
            Err(format!(
                "its signature by {} is not valid",
                key.public_key()
            ))
        );
        let text = String::from_utf8(Envelope::seal(&facts(), &key).to_json()).unwrap();
        for other in [
            text.replace("release-facts", "other"),
            text.replace("payload", "load"),
            String::new(),
        ] {
            let error = Envelope::parse(other.as_bytes()).unwrap_err();
            assert_eq!(error, "it is not a signed document of facts", "{other}");
        }
    }
}
