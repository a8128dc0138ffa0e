//! Terragrunt's functions that depend on where they are called (`pkg/config/config_helpers.go`).

use std::path::{Path, PathBuf};

use super::evaluation::{Evaluation, Repository, relative};
use super::template_file;
use crate::hcl::evaluate::value::{Piece, Stop, Value};
use crate::system::files::{folded_name, join};

/// Name of a unit's configuration (`DefaultTerragruntConfigPath`).
pub(super) const CONFIGURATION: &str = "terragrunt.hcl";

/// Name of a configuration in JSON, which precedes the other one.
pub(super) const JSON_CONFIGURATION: &str = "terragrunt.hcl.json";

/// Name of the file in which a stack gives values to a unit, or to a stack in it.
pub(super) const VALUES: &str = "terragrunt.values.hcl";

/// Names of a unit's configuration.
pub(crate) const FILE_NAMES: [&str; 2] = [JSON_CONFIGURATION, CONFIGURATION];

/// Largest number of directories that `find_in_parent_folders` searches
/// (`DefaultMaxFoldersToCheck`).
const MAX_PARENTS: usize = 100;

/// The directories on which Terragrunt's functions depend. All paths are absolute.
#[derive(Clone, Debug)]
pub(super) struct ParsingContext {
    /// Directory of the configuration; for an included file, of the configuration that includes it.
    pub directory: PathBuf,
    /// Directory of the unit, which may differ because of `read_terragrunt_config`.
    pub original: PathBuf,
    /// Directory of the evaluated file.
    pub file: PathBuf,
    /// Labels and paths of the included files; `None` for an unknown path.
    pub includes: Vec<(String, Option<PathBuf>)>,
    /// Path of the evaluated file if it is an included one.
    pub included: Option<PathBuf>,
}

