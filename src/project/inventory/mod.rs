//! Providers that root modules require and lock today, and the first `provlock.toml`, by which
//! anything else is a finding.

pub(super) mod bill_of_materials;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::path::{Path, PathBuf};

use super::event::Event;
use super::root_module::RootModule;
use super::root_module::roots::Roots;
use super::session::Session;
use super::similar_names::finding_imitation;
use crate::configuration::Requirements;
use crate::diagnostic::{
    Code, Collector, Diagnostic, Diagnostics, Help, LockRemedy, Result, Severity,
};
use crate::lockfile::LockFile;
use crate::modules::origin;
use crate::packages::Source;
use crate::packages::archive::{HashCache, PackageId, ReleaseEvidence};
use crate::provider::{Authentication, Dialect, Hash, Platform, ProviderAddress, Version};
use crate::settings::{PlatformSelection, WithoutPlatforms, schema_directive};
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Providers that root modules require and lock, and facts about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inventory {
    /// Number of root modules.
    pub root_modules: usize,
    /// Their dialect, if all have the same.
    pub dialect: Option<Dialect>,
    /// The platforms that every entry covers, if the packages of all entries are known.
    pub platforms: BTreeSet<Platform>,
    /// The platforms that any entry covers, if its packages are known.
    pub covered: BTreeSet<Platform>,
    /// The platforms that the user requested; the settings then contain these.
    pub named_platforms: Option<PlatformSelection>,
    /// Platforms from which the settings exempt locked providers, which the new settings keep.
    pub exempted: BTreeMap<ProviderAddress, BTreeSet<Platform>>,
    /// The providers that they lock.
    pub providers: BTreeSet<ProviderAddress>,
    /// The providers that they require and do not lock.
    pub not_locked: BTreeSet<ProviderAddress>,
    /// Whether a root module requires a provider that its own lock file lacks.
    pub has_incomplete_roots: bool,
    /// Fingerprints of the keys that sign the locked releases of each provider, `None` for an
    /// unsigned one; empty offline.
    pub signers: BTreeMap<ProviderAddress, BTreeSet<Option<String>>>,
    /// Whether modules are called, and every call is pinned.
    pub are_modules_pinned: bool,
    /// Patterns of the publishers of all called modules.
    pub modules: BTreeSet<String>,
    /// Whether the source of a called module is not known, so that no pattern allows it.
    pub has_unknown_modules: bool,
    /// Configurations that could not be read.
    pub warnings: Vec<Diagnostic>,
    /// Errors of root modules that are omitted.
    pub errors: Diagnostics,
}

/// The versions of providers that root modules lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockedVersions {
    /// Root modules by provider and locked version, in the order of their paths.
    pub providers: BTreeMap<ProviderAddress, BTreeMap<Version, Vec<PathBuf>>>,
    /// Number of root modules with a lock file.
    pub locked: usize,
    /// The root modules without a lock file.
    pub not_locked: Vec<PathBuf>,
    /// Common dialect of the root modules, or else the default one.
    pub dialect: Dialect,
    /// Errors of lock files and configurations that could not be read.
    pub errors: Diagnostics,
}

/// Findings of a change that are warnings or notes by default, and that an attacker would cause.
const DENIED: [Code; 2] = [Code::Downgrade, Code::SigningKeyChanged];

/// A locked version of a provider, with the dialect whose rules apply.
type LockedRelease = (ProviderAddress, Version, Dialect);

/// The `h1:` of locked releases that every root module records.
type Releases = BTreeMap<LockedRelease, BTreeSet<Hash>>;

/// Requirements and entries of a root module.
struct Contents {
    dialect: Dialect,
    without_platforms: WithoutPlatforms,
    calls_modules: bool,
    are_modules_pinned: bool,
    /// As in [`Inventory::modules`].
    modules: BTreeSet<String>,
    has_unknown_modules: bool,
    required: Vec<ProviderAddress>,
    lock_file: LockFile,
    warnings: Vec<Diagnostic>,
    /// Errors of providers whose names imitate others.
    lookalikes: Diagnostics,
}

