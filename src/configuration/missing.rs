//! Called modules that are missing, so that their requirements are unknown.

use std::path::PathBuf;

use crate::diagnostic::{Code, Diagnostic, Help, Location, Message, Remedy, RunOption};
use crate::modules::{ModuleSource, RemoteSource};
use crate::provider::Dialect;

use super::caller::Calling;

/// Maximum number of locations that are shown; a root module may call hundreds of modules.
const MOST_LOCATIONS: usize = 3;

/// The calls whose modules are missing, in the order in which they were found.
#[derive(Default)]
pub(super) struct MissingModules(Vec<Missing>);

struct Missing {
    /// Path of the calls that lead to it.
    key: String,
    reason: MissingReason,
    location: Location,
    /// The call with which the path to it leaves the user's own modules.
    own_call: Option<Location>,
    /// Constant address of its package; `None` for a module of a registry.
    package: Option<RemoteSource>,
}

/// Facts that decide how missing modules can be supplied.
#[derive(Clone, Copy)]
pub(super) struct Situation {
    pub(super) dialect: Dialect,
    /// Whether modules may be missing.
    pub(super) may_be_missing: bool,
    /// Whether this run may fetch modules from the network.
    pub(super) is_online: bool,
    /// Whether the root module is a Terragrunt unit.
    pub(super) is_unit: bool,
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
        let mut package = None;
        if let Some(source) = call.constant_source()
            && let Ok(ModuleSource::Remote(remote)) =
                ModuleSource::parse(source, Dialect::default())
        {
            package = Some(remote);
        }
        self.0.push(Missing {
            key: (*key).to_owned(),
            reason,
            location: call.location.clone(),
            own_call: caller.own_call.cloned(),
            package,
        });
    }

    /// Returns one diagnostic for modules that OpenTofu or Terraform installs, one for modules in
    /// submodules, and one for modules that git ignores. They are errors unless modules may be
    /// missing.
    pub(super) fn diagnostics(&self, situation: Situation) -> Vec<Diagnostic> {
        let mut not_installed = Vec::new();
        let mut in_submodules = Vec::new();
        let mut ignored = Vec::new();
        for missing in &self.0 {
            match missing.reason {
                MissingReason::NotInstalled(_) | MissingReason::Changed(_) => {
                    not_installed.push(missing);
                }
                MissingReason::Submodule(_) => in_submodules.push(missing),
                MissingReason::Ignored(_) => ignored.push(missing),
            }
        }

        let mut diagnostics = Vec::new();
        let may_be_missing = situation.may_be_missing;
        if !not_installed.is_empty() {
            let install = situation.help_to_install(&not_installed);
            let what = "are not installed";
            diagnostics.push(diagnostic_about(
                &not_installed,
                what,
                install,
                may_be_missing,
            ));
        }
        if !in_submodules.is_empty() {
            let update = Help::from("git submodule update --init");
            let what = "are in git submodules that are not checked out";
            diagnostics.push(diagnostic_about(
                &in_submodules,
                what,
                Some(update),
                may_be_missing,
            ));
        }
        if !ignored.is_empty() {
            let run = Help::text(format!("run the tool that creates {}", pronoun(&ignored)));
            let what = "are not there, and git ignores them";
            diagnostics.push(diagnostic_about(&ignored, what, Some(run), may_be_missing));
        }
        diagnostics
    }
}

impl Situation {
    /// Returns the next step for modules that are not installed; `None` if users can only skip
    /// them.
    fn help_to_install(self, missing: &[&Missing]) -> Option<Help> {
        let them = pronoun(missing);
        let can_be_fetched = missing.iter().any(|missing| {
            let package = missing.package.as_ref();
            package.is_none_or(|package| package.can_be_fetched(self.dialect))
        });
        // A run with network could have fetched them, so none is suggested again.
        let is_fetched_online = can_be_fetched && !self.is_online;
        let online = Remedy::Verify {
            online: true,
            platforms: None,
        };
        let fetch = Help::text(format!("to fetch {them} for the check only: ")).and(online.clone());

        // Terragrunt installs modules in a copy of the unit, which provlock does not read.
        if self.is_unit {
            if !is_fetched_online {
                return if self.may_be_missing {
                    Some("terragrunt init -lockfile=readonly checks their requirements".into())
                } else {
                    None
                };
            }
            if self.may_be_missing {
                return Some(fetch);
            }
            let help = Help::text(format!("let provlock fetch {them}: run without "));
            let help = help.and(RunOption::FetchNoModules).and_text(" and ");
            return Some(help.and(RunOption::Offline));
        }

        let program = self.dialect.name();
        let install = Help::text(format!(
            "install {them} with {program} get or {program} init"
        ));
        if self.may_be_missing && is_fetched_online {
            let fetch = format!("; to fetch {them} for the check only: ");
            return Some(install.and_text(fetch).and(online));
        }
        Some(install)
    }
}

fn pronoun(missing: &[&Missing]) -> &'static str {
    if missing.len() == 1 { "it" } else { "them" }
}

/// Returns the diagnostic about modules that are missing for one reason, the verb phrase `what`: a
/// warning if modules may be missing, or else an error.
fn diagnostic_about(
    missing: &[&Missing],
    what: &str,
    help: Option<Help>,
    may_be_missing: bool,
) -> Diagnostic {
    let message = match missing {
        [only] => only.message(),
        _ => Message::from(format!(
            "{} modules {what}, so what they require is not known",
            missing.len()
        )),
    };
    let mut diagnostic = if may_be_missing {
        Diagnostic {
            help,
            ..Diagnostic::warning(Code::ModuleNotInstalled, message)
        }
    } else {
        let skip = format!("skip {} with ", pronoun(missing));
        let help = match help {
            Some(help) => help.and_text(format!(", or {skip}")),
            None => Help::text(skip),
        };
        Diagnostic::error(Code::ModuleNotInstalled, message)
            .help(help.and(RunOption::AllowMissingModules))
    };
    diagnostic = diagnostic.with_shared_message(format!(
        "called modules {what}, so what they require is not known"
    ));

    for module in missing.iter().take(MOST_LOCATIONS) {
        let label = if missing.len() == 1 {
            "called here".to_owned()
        } else {
            format!("module \"{}\"", module.key)
        };
        diagnostic = diagnostic.at_called(module.own_call.as_ref(), module.location.clone(), label);
    }
    match missing.len().saturating_sub(MOST_LOCATIONS) {
        0 => diagnostic,
        more => diagnostic.note(format!("and {more} more")),
    }
}

impl Missing {
    /// The message about one missing module.
    fn message(&self) -> Message {
        let key = &self.key;
        match &self.reason {
            MissingReason::NotInstalled(source) => {
                Message::from(format!("module \"{key}\" from {source:?} is not installed"))
            }
            MissingReason::Changed(installed) => Message::from(format!(
                "module \"{key}\" has changed since {installed} was installed"
            )),
            MissingReason::Submodule(path) => Message::naming(path, |path| {
                format!("module \"{key}\" is in the git submodule {path}, which is not checked out")
            }),
            MissingReason::Ignored(path) => Message::naming(path, |path| {
                format!("module \"{key}\" is in {path}, which does not exist and is ignored by git")
            }),
        }
    }
}
