//! Private keys for ssh, which reads them from files.

#![expect(
    clippy::disallowed_methods,
    reason = "the file of a key is the user's, and no part of a revision"
)]

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::TempPath;

/// A file with a private key that only the user can read. It is removed when this value is dropped.
pub(super) struct KeyFile {
    /// Path for ssh, which runs in the directory. It needs no quotes in a shell.
    pub(super) name: String,
    _file: File,
    /// `None` if the file was removed from its directory. Then it ends with this process, even if
    /// that is killed.
    _path: Option<TempPath>,
}

impl KeyFile {
    /// Writes a private key into a new file. If other processes can open the file through this
    /// process, its name in `directory` is removed at once.
    pub(super) fn new(directory: &Path, content: &[u8]) -> io::Result<Self> {
        let (mut file, path) = tempfile::Builder::new()
            .prefix("ssh-key-")
            .tempfile_in(directory)?
            .into_parts();
        // A file without a name in a directory does not outlive the process, even if that is
        // killed.
        if let Some(name) = name_in_process(&file) {
            path.close()?;
            file.write_all(content)?;
            return Ok(Self {
                name,
                _file: file,
                _path: None,
            });
        }
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        file.write_all(content)?;
        Ok(Self {
            name,
            _file: file,
            _path: Some(path),
        })
    }
}

/// Returns a path by which other processes of the user can open a file of this process.
#[cfg(target_os = "linux")]
fn name_in_process(file: &File) -> Option<String> {
    let name = format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        std::os::fd::AsRawFd::as_raw_fd(file)
    );
    Path::new(&name).exists().then_some(name)
}

#[cfg(not(target_os = "linux"))]
fn name_in_process(_: &File) -> Option<String> {
    None
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_key_file_has_no_name_on_linux_and_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let key = KeyFile::new(directory.path(), b"a private key").unwrap();
        let read = Command::new("cat")
            .arg(&key.name)
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert_eq!(read.stdout, b"a private key");
        let entries = || fs::read_dir(directory.path()).unwrap().count();
        assert!(entries() == 0 || !cfg!(target_os = "linux"));
        drop(key);
        assert_eq!(entries(), 0);
    }

    #[test]
    fn ssh_reads_the_key() {
        if !provlock_test::requires(provlock_test::Tool::SshKeygen) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let made = ["-q", "-t", "ed25519", "-N", "", "-f", "key"];
        assert!(
            Command::new("ssh-keygen")
                .args(made)
                .current_dir(directory.path())
                .status()
                .unwrap()
                .success()
        );
        let content = fs::read(directory.path().join("key")).unwrap();
        let key = KeyFile::new(directory.path(), &content).unwrap();
        let shown = Command::new("ssh-keygen")
            .args(["-y", "-f", &key.name])
            .current_dir(directory.path())
            .output()
            .unwrap();
        let public = fs::read_to_string(directory.path().join("key.pub")).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&shown.stdout).split(' ').nth(1),
            public.split(' ').nth(1),
            "{shown:?}"
        );
    }
}
