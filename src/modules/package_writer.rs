//! Writes the directories, files and links of a package, and nothing outside its directory.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::package_hash::linked_file;
use super::problem::{GIT, LONGEST_NAME, MOST_ENTRIES, MOST_LINKS, MOST_NAMES, MOST_PARTS, Problem, is_configuration};
use crate::system::files::name::is_special_on_windows;

/// The target of a configuration file that is a link out of the package, so that reading it fails.
const NOWHERE: &str = "leads-out-of-the-package";

/// Writes a package into an empty directory.
///
/// Links are created last and checked then, so no file is ever written through a link. A file that cannot be kept as it
/// is, such as a link out of the package, is an error if it is configuration. Otherwise it is omitted, and the package
/// can be read but not locked.
pub(super) struct PackageWriter {
    top: PathBuf,
    entries: BTreeMap<String, Kind>,
    /// Size of the names of all entries in bytes.
    names: usize,
    /// Targets by name.
    links: BTreeMap<String, String>,
    /// Size of the names and targets of links in bytes, including links that later entries replaced.
    links_size: usize,
    /// The reason why the first omitted entry was omitted.
    omitted: Option<Problem>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A directory, which is created when an entry needs it, or at the end.
    Directory,
    CreatedDirectory,
    /// A file or a link.
    Leaf,
}

impl PackageWriter {
    pub(super) fn new(top: &Path) -> Self {
        let (entries, links) = (BTreeMap::new(), BTreeMap::new());
        Self { top: top.to_owned(), entries, names: 0, links, links_size: 0, omitted: None }
    }

    /// Adds a directory.
    pub(super) fn directory(&mut self, name: &str) -> Result<(), Problem> {
        self.enter(name, Kind::Directory).map(drop)
    }

    /// Adds a file. The content is read to its end even if the file is omitted.
    pub(super) fn file(&mut self, name: &str, is_executable: bool, content: &mut dyn Read) -> Result<(), Problem> {
        let copied = match self.open(name, is_executable)? {
            Some(mut file) => io::copy(content, &mut file),
            None => io::copy(content, &mut io::sink()),
        };
        copied.map(drop).map_err(Problem::of_reading)
    }

    /// Adds a file, and returns it for its content to be written; `None` if it is omitted.
    pub(super) fn open(&mut self, name: &str, is_executable: bool) -> Result<Option<File>, Problem> {
        let Some((name, is_new)) = self.enter(name, Kind::Leaf)? else { return Ok(None) };
        self.links.remove(&name);
        match self.create(&name, is_executable, is_new) {
            Err(problem @ Problem::Case(_)) => self.omit(&name, problem).map(|()| None),
            created => created.map(Some),
        }
    }

    /// Creates an empty file. The last of several entries with the same name stays.
    fn create(&mut self, name: &str, is_executable: bool, is_new: bool) -> Result<File, Problem> {
        self.create_parents(name)?;
        let path = self.top.join(name);
        if !is_new && path.exists() {
            fs::remove_file(&path)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, if is_executable { 0o555 } else { 0o444 });
        #[cfg(not(unix))]
        let _ = is_executable;
        options.open(&path).map_err(|error| Problem::of_creating(error, name))
    }

    /// Adds a link, whose target is relative to its own directory.
    pub(super) fn link(&mut self, name: &str, target: &str) -> Result<(), Problem> {
        if let Some((name, _)) = self.enter(name, Kind::Leaf)? {
            if target.len() > LONGEST_NAME {
                return Err(Problem::LongName);
            }
            self.links_size += name.len() + target.len();
            if self.links_size > MOST_LINKS {
                return Err(Problem::TooManyLinks);
            }
            self.links.insert(name, target.to_owned());
        }
        Ok(())
    }

    /// Omits an entry that cannot be kept as it is.
    ///
    /// # Errors
    /// The entry is configuration.
    pub(super) fn omit(&mut self, name: &str, problem: Problem) -> Result<(), Problem> {
        if is_configuration(name) {
            return Err(problem);
        }
        self.omitted.get_or_insert(problem);
        Ok(())
    }

    /// Creates the directories that contain an entry.
    fn create_parents(&mut self, name: &str) -> Result<(), Problem> {
        name.match_indices('/').try_for_each(|(end, _)| self.create_directory(&name[..end]))
    }

    fn create_directory(&mut self, name: &str) -> Result<(), Problem> {
        if let Some(kind @ Kind::Directory) = self.entries.get_mut(name) {
            fs::create_dir(self.top.join(name)).map_err(|error| Problem::of_creating(error, name))?;
            *kind = Kind::CreatedDirectory;
        }
        Ok(())
    }

