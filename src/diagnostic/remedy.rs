//! Next steps as data: a renderer decides how a remedy is spelled and where a command runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Code;
use crate::provider::{Dialect, Platform};

/// The next step: words, and remedies among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Help {
    parts: Vec<HelpPart>,
}

/// A piece of [`Help`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::From)]
pub enum HelpPart {
    /// Words, shown as they are.
    #[from(&str, String)]
    Text(String),
    /// Something that the user can ask for.
    #[from(Remedy, LockRemedy, UpgradeRemedy, RunOption)]
    Remedy(Remedy),
    /// Exempt providers, as the user would name them, from platforms that they do not have, in the
    /// settings.
    #[from(skip)]
    Exempt(BTreeMap<String, BTreeSet<Platform>>),
}

/// Something that a user can ask for: a command, or an option of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::From)]
#[non_exhaustive]
pub enum Remedy {
    /// Lock the root module.
    #[from]
    Lock(LockRemedy),
    /// Lock the root module and the modules that it calls.
    LockModules,
    /// Rewrite the values of the lock files that are not in canonical form.
    RepairLockFile,
    /// Upgrade providers of the root module.
    #[from]
    Upgrade(UpgradeRemedy),
    /// Verify the root module.
    Verify {
        /// Whether the registries are asked.
        online: bool,
        /// The platforms that must be covered, as in [`LockRemedy::platforms`].
        platforms: Option<Vec<Platform>>,
    },
    /// Add lock files to git.
    AddToGit {
        /// Paths of the lock files. A unit may use the lock file of its module.
        files: Vec<PathBuf>,
        /// Whether git ignores them.
        force: bool,
    },
    /// Take the directories of installed modules and packages of the root modules out of git's
    /// index.
    UntrackDataDirectory,
    /// Fetch the objects that a partial clone lacks.
    FetchMissingObjects {
        /// The name of the remote.
        remote: String,
    },
    /// Install modules with OpenTofu or Terraform.
    InstallModules,
    /// Install the locked providers of the root module with this tool.
    InstallProviders(Dialect),
    /// Merge the two sides of each conflict in a lock file.
    Merge {
        /// The lock file.
        file: PathBuf,
        /// Whether conflicting entries are locked again.
        resolve: bool,
    },
    /// Store a token for a host.
    Login {
        /// The host.
        host: String,
    },
    /// Show where the token for a host comes from, and whether the host accepts it.
    CheckLogin {
        /// The host.
        host: String,
    },
    /// Run the program with these arguments. The library has no such remedy.
    Run(Vec<String>),
    /// Run the command with an option, or without it.
    #[from]
    Option(RunOption),
}

/// An option of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RunOption {
    /// Chooses versions of any age.
    AnyAge,
    /// Makes no network requests.
    Offline,
    /// Names the platforms, with an example.
    NamePlatforms,
    /// Selects all root modules below a directory.
    Recursive,
    /// Skips modules that are not installed.
    AllowMissingModules,
    /// Fetches no modules.
    FetchNoModules,
    /// Reads files outside of the repository.
    AllowOutside,
    /// Gives a variable of the configuration a value.
    SetVariable,
    /// Takes packages from the sources in the CLI configuration.
    UseCliConfiguration,
    /// Takes packages from the OCI repositories of a template.
    OciMirror(String),
    /// Uses a different cache directory.
    CacheDirectory,
    /// Uses no cache.
    NoCache,
    /// Replaces hashes that are not published, or trusts a mirror.
    AcceptChangedHashes,
    /// Reads root modules by the rules of this dialect.
    Dialect(Dialect),
    /// Reports findings with this code as warnings.
    Warn(Code),
}

/// Options of a suggested `lock`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockRemedy {
    /// The providers, as the user would name them; empty for all.
    pub providers: Vec<String>,
    /// The platforms, empty for all published platforms; `None` for the platforms of the settings.
    pub platforms: Option<Vec<Platform>>,
    /// Whether it is for all root modules below the current directory.
    pub recursive: bool,
    /// Whether entries that nothing requires are removed.
    pub prune: bool,
    /// Whether hashes that do not match the published release are replaced.
    pub accept_changed_hashes: bool,
}

/// Options of a suggested `upgrade`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UpgradeRemedy {
    /// The providers, as the user would name them, with a version or without; empty for all.
    pub providers: Vec<String>,
    /// The platforms, as in [`LockRemedy::platforms`].
    pub platforms: Option<Vec<Platform>>,
    /// Whether constraints are rewritten.
    pub constraints: bool,
    /// Whether a lower version than the locked one may be chosen.
    pub allow_downgrade: bool,
}

