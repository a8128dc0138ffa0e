//! The root module in the directory in which Terragrunt would run OpenTofu or Terraform: the
//! module's files, replaced by the unit's, then by the generated ones
//! (`internal/runner/run/download_source.go`, `run.go`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::evaluation::{Repository, has_configuration};
use super::unit::{Action, CACHE, GeneratedFile, Unit, UnitSource};
use crate::configuration::files::{DATA_DIRECTORY, is_test, module_files};
use crate::configuration::variables::{automatic_files, is_automatic};
use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::value::{Outcome, Stop, Unknown, failure, unknown};
use crate::lockfile::LOCK_FILE_NAME;
use crate::modules::is_configuration;
use crate::provider::Dialect;
use crate::system::files::join;
use crate::system::tree::{Kind, Tree};

const MAX_FILES: usize = 10_000;

/// Maximum depth of directories that the unit and its module have in common.
const MAX_DEPTH: usize = 8;

/// Directory beside a configuration from which OpenTofu and Terraform install packages.
const PLUGIN_DIRECTORY: &str = "terraform.d";

/// Directory of generated files in messages. The repository does not contain them.
const GENERATED: &str = "(generated)";

/// The end of the first line of a file that Terragrunt generated (`TerragruntGeneratedSignature`).
const SIGNATURE: &str = "Sig: nIlQXj57tbuaRZEa";

/// Configuration files by name.
type Files = BTreeMap<String, Arc<SourceFile>>;

#[derive(Clone, Debug, Default)]
pub(crate) struct WorkingDirectory {
    pub files: Files,
    /// Locations of the blocks that generate files, by name of the file.
    pub generated: BTreeMap<String, Location>,
    /// Whether the files of a remote source are missing.
    pub is_module_missing: bool,
    /// Reasons why some files are not known, or may be different.
    pub unknown: Vec<Unknown>,
    /// Directories of the files.
    sources: Vec<PathBuf>,
    /// Reason why variables may have values other than from the environment and the files beside
    /// `terragrunt.hcl`.
    pub uncertain_values: Option<&'static str>,
}

/// Assembles the working directory of a unit. `remote` is the directory of a module outside of the
/// repository, and its path in messages; without it, such a module is missing.
pub(crate) fn working_directory(
    unit: &Unit,
    repository: &Repository,
    remote: Option<(&Path, &Path)>,
) -> WorkingDirectory {
    let (unknown, uncertain_values) = (
        unit.unknown.clone(),
        uncertain_values(repository.tree(), unit),
    );
    let mut working = WorkingDirectory {
        unknown,
        uncertain_values,
        ..WorkingDirectory::default()
    };
    match &unit.source {
        Ok(UnitSource::Unit) => {}
        Ok(UnitSource::Local(module)) => working.copy(module, repository),
        Ok(UnitSource::Remote(_)) => match remote {
            Some((directory, shown)) => working.copy_remote(directory, shown, unit, repository),
            None => working.is_module_missing = true,
        },
        Err(unknown) => working.unknown.push(unknown.clone()),
    }
    working.copy(&unit.directory, repository);
    let module = match &unit.source {
        Ok(UnitSource::Local(module)) => Some(&**module),
        Ok(UnitSource::Remote(_)) => remote.map(|(directory, _)| directory),
        _ => None,
    };
    let mut overlaid = BTreeSet::new();
    if let Some(module) = module {
        find_overlaid(
            repository.tree(),
            &unit.directory,
            module,
            unit.copies_hidden_files,
            MAX_DEPTH,
            &mut overlaid,
        );
    }
    working.unknown.extend(overlaid.into_iter().map(|file| {
        if repository.tree().is_symlink(&file) {
            repository.note_unread(file.clone());
        }
        let location = Location::of_file(repository.shown(&file));
        Unknown::new(
            "the directory of a different module gets files from one beside terragrunt.hcl",
            Some(location),
        )
    }));
    let mut written = BTreeSet::new();
    for generated in &unit.generated {
        let is_second = generated.action != Action::Nothing
            && !written.insert(join(Path::new(""), &generated.path));
        if let Err(reason) = working.generate(repository.tree(), generated, is_second) {
            working.unknown.push(reason);
        }
    }
    working
}

