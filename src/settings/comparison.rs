//! Comparison of two revisions of a settings file: whether the newer one allows anything that the
//! older one does not.
//!
//! Each key has a direction. A value that is not clearly stricter is looser.

use std::collections::BTreeSet;

use globset::Glob;

use super::{
    CacheTable, FileLevels, Levels, ModulePattern, PlatformSelection, Policy, ProviderRule,
    RootFilter, RootLevels, Rules, Settings, TrustRule, WithoutPlatforms,
};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::provider::{AddressParts, Dialect, ProviderAddress, ProviderPatternSpec};

/// Keys of a settings file whose values differ between two revisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsDifference {
    /// Keys whose values allow less than before.
    pub stricter: BTreeSet<&'static str>,
    /// Keys whose values may allow more than before.
    pub looser: BTreeSet<&'static str>,
}

/// Direction of a change of a value: whether it allows less or more than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Equal,
    Stricter,
    Looser,
}

/// A settings file in two revisions, and its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct ComparedSettings<'a> {
    /// The settings of the file before; the default if it is new.
    pub before: &'a Settings,
    /// The settings of the file now; the default if it was removed.
    pub now: &'a Settings,
    /// The settings of the files further up, which complete both.
    pub above: &'a Settings,
    /// The dialects that files of the base show, such as the lock files to which the settings
    /// apply; empty if nothing does.
    pub dialects: &'a [Dialect],
}

impl SettingsDifference {
    /// Whether no value differs.
    pub fn is_empty(&self) -> bool {
        self.stricter.is_empty() && self.looser.is_empty()
    }

    fn add(&mut self, key: &'static str, direction: Direction) {
        match direction {
            Direction::Equal => {}
            Direction::Stricter => {
                self.stricter.insert(key);
            }
            Direction::Looser => {
                self.looser.insert(key);
            }
        }
    }
}

impl ComparedSettings<'_> {
    /// The keys whose values differ. Positions, comments and the order of lists do not count.
    pub fn difference(&self) -> SettingsDifference {
        let mut difference = SettingsDifference::default();
        let above = self.above;
        // All fields are listed, so that a new key does not compile before it is compared.
        let Settings {
            paths: _,
            of_other_users: _,
            dialect,
            platforms,
            without_platforms,
            fetch_modules,
            lock_modules,
            modules_mirror,
            roots,
            policy,
            verify,
            cache,
        } = self.before;
        let now = self.now;

        difference.add("dialect", self.compare_dialects(*dialect));
        // The nearest file that has one of these keys decides.
        let platforms_before = platforms.as_ref().or(above.platforms.as_ref());
        let platforms_now = now.platforms.as_ref().or(above.platforms.as_ref());
        difference.add(
            "platforms",
            compare_required_platforms(platforms_before, platforms_now),
        );
        let fetches_before = fetch_modules.or(above.fetch_modules).unwrap_or(true);
        let fetches_now = now.fetch_modules.or(above.fetch_modules).unwrap_or(true);
        difference.add(
            "fetch-modules",
            stricter_if_larger(&fetches_before, &fetches_now),
        );
        let locks_before = strictness_of_module_locks(lock_modules.or(above.lock_modules));
        let locks_now = strictness_of_module_locks(now.lock_modules.or(above.lock_modules));
        difference.add(
            "modules.lock",
            stricter_if_larger(&locks_before, &locks_now),
        );
        // No directory is stricter than a different one.
        if *modules_mirror != now.modules_mirror {
            difference.add("modules.mirror", Direction::Looser);
        }

        let exempted_before = exempted_platforms(without_platforms.clone());
        let exempted_now = exempted_platforms(now.without_platforms.clone());
        difference.add(
            "without-platforms",
            stricter_if_fewer(&exempted_before, &exempted_now),
        );
        compare_roots(roots, &now.roots, &mut difference);
        compare_policies(policy, &now.policy, &above.policy, &mut difference);
        difference.add("verify", compare_levels(verify, &now.verify, &above.verify));
        difference.add(
            "cache",
            compare_shared_caches(cache.as_ref(), now.cache.as_ref()),
        );
        difference
    }

    /// A dialect is no change unless something at the base is for the other tool, which reads other
    /// files.
    fn compare_dialects(&self, before: Option<Dialect>) -> Direction {
        let before = before.or(self.above.dialect);
        let now = self.now.dialect.or(self.above.dialect);
        match (before, now) {
            (before, now) if before == now => Direction::Equal,
            (None, Some(now)) if self.dialects.iter().all(|dialect| *dialect == now) => {
                Direction::Stricter
            }
            _ => Direction::Looser,
        }
    }
}

