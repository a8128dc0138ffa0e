#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    provlock_fuzz::module_archive(data);
});
