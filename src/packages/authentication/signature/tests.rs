//! Keys and signatures made by gpg; see `testdata/signatures/make.sh` and `cases.tsv` beside it.
//! Terraform 1.11.4, run on every case, accepts and refuses the same, but for the two that the
//! table marks.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use provlock_test::survived;

use super::*;

/// 2026-06-01.
const NOW: u64 = 1_780_272_000;
const DAY: u64 = 86_400;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn file(name: &str) -> Vec<u8> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "testdata", "signatures", name]
        .iter()
        .collect();
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn message() -> Vec<u8> {
    file("SHA256SUMS")
}

fn signature(name: &str) -> Vec<u8> {
    file(&format!("{name}.sig"))
}

fn key(name: &str) -> OpenPgpKey {
    let ascii_armor = String::from_utf8(file(&format!("{name}.asc"))).unwrap();
    OpenPgpKey {
        ascii_armor,
        key_id: name.to_owned(),
    }
}

fn keys(names: &str) -> Vec<OpenPgpKey> {
    names.split(',').map(key).collect()
}

/// The rules of the tofu dialect.
const POLICY: SignaturePolicy = SignaturePolicy {
    dialect: Dialect::Tofu,
    enforce_validation: true,
    enforce_expiration: false,
};

fn verify(
    key_names: &str,
    signature_name: &str,
    now: u64,
) -> Result<(Authentication, Option<Expired>), SignatureError> {
    verify_detached(
        &message(),
        &signature(signature_name),
        &keys(key_names),
        POLICY,
        at(now),
    )
}

/// Message about an expired key or signature that is accepted all the same.
fn expired(key_names: &str, signature_name: &str, now: u64) -> Option<String> {
    verify(key_names, signature_name, now)
        .unwrap()
        .1
        .map(|expired| expired.message)
}

fn name(verdict: &Result<(Authentication, Option<Expired>), SignatureError>) -> &'static str {
    match verdict {
        Ok((_, None)) => "ok",
        Ok((_, Some(expired))) if expired.is_key => "ok, key expired",
        Ok(_) => "ok, signature expired",
        Err(SignatureError::NoKeys) => "no-keys",
        Err(SignatureError::UndecodableKey { .. }) => "undecodable",
        Err(SignatureError::NoKeyMatches) => "no-match",
        Err(SignatureError::MalformedSignature(_)) => "malformed",
        Err(SignatureError::BadSignature { .. }) => "bad-signature",
        Err(SignatureError::RevokedKey { .. }) => "revoked",
        Err(SignatureError::UnknownCriticalNotation { .. }) => "critical-notation",
        Err(SignatureError::Expired(_)) => "expired",
        Err(SignatureError::TooLarge(_)) => "too-large",
    }
}

/// Keys, signature, and the verdicts of the tofu and the terraform dialect.
fn cases() -> Vec<(String, String, String, String)> {
    let table = String::from_utf8(file("cases.tsv")).unwrap();
    let rows = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let fields: Vec<&str> = row.split('\t').collect();
        let [keys, signature, tofu, ..] = fields[..] else {
            panic!("{row:?}")
        };
        let terraform = fields.get(3).copied().unwrap_or(tofu);
        (
            keys.to_owned(),
            signature.to_owned(),
            tofu.to_owned(),
            terraform.to_owned(),
        )
    })
    .collect()
}

#[test]
fn every_case_has_its_verdict() {
    let (message, cases) = (message(), cases());
    assert!(cases.len() > 50);
    for (key_names, signature_name, tofu, terraform) in &cases {
        let (signature, keys) = (signature(signature_name), keys(key_names));
        let verdict = |dialect, enforce_expiration| {
            let policy = SignaturePolicy {
                dialect,
                enforce_expiration,
                ..POLICY
            };
            name(&verify_detached(
                &message,
                &signature,
                &keys,
                policy,
                at(NOW),
            ))
        };
        let context = format!("keys {key_names}, signature {signature_name}");
        assert_eq!(verdict(Dialect::Tofu, false), *tofu, "{context}, tofu");
        assert_eq!(
            verdict(Dialect::Terraform, false),
            *terraform,
            "{context}, terraform"
        );
        assert_eq!(
            verdict(Dialect::Terraform, true),
            *terraform,
            "{context}, terraform, enforced"
        );
        let enforced = if tofu.starts_with("ok,") {
            "expired"
        } else {
            tofu.as_str()
        };
        assert_eq!(
            verdict(Dialect::Tofu, true),
            enforced,
            "{context}, tofu, enforced"
        );
    }
    survived(
        "keys and signatures of gpg, compared with OpenTofu and Terraform",
        cases.len(),
    );
}

