//! Root modules that are Terragrunt units: by their `terragrunt.hcl` Terragrunt assembles a working
//! directory, and runs OpenTofu or Terraform there.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::repository_stacks::RepositoryStacks;
use crate::configuration::terragrunt::{
    self, GeneratedUnit, Repository, UnitReads, UnitSource, Unknown, WorkingDirectory,
};
use crate::configuration::{
    self, FileReads, Inputs, ModuleCache, ModuleCall, ModulePath, Origin, OwnCommit, Required,
    Requirements, Resolution, Resolver, RootFiles, RootSource, UnknownCall,
};
use crate::diagnostic::words::first_few;
use crate::diagnostic::{
    Code, Diagnostic, Diagnostics, Help, Location, Message, Result, RunOption, Severity, SourceFile,
};
use crate::hcl::code_lines::{CodeLine, code_lines, code_without_space};
use crate::lockfile::{LOCK_FILE_NAME, UNIT_ADDRESS};
use crate::modules::fetched::FetchedModule;
use crate::project::reviewed_change::ReviewedChange;
use crate::provider::Dialect;
use crate::system::files::join;
use crate::system::{Environment, Tree, repository};

pub(in crate::project) struct TerragruntUnit {
    root: PathBuf,
    repository: Repository,
    pub(in crate::project) read: terragrunt::Unit,
    /// Whether a stack generates it, and its lock file is in that directory.
    is_locked_where_generated: bool,
    /// The directory from which a stack generates it, if that is in a package.
    package: Option<FetchedModule>,
}

impl TerragruntUnit {
    /// Opens the unit in a directory, given as the user knows it and as an absolute path without
    /// symbolic links; `None` without a `terragrunt.hcl`, or if it is only included by units below.
    pub(in crate::project) fn open(
        tree: &Tree,
        shown: &Path,
        absolute: &Path,
        environment: &Environment,
    ) -> Option<Self> {
        if !terragrunt::is_unit(tree, absolute) {
            return None;
        }
        // Terragrunt looks for files in the directories above, but not outside of the repository.
        let top = repository::top_or_current(absolute, environment);
        let repository = Repository::open_from(tree, &top, shown).ok()?;
        let read = terragrunt::read_or_unknown(absolute, &repository, &environment.variables);
        // Such a file only has the common settings of other units, and nothing is run there.
        if read.is_parent(tree) {
            return None;
        }
        Some(Self {
            root: shown.to_owned(),
            repository,
            read,
            is_locked_where_generated: false,
            package: None,
        })
    }

    /// Opens a unit that a stack generates from a directory.
    pub(in crate::project) fn open_generated(
        unit: &GeneratedUnit,
        from: &Path,
        stacks: &RepositoryStacks,
    ) -> Self {
        let (repository, read) = unit.read(from, None, stacks.repository(), stacks.variables());
        Self {
            root: repository.shown_path(&unit.directory),
            repository,
            read,
            is_locked_where_generated: false,
            package: None,
        }
    }

