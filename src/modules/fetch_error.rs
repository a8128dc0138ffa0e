//! Reason why a package cannot be fetched, read or locked.

use std::fmt;
use std::io::{self, ErrorKind};

use url::Url;

use super::limits::{MOST_BYTES, MOST_ENTRIES};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help};
use crate::net::{RequestError, RequestErrorKind};
use crate::packages::oci::ModulePackageError;
use crate::system::{SafeUrl, files};

/// Reason why a package cannot be fetched, read or locked.
#[derive(Clone, Debug, derive_more::Display)]
#[display("{errors}")]
pub(crate) struct FetchError {
    pub(super) errors: Diagnostics,
    /// Whether the messages stand alone. Otherwise they continue a message that contains the
    /// package.
    stands_alone: bool,
    /// Whether a server reports that it does not have the package, or not any more.
    pub(super) is_gone: bool,
    /// Whether there is no space left on the disk for the package.
    is_disk_full: bool,
}

pub(super) type FetchResult<T> = Result<T, FetchError>;

impl FetchError {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            errors: Diagnostic::error(code, message).into(),
            stands_alone: false,
            is_gone: false,
            is_disk_full: false,
        }
    }

    /// The package cannot be read or locked.
    pub(super) fn package(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidPackage, message)
    }

    /// The address of the package cannot be used.
    pub(super) fn address(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidConfiguration, message)
    }

    /// git failed.
    pub(super) fn git(message: impl Into<String>) -> Self {
        Self::new(Code::RequestFailed, message)
    }

    pub(super) fn unreadable_git_output() -> Self {
        Self::git("the output of git cannot be read")
    }

    /// The package is damaged, or OpenTofu and Terraform may read it in a different way.
    pub(super) fn unreadable(why: impl fmt::Display) -> Self {
        Self::package(format!("it cannot be read: {why}"))
    }

    pub(super) fn bad_name(name: &str) -> Self {
        Self::package(format!(
            "its entry {name:?} does not have a name of one line of text"
        ))
    }

    pub(super) fn link_outside(name: &str, target: &str) -> Self {
        Self::package(format!(
            "its entry {name:?} is a link to {target:?}, which leads out of the package"
        ))
    }

    pub(super) fn too_many_entries() -> Self {
        Self::package(format!("it contains more than {MOST_ENTRIES} entries"))
    }

    pub(super) fn too_large() -> Self {
        Self::package(format!("it contains more than {} MiB", MOST_BYTES >> 20))
    }

    /// A failure to read or write a part of the package.
    pub(super) fn reading(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::FileTooLarge => Self::too_large(),
            _ if files::is_disk_full(&error) => error.into(),
            ErrorKind::PermissionDenied => error.into(),
            _ => Self::unreadable(error),
        }
    }

    /// The same error, from a server that does not have the package.
    pub(super) fn marked_gone(self) -> Self {
        self.marked_gone_if(true)
    }

    /// [`FetchError::gone`] if the server does not have the package.
    pub(super) fn marked_gone_if(self, is_gone: bool) -> Self {
        Self { is_gone, ..self }
    }

    /// The same error, from a program that found no space left on the disk.
    pub(super) fn marked_disk_full(self) -> Self {
        Self {
            is_disk_full: true,
            ..self
        }
    }

    /// The same error with the next step if there is no space left on the disk.
    pub(super) fn help_with_space(self, help: impl Into<Help>) -> Self {
        if self.is_disk_full {
            self.help(help)
        } else {
            self
        }
    }

    pub(super) fn help(self, help: impl Into<Help>) -> Self {
        let help = help.into();
        Self {
            errors: self.errors.map(|error| error.help(help.clone())),
            ..self
        }
    }

    pub(super) fn notes(self, notes: &[String]) -> Self {
        Self {
            errors: self
                .errors
                .map(|error| notes.iter().fold(error, Diagnostic::note)),
            ..self
        }
    }

    /// Adds the address or version of the package to the messages, unless they stand alone.
    pub(super) fn about_package(self, package: &str) -> Self {
        let named = self.with_context(&format!("cannot get the module package {package}"));
        Self {
            stands_alone: true,
            ..named
        }
    }

    /// The error of the submodule at a path of a package; of the package itself if the path is
    /// empty.
    pub(super) fn in_submodule(self, path: &str, url: &Url) -> Self {
        if path.is_empty() {
            return self;
        }
        self.with_context(&format!(
            "its submodule {path:?} from {}",
            SafeUrl::from(url)
        ))
    }

    /// Puts a context before messages that do not stand alone.
    pub(super) fn with_context(self, context: &str) -> Self {
        if self.stands_alone {
            return self;
        }
        let errors = self.errors.map(|error| Diagnostic {
            message: format!("{context}: {}", error.message),
            ..error
        });
        Self { errors, ..self }
    }
}

impl From<io::Error> for FetchError {
    fn from(error: io::Error) -> Self {
        let is_disk_full = files::is_disk_full(&error);
        Self {
            is_disk_full,
            ..Self::new(Code::Io, format!("it cannot be read or written: {error}"))
        }
    }
}

impl From<RequestError> for FetchError {
    fn from(error: RequestError) -> Self {
        let is_gone = has_no_document(&error);
        let is_about_credentials = matches!(error.kind, RequestErrorKind::Credentials(_));
        let message = error.to_string();
        // A server to which no host's token is sent: its login may be in `.netrc` or in the URL.
        let mut netrc_help = None;
        if error.credentials_of.is_none() {
            netrc_help = error.netrc_help();
        }

        let mut errors = error.into_diagnostic("a module package");
        // The package is named later (`named`), so these messages must not begin with "cannot get a
        // module package". Errors of credentials have messages of their own.
        if !is_about_credentials {
            errors = errors.map(|error| Diagnostic {
                message: message.clone(),
                ..error
            });
        }
        let error = Self {
            errors,
            stands_alone: is_about_credentials,
            is_gone,
            is_disk_full: false,
        };
        match netrc_help {
            Some(help) => error.help(help),
            None => error,
        }
    }
}

/// Whether a server reports that it does not have the requested document.
pub(super) fn has_no_document(error: &RequestError) -> bool {
    matches!(
        error.kind,
        RequestErrorKind::NotFound | RequestErrorKind::Status { status: 410, .. }
    )
}

impl From<Diagnostics> for FetchError {
    fn from(errors: Diagnostics) -> Self {
        Self {
            errors,
            stands_alone: true,
            is_gone: false,
            is_disk_full: false,
        }
    }
}

impl From<ModulePackageError> for FetchError {
    fn from(ModulePackageError { error, is_gone }: ModulePackageError) -> Self {
        Self::from(Diagnostics::from(error)).marked_gone_if(is_gone)
    }
}

impl From<Diagnostic> for FetchError {
    fn from(error: Diagnostic) -> Self {
        Diagnostics::from(error).into()
    }
}

impl From<FetchError> for Diagnostics {
    fn from(error: FetchError) -> Self {
        error.errors
    }
}