    /// Creates the links and the empty directories, and returns why the package cannot be locked, if it cannot. A configuration file that is a
    /// link out of the package stays and leads nowhere, so that only reading it is an error.
    pub(super) fn finish(mut self) -> Result<Option<Problem>, Problem> {
        let directories = self.entries.iter().filter(|(_, kind)| **kind == Kind::Directory);
        let directories: Vec<_> = directories.map(|(name, _)| name.clone()).collect();
        // In the order of their names, so that each comes after the directory that contains it.
        directories.iter().try_for_each(|name| self.create_directory(name))?;
        let links = std::mem::take(&mut self.links);
        for (name, target) in &links {
            match make_link(target, &self.top.join(name)).map_err(|error| Problem::of_creating(error, name)) {
                Err(problem @ Problem::Case(_)) => self.omit(name, problem)?,
                made => made?,
            }
        }
        let outside: Vec<_> = links.keys().filter_map(|name| linked_file(&self.top, name).err()).collect();
        for problem in outside {
            if let Problem::LinkOutside(name, _) = &problem {
                let path = self.top.join(name);
                fs::remove_file(&path)?;
                if is_configuration(name) {
                    make_link(NOWHERE, &path)?;
                }
            }
            self.omitted.get_or_insert(problem);
        }
        Ok(self.omitted)
    }

    /// Notes an entry with the directories that contain it. Returns its clean name, and whether it is new; `None` if it
    /// is omitted.
    fn enter(&mut self, name: &str, kind: Kind) -> Result<Option<(String, bool)>, Problem> {
        if name.len() > LONGEST_NAME || parts(name).count() > MOST_PARTS {
            return Err(Problem::LongName);
        }
        let is_outside = name.split(['/', '\\']).any(|part| part == "..");
        // On Windows a part may be more than a name, such as `C:`.
        let is_name =
            |part: &str| matches!(Path::new(part).components().next(), Some(Component::Normal(only)) if only == part);
        if is_outside || !parts(name).all(is_name) {
            return Err(Problem::Outside(name.to_owned()));
        }
        let parts: Vec<_> = parts(name).collect();
        if parts.contains(&GIT) {
            let is_configuration = kind == Kind::Leaf && is_configuration(name);
            return if is_configuration { Err(Problem::InGit(name.to_owned())) } else { Ok(None) };
        }
        if name.contains('\n') {
            return self.omit(name, Problem::Name(name.to_owned())).map(|()| None);
        }
        if cfg!(windows) && parts.iter().any(|part| is_special_on_windows(part)) {
            return self.omit(name, Problem::Special(name.to_owned())).map(|()| None);
        }
        for length in 1..parts.len() {
            self.note(&parts[..length].join("/"), Kind::Directory)?;
        }
        let name = parts.join("/");
        if name.is_empty() {
            return if kind == Kind::Directory { Ok(None) } else { Err(Problem::Outside(name)) };
        }
        let is_new = self.note(&name, kind)?;
        Ok(Some((name, is_new)))
    }

    /// Notes an entry, and returns whether it is new.
    fn note(&mut self, name: &str, kind: Kind) -> Result<bool, Problem> {
        match self.entries.get(name) {
            Some(known) if (*known == Kind::Leaf) == (kind == Kind::Leaf) => return Ok(false),
            Some(_) => return Err(Problem::Conflict(name.to_owned())),
            None => {}
        }
        if self.entries.len() == MOST_ENTRIES {
            return Err(Problem::TooMany);
        }
        self.names += name.len();
        if self.names > MOST_NAMES {
            return Err(Problem::TooManyNames);
        }
        self.entries.insert(name.to_owned(), kind);
        Ok(true)
    }
}

/// The parts of a name, without empty parts and `.`.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split('/').filter(|part| !matches!(*part, "" | "."))
}

