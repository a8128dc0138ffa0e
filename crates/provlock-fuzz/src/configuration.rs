//! Configurations, in HCL or, if it begins with a brace, in JSON.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use provlock::configuration::{InputVariables, Options, Requirements, read, rewrite};
use provlock::diagnostic::Result;
use provlock::provider::{ConstraintList, Dialect, ProviderAddress, Version};

/// A configuration's constraints on each provider.
type Constraints = BTreeMap<ProviderAddress, ConstraintList>;

/// Reads a root module of one file. Places lie within it; a comment at its end changes nothing;
/// where constraints can be rewritten to allow a version, the file then allows just this version,
/// and other providers' constraints stay.
pub fn configuration(data: &[u8]) -> bool {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path().join("root");
    fs::create_dir(&root).expect("a directory");
    let is_json = data.starts_with(b"{");
    let file = root.join(if is_json { "main.tf.json" } else { "main.tf" });
    let read_as = |content: &[u8], dialect| {
        fs::write(&file, content).expect("a file");
        requirements(&root, dialect)
    };
    let mut is_accepted = false;
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let Ok(found) = read_as(data, dialect) else {
            continue;
        };
        is_accepted = true;
        check_places(&found);
        let end: &[u8] = if is_json { b"\n " } else { b"\n# a comment\n" };
        let longer =
            read_as(&[data, end].concat(), dialect).expect("a comment at the end is no error");
        assert_eq!(constraints(&longer), constraints(&found));
        for (address, requirement) in &found.providers {
            let Ok(rewrite) = rewrite::allow(requirement, &Version::new(98, 7, 6)) else {
                continue;
            };
            if rewrite.edits.is_empty() {
                continue;
            }
            let files = rewrite::files(&rewrite.edits);
            let [changed] = &files[..] else {
                panic!("{files:?}")
            };
            assert_eq!(changed.old.as_deref(), Some(data));
            let again = read_as(&changed.new, dialect).expect("the rewritten file");
            let mut expected = constraints(&found);
            expected.insert(address.clone(), rewrite.requirement.constraints);
            assert_eq!(
                constraints(&again),
                expected,
                "{}",
                String::from_utf8_lossy(&changed.new)
            );
        }
    }
    is_accepted
}

fn requirements(root: &Path, dialect: Dialect) -> Result<Requirements> {
    let options = Options {
        dialect,
        tests: false,
        allow_missing_modules: true,
        data_directory: PathBuf::from(".terraform"),
        fetch_modules: false,
        variables: InputVariables::default(),
    };
    read(root, &options)
}

fn constraints(found: &Requirements) -> Constraints {
    found
        .providers
        .iter()
        .map(|(address, found)| (address.clone(), found.constraints.clone()))
        .collect()
}

fn check_places(found: &Requirements) {
    let declarations = found
        .providers
        .values()
        .flat_map(|requirement| &requirement.declarations);
    for place in declarations.flat_map(|declaration| {
        [&declaration.location]
            .into_iter()
            .chain(&declaration.version)
    }) {
        assert!(
            place.file.text.get(place.span.clone()).is_some(),
            "{place:?}"
        );
    }
}
