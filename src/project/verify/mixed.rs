//! Root modules of one repository that are locked for different programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::verified::VerifiedRoot;
use crate::diagnostic::words::{count, few};
use crate::diagnostic::{Code, Diagnostic, Location, Result};
use crate::lockfile;
use crate::project::root_module::DialectReason;
use crate::project::session::Session;
use crate::provider::Dialect;
use crate::system::canonicalize;

/// A root module whose lock file contains providers of the default registry of a dialect.
struct InDialect<'a> {
    index: usize,
    root: &'a VerifiedRoot,
    dialect: Dialect,
}

impl InDialect<'_> {
    /// Location of the first entry of the registry. Reads the lock file again, because keeping the texts of ten
    /// thousand root modules would take too much memory.
    fn location(&self) -> Option<Location> {
        let path = &self.root.lock_path;
        let bytes = lockfile::read(path).ok()??;
        let lock_file = lockfile::parse(path, &bytes, self.root.dialect).lock_file?;
        let entry = lock_file.entries().iter().find(|entry| entry.address.hostname.is_default_of(self.dialect))?;
        Some(entry.block.clone())
    }
}

/// Findings about repositories whose lock files contain providers of both default registries, each with the index of a
/// root module: the first of the minority. Root modules whose settings specify that dialect are not counted.
pub(super) fn mixed(roots: &[Result<VerifiedRoot>], session: &Session<'_>) -> Vec<(usize, Diagnostic)> {
    let names = |dialect| roots.iter().flatten().any(|root| root.registry == Some(dialect));
    if !names(Dialect::Tofu) || !names(Dialect::Terraform) {
        return Vec::new();
    }
    let mut repositories: BTreeMap<PathBuf, Vec<InDialect<'_>>> = BTreeMap::new();
    for (index, root) in roots.iter().enumerate().filter_map(|(index, root)| Some((index, root.as_ref().ok()?))) {
        let Some(dialect) = root.registry else { continue };
        if root.dialect == dialect && root.dialect_reason == DialectReason::Settings {
            continue;
        }
        let Ok(directory) = canonicalize(&root.path) else { continue };
        let repository = session.repositories.around(&directory, &session.environment);
        let locked = InDialect { index, root, dialect };
        repositories.entry(repository.top().to_owned()).or_default().push(locked);
    }
    repositories.values().filter_map(|locked| mixed_in(locked)).collect()
}

fn mixed_in(locked: &[InDialect<'_>]) -> Option<(usize, Diagnostic)> {
    let of = |dialect| locked.iter().filter(move |locked| locked.dialect == dialect).collect::<Vec<_>>();
    let (tofu, terraform) = (of(Dialect::Tofu), of(Dialect::Terraform));
    let (fewer, others) = if terraform.len() <= tofu.len() { (terraform, tofu) } else { (tofu, terraform) };
    let (first, other) = (fewer.first()?, others.first()?);
    let message = format!(
        "{} here {} locked for {}, and {} for {}: neither program accepts the lock files of the other",
        count(fewer.len(), "root module"),
        if fewer.len() == 1 { "is" } else { "are" },
        first.dialect.default_host_name(),
        count(others.len(), "root module"),
        other.dialect.default_host_name(),
    );
    let names = few(fewer.iter().map(|locked| locked.root.path.display()));
    let locations = [(first, "one registry here"), (other, "the other here")];
    let locations = locations.into_iter().filter_map(|(locked, label)| Some((locked.location()?, label)));
    let warning = Diagnostic::finding(Code::MixedDialects, message);
    let warning = locations
        .fold(warning, |warning, (location, label)| warning.at(location, label))
        .note(format!("locked for {}: {names}", first.dialect.default_host_name()))
        .help(format!(
            "if all are for one program: set dialect = \"{}\" in provlock.toml and lock again; \
            else name the dialect of each",
            other.dialect.name()
        ));
    Some((first.index, warning))
}
