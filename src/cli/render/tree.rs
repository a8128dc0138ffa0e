//! The output of `tree`: the modules that require a provider, as `cargo tree --invert` shows them.

use provlock::provider::Dialect;

use super::foreign::safe_line;
use super::json::{AsText, Place, RequiredProvider, RequiringModule};
use super::style::align_in_columns;

/// All trees, separated by blank lines.
pub(crate) fn draw_trees(trees: &[RequiredProvider<'_>], dialect: Dialect) -> String {
    let texts: Vec<_> = trees.iter().map(|tree| one(tree, dialect)).collect();
    texts.join("\n")
}

fn one(tree: &RequiredProvider<'_>, dialect: Dialect) -> String {
    let depths: Vec<_> = tree.required_by.iter().map(|module| module.depth).collect();
    let mut rows = Vec::new();
    for (branch, module) in branches(&depths).iter().zip(&tree.required_by) {
        rows.push(row(branch, module));
    }

    let mut lines = vec![safe_line(&header(tree, dialect))];
    if let Some(key) = &tree.signed_by {
        lines.push(format!("signed by {key}"));
    }
    lines.extend(align_in_columns(&rows));
    lines.join("\n") + "\n"
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
    let mut name = format!("{branch}{}", module.module.unwrap_or("."));
    if let Some(locked) = &module.locked {
        name += &short(locked);
    }
    if module.repeated {
        name += " (*)";
    }
    let mut place = String::new();
    let mut constraints = String::new();
    if let Some(Place { file, line, .. }) = &module.required_at {
        place = format!("{file}:{line}");
        "(no constraint)".clone_into(&mut constraints);
    }
    if let Some(written) = &module.constraints {
        constraints = written.to_string();
    }
    vec![name, place, constraints]
}

/// ` 1.2.0`, or the first digits of a commit or of a digest.
fn short(locked: &str) -> String {
    let digits = locked.strip_prefix("sha256:").unwrap_or(locked);
    let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits.len() < 40 || !is_hexadecimal {
        return format!(" {locked}");
    }
    let end = locked.len() - digits.len() + 12;
    format!(" {}", &locked[..end])
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
