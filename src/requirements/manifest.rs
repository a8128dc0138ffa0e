//! `modules/modules.json` in the data directory: where the installed modules are (spec section 5).

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::dialect::Dialect;
use crate::files;
use crate::version::Version;

use super::decode::Call;
use super::files::MAX_FILE_SIZE;
use super::module::is_local;

/// The installed modules by their path of calls, such as `network.subnets`.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub modules: HashMap<String, Installed>,
}

/// An installed module.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Installed {
    key: String,
    /// Its source, normalised: a registry address has its host.
    pub source: String,
    /// Its version, if it comes from a registry.
    #[serde(default)]
    version: String,
    /// Its directory, relative to the root module.
    pub dir: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    modules: Vec<Installed>,
}

/// What can be told of a module source without knowing every notation of a repository.
#[derive(PartialEq, Eq)]
enum Origin {
    Local,
    /// Host, namespace, name, system and the directory within the package.
    Registry(String),
    Other,
}

impl Origin {
    fn of(source: &str, dialect: Dialect) -> Self {
        if is_local(source) {
            return Self::Local;
        }
        let address = source.split("//").next().unwrap_or_default();
        let parts: Vec<_> = address.split('/').collect();
        let plain = |part: &&str| part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        match &parts[..] {
            [namespace, name, system] if [namespace, name, system].into_iter().all(plain) => {
                Self::Registry(format!("{}/{source}", dialect.default_host_name()))
            }
            [host, rest @ ..] if rest.len() == 3 && host.contains('.') && rest.iter().all(plain) => {
                Self::Registry(source.to_owned())
            }
            _ => Self::Other,
        }
    }
}

impl Installed {
    /// Whether this is what a call asks for, as far as can be told: it may have changed since the installation.
    pub(super) fn meets(&self, call: &Call, source: &str, dialect: Dialect) -> bool {
        let version: Option<Version> = self.version.parse().ok();
        let allowed = match (&call.version, version) {
            (Some(constraints), Some(version)) => constraints.allows(&version),
            _ => true,
        };
        allowed && Origin::of(source, dialect) == Origin::of(&self.source, dialect)
    }

    /// The source and version that are installed.
    pub(super) fn describe(&self) -> String {
        let version = if self.version.is_empty() { String::new() } else { format!(" {}", self.version) };
        format!("{}{version}", self.source)
    }
}

impl Manifest {
    /// Reads the file. That there is none only means that nothing is installed.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = match files::read(path, MAX_FILE_SIZE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Diagnostic::io("read", path, &error).into()),
        };
        let document: Document = serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} is not a list of installed modules: {error}", path.display());
            Diagnostic::error(Code::InvalidConfiguration, message).help("remove the file and install the modules again")
        })?;
        Ok(Self { modules: document.modules.into_iter().map(|module| (module.key.clone(), module)).collect() })
    }
}