    /// Opens a unit that a stack generates from a directory of a package.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(in crate::project) fn open_fetched(
        unit: &GeneratedUnit,
        package: FetchedModule,
        stacks: &RepositoryStacks,
    ) -> Result<Self> {
        let directory = package.path()?;
        let shown = package.shown_path();
        let (repository, mut read) = unit.read(
            &directory,
            Some(&shown),
            stacks.repository(),
            stacks.variables(),
        );
        if let Ok(UnitSource::Local(module)) = &read.source
            && repository.is_in_package(module)
        {
            let reason = "a different directory of the unit's package is not read";
            read.source = Err(Unknown::new(reason, read.source_location.clone()));
        }
        Ok(Self {
            root: shown,
            repository,
            read,
            is_locked_where_generated: true,
            package: Some(package),
        })
    }

    /// The same unit with a lock file in the directory in which a stack generates it.
    pub(in crate::project) fn locked_where_generated(self) -> Self {
        Self {
            is_locked_where_generated: true,
            ..self
        }
    }

    /// Its directory, as the user knows it; that of the source for a generated unit.
    pub(in crate::project) fn shown_path(&self) -> &Path {
        &self.root
    }

    /// Whether the change alters a path that cannot be read for the unit.
    pub(in crate::project) fn reads_altered_unreadable_path(
        &self,
        change: &ReviewedChange,
    ) -> bool {
        self.repository
            .unread()
            .iter()
            .any(|path| change.alters(path))
    }

    /// Whether there is certainly no configuration.
    pub(in crate::project) fn has_no_configuration(&self) -> bool {
        self.working_files(None)
            .is_ok_and(|(files, _)| files.files.is_empty() && !files.is_partial)
    }

    /// Whether its module is, or may be, outside the unit's own directory.
    pub(in crate::project) fn has_source(&self) -> bool {
        self.read.source != Ok(UnitSource::Unit)
    }

    /// Returns the directory of its module, absolute and without symlinks, if it is a different
    /// directory of the same repository.
    pub(in crate::project) fn local_module(&self) -> Option<&Path> {
        match &self.read.source {
            Ok(UnitSource::Local(module)) => Some(module),
            _ => None,
        }
    }

    /// Directory of [`TerragruntUnit::local_module`], as the user knows it.
    pub(in crate::project) fn shown_module(&self) -> Option<PathBuf> {
        Some(self.repository.shown_path(self.local_module()?))
    }

    /// Whether checking what Terragrunt runs also checks the unit's directory on its own. In the
    /// directory alone, called modules must be the same, and no file may be hidden.
    pub(in crate::project) fn loads_own_files(&self, modules: &ModuleCache) -> bool {
        let is_copied = self.read.source != Ok(UnitSource::Unit);
        for dialect in [Dialect::Tofu, Dialect::Terraform] {
            let module = modules.module(&self.root, dialect);
            if !module.is_read_in_full(modules.tree()) || module.calls_depend_on_context(is_copied)
            {
                return false;
            }
        }
        terragrunt::loads_own_files(&self.read, &self.repository)
    }

    /// Reads the requirements of what Terragrunt runs for the unit, as far as they are known. A
    /// module that may be missing becomes a warning; a replaced package is always an error.
    pub(in crate::project) fn requirements(
        &self,
        options: &configuration::Options,
        modules: &ModuleCache,
        resolver: Option<&Resolver<'_>>,
        required: Required<'_>,
    ) -> Result<Requirements> {
        if let Some(error) = &self.read.malformed {
            return Err(error.clone().into());
        }
        // Messages must not show what is secret in the address.
        if let Ok(UnitSource::Remote(source)) = &self.read.source {
            modules.secrets.learn_address(source);
        }

        // The module of a remote source is a call of the unit.
        let mut call = self.call(options.dialect);
        let mut module = None;
        let mut module_errors = Diagnostics::default();
        if let Some(call) = &mut call {
            match fetch_module(call, options, modules, resolver) {
                Ok(fetched) => {
                    call.module.clone_from(&fetched);
                    module = fetched;
                }
                Err(errors) => module_errors = errors.map(|error| self.at_source(error)),
            }
        }
        let is_remote = matches!(self.read.source, Ok(UnitSource::Remote(_)));
        if is_remote && module.is_none() && module_errors.is_empty() {
            module_errors.push(self.missing_module(options.allow_missing_modules));
        }

        let (files, unknown) = self.working_files(module)?;
        let source = RootSource::Files(&files);
        let read = configuration::read_resolved(source, options, modules, resolver, required);
        // A replaced package is an error, not a missing module.
        let is_replaced = module_errors
            .iter()
            .any(|error| error.code == Code::ModuleReplaced);
        if is_replaced || (!options.allow_missing_modules && !module_errors.is_empty()) {
            module_errors.extend(read.err().into_iter().flatten());
            return Err(module_errors);
        }
        let mut requirements = read?;
        if let Some(storage) = &self.read.storage {
            storage.add_to(&mut requirements.storages);
        }

        let mut is_module_unknown = !module_errors.is_empty();
        if is_module_unknown
            && let Some(call) = &call
            && let Some(request) = call.request()
        {
            // The next run may find it.
            is_module_unknown =
                modules.is_surely_unknown(&request, options.dialect, options.fetch_modules);
        }
        requirements.calls.extend(call);
        if is_module_unknown && let Some(location) = &self.read.source_location {
            self.add_unknown_module(&mut requirements, location);
        }
        self.add_unknown_parts(&mut requirements, &unknown);
        self.add_generated_texts(&mut requirements);
        for mut warning in module_errors {
            if warning.code != Code::OutsideRepository {
                warning.severity = Severity::Warning;
                warning.code = Code::ModuleNotInstalled;
            }
            requirements.warnings.push(warning);
        }
        requirements
            .warnings
            .extend(self.warning_not_known(&unknown));
        Ok(requirements)
    }

    /// Adds the parts of the unit that are not known. A part without a location is in the unit's
    /// file.
    fn add_unknown_parts(&self, requirements: &mut Requirements, unknown: &[Unknown]) {
        let mut lines = FileLines::default();
        for unknown in unknown {
            let location = match &unknown.location {
                Some(location) => location.clone(),
                None => Location::of_file(join(&self.root, terragrunt::FILE_NAMES[1])),
            };
            let text = lines.text_around(&location);
            let part = unknown_part(location, &unknown.reason, &text, &self.read.reads);
            requirements.unknown_calls.push(part);
        }
    }

    /// Adds the texts in generated files that are not known.
    fn add_generated_texts(&self, requirements: &mut Requirements) {
        let mut lines = FileLines::default();
        for generated in &self.read.generated {
            for unknown in &generated.placeholders {
                let Some(location) = &unknown.location else {
                    continue;
                };
                let mut text = code_without_space(&location.file.text[location.span.clone()]);
                // A variable of the environment has the location of the block.
                if generated.location.as_ref() == Some(location) {
                    text = lines.text_around(location);
                }
                let reads = UnitReads::default();
                let part = unknown_part(location.clone(), &unknown.reason, &text, &reads);
                requirements.generated_texts.push(part);
            }
        }
    }

    /// Adds the module of the source as a part that is not known.
    fn add_unknown_module(&self, requirements: &mut Requirements, location: &Location) {
        let mut source = format!("{:?}", self.read.source);
        // A different commit of the user's own repository is a decision.
        if let Some(own) = self.own_repository() {
            own.without_query.clone_into(&mut source);
            requirements.own_commits.push(OwnCommit {
                source: own.source.to_owned(),
                location: location.clone(),
                repository: join(&self.read.directory, own.repository),
                commit: own.commit().map(str::to_owned),
            });
        }
        let reads = &self.read.reads;
        let mut part = unknown_part(location.clone(), "source", &source, reads);
        // The source is known, whatever it was computed from.
        part.origin.files = FileReads::default();
        requirements.unknown_calls.push(part);
    }

    /// The call for its remote source.
    fn call(&self, dialect: Dialect) -> Option<ModuleCall> {
        let Ok(UnitSource::Remote(source)) = &self.read.source else {
            return None;
        };
        let (source, constraints) = terragrunt::remote::requested(source, dialect)?;
        Some(ModuleCall {
            key: UNIT_ADDRESS.to_owned(),
            source,
            constraints,
            location: self.read.source_location.clone()?,
            version: None,
            origin: Origin::default(),
            own_call: None,
            module: None,
            directory: None,
        })
    }

    /// The source of the module if it is in the repository of the unit at a different commit.
    fn own_repository(&self) -> Option<OwnRepository<'_>> {
        let Ok(UnitSource::Remote(source)) = &self.read.source else {
            return None;
        };
        OwnRepository::parse(source)
    }

    fn at_source(&self, error: Diagnostic) -> Diagnostic {
        error.at_each(&self.read.source_location, "its source")
    }

    /// The files of Terragrunt's working directory for the unit, and the reasons why some of them
    /// are unknown. `fetched` is the module of a remote source.
    fn working_files(&self, fetched: Option<FetchedModule>) -> Result<(RootFiles, Vec<Unknown>)> {
        let Self {
            root,
            repository,
            read,
            ..
        } = self;
        let mut package = None;
        if let Some(fetched) = &fetched {
            let path = fetched.path();
            let path = path.map_err(|errors| errors.map(|error| self.at_source(error)))?;
            package = Some((path, fetched.shown_path()));
        }
        let WorkingDirectory {
            files,
            generated,
            is_module_missing,
            unknown,
            uncertain_values,
            ..
        } = terragrunt::working_directory(
            read,
            repository,
            package.as_ref().map(|(path, shown)| (&**path, &**shown)),
        );

        let module = self.module_path(fetched);
        let mut source = None;
        if let Some(ModulePath::InPackage(_)) = module {
            source.clone_from(&read.source_location);
        }

        // Directories of files that decide which configuration there is.
        let mut deciding: Vec<&Location> = generated.values().collect();
        deciding.extend(&read.source_location);
        for unknown in &unknown {
            deciding.extend(&unknown.location);
        }
        let mut others = BTreeSet::new();
        for location in deciding {
            if let Some(directory) = location.path().parent() {
                others.insert(join(directory, ""));
            }
        }
        let files = RootFiles {
            directory: root.clone(),
            source,
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

    /// The module from which the paths of called modules start, where `fetched` is the module of a
    /// remote source; `None` if it was not fetched, or the source is not known.
    fn module_path(&self, fetched: Option<FetchedModule>) -> Option<ModulePath> {
        match &self.read.source {
            Ok(UnitSource::Unit) if self.package.is_some() => {
                self.package.clone().map(ModulePath::InPackage)
            }
            Ok(UnitSource::Local(module)) if self.repository.tree().is_dir(module) => {
                Some(ModulePath::Directory(self.repository.shown_path(module)))
            }
            Ok(UnitSource::Unit | UnitSource::Local(_)) => {
                Some(ModulePath::Directory(self.root.clone()))
            }
            Ok(UnitSource::Remote(_)) => fetched.map(ModulePath::InPackage),
            Err(_) => None,
        }
    }

    /// The error for a missing module.
    fn missing_module(&self, allowed: bool) -> Diagnostic {
        let help = if allowed {
            "its requirements were not checked; terragrunt init -lockfile=readonly checks them"
                .into()
        } else {
            Help::text("skip it with ").and(RunOption::AllowMissingModules)
        };
        let message = Message::naming(&self.root, |root| {
            format!("the module of the unit in {root} is remote and was not fetched")
        });
        let error = Diagnostic::error(Code::ModuleNotInstalled, message);
        let error = error.help(help);
        self.at_source(
            error.with_shared_message("the module of the unit is remote and was not fetched"),
        )
    }

    /// Returns the warning that the requirements of the unit are not completely known, with each
    /// reason once for each location, in the order of the locations.
    fn warning_not_known(&self, unknown: &[Unknown]) -> Option<Diagnostic> {
        if unknown.is_empty() {
            return None;
        }
        let mut distinct: Vec<(&str, Option<&Location>)> = Vec::new();
        let mut seen = HashSet::new();
        for Unknown {
            reason, location, ..
        } in unknown
        {
            let position = location
                .as_ref()
                .map(|location| (location.path(), location.span.start, location.span.end));
            if seen.insert((reason.as_str(), position)) {
                distinct.push((reason.as_str(), location.as_ref()));
            }
        }
        distinct.sort_by_key(|(_, location)| {
            location.map(|location| (location.path(), location.span.start))
        });
        let reasons: BTreeSet<_> = distinct.iter().map(|(reason, _)| *reason).collect();
        let shared = format!(
            "the requirements of the unit are not completely known: {}",
            first_few(reasons)
        );
        let message = Message::naming(&self.root, |root| {
            format!("the requirements of the unit in {root} are not completely known")
        });
        let mut warning = Diagnostic::warning(Code::RequirementsNotKnown, message)
            .note("the entries and constraints of the lock file are treated as required")
            .help("terragrunt init -lockfile=readonly checks all of them")
            .with_shared_message(shared);
        for (reason, location) in distinct {
            warning = match location {
                Some(location) => warning.at(location.clone(), reason),
                None => warning.note(reason),
            };
        }
        Some(warning)
    }

    /// Returns the directory of the lock file that Terragrunt would use, if it is not the unit's
    /// own: as the user knows it, and without symbolic links.
    pub(in crate::project) fn lock_directory(&self) -> Option<(PathBuf, PathBuf)> {
        let module = self.local_module()?;
        let tree = self.repository.tree();
        if self.is_locked_where_generated {
            return None;
        }
        if !has_lock_file(tree, module) || has_lock_file(tree, &self.read.directory) {
            return None;
        }
        Some((self.repository.shown_path(module), module.to_owned()))
    }

    /// Terragrunt's directory in which its next run would find an older lock file than the unit's.
    pub(super) fn stale_cache(&self) -> Option<PathBuf> {
        let is_warm = self.read.has_warm_cache().is_ok_and(|is_warm| is_warm);
        is_warm.then(|| join(&self.root, terragrunt::CACHE))
    }
}

/// A source in a repository at a relative path: `git::../../..//modules/vpc?ref=v1`.
#[derive(Debug, PartialEq)]
struct OwnRepository<'a> {
    source: &'a str,
    without_query: &'a str,
    /// Path of the repository.
    repository: &'a str,
    query: &'a str,
}

