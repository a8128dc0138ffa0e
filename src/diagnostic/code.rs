//! The stable names of diagnostics, and the rules of each.

use std::str::FromStr;

/// Weight of a diagnostic.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, derive_more::Display,
)]
#[serde(rename_all = "lowercase")]
#[display(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is wrong, but a reviewer should see it.
    Note,
    /// Worth knowing; nothing stops.
    Warning,
    /// Something is wrong.
    Error,
}

/// Rules for the findings of `verify` with a code. The section of `docs/findings.md` is the code's
/// page.
#[derive(Debug)]
pub struct Rule {
    /// Returns the weight of such a finding unless settings or the caller change it.
    pub level: Severity,
    /// Whether a project may allow such findings, or lower them to warnings, in its settings or a
    /// comment.
    ///
    /// A project may not suppress findings that show a forgery or a change of the policy, that
    /// explain why a file was not checked, or that the policy itself decides: anyone who can edit
    /// those files could switch the check off.
    pub may_be_suppressed: bool,
    /// Facts that must be known before the absence of such a finding proves anything.
    pub needs: Needs,
    /// Role that an attacker may play.
    pub threat: Threat,
}

/// Precondition of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The files of the repository.
    Files,
    /// Git.
    Git,
    /// Everything that the configuration requires.
    Requirements,
    /// No platforms are named.
    UnnamedPlatforms,
    /// Platforms are named, and the network is available.
    NamedPlatforms,
    /// The network: what registries publish.
    Network,
    /// The base: the lock file before a change.
    Base,
    /// The installation: packages in `.terraform/providers`, and modules in `.terraform/modules`.
    Installation,
    /// More than the run does, such as the content of a cache. The absence of such a finding proves
    /// nothing.
    Circumstances,
}

/// Role of an attacker in a finding; a worse threat is a greater value. It orders annotations of
/// GitHub, and is the security severity in SARIF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Threat {
    /// Nothing.
    None,
    /// It would make an attack easier.
    Weakness,
    /// A package would be accepted without a check.
    Exposure,
    /// A different provider may have replaced the intended one.
    Substitution,
    /// A package or a hash may not come from the publisher.
    Forgery,
}

