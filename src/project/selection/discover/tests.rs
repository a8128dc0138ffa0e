//! Tests of the search for root modules.

use std::fs;

use super::*;
use crate::project::{ModuleFetching, Selection, SessionOptions};
use crate::settings::RootFilter;
use crate::system::canonicalize;
use crate::system::{Environment, glob};

/// A root module, unless something speaks against it.
const ROOT: &str = "provider \"null\" {}\nresource \"null_resource\" \"a\" {}\n";
const BACKEND: &str = "terraform {\n  backend \"s3\" {}\n}\n";

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn session() -> Session<'static> {
    let options = SessionOptions {
        modules: ModuleFetching::Never,
        ..SessionOptions::default()
    };
    Session::new(Environment::default(), options).unwrap()
}

fn search(
    session: &Session<'_>,
    start: &Path,
    canonical: &Path,
    filter: &Filter,
) -> Vec<FoundRoot> {
    let search = RootSearch {
        session,
        start,
        canonical,
        filter,
        dialect: None,
        with_modules: false,
        base: None,
        removed_files: &BTreeSet::new(),
        is_named: false,
    };
    search.find().unwrap().roots
}

fn found(directory: &Path, filter: &RootFilter) -> Vec<String> {
    let base = canonicalize(directory).unwrap();
    let filter = Filter::new(&[RootFilter {
        base: base.clone(),
        ..filter.clone()
    }])
    .unwrap();
    let roots = search(&session(), directory, &base, &filter);
    let below = |root: &FoundRoot| {
        root.path
            .strip_prefix(directory)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/")
    };
    roots.iter().map(below).collect()
}

#[test]
fn a_backend_makes_a_root_wherever_it_is() {
    let directory = tree(&[
        ("main.tf", "module \"m\" {\n  source = \"./called\"\n}\n"),
        ("called/main.tf", BACKEND),
        ("modules/m/main.tf", BACKEND),
        ("cloud/main.tf", "terraform {\n  cloud {}\n}\n"),
        (
            "modules/store/main.tf",
            "terraform {\n  state_store \"a_b\" {\n    provider \"a\" {}\n  }\n}\n",
        ),
        ("plain/main.tf", "locals {}\n"),
    ]);
    assert_eq!(
        found(directory.path(), &RootFilter::default()),
        ["called", "cloud", "modules/m", "modules/store"]
    );
}

#[test]
fn a_directory_with_a_lock_file_is_a_root_unless_called() {
    let directory = tree(&[
        (
            "a/main.tf",
            "module \"m\" {\n  source = \"../modules/called\"\n}\n",
        ),
        ("a/.terraform.lock.hcl", ""),
        ("examples/b/.terraform.lock.hcl", ""),
        ("modules/called/.terraform.lock.hcl", ""),
        ("modules/called/main.tf", "locals {}\n"),
        ("unit/terragrunt.hcl", ""),
        ("locked_unit/terragrunt.hcl", ""),
        ("locked_unit/.terraform.lock.hcl", ""),
    ]);
    assert_eq!(
        found(directory.path(), &RootFilter::default()),
        ["a", "examples/b", "locked_unit"]
    );
}

#[test]
fn the_modules_of_a_large_repository_are_read_once() {
    let paths: Vec<_> = (0..1_100)
        .map(|number| format!("{number}/main.tf"))
        .collect();
    let directory = tree(
        &paths
            .iter()
            .map(|path| (path.as_str(), ROOT))
            .collect::<Vec<_>>(),
    );
    let canonical = canonicalize(directory.path()).unwrap();
    let session = session();
    let filter = Filter::new(&[]).unwrap();
    let roots = search(&session, directory.path(), &canonical, &filter);
    assert_eq!(roots.len(), paths.len());
    for root in roots.iter().map(|root| &root.path) {
        fs::remove_file(root.join("main.tf")).unwrap();
        assert!(
            !session.modules.module(root, Dialect::default()).is_empty(),
            "{} is read again",
            root.display()
        );
    }
}

#[test]
fn a_module_with_its_own_providers_is_a_root_unless_called() {
    let aliases = "terraform {\n  required_providers {\n    null = { configuration_aliases = [null.b] }\n  }\n}\n";
    let directory = tree(&[
        ("main.tf", ROOT),
        (
            "caller/main.tf",
            "provider \"null\" {}\nmodule \"m\" {\n  source = \"../called\"\n}\n",
        ),
        ("called/main.tf", ROOT),
        (
            "data/main.tf",
            "provider \"null\" {}\ndata \"null_data_source\" \"a\" {}\n",
        ),
        ("taking/main.tf", &format!("{aliases}{ROOT}")),
        ("unused/main.tf", "provider \"null\" {}\n"),
        (
            "unconfigured/main.tf",
            "resource \"null_resource\" \"a\" {}\n",
        ),
        ("docs/readme.md", "provider"),
    ]);
    assert_eq!(
        found(directory.path(), &RootFilter::default()),
        ["", "caller", "data"]
    );
}

