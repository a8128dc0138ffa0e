//! Stacks, from which Terragrunt generates units (<https://terragrunt.gruntwork.io/docs/features/stacks/>). provlock
//! reads the units of the repository where they are, and evaluates no stack.

use std::path::Path;

use hcl_edit::Span;

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::parse;
use crate::lockfile::SIZE_LIMIT;
use crate::system::files;

/// Name of the file of a stack.
pub(crate) const STACK: &str = "terragrunt.stack.hcl";

/// Returns the locations of the sources in a stack's file that are not plain paths below the top of the repository;
/// that of the file if it cannot be read.
pub(crate) fn remote_units(path: &Path, shown: &Path, top: &Path) -> Vec<Location> {
    let unreadable = || vec![Location::of_file(shown)];
    // A link could resolve to a file that must not be quoted.
    if path.is_symlink() {
        return unreadable();
    }
    let Ok(Ok(text)) = files::read(path, SIZE_LIMIT).map(String::from_utf8) else { return unreadable() };
    let Ok(body) = parse::body(&text) else { return unreadable() };
    let file = SourceFile::new(shown, text);
    let is_local = |source: &str| {
        let directory = path.parent().map(|directory| files::join(directory, source));
        source.starts_with('.') && directory.is_some_and(|directory| directory.starts_with(top))
    };
    let sources = body.blocks().filter_map(|block| block.body.get_attribute("source"));
    let remote = sources.filter(|source| !source.value.as_str().is_some_and(is_local));
    remote.map(|source| Location::new(&file, source.value.span().unwrap_or_default())).collect()
}
