//! Runs a helper program, without a shell and with a time limit.

use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
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

/// How long nothing more may come from a program that has ended, before its output is taken to be whole.
const GRACE: Duration = Duration::from_secs(1);
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
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(&mut command).map_err(|error| format!("cannot be started: {error}"))?;
    let outcome = converse(&mut group.leader, stdin, limits);
    if outcome.is_err() {
        group.kill();
    }
    outcome
}

/// The start of a message, without line breaks and control characters.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MESSAGE_LIMIT)]);
    let lines = text.lines().map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>());
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Part of what a program prints.
enum Output {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// Writes to a program's stdin and reads its output until it has ended.
fn converse(child: &mut Child, stdin: Option<String>, limits: &Limits<'_>) -> Result<Finished, String> {
    let time_limit = limits.time.min(LONGEST_TIME_LIMIT);
    let deadline = Instant::now() + time_limit;
    let too_long = || format!("was ended because it took more than {} seconds", time_limit.as_secs_f32());
    let failed = |error: io::Error| format!("cannot be waited for: {error}");
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), stdin) {
        // A program need not read its stdin; its exit status shows whether it succeeded.
        thread::spawn(move || pipe.write_all(text.as_bytes()));
    }
    let (sender, receiver) = mpsc::channel();
    listen(child.stdout.take(), limits.stdout + 1, Output::Stdout, sender.clone());
    listen(child.stderr.take(), MESSAGE_LIMIT as u64, Output::Stderr, sender);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    // Since when a program that has ended has printed nothing.
    let mut quiet_since = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left.min(WATCH_INTERVAL)) {
            Ok(Output::Stdout(bytes)) => stdout.extend(bytes),
            Ok(Output::Stderr(bytes)) => stderr.extend(bytes),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => return Err(too_long()),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(what) = (limits.exceeded)() {
                    return Err(format!("was ended because {what}"));
                }
                // Another program that it has started may keep its output open.
                let has_ended = child.try_wait().map_err(failed)?.is_some();
                if has_ended && quiet_since.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                    break;
                }
                continue;
            }
        }
        quiet_since = None;
        if stdout.len() as u64 > limits.stdout {
            return Err("was ended because it printed too much".to_owned());
        }
    }
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Finished { status, stdout, stderr }),
            Ok(None) if Instant::now() >= deadline => return Err(too_long()),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Reads up to `limit` bytes in a thread of its own, and sends them as they come.
fn listen(pipe: Option<impl Read + Send + 'static>, limit: u64, wrap: fn(Vec<u8>) -> Output, sender: Sender<Output>) {
    let Some(mut pipe) = pipe else { return };
    thread::spawn(move || {
        let mut kept = pipe.by_ref().take(limit);
        let mut buffer = vec![0; 64 << 10];
        loop {
            match kept.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    // The receiver is gone only after the wait for the program has ended.
                    let _ = sender.send(wrap(buffer[..count].to_owned()));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The bytes before an error are kept; the exit status shows whether the program failed.
                _ => break,
            }
        }
        drop(sender);
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
}

/// The process groups that have not ended, by their leaders.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A helper with the programs that it starts.
struct Group {
    leader: Child,
}

impl Group {
    fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut running = running();
        let leader = command.spawn()?;
        running.push(leader.id());
        Ok(Self { leader })
    }

    fn kill(&mut self) {
        kill_group(self.leader.id());
        // Either call fails only if the process has ended already.
        let _ = self.leader.kill();
        let _ = self.leader.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        running().retain(|leader| *leader != self.leader.id());
    }
}

/// Kills the helpers that run, with the programs that they have started. While the result lives, none is started, and
/// whoever waits for one goes on waiting.
pub(super) fn kill_all() -> MutexGuard<'static, Vec<u32>> {
    let running = running();
    running.iter().copied().for_each(kill_group);
    running
}

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn kill_group(leader: u32) {
    if let Some(leader) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
        // This fails only if all have ended already.
        let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
    }
}

/// Ctrl-C reaches every program of a console.
#[cfg(not(unix))]
fn kill_group(_: u32) {}
