//! Resolves a call: evaluates its source and version, then takes an installed module or a fetched
//! package.

use std::path::{Path, PathBuf};

use super::caller::{Caller, Calling, InstallPath};
use super::file::CallSource;
use super::missing::MissingReason;
use super::module_cache::not_requested;
use super::options::Resolution;
use super::origin::Origin;
use super::requirement::{ModuleCall, OutsideModule, UnknownCall};
use super::root::ModulePath;
use super::scope::Scope;
use super::syntax::Attribute;
use super::walk::Walk;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, RunOption, Severity};
use crate::hcl::evaluate::value::Unknown;
use crate::modules::ModuleSource;
use crate::modules::fetched::{FetchedModule, ModuleRequest};
use crate::modules::installed::{Installed, Manifest};
use crate::modules::local::{self, is_local};
use crate::provider::ConstraintList;
use crate::system::boundary::outside_error;
use crate::system::files::join;
use crate::system::{Tree, canonicalize, links};

/// The directory of a module in its package, without symbolic links.
fn directory_in_package(module: &FetchedModule) -> Option<PathBuf> {
    let top = canonicalize(module.top()).ok()?;
    let directory = canonicalize(module.path().ok()?).ok()?;
    Some(directory.strip_prefix(top).ok()?.to_owned())
}

/// A module of another package, and where it is, or would be, installed.
type ResolvedPackage = (ModulePath, Option<InstallPath>);

/// Result of a request for a module.
enum Fetched {
    Module(FetchedModule),
    /// The module is not here and may not be requested.
    Absent,
    /// The module is fetched after this pass over the calls, and the calls are then followed again.
    Later,
    Failed(Diagnostics),
}

