//! Platforms that the recorded hashes cover, as far as packages with known hashes show.
//!
//! Codes: `platform-missing`, `platform-not-covered`, `platform-not-known`, `single-platform`.

use std::collections::BTreeSet;

use super::audited_root::{AuditedRoot, VerifiedRoot, finding_at};
use crate::diagnostic::words::joined_with_and;
use crate::diagnostic::{Code, Diagnostic, Help, LockRemedy, Pattern, Remedy};
use crate::lockfile::Entry;
use crate::packages::archive::{Covers, ReleaseEvidence};
use crate::provider::{Hash, Platform};
use crate::settings::PlatformSelection;

/// Noun of the lists of platforms in messages.
pub(super) const PLATFORM: &str = "platform";

/// Result of comparing an entry with the required platforms.
pub(super) struct ComparedEntry<'a> {
    entry: &'a Entry,
    /// Platforms that surely have no hash.
    findings: Vec<Diagnostic>,
    /// Required platforms whose hashes are unknown; `None` if all platforms of a release are
    /// required, and these are unknown.
    unknown: Option<Vec<Platform>>,
}

/// Adds findings about the required platforms, as far as the cache knows the packages; without
/// required platforms, about entries for one platform only.
pub(super) fn check_required_platforms(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    // A registry lists the platforms, so that `online` compares them then.
    if root.online.is_some() || root.is_policy_only() {
        return;
    }
    let mut compared = Vec::new();
    for entry in root.entries() {
        if !entry.locked.hashes.iter().any(Hash::is_known) {
            // Without a hash any package is accepted, for any platform.
            report.has_unknown_platforms |= root.platforms.is_some();
        } else if root.platforms.is_none() {
            report.findings.extend(finding_single_h1(entry));
        } else {
            let known = match root.cache {
                Some(cache) => cache.release_evidence(&entry.address, &entry.locked.version),
                None => ReleaseEvidence::default(),
            };
            compared.push(compare_entry(root, entry, &known));
        }
    }
    add_platform_findings(root, compared, None, report);
}

/// Compares an entry with the required platforms. The message about too few hashes contains no
/// provider, so that one finding covers all entries of a file, and all root modules.
pub(super) fn compare_entry<'a>(
    root: &AuditedRoot<'_>,
    entry: &'a Entry,
    known: &ReleaseEvidence,
) -> ComparedEntry<'a> {
    let mut required: Vec<&Platform> = match (root.platforms, &known.listed) {
        (Some(PlatformSelection::These(platforms)), _) => platforms.iter().collect(),
        (Some(PlatformSelection::All), Some(listed)) => listed.iter().collect(),
        (Some(PlatformSelection::All), None) => return compare_with_all(root, entry),
        (None, _) => Vec::new(),
    };
    required.retain(|platform| !root.is_exempted(entry, platform));

    let hashes = &entry.locked.hashes;
    let mut findings = Vec::new();
    let mut without_hash = Vec::new();
    let mut unknown = Vec::new();
    // Required platforms that are covered, or may be.
    let mut possible = 0;
    for &platform in &required {
        match known.covers(hashes, platform) {
            Covers::Yes => possible += 1,
            Covers::Unknown => {
                possible += 1;
                unknown.push(platform.clone());
            }
            Covers::No => match &known.listed {
                Some(listed) if !listed.contains(platform) => {
                    findings.push(finding_not_published(root, entry, platform, listed.iter()));
                }
                _ => without_hash.push(platform.clone()),
            },
        }
    }
    findings.extend(finding_without_h1(root, entry, &without_hash));
    findings.extend(wrong_exceptions(root, entry, |platform| {
        let listed = known.listed.as_ref();
        listed.is_some_and(|listed| listed.contains(platform))
            || known.covers(hashes, platform) == Covers::Yes
    }));

    // Each h1 is for one platform: with fewer of them than platforms, one has none.
    let recorded = entry.locked.platform_hashes().count();
    let unexplained = known.unexplained_h1(hashes).len();
    let are_too_few = unexplained < unknown.len() || recorded < possible;
    if !unknown.is_empty() && are_too_few {
        let numbers = H1Numbers {
            recorded,
            unexplained,
            required: required.len(),
            unknown: unknown.len(),
        };
        let message = numbers.too_few_message();
        let error = finding_at(Code::PlatformNotCovered, message, &entry.block);
        let error = error.note(format!("required: {}", joined_with_and(&required)));
        findings.push(error.help(root.lock_remedy()).about(&entry.address));
        // The error covers them.
        unknown.clear();
    }
    ComparedEntry {
        entry,
        findings,
        unknown: Some(unknown),
    }
}