impl ComparedSettings<'_> {
    /// Hosts and namespaces that the file allows by name now and did not before, each as the
    /// address of a provider, with their keys.
    pub(crate) fn allowed_by_name(&self) -> Vec<(&'static str, ProviderAddress)> {
        let before = named_addresses(&self.before.policy);
        let mut new = named_addresses(&self.now.policy);
        new.retain(|named| !before.contains(named));
        new
    }
}

/// Name that stands for any namespace or type.
const ANY: &str = "any";

/// Returns the hosts, namespaces and providers that a policy allows, each with its key in the file.
fn named_addresses(policy: &Policy) -> Vec<(&'static str, ProviderAddress)> {
    let mut named = Vec::new();
    for rules in &policy.rules {
        for host in rules.allowed_hosts.iter().flatten() {
            let address = AddressParts {
                hostname: host.clone(),
                namespace: ANY.to_owned(),
                name: ANY.to_owned(),
            };
            named.push(("policy.allowed-hosts", address.into()));
        }
        for namespace in rules.allowed_namespaces.iter().flatten() {
            named.extend(named_address("policy.allowed-namespaces", namespace));
        }
        for rule in rules.allow.iter().flatten() {
            named.extend(named_address("policy.allow", rule.providers.get_ref()));
        }
    }
    named
}

/// An address that a pattern with a namespace matches.
fn named_address(
    key: &'static str,
    pattern: &ProviderPatternSpec,
) -> Option<(&'static str, ProviderAddress)> {
    let pattern = pattern.resolve(Dialect::default());
    let address = AddressParts {
        hostname: pattern.hostname?,
        namespace: pattern.namespace?,
        name: pattern.name.unwrap_or_else(|| ANY.to_owned()),
    };
    Some((key, address.into()))
}

/// Whether modules must be locked: if there is a lock file, unless the setting says otherwise.
fn strictness_of_module_locks(lock_modules: Option<bool>) -> u8 {
    match lock_modules {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    }
}

/// A larger value is stricter.
fn stricter_if_larger<T: Ord>(before: &T, now: &T) -> Direction {
    match now.cmp(before) {
        std::cmp::Ordering::Equal => Direction::Equal,
        std::cmp::Ordering::Greater => Direction::Stricter,
        std::cmp::Ordering::Less => Direction::Looser,
    }
}

/// A set to which elements are added is stricter.
fn stricter_if_more<T: PartialEq>(before: &[T], now: &[T]) -> Direction {
    let has_all_before = before.iter().all(|one| now.contains(one));
    let has_only_before = now.iter().all(|one| before.contains(one));
    match (has_all_before, has_only_before) {
        (true, true) => Direction::Equal,
        (true, false) => Direction::Stricter,
        (false, _) => Direction::Looser,
    }
}

/// A set from which elements are removed is stricter.
fn stricter_if_fewer<T: PartialEq>(before: &[T], now: &[T]) -> Direction {
    stricter_if_more(now, before)
}

/// A list of what is allowed is stricter if it shrinks, or where everything was allowed.
fn compare_allowed<T: PartialEq>(before: Option<&[T]>, now: Option<&[T]>) -> Direction {
    match (before, now) {
        (None, None) => Direction::Equal,
        (None, Some(_)) => Direction::Stricter,
        (Some(_), None) => Direction::Looser,
        (Some(before), Some(now)) => stricter_if_fewer(before, now),
    }
}