impl Session<'_> {
    /// Collects facts about root modules. Unless the session is offline, registries are asked who
    /// signs the locked releases.
    ///
    /// # Errors
    /// No lock file that can be read has an entry, a provider is easily taken for another one, or a
    /// registry cannot be asked.
    pub fn inventory(&self, roots: &Roots) -> Result<Inventory> {
        self.notify(Event::Reading);
        let results = self.each_root(roots, |root| self.read_contents(&root));
        self.notify_sources_read();

        let mut inventory = Inventory {
            root_modules: roots.len(),
            ..Inventory::default()
        };
        let mut has_calls = false;
        let mut are_pinned = true;
        let mut dialects = BTreeSet::new();
        let mut lookalikes = Diagnostics::default();
        let mut releases = Releases::new();
        for (path, result) in results {
            // A broken root module does not keep the others out of the settings.
            let contents = match result {
                Ok(contents) => contents,
                Err(errors) => {
                    inventory.errors.extend(errors);
                    continue;
                }
            };
            has_calls |= contents.calls_modules;
            are_pinned &= contents.are_modules_pinned;
            dialects.insert(contents.dialect.name());
            inventory.add_entries(&contents, &mut releases);
            inventory.modules.extend(contents.modules);
            inventory.has_unknown_modules |= contents.has_unknown_modules;
            inventory.not_locked.extend(contents.required);
            lookalikes.extend(contents.lookalikes);
            for warning in contents.warnings {
                let warning = warning.in_root(&path, roots.may_be_several());
                inventory.warnings.push(warning);
            }
        }
        // A policy that allows an imitation would hide it from then on, so none is written.
        lookalikes.into_result(())?;
        if releases.is_empty() {
            take(&mut inventory.errors).into_result(())?;
            return Err(nothing_locked(roots).into());
        }

        inventory.are_modules_pinned = has_calls && are_pinned;
        inventory.dialect = Dialect::only_one_where(|dialect| dialects.contains(dialect.name()));
        let providers = &inventory.providers;
        // What one root module requires without an entry may be locked by another one.
        inventory
            .not_locked
            .retain(|address| !providers.contains(address));
        inventory.add_platforms(&releases, self.hash_cache.as_ref());
        // Only registries tell who signs a release, so that offline no key is trusted yet.
        if !self.options.offline {
            inventory.signers = self.request_signers(releases.into_keys().collect())?;
        }
        self.notify_at_end();
        Ok(inventory)
    }

    /// Returns the versions in the lock files of root modules.
    pub fn locked_versions(&self, roots: &Roots) -> LockedVersions {
        self.notify(Event::Reading);
        let versions = self.read_versions(roots, |root| root.configuration_errors(&self.modules));
        self.notify_at_end();
        versions
    }

    /// [`Session::locked_versions`] as a part of a larger step, with these errors of each root
    /// module.
    pub(super) fn read_versions(
        &self,
        roots: &Roots,
        errors_of: impl Fn(&RootModule) -> Diagnostics + Sync,
    ) -> LockedVersions {
        let mut versions = LockedVersions::default();
        let mut dialects = BTreeSet::new();
        let results = self.each_root(roots, |root: RootModule| {
            let (lock_file, _) = root.lock_file()?;
            let mut locks = None;
            if root.lock_bytes.is_some() {
                locks = Some((root.dialect, lock_file.locks().clone()));
            }
            let mut errors = Collector::for_one_of(roots.list.len());
            errors.extend(errors_of(&root));
            Ok((locks, errors.into_diagnostics()))
        });
        for (path, result) in results {
            let locks = match result {
                Ok((locks, errors)) => {
                    versions.errors.extend(errors);
                    locks
                }
                Err(errors) => {
                    versions.errors.extend(errors);
                    continue;
                }
            };
            let Some((dialect, locks)) = locks else {
                versions.not_locked.push(path);
                continue;
            };
            versions.locked += 1;
            dialects.insert(dialect.name());
            for (address, locked) in locks {
                let roots_by_version = versions.providers.entry(address).or_default();
                let roots = roots_by_version.entry(locked.version.clone()).or_default();
                roots.push(path.clone());
            }
        }
        versions.dialect = Dialect::only_one_where(|dialect| dialects.contains(dialect.name()))
            .unwrap_or_default();
        versions
    }

    /// Reads what a root module locks and requires. A configuration that cannot be read, or is
    /// missing beside a lock file, is a warning, because the settings are generated from lock
    /// files.
    fn read_contents(&self, root: &RootModule) -> Result<Contents> {
        let (lock_file, _) = root.lock_file()?;
        let has_lock_file = root.lock_bytes.is_some();
        let mut requirements;
        let mut warnings = Vec::new();
        let mut is_configuration_read = true;
        // A lock file without a configuration still names the providers that the settings must
        // allow.
        if has_lock_file && !root.has_configuration(&self.modules) {
            requirements = root.unknown_requirements(self.tree(), "read on its own");
            warnings.append(&mut requirements.warnings);
        } else {
            let ignore_tests = false;
            match self.requirements_of(root, ignore_tests) {
                Ok(read) => requirements = read,
                // The entries suffice for the policy about providers; the called modules remain
                // unknown.
                Err(errors) if has_lock_file => {
                    requirements = Requirements {
                        is_incomplete: true,
                        ..Requirements::default()
                    };
                    warnings.extend(errors);
                    is_configuration_read = warnings.is_empty();
                }
                Err(errors) => return Err(errors),
            }
        }
        for warning in &mut warnings {
            warning.severity = Severity::Warning;
        }
        let lookalikes = root.with_root_module(lookalike_errors(root, &requirements, &lock_file));

        let mut publishers = BTreeSet::new();
        let mut has_unknown_modules = !is_configuration_read;
        let mut known = BTreeSet::new();
        for call in requirements.package_calls() {
            known.insert(&call.key);
            // The publisher stands for all its modules, so that a further one of them is no
            // finding.
            match origin(&call.source) {
                Ok(origin) => {
                    publishers.insert(origin.pattern_of_publisher());
                }
                Err(_) => has_unknown_modules = true,
            }
        }
        for call in &requirements.unknown_calls {
            has_unknown_modules |= call.directory.is_none() && !known.contains(&call.key);
        }
        let calls = requirements.own_package_calls();
        Ok(Contents {
            dialect: root.dialect,
            without_platforms: root.settings.without_platforms.clone(),
            calls_modules: !calls.is_empty(),
            are_modules_pinned: is_configuration_read && calls.iter().all(|call| call.is_pinned()),
            modules: publishers,
            has_unknown_modules,
            required: requirements.providers.into_keys().collect(),
            lock_file,
            warnings,
            lookalikes,
        })
    }

    /// Asks registries who signs releases, several at a time; `None` stands for an unsigned one.
    fn request_signers(
        &self,
        releases: Vec<LockedRelease>,
    ) -> Result<BTreeMap<ProviderAddress, BTreeSet<Option<String>>>> {
        let answers: Vec<Result<_>> =
            parallel::map(releases, WAITING_REQUESTS, |(address, version, dialect)| {
                let source = self.source(dialect, None)?;
                let signer = request_signer(&source, &address, &version)?;
                Ok((address, signer))
            });
        let mut signers = BTreeMap::<_, BTreeSet<_>>::new();
        let mut errors = Diagnostics::default();
        for answer in answers {
            let (address, signer) = match answer {
                Ok(answer) => answer,
                // A host that does not answer fails in the same way for each of its releases.
                Err(failed) => {
                    for error in failed {
                        if !errors.contains(&error) {
                            errors.push(error);
                        }
                    }
                    continue;
                }
            };
            signers.entry(address).or_default().insert(signer);
        }
        errors.into_result(signers)
    }
}

