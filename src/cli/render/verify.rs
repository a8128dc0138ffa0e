//! The output of `verify`: the findings, then a summary.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use provlock::diagnostic::words::first_few;
use provlock::diagnostic::{Code, Diagnostic, Severity};
use provlock::project::{Coverage, DialectReason, VerifiedRoot};
use provlock::settings::PlatformSelection;

use super::causes::{SeveralRoots, one_per_cause};
use super::coverage::{self, noun};
use super::diagnostics;
use super::foreign::with_limited_length;
use super::help::Invocation;
use super::repository_paths::RepositoryPaths;
use super::run_facts::RunFacts;
use super::style::{TextStyle, count, joined_with_and, non_zero_counts};

/// Findings and failures of a run, with the values that formats need.
#[derive(Clone, Copy)]
pub(crate) struct Verification<'a> {
    pub(crate) roots: &'a [VerifiedRoot],
    /// Findings about no single root module.
    pub(crate) findings: &'a [Diagnostic],
    /// Reasons why something was not checked, each once.
    pub(crate) errors: &'a [Diagnostic],
    /// Numbers of checked and unchecked directories.
    pub(crate) coverage: &'a Coverage,
    pub(crate) paths: RepositoryPaths<'a>,
    pub(crate) run: &'a RunFacts,
    pub(crate) invocation: &'a Invocation,
    /// The same run as if it was started at the top of the repository.
    pub(crate) at_top: &'a Invocation,
}

impl<'a> Verification<'a> {
    /// All findings, each with its root module, if it is about one.
    pub(crate) fn all_findings(
        self,
    ) -> impl Iterator<Item = (Option<&'a VerifiedRoot>, &'a Diagnostic)> {
        let mut findings = Vec::new();
        for finding in self.findings {
            findings.push((None, finding));
        }
        for root in self.roots {
            for finding in &root.findings {
                findings.push((Some(root), finding));
            }
        }
        findings.into_iter()
    }

    /// The errors about no root module, and about root modules that could not be checked at all.
    pub(crate) fn errors_outside_checked_roots(self) -> Vec<&'a Diagnostic> {
        let mut errors = Vec::new();
        for error in self.errors {
            let is_of_checked_root = self.roots.iter().any(|root| root.errors.contains(error));
            if !is_of_checked_root {
                errors.push(error);
            }
        }
        errors
    }

    /// Lines about everything that was not checked, for reports. They are there after errors, too.
    pub(crate) fn lines_about_not_checked(self) -> Vec<String> {
        let mut lines = lines_about_not_checked(self.roots, self.run.is_online);
        lines.extend(coverage::lines_about_not_checked(self.coverage));
        for line in &mut lines {
            *line = with_limited_length(&self.invocation.secrets.redact(line));
        }
        lines
    }

    /// Number of findings with a severity, the same in every format.
    pub(crate) fn number_of(self, severity: Severity) -> usize {
        self.all_findings()
            .filter(|(_, finding)| finding.severity == severity)
            .count()
    }

    /// `2 errors and 1 warning`; empty without findings.
    pub(crate) fn numbers_in_words(self) -> String {
        let findings: Vec<_> = self.all_findings().map(|(_, finding)| finding).collect();
        numbers_in_words(&findings)
    }

    /// A path relative to the top of the repository, with slashes and without secrets.
    pub(crate) fn path(self, path: &Path) -> String {
        self.invocation
            .secrets
            .redact(&self.paths.text_relative_to_top(path))
    }
}

/// The findings of at least this severity as text, with a blank line after each; findings of many
/// root modules by cause.
pub(crate) fn findings_as_text(
    verification: Verification<'_>,
    least: Severity,
    several: Option<SeveralRoots<'_>>,
    style: TextStyle,
) -> String {
    let texts = diagnostics::render_all(
        &findings_by_cause(verification, least, several, style.verbose),
        verification.invocation,
        style,
    );
    texts
        .into_iter()
        .flat_map(|text| [text, "\n\n".to_owned()])
        .collect()
}

/// The findings with at least this severity, each cause once.
pub(crate) fn findings_by_cause(
    verification: Verification<'_>,
    least: Severity,
    several: Option<SeveralRoots<'_>>,
    names_all_roots: bool,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (root, finding) in verification.all_findings() {
        if finding.severity >= least {
            findings.push((root.map(|root| &*root.path), finding));
        }
    }
    one_per_cause(findings, several, names_all_roots)
}

