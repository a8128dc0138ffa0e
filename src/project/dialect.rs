//! The dialect of a root module where neither the user, the settings nor the lock file name it.

use std::path::Path;

use super::root_module::DialectReason;
use super::session::Session;
use crate::provider::Dialect;
use crate::system::Environment;

impl Session<'_> {
    /// The dialect of the root module in a directory, given without symlinks, by the first signal that there is.
    ///
    /// The signals were measured on repositories whose lock files were hidden. That OpenTofu is mentioned in a
    /// repository, or is not, was right for 78 of 85; what CI files, makefiles and version files say is part of that.
    pub(super) fn detect_dialect(&self, canonical: &Path) -> (Dialect, DialectReason) {
        if has_tofu_files(canonical) {
            return (Dialect::Tofu, DialectReason::TofuFiles);
        }
        let repository = self.repositories.around(canonical, &self.environment);
        if let Some(dialect) = repository.nearest_lock_files(canonical) {
            return (dialect, DialectReason::OtherLockFiles);
        }
        match (repository.mentions_tofu(), only_program(&self.environment)) {
            (Some(true), _) => (Dialect::Tofu, DialectReason::Mentioned),
            (Some(false), _) => (Dialect::Terraform, DialectReason::NotMentioned),
            (None, Some(program)) => (program, DialectReason::Program),
            (None, None) => (Dialect::default(), DialectReason::Default),
        }
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

fn has_tofu_files(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).any(|name| {
        let name = name.strip_suffix(".json").unwrap_or(&name);
        Path::new(name).extension().is_some_and(|extension| extension == "tofu")
    })
}
