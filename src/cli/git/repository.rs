//! Lock files in git. Missing git, or a missing repository, is an error only for a comparison with
//! a commit.

#![expect(
    clippy::disallowed_methods,
    reason = "git's objects are compared with the files of the work tree themselves"
)]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Result;
use provlock::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use provlock::project::ReviewedChange;
use provlock::project::verify::{is_searched, may_decide};
use provlock::settings;
use provlock::system::repository::{self, Tops};
use provlock::system::{Overlay, Tree, canonicalize, files, parallel};

use super::base_tree::{self, BaseFiles, PathFilter, is_read_by_name};
use super::command::{
    Entry, StagedChange, commits_between, list_entries, list_matching_files, only_merge_base,
    read_blobs, resolve, staged_changes,
};
use super::links::{self, LinkedFile};
use super::object_name::is_blob;
use super::revision::{Commit, resolve_unambiguous};
use super::tree::{RevisionFiles, read_behind_links};
use super::work_tree::changed_files;

mod tracking;

/// Directory in which OpenTofu and Terraform keep modules and packages.
const DATA_DIRECTORY: &str = ".terraform";

/// A repository, with what git has listed so far.
pub(crate) struct Repository {
    /// The directory in which the program runs, without symlinks.
    pub(super) directory: PathBuf,
    /// The top of the work tree, without symlinks.
    top: PathBuf,
    /// The value of `TF_DATA_DIR`. It may be any path, so all files are listed if it is set.
    data_directory: Option<PathBuf>,
    /// Tracked lock files and files in data directories.
    tracked: OnceLock<Result<BTreeSet<OsString>>>,
    /// Files in data directories in the index or in the compared commit, each with its blob if both
    /// have the same one.
    data_blobs: OnceLock<BTreeMap<OsString, Option<String>>>,
    /// Lock files that are neither tracked nor ignored.
    untracked: OnceLock<Result<BTreeSet<OsString>>>,
    /// Shared with the other repositories of the run.
    tops: Arc<Tops>,
}

/// The content of a file in a commit.
pub(crate) enum Before {
    /// The file is outside of the repository, so a change of the repository cannot change it.
    Outside,
    /// The content; `None` if the commit does not have the file.
    Inside(Option<Vec<u8>>),
}

/// The differences of the work tree and the index from a commit.
struct Differences {
    /// The commit of the named revision.
    commit: Commit,
    /// Object name of the commit that is compared.
    base: String,
    /// Number of commits that the named revision has and HEAD lacks.
    missing_commits: usize,
    /// Tracked files that differ on disk, with what the commit has.
    changed: BaseFiles,
    staged: Vec<StagedChange>,
}

type Contents = BTreeMap<OsString, Vec<u8>>;

/// Contents in the commit, by their paths on disk.
#[derive(Default)]
struct ContentsBefore {
    by_path: Contents,
    /// Paths whose files have the same content now.
    unchanged: HashSet<OsString>,
}

/// A blob of the commit, with its content if the file on disk has the same.
struct BlobOnDisk {
    path: PathBuf,
    object: String,
    bytes: Option<Vec<u8>>,
}

impl Repository {
    /// The repository around a directory. `data_directory` is the value of `TF_DATA_DIR`.
    pub(crate) fn around(
        directory: &Path,
        data_directory: Option<PathBuf>,
        tops: Arc<Tops>,
    ) -> Option<Self> {
        let directory = canonicalize(directory).ok()?;
        let top = repository::top(&directory)?;
        Some(Self::at(&top, &directory, data_directory, tops))
    }

