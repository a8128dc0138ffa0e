//! Runs that are killed.

use std::fs;
use std::thread;
use std::time::Instant;

use super::Project;
use crate::lock::LOCK_BOTH;
use provlock_test::survived;

/// How many runs are killed.
const KILLS: u32 = 100;

#[test]
fn killed_at_any_moment_leaves_the_old_file_or_the_new_one_and_the_next_run_completes() {
    let project = Project::new();
    let Project { environment, old, new, .. } = &project;
    let cache = environment.root().join("cache");
    let started = Instant::now();
    environment.provlock(LOCK_BOTH).assert_code(0);
    let whole = started.elapsed();
    let mut seen = [0, 0];
    for attempt in 0..KILLS {
        environment.write_lock_file(old);
        // Half of the runs begin with what the killed run before them has left in the cache.
        if attempt % 2 == 0 {
            let _ = fs::remove_dir_all(&cache);
        }
        let mut child = environment.command(LOCK_BOTH).spawn();
        thread::sleep(whole * attempt / 90);
        let _ = child.kill();
        child.wait().unwrap();
        let found = environment.lock_file();
        assert!(found == *old || found == *new, "attempt {attempt}: {found}");
        seen[usize::from(found == *new)] += 1;
        if attempt % 5 == 4 {
            environment.write_lock_file(old);
            environment.provlock(LOCK_BOTH).assert_code(0);
            assert_eq!(environment.lock_file(), *new, "attempt {attempt}");
            let names = fs::read_dir(environment.project()).unwrap().map(|file| file.unwrap().file_name());
            assert_eq!(names.count(), 2, "attempt {attempt}");
        }
    }
    assert!(seen[0] > 0, "every run was over before it was killed");
    survived("a run that is killed", KILLS as usize);
}