/// Errors about providers of a root module whose names imitate others. Settings that allow one
/// would hide it from then on.
fn lookalike_errors(
    root: &RootModule,
    requirements: &Requirements,
    lock_file: &LockFile,
) -> Diagnostics {
    let policy = &root.settings.policy;
    let mut errors = Vec::new();
    for entry in lock_file.entries() {
        if let Some(error) = finding_imitation(&entry.address, policy, root.dialect, None) {
            errors.push(error.at_location(entry.block.clone()).about(&entry.address));
        }
    }
    // A provider with an entry was examined above, and is shown there.
    for (address, requirement) in &requirements.providers {
        if lock_file.entry(address).is_none()
            && let Some(error) = finding_imitation(address, policy, root.dialect, None)
        {
            errors.push(requirement.at_declarations(error).about(address));
        }
    }
    for error in &mut errors {
        error.severity = Severity::Error;
    }
    errors.into_iter().collect()
}

/// The error where no root module has locked a provider, with the command that locks all of them.
fn nothing_locked(roots: &Roots) -> Diagnostic {
    let message = "no root module here has locked a provider, and init writes only what is locked";
    let is_here = roots.len() == 1 && roots.paths().next() == Some(Path::new("."));
    let lock = LockRemedy {
        recursive: !is_here,
        ..LockRemedy::default()
    };
    Diagnostic::error(Code::LockFileMissing, message).help(Help::text("lock first: ").and(lock))
}

