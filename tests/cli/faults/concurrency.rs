//! Runs at the same time.

use std::thread;
use std::time::Duration;

use super::Project;
use crate::lock::LOCK_BOTH;
use provlock_test::{Fault, TestEnvironment, Times, run_until, survived, url, wait};

/// Number of times that runs are started at the same time.
const ROUNDS: usize = 10;

/// The second run finds the file changed, reads it again, and has nothing left to do.
#[test]
fn locks_at_the_same_time_leave_one_right_file() {
    let project = Project::new();
    let Project {
        environment,
        old,
        new,
        ..
    } = &project;
    for round in 0..ROUNDS {
        environment.write_lock_file(old);
        let outputs = thread::scope(|scope| {
            let runs = [(); 3].map(|()| scope.spawn(|| environment.provlock(LOCK_BOTH)));
            runs.map(|run| run.join().unwrap())
        });
        for output in &outputs {
            assert_eq!(output.code, Some(0), "round {round}: {output}");
        }
        assert_eq!(environment.lock_file(), *new, "round {round}");
        project.assert_nothing_is_left();
    }
    survived("runs at the same time", ROUNDS);
}

/// Starts a run, and changes the lock file while it waits for a package.
fn lock_while_changing(content: impl Fn(&Project) -> String) -> (Project, Option<i32>) {
    let project = Project::new();
    let Project {
        registry,
        environment,
        old,
        ..
    } = &project;
    environment.write_lock_file(old);
    let pause = Duration::from_millis(500);
    registry.fault(url::PACKAGE, Times::Always, Fault::SlowBody { pause });
    let mut run = environment.command(LOCK_BOTH).spawn();
    run_until(&mut run, || registry.requests_to(url::PACKAGE) > 0);
    assert!(
        registry.requests_to(url::PACKAGE) > 0,
        "nothing was fetched"
    );
    environment.write_lock_file(content(&project));
    let code = wait(&mut run).code();
    (project, code)
}

#[test]
fn a_lock_file_that_a_second_run_has_completed_meanwhile_is_up_to_date() {
    let (project, code) = lock_while_changing(|project| project.new.clone());
    assert_eq!(code, Some(0));
    assert_eq!(project.environment.lock_file(), project.new);
    project.assert_nothing_is_left();
}

#[test]
fn a_lock_file_that_changed_meanwhile_is_locked_once_more() {
    let comment = "# of the team\n";
    let (project, code) = lock_while_changing(|project| format!("{comment}{}", project.old));
    assert_eq!(code, Some(0));
    let lock_file = project.environment.lock_file();
    assert_eq!(lock_file, format!("{comment}{}", project.new));
    project.assert_nothing_is_left();
}

#[test]
fn a_lock_file_that_became_unreadable_meanwhile_is_an_error() {
    let (project, code) = lock_while_changing(|_| "provider {\n".to_owned());
    assert_eq!(code, Some(2));
    assert_eq!(project.environment.lock_file(), "provider {\n");
}

#[test]
fn logins_at_the_same_time_lose_no_token() {
    let environment = TestEnvironment::new();
    let hosts: Vec<_> = (0..4 * ROUNDS)
        .map(|number| format!("h{number}.example.com"))
        .collect();
    for hosts in hosts.chunks(4) {
        thread::scope(|scope| {
            for host in hosts {
                let login = environment.command(["login", host]).stdin("t0ken");
                scope.spawn(move || login.run().assert_code(0).clone());
            }
        });
    }
    for host in &hosts {
        environment
            .provlock(["login", "--check", host])
            .assert_code(0)
            .assert_stdout_has(host);
    }
    survived("runs at the same time", ROUNDS);
}
