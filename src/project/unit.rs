//! Root modules that are Terragrunt units: by their `terragrunt.hcl` Terragrunt assembles a working
//! directory, and runs OpenTofu or Terraform there.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reviewed_change::ReviewedChange;
use crate::configuration::terragrunt::{self, Repository, UnitSource, Unknown, WorkingDirectory};
use crate::configuration::{
    self, FileReads, Inputs, ModuleCache, ModuleCall, ModulePath, Origin, OwnCommit, Required,
    Requirements, Resolution, Resolver, RootFiles, RootSource, UnknownCall,
};
use crate::diagnostic::words::few;
use crate::diagnostic::{
    Code, Diagnostic, Diagnostics, Help, Location, Result, RunOption, Severity, SourceFile,
};
use crate::hcl::code_lines::{CodeLine, code, code_lines};
use crate::lockfile::{LOCK_FILE_NAME, UNIT_ADDRESS};
use crate::modules::fetched::{FetchedModule, ModuleRequest};
use crate::provider::Dialect;
use crate::system::files::join;
use crate::system::{Environment, Tree, repository};

pub(super) struct TerragruntUnit {
    root: PathBuf,
    repository: Repository,
    pub(super) read: terragrunt::Unit,
}

impl TerragruntUnit {
    /// Opens the unit in a directory, given as the user knows it and as an absolute path without
    /// symbolic links; `None` without a `terragrunt.hcl`, or if it is only included by units below.
    pub(super) fn open(
        tree: &Tree,
        root: &Path,
        absolute: &Path,
        environment: &Environment,
    ) -> Option<Self> {
        if !terragrunt::is_unit(tree, absolute) {
            return None;
        }
        let top = repository::top_or_current(absolute, environment);
        let repository = Repository::open_from(tree, &top, root).ok()?;
        let read = terragrunt::read_or_unknown(absolute, &repository, &environment.variables);
        if read.is_parent(tree) {
            return None;
        }
        Some(Self {
            root: root.to_owned(),
            repository,
            read,
        })
    }

    /// Opens the unit that Terragrunt would generate in a directory, which is below the directory
    /// of a stack.
    ///
    /// # Errors
    /// Nothing is known of the unit, because its source is not known or not in the repository.
    pub(super) fn open_generated(
        tree: &Tree,
        root: &Path,
        absolute: &Path,
        environment: &Environment,
    ) -> std::result::Result<Self, Unknown> {
        let top = repository::top_or_current(absolute, environment);
        let Ok(repository) = Repository::open_from(tree, &top, root) else {
            return Err(Unknown::new(
                "the directory of the stack cannot be read",
                None,
            ));
        };
        let source = terragrunt::source_of_unit(absolute, &repository)?;
        let variables = &environment.variables;
        let read = terragrunt::read_generated(&source, absolute, &repository, variables);
        let unit = Self {
            root: repository.shown(&source),
            repository,
            read,
        };
        if unit.read.source.is_ok() && unit.is_empty() {
            let reason = format!("the unit in {} runs no module", unit.root.display());
            return Err(Unknown::new(reason, None));
        }
        Ok(unit)
    }

    /// Whether the change alters a path that could not be read for the unit so far.
    pub(super) fn is_made_unreadable(&self, change: &ReviewedChange) -> bool {
        self.repository
            .unread()
            .iter()
            .any(|path| change.alters(path))
    }

    /// Whether there is certainly no configuration.
    pub(super) fn is_empty(&self) -> bool {
        self.assemble(None)
            .is_ok_and(|(files, _)| files.files.is_empty() && !files.is_partial)
    }

    /// Whether its module is, or may be, outside the unit's own directory.
    pub(super) fn has_source(&self) -> bool {
        self.read.source != Ok(UnitSource::Unit)
    }

    /// Returns the directory of its module, absolute and without symlinks, if it is a different
    /// directory of the same repository.
    pub(super) fn local_module(&self) -> Option<&Path> {
        match &self.read.source {
            Ok(UnitSource::Local(module)) => Some(module),
            _ => None,
        }
    }

    /// Directory of [`TerragruntUnit::local_module`], as the user knows it.
    pub(super) fn shown_module(&self) -> Option<PathBuf> {
        Some(self.repository.shown(self.local_module()?))
    }

