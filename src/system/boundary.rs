//! Files that belong to the repository of a run. Symbolic links, and paths in a configuration, may
//! lead out of it.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic, Help, Location, Message, RunOption};
use crate::system::files::join;
use crate::system::{Tree, canonicalize, repository};

/// The files that a run may read: a tree, in the repositories of the run. Files outside of them are
/// neither read nor quoted.
#[derive(Clone, Debug, Default)]
pub struct Boundary {
    /// The revision of the files.
    tree: Tree,
    /// Directories and files that contain everything that may be read, without symlinks; `None`
    /// without a limit.
    inside: Option<Vec<PathBuf>>,
}

impl Boundary {
    /// The repositories around absolute paths, given as the user knows them. There is no limit if
    /// one of the paths is not in a repository.
    pub fn around<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            tree: Tree::Work,
            inside: paths
                .into_iter()
                .map(|path| repository::top(&join(path.as_ref(), "")))
                .collect(),
        }
    }

    /// Adds paths elsewhere that the user has named.
    #[must_use]
    pub fn and<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        if let Some(inside) = &mut self.inside {
            inside.extend(paths.into_iter().filter_map(|path| canonicalize(path).ok()));
        }
        self
    }

    /// The same boundary for a different revision of the files.
    #[must_use]
    pub fn of(self, tree: Tree) -> Self {
        Self { tree, ..self }
    }

    /// The same revision without a limit.
    pub(crate) fn unlimited(&self) -> Self {
        Self {
            tree: self.tree.clone(),
            inside: None,
        }
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Whether everything may be read.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.inside.is_none()
    }

    /// Whether a path leads out of the repositories. A path that does not exist does not, except
    /// the name of a file in a [package of this machine](Self::excludes_package_in).
    pub fn is_outside(&self, path: &Path) -> bool {
        if self.excludes_package_in(&path.to_string_lossy()) {
            return true;
        }
        let canonical = self.tree.canonicalize(path);
        canonical.is_ok_and(|canonical| self.excludes(&canonical))
    }

    /// Whether a text contains the URL of a package of this machine, such as `file:///modules.zip`.
    /// Archives may be outside, and a git repository inside may contain the path of another one, so
    /// only without a limit are files of such a package inside.
    pub fn excludes_package_in(&self, text: &str) -> bool {
        self.inside.is_some() && text.contains("file://")
    }

    /// Whether a path without symlinks is outside. Git's own files in a repository, which may
    /// contain a password, are outside.
    pub(crate) fn excludes(&self, canonical: &Path) -> bool {
        let Some(inside) = &self.inside else {
            return false;
        };
        for top in inside {
            if let Ok(below) = canonical.strip_prefix(top)
                && !below.starts_with(".git")
            {
                return false;
            }
        }
        true
    }

    /// Whether a file in a directory inside is a link that leads out.
    pub(crate) fn is_link_to_outside(&self, path: &Path) -> bool {
        self.inside.is_some() && self.tree.is_symlink(path) && self.is_outside(path)
    }
}

/// The error for a file or directory that was not read because it leads out of the repository.
pub fn outside_error(shown: &Path) -> Diagnostic {
    let message = Message::naming(shown, |path| {
        format!("{path} leads out of the repository, so it was not read")
    });
    Diagnostic::finding(Code::OutsideRepository, message)
        .at_location(Location::of_file(shown))
        .help(help())
}

/// Returns the first symbolic link on the way to a path, if the link is in the repository around
/// it. Anyone who can change the repository decides where such a link leads.
pub fn link_in_repository(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let mut first = None;
    for ancestor in absolute.ancestors() {
        if ancestor.is_symlink()
            && let Some(parent) = ancestor.parent()
            && let Ok(directory) = canonicalize(parent)
            && repository::top(&directory).is_some()
        {
            first = Some(ancestor.to_owned());
        }
    }
    first
}

/// Help for a path that leads out of the repository.
pub(crate) fn help() -> Help {
    Help::text("put it into the repository, or let verify read it with ")
        .and(RunOption::AllowOutside)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_a_repository_lead_outside() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| canonicalize(directory.path()).unwrap().join(path);
        for path in ["repository/.git", "repository/live/a", "elsewhere/deep"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("elsewhere/secret"), "").unwrap();
        for (target, link) in [
            ("../elsewhere/secret", "repository/secret.tf"),
            ("live/a", "repository/same"),
            ("../elsewhere", "repository/root"),
            ("repository/live", "mine"),
            ("nowhere", "repository/nowhere"),
            (".git", "repository/git"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let boundary = Boundary::around([at("repository/live/a")]);
        for outside in [
            "repository/secret.tf",
            "repository/root/deep",
            "repository/live/../../elsewhere",
            "elsewhere",
            "repository/git",
        ] {
            assert!(boundary.is_outside(&at(outside)), "{outside}");
        }
        for inside in [
            "repository/live",
            "repository/same",
            "repository/nowhere",
            "mine/a",
        ] {
            assert!(!boundary.is_outside(&at(inside)), "{inside}");
        }
        assert!(
            boundary.is_link_to_outside(&at("repository/secret.tf"))
                && !boundary.is_link_to_outside(&at("elsewhere/secret"))
        );
        fs::create_dir(at("elsewhere/.git")).unwrap();
        assert!(
            Boundary::around([at("repository/root")]).is_outside(&at("repository/root")),
            "a link does not choose"
        );
        fs::remove_dir(at("elsewhere/.git")).unwrap();
        assert!(
            Boundary::around([at("mine/a")]).is_outside(&at("elsewhere")),
            "but one of the user's does"
        );
        assert!(
            !boundary
                .and([at("elsewhere/deep")])
                .is_outside(&at("elsewhere/deep"))
        );
        for unlimited in [
            Boundary::default(),
            Boundary::around([at("elsewhere"), at("repository")]),
        ] {
            assert!(!unlimited.is_outside(&at("repository/secret.tf")));
        }
    }
}
