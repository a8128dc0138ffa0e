//! Errors about called modules that are missing or outside of their package, and about calls that
//! have no end.

use std::io;
use std::path::{Path, PathBuf};

use super::caller::{Calling, Visit};
use super::files::DATA_DIRECTORY;
use super::missing::MissingReason;
use super::origin::Origin;
use super::requirement::UnknownCall;
use super::root::ModulePath;
use super::walk::{MAX_CALLS, MAX_DEPTH, Walk};
use crate::diagnostic::{Code, Diagnostic, Message};
use crate::modules::submodule;
use crate::system::files::join;
use crate::system::walk;

impl Walk<'_> {
    /// Reports that a called module cannot be read. A module that is not installed, is not checked
    /// out yet, or is ignored by git is added to the missing ones instead.
    pub(super) fn report_unreadable(&mut self, visit: &Visit<'_>, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            return self
                .errors
                .push(visit.error_in_directory(&format!("which cannot be read: {error}")));
        }
        if let ModulePath::Directory(directory) = &visit.path
            && self.is_in_data_directory(directory)
        {
            let source = match visit.calling.call.constant_source() {
                Some(source) => source.to_owned(),
                None => directory.display().to_string(),
            };
            self.add_missing(visit, MissingReason::NotInstalled(source));
            return;
        }
        if let Some(submodule) = self.submodule_not_checked_out(visit) {
            self.add_missing(visit, MissingReason::Submodule(submodule));
            return;
        }
        if let ModulePath::Directory(directory) = &visit.path
            && walk::is_ignored(self.input.tree(), directory)
        {
            self.add_missing(visit, MissingReason::Ignored(directory.clone()));
            return;
        }
        self.errors
            .push(visit.error_in_directory("which does not exist"));
    }

    /// Reports files that lead out of the repository. Their requirements are unknown.
    pub(super) fn warn_of_skipped(&mut self, refused: impl IntoIterator<Item = Diagnostic>) {
        let before = self.result.warnings.len();
        self.result.warnings.extend(refused);
        let is_incomplete = self.result.warnings.len() > before;
        self.result.is_incomplete |= is_incomplete;
        self.has_unknown_files |= is_incomplete;
    }

    pub(super) fn report_invalid_name(&mut self, calling: &Calling<'_>) {
        let message = format!("{:?} cannot be the name of a module", calling.call.name);
        let error = calling.error(Code::InvalidConfiguration, message);
        let help = "a name consists of letters, digits, \"_\" and \"-\", and starts with a letter or \"_\"";
        self.errors.push(error.help(help));
    }

    /// The git submodule that contains a module and is not checked out; `None` if there is none.
    pub(super) fn submodule_not_checked_out(&self, visit: &Visit<'_>) -> Option<PathBuf> {
        submodule::not_checked_out(self.input.tree(), &visit.path.shown_path())
    }

    /// Adds a module of the repository that is missing.
    pub(super) fn add_missing(&mut self, visit: &Visit<'_>, reason: MissingReason) {
        self.missing.add(&visit.calling, reason);
        self.result.unknown_calls.push(UnknownCall {
            location: visit
                .own_call
                .unwrap_or(&visit.calling.call.location)
                .clone(),
            key: visit.calling.key.to_owned(),
            directory: Some(visit.path.shown_path()),
            origin: Origin::default(),
        });
    }

    /// Whether OpenTofu or Terraform installs a directory.
    fn is_in_data_directory(&self, directory: &Path) -> bool {
        let is_default = directory
            .components()
            .any(|component| component.as_os_str() == DATA_DIRECTORY);
        is_default
            || directory.starts_with(join(self.input.root, &self.input.options.data_directory))
    }

    pub(super) fn report_cycle(&mut self, visit: &Visit<'_>, length: usize) {
        let directory = visit.path.shown_path();
        let message = Message::naming(&directory, |directory| match length {
            1 => format!("the module in {directory} calls itself"),
            _ => {
                format!("{length} modules call one another in a circle, which ends at {directory}")
            }
        });
        self.errors
            .push(visit.calling.error(Code::ModuleCycle, message));
    }

    /// Reports a call from a package to a directory outside of the package.
    pub(super) fn report_way_out(&mut self, calling: &Calling<'_>, source: &str) {
        let key = calling.caller.key;
        let directory = calling.caller.path.shown_path();
        let message = Message::naming(&directory, |directory| {
            format!(
                "module \"{key}\" in {directory} calls {source:?}, which leads out of its package"
            )
        });
        self.errors
            .push(calling.error(Code::InvalidConfiguration, message));
    }

    /// Reports once that there are too many calls.
    pub(super) fn report_too_many(&mut self, visit: &Visit<'_>) {
        let message =
            format!("more than {MAX_CALLS} module calls, or calls more than {MAX_DEPTH} deep");
        if !self.errors.iter().any(|error| error.message == message) {
            let error = Diagnostic::error(Code::ModuleCycle, message);
            self.errors.push(visit.calling.at_call(error));
        }
    }
}
