//! Runs Docker credential helpers: programs `docker-credential-NAME` with the verb `get`, a server's URL on stdin and a
//! JSON object on stdout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::system::process::{self, one_line};

/// The credentials of a helper for a server. There is no `Debug`, because they are secret.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct HelperCredentials {
    #[serde(default)]
    pub(super) username: String,
    #[serde(default)]
    pub(super) secret: String,
}

/// Finds the program of a helper. Only absolute directories are searched, so that none is found in the working
/// directory.
pub(super) fn find(name: &str, directories: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    if name.contains(['/', '\\']) {
        return None;
    }
    let file = format!("docker-credential-{name}{}", std::env::consts::EXE_SUFFIX);
    let absolute = directories.into_iter().filter(|directory| directory.is_absolute());
    absolute.map(|directory| directory.join(&file)).find(|path| path.is_file())
}

/// Runs a helper for a server; `None` if it has no credentials. An error continues a sentence that starts with the
/// program's name.
pub(super) fn get(program: &Path, server: &str, time_limit: Duration) -> Result<Option<HelperCredentials>, String> {
    let mut command = Command::new(program);
    command.arg("get");
    let finished = process::run(command, Some(server.to_owned()), time_limit)?;
    if finished.status.success() {
        // The output may contain the secret, so no error quotes it.
        let credentials = serde_json::from_slice(&finished.stdout);
        return credentials.map(Some).map_err(|_| "printed something that is not a credentials object".to_owned());
    }
    // The protocol has its errors on stdout; docker-credential-helpers fixes the text of this one.
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