#[cfg(unix)]
fn make_link(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Creating a link needs a privilege on Windows; other systems have no symlinks. As with git there, a file with the
/// target takes its place.
#[cfg(not(unix))]
fn make_link(target: &str, path: &Path) -> io::Result<()> {
    fs::write(path, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(fill: impl FnOnce(&mut PackageWriter) -> Result<(), Problem>) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("package");
        fs::create_dir(&top).unwrap();
        let mut writer = PackageWriter::new(&top);
        fill(&mut writer).unwrap();
        writer.finish().unwrap();
        (directory, top)
    }

    fn problem(fill: impl FnOnce(&mut PackageWriter) -> Result<(), Problem>) -> String {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("package");
        fs::create_dir(&top).unwrap();
        let problem = fill(&mut PackageWriter::new(&top)).unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is outside");
        problem.to_string()
    }

    #[test]
    fn every_file_and_directory_is_kept() {
        let (_directory, top) = written(|writer| {
            writer.file("a/main.tf", false, &mut "x".as_bytes())?;
            writer.file("/a/./b.tofu.json", false, &mut "{}".as_bytes())?;
            writer.file("b/image.png", false, &mut "x".as_bytes())?;
            writer.directory("c/")
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
        writer.file("main.tf", false, &mut "x".as_bytes()).unwrap();
        writer.file("two\nlines", false, &mut "x".as_bytes()).unwrap();
        writer.link("etc", "/etc").unwrap();
        writer.file("a/.git/config", false, &mut "x".as_bytes()).unwrap();
        let message = writer.finish().unwrap().unwrap().to_string();
        assert_eq!(message, r#"its entry "two\nlines" does not have a name of one line of text"#);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let message = problem(|writer| writer.file("two\nlines/main.tf", false, &mut "x".as_bytes()));
        assert_eq!(message, r#"its entry "two\nlines/main.tf" does not have a name of one line of text"#);
    }

    #[test]
    fn no_entry_gets_outside() {
        for name in ["../main.tf", "a/../../main.tf", "a/../main.tf", "..\\main.tf", "/../main.tf", "."] {
            let message = problem(|writer| writer.file(name, false, &mut "x".as_bytes()));
            assert!(message.ends_with("leads out of the package"), "{name}: {message}");
        }
    }

    #[test]
    fn nothing_is_written_below_a_link_or_a_file() {
        let message = problem(|writer| {
            writer.link("out", "../..")?;
            writer.file("out/main.tf", false, &mut "x".as_bytes())
        });
        assert_eq!(message, r#"its entry "out" is a file or a link, and a directory as well"#);
        let message = problem(|writer| {
            writer.file("a/main.tf", false, &mut "x".as_bytes())?;
            writer.link("a", "/etc")
        });
        assert_eq!(message, r#"its entry "a" is a file or a link, and a directory as well"#);
    }

    #[cfg(windows)]
    #[test]
    fn no_entry_is_a_device_or_a_stream() {
        for name in ["nul.tf", "com1/main.tf", "main.tf:hidden.tf", "a./main.tf", "main?.tf"] {
            let message = problem(|writer| writer.file(name, false, &mut "x".as_bytes()));
            assert_eq!(message, format!("its entry {name:?} has a name that Windows reserves"));
        }
        let (_directory, top) = written(|writer| {
            writer.file("main.tf", false, &mut "x".as_bytes())?;
            writer.file("docs/why?.md", false, &mut "not written".as_bytes())
        });
        assert_eq!(fs::read(top.join("main.tf")).unwrap(), b"x");
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_nowhere_but_into_the_package() {
        let (_directory, top) = written(|writer| {
            writer.file("real/main.tf", false, &mut "x".as_bytes())?;
            writer.link("alias", "real")?;
            writer.link("deep/alias.tf", "../real/main.tf")?;
            writer.link("passwd.tf", "/etc/passwd")?;
            writer.link("etc", "/etc")?;
            writer.link("up", "..")?;
            // Each target looks harmless by its text, and together they lead out.
            writer.link("real/top", "..")?;
            writer.link("around", "real/top/..")
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
            (0..=MOST_ENTRIES).try_for_each(|number| writer.file(&format!("f{number}"), false, &mut io::empty()))
        });
        assert_eq!(message, "it contains more than 100000 entries");
    }

    #[test]
    fn names_and_links_have_an_end() {
        let long = "a/".repeat(MOST_PARTS) + "b";
        let much = "x".repeat(LONGEST_NAME - 5);
        let too_long = "it contains a name that is longer than 4096 bytes or has more than 100 parts";
        let directories = |count: usize| (0..count).map(|number| format!("{number:04}{much}"));
        for (message, expected) in [
            (problem(|writer| writer.directory(&long)), too_long),
            (problem(|writer| writer.file(&format!("{much}12345.tf"), false, &mut io::empty())), too_long),
            (problem(|writer| writer.link("a", &"b".repeat(LONGEST_NAME + 1))), too_long),
            (
                problem(|writer| {
                    directories(MOST_NAMES / LONGEST_NAME + 9).try_for_each(|name| writer.directory(&name))
                }),
                "the names of its entries take more than 16 MiB",
            ),
            (
                problem(|writer| directories(300).try_for_each(|target| writer.link(&target[..4], &target))),
                "its links take more than 1 MiB",
            ),
            (problem(|writer| (0..300).try_for_each(|_| writer.link("a", &much))), "its links take more than 1 MiB"),
        ] {
            assert_eq!(message, expected);
        }
        provlock_test::survived(LIMITS, 6);
    }

    /// What is tried.
    const LIMITS: &str = "a module package that takes more memory or time than it may";
}
