//! Project settings: `provlock.toml` (spec section 11).

mod file;

use std::fmt;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use globset::{Glob, GlobBuilder};

use crate::address::Hostname;
use crate::diagnostic::{Code, Diagnostic, Location, Result, SourceFile};
use crate::dialect::Dialect;
use crate::platform::{Platform, PlatformError};
use crate::regular_file;

/// Name of the settings file.
pub const FILE_NAME: &str = "provlock.toml";

/// The largest settings file that is read, in bytes; nobody writes a larger one.
const SIZE_LIMIT: u64 = 1 << 20;

/// What a project's settings file says; everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The file that was read; `None` when there is none.
    pub path: Option<PathBuf>,
    /// Whose rules apply.
    pub dialect: Option<Dialect>,
    /// The platforms to lock.
    pub platforms: Option<PlatformSelection>,
    /// Which of the root modules that there are `--recursive` takes.
    pub roots: RootFilter,
    /// What the project allows.
    pub policy: Policy,
    /// Signing keys that are accepted, for the providers that a pattern names.
    pub trust: Vec<TrustRule>,
}

/// Which platforms' packages are locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlatformSelection {
    /// Every platform that the source lists for the selected version.
    All,
    /// These, sorted and without duplicates.
    These(Vec<Platform>),
}

/// Globs over directories, relative to the settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootFilter {
    /// Only directories that one of these matches; empty means all.
    pub include: Vec<Glob>,
    /// Not the directories that one of these matches.
    pub exclude: Vec<Glob>,
}

/// A value of the settings file that can only be understood once the dialect is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The value.
    pub text: String,
    /// Where it stands, with its quotes.
    pub location: Location,
}

/// The `[policy]` table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Hosts that providers may come from.
    pub allowed_hosts: Option<Vec<Hostname>>,
    /// Namespaces, with their host, that providers may come from.
    pub allowed_namespaces: Option<Vec<Unread>>,
    /// Whether every provider must be signed.
    pub require_signed: bool,
    /// How old a version must be to be chosen by `upgrade`, or by `lock` as the first of a provider.
    pub min_age: Option<Duration>,
    /// Providers that `min_age` does not hold for.
    pub min_age_exempt: Vec<Unread>,
}

/// One line of the `[trust]` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRule {
    /// Providers: an address in which `*` stands for any namespace or type.
    pub providers: Unread,
    /// Full fingerprints of the accepted signing keys, upper-case hexadecimal digits.
    pub fingerprints: Vec<String>,
}

/// One platform, `OS_ARCH`, or `all`.
impl FromStr for PlatformSelection {
    type Err = PlatformError;

    fn from_str(text: &str) -> std::result::Result<Self, PlatformError> {
        if text == "all" { Ok(Self::All) } else { Ok(Self::These(vec![text.parse()?])) }
    }
}

/// What any of several selections selects.
impl FromIterator<Self> for PlatformSelection {
    fn from_iter<I: IntoIterator<Item = Self>>(selections: I) -> Self {
        let mut platforms = Vec::new();
        for selection in selections {
            match selection {
                Self::All => return Self::All,
                Self::These(these) => platforms.extend(these),
            }
        }
        platforms.sort();
        platforms.dedup();
        Self::These(platforms)
    }
}

impl Unread {
    /// Reads the value of `key`.
    ///
    /// # Errors
    /// What is wrong with it, at its place.
    pub fn read<T, E: fmt::Display>(
        &self,
        key: &str,
        read: impl FnOnce(&str) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let Self { text, location } = self;
        read(text).map_err(|error| {
            let message = format!("{key} holds {text:?}: {error}");
            Diagnostic::error(Code::InvalidArgument, message).at(location.clone(), "").into()
        })
    }
}

impl Settings {
    /// Finds and reads the settings of a root module: the nearest `provlock.toml`, from `root` upwards to the directory
    /// that holds `.git`, or to the file system's root.
    ///
    /// `root` must be absolute; `shown` turns a path into the one that diagnostics show.
    pub fn find(root: &Path, shown: impl Fn(&Path) -> PathBuf) -> Result<Self> {
        for directory in root.ancestors() {
            let path = directory.join(FILE_NAME);
            let text = regular_file::read(&path, SIZE_LIMIT).and_then(|bytes| {
                String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
            });
            match text {
                Ok(text) => return Self::parse(&SourceFile::new(shown(&path), text), path),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(Diagnostic::io("read", &shown(&path), &error).into()),
            }
            if directory.join(".git").exists() {
                break;
            }
        }
        Ok(Self::default())
    }

    /// Reads the text of a settings file. Unknown keys and values of the wrong kind are errors at their position.
    pub fn parse(source: &Arc<SourceFile>, path: PathBuf) -> Result<Self> {
        file::parse(source, path)
    }
}

/// Reads a glob over paths, in which `*` stands for no `/`.
pub fn parse_glob(text: &str) -> std::result::Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).build()
}

/// Reads a duration such as `7d`, `36h` or `2w`.
pub fn parse_duration(text: &str) -> std::result::Result<Duration, String> {
    let invalid = || format!("{text:?} is not a duration; write a number and a unit, for example 7d or 36h");
    let span: jiff::Span = text.parse().map_err(|_| invalid())?;
    let seconds = span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours())).map_err(|_| invalid())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| invalid())
}

fn error_at(source: &Arc<SourceFile>, span: std::ops::Range<usize>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::InvalidArgument, message).at(Location::new(source, span), "")
}

#[cfg(test)]
mod tests;
