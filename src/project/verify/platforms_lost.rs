//! Platforms that an entry loses although its version stays, as when a bot locks it again on one
//! machine.

use std::collections::{BTreeMap, BTreeSet};

use super::audited_root::{AuditedRoot, VerifiedRoot, finding_at};
use super::platforms::PLATFORM;
use crate::diagnostic::words::count;
use crate::diagnostic::{Code, Diagnostic, LockRemedy, Pattern, Severity};
use crate::lockfile::{self, Entry, LockedProvider, ProviderDiff};
use crate::packages::archive::{Covers, ReleaseEvidence};
use crate::provider::{Hash, Platform, ProviderAddress};
use crate::settings::PlatformSelection;

/// Packages that an online run knows.
pub(super) type KnownReleases = BTreeMap<ProviderAddress, ReleaseEvidence>;

/// Adds a finding for each entry that loses platforms, if registries are not asked.
pub(super) fn check_lost_platforms(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    if root.online.is_none() {
        check_lost_platforms_with(root, KnownReleases::new(), report);
    }
}

/// Adds a finding for each entry that loses platforms. These are named as far as the cache or a
/// registry knows the packages. The other findings about platforms must be in the report already.
pub(super) fn check_lost_platforms_with(
    root: &AuditedRoot<'_>,
    mut known: KnownReleases,
    report: &mut VerifiedRoot,
) {
    let Some(before) = root.lock_file_before() else {
        return;
    };
    // A directory that is no root module need not cover platforms.
    if root.is_policy_only() {
        return;
    }
    let mut not_covered = BTreeSet::new();
    for finding in &report.findings {
        if finding.code == Code::PlatformNotCovered {
            not_covered.extend(finding.providers.iter().cloned());
        }
    }
    for change in lockfile::diff(before.locks(), root.lock_file.locks()).changes() {
        let Some(entry) = root.lock_file.entry(&change.address) else {
            continue;
        };
        let mut release = known.remove(&change.address).unwrap_or_default();
        if let Some(cache) = root.cache {
            release.add_evidence(cache.release_evidence(&entry.address, &entry.locked.version));
        }
        if let Some(lost) = LostPlatforms::of(change, &release) {
            let mut finding = lost.finding(root, entry);
            // Too few hashes are left for the required platforms.
            if not_covered.contains(&entry.address) {
                finding.severity = Severity::Error;
            }
            report.findings.push(finding);
        }
    }
}

/// Platforms that an entry covered, and covers no longer.
#[derive(Debug, PartialEq, Eq)]
struct LostPlatforms {
    /// Platforms whose hashes are known.
    named: BTreeSet<Platform>,
    /// Number of other removed `h1:`, each of one platform.
    unnamed: usize,
}

impl LostPlatforms {
    /// Compares an entry with the same entry before, as far as the packages of the release are
    /// known. `None` if the version changed, or no platform is lost.
    fn of(change: &ProviderDiff, known: &ReleaseEvidence) -> Option<Self> {
        let old = change.old.as_ref()?;
        let new = change.new.as_ref()?;
        if old.version != new.version {
            return None;
        }
        // Replaced hashes are a finding of their own.
        if change.hashes_replaced() {
            return None;
        }

        let mut named = BTreeSet::new();
        let mut unknown = 0;
        for hash in removed_h1(old, new) {
            match known.platform_of(hash) {
                // A mirror and the registry may have different packages for a platform.
                Some(platform) if known.covers(&new.hashes, platform) == Covers::Yes => {}
                Some(platform) => _ = named.insert(platform.clone()),
                None => unknown += 1,
            }
        }

        // An added hash may be for the platform of a removed one.
        let added = removed_h1(new, old).count();
        let unnamed = usize::saturating_sub(unknown, added);
        if named.is_empty() && unnamed == 0 {
            return None;
        }
        Some(Self { named, unnamed })
    }

    /// The finding about an entry: an error if the settings or the caller require one of the
    /// platforms.
    fn finding(&self, root: &AuditedRoot<'_>, entry: &Entry) -> Diagnostic {
        let mut pattern = Pattern::text("this change removes the h1 of ")
            .and_names("provider", [root.release_name(entry)])
            .and_text(" for ");
        let unnamed = count(self.unnamed, "unknown platform");
        if self.named.is_empty() {
            pattern = pattern.and_text(unnamed);
        } else {
            let named = self.named.iter().map(ToString::to_string);
            pattern = pattern.and_names(PLATFORM, named);
            if self.unnamed > 0 {
                pattern = pattern.and_text(format!(" and {unnamed}"));
            }
        }
        let mut finding = finding_at(Code::PlatformsLost, pattern, &entry.block);
        if self.is_required(root, entry) {
            finding.severity = Severity::Error;
        }
        finding.help(self.remedy(root)).about(&entry.address)
    }

