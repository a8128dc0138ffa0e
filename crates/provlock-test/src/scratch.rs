//! Temporary directories of tests.

use std::path::Path;

use tempfile::{Builder, TempDir};

/// Makes an empty directory, if possible in memory: ext4 does not reuse the inode of a removed file
/// for some seconds, and tests that remove many files spend a sixth of their time on its search for
/// others.
pub(crate) fn scratch_directory() -> TempDir {
    let mut builder = Builder::new();
    let builder = builder.prefix("provlock-test-");
    let in_memory = memory().map(|directory| builder.tempdir_in(directory));
    in_memory
        .and_then(Result::ok)
        .unwrap_or_else(|| builder.tempdir().unwrap())
}

/// A file system in memory with enough room, in which programs can be run. `TMPDIR` takes
/// precedence over it.
#[cfg(target_os = "linux")]
fn memory() -> Option<&'static Path> {
    use rustix::fs::{StatVfsMountFlags, statvfs};

    const DIRECTORY: &str = "/dev/shm";
    const ROOM: u64 = 1 << 30;
    if std::env::var_os("TMPDIR").is_some() {
        return None;
    }
    let system = statvfs(DIRECTORY).ok()?;
    let fits = system.f_bavail * system.f_frsize >= ROOM
        && !system.f_flag.contains(StatVfsMountFlags::NOEXEC);
    fits.then_some(Path::new(DIRECTORY))
}

#[cfg(not(target_os = "linux"))]
fn memory() -> Option<&'static Path> {
    None
}
