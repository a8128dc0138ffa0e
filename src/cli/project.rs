//! A root module with its settings, dialect and lock file.

use std::path::{Path, PathBuf};

use provlock::cli_config::Environment;
use provlock::diagnostic::{Code, Diagnostic, Help, Result, Severity};
use provlock::dialect::Dialect;
use provlock::lockfile::{self, LockFile};
use provlock::requirements;
use provlock::settings::Settings;

/// A root module as it is on disk.
pub(crate) struct Project {
    /// The root module's directory, as the user knows it.
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) dialect: Dialect,
    /// What the dialect was decided by.
    pub(crate) dialect_reason: &'static str,
    pub(crate) lock_path: PathBuf,
    /// The lock file's content; `None` when there is none.
    pub(crate) lock_bytes: Option<Vec<u8>>,
}

impl Project {
    /// Reads settings and lock file of a root module. `dialect` is the flag's, or that of `PROVLOCK_DIALECT`.
    pub(crate) fn open(root: &Path, dialect: Option<Dialect>, environment: &Environment) -> Result<Self> {
        let (absolute, settings) = settings(root, environment)?;
        let lock_path = join(root, Path::new(lockfile::LOCK_FILE_NAME));
        let lock_bytes = lockfile::read(&lock_path)?;
        let detected = || lock_bytes.as_deref().and_then(lockfile::detect_dialect);
        let (dialect, dialect_reason) = if let Some(dialect) = dialect {
            (dialect, "the flag or PROVLOCK_DIALECT")
        } else if let Some(dialect) = settings.dialect {
            (dialect, "provlock.toml")
        } else if let Some(dialect) = detected() {
            (dialect, "the lock file")
        } else if has_tofu_files(&absolute) {
            (Dialect::Tofu, "the .tofu files")
        } else {
            (Dialect::Tofu, "default")
        };
        Ok(Self { root: root.to_owned(), settings, dialect, dialect_reason, lock_path, lock_bytes })
    }

    /// Parses the lock file. Its warnings come along; any error is a failure.
    pub(crate) fn lock_file(&self) -> Result<(LockFile, Vec<Diagnostic>)> {
        let Some(bytes) = &self.lock_bytes else {
            return Ok((LockFile::empty(&self.lock_path, self.dialect), Vec::new()));
        };
        let parsed = lockfile::parse(&self.lock_path, bytes, self.dialect);
        let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        match parsed.lock_file {
            Some(lock_file) => Ok((lock_file, parsed.diagnostics)),
            None => Err(parsed.diagnostics.into_iter().filter(is_error).map(with_help).collect()),
        }
    }

    /// Where the program keeps what it installed.
    pub(crate) fn data_directory(environment: &Environment) -> PathBuf {
        let set = environment.variable("TF_DATA_DIR").filter(|value| !value.is_empty());
        set.map_or_else(|| PathBuf::from(".terraform"), PathBuf::from)
    }

    /// How this root's configuration is to be read.
    pub(crate) fn requirements_options(
        &self,
        environment: &Environment,
        tests: bool,
        allow_missing_modules: bool,
    ) -> requirements::Options {
        let data_directory = Self::data_directory(environment);
        requirements::Options { dialect: self.dialect, tests, allow_missing_modules, data_directory }
    }
}

/// Git's conflict markers are for `merge` to mend.
fn with_help(error: Diagnostic) -> Diagnostic {
    if error.code != Code::ConflictMarkers {
        return error;
    }
    let name = lockfile::LOCK_FILE_NAME;
    let resolve = ["merge", "--resolve", name];
    error.help(Help::command(["merge", name]).and_text("; to lock anew what is in conflict: ").and_command(resolve))
}

/// The absolute path of a directory, and the settings that hold there.
pub(crate) fn settings(root: &Path, environment: &Environment) -> Result<(PathBuf, Settings)> {
    let absolute = environment.current_directory.join(root);
    let absolute = absolute.canonicalize().map_err(|error| Diagnostic::io("open", root, &error))?;
    let current = environment.current_directory.canonicalize().ok();
    let shown = |path: &Path| match (path.strip_prefix(&absolute), &current) {
        (Ok(below), _) => join(root, below),
        (Err(_), Some(current)) => path.strip_prefix(current).unwrap_or(path).to_owned(),
        (Err(_), None) => path.to_owned(),
    };
    let settings = Settings::find(&absolute, shown)?;
    Ok((absolute, settings))
}

/// `root/path`, without a leading `./`.
fn join(root: &Path, path: &Path) -> PathBuf {
    if root == Path::new(".") { path.to_owned() } else { root.join(path) }
}

fn has_tofu_files(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).any(|name| {
        let name = name.strip_suffix(".json").unwrap_or(&name);
        Path::new(name).extension().is_some_and(|extension| extension == "tofu")
    })
}
