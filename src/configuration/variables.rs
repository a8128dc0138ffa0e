//! The values that the user gives to the variables of a root module
//! (<https://opentofu.org/docs/language/values/variables/#assigning-values-to-root-module-variables>).

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::Attribute;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Location, Result, SourceFile};
use crate::hcl::evaluate::literal;
use crate::hcl::evaluate::value::{Outcome, Value};
use crate::hcl::parse;
use crate::system::Boundary;
use crate::system::boundary;
use crate::system::files::{self, join};

use super::files::Texts;

/// What begins the name of an environment variable that gives a value.
const ENVIRONMENT: &str = "TF_VAR_";

/// Largest file of values that is parsed, in bytes. Parsed values take up to a hundred times as much memory.
const MAX_VALUES_SIZE: usize = 1 << 20;

/// The longest name of a workspace that is read, in bytes.
const MAX_NAME: u64 = 1024;

/// The values that the user gives to the variables of root modules, in addition to the files that the programs find.
#[derive(Clone, Debug, Default)]
pub struct InputVariables {
    /// The values of environment variables, by what follows `TF_VAR_`.
    environment: BTreeMap<String, String>,
    /// The workspace that `TF_WORKSPACE` names.
    workspace: Option<String>,
    /// `TF_DATA_DIR`.
    data_directory: Option<String>,
    /// The flags in `TF_CLI_ARGS_init` and `TF_CLI_ARGS`, whose files are relative to the root module; a later one
    /// wins.
    arguments: Vec<VariableFlag>,
    /// The flags of the user; a later one wins, and all win over those in the environment.
    flags: Vec<VariableFlag>,
    /// Files that the programs find are read only inside of it.
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
pub(super) enum Given {
    /// A text: the value itself or, for a variable of another type than a string, an expression.
    Text(String),
    /// The same, in a variable of the environment.
    FromEnvironment(String),
    /// A value in a file.
    InFile(Value),
}

impl InputVariables {
    /// Values from the environment and from flags. Later ones win.
    pub fn new<'a>(environment: impl IntoIterator<Item = (&'a String, &'a String)>, flags: Vec<VariableFlag>) -> Self {
        let (mut values, mut texts) = (Self { flags, ..Self::default() }, ["", ""]);
        for (name, value) in environment {
            match name.as_str() {
                "TF_WORKSPACE" if !value.is_empty() => values.workspace = Some(value.clone()),
                "TF_DATA_DIR" if !value.is_empty() => values.data_directory = Some(value.clone()),
                // The programs put each behind the command's name, this one first.
                "TF_CLI_ARGS" => texts[1] = value,
                "TF_CLI_ARGS_init" => texts[0] = value,
                name => {
                    if let Some(name) = name.strip_prefix(ENVIRONMENT) {
                        values.environment.insert(name.to_owned(), value.clone());
                    }
                }
            }
        }
        values.arguments = texts.into_iter().flat_map(arguments).collect();
        values
    }

    /// The workspace of a root module: `TF_WORKSPACE`, or the one that was selected, or `default`.
    pub(super) fn workspace(&self, root: &Path) -> String {
        let selected = || {
            let path = root.join(self.data_directory.as_deref().unwrap_or(".terraform")).join("environment");
            let bytes = if self.boundary.is_link_out(&path) { None } else { files::read(&path, MAX_NAME).ok() };
            bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(|text| text.trim().to_owned())
        };
        let named = self.workspace.clone().or_else(selected).filter(|name| !name.is_empty());
        named.unwrap_or_else(|| "default".to_owned())
    }

    /// The same values, without files that lead out of a boundary. Files that the user names are read anyway.
    pub(super) fn within(self, boundary: Boundary) -> Self {
        Self { boundary, ..self }
    }

