//! Packages: zip archives.

use std::io::Cursor;

use provlock::packages::archive::{Limits, PackageDigest, PackageError, hash_zip, hash_zip_file};

const PROGRAM: &[u8] = b"terraform-provider-";

/// Hashes an archive while it arrives, and through its central directory. The hashes, or the
/// refusals, are the same.
pub fn package(data: &[u8]) -> bool {
    let limits = Limits {
        archive_bytes: 1 << 20,
        inflated_bytes: 1 << 22,
        directory_bytes: 1 << 16,
    };
    let provider_type = provider_type(data);
    let central = answer(hash_zip_file(
        &mut Cursor::new(data),
        &provider_type,
        &limits,
    ));
    let streamed = answer(hash_zip(data, &provider_type, &limits));
    assert_eq!(streamed, central);
    central.is_ok()
}

/// The text after the first `terraform-provider-`, so that the archive is not refused because of
/// its name.
fn provider_type(data: &[u8]) -> String {
    let place = data
        .windows(PROGRAM.len())
        .position(|window| window == PROGRAM);
    let rest = place.map_or(&b"x"[..], |place| &data[place + PROGRAM.len()..]);
    let is_name = |byte: &&u8| byte.is_ascii_lowercase() || **byte == b'-';
    rest.iter()
        .take_while(is_name)
        .map(|byte| char::from(*byte))
        .collect()
}

fn answer(result: Result<PackageDigest, PackageError>) -> Result<PackageDigest, String> {
    result.map_err(|error| format!("{error:?}"))
}
