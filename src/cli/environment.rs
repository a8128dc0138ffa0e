//! What the process was started with: variables and directories, as values for the library.

use std::path::PathBuf;

use provlock::cli_config::Environment;

/// Reads the process environment once.
pub(crate) fn environment() -> Environment {
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Environment {
        variables: variables.collect(),
        home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
        current_directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
    }
}

/// Where programs of this system keep what they can make again, with a folder for this one.
pub(crate) fn cache_directory(environment: &Environment) -> Option<PathBuf> {
    let home = |path: &str| environment.home.as_ref().map(|home| home.join(path));
    let base = if cfg!(windows) {
        environment.variable("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        home("Library/Caches")
    } else {
        let set = environment.variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        set.or_else(|| home(".cache"))
    };
    base.map(|base| base.join("provlock"))
}