/// Numbers of the `h1:` of an entry, and of required platforms.
struct H1Numbers {
    /// Recorded `h1:`.
    recorded: usize,
    /// Recorded `h1:` of no known package.
    unexplained: usize,
    /// Required platforms.
    required: usize,
    /// Required platforms without a known package.
    unknown: usize,
}

impl H1Numbers {
    /// The message about an entry with too few `h1:` for the required platforms.
    fn too_few_message(&self) -> String {
        let Self {
            recorded,
            unexplained,
            required,
            unknown,
        } = self;
        if *recorded == 1 {
            return format!("only 1 h1 is recorded, but {required} platforms are required");
        }
        if recorded < required {
            return format!(
                "only {recorded} h1 are recorded, but {required} platforms are required"
            );
        }
        format!(
            "only {unexplained} of {recorded} h1 can be for {unknown} of the required platforms"
        )
    }
}

/// Compares an entry with all platforms of its release, which are unknown.
fn compare_with_all<'a>(root: &AuditedRoot<'_>, entry: &'a Entry) -> ComparedEntry<'a> {
    // An h1 may be for any of them.
    if entry.locked.platform_hashes().next().is_some() {
        return ComparedEntry {
            entry,
            findings: Vec::new(),
            unknown: None,
        };
    }
    let message = "no h1 is recorded, but all platforms are required".to_owned();
    let error = finding_at(Code::PlatformNotCovered, message, &entry.block);
    ComparedEntry {
        entry,
        findings: vec![error.help(root.lock_remedy()).about(&entry.address)],
        unknown: Some(Vec::new()),
    }
}

/// Adds the findings about all entries to the report. `mirror` is the source that was asked, if one
/// was. Unknown platforms are a finding if the user requested platforms, or if an entry has a hash
/// for one platform only; otherwise they are only part of the summary.
pub(super) fn add_platform_findings(
    root: &AuditedRoot<'_>,
    compared: Vec<ComparedEntry<'_>>,
    mirror: Option<&str>,
    report: &mut VerifiedRoot,
) {
    let mut platforms = BTreeSet::new();
    let mut entries = Vec::new();
    for ComparedEntry {
        entry,
        findings,
        unknown,
    } in compared
    {
        let has_unknown = unknown.as_ref().is_none_or(|unknown| !unknown.is_empty());
        report.has_unknown_platforms |= has_unknown || !findings.is_empty();
        report.findings.extend(findings);
        // All platforms are required, it is not known which there are, and the entry cannot have a
        // hash for each.
        let has_hash_for_one_only = unknown.is_none() && entry.locked.platform_hashes().count() < 2;
        if has_unknown && (root.options.platforms.is_some() || has_hash_for_one_only) {
            platforms.extend(unknown.unwrap_or_default());
            entries.push(entry);
        }
    }

    let message = match mirror {
        Some(mirror) => format!(
            "the platforms of the recorded h1 are unknown, because {mirror} does not list them"
        ),
        None => "the platforms of the recorded h1 are unknown offline".to_owned(),
    };
    let names = if platforms.is_empty() {
        "all platforms".to_owned()
    } else {
        joined_with_and(platforms)
    };
    let online = Remedy::Verify {
        online: true,
        platforms: Some(root.named_platforms().to_vec()),
    };
    for entry in entries {
        let warning = finding_at(Code::PlatformNotKnown, message.clone(), &entry.block)
            .note(format!("not confirmed: {names}"))
            .help(online.clone())
            .about(&entry.address);
        report.findings.push(warning);
    }
}

