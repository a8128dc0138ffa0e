//! The values that the user gives to the variables of a root module
//! (<https://opentofu.org/docs/language/values/variables/#assigning-values-to-root-module-variables>).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostics, Result, SourceFile};
use crate::system::Boundary;
use crate::system::boundary;
use crate::system::files::join;

use super::files::Texts;
use super::syntax::{self, DeferredValue};

/// What begins the name of an environment variable that gives a value.
const ENVIRONMENT: &str = "TF_VAR_";

/// The values that the user gives to the variables of root modules, in addition to the files that the programs find.
#[derive(Clone, Debug, Default)]
pub struct InputVariables {
    /// The values of environment variables, by what follows `TF_VAR_`.
    environment: BTreeMap<String, String>,
    /// Files of values; a later one wins.
    files: Vec<PathBuf>,
    /// Names and values; a later one wins, and all win over the files.
    assignments: Vec<(String, String)>,
    /// Files that the programs find are read only inside of it.
    boundary: Boundary,
}

#[derive(Clone, Debug)]
pub(super) enum Given {
    /// A text: the value itself or, for a variable of another type than a string, an expression.
    Text(String),
    /// A value in a file.
    InFile(DeferredValue),
}

impl InputVariables {
    /// Values from the environment, from files and by name. Later ones win.
    pub fn new<'a>(
        environment: impl IntoIterator<Item = (&'a String, &'a String)>,
        files: Vec<PathBuf>,
        assignments: Vec<(String, String)>,
    ) -> Self {
        let named =
            |(name, value): (&String, &String)| Some((name.strip_prefix(ENVIRONMENT)?.to_owned(), value.clone()));
        let environment = environment.into_iter().filter_map(named).collect();
        Self { environment, files, assignments, boundary: Boundary::default() }
    }

    /// The same values, without files that lead out of a boundary. Files that the user names are read anyway.
    pub(super) fn within(self, boundary: Boundary) -> Self {
        Self { boundary, ..self }
    }

    /// All values for a root module in a directory, by the names of variables.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn read(&self, root: &Path) -> Result<BTreeMap<String, Given>> {
        let mut given: BTreeMap<_, _> =
            self.environment.iter().map(|(name, text)| (name.clone(), Given::Text(text.clone()))).collect();
        let mut errors = Diagnostics::default();
        let texts = Texts::default();
        let found = automatic_files(root).into_iter().map(|path| (self.boundary.is_link_out(&path), path));
        for (is_refused, path) in found.chain(self.files.iter().map(|path| (false, path.clone()))) {
            match if is_refused { Err(boundary::refused(&path).into()) } else { values(&path, &texts) } {
                Ok(values) => given.extend(values),
                Err(more) => errors.extend(more),
            }
        }
        given.extend(self.assignments.iter().map(|(name, text)| (name.clone(), Given::Text(text.clone()))));
        errors.into_result(given)
    }
}

/// The files of values that the programs read by themselves, the least important first.
fn automatic_files(root: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(root).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let is_automatic = |name: &String| name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json");
    let mut automatic: Vec<_> = names.filter(is_automatic).collect();
    automatic.sort();
    let fixed = ["terraform.tfvars", "terraform.tfvars.json"].map(str::to_owned);
    let paths = fixed.into_iter().chain(automatic).map(|name| join(root, name));
    paths.filter(|path| path.is_file()).collect()
}

fn values(path: &Path, texts: &Texts) -> Result<Vec<(String, Given)>> {
    let file: Arc<SourceFile> = texts.read(path, path)?;
    syntax::read(&file, |items| {
        let arguments = items.arguments().into_iter();
        arguments.map(|(name, value)| (name.text, Given::InFile(value.deferred(&file)))).collect()
    })
}
