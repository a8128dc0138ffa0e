//! Configurations of Terragrunt.

use provlock::project::ModuleFetching;

use crate::project::Project;

const MODULE: &[u8] = b"resource \"a_b\" \"c\" {}\n";
const PARENT: &[u8] = b"locals {\n  name = \"module\"\n}\n";
const OTHER: &[u8] = b"terraform {\n  source = \"../module\"\n}\n";

/// Reads a unit beside a module, another unit and a parent. It is read the same again, and with a
/// comment at its end; the files that it generates are not written.
pub fn terragrunt(data: &[u8]) -> bool {
    let files: [(&str, &[u8]); 4] = [
        ("module/main.tf", MODULE),
        ("root.hcl", PARENT),
        ("other/terragrunt.hcl", OTHER),
        ("unit/terragrunt.hcl", data),
    ];
    let project = Project::new(&files);
    let required = project.required("unit", ModuleFetching::Never);
    assert_eq!(project.required("unit", ModuleFetching::Never), required);
    if required.is_some() {
        project.write("unit/terragrunt.hcl", &[data, b"\n# a comment\n"].concat());
        assert_eq!(
            project.required("unit", ModuleFetching::Never),
            required,
            "with a comment at the end"
        );
    }
    required.is_some()
}
