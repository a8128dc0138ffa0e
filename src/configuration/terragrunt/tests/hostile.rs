//! Content of a repository is evaluated in bounded time and memory, and sees only that repository.

use std::fmt::Write as _;
use std::fs;

use super::{Tree, evaluate, evaluate_in};

/// The reason why a unit of this text has no value for `local.a`.
fn reason(text: &str) -> String {
    let text = format!("{text}terraform {{\n  source = local.a\n}}\n");
    let unit = Tree::new(&[("unit/terragrunt.hcl", &text)]).read("unit");
    unit.and_then(|unit| unit.source).unwrap_err().reason
}

#[test]
fn values_that_double_with_each_local_are_unknown() {
    let mut text = "locals {\n  a0 = [1, 2]\n".to_owned();
    for i in 0..60 {
        writeln!(text, "  a{} = [local.a{i}, local.a{i}]", i + 1).unwrap();
    }
    assert!(reason(&format!("{text}  a = jsonencode(local.a60)\n}}\n")).contains("too large"));
}

#[test]
fn text_that_doubles_with_each_local_is_unknown() {
    let mut text = "locals {\n  a0 = \"xx\"\n".to_owned();
    for i in 0..60 {
        writeln!(text, "  a{} = \"${{local.a{i}}}${{local.a{i}}}\"", i + 1).unwrap();
    }
    assert!(reason(&format!("{text}  a = local.a60\n}}\n")).contains("too l"));
}

#[test]
fn loops_in_loops_are_given_up() {
    let mut expression = "1".to_owned();
    for i in 0..8 {
        expression = format!("length([for x{i} in range(1000) : {expression}])");
    }
    assert!(
        evaluate(&expression)
            .unwrap_err()
            .contains("takes too long")
    );
}

#[test]
fn long_chains_neither_hang_nor_overflow_the_stack() {
    let mut text = "locals {\n  a0 = 1\n".to_owned();
    for i in 0..300 {
        writeln!(text, "  a{} = [local.a{i}]", i + 1).unwrap();
    }
    assert!(reason(&format!("{text}  a = length(local.a300)\n}}\n")).contains("too deeply nested"));
    assert!(
        evaluate(&format!("[]{}", ".*".repeat(2000)))
            .unwrap_err()
            .contains("deeply nested")
    );
    assert!(
        evaluate(&format!("\"x\"{}", "[*]".repeat(2000)))
            .unwrap_err()
            .contains("deeply nested")
    );
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let nested = |open: &str, close: &str| {
        format!(
            "locals {{\n  a = {}1{}\n}}\n",
            open.repeat(2000),
            close.repeat(2000)
        )
    };
    for text in [
        nested("[", "]"),
        nested("(", ")"),
        nested("\"${", "}\""),
        nested("!", ""),
        nested("1 + ", ""),
    ] {
        let unknown = Tree::new(&[("unit/terragrunt.hcl", &text)])
            .read("unit")
            .unwrap_err();
        assert!(
            unknown.reason.starts_with("the file cannot be parsed: "),
            "{}",
            unknown.reason
        );
    }
    let operands = "false || ".repeat(100);
    assert!(
        evaluate(&format!(
            "{operands}{}true{}",
            "(".repeat(50),
            ")".repeat(50)
        ))
        .is_ok()
    );
}

#[test]
fn configurations_that_read_each_other_are_unknown() {
    let reads = "locals {\n  a = read_terragrunt_config(\"../unit/terragrunt.hcl\").locals.a\n}\n";
    assert_eq!(reason(reads), "too many configurations read each other");
    let twice = "locals {\n  a = [for i in range(1000) : read_terragrunt_config(\"../unit/terragrunt.hcl\").locals.a]\n}\n";
    assert_eq!(
        reason(&format!("{twice}# {}\n", "x".repeat(100_000))),
        "the configuration takes too long to evaluate"
    );
}

#[test]
fn functions_do_not_make_much_of_little() {
    for expression in [
        "indent(1000000000, \"a\\nb\")",
        "replace(\"aaaaaaaaaa\", \"\", join(\"\", [for x in range(1000) : join(\"\", range(1000))]))",
        "replace(join(\"\", range(1000)), \"1\", join(\"\", [for x in range(1000) : join(\"\", range(1000))]))",
        "join(join(\"\", range(1000)), range(1000))",
    ] {
        assert!(evaluate(expression).is_err(), "{expression}");
    }
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let tree = Tree::new(&[("unit/terragrunt.hcl", &"#".repeat((4 << 20) + 1))]);
    assert!(
        tree.read("unit")
            .unwrap_err()
            .reason
            .contains("larger than 4 MiB")
    );
}

#[test]
fn nothing_outside_of_the_repository_is_read() {
    for path in [
        "../../secret",
        "/etc/passwd",
        "../.git/config",
        "x/../../../secret",
    ] {
        let tree = Tree::new(&[(".git/config", "token")]);
        fs::write(tree.directory.path().join("secret"), "token").unwrap();
        for call in ["file", "fileexists", "read_terragrunt_config"] {
            let unknown = evaluate_in(&tree, "unit", &format!("{call}(\"{path}\")")).unwrap_err();
            assert!(
                unknown.contains("leads out of the repository"),
                "{call} {path}: {unknown}"
            );
        }
        let tree = Tree::new(&[]);
        let missing = evaluate_in(&tree, "unit", &format!("fileexists(\"{path}\")")).unwrap_err();
        assert!(
            missing.contains("leads out of the repository"),
            "not even whether it exists: {missing}"
        );
    }
}

#[test]
fn the_home_directory_is_not_read() {
    assert!(
        evaluate("file(\"~/.netrc\")")
            .unwrap_err()
            .contains("home directory")
    );
}

#[cfg(unix)]
#[test]
fn symbolic_links_do_not_lead_out_of_the_repository() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new(&[("unit/terragrunt.hcl", ""), ("module/main.tf", "")]);
    let secret = tree.directory.path().join("secret");
    fs::write(&secret, "token").unwrap();
    symlink(&secret, tree.root().join("unit/link")).unwrap();
    symlink(&secret, tree.root().join("unit/link.tf")).unwrap();
    symlink(tree.directory.path(), tree.root().join("unit/up")).unwrap();
    assert!(
        tree.working_directory("unit").unknown[0]
            .reason
            .contains("leads out of the repository")
    );
    for path in ["link", "up/secret"] {
        let unknown = evaluate_in(&tree, "unit", &format!("file(\"{path}\")")).unwrap_err();
        assert!(unknown.contains("leads out of the repository"), "{unknown}");
    }
}

#[test]
fn values_are_not_quoted_in_reasons() {
    let tree = Tree::new(&[]).with_environment("TOKEN", "secret");
    for expression in [
        "get_env(\"TOKEN\") < 1",
        "{}[get_env(\"TOKEN\")]",
        "tobool(get_env(\"TOKEN\"))",
        "regex(get_env(\"TOKEN\"), \"a\")",
        "file(get_env(\"TOKEN\"))",
        "get_env(get_env(\"TOKEN\"))",
        "get_env(\"TOKEN\")",
        "upper(get_env(\"TOKEN\"))",
        "join(\"\", [\"a\", get_env(\"TOKEN\")])",
    ] {
        let unknown = evaluate_in(&tree, "unit", expression).unwrap_err();
        assert!(!unknown.contains("secret"), "{expression}: {unknown}");
        tree.write("unit/terragrunt.hcl", "");
    }
}
