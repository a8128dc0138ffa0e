//! Module sources: a path, a module of a registry, or the address of a package.
//!
//! The rules are the same as in OpenTofu's `internal/addrs/module_source.go` and the detectors of
//! go-getter in its `internal/getmodules/getter.go`. Terraform differs only in the default host.

mod getter;
mod request_url;

use std::fmt;
use std::path::{MAIN_SEPARATOR, PathBuf};

use url::Url;

use super::local::is_local;
use crate::hcl::evaluate::functions::clean_path;
use crate::provider::{Dialect, Hostname};
use crate::system::is_public_parameter;
pub use getter::Getter;
use request_url::{escaped, has_valid_escapes, parameters_of_query, split_query};
pub(super) use request_url::{parameters, request_query, request_url};

/// Hosts whose repositories have a short form, so that they are never registries.
const REPOSITORY_HOSTS: [&str; 2] = ["github.com", "bitbucket.org"];

/// The source of a module call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
pub enum ModuleSource {
    /// A directory relative to the caller: `./` or `../` and the rest, with slashes.
    Local(String),
    /// A module of a registry.
    Registry(RegistrySource),
    /// The address of a package.
    Remote(RemoteSource),
}

/// A module of a registry, such as `hashicorp/consul/aws//modules/server`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegistrySource {
    /// Module in the registry.
    pub module: RegistryModule,
    /// Directory in the package; empty for its top.
    pub directory: String,
}

/// The address of a module in a registry, without version and directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{host}/{namespace}/{name}/{system}")]
pub struct RegistryModule {
    /// Host of the registry.
    pub host: Hostname,
    /// Publisher.
    pub namespace: String,
    /// Name of the module.
    pub name: String,
    /// Target system, usually the name of a provider.
    pub system: String,
}

/// A directory in a package that does not come from a registry.
#[derive(Clone, derive_more::Debug, PartialEq, Eq, Hash)]
#[debug("\"{self}\"")]
pub struct RemoteSource {
    /// Full address, such as `git::https://example.com/network.git?ref=v1`. It may contain a password.
    pub package: String,
    /// Directory in the package; empty for its top.
    pub directory: String,
}

/// Error of a text that is not a module source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleSourceError {
    /// The part after `//` leads out of the package.
    #[error("its directory {0:?} leads out of the module's package")]
    OutsidePackage(String),
    /// A short form that lacks a part.
    #[error("the short form is {0}")]
    ShortForm(&'static str),
    /// An address with a percent sign that does not start an escape.
    #[error("its address contains a percent sign that is not followed by two hexadecimal digits")]
    Escape,
    /// An address that ends with a space, with which OpenTofu and Terraform request it. A URL
    /// parser drops it.
    #[error("its address ends with a space")]
    TrailingSpace,
    /// Not a known form.
    #[error("it is neither a path, nor a registry address, nor the address of a package")]
    Unknown,
}

type Result<T> = std::result::Result<T, ModuleSourceError>;

impl ModuleSource {
    /// Parses the `source` of a call: `hashicorp/consul/aws//modules/server` is a directory in a
    /// module of the registry.
    ///
    /// # Errors
    /// The text has an unknown form.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self> {
        if is_local(text) {
            return Ok(Self::Local(clean_local(text)));
        }
        let (package, directory) = split_directory(text);
        if directory.starts_with("../") {
            return Err(ModuleSourceError::OutsidePackage(directory));
        }
        if let Some(module) = RegistryModule::parse(package.as_str(), dialect) {
            return Ok(Self::Registry(RegistrySource { module, directory }));
        }
        RemoteSource::detect(&package, &directory).map(Self::Remote)
    }
}

impl RegistryModule {
    /// Parses `[HOST/]NAMESPACE/NAME/SYSTEM`.
    pub(super) fn parse(text: &str, dialect: Dialect) -> Option<Self> {
        let mut parts: Vec<_> = text.split('/').collect();
        let host = if parts.len() == 4 {
            parse_host(parts.remove(0))?
        } else {
            Hostname::default_of(dialect)
        };
        let [namespace, name, system] = parts[..] else {
            return None;
        };
        let is_system = system
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !is_name(namespace) || !is_name(name) || !is_name(system) || !is_system {
            return None;
        }
        Some(Self {
            host,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            system: system.to_owned(),
        })
    }
}

