//! The root module in the directory in which Terragrunt would run OpenTofu or Terraform: the
//! module's files, replaced by the unit's, then by the generated ones
//! (`internal/runner/run/download_source.go`, `run.go`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::evaluation::{Repository, has_configuration};
use super::unit::{Action, CACHE, GeneratedFile, Unit, UnitSource};
use crate::configuration::files::{DATA_DIRECTORY, is_test, module_files};
use crate::configuration::variables::{automatic_files_of_values, is_automatic};
use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::value::{Stop, Unknown};
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
    let mut working = WorkingDirectory {
        unknown: unit.unknown.clone(),
        uncertain_values: why_values_are_uncertain(repository.tree(), unit),
        ..WorkingDirectory::default()
    };

    // The files of the unit are copied over the files of its module.
    let mut module = None;
    match &unit.source {
        Ok(UnitSource::Unit) => {}
        Ok(UnitSource::Local(directory)) => {
            working.add_files(directory, repository);
            module = Some(directory.as_path());
        }
        Ok(UnitSource::Remote(_)) => match remote {
            Some((directory, shown)) => {
                working.add_remote_files(directory, shown, unit, repository);
                module = Some(directory);
            }
            None => working.is_module_missing = true,
        },
        Err(unknown) => working.unknown.push(unknown.clone()),
    }
    working.add_files(&unit.directory, repository);
    if let Some(module) = module {
        working.note_overlaid_directories(module, unit, repository);
    }

    let mut generated_paths = BTreeSet::new();
    for generated in &unit.generated {
        let is_second = !generated_paths.insert(join(Path::new(""), &generated.path));
        if let Err(unknown) = working.generate(repository.tree(), generated, is_second) {
            working.unknown.push(unknown);
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
    if working.is_module_missing || !working.unknown.is_empty() {
        return false;
    }

    for (name, file) in &own {
        match working.files.get(name) {
            Some(loaded) if loaded.text == file.text => {}
            _ => return false,
        }
    }

    // Other files may hide a file of the unit, or override it.
    let own_names: Vec<String> = own.into_keys().collect();
    let all_names: Vec<String> = working.files.into_keys().collect();
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let alone = module_files(&own_names, dialect);
        let together = module_files(&all_names, dialect);
        if alone.overrides != together.overrides {
            return false;
        }
        for name in alone.primary {
            if !together.primary.contains(&name) {
                return false;
            }
        }
    }
    true
}

impl WorkingDirectory {
    /// Adds the files of a directory, or a single file.
    fn add_files(&mut self, directory: &Path, repository: &Repository) {
        self.sources.push(directory.to_owned());
        match configuration_files(directory, repository) {
            Ok(files) => self.files.extend(files),
            Err(stop) => self
                .unknown
                .push(Arc::unwrap_or_clone(stop.into_unknown_at(|| None))),
        }
    }

    /// Adds the files of a remote module.
    fn add_remote_files(
        &mut self,
        directory: &Path,
        shown: &Path,
        unit: &Unit,
        repository: &Repository,
    ) {
        self.sources.push(directory.to_owned());
        let files = match Repository::open(repository.tree(), directory) {
            Ok(module) => configuration_files(directory, &module),
            Err(_) => Err(Stop::unknown("the module cannot be read")),
        };
        match files {
            Ok(files) => {
                for (name, file) in files {
                    let file = SourceFile::fetched(shown.join(&name), file.text.clone());
                    self.files.insert(name, file);
                }
            }
            Err(stop) => {
                let unknown = stop.into_unknown_at(|| unit.source_location.clone());
                self.unknown.push(Arc::unwrap_or_clone(unknown));
            }
        }
    }

    /// Notes that directories of the module are not what it contains, if the unit's files are
    /// copied over them.
    fn note_overlaid_directories(&mut self, module: &Path, unit: &Unit, repository: &Repository) {
        let mut overlaid = BTreeSet::new();
        find_overlaid(
            repository.tree(),
            &unit.directory,
            module,
            unit.copies_hidden_files,
            MAX_DEPTH,
            &mut overlaid,
        );
        for file in overlaid {
            let location = Location::of_file(repository.shown_path(&file));
            if repository.tree().is_symlink(&file) {
                repository.note_unread(file);
            }
            self.unknown.push(Unknown::new(
                "the directory of a different module gets files from one beside terragrunt.hcl",
                Some(location),
            ));
        }
    }

    /// Applies a block that generates a file, or returns why its outcome is unknown. A file that
    /// requires nothing is not written.
    fn generate(
        &mut self,
        tree: &Tree,
        generated: &GeneratedFile,
        is_second: bool,
    ) -> Result<(), Unknown> {
        let path = self.path_of(generated);
        if path.ends_with(LOCK_FILE_NAME) || has_installed_files(&path) {
            let reason = "the lock file or installed files are generated";
            return Err(uncertain(generated, reason));
        }
        let name = path.to_str().unwrap_or_default();
        if is_test(name) {
            let reason = "a test file is generated, which is not read";
            return Err(uncertain(generated, reason));
        }
        if is_state(&path) {
            let reason = "a state is generated, whose providers init installs";
            return Err(uncertain(generated, reason));
        }
        // Only configuration files can require a provider.
        if !is_configuration(name) {
            return Ok(());
        }
        if path.components().count() != 1 {
            if self.may_be_called(tree, path.parent().unwrap_or(&path)) {
                let reason = "a file of a different module is generated";
                return Err(uncertain(generated, reason));
            }
            return Ok(());
        }
        if is_second {
            self.files.remove(name);
            let reason = "a file is generated twice, in no defined order";
            return Err(uncertain(generated, reason));
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
                let reason = "the generated file exists already, which Terragrunt refuses";
                return Err(uncertain(generated, reason));
            }
            Action::OverwriteGenerated if existing.is_some() && !is_generated => {
                return Err(uncertain(
                    generated,
                    "the file exists and was not generated, so that Terragrunt refuses to replace it",
                ));
            }
            Action::Create
            | Action::CreateIfMissing
            | Action::Overwrite
            | Action::OverwriteGenerated => {}
        }

