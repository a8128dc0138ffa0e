//! Patterns of module sources: `allowed-modules`.

use std::fmt;
use std::str::FromStr;

use crate::provider::{Dialect, Hostname};

/// Hosts whose repositories have exactly two parts, the owner and the name.
const OWNER_HOSTS: [&str; 2] = ["github.com", "bitbucket.org"];
/// Hosts that ignore case in the path of a repository.
const CASELESS_HOSTS: [&str; 2] = ["github.com", "gitlab.com"];

/// Origin of a module's package, the same for all spellings of a source: a host and the path of a
/// repository, a module of a registry, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleOrigin {
    /// Scheme without encryption: `http` or `git`.
    pub(crate) unencrypted: Option<&'static str>,
    /// Host in ASCII, without its port.
    pub(crate) host: String,
    /// Port, unless it is the usual one.
    pub(crate) port: Option<u16>,
    /// Parts of the path, decoded; at least one.
    pub(crate) parts: Vec<String>,
}

/// Modules that a policy allows: `[HOST/]PART/…`, in which the last part may be `*` for one or more
/// parts. Without a host it is for the default registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePattern {
    unencrypted: Option<&'static str>,
    /// Host; `None` is the dialect's default registry.
    host: Option<Hostname>,
    parts: Vec<String>,
    /// Whether a `*` follows the parts.
    has_wildcard: bool,
}

/// Error of a text that is not a pattern of modules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModulePatternError {
    /// A text that begins with a scheme or a login.
    #[error("{0:?} has a scheme or a login; write HOST/PATH, such as github.com/acme/*")]
    Scheme(String),
    /// A `*` that is not the whole last part.
    #[error("{0:?} has a * that is not its last part")]
    Wildcard(String),
    /// A part that cannot be in a path.
    #[error("{0:?} has a part that no path has; write HOST/PATH, such as github.com/acme/*")]
    Part(String),
    /// A text without a part after the host.
    #[error("{0:?} names a host only; write {0}/* for all of its modules")]
    HostOnly(String),
    /// An owner of repositories.
    #[error("{0:?} names an owner; write {0}/* for all of its modules")]
    OwnerOnly(String),
    /// A directory in a repository.
    #[error("{0:?} names a directory; write the repository, which is allowed as a whole")]
    Directory(String),
}

impl FromStr for ModulePattern {
    type Err = ModulePatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut unencrypted = None;
        let mut rest = text;
        for scheme in ["http", "git"] {
            if let Some(after) = text
                .strip_prefix(scheme)
                .and_then(|after| after.strip_prefix("://"))
            {
                unencrypted = Some(scheme);
                rest = after;
            }
        }
        // A pattern names the repository, whatever protocol and login a source uses to fetch it.
        if rest.contains("://") || rest.contains("::") || rest.contains('@') {
            return Err(ModulePatternError::Scheme(text.to_owned()));
        }

        let mut parts: Vec<&str> = rest.split('/').collect();
        let mut has_wildcard = parts.last() == Some(&"*");
        if has_wildcard {
            parts.pop();
        }
        if parts.iter().any(|part| part.contains('*')) || parts.is_empty() {
            return Err(ModulePatternError::Wildcard(text.to_owned()));
        }
        if parts.iter().any(|part| !is_part(part)) {
            return Err(ModulePatternError::Part(text.to_owned()));
        }
        // Without a dot or a port, the first part is a namespace of the default registry.
        let has_host =
            unencrypted.is_some() || parts[0].contains(['.', ':']) || parts[0] == "localhost";
        let mut host = None;
        if has_host {
            let name = parts.remove(0);
            let parsed = Hostname::parse(name);
            host = Some(parsed.map_err(|_| ModulePatternError::Part(text.to_owned()))?);
        }

        let is_owner_host = host
            .as_ref()
            .is_some_and(|host| OWNER_HOSTS.contains(&host.as_ascii()));
        if is_owner_host && parts.len() > 2 {
            return Err(ModulePatternError::Directory(text.to_owned()));
        }
        // A repository always includes its directories.
        if is_owner_host && parts.len() == 2 {
            has_wildcard = false;
        }
        if parts.is_empty() && !has_wildcard {
            return Err(ModulePatternError::HostOnly(text.to_owned()));
        }
        let begins_with_owner =
            is_owner_host || host.is_none() || host.as_ref().is_some_and(is_gitlab);
        if begins_with_owner && parts.len() == 1 && !has_wildcard {
            return Err(ModulePatternError::OwnerOnly(text.to_owned()));
        }
        // Both spellings of an address fetch the same repository.
        if host.is_some()
            && let Some(last) = parts.last_mut()
        {
            *last = last.strip_suffix(".git").unwrap_or(last);
        }
        Ok(Self {
            unencrypted,
            host,
            parts: parts.into_iter().map(str::to_owned).collect(),
            has_wildcard,
        })
    }
}

