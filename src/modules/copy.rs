//! Copies of packages.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::limits::GIT;

/// Copies the content of a directory into an empty one, without `.git`. Links stay as they are. Of
/// modes, only the owner's right to execute a file stays. The files share their content on disk if
/// the file system supports that.
pub(crate) fn tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let source = entry.path();
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if entry.file_name() == GIT {
            continue;
        }
        if kind.is_dir() {
            fs::create_dir(&target)?;
            tree(&source, &target)?;
        } else if kind.is_symlink() {
            create_link(&fs::read_link(&source)?, &target)?;
        } else {
            copy_file(&source, &target)?;
        }
    }
    Ok(())
}

fn copy_file(source: &Path, target: &Path) -> io::Result<()> {
    let mut content = File::open(source)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        let is_executable = content.metadata()?.permissions().mode() & 0o100 != 0;
        options.mode(if is_executable { 0o777 } else { 0o666 });
    }
    io::copy(&mut content, &mut options.open(target)?).map(drop)
}

#[cfg(unix)]
fn create_link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Packages have no links there.
#[cfg(not(unix))]
fn create_link(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}