impl<'a> OwnRepository<'a> {
    /// `None` for a different source, and for one without a query.
    fn parse(source: &'a str) -> Option<Self> {
        let path = source.strip_prefix("git::")?;
        if !path.starts_with("../") && !path.starts_with("./") {
            return None;
        }
        let (path, query) = path.split_once('?')?;
        let (repository, _) = path.split_once("//").unwrap_or((path, ""));
        let (without_query, _) = source.split_once('?')?;
        Some(Self {
            source,
            without_query,
            repository,
            query,
        })
    }

    /// The commit, if the query is nothing but its full object name.
    fn commit(&self) -> Option<&'a str> {
        let commit = self.query.strip_prefix("ref=")?;
        let is_full = matches!(commit.len(), 40 | 64);
        let is_hex = commit
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (is_full && is_hex).then_some(commit)
    }
}

/// Something of a unit that cannot be read, because of a text.
fn unknown_part(location: Location, reason: &str, text: &str, reads: &UnitReads) -> UnknownCall {
    let mut origin = Origin::default();
    origin.fingerprint.mix(reason, text);
    origin.files = reads.of_expression_at(&location);
    UnknownCall {
        location,
        key: UNIT_ADDRESS.to_owned(),
        directory: None,
        origin,
    }
}

/// The lines of files, each read once, because a file may have thousands of unknown parts.
#[derive(Default)]
struct FileLines(Vec<(Arc<SourceFile>, Option<LinesByBlock>)>);

