//! `.gitmodules`: where the submodules of a repository come from (<https://git-scm.com/docs/gitmodules>).

use std::collections::BTreeMap;

use super::error::{GitError, Result};
use super::scratch::Scratch;

/// Name of the file at the top of a repository.
pub(super) const FILE_NAME: &str = ".gitmodules";

/// A commit of another repository that a commit contains.
pub(super) struct Submodule {
    /// Path in the package.
    pub(super) path: String,
    /// URL in `.gitmodules`.
    pub(super) url: String,
    pub(super) commit: String,
}

/// A section of the file.
#[derive(Default)]
struct Mapping {
    path: Option<String>,
    url: String,
    update: String,
}

impl Scratch<'_> {
    /// Adds the URLs to submodules, and removes those that `git submodule update` skips. `file` is the id of the blob.
    ///
    /// # Errors
    /// A submodule is not in the file, git cannot read the file, or the file has git run a program.
    pub(super) fn mapped(
        &self,
        file: Option<&str>,
        prefix: &str,
        submodules: Vec<Submodule>,
    ) -> Result<Vec<Submodule>> {
        let mappings = file.map(|file| self.mappings(file)).transpose()?.unwrap_or_default();
        let mut mapped = Vec::new();
        for submodule in submodules {
            let path = submodule.path.strip_prefix(prefix).unwrap_or(&submodule.path).trim_start_matches('/');
            let mapping = mappings.iter().rfind(|mapping| mapping.path.as_deref() == Some(path));
            let mapping = mapping.ok_or_else(|| {
                let path = &submodule.path;
                GitError::new(format!("its {FILE_NAME} does not say where the submodule {path:?} comes from"))
            })?;
            if mapping.update != "none" {
                mapped.push(Submodule { url: mapping.url.clone(), ..submodule });
            }
        }
        Ok(mapped)
    }

    fn mappings(&self, file: &str) -> Result<Vec<Mapping>> {
        let mut command = self.command("config");
        // The file may include any other, which git would follow.
        command.args([
            "--no-includes",
            "--blob",
            file,
            "--null",
            "--get-regexp",
            r"^submodule\..*\.(path|url|update)$",
        ]);
        let finished = self.run(command)?;
        // Without a matching key, git fails and prints nothing.
        if !finished.status.success() && !finished.stderr.is_empty() {
            return Err(self.failure(&finished));
        }
        let mut mappings = BTreeMap::<_, Mapping>::new();
        let list = String::from_utf8_lossy(&finished.stdout).into_owned();
        for (key, value) in list.split('\0').filter_map(|entry| entry.split_once('\n')) {
            let Some((section, name)) = key.rsplit_once('.') else { continue };
            let mapping = mappings.entry(section.to_owned()).or_default();
            match name {
                "path" => mapping.path = Some(value.to_owned()),
                "url" => value.clone_into(&mut mapping.url),
                _ => value.clone_into(&mut mapping.update),
            }
        }
        if mappings.values().any(|mapping| mapping.update.starts_with('!')) {
            return Err(GitError::new(format!("its {FILE_NAME} has git run a program to update a submodule")));
        }
        Ok(mappings.into_values().collect())
    }
}
