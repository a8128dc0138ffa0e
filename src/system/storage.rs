//! Reads and writes small files in the cache directory.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::system::files;
use crate::system::files::name::is_device_name;

/// The folders in the cache directory. A new format gets a new number.
pub(crate) const HASHES: &str = "provlock-hashes-v1";
pub(crate) const SERVICES: &str = "provlock-discovery-v1";
pub(crate) const RELEASES: &str = "provlock-releases-v2";
pub(crate) const SUMS: &str = "provlock-sums-v1";
pub(crate) const PLATFORMS: &str = "provlock-platforms-v1";
pub(crate) const MODULES: &str = "provlock-modules-v2";
pub(crate) const MODULE_VERSIONS: &str = "provlock-module-versions-v1";

const FOLDERS: [&str; 7] = [
    HASHES,
    SERVICES,
    RELEASES,
    SUMS,
    PLATFORMS,
    MODULES,
    MODULE_VERSIONS,
];

/// Removes everything that provlock keeps in a cache directory, and nothing else. Returns how many
/// bytes that frees.
///
/// # Errors
/// Something cannot be removed.
pub fn clean(directory: &Path) -> io::Result<u64> {
    FOLDERS
        .iter()
        .map(|folder| remove(&directory.join(folder)))
        .sum()
}

/// The cache directory, or a folder in it, that [others can write to](is_writable_by_others).
/// Deeper directories are checked when they are read.
pub(crate) fn open_to_others(directory: &Path) -> Option<PathBuf> {
    let mut paths = vec![directory.to_owned()];
    for name in FOLDERS {
        let folder = directory.join(name);
        let entries = fs::read_dir(&folder);
        paths.push(folder);
        // A folder that does not exist has no entries.
        for entry in entries.into_iter().flatten().flatten() {
            paths.push(entry.path());
        }
    }
    paths.into_iter().find(|path| is_writable_by_others(path))
}

/// The path below a folder with these parts, which may be any texts.
pub(crate) fn path<'a>(folder: &Path, parts: impl IntoIterator<Item = &'a str>) -> PathBuf {
    parts
        .into_iter()
        .fold(folder.to_owned(), |path, part| path.join(file_name(part)))
}

/// A text as a file name that is valid on any system: characters other than lower-case letters,
/// digits, `.`, `-` and `_` are written as `%` and two digits for each byte. So is the first byte
/// of a device name on Windows, and a dot at the end.
fn file_name(text: &str) -> String {
    let is_device = is_device_name(text);
    let mut name = String::with_capacity(text.len());
    for (index, byte) in text.bytes().enumerate() {
        let is_kept = match byte {
            b'.' => index + 1 < text.len(),
            _ => byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'),
        };
        if is_kept && !(is_device && index == 0) {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02x}");
        }
    }
    name
}

/// The text of a file of at most `limit` bytes; none if it cannot be read, is not text, or others
/// can write to it.
pub(crate) fn read(path: &Path, limit: u64) -> Option<String> {
    let bytes = files::read(path, limit).ok()?;
    if is_writable_by_others(path) {
        None
    } else {
        String::from_utf8(bytes).ok()
    }
}

/// The JSON in a file of at most `limit` bytes; none if it cannot be read or has another form.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, limit: u64) -> Option<T> {
    serde_json::from_str(&read(path, limit)?).ok()
}

/// Writes a text to a file, unless the file contains it already. A cache that cannot be written
/// must not stop the run.
pub(crate) fn keep(path: &Path, text: &str) {
    if read(path, text.len() as u64).is_none_or(|known| known != text) {
        let _ = replace(path, text.as_bytes());
    }
}

/// [`keep`] for JSON.
pub(crate) fn keep_json(path: &Path, value: &impl Serialize) {
    if let Ok(text) = serde_json::to_string(value) {
        keep(path, &text);
    }
}

/// Writes a file in one step: readers see either all of it or nothing. Removes temporary files that
/// killed runs have left beside it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    create_directory(directory)?;
    files::remove_old(directory);
    let _uninterrupted = files::hold_off_interrupts();
    let mut file = files::private_file_in(directory)?;
    file.write_all(bytes)?;
    files::rename(file, path)
}

