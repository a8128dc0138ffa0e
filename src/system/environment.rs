//! The environment of a run, as a value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::diagnostic::{Code, Diagnostic};
use crate::system::{Secrets, canonicalize, files, variables};

/// Default time limit of a credentials helper.
const HELPER_TIME_LIMIT: Duration = Duration::from_secs(30);

/// Maximum time limit: 136 years can be added to any time.
const MOST_SECONDS: u64 = u32::MAX as u64;

/// The prefixes of variables that OpenTofu, Terraform, Terragrunt and provlock read.
const PREFIXES: [&str; 4] = ["TF_", "TG_", "OPENTOFU_", "PROVLOCK_"];

/// Variables with such a prefix whose value is a path, which may contain any bytes.
const PATHS: [&str; 4] = [
    "TF_CLI_CONFIG_FILE",
    "TF_DATA_DIR",
    "TF_PLUGIN_CACHE_DIR",
    variables::CACHE_DIR,
];

/// Variables whose value is a number. Any other value is ignored.
const NUMBERS: [&str; 7] = [
    "TF_REGISTRY_DISCOVERY_RETRY",
    "TF_PROVIDER_DOWNLOAD_RETRY",
    "TF_REGISTRY_CLIENT_TIMEOUT",
    variables::DOWNLOAD_TIMEOUT,
    variables::DOWNLOAD_MINIMUM_RATE,
    variables::HELPER_TIMEOUT,
    variables::GIT_TIMEOUT,
];

/// The environment of a run. `Debug` shows only the names of the variables.
#[derive(Clone, Default, derive_more::Debug)]
pub struct Environment {
    /// The environment variables as text. Bytes that are not UTF-8 are replaced by U+FFFD.
    #[debug("{:?}", variables.keys())]
    pub variables: BTreeMap<String, String>,
    /// The unchanged values that are not UTF-8.
    #[debug(skip)]
    pub undecodable: BTreeMap<String, OsString>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directory to which relative paths are relative.
    pub current_directory: PathBuf,
    /// Secrets from the environment, and secrets that the run has learned since.
    pub secrets: Secrets,
}

/// Whether a variable is read, and as text.
fn is_read_as_text(name: &str) -> bool {
    if name.to_ascii_uppercase().ends_with("_PROXY") {
        return true;
    }
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !PATHS.contains(&name)
}

