//! The base revision of a change under review: facts that all root modules share, and the lock
//! files of one root module.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::altered_calls::WrittenCalls;
use crate::configuration::terragrunt::{self, UnitSource, remote};
use crate::configuration::{DATA_DIRECTORY, Module, ModuleCache, Origin, UnknownCall, is_test};
use crate::diagnostic::Location;
use crate::hcl::code_lines::{CodeLine, code_lines};
use crate::lockfile::{
    EntryKind, LOCK_FILE_NAME, LockFile, LockedModule, LockedProvider, MODULE_LOCK_FILE_NAME,
    ModuleLockFile, Parsed, detect_dialect, named_providers, parse, parse_as,
};
use crate::modules::locked::{self, publisher, publisher_of_source};
use crate::project::reviewed_change::ReviewedChange;
use crate::project::root_module::RootModule;
use crate::project::unit::{literal_source, read_unit};
use crate::provider::{Dialect, ProviderAddress, Version};
use crate::system::{Environment, canonicalize, parallel};

const DIALECTS: [Dialect; 2] = [Dialect::Tofu, Dialect::Terraform];

/// The base revision as far as it concerns one root module.
pub(super) struct Base<'a> {
    pub(super) facts: &'a BaseFacts<'a>,
    pub(super) providers: BaseLockFile<'a, LockedProvider>,
    pub(super) modules: BaseLockFile<'a, LockedModule>,
}

/// A lock file at the base revision. It is parsed once, when it is first needed.
pub(super) struct BaseLockFile<'a, T: EntryKind> {
    /// The path of the lock file, as the user knows it.
    pub(super) path: PathBuf,
    /// The content; empty if there was no file.
    pub(super) bytes: &'a [u8],
    /// Whether git has a different file than at the base revision.
    pub(super) is_altered: bool,
    dialect: Dialect,
    parsed: OnceLock<Parsed<T>>,
}

/// Providers, and publishers of modules, at the base revision: hosts, with the namespace of a
/// registry or the owner of repositories. Facts outside of lock files are collected when they are
/// first needed.
pub(super) struct BaseFacts<'a> {
    pub(super) change: &'a ReviewedChange,
    environment: &'a Environment,
    modules: &'a ModuleCache,
    /// Providers in lock files.
    pub(super) providers: BTreeSet<ProviderAddress>,
    /// Entries of lock files of modules.
    pub(super) modules_before: Vec<Arc<LockedModule>>,
    /// Publishers in lock files of modules.
    pub(super) locked: BTreeSet<String>,
    versions: OnceLock<BTreeMap<ProviderAddress, BTreeSet<Version>>>,
    only_dialect: OnceLock<Option<Dialect>>,
    written: WrittenCalls,
    called: OnceLock<Called>,
    run: OnceLock<BTreeSet<String>>,
    unit_sources: OnceLock<BTreeSet<String>>,
    /// Directories in which the change alters a file with values of variables.
    altered_values: OnceLock<BTreeSet<PathBuf>>,
    /// Files that the change alters and that Terragrunt may read.
    altered_terragrunt_files: OnceLock<BTreeSet<PathBuf>>,
}

/// Module calls at the base revision.
#[derive(Default)]
pub(super) struct Called {
    /// The publishers of all calls whose source is plain text.
    pub(super) publishers: BTreeSet<String>,
    /// Whether there is a call whose source is computed.
    pub(super) is_computed: bool,
}

impl<'a> Base<'a> {
    pub(super) fn new(facts: &'a BaseFacts<'a>, root: &'a RootModule) -> Self {
        Self {
            facts,
            providers: BaseLockFile::new(facts.change, root),
            modules: BaseLockFile::new(facts.change, root),
        }
    }
}

impl<'a, T: EntryKind> BaseLockFile<'a, T> {
    fn new(change: &'a ReviewedChange, root: &'a RootModule) -> Self {
        if let Some(name) = &root.found.lock_name {
            return Self::copied(change, root, name);
        }
        let canonical = root.lock_directory.join(T::FILE_NAME);
        let (bytes, is_altered) = (
            change.file_before(&canonical).unwrap_or_default(),
            change.differing.contains(&canonical),
        );
        let path = root.lock_path.with_file_name(T::FILE_NAME);
        Self {
            path,
            bytes,
            is_altered,
            dialect: root.dialect,
            parsed: OnceLock::new(),
        }
    }

