//! The result of reading a configuration.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use super::fingerprint::PartId;
use super::origin::{Origin, RunInput};
use super::storage::StateStorage;
use crate::diagnostic::{Diagnostic, Diagnostics, Location};
use crate::lockfile::module_name;
use crate::modules::ModuleSource;
use crate::modules::fetched::{FetchedModule, ModuleRequest};
use crate::provider::{AddressParts, ConstraintList, Dialect, Hostname, ProviderAddress};

/// The providers and modules that a configuration requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The providers that can be locked, with the constraints on their versions.
    pub providers: BTreeMap<ProviderAddress, Requirement>,
    /// Required providers that are built in or have a legacy address. `init` refuses some of them.
    pub(crate) never_locked: BTreeMap<ProviderAddress, Requirement>,
    /// Whether called modules are missing, so that more providers may be required.
    pub is_incomplete: bool,
    /// Problems that do not stop a command.
    pub warnings: Vec<Diagnostic>,
    /// The module directories that were read, the root module first, each once.
    pub modules: Vec<ModuleDirectory>,
    /// The calls of modules, each followed by the calls in the module that it calls, up to the
    /// limit of calls.
    pub call_tree: Vec<CalledModule>,
    /// The calls of modules of other packages and, if a lock file is followed, of local modules.
    pub(crate) calls: Vec<ModuleCall>,
    /// Parts that could not be read although hosts were asked, or that can never be read.
    pub(crate) unknown_calls: Vec<UnknownCall>,
    /// Calls whose module another run of the same files may choose otherwise.
    pub(crate) variable_calls: Vec<VariableCall>,
    /// Knowledge of the state. Providers that only the state needs are among the others.
    pub(crate) state: StateKnowledge,
    /// Sources of modules in commits of the user's own repository, which are not read.
    pub(crate) own_commits: Vec<OwnCommit>,
    /// Modules that the user's own modules call by absolute paths out of the repository. They are
    /// not read.
    pub(crate) outside_modules: Vec<OutsideModule>,
    /// Texts in generated files that are not known, and on which no requirement depends unless they
    /// end the expression around them.
    pub(crate) generated_texts: Vec<UnknownCall>,
    /// Places of the state: none if it is in the default file, several if several units have one
    /// lock file.
    pub(crate) storages: Vec<StateStorage>,
    /// Providers of state files beside the root module that its backend does not use, each with the
    /// first such file. `init` offers to copy these states.
    pub(crate) unused_state: BTreeMap<ProviderAddress, PathBuf>,
    /// The providers that each of several root modules with the same lock file requires, by its
    /// directory as the user knows it; empty if no other root module uses the file.
    pub(crate) by_root: BTreeMap<PathBuf, BTreeSet<ProviderAddress>>,
}

/// Knowledge of the state, which may need providers that the configuration does not require.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum StateKnowledge {
    /// There is no state file.
    #[default]
    Absent,
    /// All state files were read.
    Read,
    /// The state is somewhere else, or where is not known; the reason is a sentence without a full
    /// stop.
    Unknown(String),
    /// There is a state file whose providers are not all known; the reason is such a sentence.
    Unreadable(String),
}

/// The source of a module in a commit of the user's own repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnCommit {
    /// The source with the commit, such as `git::../..//modules/vpc?ref=v1`.
    pub source: String,
    pub location: Location,
    /// Directory of the repository that is cloned, absolute.
    pub repository: PathBuf,
    /// Full object name of the commit; `None` for a branch, a tag or an abbreviated name.
    pub commit: Option<String>,
}

/// A module that is called by an absolute path out of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutsideModule {
    pub path: PathBuf,
    /// Location of the call.
    pub location: Location,
}

/// A part of the user's own configuration whose requirements are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownCall {
    pub location: Location,
    /// Path of the calls that lead to it; [`UNIT_ADDRESS`](crate::lockfile::UNIT_ADDRESS) for a
    /// part of a unit.
    pub key: String,
    /// The directory of the repository in which nothing was found, as the user knows it.
    pub directory: Option<PathBuf>,
    /// Origin of the sources of the calls that lead to it.
    pub origin: Origin,
}

