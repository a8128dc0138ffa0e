//! Writes the directories, files and links of a package, and nothing outside its directory.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use super::fetch_error::{FetchError, FetchResult};
use super::limits::{
    GIT, LONGEST_NAME, MOST_ENTRIES, MOST_LINKS, MOST_NAMES, MOST_PARTS, is_configuration,
};
use super::package_hash::linked_file;
use crate::system::files::name::is_special_on_windows;

/// Target of a configuration file that is a link out of the package. Reading the file fails.
const NOWHERE: &str = "leads-out-of-the-package";

/// Writes a package into an empty directory.
///
/// Links are created last and checked then, so no file is ever written through a link. A file that
/// cannot be kept as it is, such as a link out of the package, is an error if it is configuration.
/// Otherwise it is omitted, and the package can be read but not locked.
pub(super) struct PackageWriter {
    top: PathBuf,
    entries: BTreeMap<String, EntryKind>,
    /// Directories to be created when a file needs them, or at the end. So a package that is
    /// refused takes little time.
    uncreated: BTreeSet<String>,
    /// Size of the names of all entries in bytes.
    names_size: usize,
    /// Targets by name.
    links: BTreeMap<String, String>,
    /// Size of the names and targets of links in bytes, including links that later entries
    /// replaced.
    links_size: usize,
    /// Reason why the package cannot be locked.
    why_not_lockable: Option<FetchError>,
}

/// Kind of an entry. Two entries of different kinds cannot have the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Directory,
    FileOrLink,
}

/// An entry that was added.
struct AddedEntry {
    /// Name without empty parts and `.`.
    clean_name: String,
    /// Whether no entry before had the name.
    is_new: bool,
}

impl PackageWriter {
    pub(super) fn new(top: &Path) -> Self {
        Self {
            top: top.to_owned(),
            entries: BTreeMap::new(),
            uncreated: BTreeSet::new(),
            names_size: 0,
            links: BTreeMap::new(),
            links_size: 0,
            why_not_lockable: None,
        }
    }

    /// Adds a directory.
    pub(super) fn add_directory(&mut self, name: &str) -> FetchResult<()> {
        self.add_entry(name, EntryKind::Directory).map(drop)
    }

    /// Adds a file. The content is read to its end even if the file is omitted.
    pub(super) fn add_file(
        &mut self,
        name: &str,
        is_executable: bool,
        content: &mut dyn Read,
    ) -> FetchResult<()> {
        let copied = match self.create_file(name, is_executable)? {
            Some(mut file) => io::copy(content, &mut file),
            None => io::copy(content, &mut io::sink()),
        };
        copied.map(drop).map_err(FetchError::reading)
    }

    /// Adds an empty file, and returns it for its content to be written; `None` if it is omitted.
    /// The last of several files with the same name stays.
    pub(super) fn create_file(
        &mut self,
        name: &str,
        is_executable: bool,
    ) -> FetchResult<Option<File>> {
        let Some(added) = self.add_entry(name, EntryKind::FileOrLink)? else {
            return Ok(None);
        };
        let name = added.clean_name;
        self.links.remove(&name);
        for (end, _) in name.match_indices('/') {
            self.create_directory(&name[..end])?;
        }
        let path = self.top.join(&name);
        if !added.is_new && path.exists() {
            fs::remove_file(&path)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(
            &mut options,
            if is_executable { 0o555 } else { 0o444 },
        );
        #[cfg(not(unix))]
        let _ = is_executable;
        match options.open(path) {
            // The file system does not distinguish the names by case.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.omit_unless_configuration(&name, differs_in_case_error(&name))?;
                Ok(None)
            }
            opened => Ok(Some(opened?)),
        }
    }

    /// Adds a link, whose target is relative to its own directory.
    pub(super) fn add_link(&mut self, name: &str, target: &str) -> FetchResult<()> {
        let Some(added) = self.add_entry(name, EntryKind::FileOrLink)? else {
            return Ok(());
        };
        let name = added.clean_name;
        if target.len() > LONGEST_NAME {
            return Err(long_name_error());
        }
        self.links_size += name.len() + target.len();
        if self.links_size > MOST_LINKS {
            return Err(FetchError::package(format!(
                "its links take more than {} MiB",
                MOST_LINKS >> 20
            )));
        }
        self.links.insert(name, target.to_owned());
        Ok(())
    }