/// The lines of a file by their blocks. There may be very many unknown parts, and each asks for the
/// lines of its block.
struct LinesByBlock {
    lines: Vec<CodeLine>,
    /// Positions in the text at which the lines begin.
    starts: Vec<usize>,
    /// The indexes of the lines of each block.
    blocks: HashMap<String, Vec<usize>>,
}

impl LinesByBlock {
    fn of(text: &str) -> Option<Self> {
        let lines = code_lines(text).ok()?;
        let mut blocks: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            if let Some(indexes) = blocks.get_mut(&line.block) {
                indexes.push(index);
            } else {
                blocks.insert(line.block.clone(), vec![index]);
            }
        }
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1));
        Some(Self {
            lines,
            starts,
            blocks,
        })
    }

    /// The line at a position in the text.
    fn at(&self, position: usize) -> Option<&CodeLine> {
        let number = self.starts.partition_point(|start| *start <= position);
        self.lines.get(number - 1)
    }
}

impl FileLines {
    /// The text at a location without comments and white space: that of a whole block that
    /// generates a file, because any part of it may decide on the file. The path without a text.
    fn text_around(&mut self, location: &Location) -> String {
        let text = &location.file.text;
        let own = code_without_space(&text[location.span.clone()]);
        if own.is_empty() {
            return location.path().display().to_string();
        }
        let Some(file) = self.of(&location.file) else {
            return own;
        };
        let Some(line) = file.at(location.span.start) else {
            return own;
        };
        if !line.block.starts_with("generate") {
            return own;
        }
        let mut block = String::new();
        for index in file.blocks.get(&line.block).into_iter().flatten() {
            let line = &file.lines[*index];
            if line.is_text {
                block.push_str(&line.code);
            } else {
                block.push_str(&code_without_space(&line.code));
            }
            block.push('\n');
        }
        block
    }

