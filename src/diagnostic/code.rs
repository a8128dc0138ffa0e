//! The stable names of diagnostics.

use std::fmt;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The stable name of a diagnostic, as `--json` and `--deny` use it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// What it means, in a sentence.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+).trim_ascii(),)+
                }
            }

            /// The name in kebab case.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

codes! {
    /// There is no lock file.
    LockFileMissing = "lock-file-missing",
    /// The lock file cannot be parsed.
    LockFileSyntax = "lock-file-syntax",
    /// The lock file holds git conflict markers.
    ConflictMarkers = "conflict-markers",
    /// Two sides of a merge exclude each other.
    MergeConflict = "merge-conflict",
    /// A provider has two entries.
    DuplicateProvider = "duplicate-provider",
    /// An address, version or constraint list is not in its canonical form.
    NotCanonical = "not-canonical",
    /// A hash does not have the form of its scheme.
    MalformedHash = "malformed-hash",
    /// A hash has a scheme that nothing is known about.
    UnknownHashScheme = "unknown-hash-scheme",
    /// Hashes are unsorted or duplicated.
    UnsortedHashes = "unsorted-hashes",
    /// Git does not track the lock file.
    UntrackedLockFile = "untracked-lock-file",
    /// The configuration requires a provider that has no entry.
    ProviderNotLocked = "provider-not-locked",
    /// An entry is for a provider that the configuration does not require.
    ProviderNotRequired = "provider-not-required",
    /// The locked version does not meet the configuration's constraints.
    VersionOutsideConstraints = "version-outside-constraints",
    /// The recorded constraints are not those of the configuration.
    ConstraintsDiffer = "constraints-differ",
    /// An entry has no hashes.
    NoHashes = "no-hashes",
    /// Root modules of one repository lock different registries.
    MixedDialects = "mixed-dialects",
    /// No platforms are named, and an entry can cover only one.
    SinglePlatform = "single-platform",
    /// A wanted platform has no hash.
    PlatformMissing = "platform-missing",
    /// Whether a wanted platform has a hash cannot be known.
    PlatformNotKnown = "platform-not-known",
    /// A hash belongs to no published package.
    HashNotPublished = "hash-not-published",
    /// The registry no longer lists the locked version.
    VersionWithdrawn = "version-withdrawn",
    /// A signature does not verify.
    SignatureInvalid = "signature-invalid",
    /// A signature was made with a key that has expired.
    KeyExpired = "key-expired",
    /// A signature was made with a key that `[trust]` does not list.
    KeyNotTrusted = "key-not-trusted",
    /// An installed package matches no recorded hash.
    InstalledPackageDiffers = "installed-package-differs",
    /// The policy does not allow the host.
    HostNotAllowed = "host-not-allowed",
    /// The policy does not allow the namespace.
    NamespaceNotAllowed = "namespace-not-allowed",
    /// The policy requires a signature and there is none.
    UnsignedProvider = "unsigned-provider",
    /// The policy wants modules to be pinned, and a call is not.
    ModuleRefFloating = "module-ref-floating",
    /// A directory of plugins is committed beside the configuration.
    BundledPlugins = "bundled-plugins",
    /// Git tracks files of `.terraform`.
    TrackedDataDirectory = "tracked-data-directory",
    /// A path in the repository leads out of it.
    OutsideRepository = "outside-repository",
    /// An address looks like that of a well-known provider.
    Lookalike = "look-alike",
    /// Hashes were replaced while the version stayed.
    HashesReplaced = "hashes-replaced",
    /// A version became older.
    Downgrade = "downgrade",
    /// A provider moved to another host.
    HostChanged = "host-changed",
    /// A change adds hashes that nothing known on this machine confirms.
    HashNotChecked = "hash-not-checked",
    /// A change edits what it is judged by: a settings file, an ignore comment or the baseline.
    PolicyChanged = "policy-changed",
    /// A change removes the lock file of a root module.
    RootRemoved = "root-removed",
    /// A comment is meant to ignore findings, and cannot.
    InvalidIgnore = "invalid-ignore",
    /// A comment ignores a finding that there is not.
    UnusedIgnore = "unused-ignore",
    /// The baseline lists a finding that there no longer is.
    StaleBaseline = "stale-baseline",
    /// A version is younger than the policy allows.
    TooYoung = "too-young",
    /// A flag, argument or setting cannot be understood.
    InvalidArgument = "invalid-argument",
    /// A configuration cannot be read.
    InvalidConfiguration = "invalid-configuration",
    /// A directory holds no configuration.
    NoConfiguration = "no-configuration",
    /// A called module is not installed.
    ModuleNotInstalled = "module-not-installed",
    /// What a Terragrunt unit requires depends on more than its repository.
    RequirementsNotKnown = "requirements-not-known",
    /// Modules call each other in a circle.
    ModuleCycle = "module-cycle",
    /// The CLI configuration cannot be read.
    InvalidCliConfiguration = "invalid-cli-configuration",
    /// A stored token is not used, because another one wins.
    CredentialsNotUsed = "credentials-not-used",
    /// Packages were downloaded although facts about them are shared.
    SharedFactsNotUsed = "shared-facts-not-used",
    /// A credentials helper failed.
    CredentialsHelper = "credentials-helper",
    /// A provider is under development, and therefore not locked.
    DevOverride = "dev-override",
    /// No version meets the constraints.
    NoMatchingVersion = "no-matching-version",
    /// The source has no such provider.
    ProviderNotFound = "provider-not-found",
    /// The version does not exist for a wanted platform.
    PlatformNotAvailable = "platform-not-available",
    /// The version needs a plugin protocol that is not supported.
    UnsupportedProtocol = "unsupported-protocol",
    /// A host could not be asked, or sent an unusable response.
    RequestFailed = "request-failed",
    /// A host refused the credentials, or wants some.
    Unauthorized = "unauthorized",
    /// A package is not what its checksums, signature or registry say.
    PackageNotAuthentic = "package-not-authentic",
    /// A package cannot be read.
    InvalidPackage = "invalid-package",
    /// The recorded hashes are not those that are published.
    HashesChanged = "hashes-changed",
    /// A file could not be read or written.
    Io = "io",
    /// The file changed while the command ran.
    FileChanged = "file-changed",
}

