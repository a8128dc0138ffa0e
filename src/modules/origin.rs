//! The origin of a module's package, by which a policy allows it: the same for all spellings of a
//! source.

use percent_encoding::percent_decode_str;
use url::Url;

use super::source::{Getter, ModuleSource, RemoteSource, parameters, request_url};
use crate::settings::ModuleOrigin;

/// Beginnings of git references that anybody can create in a repository of others.
const REFERENCES_OF_PULL_REQUESTS: [&str; 6] = [
    "refs/pull/",
    "pull/",
    "refs/merge-requests/",
    "merge-requests/",
    "refs/pull-requests/",
    "pull-requests/",
];

/// Reason for which a package has no origin that a policy could allow.
type NoOrigin = &'static str;

/// Returns the origin of the package of a module that is not local.
///
/// # Errors
/// It depends on the machine or the program where the package comes from.
pub(crate) fn origin(source: &ModuleSource) -> Result<ModuleOrigin, NoOrigin> {
    match source {
        ModuleSource::Local(_) => Err("it is a directory"),
        ModuleSource::Registry(source) => {
            let module = &source.module;
            Ok(ModuleOrigin {
                unencrypted: None,
                host: module.host.host().to_owned(),
                port: module.host.port(),
                parts: vec![
                    module.namespace.clone(),
                    module.name.clone(),
                    module.system.clone(),
                ],
            })
        }
        ModuleSource::Remote(source) => origin_of_remote(source),
    }
}

/// Returns the origin of a package outside of registries, or the reason why it has none.
fn origin_of_remote(source: &RemoteSource) -> Result<ModuleOrigin, NoOrigin> {
    if source.is_on_this_machine() {
        return Err("it is on this machine");
    }
    let url = request_url(source.url()).map_err(|_| "programs read its URL in different ways")?;
    let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
    let is_name = host
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if host.is_empty() || host.ends_with('.') || !is_name {
        return Err("its host is no plain name");
    }
    let (unencrypted, usual_port) = match url.scheme() {
        "https" | "oci" => (None, 443),
        "ssh" => (None, 22),
        "http" => (Some("http"), 80),
        "git" => (Some("git"), 9418),
        _ => return Err("its scheme is not known"),
    };
    let mut parts = decoded_path(&url)?;
    if source.getter() == Getter::Git {
        for (name, value) in parameters(&url) {
            let is_of_pull_request = REFERENCES_OF_PULL_REQUESTS
                .iter()
                .any(|start| value.starts_with(start));
            if name == "ref" && is_of_pull_request {
                return Err("its ref belongs to a pull request, which anybody can open");
            }
        }
        if let Some(last) = parts.last_mut()
            && let Some(name) = last.strip_suffix(".git")
        {
            *last = name.to_owned();
        }
    }
    if parts.iter().any(String::is_empty) {
        return Err("its URL has no path");
    }
    let port = url.port().filter(|port| *port != usual_port);
    let origin = ModuleOrigin {
        unencrypted,
        host,
        port,
        parts,
    };
    // The rules of well-known hosts hold for their encrypted addresses at the usual port only.
    if port.is_some() || unencrypted.is_some() {
        return Ok(origin);
    }
    shorten_to_repository(origin)
}

/// The decoded parts of a URL's path.
///
/// # Errors
/// The path is empty, or contains something that programs read in different ways.
fn decoded_path(url: &Url) -> Result<Vec<String>, NoOrigin> {
    let mut parts = Vec::new();
    for part in url.path_segments().into_iter().flatten() {
        let Ok(decoded) = percent_decode_str(part).decode_utf8() else {
            return Err("its path is not text");
        };
        let is_unusual = decoded.contains(|c: char| c.is_control() || "/\\%".contains(c));
        if is_unusual || matches!(&*decoded, "." | "..") {
            return Err("its path has an unusual character");
        }
        parts.push(decoded.into_owned());
    }
    // A slash at the end.
    if parts.len() > 1 && parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    if parts.is_empty() || parts.iter().any(String::is_empty) {
        return Err("its path has an empty part");
    }
    Ok(parts)
}

