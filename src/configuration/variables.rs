//! The values that the user gives to the variables of a root module
//! (<https://opentofu.org/docs/language/values/variables/#assigning-values-to-root-module-variables>).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result, SourceFile, collect_all};
use crate::hcl::Fault;
use crate::hcl::evaluate::literal;
use crate::hcl::evaluate::value::{Stop, Value};
use crate::system::files::join;
use crate::system::{Boundary, Tree, boundary};

use super::files::Texts;
use super::syntax::{Block, JsonStrings, Schema, diagnose};

/// Prefix of environment variables that give values.
const ENVIRONMENT: &str = "TF_VAR_";

/// Environment variables with arguments of `init`, later ones winning (`mergeEnvArgs` in
/// Terraform's `main.go`).
const ARGUMENTS: [&str; 2] = ["TF_CLI_ARGS_init", "TF_CLI_ARGS"];

/// Maximum size of a file of values in bytes. Parsed values take up to a hundred times as much
/// memory.
const MAX_VALUES_SIZE: usize = 1 << 20;

/// Maximum length of the name of a workspace in bytes.
const MAX_NAME: u64 = 1024;

/// Values that users give to the variables of root modules, in addition to files that OpenTofu and
/// Terraform load automatically.
#[derive(Clone, Debug, Default)]
pub struct InputVariables {
    /// Values of environment variables by the rest of the name after `TF_VAR_`.
    environment: BTreeMap<String, String>,
    /// `TF_WORKSPACE`.
    workspace: Option<String>,
    /// `TF_DATA_DIR`.
    data_directory: Option<String>,
    /// Flags in [`ARGUMENTS`]; a later one wins. Files are relative to the root module.
    environment_flags: Vec<VariableFlag>,
    /// Names of [`ARGUMENTS`] that cannot be split into words.
    malformed: Vec<&'static str>,
    /// Flags; a later one wins, and all win over the environment.
    flags: Vec<VariableFlag>,
    /// Files that are loaded automatically are read only inside of this boundary.
    boundary: Boundary,
}

/// A flag that gives values to variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableFlag {
    /// `--var NAME=VALUE`: the name and the value.
    Value(String, String),
    /// `--var-file FILE`.
    File(PathBuf),
}

#[derive(Clone, Debug)]
pub(super) enum VariableValue {
    /// A text: the value itself or, for a variable whose type is not primitive, an expression.
    Text(String),
    /// The same, in a variable of the environment.
    FromEnvironment(String),
    /// A value in a file that is loaded automatically, or that a flag in the environment names.
    InFile(Value),
    /// A value in a file of `--var-file`, a flag of this run.
    InFileOfFlag(Value),
}

impl InputVariables {
    /// The files that flags name, also flags in the environment for this root module.
    pub(crate) fn named_files(&self, root: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for path in self.environment_flags.iter().filter_map(VariableFlag::file) {
            files.push(join(root, path));
        }
        for path in self.flags.iter().filter_map(VariableFlag::file) {
            files.push(path.to_owned());
        }
        files
    }

    /// Values from the environment and from flags. Later ones win.
    pub fn new<'a>(
        environment: impl IntoIterator<Item = (&'a String, &'a String)>,
        flags: Vec<VariableFlag>,
    ) -> Self {
        let mut values = Self {
            flags,
            ..Self::default()
        };
        for (name, value) in environment {
            match name.as_str() {
                "TF_WORKSPACE" if !value.is_empty() => values.workspace = Some(value.clone()),
                "TF_DATA_DIR" if !value.is_empty() => values.data_directory = Some(value.clone()),
                name => {
                    if let Some(name) = name.strip_prefix(ENVIRONMENT) {
                        values.environment.insert(name.to_owned(), value.clone());
                    }
                }
            }
        }
        values
    }

    /// The same values, with flags in the environment.
    #[must_use]
    pub fn with_arguments(mut self, environment: &BTreeMap<String, String>) -> Self {
        for name in ARGUMENTS {
            let Some(text) = environment.get(name) else {
                continue;
            };
            match shlex::split(text) {
                Some(words) => self.environment_flags.extend(flags_in(&words)),
                None => self.malformed.push(name),
            }
        }
        self
    }

    /// Reads the files that the user names, whether a root module needs them or not.
    ///
    /// # Errors
    /// A file cannot be read, or flags in the environment cannot.
    pub(crate) fn check(&self) -> Result<()> {
        let mut errors = Diagnostics::default();
        for name in &self.malformed {
            let message = format!("{name} cannot be split into words: a quote has no end");
            let error = Diagnostic::error(Code::InvalidArgument, message);
            errors
                .extend([error.help("OpenTofu and Terraform refuse it, too; correct its quotes")]);
        }
        let texts = Texts::default();
        for file in self.flags.iter().filter_map(VariableFlag::file) {
            if let Err(more) =
                read_file_of_values(&Tree::Work, file, &texts, VariableValue::InFileOfFlag)
            {
                errors.extend(more);
            }
        }
        errors.into_result(())
    }

    /// The workspace of a root module: `TF_WORKSPACE`, or the selected one, or `default`.
    pub(super) fn workspace(&self, root: &Path) -> String {
        let name = match &self.workspace {
            Some(name) => Some(name.clone()),
            None => self.selected_workspace(root),
        };
        match name {
            Some(name) if !name.is_empty() => name,
            _ => "default".to_owned(),
        }
    }

    /// The workspace that `workspace select` wrote.
    fn selected_workspace(&self, root: &Path) -> Option<String> {
        let directory = self.data_directory.as_deref().unwrap_or(".terraform");
        let path = root.join(directory).join("environment");
        if self.boundary.is_link_to_outside(&path) {
            return None;
        }
        let bytes = self.boundary.tree().read(&path, MAX_NAME).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.trim().to_owned())
    }

    /// The same values, without files that lead out of a boundary. Files that the user names are
    /// read anyway.
    pub(super) fn within(self, boundary: Boundary) -> Self {
        Self { boundary, ..self }
    }

    /// All values that the user gives to a root module in a directory, by the names of variables.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn read(&self, root: &Path) -> Result<BTreeMap<String, VariableValue>> {
        let texts = Texts::default();
        let tree = self.boundary.tree();

        // Later values win: files, then flags in the environment, then flags.
        let mut sources = Vec::new();
        for path in automatic_files_of_values(tree, root) {
            sources.push(if self.boundary.is_link_to_outside(&path) {
                Err(boundary::outside_error(&path).into())
            } else {
                read_file_of_values(tree, &path, &texts, VariableValue::InFile)
            });
        }
        // These flags come from the environment, not from this run, so that their values are
        // treated as values of the environment and of automatic files. Their files are relative to
        // the root module.
        for flag in &self.environment_flags {
            sources.push(match flag {
                VariableFlag::Value(name, value) => {
                    let value = VariableValue::FromEnvironment(value.clone());
                    Ok(vec![(name.clone(), value)])
                }
                VariableFlag::File(file) => {
                    read_file_of_values(tree, &join(root, file), &texts, VariableValue::InFile)
                }
            });
        }
        for flag in &self.flags {
            sources.push(match flag {
                VariableFlag::Value(name, value) => {
                    Ok(vec![(name.clone(), VariableValue::Text(value.clone()))])
                }
                VariableFlag::File(file) => {
                    read_file_of_values(tree, file, &texts, VariableValue::InFileOfFlag)
                }
            });
        }

        let mut given = BTreeMap::new();
        for (name, text) in &self.environment {
            let value = VariableValue::FromEnvironment(text.clone());
            given.insert(name.clone(), value);
        }
        let values: Vec<_> = collect_all(sources)?;
        given.extend(values.into_iter().flatten());
        Ok(given)
    }
}

