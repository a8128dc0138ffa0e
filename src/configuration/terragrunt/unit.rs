//! A unit: the module that it runs and the files that it generates.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::configuration;
use super::contents::certain_text;
use super::evaluation::{Evaluation, Repository, has_configuration};
use super::merge::{Block, Configuration, Members, RefusedInclude};
use super::parsing_context::{CONFIGURATION, FILE_NAMES, JSON_CONFIGURATION, ParsingContext};
use super::unit_reads::UnitReads;
use crate::configuration::file_reads::FileReads;
use crate::configuration::root::Inputs;
use crate::configuration::storage::StateStorage;
use crate::diagnostic::{Diagnostic, Location};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::value::{Stop, Unknown, Value};
use crate::modules::{ModuleSourceError, RemoteSource};
use crate::system::tree::Tree;
use crate::system::{files, walk};

/// A unit: a directory with a `terragrunt.hcl`.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// Absolute directory without symbolic links.
    pub directory: PathBuf,
    /// Module of the unit.
    pub source: Result<UnitSource, Unknown>,
    /// Location of the source; `None` for [`UnitSource::Unit`].
    pub source_location: Option<Location>,
    /// Generated files in the order in which Terragrunt writes them.
    pub generated: Vec<GeneratedFile>,
    /// Place of its state.
    pub state: UnitState,
    /// This place, as far as `remote_state` specifies it.
    pub storage: Option<StateStorage>,
    /// Values of `inputs`.
    pub inputs: Inputs,
    /// Whether working directories are not in [`CACHE`].
    pub has_download_directory: bool,
    /// Whether hidden files of the module may be copied, because of `include_in_copy`.
    pub copies_hidden_files: bool,
    /// Reasons why Terragrunt may generate more files.
    pub unknown: Vec<Unknown>,
    /// Files that certainly cannot be included. Terragrunt refuses the unit.
    pub refused_includes: Vec<RefusedInclude>,
    /// Whether it refers to values that no stack gives to it.
    pub needs_values: bool,
    /// Error in `terragrunt.hcl`, or in an included file, for which Terragrunt refuses the unit.
    pub malformed: Option<Diagnostic>,
    /// The files that were read for it, without symbolic links.
    pub files: BTreeSet<PathBuf>,
    /// The files that calls in them may read.
    pub reads: UnitReads,
    /// Number of steps in which it was evaluated.
    pub steps: usize,
}

/// Place of the state of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitState {
    /// This machine.
    Local,
    /// A backend for several users: there is a `remote_state` that is not `local`.
    Remote,
    /// One of the two, because an included file does not exist. Terragrunt refuses the unit.
    Unknown,
}

/// The source of the module of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnitSource {
    /// The unit's own directory: there is no `source`, or it is this directory.
    Unit,
    /// A directory of the repository, absolute and without symbolic links. It may be a single file.
    Local(PathBuf),
    /// Anything else: Git, a registry (`tfr://`), HTTP, a bucket. It contains no value of the environment.
    Remote(String),
}

/// A file that a `generate` block or `remote_state` writes into the working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GeneratedFile {
    /// Label of the block, or `remote_state`.
    pub label: String,
    /// Path relative to the working directory, or absolute.
    pub path: PathBuf,
    /// Text without Terragrunt's signature. Values on which no requirement depends may be
    /// placeholders.
    pub contents: Result<String, Unknown>,
    /// Reasons why the file may have more than these contents.
    pub omitted: Vec<Unknown>,
    /// Reasons for the placeholders.
    pub placeholders: Vec<Unknown>,
    /// Effect on the file.
    pub action: Action,
    /// Location of the block.
    pub location: Option<Location>,
}

/// The effect of a `generate` block (`internal/codegen/generate.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Writes the file, unless it exists: then Terragrunt fails. `if_exists = "error"`.
    Create,
    /// Writes the file, unless it exists: then that one stays. `if_exists = "skip"`.
    CreateIfMissing,
    /// Writes the file. `if_exists = "overwrite"`.
    Overwrite,
    /// Writes the file, unless one exists that Terragrunt did not generate: then it fails.
    /// `if_exists = "overwrite_terragrunt"`.
    OverwriteGenerated,
    /// Deletes the file. `disable` with `if_disabled = "remove"`.
    Remove,
    /// Deletes the file if Terragrunt generated it. `disable` with `if_disabled =
    /// "remove_terragrunt"`.
    RemoveGenerated,
}