/// Shortens the origin of an address on a well-known host, such as that of an archive, to the
/// repository that it belongs to. Other hosts keep the whole path.
///
/// # Errors
/// The address is that of a pull request.
fn shorten_to_repository(mut origin: ModuleOrigin) -> Result<ModuleOrigin, NoOrigin> {
    // OWNER/NAME
    let mut parts_of_repository = 2;
    match origin.host.as_str() {
        "github.com" | "bitbucket.org" => {}
        "codeload.github.com" | "raw.githubusercontent.com" => {
            "github.com".clone_into(&mut origin.host);
        }
        "api.github.com" => {
            if origin.parts.first().is_none_or(|part| part != "repos") {
                return Ok(origin);
            }
            origin.parts.remove(0);
            "github.com".clone_into(&mut origin.host);
        }
        "gitlab.com" => {
            // `GROUP/SUBGROUP/PROJECT/-/archive/…`: the project is everything before the dash.
            parts_of_repository = origin.parts.len();
            if let Some(dash) = origin.parts.iter().position(|part| part == "-")
                && dash > 1
            {
                parts_of_repository = dash;
            }
        }
        _ => return Ok(origin),
    }
    // An address may have a single part, and then names no repository.
    let length = parts_of_repository.min(origin.parts.len());
    let rest = origin.parts.split_off(length);
    // Anybody can open a pull request, whose files the host then serves below the repository.
    if rest
        .iter()
        .any(|part| matches!(part.as_str(), "pull" | "merge-requests"))
    {
        return Err("its files belong to a pull request, which anybody can open");
    }
    Ok(origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Dialect;
    use crate::settings::ModulePattern;

    fn matches(pattern: &str, source: &str) -> bool {
        let pattern: ModulePattern = pattern.parse().unwrap();
        let Ok(source) = ModuleSource::parse(source, Dialect::Tofu) else {
            return false;
        };
        origin(&source).is_ok_and(|origin| pattern.matches(&origin, Dialect::Tofu))
    }

    #[test]
    fn all_spellings_of_a_source_match_the_same_pattern() {
        for source in [
            "github.com/acme/network",
            "github.com/acme/network.git",
            "github.com/acme/network//modules/a?ref=v1",
            "github.com/acme/network/modules/a",
            "git::github.com/acme/network",
            "git::https://github.com/acme/network",
            "git::https://github.com/acme/network.git?ref=v1&depth=1",
            "git::https://github.com/acme/network/?ref=v1",
            "git::https://github.com:443/acme/network.git",
            "git::https://token@github.com/acme/network.git",
            "git::https://user:password@github.com/acme/network.git",
            "git::https://GitHub.com/acme/network.git",
            "git::https://github.com/ACME/Network.git",
            "github.com/Acme/network",
            "git::https://github.com/%61cme/network",
            "git::ssh://git@github.com/acme/network.git",
            "git::ssh://git@github.com:22/acme/network.git",
            "git@github.com:acme/network.git",
            "git@github.com:acme/network//modules/a?ref=v1",
            "git::git@github.com:acme/network.git",
            "https://github.com/acme/network/archive/refs/tags/v1.zip",
            "https://github.com/acme/network/archive/v1.tar.gz//network-1/modules/a",
            "https://github.com/acme/network/releases/download/v1/a.zip?checksum=sha256:00",
            "https://github.com/acme/network/archive/v1?archive=zip",
            "https://codeload.github.com/acme/network/zip/refs/tags/v1?archive=zip",
            "https://api.github.com/repos/acme/network/tarball/v1?archive=tar.gz",
        ] {
            for pattern in [
                "github.com/acme/*",
                "github.com/ACME/network",
                "github.com/*",
            ] {
                assert!(matches(pattern, source), "{pattern} {source}");
            }
            assert!(!matches("github.com/acme/net", source), "{source}");
            assert!(!matches("gitlab.com/acme/*", source), "{source}");
        }
        for source in [
            "git::https://gitlab.com/acme/infra/network.git?ref=v1",
            "git::ssh://git@gitlab.com/acme/infra/network.git",
            "git@gitlab.com:Acme/infra/network.git",
            "https://gitlab.com/acme/infra/network/-/archive/v1/network-v1.zip",
        ] {
            for pattern in ["gitlab.com/acme/*", "gitlab.com/acme/infra/network"] {
                assert!(matches(pattern, source), "{pattern} {source}");
            }
            assert!(!matches("gitlab.com/acme/infra", source), "{source}");
        }
        for (pattern, source) in [
            ("terraform-aws-modules/*", "terraform-aws-modules/vpc/aws"),
            (
                "terraform-aws-modules/vpc/aws",
                "terraform-aws-modules/vpc/aws//modules/a",
            ),
            ("registry.opentofu.org/acme/*", "acme/vpc/aws"),
            ("acme/*", "registry.opentofu.org/acme/vpc/aws"),
            ("app.terraform.io/acme/*", "app.terraform.io/acme/vpc/aws"),
            (
                "registry.example.com:8443/acme/*",
                "registry.example.com:8443/acme/vpc/aws",
            ),
            (
                "git.example.com/acme/*",
                "git::https://git.example.com/acme/vpc.git",
            ),
            (
                "git.example.com:2222/acme/*",
                "git::ssh://git@git.example.com:2222/acme/vpc.git",
            ),
            (
                "modules.example.com/*",
                "https://modules.example.com/vpc.zip",
            ),
            (
                "http://modules.example.com/*",
                "http://modules.example.com/vpc.zip",
            ),
            (
                "git://git.example.com/acme/*",
                "git::git://git.example.com/acme/vpc.git",
            ),
            ("ghcr.io/acme/*", "oci://ghcr.io/acme/vpc?tag=1"),
            (
                "s3.eu-west-1.amazonaws.com/bucket/*",
                "s3::https://s3.eu-west-1.amazonaws.com/bucket/vpc.zip",
            ),
        ] {
            assert!(matches(pattern, source), "{pattern} {source}");
        }
    }

    #[test]
    fn a_pattern_never_matches_more_than_it_says() {
        for source in [
            "github.com/acme-evil/network",
            "github.com/acmeevil/network",
            "github.com/evil/acme",
            "git::https://github.com@evil.test/acme/network",
            "git::https://github.com:acme@evil.test/acme/network",
            "git::https://evil.test/github.com/acme/network",
            "git::https://github.com.evil.test/acme/network",
            "git::https://github.com./acme/network",
            "git::https://evil-github.com/acme/network",
            "git::https://github.com:8443/acme/network",
            "git::ssh://git@github.com:443/acme/network",
            "git::ssh://git@github.com:2222/acme/network",
            "git::http://github.com/acme/network",
            "git::git://github.com/acme/network",
            "http://github.com/acme/network/archive/v1.zip",
            "git::https://github.com\\@evil.test/acme/network",
            "git::https://evil.test\\github.com/acme/network",
            "git::https://evil.test#@github.com/acme/network",
            "git::https://evil.test?@github.com/acme/network",
            "git::https://github.com/acme/../evil/network",
            "git::https://github.com/acme/%2e%2e/evil/network",
            "git::https://github.com/acme/%2E./evil/network",
            "git::https://github.com/acme%2f..%2fevil/network",
            "git::https://github.com/acme%5c..%5cevil/network",
            "git::https://github.com/%2561cme/network",
            "git::https://github%2ecom/acme/network",
            "git::https://g\u{456}thub.com/acme/network",
            "git::https://github.com/\u{430}cme/network",
            "git::https://\u{ff47}ithub.com.evil.test/acme/network",
            "git::https://github.com/acme/network?ref=refs/pull/1/head",
            "git::https://github.com/acme/network?ref=pull/1/head",
            "git::https://github.com/acme/network?ref=refs%2Fpull%2F1%2Fhead",
            "github.com/acme/network?ref=refs/pull/1/merge",
            "https://github.com/acme/network/archive/refs/pull/1/head.zip",
            "https://codeload.github.com/acme/network/zip/refs/pull/1/head?archive=zip",
            "https://gist.github.com/acme/network/archive/v1.zip",
            "https://api.github.com/acme/network",
            "https://raw.githubusercontent.com/evil/acme/main/a.zip",
            "https://acme.github.io/network.zip",
            "git::file:///github.com/acme/network",
            "github.com.evil.test/acme/network/aws",
            "registry.opentofu.org/acme/network/aws",
            "./github.com/acme/network",
        ] {
            assert!(!matches("github.com/acme/*", source), "{source}");
        }
        for (pattern, source) in [
            ("github.com/acme/network", "github.com/acme/network2"),
            ("github.com/acme/network", "github.com/acme/network.git.git"),
            ("gitlab.com/acme/*", "git::https://gitlab.com/acme2/network"),
            (
                "gitlab.com/acme/*",
                "https://gitlab.com/-/snippets/1/raw/main/a.zip",
            ),
            (
                "gitlab.com/acme/*",
                "https://gitlab.com/api/v4/projects/1/archive.zip",
            ),
            (
                "gitlab.com/acme/*",
                "git::https://gitlab.com/acme/n?ref=refs/merge-requests/1/head",
            ),
            ("acme/*", "acme2/vpc/aws"),
            ("acme/*", "registry.terraform.io/acme/vpc/aws"),
            ("acme/vpc/aws", "acme/vpc/azurerm"),
            (
                "app.terraform.io/acme/*",
                "app.terraform.io/acme-evil/vpc/aws",
            ),
            ("app.terraform.io/acme/*", "app.terraform.io./acme/vpc/aws"),
            (
                "registry.example.com/acme/*",
                "registry.example.com:8443/acme/vpc/aws",
            ),
            (
                "git.example.com/acme/*",
                "git::https://git.example.com/ACME/vpc",
            ),
            (
                "git.example.com/acme/*",
                "git::https://git.example.com/acme",
            ),
            (
                "git.example.com:443/acme/*",
                "git::ssh://git@git.example.com:443/acme/vpc",
            ),
            (
                "modules.example.com/*",
                "http://modules.example.com/vpc.zip",
            ),
        ] {
            assert!(!matches(pattern, source), "{pattern} {source}");
        }
    }
}
