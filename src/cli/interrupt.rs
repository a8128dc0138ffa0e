//! Ctrl-C and similar signals: the program ends without half-written files, with its helper
//! processes and without temporary files.

use provlock::system::stop;

/// Delays signals until files have been replaced, and then calls `report`, which informs the user.
/// Signals that cannot be handled end the program at once.
#[cfg(unix)]
pub(crate) fn handle_signals(report: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let ignored = ignored_signals();
    let mut handled = vec![SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    // Such a signal was ignored on purpose before the program started, as by `nohup`.
    handled.retain(|signal| ignored >> (signal - 1) & 1 == 0);
    let Ok(mut signals) = Signals::new(handled) else {
        return;
    };
    let _ = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                // No file is replaced from here on, and no helper started.
                let _stopped = stop();
                report();
                // A shell learns from the way a program ended that the user interrupted it.
                let _ = emulate_default_handler(signal);
            }
        });
}

/// The signals that this process was started to ignore, as `nohup` does with SIGHUP: bit 0 is
/// signal 1.
#[expect(clippy::disallowed_methods, reason = "the kernel writes the file")]
#[cfg(target_os = "linux")]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}

/// Only Linux shows this to a program without `unsafe` code. On other systems SIGHUP, which `nohup`
/// makes a process ignore, is not handled.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignored_signals() -> u64 {
    1 << (signal_hook::consts::SIGHUP - 1)
}

/// Delays Ctrl-C until files have been replaced, and then calls `report`, which informs the user.
/// If that cannot be arranged, Ctrl-C ends the program at once.
#[cfg(windows)]
pub(crate) fn handle_signals(report: impl Fn() + Send + 'static) {
    /// `STATUS_CONTROL_C_EXIT`, as the system ends programs.
    const CONTROL_C_EXIT: i32 = 0xC000_013A_u32.cast_signed();
    let _ = ctrlc::set_handler(move || {
        let _stopped = stop();
        report();
        std::process::exit(CONTROL_C_EXIT);
    });
}
