//! One test for each of Terragrunt's rules, in the smallest form, and three layouts of
//! repositories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::evaluation::Evaluation;
use super::unit::{GeneratedFile, read_unit};
use super::{Repository, Unit, WorkingDirectory, working_directory};
use crate::system::{self, canonicalize};

mod expressions;
mod files;
mod functions;
mod generated;
mod hostile;
mod includes;
mod layouts;
mod remote;
mod sources;

/// A repository in a directory of its own.
struct Tree {
    directory: TempDir,
    environment: BTreeMap<String, String>,
}

impl Tree {
    /// The files with their texts.
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self {
            directory: tempfile::tempdir().unwrap(),
            environment: BTreeMap::new(),
        };
        fs::create_dir(tree.directory.path().join("repository")).unwrap();
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    fn with_environment(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn root(&self) -> std::path::PathBuf {
        canonicalize(self.directory.path())
            .unwrap()
            .join("repository")
    }

    fn repository(&self) -> Repository {
        Repository::open(&system::Tree::Work, &self.root()).unwrap()
    }

    fn read(&self, directory: &str) -> Result<Unit, super::Unknown> {
        let repository = self.repository();
        read_unit(
            &Evaluation::new(&repository, &self.environment),
            &self.root().join(directory),
        )
    }

    fn unit(&self, directory: &str) -> Unit {
        self.read(directory).unwrap()
    }

    fn working_directory(&self, directory: &str) -> WorkingDirectory {
        working_directory(&self.unit(directory), &self.repository(), None)
    }

    /// A path as Terragrunt gives it to expressions, with slashes on any system.
    fn path(&self, path: &str) -> String {
        self.root()
            .join(path)
            .display()
            .to_string()
            .replace(std::path::MAIN_SEPARATOR, "/")
    }
}

/// The text or the reason of the first generated file.
fn contents(unit: &Unit) -> Result<&str, &str> {
    let first: &GeneratedFile = unit.generated.first().unwrap();
    first
        .contents
        .as_deref()
        .map_err(|unknown| unknown.reason.as_str())
}

/// The value of an expression in a unit of a repository of these files, as text.
fn evaluate_in(tree: &Tree, directory: &str, expression: &str) -> Result<String, String> {
    let path = Path::new(directory).join("terragrunt.hcl");
    let file = fs::read_to_string(tree.root().join(&path)).unwrap_or_default();
    let generate = format!(
        r#"{file}
generate "x" {{
  path = "x.txt"
  if_exists = "overwrite"
  contents = "${{{expression}}}"
}}
"#
    );
    tree.write(path.to_str().unwrap(), &generate);
    let unit = tree.unit(directory);
    contents(&unit).map(str::to_owned).map_err(str::to_owned)
}

/// The value of an expression of one unit, as text.
fn evaluate(expression: &str) -> Result<String, String> {
    evaluate_in(&Tree::new(&[]), "unit", expression)
}