    /// Omits an entry that cannot be kept as it is.
    ///
    /// # Errors
    /// The entry is configuration.
    pub(super) fn omit_unless_configuration(
        &mut self,
        name: &str,
        why: FetchError,
    ) -> FetchResult<()> {
        if is_configuration(name) {
            return Err(why);
        }
        self.why_not_lockable.get_or_insert(why);
        Ok(())
    }

    fn create_directory(&mut self, name: &str) -> FetchResult<()> {
        if self.uncreated.remove(name) {
            match fs::create_dir(self.top.join(name)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    self.why_not_lockable
                        .get_or_insert_with(|| differs_in_case_error(name));
                }
                created => created?,
            }
        }
        Ok(())
    }

    /// Creates the links and the empty directories, and returns why the package cannot be locked,
    /// if it cannot. A configuration file that is a link out of the package stays and leads
    /// nowhere, so that only reading it is an error.
    pub(super) fn finish(mut self) -> FetchResult<Option<FetchError>> {
        // In the order of their names, so that each comes after the directory that contains it.
        while let Some(name) = self.uncreated.first().cloned() {
            self.create_directory(&name)?;
        }
        let links = std::mem::take(&mut self.links);
        for (name, target) in &links {
            match make_link(target, &self.top.join(name)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    self.omit_unless_configuration(name, differs_in_case_error(name))?;
                }
                made => made?,
            }
        }
        // A link may lead out through another link, so none is removed before all are checked.
        let mut outside = Vec::new();
        for name in links.keys() {
            if let Err(why) = linked_file(&self.top, name) {
                outside.push((name, why));
            }
        }
        for (name, why) in outside {
            let path = self.top.join(name);
            fs::remove_file(&path)?;
            if is_configuration(name) {
                make_link(NOWHERE, &path)?;
            }
            self.why_not_lockable.get_or_insert(why);
        }
        Ok(self.why_not_lockable)
    }

    /// Adds an entry with the directories that contain it. `None` for the top of the package, and
    /// for an entry that is omitted.
    fn add_entry(&mut self, name: &str, kind: EntryKind) -> FetchResult<Option<AddedEntry>> {
        let parts: Vec<_> = name
            .split('/')
            .filter(|part| !matches!(*part, "" | "."))
            .collect();
        if name.len() > LONGEST_NAME || parts.len() > MOST_PARTS {
            return Err(long_name_error());
        }
        let has_way_up = name.split(['/', '\\']).any(|part| part == "..");
        if has_way_up || !parts.iter().all(|part| is_one_name(part)) {
            return Err(leads_out_error(name));
        }
        if parts.contains(&GIT) {
            if kind == EntryKind::FileOrLink && is_configuration(name) {
                let why = format!(
                    "its entry {name:?} is configuration in a {GIT} directory, which is not part of it"
                );
                return Err(FetchError::package(why));
            }
            return Ok(None);
        }
        if name.contains('\n') {
            self.omit_unless_configuration(name, FetchError::bad_name(name))?;
            return Ok(None);
        }
        if cfg!(windows) && parts.iter().any(|part| is_special_on_windows(part)) {
            let why = format!("its entry {name:?} has a name that Windows reserves");
            self.omit_unless_configuration(name, FetchError::package(why))?;
            return Ok(None);
        }
        for length in 1..parts.len() {
            self.note_name(&parts[..length].join("/"), EntryKind::Directory)?;
        }
        if parts.is_empty() {
            // An archive may list its own top.
            return if kind == EntryKind::Directory {
                Ok(None)
            } else {
                Err(leads_out_error(name))
            };
        }
        let clean_name = parts.join("/");
        let is_new = self.note_name(&clean_name, kind)?;
        Ok(Some(AddedEntry { clean_name, is_new }))
    }

    /// Notes the name of an entry, and returns whether it is new.
    ///
    /// # Errors
    /// There is an entry of a different kind with this name, or too many entries.
    fn note_name(&mut self, name: &str, kind: EntryKind) -> FetchResult<bool> {
        match self.entries.get(name) {
            Some(known) if *known == kind => return Ok(false),
            Some(_) => {
                let why =
                    format!("its entry {name:?} is a file or a link, and a directory as well");
                return Err(FetchError::package(why));
            }
            None => {}
        }
        if self.entries.len() == MOST_ENTRIES {
            return Err(FetchError::too_many_entries());
        }
        self.names_size += name.len();
        if self.names_size > MOST_NAMES {
            let why = format!(
                "the names of its entries take more than {} MiB",
                MOST_NAMES >> 20
            );
            return Err(FetchError::package(why));
        }
        self.entries.insert(name.to_owned(), kind);
        if kind == EntryKind::Directory {
            self.uncreated.insert(name.to_owned());
        }
        Ok(true)
    }
}

