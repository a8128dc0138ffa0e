//! Finding the settings files of a root module.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::{CacheTable, FILE_NAME, Settings};
use crate::diagnostic::{Code, Diagnostic, Result, SourceFile};
use crate::system::boundary::refused;
use crate::system::{Boundary, OnceMap, files, repository};

/// The largest settings file that is read, in bytes.
const SIZE_LIMIT: u64 = 1 << 20;

/// Place in which settings files are read.
#[derive(Clone, Copy, Debug)]
pub enum SettingsFiles<'a> {
    /// On disk, within a boundary.
    OnDisk(&'a Boundary),
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
            Self::OnDisk(_) => on_disk(path),
            Self::Committed { files, .. } => Ok(files.get(path.as_os_str()).cloned()),
        }
    }

    /// Whether a file leads out of the repository.
    fn is_refused(&self, path: &Path) -> bool {
        matches!(self, Self::OnDisk(boundary) if boundary.is_link_out(path))
    }

    /// Whether the search ends in this directory.
    fn is_top(&self, directory: &Path) -> bool {
        match self {
            Self::OnDisk(_) => repository::is_top(directory),
            Self::Committed { top, .. } => directory == *top,
        }
    }
}

/// The settings of the directories above root modules, each found once.
#[derive(Debug, Default)]
pub struct SettingsAbove {
    found: OnceMap<PathBuf, Result<Settings>>,
}

impl Settings {
    /// Finds and reads the settings of a root module: each `provlock.toml` from `root` upwards to
    /// the directory that contains `.git`, or to the file system's root. If only one value can
    /// apply, the nearest file decides. `[cache]` may only be in the topmost file, so that no
    /// nearer file chooses the trusted keys.
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
        let own = Self::of_directory(root, files, shown)?;
        let parent = if files.is_top(root) {
            None
        } else {
            root.parent()
        };
        let find = |parent: &Path| {
            above.found.get_or_compute(&parent.to_owned(), || {
                Self::find(parent, files, above, shown)
            })
        };
        let above = parent.map_or_else(|| Ok(Self::default()), find)?;
        match (own, above.paths.first()) {
            (None, _) => Ok(above),
            (Some(own), None) => Ok(own),
            (
                Some(Self {
                    cache: Some(table), ..
                }),
                Some(path),
            ) => Err(not_topmost(&table, &shown(path)).into()),
            (Some(own), Some(_)) => Ok(own.below(above)),
        }
    }

    /// The settings in a directory's own file, if it has one.
    fn of_directory(
        directory: &Path,
        files: SettingsFiles<'_>,
        shown: &impl Fn(&Path) -> PathBuf,
    ) -> Result<Option<Self>> {
        let path = directory.join(FILE_NAME);
        if files.is_refused(&path) {
            return Err(refused(&shown(&path)).into());
        }
        let text = files
            .read(&path)
            .and_then(|bytes| bytes.map(text).transpose());
        let text = text.map_err(|error| Diagnostic::io("read", &shown(&path), &error))?;
        text.map(|text| Self::parse(&SourceFile::new(shown(&path), text), path))
            .transpose()
    }

    /// Reads the content of one settings file that replaces the files that [`Settings::find`]
    /// finds. `shown` is its path as the user knows it. Its globs are relative to `base`, which is
    /// absolute and without symlinks.
    pub fn named(shown: &Path, bytes: Vec<u8>, base: &Path) -> Result<Self> {
        let text = text(bytes).map_err(|error| Diagnostic::io("read", shown, &error))?;
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
    fn below(mut self, above: Self) -> Self {
        self.paths.extend(above.paths);
        self.roots.extend(above.roots);
        self.policy.rules.extend(above.policy.rules);
        self.verify.extend(above.verify);
        self.without_platforms.extend(above.without_platforms);
        Self {
            dialect: self.dialect.or(above.dialect),
            platforms: self.platforms.or(above.platforms),
            fetch_modules: self.fetch_modules.or(above.fetch_modules),
            lock_modules: self.lock_modules.or(above.lock_modules),
            cache: above.cache,
            ..self
        }
    }
}

/// The error for a `[cache]` below another settings file.
fn not_topmost(table: &CacheTable, above: &Path) -> Diagnostic {
    let message =
        "[cache] may only be in the topmost provlock.toml, since it decides which keys are trusted";
    let error = Diagnostic::error(Code::InvalidArgument, message).at(table.location.clone(), "");
    error.help(format!("move [cache] to {}", above.display()))
}

fn text(bytes: Vec<u8>) -> std::io::Result<String> {
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

/// [`read`]; none if the file does not exist.
pub(crate) fn on_disk(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        // A link that leads nowhere is a mistake, and settings that are not found would loosen what
        // is checked.
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(error) => Err(error),
    }
}
