//! Stacks in a change under review: what they generate from elsewhere.

use std::path::Path;
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::{Attribute, Block, Body};

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::{parse, scan};
use crate::lockfile::SIZE_LIMIT;
use crate::system::{Tree, files};

/// Block that includes a different file.
pub(crate) const INCLUDE: &str = "include";

/// Name of the file of a stack.
pub(crate) const STACK: &str = "terragrunt.stack.hcl";

/// Directory beside a stack's file into which Terragrunt generates its units.
pub(crate) const GENERATED_UNITS: &str = ".terragrunt-stack";

/// The path in `"${get_repo_root()}/units/a"`, if nothing else in it is an expression.
fn below_top(written: &str) -> Option<&str> {
    let rest = written.strip_prefix("\"${get_repo_root()}/")?;
    let below = rest.strip_suffix('"')?;
    if below.contains(['$', '%', '\\', '"']) {
        return None;
    }
    Some(below)
}

/// Returns the locations at which a stack's file creates units that provlock does not read:
///
/// - sources that are not plain paths below the top of the repository,
/// - paths of units that are generated over files of the repository, or that are computed,
/// - [`INCLUDE`] blocks,
/// - blocks in other blocks.
///
/// If the file cannot be read, returns the location of the file. `has_files` is whether a directory
/// has other files than users keep beside a generated unit.
pub(crate) fn unread_locations(
    tree: &Tree,
    path: &Path,
    shown: &Path,
    top: &Path,
    has_files: impl Fn(&Path) -> bool,
) -> Vec<Location> {
    let Some((file, body)) = parsed_stack(tree, path, shown) else {
        return vec![Location::of_file(shown)];
    };
    let directory = path.parent().unwrap_or(path);

    let mut unread = Vec::new();
    for block in body.blocks() {
        if let Some(source) = block.body.get_attribute("source")
            && !is_below_top(source, &file, directory, top)
        {
            unread.push(source.value.span());
        }

        // Such a unit is written beside the stack's file, where other files may be.
        if is_outside_of_generated_units(block)
            && let Some(unit_path) = block.body.get_attribute("path")
        {
            let replaces_files = match unit_path.value.as_str() {
                Some(unit_path) => has_files(&files::join(directory, unit_path)),
                None => true,
            };
            if replaces_files {
                unread.push(unit_path.value.span());
            }
        }

        if block.ident.as_str() == INCLUDE {
            unread.push(block.ident.span());
        }
        for inner in block.body.blocks() {
            unread.push(inner.ident.span());
        }
    }
    unread
        .into_iter()
        .map(|span| Location::new(&file, span.unwrap_or_default()))
        .collect()
}

/// Reads and parses a stack's file. Returns `None` if Terragrunt would read it in a different way,
/// or not at all.
fn parsed_stack(tree: &Tree, path: &Path, shown: &Path) -> Option<(Arc<SourceFile>, Body)> {
    // A link could resolve to a file that must not be quoted.
    if tree.is_symlink(path) {
        return None;
    }
    let bytes = tree.read(path, SIZE_LIMIT).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    if scan::find_lone_return(text.as_bytes()).is_some() {
        return None;
    }
    let body = parse::body(&text).ok()?;
    Some((SourceFile::new(shown, text), body))
}

/// Whether a source is a path below the top of the repository: `"./units/a"` or
/// `"${get_repo_root()}/units/a"`. `directory` is that of the stack's file.
fn is_below_top(source: &Attribute, file: &SourceFile, directory: &Path, top: &Path) -> bool {
    let written = &file.text[source.value.span().unwrap_or_default()];
    if let Some(below) = below_top(written) {
        return files::join(top, below).starts_with(top);
    }
    match source.value.as_str() {
        Some(path) => path.starts_with('.') && files::join(directory, path).starts_with(top),
        None => false,
    }
}

/// Whether a unit is, or may be, generated outside of [`GENERATED_UNITS`].
fn is_outside_of_generated_units(block: &Block) -> bool {
    match block.body.get_attribute("no_dot_terragrunt_stack") {
        Some(attribute) => attribute.value.as_bool() != Some(false),
        None => false,
    }
}