#[test]
fn every_file_is_used() {
    let mut used = BTreeSet::new();
    for (keys, signature, ..) in cases() {
        used.extend(keys.split(',').map(|key| format!("{key}.asc")));
        used.insert(format!("{signature}.sig"));
    }
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "testdata", "signatures"]
        .iter()
        .collect();
    let names = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_fixture = |name: &String| [".asc", ".sig"].iter().any(|ending| name.ends_with(ending));
    assert_eq!(names.filter(is_fixture).collect::<BTreeSet<_>>(), used);
}

#[test]
fn expiry_is_judged_as_of_now() {
    // Made on 2024-01-01 for 150 days; signed on 2024-02-01.
    let made = 1_704_067_200;
    let ends = made + 150 * DAY;
    for name in ["expired", "expired-subkey"] {
        assert_eq!(expired(name, name, ends), None, "{name}");
        let message = expired(name, name, ends + 1).unwrap();
        assert!(
            message.starts_with("signing key ") && message.ends_with(" expired on 2024-05-30"),
            "{message}"
        );
        let message = expired(name, name, made - 1).unwrap();
        assert!(
            message.ends_with(" is not valid before 2024-01-01"),
            "{message}"
        );
    }
    let signed = 1_706_745_600;
    let ends = signed + 30 * DAY;
    assert_eq!(expired("rsa", "expired-signature", ends), None);
    let message = expired("rsa", "expired-signature", ends + 1).unwrap();
    assert!(
        message.starts_with("the signature by key ") && message.ends_with(" expired on 2024-03-02"),
        "{message}"
    );
    let message = expired("rsa", "rsa", signed - 1).unwrap();
    assert!(message.starts_with("the signature by key "), "{message}");
    assert!(
        message.ends_with(" is not valid before 2024-02-01"),
        "{message}"
    );
}

#[test]
fn a_revocation_applies_from_its_date_unless_the_key_is_compromised() {
    let day_before = 1_709_251_200 - DAY;
    assert_eq!(
        expired("revoked-subkey", "revoked-subkey", day_before),
        None
    );
    assert_eq!(
        expired("revoked-user-id", "revoked-user-id", day_before),
        None
    );
    assert_eq!(
        name(&verify(
            "compromised-subkey",
            "compromised-subkey",
            day_before
        )),
        "revoked"
    );
}

#[test]
fn a_subkeys_signature_is_its_primary_keys() {
    let entities = keyring::read_keys(
        &armor::decode_public_key(&key("subkey").ascii_armor).unwrap(),
        &mut Budget(MOST_SELF_SIGNATURES),
    );
    let primary = entities.unwrap().remove(0).primary;
    let (
        Authentication::Signed {
            key_id,
            fingerprint,
        },
        _,
    ) = verify("subkey", "subkey", NOW).unwrap()
    else {
        panic!("it is signed")
    };
    assert_eq!(
        fingerprint.to_lowercase(),
        primary.fingerprint().to_string()
    );
    assert_eq!(key_id, fingerprint[24..]);
}

#[test]
fn the_message_is_covered_to_the_last_byte() {
    let (signature, keys) = (signature("ed25519"), keys("ed25519"));
    let check = |message: &[u8]| {
        verify_detached(message, &signature, &keys, POLICY, at(NOW)).map(|(_, expired)| expired)
    };
    let message = message();
    assert_eq!(check(&message), Ok(None));
    assert!(check(&message[..message.len() - 1]).is_err());
    assert!(check(&[message.as_slice(), b"\n"].concat()).is_err());
    assert!(check(b"").is_err());
    for position in 0..message.len() {
        let mut other = message.clone();
        other[position] ^= 1;
        assert!(check(&other).is_err(), "byte {position}");
    }
}

#[test]
fn large_inputs_are_refused_unread() {
    let check = |signature: &[u8], keys: &[OpenPgpKey]| {
        name(&verify_detached(
            &message(),
            signature,
            keys,
            POLICY,
            at(NOW),
        ))
    };
    assert_eq!(
        check(&vec![0; MOST_SIGNATURE_BYTES + 1], &keys("rsa")),
        "too-large"
    );
    assert_eq!(
        check(&signature("rsa"), &vec![key("ed25519"); MOST_KEYS + 1]),
        "too-large"
    );
    let huge = OpenPgpKey {
        ascii_armor: " ".repeat(MOST_KEY_BYTES + 1),
        key_id: String::new(),
    };
    assert_eq!(check(&signature("rsa"), &[huge]), "too-large");
    assert_eq!(
        check(&signature("rsa"), &vec![key("ed25519"); MOST_KEYS]),
        "no-match"
    );
}