macro_rules! codes {
    (
        findings {
            // The columns are: level, may_be_suppressed, needs, threat.
            $($(#[doc = $finding_doc:literal])+
            $finding:ident = $finding_name:literal: $level:ident, $suppressed:literal, $needs:ident, $threat:ident;)+
        }
        errors { $($(#[doc = $error_doc:literal])+ $error:ident = $error_name:literal)+ }
    ) => {
        /// The stable name of a diagnostic, as `--json` and `--deny` use it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
        #[display("{}", self.as_str())]
        pub enum Code {
            $($(#[doc = $finding_doc])+ $finding,)+
            $($(#[doc = $error_doc])+ $error,)+
        }

        impl Code {
            /// Every code, in the order of `docs/findings.md`.
            pub const ALL: &'static [Code] = &[$(Code::$finding,)+ $(Code::$error),+];

            /// The codes that findings of `verify` may have, in the order of `docs/findings.md`.
            pub const FINDINGS: &'static [Code] = &[$(Code::$finding),+];

            /// The meaning, in a sentence.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Self::$finding => concat!($($finding_doc),+).trim_ascii(),)+
                    $(Self::$error => concat!($($error_doc),+).trim_ascii(),)+
                }
            }

            /// The name in kebab case.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$finding => $finding_name,)+
                    $(Self::$error => $error_name,)+
                }
            }

            /// Rules for findings with this code; `None` if only errors have it.
            pub fn rule(self) -> Option<&'static Rule> {
                match self {
                    $(Self::$finding => Some(&Rule {
                        level: Severity::$level,
                        may_be_suppressed: $suppressed,
                        needs: Needs::$needs,
                        threat: Threat::$threat,
                    }),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    findings {
        /// There is no lock file.
        LockFileMissing = "lock-file-missing": Error, true, Files, Weakness;
        /// The lock file cannot be parsed.
        LockFileSyntax = "lock-file-syntax": Error, false, Files, None;
        /// The lock file contains git conflict markers.
        ConflictMarkers = "conflict-markers": Error, false, Files, None;
        /// A provider has two entries.
        DuplicateProvider = "duplicate-provider": Error, false, Files, None;
        /// A call of a module has two entries.
        DuplicateModule = "duplicate-module": Error, false, Files, None;
        /// An address, version or constraint list is not in its canonical form.
        NotCanonical = "not-canonical": Error, false, Files, None;
        /// A hash does not have the form of its scheme.
        MalformedHash = "malformed-hash": Error, false, Files, None;
        /// The scheme of a hash is unknown.
        UnknownHashScheme = "unknown-hash-scheme": Warning, true, Files, None;
        /// Hashes are unsorted or duplicated.
        UnsortedHashes = "unsorted-hashes": Warning, true, Files, None;
        /// Git does not track the lock file.
        UntrackedLockFile = "untracked-lock-file": Warning, true, Git, Weakness;
        /// The configuration requires a provider that has no entry.
        ProviderNotLocked = "provider-not-locked": Error, true, Requirements, None;
        /// `init` refuses a required provider, because no registry can have it.
        RequirementRefused = "requirement-refused": Error, true, Requirements, None;
        /// The configuration does not require the provider of an entry.
        ProviderNotRequired = "provider-not-required": Warning, true, Requirements, None;
        /// Root modules share the lock file, but require different providers.
        SharedLockFile = "shared-lock-file": Warning, true, Requirements, None;
        /// The locked version does not meet the configuration's constraints.
        VersionOutsideConstraints = "version-outside-constraints": Error, true, Requirements, None;
        /// The recorded constraints differ from the configuration's.
        ConstraintsDiffer = "constraints-differ": Warning, true, Requirements, None;
        /// The configuration calls a module that has no entry.
        ModuleNotLocked = "module-not-locked": Error, true, Requirements, Exposure;
        /// An entry of a module has a different source or constraints than its call, or no call.
        ModuleLockStale = "module-lock-stale": Error, true, Requirements, None;
        /// The locked version of a module does not meet the constraints of its call.
        ModuleVersionOutsideConstraints = "module-version-outside-constraints": Error, true, Requirements, None;
        /// The package of a locked module cannot come from its source and version, or may change.
        ModulePackageForeign = "module-package-foreign": Error, false, Files, Substitution;
        /// An entry has no hash that could identify its package.
        NoHashes = "no-hashes": Error, true, Files, Exposure;
        /// A called module is not installed.
        ModuleNotInstalled = "module-not-installed": Warning, true, Circumstances, None;
        /// The requirements of a Terragrunt unit depend on more than its repository.
        RequirementsNotKnown = "requirements-not-known": Warning, true, Circumstances, None;
        /// A state file was not read, so providers that only the state needs are not known.
        StateNotRead = "state-not-read": Warning, true, Circumstances, None;
        /// A directory contains no configuration.
        NoConfiguration = "no-configuration": Warning, true, Files, None;
        /// Root modules of one repository lock different registries.
        MixedDialects = "mixed-dialects": Warning, true, Circumstances, None;
        /// No platforms are named, and an entry can cover only one.
        SinglePlatform = "single-platform": Note, true, UnnamedPlatforms, None;
        /// A required platform has no hash.
        PlatformMissing = "platform-missing": Error, true, NamedPlatforms, None;
        /// The lock file records fewer hashes than platforms are required.
        PlatformNotCovered = "platform-not-covered": Error, true, Circumstances, None;
        /// The recorded hashes may not cover a required platform.
        PlatformNotKnown = "platform-not-known": Warning, true, Circumstances, None;
        /// The settings exempt a provider from a platform for which it has a package.
        PlatformExists = "platform-exists": Warning, true, Circumstances, Weakness;
        /// An installed package matches no recorded hash.
        InstalledPackageDiffers = "installed-package-differs": Error, false, Installation, Forgery;
        /// An installed module differs from the locked one.
        ModuleDiffers = "module-differs": Error, false, Installation, Forgery;
        /// An installed module has files that git changes at checkout, so they were not compared.
        ModuleNotCompared = "module-not-compared": Warning, true, Circumstances, Weakness;
        /// A hash belongs to no published package.
        HashNotPublished = "hash-not-published": Error, false, Network, Forgery;
        /// The registry no longer lists the locked version.
        VersionWithdrawn = "version-withdrawn": Error, true, Network, Weakness;
        /// The registry warns about a provider, or no longer lists it.
        ProviderWarning = "provider-warning": Warning, true, Network, Weakness;
        /// A tag or registry version resolves to a different commit than when the module was
        /// locked.
        ModuleMoved = "module-moved": Error, true, Network, Weakness;
        /// The content of a module's package changed after it was locked.
        ModuleReplaced = "module-replaced": Error, false, Network, Forgery;
        /// The version, archive or commit of a locked module was removed.
        ModuleWithdrawn = "module-withdrawn": Error, true, Network, Weakness;
        /// A signature does not verify.
        SignatureInvalid = "signature-invalid": Error, false, Network, Forgery;
        /// A signature was made with a key that has expired.
        KeyExpired = "key-expired": Warning, true, Network, Weakness;
        /// A signature was made with a key that `[trust]` does not list.
        KeyNotTrusted = "key-not-trusted": Error, false, Network, Forgery;
        /// A package does not match its checksums, signature or registry.
        PackageNotAuthentic = "package-not-authentic": Error, false, Network, Forgery;
        /// A package cannot be read.
        InvalidPackage = "invalid-package": Error, false, Network, Exposure;
        /// The policy does not allow the host.
        HostNotAllowed = "host-not-allowed": Error, false, Files, Exposure;
        /// The policy does not allow the namespace.
        NamespaceNotAllowed = "namespace-not-allowed": Error, false, Files, Exposure;
        /// The policy does not allow the provider.
        ProviderNotAllowed = "provider-not-allowed": Error, false, Files, Exposure;
        /// The policy does not allow the source of a module.
        ModuleNotAllowed = "module-not-allowed": Error, false, Requirements, Exposure;
        /// The policy does not allow the version.
        VersionNotAllowed = "version-not-allowed": Error, false, Files, Exposure;
        /// The policy does not allow the tier of the provider.
        TierNotAllowed = "tier-not-allowed": Error, false, Network, Exposure;
        /// The policy requires providers that were first published earlier.
        ProviderTooYoung = "provider-too-young": Error, false, Network, Exposure;
        /// The policy requires a signature and there is none.
        UnsignedProvider = "unsigned-provider": Error, false, Network, Exposure;
        /// The policy requires pinned modules, and a call is not pinned.
        ModuleRefFloating = "module-ref-floating": Error, true, Requirements, None;
        /// A directory of plugins is committed beside the configuration.
        BundledPlugins = "bundled-plugins": Error, true, Files, Substitution;
        /// Git tracks files of `.terraform`.
        TrackedDataDirectory = "tracked-data-directory": Error, true, Git, None;
        /// A path in the repository leads out of it.
        OutsideRepository = "outside-repository": Error, false, Files, Exposure;
        /// An address looks like the address of a well-known provider.
        Lookalike = "look-alike": Error, false, Files, Substitution;
        /// Hashes were replaced while the version stayed.
        HashesReplaced = "hashes-replaced": Error, false, Base, Forgery;
        /// A change decides what is installed.
        DecisionChanged = "decision-changed": Note, true, Base, None;
        /// A version became older.
        Downgrade = "downgrade": Warning, true, Base, Weakness;
        /// A host, a namespace, a provider or the owner of a module is new.
        PublisherAdded = "publisher-added": Note, false, Base, Substitution;
        /// The new version is signed with a different key than the old one.
        SigningKeyChanged = "signing-key-changed": Note, false, Network, Substitution;
        /// A new version is younger than the policy allows.
        VersionTooYoung = "version-too-young": Error, false, Network, Exposure;
        /// No checked source confirms a recorded hash.
        HashNotChecked = "hash-not-checked": Warning, true, Circumstances, None;
        /// A change edits a settings file or an ignore comment that applies to it.
        PolicyChanged = "policy-changed": Error, false, Base, None;
        /// A change removes the lock file of a root module.
        RootRemoved = "root-removed": Error, false, Base, None;
        /// A change removes the hashes of platforms although the version stays.
        PlatformsLost = "platforms-lost": Warning, true, Base, None;
        /// A change decides something that cannot be checked.
        NotDecided = "not-decided": Error, true, Circumstances, Substitution;
        /// An ignore comment is not valid.
        InvalidIgnore = "invalid-ignore": Warning, true, Circumstances, None;
        /// An ignore comment matches no finding.
        UnusedIgnore = "unused-ignore": Warning, true, Circumstances, None;
    }
    errors {
        /// The two sides of a merge contradict each other.
        MergeConflict = "merge-conflict"
        /// A version is younger than the policy allows.
        TooYoung = "too-young"
        /// A flag, argument or setting cannot be understood.
        InvalidArgument = "invalid-argument"
        /// A configuration cannot be read.
        InvalidConfiguration = "invalid-configuration"
        /// Modules call each other in a circle.
        ModuleCycle = "module-cycle"
        /// The CLI configuration cannot be read.
        InvalidCliConfiguration = "invalid-cli-configuration"
        /// A stored token is not used, because a different token takes precedence.
        CredentialsNotUsed = "credentials-not-used"
        /// Packages were downloaded although facts about them are shared.
        SharedFactsNotUsed = "shared-facts-not-used"
        /// A credentials helper failed.
        CredentialsHelper = "credentials-helper"
        /// No installed package can be compared with the lock file.
        NothingInstalled = "nothing-installed"
        /// A provider is under development: it is taken from a directory of `dev_overrides`.
        DevOverride = "dev-override"
        /// No version meets the constraints.
        NoMatchingVersion = "no-matching-version"
        /// The source has no such provider.
        ProviderNotFound = "provider-not-found"
        /// The version does not exist for a required platform.
        PlatformNotAvailable = "platform-not-available"
        /// The version needs a plugin protocol that is not supported.
        UnsupportedProtocol = "unsupported-protocol"
        /// A host could not be reached, or sent an unusable response.
        RequestFailed = "request-failed"
        /// A host refused the credentials, or requires some.
        Unauthorized = "unauthorized"
        /// The recorded hashes differ from the published hashes.
        HashesChanged = "hashes-changed"
        /// A file could not be read or written.
        Io = "io"
        /// The file changed while the command ran.
        FileChanged = "file-changed"
    }
}

/// The code of a finding.
impl FromStr for Code {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let code = Self::FINDINGS.iter().find(|code| code.as_str() == name);
        code.copied().ok_or("unknown finding")
    }
}

impl Code {
    /// Whether a project may suppress such findings ([`Rule::may_be_suppressed`]).
    pub fn may_be_suppressed(self) -> bool {
        self.rule().is_some_and(|rule| rule.may_be_suppressed)
    }
}
