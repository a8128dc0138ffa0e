//! What the process was started with: variables and directories, as values for the library.

use std::path::PathBuf;

use provlock::cli_config::Environment;

/// Reads the process environment once.
pub(crate) fn environment() -> Environment {
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Environment {
        variables: variables.collect(),
        home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
        current_directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
    }
}