/// Directory of Terragrunt's working directories, beside `terragrunt.hcl`.
pub(crate) const CACHE: &str = ".terragrunt-cache";

/// Maximum number of files and directories that are searched for a unit below a unit.
const MOST_ENTRIES: usize = 10_000;

pub(crate) fn is_unit(tree: &Tree, directory: &Path) -> bool {
    FILE_NAMES
        .iter()
        .any(|name| tree.is_file(&directory.join(name)))
}

/// [`read_unit`], but the whole unit is unknown if its `terragrunt.hcl` cannot be read.
/// `environment` is for `get_env`.
pub(crate) fn read_or_unknown(
    directory: &Path,
    repository: &Repository,
    environment: &BTreeMap<String, String>,
) -> Unit {
    evaluate_or_unknown(&Evaluation::new(repository, environment), directory)
}

/// [`read_or_unknown`] for an evaluation.
pub(super) fn evaluate_or_unknown(evaluation: &Evaluation<'_>, directory: &Path) -> Unit {
    let unit = read_unit(evaluation, directory).unwrap_or_else(|unknown| Unit {
        directory: directory.to_owned(),
        source: Err(unknown),
        source_location: None,
        generated: Vec::new(),
        state: UnitState::Local,
        storage: None,
        inputs: Inputs {
            is_partial: true,
            ..Inputs::default()
        },
        has_download_directory: false,
        copies_hidden_files: true,
        unknown: Vec::new(),
        refused_includes: Vec::new(),
        needs_values: false,
        malformed: None,
        files: BTreeSet::new(),
        reads: UnitReads::default(),
        steps: 0,
    });
    Unit {
        malformed: evaluation.malformed.take(),
        files: evaluation.files.take(),
        reads: evaluation.reads.take(),
        steps: evaluation.allowance.spent(),
        ..unit
    }
}

/// Reads the unit in a directory of the repository. Nothing is run, and nothing outside of the
/// repository is read.
///
/// # Errors
/// `terragrunt.hcl` itself is unknown: it cannot be read or parsed, or is not in the repository.
pub(super) fn read_unit(evaluation: &Evaluation<'_>, directory: &Path) -> Result<Unit, Unknown> {
    evaluate(evaluation, directory).map_err(|stop| unknown_at(stop, None))
}

fn evaluate(evaluation: &Evaluation<'_>, directory: &Path) -> Result<Unit, Stop> {
    let repository = evaluation.repository;
    let directory = existing_directory(repository, directory)?;
    if repository
        .tree()
        .is_file(&directory.join(JSON_CONFIGURATION))
    {
        return Err(Stop::unknown(format!("{JSON_CONFIGURATION} is not read")));
    }
    let context = ParsingContext::new(&directory, &directory);
    let configuration = configuration::read(evaluation, &directory.join(CONFIGURATION), context)?;
    Ok(unit_of(directory, &configuration, evaluation))
}

/// Returns a directory of the repository without symbolic links.
fn existing_directory(repository: &Repository, directory: &Path) -> Result<PathBuf, Stop> {
    match repository.tree().canonicalize(directory) {
        Ok(canonical) => repository.resolve(&canonical),
        Err(_) => Err(Stop::failure("the directory does not exist")),
    }
}

/// Returns the values that Terragrunt gives to variables.
fn inputs_of(configuration: &Configuration) -> Inputs {
    let mut inputs = Inputs {
        is_partial: !configuration.unknown.is_empty(),
        ..Inputs::default()
    };
    if configuration.may_pass_flags {
        inputs.uncertain = Some("extra_arguments may give it a different value");
    }
    match &configuration.inputs {
        None | Some(Value::Null) => {}
        Some(Value::Object(members)) => {
            for (name, value) in members.iter() {
                let text = match value {
                    Value::String(text) => Some(text.to_string()),
                    // Terragrunt encodes others in its own way.
                    _ => None,
                };
                inputs.texts.insert(name.clone(), text);
            }
        }
        Some(_) => inputs.is_partial = true,
    }
    inputs
}

