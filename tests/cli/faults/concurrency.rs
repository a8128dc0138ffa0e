//! Runs at the same time.

use std::thread;

use super::Project;
use crate::lock::LOCK_BOTH;
use provlock_test::{TestEnvironment, survived};

/// Number of times that runs are started at the same time.
const ROUNDS: usize = 10;

/// The second run finds the file changed, and changes nothing.
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
            let is_told =
                output.code == Some(2) && output.stderr.contains("was changed by another program");
            assert!(output.code == Some(0) || is_told, "round {round}: {output}");
        }
        assert!(
            outputs.iter().any(|output| output.code == Some(0)),
            "round {round}: {outputs:?}"
        );
        assert_eq!(environment.lock_file(), *new, "round {round}");
        project.assert_nothing_is_left();
    }
    survived("runs at the same time", ROUNDS);
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
