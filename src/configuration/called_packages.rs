//! Calls of modules by the directory in which the package of another call is installed, such as
//! `./.terraform/modules/network/modules/subnets`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::caller::InstallPath;
use super::files::DATA_DIRECTORY;
use super::root::ModulePath;
use crate::modules::fetched::FetchedModule;
use crate::system::files::join;

/// Packages of the calls in a configuration, by the path of the call (the key in `modules.json`).
#[derive(Clone, Debug, Default)]
pub(super) struct CalledPackages {
    packages: BTreeMap<String, CalledPackage>,
    /// Packages that were looked up, as they were then. A later call may have changed the answer.
    answers: Vec<(String, Option<CalledPackage>)>,
}

/// The package of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CalledPackage {
    /// In the directory where OpenTofu or Terraform installed it.
    Installed,
    /// A fetched package, and the directory where it belongs, relative to the root module.
    Fetched(FetchedModule, Option<PathBuf>),
    /// Not read, which was reported for its own call.
    Missing {
        /// Whether it cannot be read at all, not even by fetching it.
        is_unknown: bool,
    },
}

impl CalledPackages {
    /// Forgets the answers of a pass over the configuration. Returns whether all of them are still
    /// right.
    pub(super) fn settle(&mut self) -> bool {
        std::mem::take(&mut self.answers)
            .iter()
            .all(|(key, answer)| self.packages.get(key) == answer.as_ref())
    }

    /// Records the module of a call.
    pub(super) fn add(
        &mut self,
        key: &str,
        module: Option<&(ModulePath, Option<InstallPath>)>,
        is_unknown: bool,
    ) {
        let package = match module {
            Some((ModulePath::Directory(_), _)) => CalledPackage::Installed,
            Some((ModulePath::InPackage(module), at)) => CalledPackage::Fetched(
                module.clone(),
                at.as_ref().and_then(|at| at.package.clone()),
            ),
            None => CalledPackage::Missing { is_unknown },
        };
        self.packages.insert(key.to_owned(), package);
    }

    /// Records that the module of a call is unknown.
    pub(super) fn add_unknown(&mut self, key: &str) {
        let package = CalledPackage::Missing { is_unknown: true };
        self.packages.insert(key.to_owned(), package);
    }

    /// The package of a call; `None` if there is no such call.
    pub(super) fn get(&mut self, key: &str) -> Option<CalledPackage> {
        let answer = self.packages.get(key).cloned();
        self.answers.push((key.to_owned(), answer.clone()));
        answer
    }
}

/// Splits the directory of an installed package, or one below it, into the path of its call and the
/// rest with slashes, such as `network` and `modules/subnets`. `root` is the root module's
/// directory.
pub(super) fn split_installed(
    root: &Path,
    data_directory: &Path,
    directory: &Path,
) -> Option<(String, String)> {
    for data in [data_directory, Path::new(DATA_DIRECTORY)] {
        let packages = join(root, data.join("modules"));
        if let Ok(below) = directory.strip_prefix(packages) {
            let parts: Vec<_> = below
                .components()
                .map(|part| part.as_os_str().to_string_lossy())
                .collect();
            let (key, rest) = parts.split_first()?;
            return Some((key.clone().into_owned(), rest.join("/")));
        }
    }
    None
}