    /// The repository with this top, for a program that runs in a directory.
    pub(super) fn at(
        top: &Path,
        directory: &Path,
        data_directory: Option<PathBuf>,
        tops: Arc<Tops>,
    ) -> Self {
        Self {
            directory: directory.to_owned(),
            top: top.to_owned(),
            data_directory,
            tracked: OnceLock::new(),
            data_blobs: OnceLock::new(),
            untracked: OnceLock::new(),
            tops,
        }
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// The commit that is checked out; `None` before the first one, or if git cannot be asked.
    pub(crate) fn head(&self) -> Option<String> {
        resolve(&self.top, "HEAD^{commit}").ok().flatten()
    }

    /// Whether a path may be that of a data directory, or below one.
    fn may_be_data(&self, path: &Path) -> bool {
        self.data_directory.is_some() || path.iter().any(|part| part == DATA_DIRECTORY)
    }

    /// Returns the commit of a revision, and the change since then: the lock files, settings and
    /// configurations in the commit and now. `None` if git does not know the revision.
    pub(crate) fn change_since(&self, revision: &str) -> Result<Option<(Commit, ReviewedChange)>> {
        let (listed, differences) = parallel::both(
            || list_entries(&self.top, |path, entry| self.is_listed(path, entry)),
            || self.differences_from(revision),
        );
        let Some(differences) = differences? else {
            return Ok(None);
        };
        let listed = listed?;
        self.remember_listed(&listed, &differences.staged);
        let case_variants = self.new_case_variants(&listed, &differences.staged);
        let submodules = self.altered_submodules(&differences.staged);
        let mut linked = links::linked_files(&self.top, &listed, |path| {
            self.is_changed(path, &differences.changed, &submodules)
        });
        let link_targets = links::targets(&self.top, &linked);

        // Of data files and variants in case only the names matter. From here on, there are only
        // files that provlock reads.
        let mut files_now = listed;
        files_now.retain(|path, _| is_read_by_name(Path::new(path)));
        linked.retain(|linked| is_read_by_name(Path::new(&linked.path)));
        let mut staged = differences.staged;
        staged.retain(|change| is_read_by_name(&change.path));
        let mut blobs = blobs_before(&files_now, &staged);
        let touched = touched_directories(&files_now, &blobs, &differences.changed, &linked);
        let base_tree = Arc::new(self.base_tree(&differences.changed, &files_now, &submodules)?);

        // Git unpacks only the files that are compared: lock files, settings, and all files in
        // touched directories.
        blobs.retain(|path, _| {
            let path = Path::new(path);
            let is_touched = path.parent().is_some_and(|above| touched.contains(above));
            is_touched || is_always_compared(path)
        });
        let mut base_links = links_at_base(staged, &linked);
        base_links.retain(|link| blobs.remove(link).is_some());
        let ContentsBefore {
            by_path: mut before,
            mut unchanged,
        } = self.read_contents_of_blobs(blobs)?;
        before.extend(self.contents_behind_links(&base_tree, &base_links)?);
        for link in linked {
            let path = self.top.join(&link.path).into_os_string();
            if !link.is_changed && before.contains_key(&path) {
                unchanged.insert(path);
            }
        }

        let mut settings = before.clone();
        let mut revision_lock_files = None;
        // Settings and other lock files come from the named revision, which may be newer than the
        // base.
        if differences.missing_commits > 0 {
            let revision = &differences.commit.name;
            settings = self.contents_of_files(revision, is_settings)?;
            revision_lock_files = Some(self.contents_of_files(revision, is_lock_file)?);
        } else {
            settings.retain(|path, _| is_settings(Path::new(path)));
        }

        // A link that leads elsewhere changes everything that is read through it.
        let mut differing = self.paths_on_disk(differences.changed.keys());
        let base = Tree::Revision(Arc::clone(&base_tree));
        let altered_links = links::altered_links(&base, &differing);
        differing.extend(links::files_below_links(&base, &self.top, &altered_links));

        let change = ReviewedChange {
            top: self.top.clone(),
            current_directory: self.directory.clone(),
            commit: differences.base,
            missing_commits: differences.missing_commits,
            settings,
            revision_lock_files,
            base: base_tree,
            touched: self.paths_on_disk(&touched),
            before,
            unchanged,
            differing,
            altered_links,
            links: self.symbolic_links_among(differences.changed.keys()),
            link_targets,
            omitted: self.paths_on_disk(paths_omitted_by_sparse_checkout(&files_now)),
            read_files_now: files_now
                .into_keys()
                .map(|path| self.top.join(path).into_os_string())
                .collect(),
            submodules,
            case_variants,
            findings: Vec::new(),
        };
        Ok(Some((differences.commit, change)))
    }

    /// Compares the work tree and the index with the merge base of a revision and HEAD, so that
    /// commits of the revision alone are left out. `None` if git does not know the revision.
    fn differences_from(&self, revision: &str) -> Result<Option<Differences>> {
        let Some(commit) = resolve_unambiguous(&self.top, revision)? else {
            return Ok(None);
        };
        let mut base = commit.name.clone();
        let mut missing_commits = 0;
        if let Some(head) = resolve(&self.top, "HEAD^{commit}")?
            && head != commit.name
            && let Some(merge_base) = only_merge_base(&self.top, &commit.name, &head)?
            && merge_base != commit.name
        {
            missing_commits = commits_between(&self.top, &merge_base, &commit.name)?;
            base = merge_base;
        }
        let (changed, staged) = parallel::both(
            || changed_files(&self.top, &base),
            || staged_changes(&self.top, &base),
        );
        Ok(Some(Differences {
            commit,
            base,
            missing_commits,
            changed: changed?,
            staged: staged?,
        }))
    }

    /// Whether a path, or a directory above it, differs from the commit.
    fn is_changed(&self, path: &Path, changed: &BaseFiles, submodules: &BTreeSet<PathBuf>) -> bool {
        path.ancestors().any(|above| {
            changed.contains_key(above.as_os_str()) || submodules.contains(&self.top.join(above))
        })
    }

    /// Contents of the wanted files of a commit, by their paths on disk.
    fn contents_of_files(&self, commit: &str, is_wanted: PathFilter) -> Result<Contents> {
        let is_directory = false;
        let in_all_directories = [];
        let files = RevisionFiles::list(
            &self.top,
            commit,
            is_directory,
            &in_all_directories,
            is_wanted,
        )?;
        let mut contents = Contents::new();
        for path in &files.paths {
            if let Some(bytes) = files.read(path)? {
                contents.insert(self.top.join(path).into_os_string(), bytes);
            }
        }
        Ok(contents)
    }

    /// Contents of the files behind links of the base, by the paths of the links on disk.
    fn contents_behind_links(
        &self,
        base: &Arc<Overlay>,
        links: &BTreeSet<OsString>,
    ) -> Result<Contents> {
        let tree = Tree::Revision(Arc::clone(base));
        let mut contents = Contents::new();
        for link in links {
            let link = self.top.join(link);
            if let Some(bytes) = read_behind_links(&tree, &self.top, &link)? {
                contents.insert(link.into_os_string(), bytes);
            }
        }
        Ok(contents)
    }

    /// The files of the commit. Files that git does not track yet belong to the change, too.
    fn base_tree(
        &self,
        changed: &BaseFiles,
        now: &BTreeMap<OsString, Entry>,
        submodules: &BTreeSet<PathBuf>,
    ) -> Result<Overlay> {
        let mut added = Vec::new();
        for (path, entry) in now {
            if !entry.is_tracked {
                added.push(PathBuf::from(path));
            }
        }
        for submodule in submodules {
            if !submodule.exists() {
                added.push(submodule.clone());
            }
        }
        let read_together = [is_read_by_name, may_decide, is_searched];
        base_tree::make_overlay(&self.directory, &self.top, changed, added, &read_together)
    }

    /// Whether a file is read, or its name matters. Any link may lead to such a file, or be read
    /// because a configuration names it.
    fn is_listed(&self, path: &Path, entry: &Entry) -> bool {
        entry.is_link
            || is_read_by_name(path)
            || self.may_be_data(path)
            || ReviewedChange::is_case_variant(path)
            || may_decide(path)
    }

    /// Submodules whose commit changed, and new and removed ones.
    fn altered_submodules(&self, staged: &[StagedChange]) -> BTreeSet<PathBuf> {
        let submodules = staged.iter().filter(|change| change.is_submodule);
        self.paths_on_disk(submodules.map(|change| &change.path))
    }

    /// The paths on disk of paths in the repository.
    fn paths_on_disk<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
    ) -> BTreeSet<PathBuf> {
        paths.into_iter().map(|path| self.top.join(path)).collect()
    }

