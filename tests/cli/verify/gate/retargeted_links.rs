//! Changes that lead a symbolic link to a directory elsewhere: everything that is read through it
//! is compared with the base.

use std::fs;
use std::path::Path;

use provlock_test::survived;

use super::gate::Gate;

/// A file with its content; a link for `PATH -> TARGET`, in place of what was there.
type Files = &'static [(&'static str, &'static str)];

/// A change of links, and a part of the output; `None` if nothing is found.
struct Case {
    name: &'static str,
    base: Files,
    change: Files,
    expected: Option<&'static str>,
}

const V1: &str =
    "module \"vpc\" {\n  source = \"git::https://github.com/acme/vpc.git?ref=v1\"\n}\n";
const V2: &str =
    "module \"vpc\" {\n  source = \"git::https://github.com/acme/vpc.git?ref=v2\"\n}\n";
const UNIT_V1: &str =
    "terraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=v1\"\n}\n";
const UNIT_V2: &str =
    "terraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=v2\"\n}\n";
const CALL: &str = "module \"z\" {\n  source = \"../mods/current\"\n}\nterraform {\n  backend \"s3\" {\n    bucket = \"acme\"\n  }\n}\n";
const BACKEND: &str = "terraform {\n  backend \"s3\" {\n    key = \"x\"\n  }\n}\n";
const STATE_V1: &str = "terraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=v1\"\n}\nremote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"acme\"\n    key = \"x\"\n  }\n}\n";
const STATE_V2: &str = "terraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=v1\"\n}\nremote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"evil\"\n    key = \"x\"\n  }\n}\n";
const INCLUDE: &str = "include \"root\" {\n  path = \"${get_repo_root()}/common/root.hcl\"\n}\n";
const READ: &str = "locals {\n  v = read_terragrunt_config(\"${get_repo_root()}/common/v.hcl\")\n}\nterraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=${local.v.locals.ref}\"\n}\n";
const UNKNOWN: &str = "locals {\n  v = read_terragrunt_config(\"${get_repo_root()}/common/v.hcl\")\n}\nterraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=${regex(\"v.*\", local.v.locals.ref)}\"\n}\n";
const TEST_V1: &str =
    "run \"a\" {\n  module {\n    source  = \"acme/vpc/aws\"\n    version = \"1.0.0\"\n  }\n}\n";
const TEST_V2: &str =
    "run \"a\" {\n  module {\n    source  = \"acme/vpc/aws\"\n    version = \"2.0.0\"\n  }\n}\n";
const PLUGIN: &str =
    "plugins/registry.terraform.io/hashicorp/null/3.2.3/linux_amd64/terraform-provider-null_v3.2.3";

