//! Findings about what a registry publishes: whether every recorded hash is one of a published package.

use std::collections::BTreeSet;

use super::platforms::{missing, single};
use super::policy;
use super::subject::{Online, Subject, Verified, finding};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Remedy};
use crate::lockfile::Entry;
use crate::packages::archive::PackageId;
use crate::packages::{self, AvailableVersions, Published, SourceError};
use crate::project::plan::explained::{Known, Release, unexplained};
use crate::project::plan::listing;
use crate::provider::{Authentication, Hash, Platform, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Asks about every entry, side by side.
pub(super) fn check(subject: &Subject<'_>, online: Online<'_>) -> Verified {
    let entries = subject.entries().iter().collect();
    let before = subject.request.lock_file_before();
    let check = |entry: &Entry| {
        let locked = before.as_ref().and_then(|before| before.locks().get(&entry.address));
        let before = locked.map(|locked| &locked.version).filter(|version| **version != entry.locked.version);
        Question { subject, online, entry, before, verified: Verified::default() }.ask()
    };
    let mut all = Verified::default();
    for verified in parallel::map(entries, WAITING_REQUESTS, check) {
        all.findings.extend(verified.findings);
        all.errors.extend(verified.errors);
        all.authentications.extend(verified.authentications);
    }
    all.errors.dedup();
    all
}

struct Question<'a> {
    subject: &'a Subject<'a>,
    online: Online<'a>,
    entry: &'a Entry,
    /// The version before the change, if that was another one.
    before: Option<&'a Version>,
    verified: Verified,
}

impl<'a> Question<'a> {
    fn ask(mut self) -> Verified {
        match self.platforms() {
            Ok(Some(platforms)) => self.ask_about(&platforms),
            Ok(None) => {}
            Err(error) => self.failed(error),
        }
        self.verified
    }

    /// The platforms that there are packages for; none if the version is gone, which is a finding.
    fn platforms(&mut self) -> packages::Result<Option<BTreeSet<Platform>>> {
        let (address, version) = (&self.entry.address, &self.entry.locked.version);
        let available = match self.online.source.versions(address) {
            Ok(available) => available,
            Err(SourceError::ProviderNotFound { .. }) => AvailableVersions::default().into(),
            Err(error) => return Err(error),
        };
        let warnings = available.warnings.iter().map(|text| self.about_entry(listing::warning(address, text)));
        self.verified.findings.extend(warnings.collect::<Vec<_>>());
        if available.versions.contains_key(version) {
            return self.online.source.platforms(address, version).map(Some);
        }
        let message = format!("{} is locked, but its source does not list it", self.subject.release(self.entry));
        let error = finding(Code::VersionWithdrawn, message, self.entry.version(), "");
        self.verified.findings.push(error.help(Remedy::upgrade(self.subject.name(address))));
        Ok(None)
    }

    fn ask_about(&mut self, platforms: &BTreeSet<Platform>) {
        let request = self.subject.request;
        if request.platforms.is_none() && platforms.len() > 1 && !request.is_only_judged {
            self.verified.findings.extend(single(self.entry));
        }
        let required = self.asked_for(platforms);
        let published = match self.published(&required, platforms) {
            Ok(published) => published,
            Err(error) => return self.failed(error),
        };
        let mut known = Known::new();
        if let Some(published) = &published {
            let warnings: Vec<_> = published.warnings.iter().map(|warning| self.about_entry(warning.clone())).collect();
            self.verified.findings.extend(warnings);
            let signature = policy::check_signature(self.subject, self.entry, &published.authentication);
            self.verified.findings.extend(signature);
            self.verified.findings.extend(self.key_changed(&published.authentication));
            self.verified.authentications.insert(self.entry.address.clone(), published.authentication.clone());
            self.check_zh(&published.zh, platforms);
            known.clone_from(&published.h1);
        }
        let unknown = required.iter().filter(|platform| !known.contains_key(platform)).cloned().collect();
        let errors = self.release().fetch(unknown, &mut known);
        let mut complete = self.all_succeeded(errors);
        for platform in &required {
            if known.get(platform).is_some_and(|hashes| hashes.is_disjoint(&self.entry.locked.hashes)) {
                self.verified.findings.push(missing(self.subject, self.entry, platform));
            }
        }
        // A mirror need not hold every package, so what it does not hold says nothing.
        if published.is_none() {
            return;
        }
        let recorded = self.recorded(Hash::is_of_files);
        let errors = self.release().explain(&recorded, platforms, &mut known);
        complete &= self.all_succeeded(errors);
        if complete {
            let unexplained = unexplained(&recorded, &known);
            self.not_published(&unexplained, "the packages of all its platforms");
        }
    }

