//! SHA256SUMS.

use std::fmt::Write as _;

use provlock::packages::authentication::Sha256Sums;

/// Reads sums. Each sum is in the input; the sums written in the plainest way are read the same;
/// packages have the names of archives.
pub fn sha256sums(data: &[u8]) -> bool {
    let sums = Sha256Sums::parse(data);
    let lower = data.to_ascii_lowercase();
    let mut plain = String::new();
    for (name, hash) in sums.lines() {
        assert!(
            lower
                .windows(64)
                .any(|window| window == hash.value().as_bytes()),
            "{name}: {hash:?}"
        );
        writeln!(plain, "{}  {name}", hash.value()).expect("a string takes everything");
    }
    let again = Sha256Sums::parse(plain.as_bytes());
    assert!(again.lines().eq(sums.lines()), "{plain}");
    assert!(again.packages().eq(sums.packages()), "{plain}");
    assert!(sums.packages().count() <= sums.lines().count());
    sums.packages().next().is_some()
}
