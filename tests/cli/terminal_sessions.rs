//! Sessions of four people in terminals of 40, 80 and 120 columns, recorded in
//! `testdata/terminal-sessions`. A line that the terminal had to break ends with an arrow.

use std::fs;
use std::path::Path;

use provlock_test::TestEnvironment;
use provlock_test::registry::Registry;
use provlock_test::screen::Screen;
use provlock_test::snapbox::{Assert, Data};

use provlock_test::git::Repository;

/// A newcomer with one root module, who tries each command.
const NEWCOMER: &str = r"
provlock -h
provlock lock -h
provlock verify
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
provlock setup git
provlock upgrade hashicrop/random
provlock verfy
provlock lock -p linux
provlock explain hash-not-publishd
";

/// An engineer who looks after 300 root modules of nine teams.
const PLATFORM_ENGINEER: &str = r"
provlock tree -r
provlock lock -r --fs-mirror mirror -p linux_amd64,darwin_arm64
provlock tree -r
git add . && git commit --quiet -m 'lock all'
sed -i 's/>= 3.2.0, < 3.2.4/~> 3.2/' live/eu-central-1/*/team-00*/main.tf
provlock upgrade -r --dry-run --fs-mirror mirror
provlock upgrade -r --fs-mirror mirror hashicorp/null
provlock tree -r hashicorp/null | tail -3
provlock diff main | head -3
git commit --quiet -a -m 'upgrade' && sed -i 's/~> 3.6.0/~> 3.7/' live/*/*/team-01*/main.tf
provlock verify -r
provlock verify -r --base HEAD --new
provlock verify -r --report html=report.html --allow version-outside-constraints
provlock mirror -r --fs-mirror mirror packages
provlock upgrade -r hashicorp/aws
";

/// A security engineer who checks changes of other people.
const SECURITY_ENGINEER: &str = r#"
provlock init
provlock lock -p linux_amd64,darwin_arm64
provlock lock -v
provlock verify -v --online
git add . && git commit --quiet -m 'lock'
sed -i '0,/zh:./s//zh:0/' .terraform.lock.hcl
provlock verify
provlock verify --online
provlock verify --base main
provlock diff main
provlock lock
provlock explain hash-not-published
git checkout --quiet . && sed -i 's,acme/,acmee/,' main.tf
provlock verify --base main
provlock lock
"#;

/// A developer who knows cargo.
const RUST_DEVELOPER: &str = r"
provlock update
provlock lock --locked
provlock lock --check --fs-mirror mirror
provlock lock --fs-mirror mirror --dry-run -p linux_amd64
provlock lock --fs-mirror mirror -p linux_amd64,darwin_arm64 -q
provlock tree --invert
provlock tree serde
provlock upgrade random@latest
provlock upgrade hashicorp/random@3.7.2 --fs-mirror mirror
provlock -C nowhere verify
provlock explain
provlock verify -q
";

#[test]
fn a_newcomer_tries_each_command() {
    session("newcomer", NEWCOMER, || Repository::around(demo()));
}

#[test]
fn a_platform_engineer_looks_after_300_root_modules() {
    session("platform_engineer", PLATFORM_ENGINEER, || {
        let environment = demo();
        fs::remove_file(environment.project().join("main.tf")).unwrap();
        let regions = ["eu-central-1", "us-east-1", "ap-southeast-2"];
        for (index, region) in regions.iter().cycle().take(300).enumerate() {
            let stage = ["production", "staging", "development"][index / 100];
            let null = if index % 10 == 0 {
                ">= 3.2.0, < 3.2.4"
            } else {
                "~> 3.2"
            };
            let text = root_module(&[("hashicorp/null", null), ("hashicorp/random", "~> 3.6.0")]);
            environment.write(
                format!(
                    "live/{region}/{stage}/team-{:02}-{index:03}/main.tf",
                    index % 9
                ),
                text,
            );
        }
        Repository::around(environment)
    });
}

#[test]
fn a_security_engineer_judges_what_others_change() {
    let registry = Registry::start();
    for name in [
        "acme/alpha",
        "acme/a-provider-with-a-long-name",
        "acmee/alpha",
    ] {
        registry
            .publish(name, "1.0.0")
            .platforms(["darwin_arm64", "linux_amd64"])
            .done();
    }
    session("security_engineer", SECURITY_ENGINEER, || {
        let environment = TestEnvironment::with_registry(&registry);
        let text = root_module(&[
            ("acme/alpha", "~> 1.0"),
            ("acme/a-provider-with-a-long-name", ">= 0.9.0"),
        ]);
        environment.write("main.tf", text);
        Repository::around(environment)
    });
}

#[test]
fn a_rust_developer_types_what_cargo_understands() {
    session("rust_developer", RUST_DEVELOPER, || {
        Repository::around(demo())
    });
}

