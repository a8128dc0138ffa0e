//! Terminal output during a run, and the output of `-v`.

use super::json_output::validated;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

/// A project that requires three providers.
fn project(registry: &Registry) -> TestEnvironment {
    for name in ["acme/alpha", "acme/beta", "acme/gamma"] {
        registry
            .publish(name, "1.0.0")
            .platforms(["linux_amd64"])
            .size(100_000)
            .done();
    }
    let environment = TestEnvironment::with_registry(registry);
    let entry = |name: &str| format!("    {name} = {{ source = \"acme/{name}\" }}\n");
    let entries: String = ["alpha", "beta", "gamma"].map(entry).concat();
    environment.write(
        "main.tf",
        format!("terraform {{\n  required_providers {{\n{entries}  }}\n}}\n"),
    );
    environment
}

#[cfg(target_os = "linux")]
pub(crate) mod pseudo_terminal {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::*;
    use provlock_test::screen::Screen;
    use provlock_test::{Fault, Times, url};

    /// Runs a shell command in a terminal of so many columns, with the `script` of util-linux.
    /// Returns its output and exit code.
    fn run(environment: &TestEnvironment, width: usize, command: &str) -> (String, Option<i32>) {
        run_typing(environment, width, command, "")
    }

    /// The same with typed input.
    pub(crate) fn run_typing(
        environment: &TestEnvironment,
        width: usize,
        command: &str,
        typed: &str,
    ) -> (String, Option<i32>) {
        let program = provlock_test::program();
        let command = format!("stty cols {width} rows 24; {command}");
        // Tests that a script starts in the background inherit that SIGINT is ignored.
        let script = [
            "--default-signal",
            "script",
            "--quiet",
            "--return",
            "--flush",
            "--command",
            &command,
            "/dev/null",
        ];
        let script = environment.program("env", script);
        let output = script
            .env("PROVLOCK", program)
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .stdin(typed)
            .run();
        (output.stdout, output.code)
    }

    const LOCK: &str = "exec \"$PROVLOCK\" lock -p linux_amd64 --no-cache";

    /// The lines that were shown when all downloads had begun and nothing had come, sorted, since
    /// the packages come in any order.
    fn beginning(shown: &[String]) -> String {
        let all = shown
            .iter()
            .find(|text| text.contains("0 B  0 B/s") && text.matches("acme/").count() == 3);
        let all = all.unwrap_or_else(|| panic!("{shown:#?}"));
        // How far packages can be compressed depends on the processor.
        let line = |line: &str| match line.split_once(" KiB") {
            Some((start, name)) => {
                format!(
                    "{}[SIZE]{name}",
                    start.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
                )
            }
            None => line.to_owned(),
        };
        // Lines are as wide as the terminal.
        let mut lines: Vec<_> = all
            .lines()
            .map(|text| line(text.trim_end_matches(['↩', ' '])))
            .collect();
        lines.sort();
        lines.join("\n") + "\n"
    }

