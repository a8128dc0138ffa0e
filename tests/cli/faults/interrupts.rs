//! Runs that are interrupted while git works for them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use provlock_test::{TestEnvironment, run_until, survived, wait};

/// Fetches nothing, and waits for another program.
const GIT: &str = "#!/bin/sh\ncase \"$*\" in *\" fetch \"*) ;; *) PATH=${PATH#*:} exec git \"$@\" ;; esac\n\
                   sleep 300 &\necho $$ $! > \"$PIDS.new\" && mv \"$PIDS.new\" \"$PIDS\"\nwait\n";
const KEY: &str = "a private key";
const KEY_IN_BASE64: &str = "YSBwcml2YXRlIGtleQ==";

fn project() -> TestEnvironment {
    let mut environment = TestEnvironment::new();
    environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
    environment.set("PIDS", environment.root().join("pids"));
    let git = environment.bin().join("git");
    fs::write(&git, GIT).unwrap();
    fs::set_permissions(git, fs::Permissions::from_mode(0o755)).unwrap();
    let source = format!("git::ssh://git@h.test/a.git?sshkey={KEY_IN_BASE64}");
    environment.write(
        "main.tf",
        format!("module \"m\" {{\n  source = \"{source}\"\n}}\n"),
    );
    environment
}

/// Starts a run, and waits until git fetches. The processes of git come along.
fn start(environment: &TestEnvironment) -> (Child, Vec<String>) {
    let mut run = environment.command(["lock", "-p", "linux_amd64"]).spawn();
    let pids = environment.root().join("pids");
    run_until(&mut run, || pids.exists());
    assert!(pids.exists(), "the run was over before git fetched");
    let text = fs::read_to_string(&pids).unwrap();
    fs::remove_file(pids).unwrap();
    (run, text.split_whitespace().map(str::to_owned).collect())
}

fn signal(name: &str, pid: &str) {
    Command::new("kill").args([name, pid]).status().unwrap();
}

/// Whether a process runs; a process that has ended may still be listed.
fn runs(pid: &str) -> bool {
    let listed = Command::new("ps")
        .args(["-o", "stat=", "-p", pid])
        .output()
        .unwrap()
        .stdout;
    listed.first().is_some_and(|state| *state != b'Z')
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn assert_key_is_nowhere(environment: &TestEnvironment) {
    let holds = |path: &&std::path::PathBuf| {
        fs::read(path)
            .is_ok_and(|bytes| bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()))
    };
    assert_eq!(files(&environment.root()).iter().find(holds), None);
}

/// Fails if one of the processes goes on.
#[track_caller]
fn assert_end(processes: &[String], why: &str) {
    for process in processes {
        // A signal takes a moment to arrive.
        let has_ended = |_| {
            thread::sleep(Duration::from_millis(20));
            !runs(process)
        };
        assert!((0..500).any(has_ended), "{why} leaves {process} behind");
    }
}

#[test]
fn git_ends_with_the_run_and_nothing_temporary_stays() {
    let environment = project();
    let unfinished = environment
        .root()
        .join("cache/provlock-modules-v2/unfinished");
    let signals = [("-INT", 2), ("-TERM", 15), ("-HUP", 1), ("-QUIT", 3)];
    for (name, number) in signals {
        let (mut run, processes) = start(&environment);
        assert_eq!(fs::read_dir(&unfinished).unwrap().count(), 1);
        signal(name, &run.id().to_string());
        assert_eq!(wait(&mut run).signal(), Some(number));
        assert_end(&processes, name);
        assert_eq!(fs::read_dir(&unfinished).unwrap().count(), 0, "{name}");
        assert_key_is_nowhere(&environment);
    }
    survived("a run that is killed", signals.len());
}

#[test]
fn the_next_run_removes_files_of_a_killed_run() {
    let environment = project();
    let unfinished = environment
        .root()
        .join("cache/provlock-modules-v2/unfinished");
    let (mut run, processes) = start(&environment);
    run.kill().unwrap();
    wait(&mut run);
    if cfg!(target_os = "linux") {
        assert_key_is_nowhere(&environment);
    }
    assert_end(&processes, "-KILL");
    assert_eq!(fs::read_dir(&unfinished).unwrap().count(), 1);
    // Another run that is still at work keeps what it has.
    let (mut other, of_other) = start(&environment);
    assert_eq!(
        fs::read_dir(&unfinished).unwrap().count(),
        1,
        "of the other run alone"
    );
    fs::remove_file(environment.bin().join("git")).unwrap();
    environment.write(
        "next/main.tf",
        "module \"m\" {\n  source = \"git::file:///nowhere/a.git\"\n}\n",
    );
    environment
        .provlock(["-C", "next", "lock", "-p", "linux_amd64"])
        .assert_code(2);
    assert_eq!(
        fs::read_dir(&unfinished).unwrap().count(),
        1,
        "of the other run alone"
    );
    signal("-TERM", &other.id().to_string());
    wait(&mut other);
    assert_eq!(fs::read_dir(&unfinished).unwrap().count(), 0);
    assert_end(&of_other, "-TERM");
    survived("a run that is killed", 2);
}
