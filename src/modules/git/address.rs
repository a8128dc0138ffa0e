//! Addresses of packages in git repositories.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use url::Url;

use crate::modules::fetch_error::{FetchError, FetchResult};
use crate::modules::source::{parameters, request_query, request_url};

/// A repository and the commit wanted from it, as given by the URL of a module source.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::modules) struct GitAddress {
    pub(in crate::modules) url: Url,
    pub(in crate::modules) revision: Revision,
    /// Whether only a shallow clone will do.
    pub(super) is_shallow: bool,
    /// Whether a commit ID may also be that of a commit which no branch or tag contains. A clone
    /// does not have such a commit, and on a forge anybody can make one by a fork.
    pub(in crate::modules) allows_any_commit: bool,
    /// A private key for ssh.
    pub(super) ssh_key: Option<Vec<u8>>,
}

/// The wanted commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Revision {
    /// The repository's HEAD.
    Head,
    /// A branch or tag. A tag precedes a branch of the same name.
    Name(String),
    /// A full commit id.
    Commit(String),
    /// Any other expression of git, such as `v1.0.0~1` or a short commit id.
    Expression(String),
}

impl GitAddress {
    /// Parses the URL after `git::`.
    pub(in crate::modules) fn parse(text: &str) -> FetchResult<Self> {
        let scheme = text
            .split(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        if !["https", "http", "ssh", "git", "file"].contains(&&*scheme) {
            // Git runs programs for some other protocols.
            let shown = text.split([' ', '@']).next().unwrap_or_default();
            let why = format!(
                "provlock does not pass {shown:?} to git, only https, ssh, http, git and file URLs"
            );
            return Err(FetchError::git(why));
        }
        let mut url = request_url(text)?;
        let mut reference = String::new();
        let mut is_shallow = false;
        let mut ssh_key = None;
        let mut others = Vec::new();
        for (name, value) in parameters(&url) {
            match name.as_str() {
                "ref" if reference.is_empty() => reference = value,
                "depth" => is_shallow = value.parse().is_ok_and(|depth: u32| depth > 0),
                "sshkey" => {
                    let key = BASE64_STANDARD.decode(value.replace(' ', "+"));
                    ssh_key =
                        Some(key.map_err(|_| FetchError::git("its sshkey is not in base64"))?);
                }
                "ref" => {}
                _ => others.push((name, value)),
            }
        }
        url.set_query(request_query(others).as_deref());
        Ok(Self {
            url,
            revision: Revision::parse(reference)?,
            is_shallow,
            allows_any_commit: false,
            ssh_key,
        })
    }

    /// Whether the address always leads to the same files.
    pub(in crate::modules) fn is_immutable(&self) -> bool {
        matches!(self.revision, Revision::Commit(_))
    }

    /// The `ref`, if there is one.
    pub(in crate::modules) fn reference(&self) -> Option<&str> {
        match &self.revision {
            Revision::Head => None,
            Revision::Name(text) | Revision::Commit(text) | Revision::Expression(text) => {
                Some(text)
            }
        }
    }

    /// Whether a text is a full commit id. Repositories with ids of 64 digits are not supported;
    /// elsewhere, such a text is the name of a branch.
    pub(in crate::modules) fn is_commit(text: &str) -> bool {
        text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Returns the same repository at a commit, whether or not a branch or tag contains it.
    pub(in crate::modules) fn at_commit(&self, commit: &str) -> Self {
        Self {
            revision: Revision::Commit(commit.to_owned()),
            is_shallow: false,
            allows_any_commit: true,
            ..self.clone()
        }
    }

    /// Returns the address of a submodule at a commit; `None` for a URL that provlock does not pass
    /// to git. A relative URL starts at this repository, as for `git submodule`.
    pub(super) fn address_of_submodule(&self, url: &str, commit: &str) -> Option<Self> {
        let url = if url.starts_with("./") || url.starts_with("../") {
            let mut base = self.url.clone();
            base.path_segments_mut().ok()?.pop_if_empty().push("");
            base.join(url).ok()?
        } else if let Some((host, path)) = url
            .strip_prefix("git@")
            .and_then(|rest| rest.split_once(':'))
        {
            Url::parse(&format!(
                "ssh://git@{host}/{}",
                path.trim_start_matches('/')
            ))
            .ok()?
        } else {
            Url::parse(url).ok()?
        };
        // As in git, a fetched repository may choose no file of this machine, and no unencrypted
        // connection instead of an encrypted one.
        let is_same = url.scheme() == self.url.scheme();
        if !is_same && !matches!(url.scheme(), "https" | "ssh") {
            return None;
        }
        if url.scheme() == "file" && url.host_str().is_some() {
            return None;
        }
        Some(Self {
            url,
            ..self.at_commit(commit)
        })
    }
}

impl Revision {
    /// Parses the value of `ref`. A text that git may resolve to something other than the branch or
    /// tag of that name is an expression.
    fn parse(text: String) -> FetchResult<Self> {
        if text.starts_with('-') {
            let why =
                format!("its ref {text:?} starts with a dash, so git may treat it as an option");
            return Err(FetchError::git(why));
        }
        let may_be_short_id = text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let has_operator = text.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c))
            || ["..", "@{", "//"].iter().any(|part| text.contains(part));
        // Branches as a clone names them: `origin/main` is the branch `main` of the repository.
        let is_in_clone = [
            "heads/",
            "remotes/",
            "origin/",
            "refs/heads/",
            "refs/remotes/",
        ]
        .iter()
        .any(|start| text.starts_with(start));
        let is_head_of_clone = ["@", "origin"].contains(&text.as_str());
        Ok(if text.is_empty() {
            Self::Head
        } else if GitAddress::is_commit(&text) {
            Self::Commit(text)
        } else if may_be_short_id || has_operator || is_in_clone || is_head_of_clone {
            Self::Expression(text)
        } else {
            Self::Name(text)
        })
    }
}
