//! Runs a helper program, without a shell and with a time limit.

use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::system::lock;

/// The most that is read from stdout, in bytes. Every expected answer is shorter.
pub(crate) const STDOUT_LIMIT: u64 = 1 << 20;
/// The most that is kept of stderr, and shown of any output, in bytes.
const MESSAGE_LIMIT: usize = 4096;
/// The signal that ends a program at its limit of processor time, on Linux and macOS.
const SIGXCPU: i32 = 24;
/// The longest time limit; a clock overflows with much larger ones.
const LONGEST_TIME_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The status and the output of a program that has ended.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Reason why there is no output of a program. The text continues a message that names the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("was stopped because it printed too much")]
    TooMuchOutput,
    #[error("{0}")]
    Other(String),
}

type Result<T, E = Failure> = std::result::Result<T, E>;

/// The limits of a program.
pub(crate) struct ProcessLimits<'a> {
    /// Maximum duration.
    pub(crate) time: Duration,
    /// Maximum number of bytes that it may print to stdout.
    pub(crate) stdout: u64,
    /// Called at intervals. Returns the name of a limit that the program exceeds, if any.
    pub(crate) exceeded: &'a dyn Fn() -> Option<String>,
}

/// Time without output after which the output of an ended program is complete.
const GRACE: Duration = Duration::from_secs(1);
/// The interval at which [`ProcessLimits::exceeded`] is called.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Starts a program, gives it `stdin` and waits for it; kills it and its children after the time
/// limit.
///
/// The text of an error continues a message that names the program.
pub(crate) fn run(
    command: Command,
    stdin: Option<String>,
    time_limit: Duration,
) -> Result<Finished, String> {
    let limits = ProcessLimits {
        time: time_limit,
        stdout: STDOUT_LIMIT,
        exceeded: &|| None,
    };
    run_within(command, stdin, &limits).map_err(|failure| failure.to_string())
}

/// [`run`] with other limits.
pub(crate) fn run_within(
    mut command: Command,
    stdin: Option<String>,
    limits: &ProcessLimits<'_>,
) -> Result<Finished> {
    command.stdin(if stdin.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(&mut command).map_err(|error| not_started(&error))?;
    let outcome = wait_for_output(&mut group.leader, stdin, limits);
    if outcome.is_err() {
        group.kill();
    }
    outcome
}

/// Starts a program and runs `exchange` with its stdin and stdout. After the time limit the program
/// is killed, so that it stops answering.
pub(crate) fn run_interactively<T>(
    mut command: Command,
    time_limit: Duration,
    exchange: impl FnOnce(&mut ChildStdin, &mut BufReader<ChildStdout>) -> T,
) -> Result<T> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut group = Group::start(&mut command).map_err(|error| not_started(&error))?;
    let (Some(mut stdin), Some(stdout)) = (group.leader.stdin.take(), group.leader.stdout.take())
    else {
        return Err(Failure::Other("has no stdin or stdout".to_owned()));
    };
    let leader = group.leader.id();
    let time_limit = time_limit.min(LONGEST_TIME_LIMIT);
    let (sender, receiver) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let is_late = receiver.recv_timeout(time_limit) == Err(RecvTimeoutError::Timeout);
        if is_late {
            kill_group(leader);
        }
        is_late
    });
    let result = exchange(&mut stdin, &mut BufReader::with_capacity(64 << 10, stdout));
    // The exchange has ended, so the watch stops waiting for the time limit.
    drop(sender);
    let is_late = watch.join().unwrap_or(false);
    // The exchange is over. If the program has ended already, this does not change its status.
    kill_group(leader);
    let _ = group.leader.kill();
    let status = group
        .leader
        .wait()
        .map_err(|error| not_waited_for(&error))?;
    if is_late {
        return Err(timed_out(time_limit));
    }
    if is_killed_for_processor_time(status) {
        return Err(Failure::Other(
            "was stopped because there is too much in it to read".to_owned(),
        ));
    }
    Ok(result)
}

