//! Signed facts about releases.

use provlock::packages::shared_facts::Envelope;
use provlock::provider::{Dialect, ProviderAddress, PublicKey, Version};

/// Signed one document; its private half is destroyed.
const KEY: &str = "ed25519:3fFHQrSe3Xu9zrnwPE+1rkwz+Cmf6dspNyT4khMNQ7c=";

/// Reads an envelope, which is read as the same when it is written again. The key opens only what
/// it has signed.
pub fn shared_facts(data: &[u8]) -> bool {
    let Ok(envelope) = Envelope::parse(data) else {
        return false;
    };
    assert_eq!(Envelope::parse(&envelope.to_json()).as_ref(), Ok(&envelope));
    let key: PublicKey = KEY.parse().expect("a key");
    let address = ProviderAddress::parse("acme/gamma", Dialect::Tofu).expect("an address");
    let open = |version| envelope.open(&[key], &address, &version);
    assert!(
        open(Version::new(1, 0, 1)).is_err(),
        "it is opened for another release"
    );
    let Ok(facts) = open(Version::new(1, 0, 0)) else {
        return false;
    };
    let [(platform, digest)] = &facts.packages.iter().collect::<Vec<_>>()[..] else {
        panic!("{facts:?}")
    };
    let zh = format!("zh:{}", "02".repeat(32));
    assert_eq!(
        (
            platform.to_string().as_str(),
            digest.zh.as_str(),
            digest.size
        ),
        ("linux_amd64", zh.as_str(), 7)
    );
    true
}
