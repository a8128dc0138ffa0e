//! Archives of modules.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use provlock::project::ModuleFetching;

use crate::project::Project;

/// Reads a module in an archive; a file without a known signature is read as a tar archive. Its
/// requirements are the same when it comes from the cache, and nothing is written or read outside
/// of the package.
pub fn module_archive(data: &[u8]) -> bool {
    let (name, archive) = named(data);
    let project = Project::new(&[(name, &archive)]);
    let url = format!("file://{}", project.path(name).display());
    let call = |label: &str, path: &str| {
        format!("module \"{label}\" {{\n  source = \"{url}{path}\"\n}}\n")
    };
    project.write("root/main.tf", call("top", "").as_bytes());
    project.write("below/main.tf", call("below", "//modules/b").as_bytes());
    let mut is_accepted = false;
    for root in ["root", "below"] {
        let required = project.required(root, ModuleFetching::Fetch);
        assert_eq!(project.required(root, ModuleFetching::Fetch), required);
        is_accepted |= required.is_some();
    }
    is_accepted
}

/// The name of the archive, with the extension of its format, and its bytes.
pub(crate) fn named(data: &[u8]) -> (&'static str, Vec<u8>) {
    let signatures: [(&[u8], &str); 4] = [
        (b"PK", "m.zip"),
        (b"\x1f\x8b", "m.tar.gz"),
        (b"BZh", "m.tar.bz2"),
        (b"\xfd7zXZ", "m.tar.xz"),
    ];
    if let Some((_, name)) = signatures
        .iter()
        .find(|(signature, _)| data.starts_with(signature))
    {
        return (name, data.to_vec());
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    let finished = encoder.write_all(data).and_then(|()| encoder.finish());
    ("m.tar.gz", finished.expect("a vector takes all bytes"))
}
