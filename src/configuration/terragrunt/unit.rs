//! A unit: the module that it runs and the files that it generates.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::configuration;
use super::contents;
use super::evaluation::{Evaluation, Repository, has_configuration};
use super::merge::{Block, Configuration};
use super::parsing_context::{CONFIGURATION, FILE_NAMES, JSON_CONFIGURATION, ParsingContext};
use crate::configuration::root::Inputs;
use crate::configuration::storage::StateStorage;
use crate::diagnostic::{Diagnostic, Location};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::value::{Outcome, Stop, Unknown, Value, failure, unknown};
use crate::modules::{ModuleSourceError, RemoteSource};
use crate::system::tree::{Entry, Tree};
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
    /// Error in `terragrunt.hcl`, or in an included file, for which Terragrunt refuses the unit.
    pub malformed: Option<Diagnostic>,
    /// The files that were read for it, without symbolic links.
    pub files: BTreeSet<PathBuf>,
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
    /// Does nothing. `disable`.
    Nothing,
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

/// [`read_in`], but the whole unit is unknown if its `terragrunt.hcl` cannot be read. `environment`
/// is for `get_env`.
pub(crate) fn read_or_unknown(
    directory: &Path,
    repository: &Repository,
    environment: &BTreeMap<String, String>,
) -> Unit {
    read_generated(directory, directory, repository, environment)
}

/// [`read_or_unknown`] for a copy of the unit that Terragrunt generates in the directory
/// `generated`, to which paths in the unit are relative.
pub(crate) fn read_generated(
    directory: &Path,
    generated: &Path,
    repository: &Repository,
    environment: &BTreeMap<String, String>,
) -> Unit {
    let evaluation = Evaluation::new(repository, environment);
    let unit = read_copy(&evaluation, directory, generated).unwrap_or_else(|unknown| Unit {
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
        malformed: None,
        files: BTreeSet::new(),
    });
    Unit {
        malformed: evaluation.malformed.take(),
        files: evaluation.files.take(),
        ..unit
    }
}

/// Reads the unit in a directory of the repository. Nothing is run, and nothing outside of the
/// repository is read.
///
/// # Errors
/// `terragrunt.hcl` itself is unknown: it cannot be read or parsed, or is not in the repository.
#[cfg(test)]
pub(super) fn read_in(evaluation: &Evaluation<'_>, directory: &Path) -> Result<Unit, Unknown> {
    read_copy(evaluation, directory, directory)
}

/// [`read_in`] for a copy of the unit in the directory `generated`.
fn read_copy(
    evaluation: &Evaluation<'_>,
    directory: &Path,
    generated: &Path,
) -> Result<Unit, Unknown> {
    let repository = evaluation.repository;
    let resolve = |directory: &Path| match repository.tree().canonicalize(directory) {
        Ok(directory) => repository.resolve(&directory),
        Err(_) => failure("the directory does not exist"),
    };
    let read = || {
        let directory = resolve(directory)?;
        let generated = resolve(generated)?;
        if repository
            .tree()
            .is_file(&directory.join(JSON_CONFIGURATION))
        {
            return unknown(format!("{JSON_CONFIGURATION} is not read"));
        }
        let context = ParsingContext::new(&generated, &generated);
        let configuration =
            configuration::read(evaluation, &directory.join(CONFIGURATION), context)?;
        Ok(unit(directory, &generated, &configuration, evaluation))
    };
    read().map_err(|stop: Stop| unknown_at(stop, None))
}

/// Returns the values that Terragrunt gives to variables. Only texts are known, because it encodes
/// others in its own way.
fn inputs(configuration: &Configuration) -> Inputs {
    let text = |value: &Value| {
        if let Value::String(text) = value {
            Some(text.to_string())
        } else {
            None
        }
    };
    let uncertain = configuration
        .may_pass_flags
        .then_some("extra_arguments may give it a different value");
    let mut inputs = Inputs {
        is_partial: !configuration.unknown.is_empty(),
        uncertain,
        ..Inputs::default()
    };
    match &configuration.inputs {
        None | Some(Value::Null) => {}
        Some(Value::Object(members)) => {
            inputs.texts = members
                .iter()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect();
        }
        Some(_) => inputs.is_partial = true,
    }
    inputs
}

