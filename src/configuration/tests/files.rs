//! Root modules whose files come from several places.

use super::*;
use crate::configuration::root::Inputs;
use crate::configuration::{ModuleCache, ModulePath, RootFiles, RootSource, read_resolved};
use crate::diagnostic::SourceFile;

/// The location of the block that generates the file `generated.tf`.
fn origin() -> Location {
    Location::new(&SourceFile::new("live/unit.hcl", "generate {}"), 0..8)
}

fn root(directory: &Path, files: &[(&str, &str)]) -> RootFiles {
    let file = |(name, text): &(&str, &str)| {
        (
            (*name).to_owned(),
            SourceFile::new(directory.join(name), *text),
        )
    };
    RootFiles {
        directory: directory.join("live"),
        module: Some(ModulePath::Directory(directory.join("modules/main"))),
        files: files.iter().map(file).collect(),
        generated: BTreeMap::from([("generated.tf".to_owned(), origin())]),
        ..RootFiles::default()
    }
}

fn read_root(root: &RootFiles) -> Result<Requirements> {
    read_resolved(
        RootSource::Files(root),
        &options(Dialect::Tofu),
        &ModuleCache::default(),
        None,
        &|_| (),
    )
}

fn required(name: &str, version: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    {name} = {{\n      version = \"{version}\"\n    }}\n  }}\n}}\n"
    )
}

#[test]
fn calls_start_from_the_module() {
    let directory = directory(&[
        ("live/unit.hcl", ""),
        ("modules/main/main.tf", ""),
        ("modules/other/main.tf", &required("null", "~> 3.0")),
    ]);
    let root = root(
        directory.path(),
        &[
            (
                "main.tf",
                "module \"other\" {\n  source = \"../other\"\n}\n",
            ),
            ("generated.tf", &required("random", "> 3.0")),
            ("generated_override.tf", &required("random", "> 4.0")),
        ],
    );
    let requirements = read_root(&root).unwrap();
    let expected = [
        ("hashicorp/null", "~> 3.0"),
        ("hashicorp/random", "> 4.0.0"),
    ];
    assert_eq!(
        short(&requirements),
        expected.map(|(name, version)| (name.to_owned(), version.to_owned()))
    );
    assert!(!requirements.is_incomplete);
    let paths: Vec<_> = requirements
        .modules
        .iter()
        .map(|module| module.path.clone())
        .collect();
    assert_eq!(
        paths,
        ["live", "modules/main", "modules/other"].map(|path| directory.path().join(path))
    );
}

#[test]
fn locations_in_a_generated_file_are_those_of_its_block() {
    let directory = directory(&[("live/unit.hcl", ""), ("modules/main/main.tf", "")]);
    let main = root(
        directory.path(),
        &[("generated.tf", &required("null", "~> 3.0"))],
    );
    let requirements = read_root(&main).unwrap();
    let [declaration] = &requirements.providers.values().next().unwrap().declarations[..] else {
        panic!()
    };
    assert_eq!(
        (&declaration.location, &declaration.version),
        (&origin(), &Some(origin()))
    );
    let broken = root(directory.path(), &[("generated.tf", "module \"a\" {}\n")]);
    assert_eq!(
        texts(&read_root(&broken).unwrap_err()),
        ["module \"a\" has no source [unit.hcl:1:1: generated here; generated.tf:1:8: ]"]
    );
}

#[test]
fn requirements_of_a_missing_module_are_unknown() {
    let directory = directory(&[
        ("live/unit.hcl", ""),
        ("live/own/main.tf", &required("null", "~> 3.0")),
    ]);
    let calls =
        "module \"own\" {\n  source = \"./own\"\n}\nmodule \"lost\" {\n  source = \"./lost\"\n}\n";
    let missing = RootFiles {
        module: None,
        ..root(directory.path(), &[("main.tf", calls)])
    };
    let requirements = read_root(&missing).unwrap();
    assert_eq!(
        short(&requirements),
        [("hashicorp/null".to_owned(), "~> 3.0".to_owned())]
    );
    assert!(requirements.is_incomplete);
}

#[test]
fn a_partial_list_of_files_may_be_empty() {
    let directory = directory(&[("live/unit.hcl", ""), ("modules/main/readme.md", "")]);
    let none = RootFiles {
        generated: BTreeMap::new(),
        ..root(directory.path(), &[])
    };
    let [error] = &read_root(&none).unwrap_err()[..] else {
        panic!()
    };
    assert_eq!(error.code, crate::diagnostic::Code::NoConfiguration);
    let requirements = read_root(&RootFiles {
        is_partial: true,
        ..none
    })
    .unwrap();
    assert!(requirements.is_incomplete && requirements.providers.is_empty());
}

#[test]
fn inputs_give_values_to_variables() {
    let main = "variable \"name\" {\n  default = \"a\"\n}\nmodule \"m\" {\n  source = \"./${var.name}\"\n}\n";
    let module = |name: &str| format!("provider \"{name}\" {{}}\n");
    let directory = super::directory(&[
        ("modules/main/a/main.tf", &module("a")),
        ("modules/main/b/main.tf", &module("b")),
    ]);
    let read_with = |value: Option<&str>, is_partial: bool| {
        let texts = value.map(|value| {
            (
                "name".to_owned(),
                (!value.is_empty()).then(|| value.to_owned()),
            )
        });
        let inputs = Inputs {
            texts: texts.into_iter().collect(),
            is_partial,
            ..Inputs::default()
        };
        read_root(&RootFiles {
            inputs,
            ..root(directory.path(), &[("main.tf", main)])
        })
    };
    assert_eq!(short(&read_with(None, false).unwrap())[0].0, "hashicorp/a");
    assert_eq!(
        short(&read_with(Some("b"), true).unwrap())[0].0,
        "hashicorp/b"
    );
    for unknown in [read_with(Some(""), false), read_with(None, true)] {
        assert!(texts(&unknown.unwrap_err())[0].contains("the input \"name\" is not known"));
    }
}