impl ModuleSource {
    /// Returns the normalised source without credentials, as a lock file records it.
    pub(crate) fn lock_file_text(&self) -> String {
        match self {
            Self::Remote(source) => source.without_credentials().full(),
            _ => self.to_string(),
        }
    }

    /// Returns the normalised source, as `modules.json` contains it.
    pub(crate) fn manifest_text(&self) -> String {
        match self {
            Self::Remote(source) => source.full(),
            _ => self.to_string(),
        }
    }
}

impl RemoteSource {
    /// The address with its directory and its secrets.
    pub(super) fn full(&self) -> String {
        with_directory(&self.package, &self.directory)
    }

    /// Removes the login and the key, which do not belong to the package.
    pub(crate) fn without_credentials(&self) -> Self {
        let package = without_parameters(&self.package, &["sshkey"]);
        let Some((start, rest)) = package.split_once("://") else {
            return Self {
                package,
                ..self.clone()
            };
        };
        let (authority, path) = split_authority(rest);
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        // The user of SSH is a part of the address.
        let user = login.split(':').next().unwrap_or_default();
        let package = if start.ends_with("ssh") && !user.is_empty() {
            format!("{start}://{user}@{host}{path}")
        } else {
            format!("{start}://{host}{path}")
        };
        Self {
            package,
            directory: self.directory.clone(),
        }
    }

    /// Returns the address of a Git repository without the branch, tag or commit.
    pub(super) fn address_without_revision(&self) -> String {
        without_parameters(&self.package, &["ref", "depth"])
    }

    /// Returns the same repository at a commit.
    pub(crate) fn at_commit(&self, commit: &str) -> Self {
        let package = self.address_without_revision();
        let separator = if package.contains('?') { '&' } else { '?' };
        Self {
            package: format!("{package}{separator}ref={commit}"),
            directory: self.directory.clone(),
        }
    }

    /// Returns the same repository of an OCI registry with a digest instead of any tag.
    pub(crate) fn at_digest(&self, digest: &str) -> Self {
        self.with_query(&format!("digest={digest}"))
    }

    /// Returns the same repository of an OCI registry with a tag instead of any digest.
    pub(crate) fn at_tag(&self, tag: &str) -> Self {
        self.with_query(&format!("tag={tag}"))
    }

    /// Replaces all parameters. The address of an OCI registry has no others than its tag and its
    /// digest.
    fn with_query(&self, query: &str) -> Self {
        let (address, _) = split_query(&self.package);
        Self {
            package: format!("{address}?{query}"),
            directory: self.directory.clone(),
        }
    }

    /// Parses the address of a package, which may be a short form. `directory` is relative to the
    /// one in the address.
    ///
    /// # Errors
    /// The text has an unknown form.
    pub fn detect(text: &str, directory: &str) -> Result<Self> {
        let (package, found) = split_directory(&full_address(text)?);
        let directory = joined(found, directory);
        if directory.starts_with("../") {
            return Err(ModuleSourceError::OutsidePackage(directory));
        }
        Ok(Self { package, directory })
    }

    /// The address without its directory, for messages.
    pub(crate) fn without_directory(&self) -> String {
        Self {
            directory: String::new(),
            ..self.clone()
        }
        .to_string()
    }

    /// Parses the full address of a package; `None` for a short form.
    pub(crate) fn parse_full(text: &str) -> Option<Self> {
        let (package, directory) = split_directory(text);
        let source = Self { package, directory };
        let can_be_requested = is_url(source.url()) && request_url(source.url()).is_ok();
        (can_be_requested && !source.directory.starts_with("../")).then_some(source)
    }

