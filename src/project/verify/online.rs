//! Comparing entries with registries: whether each recorded hash is one of a published package. A
//! mirror contains copies and does not know which packages were published: its packages can confirm
//! a recorded hash, and a missing package proves nothing.
//!
//! Codes: `hash-not-published`, `version-withdrawn`, `signing-key-changed`, `hash-not-checked`.

use std::collections::{BTreeMap, BTreeSet};

use super::audited_root::{AuditedRoot, Online, VerifiedRoot, finding_at};
use super::platforms::{self, ComparedEntry, finding_single_h1, finding_without_h1};
use super::platforms_lost::{self, KnownReleases};
use super::policy;
use super::requests;
use crate::diagnostic::words::{first_few, joined_with_and};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Location, Remedy, UpgradeRemedy};
use crate::lockfile::Entry;
use crate::packages::archive::{ComparedHashes, ReleaseEvidence};
use crate::packages::{self, AvailableVersions, Published, SourceError};
use crate::project::plan::age::registry_warning;
use crate::project::plan::candidate::{UpgradeToListed, upgrade_to_listed};
use crate::project::plan::release_lookup::ReleaseLookup;
use crate::provider::{Authentication, Hash, HashScheme, HashesByScheme, Platform, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Looks up every entry, in parallel.
pub(super) fn check_entries_online(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(online) = root.online else { return };
    let entries = root.entries();
    let results = parallel::map(entries.iter().collect(), WAITING_REQUESTS, |entry| {
        check_entry(root, online, entry)
    });

    let mut by_mirror: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let mut known = KnownReleases::new();
    for (entry, result) in entries.iter().zip(results) {
        report.findings.extend(result.findings);
        for error in result.errors {
            if !report.errors.contains(&error) {
                report.errors.push(error);
            }
        }
        if let Some(authentication) = result.authentication {
            let address = entry.address.clone();
            report.authentications.insert(address, authentication);
        }
        report.has_unknown_platforms |= result.has_unknown_platforms;
        known.insert(entry.address.clone(), result.evidence);
        // Entries that a mirror was asked about are counted by mirror.
        match result.mirrored {
            Some((mirror, compared)) => by_mirror.entry(mirror).or_default().push(compared),
            None if result.is_published => {}
            None => report.unconfirmed += 1,
        }
    }
    for (mirror, entries) in by_mirror {
        report.asked_mirrors.insert(mirror.clone(), entries.len());
        platforms::add_platform_findings(root, entries, Some(&mirror), report);
    }
    platforms_lost::check_lost_platforms_with(root, known, report);
}

/// Compares an entry with its source, unless nothing may be requested for it.
fn check_entry<'a>(
    root: &'a AuditedRoot<'_>,
    online: Online<'a>,
    entry: &'a Entry,
) -> EntryResult<'a> {
    let mut check = EntryCheck {
        root,
        online,
        entry,
        result: EntryResult::default(),
    };
    if !root.is_requested(&entry.address) {
        check.add_finding(requests::not_requested(root, entry));
    } else if let Err(error) = check.run() {
        check.record_failure(error);
    }
    check.result
}

/// Result of comparing an entry with its sources.
#[derive(Default)]
struct EntryResult<'a> {
    findings: Vec<Diagnostic>,
    /// Reasons why something could not be checked.
    errors: Vec<Diagnostic>,
    authentication: Option<Authentication>,
    evidence: ReleaseEvidence,
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

/// The platforms that the project requires of a provider.
#[derive(Default)]
struct RequiredPlatforms {
    /// Platforms for which the release has a package.
    available: Vec<Platform>,
    without_package: Vec<Platform>,
}

/// Recorded hashes of one scheme that belong to no published package.
struct UnpublishedHashes<'a> {
    /// The published data with which they were compared, as users know it.
    with: &'static str,
    hashes: Vec<&'a Hash>,
}