    pub(super) fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// All values for a root module in a directory, by the names of variables.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn read(&self, root: &Path) -> Result<BTreeMap<String, Given>> {
        let mut given: BTreeMap<_, _> =
            self.environment.iter().map(|(name, text)| (name.clone(), Given::FromEnvironment(text.clone()))).collect();
        let mut errors = Diagnostics::default();
        let texts = Texts::default();
        let found = automatic_files(root).into_iter().map(|path| (self.boundary.is_link_out(&path), path));
        let mut add = |given: &mut BTreeMap<_, _>, is_refused, path: &Path| match if is_refused {
            Err(boundary::refused(path).into())
        } else {
            values(path, &texts)
        } {
            Ok(values) => given.extend(values),
            Err(more) => errors.extend(more),
        };
        for (is_refused, path) in found {
            add(&mut given, is_refused, &path);
        }
        let text: [fn(String) -> Given; 2] = [Given::FromEnvironment, Given::Text];
        let arguments = self.arguments.iter().map(|flag| (flag, root, text[0]));
        for (flag, directory, text) in arguments.chain(self.flags.iter().map(|flag| (flag, Path::new(""), text[1]))) {
            match flag {
                VariableFlag::Value(name, value) => drop(given.insert(name.clone(), text(value.clone()))),
                VariableFlag::File(file) => add(&mut given, false, &join(directory, file)),
            }
        }
        errors.into_result(given)
    }
}

/// The flags in a text that a shell would split at spaces, with quotes and backslashes.
fn arguments(text: &str) -> Vec<VariableFlag> {
    let (mut words, mut quote, mut characters) = (vec![String::new()], None, text.chars());
    while let (Some(c), Some(word)) = (characters.next(), words.last_mut()) {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('\\', None | Some('"')) => word.extend(characters.next()),
            (c, None) if c.is_ascii_whitespace() => words.push(String::new()),
            (c, _) => word.push(c),
        }
    }
    let mut found = Vec::new();
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
        let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value.to_owned())));
        if !matches!(name, "var" | "var-file") {
            continue;
        }
        match (name, value.or_else(|| words.next())) {
            ("var", Some(value)) => found.extend(
                value.split_once('=').map(|(name, text)| VariableFlag::Value(name.trim().to_owned(), text.to_owned())),
            ),
            (_, Some(file)) => found.push(VariableFlag::File(file.into())),
            _ => {}
        }
    }
    found
}

/// The files of values with fixed names.
const FIXED: [&str; 2] = ["terraform.tfvars", "terraform.tfvars.json"];

/// Whether the programs read a file of this name by themselves, for its values.
pub(super) fn is_automatic(name: &str) -> bool {
    name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json") || FIXED.contains(&name)
}

/// The files of values that the programs read by themselves, the least important first.
pub(super) fn automatic_files(root: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_other = |name: &str| is_automatic(name) && !FIXED.contains(&name);
    let mut automatic: Vec<_> = names.filter(|name| is_other(&name.to_string_lossy())).collect();
    automatic.sort();
    let paths = FIXED.map(Into::into).into_iter().chain(automatic).map(|name| join(root, name));
    paths.filter(|path| path.is_file()).collect()
}

/// Reads the values of a file. Only literals have values (OpenTofu's `internal/command/meta_vars.go`).
fn values(path: &Path, texts: &Texts) -> Result<Vec<(String, Given)>> {
    let file: Arc<SourceFile> = texts.read(path, path)?;
    let text = file.text.trim_start_matches('\u{feff}');
    let location = |span: Range<usize>| {
        let start = file.text.len() - text.len();
        Location::new(&file, start + span.start..start + span.end)
    };
    let error = |message: String, at: usize| {
        let message = format!("the values in {} cannot be read: {message}", path.display());
        Diagnostic::error(Code::InvalidConfiguration, message).at(location(at..at), "").into()
    };
    if text.len() > MAX_VALUES_SIZE {
        return Err(error(format!("the file is larger than {} MiB", MAX_VALUES_SIZE >> 20), 0));
    }
    let in_file = |outcome: Outcome, span: Range<usize>| {
        Given::InFile(outcome.unwrap_or_else(|stop| Value::Unknown(stop.at(|| Some(location(span))))))
    };
    if path.extension().is_some_and(|extension| extension == "json") {
        let members = literal::from_json(text).and_then(|values| values.as_object().cloned());
        let members = members.map_err(|stop| error(stop.at(|| None).to_string(), 0))?;
        return Ok(members.into_iter().map(|(name, value)| (name, in_file(Ok(value), 0..0))).collect());
    }
    let body = parse::body(text).map_err(|fault| error(fault.message().to_owned(), fault.location().offset()))?;
    let value = |attribute: Attribute| {
        let span = attribute.value.span().unwrap_or_default();
        (attribute.key.to_string(), in_file(literal::literal(attribute.value), span))
    };
    Ok(body.into_iter().filter_map(|structure| structure.into_attribute().ok()).map(value).collect())
}