/// Returns the key that signed a release, according to the registry's answer for the first
/// platform. `None` if the release is not signed, or has no platform.
fn request_signer(
    source: &Source,
    address: &ProviderAddress,
    version: &Version,
) -> Result<Option<String>> {
    let platforms = match source.platforms(address, version) {
        Ok(platforms) => platforms,
        Err(error) if error.is_platform_missing() => {
            return Err(no_platforms(source, address, version).into());
        }
        Err(error) => return Err(error.into()),
    };
    let Some(platform) = platforms.first() else {
        return Ok(None);
    };
    let published = source.published_release(&PackageId::new(address, version, platform))?;
    match published.map(|published| published.authentication) {
        Some(Authentication::Signed { fingerprint, .. }) => Ok(Some(fingerprint)),
        _ => Ok(None),
    }
}

/// The error for a locked release that its source does not list.
fn no_platforms(source: &Source, address: &ProviderAddress, version: &Version) -> Diagnostic {
    let error = match source.mirror_of(address) {
        Some(mirror) => Diagnostic::error(
            Code::NoMatchingVersion,
            format!("{address} {version} is locked, but {mirror} does not have it"),
        ),
        None => Diagnostic::error(
            Code::VersionWithdrawn,
            format!("{address} {version} is locked, but its source no longer lists it"),
        ),
    };
    error.help("lock a different version first")
}

impl Inventory {
    /// Adds the providers that a root module locks, and the platforms that their releases have not.
    fn add_entries(&mut self, contents: &Contents, releases: &mut Releases) {
        let dialect = contents.dialect;
        let locks = contents.lock_file.locks();
        let is_missing = |address: &ProviderAddress| !locks.contains_key(address);
        self.has_incomplete_roots |= contents.required.iter().any(is_missing);
        for (address, locked) in locks {
            self.providers.insert(address.clone());
            // A release covers only the platforms that it covers in every root module.
            let release = (address.clone(), locked.version.clone(), dialect);
            let common = releases
                .entry(release)
                .or_insert_with(|| locked.platform_hashes().cloned().collect());
            common.retain(|hash| locked.hashes.contains(hash));
            for missing in contents.without_platforms.of(address, dialect) {
                let exempted = self.exempted.entry(address.clone()).or_default();
                exempted.insert(missing.platform.clone());
            }
        }
    }