impl<'a> EntryCheck<'a> {
    /// Compares the entry with its source. A withdrawn version is a finding unless only a mirror
    /// was asked.
    fn run(&mut self) -> packages::Result<()> {
        let address = &self.entry.address;
        let version = &self.entry.locked.version;
        let source = self.online.source;
        let available = match source.versions(address) {
            // A source that no longer has the provider lists no version of it.
            Err(SourceError::ProviderNotFound { searched, .. }) if !searched.is_empty() => {
                AvailableVersions::default().into()
            }
            available => available?,
        };
        for text in &available.warnings {
            self.add_finding(registry_warning(address, text));
        }
        if !available.versions.contains_key(version) {
            self.report_not_listed(&available);
            return Ok(());
        }

        let platforms = source.platforms(address, version)?;
        if self.root.platforms.is_none() && platforms.len() > 1 && !self.root.is_policy_only() {
            self.result.findings.extend(finding_single_h1(self.entry));
        }
        match source.supplying_mirror(address, version)? {
            Some(mirror) => self.ask_mirror(mirror, &platforms),
            None => self.ask_registry(&platforms, &available)?,
        }
        Ok(())
    }

    /// Reports a version that the source does not list. A mirror need not have every version.
    fn report_not_listed(&mut self, available: &AvailableVersions) {
        if let Some(mirror) = self.online.source.mirror_of(&self.entry.address) {
            let location = self.entry.version();
            self.record_mirror(mirror, Some(location), ReleaseEvidence::default());
            return;
        }
        let message = format!(
            "{} is locked, but its source does not list it",
            self.root.release_name(self.entry)
        );
        let error = Diagnostic::finding(Code::VersionWithdrawn, message);
        self.add_finding(error.help(self.help_for_withdrawn(available)));
    }

    /// Help for a withdrawn version: the command that upgrades to a listed one, if one is allowed.
    fn help_for_withdrawn(&self, available: &AvailableVersions) -> Help {
        let root = self.root;
        let address = &self.entry.address;
        let version = &self.entry.locked.version;
        let name = root.provider_name(address);
        let Some(requirement) = root.requirements().providers.get(address) else {
            return Remedy::upgrade(name).into();
        };

        let policy = &root.module.settings.policy;
        let upgrade = upgrade_to_listed(name, requirement, available, |version| {
            policy
                .against_version(address, root.module.dialect, version)
                .is_empty()
        });
        match upgrade {
            Some(UpgradeToListed { remedy, target }) => UpgradeRemedy {
                allow_downgrade: target < *version && requirement.constraints.allows(version),
                ..remedy
            }
            .into(),
            None => Help::text("require a version that its source lists"),
        }
    }

    /// Compares the entry with the packages of a mirror that has the release for these platforms.
    fn ask_mirror(&mut self, mirror: String, available: &BTreeSet<Platform>) {
        let entry = self.entry;
        let release = self.release();
        let recorded_h1 = self.recorded_hashes(HashScheme::H1);
        let mut fetched = ReleaseEvidence::default();
        let required = self.required_platforms(available).available;
        let mut failures = release.fetch_h1(required, &mut fetched);
        failures.extend(release.fetch_until_explained(&recorded_h1, available, &mut fetched));

        // A mirror publishes no SHA256SUMS: only the hashes of its packages confirm an entry.
        let mut confirmed = BTreeSet::new();
        let mut evidence = ReleaseEvidence::default();
        for platform in fetched.h1_by_platform.keys() {
            let id = release.package(platform);
            let Ok(package) = release.source.fetch_once(&id, release.progress) else {
                continue;
            };
            if let Some(digest) = &package.digest {
                confirmed.insert(digest.zh.clone());
            }
            let hashes = package.all_h1();
            confirmed.extend(hashes.iter().cloned());
            evidence.copies.insert(platform.clone(), hashes);
        }

        let mut comparable = self.recorded_hashes(HashScheme::Zh);
        comparable.extend(recorded_h1);
        let unconfirmed = entry
            .hashes
            .iter()
            .find(|(hash, _)| comparable.contains(hash) && !confirmed.contains(hash));
        self.record_mirror(mirror, unconfirmed.map(|(_, location)| location), evidence);
        self.record_failures(failures);
    }

