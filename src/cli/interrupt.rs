//! Ctrl-C and its like: the program ends when no file is half written.

use provlock::files;

/// Lets signals wait for files that are being replaced. What cannot be arranged is left to the system, which ends the
/// program at once.
#[cfg(unix)]
pub(crate) fn arrange() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let _nothing_is_begun = files::wait_for_writes();
            // A shell learns from the way a program ended that the user interrupted it.
            let _ = emulate_default_handler(signal);
        }
    });
}

/// Lets Ctrl-C wait for files that are being replaced. What cannot be arranged is left to the system, which ends the program
/// at once.
#[cfg(windows)]
pub(crate) fn arrange() {
    /// `STATUS_CONTROL_C_EXIT`, as the system ends programs.
    const CONTROL_C_EXIT: i32 = 0xC000_013A_u32.cast_signed();
    let _ = ctrlc::set_handler(|| {
        let _nothing_is_begun = files::wait_for_writes();
        std::process::exit(CONTROL_C_EXIT);
    });
}