    /// Whether the package is on this machine. Only the user's own configuration may specify such a
    /// package.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        let (getter, url) = self.getter_and_url();
        getter.eq_ignore_ascii_case("file")
            || url
                .get(..5)
                .is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
    }

    /// Whether provlock can fetch the package.
    pub(crate) fn can_be_fetched(&self, dialect: Dialect) -> bool {
        match self.getter() {
            Getter::Git | Getter::Http | Getter::File => request_url(self.url()).is_ok(),
            Getter::Oci => dialect == Dialect::Tofu && request_url(self.url()).is_ok(),
            Getter::Unsupported | Getter::Unknown => false,
        }
    }

    /// Whether the package comes from a server without encryption.
    pub(crate) fn is_unencrypted(&self) -> bool {
        matches!(self.getter(), Getter::Http | Getter::Git)
            && ["http", "git"]
                .iter()
                .any(|scheme| self.url_scheme().eq_ignore_ascii_case(scheme))
    }

    fn url_scheme(&self) -> &str {
        self.url().split(':').next().unwrap_or_default()
    }

    /// The path of a package on this machine; `None` if it is elsewhere.
    pub(crate) fn path_on_this_machine(&self) -> Option<PathBuf> {
        let url = Url::parse(self.url()).ok()?;
        if self.is_on_this_machine() {
            url.to_file_path().ok()
        } else {
            None
        }
    }

    /// The path of a module on this machine whose address is a path alone: `/srv/modules/vpc`.
    pub(crate) fn plain_path(&self) -> Option<PathBuf> {
        let is_plain = self.getter() == Getter::File
            && self.directory.is_empty()
            && !self.url().contains(['?', '#']);
        if is_plain {
            self.path_on_this_machine()
        } else {
            None
        }
    }

    /// Returns how the package is fetched.
    pub fn getter(&self) -> Getter {
        Getter::of_name(self.getter_and_url().0)
    }

    /// Returns the URL of the package without the name of a getter: `https://example.com/network.git`.
    pub fn url(&self) -> &str {
        self.getter_and_url().1
    }

    /// The name of the getter and the URL: `git` and `https://example.com/network.git`. Without a name in the address,
    /// the scheme of the URL is the name.
    pub(super) fn getter_and_url(&self) -> (&str, &str) {
        forced_getter(&self.package).unwrap_or_else(|| {
            let scheme = self.package.split(':').next().unwrap_or_default();
            (scheme, &self.package)
        })
    }
}

/// Splits login, host and port from the rest of an address. If programs find several hosts, the
/// first one is taken.
fn split_authority(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()))
}

/// Splits the directory off and cleans it (go-getter's `SourceDirSubdir`). It follows the first
/// `//` that is neither in `://` nor in the query. The query stays with the package.
fn split_directory(text: &str) -> (String, String) {
    let (address, query) = split_query(text);
    let start = address.find("://").map_or(0, |index| index + 3);
    let Some((package, directory)) = address[start..].split_once("//") else {
        return (text.to_owned(), String::new());
    };
    let directory = if directory.is_empty() {
        String::new()
    } else {
        clean_path(directory)
    };
    (format!("{}{package}{query}", &address[..start]), directory)
}

/// Inserts a directory before the query of an address.
pub(crate) fn with_directory(package: &str, directory: &str) -> String {
    let (address, query) = split_query(package);
    let separator = if directory.is_empty() { "" } else { "//" };
    format!("{address}{separator}{directory}{query}")
}

/// Removes parameters from an address.
fn without_parameters(address: &str, names: &[&str]) -> String {
    let Some((path, query)) = address.split_once('?') else {
        return address.to_owned();
    };
    let mut others = Vec::new();
    for parameter in query.split('&') {
        let name = parameter.split('=').next().unwrap_or_default();
        if !names.contains(&name) {
            others.push(parameter);
        }
    }
    if others.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{}", others.join("&"))
}

/// A directory below a different one; either may be empty.
fn joined(directory: String, below: &str) -> String {
    match (directory.as_str(), below) {
        ("", below) => below.to_owned(),
        (_, "") => directory,
        _ => clean_path(&format!("{directory}/{below}")),
    }
}

/// Returns `git` and the rest of `git::https://…`.
fn forced_getter(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once("::")?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_name && !rest.is_empty() && !rest.contains('\n')).then_some((name, rest))
}

