//! Runs that are killed.

use std::fs;

use super::Project;
use crate::lock::LOCK_BOTH;
use provlock_test::{run_until, survived, wait};

/// Number of runs that are killed.
const KILLS: usize = 100;

/// Time at which a run is killed, unless it is over before.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So many requests were answered.
    Answered(usize),
    /// A file appears in the project, or the lock file is the new one.
    Writing,
}

impl Project {
    fn files(&self) -> usize {
        fs::read_dir(self.environment.project()).unwrap().count()
    }

    /// Starts a run, and kills it at that moment.
    fn kill(&self, moment: Moment) {
        self.registry.reset_statistics();
        let files = self.files();
        let mut child = self.environment.command(LOCK_BOTH).spawn();
        let is_there = || match moment {
            Moment::Answered(requests) => self.registry.statistics().requests >= requests,
            Moment::Writing => self.files() != files || self.environment.lock_file() == self.new,
        };
        run_until(&mut child, is_there);
        let _ = child.kill();
        wait(&mut child);
    }
}

#[test]
fn killed_at_any_moment_leaves_the_old_file_or_the_new_one_and_the_next_run_completes() {
    let project = Project::new();
    let Project {
        registry,
        environment,
        old,
        new,
    } = &project;
    let cache = environment.root().join("cache");
    environment.provlock(LOCK_BOTH).assert_code(0);
    let mut moments: Vec<_> = (0..=registry.statistics().requests)
        .map(Moment::Answered)
        .collect();
    moments.push(Moment::Writing);
    let mut seen = [0, 0];
    for (attempt, moment) in moments.into_iter().cycle().take(KILLS).enumerate() {
        environment.write_lock_file(old);
        // Half of the runs begin with what the killed run before them has left in the cache.
        if attempt % 2 == 0 {
            let _ = fs::remove_dir_all(&cache);
        }
        project.kill(moment);
        let found = environment.lock_file();
        assert!(
            found == *old || found == *new,
            "attempt {attempt}, {moment:?}: {found}"
        );
        seen[usize::from(found == *new)] += 1;
        if attempt % 5 == 4 {
            environment.write_lock_file(old);
            environment.provlock(LOCK_BOTH).assert_code(0);
            assert_eq!(environment.lock_file(), *new, "attempt {attempt}");
            assert_eq!(project.files(), 2, "attempt {attempt}");
        }
    }
    assert!(seen[0] > 0, "every run was over before it was killed");
    survived("a run that is killed", KILLS);
}

/// A temporary file beside a lock file that does not change.
#[test]
fn lock_without_changes_removes_files_of_a_killed_run() {
    let Project {
        registry: _registry,
        environment,
        ..
    } = &Project::new();
    environment.provlock(LOCK_BOTH).assert_code(0);
    let left_over = environment
        .project()
        .join(".terraform.lock.hcl.provlock-a1B2c3");
    let own = environment
        .project()
        .join(".terraform.lock.hcl.provlock-mine");
    for file in [&left_over, &own] {
        fs::write(file, "").unwrap();
    }
    environment
        .provlock(LOCK_BOTH.into_iter().chain(["--check"]))
        .assert_code(0);
    environment.provlock(["verify"]).assert_code(0);
    assert!(left_over.exists(), "what writes nothing removes nothing");
    environment.provlock(LOCK_BOTH).assert_code(0);
    assert!(!left_over.exists() && own.exists());
    survived("a run that is killed", 1);
}
