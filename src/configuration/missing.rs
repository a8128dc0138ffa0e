//! Called modules that are missing, so that their requirements are unknown.

use std::path::PathBuf;

use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, RunOption};
use crate::modules::{ModuleSource, RemoteSource};
use crate::provider::Dialect;

use super::caller::Calling;

/// Maximum number of locations that are shown; a root module may call hundreds of modules.
const LOCATIONS: usize = 3;

/// The calls whose modules are missing, in the order in which they were found.
#[derive(Default)]
pub(super) struct MissingModules(Vec<Missing>);

struct Missing {
    /// Path of the calls that lead to it.
    key: String,
    reason: MissingReason,
    location: Location,
    /// The call with which the path to it leaves the user's own modules.
    entry: Option<Location>,
    /// Constant address of its package; `None` for a module of a registry.
    package: Option<RemoteSource>,
}

pub(super) enum MissingReason {
    /// It is not installed, and was not fetched. Contains its source.
    NotInstalled(String),
    /// The call has changed since this was installed.
    Changed(String),
    /// It is in this git submodule, which is not checked out.
    Submodule(PathBuf),
    /// Git ignores this directory, which another tool makes.
    Ignored(PathBuf),
}

impl MissingModules {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, calling: &Calling<'_>, reason: MissingReason) {
        let Calling { caller, call, key } = calling;
        let source = call
            .constant_source()
            .map(|source| ModuleSource::parse(source, Dialect::default()));
        let package = if let Some(Ok(ModuleSource::Remote(package))) = source {
            Some(package)
        } else {
            None
        };
        self.0.push(Missing {
            key: (*key).to_owned(),
            reason,
            location: call.location.clone(),
            entry: caller.entry.cloned(),
            package,
        });
    }

    /// Returns one diagnostic for modules that OpenTofu or Terraform installs, one for modules in
    /// submodules, and one for modules that git ignores. They are errors unless modules may be
    /// missing. With `is_online` this run could have fetched them, so it is not suggested again.
    pub(super) fn diagnostics(
        &self,
        dialect: Dialect,
        allowed: bool,
        is_online: bool,
    ) -> Vec<Diagnostic> {
        let (submodules, others): (Vec<_>, Vec<_>) = self
            .0
            .iter()
            .partition(|missing| matches!(missing.reason, MissingReason::Submodule(_)));
        let (ignored, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|missing| matches!(missing.reason, MissingReason::Ignored(_)));
        let program = dialect.name();
        let them = pronoun(&others);
        let install = Help::text(format!(
            "install {them} with {program} get or {program} init"
        ));
        let can_be_fetched = |missing: &&Missing| {
            missing
                .package
                .as_ref()
                .is_none_or(|package| package.can_be_fetched(dialect))
        };
        let install = if allowed && !is_online && others.iter().any(can_be_fetched) {
            let online = Remedy::Verify {
                online: true,
                platforms: None,
            };
            install
                .and_text(format!("; to fetch {them} for the check only: "))
                .and(online)
        } else {
            install
        };
        let run = Help::text(format!("run the tool that creates {}", pronoun(&ignored)));
        let groups = [
            (others, "are not installed", install),
            (
                submodules,
                "are in git submodules that are not checked out",
                "git submodule update --init".into(),
            ),
            (ignored, "are not there, and git ignores them", run),
        ];
        let groups = groups
            .into_iter()
            .filter(|(missing, ..)| !missing.is_empty());
        groups
            .map(|(missing, what, help)| diagnostic(&missing, what, help, allowed))
            .collect()
    }
}

fn pronoun(missing: &[&Missing]) -> &'static str {
    if missing.len() == 1 { "it" } else { "them" }
}

fn diagnostic(missing: &[&Missing], what: &str, help: Help, allowed: bool) -> Diagnostic {
    let is_one = missing.len() == 1;
    let message = format!(
        "{} modules {what}, so what they require is not known",
        missing.len()
    );
    let diagnostic = if allowed {
        Diagnostic::warning(Code::ModuleNotInstalled, message).help(help)
    } else {
        let help = help.and_text(format!(", or skip {} with ", pronoun(missing)));
        Diagnostic::error(Code::ModuleNotInstalled, message)
            .help(help.and(RunOption::AllowMissingModules))
    };
    let diagnostic = match missing {
        [one] => one.describe(diagnostic),
        _ => diagnostic,
    };
    let shared = diagnostic.shared(format!(
        "called modules {what}, so what they require is not known"
    ));
    let label = |one: &Missing| {
        if is_one {
            "called here".to_owned()
        } else {
            format!("module \"{}\"", one.key)
        }
    };
    let shown = missing.iter().take(LOCATIONS);
    let located = shown.fold(shared, |diagnostic, one| {
        diagnostic.at_called(one.entry.as_ref(), one.location.clone(), label(one))
    });
    match missing.len().saturating_sub(LOCATIONS) {
        0 => located,
        more => located.note(format!("and {more} more")),
    }
}

impl Missing {
    /// Sets the message about one missing module.
    fn describe(&self, diagnostic: Diagnostic) -> Diagnostic {
        let key = &self.key;
        let message = match &self.reason {
            MissingReason::NotInstalled(source) => {
                format!("module \"{key}\" from {source:?} is not installed")
            }
            MissingReason::Changed(installed) => {
                format!("module \"{key}\" has changed since {installed} was installed")
            }
            MissingReason::Submodule(path) => {
                return diagnostic.naming(path, |path| {
                    format!(
                        "module \"{key}\" is in the git submodule {path}, which is not checked out"
                    )
                });
            }
            MissingReason::Ignored(path) => {
                return diagnostic.naming(path, |path| {
                    format!(
                        "module \"{key}\" is in {path}, which does not exist and is ignored by git"
                    )
                });
            }
        };
        Diagnostic {
            message,
            ..diagnostic
        }
    }
}
