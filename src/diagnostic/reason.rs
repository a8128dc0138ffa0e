//! Reasons of findings whose code has several.

use std::str::FromStr;

/// The reason of a finding about a change: the part of the change that causes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{}", self.as_str())]
pub enum Reason {
    /// A part of the configuration cannot be read.
    UnknownPart,
    /// A module depends on an input of the run.
    RunInput,
    /// A changed file is not checked out.
    NotCheckedOut,
    /// A path became a link.
    LinkAdded,
    /// A path differs only in case from a path that is read.
    CaseVariant,
    /// A lock file is for the other tool.
    DialectChanged,
    /// Terragrunt runs a root module.
    UnitAdded,
    /// An entry was removed, and its provider may be required.
    EntryRemoved,
    /// The state is in a store that the base does not use.
    StateMoved,
    /// A file that decides is not read.
    FileNotRead,
    /// A new host.
    HostAdded,
    /// A new namespace.
    NamespaceAdded,
    /// A new provider.
    ProviderAdded,
    /// A provider from a different host.
    HostChanged,
    /// A new publisher of modules.
    ModuleSourceAdded,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 15] = [
        Self::UnknownPart,
        Self::RunInput,
        Self::NotCheckedOut,
        Self::LinkAdded,
        Self::CaseVariant,
        Self::DialectChanged,
        Self::UnitAdded,
        Self::EntryRemoved,
        Self::StateMoved,
        Self::FileNotRead,
        Self::HostAdded,
        Self::NamespaceAdded,
        Self::ProviderAdded,
        Self::HostChanged,
        Self::ModuleSourceAdded,
    ];

    /// The name in kebab case, as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownPart => "unknown-part",
            Self::RunInput => "run-input",
            Self::NotCheckedOut => "not-checked-out",
            Self::LinkAdded => "link-added",
            Self::CaseVariant => "case-variant",
            Self::DialectChanged => "dialect-changed",
            Self::UnitAdded => "unit-added",
            Self::EntryRemoved => "entry-removed",
            Self::StateMoved => "state-moved",
            Self::FileNotRead => "file-not-read",
            Self::HostAdded => "host-added",
            Self::NamespaceAdded => "namespace-added",
            Self::ProviderAdded => "provider-added",
            Self::HostChanged => "host-changed",
            Self::ModuleSourceAdded => "module-source-added",
        }
    }
}

/// The name of a reason.
impl FromStr for Reason {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let reason = Self::ALL.iter().find(|reason| reason.as_str() == name);
        reason.copied().ok_or("unknown reason")
    }
}