/// Returns the unit of a configuration in a directory, which runs in the directory `generated`.
fn unit(
    directory: PathBuf,
    generated: &Path,
    configuration: &Configuration,
    evaluation: &Evaluation<'_>,
) -> Unit {
    let mut unknown: Vec<Unknown> = configuration
        .unknown
        .iter()
        .map(|unknown| (**unknown).clone())
        .collect();
    let source_location = configuration
        .terraform
        .as_ref()
        .and_then(|block| block.location.clone());
    let attribute = |name: &str| {
        configuration
            .terraform
            .as_ref()
            .and_then(|block| block.members.get(name))
    };
    let source = match (attribute("source"), unknown.first()) {
        (Some(source), _) if !source.is_null() => source
            .as_string()
            .and_then(|source| module_source(&source, generated, evaluation.repository))
            .map(|module| match module {
                UnitSource::Local(module) if module == directory => UnitSource::Unit,
                module => module,
            }),
        (_, Some(unknown)) => Err(Stop::Needs(Arc::new(unknown.clone()))),
        _ => Ok(UnitSource::Unit),
    };
    let mut files = Vec::new();
    let generated_file =
        |label, block| generated_file(label, block, &evaluation.allowance).map(Some);
    let blocks = configuration
        .generate
        .iter()
        .map(|(label, block)| (block, generated_file(label, block)));
    let state = configuration
        .remote_state
        .iter()
        .map(|block| (block, state_file(block)));
    for (block, file) in blocks.chain(state) {
        match file {
            Ok(file) => files.extend(file),
            Err(stop) => unknown.push(unknown_at(stop, block.location.clone())),
        }
    }
    let is_set = |name: &str| attribute(name).is_some_and(|patterns| !patterns.is_null());
    if is_set("exclude_from_copy") {
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
        source: source.map_err(|stop| unknown_at(stop, source_location)),
        inputs: inputs(configuration),
        state: state_of(configuration),
        storage: storage_of(configuration),
        generated: files,
        has_download_directory: configuration.has_download_directory,
        copies_hidden_files: is_set("include_in_copy"),
        unknown,
        malformed: None,
        files: BTreeSet::new(),
        directory,
    }
}

/// Whether the state is remote. An unknown backend may be any.
fn state_of(configuration: &Configuration) -> UnitState {
    let is_local = |backend: &Value| {
        backend
            .as_string()
            .is_ok_and(|backend| &*backend == "local")
    };
    let backend = |block: &Block| block.members.get("backend").is_some_and(is_local);
    match &configuration.remote_state {
        Some(block) if !backend(block) => UnitState::Remote,
        _ if configuration.has_refused_include => UnitState::Unknown,
        _ => UnitState::Local,
    }
}

/// The place of the state, as far as the configuration of the unit specifies it.
fn storage_of(configuration: &Configuration) -> Option<StateStorage> {
    let arguments = &configuration.init_arguments;
    let storage = match &configuration.remote_state {
        Some(block) => StateStorage::of_remote_state(&block.members, block.location.clone()),
        None if arguments.is_empty() => return None,
        None => StateStorage::default(),
    };
    Some(storage.with_arguments_of_init(arguments))
}

fn unknown_at(stop: Stop, location: Option<Location>) -> Unknown {
    let unknown = Arc::unwrap_or_clone(stop.at(|| None));
    Unknown {
        location: unknown.location.clone().or(location),
        ..unknown
    }
}

