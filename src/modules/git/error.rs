//! Why git could not fetch a package.

use std::io;

use url::Url;

use crate::modules::problem::Problem;
use crate::system::SafeUrl;

/// Why there is no package. The text continues a message that names the package.
#[derive(Debug)]
pub(in crate::modules) struct GitError {
    pub(in crate::modules) why: String,
    /// What git printed, one line each.
    pub(in crate::modules) said: Vec<String>,
    /// Whether the repository does not have the wanted commit.
    pub(in crate::modules) is_gone: bool,
}

pub(super) type Result<T> = std::result::Result<T, GitError>;

impl GitError {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), said: Vec::new(), is_gone: false }
    }

    /// The error of the submodule at `path` of a package; of the package itself if that is empty.
    pub(super) fn in_submodule(self, path: &str, url: &Url) -> Self {
        if path.is_empty() {
            return self;
        }
        let why = format!("its submodule {path:?} from {}: {}", SafeUrl::from(url), self.why);
        Self { why, ..self }
    }

    pub(super) fn unreadable() -> Self {
        Self::new("git printed something that cannot be read")
    }
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> Self {
        Self::new(format!("there is no place to put it: {error}"))
    }
}

impl From<Problem> for GitError {
    fn from(problem: Problem) -> Self {
        Self::new(problem.to_string())
    }
}
