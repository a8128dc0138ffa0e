//! Runs the target that `PROVLOCK_FUZZ_TARGET` names under libFuzzer. `fuzz/run` builds and starts
//! it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use provlock_fuzz::{TARGETS, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PROVLOCK_FUZZ_TARGET").expect("PROVLOCK_FUZZ_TARGET names a target");
    *TARGETS
        .iter()
        .find(|target| target.name == name)
        .expect("PROVLOCK_FUZZ_TARGET names a target that exists")
});

fuzz_target!(|data: &[u8]| {
    (TARGET.run)(data);
});
