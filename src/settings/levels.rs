//! What becomes of findings: what `[verify]` of provlock.toml says, and what a caller says.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use globset::Glob;

use super::globs::is_match;
use crate::diagnostic::{Code, Diagnostic, Severity};

/// What becomes of a finding; a stricter level is a greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Allow,
    Warn,
    Deny,
}

/// What is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Whatever is a warning.
    Warnings,
    /// Findings with this code.
    Code(Code),
}

/// Findings by what becomes of them. `deny` wins over `warn`, and that over `allow`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// These are errors.
    pub deny: Vec<Denied>,
    /// These are warnings.
    pub warn: Vec<Code>,
    /// These are left out.
    pub allow: Vec<Code>,
}

/// The `[verify]` table of one settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLevels {
    /// The directory that the globs are relative to: that of the settings file, absolute.
    pub base: PathBuf,
    /// What holds for all root modules.
    pub levels: Levels,
    /// What holds for some, and wins over `levels`; of several the last one that names a finding.
    pub paths: Vec<PathLevels>,
}

/// What holds for some root modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathLevels {
    /// Their directories.
    pub paths: Vec<Glob>,
    /// What holds there.
    pub levels: Levels,
}

/// What the settings files say of the findings in one root module. Of several files the strictest counts, so that a nearer one
/// loosens nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RootLevels(Vec<Vec<Levels>>);

/// `warnings`, or the code of a finding.
impl FromStr for Denied {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "warnings" { Ok(Self::Warnings) } else { text.parse().map(Self::Code) }
    }
}

impl Levels {
    fn level(&self, code: Code) -> Option<Level> {
        if self.deny.contains(&Denied::Code(code)) {
            Some(Level::Deny)
        } else if self.warn.contains(&code) {
            Some(Level::Warn)
        } else {
            self.allow.contains(&code).then_some(Level::Allow)
        }
    }

    fn denies_warnings(&self) -> bool {
        self.deny.contains(&Denied::Warnings)
    }

    /// A finding as these levels, which are a caller's, and below them those of the settings leave it; none if it is allowed.
    pub(crate) fn applied(&self, mut finding: Diagnostic, settings: &RootLevels) -> Option<Diagnostic> {
        let named = self.level(finding.code);
        match named.or_else(|| settings.level(&finding)) {
            Some(Level::Allow) => return None,
            Some(Level::Warn) => finding.severity = Severity::Warning,
            Some(Level::Deny) => finding.severity = Severity::Error,
            None => {}
        }
        if named.is_none() && self.denies_warnings() {
            finding.severity = Severity::Error;
        }
        Some(finding)
    }
}

impl RootLevels {
    /// What files say of the root module in a directory, which is absolute and without symlinks.
    pub(crate) fn at(directory: &Path, files: &[FileLevels]) -> Self {
        let of_file = |file: &FileLevels| {
            let is_meant = |table: &&PathLevels| {
                table
                    .paths
                    .iter()
                    .any(|glob| is_match(&file.base, directory, |path| glob.compile_matcher().is_match(path)))
            };
            let tables = file.paths.iter().rev().filter(is_meant).map(|table| &table.levels);
            tables.chain([&file.levels]).cloned().collect()
        };
        Self(files.iter().map(of_file).collect())
    }

    fn level(&self, finding: &Diagnostic) -> Option<Level> {
        let of_file = |file: &Vec<Levels>| {
            let is_denied = finding.severity == Severity::Warning && file.iter().any(Levels::denies_warnings);
            let named = file.iter().find_map(|levels| levels.level(finding.code));
            named.or(is_denied.then_some(Level::Deny))
        };
        self.0.iter().filter_map(of_file).max()
    }
}