/// Cases that decide.
const DECIDING: &[Case] = &[
    Case {
        name: "a called module",
        base: &[
            ("app/main.tf", CALL),
            ("mods/v1/main.tf", V1),
            ("mods/v2/main.tf", V2),
            ("mods/current -> v1", ""),
        ],
        change: &[("mods/current -> v2", "")],
        expected: Some("vpc.git?ref=v1 → git::https://github.com/acme/vpc.git?ref=v2"),
    },
    Case {
        name: "a called module through two links",
        base: &[
            ("app/main.tf", CALL),
            ("mods/v1/main.tf", V1),
            ("mods/v2/main.tf", V2),
            ("mods/latest -> v1", ""),
            ("mods/current -> latest", ""),
        ],
        change: &[("mods/latest -> v2", "")],
        expected: Some("vpc.git?ref=v1 → git::https://github.com/acme/vpc.git?ref=v2"),
    },
    Case {
        name: "a directory above a called module",
        base: &[
            ("app/main.tf", CALL),
            ("a/current/main.tf", V1),
            ("b/current/main.tf", V2),
            ("mods -> a", ""),
        ],
        change: &[("mods -> b", "")],
        expected: Some("vpc.git?ref=v1 → git::https://github.com/acme/vpc.git?ref=v2"),
    },
    Case {
        name: "a link becomes a directory",
        base: &[
            ("app/main.tf", CALL),
            ("mods/v1/main.tf", V1),
            ("mods/current -> v1", ""),
        ],
        change: &[("mods/current/main.tf", V2)],
        expected: Some("vpc.git?ref=v1 → git::https://github.com/acme/vpc.git?ref=v2"),
    },
    Case {
        name: "a called module that is not here",
        base: &[
            ("app/main.tf", CALL),
            (".gitignore", "v1/\nv2/\n"),
            ("mods/current -> v1", ""),
        ],
        change: &[("mods/current -> v2", "")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "the source of a unit",
        base: &[
            (
                "app/terragrunt.hcl",
                "terraform {\n  source = \"../mods//current\"\n}\n",
            ),
            ("mods/v1/main.tf", V1),
            ("mods/v2/main.tf", V2),
            ("mods/current -> v1", ""),
        ],
        change: &[("mods/current -> v2", "")],
        expected: Some("vpc.git?ref=v1 → git::https://github.com/acme/vpc.git?ref=v2"),
    },
    Case {
        name: "an included file",
        base: &[
            ("app/terragrunt.hcl", INCLUDE),
            ("c1/root.hcl", UNIT_V1),
            ("c2/root.hcl", UNIT_V2),
            ("common -> c1", ""),
        ],
        change: &[("common -> c2", "")],
        expected: Some("vpc.git?ref=v1 → git::https://github.com/acme/vpc.git?ref=v2"),
    },
    Case {
        name: "a link to an included file",
        base: &[
            ("app/terragrunt.hcl", INCLUDE),
            ("c/1.hcl", UNIT_V1),
            ("c/2.hcl", UNIT_V2),
            ("common/root.hcl -> ../c/1.hcl", ""),
        ],
        change: &[("common/root.hcl -> ../c/2.hcl", "")],
        expected: Some("vpc.git?ref=v1 → git::https://github.com/acme/vpc.git?ref=v2"),
    },
    Case {
        name: "a link under a different name to an included file",
        base: &[
            (
                "app/terragrunt.hcl",
                "include \"root\" {\n  path = \"${get_repo_root()}/common/root.txt\"\n}\n",
            ),
            ("c/1.txt", STATE_V1),
            ("c/2.txt", STATE_V2),
            ("common/root.txt -> ../c/1.txt", ""),
        ],
        change: &[("common/root.txt -> ../c/2.txt", "")],
        expected: Some("error[not-decided]: the state of app moves"),
    },
    Case {
        name: "a file that a unit reads",
        base: &[
            ("app/terragrunt.hcl", READ),
            ("c1/v.hcl", "locals {\n  ref = \"v1\"\n}\n"),
            ("c2/v.hcl", "locals {\n  ref = \"v2\"\n}\n"),
            ("common -> c1", ""),
        ],
        change: &[("common -> c2", "")],
        expected: Some("vpc.git?ref=v1 → git::https://github.com/acme/vpc.git?ref=v2"),
    },
    Case {
        name: "a file on which an unknown source depends",
        base: &[
            ("app/terragrunt.hcl", UNKNOWN),
            ("c1/v.hcl", "locals {\n  ref = \"v1\"\n}\n"),
            ("c2/v.hcl", "locals {\n  ref = \"v2\"\n}\n"),
            ("common -> c1", ""),
        ],
        change: &[("common -> c2", "")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "the state of a unit",
        base: &[
            ("app/terragrunt.hcl", INCLUDE),
            ("c1/root.hcl", STATE_V1),
            ("c2/root.hcl", STATE_V2),
            ("common -> c1", ""),
        ],
        change: &[("common -> c2", "")],
        expected: Some("error[not-decided]: the state of app moves"),
    },
    Case {
        name: "arguments of a backend",
        base: &[
            ("app/main.tf", BACKEND),
            ("env1/prod.tfbackend", "bucket = \"acme\"\n"),
            ("env2/prod.tfbackend", "bucket = \"evil\"\n"),
            ("app/env -> ../env1", ""),
        ],
        change: &[("app/env -> ../env2", "")],
        expected: Some("error[not-decided]: app/env/prod.tfbackend differs from the base"),
    },
    Case {
        name: "tests",
        base: &[
            ("app/main.tf", BACKEND),
            ("t/v1/a.tftest.hcl", TEST_V1),
            ("t/v2/a.tftest.hcl", TEST_V2),
            ("app/tests -> ../t/v1", ""),
        ],
        change: &[("app/tests -> ../t/v2", "")],
        expected: Some("vpc/aws (1.0.0) → registry.opentofu.org/acme/vpc/aws (2.0.0)"),
    },
    Case {
        name: "new tests",
        base: &[("app/main.tf", BACKEND), ("t/v1/a.tftest.hcl", TEST_V1)],
        change: &[("app/tests -> ../t/v1", "")],
        expected: Some("acme/vpc/aws (1.0.0) is called"),
    },
    Case {
        name: "a root module",
        base: &[
            ("a/main.tf", BACKEND),
            ("b/main.tf", BACKEND),
            ("current -> a", ""),
        ],
        change: &[("current -> b", "")],
        expected: Some(
            "note[decision-changed]: current leads to the root modules in b, and in the base to a",
        ),
    },
];

/// A source that depends on a file.
const FILE: &str = "module \"vpc\" {\n  source = \"git::https://github.com/acme/vpc.git?ref=${trimspace(file(\"${path.module}/cfg/v.txt\"))}\"\n}\nterraform {\n  backend \"s3\" {\n    bucket = \"acme\"\n  }\n}\n";
const BUCKET: &str = "terraform {\n  backend \"s3\" {\n    bucket = trimspace(file(\"${path.module}/b.txt\"))\n  }\n}\n";
const UNKNOWN_FILE: &str = "terraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=${trimspace(file(\"${get_env(\"D\")}/v.txt\"))}\"\n}\n";

/// Files behind links that decide on a source or a state which is not evaluated.
const READ_THROUGH_LINKS: &[Case] = &[
    Case {
        name: "a link leads to the file",
        base: &[
            ("app/main.tf", FILE),
            ("versions/current", "v1\n"),
            ("app/cfg/v.txt -> ../../versions/current", ""),
        ],
        change: &[("versions/current", "v2\n")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "a link to the file leads elsewhere",
        base: &[
            ("app/main.tf", FILE),
            ("versions/1", "v1\n"),
            ("versions/2", "v2\n"),
            ("app/cfg/v.txt -> ../../versions/1", ""),
        ],
        change: &[("app/cfg/v.txt -> ../../versions/2", "")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "a link to the directory of the file",
        base: &[
            ("app/main.tf", FILE),
            ("cfg/v.txt", "v1\n"),
            ("app/cfg -> ../cfg", ""),
        ],
        change: &[("cfg/v.txt", "v2\n")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "a link to the directory of the file leads elsewhere",
        base: &[
            ("app/main.tf", FILE),
            ("cfg1/v.txt", "v1\n"),
            ("cfg2/v.txt", "v2\n"),
            ("app/cfg -> ../cfg1", ""),
        ],
        change: &[("app/cfg -> ../cfg2", "")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "a file that decides on a bucket",
        base: &[
            ("app/main.tf", BUCKET),
            ("env/bucket", "acme\n"),
            ("app/b.txt -> ../env/bucket", ""),
        ],
        change: &[("env/bucket", "evil\n")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "a file that decides on the bucket of a unit",
        base: &[
            (
                "app/terragrunt.hcl",
                "terraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=v1\"\n}\nremote_state {\n  backend = \"s3\"\n  config = {\n    bucket = regex(\"[a-z]+\", file(\"b.txt\"))\n  }\n}\n",
            ),
            ("env/bucket", "acme\n"),
            ("app/b.txt -> ../env/bucket", ""),
        ],
        change: &[("env/bucket", "evil\n")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "a script",
        base: &[
            (
                "app/terragrunt.hcl",
                "terraform {\n  source = \"git::https://github.com/acme/vpc.git?ref=${run_cmd(\"./ref\")}\"\n}\n",
            ),
            ("tools/ref.sh", "echo v1\n"),
            ("app/ref -> ../tools/ref.sh", ""),
        ],
        change: &[("tools/ref.sh", "echo v2\n")],
        expected: Some("error[not-decided]: "),
    },
    Case {
        name: "a file in a directory that is not known",
        base: &[
            ("app/terragrunt.hcl", UNKNOWN_FILE),
            ("versions/current", "v1\n"),
            ("cfg/v.txt -> ../versions/current", ""),
        ],
        change: &[("versions/current", "v2\n")],
        expected: Some("error[not-decided]: "),
    },
];

/// Changes of links and files that decide on nothing.
const READ_BESIDE_LINKS: &[Case] = &[
    Case {
        name: "a link to the file leads to the same text",
        base: &[
            ("app/main.tf", FILE),
            ("versions/1", "v1\n"),
            ("versions/2", "v1\n"),
            ("app/cfg/v.txt -> ../../versions/1", ""),
        ],
        change: &[("app/cfg/v.txt -> ../../versions/2", "")],
        expected: None,
    },
    Case {
        name: "a link elsewhere has the same name",
        base: &[
            ("app/main.tf", FILE),
            ("app/cfg/v.txt", "v1\n"),
            ("versions/1", "v1\n"),
            ("docs/v.txt -> ../versions/1", ""),
        ],
        change: &[("versions/1", "v2\n")],
        expected: None,
    },
    Case {
        name: "a file beside the one behind the link",
        base: &[
            ("app/main.tf", FILE),
            ("cfg/v.txt", "v1\n"),
            ("cfg/readme.txt", "1\n"),
            ("app/cfg -> ../cfg", ""),
        ],
        change: &[("cfg/readme.txt", "2\n")],
        expected: None,
    },
];

/// Cases whose readings are the same in both revisions.
const HARMLESS: &[Case] = &[
    Case {
        name: "an equal module",
        base: &[
            ("app/main.tf", CALL),
            ("mods/v1/main.tf", V1),
            ("mods/v2/main.tf", V1),
            ("mods/current -> v1", ""),
        ],
        change: &[("mods/current -> v2", "")],
        expected: None,
    },
    Case {
        name: "a directory of documents",
        base: &[
            ("app/main.tf", CALL),
            ("mods/current/main.tf", V1),
            ("docs/v1/index.md", "1\n"),
            ("docs/v2/index.md", "2\n"),
            ("docs/latest -> v1", ""),
        ],
        change: &[("docs/latest -> v2", "")],
        expected: None,
    },
    Case {
        name: "a module behind a new link, which nothing reads",
        base: &[("app/main.tf", CALL), ("mods/current/main.tf", V1)],
        change: &[("mods/latest -> current", "")],
        expected: None,
    },
    Case {
        name: "equal files of a unit",
        base: &[
            ("app/terragrunt.hcl", INCLUDE),
            ("c1/root.hcl", UNIT_V1),
            ("c2/root.hcl", UNIT_V1),
            ("common -> c1", ""),
        ],
        change: &[("common -> c2", "")],
        expected: None,
    },
    Case {
        name: "an unknown source beside an unrelated link",
        base: &[
            ("app/terragrunt.hcl", UNKNOWN),
            ("common/v.hcl", "locals {\n  ref = \"v1\"\n}\n"),
            ("docs/v1/index.md", "1\n"),
            ("docs/v2/index.md", "2\n"),
            ("docs/latest -> v1", ""),
        ],
        change: &[("docs/latest -> v2", "")],
        expected: None,
    },
    Case {
        name: "equal arguments of a backend",
        base: &[
            ("app/main.tf", BACKEND),
            ("env1/prod.tfbackend", "bucket = \"acme\"\n"),
            ("env2/prod.tfbackend", "bucket = \"acme\"\n"),
            ("app/env -> ../env1", ""),
        ],
        change: &[("app/env -> ../env2", "")],
        expected: None,
    },
    Case {
        name: "a directory out of the repository",
        base: &[
            ("app/main.tf", CALL),
            ("mods/current/main.tf", V1),
            ("cache -> /var/cache/a", ""),
        ],
        change: &[("cache -> /var/cache/b", "")],
        expected: None,
    },
];

fn write(gate: &Gate, files: Files) {
    for (path, content) in files {
        let Some((link, target)) = path.split_once(" -> ") else {
            remove_link(&gate.project().join(path));
            gate.write(path, content);
            continue;
        };
        let absolute = gate.project().join(link);
        fs::create_dir_all(absolute.parent().unwrap()).unwrap();
        remove_link(&absolute);
        gate.link(target, link);
    }
}

/// Removes a link at a path, or one of the directory around it.
fn remove_link(path: &Path) {
    for path in [path, path.parent().unwrap()] {
        if path.is_symlink() {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Checks a change with and without `--new`.
fn check(case: &Case) {
    let gate = Gate::with(|gate| {
        write(gate, case.base);
        if case
            .base
            .iter()
            .any(|(path, _)| *path == "app/terragrunt.hcl")
        {
            let lock_file = gate.read("live/.terraform.lock.hcl");
            gate.write("app/.terraform.lock.hcl", lock_file);
        }
    });
    let allowed = "single-platform,module-not-installed,lock-file-missing,requirements-not-known";
    let arguments: [&[&str]; 2] = [&[], &["--new"]];
    for more in arguments {
        let run = |gate: &Gate| {
            let all = ["verify", "-r", "--base", "main", "--allow", allowed];
            gate.provlock(&[&all, more].concat())
        };
        let before = run(&gate);
        let is_silent = before.code == Some(0) && !before.stdout.contains("]: ");
        assert!(is_silent, "{}: {before}", case.name);
        // It ran.
        before.assert_stderr_has("locked as required");
        write(&gate, case.change);
        gate.commit();
        let output = run(&gate);
        let is_right = match case.expected {
            Some(expected) => output.stdout.contains(expected),
            None => !output.stdout.contains("]: "),
        };
        assert!(is_right, "{} {more:?}: {output}", case.name);
        gate.reset();
    }
}

#[test]
fn a_link_that_leads_elsewhere_changes_what_is_read_through_it() {
    for case in DECIDING {
        check(case);
    }
    survived(
        "a pull request leads a link of a directory elsewhere",
        DECIDING.len(),
    );
}

#[test]
fn a_file_behind_a_link_decides_on_what_is_not_evaluated() {
    for case in READ_THROUGH_LINKS {
        check(case);
    }
    survived(
        "a pull request changes a file that is read through a link",
        READ_THROUGH_LINKS.len(),
    );
}

#[test]
fn a_link_that_leads_to_the_same_is_no_finding() {
    for case in HARMLESS.iter().chain(READ_BESIDE_LINKS) {
        check(case);
    }
}

#[test]
fn a_link_to_packages_is_an_error_though_the_base_has_such_packages() {
    let gate = Gate::with(|gate| {
        for directory in ["v1", "v2"] {
            gate.write(&format!("{directory}/{PLUGIN}"), directory);
        }
        gate.root("app", super::NULL, &[super::H1, super::ZH]);
        gate.link("../v1", "app/terraform.d");
    });
    write(
        &gate,
        &[
            ("app/terraform.d -> ../v2", ""),
            ("live/terraform.d -> ../v1", ""),
        ],
    );
    let errors = gate.errors(&["-r", "--new"]);
    assert!(errors.contains(&"not-decided".to_owned()), "{errors:?}");
}