        // If the contents are unknown, the old file is replaced nevertheless.
        self.files.remove(name);
        let contents = generated.contents.clone()?;
        self.unknown.extend(generated.omitted.iter().cloned());
        self.files.insert(
            name.to_owned(),
            SourceFile::new(Path::new(GENERATED).join(name), contents),
        );
        if let Some(location) = &generated.location {
            self.generated.insert(name.to_owned(), location.clone());
        }
        Ok(())
    }

    /// The path of a generated file in the working directory. A file beside `terragrunt.hcl` is
    /// copied from there.
    fn path_of(&self, generated: &GeneratedFile) -> PathBuf {
        let mut path = generated.path.as_path();
        if let Some(unit) = self.sources.last()
            && let Ok(below) = path.strip_prefix(unit)
        {
            path = below;
        }
        join(Path::new(""), path)
    }

    /// Whether a configuration may call the module in a directory of the working directory. A call
    /// of a directory that exists only when it is generated is an error.
    fn may_be_called(&self, tree: &Tree, directory: &Path) -> bool {
        for source in &self.sources {
            let called = join(source, directory);
            if has_configuration(tree, &called) {
                return true;
            }
            if tree.is_dir(&called) && !source.starts_with(&called) {
                return true;
            }
        }
        false
    }
}

/// Returns why the files of values that are loaded automatically (`terraform.tfvars`,
/// `*.auto.tfvars`) may differ between the working directory and the unit's directory, if they may.
fn why_values_are_uncertain(tree: &Tree, unit: &Unit) -> Option<&'static str> {
    for file in &unit.generated {
        if is_file_of_values(&file.path) {
            return Some("a file of values is generated, which is not read");
        }
    }
    // Unknown parts of the configuration may generate files.
    if !unit.unknown.is_empty() {
        return Some("a file of values may be generated or omitted");
    }
    if let Ok(UnitSource::Local(module)) = &unit.source {
        let own = automatic_files_of_values(tree, &unit.directory);
        for path in automatic_files_of_values(tree, module) {
            // The unit's file is copied over the module's.
            let is_replaced = own.iter().any(|own| own.file_name() == path.file_name());
            if !is_replaced {
                return Some("the unit's module has a file of values, which is not read");
            }
        }
    }
    None
}

/// Whether a file in the working directory may be the state of a local backend.
fn is_state(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "tfstate")
}

fn is_file_of_values(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(is_automatic)
}

/// The reason why the effect of a generated file is unknown.
fn uncertain(generated: &GeneratedFile, reason: &str) -> Unknown {
    Unknown::new(reason, generated.location.clone())
}

/// Whether a path is in a directory of installed files.
fn has_installed_files(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str() == DATA_DIRECTORY || part.as_os_str() == PLUGIN_DIRECTORY)
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
    overlaid: &mut BTreeSet<PathBuf>,
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
            overlaid.insert(own);
            continue;
        }

        // One file is enough for a message.
        let entries = tree.entries(&own).unwrap_or_default();
        let first = entries
            .into_iter()
            .map(|entry| own.join(entry.name))
            .filter(|file| depth == 0 || is_read(file))
            .min();
        overlaid.extend(first);
        if let Some(depth) = depth.checked_sub(1) {
            find_overlaid(tree, &own, &other, with_hidden, depth, overlaid);
        }
    }
}

/// Whether OpenTofu or Terraform reads a file of this name.
fn is_read(file: &Path) -> bool {
    file.to_str()
        .is_some_and(|name| is_configuration(name) || is_test(name))
}

fn is_signed(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.trim_end().ends_with(SIGNATURE))
}

/// Reads the configuration files of a directory of the repository, except hidden ones. For a file,
/// reads only that file.
fn configuration_files(path: &Path, repository: &Repository) -> Result<Files, Stop> {
    let tree = repository.tree();
    // The source of a unit may be a file, and Terragrunt then copies only that.
    if tree.is_file(path) {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        return Ok([(name.to_owned(), repository.read_file(path)?)].into());
    }
    let path = repository.resolve(path)?;
    let Ok(entries) = tree.entries(&path) else {
        return Err(Stop::failure(format!(
            "{} cannot be read",
            repository.shown_path(&path).display()
        )));
    };
    let mut files = Files::new();
    for entry in entries {
        let name = entry.text().into_owned();
        let file = path.join(&entry.name);
        if name.starts_with('.') || !is_configuration(&name) || tree.is_dir(&file) {
            continue;
        }
        if entry.name.to_str().is_none() {
            return Err(Stop::failure(format!(
                "the name of {} is not UTF-8",
                repository.shown_path(&file).display()
            )));
        }
        if files.len() == MAX_FILES {
            return Err(Stop::unknown(format!(
                "{} contains more than {MAX_FILES} files",
                repository.shown_path(&path).display()
            )));
        }
        files.insert(name, repository.read_file(&file)?);
    }
    Ok(files)
}
