//! Selects the files of a directory that are read, and reads one.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use crate::diagnostic::{Code, Diagnostic, Help, Location, Message, Result, RunOption, SourceFile};
use crate::modules::is_configuration;
use crate::provider::Dialect;
use crate::system::files;
use crate::system::{Tree, lock};

/// Data directory of OpenTofu and Terraform unless `TF_DATA_DIR` names another.
pub(crate) const DATA_DIRECTORY: &str = ".terraform";

/// Maximum size of a file in bytes; no person or tool writes a larger one.
const MAX_FILE_SIZE: u64 = 8 << 20;

/// Maximum number of bytes of configuration files in memory. A text stays there as long as a
/// diagnostic may show lines of it.
const MOST_TEXT: usize = 128 << 20;

/// Extensions of test files. OpenTofu's own hide the common ones of the same base name.
pub(super) const TEST_EXTENSIONS: [(&str, &str); 2] = [
    (".tofutest.hcl", ".tftest.hcl"),
    (".tofutest.json", ".tftest.json"),
];

/// Reads texts, and limits how many of them are in memory.
#[derive(Debug)]
pub(super) struct Texts {
    most: usize,
    known: Mutex<KnownTexts>,
}

/// The texts in memory, and some that were dropped.
#[derive(Debug, Default)]
struct KnownTexts {
    files: Vec<Weak<SourceFile>>,
    length: usize,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            most: MOST_TEXT,
            known: Mutex::default(),
        }
    }
}

impl KnownTexts {
    fn remove_dropped(&mut self) {
        self.length = 0;
        self.files.retain(|file| {
            let file = file.upgrade();
            self.length += file.as_ref().map_or(0, |file| file.text.len());
            file.is_some()
        });
        // The next removal happens after the same number of files has been read again.
        self.files.reserve(self.files.len() + 1);
    }
}

impl Texts {
    /// Reads a text file of a tree, which the user knows as `shown`. Bytes that are not UTF-8, as
    /// in old comments, become U+FFFD.
    pub(super) fn read(&self, tree: &Tree, path: &Path, shown: &Path) -> Result<Arc<SourceFile>> {
        self.read_as(tree, path, shown, |text| SourceFile::new(shown, text))
    }

    /// [`Texts::read`] for a file of a package that was fetched, which no revision changes.
    pub(super) fn read_fetched(&self, path: &Path, shown: &Path) -> Result<Arc<SourceFile>> {
        self.read_as(&Tree::Work, path, shown, |text| {
            SourceFile::fetched(shown, text)
        })
    }

    /// Reads a file of configuration. `source_file` makes the value of its text.
    fn read_as(
        &self,
        tree: &Tree,
        path: &Path,
        shown: &Path,
        source_file: impl Fn(String) -> Arc<SourceFile>,
    ) -> Result<Arc<SourceFile>> {
        let bytes = tree
            .read(path, MAX_FILE_SIZE)
            .map_err(|error| Diagnostic::io("read", shown, &error))?;
        if files::is_utf16(&bytes) {
            let start = Location::new(&source_file(String::new()), 0..0);
            let message = format!("{} is UTF-16 text, and HCL is UTF-8", shown.display());
            return Err(Diagnostic::error(Code::InvalidConfiguration, message)
                .at_location(start)
                .help(SAVE_AS_UTF8)
                .into());
        }
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let file = source_file(text);
        if !self.has_room_for(&file) {
            let why = format!(
                "with the other configuration files in memory it is larger than {} MiB",
                MOST_TEXT >> 20
            );
            let error = Diagnostic::io("read", shown, &io::Error::other(why));
            return Err(error.help("name fewer root modules in one command").into());
        }
        Ok(file)
    }

    /// Counts a text, unless it is too much with all others.
    fn has_room_for(&self, file: &Arc<SourceFile>) -> bool {
        let mut known = lock(&self.known);
        let is_too_much = |known: &KnownTexts| known.length + file.text.len() > self.most;
        if is_too_much(&known) || known.files.len() == known.files.capacity() {
            known.remove_dropped();
        }
        let has_room = !is_too_much(&known);
        if has_room {
            known.length += file.text.len();
            known.files.push(Arc::downgrade(file));
        }
        has_room
    }
}

const SAVE_AS_UTF8: &str = "save it as UTF-8, in PowerShell with: Out-File -Encoding utf8";

/// The names of a module's files, each kind sorted.
#[derive(Debug, Default)]
pub(super) struct ModuleFiles<'a> {
    pub primary: Vec<&'a str>,
    /// `override.tf`, `*_override.tf` and their like, merged after all others.
    pub overrides: Vec<&'a str>,
    /// Whether there are files that only the other dialect reads.
    pub has_files_of_other_dialect: bool,
}

/// Finds the configuration files among the sorted names of a directory's files, as OpenTofu's
/// `internal/configs/parser_config_dir.go` does. `x.tofu` hides `x.tf`, `x.tofu.json` hides
/// `x.tf.json`.
pub(super) fn module_files(names: &[String], dialect: Dialect) -> ModuleFiles<'_> {
    let mut files = ModuleFiles::default();
    for name in read_in_dialect(
        names,
        dialect,
        [(".tofu", ".tf"), (".tofu.json", ".tf.json")],
    ) {
        if is_override(name) {
            files.overrides.push(name);
        } else {
            files.primary.push(name);
        }
    }
    if dialect == Dialect::Terraform {
        files.has_files_of_other_dialect = names.iter().any(|name| is_of_tofu(name));
    }
    files
}

