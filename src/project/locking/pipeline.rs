//! Locking and upgrading: the steps of each root module, several root modules in parallel.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::named_targets::{named_providers, unknown_calls_error};
use crate::configuration::rewrite::ConstraintEdit;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Location, Result, RunOption};
use crate::lockfile;
use crate::packages::{ProgressSink, Source};
use crate::project::event::{Event, LockedRootModule, Report, RootOutcome};
use crate::project::options::{LockOptions, UpgradeOptions};
use crate::project::plan::moves::UpgradePlan;
use crate::project::plan::prepared::Prepared;
use crate::project::plan::rewrites::{self, Rewrites};
use crate::project::plan::{
    self, LockOutcome, LockRequest, LockRun, Question, RegistryData, SelectedVersions,
    SharedEntries,
};
use crate::project::root_module::RootModule;
use crate::project::root_module::linked_lock_files::{LOCK_FILES, Linked};
use crate::project::root_module::roots::{FoundRoot, Roots};
use crate::project::session::{ModuleFetching, Session};
use crate::provider::Hostname;
use crate::system::files::{self, FileChange, WriteError};
use crate::system::parallel::{self, Permit, Permits, WAITING_REQUESTS};
use crate::system::shared_jobs::with_shared_jobs;
use crate::system::{Tree, lock};

/// Maximum number of root modules that are open at the same time. While some wait for answers, the
/// requests of the others are sent.
pub(super) const SIDE_BY_SIDE: usize = 64;

/// Maximum number of locked root modules that wait until those before them are reported.
const UNREPORTED: usize = 64;

impl Session<'_> {
    /// Locks every required provider in root modules, and writes the lock files that change. A
    /// failure does not stop the other root modules, and leaves the files of its root module as
    /// they were. Of each outcome only the value that `keep` returns is kept, because many outcomes
    /// take much memory.
    ///
    /// # Errors
    /// The options name a provider that no root module requires. Errors about a single root module
    /// are in the report.
    pub fn lock<T>(
        &self,
        roots: &Roots,
        options: &LockOptions,
        keep: impl FnMut(RootOutcome) -> T,
    ) -> Result<Report<T>> {
        self.lock_roots(roots, options, None, keep)
    }

    /// Moves the providers of root modules, or their modules, to newer versions. Root modules that
    /// share a constraint fail if they need different texts of it. Outcomes are kept as by
    /// [`Session::lock`].
    ///
    /// # Errors
    /// The options name a provider that no root module requires, or a module call that no root
    /// module has. Errors about a single root module are in the report.
    pub fn upgrade<T>(
        &self,
        roots: &Roots,
        options: &UpgradeOptions,
        keep: impl FnMut(RootOutcome) -> T,
    ) -> Result<Report<T>> {
        if options.moves_modules() && self.options.offline {
            let message = "modules cannot be upgraded offline, because their versions are unknown";
            let help = Help::text("omit ").and(RunOption::Offline);
            return Err(Diagnostic::error(Code::InvalidArgument, message)
                .help(help)
                .into());
        }
        if options.moves_modules() && self.options.modules != ModuleFetching::Fetch {
            let message = "modules cannot be upgraded if none may be fetched, because their versions are unknown";
            let settings = ", or set fetch-modules = true in provlock.toml";
            let help = Help::text("omit ")
                .and(RunOption::FetchNoModules)
                .and_text(settings);
            return Err(Diagnostic::error(Code::InvalidArgument, message)
                .help(help)
                .into());
        }
        self.lock_roots(roots, &options.lock, Some(options), keep)
    }

    /// Locks root modules, several at a time. Where root modules share a lock file through links,
    /// only the first is among them, and the rest follows one by one.
    fn lock_roots<T>(
        &self,
        roots: &Roots,
        options: &LockOptions,
        upgrade: Option<&UpgradeOptions>,
        mut keep: impl FnMut(RootOutcome) -> T,
    ) -> Result<Report<T>> {
        // An earlier run may have read other files.
        self.shared_requirements.forget_all();

        // 1. Check the names that the user gives, and collect what an offline run knows. The user
        // sees which modules were read even if a name is wrong.
        self.notify(Event::Reading);
        let named_providers = named_providers(self, roots, options, upgrade);
        self.notify_sources_read();
        let options = &LockOptions {
            providers: named_providers?,
            ..options.clone()
        };
        let mut offline_source = None;
        if self.options.offline {
            offline_source = Some(source_of_offline_run(self, roots));
        }

        // 2. Take each root module through the pipeline.
        let mut report = Report {
            roots: Vec::new(),
            findings: Vec::new(),
            coverage: roots.passed_over.clone(),
        };
        self.with_pipeline(options, upgrade, offline_source, |pipeline| {
            let users = split_by_shared_lock_file(&roots.list);
            for (list, side_by_side) in [(users.first, SIDE_BY_SIDE), (users.later, 1)] {
                pipeline.each_root(&list, side_by_side, |path, result| {
                    report.roots.push((path.to_owned(), result.map(&mut keep)));
                });
            }
        });
        self.notify_at_end();
        for facts in self.connections.shared_facts() {
            report.findings.extend(facts.warning());
        }
        Ok(report)
    }

    /// Starts a pipeline for a run of `lock` or `upgrade`. The threads that ask sources end with
    /// it. Offline, `offline_source` is the source of all root modules.
    pub(super) fn with_pipeline<R>(
        &self,
        options: &LockOptions,
        upgrade: Option<&UpgradeOptions>,
        offline_source: Option<Arc<Source>>,
        run: impl FnOnce(&Pipeline<'_, '_>) -> R,
    ) -> R {
        let progress: ProgressSink<'_> = &|package, progress| self.note_progress(package, progress);
        with_shared_jobs(
            WAITING_REQUESTS,
            |question: &Question| question.ask(progress),
            |questions| {
                run(&Pipeline {
                    session: self,
                    run: LockRun {
                        options,
                        upgrade,
                        questions,
                        shared_entries: SharedEntries::default(),
                        is_offline: self.options.offline,
                        cache: self.hash_cache.as_ref(),
                        progress,
                    },
                    offline_source,
                    planning_permits: Permits::new(WAITING_REQUESTS as u64),
                    notified_hosts: Mutex::default(),
                })
            },
        )
    }
}

