//! Detached OpenPGP signatures and the keys that registries list.

use std::time::{Duration, UNIX_EPOCH};

use provlock::packages::authentication::{OpenPgpKey, SignaturePolicy, verify_detached};
use provlock::provider::{Authentication, Dialect};

/// Message that the seeds sign.
const SIGNED: &[u8] = include_bytes!("../../../testdata/signatures/SHA256SUMS");
/// 2026-06-01, when most of the seeds' keys are valid.
const NOW: Duration = Duration::from_secs(1_780_272_000);
const END_OF_KEY: &[u8] = b"-----END PGP PUBLIC KEY BLOCK-----\n";

/// Verifies a signature, which follows an armored key. A signature of one file is refused for any
/// other file.
pub fn signature(data: &[u8]) -> bool {
    let place = data
        .windows(END_OF_KEY.len())
        .position(|window| window == END_OF_KEY);
    let (armor, signature) = data.split_at(place.map_or(0, |place| place + END_OF_KEY.len()));
    let key = OpenPgpKey {
        ascii_armor: String::from_utf8_lossy(armor).into_owned(),
        key_id: String::new(),
    };
    let keys = [key];
    let mut is_accepted = false;
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let policy = SignaturePolicy {
            dialect,
            enforce_validation: false,
            enforce_expiration: false,
        };
        let now = UNIX_EPOCH + NOW;
        let verify = |message: &[u8]| verify_detached(message, signature, &keys, policy, now);
        let Ok((verified, _)) = verify(SIGNED) else {
            continue;
        };
        is_accepted = true;
        let Authentication::Signed {
            key_id,
            fingerprint,
        } = &verified
        else {
            panic!("{verified:?}")
        };
        assert!(fingerprint.ends_with(key_id), "{verified:?}");
        assert_eq!((fingerprint.len(), key_id.len()), (40, 16), "{verified:?}");
        let longer = [SIGNED, b"\n".as_slice()].concat();
        let others: [&[u8]; 3] = [&SIGNED[1..], &longer, b""];
        for other in others {
            assert!(verify(other).is_err(), "{verified:?}");
        }
    }
    is_accepted
}
