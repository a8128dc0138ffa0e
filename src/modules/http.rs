//! Packages on web servers: archives, and pages with the location of a package (`get_http.go` of
//! go-getter;
//! <https://opentofu.org/docs/language/modules/sources/#http-urls>).

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Seek as _};
use std::path::Path;

use quick_xml::escape::unescape;
use url::Url;

use super::archive::Format;
use super::archive_parameters::ArchiveParameters;
use super::fetch_error::{FetchError, FetchResult};
use super::limits::MOST_BYTES;
use super::source::{self, RemoteSource, request_query, request_url};
use crate::cli_config::Netrc;
use crate::net::{Client, Purpose, RequestCredentials, read_whole};
use crate::provider::Dialect;
use crate::system::{SafeUrl, Token, percent_decoded};

/// Largest page with a location, and largest list of checksums, in bytes.
const LARGEST_PAGE: u64 = 1 << 20;
/// Header with the location of a package.
const LOCATION: &str = "x-terraform-get";

/// A package on a web server.
pub(super) struct HttpAddress {
    /// URL without login and without the parameters for provlock.
    url: Url,
    login: Option<Token>,
    parameters: ArchiveParameters,
}

/// The answer of a web server.
pub(super) enum HttpPackage {
    Archive(File, Format),
    /// The package is at a different address.
    Elsewhere(RemoteSource),
}

impl HttpAddress {
    pub(super) fn parse(text: &str, dialect: Dialect, netrc: &Netrc) -> FetchResult<Self> {
        let mut url = request_url(text)?;
        let parameters = ArchiveParameters::of(&url, dialect)?;
        let mut query = source::parameters(&url);
        // The others are for the server.
        query.retain(|(name, value)| match name.as_str() {
            "archive" => value.is_empty(),
            name => name != "checksum",
        });
        url.set_query(request_query(query).as_deref());
        let login = take_login(&mut url, netrc);
        Ok(Self {
            url,
            login,
            parameters,
        })
    }

    /// Requests the package. `scratch` is a directory for the archive.
    pub(super) fn fetch(
        &self,
        client: &Client,
        netrc: &Netrc,
        scratch: &Path,
    ) -> FetchResult<HttpPackage> {
        let credentials = self
            .login
            .as_ref()
            .map_or(RequestCredentials::None, RequestCredentials::Basic);
        let Some(format) = self.parameters.format else {
            return self
                .request_location(client, credentials)
                .map(HttpPackage::Elsewhere);
        };
        let mut file = download(client, &self.url, credentials, scratch)?;
        self.parameters
            .verify_checksum(&mut file, |url| read_list(client, netrc, url))?;
        Ok(HttpPackage::Archive(file, format))
    }

    /// Requests the location of the package of an address without the name of an archive. It is in
    /// a header or in a `meta` element of the page.
    fn request_location(
        &self,
        client: &Client,
        credentials: RequestCredentials<'_>,
    ) -> FetchResult<RemoteSource> {
        let mut url = self.url.clone();
        let mut query = source::parameters(&url);
        query.push(("terraform-get".to_owned(), "1".to_owned()));
        url.set_query(request_query(query).as_deref());
        let location =
            client.request_until_received(&url, credentials, Purpose::Download, |response| {
                let header = response
                    .headers()
                    .get(LOCATION)
                    .and_then(|value| value.to_str().ok())
                    .map(str::to_owned);
                // go-getter, too, reads the page only if there is no header.
                if let Some(location) = header.filter(|text| !text.is_empty()) {
                    return Ok(Some(location));
                }
                let page = read_whole(response, LARGEST_PAGE)?;
                Ok(location_in_meta(&String::from_utf8_lossy(&page)))
            })?;

        let Some(location) = location else {
            return Err(self.unusable_error(
                "does not have the name of an archive, and does not contain the location of the package",
            ));
        };
        let Some(source) = RemoteSource::parse_full(&location) else {
            return Err(self
                .unusable_error("refers to something that is not the full address of a package"));
        };
        if source.is_on_this_machine() {
            return Err(self.unusable_error("refers to this machine"));
        }
        Ok(source)
    }

    /// The error about an address that `does` something for which it cannot be used.
    fn unusable_error(&self, does: &str) -> FetchError {
        FetchError::package(format!("{} {does}", SafeUrl::from(&self.url)))
    }
}

/// Requests a list of checksums.
pub(super) fn read_list(client: &Client, netrc: &Netrc, mut url: Url) -> FetchResult<Vec<u8>> {
    let login = take_login(&mut url, netrc);
    let credentials = login
        .as_ref()
        .map_or(RequestCredentials::None, RequestCredentials::Basic);
    Ok(
        client.request_until_received(&url, credentials, Purpose::Download, |response| {
            read_whole(response, LARGEST_PAGE)
        })?,
    )
}

