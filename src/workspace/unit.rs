//! Root modules that are units of Terragrunt's: a `terragrunt.hcl` says what Terragrunt puts together before it runs OpenTofu
//! or Terraform there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli_config::Environment;
use crate::diagnostic::{Code, Diagnostic, Location, Result};
use crate::files::join;
use crate::requirements::{self, ModuleCache, Requirements, RootFiles, RootModule};
use crate::terragrunt::{self, ModuleSource, Repository, Unknown, WorkingDirectory};

/// A unit, with what Terragrunt's working directory for it would hold.
pub(super) struct Unit {
    read: terragrunt::Unit,
    files: RootFiles,
    /// Whether it has a remote source, whose files are missing.
    is_missing: bool,
    /// Why it is not known which files there would be.
    unknown: Vec<Unknown>,
}

impl Unit {
    /// The unit in a directory, given as the user knows it and as an absolute path without symbolic links. None if there is no
    /// `terragrunt.hcl`.
    pub(super) fn open(root: &Path, absolute: &Path, environment: &Environment) -> Option<Self> {
        let repository = repository(root, absolute, environment).filter(|_| terragrunt::is_unit(absolute))?;
        let unit = terragrunt::read_or_unknown(absolute, &repository, &environment.variables);
        let WorkingDirectory { files, generated, missing_module, unknown } =
            terragrunt::working_directory(&unit, &repository);
        let module = match &unit.source {
            Ok(ModuleSource::Local { module, .. }) if module.is_dir() => Some(repository.shown(module)),
            Ok(ModuleSource::Unit | ModuleSource::Local { .. }) => Some(root.to_owned()),
            Ok(ModuleSource::Remote(_)) | Err(_) => None,
        };
        let places = unit.source_location.iter().chain(generated.values());
        let places = places.chain(unknown.iter().filter_map(|unknown| unknown.location.as_ref()));
        let others: BTreeSet<_> = places.filter_map(|place| Some(join(place.path().parent()?, ""))).collect();
        let is_partial = missing_module.is_some() || !unknown.is_empty();
        let files = RootFiles {
            directory: root.to_owned(),
            module,
            others: others.into_iter().collect(),
            files,
            generated,
            is_partial,
        };
        Some(Self { read: unit, files, is_missing: missing_module.is_some(), unknown })
    }

    /// Whether there is surely no configuration.
    pub(super) fn is_empty(&self) -> bool {
        self.files.files.is_empty() && !self.files.is_partial
    }

    /// What it requires, as far as it is known.
    pub(super) fn requirements(&self, options: &requirements::Options, modules: &ModuleCache) -> Result<Requirements> {
        let missing = self.is_missing.then(|| self.missing_module(options.allow_missing_modules));
        let read = requirements::read_with_cache(RootModule::Files(&self.files), options, modules);
        match (read, missing) {
            (Ok(mut requirements), missing) if options.allow_missing_modules || missing.is_none() => {
                requirements.warnings.extend(missing);
                requirements.warnings.extend(self.not_known());
                Ok(requirements)
            }
            (Ok(_), missing) => Err(missing.into_iter().collect()),
            (Err(errors), missing) => Err(missing.into_iter().chain(errors).collect()),
        }
    }

    /// The module that its remote source names is not there.
    fn missing_module(&self, allowed: bool) -> Diagnostic {
        let message =
            format!("the module of the unit in {} is remote, and not installed", self.files.directory.display());
        let diagnostic = if allowed {
            Diagnostic::warning(Code::ModuleNotInstalled, message)
                .help("what it requires is not checked; terragrunt init -lockfile=readonly does that")
        } else {
            Diagnostic::error(Code::ModuleNotInstalled, message).help("leave it out with --allow-missing-modules")
        };
        self.read.source_location.iter().fold(diagnostic, |all, place| all.at(place.clone(), "its source"))
    }

    /// One warning for everything that is not known.
    fn not_known(&self) -> Option<Diagnostic> {
        let message = format!("what the unit in {} requires is not known in full", self.files.directory.display());
        let warning = Diagnostic::warning(Code::RequirementsNotKnown, message)
            .note("entries that nothing seems to require, and constraints that differ, are not reported")
            .help("terragrunt init -lockfile=readonly checks the whole");
        let mut seen: Vec<(&str, Option<&Location>)> = Vec::new();
        for Unknown { reason, location, .. } in &self.unknown {
            if !seen.contains(&(reason, location.as_ref())) {
                seen.push((reason, location.as_ref()));
            }
        }
        seen.sort_by_key(|(_, place)| place.map(|place| (place.path(), place.span.start)));
        let say = |warning: Diagnostic, (reason, place): (&str, Option<&Location>)| match place {
            Some(place) => warning.at(place.clone(), reason),
            None => warning.note(reason),
        };
        (!seen.is_empty()).then(|| seen.into_iter().fold(warning, say))
    }

    /// The directory of Terragrunt's in which the next run would find an older lock file than that of the unit, if there is one.
    pub(super) fn stale_cache(&self) -> Option<PathBuf> {
        let cache = self.read.warm_cache().ok().flatten()?;
        let shown = cache.strip_prefix(&self.read.directory).map(|below| join(&self.files.directory, below));
        Some(shown.unwrap_or_else(|_| cache.to_owned()))
    }
}

/// The directory of the module that the unit in a directory runs, if that is another one of the same repository. Absolute,
/// without symbolic links.
pub(super) fn module_of_unit(absolute: &Path, environment: &Environment) -> Option<PathBuf> {
    let repository = repository(absolute, absolute, environment)?;
    match terragrunt::read(absolute, &repository, &environment.variables).ok()?.source {
        Ok(ModuleSource::Local { module, .. }) => Some(module),
        _ => None,
    }
}

/// The repository that a directory is in; without one what is below the current directory, or the directory alone.
fn repository(shown: &Path, absolute: &Path, environment: &Environment) -> Option<Repository> {
    let current = environment.current_directory.canonicalize().unwrap_or_default();
    let top = absolute.ancestors().find(|directory| directory.join(".git").exists());
    let top = top.or_else(|| absolute.ancestors().find(|directory| *directory == current));
    Repository::open_from(top.unwrap_or(absolute), shown).ok()
}