    /// Whether checking what Terragrunt runs also checks the unit's directory on its own. In the
    /// directory alone, called modules must be the same, and no file may be hidden.
    pub(super) fn loads_own_files(&self, modules: &ModuleCache) -> bool {
        let is_copied = self.read.source != Ok(UnitSource::Unit);
        let is_independent = |dialect| {
            let module = modules.module(&self.root, dialect);
            module.is_read_in_full(modules.tree()) && !module.calls_depend_on_context(is_copied)
        };
        [Dialect::Tofu, Dialect::Terraform]
            .into_iter()
            .all(is_independent)
            && terragrunt::loads_own_files(&self.read, &self.repository)
    }

    /// Returns its requirements, as far as they are known.
    pub(super) fn requirements(
        &self,
        options: &configuration::Options,
        modules: &ModuleCache,
        resolver: Option<&Resolver<'_>>,
        required: Required<'_>,
    ) -> Result<Requirements> {
        if let Some(error) = &self.read.malformed {
            return Err(error.clone().into());
        }
        if let Ok(UnitSource::Remote(source)) = &self.read.source {
            modules.secrets.learn_address(source);
        }
        let call = self.call(options.dialect);
        let fetched = call
            .as_ref()
            .map_or(Ok(None), |call| fetch(call, options, modules, resolver));
        let call = call.map(|call| ModuleCall {
            module: fetched.clone().unwrap_or_default(),
            ..call
        });
        let (fetched, not_fetched) = match fetched {
            Ok(fetched) => (fetched, Diagnostics::default()),
            Err(errors) => (None, errors.map(|error| self.at_source(error))),
        };
        let is_module_missing =
            fetched.is_none() && matches!(self.read.source, Ok(UnitSource::Remote(_)));
        let (files, unknown) = self.assemble(fetched)?;
        let missing = if is_module_missing && not_fetched.is_empty() {
            self.missing_module(options.allow_missing_modules).into()
        } else {
            not_fetched
        };
        let read = configuration::read_resolved(
            RootSource::Files(&files),
            options,
            modules,
            resolver,
            required,
        );
        // A replaced package is an error, not a missing module.
        let is_replaced = missing
            .iter()
            .any(|error| error.code == Code::ModuleReplaced);
        if is_replaced || (!options.allow_missing_modules && !missing.is_empty()) {
            return Err(missing
                .into_iter()
                .chain(read.err().into_iter().flatten())
                .collect());
        }
        let mut requirements = read?;
        if let Some(storage) = &self.read.storage {
            storage.add_to(&mut requirements.storages);
        }
        let configuration::Options {
            dialect,
            fetch_modules,
            ..
        } = options;
        let request = call.as_ref().and_then(ModuleCall::request);
        let is_unknown =
            |request: ModuleRequest| modules.is_surely_unknown(&request, *dialect, *fetch_modules);
        let is_unknown = !missing.is_empty() && request.is_none_or(is_unknown);
        requirements.calls.extend(call);
        if is_unknown && let Some(location) = &self.read.source_location {
            let mut source = format!("{:?}", self.read.source);
            // A different commit of the user's own repository is a decision.
            if let Some((repository, commit)) = self.own_repository() {
                repository.clone_into(&mut source);
                requirements.own_commits.push(OwnCommit {
                    source: commit.to_owned(),
                    location: location.clone(),
                });
            }
            let mut part = unknown_part(location.clone(), "source", &source);
            // The source is known, whatever it was computed from.
            part.origin.files = FileReads::default();
            requirements.unknown.push(part);
        }
        let mut lines = FileLines::default();
        for unknown in &unknown {
            let own = || Location::of_file(join(&self.root, terragrunt::FILE_NAMES[1]));
            let location = unknown.location.clone().unwrap_or_else(own);
            let text = lines.text_around(&location);
            let part = unknown_part(location, &unknown.reason, &text);
            requirements.unknown.push(part);
        }
        requirements
            .warnings
            .extend(missing.into_iter().map(|missing| match missing.code {
                Code::OutsideRepository => missing,
                _ => Diagnostic {
                    severity: Severity::Warning,
                    code: Code::ModuleNotInstalled,
                    ..missing
                },
            }));
        requirements.warnings.extend(self.not_known(&unknown));
        Ok(requirements)
    }

    /// The call for its remote source.
    fn call(&self, dialect: Dialect) -> Option<ModuleCall> {
        let Ok(UnitSource::Remote(source)) = &self.read.source else {
            return None;
        };
        let (source, constraints) = terragrunt::remote::requested(source, dialect)?;
        let (key, location) = (UNIT_ADDRESS.to_owned(), self.read.source_location.clone()?);
        Some(ModuleCall {
            key,
            source,
            constraints,
            location,
            version: None,
            origin: Origin::default(),
            entry: None,
            module: None,
            directory: None,
        })
    }