/// Returns the unit of a configuration in a directory.
fn unit_of(directory: PathBuf, configuration: &Configuration, evaluation: &Evaluation<'_>) -> Unit {
    let mut unknown: Vec<Unknown> = configuration
        .unknown
        .iter()
        .map(|unknown| (**unknown).clone())
        .collect();
    let terraform = configuration.terraform.as_ref();
    let source_location = terraform.and_then(|block| block.location.clone());
    let source = source_of(configuration, &directory, evaluation.repository);

    let mut generated_files = Vec::new();
    for (label, block) in &configuration.generate {
        match generated_file(label, block, &evaluation.allowance) {
            Ok(file) => generated_files.extend(file),
            Err(stop) => unknown.push(unknown_in_block(stop, block)),
        }
    }
    // Terragrunt writes the backend last.
    if let Some(block) = &configuration.remote_state {
        match backend_file(block) {
            Ok(file) => generated_files.extend(file),
            Err(stop) => unknown.push(unknown_in_block(stop, block)),
        }
    }

    if terraform_argument(configuration, "exclude_from_copy").is_some() {
        unknown.push(Unknown::new(
            "exclude_from_copy is not evaluated",
            source_location.clone(),
        ));
    }
    Unit {
        source_location: if source == Ok(UnitSource::Unit) {
            None
        } else {
            source_location.clone()
        },
        source: source.map_err(|stop| unknown_at(stop, source_location.as_ref())),
        inputs: inputs_of(configuration),
        state: state_of(configuration),
        storage: storage_of(configuration, &evaluation.reads.borrow()),
        generated: generated_files,
        has_download_directory: configuration.has_download_directory,
        copies_hidden_files: terraform_argument(configuration, "include_in_copy").is_some(),
        unknown,
        refused_includes: configuration.refused_includes.clone(),
        needs_values: configuration.needs_values,
        malformed: None,
        files: BTreeSet::new(),
        reads: UnitReads::default(),
        steps: 0,
        directory,
    }
}

/// Returns an argument of the `terraform` block that is set.
fn terraform_argument<'a>(configuration: &'a Configuration, name: &str) -> Option<&'a Value> {
    let value = configuration.terraform.as_ref()?.members.get(name)?;
    if value.is_null() {
        return None;
    }
    Some(value)
}

/// Returns the source of a unit in a directory.
fn source_of(
    configuration: &Configuration,
    directory: &Path,
    repository: &Repository,
) -> Result<UnitSource, Stop> {
    if let Some(source) = terraform_argument(configuration, "source") {
        // Terragrunt resolves such a source before it copies the unit.
        let is_resolved_before = match terraform_argument(configuration, "update_source_with_cas") {
            Some(value) => value.as_bool()?,
            None => false,
        };
        if is_resolved_before && repository.tree().original(directory) != directory {
            return Err(Stop::unknown("update_source_with_cas is not evaluated"));
        }
        return module_source(&source.as_string()?, directory, repository);
    }
    // A part of the configuration that is unknown may set a source.
    match configuration.unknown.first() {
        Some(unknown) => Err(Stop::Needs(Arc::clone(unknown))),
        None => Ok(UnitSource::Unit),
    }
}

/// Whether the state is remote. An unknown backend may be any.
fn state_of(configuration: &Configuration) -> UnitState {
    if let Some(block) = &configuration.remote_state {
        let is_local = match block.members.get("backend") {
            Some(backend) => backend.as_string().is_ok_and(|name| &*name == "local"),
            None => false,
        };
        if !is_local {
            return UnitState::Remote;
        }
    }
    if configuration.refused_includes.is_empty() {
        UnitState::Local
    } else {
        UnitState::Unknown
    }
}

/// The place of the state, as far as the configuration of the unit specifies it.
fn storage_of(configuration: &Configuration, reads: &UnitReads) -> Option<StateStorage> {
    let arguments: Vec<&Value> = configuration.init_arguments.values().collect();
    let storage = match &configuration.remote_state {
        Some(block) => {
            let location = block.location.as_ref();
            StateStorage::of_remote_state(&block.members, location.cloned(), &|unknown| {
                reads_of_unknown(reads, unknown, location)
            })
        }
        None if arguments.is_empty() => return None,
        None => StateStorage::default(),
    };
    // Arguments of init are in the block `terraform`.
    let block = configuration.terraform.as_ref();
    let location = block.and_then(|block| block.location.as_ref());
    Some(storage.with_arguments_of_init(&arguments, &|unknown| {
        reads_of_unknown(reads, unknown, location)
    }))
}

/// The files on which an unknown value in a block depends.
fn reads_of_unknown(reads: &UnitReads, unknown: &Unknown, block: Option<&Location>) -> FileReads {
    match (&unknown.location, block) {
        (Some(location), _) => reads.of_expression_at(location),
        // Variables of Terragrunt that are never known have no location.
        (None, Some(block)) => reads.of_remote_state(block),
        (None, None) => FileReads::default(),
    }
}

