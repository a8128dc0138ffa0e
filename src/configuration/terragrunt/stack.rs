//! What directories of Terragrunt's are.

use std::path::Path;

/// Where a directory with a `terragrunt.hcl` comes from, by its path alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody wrote it.
    Written,
    /// `terragrunt stack generate` copied it below `.terragrunt-stack`. It is a unit like others, if it is tracked.
    Stack,
    /// It is in a `.terragrunt-cache`, which is no place for units, and whose files may be hard links.
    Cache,
}

/// Tells the origin of a directory in a repository from its path relative to the repository's top.
pub fn origin(directory: &Path) -> Origin {
    let has = |name: &str| directory.components().any(|component| component.as_os_str() == name);
    if has(".terragrunt-cache") {
        Origin::Cache
    } else if has(".terragrunt-stack") {
        Origin::Stack
    } else {
        Origin::Written
    }
}
