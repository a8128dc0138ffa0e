//! Provider packages: deterministic files, the zip archive of them, and their hashes.

use std::fmt::Write as _;
use std::io::{Cursor, Seek, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest::{SHA256, digest};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A file of a package. A name that ends in `/` is a directory entry.
pub type File = (String, Vec<u8>);

/// Form in which the archive is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Deflated, with a data descriptor after every entry, as Go's writer does it.
    Deflated,
    /// Not compressed and without data descriptors, so that the bytes do not depend on a
    /// compressor's version.
    Stored,
}

/// The files of a package for one platform: the provider's program of `size` bytes, and a licence.
pub fn provider_files(
    name: &str,
    version: &str,
    platform: &str,
    seed: &str,
    size: usize,
) -> Vec<File> {
    let suffix = if platform.starts_with("windows_") {
        ".exe"
    } else {
        ""
    };
    vec![
        (
            "LICENSE.txt".to_owned(),
            b"Made for tests; holds no provider.\n".to_vec(),
        ),
        (
            format!("terraform-provider-{name}_v{version}{suffix}"),
            filler(&format!("{seed} {platform}"), size),
        ),
    ]
}

/// `size` bytes that depend on the seed only. About half of them can be compressed away, as in real
/// programs.
pub fn filler(seed: &str, size: usize) -> Vec<u8> {
    let mut state = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut bytes = Vec::with_capacity(size + 64);
    while bytes.len() < size {
        for _ in 0..4 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend_from_slice(&state.to_le_bytes());
        }
        bytes.extend_from_slice(b"a line of text that can be packed");
    }
    bytes.truncate(size);
    bytes
}

/// The zip archive of the files, the same bytes for the same files.
pub fn pack(files: &[File], packing: Packing) -> Vec<u8> {
    match packing {
        Packing::Deflated => {
            let mut writer = ZipWriter::new_stream(Vec::new());
            write_files(&mut writer, files, CompressionMethod::Deflated);
            writer.finish().unwrap().into_inner()
        }
        Packing::Stored => {
            let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
            write_files(&mut writer, files, CompressionMethod::Stored);
            writer.finish().unwrap().into_inner()
        }
    }
}

fn write_files<W: Write + Seek>(
    writer: &mut ZipWriter<W>,
    files: &[File],
    method: CompressionMethod,
) {
    let options = SimpleFileOptions::default()
        .compression_method(method)
        .unix_permissions(0o755);
    for (name, content) in files {
        if name.ends_with('/') {
            writer.add_directory(name, options).unwrap();
        } else {
            writer.start_file(name, options).unwrap();
            writer.write_all(content).unwrap();
        }
    }
}

/// The packages of the demo's mirror: the path in
/// `testdata/mirror/registry.opentofu.org/hashicorp`, and the files.
pub fn demo_packages() -> Vec<(String, Vec<File>)> {
    let releases = [
        ("null", "3.2.3"),
        ("null", "3.2.4"),
        ("random", "3.6.3"),
        ("random", "3.7.2"),
    ];
    let platforms = [
        "linux_amd64",
        "linux_arm64",
        "darwin_arm64",
        "windows_amd64",
    ];
    let packages = releases.into_iter().flat_map(|(name, version)| {
        platforms.into_iter().map(move |platform| {
            let path = format!("{name}/terraform-provider-{name}_{version}_{platform}.zip");
            (
                path,
                provider_files(name, version, platform, &format!("{name} {version}"), 100),
            )
        })
    });
    packages.collect()
}

/// The `h1:` hash of a package with these files.
pub fn h1(files: &[File]) -> String {
    h1_of(files.iter().filter(|(name, _)| !name.ends_with('/')))
}

/// The `h1:` hash as `providers mirror` computes it, which treats directory entries as empty files.
pub fn h1_with_directories(files: &[File]) -> String {
    h1_of(files.iter())
}

fn h1_of<'a>(files: impl Iterator<Item = &'a File>) -> String {
    let mut files: Vec<_> = files.collect();
    files.sort_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
    let mut lines = String::new();
    for (name, content) in files {
        writeln!(lines, "{}  {name}", sha256(content)).unwrap();
    }
    format!("h1:{}", BASE64.encode(digest(&SHA256, lines.as_bytes())))
}

/// The `zh:` hash of an archive.
pub fn zh(archive: &[u8]) -> String {
    format!("zh:{}", sha256(archive))
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes)
        .as_ref()
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
}