/// Converts to an unknown value, which has the location of the block unless it has its own.
fn unknown_in_block(stop: Stop, block: &Block) -> Unknown {
    unknown_at(stop, block.location.as_ref())
}

/// Converts to an unknown value, which has this location unless it has its own.
fn unknown_at(stop: Stop, location: Option<&Location>) -> Unknown {
    with_location(&stop.into_unknown_at(|| None), location)
}

/// An unknown value with this location, unless it has its own.
fn with_location(unknown: &Unknown, location: Option<&Location>) -> Unknown {
    Unknown {
        location: unknown.location.as_ref().or(location).cloned(),
        ..unknown.clone()
    }
}

/// Parses a `source`.
fn module_source(
    source: &str,
    directory: &Path,
    repository: &Repository,
) -> Result<UnitSource, Stop> {
    let Some(path) = local_path(source) else {
        return Ok(UnitSource::Remote(source.to_owned()));
    };
    let (copied, below) = path.split_once("//").unwrap_or((path, ""));
    // It is relative to the unit even if an included file sets it.
    let copied = repository.resolve(&directory.join(copied))?;
    let written = copied.join(below.trim_start_matches('/'));
    let module = repository.resolve(&written)?;
    if !module.starts_with(&copied) {
        repository.note_unread(written);
        return Err(Stop::failure(
            "the directory after // in the source leads out of the one before it",
        ));
    }
    Ok(if module == directory {
        UnitSource::Unit
    } else {
        UnitSource::Local(module)
    })
}

/// Returns the path of a local source without its query.
pub(super) fn local_path(source: &str) -> Option<&str> {
    let path = source.strip_prefix("file://").unwrap_or(source);
    if !path.starts_with(['.', '/']) {
        let is_address = path.contains("::")
            || RemoteSource::detect(path, "") != Err(ModuleSourceError::Unknown);
        if is_address {
            return None;
        }
    }
    path.split('?').next()
}

/// Returns the file of a `generate` block; `None` if the block is disabled. If the contents are not
/// known, the file is returned with the reason in their place.
///
/// # Errors
/// An argument is missing, or is unknown and not `contents`.
fn generated_file(
    label: &str,
    block: &Block,
    allowance: &Allowance,
) -> Result<Option<GeneratedFile>, Stop> {
    const INCOMPLETE: &str = "a block that generates a file has no path or no contents";
    let Some(path) = optional_text(block, "path")? else {
        return Err(Stop::failure(INCOMPLETE));
    };
    let Some(contents) = block.members.get("contents") else {
        return Err(Stop::failure(INCOMPLETE));
    };
    let Some(action) = action_of(block)? else {
        return Ok(None);
    };

    let mut omitted = Vec::new();
    let mut placeholders = Vec::new();
    let text = match certain_text(contents, allowance) {
        Ok(certain) => {
            for unknown in certain.omitted {
                omitted.push(with_location(&unknown, block.location.as_ref()));
            }
            for unknown in certain.placeholders {
                placeholders.push(with_location(&unknown, block.location.as_ref()));
            }
            Ok(certain.text)
        }
        Err(stop) => Err(unknown_in_block(stop, block)),
    };
    Ok(Some(GeneratedFile {
        label: label.to_owned(),
        path: PathBuf::from(&*path),
        contents: text,
        omitted,
        placeholders,
        action,
        location: block.location.clone(),
    }))
}

/// Returns an argument that may be missing or `null`.
fn optional_text(block: &Block, name: &str) -> Result<Option<Arc<str>>, Stop> {
    match block.members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => Ok(Some(value.as_string()?)),
    }
}

/// Returns the effect of a `generate` block on its file; `None` if the block is disabled, and
/// leaves the file as it is.
fn action_of(block: &Block) -> Result<Option<Action>, Stop> {
    const MISSING: &str = "a block that generates a file has no if_exists";
    let is_disabled = match block.members.get("disable") {
        Some(value) => value.as_bool()?,
        None => false,
    };
    if is_disabled {
        return match optional_text(block, "if_disabled")?.as_deref() {
            None | Some("skip") => Ok(None),
            Some("remove") => Ok(Some(Action::Remove)),
            Some("remove_terragrunt") => Ok(Some(Action::RemoveGenerated)),
            Some(_) => Err(Stop::failure(MISSING)),
        };
    }
    match optional_text(block, "if_exists")? {
        Some(if_exists) => Ok(Some(action_if_exists(&if_exists)?)),
        None => Err(Stop::failure(MISSING)),
    }
}

