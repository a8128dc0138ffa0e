//! `archive=` and `checksum=` in the address of an archive on a web server or on this machine (`client.go` and
//! `checksum.go` of go-getter).

use std::fs::File;

use url::Url;

use super::archive::Format;
use super::checksum::{Checksum, ExpectedDigest};
use super::fetch_error::{FetchError, Fetched};
use crate::provider::Dialect;
use crate::system::SafeUrl;

/// The format and the checksum of an archive.
pub(super) struct ArchiveParameters {
    /// From `archive=`, or else from the name of the file; `None` if the package is not an archive.
    pub(super) format: Option<Format>,
    checksum: Option<Checksum>,
    /// Name of the file in lists of checksums.
    file_name: String,
}

impl ArchiveParameters {
    /// Reads the parameters of a URL.
    ///
    /// # Errors
    /// The checksum is malformed, or the package has one and is not an archive.
    pub(super) fn of(url: &Url, dialect: Dialect) -> Fetched<Self> {
        let parameter = |wanted: &str| {
            let value = url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
            value.filter(|value| !value.is_empty())
        };
        let format = match parameter("archive") {
            None => Format::of_path(url.path(), dialect),
            Some(name) => Format::named(&name, dialect),
        };
        let checksum = parameter("checksum").map(|text| Checksum::parse(&text)).transpose();
        let checksum = checksum.map_err(FetchError::package)?;
        if checksum.is_some() && format.is_none() {
            return Err(FetchError::package("it has a checksum, which only an archive can have"));
        }
        let file_name =
            url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default().to_owned();
        Ok(Self { format, checksum, file_name })
    }

    /// Compares an archive with its checksum, if it has one. `list` reads a list of checksums.
    ///
    /// # Errors
    /// They differ, or the checksum cannot be read.
    pub(super) fn check(&self, archive: &mut File, list: impl FnOnce(Url) -> Fetched<Vec<u8>>) -> Fetched<()> {
        let expected = match &self.checksum {
            None => return Ok(()),
            Some(Checksum::Digest(expected)) => expected.clone(),
            Some(Checksum::Listed(url)) => {
                let text = list(url.clone())?;
                let found = ExpectedDigest::find(&String::from_utf8_lossy(&text), &self.file_name);
                found.ok_or_else(|| {
                    FetchError::package(format!("{} lists no checksum for {}", SafeUrl::from(url), self.file_name))
                })?
            }
        };
        expected.check(archive).map_err(FetchError::package)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_or_the_name_decides_the_format() {
        let parse = |text: &str| ArchiveParameters::of(&Url::parse(text).unwrap(), Dialect::Tofu).ok();
        let sum = "0".repeat(64);
        for (text, format) in [
            ("https://h.test/a.b/m.tar.gz?x=%2F", Some(Format::TarGzip)),
            ("https://h.test/m?archive=zip", Some(Format::Zip)),
            ("https://h.test/m.zip?archive=false&y=1", None),
            ("https://h.test/m.zip?archive=tgz", Some(Format::TarGzip)),
            ("https://h.test/m-1.0.0.zip", Some(Format::Zip)),
            ("https://h.test/m.tbz2", None),
            ("https://h.test/m.tar", None),
            (&format!("https://h.test/m.zip?checksum={sum}"), Some(Format::Zip)),
            ("file:///d/m.zip", Some(Format::Zip)),
        ] {
            let found = parse(text).unwrap();
            assert_eq!((found.format, found.checksum.is_some()), (format, text.contains("checksum")), "{text}");
        }
        assert!(parse(&format!("https://h.test/m?checksum={sum}")).is_none());
    }
}
