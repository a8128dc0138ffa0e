//! `.gitmodules`: where the submodules of a repository come from (<https://git-scm.com/docs/gitmodules>).

use std::collections::BTreeMap;

use super::repository::Repository;
use crate::modules::fetch_error::{FetchError, FetchResult};

/// Name of the file at the top of a repository.
pub(super) const FILE_NAME: &str = ".gitmodules";

/// Largest number of submodules of a package, including nested ones.
pub(super) const MOST_SUBMODULES: usize = 100;

/// A reference to a commit of a different repository.
pub(super) struct Submodule {
    /// Path in the package.
    pub(super) path: String,
    /// URL in `.gitmodules`.
    pub(super) url: String,
    pub(super) commit: String,
}

impl Repository<'_> {
    /// Returns the submodules at paths in the repository, with their commits, except submodules
    /// that `git submodule update` skips. `file` is the id of the blob of `.gitmodules`; `prefix`
    /// the directory of the repository in the package.
    ///
    /// # Errors
    /// A submodule is not in the file, git cannot read the file, or the file has git run a program.
    pub(super) fn submodules_to_fetch(
        &self,
        file: Option<&str>,
        prefix: &str,
        commits: Vec<(String, String)>,
    ) -> FetchResult<Vec<Submodule>> {
        // The file may include any other, which git would follow.
        let arguments = [
            "--no-includes",
            "--null",
            "--get-regexp",
            r"^submodule\..*\.(path|url|update)$",
        ];
        let mut list = String::new();
        if let Some(file) = file
            && !commits.is_empty()
        {
            let command = self.command(&[&["config", "--blob", file], &arguments[..]].concat());
            let finished = self.run(command)?;
            // Without a matching key, git fails and prints nothing.
            if !finished.status.success() && !finished.stderr.is_empty() {
                return Err(self.failure(&finished));
            }
            list = String::from_utf8_lossy(&finished.stdout).into_owned();
        }
        let mut sections = BTreeMap::<_, BTreeMap<_, _>>::new();
        for (key, value) in list.split('\0').filter_map(|entry| entry.split_once('\n')) {
            let Some((section, name)) = key.rsplit_once('.') else {
                continue;
            };
            sections.entry(section).or_default().insert(name, value);
        }
        for section in sections.values() {
            if let Some(update) = section.get("update")
                && update.starts_with('!')
            {
                return Err(FetchError::git(format!(
                    "its {FILE_NAME} has git run a program to update a submodule"
                )));
            }
        }
        let mut submodules = Vec::new();
        for (path, commit) in commits {
            let section = sections
                .values()
                .rfind(|section| section.get("path") == Some(&path.as_str()));
            let path = below(prefix, &path);
            let section = section.ok_or_else(|| {
                FetchError::git(format!(
                    "its {FILE_NAME} does not specify where the submodule {path:?} comes from"
                ))
            })?;
            if section.get("update") != Some(&"none") {
                let url = section.get("url").copied().unwrap_or_default().to_owned();
                submodules.push(Submodule { path, url, commit });
            }
        }
        Ok(submodules)
    }
}

/// A path below a directory, which may be empty.
pub(super) fn below(directory: &str, path: &str) -> String {
    if directory.is_empty() {
        path.to_owned()
    } else {
        format!("{directory}/{path}")
    }
}