    #[test]
    fn downloads_are_shown_at_any_width_and_leave_nothing_behind() {
        let registry = Registry::start();
        registry.fault(
            url::PACKAGE,
            Times::Always,
            Fault::SlowBody {
                pause: Duration::from_millis(400),
            },
        );
        for (width, expected) in [
            (
                40,
                str![[r#"
0 B  0 B/s  0 packages downloaded, 3 on
────────────   [SIZE]  acme/alpha 1.0
────────────   [SIZE]  acme/beta 1.0.
────────────   [SIZE]  acme/gamma 1.0

"#]],
            ),
            (
                60,
                str![[r#"
0 B  0 B/s  0 packages downloaded, 3 on the way
────────────   [SIZE]  acme/alpha 1.0.0 linux_amd64
────────────   [SIZE]  acme/beta 1.0.0 linux_amd64
────────────   [SIZE]  acme/gamma 1.0.0 linux_amd64

"#]],
            ),
            (
                80,
                str![[r#"
0 B  0 B/s  0 packages downloaded, 3 on the way
────────────   [SIZE]  acme/alpha 1.0.0 linux_amd64
────────────   [SIZE]  acme/beta 1.0.0 linux_amd64
────────────   [SIZE]  acme/gamma 1.0.0 linux_amd64

"#]],
            ),
            (
                120,
                str![[r#"
0 B  0 B/s  0 packages downloaded, 3 on the way
────────────   [SIZE]  acme/alpha 1.0.0 linux_amd64
────────────   [SIZE]  acme/beta 1.0.0 linux_amd64
────────────   [SIZE]  acme/gamma 1.0.0 linux_amd64

"#]],
            ),
        ] {
            let environment = project(&registry);
            let (output, code) = run(&environment, width, LOCK);
            let shown = Screen::new(width).shown(&output);
            provlock_test::snapbox::Assert::new()
                .action_env("SNAPSHOTS")
                .eq(beginning(&shown), expected);
            let end = shown.last().unwrap();
            assert!(
                end.starts_with("  + acme/alpha") && !end.contains("on the way"),
                "{end}"
            );
            assert_eq!(code, Some(0), "{end}");
        }
    }

    #[test]
    fn a_terminal_that_cannot_redraw_gets_lines_only() {
        let registry = Registry::start();
        let (output, code) = run(
            &project(&registry),
            80,
            &format!("export TERM=dumb; {LOCK} -vv"),
        );
        assert!(
            output.contains("GET https://") && !output.contains('\u{1b}'),
            "{output:?}"
        );
        assert_eq!(code, Some(0));
    }

    #[test]
    fn control_c_at_the_prompt_of_login_is_an_interrupt() {
        let environment = TestEnvironment::new();
        // The prompt discards what was typed before it, so nothing is typed until it is there.
        let typed = "for attempt in $(seq 400); do \
                     grep -qs Token shown && break; sleep 0.05; done; printf 's3cr3t\\003'";
        let login = "script --quiet --return --flush \
                     --command 'exec $PROVLOCK login registry.example.com' shown";
        let command = format!("{{ {typed}; }} | {login}");
        let output = environment
            .program("env", ["--default-signal", "sh", "-c", &command])
            .env("PROVLOCK", provlock_test::program())
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .run();
        assert_eq!(output.code, Some(130), "{output}");
        assert!(
            !output.stdout.contains("s3cr3t") && !output.stdout.contains("error"),
            "{output}"
        );
        assert!(!environment.home().join(".terraform.d").exists());
    }

    #[test]
    fn an_interrupt_clears_the_terminal_and_says_what_was_not_done() {
        let registry = Registry::start();
        registry.fault(
            url::PACKAGE,
            Times::Always,
            Fault::SlowBody {
                pause: Duration::from_secs(20),
            },
        );
        for width in [40, 80, 120] {
            let begun = registry.requests_to(url::PACKAGE);
            let environment = project(&registry);
            // As after Ctrl-C, which the terminal echoes.
            let kill =
                "(until [ -e all-began ]; do sleep 0.1; done; sleep 1; printf ^C; kill -INT $$) &";
            let (is_over, deadline) = (
                AtomicBool::new(false),
                Instant::now() + Duration::from_secs(60),
            );
            let is_waiting = || !is_over.load(Ordering::Relaxed) && Instant::now() < deadline;
            let (output, _) = std::thread::scope(|scope| {
                scope.spawn(|| {
                    while registry.requests_to(url::PACKAGE) < begun + 3 && is_waiting() {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    environment.write("all-began", "");
                });
                let result = run(&environment, width, &format!("{kill} {LOCK}"));
                is_over.store(true, Ordering::Relaxed);
                result
            });
            let shown = Screen::new(width).shown(&output);
            let end = "Interrupted: no file was changed; 3 downloads not finished";
            assert!(
                shown.last().unwrap().replace("↩\n", "").starts_with(end),
                "{shown:#?}"
            );
            assert!(
                shown.iter().any(|text| text.matches("acme/").count() == 3),
                "{shown:#?}"
            );
            assert!(!environment.has_lock_file());
        }
    }
}

#[test]
fn verbose_shows_decisions_and_twice_each_request() {
    let registry = Registry::start();
    let environment = project(&registry);
    environment.provlock(["lock", "-p", "linux_amd64", "-v"]).matches(str![[r#"
exit code: 0
----- stderr -----
packages from the registries of the providers
HTTPS_PROXY is http://127.0.0.1:[PORT]/
.: dialect tofu (the program in PATH); linux_amd64 (the flag or PROVLOCK_PLATFORMS)
  + acme/alpha   1.0.0   signed by 5BF65C5D80ADF90F6B9377AC558D46FBE8647CB4   1 h1, 2 zh
  + acme/beta    1.0.0   signed by 5BF65C5D80ADF90F6B9377AC558D46FBE8647CB4   1 h1, 2 zh
  + acme/gamma   1.0.0   signed by 5BF65C5D80ADF90F6B9377AC558D46FBE8647CB4   1 h1, 2 zh
Locked 3 providers for linux_amd64 (3 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    environment.write("provlock.toml", "platforms = [\"linux_amd64\"]\n");
    let before = registry.requests().len();
    let output = environment.provlock(["lock", "-vv", "--no-cache"]);
    let asked: Vec<_> = output
        .stderr
        .lines()
        .filter(|line| line.starts_with("GET "))
        .collect();
    assert_eq!(asked.len(), registry.requests().len() - before, "{output}");
    let is_list = |line: &&&str| line.contains("/acme/alpha/versions 200 ");
    let list = asked
        .iter()
        .find(is_list)
        .unwrap_or_else(|| panic!("{output}"));
    assert!(
        list.starts_with("GET https://registry.opentofu.org/v1/providers/")
            && list.ends_with(" ms"),
        "{list}"
    );
    output
        .assert_stderr_has("linux_amd64 (provlock.toml)")
        .assert_stderr_has(".: settings of ");
    let again = environment.provlock(["lock", "-vv", "--json"]);
    again
        .assert_stderr_has("GET https://registry.opentofu.org/.well-known/terraform.json cached\n");
    assert_eq!(validated(&again.stdout)["roots"][0]["changed"], false);
}

#[test]
fn colours_are_forced_and_forbidden_by_variables() {
    let environment = TestEnvironment::new();
    let colored = |name: &str, value: &str| {
        environment
            .command(["lock"])
            .env(name, value)
            .run()
            .stderr
            .contains('\u{1b}')
    };
    assert!(colored("FORCE_COLOR", "1") && colored("CLICOLOR_FORCE", "1"));
    assert!(!colored("FORCE_COLOR", "0") && !colored("NO_COLOR", "1") && !colored("TERM", "xterm"));
}

#[test]
#[cfg(target_os = "linux")]
fn an_empty_token_is_asked_for_again() {
    let environment = TestEnvironment::new();
    let login = "exec \"$PROVLOCK\" login h.test";
    let run = |typed: &str| pseudo_terminal::run_typing(&environment, 80, login, typed);
    let (shown, code) = run("\n\ntoken-of-a-user\n");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(shown.matches("Token for h.test: ").count(), 3, "{shown}");
    assert!(shown.contains("Stored the token for h.test"), "{shown}");
    let (shown, code) = run("\n\n\n\n");
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("no token for h.test was typed"), "{shown}");
}