/// Returns the full form of an address: `git::https://github.com/a/b.git//c` for `github.com/a/b/c`.
fn full_address(text: &str) -> Result<String> {
    let (forced, rest) =
        forced_getter(text).map_or((None, text), |(name, rest)| (Some(name), rest));
    let (address, directory) = split_directory(rest);
    if address.ends_with(' ') {
        return Err(ModuleSourceError::TrailingSpace);
    }
    if is_url(&address) {
        return Ok(text.to_owned());
    }
    let (getter, url) = detect_getter_and_url(&address)?;
    let (url, detected) = split_directory(&url);
    let full = with_directory(&url, &joined(detected, &directory));
    Ok(match forced.or(getter) {
        Some(getter) => format!("{getter}::{full}"),
        None => full,
    })
}

/// Returns the getter and the URL of an address that is not a URL: `git` and
/// `https://github.com/a/b.git` of `github.com/a/b`; no getter for a path on this machine. The first
/// form that matches counts.
fn detect_getter_and_url(address: &str) -> Result<(Option<&'static str>, String)> {
    if address.starts_with("github.com/") {
        Ok((Some("git"), github_url(address)?))
    } else if let Some(url) = scp_url(address) {
        Ok((Some("git"), url))
    } else if address.starts_with("bitbucket.org/") {
        Ok((Some("git"), repository_url(address)?))
    } else if address.contains("googleapis.com/") {
        Ok((Some("gcs"), google_storage_url(address)?))
    } else if address.contains(".amazonaws.com/") {
        Ok((Some("s3"), amazon_storage_url(address)?))
    } else if address.starts_with('/') || is_on_drive(address) {
        Ok((
            None,
            format!("file://{}", address.replace(MAIN_SEPARATOR, "/")),
        ))
    } else {
        Err(ModuleSourceError::Unknown)
    }
}

/// Parses `github.com/OWNER/REPOSITORY[/DIRECTORY]`.
fn github_url(address: &str) -> Result<String> {
    let (address, query) = split_query(address);
    let parts: Vec<_> = address.splitn(4, '/').collect();
    let [host, owner, repository, directory @ ..] = &parts[..] else {
        return Err(ModuleSourceError::ShortForm("github.com/OWNER/REPOSITORY"));
    };
    let url = repository_url(&format!("{host}/{owner}/{repository}"))?;
    Ok(directory
        .iter()
        .fold(url, |url, directory| format!("{url}//{directory}"))
        + query)
}

/// The HTTPS URL of a repository, with `.git` at its end. All repositories of Bitbucket are git
/// repositories, so, unlike OpenTofu, provlock does not ask `api.bitbucket.org` for the kind.
fn repository_url(address: &str) -> Result<String> {
    if !has_valid_escapes(address) {
        return Err(ModuleSourceError::Escape);
    }
    let (path, rest) = address.split_at(address.find(['?', '#']).unwrap_or(address.len()));
    let path = path.strip_suffix(".git").unwrap_or(path);
    Ok(format!("https://{path}.git{rest}"))
}

/// Parses `git@HOST:PATH`, the form of scp (`detectSSH` of go-getter). go-getter recognizes no
/// other user name.
fn scp_url(address: &str) -> Option<String> {
    let (host, path) = address.strip_prefix("git@")?.split_once(':')?;
    let path = path
        .strip_prefix('/')
        .filter(|path| !path.is_empty())
        .unwrap_or(path);
    if host.is_empty() || host.contains('@') || path.is_empty() {
        return None;
    }
    let (path, query) = split_query(path);
    let mut url = format!(
        "ssh://git@{host}/{}",
        escape_path(path.trim_start_matches('/'))
    );
    if let Some(query) = query
        .strip_prefix('?')
        .and_then(|query| request_query(parameters_of_query(query)))
    {
        url.extend(["?", &query]);
    }
    Some(url)
}