    /// Adds the platforms of locked releases, as far as the cache knows the packages.
    fn add_platforms(&mut self, releases: &Releases, cache: Option<&HashCache>) {
        let mut covered_by_release = Vec::new();
        for ((address, version, _), hashes) in releases {
            let evidence = match cache {
                Some(cache) => cache.release_evidence(address, version),
                None => ReleaseEvidence::default(),
            };
            let covered = evidence.platforms_covered_by(hashes);
            self.covered.extend(covered.iter().cloned());
            covered_by_release.push((address, covered));
        }
        // The platforms that every release covers, unless the settings exempt its provider from
        // one.
        self.platforms.clone_from(&self.covered);
        for (address, covered) in covered_by_release {
            let exempted = self.exempted.get(address);
            self.platforms.retain(|platform| {
                covered.contains(platform)
                    || exempted.is_some_and(|platforms| platforms.contains(platform))
            });
        }
    }

    /// The hosts of the providers.
    pub fn hosts(&self) -> BTreeSet<String> {
        self.providers
            .iter()
            .map(|address| address.hostname.as_ascii().to_owned())
            .collect()
    }

    /// The namespaces of the providers, `HOST/NAMESPACE`.
    pub fn namespaces(&self) -> BTreeSet<String> {
        self.providers.iter().map(namespace_of).collect()
    }

    /// The providers that are not locked and that the settings do not allow: no provider of their
    /// namespace is locked.
    pub fn not_allowed(&self) -> Vec<&ProviderAddress> {
        let namespaces = self.namespaces();
        let mut not_allowed = Vec::new();
        for address in &self.not_locked {
            if !namespaces.contains(&namespace_of(address)) {
                not_allowed.push(address);
            }
        }
        not_allowed
    }

    /// Whether the settings name platforms, and every root module is locked for them.
    pub fn is_locked_for_settings(&self) -> bool {
        if self.has_incomplete_roots {
            return false;
        }
        match &self.named_platforms {
            Some(PlatformSelection::These(named)) => named
                .iter()
                .all(|platform| self.platforms.contains(platform)),
            Some(PlatformSelection::All) => false,
            None => self.platforms.len() > 1,
        }
    }

    /// The fingerprints of the keys that sign locked releases.
    pub fn keys(&self) -> BTreeSet<&String> {
        self.signers.values().flatten().flatten().collect()
    }

    /// The text of a `provlock.toml` that makes any other host, namespace or key a finding.
    pub fn settings(&self) -> String {
        let mut lines: Vec<_> = schema_directive().into_iter().collect();
        lines.push(
            "# Written by provlock init; docs/gate.md of provlock explains each line.".to_owned(),
        );
        if let Some(dialect) = self.dialect {
            lines.push(format!("dialect = {:?}", dialect.name()));
        }
        lines.extend(self.platform_lines());
        lines.extend(self.exemption_lines());

        lines.extend([String::new(), "[policy]".to_owned()]);
        lines.push(format!("allowed-hosts = {}", list(self.hosts())));
        lines.push(format!("allowed-namespaces = {}", list(self.namespaces())));
        // A list would make every call of unknown source an error.
        let comment = if self.has_unknown_modules {
            "# Not all sources of modules are known: "
        } else {
            ""
        };
        let modules = list(self.modules.iter().cloned());
        lines.push(format!("{comment}allowed-modules = {modules}"));
        // No rule is written that the releases of today violate.
        let mut signers = self.signers.values();
        if !self.signers.is_empty() && signers.all(|signers| !signers.contains(&None)) {
            lines.push("require-signed = true".to_owned());
        }
        if self.are_modules_pinned {
            lines.push("pin-modules = true".to_owned());
        }

        lines.extend([String::new(), "[verify]".to_owned()]);
        let denied = DENIED.into_iter().map(|code| code.to_string());
        lines.push(format!("deny = {}", list(denied)));

        let trusted = self.trusted_keys();
        if !trusted.is_empty() {
            lines.extend([String::new(), "[trust]".to_owned()]);
        }
        for (providers, keys) in trusted {
            lines.push(format!("{providers:?} = {}", list(keys)));
        }
        lines.join("\n") + "\n"
    }

