//! The output of `tree`: the modules that require a provider, as `cargo tree --invert` shows them.

use provlock::configuration::{CalledModule, Requirements, Requirer};
use provlock::lockfile::{Locks, ModuleLocks};
use provlock::provider::{ConstraintList, Dialect, ProviderAddress, Version};

use super::foreign::safe_line;
use super::style::columns;

pub(crate) struct ProviderTree<'a> {
    pub(crate) address: &'a ProviderAddress,
    pub(crate) locked: Option<&'a Version>,
    /// The fingerprint of the key that has signed the locked version, if it is known and requested.
    pub(crate) signer: Option<String>,
    /// All constraints together; `None` if nothing requires the provider.
    pub(crate) constraints: Option<&'a ConstraintList>,
    pub(crate) requirers: Vec<Requirer<'a>>,
    /// Locked entries of module calls.
    pub(crate) modules: &'a ModuleLocks,
}

impl<'a> ProviderTree<'a> {
    pub(crate) fn new(
        address: &'a ProviderAddress,
        requirements: &'a Requirements,
        locks: &'a Locks,
        modules: &'a ModuleLocks,
    ) -> Self {
        Self {
            address,
            locked: locks.get(address).map(|locked| &locked.version),
            signer: None,
            constraints: requirements.providers.get(address).map(|requirement| &requirement.constraints),
            requirers: requirements.requirers(address),
            modules,
        }
    }

    /// The locked version of a called module, or else its locked commit.
    pub(crate) fn locked_module(&self, call: &CalledModule) -> Option<String> {
        let locked = self.modules.get(&call.key)?;
        let version = locked.version.as_ref().map(ToString::to_string);
        version.or_else(|| locked.commit().map(str::to_owned))
    }
}

/// All trees, separated by blank lines.
pub(crate) fn text(trees: &[ProviderTree<'_>], dialect: Dialect) -> String {
    let texts: Vec<_> = trees.iter().map(|tree| one(tree, dialect)).collect();
    texts.join("\n")
}

fn one(tree: &ProviderTree<'_>, dialect: Dialect) -> String {
    let depths: Vec<_> = tree.requirers.iter().map(|requirer| requirer.depth).collect();
    let rows = branches(&depths).into_iter().zip(&tree.requirers);
    let rows: Vec<Vec<String>> = rows.map(|(branch, requirer)| row(tree, &branch, requirer).into()).collect();
    let header = safe_line(&header(tree, dialect));
    let signer = tree.signer.iter().map(|key| format!("signed by {key}"));
    [header].into_iter().chain(signer).chain(columns(&rows)).map(|line| line + "\n").collect()
}

fn header(tree: &ProviderTree<'_>, dialect: Dialect) -> String {
    let name = tree.address.short(dialect);
    let locked =
        tree.locked.map_or_else(|| format!("{name} (not locked)"), |version| format!("{name} {version} (locked)"));
    match tree.constraints {
        None => format!("{locked}, not required"),
        Some(constraints) if constraints.is_empty() => format!("{locked}, required in any version"),
        Some(constraints) => format!("{locked}, required as {constraints}"),
    }
}

fn row(tree: &ProviderTree<'_>, branch: &str, requirer: &Requirer<'_>) -> [String; 3] {
    let locked = requirer.call.and_then(|call| tree.locked_module(call)).map(|locked| short(&locked));
    let module = requirer.call.map_or(".", |call| &call.address).to_owned() + &locked.unwrap_or_default();
    let repeated = if requirer.is_repeated { " (*)" } else { "" };
    let Some(declaration) = requirer.declaration else {
        return [format!("{branch}{module}{repeated}"), String::new(), String::new()];
    };
    let place = declaration.version_place();
    let constraints = match declaration.constraints.to_string() {
        none if none.is_empty() => "(no constraint)".to_owned(),
        constraints => constraints,
    };
    let place = format!("{}:{}", place.path().display(), place.line_column().0);
    [format!("{branch}{module}{repeated}"), place, constraints]
}

/// ` 1.2.0`, or the first digits of a commit.
fn short(locked: &str) -> String {
    let is_commit = locked.len() >= 40 && locked.bytes().all(|byte| byte.is_ascii_hexdigit());
    format!(" {}", if is_commit { &locked[..12] } else { locked })
}

/// The lines before each node of a tree. The tree is given by the depths of its nodes, each before its children.
fn branches(depths: &[usize]) -> Vec<String> {
    // For each depth, whether another node of it follows before the tree returns to a smaller depth.
    let mut follows: Vec<bool> = Vec::new();
    let mut branches = Vec::with_capacity(depths.len());
    for &depth in depths.iter().rev() {
        follows.truncate(depth + 1);
        follows.resize(depth + 1, false);
        let lines: String = follows[..depth].iter().map(|follows| if *follows { "│   " } else { "    " }).collect();
        branches.push(lines + if follows[depth] { "├── " } else { "└── " });
        follows[depth] = true;
    }
    branches.reverse();
    branches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lead_to_the_last_node_of_each_depth() {
        assert_eq!(branches(&[0, 0, 1, 2, 1, 0]), ["├── ", "├── ", "│   ├── ", "│   │   └── ", "│   └── ", "└── "]);
        assert_eq!(branches(&[]), [""; 0]);
    }
}
