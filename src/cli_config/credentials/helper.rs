//! Runs credentials helper programs
//! (<https://opentofu.org/docs/internals/credentials-helpers/>).

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::provider::Hostname;
use crate::system::{Secrets, Token, process, token_variable};

/// A credentials object: `token` and other properties of the helper.
pub(super) type Properties = Map<String, Value>;

/// An installed helper.
pub(super) struct Helper {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) time_limit: Duration,
}

impl Helper {
    /// The credentials for a host; without properties if there are none.
    pub(super) fn get(&self, host: &Hostname) -> Result<Properties> {
        let stdout = self.run("get", host, None)?;
        // The output may contain the token, so no error quotes it.
        match serde_json::from_slice(&stdout) {
            Ok(Value::Object(properties)) => Ok(properties),
            Ok(_) => Err(self
                .failed("get", host, "printed JSON that is not an object")
                .into()),
            Err(_) => Err(self
                .failed("get", host, "printed something that is not a JSON object")
                .into()),
        }
    }

    /// Replaces the credentials for a host by a new object, because a helper may refuse properties
    /// that it does not know.
    pub(super) fn store(&self, host: &Hostname, token: &Token) -> Result<()> {
        self.run("store", host, Some(token)).map(drop)
    }

    /// Deletes the credentials for a host.
    pub(super) fn forget(&self, host: &Hostname) -> Result<()> {
        self.run("forget", host, None).map(drop)
    }

    /// Runs the helper with a verb, and returns its output. No error shows the token.
    fn run(&self, verb: &'static str, host: &Hostname, token: Option<&Token>) -> Result<Vec<u8>> {
        let stdin = token.map(|token| json!({ "token": token.reveal() }).to_string());
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(verb).arg(host.as_ascii());
        let finished = process::run(command, stdin, self.time_limit)
            .map_err(|reason| self.failed(verb, host, &reason))?;
        if finished.status.success() {
            return Ok(finished.stdout);
        }
        let message = process::one_line(&finished.stderr);
        let reason = if message.is_empty() {
            format!("gave no error message ({})", finished.status)
        } else if token.is_some_and(|token| message.contains(token.reveal())) {
            // An error message of the helper may quote its input.
            "says: [redacted]".to_owned()
        } else {
            // Or the token that it has printed before it failed.
            let secrets = Secrets::default();
            secrets.learn_printed(&finished.stdout);
            format!("says: {}", secrets.redact(&message))
        };
        Err(self.failed(verb, host, &reason).into())
    }

    fn failed(&self, verb: &str, host: &Hostname, reason: &str) -> Diagnostic {
        let program = self.program.display();
        let message = format!(
            "cannot {verb} the credentials for {host}: the credentials helper {program} {reason}"
        );
        let diagnostic = Diagnostic::error(Code::CredentialsHelper, message);
        match token_variable(host) {
            Some(variable) => diagnostic.help(format!("to bypass the helper, set {variable}")),
            None => diagnostic,
        }
    }
}