impl Walk<'_> {
    /// The source of a call; `None` if it has none or is unknown, which is reported. Adds to the
    /// origin; if that is withheld, the module may request nothing.
    pub(super) fn evaluate_source(
        &mut self,
        calling: &Calling<'_>,
        origin: &mut Origin,
    ) -> Option<ModuleSource> {
        let Calling { caller, call, key } = calling;
        let dialect = self.input.options.dialect;
        // A value of the environment, or a sensitive one, is part of the address.
        let mut is_secret = false;
        let mut address = match &call.source {
            CallSource::Missing => return None,
            CallSource::Constant(source) => Ok(Some(source.clone())),
            CallSource::Expression(expression) => {
                let (value, from) = evaluate_text(caller.scope, expression);
                origin.add(from);
                is_secret = origin.withheld.is_some();
                // A whole address that the user set: a pull request does not decide where it leads.
                if let Ok(Some(whole_address)) = &value
                    && ModuleSource::parse(whole_address, dialect).is_ok()
                    && caller.scope.is_set_by_user(expression)
                {
                    origin.withheld = None;
                }
                value
            }
        };
        if origin.withheld.is_none() {
            origin.withheld.clone_from(&caller.scope.chosen_by);
        }
        // A request would send the value. A local path requests nothing.
        if let Ok(Some(text)) = &address
            && let Some(reason) = &origin.withheld
            && !is_local(text)
        {
            address = Err(reason.clone());
        }

        let text = match address {
            Ok(Some(source)) => source,
            Ok(None) => {
                let message = format!("module \"{key}\" has no source: it is null");
                let error = calling.error(Code::InvalidConfiguration, message);
                self.errors.push(error);
                return None;
            }
            Err(unknown) => {
                // `init` recorded the source that it had computed.
                let Some(installed) = self.installed_record(calling) else {
                    self.report_unknown(calling, "source", &unknown);
                    return None;
                };
                installed.source.clone()
            }
        };
        self.input.cache.secrets.learn_address(&text);
        if is_secret && !self.is_local_directory(caller, &text) {
            self.input.cache.secrets.learn_secret_address(&text);
        }
        match ModuleSource::parse(&text, dialect) {
            Ok(source) => Some(source),
            Err(error) => {
                let message =
                    format!("the source {text:?} of module \"{key}\" cannot be used: {error}");
                let error = calling.error(Code::InvalidConfiguration, message);
                // OpenTofu and Terraform read a path without `./` as the address of a module in a
                // registry.
                let may_be_path =
                    !text.is_empty() && !text.contains(':') && !text.starts_with(['.', '/', '~']);
                self.errors.push(if may_be_path {
                    error.help(format!("write a directory as \"./{text}\""))
                } else {
                    error
                });
                None
            }
        }
    }

    /// Whether a source is the path of a directory that exists.
    fn is_local_directory(&self, caller: &Caller<'_>, source: &str) -> bool {
        if !is_local(source) {
            return false;
        }
        match caller.path.path() {
            Ok(from) => self.input.tree().is_dir(&local::directory(&from, source)),
            Err(_) => false,
        }
    }

    /// The constraints of a call, empty if it has none; `None` if they are unknown or not allowed,
    /// which is reported. Adds to the origin.
    pub(super) fn evaluate_constraints(
        &mut self,
        calling: &Calling<'_>,
        source: &ModuleSource,
        origin: &mut Origin,
    ) -> Option<ConstraintList> {
        let Calling { caller, call, key } = calling;
        let Some(written) = &call.version else {
            return Some(ConstraintList::default());
        };
        let (mut value, from) = evaluate_text(caller.scope, written);
        // A registry could list a version for each value.
        if value.is_ok()
            && let Some(reason) = &from.withheld
        {
            value = Err(reason.clone());
        }
        origin.add(from);
        let text = match value {
            Ok(Some(text)) => text,
            Ok(None) => return Some(ConstraintList::default()),
            Err(unknown) => {
                self.report_unknown(calling, "version", &unknown);
                return None;
            }
        };
        let problem = if !matches!(source, ModuleSource::Registry(_)) {
            format!("module \"{key}\" has a version, which only modules of a registry have")
        } else if text.trim().is_empty() {
            format!("the version of module \"{key}\" is empty; omit it to allow every version")
        } else {
            match ConstraintList::parse_for_module(&text) {
                Ok(constraints) => return Some(constraints),
                Err(error) => {
                    format!("{text:?} is not a version constraint for module \"{key}\": {error}")
                }
            }
        };
        let error = Diagnostic::error(Code::InvalidConfiguration, problem)
            .at_location(written.location.clone());
        self.errors.push(calling.caller.with_own_call(error));
        None
    }

    /// Finds the module of a call in another package, and adds the call to the result. `None` as by
    /// [`Walk::resolve_package`].
    pub(super) fn find_package(
        &mut self,
        calling: &Calling<'_>,
        mut call: ModuleCall,
    ) -> Option<ResolvedPackage> {
        let package = self.resolve_package(calling, &call);
        if let Some((ModulePath::InPackage(module), Some(installed))) = &package {
            call.module = Some(module.clone());
            call.directory = Some(installed.directory.clone());
        }
        self.result.calls.push(call);
        package
    }

    /// Returns the package of a call: installed, from the cache, or fetched. `None` if it is
    /// fetched in the next pass, or if it is not known, which is reported.
    fn resolve_package(
        &mut self,
        calling: &Calling<'_>,
        call: &ModuleCall,
    ) -> Option<ResolvedPackage> {
        let resolution = match self.input.resolver {
            Some(resolve) => resolve(call),
            None => Resolution::Unlocked,
        };
        let is_never_fetched = self.input.cache.never_fetches(call);
        let module = match resolution {
            Resolution::Unlocked => return self.resolve_without_lock_file(calling, call),
            Resolution::Preferred(_) if is_never_fetched => {
                return self.resolve_without_lock_file(calling, call);
            }
            Resolution::Preferred(request) => {
                match self.fetch_or_read_here(call, request, self.input.options.fetch_modules) {
                    Fetched::Module(module) => Some(module),
                    Fetched::Absent => return self.resolve_without_lock_file(calling, call),
                    Fetched::Later => return None,
                    Fetched::Failed(errors) if self.input.cache.reads_mirror() => {
                        self.report_not_fetched(call, errors);
                        return None;
                    }
                    // The command that follows the lock file reports errors.
                    Fetched::Failed(_) => None,
                }
            }
            _ if self.report_if_refused(calling, &call.source) => return None,
            Resolution::Found(module) => Some(module),
            Resolution::Only(request) => {
                // Nothing else supplies the module, so `fetch-modules` does not apply.
                let may_fetch = true;
                match self.fetch_or_read_here(call, request, may_fetch) {
                    Fetched::Module(module) => Some(module),
                    Fetched::Absent => None,
                    Fetched::Later => return None,
                    Fetched::Failed(errors) => {
                        self.report_not_fetched(call, errors);
                        return None;
                    }
                }
            }
            Resolution::Refused(error) => {
                self.errors.push(error);
                return None;
            }
            Resolution::NotRead => return None,
        };
        let Some(module) = module else {
            self.missing.add(
                calling,
                MissingReason::NotInstalled(call.source.to_string()),
            );
            return None;
        };
        let package = self
            .input
            .options
            .data_directory
            .join("modules")
            .join(&call.key);
        let directory = join(&package, module.directory());
        Some((
            ModulePath::InPackage(module),
            Some(InstallPath {
                directory,
                package: Some(package),
            }),
        ))
    }

    /// Returns the package of a call that no lock file records: the installed one if it meets the
    /// call, or else a fetched one. `None` as by [`Walk::resolve_package`].
    fn resolve_without_lock_file(
        &mut self,
        calling: &Calling<'_>,
        call: &ModuleCall,
    ) -> Option<ResolvedPackage> {
        let request = call.request()?;
        let dialect = self.input.options.dialect;
        let source = match calling.call.constant_source() {
            Some(source) => source.to_owned(),
            None => call.source.to_string(),
        };
        let mut reason = MissingReason::NotInstalled(source);
        if let Some(installed) = self.installed_record(calling).cloned() {
            let directory = join(self.input.root, &installed.dir);
            // The module that was installed for an earlier source does not show what this call
            // requires.
            if !installed.meets(&call.source, &call.constraints, dialect) {
                reason = MissingReason::Changed(installed.describe());
            } else if self.input.tree().is_dir(&directory) {
                return Some((ModulePath::Directory(directory), None));
            }
        }
        if self.report_if_refused(calling, &call.source) {
            return None;
        }
        let fetch_modules = self.input.options.fetch_modules;
        let cache = self.input.cache;
        let is_unknown = cache.is_surely_unknown(&request, dialect, fetch_modules);
        let answer = self.fetch_or_read_here(call, request, fetch_modules);
        if is_unknown && matches!(answer, Fetched::Absent | Fetched::Failed(_)) {
            self.add_unknown(calling);
        }
        match answer {
            Fetched::Module(module) => {
                self.warn_if_unencrypted(call);
                return Some((ModulePath::InPackage(module), None));
            }
            Fetched::Absent => self.missing.add(calling, reason),
            Fetched::Later => {}
            Fetched::Failed(errors) => self.report_not_fetched(call, errors),
        }
        None
    }

    fn warn_if_unencrypted(&mut self, call: &ModuleCall) {
        let ModuleSource::Remote(remote) = &call.source else {
            return;
        };
        if remote.is_unencrypted() {
            let key = &call.key;
            let message = format!("module \"{key}\" comes from {remote} without encryption");
            let warning = Diagnostic::warning(Code::InvalidConfiguration, message)
                .note("an attacker in the network can change what it requires");
            let located = call.at_call(warning);
            self.result.warnings.push(located.help("use an https URL"));
        }
    }

    /// Reports a source on this machine that is out of the repository, or that a fetched module
    /// specifies. Returns whether there is such a report.
    fn report_if_refused(&mut self, calling: &Calling<'_>, source: &ModuleSource) -> bool {
        let ModuleSource::Remote(remote) = source else {
            return false;
        };
        if let Some(path) = self.input.cache.outside(remote) {
            let outside = calling.error_outside(&path);
            self.warn_of_skipped([outside]);
            if let Some(path) = remote.plain_path()
                && calling.caller.own_call.is_none()
            {
                let location = calling.call.location.clone();
                let module = OutsideModule { path, location };
                self.result.outside_modules.push(module);
            }
            return true;
        }
        let is_refused = remote.is_on_this_machine() && calling.caller.own_call.is_some();
        if is_refused {
            let key = calling.key;
            let message =
                format!("module \"{key}\" is fetched, and may not call {remote} on this machine");
            self.errors
                .push(calling.error(Code::InvalidConfiguration, message));
        }
        is_refused
    }

    /// Returns the module that was fetched for a request. A module in a directory of this machine
    /// is never fetched, but read where it is.
    fn fetch_or_read_here(
        &mut self,
        call: &ModuleCall,
        request: ModuleRequest,
        may_fetch: bool,
    ) -> Fetched {
        let dialect = self.input.options.dialect;
        if may_fetch && let Some(fetcher) = &self.input.cache.fetcher {
            if let Some(host) = self.input.cache.refused_host(&request) {
                return Fetched::Failed(not_requested(&host).into());
            }
            match fetcher.get(dialect, &request) {
                None => {
                    self.requests.insert(request);
                    return Fetched::Later;
                }
                Some(Ok(Some(module))) => return Fetched::Module(module),
                Some(Err(errors)) => return Fetched::Failed(errors),
                // It is not in the cache, and no request may be made.
                Some(Ok(None)) => {}
            }
        }

        let ModuleSource::Remote(source) = &call.source else {
            return Fetched::Absent;
        };
        match FetchedModule::on_this_machine(source, dialect) {
            Some(Ok(module)) => Fetched::Module(module),
            Some(Err(errors)) => Fetched::Failed(errors),
            None => Fetched::Absent,
        }
    }

    /// Returns the directory in which a module with a local source is installed, which may not
    /// exist yet: without links, as OpenTofu and Terraform write it to modules.json. `None` without
    /// a lock file of modules, and if the caller is not installed.
    pub(super) fn local_install_path(
        &self,
        calling: &Calling<'_>,
        path: &ModulePath,
        source: &str,
    ) -> Option<InstallPath> {
        // Without a lock file, nothing depends on where modules are installed.
        self.input.resolver?;
        let caller = calling.caller.installed?;
        let package = caller.package.clone();
        let directory = match (path, &package) {
            // The package may not be installed yet, so that links are followed where it was
            // fetched.
            (ModulePath::InPackage(module), Some(package_directory)) => {
                let below = match directory_in_package(module) {
                    Some(below) => below,
                    None => module.directory().into(),
                };
                join(package_directory, below)
            }
            _ => without_links(
                self.input.tree(),
                self.input.root,
                &join(&caller.directory, source),
            ),
        };
        Some(InstallPath { directory, package })
    }

    /// Adds a call by a local path to the result, which `modules.json` lists, too.
    pub(super) fn add_local_call(
        &mut self,
        calling: &Calling<'_>,
        source: &str,
        installed: Option<&InstallPath>,
    ) {
        let Some(InstallPath { directory, .. }) = installed else {
            return;
        };
        let source = ModuleSource::Local(source.to_owned());
        let call = calling.module_call(source, ConstraintList::default(), Origin::default());
        self.result.calls.push(ModuleCall {
            directory: Some(directory.clone()),
            ..call
        });
    }

    /// The entry of `modules.json` about the module that OpenTofu or Terraform installed for a
    /// call; `None` if there is none. They install nothing for calls in fetched packages.
    fn installed_record(&mut self, calling: &Calling<'_>) -> Option<&Installed> {
        if matches!(calling.caller.path, ModulePath::InPackage(_)) {
            return None;
        }
        // Only calls of remote modules need the file, and many configurations have none.
        if self.manifest.is_none() {
            let path = join(
                self.input.root,
                self.input
                    .options
                    .data_directory
                    .join("modules")
                    .join("modules.json"),
            );
            let manifest = if self.input.cache.boundary.is_outside(&path) {
                self.warn_of_skipped([outside_error(&path)]);
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

    fn report_unknown(&mut self, calling: &Calling<'_>, what: &str, unknown: &Unknown) {
        let Calling { call, key, .. } = calling;
        let message = format!("the {what} of module \"{key}\" is not known: {unknown}");
        let shared = format!("the {what} of a called module is not known: {unknown}");
        self.add_unknown(calling);
        let error = calling
            .error(Code::ModuleNotInstalled, message)
            .with_shared_message(shared);
        let cause = unknown
            .location
            .as_ref()
            .filter(|location| **location != call.location);
        let error = error.at_each(cause, "because of this");
        let help = Help::text("give variables values with ").and(RunOption::SetVariable);
        self.report_unread(error.help(help.and_text(format!(
            " or terraform.tfvars, or write the {what} as plain text"
        ))));
    }

    pub(super) fn add_unknown(&mut self, calling: &Calling<'_>) {
        let location = calling
            .caller
            .own_call
            .unwrap_or(&calling.call.location)
            .clone();
        self.result.unknown_calls.push(UnknownCall {
            location,
            key: calling.key.to_owned(),
            directory: None,
            origin: Origin::default(),
        });
    }

    fn report_not_fetched(&mut self, call: &ModuleCall, errors: Diagnostics) {
        for mut error in call.not_fetched(errors) {
            // Terragrunt installs modules in a copy of the unit, which provlock does not read.
            let installs = error.help.as_ref().is_some_and(Help::installs_modules);
            if self.is_unit && installs {
                error.help = Some(Help::text("skip it with ").and(RunOption::AllowMissingModules));
            }
            self.report_unread(error);
        }
    }

    /// Reports why a called module cannot be read. Its requirements are unknown then.
    fn report_unread(&mut self, error: Diagnostic) {
        self.result.is_incomplete = true;
        // A replaced package is an error, not a missing module.
        if self.input.options.allow_missing_modules && error.code != Code::ModuleReplaced {
            self.result.warnings.push(Diagnostic {
                severity: Severity::Warning,
                code: Code::ModuleNotInstalled,
                ..error
            });
        } else {
            self.errors.merge(error);
        }
    }
}

/// The text of an argument, `None` if it is null, and its origin.
fn evaluate_text(
    scope: &Scope<'_>,
    written: &Attribute,
) -> (Result<Option<String>, Unknown>, Origin) {
    // The evaluator computes integers only.
    if let Some(digits) = written.number() {
        return (Ok(Some(digits)), Origin::default());
    }
    let (value, origin) = scope.evaluate_with_origin(written);
    if value.is_null() {
        return (Ok(None), origin);
    }
    let text = match value.as_string() {
        Ok(text) => Ok(Some(text.to_string())),
        Err(stop) => Err(stop
            .into_unknown_at(|| Some(written.location.clone()))
            .as_ref()
            .clone()),
    };
    (text, origin)
}

/// Returns a relative path without symbolic links, as Go's `filepath.EvalSymlinks` does.
fn without_links(tree: &Tree, root: &Path, path: &Path) -> PathBuf {
    let Ok(Some(followed)) = links::follow(tree, root, path) else {
        return path.to_owned();
    };
    if followed.path.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        followed.path
    }
}