/// `live/a: dialect tofu (the lock file); checked 2 providers for linux_amd64`, and a line for each
/// provider whose registry was asked how it authenticates the locked version: `live/a:
/// hashicorp/aws: signed by 34365D95...`
pub(crate) fn lines_about_checks(root: &VerifiedRoot) -> Vec<String> {
    let VerifiedRoot {
        path,
        dialect,
        dialect_reason,
        authentications,
        entries,
        modules,
        platforms,
        ..
    } = root;
    let mut checked = count(*entries, "provider");
    if *modules > 0 {
        let _ = write!(checked, " and {}", count(*modules, "module"));
    }
    let mut checked_platforms = "no platform, because none is set".to_owned();
    if let Some(platforms) = platforms {
        checked_platforms = platforms_in_words(platforms);
        if root.has_unknown_platforms {
            checked_platforms += " (not confirmed)";
        }
    }

    let path = path.display();
    let mut lines = vec![format!(
        "{path}: dialect {dialect} ({}); checked {checked} for {checked_platforms}",
        dialect_reason_in_words(*dialect_reason)
    )];
    for (address, authentication) in authentications {
        lines.push(format!(
            "{path}: {}: {}",
            address.short(*dialect),
            authentication.in_full()
        ));
    }
    lines
}

/// `linux_amd64 and darwin_arm64`, or `all platforms`
pub(crate) fn platforms_in_words(platforms: &PlatformSelection) -> String {
    match platforms {
        PlatformSelection::All => "all platforms".to_owned(),
        PlatformSelection::These(platforms) => joined_with_and(platforms),
    }
}

/// Returns the words for the reason of a dialect.
pub(crate) fn dialect_reason_in_words(reason: DialectReason) -> &'static str {
    match reason {
        DialectReason::Named => "the flag or PROVLOCK_DIALECT",
        DialectReason::Settings => "provlock.toml",
        DialectReason::LockFile => "the lock file",
        DialectReason::TofuFiles => "the .tofu files",
        DialectReason::OtherLockFiles => "the nearest other lock files",
        DialectReason::Mentioned => "a tracked file mentions OpenTofu",
        DialectReason::NotMentioned => "no tracked file mentions OpenTofu",
        DialectReason::Program => "the program in PATH",
        DialectReason::GitFailed => "default, because git cannot list the tracked files",
        DialectReason::Default => "default",
    }
}

/// `2 errors and 1 warning in .terraform.lock.hcl`; `None` without findings.
pub(crate) fn summary_line(verification: Verification<'_>) -> Option<String> {
    let mut files = BTreeSet::new();
    for (root, finding) in verification.all_findings() {
        files.extend(file_of(root, finding));
    }
    let mut names = Vec::new();
    for file in files {
        let path = verification.invocation.user_file_path(file);
        names.push(path.display().to_string());
    }
    let files_in_words = match &names[..] {
        [] => return None,
        [name] => name.clone(),
        [one, other] => format!("{one} and {other}"),
        names => format!("{} files", names.len()),
    };
    Some(format!(
        "{} in {files_in_words}",
        verification.numbers_in_words()
    ))
}

/// `2 errors and 1 warning`
fn numbers_in_words(findings: &[&Diagnostic]) -> String {
    let mut numbers = [0; 3];
    for finding in findings {
        let index = match finding.severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            Severity::Note => 2,
        };
        numbers[index] += 1;
    }
    let [errors, warnings, notes] = numbers;
    non_zero_counts([(errors, "error"), (warnings, "warning"), (notes, "note")])
}

/// `1 warning about the change as a whole`; `None` without such findings.
pub(crate) fn line_about_change(findings: &[Diagnostic]) -> Option<String> {
    if findings.is_empty() {
        return None;
    }
    let findings: Vec<_> = findings.iter().collect();
    let numbers = numbers_in_words(&findings);
    Some(format!("{numbers} about the change as a whole"))
}

/// `Not required, because of [without-platforms]: acme/old for darwin_arm64`; `None` without
/// exempted providers.
pub(crate) fn line_about_exempted(roots: &[VerifiedRoot]) -> Option<String> {
    let exempted: BTreeSet<_> = roots.iter().flat_map(|root| &root.exempted).collect();
    if exempted.is_empty() {
        return None;
    }
    let names = exempted
        .into_iter()
        .map(|(provider, platform)| format!("{provider} for {platform}"));
    Some(format!(
        "Not required, because of [without-platforms]: {}",
        first_few(names)
    ))
}

/// `Suppressed: 1 finding by comments`; `None` without such findings.
pub(crate) fn line_about_suppressed(roots: &[VerifiedRoot]) -> Option<String> {
    // Codes that settings and flags allow do not suppress single findings.
    let mut by_comments = 0;
    let mut by_base = 0;
    for root in roots {
        by_comments += root.suppressed.ignored;
        by_base += root.suppressed.base;
    }
    let mut parts = Vec::new();
    for (number, by) in [
        (by_comments, "comments"),
        (by_base, "--new, because the base also has them"),
    ] {
        if number > 0 {
            parts.push(format!("{} by {by}", count(number, "finding")));
        }
    }
    if parts.is_empty() {
        return None;
    }
    Some(format!("Suppressed: {}", parts.join(", ")))
}