#[test]
fn quiet_prints_errors_only() {
    let repository = Repository::around(demo());
    let commands = r"
lock --fs-mirror mirror
verify
verify -p all
tree
upgrade --dry-run --fs-mirror mirror
upgrade --constraints --fs-mirror mirror -p linux_amd64
diff
diff -r HEAD
sbom
get
pin
mirror --fs-mirror mirror packages
init --force
merge
merge .terraform.lock.hcl
explain io
setup git
login --check registry.example.com
logout registry.example.com
cache clean
completions bash
lock hashicorp/aws
upgrade hashicorp/aws
verify nowhere
tree hashicorp/aws
diff nowhere
sbom nowhere
get nowhere
pin nowhere
mirror --offline packages
init
merge nowhere
explain nothing
login a/b
";
    repository.commit("");
    let mut failed = Vec::new();
    for command in commands.trim().lines() {
        let output = repository
            .environment
            .provlock(command.split(' ').chain(["-q"]));
        let is_failed = output.code == Some(2);
        failed.extend(is_failed.then_some(command));
        assert_eq!(
            output.stderr.starts_with("error"),
            is_failed,
            "{command}\n{output}"
        );
        assert!(is_failed || output.stderr.is_empty(), "{command}\n{output}");
        assert!(
            !format!("{output}").contains("warning[") && !format!("{output}").contains("note["),
            "{output}"
        );
    }
    let (_, last) = commands.trim().split_once("lock hashicorp/aws").unwrap();
    let expected = ["get", "init --force", "lock hashicorp/aws"]
        .into_iter()
        .chain(last.trim().lines());
    assert_eq!(failed, expected.collect::<Vec<_>>());
}

/// A terminal that cannot redraw gets lines as they are, whatever its width.
#[test]
fn colours_only_add() {
    let more = "\
        echo secret | provlock login registry.example.com\nprovlock logout registry.example.com\nprovlock cache dir\n\
        provlock cache clean\n";
    let commands = format!("{}\n{more}", NEWCOMER.trim());
    let shown = |color: &str| {
        let repository = Repository::around(demo());
        let root = repository.environment.root().to_str().unwrap().to_owned();
        let command = |command: &str| {
            let typed = command.replace("provlock ", &format!("provlock --color {color} "));
            let (output, code) = typed_in(&repository, 80, "dumb", &typed);
            format!(
                "$ {command}\n{}{code}\n",
                output.replace("\r\n", "\n").replace(&root, "[ROOT]")
            )
        };
        commands.lines().map(command).collect::<String>()
    };
    let colored = shown("always");
    same("color", &colored.replace('\u{1b}', "\\e"));
    assert_eq!(console::strip_ansi_codes(&colored), shown("never"));
}

/// A configuration with a state of its own that requires providers.
fn root_module(providers: &[(&str, &str)]) -> String {
    let one = |(source, version): &(&str, &str)| {
        let name = source.rsplit('/').next().unwrap();
        format!(
            "    {name} = {{\n      source  = \"{source}\"\n      version = \"{version}\"\n    }}\n"
        )
    };
    let providers: String = providers.iter().map(one).collect();
    format!("terraform {{\n  backend \"s3\" {{}}\n  required_providers {{\n{providers}  }}\n}}\n")
}

/// Compares the screens of a session, at each width in a project of its own.
fn session(name: &str, commands: &str, project: impl Fn() -> Repository + Sync) {
    let of_width = |width: usize| {
        let repository = project();
        let screen = |command: &str| {
            let (output, code) = typed_in(&repository, width, "xterm", command);
            let shown = Screen::new(width).shown(&output).pop().unwrap_or_default();
            let distance = if shown.is_empty() { "" } else { "\n" };
            format!("$ {command}\n{}{distance}{code}\n", without_sizes(&shown))
        };
        let screens: String = commands.trim().lines().map(screen).collect();
        format!("{:=^width$}\n\n{screens}", format!(" {width} columns "))
    };
    let screens = std::thread::scope(|scope| {
        let threads = [40, 80, 120].map(|width| scope.spawn(move || of_width(width)));
        threads.map(|thread| thread.join().unwrap()).concat()
    });
    same(name, &screens);
}

fn same(name: &str, screens: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("testdata/terminal-sessions/{name}.txt"));
    Assert::new()
        .action_env("SNAPSHOTS")
        .eq(screens, Data::read_from(&file, None).raw());
}

/// Output of a command in a terminal, with its exit code in a line if it is not zero.
fn typed_in(repository: &Repository, width: usize, term: &str, command: &str) -> (String, String) {
    let command = format!("stty cols {width} rows 50; {command}");
    let arguments = [
        "--quiet",
        "--return",
        "--flush",
        "--command",
        &command,
        "/dev/null",
    ];
    let script = repository
        .environment
        .program("script", arguments)
        .env("TERM", term)
        .env("SHELL", "/bin/sh");
    let output = script.run();
    let code = output
        .code
        .filter(|code| *code != 0)
        .map_or(String::new(), |code| format!("[exit code {code}]\n"));
    (output.stdout, code)
}

/// The compressed size of packages depends on the processor, and the port of a registry on the run.
fn without_sizes(text: &str) -> String {
    let word = |(word, next): (&str, &str)| match word.rsplit_once(':') {
        Some((start, _)) if word.contains("http://127.0.0.1:") => format!("{start}:[PORT]/"),
        _ if next.starts_with("KiB") && word.parse::<f64>().is_ok() => "[SIZE]".to_owned(),
        _ => word.to_owned(),
    };
    let line = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let next = words.iter().copied().skip(1).chain([""]);
        words
            .iter()
            .copied()
            .zip(next)
            .map(word)
            .collect::<Vec<_>>()
            .join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The demo with its mirror.
fn demo() -> TestEnvironment {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let environment = TestEnvironment::new();
    for name in ["main.tf", "provlock.toml"] {
        environment.write(name, fs::read(testdata.join("demo").join(name)).unwrap());
    }
    std::os::unix::fs::symlink(
        testdata.join("mirror"),
        environment.project().join("mirror"),
    )
    .unwrap();
    environment
}