impl Environment {
    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: OsString) {
        match value.into_string() {
            Ok(text) => drop(self.variables.insert(name.to_owned(), text)),
            Err(value) => {
                self.variables
                    .insert(name.to_owned(), value.to_string_lossy().into_owned());
                self.undecodable.insert(name.to_owned(), value);
            }
        }
    }

    /// The value of a variable that is set and not empty. On Windows `PATH` may be set as `Path`.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.find(name).map(|(_, value)| value)
    }

    /// [`Environment::variable`] with any bytes.
    pub(crate) fn os_variable(&self, name: &str) -> Option<&OsStr> {
        let (name, text) = self.find(name)?;
        Some(
            self.undecodable
                .get(name)
                .map_or(text.as_ref(), OsString::as_os_str),
        )
    }

    /// The path in a variable that is set and not empty.
    pub fn path_variable(&self, name: &str) -> Option<PathBuf> {
        self.os_variable(name).map(PathBuf::from)
    }

    fn find(&self, name: &str) -> Option<(&str, &str)> {
        let mut variable = self.variables.get_key_value(name);
        if variable.is_none() && cfg!(windows) {
            variable = self
                .variables
                .iter()
                .find(|(other, _)| other.eq_ignore_ascii_case(name));
        }
        let (name, value) = variable?;
        if value.is_empty() {
            return None;
        }
        Some((name, value))
    }

    /// A warning for each variable that is read as text and is not UTF-8, or whose number is
    /// ignored.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        for name in self.undecodable.keys() {
            if is_read_as_text(name) {
                let message = format!("the environment variable {name} is not UTF-8 text");
                warnings.push(
                    Diagnostic::warning(Code::InvalidArgument, message)
                        .note("bytes that are not UTF-8 were replaced by U+FFFD"),
                );
            }
        }
        for name in NUMBERS {
            warnings.extend(self.ignored_number(name));
        }
        warnings
    }

    /// A warning if the value of a variable is ignored because it is not a number.
    fn ignored_number(&self, name: &str) -> Option<Diagnostic> {
        let value = self.variable(name)?;
        // A value that is not UTF-8 has a warning already.
        if self.undecodable.contains_key(name) {
            return None;
        }
        let (is_valid, number) = if name.ends_with("_TIMEOUT") {
            (self.seconds(name).is_some(), "a positive number")
        } else {
            (self.number::<u32>(name).is_some(), "a number")
        };
        if is_valid {
            return None;
        }
        let message =
            format!("the environment variable {name} is {value:?}, which is not {number}");
        Some(Diagnostic::warning(Code::InvalidArgument, message).note("it is ignored"))
    }

    /// Whether a program of this name is in a directory of `PATH`.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let file = program_name(name);
        let directories = std::env::split_paths(self.os_variable("PATH").unwrap_or_default());
        directories
            .filter(|directory| !directory.as_os_str().is_empty())
            .any(|directory| self.current_directory.join(directory).join(&file).is_file())
    }

    /// An absolute path without symlinks as the user knows it: relative to the current directory if
    /// it is below that, or in a directory around it.
    pub fn shown_path(&self, path: &Path) -> PathBuf {
        let current = canonicalize(&self.current_directory).ok();
        current
            .and_then(|current| files::relative(path, &current))
            .unwrap_or_else(|| path.to_owned())
    }

    /// The number in a variable. As in OpenTofu, any other value is treated as unset.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.variable(name)?.trim().parse().ok()
    }

    /// The positive number of seconds in a variable. Any other value is treated as unset.
    pub(crate) fn seconds(&self, name: &str) -> Option<Duration> {
        self.number::<u64>(name)
            .filter(|seconds| *seconds > 0)
            .map(|seconds| Duration::from_secs(seconds.min(MOST_SECONDS)))
    }

    /// Time limit of a credentials helper.
    pub(crate) fn helper_time_limit(&self) -> Duration {
        self.seconds(variables::HELPER_TIMEOUT)
            .unwrap_or(HELPER_TIME_LIMIT)
    }
}

/// The name of a program file.
pub(crate) fn program_name(stem: &str) -> String {
    if cfg!(windows) {
        format!("{stem}.exe")
    } else {
        stem.to_owned()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn what_is_not_text_stays_a_path_and_is_warned_about_where_it_is_read_as_text() {
        let value = || OsString::from_vec(b"/caf\xe9".to_vec());
        let mut environment = Environment::default();
        for name in [
            "PATH",
            "TF_DATA_DIR",
            "TF_VAR_region",
            "TF_REGISTRY_DISCOVERY_RETRY",
            "OTHER",
        ] {
            environment.set(name, value());
        }
        assert_eq!(
            environment.path_variable("TF_DATA_DIR"),
            Some(PathBuf::from(value()))
        );
        assert_eq!(environment.variable("TF_VAR_region"), Some("/caf\u{fffd}"));
        let warnings: Vec<_> = environment
            .warnings()
            .into_iter()
            .map(|warning| warning.message)
            .collect();
        let expected = ["TF_REGISTRY_DISCOVERY_RETRY", "TF_VAR_region"];
        assert_eq!(
            warnings,
            expected.map(|name| format!("the environment variable {name} is not UTF-8 text"))
        );
    }

    #[test]
    fn a_program_is_found_in_a_directory_of_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let bin = directory
            .path()
            .join(OsString::from_vec(b"caf\xe9".to_vec()));
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("tofu"), "").unwrap();
        let mut environment = Environment::default();
        environment.set("PATH", bin.into());
        assert!(environment.has_program("tofu") && !environment.has_program("terraform"));
    }
}