impl Direction {
    /// The direction of two edits together.
    fn combined_with(self, other: Self) -> Self {
        self.max(other)
    }
}

fn compare_required_platforms(
    before: Option<&PlatformSelection>,
    now: Option<&PlatformSelection>,
) -> Direction {
    match (before, now) {
        (before, now) if before == now => Direction::Equal,
        // Without a list no platform is required.
        (None, _) | (_, Some(PlatformSelection::All)) => Direction::Stricter,
        (Some(PlatformSelection::These(before)), Some(PlatformSelection::These(now))) => {
            stricter_if_more(before, now)
        }
        _ => Direction::Looser,
    }
}

/// The exempted platforms with their providers, without positions.
fn exempted_platforms(missing: WithoutPlatforms) -> Vec<(String, String)> {
    let mut exempted = Vec::new();
    for one in missing {
        exempted.push((one.provider.to_string(), one.platform.to_string()));
    }
    exempted
}

fn compare_roots(before: &[RootFilter], now: &[RootFilter], difference: &mut SettingsDifference) {
    let include_before = included_globs(before);
    let include_now = included_globs(now);
    difference.add(
        "roots.include",
        compare_included(&include_before, &include_now),
    );
    let exclude_before = excluded_globs(before);
    let exclude_now = excluded_globs(now);
    difference.add(
        "roots.exclude",
        stricter_if_fewer(&exclude_before, &exclude_now),
    );
}

fn included_globs(filters: &[RootFilter]) -> Vec<&Glob> {
    filters.iter().flat_map(|filter| &filter.include).collect()
}

fn excluded_globs(filters: &[RootFilter]) -> Vec<&Glob> {
    filters.iter().flat_map(|filter| &filter.exclude).collect()
}

/// No list includes all root modules, and a path without a glob makes a directory one.
fn compare_included(before: &[&Glob], now: &[&Glob]) -> Direction {
    let has_only_globs = before.iter().all(|glob| glob.glob().contains('*'));
    match (before.is_empty(), now.is_empty()) {
        (true, true) => Direction::Equal,
        (false, false) => stricter_if_more(before, now),
        (false, true) if has_only_globs => Direction::Stricter,
        (true, false) | (false, true) => Direction::Looser,
    }
}

/// Adds the differences between the policies of a file before and now. `above` is the policy of
/// files in directories above.
fn compare_policies(
    before: &Policy,
    now: &Policy,
    above: &Policy,
    difference: &mut SettingsDifference,
) {
    let default = Rules::default();
    let before = before.rules.first().unwrap_or(&default);
    let now = now.rules.first().unwrap_or(&default);
    // As above: a new rule does not compile before it is compared.
    let Rules {
        allowed_hosts,
        allowed_namespaces,
        allowed_modules,
        allow,
        deny,
        require,
        require_signed,
        min_age,
        min_provider_age,
        tiers,
        min_age_exempt,
        pin_modules,
        denies_new_hosts,
        trust,
        source: _,
    } = before;
    difference.add(
        "policy.allowed-hosts",
        compare_allowed(allowed_hosts.as_deref(), now.allowed_hosts.as_deref()),
    );
    difference.add(
        "policy.allowed-namespaces",
        compare_allowed(
            allowed_namespaces.as_deref(),
            now.allowed_namespaces.as_deref(),
        ),
    );
    let modules_now = now.allowed_modules.as_deref();
    difference.add(
        "policy.allowed-modules",
        compare_allowed_modules(allowed_modules.as_deref(), modules_now),
    );
    let allow_before = allow.as_deref().map(providers_and_versions);
    let allow_now = now.allow.as_deref().map(providers_and_versions);
    difference.add(
        "policy.allow",
        compare_allowed(allow_before.as_deref(), allow_now.as_deref()),
    );
    difference.add(
        "policy.deny",
        stricter_if_more(
            &providers_and_versions(deny),
            &providers_and_versions(&now.deny),
        ),
    );
    difference.add(
        "policy.require",
        stricter_if_more(
            &providers_and_versions(require),
            &providers_and_versions(&now.require),
        ),
    );
    difference.add(
        "policy.require-signed",
        stricter_if_larger(require_signed, &now.require_signed),
    );
    difference.add("policy.min-age", stricter_if_larger(min_age, &now.min_age));
    difference.add(
        "policy.min-provider-age",
        stricter_if_larger(min_provider_age, &now.min_provider_age),
    );
    difference.add(
        "policy.tiers",
        compare_allowed(tiers.as_deref(), now.tiers.as_deref()),
    );
    // Without a minimum age, an exemption has no effect.
    let has_age = before.has_age() || above.rules.iter().any(Rules::has_age);
    if has_age {
        let exempt = stricter_if_fewer(min_age_exempt, &now.min_age_exempt);
        difference.add("policy.min-age-exempt", exempt);
    }
    difference.add(
        "policy.pin-modules",
        stricter_if_larger(pin_modules, &now.pin_modules),
    );
    difference.add(
        "policy.new-hosts",
        stricter_if_larger(denies_new_hosts, &now.denies_new_hosts),
    );
    difference.add("trust", compare_trust(trust, &now.trust));
}

