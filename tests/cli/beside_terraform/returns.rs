//! Carriage returns, which HCL accepts only at the ends of lines and in comments.

use super::project;
use provlock_test::str;

const MAIN: &str =
    "terraform {\n  required_providers {\n    null = { source = \"hashicorp/null\" }\n  }\n}\n";

#[test]
fn a_carriage_return_in_a_configuration_is_read_as_by_terraform() {
    let project = project();
    let after = |text: &str| format!("{MAIN}{text}");
    let cases = [
        ("ends of lines", MAIN.replace('\n', "\r\n"), true),
        ("empty lines", after("\r\n\r\n"), true),
        ("line comment", format!("# a\rb\n{MAIN}"), true),
        (
            "line comment with slashes",
            format!("// a\rb\r\n{MAIN}"),
            true,
        ),
        ("block comment", format!("/* a\rb */\n{MAIN}"), true),
        ("end in a comment", after("# a\r"), true),
        (
            "comment behind code",
            MAIN.replacen('{', "{ # a\rb", 1),
            true,
        ),
        (
            "comment in a value",
            MAIN.replace("{ source", "{ /* a\rb */ source"),
            true,
        ),
        (
            "comment in a list",
            after("locals {\n  a = [ # a\rb\n  ]\n}\n"),
            true,
        ),
        (
            "comment in a template",
            after("locals {\n  a = \"${ /* a\rb */ 1 }\"\n}\n"),
            true,
        ),
        (
            "start of a line",
            MAIN.replace("  required", "\r  required"),
            false,
        ),
        ("start of the file", format!("\r{MAIN}"), false),
        (
            "indentation",
            MAIN.replace("  required", " \r required"),
            false,
        ),
        ("before a value", MAIN.replace("= {", "= \r{"), false),
        ("end of the file", after("\r"), false),
        ("two at the end of a line", after("\r\r\n"), false),
        ("every line", MAIN.replace('\n', "\r"), false),
        ("before a space", MAIN.replacen("{\n", "{\r \n", 1), false),
        ("string", after("locals {\n  a = \"b\rc\"\n}\n"), false),
        ("heredoc", after("locals {\n  a = <<E\nb\rc\nE\n}\n"), false),
        ("template", after("locals {\n  a = \"${\r1}\"\n}\n"), false),
        ("list", after("locals {\n  a = [\r1]\n}\n"), false),
        (
            "body of a resource",
            after("resource \"null_resource\" \"a\" {\n\r  b = 1\n}\n"),
            false,
        ),
    ];
    for (name, text, is_accepted) in cases {
        project.assert_locked_as_by_terraform(name, &[("main.tf", &text)], is_accepted);
    }
}

#[test]
fn a_carriage_return_in_a_lock_file_is_read_as_by_terraform() {
    let project = project();
    let environment = &project.environment;
    environment.write("main.tf", MAIN);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let lock_file = environment.lock_file();
    let cases = [
        ("ends of lines", lock_file.replace('\n', "\r\n"), true),
        ("comment", lock_file.replacen("# Man", "# \rMan", 1), true),
        ("end of the file", format!("{lock_file}# a\r"), true),
        ("block comment", format!("{lock_file}/* a\rb */\n"), true),
        (
            "comment in a list",
            lock_file.replacen("hashes = [", "hashes = [ # a\rb", 1),
            true,
        ),
        (
            "start of a line",
            lock_file.replacen("\n  hashes", "\n\r  hashes", 1),
            false,
        ),
        (
            "start of a block",
            lock_file.replacen("provider", "\rprovider", 1),
            false,
        ),
        ("before a value", lock_file.replacen("= ", "= \r", 1), false),
        ("hash", lock_file.replacen("\"h1:", "\r\"h1:", 1), false),
        ("string", lock_file.replacen("\"h1:", "\"\rh1:", 1), false),
    ];
    for (name, text, is_accepted) in cases {
        project.write(&[("main.tf", MAIN), (".terraform.lock.hcl", &text)]);
        let verify = environment.provlock(["verify", "--allow", "single-platform"]);
        let code = i32::from(!is_accepted);
        assert_eq!(verify.code, Some(code), "{name}: {verify}");
        if let Some(result) = project.init() {
            assert_eq!(result.0.is_some(), is_accepted, "Terraform: {name}");
        }
    }
    environment.write_lock_file(lock_file.replacen("\n  hashes", "\n\r  hashes", 1));
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[lock-file-syntax]: the lock file cannot be parsed: a carriage return may stand only at the end of a line or in a comment
 --> .terraform.lock.hcl:6:1
  |
6 | ␍  hashes = [
  | ^
  |
help: correct the file, or remove it and run: provlock lock

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
}

/// An edit keeps a comment with such characters as it is.
#[test]
fn a_comment_with_a_carriage_return_survives_an_edit_of_a_lock_file() {
    let project = project();
    let environment = &project.environment;
    environment.write(
        "main.tf",
        MAIN.replace("null\" }", "null\", version = \"3.0.0\" }"),
    );
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let commented = environment
        .lock_file()
        .replacen("  version", "  # a\rb\n  version", 1);
    environment.write_lock_file(commented);
    environment.write("main.tf", MAIN);
    let upgrade = ["upgrade", "-p", "linux_amd64"];
    environment.provlock(upgrade).assert_code(0);
    let upgraded = environment.lock_file();
    assert!(upgraded.contains("  # a\rb\n  version"), "{upgraded}");
    assert!(upgraded.contains("= \"3.2.0\""), "{upgraded}");
}