    /// Remembers the tracked files among the listed ones, and the files in data directories, so
    /// that git need not list them again.
    fn remember_listed(&self, now: &BTreeMap<OsString, Entry>, staged: &[StagedChange]) {
        let mut tracked = BTreeSet::new();
        let mut data = BTreeMap::new();
        for (path, entry) in now {
            if !entry.is_tracked {
                continue;
            }
            tracked.insert(path.clone());
            if self.may_be_data(Path::new(path)) {
                data.insert(path.clone(), entry.blob.clone());
            }
        }
        for change in staged {
            if self.may_be_data(&change.path) {
                // The commit has a different file, or none.
                data.insert(change.path.clone().into(), None);
            }
        }
        // Only the first list counts.
        let _ = self.tracked.set(Ok(tracked));
        let _ = self.data_blobs.set(data);
    }

    /// Returns new paths on disk that are read only where case does not matter.
    fn new_case_variants(
        &self,
        now: &BTreeMap<OsString, Entry>,
        staged: &[StagedChange],
    ) -> BTreeSet<PathBuf> {
        let mut added = HashSet::new();
        for change in staged {
            if change.before.is_none() {
                added.insert(change.path.as_path());
            }
        }
        let mut variants = BTreeSet::new();
        for (path, entry) in now {
            let path = Path::new(path);
            let is_new = !entry.is_tracked || added.contains(path);
            if is_new && ReviewedChange::is_case_variant(path) {
                variants.insert(self.top.join(path));
            }
        }
        variants
    }