/// The OK lines of a run without findings, of at most 80 columns: `OK: 3 providers locked as
/// required, for linux_amd64`. `None` without a lock file.
pub(crate) fn lines_if_ok(roots: &[VerifiedRoot]) -> Option<Vec<String>> {
    let mut compared = roots_with_lock_file(roots);
    // A lock file that was not read is not OK.
    compared.retain(|root| root.unread == 0);
    let (first, others) = compared.split_first()?;
    let entries = compared.iter().map(|root| root.entries).sum();
    let is_of_one_kind = others.iter().all(|other| other.kind == first.kind);
    let mut of_roots = String::new();
    if roots.len() > 1 && is_of_one_kind {
        of_roots = format!(" of {}", count(compared.len(), noun(first.kind)));
    }
    let mut line = match entries {
        0 => format!("OK: no provider{of_roots} is required, and none is locked"),
        _ => format!(
            "OK: {}{of_roots} locked as required",
            count(entries, "provider")
        ),
    };

    // Platforms are named only if each entry is known to cover them.
    let has_unknown_platforms = compared.iter().any(|root| root.has_unknown_platforms);
    let have_same_platforms = others
        .iter()
        .all(|other| other.platforms == first.platforms);
    if entries > 0 && !has_unknown_platforms {
        if !have_same_platforms {
            line += ", each for its platforms";
        } else if let Some(platforms) = &first.platforms {
            line = with_platforms(&line, platforms);
        }
    }
    let mut lines = vec![line];
    let modules = compared.iter().map(|root| root.modules).sum();
    if modules > 0 {
        lines.push(format!("OK: {} locked as called", count(modules, "module")));
    }
    Some(lines)
}

fn roots_with_lock_file(roots: &[VerifiedRoot]) -> Vec<&VerifiedRoot> {
    roots.iter().filter(|root| root.has_lock_file).collect()
}

/// The line for a run that compared all hashes with the registries.
pub(crate) fn line_about_published(roots: &[VerifiedRoot], online: bool) -> Option<String> {
    if !online {
        return None;
    }
    let mut has_entries = false;
    for root in roots_with_lock_file(roots) {
        // A mirror does not know which hashes the registry publishes.
        if root.unread > 0 || !root.asked_mirrors.is_empty() || !root.is_confirmed() {
            return None;
        }
        has_entries |= root.entries + root.modules > 0;
    }
    if !has_entries {
        return None;
    }
    Some("All hashes are published".to_owned())
}

/// The line about root modules that cannot be checked, as at the base.
fn line_about_failed_as_before(roots: &[VerifiedRoot]) -> Option<String> {
    let failed = roots.iter().filter(|root| root.has_failed_as_before);
    let number = failed.count();
    if number == 0 {
        return None;
    }
    let failed = count(number, "root module");
    Some(format!(
        "Not checked: {failed}, for the same reason as at the base"
    ))
}

/// The `Not checked: …` lines, of at most 80 columns unless they name a mirror.
pub(crate) fn lines_about_not_checked(roots: &[VerifiedRoot], online: bool) -> Vec<String> {
    let mut lines = Vec::new();
    match roots.iter().map(|root| root.unread).sum() {
        0 => {}
        1 => lines.push("Not checked: 1 lock file, because it contains errors".to_owned()),
        unread => lines.push(format!(
            "Not checked: {unread} lock files, because they contain errors"
        )),
    }
    lines.extend(line_about_failed_as_before(roots));
    let compared = roots_with_lock_file(roots);
    if compared.is_empty() {
        return lines;
    }

    if compared.iter().any(|root| root.has_unknown_platforms) {
        let how = if online {
            ""
        } else {
            " (--online checks that)"
        };
        lines.push(format!(
            "Not checked: which platforms the hashes are for{how}"
        ));
    }
    let hashes = match (compared.iter().any(|root| root.platforms.is_some()), online) {
        (true, true) => None,
        (true, false) => Some("Not checked: hashes against the registry (--online does)"),
        (false, true) => Some("Not checked: platforms (select with -p)"),
        (false, false) => {
            Some("Not checked: platforms (select with -p), hashes against the registry (--online)")
        }
    };
    lines.extend(hashes.map(str::to_owned));

    // Findings say the same, unless they are suppressed.
    let mut providers = 0;
    let mut modules = 0;
    let mut incomplete = Vec::new();
    let mut without_state = Vec::new();
    for root in &compared {
        if !has_finding(root, is_about_hashes) {
            providers += root.unconfirmed;
        }
        if !has_finding(root, is_about_modules) {
            modules += root.unconfirmed_modules;
        }
        if root.is_incomplete && !has_finding(root, is_about_unknown) {
            incomplete.push(*root);
        }
        if root.unknown_state.is_some() && !has_finding(root, is_about_state) {
            without_state.push(*root);
        }
    }
    let unconfirmed = non_zero_counts([(providers, "provider"), (modules, "module")]);
    if !unconfirmed.is_empty() {
        lines.push(format!(
            "Not confirmed as published: hashes of {unconfirmed}"
        ));
    }
    if let Some(first) = incomplete.first() {
        lines.push(format!(
            "Not checked: unknown requirements of {}",
            count(incomplete.len(), noun(first.kind))
        ));
    }
    lines.extend(line_about_unread_state(&without_state));

    let mut not_installed = 0;
    let mut overridden = BTreeSet::new();
    let mut mirrors: BTreeMap<&str, usize> = BTreeMap::new();
    for root in &compared {
        not_installed += root.not_installed;
        overridden.extend(&root.dev_overrides);
        for (mirror, entries) in &root.asked_mirrors {
            *mirrors.entry(mirror).or_default() += entries;
        }
    }
    if not_installed > 0 {
        let providers = count(not_installed, "provider");
        lines.push(format!(
            "Not checked: installed packages of {providers} (not installed, or no h1 is locked)"
        ));
    }
    if !overridden.is_empty() {
        lines.push(format!(
            "Not checked: {}, under development (dev_overrides)",
            first_few(overridden)
        ));
    }
    for (mirror, entries) in mirrors {
        lines.push(format!(
            "Not checked: the registry's hashes of {}, because {mirror} was used",
            count(entries, "provider")
        ));
    }
    lines
}

