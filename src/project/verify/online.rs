//! Comparing entries with registries: whether each recorded hash is one of a published package. A mirror contains
//! copies and does not know which packages were published: its packages can confirm a recorded hash, and a missing
//! package proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::platforms::{self, ComparedEntry, missing, single};
use super::policy;
use super::root::{Online, Root};
use super::verified::{VerifiedRoot, finding};
use crate::diagnostic::words::enumerate;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Location, Remedy};
use crate::lockfile::Entry;
use crate::packages::archive::{HashesByPlatform, ReleasePlatforms};
use crate::packages::{self, AvailableVersions, Published, SourceError};
use crate::project::plan::age::registry_warning;
use crate::project::plan::release_lookup::{ReleaseLookup, unexplained};
use crate::provider::{Authentication, Hash, HashScheme, Platform, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Looks up every entry, in parallel.
pub(super) fn check(root: &Root<'_>, report: &mut VerifiedRoot) {
    let Some(online) = root.online else { return };
    let entries: Vec<&Entry> = root.entries().iter().collect();
    let before = root.lock_file_before();
    let answers = parallel::map(entries, WAITING_REQUESTS, |entry| {
        let locked = before.and_then(|before| before.locks().get(&entry.address));
        let before = locked.map(|locked| &locked.version).filter(|version| **version != entry.locked.version);
        EntryCheck { root, online, entry, before, answer: EntryResult::default() }.ask()
    });
    let mut by_mirror: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (entry, EntryResult { findings, errors, authentication, has_unknown_platforms, mirrored }) in
        root.entries().iter().zip(answers)
    {
        report.findings.extend(findings);
        report.errors.extend(errors.into_iter().filter(|error| !report.errors.contains(error)).collect::<Vec<_>>());
        report.authentications.extend(authentication.map(|found| (entry.address.clone(), found)));
        report.has_unknown_platforms |= has_unknown_platforms;
        if let Some((mirror, compared)) = mirrored {
            by_mirror.entry(mirror).or_default().push(compared);
        }
    }
    for (mirror, entries) in by_mirror {
        report.mirrors.insert(mirror.clone(), entries.len());
        platforms::add_compared(root, entries, Some(&mirror), report);
    }
}

/// Result of comparing an entry with its sources.
#[derive(Default)]
struct EntryResult<'a> {
    findings: Vec<Diagnostic>,
    /// Reasons why something could not be checked.
    errors: Vec<Diagnostic>,
    authentication: Option<Authentication>,
    has_unknown_platforms: bool,
    /// The mirror that was asked in place of the registry, and the platforms that it confirms.
    mirrored: Option<(String, ComparedEntry<'a>)>,
}

struct EntryCheck<'a> {
    root: &'a Root<'a>,
    online: Online<'a>,
    entry: &'a Entry,
    /// The version at the base, if it differs.
    before: Option<&'a Version>,
    answer: EntryResult<'a>,
}

/// Recorded hashes of a scheme, compared with the published ones.
struct ComparedHashes {
    recorded: BTreeSet<Hash>,
    unpublished: BTreeSet<Hash>,
    /// The published data, as users know it.
    with: &'static str,
}