/// An object of Google Cloud Storage: `www.googleapis.com/storage/VERSION/BUCKET/OBJECT`.
fn google_storage_url(address: &str) -> Result<String> {
    let parts: Vec<_> = address.splitn(5, '/').collect();
    match parts[..] {
        [_, _, version, bucket, object] => Ok(format!(
            "https://www.googleapis.com/storage/{version}/{bucket}/{object}"
        )),
        _ => Err(ModuleSourceError::ShortForm(
            "www.googleapis.com/storage/v1/BUCKET/OBJECT",
        )),
    }
}

/// An object of Amazon S3, with the bucket in the path or in the host's name.
fn amazon_storage_url(address: &str) -> Result<String> {
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let labels: Vec<_> = host.split('.').collect();
    match labels[..] {
        [region, _, _] => Ok(format!("https://{region}.amazonaws.com/{path}")),
        [bucket, region, _, _] => Ok(format!("https://{region}.amazonaws.com/{bucket}/{path}")),
        [bucket, "s3", region, _, _] => {
            Ok(format!("https://s3.{region}.amazonaws.com/{bucket}/{path}"))
        }
        _ => Err(ModuleSourceError::ShortForm(
            "s3-REGION.amazonaws.com/BUCKET/OBJECT",
        )),
    }
}

/// Whether Go's `net/url` parses a text as a URL with a scheme.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let path = &rest[..rest.find('?').unwrap_or(rest.len())];
    let has_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    has_scheme
        && !text.bytes().any(|byte| byte.is_ascii_control())
        && !text.ends_with(' ')
        && (!rest.starts_with('/') || has_valid_escapes(path))
        && !is_on_drive(text)
}

/// Whether a text is an absolute path on Windows, whose drive looks like a scheme (go-getter's
/// `url_windows.go`).
fn is_on_drive(text: &str) -> bool {
    cfg!(windows)
        && matches!(text.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

/// Escapes the characters that Go's `net/url` escapes in a path.
fn escape_path(path: &str) -> String {
    escaped(path.bytes(), b"-_.~$&+,/:;=@!'()*")
}

/// Parses the host of a registry address: it has a dot, and may end with one.
fn parse_host(text: &str) -> Option<Hostname> {
    let host = match text.strip_suffix('.') {
        Some(name) => Hostname::known(format!("{}.", Hostname::parse(name).ok()?.as_ascii())),
        None => Hostname::parse(text).ok()?,
    };
    if !host.host().contains('.') || REPOSITORY_HOSTS.contains(&host.as_ascii()) {
        return None;
    }
    Some(host)
}

/// Whether a text can be a namespace or the name of a module.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 64
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
}

/// Cleans a local source, which then has slashes and starts with `./` or `../`.
fn clean_local(text: &str) -> String {
    let path = clean_path(&text.replace('\\', "/"));
    if path.starts_with("../") {
        path
    } else {
        format!("./{path}")
    }
}

impl fmt::Display for RegistrySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.module.fmt(f)?;
        if self.directory.is_empty() {
            Ok(())
        } else {
            write!(f, "//{}", self.directory)
        }
    }
}

/// Shows the address without secrets: `git::https://redacted@example.com/a.git?ref=v1&sshkey=[redacted]`.
impl fmt::Display for RemoteSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, query) = self.package.split_once('?').unwrap_or((&self.package, ""));
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        let (authority, _) = split_authority(rest);
        let separator = if scheme.is_empty() { "" } else { "://" };
        match authority.rsplit_once('@') {
            Some((user, _))
                // In a web address, a user without a password may be a token.
                if user.contains(':') || (user != "git" && !scheme.ends_with("ssh")) =>
            {
                write!(f, "{scheme}{separator}redacted{}", &rest[user.len()..])?;
            }
            _ => f.write_str(address)?,
        }
        if !self.directory.is_empty() {
            write!(f, "//{}", self.directory)?;
        }
        for (index, parameter) in query
            .split('&')
            .filter(|parameter| !parameter.is_empty())
            .enumerate()
        {
            f.write_str(if index == 0 { "?" } else { "&" })?;
            match parameter.split_once('=') {
                _ if is_public_parameter(parameter) => f.write_str(parameter)?,
                Some((name, _)) => write!(f, "{name}=[redacted]")?,
                None => f.write_str("[redacted]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