/// Whether a root module has a finding for this reason.
fn has_finding(root: &VerifiedRoot, is_reason: fn(Code) -> bool) -> bool {
    root.findings.iter().any(|finding| is_reason(finding.code))
}

/// The line about root modules whose state is not known: `Not checked: the state of 3 root modules
/// (backend "s3" keeps the state elsewhere)`, with the reason if it is the same for all.
fn line_about_unread_state(roots: &[&VerifiedRoot]) -> Option<String> {
    let first = roots.first()?;
    let of_all = match roots.len() {
        1 => String::new(),
        number => format!(" of {}", count(number, noun(first.kind))),
    };
    let has_one_reason = roots
        .iter()
        .all(|root| root.unknown_state == first.unknown_state);
    let why = match &first.unknown_state {
        Some(reason) if has_one_reason => format!(" ({reason})"),
        _ => String::new(),
    };
    Some(format!("Not checked: the state{of_all}{why}"))
}

/// Whether findings with this code say that hashes of a provider were not found among the published
/// ones.
fn is_about_hashes(code: Code) -> bool {
    let is_visible = matches!(
        code,
        Code::NoHashes | Code::MalformedHash | Code::UnknownHashScheme
    );
    let is_refused = matches!(
        code,
        Code::PackageNotAuthentic | Code::SignatureInvalid | Code::InvalidPackage
    );
    is_visible
        || is_refused
        || matches!(
            code,
            Code::HashNotPublished | Code::HashNotChecked | Code::VersionWithdrawn
        )
}

/// Whether findings with this code say that a module differs from the published one, or was not
/// compared.
fn is_about_modules(code: Code) -> bool {
    let is_published = matches!(
        code,
        Code::ModuleMoved | Code::ModuleReplaced | Code::ModuleWithdrawn
    );
    is_published || matches!(code, Code::ModulePackageForeign | Code::ModuleNotInstalled)
}

/// Whether findings with this code say that the state was not read.
fn is_about_state(code: Code) -> bool {
    code == Code::StateNotRead
}

/// Whether findings with this code say that requirements are unknown.
fn is_about_unknown(code: Code) -> bool {
    let is_missing = matches!(code, Code::ModuleNotInstalled | Code::NoConfiguration);
    is_missing || matches!(code, Code::RequirementsNotKnown | Code::NotDecided)
}

/// `OK: 3 providers locked as required, for linux_amd64`, with the number of platforms if their
/// names take too much room.
fn with_platforms(what: &str, platforms: &PlatformSelection) -> String {
    const COLUMNS: usize = 80;
    let named = format!("{what}, for {}", platforms_in_words(platforms));
    match platforms {
        PlatformSelection::These(platforms) if named.len() > COLUMNS => {
            format!("{what}, for {}", count(platforms.len(), "platform"))
        }
        _ => named,
    }
}

/// The file of a finding; for a finding without a position in a root module, the lock file.
fn file_of<'a>(root: Option<&'a VerifiedRoot>, finding: &'a Diagnostic) -> Option<&'a Path> {
    match finding.labels.first() {
        Some(label) => Some(label.location.path()),
        None => root.map(|root| root.lock_path.as_path()),
    }
}

#[cfg(test)]
pub(super) mod tests;
