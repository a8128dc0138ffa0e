//! Comparing entries with registries: whether each recorded hash is one of a published package. A
//! mirror contains copies and does not know which packages were published: its packages can confirm
//! a recorded hash, and a missing package proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::audited_root::{AuditedRoot, Online, VerifiedRoot, finding};
use super::platforms::{self, ComparedEntry, missing, single};
use super::platforms_lost::{self, KnownReleases};
use super::policy;
use super::requests;
use crate::diagnostic::words::{enumerate, few};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Location, Remedy, UpgradeRemedy};
use crate::lockfile::Entry;
use crate::packages::archive::{HashesByPlatform, ReleasePlatforms};
use crate::packages::{self, AvailableVersions, Published, SourceError};
use crate::project::plan::age::registry_warning;
use crate::project::plan::candidate::{WayOut, upgrade_to_listed};
use crate::project::plan::release_lookup::{ReleaseLookup, unexplained};
use crate::provider::{Authentication, Hash, HashScheme, Platform, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Looks up every entry, in parallel.
pub(super) fn check(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(online) = root.online else { return };
    let check = |entry| {
        let mut check = EntryCheck {
            root,
            online,
            entry,
            result: EntryResult::default(),
        };
        if !root.is_requested(&entry.address) {
            check.add(requests::not_requested(root, entry));
        } else if let Err(error) = check.run() {
            check.failed(error);
        }
        check.result
    };
    let mut by_mirror: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let mut known = KnownReleases::new();
    let results = parallel::map(root.entries().iter().collect(), WAITING_REQUESTS, check);
    for (entry, result) in root.entries().iter().zip(results) {
        report.findings.extend(result.findings);
        report.errors.extend(
            result
                .errors
                .into_iter()
                .filter(|error| !report.errors.contains(error))
                .collect::<Vec<_>>(),
        );
        report.authentications.extend(
            result
                .authentication
                .map(|found| (entry.address.clone(), found)),
        );
        report.has_unknown_platforms |= result.has_unknown_platforms;
        known.insert(entry.address.clone(), result.known);
        report.unconfirmed += usize::from(!result.is_published && result.mirrored.is_none());
        if let Some((mirror, compared)) = result.mirrored {
            by_mirror.entry(mirror).or_default().push(compared);
        }
    }
    for (mirror, entries) in by_mirror {
        report.mirrors.insert(mirror.clone(), entries.len());
        platforms::add_compared(root, entries, Some(&mirror), report);
    }
    platforms_lost::check_with(root, known, report);
}

/// Result of comparing an entry with its sources.
#[derive(Default)]
struct EntryResult<'a> {
    findings: Vec<Diagnostic>,
    /// Reasons why something could not be checked.
    errors: Vec<Diagnostic>,
    authentication: Option<Authentication>,
    /// Packages of the release that the source knows.
    known: ReleasePlatforms,
    has_unknown_platforms: bool,
    /// Whether there are hashes, and all of them were found among the published ones.
    is_published: bool,
    /// The mirror that was asked in place of the registry, and the platforms that it confirms.
    mirrored: Option<(String, ComparedEntry<'a>)>,
}

/// The key that signed a version at the base.
enum OldKey {
    Known(String),
    Unsigned,
    Unknown(&'static str),
}

struct EntryCheck<'a> {
    root: &'a AuditedRoot<'a>,
    online: Online<'a>,
    entry: &'a Entry,
    result: EntryResult<'a>,
}

/// Recorded hashes of a scheme, compared with the published ones.
struct ComparedHashes {
    recorded: BTreeSet<Hash>,
    unpublished: BTreeSet<Hash>,
    /// The published data, as users know it.
    with: &'static str,
}

impl<'a> EntryCheck<'a> {
    /// Compares the entry with its source. A withdrawn version is a finding unless only a mirror
    /// was asked.
    fn run(&mut self) -> packages::Result<()> {
        let (address, version, source) = (
            &self.entry.address,
            &self.entry.locked.version,
            self.online.source,
        );
        let available = match source.versions(address) {
            Err(SourceError::ProviderNotFound { searched, .. }) if !searched.is_empty() => {
                AvailableVersions::default().into()
            }
            available => available?,
        };
        for text in &available.warnings {
            self.add(registry_warning(address, text));
        }
        if !available.versions.contains_key(version) {
            if let Some(mirror) = source.mirror_of(address) {
                self.compared_with(
                    mirror,
                    Some(self.entry.version()),
                    &ReleasePlatforms::default(),
                );
            } else {
                let message = format!(
                    "{} is locked, but its source does not list it",
                    self.root.release(self.entry)
                );
                let error = Diagnostic::finding(Code::VersionWithdrawn, message);
                self.add(error.help(self.way_out(&available)));
            }
            return Ok(());
        }
        let platforms = source.platforms(address, version)?;
        if self.root.platforms.is_none() && platforms.len() > 1 && !self.root.is_policy_only() {
            self.result.findings.extend(single(self.entry));
        }
        match source.supplying_mirror(address, version)? {
            Some(mirror) => self.ask_mirror(mirror, &platforms),
            None => self.ask_registry(&platforms, &available)?,
        }
        Ok(())
    }

    /// The upgrade from a withdrawn version.
    fn way_out(&self, available: &AvailableVersions) -> Help {
        let Self { root, entry, .. } = self;
        let (address, version) = (&entry.address, &entry.locked.version);
        let name = root.name(address);
        let Some(requirement) = root.requirements().providers.get(address) else {
            return Remedy::upgrade(name).into();
        };
        let policy = &root.module.settings.policy;
        let is_allowed = |version: &Version| {
            policy
                .against_version(address, root.module.dialect, version)
                .is_empty()
        };
        match upgrade_to_listed(name, requirement, available, is_allowed) {
            Some(WayOut { remedy, target }) => UpgradeRemedy {
                allow_downgrade: target < *version && requirement.constraints.allows(version),
                ..remedy
            }
            .into(),
            None => Help::text("require a version that its source lists"),
        }
    }

    /// Compares the entry with the packages of a mirror that has the release for these platforms.
    fn ask_mirror(&mut self, mirror: String, available: &BTreeSet<Platform>) {
        let (entry, release) = (self.entry, self.release());
        let [h1, zh] = [HashScheme::H1, HashScheme::Zh].map(|scheme| self.recorded(scheme));
        let (required, _) = self.required(available);
        let mut known = HashesByPlatform::new();
        let mut failures = release.fetch(required, &mut known);
        failures.extend(release.explain(&h1, available, &mut known));
        let fetched = known.keys().filter_map(|platform| {
            let package = release
                .source
                .package(&release.package(platform), release.progress)
                .ok()?;
            Some((platform.clone(), package))
        });
        let fetched: Vec<_> = fetched.collect();
        let copies = fetched
            .iter()
            .map(|(platform, package)| (platform.clone(), package.all_h1()))
            .collect();
        let platforms = ReleasePlatforms {
            copies,
            ..ReleasePlatforms::default()
        };
        let is_confirmed = |hash: &Hash| {
            let mut archives = fetched
                .iter()
                .filter_map(|(_, package)| package.digest.as_ref());
            archives.any(|digest| digest.zh == *hash)
                || platforms
                    .copies
                    .values()
                    .any(|hashes| hashes.contains(hash))
        };
        let is_unconfirmed =
            |hash: &Hash| (h1.contains(hash) || zh.contains(hash)) && !is_confirmed(hash);
        let first = entry
            .hashes
            .iter()
            .find(|(hash, _)| is_unconfirmed(hash))
            .map(|(_, location)| location);
        self.compared_with(mirror, first, &platforms);
        self.all_succeeded(failures);
    }

    /// Records which platforms a mirror confirms, and the first location that it does not confirm.
    /// The message of the finding contains no provider, so that the findings of all entries are
    /// folded into one.
    fn compared_with(
        &mut self,
        mirror: String,
        unconfirmed: Option<&Location>,
        platforms: &ReleasePlatforms,
    ) {
        let entry = self.entry;
        self.result.findings.extend(unconfirmed.map(|location| {
            let message = format!("{mirror} does not confirm all recorded hashes");
            let warning = finding(Code::HashNotChecked, message, location, "");
            let note = "no package from it has them; only a registry knows the published hashes";
            warning
                .note(note)
                .help(Remedy::verify_online())
                .about(&entry.address)
        }));
        self.result.mirrored = Some((mirror, platforms::compare(self.root, entry, platforms)));
        self.result.known.learn(platforms.clone());
    }

    /// Compares the entry with what a registry publishes.
    fn ask_registry(
        &mut self,
        platforms: &BTreeSet<Platform>,
        available: &AvailableVersions,
    ) -> packages::Result<()> {
        let (root, entry, release) = (self.root, self.entry, self.release());
        let (required, absent) = self.required(platforms);
        self.result.has_unknown_platforms |= !absent.is_empty();
        for platform in absent {
            let error = platforms::not_published(root, entry, &platform, platforms.iter());
            self.result.findings.push(error.about(&entry.address));
        }
        let has_package = |platform: &Platform| platforms.contains(platform);
        let exceptions = platforms::wrong_exceptions(root, entry, has_package);
        self.result.findings.extend(exceptions);
        let asked = required.first().or_else(|| platforms.first());
        let published =
            asked.map(|platform| self.online.source.published(&release.package(platform)));
        let published = published.transpose()?.flatten();
        let (mut known, mut compared) = (HashesByPlatform::new(), Vec::new());
        if let Some(published) = &published {
            for warning in &published.warnings {
                self.add(warning.clone());
            }
            self.result.findings.extend(policy::check_signature(
                root,
                entry,
                &published.authentication,
            ));
            match self.key_changed(&published.authentication, available) {
                Ok(changed) => self.result.findings.extend(changed),
                Err(error) => self.failed(error),
            }
            self.result.authentication = Some(published.authentication.clone());
            match self.compare_zh(published, platforms) {
                Ok(hashes) => compared.push(hashes),
                Err(error) => self.failed(error),
            }
            known.clone_from(&published.h1);
        }
        let unknown = required
            .iter()
            .filter(|platform| !known.contains_key(platform))
            .cloned()
            .collect();
        let mut is_complete = self.all_succeeded(release.fetch(unknown, &mut known));
        let is_missing = |platform: &&Platform| {
            known
                .get(platform)
                .is_some_and(|hashes| hashes.is_disjoint(&entry.locked.hashes))
        };
        let without_hash: Vec<_> = required.iter().filter(is_missing).cloned().collect();
        let missing = missing(root, entry, &without_hash);
        self.result.has_unknown_platforms |= missing.is_some() || !is_complete;
        if let Some(published) = &published {
            let recorded = self.recorded(HashScheme::H1);
            // The registry may list fewer platforms than the signed file.
            let platforms = platforms | &published.platforms;
            is_complete &= self.all_succeeded(release.explain(&recorded, &platforms, &mut known));
            if is_complete {
                let unpublished = unexplained(&recorded, &known);
                let are_all = platforms
                    .iter()
                    .all(|platform| known.contains_key(platform));
                let with = if are_all {
                    "the packages of all its platforms"
                } else {
                    "the packages that could be fetched"
                };
                compared.push(ComparedHashes {
                    recorded,
                    unpublished,
                    with,
                });
            }
        }
        let is_listed = |hash: &Hash| {
            published
                .as_ref()
                .is_some_and(|published| published.zh.contains(hash))
        };
        let is_published = |one: &ComparedHashes, hash| {
            one.recorded.contains(hash) && !one.unpublished.contains(hash)
        };
        let is_found = |hash| is_listed(hash) || compared.iter().any(|one| is_published(one, hash));
        self.result.is_published =
            !entry.hashes.is_empty() && entry.hashes.iter().all(|(hash, _)| is_found(hash));
        self.report(&compared, missing);
        self.result.known.published = known;
        Ok(())
    }

    /// Reports unpublished hashes, in one finding, and platforms without a hash. If no hash is
    /// published, that is the only finding.
    fn report(&mut self, compared: &[ComparedHashes], missing: Option<Diagnostic>) {
        let is_published = |one: &ComparedHashes| one.recorded.len() > one.unpublished.len();
        let checked: usize = compared.iter().map(|one| one.recorded.len()).sum();
        if checked == 0 || compared.iter().any(is_published) {
            self.result.findings.extend(missing);
        } else if checked > 1 {
            return self.add(self.nothing_published(compared, checked));
        }
        self.result.findings.extend(self.unpublished(compared));
    }

    /// The finding about the hashes that belong to no published package.
    fn unpublished(&self, compared: &[ComparedHashes]) -> Option<Diagnostic> {
        let release = self.root.release(self.entry);
        let hashes: Vec<_> = compared.iter().flat_map(|one| &one.unpublished).collect();
        let (message, help) = match &hashes[..] {
            [] => return None,
            [hash] => (
                format!(
                    "the {} {} belongs to no published package of {release}",
                    hash.scheme_name(),
                    hash.value()
                ),
                "find out who added the hash, and remove it",
            ),
            hashes => (
                format!(
                    "{} recorded hashes of {release} belong to no published package",
                    hashes.len()
                ),
                "find out who added the hashes, and remove them",
            ),
        };
        let mut error = Diagnostic::finding(Code::HashNotPublished, message);
        for (hash, location) in &self.entry.hashes {
            if hashes.contains(&hash) {
                error = error.at(location.clone(), "");
            }
        }
        for one in compared {
            if one.unpublished.is_empty() {
                continue;
            }
            let note = format!("compared with {}", one.with);
            error = error.note(match hashes.len() {
                1 => note,
                _ => format!("{note}: {}", few(&one.unpublished)),
            });
        }
        Some(error.help(help))
    }

    /// The platforms that the project requires of the provider, as published ones and others.
    fn required(&self, published: &BTreeSet<Platform>) -> (Vec<Platform>, Vec<Platform>) {
        let required: Vec<_> = match self.root.platforms {
            Some(PlatformSelection::All) => published.iter().collect(),
            _ => self.root.named_platforms().iter().collect(),
        };
        required
            .into_iter()
            .filter(|platform| !self.root.is_exempted(self.entry, platform))
            .cloned()
            .partition(|platform| published.contains(platform))
    }

    /// A new version that is not signed, or signed by a different key than the versions at the
    /// base.
    fn key_changed(
        &self,
        now: &Authentication,
        available: &AvailableVersions,
    ) -> packages::Result<Option<Diagnostic>> {
        let (mut changed, mut unknown, name) = (None, None, self.root.name(&self.entry.address));
        for old in self.versions_before() {
            match self.old_key(old, available)? {
                OldKey::Known(key) => {
                    let who = match now {
                        Authentication::Signed { fingerprint, .. } if *fingerprint == key => {
                            return Ok(None);
                        }
                        Authentication::Signed { fingerprint, .. } => {
                            format!("is signed by the key {fingerprint}")
                        }
                        other => format!("is not signed ({other})"),
                    };
                    let release = self.root.release(self.entry);
                    changed.get_or_insert_with(|| {
                        format!("{release} {who}, and {old} by the key {key}")
                    });
                }
                OldKey::Unsigned => {}
                OldKey::Unknown(why) => {
                    unknown.get_or_insert_with(|| {
                        format!("the key that signed {name} {old} is unknown, because {why}")
                    });
                }
            }
        }
        let note = changed.or(unknown).map(|message| {
            let note = finding(Code::SigningKeyChanged, message, self.entry.version(), "");
            let help = "ask the publisher, and not the registry, whether the key has changed";
            note.help(Help::text(help).and_owner_allows(Code::SigningKeyChanged))
        });
        Ok(note)
    }

    /// The different version in this lock file at the base. For a provider that is new here: the
    /// versions in all lock files of the base, newest first, unless this version is one of them.
    fn versions_before(&self) -> Vec<&'a Version> {
        let (
            root,
            Entry {
                address, locked, ..
            },
        ) = (self.root, self.entry);
        let own = root
            .lock_file_before()
            .and_then(|before| before.locks().get(address));
        let facts = root.base.as_ref().map(|base| base.facts);
        let versions: Vec<_> = match own {
            Some(own) => vec![&own.version],
            None => facts
                .and_then(|facts| facts.versions().get(address))
                .into_iter()
                .flat_map(BTreeMap::keys)
                .rev()
                .collect(),
        };
        if versions.contains(&&locked.version) {
            Vec::new()
        } else {
            versions
        }
    }

    fn old_key(&self, old: &Version, available: &AvailableVersions) -> packages::Result<OldKey> {
        if !available.versions.contains_key(old) {
            return Ok(OldKey::Unknown("its source no longer lists it"));
        }
        let (source, release) = (
            self.online.source,
            ReleaseLookup {
                version: old,
                ..self.release()
            },
        );
        let platforms = source.platforms(release.address, old)?;
        let Some(platform) = platforms.first() else {
            return Ok(OldKey::Unknown("its source lists no platform"));
        };
        Ok(match source.published(&release.package(platform)) {
            Ok(Some(published)) => match published.authentication {
                Authentication::Signed { fingerprint, .. } => OldKey::Known(fingerprint),
                _ => OldKey::Unsigned,
            },
            Ok(None) => OldKey::Unknown("a mirror supplies it"),
            Err(SourceError::ReleaseRefused(_)) => OldKey::Unknown("its release is refused"),
            Err(error) => return Err(error),
        })
    }

    /// Compares each `zh:` with SHA256SUMS; a registry may have one such document for each
    /// platform.
    fn compare_zh(
        &self,
        published: &Published,
        platforms: &BTreeSet<Platform>,
    ) -> packages::Result<ComparedHashes> {
        let Published { zh, packages, .. } = published;
        let mut recorded = self.recorded(HashScheme::Zh);
        // SHA256SUMS also lists documents, and they may be the same in several versions.
        recorded.retain(|hash| {
            packages.is_empty() || packages.contains_key(hash) || !zh.contains(hash)
        });
        let mut unpublished: BTreeSet<_> = recorded.difference(zh).cloned().collect();
        let all = if unpublished.is_empty() {
            Vec::new()
        } else {
            platforms.iter().collect()
        };
        let ask = |platform| {
            self.online
                .source
                .published(&self.release().package(platform))
        };
        for answer in parallel::map(all, WAITING_REQUESTS, ask) {
            match answer {
                Ok(published) => {
                    unpublished.retain(|hash| !published.iter().any(|one| one.zh.contains(hash)));
                }
                Err(error) if error.is_platform_missing() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(ComparedHashes {
            recorded,
            unpublished,
            with: "SHA256SUMS",
        })
    }

    fn recorded(&self, scheme: HashScheme) -> BTreeSet<Hash> {
        self.entry
            .locked
            .hashes
            .iter()
            .filter(|hash| hash.is_well_formed_as(scheme))
            .cloned()
            .collect()
    }

    /// The finding for an entry without any published hash, as after a change of only its version.
    fn nothing_published(&self, compared: &[ComparedHashes], checked: usize) -> Diagnostic {
        let compared: Vec<_> = compared
            .iter()
            .filter(|one| !one.recorded.is_empty())
            .collect();
        let noun = match (
            &compared[..],
            compared.first().and_then(|one| one.recorded.first()),
        ) {
            ([_], Some(hash)) => hash.scheme_name(),
            _ => "hashes",
        };
        let release = self.root.release(self.entry);
        let message = format!(
            "none of the {checked} recorded {noun} belongs to a published package of {release}"
        );
        let error = Diagnostic::finding(Code::HashNotPublished, message);
        let error = error.note(format!(
            "compared with {}",
            enumerate(compared.iter().map(|one| one.with))
        ));
        error.help("find out who changed the version or the hashes, and restore the entry")
    }

    fn release(&self) -> ReleaseLookup<'a> {
        let (
            entry,
            Online {
                source, progress, ..
            },
        ) = (self.entry, self.online);
        ReleaseLookup {
            address: &entry.address,
            version: &entry.locked.version,
            source,
            cache: None,
            progress,
        }
    }

    /// Adds a finding about the version of the entry.
    fn add(&mut self, finding: Diagnostic) {
        self.result
            .findings
            .push(finding.at(self.entry.version().clone(), ""));
    }

    /// Records why packages could not be fetched. Returns whether all could.
    fn all_succeeded(&mut self, errors: Vec<SourceError>) -> bool {
        let are_none = errors.is_empty();
        for error in errors {
            self.failed(error);
        }
        are_none
    }

    /// Records a failure: a refused release is a finding, anything else an error.
    fn failed(&mut self, error: SourceError) {
        let is_finding = matches!(error, SourceError::ReleaseRefused(_));
        let list = if is_finding {
            &mut self.result.findings
        } else {
            &mut self.result.errors
        };
        for error in Diagnostics::from(error) {
            let mut error = error.at(self.entry.version().clone(), "");
            if is_finding {
                error.help.get_or_insert_with(|| {
                    "do not install this release; ask its publisher what happened".into()
                });
            }
            if !list.contains(&error) {
                list.push(error);
            }
        }
    }
}