    /// Records which platforms a mirror confirms, and the first location that it does not confirm.
    /// The message of the finding contains no provider, so that the findings of all entries are
    /// folded into one.
    fn record_mirror(
        &mut self,
        mirror: String,
        unconfirmed: Option<&Location>,
        evidence: ReleaseEvidence,
    ) {
        let entry = self.entry;
        if let Some(location) = unconfirmed {
            let message = format!("{mirror} does not confirm all recorded hashes");
            let note = "no package from it has them; only a registry knows the published hashes";
            let warning = finding_at(Code::HashNotChecked, message, location)
                .note(note)
                .help(Remedy::verify_online())
                .about(&entry.address);
            self.result.findings.push(warning);
        }
        self.result.mirrored = Some((
            mirror,
            platforms::compare_entry(self.root, entry, &evidence),
        ));
        self.result.evidence = evidence;
    }

    /// Compares the entry with the release that a registry publishes.
    fn ask_registry(
        &mut self,
        platforms: &BTreeSet<Platform>,
        available: &AvailableVersions,
    ) -> packages::Result<()> {
        let required = self.required_platforms(platforms);
        self.report_platforms(&required, platforms);

        // The facts are the same for every platform; a required one is likely to exist.
        let mut published = None;
        if let Some(platform) = required.available.first().or(platforms.first()) {
            let package = self.release().package(platform);
            published = self.online.source.published_release(&package)?;
        }
        let mut evidence = ReleaseEvidence::default();
        if let Some(published) = &published {
            self.check_authentication(published, available);
            self.add_published_hashes(published, platforms, &mut evidence);
        }

        // The packages for required platforms whose h1 the registry does not report.
        let mut without_h1 = required.available.clone();
        without_h1.retain(|platform| !evidence.h1_by_platform.contains_key(platform));
        let failures = self.release().fetch_h1(without_h1, &mut evidence);
        let are_required_fetched = failures.is_empty();
        self.record_failures(failures);
        let not_covered = self.finding_not_covered(&required, &evidence);
        self.result.has_unknown_platforms |= not_covered.is_some() || !are_required_fetched;

        let mut compared = ComparedHashes::default();
        let mut has_every_package = false;
        if let Some(published) = &published {
            // The registry may list fewer platforms than the signed file.
            let platforms = platforms | &published.platforms;
            let are_others_fetched = self.explain_recorded_h1(&platforms, &mut evidence);
            // An h1 may be that of a package that could not be fetched.
            if are_required_fetched && are_others_fetched {
                evidence.complete_schemes.insert(HashScheme::H1);
            }
            let known = &evidence.h1_by_platform;
            has_every_package = platforms
                .iter()
                .all(|platform| known.contains_key(platform));
            compared = evidence.compare(&self.comparable(published, &evidence));
        }
        let mut hashes = self.entry.hashes.iter();
        self.result.is_published = !self.entry.hashes.is_empty()
            && hashes.all(|(hash, _)| {
                evidence.hashes_of_no_platform.contains(hash) || compared.published.contains(hash)
            });
        self.report_hashes(&compared, has_every_package, not_covered);
        self.result.evidence = evidence;
        Ok(())
    }

    /// Reports required platforms for which the release has no package, and exceptions in the
    /// settings that do not fit the listed platforms.
    fn report_platforms(&mut self, required: &RequiredPlatforms, listed: &BTreeSet<Platform>) {
        let root = self.root;
        let entry = self.entry;
        self.result.has_unknown_platforms |= !required.without_package.is_empty();
        for platform in &required.without_package {
            let error = platforms::finding_not_published(root, entry, platform, listed.iter());
            self.result.findings.push(error.about(&entry.address));
        }
        let wrong = platforms::wrong_exceptions(root, entry, |platform| listed.contains(platform));
        self.result.findings.extend(wrong);
    }

    /// Adds the hashes that the registry publishes: the `zh:` in SHA256SUMS, and the `h1:` that it
    /// reports.
    fn add_published_hashes(
        &mut self,
        published: &Published,
        platforms: &BTreeSet<Platform>,
        evidence: &mut ReleaseEvidence,
    ) {
        match self.published_zh(published, platforms) {
            Ok(zh) => {
                evidence.hashes_of_no_platform = zh;
                evidence.complete_schemes.insert(HashScheme::Zh);
            }
            Err(error) => self.record_failure(error),
        }
        evidence.h1_by_platform.clone_from(&published.h1);
    }

