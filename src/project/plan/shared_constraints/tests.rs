use std::fs;

use super::*;
use crate::configuration::{self, InputVariables, Options, rewrite};
use crate::diagnostic::{HelpPart, UpgradeRemedy};
use crate::provider::Dialect;

const GAMMA: &str = "acme/gamma";

/// Root modules `a`, `b`, … that call the module `shared`, with constraints on acme/gamma of their own where one is
/// given.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(shared: &str, own: &[&str]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write("shared/main.tf", &requires(shared));
        for (root, constraint) in ('a'..).zip(own) {
            let own = if constraint.is_empty() { String::new() } else { requires(constraint) };
            tree.write(&format!("{root}/main.tf"), &format!("{own}module \"m\" {{\n  source = \"../shared\"\n}}\n"));
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What `upgrade --constraints` finds out about a root module where that version of acme/gamma is the newest that
    /// can be reached.
    fn plan(&self, root: &str, dialect: Dialect, version: &str) -> (PathBuf, UpgradePlan) {
        let root = self.0.path().join(root);
        let options = Options {
            dialect,
            tests: true,
            allow_missing_modules: false,
            data_directory: PathBuf::from(".terraform"),
            fetch_modules: true,
            variables: InputVariables::default(),
        };
        let mut requirements = configuration::read(&root, &options).unwrap();
        let address = ProviderAddress::parse(GAMMA, dialect).unwrap();
        let version: Version = version.parse().unwrap();
        let requirement = requirements.providers.get_mut(&address).unwrap();
        let mut edits = Vec::new();
        if !requirement.constraints.allows(&version) {
            let rewrite = rewrite::allow(requirement, &version).unwrap();
            *requirement = rewrite.requirement;
            edits = rewrite.edits;
        }
        let versions = BTreeMap::from([(address, version)]);
        let plan = UpgradePlan {
            dialect,
            providers: Vec::new(),
            requirements,
            modules: Vec::new(),
            edits,
            versions,
            pruned: Vec::new(),
            warnings: Vec::new(),
            unpublished_hashes: 0,
            uncompared_hashes: 0,
        };
        (root, plan)
    }
}