/// Downloads an archive to a file in `scratch` that has no name there.
pub(super) fn download(
    client: &Client,
    url: &Url,
    credentials: RequestCredentials<'_>,
    scratch: &Path,
) -> FetchResult<File> {
    let written: Result<io::Result<File>, _> =
        client.download(url, credentials, MOST_BYTES, |body, _| {
            let mut file = tempfile::tempfile_in(scratch)?;
            io::copy(body, &mut file)?;
            file.rewind()?;
            Ok(file)
        });
    Ok(written??)
}

/// Removes the login from a URL and returns it, or else the one for its host in `.netrc`.
fn take_login(url: &mut Url, netrc: &Netrc) -> Option<Token> {
    let own = (
        percent_decoded(url.username()),
        percent_decoded(url.password().unwrap_or_default()),
    );
    // Only a URL that cannot have a user name refuses this, and such a URL has none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if !own.0.is_empty() {
        return Some(Token::basic(&own.0, &own.1));
    }
    netrc.token(url)
}

/// Returns the content of `<meta name="terraform-get" content="…">` in the head of a page.
fn location_in_meta(page: &str) -> Option<String> {
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
            continue;
        }
        let (tag, after) = split_tag(after)?;
        rest = after;
        let (name, attributes) = tag.split_at(
            tag.find(|c: char| c.is_whitespace() || c == '>')
                .unwrap_or(tag.len()),
        );
        if ["body", "/head"]
            .iter()
            .any(|end| name.eq_ignore_ascii_case(end))
        {
            return None;
        }
        if name.eq_ignore_ascii_case("meta")
            && attribute(attributes, "name").as_deref() == Some("terraform-get")
            && let Some(content) =
                attribute(attributes, "content").filter(|content| !content.is_empty())
        {
            return Some(content);
        }
    }
    None
}

/// Splits a text after the `>` that closes its first tag. Those in quotes do not.
fn split_tag(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    let end = text.find(|c| {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        quote.is_none() && c == '>'
    })?;
    Some((&text[..end], &text[end + 1..]))
}

/// Returns the value of an attribute of a tag, which must be in quotes.
fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, following) = after[1..].split_once(quote)?;
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(unescape(value).map_or_else(|_| value.to_owned(), Cow::into_owned));
        }
        rest = following;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_refers_to_the_package_only_in_its_head() {
        let meta = r#"<meta name="terraform-get" content="https://h.test/m.zip?a=1&amp;b=2">"#;
        let found = Some("https://h.test/m.zip?a=1&b=2".to_owned());
        for (page, expected) in [
            (format!("<!doctype html><html><head>{meta}</head></html>"), &found),
            (format!("<HTML><HEAD><title>a > b</title><!-- </head> -->{meta}"), &found),
            (
                r"<head><META content='https://h.test/m.zip?a=1&amp;b=2' NAME = 'terraform-get'/></head>".to_owned(),
                &found,
            ),
            (
                r#"<head><meta name="terraform-get" content="https:&#x2F;&#47;h.test/m.zip?a=1&amp;b=2">"#.to_owned(),
                &found,
            ),
            (format!("<head></head><body>{meta}</body>"), &None),
            (format!("<body>{meta}"), &None),
            (format!("<head><!-- {meta} --></head>"), &None),
            (r#"<head><meta name="other" content="x"><meta name="terraform-get""#.to_owned(), &None),
            (String::new(), &None),
        ] {
            assert_eq!(&location_in_meta(&page), expected, "{page}");
        }
    }

    #[test]
    fn an_address_is_split_into_the_url_the_login_and_parameters_for_provlock() {
        for (text, url) in [
            (
                "https://h.test/a.b/m.tar.gz?x=%2F",
                "https://h.test/a.b/m.tar.gz?x=%2F",
            ),
            ("https://h.test/m?archive=zip", "https://h.test/m"),
            (
                "https://h.test/m.zip?archive=false&y=1",
                "https://h.test/m.zip?y=1",
            ),
            (
                &format!("https://h.test/m.zip?checksum={}", "0".repeat(64)),
                "https://h.test/m.zip",
            ),
            ("https://u:p%20w@h.test/m.zip", "https://h.test/m.zip"),
        ] {
            let address = HttpAddress::parse(text, Dialect::Tofu, &Netrc::default())
                .ok()
                .unwrap();
            assert_eq!(
                (address.url.as_str(), address.login.is_some()),
                (url, text.contains('@')),
                "{text}"
            );
        }
    }
}
