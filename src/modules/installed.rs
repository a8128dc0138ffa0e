//! `modules/modules.json` in the data directory: where the installed modules are. OpenTofu reads and writes it in
//! `internal/modsdir/manifest.go`.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::constraint::ConstraintList;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::dialect::Dialect;
use crate::files;
use crate::version::Version;

use super::local::is_local;

/// The largest manifest that is read, in bytes.
const SIZE_LIMIT: u64 = 32 << 20;

/// The installed modules by their path of calls, such as `network.subnets`.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub modules: HashMap<String, Installed>,
}

/// An installed module.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Installed {
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
struct ManifestFile {
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
    /// Whether this is what a call with this source and version asks for, as far as can be told: the call may have changed
    /// since the installation.
    pub(crate) fn meets(&self, source: &str, version: Option<&ConstraintList>, dialect: Dialect) -> bool {
        let allowed = match (version, self.version.parse::<Version>()) {
            (Some(constraints), Ok(version)) => constraints.allows(&version),
            _ => true,
        };
        allowed && Origin::of(source, dialect) == Origin::of(&self.source, dialect)
    }

    /// The source and version that are installed.
    pub(crate) fn describe(&self) -> String {
        let version = if self.version.is_empty() { String::new() } else { format!(" {}", self.version) };
        format!("{}{version}", self.source)
    }
}

impl Manifest {
    /// Reads the file. That there is none only means that nothing is installed.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes = match files::read(path, SIZE_LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Diagnostic::io("read", path, &error).into()),
        };
        let file: ManifestFile = serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} is not a list of installed modules: {error}", path.display());
            Diagnostic::error(Code::InvalidConfiguration, message).help("remove the file and install the modules again")
        })?;
        Ok(Self { modules: file.modules.into_iter().map(|module| (module.key.clone(), module)).collect() })
    }
}