fn requires(constraint: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    gamma = {{ source = \"{GAMMA}\", version = \"{constraint}\" }}\n  }}\n}}\n"
    )
}

fn agreed(plans: &mut [(PathBuf, UpgradePlan)]) -> Vec<ConstraintConflict> {
    agree(&mut plans.iter_mut().map(|(path, plan)| (path.as_path(), plan)).collect::<Vec<_>>())
}

/// The constraints on acme/gamma after the edits, and what is written where.
fn outcome((_, plan): &(PathBuf, UpgradePlan)) -> (String, Vec<String>) {
    let address = ProviderAddress::parse(GAMMA, plan.dialect).unwrap();
    let edits = plan.edits.iter().map(|edit| edit.new.clone()).collect();
    (plan.requirements.providers[&address].constraints.to_string(), edits)
}

#[test]
fn without_edits_nothing_happens() {
    let tree = Tree::new("~> 1.0", &["", ""]);
    let mut plans = ["a", "b"].map(|root| tree.plan(root, Dialect::Tofu, "1.5.0"));
    assert!(agreed(&mut plans).is_empty());
    for plan in &plans {
        assert_eq!(outcome(plan), ("~> 1.0".to_owned(), Vec::new()));
    }
}

#[test]
fn the_edit_for_the_newest_version_counts_for_all() {
    let tree = Tree::new("< 2.0", &["", "< 3.0", ""]);
    let mut plans = [
        tree.plan("a", Dialect::Tofu, "3.1.0"),
        tree.plan("b", Dialect::Tofu, "2.5.0"),
        tree.plan("c", Dialect::Tofu, "1.9.0"),
    ];
    assert!(agreed(&mut plans).is_empty());
    let edit = || vec!["< 4.0".to_owned()];
    assert_eq!(outcome(&plans[0]), ("< 4.0.0".to_owned(), edit()));
    assert_eq!(outcome(&plans[1]), ("< 3.0.0, < 4.0.0".to_owned(), edit()));
    assert_eq!(outcome(&plans[2]), ("< 4.0.0".to_owned(), edit()), "it needed no edit itself");
}

#[test]
fn an_edit_that_excludes_the_version_of_another_root_stops_all_that_share_the_constraint() {
    let tree = Tree::new("~> 1.0", &["", "", "", ""]);
    tree.write("d/main.tf", &requires("~> 1.0"));
    let mut plans = [
        tree.plan("a", Dialect::Tofu, "1.2.0"),
        tree.plan("b", Dialect::Tofu, "3.0.0"),
        tree.plan("c", Dialect::Tofu, "2.0.0"),
        tree.plan("d", Dialect::Tofu, "2.0.0"),
    ];
    let [ConstraintConflict { roots, error }] = <[_; 1]>::try_from(agreed(&mut plans)).ok().unwrap();
    assert_eq!(roots, [0, 1, 2], "the last has a constraint of its own");
    let [a, b, c] = ["a", "b", "c"].map(|root| tree.0.path().join(root).display().to_string());
    assert_eq!(error.message, "the constraint ~> 1.0 cannot be rewritten for all root modules that share it");
    assert!(error.labels[0].location.path().ends_with("shared/main.tf"), "{error:?}");
    let notes = [
        format!("{b} should get 3.0.0, which needs ~> 3.0"),
        format!("{a} can get 1.2.0 at most, which that does not allow"),
        format!("{c} can get 2.0.0 at most, which that does not allow"),
    ];
    assert_eq!(error.notes, notes);
    let help = error.help.unwrap();
    let providers = vec!["acme/gamma@1.2.0".to_owned()];
    let upgrade = UpgradeRemedy { providers, recursive: true, constraints: true, ..UpgradeRemedy::default() };
    assert!(help.parts().contains(&HelpPart::Remedy(upgrade.into())));
    assert_eq!(outcome(&plans[3]), ("~> 2.0".to_owned(), vec!["~> 2.0".to_owned()]));
}

#[test]
fn root_modules_of_both_dialects_share_a_constraint() {
    let tree = Tree::new("~> 1.0", &["", ""]);
    let mut plans = [tree.plan("a", Dialect::Tofu, "1.0.0"), tree.plan("b", Dialect::Terraform, "2.0.0")];
    let conflicts = agreed(&mut plans);
    assert_eq!(conflicts[0].roots, [0, 1]);
    let help = format!("{:?}", conflicts[0].error.help);
    assert!(help.contains("\"acme/gamma@1.0.0\""), "{help}");
}

#[test]
fn a_file_that_changed_between_two_readings_is_left_to_whoever_writes_it() {
    let tree = Tree::new("~> 1.0", &["", ""]);
    let first = tree.plan("a", Dialect::Tofu, "2.0.0");
    tree.write("shared/main.tf", &format!("{}# changed\n", requires("~> 1.0")));
    let mut plans = [first, tree.plan("b", Dialect::Tofu, "1.0.0")];
    assert!(agreed(&mut plans).is_empty());
    assert_eq!(outcome(&plans[1]), ("~> 1.0".to_owned(), Vec::new()));
}

#[cfg(unix)]
#[test]
fn a_module_that_is_reached_by_a_symlink_is_the_same_module() {
    let tree = Tree::new("< 2.0", &["", ""]);
    std::os::unix::fs::symlink("shared", tree.0.path().join("link")).unwrap();
    tree.write("b/main.tf", "module \"m\" {\n  source = \"../link\"\n}\n");
    let mut plans = [tree.plan("a", Dialect::Tofu, "2.0.0"), tree.plan("b", Dialect::Tofu, "1.0.0")];
    assert!(agreed(&mut plans).is_empty());
    assert_eq!(outcome(&plans[1]), ("< 3.0.0".to_owned(), vec!["< 3.0".to_owned()]));
    assert!(plans[1].1.edits[0].location.path().ends_with("link/main.tf"));
}