impl VariableFlag {
    fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Value(..) => None,
        }
    }
}

/// Returns `-var` and `-var-file` among the arguments of `init`, with one dash or two, and with `=`
/// or a word of their own. Other arguments have no meaning here.
fn flags_in(words: &[String]) -> Vec<VariableFlag> {
    let mut flags = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(after_dash) = word.strip_prefix('-') else {
            continue;
        };
        let flag = after_dash.strip_prefix('-').unwrap_or(after_dash);
        let (name, value_in_word) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        if name != "var" && name != "var-file" {
            continue;
        }
        let argument = match value_in_word {
            Some(value) => value,
            None => match rest.next() {
                Some(value) => value,
                None => break,
            },
        };
        if name == "var-file" {
            flags.push(VariableFlag::File(argument.into()));
        } else if let Some((variable, value)) = argument.split_once('=') {
            flags.push(VariableFlag::Value(variable.to_owned(), value.to_owned()));
        }
    }
    flags
}

/// Names of files of values that are loaded automatically.
const FIXED: [&str; 2] = ["terraform.tfvars", "terraform.tfvars.json"];

/// Whether OpenTofu and Terraform load a file of values of this name automatically.
pub(crate) fn is_automatic(name: &str) -> bool {
    name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json") || FIXED.contains(&name)
}

/// Returns the files of values that OpenTofu and Terraform load automatically, in the order of
/// precedence, lowest first.
pub(super) fn automatic_files_of_values(tree: &Tree, root: &Path) -> Vec<PathBuf> {
    let mut other_names = Vec::new();
    for entry in tree.entries(root).unwrap_or_default() {
        let name = entry.text().into_owned();
        if is_automatic(&name) && !FIXED.contains(&name.as_str()) {
            other_names.push(entry.name);
        }
    }
    other_names.sort();

    let mut paths: Vec<PathBuf> = FIXED.iter().map(|name| join(root, name)).collect();
    for name in other_names {
        paths.push(join(root, name));
    }
    paths.retain(|path| tree.is_file(path));
    paths
}

/// Reads the values of a file. `in_file` wraps each of them, because the values in a file of
/// `--var-file` are treated as flags of this run. An expression other than a literal is an unknown
/// value (OpenTofu's `internal/command/meta_vars.go`).
fn read_file_of_values(
    tree: &Tree,
    path: &Path,
    texts: &Texts,
    in_file: fn(Value) -> VariableValue,
) -> Result<Vec<(String, VariableValue)>> {
    let shown = path;
    let file = texts.read(tree, path, shown)?;
    if file.text.len() > MAX_VALUES_SIZE {
        let reason = format!("the file is larger than {} MiB", MAX_VALUES_SIZE >> 20);
        return Err(refusal(&file, path, Fault::new(0..0, reason)).into());
    }
    let content = match Block::of_file(&file).content(&Schema::ALL_ATTRIBUTES) {
        Ok(content) => content,
        Err(fault) => return Err(refusal(&file, path, fault).into()),
    };
    let mut values = Vec::new();
    for attribute in content.attributes {
        let literal = match attribute.expression(JsonStrings::Literal) {
            Ok(expression) => literal::literal(expression),
            Err(fault) => Err(Stop::unknown(fault.message)),
        };
        let value = match literal {
            Ok(value) => value,
            Err(stop) => Value::Unknown(stop.into_unknown_at(|| Some(attribute.location))),
        };
        values.push((attribute.name.text, in_file(value)));
    }
    Ok(values)
}

/// The error for a file of values that cannot be read.
fn refusal(file: &Arc<SourceFile>, path: &Path, fault: Fault) -> Diagnostic {
    let message = format!(
        "the values in {} cannot be read: {}",
        path.display(),
        fault.message
    );
    diagnose(file, Fault { message, ..fault })
}
