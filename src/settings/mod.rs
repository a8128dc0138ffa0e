//! Project settings: `provlock.toml`.

mod comparison;
mod file;
mod levels;
mod module_pattern;
mod policy;
mod search;
mod values;
mod without_platforms;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use globset::Glob;
use serde::Deserialize;

use crate::diagnostic::Location;
use crate::provider::{Dialect, Platform, PlatformError, SharedCache};

pub use comparison::{ComparedSettings, SettingsDifference};
pub use levels::{Denied, FileLevels, LevelOverride, Levels, PathLevels};
pub(crate) use levels::{RootLevels, is_match};
pub(crate) use module_pattern::ModuleOrigin;
pub use module_pattern::{ModulePattern, ModulePatternError};
pub use policy::{Policy, ProviderRule, Rules, TrustRule};
pub(crate) use search::read_in;
pub use search::{SettingsAbove, SettingsFiles, read};
pub use without_platforms::{MissingPlatform, WithoutPlatforms};

/// Name of the settings file.
pub const FILE_NAME: &str = "provlock.toml";

/// The first line of a settings file, by which editors find the schema
/// (<https://taplo.tamasfe.dev/configuration/directives.html>), if it is known where the project's repository is.
pub(crate) fn schema_directive() -> Option<String> {
    let repository = env!("CARGO_PKG_REPOSITORY");
    (!repository.is_empty())
        .then(|| format!("#:schema {repository}/raw/main/docs/provlock.schema.json"))
}

/// Settings of a project's settings files; all are optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The files that were read, the nearest first.
    pub paths: Vec<PathBuf>,
    /// The files that were not read, because they belong to other users.
    pub of_other_users: Vec<PathBuf>,
    /// The program whose rules apply.
    pub dialect: Option<Dialect>,
    /// The platforms to lock.
    pub platforms: Option<PlatformSelection>,
    /// Platforms for which providers have no package.
    pub without_platforms: WithoutPlatforms,
    /// Whether modules that are not installed are fetched.
    pub fetch_modules: Option<bool>,
    /// Whether the modules are locked, too.
    pub lock_modules: Option<bool>,
    /// The mirror from which locked modules are installed.
    pub modules_mirror: Option<PathBuf>,
    /// Filters of root modules for a recursive search, which finds the root modules that every
    /// filter accepts.
    pub roots: Vec<RootFilter>,
    /// The policy of the project.
    pub policy: Policy,
    /// The levels of findings in each file, the nearest first.
    pub verify: Vec<FileLevels>,
    /// Repository in which facts about packages are shared, with the keys that may sign them.
    pub cache: Option<CacheTable>,
}

/// The `[cache]` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheTable {
    /// Repository in which facts are shared, with the trusted keys.
    pub shared: SharedCache,
    /// Location of the table.
    pub location: Location,
}

/// Platforms whose packages are locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlatformSelection {
    /// Every platform that the source lists for the selected version.
    All,
    /// These, sorted and without duplicates.
    These(Vec<Platform>),
}

/// Globs over directories: the `[roots]` table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "roots"))]
pub struct RootFilter {
    /// The absolute directory of the settings file. The globs are relative to it.
    #[serde(skip)]
    pub base: PathBuf,
    /// Globs of directories. Only these are root modules, and a path without a glob makes any
    /// directory one.
    #[serde(deserialize_with = "values::globs")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub include: Vec<Glob>,
    /// Globs of excluded directories.
    #[serde(deserialize_with = "values::globs")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub exclude: Vec<Glob>,
}

impl Settings {
    /// Repository in which facts about packages are shared, with the trusted keys.
    pub fn shared_cache(&self) -> Option<&SharedCache> {
        self.cache.as_ref().map(|table| &table.shared)
    }

    /// Adds the rules and platforms for a different root module with the same lock file, whose
    /// entries must be right for both.
    pub(crate) fn add_sharing(&mut self, other: Self) {
        for rules in other.policy.rules {
            if !self.policy.rules.contains(&rules) {
                self.policy.rules.push(rules);
            }
        }
        self.without_platforms.extend(other.without_platforms);
        let platforms = [self.platforms.take(), other.platforms];
        if platforms.iter().any(Option::is_some) {
            self.platforms = Some(platforms.into_iter().flatten().collect());
        }
    }
}

impl PlatformSelection {
    /// The platforms that it names, none if it is `all`.
    pub(crate) fn named(&self) -> &[Platform] {
        match self {
            Self::All => &[],
            Self::These(platforms) => platforms,
        }
    }
}

/// One platform, `OS_ARCH`, or `all`.
impl FromStr for PlatformSelection {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        if text == "all" {
            Ok(Self::All)
        } else {
            Ok(Self::These(vec![Platform::parse_written(text)?]))
        }
    }
}

/// The union of several selections.
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

/// Reads a duration such as `7d`, `36h` or `2w`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    match seconds(text) {
        Some(duration) => Ok(duration),
        None => Err(format!(
            "{text:?} is not a duration; write a number and a unit, for example 7d or 36h"
        )),
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let span: jiff::Span = text.parse().ok()?;
    let days_of_24_hours = jiff::SpanRelativeTo::days_are_24_hours();
    let seconds = span.total((jiff::Unit::Second, days_of_24_hours)).ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests;