    fn is_required(&self, root: &AuditedRoot<'_>, entry: &Entry) -> bool {
        if root.platforms == Some(&PlatformSelection::All) && self.unnamed > 0 {
            return true;
        }
        for platform in &self.named {
            let is_selected = match root.platforms {
                None => false,
                Some(PlatformSelection::All) => true,
                Some(PlatformSelection::These(required)) => required.contains(platform),
            };
            if is_selected && !root.is_exempted(entry, platform) {
                return true;
            }
        }
        false
    }

    /// The command that adds the hashes again, and the hashes of required platforms.
    fn remedy(&self, root: &AuditedRoot<'_>) -> LockRemedy {
        // The platforms cannot be named.
        if self.unnamed > 0 {
            return LockRemedy {
                platforms: Some(Vec::new()),
                ..LockRemedy::default()
            };
        }
        let mut remedy = root.lock_remedy();
        if root.platforms == Some(&PlatformSelection::All) {
            return remedy;
        }
        let mut platforms = self.named.clone();
        platforms.extend(remedy.platforms.into_iter().flatten());
        remedy.platforms = Some(platforms.into_iter().collect());
        remedy
    }
}

/// The `h1:` of an entry that the other entry lacks.
fn removed_h1<'a>(
    entry: &'a LockedProvider,
    other: &'a LockedProvider,
) -> impl Iterator<Item = &'a Hash> {
    let hashes = entry.platform_hashes();
    hashes.filter(|hash| !other.hashes.contains(*hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockfile::{Locks, diff, parse};
    use crate::provider::Dialect;
    use std::path::Path;

    fn h1(number: u8) -> Hash {
        let text = format!("h1:{}=", char::from(b'A' + number).to_string().repeat(43));
        text.parse().unwrap()
    }

    /// The locks of one provider with these hashes.
    fn locks(version: &str, hashes: &[u8]) -> Locks {
        let list: Vec<_> = hashes
            .iter()
            .map(|number| format!("\"{}\"", h1(*number)))
            .collect();
        let list = list.join(", ");
        let text = format!(
            "provider \"registry.opentofu.org/acme/gamma\" {{\n  version = \"{version}\"\n  hashes = [{list}]\n}}\n"
        );
        let parsed = parse(Path::new("lock"), text.as_bytes(), Dialect::Tofu);
        parsed.lock_file.unwrap().locks().clone()
    }

    fn lost(old: &Locks, new: &Locks, known: &[(&str, u8)]) -> Option<(Vec<String>, usize)> {
        let mut release = ReleaseEvidence::default();
        for (platform, number) in known {
            let hashes = release.h1_by_platform.entry(platform.parse().unwrap());
            hashes.or_default().insert(h1(*number));
        }
        let change = diff(old, new).entries.remove(0);
        let found = LostPlatforms::of(&change, &release)?;
        let named = found.named.iter().map(ToString::to_string).collect();
        Some((named, found.unnamed))
    }

    #[test]
    fn removed_hashes_of_a_version_are_lost_platforms() {
        let three = locks("1.0.0", &[0, 4, 8]);
        assert_eq!(lost(&three, &three, &[]), None);
        assert_eq!(lost(&three, &locks("1.0.1", &[0]), &[]), None);
        assert_eq!(
            lost(&three, &locks("1.0.0", &[0, 4]), &[]),
            Some((Vec::new(), 1))
        );
        let known = [("linux_amd64", 0), ("darwin_arm64", 8)];
        assert_eq!(
            lost(&three, &locks("1.0.0", &[0, 4]), &known),
            Some((vec!["darwin_arm64".to_owned()], 0))
        );
        assert_eq!(
            lost(&three, &locks("1.0.0", &[0]), &known),
            Some((vec!["darwin_arm64".to_owned()], 1))
        );
    }

    #[test]
    fn an_added_hash_may_be_for_the_platform_of_a_removed_one() {
        let old = locks("1.0.0", &[0, 8]);
        assert_eq!(lost(&old, &locks("1.0.0", &[4, 8]), &[]), None);
        assert_eq!(lost(&old, &locks("1.0.0", &[0, 4, 8]), &[]), None);
        let known = [("linux_amd64", 0), ("darwin_arm64", 4)];
        assert_eq!(
            lost(&old, &locks("1.0.0", &[4, 8]), &known),
            Some((vec!["linux_amd64".to_owned()], 0))
        );
        // Two hashes of one package, as of a mirror and of the registry.
        let both = [("linux_amd64", 0), ("linux_amd64", 4)];
        assert_eq!(
            lost(&locks("1.0.0", &[0, 4]), &locks("1.0.0", &[4]), &both),
            None
        );
    }
}