    /// The source of the module without its query, and as a whole, if it is in the repository of
    /// the unit at a different commit: `git::../../..//modules/vpc?ref=v1`.
    fn own_repository(&self) -> Option<(&str, &str)> {
        let Ok(UnitSource::Remote(source)) = &self.read.source else {
            return None;
        };
        if !source.starts_with("git::../") && !source.starts_with("git::./") {
            return None;
        }
        let (repository, _) = source.split_once('?')?;
        Some((repository, source))
    }

    fn at_source(&self, error: Diagnostic) -> Diagnostic {
        error.at_each(&self.read.source_location, "its source")
    }

    /// The files of Terragrunt's working directory for the unit, and the reason why some of them
    /// are unknown.
    fn assemble(&self, fetched: Option<FetchedModule>) -> Result<(RootFiles, Vec<Unknown>)> {
        let Self {
            root,
            repository,
            read,
        } = self;
        let path = fetched.as_ref().map(FetchedModule::path).transpose();
        let path = path.map_err(|errors| errors.map(|error| self.at_source(error)))?;
        let shown = fetched.as_ref().map(FetchedModule::shown);
        let WorkingDirectory {
            files,
            generated,
            is_module_missing,
            unknown,
            uncertain_values,
            ..
        } = terragrunt::working_directory(read, repository, path.as_deref().zip(shown.as_deref()));
        let module = match &read.source {
            Ok(UnitSource::Local(module)) if repository.tree().is_dir(module) => {
                Some(ModulePath::Directory(repository.shown(module)))
            }
            Ok(UnitSource::Unit | UnitSource::Local(_)) => {
                Some(ModulePath::Directory(root.clone()))
            }
            Ok(UnitSource::Remote(_)) => fetched.map(ModulePath::Package),
            Err(_) => None,
        };
        let locations = read.source_location.iter().chain(generated.values());
        let locations = locations.chain(
            unknown
                .iter()
                .filter_map(|unknown| unknown.location.as_ref()),
        );
        let others: BTreeSet<_> = locations
            .filter_map(|location| Some(join(location.path().parent()?, "")))
            .collect();
        let files = RootFiles {
            directory: root.clone(),
            source: if matches!(module, Some(ModulePath::Package(_))) {
                read.source_location.clone()
            } else {
                None
            },
            module,
            others: others.into_iter().collect(),
            files,
            generated,
            is_partial: is_module_missing || !unknown.is_empty(),
            inputs: Inputs {
                uncertain: read.inputs.uncertain.or(uncertain_values),
                ..read.inputs.clone()
            },
        };
        Ok((files, unknown))
    }

    /// The error for a missing module.
    fn missing_module(&self, allowed: bool) -> Diagnostic {
        let help = if allowed {
            "its requirements were not checked; terragrunt init -lockfile=readonly checks them"
                .into()
        } else {
            Help::text("skip it with ").and(RunOption::AllowMissingModules)
        };
        let error = Diagnostic::error(Code::ModuleNotInstalled, "").naming(&self.root, |root| {
            format!("the module of the unit in {root} is remote and was not fetched")
        });
        let error = error.help(help);
        self.at_source(error.shared("the module of the unit is remote and was not fetched"))
    }

    fn not_known(&self, unknown: &[Unknown]) -> Option<Diagnostic> {
        let warning = Diagnostic::warning(Code::RequirementsNotKnown, "")
            .naming(&self.root, |root| {
                format!("the requirements of the unit in {root} are not completely known")
            })
            .note("the entries and constraints of the lock file are treated as required")
            .help("terragrunt init -lockfile=readonly checks all of them");
        let mut seen: Vec<(&str, Option<&Location>)> = Vec::new();
        let mut known = HashSet::new();
        for Unknown {
            reason, location, ..
        } in unknown
        {
            let place = (reason.as_str(), location.as_ref());
            if known.insert(place) {
                seen.push(place);
            }
        }
        seen.sort_by_key(|(_, place)| place.map(|place| (place.path(), place.span.start)));
        let reasons: BTreeSet<_> = seen.iter().map(|(reason, _)| *reason).collect();
        let shared = format!(
            "the requirements of the unit are not completely known: {}",
            few(reasons)
        );
        let warning = warning.shared(shared);
        let say = |warning: Diagnostic, (reason, place): (&str, Option<&Location>)| match place {
            Some(place) => warning.at(place.clone(), reason),
            None => warning.note(reason),
        };
        (!seen.is_empty()).then(|| seen.into_iter().fold(warning, say))
    }

