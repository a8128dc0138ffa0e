//! The output of `tree --recursive`: locked versions of providers and their root modules. Each version has a line, so
//! that no line grows with the number of versions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use provlock::project::LockedVersions;
use provlock::provider::{ProviderAddress, Version};

use super::foreign::safe_line;
use super::json::{ProviderUse, VersionUse};
use super::style::count;
use super::table::{Cell, Piece, Row, Table};

/// The providers in the order of their addresses, each with its versions, the newest first.
pub(crate) fn uses(versions: &LockedVersions) -> Vec<ProviderUse> {
    let one = |(version, roots): (&Version, &Vec<PathBuf>)| VersionUse::new(version, roots);
    let of_provider = |(address, of): (&ProviderAddress, &BTreeMap<_, _>)| {
        let name = address.short(versions.dialect);
        ProviderUse { name, address: address.to_string(), versions: of.iter().rev().map(one).collect() }
    };
    versions.providers.iter().map(of_provider).collect()
}

/// Every provider with its versions, and the root modules that lock each.
pub(crate) fn table(uses: &[ProviderUse]) -> Table {
    let row = |provider: &ProviderUse, index: usize, locked: &VersionUse| {
        let roots = Piece::RootModules(locked.root_modules.clone());
        let cells = vec![Cell::foreign(&provider.name), Cell::foreign(&locked.version), Cell::new([roots])];
        Row { cells, repeats: index > 0, ..Row::default() }
    };
    let of_provider = |provider: &'_ ProviderUse| {
        let versions = provider.versions.iter().enumerate();
        versions.map(|(index, locked)| row(provider, index, locked)).collect::<Vec<_>>()
    };
    Table { header: vec!["provider", "version", "root modules"], rows: uses.iter().flat_map(of_provider).collect() }
}

/// The versions of providers, each with the root modules that lock it.
pub(crate) fn places(uses: &[ProviderUse]) -> String {
    let mut lines = Vec::new();
    for provider in uses {
        for VersionUse { version, root_modules } in &provider.versions {
            let number = count(root_modules.len(), "root module");
            lines.push(format!("{} {version} in {number}", provider.name));
            lines.extend(root_modules.iter().map(|path| format!("  {path}")));
        }
    }
    lines.into_iter().map(|line| safe_line(&line) + "\n").collect()
}

/// `3 providers (1 in several versions) in 300 root modules; 2 root modules have no lock file`
pub(crate) fn summary(versions: &LockedVersions, uses: &[ProviderUse], is_named: bool) -> String {
    let mut roots: Vec<_> = uses.iter().flat_map(|found| &found.versions).flat_map(|of| &of.root_modules).collect();
    roots.sort();
    roots.dedup();
    let all = count(versions.locked, "root module");
    let first = if is_named {
        format!("{} of {all}", roots.len())
    } else {
        let several = uses.iter().filter(|found| found.versions.len() > 1).count();
        let skew = if several > 0 { format!(" ({several} in several versions)") } else { String::new() };
        format!("{}{skew} in {all}", count(uses.len(), "provider"))
    };
    match versions.not_locked.len() {
        0 => first,
        1 => format!("{first}; 1 root module has no lock file"),
        number => format!("{first}; {number} root modules have no lock file"),
    }
}
