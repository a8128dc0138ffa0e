//! Finds a called module: evaluates its source and version, then takes a directory, an installed module or a fetched
//! package.

use std::ops::ControlFlow;

use crate::diagnostic::{self, Code, Diagnostic, Diagnostics, Help, Remedy, Severity};
use crate::hcl::evaluate::value::Unknown;
use crate::modules::ModuleSource;
use crate::modules::fetched::{FetchedModule, ModuleRequest};
use crate::modules::installed::{Installed, Manifest};
use crate::modules::local::is_local;
use crate::provider::ConstraintList;
use crate::system::boundary::refused;
use crate::system::files::join;

use super::caller::Calling;
use super::file::CallSource;
use super::locked_calls::{InstalledAt, LockingMode};
use super::missing::Reason;
use super::moving_call::Wanted;
use super::requirement::{ModuleCall, UnknownCall};
use super::root::ModulePath;
use super::scope::Scope;
use super::syntax::DeferredValue;
use super::tree::Walk;

impl Walk<'_> {
    /// The source of a call, and why the module that it chooses may request nothing, if it may not. If the source is
    /// unknown, an error is reported.
    pub(super) fn source(&mut self, calling: &Calling<'_>) -> Option<(ModuleSource, Option<Unknown>)> {
        let Calling { caller, call, key } = calling;
        let (written, withheld) = match &call.source {
            CallSource::Missing => return None,
            CallSource::Constant(source) => (Ok(Some(source.clone())), None),
            CallSource::Expression(written) => {
                let (text, withheld) = text(caller.scope, written);
                let is_address = |text: &String| ModuleSource::parse(text, self.options.dialect).is_ok();
                let is_given =
                    matches!(&text, Ok(Some(text)) if is_address(text)) && caller.scope.is_set_by_user(written);
                (text, withheld.filter(|_| !is_given))
            }
        };
        let withheld = withheld.or_else(|| caller.scope.chosen_by.clone());
        let written = match (written, &withheld) {
            (Ok(Some(text)), Some(reason)) if !is_local(&text) => Err(reason.clone()),
            (written, _) => written,
        };
        let text = match written {
            Ok(Some(source)) => source,
            Ok(None) => {
                let message = format!("module \"{key}\" has no source: it is null");
                self.errors.push(calling.error(Code::InvalidConfiguration, message));
                return None;
            }
            Err(unknown) => {
                let Some(installed) = self.installed(calling) else {
                    self.not_known(calling, "source", &unknown);
                    return None;
                };
                installed.source.clone()
            }
        };
        self.cache.secrets.learn_address(&text);
        match ModuleSource::parse(&text, self.options.dialect) {
            Ok(source) => Some((source, withheld)),
            Err(error) => {
                let message = format!("the source {text:?} of module \"{key}\" cannot be used: {error}");
                let error = calling.error(Code::InvalidConfiguration, message);
                let is_path = !text.is_empty() && !text.contains(':') && !text.starts_with(['.', '/', '~']);
                self.errors.push(if is_path {
                    error.help(format!("write a directory as \"./{text}\""))
                } else {
                    error
                });
                None
            }
        }
    }

    /// The constraints of a call. If they are unknown, an error is reported.
    pub(super) fn constraints(&mut self, calling: &Calling<'_>, source: &ModuleSource) -> Option<ConstraintList> {
        let Calling { caller, call, key } = calling;
        let Some(written) = &call.version else { return Some(ConstraintList::default()) };
        let (text, withheld) = text(caller.scope, written);
        // A registry could list a version for each value.
        let text = match text.and_then(|text| withheld.map_or(Ok(text), Err)) {
            Ok(Some(text)) => text,
            Ok(None) => return Some(ConstraintList::default()),
            Err(unknown) => {
                self.not_known(calling, "version", &unknown);
                return None;
            }
        };
        let problem = match ConstraintList::parse_for_module(&text) {
            _ if !matches!(source, ModuleSource::Registry(_)) => {
                format!("module \"{key}\" has a version, which only modules of a registry have")
            }
            Ok(constraints) if !text.trim().is_empty() => return Some(constraints),
            Ok(_) => format!("the version of module \"{key}\" is empty; leave it out to allow every version"),
            Err(error) => format!("{text:?} is not a version constraint for module \"{key}\": {error}"),
        };
        let error = Diagnostic::error(Code::InvalidConfiguration, problem).at(written.location.clone(), "");
        self.errors.push(calling.caller.entered(error));
        None
    }

    /// The path of a module that is not in its caller's package. If it is missing, that is reported.
    pub(super) fn elsewhere(&mut self, calling: &Calling<'_>, wanted: &Wanted) -> Option<(ModulePath, InstalledAt)> {
        let (Calling { call, key, .. }, Wanted { source, constraints, .. }) = (calling, wanted);
        let dialect = self.options.dialect;
        let request = ModuleRequest::new(source.clone(), constraints.clone())?;
        self.note(calling, &request);
        match self.locking.map(|locking| locking.mode) {
            Some(LockingMode::Follow) => {
                if let ControlFlow::Break(followed) = self.followed(calling, wanted) {
                    return followed;
                }
            }
            Some(_) if self.is_refused(calling, source) => return None,
            Some(_) => return self.locked(calling, wanted),
            None => {}
        }
        let installed = self.installed(calling).cloned();
        let mut reason = Reason::NotInstalled(call.constant_source().map_or_else(|| source.to_string(), str::to_owned));
        if let Some(installed) = installed {
            let directory = join(self.root, &installed.dir);
            if !installed.meets(source, constraints, dialect) {
                reason = Reason::Changed(installed.describe());
            } else if directory.is_dir() {
                return Some((ModulePath::Directory(directory), InstalledAt::root()));
            }
        }
        if self.is_refused(calling, source) {
            return None;
        }
        let is_unknown = self.cache.is_surely_unknown(&request, self.options.dialect, self.options.fetch_modules);
        let fetched = self.fetched(source, request)?;
        if is_unknown && !matches!(fetched, Ok(Some(_))) {
            self.note_unknown(calling);
        }
        match fetched {
            Ok(Some(module)) => {
                if let ModuleSource::Remote(remote) = source
                    && remote.is_unencrypted()
                {
                    let message = format!("module \"{key}\" comes from {remote} without encryption");
                    let warning = Diagnostic::warning(Code::InvalidConfiguration, message);
                    let warning = warning.note("anybody between here and there can change what it requires");
                    self.warnings.push(calling.located(warning).help("use an https URL"));
                }
                return Some((ModulePath::Package(module), InstalledAt::root()));
            }
            Ok(None) => self.missing.add(calling, reason),
            Err(errors) => self.not_fetched(calling, errors),
        }
        None
    }

    /// Reports a source on this machine that is out of the repository, or that a fetched module names.
    fn is_refused(&mut self, calling: &Calling<'_>, source: &ModuleSource) -> bool {
        let ModuleSource::Remote(remote) = source else { return false };
        if let Some(path) = self.cache.outside(remote) {
            let outside = calling.outside(&path);
            self.leave_out([outside]);
            return true;
        }
        let is_refused = remote.is_on_this_machine() && calling.caller.entry.is_some();
        if is_refused {
            let key = calling.key;
            let message = format!("module \"{key}\" is fetched, and may not call {remote} on this machine");
            self.errors.push(calling.error(Code::InvalidConfiguration, message));
        }
        is_refused
    }

    /// What was fetched for a request, or is a directory of this machine. The outer `None` means that it is to be
    /// fetched.
    pub(super) fn fetched(
        &mut self,
        source: &ModuleSource,
        request: ModuleRequest,
    ) -> Option<diagnostic::Result<Option<FetchedModule>>> {
        let fetcher = self.cache.fetcher.as_ref().filter(|_| self.options.fetch_modules);
        match fetcher.map(|fetcher| fetcher.get(self.options.dialect, &request)) {
            None | Some(Some(Ok(None))) => Some(match source {
                ModuleSource::Remote(remote) => FetchedModule::on_this_machine(remote).transpose(),
                _ => Ok(None),
            }),
            Some(Some(found)) => Some(found),
            Some(None) => {
                self.wanted.insert(request);
                None
            }
        }
    }

    /// Keeps a call of the user's own modules. Another call may have led to the caller before.
    pub(super) fn note(&mut self, calling: &Calling<'_>, request: &ModuleRequest) {
        let Calling { caller, call, key } = calling;
        if caller.entry.is_none() && self.noted.insert((call.location.clone(), request.clone())) {
            let (request, location) = (request.clone(), call.location.clone());
            self.elsewhere.push(ModuleCall { name: format!("module \"{key}\""), request, location });
        }
    }

    /// The record of a module that a program has installed. Modules that a fetched package calls have no such record.
    fn installed(&mut self, calling: &Calling<'_>) -> Option<&Installed> {
        if matches!(calling.caller.place, ModulePath::Package(_)) {
            return None;
        }
        if self.manifest.is_none() {
            let path = join(self.root, self.options.data_directory.join("modules").join("modules.json"));
            let manifest = if self.cache.boundary.is_outside(&path) {
                self.leave_out([refused(&path)]);
                Manifest::default()
            } else {
                Manifest::read(&path).unwrap_or_else(|error| {
                    self.errors.extend(error);
                    Manifest::default()
                })
            };
            self.manifest = Some(manifest);
        }
        self.manifest.as_ref()?.modules.get(calling.key)
    }

    fn not_known(&mut self, calling: &Calling<'_>, what: &str, unknown: &Unknown) {
        let Calling { call, key, .. } = calling;
        let message = format!("the {what} of module \"{key}\" is not known: {unknown}");
        let shared = format!("the {what} of a called module is not known: {unknown}");
        self.note_unknown(calling);
        let error = calling.error(Code::ModuleNotInstalled, message).shared(shared);
        let cause = unknown.location.as_ref().filter(|location| **location != call.location);
        let error = error.at_each(cause, "because of this");
        let help = Help::text("give variables values with ").and(Remedy::SetVariable);
        self.unread(error.help(help.and_text(format!(" or terraform.tfvars, or write the {what} as plain text"))));
    }

    pub(super) fn note_unknown(&mut self, calling: &Calling<'_>) {
        let location = calling.caller.entry.unwrap_or(&calling.call.location).clone();
        self.unknown.push(UnknownCall { location, directory: None });
    }

    pub(super) fn not_fetched(&mut self, calling: &Calling<'_>, errors: Diagnostics) {
        for error in errors {
            let error = error.at(calling.call.location.clone(), format!("module \"{}\"", calling.key));
            self.unread(calling.caller.entered(error));
        }
    }

    /// Reports why a called module cannot be read. Its requirements are unknown then.
    fn unread(&mut self, error: Diagnostic) {
        self.is_incomplete = true;
        // One that has other bytes than when it was locked is not missing.
        if self.options.allow_missing_modules && error.code != Code::ModuleReplaced {
            self.warnings.push(Diagnostic { severity: Severity::Warning, code: Code::ModuleNotInstalled, ..error });
        } else {
            self.errors.merge(error);
        }
    }
}

/// The text of an argument, `None` if it is null; and why it must not be part of a request, if it must not.
fn text(scope: &Scope<'_>, written: &DeferredValue) -> (Result<Option<String>, Unknown>, Option<Unknown>) {
    let (value, withheld) = scope.evaluate_for_request(written);
    let text = match value.as_string() {
        _ if value.is_null() => Ok(None),
        Ok(text) => Ok(Some(text.to_string())),
        Err(stop) => Err(stop.at(|| Some(written.location.clone())).as_ref().clone()),
    };
    (text, withheld)
}
