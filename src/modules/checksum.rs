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

/// Algorithms, and numbers of hexadecimal digits.
const ALGORITHMS: [(&str, usize); 4] = [("md5", 32), ("sha1", 40), ("sha256", 64), ("sha512", 128)];

impl Checksum {
    /// Parses `[md5|sha1|sha256|sha512:]HEX` or `file:URL`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("file:") {
            Some(url) => match Url::parse(url) {
                Ok(url) if matches!(url.scheme(), "https" | "http") => Ok(Self::Listed(url)),
                _ => Err("its checksum must be in a file with an https URL".to_owned()),
            },
            None => ExpectedDigest::parse(text)
                .map(Self::Digest)
                .ok_or_else(|| "its checksum is malformed".to_owned()),
        }
    }
}

impl ExpectedDigest {
    /// Whether different archives cannot have the same digest.
    pub(super) fn is_unique(&self) -> bool {
        matches!(self.algorithm, "sha256" | "sha512")
    }

    fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            Some((kind, digits)) => Self::of_kind(kind, digits)
                .filter(|digest| Self::of_length(digits).as_ref() == Some(digest)),
            None => Self::of_length(text),
        }
    }

    /// A digest whose length tells the algorithm.
    fn of_length(digits: &str) -> Option<Self> {
        let (algorithm, _) = ALGORITHMS
            .into_iter()
            .find(|(_, length)| *length == digits.len())?;
        Self::of_kind(algorithm, digits)
    }

    /// A digest by the name of the algorithm. If its length is another one, no archive has it.
    fn of_kind(kind: &str, digits: &str) -> Option<Self> {
        let (algorithm, _) = ALGORITHMS
            .into_iter()
            .find(|(name, _)| kind.eq_ignore_ascii_case(name))?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        Some(Self {
            algorithm,
            digits: digits.to_ascii_lowercase(),
        })
    }

    /// Finds the digest of a file in a list of checksums: lines such as `HEX  NAME`, `SHA256 (NAME)
    /// = HEX`, or `HEX` alone. A name is that of the file, or its path, also from the directory of
    /// the list.
    pub(super) fn find(list: &str, list_path: &str, path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let (directory, _) = list_path.rsplit_once('/').unwrap_or_default();
        let from_list = relative(directory, path);
        let names = [
            name,
            &format!("*{name}"),
            &format!("?{name}"),
            path,
            &from_list,
            &format!("./{from_list}"),
        ];
        list.lines().find_map(|line| Self::of_line(line, &names))
    }

    /// The digest in a line of a list of checksums, if it is that of a file with one of the names.
    fn of_line(line: &str, names: &[&str]) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [kind, file, _, digits] => {
                let file = file.strip_prefix('(')?.strip_suffix(')')?;
                if !names.contains(&file) {
                    return None;
                }
                Self::of_kind(kind, digits)
            }
            [_, file] if !names.contains(&file) => None,
            [digits, ..] => Self::of_length(digits),
            [] => None,
        }
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
            Ok(digits) => Err(format!(
                "its {} checksum is {digits}, not {}",
                self.algorithm, self.digits
            )),
            Err(error) => Err(format!("its checksum cannot be computed: {error}")),
        }
    }
}

/// Returns a path relative to a directory; both are absolute.
fn relative(directory: &str, path: &str) -> String {
    let from: Vec<_> = directory.split('/').collect();
    let to: Vec<_> = path.split('/').collect();
    let common = from
        .iter()
        .zip(&to)
        .take_while(|(one, other)| one == other)
        .count();
    let mut parts = vec![".."; from.len() - common];
    parts.extend(&to[common..]);
    parts.join("/")
}

/// Returns the digest of a whole file in hexadecimal digits. Its position is at its start
/// afterwards.
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

/// Returns the SHA-256 of a text in hexadecimal digits.
pub(super) fn text_digest(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
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
        for text in [
            "",
            "md5:",
            &EMPTY[1..],
            &format!("md5:{EMPTY}"),
            &format!("sha3:{EMPTY}"),
            &"x".repeat(64),
        ] {
            Checksum::parse(text).unwrap_err();
        }
        file.write_all(b"x").unwrap();
        let error = check(EMPTY, &mut file).unwrap_err();
        assert!(
            error.starts_with("its sha256 checksum is 2d711642b726b04401627ca9fbac32f5"),
            "{error}"
        );
    }

    #[test]
    fn a_list_of_checksums_names_the_file() {
        let other = "0".repeat(64);
        let find = |list: &str| ExpectedDigest::find(list, "/v1/sums", "/v1/dist/m.zip");
        for list in [
            EMPTY.to_owned(),
            format!("# sums\n{other}  other.zip\n{EMPTY}  m.zip\n"),
            format!("{EMPTY} *m.zip"),
            format!("{EMPTY} ?m.zip"),
            format!("{other}  x/m.zip\n{EMPTY}  dist/m.zip"),
            format!("{EMPTY} ./dist/m.zip"),
            format!("{EMPTY} /v1/dist/m.zip"),
            format!("{EMPTY} m.zip today"),
            format!("SHA256 (other.zip) = {other}\nsha256 (m.zip) = {EMPTY}\n"),
        ] {
            assert_eq!(find(&list), ExpectedDigest::parse(EMPTY), "{list}");
        }
        for list in [
            "  other.zip",
            "  x/m.zip",
            "  ../m.zip",
            "  *dist/m.zip",
            "  **m.zip",
            "  https://h.test/v1/dist/m.zip",
        ] {
            assert_eq!(find(&format!("{EMPTY}{list}")), None, "{list}");
        }
        assert_eq!(find(&format!("FOO (m.zip) = {EMPTY}")), None);
        let wrong = find(&format!("SHA1 (m.zip) = {EMPTY}\n{EMPTY}  m.zip")).unwrap();
        assert!(
            wrong
                .check(&mut tempfile::tempfile().unwrap())
                .unwrap_err()
                .starts_with("its sha1 checksum is da39")
        );
        assert_eq!(find(&format!("SHA256 (x/m.zip) = {EMPTY}")), None);
        assert_eq!(find(&format!("sha256:{EMPTY}  m.zip")), None);
        let above =
            ExpectedDigest::find(&format!("{EMPTY}  ../m.zip"), "/v1/lists/sums", "/v1/m.zip");
        assert_eq!(above, ExpectedDigest::parse(EMPTY));
        assert!(
            Checksum::parse("file:./sums").is_err()
                && Checksum::parse("file:file:///etc/passwd").is_err()
        );
    }
}