impl UnknownCall {
    /// Identity in every revision.
    pub(crate) fn id(&self) -> PartId {
        PartId {
            key: self.key.clone(),
            fingerprint: self.origin.fingerprint,
        }
    }
}

/// A call whose source or version depends on an input of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariableCall {
    /// Path of the calls that lead to the module.
    pub key: String,
    /// The call with which the path to this one leaves the user's own modules; source and version
    /// in the module block.
    pub locations: Vec<Location>,
    pub input: RunInput,
    pub origin: Origin,
}

impl VariableCall {
    /// Identity in every revision.
    pub(crate) fn id(&self) -> PartId {
        PartId {
            key: self.key.clone(),
            fingerprint: self.origin.fingerprint,
        }
    }
}

/// A call of a module, by the root module or by a called module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledModule {
    /// As in the address of a resource: `module.network.module.flow_logs`; after `test.FILE` where
    /// a test calls it.
    pub address: String,
    /// The names of the calls that lead to it, as in `modules.json` and the lock file of modules.
    pub key: String,
    /// The index in the tree of the call that leads to this one; `None` for a call in the root
    /// module.
    pub parent: Option<usize>,
    /// The module's directory, absolute and without symlinks.
    pub directory: PathBuf,
    /// Location of the call.
    pub location: Location,
    /// Whether the calls in the module are omitted, because an earlier call of the module lists the
    /// same.
    pub is_repeated: bool,
}

/// A call of a module with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleCall {
    /// Path of the calls that lead to the module, as in `modules.json` and the lock file of
    /// modules.
    pub(crate) key: String,
    /// Source, with credentials.
    pub(crate) source: ModuleSource,
    pub(crate) constraints: ConstraintList,
    /// Value of `source`, or else the block's label.
    pub(crate) location: Location,
    /// Value of `version`.
    pub(crate) version: Option<Location>,
    /// Origin of the source and the version.
    pub(crate) origin: Origin,
    /// The call with which the path to this one leaves the user's own modules; `None` for a call in
    /// these.
    pub(crate) own_call: Option<Location>,
    /// The module, if it was found by a lock file or is to be locked.
    pub(crate) module: Option<FetchedModule>,
    /// Directory where `get` installs the module, relative to the root module.
    pub(crate) directory: Option<PathBuf>,
}

/// A module directory that takes part in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleDirectory {
    /// As the user knows it.
    pub path: PathBuf,
    /// Absolute, without symlinks.
    pub canonical: PathBuf,
    /// Whether only local calls lead to it, so that it is the user's own to edit.
    pub local: bool,
}

/// The constraints on a provider, and the declarations that require it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// The constraints of all declarations together.
    pub constraints: ConstraintList,
    /// The declarations, in the order of the modules, at least one.
    pub declarations: Vec<Declaration>,
    /// Whether the address is certain. If parts of the configuration are unknown, a local name of
    /// the root module is certain only if a `required_providers` block contains it, because an
    /// unknown file may map it to a different provider.
    pub is_certain: bool,
}

/// A part of a configuration that requires a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The version string with its quotes, or else the source, the name or the block's label.
    pub location: Location,
    /// The value of `source` with its quotes, if that names the provider.
    pub source: Option<Location>,
    /// The text of `version` with its quotes. It may be an expression instead of a string.
    pub version: Option<Location>,
    /// Its constraints on the version.
    pub constraints: ConstraintList,
    /// Kind of declaration.
    pub kind: DeclarationKind,
    /// The module's directory as the user knows it.
    pub module: PathBuf,
    /// Whether the module is the user's own: only local calls lead to it.
    pub local: bool,
    /// The user's own call that leads to the module; `None` in the user's own modules.
    pub own_call: Option<Location>,
}

impl Requirements {
    /// Returns the reason why the state is not known; `None` if it is, or if there is none.
    pub fn unknown_state(&self) -> Option<&str> {
        match &self.state {
            StateKnowledge::Unknown(reason) | StateKnowledge::Unreadable(reason) => Some(reason),
            StateKnowledge::Absent | StateKnowledge::Read => None,
        }
    }

    /// Whether the root module has state files and all of them were read.
    pub fn includes_state(&self) -> bool {
        self.state == StateKnowledge::Read
    }