/// A list of modules is stricter if each of its patterns allows only what one before did.
fn compare_allowed_modules(
    before: Option<&[ModulePattern]>,
    now: Option<&[ModulePattern]>,
) -> Direction {
    let direction = compare_allowed(before, now);
    let (Direction::Looser, Some(before), Some(now)) = (direction, before, now) else {
        return direction;
    };
    let is_covered = |new: &ModulePattern| before.iter().any(|old| old.covers(new));
    if now.iter().all(is_covered) {
        Direction::Stricter
    } else {
        Direction::Looser
    }
}

/// The providers and versions of rules, without positions and reasons.
fn providers_and_versions(rules: &[ProviderRule]) -> Vec<(&ProviderPatternSpec, String)> {
    let mut pairs = Vec::new();
    for rule in rules {
        pairs.push((rule.providers.get_ref(), rule.versions.to_string()));
    }
    pairs
}

/// Of several lines for a provider, any key is accepted. So a new line is stricter only if it adds
/// no key to the providers of a line that was there.
fn compare_trust(before: &[TrustRule], now: &[TrustRule]) -> Direction {
    let mut direction = Direction::Equal;
    for old in before {
        // Without a line, a provider may be signed with any key.
        if !now.iter().any(|new| new.is_for_same(old)) {
            return Direction::Looser;
        }
    }
    for new in now {
        let is_known = before.iter().any(|old| old.is_for_same(new));
        for old in before.iter().filter(|old| old.overlaps(new)) {
            if !new.accepts_only(old) {
                return Direction::Looser;
            }
            if !old.accepts_only(new) {
                direction = Direction::Stricter;
            }
        }
        if !is_known {
            direction = Direction::Stricter;
        }
    }
    direction
}

impl TrustRule {
    fn is_for_same(&self, other: &Self) -> bool {
        self.providers.get_ref() == other.providers.get_ref()
    }

    /// Whether a provider may match both patterns.
    fn overlaps(&self, other: &Self) -> bool {
        let patterns = [self.providers.get_ref(), other.providers.get_ref()];
        [Dialect::Tofu, Dialect::Terraform]
            .into_iter()
            .any(|dialect| {
                let [one, other] = patterns.map(|pattern| pattern.resolve(dialect));
                may_be_equal(one.hostname.as_ref(), other.hostname.as_ref())
                    && may_be_equal(one.namespace.as_ref(), other.namespace.as_ref())
                    && may_be_equal(one.name.as_ref(), other.name.as_ref())
            })
    }

    /// Whether a different line accepts all keys of this one.
    fn accepts_only(&self, other: &Self) -> bool {
        self.fingerprints
            .iter()
            .all(|key| other.fingerprints.contains(key))
    }
}

