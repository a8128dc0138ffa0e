//! The change under review, with `verify --base`. It is not approved yet, so the settings of the base apply, and it
//! cannot hide a lock file.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::filter::Filter;
use super::roots::{Selection, normal};
use crate::configuration::{Module, Origin, UnknownCall, is_part_of_configuration, terragrunt};
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::modules::{is_configuration, submodule};
use crate::provider::{Dialect, Hostname, ProviderAddress};
use crate::settings::{self, SettingsFiles, on_disk};
use crate::system::{Environment, canonicalize, files, walk};

/// Names of files that are read by these names alone.
const FIXED_NAMES: [&str; 5] =
    [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME, settings::FILE_NAME, ".gitignore", submodule::FILE_NAME];
/// Names of files with values of variables that are loaded automatically.
const VALUES: [&str; 2] = ["terraform.tfvars", "terraform.tfvars.json"];
/// Directories whose content OpenTofu and Terraform take as installed.
const DATA_DIRECTORIES: [&str; 2] = [".terraform", "terraform.d"];

/// Files at the base revision and in the working tree. All paths are absolute and without symlinks.
pub struct Change {
    /// The top of the repository.
    pub top: PathBuf,
    /// Object name of the base commit.
    pub commit: String,
    /// The files that [`Change::reads`] names and that are tracked, or new and not ignored.
    pub files_now: BTreeSet<OsString>,
    /// Directories in which such a file was added, changed or removed.
    pub touched: BTreeSet<PathBuf>,
    /// Contents of all lock files and settings at the base, and of all such files in touched directories. Paths are
    /// stored as text, which is compared faster.
    pub before: BTreeMap<OsString, Vec<u8>>,
    /// Paths in `before` whose files have the same content now.
    pub unchanged: HashSet<OsString>,
    /// Symbolic links that the base does not have or that have a different target there.
    pub links: BTreeSet<PathBuf>,
    /// Submodules whose commit changed, and new and removed ones.
    pub submodules: BTreeSet<PathBuf>,
    /// Paths that the base does not have and for which [`Change::is_case_variant`] is true.
    pub case_variants: BTreeSet<PathBuf>,
    /// Findings about files that the caller names instead of these or in addition.
    pub findings: Vec<Diagnostic>,
}

/// Providers that lock files of the base contain.
#[derive(Debug, Default)]
pub(crate) struct KnownProviders(BTreeSet<ProviderAddress>);

impl KnownProviders {
    /// Whether the base locks no provider.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the base locks a provider.
    pub(crate) fn has(&self, address: &ProviderAddress) -> bool {
        self.0.contains(address)
    }

    /// Whether the base locks a provider of the same namespace.
    pub(crate) fn has_namespace(&self, address: &ProviderAddress) -> bool {
        self.0.iter().any(|known| known.hostname == address.hostname && known.namespace == address.namespace)
    }

    /// Whether the base locks a provider from a host.
    pub(crate) fn has_host(&self, host: &Hostname) -> bool {
        self.0.iter().any(|known| known.hostname == *host)
    }
}

impl Change {
    /// Returns the providers in all lock files of the base.
    pub(super) fn known_providers(&self) -> KnownProviders {
        KnownProviders(lockfile::named_providers(self.before_named(LOCK_FILE_NAME).map(|(_, bytes)| bytes).collect()))
    }

    /// Whether a file of this name is a lock file, settings, part of a configuration, or an ignore file of git's.
    pub fn reads(name: &str) -> bool {
        FIXED_NAMES.contains(&name) || is_part_of_configuration(name)
    }

    /// Whether a path in the repository is read only where file systems ignore case: `MAIN.TF`, `.Terraform/modules`.
    pub fn is_case_variant(path: &Path) -> bool {
        let is_data = |part: &OsStr| {
            let part = part.to_str().unwrap_or_default();
            !DATA_DIRECTORIES.contains(&part) && DATA_DIRECTORIES.contains(&&*folded(part))
        };
        let (name, folded) = (name(path), folded(name(path)));
        let has_fixed =
            FIXED_NAMES.into_iter().chain(terragrunt::FILE_NAMES).chain(VALUES).any(|fixed| fixed == folded);
        path.iter().any(is_data) || (name != folded && has_fixed) || (!Self::reads(name) && Self::reads(&folded))
    }