    /// The platforms that the project asks for. One that is not published is a finding.
    fn asked_for(&mut self, platforms: &BTreeSet<Platform>) -> Vec<Platform> {
        if self.subject.request.platforms == Some(&PlatformSelection::All) {
            return platforms.iter().cloned().collect();
        }
        let (there, absent): (Vec<_>, Vec<_>) =
            self.subject.request.named_platforms().iter().cloned().partition(|platform| platforms.contains(platform));
        for platform in absent {
            let message = format!("{} is not published for {platform}", self.subject.release(self.entry));
            let listed: Vec<_> = platforms.iter().map(ToString::to_string).collect();
            let error = finding(Code::PlatformMissing, message, self.entry.version(), "");
            let error = error.note(format!("it is published for {}", listed.join(", ")));
            self.verified.findings.push(error.help("lock another version, or remove the platform"));
        }
        there
    }

    /// What is published, seen from a platform that there is.
    fn published(&self, required: &[Platform], platforms: &BTreeSet<Platform>) -> packages::Result<Option<Published>> {
        match required.first().or_else(|| platforms.first()) {
            Some(platform) => self.online.source.published(&self.package(platform)),
            None => Ok(None),
        }
    }

    /// Another key, or none, signs the new version than the one that signs the old version. Of an old version that is
    /// gone nothing is known.
    fn key_changed(&self, now: &Authentication) -> Option<Diagnostic> {
        let (source, address, old) = (self.online.source, &self.entry.address, self.before?);
        let platform = source.platforms(address, old).ok()?.into_iter().next()?;
        let release = Release { version: old, ..self.release() };
        let before = source.published(&release.package(&platform)).ok()??.authentication;
        let Authentication::Signed { fingerprint: key, .. } = &before else { return None };
        let who = match now {
            Authentication::Signed { fingerprint, .. } if fingerprint == key => return None,
            Authentication::Signed { fingerprint, .. } => format!("is signed by the key {fingerprint}"),
            other => format!("is not signed ({other})"),
        };
        let message = format!("{} {who}, and {old} by the key {key}", self.subject.release(self.entry));
        let note = finding(Code::SigningKeyChanged, message, self.entry.version(), "");
        Some(note.help("find out from the publisher whether the key has changed, and not from the registry"))
    }

    /// Reports each `zh:` that SHA256SUMS does not hold; a registry may have one such document for each platform.
    fn check_zh(&mut self, zh: &BTreeSet<Hash>, platforms: &BTreeSet<Platform>) {
        let recorded = self.recorded(Hash::is_of_archive);
        let mut unexplained: BTreeSet<_> = recorded.difference(zh).cloned().collect();
        if unexplained.is_empty() {
            return;
        }
        let all = platforms.iter().cloned().collect();
        let ask = |platform: Platform| self.online.source.published(&self.package(&platform));
        for answer in parallel::map(all, WAITING_REQUESTS, ask) {
            match answer {
                Ok(Some(published)) => unexplained.retain(|hash| !published.zh.contains(hash)),
                Ok(None) => {}
                Err(error) if error.is_platform_missing() => {}
                Err(error) => return self.failed(error),
            }
        }
        self.not_published(&unexplained, "SHA256SUMS");
    }

    fn recorded(&self, is_asked_for: fn(&Hash) -> bool) -> BTreeSet<Hash> {
        let hashes = self.entry.locked.hashes.iter();
        hashes.filter(|hash| is_asked_for(hash) && hash.is_well_formed()).cloned().collect()
    }

    fn not_published(&mut self, hashes: &BTreeSet<Hash>, compared: &str) {
        let release = self.subject.release(self.entry);
        for hash in hashes {
            let place = self.entry.hashes.iter().find(|(recorded, _)| recorded == hash);
            let location = place.map_or(&self.entry.block, |(_, location)| location);
            let (scheme, value) = (hash.scheme_name(), hash.value());
            let message = format!("the {scheme} {value} belongs to no published package of {release}");
            let error = finding(Code::HashNotPublished, message, location, "");
            let error = error.note(format!("compared with {compared}"));
            self.verified.findings.push(error.help("find out who added the hash, and remove it"));
        }
    }

    fn package(&self, platform: &Platform) -> PackageId {
        self.release().package(platform)
    }

    fn release(&self) -> Release<'a> {
        let (entry, Online { source, progress, .. }) = (self.entry, self.online);
        Release { address: &entry.address, version: &entry.locked.version, source, progress }
    }

    /// Keeps why packages could not be looked at. Whether all could.
    fn all_succeeded(&mut self, errors: Vec<SourceError>) -> bool {
        let all = errors.is_empty();
        for error in errors {
            self.failed(error);
        }
        all
    }

    /// Puts what a source says at the entry that it is about.
    fn about_entry(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at(self.entry.version().clone(), "")
    }

    /// What is wrong with the release is a finding, any other failure an error.
    fn failed(&mut self, error: SourceError) {
        let is_finding = matches!(error, SourceError::ReleaseRefused(_));
        for error in Diagnostics::from(error) {
            let mut error = self.about_entry(error);
            error.help.get_or_insert_with(|| "do not install this release; ask its publisher what happened".into());
            let list = if is_finding { &mut self.verified.findings } else { &mut self.verified.errors };
            if !list.contains(&error) {
                list.push(error);
            }
        }
    }
}
