//! Stacks, from which Terragrunt generates units (<https://terragrunt.gruntwork.io/docs/features/stacks/>). provlock
//! reads the units of the repository where they are. It evaluates no stack, but reads in it from
//! which directory of the repository a unit is generated.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::{Attribute, Block, Body};

use super::evaluation::{MAX_FILE_SIZE, Repository};
use super::unit::{is_unit, local_path};
use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::value::Unknown;
use crate::hcl::{parse, scan};
use crate::lockfile::SIZE_LIMIT;
use crate::system::{Tree, files};

/// Block that includes a different file.
pub(crate) const INCLUDE: &str = "include";

/// Name of the file of a stack.
pub(crate) const STACK: &str = "terragrunt.stack.hcl";

/// Directory beside a stack's file into which Terragrunt generates its units.
pub(crate) const GENERATED_UNITS: &str = ".terragrunt-stack";

/// Returns the directory of the repository from which Terragrunt generates a unit. `directory` is
/// that of the unit, absolute and without symbolic links; the unit itself need not exist.
///
/// # Errors
/// The source is not known, because a value is not a literal or because it is not a unit of the
/// repository.
pub(crate) fn source_of_unit(
    directory: &Path,
    repository: &Repository,
) -> Result<PathBuf, Unknown> {
    // The directory of the stack, and the unit's path below the generated units.
    let mut stack = PathBuf::new();
    let mut components = directory.components();
    for component in components.by_ref() {
        if component.as_os_str() == GENERATED_UNITS {
            break;
        }
        stack.push(component);
    }
    let unit_path = components.as_path();
    if unit_path
        .components()
        .any(|component| component.as_os_str() == GENERATED_UNITS)
    {
        return Err(Unknown::new("stacks in stacks are not read", None));
    }

    let path = stack.join(STACK);
    let file = match read_stack(&path, repository) {
        Ok(file) => file,
        Err(reason) => {
            let shown = repository.shown(&path);
            return Err(Unknown::new(format!("{} {reason}", shown.display()), None));
        }
    };
    let shown = file.path.display();
    let Ok(body) = parse::body(&file.text) else {
        return Err(Unknown::new(format!("{shown} cannot be parsed"), None));
    };

    let mut generating = Vec::new();
    let mut has_unknown_path = body.has_blocks(INCLUDE);
    for block in body.get_blocks("unit") {
        match literal(block, "path") {
            Some(path) if files::join(Path::new(""), path) == unit_path => generating.push(block),
            Some(_) => {}
            None => has_unknown_path = true,
        }
    }
    let reason = match generating[..] {
        [block] => return source_of_block(block, &stack, &file, repository),
        [] if has_unknown_path => format!("{shown} generates units whose paths are not literals"),
        [] => format!("no unit in {shown} has the path {}", unit_path.display()),
        _ => format!(
            "several units in {shown} have the path {}",
            unit_path.display()
        ),
    };
    Err(Unknown::new(reason, None))
}

/// Returns the text of a stack's file, or the reason why it is not read.
fn read_stack(path: &Path, repository: &Repository) -> Result<Arc<SourceFile>, &'static str> {
    // A link could resolve to a file that must not be quoted.
    let tree = repository.tree();
    if tree.is_symlink(path) {
        return Err("is a symbolic link");
    }
    if !tree.exists(path) {
        return Err("does not exist");
    }
    let text = tree.read(path, MAX_FILE_SIZE).map(String::from_utf8);
    let Ok(Ok(text)) = text else {
        return Err("cannot be read");
    };
    Ok(SourceFile::new(repository.shown(path), text))
}

/// The value of an attribute that is a string without references.
fn literal<'a>(block: &'a Block, name: &str) -> Option<&'a str> {
    block.body.get_attribute(name)?.value.as_str()
}

/// Returns the directory of a `unit` block's source in the repository. `stack` is the directory of
/// the file.
fn source_of_block(
    block: &Block,
    stack: &Path,
    file: &Arc<SourceFile>,
    repository: &Repository,
) -> Result<PathBuf, Unknown> {
    for (name, expected) in [("no_dot_terragrunt_stack", false), ("enabled", true)] {
        if let Some(attribute) = block.body.get_attribute(name)
            && attribute.value.as_bool() != Some(expected)
        {
            let reason = "the unit may be generated elsewhere, or not at all";
            return Err(unknown_source(reason, file, attribute.span()));
        }
    }
    if let Some(inner) = block.body.blocks().next() {
        let reason = "blocks in units of stacks are not read";
        return Err(unknown_source(reason, file, inner.ident.span()));
    }
    let Some(attribute) = block.body.get_attribute("source") else {
        let reason = "the unit has no source";
        return Err(unknown_source(reason, file, block.ident.span()));
    };

    let span = attribute.value.span();
    let written = &file.text[span.clone().unwrap_or_default()];
    let source = if let Some(source) = attribute.value.as_str() {
        let Some(path) = local_path(source) else {
            let reason = "the source of the unit is not in the repository";
            return Err(unknown_source(reason, file, span));
        };
        files::join(stack, path)
    } else if let Some(below) = below_top(written) {
        files::join(repository.root(), below)
    } else {
        let reason = "the source of the unit is not a literal";
        return Err(unknown_source(reason, file, span));
    };

    let Ok(source) = repository.resolve(&source) else {
        let reason = "the source of the unit is not in the repository";
        return Err(unknown_source(reason, file, span));
    };
    if !is_unit(repository.tree(), &source) {
        let reason = "the source of the unit has no terragrunt.hcl";
        return Err(unknown_source(reason, file, span));
    }
    Ok(source)
}

/// The reason why the source of a unit is unknown, at a location in a stack's file.
fn unknown_source(reason: &str, file: &Arc<SourceFile>, span: Option<Range<usize>>) -> Unknown {
    Unknown::new(reason, span.map(|span| Location::new(file, span)))
}

/// The path in `"${get_repo_root()}/units/a"`, if nothing else in it is an expression.
fn below_top(written: &str) -> Option<&str> {
    let rest = written.strip_prefix("\"${get_repo_root()}/")?;
    let below = rest.strip_suffix('"')?;
    if below.contains(['$', '%', '\\', '"']) {
        return None;
    }
    Some(below)
}

/// Returns the locations in a stack's file of sources that are not plain paths below the top of the
/// repository, of [`INCLUDE`] and of blocks in units, and of paths of units that replace files of
/// the repository; that of the file if it cannot be read.
pub(crate) fn unread_units(
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
    if scan::lone_return(text.as_bytes()).is_some() {
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