/// Creates a directory and its parents, with access for the user only.
pub(crate) fn create_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

/// Whether other users may write to a file or directory and so change the cache. Members of the
/// user's own group, which has the same number as the user on most systems, are not considered.
#[cfg(unix)]
pub(crate) fn is_writable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).is_ok_and(|metadata| {
        let is_own_group = metadata.gid() == metadata.uid();
        let by_group = metadata.mode() & 0o020 != 0 && !is_own_group;
        let by_others = metadata.mode() & 0o002 != 0;
        let is_of_another = ![0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
        by_group || by_others || is_of_another
    })
}

/// Access control lists are not checked.
#[cfg(not(unix))]
pub(crate) fn is_writable_by_others(_: &Path) -> bool {
    false
}

/// The total size of the files below a directory, in bytes, without unreadable files.
pub(crate) fn size_below(directory: &Path) -> u64 {
    let Ok(children) = fs::read_dir(directory) else {
        return 0;
    };
    let sizes = children.flatten().map(|child| match child.metadata() {
        Ok(metadata) if metadata.is_dir() => size_below(&child.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Removes a directory, if it is there. Returns how many bytes that frees.
fn remove(directory: &Path) -> io::Result<u64> {
    let size = size_below(directory);
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::system::files::name::is_special_on_windows;

    #[test]
    fn any_text_is_the_name_of_a_file_on_any_system() {
        for (text, expected) in [
            ("registry.opentofu.org", "registry.opentofu.org"),
            ("1.0.0-beta_2", "1.0.0-beta_2"),
            ("a/B:\\", "a%2f%42%3a%5c"),
            ("..", ".%2e"),
            ("example.com.", "example.com%2e"),
            ("aux", "%61ux"),
            ("con.example.com", "%63on.example.com"),
            ("nul.", "%6eul%2e"),
            ("console.example.com", "console.example.com"),
        ] {
            assert_eq!(file_name(text), expected);
            assert!(!is_special_on_windows(&file_name(text)), "{text}");
        }
    }

    /// And nothing else, however it is named.
    #[cfg(unix)]
    #[test]
    fn what_killed_runs_have_left_is_removed_when_it_is_old() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let age = |name: &str, age: u64| {
            let file = fs::File::open(at(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age))
                .unwrap();
        };
        let left_over = [".private.provlock-a1B2c3", ".x.provlock-000000"];
        let others = [
            ".private.provlock-a1B2c",
            ".private.provlock-a1B2c34",
            ".private.provlock-a1B2_3",
            ".provlock-a1B2c3",
            "private.provlock-a1B2c3",
            ".private.provlock-a1B2c3.json",
            ".tmpa1B2c3",
            "1.0.0",
        ];
        for name in left_over.iter().chain(&others) {
            fs::write(at(name), "").unwrap();
            age(name, 2 * 60 * 60);
        }
        fs::write(at(".young.provlock-a1B2c3"), "").unwrap();
        age(".young.provlock-a1B2c3", 59 * 60);
        fs::write(at(".future.provlock-a1B2c3"), "").unwrap();
        fs::File::open(at(".future.provlock-a1B2c3"))
            .unwrap()
            .set_modified(SystemTime::now() + Duration::from_hours(9))
            .unwrap();
        fs::create_dir(at(".directory.provlock-a1B2c3")).unwrap();
        age(".directory.provlock-a1B2c3", 2 * 60 * 60);
        std::os::unix::fs::symlink(at("1.0.0"), at(".link.provlock-a1B2c3")).unwrap();
        replace(&at("new"), b"new").unwrap();
        let mut expected: Vec<_> = others.to_vec();
        expected.extend([
            ".young.provlock-a1B2c3",
            ".future.provlock-a1B2c3",
            ".directory.provlock-a1B2c3",
        ]);
        expected.extend([".link.provlock-a1B2c3", "new"]);
        expected.sort_unstable();
        let names = fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, expected);
        provlock_test::survived("a run that is killed", left_over.len());
    }
}
