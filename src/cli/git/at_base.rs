//! Git's knowledge of the commit that a change is compared with.

use std::path::Path;

use provlock::diagnostic::Location;
use provlock::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use provlock::project::verify::Tracking;
use provlock::project::{Tracked, VersionControl};
use provlock::system::{Overlay, Replaced};

use super::repository::Repository;

/// Git's knowledge of the compared commit.
struct AtBase<'a> {
    repository: &'a Repository,
    overlay: &'a Overlay,
}

impl Repository {
    /// Git's knowledge of the compared commit, whose files replace the files of the work tree.
    pub(crate) fn at_base<'a>(&'a self, overlay: &'a Overlay) -> impl VersionControl + 'a {
        AtBase {
            repository: self,
            overlay,
        }
    }
}

impl AtBase<'_> {
    /// Whether the commit has a lock file. If it does not differ, the index knows.
    fn tracking_of(&self, root: &Path, name: &str) -> Tracking {
        match self.overlay.replaced().get(&root.join(name)) {
            Some(Replaced::Absent) => Tracking::Unknown,
            Some(_) => Tracking::Tracked,
            None => self.repository.tracking_of(root, name),
        }
    }
}

impl VersionControl for AtBase<'_> {
    fn tracked(&self, root: &Path, has_modules: bool) -> Tracked {
        let mut tracked = Tracked {
            lock_file: self.tracking_of(root, LOCK_FILE_NAME),
            ..Tracked::default()
        };
        if has_modules {
            tracked.module_lock_file = self.tracking_of(root, MODULE_LOCK_FILE_NAME);
        }
        // Of changed data files nothing is known, so that only a finding about the same files is
        // treated as known from the commit.
        if self.repository.has_unchanged_data(root) {
            tracked.data_files = self.repository.data_files(root);
        }
        tracked
    }

    fn rules_ignoring_lock_files(&self, roots: &[&Path]) -> Vec<Option<Location>> {
        let mut rules = self.repository.rules_ignoring_lock_files(roots);
        for rule in &mut rules {
            let is_changed = rule.as_ref().is_some_and(|rule| {
                let path = self.repository.directory.join(rule.path());
                self.overlay.replaced().contains_key(&path)
            });
            if is_changed {
                *rule = None;
            }
        }
        rules
    }
}