impl Help {
    /// Whether it contains a command that locks or upgrades a root module.
    pub(crate) fn locks(&self) -> bool {
        self.parts.iter().any(|part| {
            matches!(
                part,
                HelpPart::Remedy(Remedy::Lock(_) | Remedy::LockModules | Remedy::Upgrade(_))
            )
        })
    }

    /// Help that begins with words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// Adds words.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(HelpPart::Text(text.into()));
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn and(mut self, remedy: impl Into<Remedy>) -> Self {
        self.parts.push(HelpPart::Remedy(remedy.into()));
        self
    }

    /// Adds a piece.
    #[must_use]
    pub fn and_part(mut self, part: HelpPart) -> Self {
        self.parts.push(part);
        self
    }

    /// Adds how the settings exempt a provider from a platform that it does not have.
    #[must_use]
    pub(crate) fn and_exempt(mut self, provider: String, platform: &Platform) -> Self {
        let platforms = BTreeSet::from([platform.clone()]);
        let exempted = BTreeMap::from([(provider, platforms)]);
        self.parts.push(HelpPart::Exempt(exempted));
        self
    }

    /// The same help without the files and providers that it names.
    pub(crate) fn without_names(&self) -> Self {
        let mut help = self.clone();
        for part in &mut help.parts {
            match part {
                HelpPart::Remedy(Remedy::AddToGit { files, .. }) => files.clear(),
                HelpPart::Exempt(exempted) => exempted.clear(),
                HelpPart::Remedy(_) | HelpPart::Text(_) => {}
            }
        }
        help
    }

    /// Adds the option by which an owner of the repository lets findings with a code through.
    pub(crate) fn and_owner_allows(mut self, code: Code) -> Self {
        if !self.parts.is_empty() {
            self = self.and_text("; ");
        }
        self.and_text("if this is intended, an owner allows it with ")
            .and(RunOption::Warn(code))
    }

    /// Whether it names that option.
    pub(crate) fn names_override(&self, code: Code) -> bool {
        let option = Remedy::Option(RunOption::Warn(code));
        self.parts.contains(&HelpPart::Remedy(option))
    }

    /// Help if the cache does not contain enough for a run without the network.
    pub(crate) fn run_online() -> Self {
        Self::text("run the command once without ")
            .and(RunOption::Offline)
            .and_text(" and with the same cache")
    }

    /// Whether it advises to install modules with OpenTofu or Terraform.
    pub(crate) fn installs_modules(&self) -> bool {
        self.parts
            .contains(&HelpPart::Remedy(Remedy::InstallModules))
    }

    /// The pieces in their order; nothing is to be put between them.
    pub fn parts(&self) -> &[HelpPart] {
        &self.parts
    }

    /// Adds the files and providers that `other` names, for a diagnostic that stands for both.
    pub fn add_names_of(&mut self, other: &Self) {
        for (part, other) in self.parts.iter_mut().zip(&other.parts) {
            match (part, other) {
                (
                    HelpPart::Remedy(Remedy::AddToGit { files, .. }),
                    HelpPart::Remedy(Remedy::AddToGit { files: more, .. }),
                ) => {
                    for file in more {
                        if !files.contains(file) {
                            files.push(file.clone());
                        }
                    }
                }
                (HelpPart::Exempt(exempted), HelpPart::Exempt(more)) => {
                    for (provider, platforms) in more {
                        let all = exempted.entry(provider.clone()).or_default();
                        all.extend(platforms.iter().cloned());
                    }
                }
                _ => {}
            }
        }
    }
}

impl Remedy {
    /// Lock as it was locked before.
    pub fn lock() -> Self {
        Self::Lock(LockRemedy::default())
    }

    /// Compare the lock file with the hashes that the registries publish.
    pub fn verify_online() -> Self {
        Self::Verify {
            online: true,
            platforms: None,
        }
    }

    /// Upgrade one provider, given as the user would name it.
    pub fn upgrade(provider: impl Into<String>) -> Self {
        Self::Upgrade(UpgradeRemedy {
            providers: vec![provider.into()],
            ..UpgradeRemedy::default()
        })
    }
}

impl<T: Into<HelpPart>> From<T> for Help {
    fn from(part: T) -> Self {
        Self {
            parts: vec![part.into()],
        }
    }
}
