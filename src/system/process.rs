//! Runs a helper program, without a shell and with a time limit.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The most that is read from stdout, in bytes. Every expected answer is shorter.
const STDOUT_LIMIT: u64 = 1 << 20;
/// The most that is kept of stderr, and shown of any output, in bytes.
const MESSAGE_LIMIT: usize = 4096;
/// The longest time limit; a clock overflows with much larger ones.
const LONGEST_TIME_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The status and the output of a program that has ended.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// The limits of a program.
pub(crate) struct Limits<'a> {
    /// How long it may run.
    pub(crate) time: Duration,
    /// How much it may print to stdout, in bytes.
    pub(crate) stdout: u64,
    /// Called at intervals. Names another limit that the program exceeds, if it does.
    pub(crate) exceeded: &'a dyn Fn() -> Option<String>,
}

/// The interval at which [`Limits::exceeded`] is called.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Starts a program, gives it `stdin` and waits for it; kills it and its children after the time limit.
///
/// The text of an error continues a message that names the program.
pub(crate) fn run(command: Command, stdin: Option<String>, time_limit: Duration) -> Result<Finished, String> {
    run_within(command, stdin, &Limits { time: time_limit, stdout: STDOUT_LIMIT, exceeded: &|| None })
}

/// [`run`] with other limits.
pub(crate) fn run_within(mut command: Command, stdin: Option<String>, limits: &Limits<'_>) -> Result<Finished, String> {
    let time_limit = limits.time.min(LONGEST_TIME_LIMIT);
    let deadline = Instant::now() + time_limit;
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    process_group::lead(&mut command);
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let outcome = converse(&mut child, stdin, deadline, limits);
    if outcome.is_err() {
        process_group::kill(&mut child);
    }
    outcome.map_err(|interruption| match interruption {
        Interruption::TooLong => format!("was ended because it took more than {} seconds", time_limit.as_secs_f32()),
        Interruption::TooMuch => "was ended because it printed too much".to_owned(),
        Interruption::Exceeded(what) => format!("was ended because {what}"),
        Interruption::Io(error) => format!("cannot be waited for: {error}"),
    })
}

/// The start of a message, without line breaks and control characters.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MESSAGE_LIMIT)]);
    let lines = text.lines().map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>());
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

enum Interruption {
    TooLong,
    TooMuch,
    Exceeded(String),
    Io(std::io::Error),
}

enum Output {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// Writes to a program's stdin and reads its output until it has ended.
fn converse(
    child: &mut Child,
    stdin: Option<String>,
    deadline: Instant,
    limits: &Limits<'_>,
) -> Result<Finished, Interruption> {
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), stdin) {
        // A program need not read its stdin; its exit status shows whether it succeeded.
        thread::spawn(move || pipe.write_all(text.as_bytes()));
    }
    let (sender, receiver) = mpsc::channel();
    listen(child.stdout.take(), limits.stdout + 1, Output::Stdout, sender.clone());
    listen(child.stderr.take(), MESSAGE_LIMIT as u64, Output::Stderr, sender);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left.min(WATCH_INTERVAL)) {
            Ok(Output::Stdout(bytes)) if bytes.len() as u64 > limits.stdout => return Err(Interruption::TooMuch),
            Ok(Output::Stdout(bytes)) => stdout = bytes,
            Ok(Output::Stderr(bytes)) => stderr = bytes,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => return Err(Interruption::TooLong),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(what) = (limits.exceeded)() {
                    return Err(Interruption::Exceeded(what));
                }
            }
        }
    }
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Finished { status, stdout, stderr }),
            Ok(None) if Instant::now() >= deadline => return Err(Interruption::TooLong),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(Interruption::Io(error)),
        }
    }
}

/// Reads up to `limit` bytes in a thread of its own and sends them at the end of the stream, or when there are more.
fn listen(pipe: Option<impl Read + Send + 'static>, limit: u64, wrap: fn(Vec<u8>) -> Output, sender: Sender<Output>) {
    let Some(mut pipe) = pipe else { return };
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // The bytes before an error are kept; the exit status shows whether the program failed.
        let _ = pipe.by_ref().take(limit).read_to_end(&mut bytes);
        // The receiver is gone only after the wait for the program has ended.
        let _ = sender.send(wrap(bytes));
        drop(sender);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    });
}

/// A helper may start other programs, which are killed with it.
mod process_group {
    use std::process::{Child, Command};

    #[cfg(unix)]
    pub(super) fn lead(command: &mut Command) {
        std::os::unix::process::CommandExt::process_group(command, 0);
    }

    #[cfg(not(unix))]
    pub(super) fn lead(_: &mut Command) {}

    pub(super) fn kill(child: &mut Child) {
        #[cfg(unix)]
        let _ =
            rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
        // Either call fails only if the process has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}