    /// Returns the symbolic links among paths and the directories above them.
    fn symbolic_links_among<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a OsString>,
    ) -> BTreeSet<PathBuf> {
        let own_and_above: BTreeSet<_> = paths
            .into_iter()
            .flat_map(|path| Path::new(path).ancestors())
            .collect();
        own_and_above
            .into_iter()
            .map(|path| self.top.join(path))
            .filter(|path| path.is_symlink())
            .collect()
    }

    /// The content of a file in a commit at the same path. Links of directories in the commit are
    /// not followed, because the change may have created them.
    pub(crate) fn content_before(&self, commit: &str, path: &Path) -> Result<Before> {
        let absolute = files::join(&self.directory, path);
        let Some(inside) = self.path_inside(absolute) else {
            return Ok(Before::Outside);
        };
        let in_commit = inside.strip_prefix(&self.top).unwrap_or(&inside);
        let is_directory = false;
        let files = RevisionFiles::list(&self.top, commit, is_directory, &[in_commit], |_| true)?;
        Ok(Before::Inside(files.read(in_commit)?))
    }

    /// An absolute path in the repository, as it is or with its directory's links followed; `None`
    /// for a path outside.
    fn path_inside(&self, path: PathBuf) -> Option<PathBuf> {
        if path.starts_with(&self.top) {
            return Some(path);
        }
        let canonical = canonicalize(path.parent()?).ok()?.join(path.file_name()?);
        if !canonical.starts_with(&self.top) {
            return None;
        }
        Some(canonical)
    }

    /// Contents of blobs, which have paths in the repository. Most are the current content of
    /// files, so git need not unpack them.
    fn read_contents_of_blobs(&self, blobs: BTreeMap<OsString, String>) -> Result<ContentsBefore> {
        let blobs = blobs.into_iter().collect();
        let files = parallel::map(blobs, parallel::cores(), |(path, object)| {
            let path = self.top.join(path);
            BlobOnDisk {
                bytes: read_blob_on_disk(&path, &object),
                path,
                object,
            }
        });
        let mut others = BTreeMap::new();
        for file in &files {
            if file.bytes.is_none() {
                others.insert(file.object.as_str(), file.path.as_path());
            }
        }
        let unpacked = read_blobs(&self.top, &others)?;

        let mut contents = ContentsBefore::default();
        for file in files {
            let path = file.path.into_os_string();
            if let Some(bytes) = file.bytes {
                contents.unchanged.insert(path.clone());
                contents.by_path.insert(path, bytes);
            } else if let Some(bytes) = unpacked.get(&file.object) {
                contents.by_path.insert(path, bytes.clone());
            }
        }
        Ok(contents)
    }

    /// Lists the tracked files, which takes git some milliseconds. Other functions do so if they
    /// need the list.
    pub(crate) fn list_tracked(&self) {
        self.tracked_or_error();
    }

    /// The listed files that git tracks.
    fn tracked(&self) -> Option<&BTreeSet<OsString>> {
        self.tracked_or_error().as_ref().ok()
    }

    fn tracked_or_error(&self) -> &Result<BTreeSet<OsString>> {
        let usual = [
            LOCK_FILE_NAME,
            MODULE_LOCK_FILE_NAME,
            ".terraform",
            ".terraform/**",
        ];
        let patterns = if self.data_directory.is_some() {
            &["*"][..]
        } else {
            &usual
        };
        self.tracked
            .get_or_init(|| list_matching_files(&self.top, &["--cached"], patterns))
    }
}

