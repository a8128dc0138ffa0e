//! The recorded cases and the content of their hosts, from `testdata/conformance.tar.xz`.

use std::collections::BTreeMap;
use std::fs::{self, File as Archive};
use std::io::{BufReader, Read as _};
use std::path::PathBuf;

use lzma_rust2::XzReader;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Data {
    /// By path in the archive.
    pub(crate) files: BTreeMap<String, File>,
    /// Providers by namespace and type: keys, versions, platforms, and the faults of their
    /// registry.
    pub(crate) providers: Value,
    /// Answers of module registries, archives, and git repositories.
    pub(crate) modules: Value,
    /// Bare repositories, for `git upload-pack`.
    git: TempDir,
}

pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_executable: bool,
}

impl Data {
    pub(crate) fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/conformance.tar.xz");
        let mut archive = tar::Archive::new(XzReader::new(
            BufReader::new(Archive::open(path).unwrap()),
            true,
        ));
        let mut files = BTreeMap::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.header().entry_type().is_file() {
                let path = entry.path().unwrap().to_str().unwrap().to_owned();
                let is_executable = entry.header().mode().unwrap() & 0o100 != 0;
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).unwrap();
                files.insert(
                    path,
                    File {
                        bytes,
                        is_executable,
                    },
                );
            }
        }
        let document = |path: &str| serde_json::from_slice(&files[path].bytes).unwrap();
        let (providers, modules): (Value, Value) = (
            document("registry/catalog.json"),
            document("modules/modules.json"),
        );
        let git = unpack_repositories(&files);
        Self {
            files,
            providers,
            modules,
            git,
        }
    }

    /// The files below a directory, by their paths in it.
    pub(crate) fn below<'a>(
        &'a self,
        directory: &str,
    ) -> impl Iterator<Item = (&'a str, &'a File)> {
        let prefix = format!("{directory}/");
        let (start, length) = (prefix.clone(), prefix.len());
        let files = self
            .files
            .range(start..)
            .take_while(move |(path, _)| path.starts_with(&prefix));
        files.map(move |(path, file)| (&path[length..], file))
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(|file| file.bytes.as_slice())
    }

    /// The directory of a bare repository.
    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        self.git.path().join(name)
    }
}

fn unpack_repositories(files: &BTreeMap<String, File>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, file) in files {
        if let Some(path) = path.strip_prefix("modules/git/") {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // git takes a directory for a repository only if it has `refs`, which the archive lacks
            // where it is empty.
            if path.ends_with("HEAD") {
                fs::create_dir_all(path.with_file_name("refs")).unwrap();
            }
            fs::write(path, &file.bytes).unwrap();
        }
    }
    directory
}