    /// Calls of modules of other packages.
    pub(crate) fn package_calls(&self) -> impl Iterator<Item = &ModuleCall> {
        self.calls
            .iter()
            .filter(|call| !matches!(call.source, ModuleSource::Local(_)))
    }

    /// The user's own calls of modules of other packages, each once, even if its module is called
    /// several times.
    pub(crate) fn own_package_calls(&self) -> Vec<&ModuleCall> {
        let mut seen = HashSet::new();
        let mut calls = Vec::new();
        for call in self.package_calls().filter(|call| call.own_call.is_none()) {
            if seen.insert((
                call.location.path(),
                call.location.span.start,
                &call.source,
                &call.constraints,
            )) {
                calls.push(call);
            }
        }
        calls
    }

    /// Combines the requirements of two configurations that use one lock file.
    pub(crate) fn united_with(mut self, other: Self) -> Self {
        for (address, requirement) in other.providers {
            let own = self.providers.entry(address).or_default();
            own.add_distinct(requirement);
        }
        for (address, requirement) in other.never_locked {
            let own = self.never_locked.entry(address).or_default();
            own.add_distinct(requirement);
        }
        self.is_incomplete |= other.is_incomplete;
        self.warnings.extend(other.warnings);
        for module in other.modules {
            let is_known = self
                .modules
                .iter()
                .any(|known| known.canonical == module.canonical);
            if !is_known {
                self.modules.push(module);
            }
        }
        // Parents are indexes in the tree.
        let offset = self.call_tree.len();
        for mut call in other.call_tree {
            call.parent = call.parent.map(|parent| parent + offset);
            self.call_tree.push(call);
        }
        self.calls.extend(other.calls);
        self.unknown_calls.extend(other.unknown_calls);
        self.variable_calls.extend(other.variable_calls);
        self.state = self.state.with(other.state);
        self.own_commits.extend(other.own_commits);
        self.outside_modules.extend(other.outside_modules);
        self.generated_texts.extend(other.generated_texts);
        self.storages.extend(other.storages);
        self.unused_state.extend(other.unused_state);
        self
    }

    /// Adds the providers that a different root module with the same lock file requires. Where they
    /// are not all known, its warnings explain it.
    pub(crate) fn add_providers(&mut self, other: &Self) {
        for (address, requirement) in &other.providers {
            let own = self.providers.entry(address.clone()).or_default();
            own.add_distinct(requirement.clone());
            // An error is the same for each of the root modules.
            own.declarations.sort_by_cached_key(|declaration| {
                let location = &declaration.location;
                (location.path().to_owned(), location.span.start)
            });
        }
        if other.is_incomplete {
            self.is_incomplete = true;
            self.warnings.extend(other.warnings.iter().cloned());
        }
        self.state = std::mem::take(&mut self.state).with(other.state.clone());
        self.unused_state.extend(other.unused_state.clone());
    }

    /// Adds the calls of a different root module with the same lock file of modules.
    pub(crate) fn add_calls(&mut self, other: &Self) {
        self.calls.extend(other.calls.iter().cloned());
        self.variable_calls
            .extend(other.variable_calls.iter().cloned());
    }

    /// Adds requirements that only the tool of the other dialect reads in the same files, to be
    /// checked and not to be locked.
    pub(crate) fn with_reading_of_other(mut self, other: Self, dialect: Dialect) -> Self {
        for (address, requirement) in other.providers {
            if self.providers.contains_key(&address) {
                continue;
            }
            // Lock files of `dialect` contain the provider of its own default registry.
            let mut parts: AddressParts = (*address).clone();
            if parts.hostname.is_default_of(dialect.other()) {
                parts.hostname = Hostname::default_of(dialect);
            }
            self.providers.entry(parts.into()).or_insert(requirement);
        }
        self.is_incomplete |= other.is_incomplete;
        self.calls.extend(other.calls);
        self.outside_modules.extend(other.outside_modules);
        for unknown in other.unknown_calls {
            if !self.unknown_calls.contains(&unknown) {
                self.unknown_calls.push(unknown);
            }
        }
        for call in other.variable_calls {
            if !self.variable_calls.contains(&call) {
                self.variable_calls.push(call);
            }
        }
        self
    }
}

