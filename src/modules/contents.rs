//! Writes the directories, files and links of a package, and nothing outside its directory.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use crate::system::canonicalize;
use crate::system::files::name::is_special_on_windows;

/// The directory, or the file of a submodule, that git keeps. It is not a part of a package.
pub(crate) const GIT: &str = ".git";
/// The largest size of an unpacked archive, in bytes.
pub(super) const MOST_BYTES: u64 = 1 << 30;
/// The most entries of a package.
pub(super) const MOST_ENTRIES: usize = 100_000;
/// The longest name of an entry and the longest target of a link, in bytes. No system opens a longer path.
pub(super) const LONGEST_NAME: usize = 4096;
/// How deep a directory may lie.
const MOST_PARTS: usize = 100;
/// The most bytes of all names, those of the directories around entries included.
const MOST_NAMES: usize = 16 << 20;
/// The most bytes of the names and targets of all links. The system looks up every part of them.
const MOST_LINKS: usize = 1 << 20;

/// The target that replaces a target outside the package, so that reading the link fails.
const NOWHERE: &str = "leads-out-of-the-package";

/// What of a package is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    /// The configuration files.
    Configuration,
    /// Everything but what git keeps.
    Whole,
}

/// What is wrong with a package. The text continues a message that names the package.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("its entry {0:?} leads out of the package")]
    Outside(String),
    #[error("its entry {0:?} is a link to {1:?}, which leads out of the package")]
    LinkOutside(String, String),
    #[error("its entry {0:?} does not have a name of one line of text")]
    Name(String),
    #[error("its entry {0:?} differs from another one in case only, and this file system does not tell them apart")]
    Case(String),
    #[error("its entry {0:?} has a name that Windows reserves")]
    Special(String),
    #[error("its entry {0:?} is a file or a link, and a directory as well")]
    Conflict(String),
    #[error("it contains more than {MOST_ENTRIES} entries")]
    TooMany,
    #[error("it contains more than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    #[error("it contains a name that is longer than {LONGEST_NAME} bytes or has more than {MOST_PARTS} parts")]
    LongName,
    #[error("the names of its entries take more than {} MiB", MOST_NAMES >> 20)]
    TooManyNames,
    #[error("its links take more than {} MiB", MOST_LINKS >> 20)]
    TooManyLinks,
    #[error("it is empty")]
    Empty,
    #[error("it cannot be read: {0}")]
    Damaged(String),
    #[error("it cannot be unpacked: {0}")]
    Io(#[from] io::Error),
}

/// Writes a package into an empty directory.
///
/// Links are created last and checked then, so no file is ever written through a link.
pub(super) struct PackageWriter {
    top: PathBuf,
    extent: Extent,
    entries: BTreeMap<String, Kind>,
    /// How many bytes the names of the entries take.
    names: usize,
    /// Name and target.
    links: BTreeMap<String, String>,
    /// How many bytes the names and targets of links take that were noted, those of replaced links included.
    links_size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    Leaf,
}

/// Whether OpenTofu or Terraform reads a file of this name as configuration.
pub(crate) fn is_configuration(name: &str) -> bool {
    [".tf", ".tofu", ".tf.json", ".tofu.json"].iter().any(|extension| name.ends_with(extension))
}

impl PackageWriter {
    pub(super) fn new(top: &Path, extent: Extent) -> Self {
        let (entries, links) = (BTreeMap::new(), BTreeMap::new());
        Self { top: top.to_owned(), extent, entries, names: 0, links, links_size: 0 }
    }

    /// What of the package is written.
    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    /// Takes a directory.
    pub(super) fn directory(&mut self, name: &str) -> Result<(), Problem> {
        self.enter(name, Kind::Directory).map(drop)
    }

    /// Takes a file, and writes it if it is wanted. The content is always read to its end.
    pub(super) fn file(&mut self, name: &str, is_executable: bool, content: &mut dyn Read) -> Result<(), Problem> {
        let copied = match self.open(name, is_executable)? {
            Some(mut file) => io::copy(content, &mut file),
            None => io::copy(content, &mut io::sink()),
        };
        copied.map(drop).map_err(Problem::of_reading)
    }

    /// Takes a file, and returns what its content is to be written to; none if it is not wanted.
    pub(super) fn open(&mut self, name: &str, is_executable: bool) -> Result<Option<File>, Problem> {
        let Some((name, is_new)) = self.enter(name, Kind::Leaf)? else { return Ok(None) };
        self.links.remove(&name);
        let is_wanted = self.extent == Extent::Whole || is_configuration(&name);
        if is_wanted { self.create(&name, is_executable, is_new).map(Some) } else { Ok(None) }
    }

