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

/// A root module whose lock file names the registry of a dialect, by its index among all.
struct Locked<'a> {
    index: usize,
    root: &'a VerifiedRoot,
    dialect: Dialect,
}

impl Locked<'_> {
    /// The first place where the lock file names the registry. It is read again: of ten thousand root modules the texts
    /// are not kept.
    fn place(&self) -> Option<Location> {
        let path = &self.root.lock_path;
        let bytes = lockfile::read(path).ok()??;
        let lock_file = lockfile::parse(path, &bytes, self.root.dialect).lock_file?;
        let entry = lock_file.entries().iter().find(|entry| entry.address.hostname.is_default_of(self.dialect))?;
        Some(entry.block.clone())
    }
}

/// What there is to say of repositories whose lock files name both default registries, each with the index of the root
/// module that it is said in: the first of the fewer ones. Where settings name the dialect, it is meant.
pub(super) fn mixed(roots: &[Result<VerifiedRoot>], session: &Session<'_>) -> Vec<(usize, Diagnostic)> {
    let names = |dialect| roots.iter().flatten().any(|root| root.registry == Some(dialect));
    if !names(Dialect::Tofu) || !names(Dialect::Terraform) {
        return Vec::new();
    }
    let mut repositories: BTreeMap<PathBuf, Vec<Locked<'_>>> = BTreeMap::new();
    for (index, root) in roots.iter().enumerate().filter_map(|(index, root)| Some((index, root.as_ref().ok()?))) {
        let Some(dialect) = root.registry else { continue };
        if root.dialect == dialect && root.dialect_reason == DialectReason::Settings {
            continue;
        }
        let Ok(directory) = canonicalize(&root.path) else { continue };
        let repository = session.repositories.around(&directory, &session.environment);
        let locked = Locked { index, root, dialect };
        repositories.entry(repository.top().to_owned()).or_default().push(locked);
    }
    repositories.values().filter_map(|locked| judge(locked)).collect()
}

fn judge(locked: &[Locked<'_>]) -> Option<(usize, Diagnostic)> {
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
    let places = [(first, "one registry here"), (other, "the other here")];
    let places = places.into_iter().filter_map(|(locked, label)| Some((locked.place()?, label)));
    let warning = Diagnostic::finding(Code::MixedDialects, message);
    let warning = places
        .fold(warning, |warning, (place, label)| warning.at(place, label))
        .note(format!("locked for {}: {names}", first.dialect.default_host_name()))
        .help(format!(
            "if all are for one program: set dialect = \"{}\" in provlock.toml and lock again; \
            else name the dialect of each",
            other.dialect.name()
        ));
    Some((first.index, warning))
}