impl ModuleCall {
    pub(crate) fn name(&self) -> Cow<'_, str> {
        module_name(&self.key)
    }

    /// Identity in every revision.
    pub(crate) fn id(&self) -> PartId {
        PartId {
            key: self.key.clone(),
            fingerprint: self.origin.fingerprint,
        }
    }

    /// The request for the module that the call asks for; `None` for a local module.
    pub(crate) fn request(&self) -> Option<ModuleRequest> {
        ModuleRequest::new(self.source.clone(), self.constraints.clone())
    }

    /// Whether the call specifies one state of its module.
    pub(crate) fn is_pinned(&self) -> bool {
        self.request()
            .is_none_or(|request| request.why_unpinned().is_none())
    }

    /// Adds the locations of the call to a diagnostic.
    pub(crate) fn at_call(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at_called(self.own_call.as_ref(), self.location.clone(), "called here")
    }

    /// Adds the locations of the call to errors of the host or repository of its module.
    pub(crate) fn not_fetched(&self, errors: Diagnostics) -> Diagnostics {
        let name = self.name();
        errors.map(|error| error.at_called(self.own_call.as_ref(), self.location.clone(), &*name))
    }
}

impl StateKnowledge {
    /// Adds what is known of more state files. A state that was not read makes all unknown.
    pub(super) fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unreadable(reason), _) | (_, Self::Unreadable(reason)) => {
                Self::Unreadable(reason)
            }
            (Self::Unknown(reason), _) | (_, Self::Unknown(reason)) => Self::Unknown(reason),
            (Self::Absent, Self::Absent) => Self::Absent,
            _ => Self::Read,
        }
    }
}

impl Requirement {
    /// Adds the declarations of a different configuration.
    fn add(&mut self, other: Self) {
        self.constraints = ConstraintList::merge([&self.constraints, &other.constraints]);
        self.declarations.extend(other.declarations);
        self.is_certain |= other.is_certain;
    }

    /// Adds the declarations of a different configuration at other locations, because both may read
    /// the same module.
    fn add_distinct(&mut self, mut other: Self) {
        other
            .declarations
            .retain(|declaration| !self.is_declared_at(&declaration.location));
        self.add(other);
    }

    fn is_declared_at(&self, location: &Location) -> bool {
        self.declarations
            .iter()
            .any(|declaration| declaration.location == *location)
    }

    /// Whether only the state needs the provider.
    pub(crate) fn is_of_state(&self) -> bool {
        self.declarations
            .iter()
            .all(|declaration| declaration.kind == DeclarationKind::State)
    }

    /// Adds the locations of the declarations to a diagnostic.
    pub(crate) fn at_declarations(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        for declaration in &self.declarations {
            diagnostic =
                declaration.add_location(diagnostic, &declaration.location, "required here");
        }
        diagnostic
    }
}

impl Declaration {
    /// A declaration without a constraint. Its module is set when declarations are collected.
    pub(super) fn new(kind: DeclarationKind, location: Location) -> Self {
        Self {
            location,
            source: None,
            version: None,
            constraints: ConstraintList::default(),
            kind,
            module: PathBuf::new(),
            local: false,
            own_call: None,
        }
    }

    /// Adds one of its locations to a diagnostic, after the call that leads to its module.
    pub(crate) fn add_location(
        &self,
        diagnostic: Diagnostic,
        location: &Location,
        text: impl Into<String>,
    ) -> Diagnostic {
        diagnostic.at_called(self.own_call.as_ref(), location.clone(), text)
    }

    /// Location of its version, or else its own.
    pub fn version_place(&self) -> &Location {
        self.version.as_ref().unwrap_or(&self.location)
    }
}

/// Kind of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeclarationKind {
    /// An entry of a `required_providers` block.
    RequiredProviders,
    /// A `provider` block of a module or a test.
    ProviderBlock,
    /// A resource, an import or the state store; of several in a module the first.
    Implied,
    /// An entry of the lock file, which an unknown module may require.
    Recorded,
    /// A state file. Its content is not shown.
    State,
}
