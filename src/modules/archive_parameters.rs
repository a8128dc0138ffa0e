//! `archive=` and `checksum=` in the address of an archive on a web server or on this machine
//! (`client.go` and `checksum.go` of go-getter).

use std::fs::File;

use url::Url;

use super::archive::Format;
use super::checksum::{Checksum, ExpectedDigest};
use super::fetch_error::{FetchError, FetchResult};
use super::source::parameters;
use crate::provider::Dialect;
use crate::system::{SafeUrl, percent_decoded};

/// The format and the checksum of an archive.
pub(super) struct ArchiveParameters {
    /// From `archive=`, or else from the name of the file; `None` if the package is not an archive.
    pub(super) format: Option<Format>,
    checksum: Option<Checksum>,
    /// Path of the archive, which lists of checksums contain in several forms.
    path: String,
}

impl ArchiveParameters {
    /// Reads the parameters of a URL.
    ///
    /// # Errors
    /// The checksum is malformed, the package has one and is not an archive, or it is a single
    /// compressed file.
    pub(super) fn of(url: &Url, dialect: Dialect) -> FetchResult<Self> {
        let query = parameters(url);
        let path = percent_decoded(url.path());
        let format_name = parameter(&query, "archive");
        let format = match format_name {
            None => Format::of_path(&path, dialect),
            Some(name) => Format::of_name(name, dialect),
        };
        if format.is_none() && Format::is_single_file(format_name.unwrap_or(&path)) {
            let error =
                FetchError::package("its address names a single compressed file, not an archive");
            return Err(error.help("use an archive: .zip, .tar.gz, .tar.bz2 or .tar.xz"));
        }
        let checksum = match parameter(&query, "checksum") {
            Some(text) => Some(Checksum::parse(text).map_err(FetchError::package)?),
            None => None,
        };
        if checksum.is_some() && format.is_none() {
            return Err(FetchError::package(
                "it has a checksum, which only an archive can have",
            ));
        }
        Ok(Self {
            format,
            checksum,
            path,
        })
    }

    /// Compares an archive with the checksum in its address, if that has one: a digest, or the URL
    /// of a list, which `read_list` requests.
    ///
    /// # Errors
    /// They differ, or the checksum cannot be read.
    pub(super) fn verify_checksum(
        &self,
        archive: &mut File,
        read_list: impl FnOnce(Url) -> FetchResult<Vec<u8>>,
    ) -> FetchResult<()> {
        let expected = match &self.checksum {
            None => return Ok(()),
            Some(Checksum::Digest(expected)) => expected.clone(),
            Some(Checksum::Listed(url)) => {
                let list = read_list(url.clone())?;
                let list = String::from_utf8_lossy(&list);
                let list_path = percent_decoded(url.path());
                let Some(digest) = ExpectedDigest::find(&list, &list_path, &self.path) else {
                    let name = self.path.rsplit('/').next().unwrap_or_default();
                    let list_url = SafeUrl::from(url);
                    return Err(FetchError::package(format!(
                        "{list_url} lists no checksum for {name}"
                    )));
                };
                digest
            }
        };
        expected.check(archive).map_err(FetchError::package)
    }
}

/// The first value of a parameter, unless it is empty.
fn parameter<'a>(query: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, value) = query.iter().find(|(other, _)| other == name)?;
    if value.is_empty() {
        return None;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_or_the_name_decides_the_format() {
        let parse =
            |text: &str| ArchiveParameters::of(&Url::parse(text).unwrap(), Dialect::Tofu).ok();
        let sum = "0".repeat(64);
        for (text, format) in [
            ("https://h.test/a.b/m.tar.gz?x=%2F", Some(Format::TarGzip)),
            ("https://h.test/m?archive=zip", Some(Format::Zip)),
            ("https://h.test/m.zip?archive=false&y=1", None),
            ("https://h.test/m.zip?archive=tgz", Some(Format::TarGzip)),
            ("https://h.test/m-1.0.0.zip", Some(Format::Zip)),
            ("https://h.test/m%2Ezip", Some(Format::Zip)),
            ("https://h.test/m.tbz2", None),
            ("https://h.test/m.tar", None),
            (
                &format!("https://h.test/m.zip?checksum={sum}"),
                Some(Format::Zip),
            ),
            ("file:///d/m.zip", Some(Format::Zip)),
        ] {
            let found = parse(text).unwrap();
            assert_eq!(
                (found.format, found.checksum.is_some()),
                (format, text.contains("checksum")),
                "{text}"
            );
        }
        assert!(parse(&format!("https://h.test/m?checksum={sum}")).is_none());
    }
}