fn is_gitlab(host: &Hostname) -> bool {
    host.as_ascii() == "gitlab.com"
}

/// Whether a text can be a part of a path, as it is written without escapes.
fn is_part(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
        && !text.contains(|c: char| c.is_control() || c.is_whitespace() || "%\\?#".contains(c))
}

impl ModulePattern {
    /// Whether the pattern allows a module.
    pub(crate) fn matches(&self, origin: &ModuleOrigin, dialect: Dialect) -> bool {
        let default = Hostname::default_of(dialect);
        let host = self.host.as_ref().unwrap_or(&default);
        if self.unencrypted != origin.unencrypted
            || host.host() != origin.host
            || host.port() != origin.port
        {
            return false;
        }
        let is_long_enough = if self.has_wildcard {
            origin.parts.len() > self.parts.len()
        } else {
            origin.parts.len() == self.parts.len()
        };
        if !is_long_enough {
            return false;
        }
        // These hosts ignore the case of owners and repositories.
        let ignores_case = CASELESS_HOSTS.contains(&origin.host.as_str());
        for (own, part) in self.parts.iter().zip(&origin.parts) {
            let is_same = own == part || (ignores_case && own.eq_ignore_ascii_case(part));
            if !is_same {
                return false;
            }
        }
        true
    }

    /// Host of the modules; `None` is the default registry.
    pub(crate) fn host(&self) -> Option<&Hostname> {
        self.host.as_ref()
    }

    /// Whether the pattern allows everything that a different one allows.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let is_of_same_host = self.unencrypted == other.unencrypted && self.host == other.host;
        is_of_same_host && self.has_wildcard && other.parts.starts_with(&self.parts) && {
            let has_more = other.parts.len() > self.parts.len();
            has_more || other.has_wildcard
        }
    }
}

impl fmt::Display for ModuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.unencrypted {
            write!(f, "{scheme}://")?;
        }
        f.write_str(&self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "/{}", self.parts.join("/"))
    }
}

impl ModuleOrigin {
    /// Text of a pattern that allows the modules of the same publisher.
    pub(crate) fn pattern_of_publisher(&self) -> String {
        let mut publisher = self.clone();
        let last = publisher.parts.pop();
        if publisher.parts.is_empty() {
            publisher.parts.extend(last);
            return publisher.to_string();
        }
        // Bitbucket Server, Azure DevOps and Google Cloud Source Repositories; Google Cloud
        // Storage; the interface of GitLab.
        let length = match publisher.parts[0].as_str() {
            "scm" | "v3" | "p" => 2,
            "storage" => 3,
            "api" => 4,
            _ => 1,
        };
        publisher.parts.truncate(length);
        format!("{publisher}/*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_would_match_nothing_or_too_much_is_refused() {
        for text in [
            "",
            "*",
            "*/*",
            "github.com",
            "github.com/acme",
            "gitlab.com/acme",
            "github.com/acme*",
            "github.com/*/network",
            "github.com/acme/network/modules/a",
            "acme",
            "https://github.com/acme/*",
            "git::https://github.com/acme/*",
            "git@github.com:acme/*",
            "github.com@evil.test/acme/*",
            "github.com/acme/../evil/*",
            "github.com/./acme/*",
            "github.com//acme/*",
            "github.com/acme/%2e%2e/*",
            "github.com/acme\\*",
            "github.com/acme/*?ref=v1",
            "git hub.com/acme/*",
            "github.com:port/acme/*",
            "/acme/*",
        ] {
            assert!(text.parse::<ModulePattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_pattern_covers_narrower_ones() {
        let pattern = |text: &str| text.parse::<ModulePattern>().unwrap();
        for (wide, narrow, expected) in [
            ("github.com/acme/*", "github.com/acme/network", true),
            ("github.com/*", "github.com/acme/*", true),
            (
                "github.com/acme/network.git",
                "github.com/acme/network",
                true,
            ),
            ("github.com/acme/network/*", "github.com/acme/network", true),
            ("github.com/acme/network", "github.com/acme/*", false),
            ("github.com/acme/*", "github.com/acme-evil/*", false),
            ("github.com/acme/*", "gitlab.com/acme/*", false),
            ("acme/*", "acme/vpc/aws", true),
            ("acme/*", "registry.opentofu.org/acme/*", false),
            ("http://m.test/*", "m.test/a", false),
        ] {
            let covers = pattern(wide).covers(&pattern(narrow));
            assert_eq!(covers, expected, "{wide} {narrow}");
        }
    }
}
