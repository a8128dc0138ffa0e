//! Git's knowledge of root modules, in whatever repository each of them is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use provlock::diagnostic::Location;
use provlock::project::verify::{Obstacle, Tracking};
use provlock::project::{Tracked, VersionControl};
use provlock::system::canonicalize;
use provlock::system::repository::Tops;

use super::command::commits_on_line_of;
use super::repository::Repository;

/// The repository in which the program runs, and others in which a root module is.
pub(crate) struct Repositories {
    /// Directory in which the program runs.
    directory: PathBuf,
    data_directory: Option<PathBuf>,
    current: Option<Repository>,
    /// By their tops.
    others: Mutex<BTreeMap<PathBuf, Arc<Repository>>>,
    tops: Arc<Tops>,
}

impl Repositories {
    /// The repositories for a run in a directory. `data_directory` is the value of `TF_DATA_DIR`.
    pub(crate) fn new(directory: &Path, data_directory: Option<PathBuf>) -> Self {
        let tops = Arc::new(Tops::default());
        Self {
            directory: directory.to_owned(),
            current: Repository::around(directory, data_directory.clone(), Arc::clone(&tops)),
            data_directory,
            others: Mutex::default(),
            tops,
        }
    }

    /// The repository in which the program runs.
    pub(crate) fn current(&self) -> Option<&Repository> {
        self.current.as_ref()
    }

    /// Returns the nearest repository around a directory without symlinks; `None` if that is the
    /// current one, or there is none.
    fn other_repository_around(&self, root: &Path) -> Option<Arc<Repository>> {
        let top = self.tops.around(root)?;
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.top() == top)
        {
            return None;
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(&top) {
            return Some(Arc::clone(known));
        }
        let repository = Arc::new(Repository::at(
            &top,
            &self.directory,
            self.data_directory.clone(),
            Arc::clone(&self.tops),
        ));
        others.insert(top, Arc::clone(&repository));
        Some(repository)
    }
}

impl VersionControl for Repositories {
    fn tracked(&self, root: &Path, has_modules: bool) -> Tracked {
        let mut tracked = Vec::new();
        if let Some(current) = &self.current
            && root.starts_with(current.top())
        {
            tracked.push(current.tracked(root, has_modules));
        }
        if let Some(other) = self.other_repository_around(root) {
            tracked.push(other.tracked(root, has_modules));
        }
        tracked
            .into_iter()
            .reduce(tracked_by_either)
            .unwrap_or_else(|| Tracked {
                obstacle: Some(Obstacle::NoRepository),
                ..Tracked::default()
            })
    }

    fn rules_ignoring_lock_files(&self, roots: &[&Path]) -> Vec<Option<Location>> {
        let mut rules = match &self.current {
            Some(current) => current.rules_ignoring_lock_files(roots),
            None => vec![None; roots.len()],
        };
        // A root module in a different repository gets the answer of that repository. Git runs once
        // for all root modules of a repository.
        let mut other_repositories = BTreeMap::new();
        for (index, root) in roots.iter().enumerate() {
            if let Ok(canonical) = canonicalize(root)
                && let Some(other) = self.other_repository_around(&canonical)
            {
                let (_, indexes) = other_repositories
                    .entry(other.top().to_owned())
                    .or_insert_with(|| (other, Vec::new()));
                indexes.push(index);
            }
        }
        for (other, indexes) in other_repositories.into_values() {
            let roots_inside: Vec<_> = indexes.iter().map(|index| roots[*index]).collect();
            let rules_inside = other.rules_ignoring_lock_files(&roots_inside);
            for (index, rule) in indexes.into_iter().zip(rules_inside) {
                rules[index] = rule;
            }
        }
        rules
    }

    fn commits_on_line_of(&self, tip: &str) -> BTreeSet<String> {
        match &self.current {
            Some(current) => commits_on_line_of(current.top(), tip),
            None => BTreeSet::new(),
        }
    }
}

/// Facts from a repository and from one in it: a file that either tracks is tracked.
fn tracked_by_either(outer: Tracked, inner: Tracked) -> Tracked {
    let mut data_files = outer.data_files;
    data_files.extend(inner.data_files);
    Tracked {
        lock_file: better_tracking(outer.lock_file, inner.lock_file),
        module_lock_file: better_tracking(outer.module_lock_file, inner.module_lock_file),
        data_files,
        obstacle: inner.obstacle.or(outer.obstacle),
    }
}

fn better_tracking(outer: Tracking, inner: Tracking) -> Tracking {
    if outer == Tracking::Tracked {
        outer
    } else {
        inner
    }
}
