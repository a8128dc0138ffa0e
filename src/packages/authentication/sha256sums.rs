//! The SHA256SUMS file of a version: OpenTofu's `internal/getproviders/package_authentication.go`.

use std::path::Path;

use super::dispositions::HashDisposition;
use crate::provider::{Hash, Platform};

/// A SHA256SUMS file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sha256Sums {
    lines: Vec<SumLine>,
    malformed: bool,
}

/// A line about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SumLine {
    /// The `zh:` of the file; `None` when the first field is not a SHA-256 sum.
    sum: Option<Hash>,
    filename: Box<str>,
}

impl Sha256Sums {
    /// Reads `sum name` lines. Any white space separates, blank lines and further fields are
    /// ignored; the `*` that marks binary mode belongs to the name, as in OpenTofu and Terraform. A
    /// line that does not start with a sum and a name is not an error, but makes the file
    /// malformed.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut sums = Self {
            lines: Vec::new(),
            malformed: false,
        };
        for line in bytes.split(|&byte| byte == b'\n') {
            let mut fields = line
                .split(|byte| byte.is_ascii_whitespace() || *byte == 0x0b)
                .filter(|f| !f.is_empty());
            let Some(sum) = fields.next() else { continue };
            let sum = decode_sum(sum);
            let filename = fields.next();
            sums.malformed |= sum.is_none() || filename.is_none();
            if let Some(filename) = filename {
                sums.lines.push(SumLine {
                    sum,
                    filename: String::from_utf8_lossy(filename).into(),
                });
            }
        }
        sums
    }

    /// The lines with a sum, as file name and `zh:`, in the order of the file.
    pub fn lines(&self) -> impl Iterator<Item = (&str, &Hash)> {
        self.lines
            .iter()
            .filter_map(|line| Some((&*line.filename, line.sum.as_ref()?)))
    }

    /// Approximate memory, in bytes.
    pub(crate) fn weight(&self) -> usize {
        /// Bytes of a line and of a sum, without the name.
        const LINE: usize = 64;
        const SUM: usize = 96;
        self.lines
            .iter()
            .map(|line| LINE + line.filename.len() + line.sum.as_ref().map_or(0, |_| SUM))
            .sum()
    }

    /// The first line with a file's name, even if that line's sum is invalid.
    fn line(&self, filename: &str) -> Option<&SumLine> {
        self.lines.iter().find(|line| *line.filename == *filename)
    }

    /// The `zh:` of every package of the release.
    pub fn packages(&self) -> impl Iterator<Item = Hash> {
        self.lines()
            .filter(|(name, _)| is_archive(name))
            .map(|(_, sum)| sum.clone())
    }

    /// The platform in the name of every package that has one.
    pub(crate) fn platforms(&self) -> impl Iterator<Item = Platform> {
        self.lines().filter_map(|(name, _)| platform_of(name))
    }

    /// Returns how the file lists each of its `zh:`. If any line is malformed, returns only the
    /// packages. Only for an authenticated file.
    pub(crate) fn dispositions(&self) -> impl Iterator<Item = (Hash, HashDisposition)> {
        self.lines().filter_map(|(name, sum)| {
            let disposition = match (is_archive(name), self.malformed) {
                (true, false) => HashDisposition::ListedForRelease,
                (true, true) => HashDisposition::ListedWithMalformedLines,
                (false, false) => HashDisposition::ListedForOtherFile,
                (false, true) => return None,
            };
            Some((sum.clone(), disposition))
        })
    }

    /// The `zh:` that the registry reports as `shasum`, in upper or lower case.
    ///
    /// # Errors
    /// It is not 64 hexadecimal digits.
    pub(crate) fn advertised(shasum: &str) -> Result<Hash, String> {
        decode_sum(shasum.as_bytes())
            .ok_or_else(|| format!("the registry's shasum {shasum:?} is not a SHA-256 sum"))
    }

    /// Checks that the file is listed with the sum that the registry reports as `shasum` (upper or
    /// lower case), and returns its `zh:`.
    ///
    /// # Errors
    /// One of the two sums is missing or invalid, or they differ.
    pub(crate) fn confirmed_sum(&self, filename: &str, shasum: &str) -> Result<Hash, String> {
        let reported = Self::advertised(shasum)?;
        let Some(line) = self.line(filename) else {
            return Err(format!("SHA256SUMS has no line for {filename:?}"));
        };
        match &line.sum {
            Some(listed) if *listed == reported => Ok(reported),
            Some(listed) => Err(format!(
                "SHA256SUMS says {listed} for {filename:?}, but the registry says {reported}"
            )),
            None => Err(format!(
                "SHA256SUMS has no valid SHA-256 sum for {filename:?}"
            )),
        }
    }
}

fn is_archive(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "zip")
}

/// The `zh:` with these digits, in upper or lower case.
fn decode_sum(digits: &[u8]) -> Option<Hash> {
    let digits = std::str::from_utf8(digits).ok()?.to_ascii_lowercase();
    format!("zh:{digits}")
        .parse()
        .ok()
        .filter(Hash::is_well_formed)
}