/// The content of a file if it is that of a blob.
fn read_blob_on_disk(path: &Path, object: &str) -> Option<Vec<u8>> {
    let bytes = lockfile::read(path).ok().flatten()?;
    is_blob(&bytes, object).then_some(bytes)
}

/// Whether a file is compared even if nothing in its directory differs.
fn is_always_compared(path: &Path) -> bool {
    is_settings(path) || is_lock_file(path)
}

fn is_settings(path: &Path) -> bool {
    file_name(path) == settings::FILE_NAME
}

fn is_lock_file(path: &Path) -> bool {
    ReviewedChange::is_lock_file(file_name(path))
}

/// The directories in which a file, or the file behind a link, was added, changed or removed.
fn touched_directories(
    now: &BTreeMap<OsString, Entry>,
    base_blobs: &BTreeMap<OsString, String>,
    changed: &BaseFiles,
    linked: &[LinkedFile],
) -> BTreeSet<PathBuf> {
    let mut differing = Vec::new();
    for path in now.keys() {
        if !base_blobs.contains_key(path) {
            differing.push(path);
        }
    }
    for path in base_blobs.keys() {
        if changed.contains_key(path) || !now.contains_key(path) {
            differing.push(path);
        }
    }
    for link in linked {
        if link.is_changed {
            differing.push(&link.path);
        }
    }
    let directories = differing.iter().filter_map(|path| Path::new(path).parent());
    directories.map(Path::to_owned).collect()
}

/// The links whose files in the base are compared: all that the base has and the index changes, and
/// all that are there now.
fn links_at_base(staged: Vec<StagedChange>, linked: &[LinkedFile]) -> BTreeSet<OsString> {
    let mut links = BTreeSet::new();
    for change in staged {
        if change.was_link {
            links.insert(change.path.into_os_string());
        }
    }
    for link in linked {
        links.insert(link.path.clone());
    }
    links
}

fn paths_omitted_by_sparse_checkout(
    now: &BTreeMap<OsString, Entry>,
) -> impl Iterator<Item = &OsString> {
    now.iter()
        .filter(|(_, entry)| entry.is_omitted)
        .map(|(path, _)| path)
}

/// The blobs of files in the compared commit, given the files now and the changes of the index.
fn blobs_before(
    now: &BTreeMap<OsString, Entry>,
    changes: &[StagedChange],
) -> BTreeMap<OsString, String> {
    let mut before = BTreeMap::new();
    for (path, entry) in now {
        if let Some(blob) = &entry.blob {
            before.insert(path.clone(), blob.clone());
        }
    }
    for change in changes {
        let path = change.path.clone().into_os_string();
        match &change.before {
            Some(blob) => _ = before.insert(path, blob.clone()),
            None => _ = before.remove(&path),
        }
    }
    before
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}
