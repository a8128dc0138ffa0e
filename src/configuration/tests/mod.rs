//! Tests of the whole module on directories; tests of its parts are in the other files.

use crate::diagnostic::Result;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{InputVariables, Options, Requirements, VariableFlag, read};
use crate::diagnostic::{Diagnostic, Location};
use crate::provider::Dialect;

mod conformance;
mod declarations;
mod files;
mod json_syntax;
mod modules;
mod native;
mod rewrite;
mod syntaxes;
mod variables;

/// A directory with these files, removed when dropped.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(directory.path(), path, text.as_bytes());
    }
    directory
}

fn write(directory: &Path, path: &str, bytes: &[u8]) {
    let path = directory.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn options(dialect: Dialect) -> Options {
    Options {
        dialect,
        tests: true,
        allow_missing_modules: false,
        data_directory: PathBuf::from(".terraform"),
        fetch_modules: true,
        variables: InputVariables::default(),
    }
}

fn read_files(files: &[(&str, &str)]) -> Result<Requirements> {
    read(directory(files).path(), &options(Dialect::Tofu))
}

/// The required providers without the default host, with their constraints.
#[track_caller]
fn providers(files: &[(&str, &str)]) -> Vec<(String, String)> {
    short(&read_files(files).unwrap_or_else(|errors| panic!("{}", texts(&errors).join("\n"))))
}

fn short(requirements: &Requirements) -> Vec<(String, String)> {
    let providers = requirements.providers.iter();
    providers
        .map(|(address, r)| (address.short(Dialect::Tofu), r.constraints.to_string()))
        .collect()
}

#[track_caller]
fn assert_providers(files: &[(&str, &str)], expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect();
    assert_eq!(providers(files), expected);
}

/// Every error as `file:line:column: message: label`, with the file's name only.
#[track_caller]
fn errors(files: &[(&str, &str)]) -> Vec<String> {
    texts(&read_files(files).expect_err("the configuration was accepted"))
}

fn texts(diagnostics: &[Diagnostic]) -> Vec<String> {
    let text = |diagnostic: &Diagnostic| {
        let labels = diagnostic
            .labels
            .iter()
            .map(|label| format!("{}: {}", place(&label.location), label.text));
        format!(
            "{} [{}]",
            diagnostic.message,
            labels.collect::<Vec<_>>().join("; ")
        )
    };
    diagnostics.iter().map(text).collect()
}

fn place(location: &Location) -> String {
    let (line, column) = location.line_column();
    format!(
        "{}:{line}:{column}",
        location.path().file_name().unwrap().to_string_lossy()
    )
}

/// The text at a location.
fn at(location: &Location) -> &str {
    &location.file.text[location.span.clone()]
}

fn table(requirements: &Requirements) -> BTreeMap<String, String> {
    requirements
        .providers
        .iter()
        .map(|(address, r)| (address.to_string(), r.constraints.to_string()))
        .collect()
}