/// Whether only OpenTofu reads configuration in a file of this name.
pub(crate) fn is_of_tofu(name: &str) -> bool {
    [".tofu", ".tofu.json"]
        .iter()
        .any(|extension| name.strip_suffix(extension).is_some())
}

/// Whether a file is `override.tf` or one whose name ends like that.
fn is_override(name: &str) -> bool {
    for extension in [".tf", ".tf.json", ".tofu", ".tofu.json"] {
        if let Some(base) = name.strip_suffix(extension)
            && (base == "override" || base.ends_with("_override"))
        {
            return true;
        }
    }
    false
}

/// Whether OpenTofu and Terraform both load a configuration file among the sorted names of its
/// directory's files.
pub(crate) fn is_loaded(name: &str, names: &[String]) -> bool {
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let files = module_files(names, dialect);
        if !files.primary.contains(&name) && !files.overrides.contains(&name) {
            return false;
        }
    }
    is_read(name)
}

/// The names that may be names of test files.
pub(super) fn test_names(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| is_test(name)).cloned().collect()
}

/// Whether a file of this name may be a test file.
pub(crate) fn is_test(name: &str) -> bool {
    TEST_EXTENSIONS
        .iter()
        .any(|(tofu, common)| name.ends_with(tofu) || name.ends_with(common))
}

/// Whether a file of this name is part of a stack of HCP Terraform.
pub(crate) fn is_of_stack(name: &OsStr) -> bool {
    let kinds = [".tfcomponent", ".tfstack", ".tfdeploy"];
    let stem = [".hcl", ".json"]
        .iter()
        .find_map(|end| name.as_encoded_bytes().strip_suffix(end.as_bytes()));
    stem.is_some_and(|stem| kinds.iter().any(|kind| stem.ends_with(kind.as_bytes())))
}

/// Whether a file of this name is read: hidden files and files that editors leave behind are not.
pub(super) fn is_read(name: &str) -> bool {
    !(name.starts_with('.')
        || name.ends_with('~')
        || (name.starts_with('#') && name.ends_with('#')))
}

/// The error for a file whose name is not text, if OpenTofu or Terraform read files of this name.
pub(super) fn unnameable(name: &OsStr) -> Option<io::Error> {
    let text = name.to_string_lossy();
    let is_loaded = is_read(&text) && (is_configuration(&text) || is_test(&text));
    if !is_loaded || name.to_str().is_some() {
        return None;
    }
    Some(io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the name of its file {text} is not UTF-8"),
    ))
}

/// Returns the names with the extensions that the dialect reads. Each pair is OpenTofu's extension
/// and the common extension, which it hides under the same base name.
pub(super) fn read_in_dialect<'a>(
    names: &'a [String],
    dialect: Dialect,
    extensions: [(&'static str, &'static str); 2],
) -> Vec<&'a str> {
    let mut visible = Vec::new();
    for name in names {
        for (tofu, common) in extensions {
            let is_read = match name.strip_suffix(common) {
                Some(_) if dialect == Dialect::Terraform => true,
                // OpenTofu does not read it if there is a file with its own extension.
                Some(base) => names.binary_search(&format!("{base}{tofu}")).is_err(),
                None => dialect == Dialect::Tofu && name.ends_with(tofu),
            };
            if is_read {
                visible.push(name.as_str());
                break;
            }
        }
    }
    visible
}

/// The error for a directory without a configuration.
pub(crate) fn no_configuration(directory: &Path, dialect: Dialect) -> Diagnostic {
    let extensions = match dialect {
        Dialect::Tofu => ".tf, .tofu, .tf.json or .tofu.json",
        Dialect::Terraform => ".tf or .tf.json",
    };
    let help = Help::text("name the root module's directory, or find all root modules below with ");
    let message = Message::naming(directory, |directory| {
        format!("{directory} has no configuration ({extensions} file)")
    });
    Diagnostic::error(Code::NoConfiguration, message).help(help.and(RunOption::Recursive))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn texts_have_a_common_limit_and_free_it_when_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("main.tf");
        fs::write(&path, "# 6789").unwrap();
        let texts = Texts {
            most: 13,
            ..Texts::default()
        };
        let mut kept: Vec<_> = (0..2)
            .map(|_| texts.read(&Tree::Work, &path, &path).unwrap())
            .collect();
        let error = texts
            .read(&Tree::Work, &path, Path::new("shown.tf"))
            .unwrap_err();
        let expected = "cannot read shown.tf: with the other configuration files in memory it is larger than 128 MiB";
        assert_eq!(error[0].to_string(), expected);
        for _ in 0..100 {
            kept.remove(0);
            kept.push(texts.read(&Tree::Work, &path, &path).unwrap());
        }
        assert!(texts.read(&Tree::Work, &path, &path).is_err());
        assert!(
            texts.known.lock().unwrap().files.len() < 10,
            "what is gone is forgotten"
        );
    }
}
