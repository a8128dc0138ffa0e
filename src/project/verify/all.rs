//! Verifying: whether the lock files of root modules fit their configurations, their policies and what is published.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::baseline::Baseline;
use super::mixed::mixed;
use super::verified::{Suppressed, VerifiedRoot};
use crate::configuration::{Backend, ModuleCache, Requirements};
use crate::diagnostic::{Code, Diagnostic, Location, Result, SourceFile};
use crate::packages::archive::HashCache;
use crate::packages::connections::Connections;
use crate::packages::{ProgressSink, Source};
use crate::project::verify::levels::Tuning;
use crate::project::verify::unshared::{IgnoreRules, add_unshared};
use crate::project::verify::{self, Online, Tracking, Verified, VerifyRequest};
use crate::project::{Change, RootSelection, SelectedRoot, Workspace};
use crate::provider::{Dialect, SharedCache, Version};
use crate::settings::{Levels, PlatformSelection};
use crate::system::{OnceMap, canonicalize, parallel};

/// How many root modules are verified at a time when most of the time is spent waiting for a registry.
const ROOTS_ONLINE: usize = 8;

/// What is checked.
pub struct VerifyOptions<'a> {
    /// The platforms that must be covered; else those of the settings.
    pub platforms: Option<PlatformSelection>,
    /// Whether what only test files require counts for nothing.
    pub ignore_tests: bool,
    /// Whether installed packages are compared with the lock file.
    pub check_installed: bool,
    /// Hashes of packages that are known already.
    pub cache: Option<HashCache>,
    /// Asks version control about a root module.
    pub tracked: &'a (dyn Fn(&Path) -> Tracked + Sync),
    /// Asks version control by which lines it ignores lock files. Called once, if any may be ignored.
    pub ignore_rules: IgnoreRules<'a>,
    /// What the caller says of findings; it wins over the settings.
    pub levels: &'a Levels,
    /// Findings that are not to be reported.
    pub baseline: Option<&'a Baseline>,
    /// How to ask what is published, if that is to be asked.
    pub online: Option<OnlineOptions<'a>>,
}

/// What version control knows of the files of a root module.
pub struct Tracked {
    /// Whether the lock file is tracked.
    pub lock_file: Tracking,
    /// The files below `.terraform` that are tracked, as the user knows them.
    pub data_files: Vec<PathBuf>,
}

/// How to ask what is published.
#[derive(Clone, Copy)]
pub struct OnlineOptions<'a> {
    /// How hosts are reached.
    pub connections: &'a Connections,
    /// Whether facts that a trusted key has signed count.
    pub trust_shared: bool,
    /// Takes note of downloads.
    pub progress: ProgressSink<'a>,
}

/// Verifies the root modules that paths mean, each with a result of its own. Nothing is written.
///
/// # Errors
/// The root modules cannot be found. What is wrong with a single root module is its own result.
pub fn verify_all(selection: &RootSelection<'_>, options: &VerifyOptions<'_>) -> Result<Vec<Result<VerifiedRoot>>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.online.is_some() { ROOTS_ONLINE } else { cores };
    let sources = OnceMap::default();
    let selected = selection.roots()?;
    let are_many = selection.recursive || selected.len() != 1;
    let verify = |SelectedRoot { path, is_named }: SelectedRoot| {
        let in_root = |error: Diagnostic| if are_many { error.in_root(&path) } else { error };
        let verified = selection.open(&path).and_then(|workspace| {
            let canonical = workspace.canonical.clone();
            let verified = workspace.verify(is_named, options, selection, &sources);
            selection.modules.forget(&canonical);
            verified
        });
        let (mut root, unshared, tuning) = verified.map_err(|errors| errors.map(in_root))?;
        root.errors = root.errors.into_iter().map(in_root).collect();
        Ok((root, unshared, tuning))
    };
    let (mut roots, mut tunings) = (Vec::new(), Vec::new());
    for verdict in parallel::map(selected, threads, verify) {
        roots.push(verdict.map(|(root, unshared, tuning)| {
            tunings.push(tuning);
            (root, unshared)
        }));
    }
    let mut roots = add_unshared(roots, options.ignore_rules);
    if let Some(change) = selection.change {
        judge(change, selection, &mut roots)?;
    }
    if selection.recursive {
        for (index, finding) in mixed(&roots, selection) {
            roots[index].iter_mut().for_each(|root| root.findings.push(finding.clone()));
        }
    }
    for (root, tuning) in roots.iter_mut().flatten().zip(tunings) {
        tuning.finish(root);
    }
    Ok(roots)
}

/// Adds what there is to say of a change as a whole to the findings in the first root module that it concerns.
fn judge(change: &Change, selection: &RootSelection<'_>, roots: &mut [Result<VerifiedRoot>]) -> Result<()> {
    let mut roots: Vec<_> = roots.iter_mut().filter_map(|root| root.as_mut().ok()).collect();
    for (directory, finding) in change.changed_settings(selection.environment) {
        let is_below = |root: &VerifiedRoot| canonicalize(&root.path).is_ok_and(|root| root.starts_with(directory));
        if let Some(root) = roots.iter_mut().find(|root| is_below(root)) {
            root.findings.push(finding);
        }
    }
    let removed = selection.removed(change)?;
    if let Some(root) = roots.first_mut() {
        root.findings.splice(0..0, removed.into_iter().chain(change.findings.iter().cloned()));
    }
    Ok(())
}