impl ParsingContext {
    /// The context of a configuration that is read for the unit in `original`.
    pub(super) fn new(directory: &Path, original: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            original: original.to_owned(),
            file: directory.to_owned(),
            includes: Vec::new(),
            included: None,
        }
    }

    /// Calls a function of Terragrunt; `None` if it has no function of this name.
    pub(super) fn call(
        &self,
        evaluation: &Evaluation,
        name: &str,
        arguments: &[Value],
    ) -> Option<Result<Value, Stop>> {
        if name == "templatefile" {
            return Some(self.templatefile(evaluation, arguments));
        }
        let mut texts = Vec::new();
        for argument in arguments {
            match argument.as_string() {
                Ok(text) => texts.push(text),
                // An unknown name is reported rather than its argument.
                Err(stop) => {
                    return self
                        .call_with_texts(evaluation, name, &[])
                        .map(|_| Err(stop));
                }
            }
        }
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        self.call_with_texts(evaluation, name, &texts)
    }

    fn templatefile(&self, evaluation: &Evaluation, arguments: &[Value]) -> Result<Value, Stop> {
        let [path, variables] = arguments else {
            return Err(Stop::failure("takes a path and an object"));
        };
        let path = self.path_argument(&[&*path.as_string()?])?;
        template_file::render(evaluation, &path, variables)
    }

    /// Calls a function whose arguments are texts; `None` for an unknown name.
    fn call_with_texts(
        &self,
        evaluation: &Evaluation,
        name: &str,
        texts: &[&str],
    ) -> Option<Result<Value, Stop>> {
        let repository = evaluation.repository;
        let directory = self.directory.as_path();
        let root = repository.root();
        Some(match name {
            "find_in_parent_folders" => self.find_in_parent_folders(repository, texts),
            "path_relative_to_include" => {
                self.selected_include(texts).map(|include| match include {
                    Some(include) => path_value(&relative(directory, include)),
                    None => Value::string("."),
                })
            }
            "path_relative_from_include" => {
                self.selected_include(texts).map(|include| match include {
                    Some(include) => path_value(&relative(include, directory)),
                    None => Value::string("."),
                })
            }
            "get_parent_terragrunt_dir" => self
                .selected_include(texts)
                .map(|include| path_value(include.unwrap_or(directory))),
            "get_terragrunt_dir" => Ok(path_value(directory)),
            "get_original_terragrunt_dir" => Ok(path_value(&self.original)),
            "get_repo_root" => Ok(path_value(root)),
            "get_path_from_repo_root" => Ok(path_value(&relative(directory, root))),
            "get_path_to_repo_root" => Ok(path_value(&relative(root, directory))),
            "get_env" => get_env(evaluation, texts),
            "file" => self.text_of_file(evaluation, texts),
            "fileexists" => self
                .path_argument(texts)
                .and_then(|path| file_exists(repository, &path)),
            "mark_as_read" => match texts.first() {
                Some(path) => Ok(Value::string(*path)),
                None => Err(Stop::failure("takes a path")),
            },
            _ => return None,
        })
    }

    /// The text of a file.
    fn text_of_file(&self, evaluation: &Evaluation, texts: &[&str]) -> Result<Value, Stop> {
        let file = evaluation.read_file(&self.path_argument(texts)?)?;
        Ok(Value::string(file.text.as_str()))
    }

    /// Returns a path that is relative to the evaluated file.
    pub(super) fn path_argument(&self, arguments: &[&str]) -> Result<PathBuf, Stop> {
        match arguments {
            [path, ..] if path.starts_with('~') => {
                Err(Stop::unknown("the home directory is not read"))
            }
            [path, ..] => Ok(join(&self.file, path)),
            [] => Err(Stop::failure("takes a path")),
        }
    }

    /// `find_in_parent_folders([name[, fallback]])`: the path of the file in the nearest directory
    /// above that has it.
    fn find_in_parent_folders(
        &self,
        repository: &Repository,
        arguments: &[&str],
    ) -> Result<Value, Stop> {
        let names = match arguments.first() {
            None | Some(&"") => FILE_NAMES.to_vec(),
            Some(name) => vec![*name],
        };
        for directory in self.directory.ancestors().skip(1).take(MAX_PARENTS) {
            for name in &names {
                let path = join(directory, name);
                if repository.contains(&path) && repository.resolve(&path).is_ok() {
                    return Ok(path_value(&path));
                }
                // Terragrunt also searches above the repository, up to the root of the file system.
                if repository.tree().exists(&path) {
                    return Err(Stop::unknown(
                        "`find_in_parent_folders` finds a file that is not in the repository",
                    ));
                }
                if repository.tree().has(&path) {
                    return Err(Stop::unknown(
                        "`find_in_parent_folders` finds a link that leads nowhere",
                    ));
                }
            }
        }
        match arguments.get(1) {
            Some(fallback) if repository.root().parent().is_none() => Ok(Value::string(*fallback)),
            // A different machine may have the file above the repository.
            Some(_) => Err(Stop::unknown(
                "`find_in_parent_folders` finds nothing in the repository",
            )),
            None if self.are_above_in_other_case(repository, &names) => Err(Stop::unknown(
                "`find_in_parent_folders` finds a file whose name differs in case",
            )),
            None => Err(Stop::failure("finds nothing in the repository")),
        }
    }

    /// Whether a directory above has a file whose name differs from one of the names only in case,
    /// so that some file systems find it.
    fn are_above_in_other_case(&self, repository: &Repository, names: &[&str]) -> bool {
        let names: Vec<String> = names.iter().map(|name| folded_name(name)).collect();
        for directory in self.directory.ancestors().skip(1) {
            if !repository.contains(directory) {
                return false;
            }
            // A directory that cannot be listed may have any file.
            let Ok(entries) = repository.tree().entries(directory) else {
                return true;
            };
            for entry in entries {
                if names.contains(&folded_name(&entry.text())) {
                    return true;
                }
            }
        }
        false
    }

    /// Returns the directory of the selected included file (`getSelectedIncludeBlock`).
    fn selected_include(&self, arguments: &[&str]) -> Result<Option<&Path>, Stop> {
        let file = match (&self.included, self.includes.as_slice(), arguments) {
            (Some(_), ..) => &self.included,
            (None, [], _) => return Ok(None),
            (None, [(_, path)], _) => path,
            (None, includes, [label, ..]) => {
                match includes.iter().find(|(other, _)| other == label) {
                    Some((_, path)) => path,
                    None => return Err(Stop::failure("there is no include with this label")),
                }
            }
            (None, ..) => {
                return Err(Stop::failure(
                    "a label is needed because there are several includes",
                ));
            }
        };
        match file {
            Some(file) => Ok(file.parent()),
            None => Err(Stop::unknown("the path of the include is not known")),
        }
    }
}

/// Whether a regular file exists; unknown for a path that leads out of the repository.
fn file_exists(repository: &Repository, path: &Path) -> Result<Value, Stop> {
    match repository.resolve(path) {
        Ok(path) => Ok(Value::Bool(repository.tree().is_file(&path))),
        Err(Stop::Failure(_)) => Ok(Value::Bool(false)),
        Err(stop) => Err(stop),
    }
}

fn get_env(evaluation: &Evaluation, arguments: &[&str]) -> Result<Value, Stop> {
    match arguments {
        [name] | [name, _] if evaluation.environment.contains_key(*name) => {
            let reason = "a variable of the environment is only compared, never shown";
            let unknown = Stop::unknown(reason).into_unknown_at(|| None);
            Value::pieces(vec![Piece::Withheld(
                evaluation.environment[*name].as_str().into(),
                unknown,
            )])
        }
        // It may be set where Terragrunt runs.
        [_] | [_, _] => Err(Stop::unknown("the environment variable is not set")),
        _ => Err(Stop::failure("takes a name and a default")),
    }
}

/// Returns a path with slashes, as Terragrunt's functions do.
fn path_value(path: &Path) -> Value {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        Value::string(text.replace('\\', "/"))
    } else {
        Value::string(text.as_ref())
    }
}