#[test]
fn directories_of_modules_and_examples_contain_no_such_roots() {
    let names = [
        "modules", "module", "examples", "example", "tests", "test", "fixtures", "testdata",
        "template",
    ];
    for name in
        names
            .into_iter()
            .chain(["templates", "skeleton", "__name__", "{{cookiecutter.name}}"])
    {
        let directory = tree(&[
            (&format!("{name}/a/main.tf"), ROOT),
            ("tested/main.tf", ROOT),
        ]);
        assert_eq!(
            found(directory.path(), &RootFilter::default()),
            ["tested"],
            "{name}"
        );
        assert_eq!(
            found(&directory.path().join(name), &RootFilter::default()),
            ["a"],
            "{name} is named, so meant"
        );
    }
}

#[test]
fn a_module_that_cannot_be_read_may_be_a_root() {
    let directory = tree(&[
        ("broken/main.tf", "provider \"null\" {"),
        ("called/main.tf", "provider \"null\" {"),
        ("examples/x/main.tf", "provider \"null\" {"),
        (
            "loose/some.tf",
            "resource \"null_resource\" \"{{ name }}\" {",
        ),
        ("font/some.tf", "%TF.FileFunction,Copper,L1,Top*%{\n"),
        (
            "root/main.tf",
            &format!("module \"m\" {{\n  source = \"../called\"\n}}\n{ROOT}"),
        ),
        ("plain/main.tf", "locals {}\n"),
    ]);
    assert_eq!(
        found(directory.path(), &RootFilter::default()),
        ["broken", "root"]
    );
}

#[test]
fn a_unit_with_a_lock_file_is_a_root_but_its_module_is_not() {
    let backend = "terraform {\n  backend \"s3\" {}\n}\n";
    let directory = tree(&[
        (
            "live/a/terragrunt.hcl",
            "terraform {\n  source = \"../../modules//m\"\n}\n",
        ),
        ("live/a/.terraform.lock.hcl", ""),
        (
            "live/b/terragrunt.hcl",
            "terraform {\n  source = \"../../modules//n\"\n}\n",
        ),
        (
            "live/c/terragrunt.hcl",
            "terraform {\n  source = \"../a\"\n}\n",
        ),
        ("live/terragrunt.hcl", ""),
        ("live/main.tf", backend),
        ("modules/m/main.tf", backend),
        ("modules/m/.terraform.lock.hcl", ""),
        ("modules/n/main.tf", backend),
        ("other/main.tf", backend),
    ]);
    fs::create_dir(directory.path().join(".git")).unwrap();
    let expected = ["live/a", "live/c", "other"];
    assert_eq!(
        found(directory.path(), &RootFilter::default()),
        expected,
        "c uses the lock file of a"
    );
}

#[test]
fn ignored_and_installed_directories_are_not_looked_at() {
    let directory = tree(&[
        (".gitignore", "/build/\n*.bak/\n"),
        ("build/main.tf", ROOT),
        ("x.bak/main.tf", ROOT),
        ("a/.terraform/modules/m/main.tf", ROOT),
        ("a/.terragrunt-cache/x/main.tf", ROOT),
        (".hidden/main.tf", ROOT),
        ("a/main.tf", ROOT),
    ]);
    assert_eq!(
        found(directory.path(), &RootFilter::default()),
        [".hidden", "a"]
    );
}

#[test]
fn globs_are_relative_to_the_settings_file() {
    let directory = tree(&[
        ("infra/main.tf", ROOT),
        ("infra/a/main.tf", ROOT),
        ("infra/a/examples/x/main.tf", ROOT),
        ("other/main.tf", ROOT),
    ]);
    let globs = |list: &[&str]| list.iter().map(|text| glob::parse(text).unwrap()).collect();
    let filter = RootFilter {
        include: globs(&["infra/**"]),
        exclude: globs(&["**/examples/**"]),
        ..RootFilter::default()
    };
    assert_eq!(found(directory.path(), &filter), ["infra", "infra/a"]);
    let filter = RootFilter {
        include: globs(&["*"]),
        ..RootFilter::default()
    };
    assert_eq!(found(directory.path(), &filter), ["infra", "other"]);
}

#[test]
fn a_start_that_does_not_exist_is_an_error() {
    let missing = tempfile::tempdir().unwrap().path().join("missing");
    assert!(session().roots(&Selection::recursive(missing)).is_err());
}

#[cfg(unix)]
#[test]
fn a_call_through_a_symbolic_link_is_a_call() {
    let calls = "module \"m\" {\n  source = \"./link\"\n}\nprovider \"null\" {}\n";
    let directory = tree(&[("a/main.tf", calls), ("m/main.tf", ROOT)]);
    std::os::unix::fs::symlink("../m", directory.path().join("a/link")).unwrap();
    assert_eq!(found(directory.path(), &RootFilter::default()), ["a"]);
}