impl<'a> EntryCheck<'a> {
    fn ask(mut self) -> EntryResult<'a> {
        match self.platforms() {
            Ok(Some(platforms)) => self.ask_about(&platforms),
            Ok(None) => {}
            Err(error) => self.failed(error),
        }
        self.answer
    }

    /// Platforms of the published packages; `None` if the version was withdrawn, which is a finding unless only a
    /// mirror was asked.
    fn platforms(&mut self) -> packages::Result<Option<BTreeSet<Platform>>> {
        let (address, version) = (&self.entry.address, &self.entry.locked.version);
        let available = match self.online.source.versions(address) {
            Ok(available) => available,
            Err(SourceError::ProviderNotFound { .. }) => AvailableVersions::default().into(),
            Err(error) => return Err(error),
        };
        let warnings = available.warnings.iter().map(|text| self.about_entry(registry_warning(address, text)));
        self.answer.findings.extend(warnings.collect::<Vec<_>>());
        if available.versions.contains_key(version) {
            return self.online.source.platforms(address, version).map(Some);
        }
        if let Some(mirror) = self.online.source.mirror_of(address) {
            self.compared_with(mirror, Some(self.entry.version()), &ReleasePlatforms::default());
            return Ok(None);
        }
        let message = format!("{} is locked, but its source does not list it", self.root.release(self.entry));
        let error = finding(Code::VersionWithdrawn, message, self.entry.version(), "");
        self.answer.findings.push(error.help(Remedy::upgrade(self.root.name(address))));
        Ok(None)
    }

    fn ask_about(&mut self, platforms: &BTreeSet<Platform>) {
        if self.root.platforms.is_none() && platforms.len() > 1 && !self.root.is_policy_only {
            self.answer.findings.extend(single(self.entry));
        }
        match self.online.source.supplying_mirror(&self.entry.address, &self.entry.locked.version) {
            Ok(Some(mirror)) => self.ask_mirror(mirror, platforms),
            Ok(None) => self.ask_registry(platforms),
            Err(error) => self.failed(error),
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
            let package = release.source.package(&release.package(platform), release.progress).ok()?;
            Some((platform.clone(), package))
        });
        let fetched: Vec<_> = fetched.collect();
        let copies = fetched.iter().map(|(platform, package)| (platform.clone(), package.all_h1())).collect();
        let platforms = ReleasePlatforms { copies, ..ReleasePlatforms::default() };
        let is_confirmed = |hash: &Hash| {
            let mut archives = fetched.iter().filter_map(|(_, package)| package.digest.as_ref());
            archives.any(|digest| digest.zh == *hash) || platforms.copies.values().any(|hashes| hashes.contains(hash))
        };
        let is_unconfirmed = |hash: &Hash| (h1.contains(hash) || zh.contains(hash)) && !is_confirmed(hash);
        let first = entry.hashes.iter().find(|(hash, _)| is_unconfirmed(hash)).map(|(_, location)| location);
        self.compared_with(mirror, first, &platforms);
        self.all_succeeded(failures);
    }

    /// Records which platforms a mirror confirms, and the first location that it does not confirm. The message of the
    /// finding contains no provider, so that the findings of all entries are folded into one.
    fn compared_with(&mut self, mirror: String, unconfirmed: Option<&Location>, platforms: &ReleasePlatforms) {
        let entry = self.entry;
        self.answer.findings.extend(unconfirmed.map(|location| {
            let message = format!("{mirror} does not confirm all recorded hashes");
            let warning = finding(Code::HashNotChecked, message, location, "");
            let note = "no package from it has them; only a registry knows the published hashes";
            warning.note(note).help(Remedy::verify_online()).about(&entry.address)
        }));
        self.answer.mirrored = Some((mirror, platforms::compare(self.root, entry, platforms)));
    }

    /// Compares the entry with what a registry publishes.
    fn ask_registry(&mut self, platforms: &BTreeSet<Platform>) {
        let required = self.required_and_published(platforms);
        let published = match self.published(&required, platforms) {
            Ok(published) => published,
            Err(error) => return self.failed(error),
        };
        let (mut known, mut compared) = (HashesByPlatform::new(), Vec::new());
        if let Some(published) = &published {
            let warnings: Vec<_> = published.warnings.iter().map(|warning| self.about_entry(warning.clone())).collect();
            self.answer.findings.extend(warnings);
            let signature = policy::check_signature(self.root, self.entry, &published.authentication);
            self.answer.findings.extend(signature);
            self.answer.findings.extend(self.key_changed(&published.authentication));
            self.answer.authentication = Some(published.authentication.clone());
            compared.extend(self.compare_zh(published, platforms));
            known.clone_from(&published.h1);
        }
        let unknown = required.iter().filter(|platform| !known.contains_key(platform)).cloned().collect();
        let errors = self.release().fetch(unknown, &mut known);
        let mut complete = self.all_succeeded(errors);
        let is_missing = |platform: &&Platform| {
            known.get(platform).is_some_and(|hashes| hashes.is_disjoint(&self.entry.locked.hashes))
        };
        let missing = required.iter().filter(is_missing).map(|platform| missing(self.root, self.entry, platform));
        let missing: Vec<_> = missing.collect();
        self.answer.has_unknown_platforms |= !missing.is_empty() || !complete;
        if published.is_some() {
            let recorded = self.recorded(HashScheme::H1);
            let errors = self.release().explain(&recorded, platforms, &mut known);
            complete &= self.all_succeeded(errors);
            if complete {
                let unpublished = unexplained(&recorded, &known);
                compared.push(ComparedHashes { recorded, unpublished, with: "the packages of all its platforms" });
            }
        }
        self.report(&compared, missing);
    }

    /// Reports unpublished hashes and platforms without a hash. If no hash is published, that is the only finding.
    fn report(&mut self, compared: &[ComparedHashes], missing: Vec<Diagnostic>) {
        let is_published = |one: &ComparedHashes| one.recorded.len() > one.unpublished.len();
        let checked: usize = compared.iter().map(|one| one.recorded.len()).sum();
        if checked == 0 || compared.iter().any(is_published) {
            self.answer.findings.extend(missing);
        } else if checked > 1 {
            let finding = self.nothing_published(compared, checked);
            self.answer.findings.push(finding);
            return;
        }
        for ComparedHashes { unpublished, with, .. } in compared {
            self.not_published(unpublished, with);
        }
    }

    /// The platforms that the project requires, as published ones and others.
    fn required(&self, published: &BTreeSet<Platform>) -> (Vec<Platform>, Vec<Platform>) {
        match self.root.platforms {
            Some(PlatformSelection::All) => (published.iter().cloned().collect(), Vec::new()),
            _ => self.root.named_platforms().iter().cloned().partition(|platform| published.contains(platform)),
        }
    }

    /// The required platforms that are published. Each other one is a finding.
    fn required_and_published(&mut self, published: &BTreeSet<Platform>) -> Vec<Platform> {
        let (required, absent) = self.required(published);
        self.answer.has_unknown_platforms |= !absent.is_empty();
        for platform in absent {
            let message = format!("{} is not published for {platform}", self.root.release(self.entry));
            let listed: Vec<_> = published.iter().map(ToString::to_string).collect();
            let error = finding(Code::PlatformMissing, message, self.entry.version(), "");
            let error = error.note(format!("it is published for {}", listed.join(", ")));
            self.answer.findings.push(error.help("lock a different version, or remove the platform"));
        }
        required
    }

    /// The published release, requested for a platform that it has.
    fn published(&self, required: &[Platform], platforms: &BTreeSet<Platform>) -> packages::Result<Option<Published>> {
        match required.first().or_else(|| platforms.first()) {
            Some(platform) => self.online.source.published(&self.release().package(platform)),
            None => Ok(None),
        }
    }

    /// A new version that is not signed, or signed by a different key than the old version. Nothing is reported if the
    /// old version was withdrawn.
    fn key_changed(&self, now: &Authentication) -> Option<Diagnostic> {
        let (source, address, old) = (self.online.source, &self.entry.address, self.before?);
        let platform = source.platforms(address, old).ok()?.into_iter().next()?;
        let release = ReleaseLookup { version: old, ..self.release() };
        let before = source.published(&release.package(&platform)).ok()??.authentication;
        let Authentication::Signed { fingerprint: key, .. } = &before else { return None };
        let who = match now {
            Authentication::Signed { fingerprint, .. } if fingerprint == key => return None,
            Authentication::Signed { fingerprint, .. } => format!("is signed by the key {fingerprint}"),
            other => format!("is not signed ({other})"),
        };
        let message = format!("{} {who}, and {old} by the key {key}", self.root.release(self.entry));
        let note = finding(Code::SigningKeyChanged, message, self.entry.version(), "");
        Some(note.help("ask the publisher, and not the registry, whether the key has changed"))
    }

    /// Compares each `zh:` with SHA256SUMS; a registry may have one such document for each platform. Returns `None` if
    /// the registry does not answer.
    fn compare_zh(&mut self, published: &Published, platforms: &BTreeSet<Platform>) -> Option<ComparedHashes> {
        let Published { zh, packages, .. } = published;
        let mut recorded = self.recorded(HashScheme::Zh);
        // SHA256SUMS also lists documents, and they may be the same in several versions.
        recorded.retain(|hash| packages.is_empty() || packages.contains_key(hash) || !zh.contains(hash));
        let mut unpublished: BTreeSet<_> = recorded.difference(zh).cloned().collect();
        let all = if unpublished.is_empty() { Vec::new() } else { platforms.iter().cloned().collect() };
        let ask = |platform: Platform| self.online.source.published(&self.release().package(&platform));
        for answer in parallel::map(all, WAITING_REQUESTS, ask) {
            match answer {
                Ok(Some(published)) => unpublished.retain(|hash| !published.zh.contains(hash)),
                Ok(None) => {}
                Err(error) if error.is_platform_missing() => {}
                Err(error) => {
                    self.failed(error);
                    return None;
                }
            }
        }
        Some(ComparedHashes { recorded, unpublished, with: "SHA256SUMS" })
    }

    fn recorded(&self, scheme: HashScheme) -> BTreeSet<Hash> {
        self.entry.locked.hashes.iter().filter(|hash| hash.is_well_formed_as(scheme)).cloned().collect()
    }

    fn not_published(&mut self, hashes: &BTreeSet<Hash>, compared: &str) {
        let release = self.root.release(self.entry);
        for hash in hashes {
            let place = self.entry.hashes.iter().find(|(recorded, _)| recorded == hash);
            let location = place.map_or(&self.entry.block, |(_, location)| location);
            let (scheme, value) = (hash.scheme_name(), hash.value());
            let message = format!("the {scheme} {value} belongs to no published package of {release}");
            let error = finding(Code::HashNotPublished, message, location, "");
            let error = error.note(format!("compared with {compared}"));
            self.answer.findings.push(error.help("find out who added the hash, and remove it"));
        }
    }

    /// The finding for an entry without any published hash, as after a change of only its version.
    fn nothing_published(&self, compared: &[ComparedHashes], checked: usize) -> Diagnostic {
        let compared: Vec<_> = compared.iter().filter(|one| !one.recorded.is_empty()).collect();
        let noun = match (&compared[..], compared.first().and_then(|one| one.recorded.first())) {
            ([_], Some(hash)) => hash.scheme_name(),
            _ => "hashes",
        };
        let release = self.root.release(self.entry);
        let message = format!("none of the {checked} recorded {noun} belongs to a published package of {release}");
        let error = finding(Code::HashNotPublished, message, self.entry.version(), "");
        let error = error.note(format!("compared with {}", enumerate(compared.iter().map(|one| one.with))));
        error.help("find out who changed the version or the hashes, and restore the entry")
    }

    fn release(&self) -> ReleaseLookup<'a> {
        let (entry, Online { source, progress, .. }) = (self.entry, self.online);
        ReleaseLookup { address: &entry.address, version: &entry.locked.version, source, cache: None, progress }
    }

    /// Records why packages could not be fetched. Returns whether all could.
    fn all_succeeded(&mut self, errors: Vec<SourceError>) -> bool {
        let all = errors.is_empty();
        for error in errors {
            self.failed(error);
        }
        all
    }

    /// Adds the location of the entry to a diagnostic of a source.
    fn about_entry(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at(self.entry.version().clone(), "")
    }

    /// Records a failure: a refused release is a finding, anything else an error.
    fn failed(&mut self, error: SourceError) {
        let is_finding = matches!(error, SourceError::ReleaseRefused(_));
        for error in Diagnostics::from(error) {
            let mut error = self.about_entry(error);
            error.help.get_or_insert_with(|| "do not install this release; ask its publisher what happened".into());
            let list = if is_finding { &mut self.answer.findings } else { &mut self.answer.errors };
            if !list.contains(&error) {
                list.push(error);
            }
        }
    }
}
