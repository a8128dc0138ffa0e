//! Files in a directory into which Terragrunt downloads modules.

use std::path::Path;

use super::file_effect::Effect;
use crate::project::reviewed_change::file_name;
use crate::system::Tree;

/// File of a downloaded module with the version of its source. If it is up to date, Terragrunt
/// downloads nothing (`alreadyHaveLatestCode` in `internal/runner/run/download_source.go`);
/// without it, it downloads the module again. The directory may have any name (`download_dir`).
const VERSION_FILE: &str = ".terragrunt-source-version";

/// The effect of a changed file, given its path on disk, in a repository with this top. Without
/// this, the source of a unit could stay as it is, while Terragrunt runs a different module.
pub(super) fn effect(top: &Path, path: &Path) -> Option<Effect> {
    let mut is_of_module = file_name(path).eq_ignore_ascii_case(VERSION_FILE);
    for directory in path.ancestors().skip(1) {
        if !directory.starts_with(top) {
            break;
        }
        is_of_module |= Tree::Work.exists(&directory.join(VERSION_FILE));
    }
    if !is_of_module || !Tree::Work.exists(path) {
        return None;
    }
    let effect = "is where Terragrunt finds a downloaded module in place of the source of a unit";
    Some(Effect::needs_owner(effect))
}
