//! The output of `tree --recursive`: locked versions of providers and their root modules. Each
//! version has a line, so that no line grows with the number of versions.

use std::collections::BTreeSet;

use provlock::project::LockedVersions;

use super::foreign::safe_line;
use super::json::{AsText, ProviderUse, VersionUse};
use super::style::count;
use super::table::{Cell, Piece, Table, TableRow};

/// The providers in the order of their addresses, each with its versions, the newest first.
pub(crate) fn group_by_provider(versions: &LockedVersions) -> Vec<ProviderUse<'_>> {
    let mut uses = Vec::new();
    for (address, roots_by_version) in &versions.providers {
        let mut version_uses = Vec::new();
        for (version, roots) in roots_by_version.iter().rev() {
            version_uses.push(VersionUse {
                version: AsText(version),
                root_modules: roots.iter().map(|path| path.to_string_lossy()).collect(),
            });
        }
        uses.push(ProviderUse {
            name: address.short(versions.dialect),
            address: AsText(address),
            versions: version_uses,
        });
    }
    uses
}

/// Every provider with its versions, and the root modules that lock each.
pub(crate) fn table(uses: &[ProviderUse<'_>]) -> Table {
    let mut rows = Vec::new();
    for provider in uses {
        for (index, locked) in provider.versions.iter().enumerate() {
            let roots = locked.root_modules.iter().map(ToString::to_string);
            let cells = vec![
                Cell::foreign(&provider.name),
                Cell::foreign(locked.version.to_string()),
                Cell::new([Piece::RootModules(roots.collect())]),
            ];
            rows.push(TableRow {
                cells,
                repeats: index > 0,
                ..TableRow::default()
            });
        }
    }
    Table {
        header: vec!["provider", "version", "root modules"],
        rows,
    }
}

/// The versions of providers, each with the root modules that lock it.
pub(crate) fn places(uses: &[ProviderUse<'_>]) -> String {
    let mut lines = Vec::new();
    for provider in uses {
        for VersionUse {
            version,
            root_modules,
        } in &provider.versions
        {
            let number = count(root_modules.len(), "root module");
            lines.push(format!("{} {version} in {number}", provider.name));
            lines.extend(root_modules.iter().map(|path| format!("  {path}")));
        }
    }
    lines
        .into_iter()
        .map(|line| safe_line(&line) + "\n")
        .collect()
}

/// `3 providers (1 in several versions) in 300 root modules; 2 root modules have no lock file`
pub(crate) fn summary(
    versions: &LockedVersions,
    uses: &[ProviderUse<'_>],
    is_named: bool,
) -> String {
    let roots = uses
        .iter()
        .flat_map(|found| &found.versions)
        .flat_map(|of| &of.root_modules);
    let roots: BTreeSet<_> = roots.collect();
    let all = count(versions.locked, "root module");
    let first = if is_named {
        format!("{} of {all}", roots.len())
    } else {
        let several = uses.iter().filter(|found| found.versions.len() > 1).count();
        let skew = if several > 0 {
            format!(" ({several} in several versions)")
        } else {
            String::new()
        };
        format!("{}{skew} in {all}", count(uses.len(), "provider"))
    };
    match versions.not_locked.len() {
        0 => first,
        1 => format!("{first}; 1 root module has no lock file"),
        number => format!("{first}; {number} root modules have no lock file"),
    }
}
