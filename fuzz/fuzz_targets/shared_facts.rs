#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    provlock_fuzz::shared_facts(data);
});