    /// An empty file. Of several entries with the same name, the last one stays.
    fn create(&self, name: &str, is_executable: bool, is_new: bool) -> Result<File, Problem> {
        let path = self.top.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.top))?;
        if !is_new && path.exists() {
            fs::remove_file(&path)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self.extent == Extent::Whole {
            let mode = if is_executable { 0o555 } else { 0o444 };
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        }
        options.open(&path).map_err(|error| Problem::of_creating(error, name))
    }

    /// Takes a link, whose target is relative to its own directory.
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

    /// Creates the directories and the links. Of a package that is not whole, a link that leads out of it or nowhere is
    /// left out. If its name is that of a configuration file, it stays and leads nowhere.
    pub(super) fn finish(self) -> Result<(), Problem> {
        for (name, _) in self.entries.iter().filter(|(_, kind)| **kind == Kind::Directory) {
            fs::create_dir_all(self.top.join(name))?;
        }
        for (name, target) in &self.links {
            make_link(target, &self.top.join(name)).map_err(|error| Problem::of_creating(error, name))?;
        }
        if self.extent == Extent::Whole {
            return Ok(());
        }
        let top = canonicalize(&self.top)?;
        let leads_inside = |path: &Path| canonicalize(path).is_ok_and(|target| target.starts_with(&top));
        let paths = self.links.keys().map(|name| self.top.join(name));
        let outside: Vec<_> = paths.filter(|path| !leads_inside(path)).collect();
        for path in outside.into_iter().filter(|path| path.is_symlink()) {
            fs::remove_file(&path)?;
            if path.to_str().is_some_and(is_configuration) {
                make_link(NOWHERE, &path)?;
            }
        }
        Ok(())
    }

    /// Notes an entry with the directories that it is in. Returns its clean name, and whether it is new; none if it is
    /// not wanted.
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
        if self.extent == Extent::Whole && parts.contains(&GIT) {
            return Ok(None);
        }
        let is_written = self.extent == Extent::Whole || kind == Kind::Directory || is_configuration(name);
        let written = if is_written { parts.len() } else { parts.len().saturating_sub(1) };
        if cfg!(windows) && parts[..written].iter().any(|part| is_special_on_windows(part)) {
            return Err(Problem::Special(name.to_owned()));
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

    /// Whether an entry is new.
    fn note(&mut self, name: &str, kind: Kind) -> Result<bool, Problem> {
        match self.entries.get(name) {
            Some(known) if *known == kind => return Ok(false),
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
        if self.extent == Extent::Whole && kind == Kind::Directory {
            fs::create_dir(self.top.join(name)).map_err(|error| Problem::of_creating(error, name))?;
        }
        self.entries.insert(name.to_owned(), kind);
        Ok(true)
    }
}

/// The parts of a name, without empty parts and `.`.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split('/').filter(|part| !matches!(*part, "" | "."))
}

impl Problem {
    /// A failure to create an entry whose name is new.
    fn of_creating(error: io::Error, name: &str) -> Self {
        if error.kind() == ErrorKind::AlreadyExists { Self::Case(name.to_owned()) } else { Self::Io(error) }
    }

    /// A failure to read or write a part of the package.
    pub(super) fn of_reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Self::TooLarge,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::PermissionDenied => {
                Self::Io(error)
            }
            _ => Self::Damaged(error.to_string()),
        }
    }
}

#[cfg(unix)]
fn make_link(target: &str, path: &Path) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    std::os::unix::fs::symlink(target, path)
}

/// Creating a link needs a privilege on Windows; other systems have no symlinks. As with git there, a file with the
/// target takes its place.
#[cfg(not(unix))]
fn make_link(target: &str, path: &Path) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(fill: impl FnOnce(&mut PackageWriter) -> Result<(), Problem>) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("package");
        fs::create_dir(&top).unwrap();
        let mut writer = PackageWriter::new(&top, Extent::Configuration);
        fill(&mut writer).unwrap();
        writer.finish().unwrap();
        (directory, top)
    }

    fn problem(fill: impl FnOnce(&mut PackageWriter) -> Result<(), Problem>) -> String {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("package");
        fs::create_dir(&top).unwrap();
        let problem = fill(&mut PackageWriter::new(&top, Extent::Configuration)).unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is outside");
        problem.to_string()
    }

    #[test]
    fn only_configuration_is_kept_and_every_directory() {
        let (_directory, top) = written(|writer| {
            writer.file("a/main.tf", false, &mut "x".as_bytes())?;
            writer.file("/a/./b.tofu.json", false, &mut "{}".as_bytes())?;
            writer.file("b/image.png", false, &mut "x".as_bytes())?;
            writer.directory("c/")
        });
        assert_eq!(fs::read(top.join("a/main.tf")).unwrap(), b"x");
        assert!(top.join("a/b.tofu.json").exists());
        assert!(top.join("b").is_dir() && !top.join("b/image.png").exists());
        assert!(top.join("c").is_dir());
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