fn long_name_error() -> FetchError {
    FetchError::package(format!(
        "it contains a name that is longer than {LONGEST_NAME} bytes or has more than {MOST_PARTS} parts"
    ))
}

fn leads_out_error(name: &str) -> FetchError {
    FetchError::package(format!("its entry {name:?} leads out of the package"))
}

/// Whether a part of a path is a name. On Windows it may be more, such as `C:`.
fn is_one_name(part: &str) -> bool {
    match Path::new(part).components().next() {
        Some(Component::Normal(name)) => name == part,
        _ => false,
    }
}

/// The error for an entry whose name is new, and which exists.
fn differs_in_case_error(name: &str) -> FetchError {
    FetchError::package(format!(
        "its entry {name:?} differs from another one in case only, and this file system does not distinguish them"
    ))
}

#[cfg(unix)]
fn make_link(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Creating a link needs a privilege on Windows; other systems have no symlinks. As with git there,
/// a file with the target takes its place.
#[cfg(not(unix))]
fn make_link(target: &str, path: &Path) -> io::Result<()> {
    fs::write(path, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(
        fill: impl FnOnce(&mut PackageWriter) -> FetchResult<()>,
    ) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("package");
        fs::create_dir(&top).unwrap();
        let mut writer = PackageWriter::new(&top);
        fill(&mut writer).unwrap();
        writer.finish().unwrap();
        (directory, top)
    }

    fn problem(fill: impl FnOnce(&mut PackageWriter) -> FetchResult<()>) -> String {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("package");
        fs::create_dir(&top).unwrap();
        let problem = fill(&mut PackageWriter::new(&top)).unwrap_err();
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "nothing is outside"
        );
        problem.to_string()
    }

    #[test]
    fn every_file_and_directory_is_kept() {
        let (_directory, top) = written(|writer| {
            writer.add_file("a/main.tf", false, &mut "x".as_bytes())?;
            writer.add_file("/a/./b.tofu.json", false, &mut "{}".as_bytes())?;
            writer.add_file("b/image.png", false, &mut "x".as_bytes())?;
            writer.add_directory("c/")
        });
        assert_eq!(fs::read(top.join("a/main.tf")).unwrap(), b"x");
        assert!(top.join("a/b.tofu.json").exists());
        assert_eq!(fs::read(top.join("b/image.png")).unwrap(), b"x");
        assert!(top.join("c").is_dir());
    }

    #[test]
    fn a_package_with_an_omitted_file_can_be_read_but_not_locked() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = PackageWriter::new(directory.path());
        writer
            .add_file("main.tf", false, &mut "x".as_bytes())
            .unwrap();
        writer
            .add_file("two\nlines", false, &mut "x".as_bytes())
            .unwrap();
        writer.add_link("etc", "/etc").unwrap();
        writer
            .add_file("a/.git/config", false, &mut "x".as_bytes())
            .unwrap();
        let message = writer.finish().unwrap().unwrap().to_string();
        assert_eq!(
            message,
            r#"its entry "two\nlines" does not have a name of one line of text"#
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let message =
            problem(|writer| writer.add_file("two\nlines/main.tf", false, &mut "x".as_bytes()));
        assert_eq!(
            message,
            r#"its entry "two\nlines/main.tf" does not have a name of one line of text"#
        );
    }

    #[test]
    fn no_entry_gets_outside() {
        for name in [
            "../main.tf",
            "a/../../main.tf",
            "a/../main.tf",
            "..\\main.tf",
            "/../main.tf",
            ".",
        ] {
            let message = problem(|writer| writer.add_file(name, false, &mut "x".as_bytes()));
            assert!(
                message.ends_with("leads out of the package"),
                "{name}: {message}"
            );
        }
    }

    #[test]
    fn nothing_is_written_below_a_link_or_a_file() {
        let message = problem(|writer| {
            writer.add_link("out", "../..")?;
            writer.add_file("out/main.tf", false, &mut "x".as_bytes())
        });
        assert_eq!(
            message,
            r#"its entry "out" is a file or a link, and a directory as well"#
        );
        let message = problem(|writer| {
            writer.add_file("a/main.tf", false, &mut "x".as_bytes())?;
            writer.add_link("a", "/etc")
        });
        assert_eq!(
            message,
            r#"its entry "a" is a file or a link, and a directory as well"#
        );
    }

    #[cfg(windows)]
    #[test]
    fn no_entry_is_a_device_or_a_stream() {
        for name in [
            "nul.tf",
            "com1/main.tf",
            "main.tf:hidden.tf",
            "a./main.tf",
            "main?.tf",
        ] {
            let message = problem(|writer| writer.add_file(name, false, &mut "x".as_bytes()));
            assert_eq!(
                message,
                format!("its entry {name:?} has a name that Windows reserves")
            );
        }
        let (_directory, top) = written(|writer| {
            writer.add_file("main.tf", false, &mut "x".as_bytes())?;
            writer.add_file("docs/why?.md", false, &mut "not written".as_bytes())
        });
        assert_eq!(fs::read(top.join("main.tf")).unwrap(), b"x");
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_within_the_package() {
        let (_directory, top) = written(|writer| {
            writer.add_file("real/main.tf", false, &mut "x".as_bytes())?;
            writer.add_link("alias", "real")?;
            writer.add_link("deep/alias.tf", "../real/main.tf")?;
            writer.add_link("passwd.tf", "/etc/passwd")?;
            writer.add_link("etc", "/etc")?;
            writer.add_link("up", "..")?;
            // Each target looks harmless by its text, and together they lead out.
            writer.add_link("real/top", "..")?;
            writer.add_link("around", "real/top/..")
        });
        for inside in ["alias/main.tf", "deep/alias.tf"] {
            assert_eq!(fs::read(top.join(inside)).unwrap(), b"x", "{inside}");
        }
        for outside in ["etc", "up", "around"] {
            assert!(!top.join(outside).is_symlink(), "{outside}");
        }
        assert!(top.join("passwd.tf").is_symlink() && fs::read(top.join("passwd.tf")).is_err());
    }

    #[test]
    fn there_is_a_limit_to_entries() {
        let message = problem(|writer| {
            (0..MOST_ENTRIES).try_for_each(|number| writer.add_directory(&format!("d{number}")))?;
            writer.add_file("f", false, &mut io::empty())
        });
        assert_eq!(message, "it contains more than 100000 entries");
    }

    #[test]
    fn names_and_links_have_an_end() {
        let long = "a/".repeat(MOST_PARTS) + "b";
        let much = "x".repeat(LONGEST_NAME - 5);
        let too_long =
            "it contains a name that is longer than 4096 bytes or has more than 100 parts";
        let long_names = |count: usize| (0..count).map(|number| format!("{number:04}{much}"));
        for (message, expected) in [
            (problem(|writer| writer.add_directory(&long)), too_long),
            (
                problem(|writer| {
                    writer.add_file(&format!("{much}12345.tf"), false, &mut io::empty())
                }),
                too_long,
            ),
            (
                problem(|writer| writer.add_link("a", &"b".repeat(LONGEST_NAME + 1))),
                too_long,
            ),
            (
                problem(|writer| {
                    long_names(MOST_NAMES / LONGEST_NAME + 9)
                        .try_for_each(|name| writer.add_directory(&name))
                }),
                "the names of its entries take more than 16 MiB",
            ),
            (
                problem(|writer| {
                    long_names(300).try_for_each(|target| writer.add_link(&target[..4], &target))
                }),
                "its links take more than 1 MiB",
            ),
            (
                problem(|writer| (0..300).try_for_each(|_| writer.add_link("a", &much))),
                "its links take more than 1 MiB",
            ),
        ] {
            assert_eq!(message, expected);
        }
        provlock_test::survived(LIMITS, 6);
    }

    /// The attack.
    const LIMITS: &str = "a module package that takes too much memory or time";
}
