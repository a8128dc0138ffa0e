//! Directories in which OpenTofu and Terraform look for CLI configuration files, helper programs
//! and providers.

#![expect(
    clippy::disallowed_methods,
    reason = "the CLI configuration is the user's, and no part of a revision"
)]

use std::path::{Path, PathBuf};

use crate::provider::{Dialect, Platform};
use crate::system::Environment;

/// The directory of OpenTofu and Terraform in the home directory.
const DATA_DIRECTORY: &str = if cfg!(windows) {
    "terraform.d"
} else {
    ".terraform.d"
};

/// The file that a variable names in place of all other files (`TF_CLI_CONFIG_FILE`, formerly
/// `TERRAFORM_CONFIG`), with the name of the variable.
pub(super) fn only_file(environment: &Environment) -> Option<(&'static str, PathBuf)> {
    for variable in ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"] {
        if let Some(path) = environment.os_variable(variable) {
            return Some((variable, environment.current_directory.join(path)));
        }
    }
    None
}

/// The main configuration files in the order of the search. The first that exists is read.
pub(super) fn main_files(environment: &Environment, dialect: Dialect) -> Vec<PathBuf> {
    let names: &[&str] = match (dialect, cfg!(windows)) {
        (Dialect::Tofu, false) => &[".tofurc", ".terraformrc"],
        (Dialect::Terraform, false) => &[".terraformrc"],
        (Dialect::Tofu, true) => &["tofu.rc", "terraform.rc"],
        (Dialect::Terraform, true) => &["terraform.rc"],
    };
    let base = find_base_directory(environment);
    let mut files: Vec<_> = names
        .iter()
        .filter_map(|name| Some(base.as_ref()?.join(name)))
        .collect();
    files.extend(
        xdg_directory(environment, dialect, "XDG_CONFIG_HOME")
            .map(|directory| directory.join("tofurc")),
    );
    files
}

/// The directory of `*.tfrc` files and of `credentials.tfrc.json`.
pub(super) fn directory(environment: &Environment, dialect: Dialect) -> Option<PathBuf> {
    directory_in(environment, dialect, "XDG_CONFIG_HOME")
}

/// The directories of helper programs: OpenTofu's and Terraform's default search path for plugins.
pub(super) fn plugin_directories(environment: &Environment, dialect: Dialect) -> Vec<PathBuf> {
    let platform = Platform::current().to_string();
    let own = find_base_directory(environment).map(|base| base.join(DATA_DIRECTORY));
    [own, xdg_directory(environment, dialect, "XDG_DATA_HOME")]
        .into_iter()
        .flatten()
        .flat_map(|directory| {
            let plugins = directory.join("plugins");
            [plugins.clone(), plugins.join(&platform)]
        })
        .collect()
}

/// The directories that serve as filesystem mirrors without being configured, whether or not they
/// exist.
///
/// Without a `provider_installation` block, OpenTofu and Terraform use them before the registry.
pub(crate) fn implied_mirrors(environment: &Environment, dialect: Dialect) -> Vec<PathBuf> {
    let mut directories = vec![environment.current_directory.join("terraform.d/plugins")];
    directories.extend(
        directory_in(environment, dialect, "XDG_DATA_HOME").map(|data| data.join("plugins")),
    );
    directories.extend(
        system_data_directories(environment)
            .into_iter()
            .map(|directory| directory.join("plugins")),
    );
    directories
}

/// The platform's directories for application data: the user's first, then the machine's.
fn system_data_directories(environment: &Environment) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    if cfg!(windows) {
        for variable in ["APPDATA", "PROGRAMDATA"] {
            if let Some(root) = environment.path_variable(variable) {
                directories.push(root.join("HashiCorp").join("Terraform"));
            }
        }
        return directories;
    }
    if cfg!(target_os = "macos") {
        if let Some(home) = &environment.home {
            directories.push(home.join("Library/Application Support/io.terraform"));
        }
        directories.push("/Library/Application Support/io.terraform".into());
        return directories;
    }

    if let Some(data) = environment.path_variable("XDG_DATA_HOME") {
        directories.push(data.join("terraform"));
    } else if let Some(home) = &environment.home {
        directories.push(home.join(".local/share/terraform"));
    }
    // The default is the one of the XDG Base Directory Specification.
    let machine = environment
        .os_variable("XDG_DATA_DIRS")
        .unwrap_or("/usr/local/share:/usr/share".as_ref());
    for root in std::env::split_paths(machine) {
        if !root.as_os_str().is_empty() {
            directories.push(root.join("terraform"));
        }
    }
    directories
}

/// `~/.terraform.d`; if it does not exist, OpenTofu's directory below that of the XDG variable, if
/// that is set.
fn directory_in(
    environment: &Environment,
    dialect: Dialect,
    xdg_variable: &str,
) -> Option<PathBuf> {
    let own = find_base_directory(environment).map(|base| base.join(DATA_DIRECTORY));
    if own.as_deref().is_some_and(Path::exists) {
        own
    } else {
        xdg_directory(environment, dialect, xdg_variable).or(own)
    }
}

/// OpenTofu's directory below that of an XDG variable, which it does not read on Windows.
fn xdg_directory(environment: &Environment, dialect: Dialect, variable: &str) -> Option<PathBuf> {
    let is_read = dialect == Dialect::Tofu && !cfg!(windows);
    if is_read {
        environment
            .path_variable(variable)
            .map(|xdg| xdg.join("opentofu"))
    } else {
        None
    }
}

/// The directory of OpenTofu's and Terraform's per-user files.
fn find_base_directory(environment: &Environment) -> Option<PathBuf> {
    if cfg!(windows) {
        environment.path_variable("APPDATA")
    } else {
        environment.home.clone()
    }
}
