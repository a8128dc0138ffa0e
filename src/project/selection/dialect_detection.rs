//! Detection of a root module's dialect if neither the user, the settings nor the lock file specify
//! it.

use std::path::Path;

use crate::configuration::is_of_tofu;
use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::project::reviewed_change::ReviewedChange;
use crate::project::root_module::DialectReason;
use crate::project::root_module::searched_repository::{TofuMentions, nearest_dialect};
use crate::project::session::Session;
use crate::provider::Dialect;
use crate::system::Tree;

impl Session<'_> {
    /// Detects the dialect of the root module in a directory, given without symlinks, by the first
    /// signal.
    ///
    /// The signals were measured on repositories whose lock files were hidden. Whether a repository
    /// mentions OpenTofu, for example in CI files, makefiles and version files, was right for 78 of
    /// 85.
    pub(in crate::project) fn detect_dialect(&self, canonical: &Path) -> (Dialect, DialectReason) {
        if names(self.tree(), canonical)
            .iter()
            .any(|name| is_of_tofu(name))
        {
            return (Dialect::Tofu, DialectReason::TofuFiles);
        }
        let repository = self.repositories.around(canonical, &self.environment);
        if let Some(dialect) = repository.dialect_of_nearest_lock_files(canonical) {
            return (dialect, DialectReason::OtherLockFiles);
        }
        match self.guess_dialect(repository.tofu_mentions(None)) {
            (dialect, DialectReason::Default) if repository.is_unlisted() => {
                (dialect, DialectReason::GitFailed)
            }
            guessed => guessed,
        }
    }

    /// Guesses the dialect without lock files and files that only OpenTofu reads: from the files
    /// that git tracks, or else from the tool that is installed here.
    fn guess_dialect(&self, mentions: TofuMentions) -> (Dialect, DialectReason) {
        match mentions {
            TofuMentions::Found => return (Dialect::Tofu, DialectReason::Mentioned),
            TofuMentions::NotFound => return (Dialect::Terraform, DialectReason::NotMentioned),
            TofuMentions::NoFiles => {}
        }
        match Dialect::only_one_where(|dialect| self.environment.has_program(dialect.name())) {
            Some(installed) => (installed, DialectReason::Program),
            None => (Dialect::default(), DialectReason::Default),
        }
    }

    /// Returns the dialect of the root module in a directory, given without symlinks, at the base
    /// revision. `None` if no change is under review, or if the directory is new and the lock files
    /// of the base do not determine it.
    ///
    /// A change does not choose its dialect by its lock file, because OpenTofu and Terraform load
    /// different files.
    pub(super) fn dialect_before(&self, canonical: &Path) -> Option<(Dialect, DialectReason)> {
        let change = self.options.change.as_ref()?;
        // The own lock file is the best evidence, because its addresses are the ones of the tool's
        // registry.
        if let Some(dialect) = dialect_of_lock_file_at_base(change, &canonical.join(LOCK_FILE_NAME))
        {
            return Some((dialect, DialectReason::LockFile));
        }

        // Terraform reads no file with such a name.
        let has_tofu_files = match change.base_names_in(canonical) {
            Some(mut names) => names.any(is_of_tofu),
            None => names(self.tree(), canonical)
                .iter()
                .any(|name| is_of_tofu(name)),
        };
        if has_tofu_files {
            return Some((Dialect::Tofu, DialectReason::TofuFiles));
        }

        let lock_files = change
            .base_files_named(LOCK_FILE_NAME)
            .map(|(path, _)| path);
        let nearest = nearest_dialect(&change.top, canonical, lock_files, |path| {
            dialect_of_lock_file_at_base(change, path)
        });
        if let Some(dialect) = nearest {
            return Some((dialect, DialectReason::OtherLockFiles));
        }

        // A new directory may be for either tool, and words elsewhere must not decide which files
        // are checked.
        if change.is_new_directory(canonical) {
            return None;
        }
        let repository = self.repositories.around(&change.top, &self.environment);
        Some(self.guess_dialect(repository.tofu_mentions(Some(&change.commit))))
    }
}

/// The dialect that a lock file of the base determines.
fn dialect_of_lock_file_at_base(change: &ReviewedChange, path: &Path) -> Option<Dialect> {
    lockfile::detect_dialect(change.file_before(path)?)
}

fn names(tree: &Tree, directory: &Path) -> Vec<String> {
    let entries = tree.entries(directory).unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry.text().into_owned())
        .collect()
}
