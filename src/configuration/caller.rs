//! Callers of modules, their calls, and the modules that are visited for them.

use std::path::{Path, PathBuf};

use super::file::{Call, CallSource};
use super::origin::Origin;
use super::requirement::{CalledModule, ModuleCall, VariableCall};
use super::root::ModulePath;
use super::scope::Scope;
use super::syntax::Attribute;
use crate::diagnostic::{Code, Diagnostic, Location, Message};
use crate::hcl::evaluate::value::Unknown;
use crate::modules::ModuleSource;
use crate::provider::ConstraintList;
use crate::system::boundary;

/// A module whose calls are followed.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub path: &'a ModulePath,
    /// Path of the calls that lead to it; empty for the root module.
    pub key: &'a str,
    /// The first call on the path to it that is not local; `None` for the user's own modules.
    pub own_call: Option<&'a Location>,
    /// Index of its call in the tree; `None` for the root module.
    pub node: Option<usize>,
    pub scope: &'a Scope<'a>,
    /// Directory of its installation, which may not exist yet; `None` below a module that no lock
    /// file records.
    pub installed: Option<&'a InstallPath>,
}

/// A call that is followed.
#[derive(Clone, Copy)]
pub(super) struct Calling<'a> {
    pub caller: &'a Caller<'a>,
    pub call: &'a Call,
    /// Path of the calls that lead to the module.
    pub key: &'a str,
}

/// Directories in which `get` installs a module.
#[derive(Clone, Debug)]
pub(super) struct InstallPath {
    /// Directory of the module, relative to the root module.
    pub directory: PathBuf,
    /// Directory of its package.
    pub package: Option<PathBuf>,
}

impl Caller<'_> {
    pub(super) fn key_of(&self, call: &Call) -> String {
        if self.key.is_empty() {
            call.name.clone()
        } else {
            format!("{}.{}", self.key, call.name)
        }
    }

    pub(super) fn address_of(&self, call: &Call, tree: &[CalledModule]) -> String {
        let own = match self.node.and_then(|node| tree.get(node)) {
            Some(called) => &called.address,
            None => self.key,
        };
        let separator = if own.is_empty() { "" } else { "." };
        format!("{own}{separator}module.{}", call.name)
    }

    /// Adds the call with which the path to the caller leaves the user's own modules.
    pub(super) fn with_own_call(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.called_from(self.own_call)
    }
}

impl Calling<'_> {
    /// The source and the version as they are written, without comments and white space.
    pub(super) fn code(&self) -> String {
        let source = match &self.call.source {
            CallSource::Constant(source) => source.clone(),
            CallSource::Expression(source) => source.code(),
            CallSource::Missing => String::new(),
        };
        let version = self.call.version.as_ref().map(Attribute::code);
        format!("{source:?} {version:?}")
    }

    /// The call with the values of its source and its constraints.
    pub(super) fn module_call(
        &self,
        source: ModuleSource,
        constraints: ConstraintList,
        origin: Origin,
    ) -> ModuleCall {
        let Self { caller, call, key } = self;
        ModuleCall {
            key: (*key).to_owned(),
            source,
            constraints,
            location: call.location.clone(),
            version: call
                .version
                .as_ref()
                .map(|version| version.location.clone()),
            origin,
            own_call: caller.own_call.cloned(),
            module: None,
            directory: None,
        }
    }

    /// The call if its source or version depends on an input of the run.
    pub(super) fn variable_call(&self, origin: &Origin) -> Option<VariableCall> {
        let Self { caller, call, key } = self;
        let input = origin.input.clone()?;
        let mut locations = Vec::new();
        locations.extend(caller.own_call.cloned());
        locations.push(call.location.clone());
        if let Some(version) = &call.version {
            locations.push(version.location.clone());
        }
        Some(VariableCall {
            key: (*key).to_owned(),
            locations,
            input,
            origin: origin.clone(),
        })
    }

    /// An error about the call, with the location from which the user's own modules lead to it.
    pub(super) fn error(&self, code: Code, message: impl Into<Message>) -> Diagnostic {
        self.at_call(Diagnostic::error(code, message))
    }

    /// The error for a called module outside of the repository.
    pub(super) fn error_outside(&self, path: &Path) -> Diagnostic {
        let key = self.key;
        let message = Message::naming(path, |path| {
            format!("module \"{key}\" is in {path}, out of the repository, so it was not read")
        });
        self.error(Code::OutsideRepository, message)
            .help(boundary::help())
    }

    /// Adds the location of the call, and the one from which the user's own modules lead to it.
    pub(super) fn at_call(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at_called(
            self.caller.own_call,
            self.call.location.clone(),
            "called here",
        )
    }
}

/// A called module that is to be read.
pub(super) struct Visit<'a> {
    pub(super) path: ModulePath,
    pub(super) calling: Calling<'a>,
    /// The call with which the path to it leaves the user's own modules.
    pub(super) own_call: Option<&'a Location>,
    /// Its source, if that is a local one.
    pub(super) source: Option<&'a str>,
    /// Reason why nothing that it calls may be requested.
    pub(super) withheld: Option<Unknown>,
    /// Directory of its installation, which may not exist yet.
    pub(super) installed: Option<InstallPath>,
}

impl Visit<'_> {
    /// The error about a called module in its directory; `problem` continues "module … is in …,".
    pub(super) fn error_in_directory(&self, problem: &str) -> Diagnostic {
        let key = self.calling.key;
        let message = Message::naming(&self.path.shown_path(), |path| {
            format!("module \"{key}\" is in {path}, {problem}")
        });
        self.calling.error(Code::InvalidConfiguration, message)
    }
}

/// The modules that the calls in a module lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Targets {
    /// The same modules for every caller.
    Same,
    /// Perhaps different modules for each caller: a module is installed once for each path of
    /// calls, and a source may depend on the variables that the caller sets.
    ByCaller,
}

/// Files whose calls are followed first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallsOf<'a> {
    RootModule,
    /// A test file, by its name in the keys of `modules.json`.
    Test(&'a str),
}
