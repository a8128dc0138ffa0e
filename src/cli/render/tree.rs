//! The output of `tree`: the modules that require a provider, as `cargo tree --invert` shows them.

use provlock::provider::Dialect;

use super::foreign::safe_line;
use super::json::{AsText, Place, RequiredProvider, RequiringModule};
use super::style::columns;

/// All trees, separated by blank lines.
pub(crate) fn text(trees: &[RequiredProvider<'_>], dialect: Dialect) -> String {
    let texts: Vec<_> = trees.iter().map(|tree| one(tree, dialect)).collect();
    texts.join("\n")
}

fn one(tree: &RequiredProvider<'_>, dialect: Dialect) -> String {
    let depths: Vec<_> = tree.required_by.iter().map(|module| module.depth).collect();
    let rows: Vec<Vec<_>> = branches(&depths)
        .iter()
        .zip(&tree.required_by)
        .map(|(branch, one)| row(branch, one))
        .collect();
    let header = safe_line(&header(tree, dialect));
    let signer = tree.signed_by.iter().map(|key| format!("signed by {key}"));
    [header]
        .into_iter()
        .chain(signer)
        .chain(columns(&rows))
        .map(|line| line + "\n")
        .collect()
}

fn header(tree: &RequiredProvider<'_>, dialect: Dialect) -> String {
    let name = tree.address.0.short(dialect);
    let locked = tree.locked.map_or_else(
        || format!("{name} (not locked)"),
        |version| format!("{name} {version} (locked)"),
    );
    match tree.constraints {
        None => format!("{locked}, not required"),
        Some(AsText(constraints)) if constraints.is_empty() => {
            format!("{locked}, required in any version")
        }
        Some(constraints) => format!("{locked}, required as {constraints}"),
    }
}

fn row(branch: &str, module: &RequiringModule<'_>) -> Vec<String> {
    let RequiringModule {
        module,
        locked,
        required_at,
        constraints,
        repeated,
        ..
    } = module;
    let locked = locked.as_deref().map(short).unwrap_or_default();
    let repeated = if *repeated { " (*)" } else { "" };
    let module = format!("{branch}{}{locked}{repeated}", module.unwrap_or("."));
    let place = required_at
        .as_ref()
        .map(|Place { file, line, .. }| format!("{file}:{line}"));
    let constraints = constraints.map(|constraints| constraints.to_string());
    let constraints =
        constraints.or_else(|| required_at.is_some().then(|| "(no constraint)".to_owned()));
    vec![
        module,
        place.unwrap_or_default(),
        constraints.unwrap_or_default(),
    ]
}

/// ` 1.2.0`, or the first digits of a commit.
fn short(locked: &str) -> String {
    let is_commit = locked.len() >= 40 && locked.bytes().all(|byte| byte.is_ascii_hexdigit());
    format!(" {}", if is_commit { &locked[..12] } else { locked })
}

/// The lines before each node of a tree. The tree is given by the depths of its nodes, each before
/// its children.
fn branches(depths: &[usize]) -> Vec<String> {
    // For each depth, whether another node of it follows before the tree returns to a smaller
    // depth.
    let mut follows: Vec<bool> = Vec::new();
    let mut branches = Vec::with_capacity(depths.len());
    for &depth in depths.iter().rev() {
        follows.truncate(depth + 1);
        follows.resize(depth + 1, false);
        let lines: String = follows[..depth]
            .iter()
            .map(|follows| if *follows { "│   " } else { "    " })
            .collect();
        branches.push(
            lines
                + if follows[depth] {
                    "├── "
                } else {
                    "└── "
                },
        );
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
        assert_eq!(
            branches(&[0, 0, 1, 2, 1, 0]),
            [
                "├── ",
                "├── ",
                "│   ├── ",
                "│   │   └── ",
                "│   └── ",
                "└── "
            ]
        );
        assert_eq!(branches(&[]), [""; 0]);
    }
}
