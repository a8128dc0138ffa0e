//! Runs Docker credential helpers: programs `docker-credential-NAME` with the verb `get`, a
//! server's URL on stdin and a JSON object on stdout.

#![expect(
    clippy::disallowed_methods,
    reason = "a helper is a program of this machine"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::cli_config::OciLogin;
use crate::system::process::{self, one_line};
use crate::system::{Secrets, Token};

/// The credentials of a helper for a server. There is no `Debug`, because they are secret.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct HelperCredentials {
    username: String,
    secret: String,
}

impl HelperCredentials {
    /// `None` without a secret.
    fn login(self) -> Option<OciLogin> {
        let secret = Token::new(&self.secret)?;
        Some(match self.username.as_str() {
            // The mark of an identity token, by Docker's protocol.
            "<token>" => OciLogin::OAuth {
                access_token: None,
                refresh_token: secret,
            },
            _ => OciLogin::Basic {
                username: self.username,
                password: secret,
            },
        })
    }
}

/// Finds the program of a helper. Only absolute directories are searched, so that none is found in
/// the working directory.
pub(super) fn find_program(
    name: &str,
    directories: impl IntoIterator<Item = PathBuf>,
) -> Option<PathBuf> {
    if name.contains(['/', '\\']) {
        return None;
    }
    let file = format!("docker-credential-{name}{}", std::env::consts::EXE_SUFFIX);
    let absolute = directories
        .into_iter()
        .filter(|directory| directory.is_absolute());
    absolute
        .map(|directory| directory.join(&file))
        .find(|path| path.is_file())
}

/// Runs a helper for a server; `None` if it has no credentials. An error continues a sentence that
/// starts with the program's name.
pub(super) fn ask(
    program: &Path,
    server: &str,
    time_limit: Duration,
) -> Result<Option<OciLogin>, String> {
    let mut command = Command::new(program);
    command.arg("get");
    let finished = process::run(command, Some(server.to_owned()), time_limit)?;
    if finished.status.success() {
        // The output may contain the secret, so no error quotes it.
        let credentials = serde_json::from_slice::<HelperCredentials>(&finished.stdout);
        return credentials
            .map(HelperCredentials::login)
            .map_err(|_| "printed something that is not a credentials object".to_owned());
    }
    // The protocol has its errors on stdout; docker-credential-helpers fixes the text of this one.
    // A helper that fails after it has printed credentials has no message there.
    let secrets = Secrets::default();
    let mut message = one_line(&finished.stdout);
    if serde_json::from_slice::<Value>(&finished.stdout).is_ok() {
        secrets.learn_printed(&finished.stdout);
        message.clear();
    }
    if message.starts_with("credentials not found") {
        return Ok(None);
    }
    let messages: Vec<_> = [message, one_line(&finished.stderr)]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    Err(match messages.join("; ").as_str() {
        "" => format!("gave no error message ({})", finished.status),
        message => format!("says: {}", secrets.redact(message)),
    })
}
