//! Messages that several commands show.

use std::path::PathBuf;

use crate::cli::render::foreign::printable;
use crate::cli::render::style::enumerate;

/// Says that there is no root module below directories; below the current one if there are none.
pub(super) fn no_root_module(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| printable(&path.display().to_string())).collect();
    let places = if paths.is_empty() { ".".to_owned() } else { enumerate(&paths) };
    format!(
        "No root module in {places} or below: none has a backend, a lock file, or providers that it configures and uses; \
        to use one anyway, name its directory here or in [roots] of provlock.toml"
    )
}