    /// The base of a lock file under a different name. If the change alters it, all of its entries
    /// are new, because its content at the base revision is not read.
    fn copied(change: &ReviewedChange, root: &'a RootModule, name: &str) -> Self {
        let is_altered = change.differing.contains(&root.lock_directory.join(name));
        let bytes = match &root.lock_bytes {
            Some(bytes) if !is_altered && T::FILE_NAME == LOCK_FILE_NAME => bytes,
            _ => &[][..],
        };
        Self {
            path: root.lock_path.clone(),
            bytes,
            is_altered,
            dialect: root.dialect,
            parsed: OnceLock::new(),
        }
    }

    pub(super) fn parsed(&self) -> &Parsed<T> {
        self.parsed
            .get_or_init(|| parse_as(&self.path, self.bytes, self.dialect))
    }
}

impl<'a> BaseFacts<'a> {
    pub(super) fn of(
        change: &'a ReviewedChange,
        environment: &'a Environment,
        modules: &'a ModuleCache,
    ) -> Self {
        let of_file = |(path, bytes)| ModuleLockFile::parse(path, bytes).lock_file;
        // Installed modules may contain such files, too.
        let is_installed = |path: &Path| {
            path.iter()
                .any(|part| part == DATA_DIRECTORY || part == terragrunt::CACHE)
        };
        let files = change
            .before_named(MODULE_LOCK_FILE_NAME)
            .filter(|(path, _)| !is_installed(path));
        let files = files.filter_map(of_file);
        let locked: Vec<_> = files
            .flat_map(|file| file.locks().values().cloned().collect::<Vec<_>>())
            .collect();
        Self {
            change,
            environment,
            modules,
            providers: named_providers(
                change
                    .before_named(LOCK_FILE_NAME)
                    .map(|(_, bytes)| bytes)
                    .collect(),
            ),
            locked: locked
                .iter()
                .flat_map(|locked| locked::publishers(locked))
                .collect(),
            modules_before: locked,
            versions: OnceLock::new(),
            only_dialect: OnceLock::new(),
            written: WrittenCalls::default(),
            called: OnceLock::new(),
            run: OnceLock::new(),
            unit_sources: OnceLock::new(),
            altered_values: OnceLock::new(),
            altered_terragrunt_files: OnceLock::new(),
        }
    }

    /// Returns the locked versions of each provider, from all lock files that can be read.
    pub(super) fn versions(&self) -> &BTreeMap<ProviderAddress, BTreeSet<Version>> {
        self.versions.get_or_init(|| {
            let of_file = |(path, bytes)| {
                let lock_file = parse(path, bytes, Dialect::Tofu).lock_file;
                let entries = lock_file.iter().flat_map(LockFile::entries);
                entries
                    .map(|entry| (entry.address.clone(), entry.locked.version.clone()))
                    .collect::<Vec<_>>()
            };
            let files = self.change.before_named(LOCK_FILE_NAME).collect();
            let mut versions = BTreeMap::<_, BTreeSet<_>>::new();
            for (address, version) in parallel::map(files, parallel::cores(), of_file)
                .into_iter()
                .flatten()
            {
                versions.entry(address).or_default().insert(version);
            }
            versions
        })
    }

    /// Whether the change makes a call unknown: it alters the call, or it empties the directory
    /// that is called.
    pub(super) fn makes_unknown(&self, root: &RootModule, unknown: &UnknownCall) -> bool {
        self.alters(root, &[&unknown.location], &unknown.origin)
            || unknown
                .directory
                .as_ref()
                .is_some_and(|directory| self.change.empties(directory))
    }

    /// Whether the change alters a call: its source, its version, or a value that these are
    /// computed from.
    pub(super) fn alters(&self, root: &RootModule, written: &[&Location], origin: &Origin) -> bool {
        let is_generated = || root.units.iter().any(|unit| self.may_alter(&unit.read));
        (origin.is_generated && is_generated())
            || self
                .written
                .alters(self.change, self.modules, written, origin)
    }