/// The steps from a root module to its lock file, and what root modules share on the way.
pub(super) struct Pipeline<'a, 'b> {
    session: &'a Session<'b>,
    run: LockRun<'a>,
    /// Source of all root modules of an offline run.
    offline_source: Option<Arc<Source>>,
    /// Threads with which root modules plan, besides their own.
    planning_permits: Permits,
    /// Hosts of the required providers of all root modules so far, which were notified.
    notified_hosts: Mutex<BTreeSet<Hostname>>,
}

/// A root module whose versions are selected.
struct Planned<'a> {
    prepared: Prepared,
    source: Arc<Source>,
    registry_data: Option<RegistryData<'a>>,
    selection: SelectedVersions,
    /// Moves of providers and modules, in an upgrade.
    plan: Option<UpgradePlan>,
}

/// The change of a file, if its content changes.
fn change_if_different(path: &Path, old: Option<&Vec<u8>>, new: Vec<u8>) -> Option<FileChange> {
    if old == Some(&new) {
        return None;
    }
    Some(FileChange {
        path: path.to_owned(),
        old: old.cloned(),
        new,
    })
}

/// A version constraint in quotes, as an edit that leaves it unchanged. `None` without quotes.
fn unchanged_edit(quoted: &Location) -> Option<ConstraintEdit> {
    let written = quoted.file.text.get(quoted.span.clone())?;
    let text = written.strip_prefix('"')?.strip_suffix('"')?;
    Some(ConstraintEdit {
        new: text.to_owned(),
        location: Location::new(&quoted.file, quoted.span.start + 1..quoted.span.end - 1),
    })
}

