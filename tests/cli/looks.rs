//! What each command looks like in a terminal of 60, 80 and 120 columns, with and without colour: `testdata/looks`.

use std::fs;
use std::path::Path;

use provlock_test::TestEnvironment;
use provlock_test::snapbox::{Assert, Data};

/// Commands of a project's life, one after another.
const COMMANDS: &str = r"
provlock -h
provlock lock -h
provlock tree
provlock lock --fs-mirror mirror
provlock lock --fs-mirror mirror -p linux_amd64,darwin_arm64
provlock lock --fs-mirror mirror -p linux_amd64,darwin_arm64
provlock verify
provlock verify -p all
cp .terraform.lock.hcl old.hcl
sed -i 's/>= 3.6.0, < 3.7.0/>= 3.7.0/' main.tf
provlock verify
provlock tree hashicorp/random
provlock lock --check --fs-mirror mirror
provlock upgrade --dry-run --fs-mirror mirror
provlock upgrade --fs-mirror mirror --dry-run --format markdown
provlock upgrade --fs-mirror mirror
provlock diff old.hcl .terraform.lock.hcl
cp old.hcl merged.hcl
provlock merge old.hcl merged.hcl .terraform.lock.hcl --path merged.hcl
provlock explain version-outside-constraints
echo secret | provlock login registry.example.com
provlock logout registry.example.com
provlock cache dir
provlock cache clean
provlock setup git
provlock upgrade hashicrop/random
";

#[test]
fn each_command_at_each_width() {
    for width in [60, 80, 120] {
        for color in ["never", "always"] {
            let environment = project();
            let looks = looks(&environment, width, color).replace('\u{1b}', "\\e").replace("\r\n", "\n");
            let looks = looks.replace(environment.root().to_str().unwrap(), "[ROOT]");
            let file = format!("testdata/looks/{width}-{}.txt", if color == "always" { "color" } else { "plain" });
            let expected = Data::read_from(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file), None).raw();
            Assert::new().action_env("SNAPSHOTS").eq(looks, expected);
        }
    }
}

/// The demo with its mirror.
fn project() -> TestEnvironment {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let environment = TestEnvironment::new();
    for name in ["main.tf", "provlock.toml"] {
        environment.write(name, fs::read(testdata.join("demo").join(name)).unwrap());
    }
    std::os::unix::fs::symlink(testdata.join("mirror"), environment.project().join("mirror")).unwrap();
    environment
}

/// Each command that a terminal is given, with what it then shows. The terminal cannot redraw, so that nothing depends
/// on time.
fn looks(environment: &TestEnvironment, width: usize, color: &str) -> String {
    let program = std::env::var_os("CARGO_BIN_EXE_provlock").unwrap();
    let run = |command: &str| {
        let typed = command.replace("provlock ", &format!("\"$PROVLOCK\" --color {color} "));
        let arguments = [
            "--quiet",
            "--return",
            "--flush",
            "--command",
            &format!("stty cols {width} rows 50; {typed}"),
            "/dev/null",
        ];
        let script = environment.program("script", arguments).env("PROVLOCK", &program);
        let output = script.env("TERM", "dumb").env("SHELL", "/bin/sh").env("PROVLOCK_PAGER", "cat").run();
        let code = output.code.filter(|code| *code != 0).map_or(String::new(), |code| format!("[exit code {code}]\n"));
        format!("$ {command}\n{}{code}\n", output.stdout)
    };
    COMMANDS.trim().lines().map(run).collect()
}