/// The platform in the name of a package, such as `linux_amd64` in `x_1.0.0_linux_amd64.zip`.
fn platform_of(name: &str) -> Option<Platform> {
    let mut parts = name.strip_suffix(".zip")?.rsplit('_');
    let arch = parts.next()?;
    let os = parts.next()?;
    format!("{os}_{arch}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first sum of a file.
    fn sum_of(sums: &Sha256Sums, filename: &str) -> Option<Hash> {
        sums.line(filename)?.sum.clone()
    }
    use crate::packages::authentication::HashDispositions;

    fn sum(last: u8) -> (Hash, String) {
        let hex = format!("{}{last:02x}", "ab".repeat(31));
        (format!("zh:{hex}").parse().unwrap(), hex)
    }

    fn parse(text: &str) -> Sha256Sums {
        Sha256Sums::parse(text.as_bytes())
    }

    fn recordable(sums: &Sha256Sums) -> Vec<Hash> {
        let mut hashes = HashDispositions::default();
        hashes.extend(sums.dispositions());
        hashes.recordable().cloned().collect()
    }

    #[test]
    fn reads_every_usual_separator() {
        let (zh, hex) = sum(7);
        for text in [
            format!("{hex}  a.zip\n"),
            format!("{hex} a.zip"),
            format!("{hex}\ta.zip\r\n"),
            format!("\n\n  {hex}   a.zip  third field\n\r\n"),
            format!("{}  a.zip\n", hex.to_uppercase()),
        ] {
            let sums = parse(&text);
            assert_eq!(sum_of(&sums, "a.zip"), Some(zh.clone()), "{text:?}");
            assert_eq!(recordable(&sums), std::slice::from_ref(&zh), "{text:?}");
            assert!(!sums.malformed, "{text:?}");
        }
    }

    #[test]
    fn the_binary_marker_is_part_of_the_name() {
        let (zh, hex) = sum(7);
        let sums = parse(&format!("{hex} *a.zip\n"));
        assert_eq!(sum_of(&sums, "a.zip"), None);
        assert_eq!(sums.lines().collect::<Vec<_>>(), [("*a.zip", &zh)]);
        assert_eq!(recordable(&sums).len(), 1);
    }

    #[test]
    fn a_malformed_line_withholds_all_sums_but_the_requested_one() {
        let (zh, hex) = sum(7);
        for junk in [
            "# a comment",
            "justoneword",
            &hex,
            &format!("{hex}0  b.zip"),
            &format!("g{}  b.zip", &hex[1..]),
        ] {
            let sums = parse(&format!("{junk}\n{hex}  a.zip\n"));
            assert!(sums.malformed, "{junk:?}");
            assert!(recordable(&sums).is_empty(), "{junk:?}");
            assert_eq!(
                sums.confirmed_sum("a.zip", &hex),
                Ok(zh.clone()),
                "{junk:?}"
            );
        }
    }

    #[test]
    fn the_first_of_several_lines_is_used() {
        let ((first, first_hex), (_, second_hex)) = (sum(1), sum(2));
        let sums = parse(&format!("{first_hex}  a.zip\n{second_hex}  a.zip\n"));
        assert_eq!(sum_of(&sums, "a.zip"), Some(first));
        assert!(
            sums.confirmed_sum("a.zip", &second_hex)
                .unwrap_err()
                .contains("but the registry says")
        );
        let sums = parse(&format!("zzz  a.zip\n{second_hex}  a.zip\n"));
        assert_eq!(sum_of(&sums, "a.zip"), None);
        let error = sums.confirmed_sum("a.zip", &second_hex).unwrap_err();
        assert_eq!(error, "SHA256SUMS has no valid SHA-256 sum for \"a.zip\"");
    }

    #[test]
    fn confirms_the_sum_from_the_registry() {
        let ((zh, hex), (_, other)) = (sum(1), sum(2));
        let sums = parse(&format!("{hex}  a.zip\n"));
        assert_eq!(
            sums.confirmed_sum("a.zip", &hex.to_uppercase()),
            Ok(zh.clone())
        );
        assert_eq!(
            sums.confirmed_sum("b.zip", &hex).unwrap_err(),
            "SHA256SUMS has no line for \"b.zip\""
        );
        let error = sums.confirmed_sum("a.zip", "abc").unwrap_err();
        assert_eq!(error, "the registry's shasum \"abc\" is not a SHA-256 sum");
        let error = sums.confirmed_sum("a.zip", &other).unwrap_err();
        assert!(error.contains(&hex) && error.contains(&other), "{error}");
    }

    #[test]
    fn bytes_that_are_not_text_are_skipped() {
        let sums = Sha256Sums::parse(b"\xff\xfe  \x80\n\0\0\0");
        assert!(sums.malformed);
        assert!(recordable(&sums).is_empty());
        assert_eq!(recordable(&Sha256Sums::parse(b"")), []);
    }
}
