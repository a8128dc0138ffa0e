//! Files in a directory into which Terragrunt downloads modules.

use std::path::Path;

use super::file_effect::Effect;
use crate::configuration::terragrunt::CACHE;
use crate::system::Tree;

/// File of a downloaded module with the version of its source. If it is up to date, Terragrunt
/// downloads nothing (`alreadyHaveLatestCode` in `internal/runner/run/download_source.go`). The
/// directory may have any name (`download_dir`).
const VERSION_FILE: &str = ".terragrunt-source-version";

/// The effect of a changed file, given its path in the repository and its path on disk. Without
/// this, the source of a unit could stay as it is, while Terragrunt runs a different module.
pub(super) fn effect(inside: &Path, path: &Path) -> Option<Effect> {
    let is_in_cache = inside
        .iter()
        .any(|part| part.eq_ignore_ascii_case(CACHE) || part.eq_ignore_ascii_case(VERSION_FILE));
    if !is_in_cache || !Tree::Work.exists(path) {
        return None;
    }
    let effect = "is where Terragrunt finds a downloaded module in place of the source of a unit";
    Some(Effect::not_decided(effect))
}