    /// The finding about required platforms whose known `h1:` are not recorded; `None` if there
    /// are none.
    fn finding_not_covered(
        &self,
        required: &RequiredPlatforms,
        evidence: &ReleaseEvidence,
    ) -> Option<Diagnostic> {
        let mut not_covered = Vec::new();
        for platform in &required.available {
            if let Some(hashes) = evidence.h1_by_platform.get(platform)
                && hashes.is_disjoint(&self.entry.locked.hashes)
            {
                not_covered.push(platform.clone());
            }
        }
        finding_without_h1(self.root, self.entry, &not_covered)
    }

    /// Fetches the packages that may have the recorded `h1:` of no known package. Returns whether
    /// all requested packages could be fetched.
    fn explain_recorded_h1(
        &mut self,
        platforms: &BTreeSet<Platform>,
        evidence: &mut ReleaseEvidence,
    ) -> bool {
        let recorded = self.recorded_hashes(HashScheme::H1);
        let release = self.release();
        let failures = release.fetch_until_explained(&recorded, platforms, evidence);
        let has_all = failures.is_empty();
        self.record_failures(failures);
        has_all
    }

    /// Reports a signature that the policy does not accept, and a key that has changed.
    fn check_authentication(&mut self, published: &Published, available: &AvailableVersions) {
        for warning in &published.warnings {
            self.add_finding(warning.clone());
        }
        let authentication = &published.authentication;
        let not_accepted = policy::check_signature(self.root, self.entry, authentication);
        self.result.findings.extend(not_accepted);
        match self.check_signing_key(authentication, available) {
            Ok(changed) => self.result.findings.extend(changed),
            Err(error) => self.record_failure(error),
        }
        self.result.authentication = Some(authentication.clone());
    }

    /// Reports unpublished hashes, in one finding, and required platforms without a hash
    /// (`not_covered`). If no hash is published, that is the only finding.
    fn report_hashes(
        &mut self,
        compared: &ComparedHashes,
        has_every_package: bool,
        not_covered: Option<Diagnostic>,
    ) {
        let unpublished = unpublished_by_scheme(&compared.unpublished, has_every_package);
        let count = compared.unpublished.len();
        if count > 1 && compared.published.is_empty() {
            self.add_finding(self.finding_nothing_published(&unpublished, count));
            return;
        }
        // As above for a single hash: its finding is the only one.
        if count == 0 || !compared.published.is_empty() {
            self.result.findings.extend(not_covered);
        }
        if count > 0 {
            let finding = self.finding_unpublished(&unpublished, &compared.unpublished);
            self.result.findings.push(finding);
        }
    }

