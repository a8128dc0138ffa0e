//! Signs in a repository of the program that its root modules are for. Only names and words are looked at, and a file
//! that cannot be read is left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ignore::WalkState;

use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::provider::Dialect;
use crate::settings::SettingsAbove;
use crate::system::{Environment, OnceMap, files, repository, walk};

/// How many files and directories a repository may have to be looked through.
const ENTRIES: usize = 200_000;
/// How many files of one kind are read.
const FILES_READ: usize = 100;
/// The largest of these files that is read, in bytes.
const SIZE_LIMIT: u64 = 1 << 20;

/// The repositories of a run's root modules, each looked through at most once; to be shared by threads.
#[derive(Debug, Default)]
pub struct Repositories {
    repositories: OnceMap<PathBuf, Arc<Repository>>,
    /// The settings in them.
    pub(super) settings: SettingsAbove,
}

/// A repository, or what stands for one.
#[derive(Debug)]
pub(super) struct Repository {
    /// Absolute, without symlinks.
    top: PathBuf,
    files: OnceLock<Files>,
    /// The dialects of lock files.
    lock_files: OnceMap<PathBuf, Option<Dialect>>,
    automation: OnceLock<Option<Dialect>>,
}

/// The files of a repository that tell something, sorted.
#[derive(Debug, Default)]
struct Files {
    locked: Vec<PathBuf>,
    /// Files that call programs: of CI services, of make, Task and just.
    automation: Vec<PathBuf>,
}

impl Repositories {
    /// The repository around a directory, given without symlinks. Outside of one, what is below the current directory
    /// counts as one.
    pub(super) fn around(&self, directory: &Path, environment: &Environment) -> Arc<Repository> {
        let top = repository::top_or_current(directory, environment);
        self.repositories.get_or_compute(&top, || {
            Arc::new(Repository {
                top: top.clone(),
                files: OnceLock::new(),
                lock_files: OnceMap::default(),
                automation: OnceLock::new(),
            })
        })
    }
}

impl Repository {
    /// Its directory, absolute and without symlinks.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    fn files(&self) -> &Files {
        self.files.get_or_init(|| Files::below(&self.top))
    }

    /// The dialect of the lock files that are nearest to a root module's directory: those beside it first, then those
    /// further up and down; none if they differ.
    pub(super) fn nearest_lock_files(&self, root: &Path) -> Option<Dialect> {
        let others: Vec<&PathBuf> = self.files().locked.iter().filter(|directory| *directory != root).collect();
        let depth = |directory: &Path| directory.components().count();
        let dialect = |directory: &PathBuf| {
            let path = directory.join(LOCK_FILE_NAME);
            let read = || lockfile::read(&path).ok().flatten().as_deref().and_then(lockfile::detect_dialect);
            self.lock_files.get_or_compute(&path, read)
        };
        let around = if root == self.top { root } else { root.parent().unwrap_or(root) };
        let ancestors = around.ancestors().take_while(|ancestor| ancestor.starts_with(&self.top));
        let dialects = ancestors.into_iter().find_map(|ancestor| {
            let below = others.iter().copied().filter(|directory| directory.starts_with(ancestor));
            // A parent is as near as what is beside.
            let distance = |directory: &Path| depth(directory).max(depth(ancestor) + 1);
            let nearest = below.clone().map(|directory| distance(directory)).min()?;
            let nearest = below.filter(|directory| distance(directory) == nearest);
            let dialects: BTreeSet<_> = nearest.take(FILES_READ).filter_map(dialect).collect();
            (!dialects.is_empty()).then_some(dialects)
        });
        dialects.and_then(agreed)
    }

    /// The program that the nearest version files name, from a root module's directory up to the top; none if they name
    /// both.
    pub(super) fn version_files(&self, root: &Path) -> Option<Dialect> {
        let directories = root.ancestors().take_while(|ancestor| ancestor.starts_with(&self.top));
        directories.map(version_files_in).find(|named| !named.is_empty()).and_then(agreed)
    }

    /// The program that CI, make, Task and just call, if they call only one of the two.
    pub(super) fn automation(&self) -> Option<Dialect> {
        *self.automation.get_or_init(|| {
            let texts = self.files().automation.iter().take(FILES_READ).filter_map(|path| text(path));
            agreed(texts.flat_map(|text| called_in(&text)).collect())
        })
    }
}