/// One source for each dialect, and for those who trust others with facts, made when a root module needs it.
type Sources = OnceMap<(Dialect, Option<SharedCache>), Result<Arc<Source>>>;

impl Workspace {
    /// Verifies the lock file. What is to be said unless git ignores the lock file for a reason that others share comes along, and
    /// what decides which findings are reported.
    fn verify<'a>(
        self,
        is_named: bool,
        options: &VerifyOptions<'a>,
        selection: &RootSelection<'_>,
        sources: &Sources,
    ) -> Result<(VerifiedRoot, Option<Diagnostic>, Tuning<'a>)> {
        if let Some(refused) = self.refused {
            let levels = (options.levels, &self.settings.verify[..]);
            let tuning = Tuning::new(&self.canonical, levels, options.baseline, Vec::new(), 0);
            let root = VerifiedRoot {
                path: self.root,
                lock_path: self.lock_path,
                dialect: self.dialect,
                dialect_reason: self.dialect_reason,
                platforms: None,
                entries: 0,
                registry: None,
                findings: vec![refused],
                errors: Vec::new(),
                suppressed: Suppressed::default(),
            };
            return Ok((root, None, tuning));
        }
        let source = |OnlineOptions { connections, trust_shared, .. }: OnlineOptions<'_>| {
            let shared = self.settings.shared_cache().filter(|_| trust_shared);
            let key = (self.dialect, shared.cloned());
            sources.get_or_compute(&key, || connections.source_with(self.dialect, shared).map(Arc::new))
        };
        let source = options.online.map(source).transpose()?;
        let online = source.as_deref().zip(options.online);
        let platforms = options.platforms.clone().or_else(|| self.settings.platforms.clone());
        let tracked = (options.tracked)(&self.root);
        let base = selection.change.map(|change| change.lock_file_before(&self.root));
        let had_lock_file = base.is_some_and(|bytes| !bytes.is_empty());
        let Verified { mut findings, mut unshared, errors, entries, registry, ignored, looked_for } =
            verify::verify(&VerifyRequest {
                root: &self.root,
                dialect: self.dialect,
                lock_path: &self.lock_path,
                lock_bytes: self.lock_bytes.as_deref(),
                requirements: &self.known_requirements(options.ignore_tests, selection.modules)?,
                platforms: platforms.as_ref(),
                policy: &self.settings.policy,
                cache: options.cache.as_ref(),
                installed: &self.root.join(&self.data_directory).join("providers"),
                check_installed: options.check_installed,
                tracking: tracked.lock_file,
                expects_lock_file: had_lock_file || self.expects_lock_file(is_named, selection.modules),
                tracked_data: &tracked.data_files,
                base,
                online: online.map(|(source, OnlineOptions { progress, .. })| Online { source, progress }),
            });
        if had_lock_file {
            // A change must not get rid of a lock file by ignoring it.
            findings.splice(0..0, unshared.take());
        }
        let in_root = |one: Diagnostic| self.in_dialect(one.in_directory(&self.root));
        let findings = findings.into_iter().map(in_root).collect();
        let errors = errors.into_iter().map(in_root).collect();
        let levels = (options.levels, &self.settings.verify[..]);
        let mut tuning = Tuning::new(&self.canonical, levels, options.baseline, looked_for, ignored);
        let unshared = unshared.map(in_root).and_then(|finding| tuning.tune(finding));
        let Self { root: path, lock_path, dialect, dialect_reason, .. } = self;
        let root = VerifiedRoot {
            path,
            lock_path,
            dialect,
            dialect_reason,
            platforms,
            entries,
            registry,
            findings,
            errors,
            suppressed: Suppressed::default(),
        };
        Ok((root, unshared, tuning))
    }

    /// Whether it is wrong if there is no lock file: somebody asks for it, or state is shared, so that others run `init`
    /// here too. Programs before 0.14 know no lock file.
    fn expects_lock_file(&self, is_named: bool, modules: &ModuleCache) -> bool {
        let module = self.module(modules);
        let shares_state = module.backend().is_some_and(|backend| backend != Backend::Local);
        (is_named || shares_state) && !module.required_version().is_below(&Version::new(0, 14, 0))
    }

    /// What the configuration requires, as far as it is known. Beside a lock file there need not be one.
    fn known_requirements(&self, ignore_tests: bool, modules: &ModuleCache) -> Result<Requirements> {
        if self.lock_bytes.is_none() || self.has_configuration(modules) {
            return self.requirements(ignore_tests, true, modules);
        }
        let path = &self.lock_path;
        let message = format!("there is no configuration beside {}, so it was checked on its own", path.display());
        // The finding is about the file as a whole; its start stands for it.
        let location = Location::new(&SourceFile::new(path, ""), 0..0);
        let warning = Diagnostic::warning(Code::NoConfiguration, message)
            .at(location, "")
            .help("remove the lock file, unless a configuration is put beside it later");
        Ok(Requirements { is_incomplete: true, warnings: vec![warning], ..Requirements::default() })
    }
}