    /// The finding about hashes that belong to no published package.
    fn finding_unpublished(
        &self,
        lists: &[UnpublishedHashes<'_>],
        hashes: &BTreeSet<Hash>,
    ) -> Diagnostic {
        let release = self.root.release_name(self.entry);
        let mut message = format!(
            "{} recorded hashes of {release} belong to no published package",
            hashes.len()
        );
        let mut help = "find out who added the hashes, and remove them";
        let is_single = hashes.len() == 1;
        if is_single && let Some(hash) = hashes.first() {
            message = format!(
                "the {} {} belongs to no published package of {release}",
                hash.scheme_name(),
                hash.value()
            );
            help = "find out who added the hash, and remove it";
        }
        let mut error = Diagnostic::finding(Code::HashNotPublished, message);
        for (hash, location) in &self.entry.hashes {
            if hashes.contains(hash) {
                error = error.at_location(location.clone());
            }
        }
        for list in lists {
            let mut note = format!("compared with {}", list.with);
            // The message contains a single hash.
            if !is_single {
                note = format!("{note}: {}", first_few(&list.hashes));
            }
            error = error.note(note);
        }
        error.help(help)
    }

    /// The platforms that the project requires of the provider, with and without a package.
    fn required_platforms(&self, listed: &BTreeSet<Platform>) -> RequiredPlatforms {
        let required: Vec<_> = match self.root.platforms {
            Some(PlatformSelection::All) => listed.iter().collect(),
            _ => self.root.named_platforms().iter().collect(),
        };
        let mut platforms = RequiredPlatforms::default();
        for platform in required {
            if self.root.is_exempted(self.entry, platform) {
                continue;
            }
            if listed.contains(platform) {
                platforms.available.push(platform.clone());
            } else {
                platforms.without_package.push(platform.clone());
            }
        }
        platforms
    }

    /// The finding about a new version that is not signed, or signed by a different key than the
    /// versions at the base; `None` if one of them is signed by the same key, or none is signed.
    fn check_signing_key(
        &self,
        now: &Authentication,
        available: &AvailableVersions,
    ) -> packages::Result<Option<Diagnostic>> {
        let mut changed = None;
        let mut unknown = None;
        for old in self.versions_before() {
            match self.old_key(old, available)? {
                OldKey::Known(key) => {
                    let who = match now {
                        // One version with this key is enough.
                        Authentication::Signed { fingerprint, .. } if *fingerprint == key => {
                            return Ok(None);
                        }
                        Authentication::Signed { fingerprint, .. } => {
                            format!("is signed by the key {fingerprint}")
                        }
                        other => format!("is not signed ({other})"),
                    };
                    let release = self.root.release_name(self.entry);
                    changed.get_or_insert_with(|| {
                        format!("{release} {who}, and {old} by the key {key}")
                    });
                }
                // Without a signature there was no key that could have changed.
                OldKey::Unsigned => {}
                OldKey::Unknown(why) => {
                    let name = self.root.provider_name(&self.entry.address);
                    unknown.get_or_insert_with(|| {
                        format!("the key that signed {name} {old} is unknown, because {why}")
                    });
                }
            }
        }

        let Some(message) = changed.or(unknown) else {
            return Ok(None);
        };
        let note = finding_at(Code::SigningKeyChanged, message, self.entry.version());
        let help = "ask the publisher, and not the registry, whether the key has changed";
        let help = Help::text(help).and_owner_allows(Code::SigningKeyChanged);
        Ok(Some(note.help(help)))
    }

    /// The different version in this lock file at the base. For a provider that is new here: the
    /// versions in all lock files of the base, newest first, unless this version is one of them.
    fn versions_before(&self) -> Vec<&'a Version> {
        let root = self.root;
        let address = &self.entry.address;
        let mut versions = Vec::new();
        if let Some(before) = root.lock_file_before()
            && let Some(own) = before.locks().get(address)
        {
            versions.push(&own.version);
        } else if let Some(base) = &root.base
            && let Some(of_provider) = base.facts.versions().get(address)
        {
            versions.extend(of_provider.keys().rev());
        }
        if versions.contains(&&self.entry.locked.version) {
            return Vec::new();
        }
        versions
    }

    /// The key that signed a version. It is looked up, because lock files do not record it.
    fn old_key(&self, old: &Version, available: &AvailableVersions) -> packages::Result<OldKey> {
        if !available.versions.contains_key(old) {
            return Ok(OldKey::Unknown("its source no longer lists it"));
        }
        let source = self.online.source;
        let release = ReleaseLookup {
            version: old,
            ..self.release()
        };
        let platforms = source.platforms(release.address, old)?;
        let Some(platform) = platforms.first() else {
            return Ok(OldKey::Unknown("its source lists no platform"));
        };
        match source.published_release(&release.package(platform)) {
            Ok(Some(published)) => match published.authentication {
                Authentication::Signed { fingerprint, .. } => Ok(OldKey::Known(fingerprint)),
                _ => Ok(OldKey::Unsigned),
            },
            Ok(None) => Ok(OldKey::Unknown("a mirror supplies it")),
            Err(SourceError::ReleaseRefused(_)) => Ok(OldKey::Unknown("its release is refused")),
            Err(error) => Err(error),
        }
    }