impl Planned<'_> {
    fn edits(&self) -> impl Iterator<Item = &ConstraintEdit> {
        self.plan.iter().flat_map(|plan| &plan.edits)
    }

    /// Strings of the configuration that the plan depends on, each with the text that it needs
    /// there: the edits, and the constraints of the planned providers that have none.
    fn shared_texts(&self) -> Vec<ConstraintEdit> {
        let mut texts = Vec::new();
        let mut edited = BTreeSet::new();
        for edit in self.edits() {
            edited.insert((edit.location.path().to_owned(), edit.location.span.start));
            texts.push(edit.clone());
        }
        for requirement in self.selection.requirements(&self.prepared) {
            for declaration in &requirement.declarations {
                if let Some(version) = &declaration.version
                    && let Some(text) = unchanged_edit(version)
                    && !edited
                        .contains(&(text.location.path().to_owned(), text.location.span.start))
                {
                    texts.push(text);
                }
            }
        }
        texts
    }
}

/// The plans of the root modules that could be planned and require a named provider.
fn planned_roots<'a, 'b>(
    plans: &'b [Result<Option<Planned<'a>>>],
) -> impl Iterator<Item = &'b Planned<'a>> {
    plans.iter().flatten().flatten()
}

impl Pipeline<'_, '_> {
    /// Takes each root module through all steps, up to `side_by_side` at the same time, and passes
    /// the outcomes to `report` in the order of the list.
    fn each_root(
        &self,
        list: &[FoundRoot],
        side_by_side: usize,
        mut report: impl FnMut(&Path, Result<RootOutcome>),
    ) {
        let threads = side_by_side.min(list.len());

        // Root modules that share a constraint must agree on it before the first file changes, so
        // their plans are made first. All others are planned when they are carried out, because
        // plans take much memory.
        let mut early_plans = Vec::new();
        if self
            .run
            .upgrade
            .is_some_and(|options| options.rewrite_constraints)
        {
            early_plans = self.plan_together(list, threads);
        }
        let rewrites = Rewrites::new(planned_roots(&early_plans).flat_map(Planned::edits));

        let mut next_plans = early_plans.into_iter();
        let jobs = list.iter().map(|root| (root, next_plans.next()));
        parallel::in_order(
            jobs,
            threads,
            UNREPORTED,
            |(root, early_plan)| {
                let plan = match early_plan {
                    Some(plan) => plan,
                    None => self.plan(root),
                };
                (root, self.carry_out(root, plan, &rewrites))
            },
            |(root, result)| {
                // A root module that requires no named provider is not reported.
                if let Some(outcome) = result.transpose() {
                    report(&root.path, outcome);
                }
            },
        );
    }