/// Returns the effect on a file that a value of `if_exists` stands for.
fn action_if_exists(if_exists: &str) -> Result<Action, Stop> {
    match if_exists {
        "error" => Ok(Action::Create),
        "skip" => Ok(Action::CreateIfMissing),
        "overwrite" => Ok(Action::Overwrite),
        "overwrite_terragrunt" => Ok(Action::OverwriteGenerated),
        _ => Err(Stop::failure("there is no such if_exists")),
    }
}

/// Returns the file that a `remote_state` block generates, if it has `generate`.
///
/// The file contains a `backend` block. Its arguments are left out, because they require nothing,
/// but the file may replace a different one.
fn backend_file(block: &Block) -> Result<Option<GeneratedFile>, Stop> {
    let generate = match block.members.get("generate") {
        None | Some(Value::Null) => return Ok(None),
        Some(generate) => generate.as_object()?,
    };
    let backend = match block.members.get("backend") {
        Some(backend) => backend.as_string(),
        None => Err(Stop::unknown("the backend is not known")),
    };
    let contents = match backend {
        Ok(backend) => {
            let label = hcl_edit::expr::Expression::from(&*backend);
            Ok(format!("terraform {{\n  backend {label} {{\n  }}\n}}\n"))
        }
        Err(stop) => Err(unknown_in_block(stop, block)),
    };
    Ok(Some(GeneratedFile {
        label: "remote_state".to_owned(),
        path: PathBuf::from(&*argument_of_generate(generate, "path")?),
        contents,
        omitted: Vec::new(),
        placeholders: Vec::new(),
        action: action_if_exists(&argument_of_generate(generate, "if_exists")?)?,
        location: block.location.clone(),
    }))
}

/// Returns a required argument of `remote_state.generate`.
fn argument_of_generate(generate: &Members, name: &str) -> Result<Arc<str>, Stop> {
    match generate.get(name) {
        Some(value) => value.as_string(),
        None => Err(Stop::failure(format!(
            "remote_state generates a file without {name}"
        ))),
    }
}

/// Whether a directory below, which git does not ignore, contains a unit. Only [`MOST_ENTRIES`]
/// entries are searched.
fn has_unit_below(tree: &Tree, directory: &Path) -> bool {
    let seen_entries = AtomicUsize::new(0);
    let has_unit = AtomicBool::new(false);
    walk::below(tree, directory, |below| {
        if below.path != directory && has_unit_file(below) {
            has_unit.store(true, Ordering::Relaxed);
        }
        let entries = 1 + below.files.len();
        let seen_before = seen_entries.fetch_add(entries, Ordering::Relaxed);
        seen_before < MOST_ENTRIES && !has_unit.load(Ordering::Relaxed)
    });
    has_unit.into_inner()
}

fn has_unit_file(directory: &walk::Directory<'_>) -> bool {
    for file in directory.files {
        if FILE_NAMES.iter().any(|name| file.name == *name) && !directory.ignores(file) {
            return true;
        }
    }
    false
}

impl Unit {
    /// Whether Terragrunt runs only the copies that stacks generate from it: in its own directory,
    /// it lacks values, or files to which its paths lead.
    pub(crate) fn is_only_copied(&self) -> bool {
        let mut unknown = self.unknown.iter().chain(self.source.as_ref().err());
        self.needs_values || unknown.any(|unknown| unknown.is_failure)
    }

    /// Whether the unit exists only for the units below it, which include its `terragrunt.hcl`: it
    /// runs no module, and its directory contains no configuration.
    pub(crate) fn is_parent(&self, tree: &Tree) -> bool {
        self.source == Ok(UnitSource::Unit)
            && !has_configuration(tree, &self.directory)
            && has_unit_below(tree, &self.directory)
    }

    /// Whether [`CACHE`] contains a working directory that the next run uses without reading the
    /// lock file beside `terragrunt.hcl`: if the unit is its own source, Terragrunt copies its
    /// files only after one of them changed, and ignores the lock file there (`hashSourceEntry` in
    /// `internal/tf/source.go`). It reads the lock file after the directory was deleted, or with
    /// `--source-update`.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(crate) fn has_warm_cache(&self) -> io::Result<bool> {
        if self.source != Ok(UnitSource::Unit) || self.has_download_directory {
            return Ok(false);
        }
        for entry in entries(&self.directory.join(CACHE))? {
            if entries(&entry)?
                .iter()
                .any(|working_directory| Tree::Work.is_dir(working_directory))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the entries of a directory; none for any other file.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match files::entries(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        entries => entries,
    }
}
