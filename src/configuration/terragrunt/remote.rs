//! Remote sources of units.

use crate::modules::{ModuleSource, RemoteSource};
use crate::provider::{ConstraintList, Dialect};

/// Parses a remote source: the module, and the versions that it allows; `None` if its form is
/// unknown.
///
/// The addresses are go-getter's, and `tfr://HOST/NAMESPACE/NAME/SYSTEM//DIRECTORY?version=1.0.0` for modules of
/// registries. The default host is the tool's own registry, the default version the newest
/// (<https://terragrunt.gruntwork.io/docs/reference/hcl/blocks/#terraform>).
pub(crate) fn requested(source: &str, dialect: Dialect) -> Option<(ModuleSource, ConstraintList)> {
    let Some(address) = source.strip_prefix("tfr://") else {
        let source = RemoteSource::detect(source, "").ok()?;
        return Some((ModuleSource::Remote(source), ConstraintList::default()));
    };
    let (module, parameters) = address.split_once('?').unwrap_or((address, ""));
    let version = parameters
        .split('&')
        .find_map(|parameter| parameter.strip_prefix("version="));
    let constraints = ConstraintList::parse_for_module(version.unwrap_or_default()).ok()?;
    let source = ModuleSource::parse(module.trim_start_matches('/'), dialect).ok()?;
    matches!(source, ModuleSource::Registry(_)).then_some((source, constraints))
}