    /// Plans all root modules. They fail if they need different texts of a shared constraint.
    fn plan_together(
        &self,
        list: &[FoundRoot],
        threads: usize,
    ) -> Vec<Result<Option<Planned<'_>>>> {
        let mut plans = parallel::map(list.iter().collect(), threads, |root| self.plan(root));
        let has_edits = planned_roots(&plans).any(|plan| plan.edits().next().is_some());
        if has_edits {
            let paths: Vec<_> = list.iter().map(|root| root.path.as_path()).collect();
            rewrites::fail_if_texts_differ(&mut plans, &paths, |plan| match plan {
                Some(plan) => plan.shared_texts(),
                None => Vec::new(),
            });
        }
        plans
    }

    /// Plans a root module, the first steps of locking it: nothing is fetched but modules, and
    /// lists of versions. `None` for a root module that requires no named provider.
    fn plan(&self, root: &FoundRoot) -> Result<Option<Planned<'_>>> {
        // 1. Read the settings, the lock files and the requirements, with the modules that the
        // root module calls.
        let Some(prepared) = self.read_if_required(root)? else {
            return Ok(None);
        };

        // 2. Find the source of the packages, and publication dates if something depends on them.
        let source = self.source_of(&prepared)?;
        let registry_data = self.registry_data_if_used(&prepared)?;

        // 3. Select a version for each provider.
        let request = self.lock_request(&prepared, &source, registry_data);
        let selected = self
            .check_named_calls(&prepared)
            .and_then(|()| self.select_versions(&request));
        let mut selection =
            selected.map_err(|errors| prepared.root.with_all_sharing_root_modules(errors))?;
        let mut plan = None;
        if self.run.upgrade.is_some() {
            plan = Some(selection.take_upgrade_plan(&request));
        }
        Ok(Some(Planned {
            prepared,
            source,
            registry_data,
            selection,
            plan,
        }))
    }

    /// Locks a planned root module. If a different program, such as a second run, has changed a
    /// file meanwhile, the root module is planned once more by the new content.
    fn carry_out(
        &self,
        root: &FoundRoot,
        planned: Result<Option<Planned<'_>>>,
        rewrites: &Rewrites,
    ) -> Result<Option<RootOutcome>> {
        // Edits of other root modules depend on the plan of this one.
        let has_edits =
            planned_roots(std::slice::from_ref(&planned)).any(|plan| plan.edits().next().is_some());
        match self.lock_planned(planned, rewrites) {
            Err(WriteError::Changed(_)) if !has_edits => {
                self.session.shared_requirements.forget_all();
                Ok(self.lock_planned(self.plan(root), rewrites)?)
            }
            result => Ok(result?),
        }
    }

    /// Takes a planned root module through the other steps of [`Pipeline::plan`]. `None` for a root
    /// module that requires no named provider.
    fn lock_planned(
        &self,
        planned: Result<Option<Planned<'_>>>,
        rewrites: &Rewrites,
    ) -> std::result::Result<Option<RootOutcome>, WriteError> {
        let Some(Planned {
            prepared,
            source,
            registry_data,
            selection,
            plan,
        }) = planned?
        else {
            return Ok(None);
        };
        let plan = match plan {
            Some(plan) if self.run.is_plan_only() => {
                return Ok(Some(RootOutcome::Planned(Box::new(prepared), plan)));
            }
            plan => plan,
        };

        // 4. Fetch the packages, and decide which hashes are recorded.
        let request = self.lock_request(&prepared, &source, registry_data);
        let outcome = self
            .record_hashes(&request, &selection)
            .map_err(|errors| prepared.root.with_all_sharing_root_modules(errors))?;

        // 5. Change the bytes of the old lock files.
        let mut locked = self.edit_lock_files(prepared, outcome, plan)?;

        // 6. Replace the files that change: all or none.
        let root = &locked.prepared.root;
        let read_only_warning = match self.write_files(&locked, rewrites) {
            Ok(warning) => warning,
            Err(WriteError::Changed(errors)) => {
                return Err(WriteError::Changed(root.with_root_module(errors)));
            }
            Err(WriteError::Failed(errors)) => return Err(root.with_root_module(errors).into()),
        };
        locked.outcome.warnings.extend(read_only_warning);
        Ok(Some(RootOutcome::Locked(Box::new(locked))))
    }

    /// Selects versions for a root module, and records their entries, without writing them.
    pub(in crate::project) fn outcome(&self, prepared: &Prepared) -> Result<LockOutcome> {
        let source = self.source_of(prepared)?;
        self.session.notify_sources_read();
        self.notify_hosts(prepared);
        let registry_data = self.registry_data_if_used(prepared)?;
        let request = self.lock_request(prepared, &source, registry_data);
        let selection = self.select_versions(&request)?;
        self.record_hashes(&request, &selection)
    }

    /// Reads a root module: settings, lock files and requirements, with the modules that it calls.
    /// `None` for one of several root modules that requires no named provider.
    fn read_if_required(&self, root: &FoundRoot) -> Result<Option<Prepared>> {
        let mut prepared = self
            .session
            .read_to_lock(root, self.run.options, self.run.upgrade)?;
        if root.is_one_of_several && !self.run.options.providers.is_empty() {
            let required = &prepared.requirements.providers;
            prepared
                .named_providers
                .retain(|address| required.contains_key(address));
            if prepared.named_providers.is_empty() {
                return Ok(None);
            }
        }
        self.session.notify(Event::Prepared(&prepared));
        self.notify_hosts(&prepared);
        Ok(Some(prepared))
    }

    /// Notifies the observers of hosts that no root module before has required.
    fn notify_hosts(&self, prepared: &Prepared) {
        let mut hosts = lock(&self.notified_hosts);
        let known = hosts.len();
        hosts.extend(prepared.providers().map(|address| address.hostname.clone()));
        if hosts.len() > known || known == 0 {
            self.session.notify(Event::Asking(&hosts));
        }
    }

    /// The source of a root module's packages.
    fn source_of(&self, prepared: &Prepared) -> Result<Arc<Source>> {
        match &self.offline_source {
            Some(source) => Ok(Arc::clone(source)),
            None => self
                .session
                .source(prepared.root.dialect, prepared.root.settings.shared_cache()),
        }
    }

    /// A request to lock a root module.
    fn lock_request<'r>(
        &'r self,
        prepared: &'r Prepared,
        source: &'r Arc<Source>,
        registry_data: Option<RegistryData<'r>>,
    ) -> LockRequest<'r> {
        LockRequest {
            run: &self.run,
            prepared,
            source,
            registry_data,
        }
    }

    /// Publication dates and registry data about providers; `None` offline, and if nothing depends
    /// on them.
    ///
    /// # Errors
    /// A minimum age applies to a provider, and publication dates are unknown.
    fn registry_data_if_used(&self, prepared: &Prepared) -> Result<Option<RegistryData<'_>>> {
        let RootModule {
            settings, dialect, ..
        } = &prepared.root;
        let has_age = prepared.minimum_age.is_some();
        if has_age || settings.policy.depends_on_registry_data() {
            let registry_data = self.session.registry_data(*dialect)?;
            if has_age && registry_data.is_none() && self.run.selects_by_age(prepared) {
                return Err(unknown_dates_error().into());
            }
            return Ok(registry_data);
        }
        // Dates that an upgrade only shows may be missing.
        match self.run.provider_upgrade() {
            Some(options) if options.release_info => {
                Ok(self.session.registry_data(*dialect).ok().flatten())
            }
            _ => Ok(None),
        }
    }

    /// Fails if the only root module does not have a named call.
    fn check_named_calls(&self, prepared: &Prepared) -> Result<()> {
        let Some(upgrade) = self.run.upgrade else {
            return Ok(());
        };
        // Another root module may have the call.
        if prepared.root.found.is_one_of_several {
            return Ok(());
        }
        let requirements = &prepared.requirements;
        let missing = upgrade
            .calls
            .keys()
            .filter(|key| !requirements.package_calls().any(|call| call.key == **key));
        match unknown_calls_error(missing) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Selects a version for each provider, after asking for everything that is certain to be
    /// needed.
    fn select_versions(&self, request: &LockRequest<'_>) -> Result<SelectedVersions> {
        // Only modules move.
        if self.run.is_plan_only() && self.run.provider_upgrade().is_none() {
            return Ok(SelectedVersions::default());
        }
        plan::select_versions(request, |candidates| {
            let has_asked = plan::request_known_needs(request, candidates);
            if has_asked {
                self.session.notify_sources_read();
            }
            let asks = has_asked || request.asks_while_planning();
            self.planning_threads(asks, candidates.len())
        })
    }

    /// Fetches the packages of the selected versions, and records their hashes.
    fn record_hashes(
        &self,
        request: &LockRequest<'_>,
        selection: &SelectedVersions,
    ) -> Result<LockOutcome> {
        // Find out for which platforms packages are needed, which may take requests.
        let providers = selection.providers.len();
        let threads = self.planning_threads(request.asks_while_planning(), providers);
        let plans = plan::plan_packages(request, selection, &threads)?;
        drop(threads);

        // Hash each package while it arrives, and check SHA256SUMS and its signature.
        let packages = plan::fetch_packages(request, &plans)?;

        // Refuse an entry that contradicts the published release.
        plan::record_entries(request, selection, &plans, packages)
    }

    /// Threads that plan providers: one for each if requests may be sent, as long as other root
    /// modules have not taken them all. Without one, a root module plans on its own thread.
    fn planning_threads(&self, asks: bool, providers: usize) -> Permit<'_> {
        let count = if asks { providers } else { 0 };
        self.planning_permits.take_free(count as u64)
    }

    /// Edits the lock files of providers and of modules in memory.
    fn edit_lock_files(
        &self,
        prepared: Prepared,
        outcome: LockOutcome,
        plan: Option<UpgradePlan>,
    ) -> Result<LockedRootModule> {
        let root = &prepared.root;
        let new_bytes = prepared
            .lock_file
            .edit_with(&outcome.locks, || outcome.canonical_blocks())
            .map_err(|errors| root.with_root_module(errors))?;
        // A new, empty lock file would record that nothing is required, which is unknown.
        let is_needless = root.lock_bytes.is_none()
            && outcome.locks.is_empty()
            && prepared.requirements.is_incomplete;
        let mut files = Vec::new();
        if !is_needless {
            let old_bytes = root.lock_bytes.as_ref();
            files.extend(change_if_different(&root.lock_path, old_bytes, new_bytes));
        }

        let mut module_changes = Vec::new();
        if let Some(modules) = &prepared.modules {
            let new_bytes = modules.lock_file.edit(&modules.locks);
            let new_bytes = new_bytes.map_err(|errors| root.with_root_module(errors))?;
            let path = &root.module_lock_path;
            let old_bytes = root.module_lock_bytes.as_ref();
            files.extend(change_if_different(path, old_bytes, new_bytes));
            module_changes = lockfile::diff(modules.lock_file.locks(), &modules.locks).entries;
        }
        Ok(LockedRootModule {
            prepared,
            outcome,
            changed: !files.is_empty(),
            files,
            module_changes,
            written: !self.run.options.dry_run,
            plan,
        })
    }

    /// Writes the lock files that change, together with the constraints that change. Returns a
    /// warning about a read-only file.
    fn write_files(
        &self,
        locked: &LockedRootModule,
        rewrites: &Rewrites,
    ) -> std::result::Result<Option<Diagnostic>, WriteError> {
        if self.run.options.dry_run {
            return Ok(None);
        }
        let LockedRootModule { files, plan, .. } = locked;
        let root = &locked.prepared.root;
        // The directory of a unit that a stack generates need not exist yet.
        if root.found.to_be_generated_below.is_some()
            && !files.is_empty()
            && let Some(directory) = root.lock_path.parent()
        {
            fs::create_dir_all(directory)
                .map_err(|error| Diagnostic::io("create", directory, &error))?;
        }
        rewrites.write(plan.iter().flat_map(|plan| &plan.edits), files)?;
        if files.is_empty() {
            files::remove_left_over(&root.lock_path);
            return Ok(None);
        }
        // Other root modules read what was written.
        self.session.shared_requirements.forget_all();
        Ok(files::read_only_warning(&root.lock_path))
    }
}

