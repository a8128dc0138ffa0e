//! Projects in temporary directories, read as `lock` reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use provlock::project::{Event, LockOptions, ModuleFetching, Selection, Session, SessionOptions};
use provlock::provider::Dialect;
use provlock::system::Environment;
use tempfile::TempDir;

/// A provider that only something outside of each project requires.
const SECRET: &str = "secret";

/// A directory `project`, beside it a module that the project does not call, and a cache.
pub(crate) struct Project {
    directory: TempDir,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let project = Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        };
        let secret = format!("resource \"{SECRET}_a\" \"b\" {{}}\n");
        project.write("../secret/main.tf", secret.as_bytes());
        for (name, content) in files {
            project.write(name, content);
        }
        project
    }

    /// A path below the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("project").join(name)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        fs::create_dir_all(self.path("")).expect("a directory");
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, content).expect("a file");
    }

    /// Returns the requirements of the root module in a directory; `None` if it cannot be read.
    /// Nothing outside of the cache changes, and only files that the project calls are read.
    pub(crate) fn required(&self, root: &str, modules: ModuleFetching) -> Option<Vec<String>> {
        let mut required = None;
        let session = self.session(modules).observed_by(|event| {
            if let Event::Prepared(prepared) = event {
                let providers = prepared.requirements.providers.keys();
                required = Some(providers.map(ToString::to_string).collect::<Vec<_>>());
            }
        });
        let before = self.files();
        if let Ok(roots) = session.roots(&Selection::one(self.path(root))) {
            // Errors, and that no registry is reached, make no difference here.
            let _ = session.lock(&roots, &dry_run(), drop);
        }
        drop(session);
        assert!(self.files() == before, "a file was changed");
        let names = required.iter().flatten();
        assert!(
            names
                .clone()
                .all(|name| !name.ends_with(&format!("/{SECRET}"))),
            "{required:?}"
        );
        required
    }

    /// The root modules in the project directory; empty if they cannot be found.
    pub(crate) fn roots(&self) -> Option<Vec<PathBuf>> {
        let session = self.session(ModuleFetching::Never);
        let roots = session.roots(&Selection::recursive(self.path(""))).ok()?;
        let report = session.lock(&roots, &dry_run(), drop).ok()?;
        Some(report.roots.into_iter().map(|(path, _)| path).collect())
    }

    /// No host can be asked, and git is not found.
    fn session<'a>(&self, modules: ModuleFetching) -> Session<'a> {
        let mut environment = Environment {
            current_directory: self.path(""),
            ..Environment::default()
        };
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
            environment.set(name, "http://127.0.0.1:9".into());
        }
        let mut options = SessionOptions::default();
        (options.offline, options.dialect, options.modules) = (true, Some(Dialect::Tofu), modules);
        options.sources.cache_directory = Some(self.cache());
        Session::new(environment, options).expect("a session")
    }

    /// Everything but the cache.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(self.directory.path()).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path != self.cache() {
                add(&path, &mut files);
            }
        }
        files
    }
}

fn dry_run() -> LockOptions {
    let mut options = LockOptions::default();
    options.dry_run = true;
    options
}

fn add(path: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    if !path.is_dir() {
        files.insert(path.to_owned(), fs::read(path).expect("a file"));
        return;
    }
    for entry in fs::read_dir(path).expect("a directory") {
        add(&entry.expect("an entry").path(), files);
    }
}
