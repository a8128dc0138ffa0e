//! Runs credentials helper programs (OpenTofu's credentials helper protocol).

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::credentials::token_variable;
use crate::address::Hostname;
use crate::diagnostic::{Code, Diagnostic, Result};

/// A credentials object: `token` and whatever else the helper keeps.
pub(super) type Properties = Map<String, Value>;

/// More than this on stdout is no credentials object.
const STDOUT_LIMIT: u64 = 1 << 20;
/// What is kept of stderr.
const STDERR_LIMIT: u64 = 4096;

/// An installed helper.
pub(super) struct Helper {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) time_limit: Duration,
}

/// What a program said before it ended.
struct Finished {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
}

impl Helper {
    /// The credentials for a host; no properties if there are none.
    pub(super) fn get(&self, host: &Hostname) -> Result<Properties> {
        let stdout = self.run("get", host, None)?;
        // What was printed may hold the token, so no error quotes it.
        match serde_json::from_slice(&stdout) {
            Ok(Value::Object(properties)) if matches!(properties.get("token"), None | Some(Value::String(_))) => {
                Ok(properties)
            }
            Ok(Value::Object(_)) => Err(self.failed("get", host, "printed a token that is no string")),
            Ok(_) => Err(self.failed("get", host, "printed JSON that is no object")),
            Err(_) => Err(self.failed("get", host, "printed something that is no JSON object")),
        }
    }

    /// Replaces the credentials for a host.
    pub(super) fn store(&self, host: &Hostname, properties: &Properties) -> Result<()> {
        let object = Value::Object(properties.clone()).to_string();
        self.run("store", host, Some(object)).map(drop)
    }

    /// Deletes the credentials for a host.
    pub(super) fn forget(&self, host: &Hostname) -> Result<()> {
        self.run("forget", host, None).map(drop)
    }

    fn run(&self, verb: &'static str, host: &Hostname, stdin: Option<String>) -> Result<Vec<u8>> {
        let secret = stdin.clone();
        let finished = self.finish(verb, host, stdin)?;
        if finished.status.success() {
            return Ok(finished.stdout);
        }
        let stderr = match &secret {
            // A helper that complains about what it was given may quote it.
            Some(object) if quotes(&finished.stderr, object) => "[redacted]".to_owned(),
            _ => finished.stderr,
        };
        let why = match stderr.as_str() {
            "" => format!("gave no error message ({})", finished.status),
            message => format!("says: {message}"),
        };
        Err(self.failed(verb, host, &why))
    }

    fn failed(&self, verb: &str, host: &Hostname, why: &str) -> Box<Diagnostic> {
        let program = self.program.display();
        let message = format!("cannot {verb} the credentials for {host}: the credentials helper {program} {why}");
        let diagnostic = Diagnostic::error(Code::CredentialsHelper, message);
        Box::new(match token_variable(host) {
            Some(variable) => diagnostic.help(format!("to do without the helper, set {variable}")),
            None => diagnostic,
        })
    }

    /// Starts the program, without a shell, and waits for it; ends it when the time limit has passed.
    fn finish(&self, verb: &'static str, host: &Hostname, stdin: Option<String>) -> Result<Finished> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(verb).arg(host.as_ascii());
        command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        process_group::lead(&mut command);
        let deadline = Instant::now() + self.time_limit;
        let mut child =
            command.spawn().map_err(|error| self.failed(verb, host, &format!("cannot be started: {error}")))?;
        let outcome = converse(&mut child, stdin, deadline);
        if outcome.is_err() {
            process_group::kill(&mut child);
        }
        outcome.map_err(|why| match why {
            Interrupted::TooLong => {
                let limit = self.time_limit.as_secs_f32();
                self.failed(verb, host, &format!("was ended because it took more than {limit} seconds"))
            }
            Interrupted::TooMuch => self.failed(verb, host, "was ended because it printed too much"),
            Interrupted::Io(error) => self.failed(verb, host, &format!("cannot be waited for: {error}")),
        })
    }
}

enum Interrupted {
    TooLong,
    TooMuch,
    Io(std::io::Error),
}

enum Output {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// Feeds a program and listens to it until it has ended.
fn converse(child: &mut Child, stdin: Option<String>, deadline: Instant) -> std::result::Result<Finished, Interrupted> {
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), stdin) {
        // A helper need not read: its exit status says whether it did what it should.
        thread::spawn(move || pipe.write_all(text.as_bytes()));
    }
    let (sender, receiver) = mpsc::channel();
    listen(child.stdout.take(), STDOUT_LIMIT + 1, Output::Stdout, sender.clone());
    listen(child.stderr.take(), STDERR_LIMIT, Output::Stderr, sender);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Output::Stdout(bytes)) if bytes.len() as u64 > STDOUT_LIMIT => return Err(Interrupted::TooMuch),
            Ok(Output::Stdout(bytes)) => stdout = bytes,
            Ok(Output::Stderr(bytes)) => stderr = bytes,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => return Err(Interrupted::TooLong),
        }
    }
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Finished { status, stdout, stderr: one_line(&stderr) }),
            Ok(None) if Instant::now() >= deadline => return Err(Interrupted::TooLong),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(Interrupted::Io(error)),
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

/// A message without line breaks and control characters.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>());
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Whether a message holds any text of a credentials object.
fn quotes(message: &str, object: &str) -> bool {
    fn any_string(value: &Value, found: &dyn Fn(&str) -> bool) -> bool {
        match value {
            Value::String(text) => found(text),
            Value::Array(items) => items.iter().any(|item| any_string(item, found)),
            Value::Object(properties) => properties.values().any(|value| any_string(value, found)),
            _ => false,
        }
    }
    let object = serde_json::from_str(object).unwrap_or_default();
    any_string(&object, &|text| !text.is_empty() && message.contains(text))
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