#[test]
fn verifying_self_signatures_has_an_end() {
    let block = armor::decode_public_key(&key("subkey").ascii_armor).unwrap();
    // A self-signature, a binding with its cross-signature, another binding.
    assert!(keyring::read_keys(&block, &mut Budget(4)).is_ok());
    let error = keyring::read_keys(&block, &mut Budget(3)).unwrap_err();
    assert_eq!(error, "too many signatures on the keys");
}

/// A small generator, so that a failure can be had again.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }

    /// Changes, cuts, repeats or inserts some bytes.
    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let position = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[position] ^= 1 << self.below(8),
                1 => bytes[position] = u8::try_from(self.below(256)).unwrap(),
                2 => bytes.truncate(position.max(1)),
                3 => bytes.insert(position, u8::try_from(self.below(256)).unwrap()),
                _ => bytes.extend_from_within(position..),
            }
        }
    }
}

/// The parts of a signature file that its mathematics do not cover may change freely: header,
/// unhashed subpackets, what follows the packet. So the changes here are checked against another
/// message: no change may make it fit.
#[test]
fn no_damaged_signature_fits_a_different_message() {
    let other = b"another message".as_slice();
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    for (key_names, signature_name) in [
        ("ed25519", "ed25519"),
        ("nistp256", "nistp256"),
        ("subkey", "subkey"),
        ("rsa", "text"),
    ] {
        let (original, keys) = (signature(signature_name), keys(key_names));
        for round in 0..400 {
            let mut spoilt = original.clone();
            noise.spoil(&mut spoilt);
            let verdict = verify_detached(other, &spoilt, &keys, POLICY, at(NOW));
            assert!(
                verdict.is_err(),
                "{signature_name}, round {round}: {spoilt:?}"
            );
        }
        survived("a signature that was changed", 400);
    }
}

#[test]
fn no_change_of_a_signed_document_is_accepted() {
    // Version, type, algorithms, hashed subpackets, and the signature itself.
    let (message, original, keys) = (message(), signature("ed25519"), keys("ed25519"));
    let start = 2;
    let hashed_end = start
        + 6
        + usize::from(u16::from_be_bytes([
            original[start + 4],
            original[start + 5],
        ]));
    let unhashed_length = usize::from(u16::from_be_bytes([
        original[hashed_end],
        original[hashed_end + 1],
    ]));
    let signature_start = hashed_end + 2 + unhashed_length;
    // Two octets of the digest, then two numbers, each after its length in bits: 255 or 256 bits
    // are the same 32 octets.
    let second_number = signature_start + 2 + 2 + 32;
    assert_eq!(original.len(), second_number + 2 + 32);
    let is_length = |position| {
        [signature_start + 2, second_number]
            .iter()
            .any(|&at| (at..at + 2).contains(&position))
    };
    for position in (start..hashed_end).chain(signature_start..original.len()) {
        for bit in 0..8 {
            let mut spoilt = original.clone();
            spoilt[position] ^= 1 << bit;
            let verdict = verify_detached(&message, &spoilt, &keys, POLICY, at(NOW));
            assert!(
                verdict.is_err() || is_length(position),
                "byte {position}, bit {bit}: {verdict:?}"
            );
        }
        survived("a signature that was changed", 8);
    }
}

#[test]
fn no_damaged_key_panics_or_vouches_for_a_different_message() {
    let mut noise = Noise(0x2545_f491_4f6c_dd1d);
    for name in [
        "ed25519",
        "subkey",
        "dsa",
        "nistp256",
        "revoked-subkey",
        "two-keys",
    ] {
        let block = armor::decode_public_key(&key(name).ascii_armor).unwrap();
        for round in 0..150 {
            let mut spoilt = block.clone();
            noise.spoil(&mut spoilt);
            let Ok(entities) = keyring::read_keys(&spoilt, &mut Budget(MOST_SELF_SIGNATURES))
            else {
                continue;
            };
            let signature = signature(if name == "two-keys" { "ed25519" } else { name });
            let verdict = check_first_signature(b"another message", &signature, &entities, NOW);
            assert!(verdict.is_err(), "{name}, round {round}: {spoilt:?}");
        }
        survived("a signing key that was changed", 150);
    }
}

#[test]
fn spoilt_armor_does_not_panic() {
    let (mut noise, original) = (Noise(77), key("ed25519"));
    for _ in 0..300 {
        let mut spoilt = original.ascii_armor.clone().into_bytes();
        noise.spoil(&mut spoilt);
        let key = OpenPgpKey {
            ascii_armor: String::from_utf8_lossy(&spoilt).into_owned(),
            key_id: String::new(),
        };
        let verdict = verify_detached(b"another", &signature("ed25519"), &[key], POLICY, at(NOW));
        assert!(verdict.is_err());
    }
    survived("a signing key that was changed", 300);
}
