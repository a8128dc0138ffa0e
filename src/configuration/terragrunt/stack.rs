//! Stacks, from which Terragrunt generates units (<https://terragrunt.gruntwork.io/docs/features/stacks/>). provlock
//! reads the units of the repository where they are, and evaluates no stack.

use std::path::Path;

use hcl_edit::Span;
use hcl_edit::structure::{Attribute, Block};

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::{parse, scan};
use crate::lockfile::SIZE_LIMIT;
use crate::system::files;

/// Block that includes a different file.
pub(crate) const INCLUDE: &str = "include";

/// Name of the file of a stack.
pub(crate) const STACK: &str = "terragrunt.stack.hcl";

/// Returns the locations in a stack's file of sources that are not plain paths below the top of the
/// repository, of [`INCLUDE`] and of blocks in units, and of paths of units that replace files of
/// the repository; that of the file if it cannot be read.
pub(crate) fn unread_units(
    path: &Path,
    shown: &Path,
    top: &Path,
    has_files: impl Fn(&Path) -> bool,
) -> Vec<Location> {
    let unreadable = || vec![Location::of_file(shown)];
    // A link could resolve to a file that must not be quoted.
    if path.is_symlink() {
        return unreadable();
    }
    let Ok(Ok(text)) = files::read(path, SIZE_LIMIT).map(String::from_utf8) else {
        return unreadable();
    };
    if scan::lone_return(text.as_bytes()).is_some() {
        return unreadable();
    }
    let Ok(body) = parse::body(&text) else {
        return unreadable();
    };
    let file = SourceFile::new(shown, text);
    let directory = path.parent().unwrap_or(path);
    // `"./units/a"` or `"${get_repo_root()}/units/a"`
    let is_local = |source: &Attribute| {
        let written = &file.text[source.value.span().unwrap_or_default()];
        let below = written
            .strip_prefix("\"${get_repo_root()}/")
            .and_then(|rest| rest.strip_suffix('"'));
        let below = below
            .filter(|below| !below.contains(['$', '%', '\\', '"']))
            .map(|below| files::join(top, below));
        let relative = source
            .value
            .as_str()
            .filter(|source| source.starts_with('.'));
        below
            .or(relative.map(|source| files::join(directory, source)))
            .is_some_and(|path| path.starts_with(top))
    };
    let is_free = |path: &str| !has_files(&files::join(directory, path));
    let attribute = |block: &Block, name: &str| block.body.get_attribute(name).cloned();
    let mut unread = Vec::new();
    for block in body.blocks() {
        let source = attribute(block, "source").filter(|source| !is_local(source));
        let elsewhere = attribute(block, "no_dot_terragrunt_stack");
        let is_elsewhere =
            elsewhere.is_some_and(|elsewhere| elsewhere.value.as_bool() != Some(false));
        let path = if is_elsewhere {
            attribute(block, "path")
        } else {
            None
        };
        let path = path.filter(|path| !path.value.as_str().is_some_and(is_free));
        unread.extend(
            source
                .into_iter()
                .chain(path)
                .map(|attribute| attribute.value.span()),
        );
        if block.ident.as_str() == INCLUDE {
            unread.push(block.ident.span());
        }
        unread.extend(block.body.blocks().map(|inner| inner.ident.span()));
    }
    unread
        .into_iter()
        .map(|span| Location::new(&file, span.unwrap_or_default()))
        .collect()
}
