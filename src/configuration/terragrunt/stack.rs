//! Stacks, from which Terragrunt generates units (<https://terragrunt.gruntwork.io/docs/features/stacks/>). provlock
//! reads the units of the repository where they are. It evaluates no stack, but reads in it from
//! which directory of the repository a unit is generated.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::{Attribute, Block};

use super::evaluation::{MAX_FILE_SIZE, Repository};
use super::parsing_context::FILE_NAMES;
use super::unit::local_path;
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
    let unknown = |reason: String| Err(Unknown::new(reason, None));
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
        return unknown("stacks in stacks are not read".to_owned());
    }

    let path = stack.join(STACK);
    let file = match read_stack(&path, repository) {
        Ok(file) => file,
        Err(reason) => {
            let shown = repository.shown(&path);
            return unknown(format!("{} {reason}", shown.display()));
        }
    };
    let Ok(body) = parse::body(&file.text) else {
        return unknown(format!("{} cannot be parsed", file.path.display()));
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
    let block = match generating[..] {
        [block] => block,
        [] if has_unknown_path => {
            return unknown(format!(
                "{} generates units whose paths are not literals",
                file.path.display()
            ));
        }
        [] => {
            return unknown(format!(
                "no unit in {} has the path {}",
                file.path.display(),
                unit_path.display()
            ));
        }
        _ => {
            return unknown(format!(
                "several units in {} have the path {}",
                file.path.display(),
                unit_path.display()
            ));
        }
    };
    source_of_block(block, &stack, &file, repository)
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
    let location = |span: Option<Range<usize>>| span.map(|span| Location::new(file, span));
    let unknown = |reason: &str, span| Err(Unknown::new(reason.to_owned(), location(span)));
    for (name, expected) in [("no_dot_terragrunt_stack", false), ("enabled", true)] {
        if let Some(attribute) = block.body.get_attribute(name)
            && attribute.value.as_bool() != Some(expected)
        {
            return unknown(
                "the unit may be generated elsewhere, or not at all",
                attribute.span(),
            );
        }
    }
    if let Some(inner) = block.body.blocks().next() {
        return unknown("blocks in units of stacks are not read", inner.ident.span());
    }
    let Some(attribute) = block.body.get_attribute("source") else {
        return unknown("the unit has no source", block.ident.span());
    };
    let span = attribute.value.span();
    let written = &file.text[span.clone().unwrap_or_default()];
    let source = match (attribute.value.as_str(), below_top(written)) {
        (Some(source), _) => match local_path(source) {
            Some(path) => files::join(stack, path),
            None => return unknown("the source of the unit is not in the repository", span),
        },
        (None, Some(below)) => files::join(repository.root(), below),
        (None, None) => return unknown("the source of the unit is not a literal", span),
    };
    match repository.resolve(&source) {
        Ok(source)
            if FILE_NAMES
                .iter()
                .any(|name| repository.tree().is_file(&source.join(name))) =>
        {
            Ok(source)
        }
        Ok(_) => unknown("the source of the unit has no terragrunt.hcl", span),
        Err(_) => unknown("the source of the unit is not in the repository", span),
    }
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
    let unreadable = || vec![Location::of_file(shown)];
    // A link could resolve to a file that must not be quoted.
    if tree.is_symlink(path) {
        return unreadable();
    }
    let Ok(Ok(text)) = tree.read(path, SIZE_LIMIT).map(String::from_utf8) else {
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
        let below = below_top(written).map(|below| files::join(top, below));
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
