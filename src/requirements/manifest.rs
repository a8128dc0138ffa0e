//! `modules/modules.json` in the data directory: where the installed modules are (spec section 5).

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::diagnostic::{Code, Diagnostic, Result};

use super::files;

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
    /// Its directory, relative to the root module.
    pub dir: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    modules: Vec<Installed>,
}

impl Manifest {
    /// Reads the file. That there is none only means that nothing is installed.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = match files::read_capped(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Diagnostic::io("read", path, &error)),
        };
        let document: Document = serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} is not a list of installed modules: {error}", path.display());
            Diagnostic::error(Code::InvalidConfiguration, message).help("remove the file and install the modules again")
        })?;
        Ok(Self { modules: document.modules.into_iter().map(|module| (module.key.clone(), module)).collect() })
    }
}
