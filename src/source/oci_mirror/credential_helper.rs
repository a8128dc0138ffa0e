//! Runs Docker credential helpers: programs `docker-credential-NAME` with the verb `get`, a server's URL on stdin and a
//! JSON object on stdout.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

/// More than this on stdout is no credentials object.
const STDOUT_LIMIT: u64 = 1 << 20;
/// What is kept of stderr, and shown of any output.
const MESSAGE_LIMIT: u64 = 4096;

/// What a helper knows of a server. Has no `Debug`, since it holds the secret.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Answer {
    #[serde(default)]
    pub(super) username: String,
    #[serde(default)]
    pub(super) secret: String,
}

/// Finds the program of a helper among directories; only absolute ones count, so that none is taken from where the
/// user happens to be.
pub(super) fn find(name: &str, directories: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    if name.contains(['/', '\\']) {
        return None;
    }
    let file = format!("docker-credential-{name}{}", std::env::consts::EXE_SUFFIX);
    let absolute = directories.into_iter().filter(|directory| directory.is_absolute());
    absolute.map(|directory| directory.join(&file)).find(|path| path.is_file())
}

/// Asks a helper for the credentials of a server; `None` if it has none. An error says why there is no answer, as a
/// continuation of the program's name.
pub(super) fn get(program: &Path, server: &str, time_limit: Duration) -> Result<Option<Answer>, String> {
    let finished = run(program, server, time_limit)?;
    if finished.status.success() {
        // What was printed may hold the secret, so no error quotes it.
        let answer = serde_json::from_slice(&finished.stdout);
        return answer.map(Some).map_err(|_| "printed something that is no credentials object".to_owned());
    }
    // The protocol has its errors on stdout; the text of this one is fixed by docker-credential-helpers.
    let message = one_line(&finished.stdout);
    if message.starts_with("credentials not found") {
        return Ok(None);
    }
    let messages: Vec<_> = [message, one_line(&finished.stderr)].into_iter().filter(|text| !text.is_empty()).collect();
    Err(match messages.join("; ").as_str() {
        "" => format!("gave no error message ({})", finished.status),
        message => format!("says: {message}"),
    })
}

struct Finished {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

enum Output {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// Starts the program, without a shell, and waits for it; ends it when the time limit has passed.
fn run(program: &Path, server: &str, time_limit: Duration) -> Result<Finished, String> {
    let deadline = Instant::now() + time_limit;
    let mut command = Command::new(program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    process_group::lead(&mut command);
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let outcome = converse(&mut child, server, deadline);
    if outcome.is_err() {
        process_group::kill(&mut child);
    }
    outcome.map_err(|interruption| match interruption {
        Interruption::TooLong => format!("was ended because it took more than {} seconds", time_limit.as_secs_f32()),
        Interruption::TooMuch => "was ended because it printed too much".to_owned(),
        Interruption::Io(error) => format!("cannot be waited for: {error}"),
    })
}

enum Interruption {
    TooLong,
    TooMuch,
    Io(std::io::Error),
}

fn converse(child: &mut Child, server: &str, deadline: Instant) -> Result<Finished, Interruption> {
    if let Some(mut pipe) = child.stdin.take() {
        let server = server.to_owned();
        // A helper need not read: its exit status says whether it did what it should.
        thread::spawn(move || pipe.write_all(server.as_bytes()));
    }
    let (sender, receiver) = mpsc::channel();
    listen(child.stdout.take(), STDOUT_LIMIT + 1, Output::Stdout, sender.clone());
    listen(child.stderr.take(), MESSAGE_LIMIT, Output::Stderr, sender);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Output::Stdout(bytes)) if bytes.len() as u64 > STDOUT_LIMIT => return Err(Interruption::TooMuch),
            Ok(Output::Stdout(bytes)) => stdout = bytes,
            Ok(Output::Stderr(bytes)) => stderr = bytes,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => return Err(Interruption::TooLong),
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
        // What was read before an error counts; the exit status tells the rest.
        let _ = pipe.by_ref().take(limit).read_to_end(&mut bytes);
        // The receiver is gone only when nobody waits for the program any more.
        let _ = sender.send(wrap(bytes));
        drop(sender);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    });
}

/// The start of a message, without line breaks and control characters.
fn one_line(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(usize::try_from(MESSAGE_LIMIT).unwrap_or(usize::MAX))];
    let text = String::from_utf8_lossy(start);
    let lines = text.lines().map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>());
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A helper may start other programs, which end with it.
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
        // Either call fails only when there is nothing left to end.
        let _ = child.kill();
        let _ = child.wait();
    }
}