    /// Returns the directory of the lock file that Terragrunt would use, if it is not the unit's
    /// own: as the user knows it, and without symbolic links.
    pub(super) fn lock_directory(&self) -> Option<(PathBuf, PathBuf)> {
        let module = self.local_module()?;
        let tree = self.repository.tree();
        (has_lock_file(tree, module) && !has_lock_file(tree, &self.read.directory))
            .then(|| (self.repository.shown(module), module.to_owned()))
    }

    /// Terragrunt's directory in which its next run would find an older lock file than the unit's.
    pub(super) fn stale_cache(&self) -> Option<PathBuf> {
        let is_warm = self.read.has_warm_cache().is_ok_and(|is_warm| is_warm);
        is_warm.then(|| join(&self.root, terragrunt::CACHE))
    }
}

/// Something of a unit that cannot be read, because of a text.
fn unknown_part(location: Location, reason: &str, text: &str) -> UnknownCall {
    let mut origin = Origin::default();
    origin.fingerprint.mix(reason, text);
    origin.files = FileReads::of_unit(&location);
    UnknownCall {
        location,
        key: UNIT_ADDRESS.to_owned(),
        directory: None,
        origin,
    }
}

/// The lines of files, each read once, because a file may have thousands of unknown parts.
#[derive(Default)]
struct FileLines(Vec<(Arc<SourceFile>, Option<Vec<CodeLine>>)>);

impl FileLines {
    /// The text at a location without comments and white space: that of a whole block that
    /// generates a file, because any part of it may decide on the file. The path without a text.
    fn text_around(&mut self, location: &Location) -> String {
        let text = &location.file.text;
        let own = code(&text[location.span.clone()]);
        if own.is_empty() {
            return location.path().display().to_string();
        }
        let Some(lines) = self.of(&location.file) else {
            return own;
        };
        let before = &text.as_bytes()[..location.span.start];
        let number = memchr::memchr_iter(b'\n', before).count();
        let Some(line) = lines.get(number) else {
            return own;
        };
        if !line.block.starts_with("generate") {
            return own;
        }
        let mut block = String::new();
        for other in lines {
            if other.block == line.block {
                block.push_str(&if other.is_text {
                    other.code.clone()
                } else {
                    code(&other.code)
                });
                block.push('\n');
            }
        }
        block
    }

    fn of(&mut self, file: &Arc<SourceFile>) -> Option<&[CodeLine]> {
        let is_same = |(known, _): &(Arc<SourceFile>, _)| Arc::ptr_eq(known, file);
        let mut index = self.0.len();
        if let Some(known) = self.0.iter().position(is_same) {
            index = known;
        } else {
            self.0.push((Arc::clone(file), code_lines(&file.text).ok()));
        }
        self.0[index].1.as_deref()
    }
}

/// Finds the module of a unit's remote source; `None` if it is not here and may not be fetched.
fn fetch(
    call: &ModuleCall,
    options: &configuration::Options,
    modules: &ModuleCache,
    resolver: Option<&Resolver<'_>>,
) -> Result<Option<FetchedModule>> {
    let fetch = |request: &ModuleRequest| modules.fetched(options.dialect, request);
    match resolver.map_or(Resolution::Unlocked, |resolve| resolve(call)) {
        Resolution::Found(module) => return Ok(Some(module)),
        Resolution::Only(request) => return fetch(&request),
        // The location of the source is added by the caller.
        Resolution::Skip(Some(error)) => {
            return Err(Diagnostic {
                labels: Vec::new(),
                ..error
            }
            .into());
        }
        Resolution::Skip(None) => return Ok(None),
        Resolution::Preferred(request)
            if options.fetch_modules && !modules.refuses(&call.source, false) =>
        {
            match fetch(&request) {
                Ok(None) => {}
                // The command that follows the lock file reports why.
                followed => return Ok(followed.ok().flatten()),
            }
        }
        Resolution::Preferred(_) | Resolution::Unlocked => {}
    }
    match call.request() {
        Some(request) if options.fetch_modules => fetch(&request),
        _ => Ok(None),
    }
}

fn has_lock_file(tree: &Tree, directory: &Path) -> bool {
    tree.has(&directory.join(LOCK_FILE_NAME))
}
