//! The levels of findings, from `[verify]` of provlock.toml and from a caller.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use globset::Glob;

use crate::diagnostic::{Code, Diagnostic, Reason, Severity};

/// The level of a finding. A stricter level is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Allow,
    Warn,
    Deny,
}

/// A kind of findings that are denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, derive_more::Display)]
pub enum Denied {
    /// All warnings.
    #[display("warnings")]
    Warnings,
    /// Findings with this code.
    Code(Code),
    /// Findings with this reason.
    Reason(Reason),
}

/// A severity override: a level and the findings that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelOverride {
    /// Findings that are errors.
    Deny(Denied),
    /// Findings that are warnings.
    Warn(Code),
    /// Findings that are omitted.
    Allow(Code),
}

/// Severity overrides in the order in which a user gives them. Of several for a code, the last
/// applies. An override for all warnings applies to codes without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels(pub Vec<LevelOverride>);

/// The `[verify]` table of one settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLevels {
    /// The absolute directory of the settings file. The globs are relative to it.
    pub base: PathBuf,
    /// The levels for all root modules.
    pub levels: Levels,
    /// The levels for some root modules, which take precedence over `levels`. Of several, the last
    /// that names a finding applies.
    pub paths: Vec<PathLevels>,
}

/// The levels for some root modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathLevels {
    /// Their directories.
    pub paths: Vec<Glob>,
    /// Their levels.
    pub levels: Levels,
}

/// The levels from all settings files for one root module. The strictest applies, so a nearer file
/// cannot loosen anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RootLevels(Vec<Vec<Levels>>);

/// `warnings`, or the code or the reason of a finding.
impl FromStr for Denied {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "warnings" {
            Ok(Self::Warnings)
        } else {
            let reason = text.parse().map(Self::Reason);
            reason.or_else(|_| text.parse().map(Self::Code))
        }
    }
}

impl LevelOverride {
    /// The findings whose level it sets.
    pub(super) fn findings(self) -> Denied {
        match self {
            Self::Deny(denied) => denied,
            Self::Warn(code) | Self::Allow(code) => Denied::Code(code),
        }
    }

    /// The level for findings with a code and a reason, if the override is for these.
    fn level(self, code: Code, reason: Option<Reason>) -> Option<Level> {
        match self {
            Self::Deny(Denied::Code(own)) if own == code => Some(Level::Deny),
            Self::Deny(Denied::Reason(own)) if Some(own) == reason => Some(Level::Deny),
            Self::Warn(own) if own == code => Some(Level::Warn),
            Self::Allow(own) if own == code => Some(Level::Allow),
            _ => None,
        }
    }
}

impl Levels {
    /// Whether an override is for this code.
    pub(super) fn names(&self, code: Code) -> bool {
        self.level(code, None).is_some()
    }

    fn level(&self, code: Code, reason: Option<Reason>) -> Option<Level> {
        self.0.iter().rev().find_map(|one| one.level(code, reason))
    }

    pub(super) fn denies_warnings(&self) -> bool {
        self.0.contains(&LevelOverride::Deny(Denied::Warnings))
    }

    /// A finding with its level from these levels, which come from a caller, or else from the
    /// settings; none if it is allowed.
    pub(crate) fn applied(
        &self,
        mut finding: Diagnostic,
        settings: &RootLevels,
    ) -> Option<Diagnostic> {
        let named = self.level(finding.code, finding.reason);
        match named.or_else(|| settings.level(&finding)) {
            Some(Level::Allow) => return None,
            Some(Level::Warn) => finding.severity = Severity::Warning,
            Some(Level::Deny) => finding.severity = Severity::Error,
            None => {}
        }
        // What a flag names keeps its level, even if all warnings are denied.
        if named.is_none() && finding.severity == Severity::Warning && self.denies_warnings() {
            finding.severity = Severity::Error;
        }
        Some(finding)
    }
}

impl RootLevels {
    /// Levels of files, the nearest first; of each file, the levels that take precedence first.
    pub(super) fn new(files: Vec<Vec<Levels>>) -> Self {
        Self(files)
    }

    /// The levels from settings files for the root module in a directory, given as an absolute path
    /// without symlinks.
    pub(crate) fn at(directory: &Path, files: &[FileLevels]) -> Self {
        let mut levels_by_file = Vec::new();
        for file in files {
            let mut levels = Vec::new();
            // The last table that matches decides first, the file as a whole last.
            for table in file.paths.iter().rev() {
                if table.is_for(directory, &file.base) {
                    levels.push(table.levels.clone());
                }
            }
            levels.push(file.levels.clone());
            levels_by_file.push(levels);
        }
        Self(levels_by_file)
    }

    fn level(&self, finding: &Diagnostic) -> Option<Level> {
        let mut strictest = None;
        for file in &self.0 {
            let mut level = file
                .iter()
                .find_map(|levels| levels.level(finding.code, finding.reason));
            // Also for a finding that is an error already, so that no other file lowers it.
            if level.is_none()
                && finding.severity > Severity::Note
                && file.iter().any(Levels::denies_warnings)
            {
                level = Some(Level::Deny);
            }
            strictest = strictest.max(level);
        }
        strictest
    }
}

/// Whether globs that are relative to `base` match a directory, which is absolute and without
/// symlinks. `infra/**` matches `infra` itself, too, and `.` matches `base`.
pub(crate) fn is_match(base: &Path, directory: &Path, globs: impl Fn(&Path) -> bool) -> bool {
    let path = directory.strip_prefix(base).unwrap_or(directory);
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    globs(path) || globs(&path.join(""))
}

impl PathLevels {
    /// Whether the table is for a directory. Its globs are relative to `base`.
    fn is_for(&self, directory: &Path, base: &Path) -> bool {
        self.paths.iter().any(|glob| {
            is_match(base, directory, |path| {
                glob.compile_matcher().is_match(path)
            })
        })
    }
}