    /// Directories whose configuration at the base is known: touched ones, and untouched ones with configuration. An
    /// untouched directory with a link is omitted, because the link may resolve to a changed file.
    pub(super) fn configured_before(&self) -> BTreeSet<&Path> {
        let (mut directories, mut with_links) = (BTreeSet::new(), BTreeSet::new());
        for path in self.files_now.iter().map(Path::new).filter(|path| is_part_of_configuration(name(path))) {
            let Some(directory) = path.parent().filter(|directory| !self.touched.contains(*directory)) else {
                continue;
            };
            directories.insert(directory);
            if path.is_symlink() {
                with_links.insert(directory);
            }
        }
        directories.retain(|directory| !with_links.contains(directory));
        directories.into_iter().chain(self.touched.iter().map(PathBuf::as_path)).collect()
    }

    /// Contents at the base of the files whose names meet a condition, in the directories of
    /// [`Change::configured_before`]. Unreadable files are skipped.
    pub(super) fn texts_before<'a>(&'a self, is_meant: impl Fn(&str) -> bool + 'a) -> Vec<Cow<'a, [u8]>> {
        let read = |directory: &'a Path| -> Vec<Cow<'a, [u8]>> {
            if self.touched.contains(directory) {
                let files = self.files_before(directory).filter(|(path, _)| is_meant(name(path)));
                return files.map(|(_, bytes)| Cow::Borrowed(bytes)).collect();
            }
            let paths = self.now_in(directory).filter(|path| is_meant(name(path)));
            paths.filter_map(|path| files::read(path, lockfile::SIZE_LIMIT).ok().map(Cow::Owned)).collect()
        };
        self.configured_before().into_iter().flat_map(read).collect()
    }

    /// The files whose names meet a condition and that the change adds, alters or removes.
    pub(super) fn changed<'a>(&'a self, is_meant: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a Path> {
        let in_directory = |directory| self.files_before(directory).map(|(path, _)| path).chain(self.now_in(directory));
        let all = self.touched.iter().flat_map(move |directory| in_directory(directory));
        all.filter(move |path| is_meant(name(path)) && self.unchanged(path).is_none())
    }