/// Whether parts of two patterns match a common text. `None` is `*`.
fn may_be_equal<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// Facts of others are used only if a listed key signed them.
fn compare_shared_caches(before: Option<&CacheTable>, now: Option<&CacheTable>) -> Direction {
    match (before, now) {
        (None, None) => Direction::Equal,
        (Some(_), None) => Direction::Stricter,
        (Some(before), Some(now)) if before.shared.repository == now.shared.repository => {
            stricter_if_fewer(&before.shared.trusted_keys, &now.shared.trusted_keys)
        }
        _ => Direction::Looser,
    }
}

/// Compares the levels of findings, of the file alone and together with the files further up.
fn compare_levels(before: &[FileLevels], now: &[FileLevels], above: &[FileLevels]) -> Direction {
    let mut direction = Direction::Equal;
    for code in Code::FINDINGS {
        let Some(rule) = code.rule() else {
            continue;
        };
        // Some findings of a code whose default is a warning are errors.
        let mut severities = BTreeSet::from([rule.level]);
        if rule.level == Severity::Warning {
            severities.insert(Severity::Error);
        }
        for severity in severities {
            for above in [&[], above] {
                let before = PossibleLevels::new(*code, severity, before, above);
                let now = PossibleLevels::new(*code, severity, now, above);
                direction = direction.combined_with(before.compare(&now));
            }
        }
    }
    direction
}

/// Levels of a finding: for all directories, and for some.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PossibleLevels {
    general: Option<Severity>,
    /// Globs of directories and their levels, in the order of the file.
    of_paths: Vec<(Vec<Glob>, Option<Severity>)>,
}

impl PossibleLevels {
    /// Levels of findings with a code and a severity, in a file and in the files further up.
    fn new(code: Code, severity: Severity, file: &[FileLevels], above: &[FileLevels]) -> Self {
        let general = level_with(code, severity, file, None, above);
        let mut of_paths = Vec::new();
        for table in file.iter().flat_map(|levels| &levels.paths) {
            let denies_warnings = table.levels.denies_warnings() && severity > Severity::Note;
            if table.levels.names(code) || denies_warnings {
                let level = level_with(code, severity, file, Some(&table.levels), above);
                of_paths.push((table.paths.clone(), level));
            }
        }
        Self { general, of_paths }
    }

    /// Compares the levels that a finding may have before and now.
    fn compare(&self, now: &Self) -> Direction {
        let globs_before = self.of_paths.iter().map(|(globs, _)| globs);
        let globs_now = now.of_paths.iter().map(|(globs, _)| globs);
        if globs_before.eq(globs_now) {
            let mut direction = stricter_if_larger(&self.general, &now.general);
            for ((_, before), (_, now)) in self.of_paths.iter().zip(&now.of_paths) {
                direction = direction.combined_with(stricter_if_larger(before, now));
            }
            return direction;
        }
        // Which directories a glob matches is not compared, so every level now must be at least as
        // strict as every level before.
        let strictest_before = self.all().max();
        let loosest_now = now.all().min();
        if loosest_now >= strictest_before {
            Direction::Stricter
        } else {
            Direction::Looser
        }
    }

    fn all(&self) -> impl Iterator<Item = Option<Severity>> {
        let of_paths = self.of_paths.iter().map(|(_, level)| *level);
        of_paths.chain([self.general])
    }
}

/// Severity of a finding with the levels of a file, and of one of its tables for paths. `None` if
/// it is omitted.
fn level_with(
    code: Code,
    severity: Severity,
    file: &[FileLevels],
    table: Option<&Levels>,
    above: &[FileLevels],
) -> Option<Severity> {
    let mut files = Vec::new();
    for levels in file {
        // A table for paths precedes the levels of the whole file.
        let mut of_file = Vec::new();
        of_file.extend(table.cloned());
        of_file.push(levels.levels.clone());
        files.push(of_file);
    }
    for levels in above {
        files.push(vec![levels.levels.clone()]);
    }
    let finding = Diagnostic {
        severity,
        ..Diagnostic::finding(code, "")
    };
    let applied = Levels::default().applied(finding, &RootLevels::new(files));
    applied.map(|finding| finding.severity)
}

#[cfg(test)]
mod tests;
