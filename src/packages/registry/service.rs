//! The registries that a host may offer.

use url::Url;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::provider::Hostname;

/// A registry that a host may offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Service {
    /// The registry of providers.
    Providers,
    /// The registry of modules.
    Modules,
}

impl Service {
    /// Its name in the discovery document.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Providers => "providers.v1",
            Self::Modules => "modules.v1",
        }
    }

    /// Content of the registry, in the singular and in the plural.
    pub(super) fn content(self) -> (&'static str, &'static str) {
        match self {
            Self::Providers => ("provider", "providers"),
            Self::Modules => ("module", "modules"),
        }
    }

    /// The URL of one of the registry's endpoints, relative to its base URL. As in OpenTofu's clients, the last segment
    /// of the base URL is kept for modules even if it does not end with a slash.
    pub(super) fn endpoint(self, base: &Url, host: &Hostname, path: &str) -> Result<Url> {
        let mut base = base.clone();
        if self == Self::Modules && !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        base.join(path).map_err(|error| {
            let (_, many) = self.content();
            let message = format!("{host}: its service for {many}, {base}, cannot be the start of a URL: {error}");
            Diagnostic::error(Code::RequestFailed, message).into()
        })
    }
}
