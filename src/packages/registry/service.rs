//! The registries that a host may offer.

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

    /// What the registry holds, in the singular and in the plural.
    pub(super) fn content(self) -> (&'static str, &'static str) {
        match self {
            Self::Providers => ("provider", "providers"),
            Self::Modules => ("module", "modules"),
        }
    }
}