/// Whether OpenTofu and Terraform load every configuration file of the unit's directory unchanged
/// when Terragrunt runs the unit: no file of the module and no generated file replaces, hides or
/// overrides one. The files of a remote module are not compared, so that the answer is `false` for
/// it.
pub(crate) fn loads_own_files(unit: &Unit, repository: &Repository) -> bool {
    let Ok(own) = configuration_files(&unit.directory, repository) else {
        return false;
    };
    let working = working_directory(unit, repository, None);
    let is_loaded = |name: &String| {
        working
            .files
            .get(name)
            .is_some_and(|loaded| loaded.text == own[name].text)
    };
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    let (own_names, all) = (names(&own), names(&working.files));
    let is_same_in = |dialect| {
        let (alone, together) = (
            module_files(&own_names, dialect),
            module_files(&all, dialect),
        );
        alone.overrides == together.overrides
            && alone
                .primary
                .iter()
                .all(|name| together.primary.contains(name))
    };
    !working.is_module_missing
        && working.unknown.is_empty()
        && own_names.iter().all(is_loaded)
        && [Dialect::Tofu, Dialect::Terraform]
            .into_iter()
            .all(is_same_in)
}

impl WorkingDirectory {
    /// Adds the files of a directory, or a single file.
    fn copy(&mut self, directory: &Path, repository: &Repository) {
        self.sources.push(directory.to_owned());
        match configuration_files(directory, repository) {
            Ok(files) => self.files.extend(files),
            Err(stop) => self.unknown.push(Arc::unwrap_or_clone(stop.at(|| None))),
        }
    }

    /// Adds the files of a remote module.
    fn copy_remote(
        &mut self,
        directory: &Path,
        shown: &Path,
        unit: &Unit,
        repository: &Repository,
    ) {
        self.sources.push(directory.to_owned());
        let read = Repository::open(repository.tree(), directory)
            .map_err(|_| Stop::Unknown("the module cannot be read".to_owned()))
            .and_then(|repository| configuration_files(directory, &repository));
        match read {
            Ok(files) => self.files.extend(files.into_iter().map(|(name, file)| {
                let file = SourceFile::fetched(shown.join(&name), file.text.clone());
                (name, file)
            })),
            Err(stop) => self.unknown.push(Arc::unwrap_or_clone(
                stop.at(|| unit.source_location.clone()),
            )),
        }
    }

    /// Writes a generated file, or returns why the outcome is unknown.
    fn generate(
        &mut self,
        tree: &Tree,
        generated: &GeneratedFile,
        is_second: bool,
    ) -> Result<(), Unknown> {
        let uncertain = |reason: &str| Err(Unknown::new(reason, generated.location.clone()));
        if generated.action == Action::Nothing {
            return Ok(());
        }
        // A file beside `terragrunt.hcl` is copied from there.
        let path = self
            .sources
            .last()
            .and_then(|unit| generated.path.strip_prefix(unit).ok())
            .unwrap_or(&generated.path);
        let path = join(Path::new(""), path);
        let is_data = |part: Component<'_>| {
            [DATA_DIRECTORY, PLUGIN_DIRECTORY]
                .iter()
                .any(|name| part.as_os_str() == *name)
        };
        if path.ends_with(LOCK_FILE_NAME) || path.components().any(is_data) {
            return uncertain("the lock file or installed files are generated");
        }
        let name = path.to_str().unwrap_or_default();
        if !is_configuration(name) && !is_test(name) {
            return Ok(());
        }
        let directory = path.parent().unwrap_or(&path);
        // A call of a directory that exists only when it is generated is an error.
        let may_be_called = |directory: &Path, caller: &Path| {
            has_configuration(tree, directory)
                || (tree.is_dir(directory) && !caller.starts_with(directory))
        };
        let may_be_called = || {
            self.sources
                .iter()
                .any(|source| may_be_called(&join(source, directory), source))
        };
        if is_test(name) {
            return uncertain("a test file is generated, which is not read");
        } else if path.components().count() != 1 {
            return if may_be_called() {
                uncertain("a file of a different module is generated")
            } else {
                Ok(())
            };
        }
        if is_second {
            self.files.remove(name);
            return uncertain("a file is generated twice, in no defined order");
        }
        let existing = self.files.get(name);
        let is_generated = existing.is_some_and(|file| is_signed(&file.text));
        match generated.action {
            Action::CreateIfMissing if existing.is_some() => return Ok(()),
            Action::RemoveGenerated if !is_generated => return Ok(()),
            Action::Remove | Action::RemoveGenerated => {
                self.files.remove(name);
                return Ok(());
            }
            Action::Create if existing.is_some() => {
                return uncertain("the generated file exists already, which Terragrunt refuses");
            }
            Action::OverwriteGenerated if existing.is_some() && !is_generated => {
                return uncertain(
                    "the file exists and was not generated, so that Terragrunt refuses to replace it",
                );
            }
            Action::Nothing => return Ok(()),
            Action::Create
            | Action::CreateIfMissing
            | Action::Overwrite
            | Action::OverwriteGenerated => {}
        }
        self.files.remove(name);
        let contents = generated.contents.clone()?;
        self.unknown.extend(generated.omitted.iter().cloned());
        self.files.insert(
            name.to_owned(),
            SourceFile::new(Path::new(GENERATED).join(name), contents),
        );
        self.generated.extend(
            generated
                .location
                .clone()
                .map(|location| (name.to_owned(), location)),
        );
        Ok(())
    }
}