/// A command with a limit of processor time, which also applies to each program that it starts.
#[cfg(unix)]
pub(crate) fn with_processor_time(program: &Path, time: Duration) -> Command {
    let mut command = Command::new("sh");
    // A lower limit may apply already.
    command.args(["-c", "ulimit -S -t \"$0\" 2>/dev/null; exec \"$@\""]);
    command.arg(time.as_secs().max(1).to_string()).arg(program);
    command
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(crate) fn with_processor_time(program: &Path, _: Duration) -> Command {
    Command::new(program)
}

/// Whether the program reports that the limit of [`with_processor_time`] ended it or a program that
/// it started.
pub(crate) fn is_out_of_processor_time(finished: &Finished) -> bool {
    is_killed_for_processor_time(finished.status)
        || one_line(&finished.stderr).contains(&format!("died of signal {SIGXCPU}"))
}

fn is_killed_for_processor_time(status: ExitStatus) -> bool {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    signal == Some(SIGXCPU)
}

fn not_started(error: &io::Error) -> Failure {
    Failure::Other(format!("cannot be started: {error}"))
}

/// The start of a message, without line breaks and control characters.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MESSAGE_LIMIT)]);
    let mut lines = Vec::new();
    for line in text.lines() {
        let printable: String = line.chars().filter(|c| !c.is_control()).collect();
        if !printable.trim().is_empty() {
            lines.push(printable.trim().to_owned());
        }
    }
    lines.join("; ")
}

/// Writes to a program's stdin and reads its output until it has ended.
fn wait_for_output(
    child: &mut Child,
    stdin: Option<String>,
    limits: &ProcessLimits<'_>,
) -> Result<Finished> {
    let time_limit = limits.time.min(LONGEST_TIME_LIMIT);
    let deadline = Instant::now() + time_limit;
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), stdin) {
        // A program need not read its stdin; its exit status shows whether it succeeded.
        thread::spawn(move || pipe.write_all(text.as_bytes()));
    }
    let (sender, receiver) = mpsc::channel();
    // A byte more than the limit shows that the output is too long.
    send_output(
        child.stdout.take(),
        limits.stdout + 1,
        Pipe::Stdout,
        sender.clone(),
    );
    send_output(
        child.stderr.take(),
        MESSAGE_LIMIT as u64,
        Pipe::Stderr,
        sender,
    );
    let mut stdout = Vec::new();
    let mut stderr = Vec::new();
    // Start of the silence of an ended program.
    let mut quiet_since = None;
    let mut checked = Instant::now();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let output = receiver.recv_timeout(left.min(WATCH_INTERVAL));
        // Also while the program prints.
        if checked.elapsed() >= WATCH_INTERVAL {
            limits.check()?;
            checked = Instant::now();
        }
        match output {
            Err(RecvTimeoutError::Disconnected) => break,
            _ if Instant::now() >= deadline => return Err(timed_out(time_limit)),
            Ok((Pipe::Stdout, bytes)) => stdout.extend(bytes),
            Ok((Pipe::Stderr, bytes)) => stderr.extend(bytes),
            Err(RecvTimeoutError::Timeout) => {
                // A program that it has started may keep its output open.
                let status = child.try_wait().map_err(|error| not_waited_for(&error))?;
                let has_ended = status.is_some();
                if has_ended && quiet_since.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                    break;
                }
                continue;
            }
        }
        quiet_since = None;
        if stdout.len() as u64 > limits.stdout {
            return Err(Failure::TooMuchOutput);
        }
    }
    limits.check()?;
    // A program can close its output before it ends.
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                return Ok(Finished {
                    status,
                    stdout,
                    stderr,
                });
            }
            Ok(None) if Instant::now() >= deadline => return Err(timed_out(time_limit)),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(not_waited_for(&error)),
        }
    }
}

fn timed_out(limit: Duration) -> Failure {
    Failure::Other(format!(
        "was stopped because it took more than {} seconds",
        limit.as_secs_f32()
    ))
}

fn not_waited_for(error: &io::Error) -> Failure {
    Failure::Other(format!("cannot be waited for: {error}"))
}

