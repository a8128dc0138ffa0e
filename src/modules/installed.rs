//! `modules/modules.json` in the data directory, the list of installed modules (OpenTofu's
//! `internal/modsdir/manifest.go`).

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Code, Diagnostic, Message, Result};
use crate::provider::{ConstraintList, Dialect, Version};
use crate::system::files::{self, BYTE_ORDER_MARK};

use super::registry;
use super::source::ModuleSource;

/// Largest list that is read in bytes.
const SIZE_LIMIT: u64 = 32 << 20;

/// The installed modules by their paths of calls, such as `network.subnets`.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub modules: HashMap<String, Installed>,
}

/// An installed module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Installed {
    /// Path of its call.
    pub key: String,
    /// Normalised source: a registry address has its host.
    pub source: String,
    /// Version of a registry module, otherwise empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Directory, relative to the root module.
    pub dir: PathBuf,
}

/// Content of the file.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ManifestFile {
    pub modules: Vec<Installed>,
}

impl Installed {
    /// Whether a call with this source and these constraints, which may have changed since the
    /// installation, may use the module.
    pub(crate) fn meets(
        &self,
        source: &ModuleSource,
        constraints: &ConstraintList,
        dialect: Dialect,
    ) -> bool {
        let allowed = match self.version.parse::<Version>() {
            Ok(version) => constraints.is_empty() || registry::allows(constraints, &version),
            Err(_) => constraints.is_empty(),
        };
        allowed && ModuleSource::parse(&self.source, dialect).as_ref() == Ok(source)
    }

    /// Returns the installed source and version.
    pub(crate) fn describe(&self) -> String {
        let version = if self.version.is_empty() {
            String::new()
        } else {
            format!(" {}", self.version)
        };
        format!("{}{version}", self.source)
    }
}

impl Manifest {
    /// Reads the file. If it is missing, no module is installed.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes = match files::read(path, SIZE_LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Diagnostic::io("read", path, &error).into()),
        };
        let file: ManifestFile = serde_json::from_slice(
            bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes),
        )
        .map_err(|error| {
            // A message of serde would quote the file.
            let line = error.line();
            let column = error.column();
            let message = Message::naming(path, |path| {
                format!("{path} is not a list of installed modules (line {line}, column {column})")
            });
            Diagnostic::error(Code::InvalidConfiguration, message)
                .help("remove the file and install the modules again")
        })?;
        Ok(Self {
            modules: file
                .modules
                .into_iter()
                .map(|module| (module.key.clone(), module))
                .collect(),
        })
    }
}