/// Returns why files of values in the working directory may differ from those in the unit's
/// directory, if they may.
fn uncertain_values(tree: &Tree, unit: &Unit) -> Option<&'static str> {
    let is_values = |path: &Path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(is_automatic)
    };
    let is_generated =
        |file: &GeneratedFile| file.action != Action::Nothing && is_values(&file.path);
    let own = automatic_files(tree, &unit.directory);
    let is_replaced = |path: &Path| own.iter().any(|own| own.file_name() == path.file_name());
    if unit.generated.iter().any(is_generated) {
        return Some("a file of values is generated, which is not read");
    }
    if !unit.unknown.is_empty() {
        return Some("a file of values may be generated or omitted");
    }
    match &unit.source {
        Ok(UnitSource::Local(module))
            if automatic_files(tree, module)
                .iter()
                .any(|path| !is_replaced(path)) =>
        {
            Some("the unit's module has a file of values, which is not read")
        }
        _ => None,
    }
}

/// Adds a configuration file of each subdirectory of the unit that the module has, too: Terragrunt
/// copies the unit's over it. A linked directory, or one below `depth`, is treated as if it
/// contained such a file.
fn find_overlaid(
    tree: &Tree,
    unit: &Path,
    module: &Path,
    with_hidden: bool,
    depth: usize,
    found: &mut BTreeSet<PathBuf>,
) {
    for entry in tree.entries(unit).unwrap_or_default() {
        let name = &entry.name;
        let is_installed = name == DATA_DIRECTORY || name == CACHE || name == ".git";
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if is_installed || (is_hidden && !with_hidden) {
            continue;
        }
        let own = unit.join(name);
        let other = module.join(name);
        if !tree.is_dir(&own) || !tree.is_dir(&other) {
            continue;
        }
        if entry.kind == Kind::Link {
            found.insert(own);
            continue;
        }
        let files = tree.entries(&own).unwrap_or_default();
        let files = files.into_iter().map(|file| own.join(file.name));
        let is_read = |file: &PathBuf| {
            file.to_str()
                .is_some_and(|name| is_configuration(name) || is_test(name))
        };
        found.extend(files.filter(|file| depth == 0 || is_read(file)).min());
        if let Some(depth) = depth.checked_sub(1) {
            find_overlaid(tree, &own, &other, with_hidden, depth, found);
        }
    }
}

fn is_signed(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.trim_end().ends_with(SIGNATURE))
}

/// Reads the configuration files of a directory of the repository, except hidden ones. For a file,
/// reads only that file.
fn configuration_files(path: &Path, repository: &Repository) -> Outcome<Files> {
    let tree = repository.tree();
    if tree.is_file(path) {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        return Ok([(name.to_owned(), repository.read(path)?)].into());
    }
    let path = repository.resolve(path)?;
    let Ok(entries) = tree.entries(&path) else {
        return failure(format!(
            "{} cannot be read",
            repository.shown(&path).display()
        ));
    };
    let mut files = Files::new();
    for entry in entries {
        let name = entry.text().into_owned();
        let file = path.join(&entry.name);
        if name.starts_with('.') || !is_configuration(&name) || tree.is_dir(&file) {
            continue;
        }
        if entry.name.to_str().is_none() {
            return failure(format!(
                "the name of {} is not UTF-8",
                repository.shown(&file).display()
            ));
        }
        if files.len() == MAX_FILES {
            return unknown(format!(
                "{} contains more than {MAX_FILES} files",
                repository.shown(&path).display()
            ));
        }
        files.insert(name, repository.read(&file)?);
    }
    Ok(files)
}