    fn of(&mut self, file: &Arc<SourceFile>) -> Option<&LinesByBlock> {
        let mut known = self.0.iter();
        let mut index = self.0.len();
        if let Some(known) = known.position(|(known, _)| Arc::ptr_eq(known, file)) {
            index = known;
        } else {
            self.0
                .push((Arc::clone(file), LinesByBlock::of(&file.text)));
        }
        self.0[index].1.as_ref()
    }
}

/// Finds the module of a unit's remote source; `None` if it is not here and may not be fetched.
fn fetch_module(
    call: &ModuleCall,
    options: &configuration::Options,
    modules: &ModuleCache,
    resolver: Option<&Resolver<'_>>,
) -> Result<Option<FetchedModule>> {
    let resolution = match resolver {
        Some(resolve) => resolve(call),
        None => Resolution::Unlocked,
    };
    match resolution {
        Resolution::Found(module) => return Ok(Some(module)),
        Resolution::Only(request) => return modules.fetched(options.dialect, &request),
        // The location of the source is added by the caller.
        Resolution::Refused(error) => {
            return Err(Diagnostic {
                labels: Vec::new(),
                ..error
            }
            .into());
        }
        Resolution::NotRead => return Ok(None),
        Resolution::Preferred(request) if options.fetch_modules && !modules.never_fetches(call) => {
            match modules.fetched(options.dialect, &request) {
                Ok(None) => {}
                Ok(Some(module)) => return Ok(Some(module)),
                // The command that follows the lock file reports why.
                Err(_) => return Ok(None),
            }
        }
        Resolution::Preferred(_) | Resolution::Unlocked => {}
    }
    match call.request() {
        Some(request) if options.fetch_modules => modules.fetched(options.dialect, &request),
        _ => Ok(None),
    }
}

fn has_lock_file(tree: &Tree, directory: &Path) -> bool {
    tree.has(&directory.join(LOCK_FILE_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_by_its_full_name_alone() {
        let name = "0123456789abcdef0123456789abcdef01234567";
        let source = format!("git::../..//modules/vpc?ref={name}");
        let own = OwnRepository::parse(&source).unwrap();
        assert_eq!(own.repository, "../..");
        assert_eq!(own.without_query, "git::../..//modules/vpc");
        assert_eq!(own.commit(), Some(name));
        for query in [
            "ref=main",
            "ref=0123456",
            "ref=0123456789ABCDEF0123456789ABCDEF01234567",
            &format!("ref={name}&ref=main"),
            &format!("depth=1&ref={name}"),
            &format!("ref={name}#main"),
            "",
        ] {
            let source = format!("git::../..?{query}");
            let own = OwnRepository::parse(&source).unwrap();
            assert_eq!(own.commit(), None, "{query}");
        }
        for source in [
            "git::../..//modules/vpc",
            "../..//modules/vpc?ref=v1",
            "git::https://example.com/vpc.git?ref=v1",
            "git::/repository?ref=v1",
        ] {
            assert_eq!(OwnRepository::parse(source), None, "{source}");
        }
    }
}