impl Files {
    fn below(top: &Path) -> Self {
        let (found, seen) = (Mutex::new(Self::default()), AtomicUsize::new(0));
        walk::below(top).build_parallel().run(|| {
            Box::new(|entry| {
                if seen.fetch_add(1, Ordering::Relaxed) >= ENTRIES {
                    return WalkState::Quit;
                }
                let Ok(entry) = entry else { return WalkState::Continue };
                let path = entry.path();
                if entry.file_name() == LOCK_FILE_NAME {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.locked.extend(path.parent().map(Path::to_owned));
                } else if is_automation(path) {
                    found.lock().unwrap_or_else(PoisonError::into_inner).automation.push(path.to_owned());
                }
                WalkState::Continue
            })
        });
        let mut files = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What part of a larger tree was seen is chance.
        if seen.into_inner() > ENTRIES {
            return Self::default();
        }
        files.locked.sort();
        files.automation.sort();
        files
    }
}

fn agreed(dialects: BTreeSet<Dialect>) -> Option<Dialect> {
    if dialects.len() == 1 { dialects.into_iter().next() } else { None }
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(files::read(path, SIZE_LIMIT).ok()?).ok()
}

fn is_automation(path: &Path) -> bool {
    const NAMES: &str = ".gitlab-ci.yml GNUmakefile Makefile makefile Taskfile.yml Taskfile.yaml taskfile.yml Justfile \
        justfile .justfile";
    let is_yaml = path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml");
    let is_workflow = is_yaml && path.parent().is_some_and(|parent| parent.ends_with(".github/workflows"));
    is_workflow || path.file_name().is_some_and(|name| NAMES.split(' ').any(|known| name == known))
}

/// The programs whose setup action or `init` a file's lines name, apart from comments.
fn called_in(text: &str) -> BTreeSet<Dialect> {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    lines.flat_map(called_in_line).collect()
}

fn called_in_line(line: &str) -> Vec<Dialect> {
    let mut called = Vec::new();
    for (action, dialect) in [("setup-opentofu", Dialect::Tofu), ("setup-terraform", Dialect::Terraform)] {
        if line.contains(action) {
            called.push(dialect);
        }
    }
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ';' | '&' | '|' | '(' | ')');
    let mut words = line.split(is_end).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        let Ok(dialect) = word.rsplit('/').next().unwrap_or(word).parse::<Dialect>() else { continue };
        // As in `terraform -chdir=infra init`.
        while words.next_if(|word| word.starts_with('-')).is_some() {}
        if words.peek() == Some(&"init") {
            called.push(dialect);
        }
    }
    called
}

/// The programs that the version files of a directory name.
fn version_files_in(directory: &Path) -> BTreeSet<Dialect> {
    let mut named = BTreeSet::new();
    for (name, dialect) in [(".opentofu-version", Dialect::Tofu), (".terraform-version", Dialect::Terraform)] {
        if directory.join(name).is_file() {
            named.insert(dialect);
        }
    }
    let tool_versions = text(&directory.join(".tool-versions")).unwrap_or_default();
    named.extend(tool_versions.lines().filter_map(|line| program_of_tool(line.split_whitespace().next()?)));
    for name in ["mise.toml", ".mise.toml"] {
        let table = text(&directory.join(name)).and_then(|text| text.parse::<toml::Table>().ok());
        if let Some(toml::Value::Table(tools)) = table.as_ref().and_then(|table| table.get("tools")) {
            named.extend(tools.keys().filter_map(|tool| program_of_tool(tool)));
        }
    }
    named
}

/// The program that asdf or mise install by a name such as `opentofu` or `aqua:hashicorp/terraform`.
fn program_of_tool(name: &str) -> Option<Dialect> {
    match name.rsplit([':', '/']).next()? {
        "opentofu" | "tofu" => Some(Dialect::Tofu),
        "terraform" => Some(Dialect::Terraform),
        _ => None,
    }
}
