//! `checksum=` in the address of an archive (`checksum.go` of go-getter).

use std::fmt::LowerHex;
use std::fs::File;
use std::io::{self, Seek as _};

use md5::Md5;
use sha1::Sha1;
use sha2::digest::{Digest, Output};
use sha2::{Sha256, Sha512};
use url::Url;

/// The expected checksum of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    /// A digest.
    Digest(ExpectedDigest),
    /// The digest in the list of checksums at a URL.
    Listed(Url),
}

/// A digest in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExpectedDigest {
    /// `md5`, `sha1`, `sha256` or `sha512`.
    algorithm: &'static str,
    digits: String,
}

impl Checksum {
    /// Parses `[md5|sha1|sha256|sha512:]HEX` or `file:URL`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("file:") {
            Some(url) => match Url::parse(url) {
                Ok(url) if matches!(url.scheme(), "https" | "http") => Ok(Self::Listed(url)),
                _ => Err("its checksum must be in a file with an https URL".to_owned()),
            },
            None => ExpectedDigest::parse(text).map(Self::Digest).ok_or_else(|| "its checksum is malformed".to_owned()),
        }
    }
}

impl ExpectedDigest {
    /// Whether different archives cannot have the same digest.
    pub(super) fn is_unique(&self) -> bool {
        matches!(self.algorithm, "sha256" | "sha512")
    }

    fn parse(text: &str) -> Option<Self> {
        let (name, digits) = text.split_once(':').map_or((None, text), |(name, digits)| (Some(name), digits));
        let algorithm = match digits.len() {
            32 => "md5",
            40 => "sha1",
            64 => "sha256",
            128 => "sha512",
            _ => return None,
        };
        let fits = name.is_none_or(|name| name == algorithm) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Self { algorithm, digits: digits.to_ascii_lowercase() })
    }

    /// Finds the digest of a file in a list of checksums: lines such as `HEX  NAME`, `SHA256 (NAME) = HEX`, or `HEX`
    /// alone.
    pub(super) fn find(list: &str, name: &str) -> Option<Self> {
        let is_named = |path: &str| path.trim_start_matches('*').rsplit('/').next() == Some(name);
        list.lines().map(str::trim).find_map(|line| {
            let (digits, file) = match line.split_once(") = ") {
                Some((start, digits)) => (digits, start.split_once(" (")?.1),
                None => line.split_once(char::is_whitespace).unwrap_or((line, name)),
            };
            is_named(file.trim_start()).then(|| Self::parse(digits)).flatten()
        })
    }

    /// Checks the digest of a file. The error continues a message that names the package.
    pub(super) fn check(&self, file: &mut File) -> Result<(), String> {
        let digits = match self.algorithm {
            "md5" => hexadecimal::<Md5>(file),
            "sha1" => hexadecimal::<Sha1>(file),
            "sha256" => hexadecimal::<Sha256>(file),
            _ => hexadecimal::<Sha512>(file),
        };
        match digits {
            Ok(digits) if digits == self.digits => Ok(()),
            Ok(digits) => Err(format!("its {} checksum is {digits}, not {}", self.algorithm, self.digits)),
            Err(error) => Err(format!("its checksum cannot be computed: {error}")),
        }
    }
}

/// Returns the digest of a whole file in hexadecimal digits. Its position is at its start afterwards.
pub(super) fn hexadecimal<D: Digest + io::Write>(file: &mut File) -> io::Result<String>
where
    Output<D>: LowerHex,
{
    let mut digest = D::new();
    file.rewind()?;
    io::copy(file, &mut digest)?;
    file.rewind()?;
    Ok(format!("{:x}", digest.finalize()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_checksum_has_the_algorithm_of_its_name_or_length() {
        let mut file = tempfile::tempfile().unwrap();
        let check = |text: &str, file: &mut File| match Checksum::parse(text) {
            Ok(Checksum::Digest(digest)) => digest.check(file),
            other => Err(format!("{other:?}")),
        };
        for text in [
            EMPTY,
            &format!("sha256:{}", EMPTY.to_uppercase()),
            "d41d8cd98f00b204e9800998ecf8427e",
            "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
        ] {
            assert_eq!(check(text, &mut file), Ok(()), "{text}");
        }
        for text in ["", "md5:", &EMPTY[1..], &format!("md5:{EMPTY}"), &format!("sha3:{EMPTY}"), &"x".repeat(64)] {
            Checksum::parse(text).unwrap_err();
        }
        file.write_all(b"x").unwrap();
        let error = check(EMPTY, &mut file).unwrap_err();
        assert!(error.starts_with("its sha256 checksum is 2d711642b726b04401627ca9fbac32f5"), "{error}");
    }

    #[test]
    fn a_list_of_checksums_names_the_file() {
        let other = "0".repeat(64);
        for list in [
            EMPTY.to_owned(),
            format!("# sums\n{other}  other.zip\n{EMPTY}  m.zip\n"),
            format!("{EMPTY} *./dist/m.zip"),
            format!("SHA256 (other.zip) = {other}\nSHA256 (m.zip) = {EMPTY}\n"),
        ] {
            assert_eq!(ExpectedDigest::find(&list, "m.zip"), ExpectedDigest::parse(EMPTY), "{list}");
        }
        assert_eq!(ExpectedDigest::find(&format!("{EMPTY}  other.zip"), "m.zip"), None);
        assert!(Checksum::parse("file:./sums").is_err() && Checksum::parse("file:file:///etc/passwd").is_err());
    }
}