    /// The `zh:` in SHA256SUMS. A registry may have one such document for each platform; they are
    /// requested if the first one lacks a recorded `zh:`.
    fn published_zh(
        &self,
        published: &Published,
        platforms: &BTreeSet<Platform>,
    ) -> packages::Result<BTreeSet<Hash>> {
        let mut zh = published.zh.clone();
        if self.recorded_hashes(HashScheme::Zh).is_subset(&zh) {
            return Ok(zh);
        }
        let answers = parallel::map(
            platforms.iter().collect(),
            WAITING_REQUESTS,
            |platform: &Platform| {
                let package = self.release().package(platform);
                self.online.source.published_release(&package)
            },
        );
        for answer in answers {
            match answer {
                Ok(Some(published)) => zh.extend(published.zh),
                Ok(None) => {}
                Err(error) if error.is_platform_missing() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(zh)
    }

    /// The recorded hashes of schemes whose published hashes are known. SHA256SUMS lists documents,
    /// too, which may be the same in several versions, so their hashes are omitted.
    fn comparable(&self, published: &Published, evidence: &ReleaseEvidence) -> BTreeSet<Hash> {
        let Published { zh, packages, .. } = published;
        let mut comparable = BTreeSet::new();
        for scheme in &evidence.complete_schemes {
            comparable.extend(self.recorded_hashes(*scheme));
        }
        comparable.retain(|hash| {
            packages.is_empty() || packages.contains_key(hash) || !zh.contains(hash)
        });
        comparable
    }

    /// The well-formed recorded hashes of a scheme.
    fn recorded_hashes(&self, scheme: HashScheme) -> BTreeSet<Hash> {
        self.entry
            .locked
            .hashes
            .iter()
            .filter(|hash| hash.is_well_formed_as(scheme))
            .cloned()
            .collect()
    }

    /// The finding for an entry without any published hash, as after a change of only its version.
    fn finding_nothing_published(
        &self,
        lists: &[UnpublishedHashes<'_>],
        count: usize,
    ) -> Diagnostic {
        let noun = match lists {
            [list] => list.hashes[0].scheme_name(),
            _ => "hashes",
        };
        let release = self.root.release_name(self.entry);
        let message = format!(
            "none of the {count} recorded {noun} belongs to a published package of {release}"
        );
        let with = lists.iter().map(|list| list.with);
        Diagnostic::finding(Code::HashNotPublished, message)
            .note(format!("compared with {}", joined_with_and(with)))
            .help("find out who changed the version or the hashes, and restore the entry")
    }

    /// The locked release, without the cache, whose packages may have been replaced since.
    fn release(&self) -> ReleaseLookup<'a> {
        ReleaseLookup {
            address: &self.entry.address,
            version: &self.entry.locked.version,
            source: self.online.source,
            cache: None,
            progress: self.online.progress,
        }
    }

    /// Adds a finding about the version of the entry.
    fn add_finding(&mut self, finding: Diagnostic) {
        self.result
            .findings
            .push(finding.at_location(self.entry.version().clone()));
    }

    /// Records why packages could not be fetched.
    fn record_failures(&mut self, errors: Vec<SourceError>) {
        for error in errors {
            self.record_failure(error);
        }
    }

    /// Records a failure: a refused release is a finding, anything else an error.
    fn record_failure(&mut self, error: SourceError) {
        let is_finding = matches!(error, SourceError::ReleaseRefused(_));
        let list = if is_finding {
            &mut self.result.findings
        } else {
            &mut self.result.errors
        };
        for error in Diagnostics::from(error) {
            let mut error = error.at_location(self.entry.version().clone());
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

/// Unpublished hashes by scheme, without empty lists.
fn unpublished_by_scheme(
    unpublished: &BTreeSet<Hash>,
    has_every_package: bool,
) -> Vec<UnpublishedHashes<'_>> {
    let HashesByScheme {
        h1,
        zh,
        unknown: _,
        malformed: _,
    } = unpublished.iter().collect();
    let packages = if has_every_package {
        "the packages of all its platforms"
    } else {
        "the packages that could be fetched"
    };
    let mut lists = Vec::new();
    for (with, hashes) in [("SHA256SUMS", zh), (packages, h1)] {
        if !hashes.is_empty() {
            lists.push(UnpublishedHashes { with, hashes });
        }
    }
    lists
}