/// Parses a `source`, which is relative to the unit even if an included file sets it.
fn module_source(source: &str, directory: &Path, repository: &Repository) -> Outcome<UnitSource> {
    let Some(path) = local_path(source) else {
        return Ok(UnitSource::Remote(source.to_owned()));
    };
    let (copied, below) = path.split_once("//").unwrap_or((path, ""));
    let copied = repository.resolve(&directory.join(copied))?;
    let written = copied.join(below.trim_start_matches('/'));
    let module = repository.resolve(&written)?;
    if !module.starts_with(&copied) {
        repository.note_unread(written);
        return failure("the directory after // in the source leads out of the one before it");
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
    let is_address =
        || path.contains("::") || RemoteSource::detect(path, "") != Err(ModuleSourceError::Unknown);
    let is_local = path.starts_with(['.', '/']) || !is_address();
    is_local.then(|| path.split('?').next().unwrap_or(path))
}

/// Returns the file of a `generate` block.
fn generated_file(label: &str, block: &Block, allowance: &Allowance) -> Outcome<GeneratedFile> {
    let text = |name: &str| match block.members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_string().map(Some),
    };
    let (Some(path), Some(contents)) = (text("path")?, block.members.get("contents")) else {
        return failure("a block that generates a file has no path or no contents");
    };
    let is_disabled = block
        .members
        .get("disable")
        .map_or(Ok(false), Value::as_bool)?;
    let action = if is_disabled {
        text("if_disabled")?
    } else {
        text("if_exists")?
    };
    let action = match (is_disabled, action.as_deref()) {
        (true, None | Some("skip")) => Action::Nothing,
        (true, Some("remove")) => Action::Remove,
        (true, Some("remove_terragrunt")) => Action::RemoveGenerated,
        (false, Some(action)) => if_exists(action)?,
        _ => return failure("a block that generates a file has no if_exists"),
    };
    let location = block.location.clone();
    let unknown_at = |stop| unknown_at(stop, location.clone());
    let (contents, omitted) = match contents::text(contents, allowance) {
        Ok(contents) => (Ok(contents.text), contents.omitted),
        Err(stop) => (Err(unknown_at(stop)), Vec::new()),
    };
    let omitted = omitted
        .into_iter()
        .map(|unknown| unknown_at(Stop::Needs(unknown)))
        .collect();
    let (label, path) = (label.to_owned(), PathBuf::from(&*path));
    Ok(GeneratedFile {
        label,
        path,
        contents,
        omitted,
        action,
        location,
    })
}

fn if_exists(action: &str) -> Outcome<Action> {
    match action {
        "error" => Ok(Action::Create),
        "skip" => Ok(Action::CreateIfMissing),
        "overwrite" => Ok(Action::Overwrite),
        "overwrite_terragrunt" => Ok(Action::OverwriteGenerated),
        _ => failure("there is no such if_exists"),
    }
}

/// Returns the file with the `backend` block, which requires nothing, but may replace a different
/// file.
fn state_file(block: &Block) -> Outcome<Option<GeneratedFile>> {
    let generate = block
        .members
        .get("generate")
        .filter(|generate| !generate.is_null());
    let Some(generate) = generate.map(Value::as_object).transpose()? else {
        return Ok(None);
    };
    let text = |name: &str| match generate.get(name) {
        Some(value) => value.as_string(),
        None => failure(format!("remote_state generates a file without {name}")),
    };
    let backend = block
        .members
        .get("backend")
        .map_or_else(|| unknown("the backend is not known"), Value::as_string);
    let contents = backend.map(|backend| {
        let label = hcl_edit::expr::Expression::from(&*backend);
        format!("terraform {{\n  backend {label} {{\n  }}\n}}\n")
    });
    Ok(Some(GeneratedFile {
        label: "remote_state".to_owned(),
        path: PathBuf::from(&*text("path")?),
        contents: contents.map_err(|stop| unknown_at(stop, block.location.clone())),
        omitted: Vec::new(),
        action: if_exists(&text("if_exists")?)?,
        location: block.location.clone(),
    }))
}

fn has_unit_below(tree: &Tree, directory: &Path) -> bool {
    let (looked_at, found) = (AtomicUsize::new(0), AtomicBool::new(false));
    walk::below(tree, directory, |below| {
        let is_unit =
            |file: &Entry| FILE_NAMES.iter().any(|name| file.name == *name) && !below.ignores(file);
        if below.path != directory && below.files.iter().any(is_unit) {
            found.store(true, Ordering::Relaxed);
        }
        let number = looked_at.fetch_add(1 + below.files.len(), Ordering::Relaxed);
        number < MOST_ENTRIES && !found.load(Ordering::Relaxed)
    });
    found.into_inner()
}

impl Unit {
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
                .any(|working_directory| working_directory.is_dir())
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