    /// Returns the module calls of all directories.
    pub(super) fn called(&self) -> &Called {
        self.called.get_or_init(|| {
            let of_directory =
                |(directory, dialect)| match self.change.module_before(directory, dialect) {
                    Some(before) => Called::of(&before, dialect),
                    None => Called::of(&self.modules.module(directory, dialect), dialect),
                };
            let directories = self
                .change
                .configured_before()
                .into_iter()
                .flat_map(|directory| self.read_before(directory));
            let all = parallel::map(directories.collect(), parallel::cores(), of_directory);
            all.into_iter().reduce(Called::and).unwrap_or_default()
        })
    }

    /// The dialect of all lock files of the base, if it is the same.
    fn only_dialect(&self) -> Option<Dialect> {
        *self.only_dialect.get_or_init(|| {
            let found = self
                .change
                .before_named(LOCK_FILE_NAME)
                .filter_map(|(_, bytes)| detect_dialect(bytes));
            let found: HashSet<_> = found.collect();
            if found.len() == 1 {
                found.into_iter().next()
            } else {
                None
            }
        })
    }

    /// A directory, in each dialect in which its configuration may have been loaded at the base.
    /// Otherwise a change could add calls that are never loaded, so that a later one finds their
    /// publishers known.
    fn read_before<'b>(
        &self,
        directory: &'b Path,
    ) -> impl Iterator<Item = (&'b Path, Dialect)> + use<'b> {
        let lock_file = self.change.file_before(&directory.join(LOCK_FILE_NAME));
        let dialect = lock_file
            .and_then(detect_dialect)
            .or_else(|| self.only_dialect());
        let is_module = self.change.was_module(directory);
        let is_read = move |one: &Dialect| is_module && dialect.is_none_or(|known| known == *one);
        DIALECTS
            .into_iter()
            .filter(is_read)
            .map(move |one| (directory, one))
    }

    /// Returns the publishers of the modules that Terragrunt units run: publishers in strings of
    /// Terragrunt's files, and publishers of unaltered units.
    pub(super) fn run(&self) -> &BTreeSet<String> {
        self.run.get_or_init(|| {
            if !self.change.had_units() {
                return BTreeSet::new();
            }
            let texts = self
                .change
                .texts_before(|name| terragrunt::may_read(name) && !is_test(name));
            let mut known: BTreeSet<_> = texts
                .iter()
                .flat_map(|text| named(&String::from_utf8_lossy(text)))
                .collect();
            let directories = self.change.configured_before().into_iter();
            let units = directories.filter_map(|directory| read_unit(directory, self.environment));
            let sources = units
                .filter(|unit| !self.may_alter(unit))
                .filter_map(|unit| unit.source.ok());
            known.extend(sources.flat_map(|source| match source {
                UnitSource::Remote(source) => publishers_of(&source),
                UnitSource::Local(_) | UnitSource::Unit => BTreeSet::new(),
            }));
            known
        })
    }

    /// Returns the remote sources of all units that the change does not touch, where they are plain
    /// strings.
    pub(super) fn unit_sources(&self) -> &BTreeSet<String> {
        self.unit_sources.get_or_init(|| {
            let files = terragrunt::FILE_NAMES
                .into_iter()
                .flat_map(|name| self.change.now_named(name));
            let untouched = files
                .filter_map(Path::parent)
                .filter(|directory| !self.change.touched.contains(*directory));
            untouched
                .filter_map(|directory| literal_source(directory, self.environment))
                .collect()
        })
    }

    /// Whether the change may alter the values of a root module's variables. The values for a unit
    /// may be in any of Terragrunt's files, and in the directory of its module.
    pub(super) fn may_alter_values(&self, root: &RootModule) -> bool {
        let altered = self
            .altered_values
            .get_or_init(|| self.change.altered_values().map(Path::to_owned).collect());
        let named = self.modules.variables.named_files(&root.canonical);
        let mut named = named.iter().filter_map(|path| canonicalize(path).ok());
        let mut units = root.units.iter();
        units.any(|unit| self.may_alter(&unit.read))
            || (!root.units.is_empty() && !altered.is_empty())
            || altered.contains(&root.canonical)
            || named.any(|file| self.change.differing.contains(&file))
    }

    /// Whether the change may alter what a unit runs: it alters a file of Terragrunt's in the
    /// directory of the unit or above, or any file that was read for it. If something about the
    /// unit is not known, it may read any file.
    pub(super) fn may_alter(&self, unit: &terragrunt::Unit) -> bool {
        let change = self.change;
        let altered = || {
            change
                .changed(terragrunt::may_read)
                .map(Path::to_owned)
                .collect()
        };
        let altered = self.altered_terragrunt_files.get_or_init(altered);
        let is_unknown = unit.source.is_err() || !unit.unknown.is_empty() || unit.inputs.is_partial;
        altered
            .iter()
            .filter_map(|path| path.parent())
            .any(|changed| unit.directory.starts_with(changed))
            || unit
                .files
                .iter()
                .any(|file| altered.contains(file) || change.differing.contains(file))
            || (is_unknown && altered.iter().any(|path| !is_own(path)))
    }
}

