//! Where the two programs look for CLI configuration files, credentials and helper programs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::provider::{Dialect, Platform};
use crate::system::{Secrets, canonicalize};

/// How long a helper program may take unless it is set.
const HELPER_TIME_LIMIT: Duration = Duration::from_secs(30);

/// What the binary knows about its surroundings, as a value. `Debug` shows the names of the variables only.
#[derive(Clone, Default)]
pub struct Environment {
    /// The environment variables; those that are not Unicode are left out.
    pub variables: BTreeMap<String, String>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// What relative paths are relative to.
    pub current_directory: PathBuf,
    /// The secrets that were found in it, and that the run has learned since.
    pub secrets: Secrets,
}

impl Environment {
    /// The value of a variable that is set and not empty. On Windows `PATH` may be set as `Path`.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let in_other_case = || self.variables.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = match self.variables.get(name) {
            None if cfg!(windows) => in_other_case().map(|(_, value)| value),
            value => value,
        };
        value.map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether a program of this name is in a directory of `PATH`.
    pub fn has_program(&self, name: &str) -> bool {
        let file = program_name(name);
        let directories = std::env::split_paths(self.variable("PATH").unwrap_or_default());
        directories
            .filter(|directory| !directory.as_os_str().is_empty())
            .any(|directory| self.current_directory.join(directory).join(&file).is_file())
    }

    /// An absolute path without symlinks as the user knows it: relative to the current directory if it is below that.
    pub fn shown(&self, path: &Path) -> PathBuf {
        let current = canonicalize(&self.current_directory).ok();
        current.as_deref().and_then(|current| path.strip_prefix(current).ok()).unwrap_or(path).to_owned()
    }

    fn directory_variable(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from)
    }

    /// How long a helper program may take: `PROVLOCK_HELPER_TIMEOUT`, in seconds, else 30 seconds.
    pub(crate) fn helper_time_limit(&self) -> Duration {
        let seconds = self.variable("PROVLOCK_HELPER_TIMEOUT").and_then(|value| value.trim().parse().ok());
        seconds.filter(|seconds| *seconds > 0).map_or(HELPER_TIME_LIMIT, Duration::from_secs)
    }

    /// The file that a variable names in place of all others (`TF_CLI_CONFIG_FILE`, formerly `TERRAFORM_CONFIG`), with the
    /// name of the variable.
    pub(crate) fn configuration_override(&self) -> Option<(&'static str, PathBuf)> {
        ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"]
            .into_iter()
            .find_map(|variable| self.variable(variable).map(|path| (variable, self.current_directory.join(path))))
    }

    /// The main configuration files in the order they are looked for; the first that exists counts.
    pub(crate) fn configuration_files(&self, dialect: Dialect) -> Vec<PathBuf> {
        let names: &[&str] = match (dialect, cfg!(windows)) {
            (Dialect::Tofu, false) => &[".tofurc", ".terraformrc"],
            (Dialect::Terraform, false) => &[".terraformrc"],
            (Dialect::Tofu, true) => &["tofu.rc", "terraform.rc"],
            (Dialect::Terraform, true) => &["terraform.rc"],
        };
        let base = self.base();
        let mut files: Vec<_> = names.iter().filter_map(|name| Some(base.as_ref()?.join(name))).collect();
        if dialect == Dialect::Tofu && !cfg!(windows) {
            files.extend(self.directory_variable("XDG_CONFIG_HOME").map(|xdg| xdg.join("opentofu/tofurc")));
        }
        files
    }

    /// The directory of `*.tfrc` files and of `credentials.tfrc.json`.
    pub(crate) fn configuration_directory(&self, dialect: Dialect) -> Option<PathBuf> {
        self.directory(dialect, "XDG_CONFIG_HOME")
    }

    /// The directories of helper programs, the default plugin search of both programs.
    pub(crate) fn plugin_directories(&self, dialect: Dialect) -> Vec<PathBuf> {
        let platform = Platform::current().to_string();
        let own = self.base().map(|base| base.join(DATA_DIRECTORY));
        let xdg = self.directory_variable("XDG_DATA_HOME").map(|xdg| xdg.join("opentofu"));
        let xdg = xdg.filter(|_| dialect == Dialect::Tofu && !cfg!(windows));
        [own, xdg]
            .into_iter()
            .flatten()
            .flat_map(|directory| {
                let plugins = directory.join("plugins");
                [plugins.clone(), plugins.join(&platform)]
            })
            .collect()
    }

    /// The directories that serve as filesystem mirrors without being configured, whether or not they exist.
    ///
    /// Both programs put them before the registry when there is no `provider_installation` block.
    pub(crate) fn implied_mirror_directories(&self, dialect: Dialect) -> Vec<PathBuf> {
        let mut directories = vec![self.current_directory.join("terraform.d/plugins")];
        directories.extend(self.directory(dialect, "XDG_DATA_HOME").map(|data| data.join("plugins")));
        directories.extend(self.system_data_directories().into_iter().map(|directory| directory.join("plugins")));
        directories
    }

    /// The platform's own folders for an application's data: user first, then the machine's.
    fn system_data_directories(&self) -> Vec<PathBuf> {
        if cfg!(windows) {
            let roots = ["APPDATA", "PROGRAMDATA"].map(|name| self.directory_variable(name));
            return roots.into_iter().flatten().map(|root| root.join("HashiCorp").join("Terraform")).collect();
        }
        if cfg!(target_os = "macos") {
            let home = self.home.as_ref().map(|home| home.join("Library"));
            let roots = home.into_iter().chain([PathBuf::from("/Library")]);
            return roots.map(|library| library.join("Application Support/io.terraform")).collect();
        }
        let user = self
            .directory_variable("XDG_DATA_HOME")
            .or_else(|| self.home.as_ref().map(|home| home.join(".local/share")));
        let machine = self.variable("XDG_DATA_DIRS").unwrap_or("/usr/local/share:/usr/share").to_owned();
        let machine = machine.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect::<Vec<_>>();
        user.into_iter().chain(machine).map(|root| root.join("terraform")).collect()
    }

    /// `~/.terraform.d`, unless it does not exist and the XDG variable says where OpenTofu shall keep its files.
    fn directory(&self, dialect: Dialect, xdg_variable: &str) -> Option<PathBuf> {
        let own = self.base().map(|base| base.join(DATA_DIRECTORY));
        if dialect == Dialect::Terraform || cfg!(windows) || own.as_deref().is_some_and(Path::exists) {
            return own;
        }
        self.directory_variable(xdg_variable).map(|xdg| xdg.join("opentofu")).or(own)
    }

    /// Where per-user files of both programs begin.
    fn base(&self) -> Option<PathBuf> {
        if cfg!(windows) { self.directory_variable("APPDATA") } else { self.home.clone() }
    }
}

const DATA_DIRECTORY: &str = if cfg!(windows) { "terraform.d" } else { ".terraform.d" };

/// The name of a program file.
pub(crate) fn program_name(stem: &str) -> String {
    if cfg!(windows) { format!("{stem}.exe") } else { stem.to_owned() }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("home", &self.home)
            .field("current_directory", &self.current_directory)
            .finish_non_exhaustive()
    }
}
