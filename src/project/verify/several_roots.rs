//! Findings about several root modules: lock files for different tools in one repository, and lock files that git does
//! not share, because they are missing or ignored.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::verified::{VerifiedRoot, VersionControl};
use crate::diagnostic::words::{count, few};
use crate::diagnostic::{Code, Diagnostic, Help, Location, LockRemedy, Result};
use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::project::root_module::DialectReason;
use crate::project::session::Session;
use crate::provider::Dialect;
use crate::settings::PlatformSelection;
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
        "{} here {} locked for {}, and {} for {}: OpenTofu and Terraform do not accept each other's lock files",
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

/// Moves findings about missing and ignored lock files to the others, unless git ignores the lock file. Returns one
/// finding for each line of an ignore file that ignores lock files, with the index of the first root module concerned.
/// Lines that the change under review adds are disregarded.
pub(super) fn ignored_by_git(
    results: &mut [Result<VerifiedRoot>],
    version_control: Option<&dyn VersionControl>,
    is_new: impl Fn(&Location) -> bool,
) -> Vec<(usize, Diagnostic)> {
    let may_be_ignored =
        |root: &VerifiedRoot| !root.not_shared.is_empty() || (!root.has_lock_file && root.needs_lock_file);
    let concerned = results.iter_mut().enumerate().filter_map(|(index, result)| Some((index, result.as_mut().ok()?)));
    let mut concerned: Vec<_> = concerned.filter(|(_, root)| may_be_ignored(root)).collect();
    let paths: Vec<_> = concerned.iter().map(|(_, root)| root.path.clone()).collect();
    let paths: Vec<_> = paths.iter().map(PathBuf::as_path).collect();
    let control = version_control.filter(|_| !paths.is_empty());
    let mut rules = control.map(|control| control.ignore_rules(&paths)).unwrap_or_default().into_iter();
    let mut groups: Vec<(Location, Vec<usize>)> = Vec::new();
    for (position, (_, root)) in concerned.iter_mut().enumerate() {
        let not_shared = std::mem::take(&mut root.not_shared);
        root.ignore_rule = rules.next().flatten().filter(|rule| !is_new(rule));
        match &root.ignore_rule {
            Some(rule) => match groups.iter_mut().find(|(known, _)| known == rule) {
                Some((_, roots)) => roots.push(position),
                None => groups.push((rule.clone(), vec![position])),
            },
            None => drop(root.findings.splice(0..0, not_shared)),
        }
    }
    let finding = |(rule, positions): (Location, Vec<usize>)| {
        let roots: Vec<&VerifiedRoot> = positions.iter().map(|position| &*concerned[*position].1).collect();
        (concerned[positions[0]].0, ignored(rule, &roots))
    };
    groups.into_iter().map(finding).collect()
}

/// The finding about a line of an ignore file by which git ignores the lock files of root modules.
fn ignored(rule: Location, roots: &[&VerifiedRoot]) -> Diagnostic {
    let platforms = match &roots[0].platforms {
        Some(PlatformSelection::These(platforms)) => platforms.clone(),
        Some(PlatformSelection::All) | None => Vec::new(),
    };
    let names_it = rule.file.text.get(rule.span.clone()).is_some_and(|pattern| pattern.contains(LOCK_FILE_NAME));
    let undo = if names_it { "remove this line".to_owned() } else { format!("add !{LOCK_FILE_NAME} below this line") };
    let (message, files) = match roots {
        [root] => (format!("git ignores {}, so other users do not get it", root.lock_path.display()), "file"),
        _ => (
            format!("git ignores the lock files of {} root modules, so other users do not get them", roots.len()),
            "files",
        ),
    };
    let lock = LockRemedy { platforms: Some(platforms), recursive: roots.len() != 1, ..LockRemedy::default() };
    let help = Help::text(format!("{undo}, run ")).and(lock);
    let finding = Diagnostic::finding(Code::UntrackedLockFile, message)
        .at(rule, "")
        .help(help.and_text(format!(", and add the lock {files} to git")));
    match roots {
        [root] => finding.in_root(&root.path, false),
        _ => finding.note(format!("root modules: {}", few(roots.iter().map(|root| root.path.display())))),
    }
}
