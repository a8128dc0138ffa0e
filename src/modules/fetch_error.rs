//! Why a package could not be fetched, and the error that a user sees.

use std::io;

use super::git::GitError;
use super::problem::Problem;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::net::{RequestError, RequestErrorKind};

/// Why there is no package. The texts continue a message that names the package.
#[derive(derive_more::From)]
pub(super) enum FetchError {
    /// Its address cannot be used.
    Address(String),
    /// Its address has a getter that only OpenTofu and Terraform support.
    UnsupportedGetter(&'static str),
    /// Its address has a getter that neither OpenTofu nor Terraform supports.
    UnknownGetter(String),
    /// What the address leads to is not a package that can be read.
    Package(String),
    /// It cannot be written to disk.
    #[from]
    NoPlace(io::Error),
    #[from]
    Request(RequestError),
    #[from]
    Git(GitError),
    /// An error that names the package itself, or does not need to.
    #[from(NotFetched, Diagnostics)]
    Other(NotFetched),
}

/// Why a package could not be fetched, as the user sees it.
#[derive(Clone, Debug)]
pub(crate) struct NotFetched {
    pub(crate) errors: Diagnostics,
    /// Whether whoever had it says that it is not there, or not any more.
    pub(crate) is_gone: bool,
}

/// What was fetched.
pub(super) type Obtained<T> = std::result::Result<T, NotFetched>;

impl FetchError {
    /// The error with the address of the package.
    pub(super) fn named(self, address: &str) -> NotFetched {
        let is_gone = match &self {
            Self::Request(error) => is_gone(error),
            Self::Git(error) => error.is_gone,
            Self::Other(error) => error.is_gone,
            _ => false,
        };
        NotFetched { errors: self.into_diagnostics(address), is_gone }
    }

    fn into_diagnostics(self, address: &str) -> Diagnostics {
        let failed =
            |code, why: &str| Diagnostic::error(code, format!("cannot get the module package {address}: {why}"));
        let unknown = |getter: &str| {
            failed(Code::InvalidConfiguration, &format!("{getter:?} is not a known way to get a package"))
        };
        match self {
            Self::Address(why) => failed(Code::InvalidConfiguration, &why).into(),
            Self::UnsupportedGetter(getter) => unknown(getter).help("install it with tofu get or terraform get").into(),
            Self::UnknownGetter(getter) => {
                unknown(&getter).help("use git::, https:// or the address of a module in a registry").into()
            }
            Self::Package(why) => failed(Code::InvalidPackage, &why).into(),
            Self::NoPlace(error) => failed(Code::Io, &format!("there is no place to put it: {error}")).into(),
            Self::Request(error) => request_failed(address, error),
            Self::Git(GitError { why, said, .. }) => {
                let error = failed(Code::RequestFailed, &why);
                let help = "check whether git clone can fetch it; git uses its credential helpers and ssh keys, \
                            and never prompts";
                let error = if said.is_empty() { error } else { error.help(help) };
                said.into_iter().fold(error, Diagnostic::note).into()
            }
            Self::Other(error) => error.errors,
        }
    }
}

/// Whether a server says that what was asked for is not there.
pub(super) fn is_gone(error: &RequestError) -> bool {
    matches!(error.kind, RequestErrorKind::NotFound | RequestErrorKind::Status { status: 410, .. })
}

fn request_failed(address: &str, error: RequestError) -> Diagnostics {
    let wants_login = matches!(error.kind, RequestErrorKind::Unauthorized { .. }) && error.credentials_of.is_none();
    let host = error.url.host_str().unwrap_or_default().to_owned();
    let errors = error.into_diagnostic(&format!("the module package {address}"));
    if !wants_login {
        return errors;
    }
    let help = format!("put user and password for {host} into ~/.netrc; tokens of registries are not sent to archives");
    errors.map(|error| error.help(help.clone()))
}

impl From<Problem> for FetchError {
    fn from(problem: Problem) -> Self {
        Self::Package(problem.to_string())
    }
}

impl From<Diagnostics> for NotFetched {
    fn from(errors: Diagnostics) -> Self {
        Self { errors, is_gone: false }
    }
}

impl From<Diagnostic> for NotFetched {
    fn from(error: Diagnostic) -> Self {
        Diagnostics::from(error).into()
    }
}

impl From<NotFetched> for Diagnostics {
    fn from(error: NotFetched) -> Self {
        error.errors
    }
}
