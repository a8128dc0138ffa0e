//! Stacks of Terragrunt and of HCP Terraform in a change.

use provlock_test::str;

use super::gate::Gate;
use super::gate_bypass::all_are_errors;
use super::unknown::UNIT;

/// A stack with a unit whose source is in the repository, and one with this source.
fn stack(source: &str) -> String {
    format!(
        "unit \"local\" {{\n  source = \"../unit\"\n  path   = \"l\"\n}}\n\
         unit \"a\" {{\n  source = \"{source}\"\n  path   = \"a\"\n}}\n"
    )
}

/// Path of a unit of a stack in a directory of the repository.
const REPLACED: &str = "path   = \"live\"\n  no_dot_terragrunt_stack = true";

#[test]
fn a_stack_of_units_of_the_repository_makes_nothing_unknown() {
    let gate = Gate::with(|gate| {
        gate.write("unit/terragrunt.hcl", UNIT);
        gate.write(
            "old/terragrunt.stack.hcl",
            stack("git::https://example.com/units.git//u?ref=v1.0.0"),
        );
    });
    let before = gate.judge(&["-r"]);
    gate.write("stack/terragrunt.stack.hcl", stack("../unit"));
    gate.write(
        "free/terragrunt.stack.hcl",
        stack("../unit").replace("path   = \"a\"", REPLACED),
    );
    gate.write(
        "root/terragrunt.stack.hcl",
        stack("${get_repo_root()}/unit"),
    );
    let own = REPLACED.replace("live", "made");
    gate.write(
        "live/terragrunt.stack.hcl",
        stack("../unit").replace("path   = \"a\"", &own),
    );
    gate.write("live/made/.gitignore", "*\n!.terraform.lock.hcl\n");
    let inside = REPLACED.replace("true", "false");
    gate.write(
        "terragrunt.stack.hcl",
        stack("./unit")
            .replace("path   = \"a\"", &inside)
            .replace("../unit", "./unit"),
    );
    let spaced = gate
        .read("old/terragrunt.stack.hcl")
        .replace("source = ", "source     = ");
    gate.write("old/terragrunt.stack.hcl", spaced + "# more\n");
    assert_eq!(gate.judge(&["-r"]), before);
}

#[test]
fn the_source_of_a_stack_is_altered_with_its_locals() {
    let computed = |host: &str, name: &str| {
        format!("locals {{\n  s = \"git::https://{host}/u.git\"\n  n = \"{name}\"\n}}\n")
            + &stack("${local.s}")
    };
    let gate = Gate::with(|gate| {
        gate.write("unit/terragrunt.hcl", UNIT);
        gate.write("old/terragrunt.stack.hcl", computed("good.test", "a"));
    });
    gate.write(
        "old/terragrunt.stack.hcl",
        "# A comment.\n".to_owned() + &computed("good.test", "a"),
    );
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    gate.write("old/terragrunt.stack.hcl", computed("evil.test", "a"));
    assert_eq!(gate.errors(&["-r"]), ["not-decided"]);
    let both = |first: &str, second: &str| format!("/*\n{}*/\n{}", stack(first), stack(second));
    let gate = Gate::with(|gate| {
        gate.write("unit/terragrunt.hcl", UNIT);
        gate.write(
            "old/terragrunt.stack.hcl",
            both("git::https://evil.test/u.git", "../unit"),
        );
    });
    gate.write(
        "old/terragrunt.stack.hcl",
        both("../unit", "git::https://evil.test/u.git"),
    );
    assert_eq!(
        gate.errors(&["-r"]),
        ["not-decided"],
        "comment signs that move"
    );
}

#[test]
fn a_stack_of_units_from_elsewhere_is_an_error() {
    all_are_errors(
        "a pull request adds a stack with an unreadable source",
        |_| {},
        &[
            (
                "a stack makes units of a remote source",
                |gate| {
                    gate.write(
                        "stack/terragrunt.stack.hcl",
                        stack("git::https://example.com/units.git//u?ref=v1.0.0"),
                    );
                },
                "not-decided",
            ),
            (
                "a stack makes units of what is out of the repository",
                |gate| gate.write("stack/terragrunt.stack.hcl", stack("../../units")),
                "not-decided",
            ),
            (
                "a stack makes units of what is not known",
                |gate| {
                    gate.write(
                        "stack/terragrunt.stack.hcl",
                        stack("../${run_cmd(\"echo\", \"x\")}"),
                    );
                },
                "not-decided",
            ),
            (
                "a stack replaces a unit of the repository",
                |gate| {
                    gate.write(
                        "terragrunt.stack.hcl",
                        stack("./unit").replace("path   = \"a\"", REPLACED),
                    );
                },
                "not-decided",
            ),
            (
                "a stack has a block that replaces a source",
                |gate| {
                    let block = "autoinclude {\n  terraform {\n  source = \"git::https://evil.test/x.git\"\n}\n}\n}\n";
                    let unit = "unit \"z\" {\n  source = \"./unit\"\n  path = \"z\"\n  ";
                    gate.write("stack/terragrunt.stack.hcl", format!("{unit}{block}"));
                },
                "not-decided",
            ),
            (
                "a stack includes units",
                |gate| {
                    gate.write(
                        "stack/terragrunt.stack.hcl",
                        "include \"x\" {\n  path = \"./x.hcl\"\n}\n",
                    );
                },
                "not-decided",
            ),
            #[cfg(unix)]
            (
                "a stack is a link",
                |gate| gate.link("../live/main.tf", "other/terragrunt.stack.hcl"),
                "not-decided",
            ),
            (
                "a stack cannot be parsed",
                |gate| gate.write("stack/terragrunt.stack.hcl", "unit {"),
                "not-decided",
            ),
        ],
    );
}

#[test]
fn a_changed_stack_of_hcp_terraform_is_unknown() {
    let gate = Gate::with(|gate| {
        gate.write(
            "stack/.terraform.lock.hcl",
            gate.read("live/.terraform.lock.hcl"),
        );
        gate.write(
            "stack/a.tfcomponent.hcl",
            "component \"a\" {\n  source = \"./a\"\n}\n",
        );
    });
    gate.run(&["stack"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[no-configuration]: there is only a stack beside stack/.terraform.lock.hcl, so it was checked on its own
--> stack/.terraform.lock.hcl:1:1
 |
help: provlock reads no stacks; terraform stacks providers-lock updates the lock file

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in stack/.terraform.lock.hcl
"#]]);
    gate.write(
        "stack/a.tfcomponent.hcl",
        "component \"a\" {\n  source = \"git::https://evil.test/a.git\"\n}\n",
    );
    assert_eq!(gate.errors(&["-r"]), ["not-decided"]);
    gate.git(&["checkout", "--quiet", "main", "stack"]);
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    gate.write("stack/b.tfcomponent.json", "{}");
    assert_eq!(gate.errors(&["-r"]), ["not-decided"]);
}

#[test]
fn what_a_stack_includes_may_not_change_unseen() {
    let gate = Gate::with(|gate| {
        gate.write(
            "stack/terragrunt.stack.hcl",
            "include \"more\" {\n  path = \"./more.hcl\"\n}\n",
        );
        gate.write("stack/more.hcl", "");
    });
    gate.write("stack/notes.md", "");
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    gate.write(
        "stack/more.hcl",
        stack("git::https://evil.test/units.git//x"),
    );
    assert_eq!(gate.errors(&["-r"]), ["not-decided"]);
}