/// Whether the change alters code of a unit's files on which a source may depend: anything but its
/// inputs, and the files that it generates.
pub(super) fn alters_code(change: &ReviewedChange, unit: &terragrunt::Unit) -> bool {
    let others = ["inputs", "generate", "remote_state"];
    let is_meant = |line: &CodeLine| !others.iter().any(|start| line.block.starts_with(start));
    let mut altered = unit.files.intersection(&change.differing);
    altered.any(|file| change.alters_lines(file, is_meant))
}

impl Called {
    fn of(module: &Module, dialect: Dialect) -> Self {
        let requests: Vec<_> = module.requests(dialect).collect();
        let publishers = requests.iter().filter_map(publisher).collect();
        Self {
            publishers,
            is_computed: module.computes_sources(),
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.publishers.extend(other.publishers);
        Self {
            is_computed: self.is_computed || other.is_computed,
            ..self
        }
    }
}

/// Whether a file is a unit's own, which other units do not read without naming it.
fn is_own(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| terragrunt::FILE_NAMES.iter().any(|own| name == *own))
}

/// Returns the publishers of the addresses in the strings of a text, except in comments. Of a
/// template the part before the first expression counts, up to the last slash: `github.com/acme` in
/// `"git::https://github.com/acme/${local.name}.git"`.
fn named(text: &str) -> BTreeSet<String> {
    let lines = code_lines(text).unwrap_or_default();
    let strings = lines
        .iter()
        .flat_map(|line| line.code.split('"').skip(1).step_by(2));
    let address = |string: &str| {
        let (constant, is_template) = match string.find("${") {
            Some(end) => (&string[..end], true),
            None => (string, false),
        };
        match constant.find('?') {
            Some(end) => constant[..end].to_owned(),
            None if is_template => constant[..constant.rfind('/').unwrap_or(0)].to_owned() + "/",
            None => constant.to_owned(),
        }
    };
    strings
        .filter(|string| string.contains('/'))
        .flat_map(|string| publishers_of(&address(string)))
        .collect()
}

/// Returns the publishers of a unit's source. The default registry differs between the dialects.
fn publishers_of(source: &str) -> BTreeSet<String> {
    let parse = |dialect| publisher_of_source(&remote::requested(source, dialect)?.0);
    DIALECTS
        .into_iter()
        .filter_map(parse)
        .filter(|publisher| !publisher.ends_with('/'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_a_text_name_publishers() {
        for (text, expected) in [
            (
                "source = \"git::https://github.com/acme/a.git//m?ref=${local.tag}\"",
                &["github.com/acme"][..],
            ),
            (
                "url = \"git::ssh://git@github.com/acme/${local.name}.git\"",
                &["github.com/acme"],
            ),
            ("url = \"git::https://github.com/ac${local.me}/a.git\"", &[]),
            ("url = \"https://mod${local.ule}.test/a.zip\"", &[]),
            (
                "url = \"https://modules.test:8443/${local.name}.zip\"",
                &["modules.test:8443"],
            ),
            (
                "source = \"tfr:///acme/vpc/aws?version=${local.version}\"",
                &["registry.opentofu.org/acme", "registry.terraform.io/acme"],
            ),
            (
                "source = \"tfr://example.com/acme/vpc/aws\"",
                &["example.com/acme"],
            ),
            (
                "source = \"github.com/acme/a\" # \"github.com/b/c\"",
                &["github.com/acme"],
            ),
            ("source = \"../modules/m\"\nname = \"a/b/c\"", &[]),
        ] {
            assert_eq!(
                named(text).into_iter().collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
    }
}
