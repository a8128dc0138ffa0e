//! Errors about called modules that are missing or outside of their package, and about calls that
//! have no end.

use std::io;
use std::path::Path;

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
    /// Reports that a called module cannot be read. A module that is not installed or not checked
    /// out yet is reported as missing instead.
    pub(super) fn report_unreadable(&mut self, visit: &Visit<'_>, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            return self
                .errors
                .push(visit.error(&format!("which cannot be read: {error}")));
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
        if self.report_submodule(visit) {
            return;
        }
        if let ModulePath::Directory(directory) = &visit.path
            && walk::is_ignored(self.input.tree(), directory)
        {
            self.add_missing(visit, MissingReason::Ignored(directory.clone()));
            return;
        }
        self.errors.push(visit.error("which does not exist"));
    }

    /// Whether a directory is in a submodule that is not checked out, which is reported then.
    pub(super) fn report_submodule(&mut self, visit: &Visit<'_>) -> bool {
        let Some(submodule) =
            submodule::not_checked_out(self.input.tree(), &visit.path.shown_path())
        else {
            return false;
        };
        self.add_missing(visit, MissingReason::Submodule(submodule));
        true
    }

    /// Adds a module of the repository that is missing.
    fn add_missing(&mut self, visit: &Visit<'_>, reason: MissingReason) {
        self.missing.add(&visit.calling, reason);
        let location = visit
            .own_call
            .unwrap_or(&visit.calling.call.location)
            .clone();
        let directory = Some(visit.path.shown_path());
        self.result.unknown_calls.push(UnknownCall {
            location,
            key: visit.calling.key.to_owned(),
            directory,
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