    /// The settings of the base, which apply to the change.
    pub(super) fn settings_files(&self) -> SettingsFiles<'_> {
        SettingsFiles::Committed { top: &self.top, files: &self.before }
    }

    /// Content of a file at the base, if it is known.
    pub(super) fn file_before(&self, path: &Path) -> Option<&[u8]> {
        self.before.get(path.as_os_str()).map(Vec::as_slice)
    }

    /// Content of a file, if it is known to be unchanged.
    pub(super) fn unchanged(&self, path: &Path) -> Option<&[u8]> {
        self.file_before(path).filter(|_| self.unchanged.contains(path.as_os_str()))
    }

    /// Files of this name at the base.
    pub(super) fn before_named(&self, name: &'static str) -> impl Iterator<Item = (&Path, &[u8])> {
        let files = self.before.iter().map(|(path, bytes)| (Path::new(path), bytes.as_slice()));
        files.filter(move |(path, _)| path.file_name() == Some(OsStr::new(name)))
    }

    /// Returns the directories of lock files below `start`, which the change cannot hide: all directories with tracked
    /// lock files, but only changed ones if the filter excludes them.
    pub(super) fn locked_directories<'a>(
        &'a self,
        start: &'a Path,
        filter: &'a Filter,
    ) -> impl Iterator<Item = &'a Path> {
        let is_other = |path: &Path| {
            lockfile::read(path).map_or(true, |now| now.is_some_and(|now| self.file_before(path) != Some(&now)))
        };
        let is_meant = move |path: &Path, directory: &Path| match (filter.takes(directory), self.unchanged(path)) {
            (is_taken, Some(_)) => is_taken,
            (true, None) => path.exists(),
            (false, None) => is_other(path),
        };
        let below = self.now_named(LOCK_FILE_NAME).filter(move |path| path.starts_with(start));
        below.filter_map(move |path| path.parent().filter(|directory| is_meant(path, directory)))
    }

    /// The directories in which the change touches something. A directory of tests also stands for the module that the
    /// tests check.
    pub(super) fn touched_directories(&self) -> BTreeSet<&Path> {
        let own = self.touched.iter().map(PathBuf::as_path);
        let tested = own.clone().filter(|directory| directory.ends_with("tests")).filter_map(Path::parent);
        own.chain(tested).collect()
    }

    /// Lock files that the change removes, in the directories for which `is_meant` returns true.
    pub(super) fn removed(&self, is_meant: impl Fn(&Path) -> bool) -> BTreeSet<&Path> {
        let is_there = |path: &Path| self.unchanged(path).is_some() || path.exists();
        let is_gone = |path: &Path| !self.files_now.contains(path.as_os_str()) || !is_there(path);
        let before = self.before_named(LOCK_FILE_NAME).map(|(path, _)| path);
        before.filter(|path| path.parent().is_some_and(&is_meant) && is_gone(path)).collect()
    }

    /// Findings about lock files that the change removes: one for each root module that stays, one for each directory
    /// that was removed as a whole.
    pub(super) fn removals(&self, removed: &BTreeSet<&Path>, environment: &Environment) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        let mut directories = BTreeMap::<&Path, Vec<&Path>>::new();
        for path in removed {
            match path.parent().and_then(|directory| self.removed_directory(directory)) {
                Some(directory) if !path.exists() => directories.entry(directory).or_default().push(path),
                _ => findings.push(removed_lock_file(path, environment)),
            }
        }
        findings.extend(directories.iter().map(|(directory, paths)| removed_directory(directory, paths, environment)));
        findings
    }

    /// The topmost directory, this one or one above it, that contains no configuration, lock file or settings any more.
    /// `None` if this one still does.
    fn removed_directory<'a>(&'a self, directory: &'a Path) -> Option<&'a Path> {
        let is_empty = |directory: &Path| {
            let after = self.files_now.range(directory.join("").into_os_string()..).map(Path::new);
            !after.take_while(|path| path.starts_with(directory)).any(Path::exists)
        };
        let above = directory.ancestors().take_while(|above| above.starts_with(&self.top) && *above != self.top);
        let topmost = above.take_while(|above| is_empty(above)).last();
        topmost.or_else(|| Some(directory).filter(|directory| is_empty(directory)))
    }

    pub(super) fn now_named(&self, name: &'static str) -> impl Iterator<Item = &Path> {
        self.files_now.iter().map(Path::new).filter(move |path| path.file_name() == Some(OsStr::new(name)))
    }

    /// Returns the wanted directories below `start` that contain configuration or lock files, without symlinks. Ignore
    /// files of the change hide none of them.
    pub(super) fn directories(&self, start: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<&Path> {
        let mut below: Vec<_> = self.files_now.iter().filter_map(|path| Path::new(path).parent()).collect();
        below.dedup();
        below.retain(|path| path.starts_with(start) && is_wanted(path));
        below.retain(|path| path.strip_prefix(&self.top).is_ok_and(|path| !walk::is_skipped(path)));
        below.into_iter().filter(|path| canonicalize(path).is_ok_and(|canonical| canonical == **path)).collect()
    }

    /// The module in a directory at the base, if the change touches the directory.
    pub(super) fn module_before(&self, directory: &Path, dialect: Dialect) -> Option<Module> {
        self.touched.contains(directory).then(|| Module::of_texts(directory, self.files_before(directory), dialect))
    }

    /// Names of the files in a directory at the base, if the change touches the directory.
    pub(super) fn names_before<'a>(&'a self, directory: &'a Path) -> Option<impl Iterator<Item = &'a str>> {
        let names = self.files_before(directory).filter_map(|(path, _)| path.file_name()?.to_str());
        self.touched.contains(directory).then_some(names)
    }

    /// The files that are in a directory now.
    fn now_in<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a Path> {
        let after = self.files_now.range(directory.join("").into_os_string()..).map(Path::new);
        let below = after.take_while(move |path| path.starts_with(directory));
        below.filter(move |path| path.parent() == Some(directory))
    }

    fn files_before<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = (&'a Path, &'a [u8])> {
        self.before_below(directory).filter(move |(path, _)| path.parent() == Some(directory))
    }

    fn before_below<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = (&'a Path, &'a [u8])> {
        let after = self.before.range(directory.join("").into_os_string()..);
        let after = after.map(|(path, bytes)| (Path::new(path), bytes.as_slice()));
        after.take_while(move |(path, _)| path.starts_with(directory))
    }

    /// Whether the change makes a directory a Terragrunt unit.
    pub(super) fn makes_unit(&self, directory: &Path) -> bool {
        let is_unit = |name: &str| terragrunt::FILE_NAMES.contains(&name);
        self.names_before(directory).is_some_and(|mut names| !names.any(is_unit))
    }

    /// Whether no file of a directory is in the base revision.
    pub(super) fn is_new(&self, directory: &Path) -> bool {
        self.names_before(directory).is_some_and(|mut names| names.next().is_none())
    }

    /// Whether a directory that the change touches had a configuration or a lock file at the base revision.
    pub(super) fn had_configuration(&self, directory: &Path) -> bool {
        let is_one = |name: &str| is_configuration(name) || [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME].contains(&name);
        self.names_before(directory).is_some_and(|mut names| names.any(is_one))
    }

    /// Whether the change makes a call unknown: it alters what the source is computed from, or the empty directory was
    /// not empty before.
    pub(super) fn makes_unknown(&self, unknown: &UnknownCall, environment: &Environment) -> bool {
        let is_emptied = |directory: &PathBuf| {
            let directory = files::join(&environment.current_directory, directory);
            self.before_below(&directory).next().is_some()
        };
        let is_in_altered_submodule = |directory: &PathBuf| {
            let directory = files::join(&environment.current_directory, directory);
            self.altered_submodules().iter().any(|submodule| directory.starts_with(submodule))
        };
        self.alters(&[&unknown.location], &unknown.origin, environment)
            || unknown.directory.as_ref().is_some_and(|one| is_emptied(one) || is_in_altered_submodule(one))
    }

    /// Submodules with a different commit or different settings in `.gitmodules` than at the base.
    fn altered_submodules(&self) -> BTreeSet<PathBuf> {
        let path = self.top.join(submodule::FILE_NAME);
        let now = files::read(&path, submodule::SIZE_LIMIT).unwrap_or_default();
        let before = if self.touched.contains(&self.top) { self.file_before(&path).unwrap_or_default() } else { &now };
        let [before, now] = [before, &now].map(submodule::settings);
        let is_altered = |path: &&String| before.get(*path) != now.get(*path);
        let altered = before.keys().chain(now.keys()).filter(is_altered).map(|path| self.top.join(path));
        altered.chain(self.submodules.iter().cloned()).collect()
    }

    /// The finding about a path that the caller names, or that had settings or a lock file at the base, if the change
    /// makes a link of it or of a directory above.
    pub fn link_added(&self, path: &Path, environment: &Environment) -> Option<Diagnostic> {
        let is_added = |path: &Path| {
            let directory = canonicalize(path.parent()?).ok()?;
            let own = directory.join(path.file_name()?);
            self.links.contains(&own).then_some(own)
        };
        let path = environment.current_directory.join(path);
        let link = path.ancestors().filter(|path| path.is_symlink()).find_map(is_added)?;
        let (shown, target) = (environment.shown(&link), fs::read_link(&link).unwrap_or_default());
        let message =
            format!("{} is a link to {} now, which the base does not have", shown.display(), target.display());
        let finding = Diagnostic::finding(Code::LinkAdded, message).at(Location::of_file(&shown), "");
        let help =
            "check the directory behind the link under its own path; if the link is intended, an owner allows it";
        Some(finding.help(format!("{help} with --warn {}", Code::LinkAdded)))
    }

    /// Findings about links in the paths of root modules, selected ones and root modules of the base.
    pub(super) fn links_added(&self, selection: &Selection, environment: &Environment) -> Vec<Diagnostic> {
        let always = [settings::FILE_NAME, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME];
        let before = always.into_iter().flat_map(|name| self.before_named(name)).filter_map(|(path, _)| path.parent());
        let starts = selection.paths().iter().filter_map(|path| canonicalize(path).ok()).collect::<Vec<_>>();
        let is_selected = |path: &&Path| selection.recursive && starts.iter().any(|start| path.starts_with(start));
        let paths = selection.paths().iter().map(PathBuf::as_path).chain(before.filter(is_selected));
        let mut findings: Vec<Diagnostic> = Vec::new();
        for finding in paths.filter_map(|path| self.link_added(path, environment)) {
            if !findings.iter().any(|known| known.message == finding.message) {
                findings.push(finding);
            }
        }
        findings
    }

    /// The finding about new files whose paths differ only in case from the path of a file that is read.
    pub(super) fn case_variant(&self, environment: &Environment) -> Option<Diagnostic> {
        let new: Vec<_> = self.changed(|_| true).filter(|path| self.file_before(path).is_none()).collect();
        let mut by_folded: HashMap<String, BTreeSet<&Path>> = HashMap::new();
        for path in self.files_now.iter().map(Path::new).filter(|_| !new.is_empty()) {
            for path in path.ancestors().take_while(|path| path.starts_with(&self.top)) {
                by_folded.entry(folded(&path.to_string_lossy())).or_default().insert(path);
            }
        }
        let has_twin = |path: &Path| by_folded.get(&folded(&path.to_string_lossy())).is_some_and(|all| all.len() > 1);
        let twins = new.into_iter().filter(|path| path.ancestors().any(has_twin));
        let variants: BTreeSet<_> = twins.chain(self.case_variants.iter().map(PathBuf::as_path)).collect();
        let first = environment.shown(variants.first()?);
        let names = few(variants.iter().map(|path| environment.shown(path).display().to_string()));
        let verb = if variants.len() == 1 { "differs" } else { "differ" };
        let message = format!("{names} {verb} only in case from a path that is read");
        let finding = Diagnostic::finding(Code::CaseVariant, message).at(Location::of_file(first), "");
        let note = "file systems of macOS and Windows ignore case, so that it takes the place of the other file there";
        Some(finding.note(note).help("rename or remove it"))
    }

    /// Whether the change adds a line of the source or version of a call, or of what these are computed from.
    pub(super) fn alters(&self, written: &[&Location], origin: &Origin, environment: &Environment) -> bool {
        let mut all = written.iter().copied().chain(&origin.locations);
        origin.has_more || all.any(|location| self.is_new_line(location, environment))
    }

    /// Whether the change adds, alters or removes a file with values of variables in a directory.
    pub(super) fn alters_values(&self, directory: &Path) -> bool {
        let is_of_values = |name: &str| [".tfvars", ".tfvars.json"].iter().any(|end| name.ends_with(end));
        self.changed(is_of_values).any(|path| path.parent() == Some(directory))
    }

    /// Returns the new lines by which Terragrunt stacks create units from outside the repository or from an unknown
    /// source.
    pub(super) fn unknown_stacks(&self, environment: &Environment) -> Vec<Location> {
        let stacks = self
            .now_named(terragrunt::STACK)
            .filter(|path| path.parent().is_some_and(|directory| self.touched.contains(directory)));
        let places = stacks.flat_map(|path| terragrunt::remote_units(path, &environment.shown(path), &self.top));
        places.filter(|place| self.is_new_line(place, environment)).collect()
    }

    /// Whether a line at a location is in its file more often than before the change. Without a line, whether the
    /// change touches the directory of the file.
    pub(super) fn is_new_line(&self, location: &Location, environment: &Environment) -> bool {
        let path = environment.current_directory.join(location.path());
        let directory = path.parent().and_then(|directory| canonicalize(directory).ok());
        let Some((directory, name)) = directory.zip(path.file_name()) else { return false };
        if !self.touched.contains(&directory) {
            return false;
        }
        let now = &location.file.text;
        if now.is_empty() {
            return true;
        }
        let start = now[..location.span.start].rfind('\n').map_or(0, |end| end + 1);
        let end = now[location.span.end..].find('\n').map_or(now.len(), |length| location.span.end + length);
        let mut counts: HashMap<&str, i64> = now[start..end.max(start)].lines().map(|line| (line.trim(), 0)).collect();
        let before = String::from_utf8_lossy(self.file_before(&directory.join(name)).unwrap_or_default());
        for (text, step) in [(now.as_str(), 1), (&*before, -1)] {
            for line in text.lines() {
                if let Some(count) = counts.get_mut(line.trim()) {
                    *count += step;
                }
            }
        }
        counts.values().any(|count| *count > 0)
    }

    /// Findings about changed settings files, each with its directory.
    pub(super) fn changed_settings(&self, environment: &Environment) -> Vec<(&Path, Diagnostic)> {
        let before = self.before_named(settings::FILE_NAME).map(|(path, _)| path);
        let paths: BTreeSet<_> = before.chain(self.now_named(settings::FILE_NAME)).collect();
        let check = |path: &Path| {
            let what = what_changed(self.file_before(path), on_disk(path))?;
            Some(policy_changed(&environment.shown(path), what))
        };
        paths.into_iter().filter_map(|path| Some((path.parent()?, check(path)?))).collect()
    }
}