    /// The platforms for `provlock.toml`. A single one is usually that of the laptop that locked
    /// last, so it is only suggested together with the usual ones.
    fn platform_lines(&self) -> Vec<String> {
        match &self.named_platforms {
            Some(PlatformSelection::All) => vec![platform_setting(["all"])],
            Some(PlatformSelection::These(these)) => {
                let these: BTreeSet<_> = these.iter().collect();
                vec![platform_setting(these)]
            }
            None if self.platforms.len() > 1 => vec![platform_setting(&self.platforms)],
            None => vec![
                "# Name the platforms of your team and of CI, then run provlock lock -r:"
                    .to_owned(),
                format!("# {}", platform_setting(self.suggested_platforms())),
            ],
        }
    }

    /// The table of platforms for which providers have no package, if there are any.
    fn exemption_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (address, platforms) in &self.exempted {
            let name = match self.dialect {
                Some(dialect) => address.short(dialect),
                None => address.to_string(),
            };
            lines.push(format!(
                "{name:?} = {}",
                list(platforms.iter().map(ToString::to_string))
            ));
        }
        if !lines.is_empty() {
            lines.splice(0..0, [String::new(), "[without-platforms]".to_owned()]);
        }
        lines
    }

    /// The platform that all lock files have in common, if it is the only one and the user
    /// requested none.
    pub fn only_platform(&self) -> Option<&Platform> {
        if self.platforms.len() == 1 && self.named_platforms.is_none() {
            self.platforms.first()
        } else {
            None
        }
    }

    /// The platforms that lock files cover, together with the usual ones if these are fewer than
    /// two.
    pub fn suggested_platforms(&self) -> BTreeSet<Platform> {
        let mut suggested = self.covered.clone();
        if suggested.len() < 2 {
            for name in ["linux_amd64", "darwin_arm64"] {
                suggested.extend(name.parse::<Platform>());
            }
        }
        suggested
    }

    /// Returns the keys of each namespace. If a namespace has an unsigned release, each of its
    /// other providers has keys of its own.
    fn trusted_keys(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut unsigned = BTreeSet::new();
        for (address, signers) in &self.signers {
            if signers.contains(&None) {
                unsigned.insert(namespace_of(address));
            }
        }

        let mut trusted = BTreeMap::<_, BTreeSet<_>>::new();
        for (address, signers) in &self.signers {
            if signers.contains(&None) {
                continue;
            }
            let namespace = namespace_of(address);
            // A key for the whole namespace would also refuse the unsigned release.
            let providers = if unsigned.contains(&namespace) {
                format!("{namespace}/{}", address.name)
            } else {
                format!("{namespace}/*")
            };
            trusted
                .entry(providers)
                .or_default()
                .extend(signers.iter().flatten().cloned());
        }
        trusted
    }
}

/// `HOST/NAMESPACE`
fn namespace_of(address: &ProviderAddress) -> String {
    format!("{}/{}", address.hostname.as_ascii(), address.namespace)
}

/// A list of strings in TOML. No name of a provider or platform contains a character that must be
/// escaped.
fn list(texts: impl IntoIterator<Item = String>) -> String {
    format!("{:?}", texts.into_iter().collect::<Vec<_>>())
}

fn platform_setting(platforms: impl IntoIterator<Item = impl ToString>) -> String {
    let names = platforms.into_iter().map(|platform| platform.to_string());
    format!("platforms = {}", list(names))
}
