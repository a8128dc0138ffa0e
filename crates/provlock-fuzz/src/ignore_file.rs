//! Files of patterns.

use crate::project::Project;

/// Finds root modules where `.gitignore` has these patterns. It hides root modules and makes none,
/// and a comment at its end changes nothing.
pub fn ignore_file(data: &[u8]) -> bool {
    let module: &[u8] = b"terraform {\n  backend \"local\" {}\n}\n";
    let names = [
        "a/main.tf",
        "a/b/main.tf",
        "a/b/c/x.tf",
        "c/main.tf",
        "#x/main.tf",
        "d /main.tf",
        "main.tf",
    ];
    let project = Project::new(&names.map(|name| (name, module)));
    let all = project.roots().expect("root modules");
    project.write(".gitignore", data);
    let Some(found) = project.roots() else {
        return false;
    };
    assert!(found.iter().all(|root| all.contains(root)), "{found:?}");
    project.write(".gitignore", &[data, b"\n# a comment\n"].concat());
    assert_eq!(
        project.roots().as_ref(),
        Some(&found),
        "with a comment at the end"
    );
    true
}
