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
        if self == Self::Providers {
            "providers.v1"
        } else {
            "modules.v1"
        }
    }

    /// Content of the registry, in the singular.
    pub(super) fn content(self) -> &'static str {
        if self == Self::Providers {
            "provider"
        } else {
            "module"
        }
    }

    /// The URL of one of the registry's endpoints, relative to its base URL. As in OpenTofu's
    /// clients, the last segment of the base URL is kept for modules even if it does not end with a
    /// slash.
    pub(super) fn endpoint(self, base: &Url, host: &Hostname, path: &str) -> Result<Url> {
        let mut base = base.clone();
        if self == Self::Modules && !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        base.join(path).map_err(|error| {
            let content = self.content();
            let message = format!(
                "{host}: its service for {content}s, {base}, cannot be the start of a URL: {error}"
            );
            Diagnostic::error(Code::RequestFailed, message).into()
        })
    }
}