/// The locked providers, each with a required platform from which the settings exempt it.
pub(super) fn exempted_platforms(root: &AuditedRoot<'_>) -> BTreeSet<(String, Platform)> {
    let mut exempted = BTreeSet::new();
    let without_platforms = &root.module.settings.without_platforms;
    for entry in root.entries() {
        for exemption in without_platforms.of(&entry.address, root.module.dialect) {
            let platform = &exemption.platform;
            let is_required = match root.platforms {
                Some(PlatformSelection::All) => true,
                Some(PlatformSelection::These(these)) => these.contains(platform),
                None => false,
            };
            if is_required {
                exempted.insert((root.provider_name(&entry.address), platform.clone()));
            }
        }
    }
    exempted
}

/// The finding for an entry that can cover one platform only, if no platforms are specified. It
/// names no provider, so that it is one finding for all entries of a file.
pub(super) fn finding_single_h1(entry: &Entry) -> Option<Diagnostic> {
    if entry.locked.platform_hashes().count() != 1 {
        return None;
    }
    let message =
        "only one h1 is recorded, so on any other platform init changes the lock file, or fails"
            .to_owned();
    let help = Help::from(LockRemedy {
        platforms: Some(Vec::new()),
        ..LockRemedy::default()
    });
    let warning = finding_at(Code::SinglePlatform, message, &entry.block)
        .help(help.and_text(", or set platforms in provlock.toml"))
        .about(&entry.address);
    Some(warning)
}

/// The finding for platforms without an `h1:`; `None` without such platforms. One command adds all
/// hashes, so the findings of all entries are folded.
pub(super) fn finding_without_h1(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    platforms: &[Platform],
) -> Option<Diagnostic> {
    if platforms.is_empty() {
        return None;
    }
    let pattern = Pattern::text("no h1 of ")
        .and_names("provider", [root.release_name(entry)])
        .and_text(" for ")
        .and_names(PLATFORM, platforms.iter().map(ToString::to_string))
        .and_text(" is recorded");
    let error = finding_at(Code::PlatformMissing, pattern, &entry.block);
    Some(error.help(root.lock_remedy()))
}

/// The finding for a required platform for which the locked version has no package. `listed` are
/// the platforms of its packages.
pub(super) fn finding_not_published<'a>(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    platform: &Platform,
    listed: impl Iterator<Item = &'a Platform>,
) -> Diagnostic {
    let pattern = Pattern::text("")
        .and_names("provider", [root.release_name(entry)])
        .and_verb(" is", " are")
        .and_text(format!(" not published for {platform}"));
    let listed: Vec<_> = listed.map(ToString::to_string).collect();
    let help = Help::text("lock a different version, or remove the platform; ")
        .and_exempt(root.provider_name(&entry.address), platform);
    let published = format!("published for {}", listed.join(", "));
    Diagnostic::finding(Code::PlatformMissing, pattern)
        .at(entry.version().clone(), published)
        .help(help)
}

/// Warnings about platforms that the locked version has although the settings exempt the provider
/// from them.
pub(super) fn wrong_exceptions(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    has_package: impl Fn(&Platform) -> bool,
) -> Vec<Diagnostic> {
    let missing = &root.module.settings.without_platforms;
    missing
        .of(&entry.address, root.module.dialect)
        .filter(|missing| has_package(&missing.platform))
        .map(|missing| {
            missing
                .exists(&root.release_name(entry))
                .about(&entry.address)
        })
        .collect()
}