fn unknown_dates_error() -> Diagnostic {
    let message = "min-age is set, but publication dates are unknown offline";
    let help = Help::text("to ignore the age pass ")
        .and(RunOption::AnyAge)
        .and_text(", or omit ")
        .and(RunOption::Offline);
    Diagnostic::error(Code::InvalidArgument, message).help(help)
}

/// The source of an offline run: the packages in the cache, and the versions in the lock files of
/// all root modules.
fn source_of_offline_run(session: &Session<'_>, roots: &Roots) -> Arc<Source> {
    let known = session
        .read_versions(roots, |_| Diagnostics::default())
        .providers;
    let mut releases = Vec::new();
    for (address, versions) in &known {
        for version in versions.keys() {
            releases.push((address, version));
        }
    }
    Arc::new(session.connections.offline(releases.into_iter()))
}

/// Root modules by whether an earlier one uses the same lock file, through links.
#[derive(Default)]
struct LockFileUsers {
    /// The first users of their lock files. Most root modules are the only one.
    first: Vec<FoundRoot>,
    /// The others, which must be read after the file is written for the first.
    later: Vec<FoundRoot>,
}

/// Whether a different root module may use the lock file of a root module of a list.
fn may_share_lock_file(root: &FoundRoot) -> bool {
    !root.sharing.is_empty() || root.lock_directory.is_some()
}

fn split_by_shared_lock_file(roots: &[FoundRoot]) -> LockFileUsers {
    let mut users = LockFileUsers::default();
    // In most repositories no lock file is shared, and then none is looked at.
    if !roots.iter().any(may_share_lock_file) {
        users.first = roots.to_vec();
        return users;
    }
    let mut seen = HashSet::new();
    for root in roots {
        let mut files = Vec::new();
        if let Some(directory) = root.lock_directory.as_ref().or(root.canonical.as_ref()) {
            for name in LOCK_FILES {
                files.extend(Linked::of(&Tree::Work, directory, name));
            }
        }
        if files.iter().any(|file| seen.contains(file)) {
            users.later.push(root.clone());
        } else {
            users.first.push(root.clone());
        }
        seen.extend(files);
    }
    users
}