impl ProcessLimits<'_> {
    /// Fails if a limit that the caller watches is exceeded.
    fn check(&self) -> Result<()> {
        match (self.exceeded)() {
            Some(what) => Err(Failure::Other(format!("was stopped because {what}"))),
            None => Ok(()),
        }
    }
}

/// The output to which a program prints.
#[derive(Clone, Copy)]
enum Pipe {
    Stdout,
    Stderr,
}

/// Reads up to `limit` bytes in a thread of its own, and sends them as they come, with the name of
/// their pipe.
fn send_output(
    output: Option<impl Read + Send + 'static>,
    limit: u64,
    pipe: Pipe,
    sender: Sender<(Pipe, Vec<u8>)>,
) {
    let Some(mut output) = output else { return };
    thread::spawn(move || {
        let mut limited = output.by_ref().take(limit);
        let mut buffer = vec![0; 64 << 10];
        loop {
            match limited.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    // The channel is closed only after the wait for the program has ended.
                    let _ = sender.send((pipe, buffer[..count].to_owned()));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The bytes before an error are kept; the exit status shows whether the program
                // failed.
                _ => break,
            }
        }
        drop(sender);
        // The receiver ends at the limit, and the program must not block at a full pipe.
        let _ = io::copy(&mut output, &mut io::sink());
    });
}

/// The process groups that have not ended.
static RUNNING: Mutex<Running> = Mutex::new(Running {
    leaders: Vec::new(),
    killer: None,
});

/// The process groups that have not ended.
pub(super) struct Running {
    leaders: Vec<u32>,
    /// Kills the groups if this process ends without having done so, for example because it is
    /// killed.
    killer: Option<Child>,
}

impl Running {
    /// Sends the groups to the killer, if there is one.
    fn update_killer(&mut self) {
        let leaders: Vec<_> = self.leaders.iter().map(u32::to_string).collect();
        let line = leaders.join(" ") + "\n";
        if !send_line(self.killer.as_mut(), &line) {
            self.killer = killer();
            send_line(self.killer.as_mut(), &line);
        }
    }
}

/// Sends a line to the killer. Returns whether it got it.
fn send_line(killer: Option<&mut Child>, line: &str) -> bool {
    let Some(killer) = killer else {
        return false;
    };
    let Some(stdin) = &mut killer.stdin else {
        return false;
    };
    stdin.write_all(line.as_bytes()).is_ok()
}

/// A helper with the programs that it starts.
struct Group {
    leader: Child,
}

impl Group {
    fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut running = lock(&RUNNING);
        let leader = command.spawn()?;
        running.leaders.push(leader.id());
        running.update_killer();
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
        let mut running = lock(&RUNNING);
        running.leaders.retain(|leader| *leader != self.leader.id());
        running.update_killer();
    }
}

/// A process that reads lines with groups of processes, and kills the groups of the last line at
/// the end: the system closes the pipe when this process ends for any reason. `None` if it cannot
/// be started.
#[cfg(unix)]
fn killer() -> Option<Child> {
    let mut command = Command::new("sh");
    let script = "groups=; while read -r line; do groups=$line; done; \
                  for group in $groups; do kill -s KILL -- \"-$group\"; done";
    command.args(["-c", script]);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Other systems have no groups of processes.
#[cfg(not(unix))]
fn killer() -> Option<Child> {
    None
}

/// Kills the helpers that run, with the programs that they have started. While the result lives, no
/// helper is started, and a thread that waits for a helper goes on waiting.
pub(super) fn kill_all() -> MutexGuard<'static, Running> {
    let running = lock(&RUNNING);
    running.leaders.iter().copied().for_each(kill_group);
    running
}

#[cfg(unix)]
fn kill_group(leader: u32) {
    if let Some(leader) = i32::try_from(leader)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        // This fails only if all of them have ended already.
        let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
    }
}

/// Ctrl-C reaches every program of a console.
#[cfg(not(unix))]
fn kill_group(_: u32) {}
