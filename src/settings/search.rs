//! Finding the settings files of a root module.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::{CacheTable, FILE_NAME, Settings};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result, SourceFile};
use crate::system::boundary::outside_error;
use crate::system::{Boundary, OnceMap, Tree, files, repository};

/// The largest settings file that is read, in bytes.
const SIZE_LIMIT: u64 = 1 << 20;

/// Place in which settings files are read.
#[derive(Clone, Copy, Debug)]
pub enum SettingsFiles<'a> {
    /// On disk.
    OnDisk {
        /// The files that may be read.
        boundary: &'a Boundary,
        /// The user's home directory, above which nothing is read unless it is in a repository;
        /// without symlinks.
        home: Option<&'a Path>,
    },
    /// In a commit.
    Committed {
        /// The top of the repository, absolute and without symlinks.
        top: &'a Path,
        /// The content of the files by their path on disk, which begins with the top.
        files: &'a BTreeMap<OsString, Vec<u8>>,
    },
}

impl SettingsFiles<'_> {
    /// The content of a file; none if it does not exist.
    fn read(&self, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
        match self {
            Self::OnDisk { boundary, .. } => read_in(boundary.tree(), path),
            Self::Committed { files, .. } => Ok(files.get(path.as_os_str()).cloned()),
        }
    }

    /// Whether nothing has this path, not even a link that leads nowhere.
    fn is_missing(&self, path: &Path) -> bool {
        match self {
            Self::OnDisk { boundary, .. } => boundary.tree().is_missing(path),
            Self::Committed { files, .. } => !files.contains_key(path.as_os_str()),
        }
    }

    /// Whether a file leads out of the repository.
    fn is_refused(&self, path: &Path) -> bool {
        matches!(self, Self::OnDisk { boundary, .. } if boundary.is_link_to_outside(path))
    }

    /// Whether the search ends in this directory.
    fn is_top(&self, directory: &Path) -> bool {
        match self {
            Self::OnDisk { home, .. } => {
                let is_home = *home == Some(directory) && repository::top(directory).is_none();
                is_home || repository::is_top(directory)
            }
            Self::Committed { top, .. } => directory == *top,
        }
    }

    /// The settings of the working tree in place of a committed file that cannot be used for the
    /// reasons `unusable`, so that a change can repair it.
    ///
    /// # Errors
    /// They cannot be read, either. Only the reasons in the working tree can be mended there.
    fn read_repaired(
        &self,
        directory: &Path,
        unusable: Diagnostics,
        shown: &impl Fn(&Path) -> PathBuf,
    ) -> Result<OwnSettings> {
        if matches!(self, Self::OnDisk { .. }) {
            return Err(unusable);
        }
        let path = directory.join(FILE_NAME);
        if Tree::Work.is_symlink(&path) {
            return Err(unusable.map(|error| error.note("this is the file of the base revision")));
        }
        let note = "the file of the base revision cannot be used, either";
        let repaired = OwnSettings::parse(&path, read_in(&Tree::Work, &path), shown);
        repaired.map_err(|errors| errors.map(|error| error.note(note)))
    }

    /// Whether a file belongs to a user who has no say in the settings of a run that starts in a
    /// directory of `owner`.
    fn is_of_other_user(&self, path: &Path, owner: Option<u32>) -> bool {
        match self {
            Self::OnDisk { .. } => owners(path)
                .into_iter()
                .any(|user| user != current_user() && Some(user) != owner),
            Self::Committed { .. } => false,
        }
    }
}

/// The settings of the directories above root modules, each found once for the owner of a root
/// module.
#[derive(Debug, Default)]
pub struct SettingsAbove {
    by_directory: OnceMap<(PathBuf, Option<u32>), Result<Settings>>,
}

/// The users to whom a file belongs: the owner of the file and, if it is a link, of the link. Empty
/// if the file does not exist.
#[expect(clippy::disallowed_methods, reason = "only files on disk have owners")]
#[cfg(unix)]
fn owners(path: &Path) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt as _;

    let own = path.symlink_metadata();
    let behind_links = path.metadata();
    own.into_iter()
        .chain(behind_links)
        .map(|metadata| metadata.uid())
        .collect()
}