impl Code {
    /// The codes that findings of `verify` may have, in the order of `docs/findings.md`.
    pub const FINDINGS: &'static [Code] = &[
        Self::LockFileMissing,
        Self::LockFileSyntax,
        Self::ConflictMarkers,
        Self::DuplicateProvider,
        Self::NotCanonical,
        Self::MalformedHash,
        Self::UnknownHashScheme,
        Self::UnsortedHashes,
        Self::UntrackedLockFile,
        Self::ProviderNotLocked,
        Self::ProviderNotRequired,
        Self::VersionOutsideConstraints,
        Self::ConstraintsDiffer,
        Self::NoHashes,
        Self::ModuleNotInstalled,
        Self::RequirementsNotKnown,
        Self::NoConfiguration,
        Self::MixedDialects,
        Self::SinglePlatform,
        Self::PlatformMissing,
        Self::PlatformNotKnown,
        Self::InstalledPackageDiffers,
        Self::HashNotPublished,
        Self::VersionWithdrawn,
        Self::SignatureInvalid,
        Self::KeyExpired,
        Self::KeyNotTrusted,
        Self::PackageNotAuthentic,
        Self::InvalidPackage,
        Self::HostNotAllowed,
        Self::NamespaceNotAllowed,
        Self::UnsignedProvider,
        Self::ModuleRefFloating,
        Self::BundledPlugins,
        Self::TrackedDataDirectory,
        Self::OutsideRepository,
        Self::Lookalike,
        Self::HashesReplaced,
        Self::Downgrade,
        Self::HostChanged,
        Self::HashNotChecked,
        Self::PolicyChanged,
        Self::RootRemoved,
        Self::InvalidIgnore,
        Self::UnusedIgnore,
        Self::StaleBaseline,
    ];

    /// The finding with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn finding(name: &str) -> Result<Self, &'static str> {
        let code = Self::FINDINGS.iter().find(|code| code.as_str() == name);
        code.copied().ok_or("unknown finding; provlock explain lists all codes")
    }

    /// Whether a project may allow such findings, or lower them to warnings, in its settings, in a comment or in a baseline.
    ///
    /// Not those that show a forgery or a change of the policy, that say why the file was not checked, or that the policy itself
    /// decides: whoever may edit those files could switch the check off.
    pub fn may_be_suppressed(self) -> bool {
        !matches!(
            self,
            Self::LockFileSyntax
                | Self::ConflictMarkers
                | Self::DuplicateProvider
                | Self::NotCanonical
                | Self::MalformedHash
                | Self::InstalledPackageDiffers
                | Self::HashNotPublished
                | Self::SignatureInvalid
                | Self::KeyNotTrusted
                | Self::PackageNotAuthentic
                | Self::InvalidPackage
                | Self::HostNotAllowed
                | Self::NamespaceNotAllowed
                | Self::UnsignedProvider
                | Self::OutsideRepository
                | Self::Lookalike
                | Self::HashesReplaced
                | Self::HostChanged
                | Self::PolicyChanged
                | Self::RootRemoved
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