/// Finding about a removed lock file whose directory still has a configuration.
pub(super) fn removed_lock_file(path: &Path, environment: &Environment) -> Diagnostic {
    let shown = environment.shown(path);
    let is_on_disk = path.exists();
    let message = |path: &Path| {
        let path = path.display();
        if is_on_disk {
            format!("git no longer has the lock file {path}")
        } else {
            format!("the lock file {path} was removed")
        }
    };
    let finding = Diagnostic::finding(Code::RootRemoved, message(&shown)).at(Location::of_file(&shown), "");
    let help = format!("restore it; if this is intended, an owner allows it with --warn {}", Code::RootRemoved);
    finding.help(help)
}

/// Finding about a removed directory that contained these lock files.
fn removed_directory(directory: &Path, paths: &[&Path], environment: &Environment) -> Diagnostic {
    let shown: Vec<_> = paths.iter().map(|path| environment.shown(path)).collect();
    let name = |path: &Path| path.parent().map(normal).unwrap_or_default().display().to_string();
    let message = match &shown[..] {
        [one] => format!("the root module in {} was removed", name(one)),
        many => {
            let directory = environment.shown(&directory.join(LOCK_FILE_NAME));
            format!("{} was removed, with {} root modules", name(&directory), many.len())
        }
    };
    let finding = Diagnostic::finding(Code::RootRemoved, message);
    let finding = finding.at_each(shown.first().map(Location::of_file).as_ref(), "");
    let finding = match shown.len() {
        1 => finding,
        _ => finding.note(format!("root modules: {}", few(shown.iter().map(|path| name(path))))),
    };
    let help = "if this is intended, an owner allows it with --warn";
    let moved = "a moved root module is checked as a new one";
    finding.help(format!("{help} {}; {moved}", Code::RootRemoved))
}

/// A text without differences of case. The upper case of some letters outside ASCII is in ASCII.
fn folded(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}

/// The name of a file; empty if it is not text.
fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// Returns the difference of a file from the base as a verb phrase for a message; `None` if there is none.
pub fn what_changed(before: Option<&[u8]>, now: std::io::Result<Option<Vec<u8>>>) -> Option<&'static str> {
    match (before, now) {
        (None, Ok(None)) => None,
        (Some(before), Ok(Some(now))) if lines(before) == lines(&now) => None,
        (None, _) => Some("is new"),
        (Some(_), Ok(None)) => Some("was removed"),
        (Some(_), _) => Some("has changed"),
    }
}

/// The finding about a changed file that decides how changes are checked. `what` is from [`what_changed`].
pub fn policy_changed(path: &Path, what: &str) -> Diagnostic {
    let message = format!("{} {what}; this change is checked without it", path.display());
    let warning = Diagnostic::finding(Code::PolicyChanged, message).at(Location::of_file(path), "");
    warning.help("review what it will allow for later changes")
}

/// Lines of a text. Git may convert line endings at checkout.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}