/// The user to whom a directory belongs, following links.
#[expect(clippy::disallowed_methods, reason = "only files on disk have owners")]
#[cfg(unix)]
fn owner(directory: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;

    Some(directory.metadata().ok()?.uid())
}

/// The user of this process.
#[cfg(unix)]
fn current_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Other systems have access control lists instead.
#[cfg(not(unix))]
fn owners(_: &Path) -> Vec<u32> {
    Vec::new()
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

#[cfg(not(unix))]
fn current_user() -> u32 {
    0
}

/// Settings in the file of one directory.
enum OwnSettings {
    None,
    Read(Box<Settings>),
    /// The file, which is not read.
    OfOtherUser(PathBuf),
}

impl OwnSettings {
    /// Reads the content of a file, if it exists.
    fn parse(
        path: &Path,
        content: std::io::Result<Option<Vec<u8>>>,
        shown: &impl Fn(&Path) -> PathBuf,
    ) -> Result<Self> {
        let text = match content {
            Ok(Some(bytes)) => decode_text(bytes),
            Ok(None) => return Ok(Self::None),
            Err(error) => Err(error),
        };
        let text = text.map_err(|error| Diagnostic::io("read", &shown(path), &error))?;
        let source = SourceFile::new(shown(path), text);
        let settings = Settings::parse(&source, path.to_owned())?;
        Ok(Self::Read(Box::new(settings)))
    }
}

impl Settings {
    /// Finds and reads the settings of a root module: each `provlock.toml` from `root` upwards to
    /// the directory that contains `.git`, or else to the home directory or the file system's root.
    /// If only one value can apply, the nearest file decides. `[cache]` may only be in the topmost
    /// file, so that no nearer file chooses the trusted keys.
    ///
    /// A file on disk that belongs neither to the user of this process nor to the owner of `root`
    /// is not read.
    ///
    /// `root` must be absolute. `shown` turns a path into the path for diagnostics; for paths above
    /// `root`, the result must not depend on `root`. `above` contains the settings that were found
    /// for other root modules in the same files.
    ///
    /// # Errors
    /// A file cannot be read, leads out of the repository, or is invalid.
    pub fn find(
        root: &Path,
        files: SettingsFiles<'_>,
        above: &SettingsAbove,
        shown: &impl Fn(&Path) -> PathBuf,
    ) -> Result<Self> {
        Self::find_for(owner(root), root, files, above, shown)
    }

    /// [`Settings::find`] for a root module that belongs to `owner`, from a directory upwards.
    fn find_for(
        owner: Option<u32>,
        directory: &Path,
        files: SettingsFiles<'_>,
        above: &SettingsAbove,
        shown: &impl Fn(&Path) -> PathBuf,
    ) -> Result<Self> {
        let own = Self::read_own(owner, directory, files, shown)?;
        let mut inherited = Self::default();
        if let Some(parent) = directory.parent()
            && !files.is_top(directory)
        {
            let key = (parent.to_owned(), owner);
            inherited = above
                .by_directory
                .get_or_compute(&key, || Self::find_for(owner, parent, files, above, shown))?;
        }
        let own = match own {
            OwnSettings::Read(own) => *own,
            OwnSettings::None => return Ok(inherited),
            // Settings of a different user would let that user choose what this run trusts.
            OwnSettings::OfOtherUser(path) => {
                inherited.of_other_users.push(path);
                return Ok(inherited);
            }
        };

        // Only the topmost file may have the table `[cache]`.
        let Some(topmost) = inherited.paths.first() else {
            return Ok(own);
        };
        let Some(table) = &own.cache else {
            return Ok(own.with_inherited(inherited));
        };
        let error = not_topmost(table, &shown(topmost));
        // The base has a file that cannot be used. A change that repairs it must not fail because
        // of it.
        match files.read_repaired(directory, error.clone().into(), shown)? {
            OwnSettings::Read(repaired) if repaired.cache.is_none() => {
                Ok(repaired.with_inherited(inherited))
            }
            OwnSettings::None => Ok(inherited),
            _ => Err(error.into()),
        }
    }

    /// The settings in a directory's own file, if it has one.
    fn read_own(
        owner: Option<u32>,
        directory: &Path,
        files: SettingsFiles<'_>,
        shown: &impl Fn(&Path) -> PathBuf,
    ) -> Result<OwnSettings> {
        let path = directory.join(FILE_NAME);
        // Hardly any directory has one, and each further question is a system call.
        if files.is_missing(&path) {
            return Ok(OwnSettings::None);
        }
        if files.is_of_other_user(&path, owner) {
            return Ok(OwnSettings::OfOtherUser(path));
        }
        if files.is_refused(&path) {
            return Err(outside_error(&shown(&path)).into());
        }
        match OwnSettings::parse(&path, files.read(&path), shown) {
            Ok(settings) => Ok(settings),
            // A change under review may repair a file that the base has broken.
            Err(errors) => files.read_repaired(directory, errors, shown),
        }
    }

    /// Reads the content of one settings file that replaces the files that [`Settings::find`]
    /// finds. `shown` is its path as the user knows it. Its globs are relative to `base`, which is
    /// absolute and without symlinks.
    pub fn named(shown: &Path, bytes: Vec<u8>, base: &Path) -> Result<Self> {
        let text = decode_text(bytes).map_err(|error| Diagnostic::io("read", shown, &error))?;
        Self::parse(&SourceFile::new(shown, text), base.join(shown))
            .map(|settings| settings.relative_to(base))
    }

    /// The same settings with globs that are relative to `base`, which is absolute and without
    /// symlinks.
    #[must_use]
    pub fn relative_to(mut self, base: &Path) -> Self {
        self.roots
            .iter_mut()
            .for_each(|filter| base.clone_into(&mut filter.base));
        self.verify
            .iter_mut()
            .for_each(|levels| base.clone_into(&mut levels.base));
        self
    }

    /// Completes these settings with the settings of a file further up.
    fn with_inherited(mut self, above: Self) -> Self {
        self.paths.extend(above.paths);
        self.of_other_users.extend(above.of_other_users);
        self.roots.extend(above.roots);
        self.policy.rules.extend(above.policy.rules);
        self.verify.extend(above.verify);
        self.without_platforms.extend(above.without_platforms);
        Self {
            dialect: self.dialect.or(above.dialect),
            platforms: self.platforms.or(above.platforms),
            fetch_modules: self.fetch_modules.or(above.fetch_modules),
            lock_modules: self.lock_modules.or(above.lock_modules),
            modules_mirror: self.modules_mirror.or(above.modules_mirror),
            cache: above.cache,
            ..self
        }
    }
}

/// The error for a `[cache]` below another settings file.
fn not_topmost(table: &CacheTable, above: &Path) -> Diagnostic {
    let message =
        "[cache] may only be in the topmost provlock.toml, since it decides which keys are trusted";
    let error =
        Diagnostic::error(Code::InvalidArgument, message).at_location(table.location.clone());
    error.help(format!("move [cache] to {}", above.display()))
}

fn decode_text(bytes: Vec<u8>) -> std::io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let is_utf16 = files::is_utf16(error.as_bytes());
        let what = if is_utf16 {
            "it is UTF-16 text, and must be UTF-8"
        } else {
            "it is not UTF-8 text"
        };
        Error::new(ErrorKind::InvalidData, what)
    })
}

/// The content of a settings file on disk.
///
/// # Errors
/// It cannot be read, or is larger than 1 MiB.
pub fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    files::read(path, SIZE_LIMIT)
}

/// [`read`] for a file in a tree; none if the file does not exist.
pub(crate) fn read_in(tree: &Tree, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match tree.read(path, SIZE_LIMIT) {
        Ok(bytes) => Ok(Some(bytes)),
        // A link that leads nowhere is a mistake, and settings that are not found would loosen what
        // is checked.
        Err(error) if error.kind() == ErrorKind::NotFound && !tree.is_symlink(path) => Ok(None),
        Err(error) => Err(error),
    }
}
