//! `verify`: whether a lock file fits its configuration, the project's policy and, if asked, the world.
//!
//! What is wrong is a finding, a value with a [`Code`]; an error means that something could not be checked. An error
//! weighs what makes `init -lockfile=readonly` or the install fail, what cannot be trusted, and what the policy forbids;
//! everything else is a warning. Nothing is guessed: a lock file does not say which platform a hash is of, so that is
//! answered from packages whose hashes are known, or reported as not known.

mod change;
mod configuration;
mod file;
mod lookalike;
mod online;
mod platforms;
mod policy;

use std::path::Path;

use crate::address::ProviderAddress;
use crate::diagnostic::{Code, CommandLine, Diagnostic, Location, Severity};
use crate::dialect::Dialect;
use crate::lockfile::{self, Entry, LockFile};
use crate::package::cache::HashCache;
use crate::requirements::Requirements;
use crate::settings::{PlatformSelection, Policy};
use crate::source::{ProgressSink, Source};

/// The codes that findings may have, in the order of `docs/findings.md`.
pub const CODES: &[Code] = &[
    Code::LockFileMissing,
    Code::LockFileSyntax,
    Code::ConflictMarkers,
    Code::DuplicateProvider,
    Code::NotCanonical,
    Code::MalformedHash,
    Code::UnknownHashScheme,
    Code::UnsortedHashes,
    Code::UntrackedLockFile,
    Code::ProviderNotLocked,
    Code::ProviderNotRequired,
    Code::VersionOutsideConstraints,
    Code::ConstraintsDiffer,
    Code::NoHashes,
    Code::ModuleNotInstalled,
    Code::NoConfiguration,
    Code::PlatformMissing,
    Code::PlatformNotKnown,
    Code::InstalledPackageDiffers,
    Code::HashNotPublished,
    Code::VersionWithdrawn,
    Code::SignatureInvalid,
    Code::KeyExpired,
    Code::KeyNotTrusted,
    Code::PackageNotAuthentic,
    Code::InvalidPackage,
    Code::HostNotAllowed,
    Code::NamespaceNotAllowed,
    Code::UnsignedProvider,
    Code::BundledPlugins,
    Code::Lookalike,
    Code::HashesReplaced,
    Code::Downgrade,
    Code::HostChanged,
];

/// What is to be verified, and against what.
pub struct VerifyRequest<'a> {
    /// The root module's directory, as the user knows it.
    pub root: &'a Path,
    /// Whose rules apply.
    pub dialect: Dialect,
    /// The lock file's path, as the user knows it.
    pub lock_path: &'a Path,
    /// The lock file's content; none if there is no lock file.
    pub lock_bytes: Option<&'a [u8]>,
    /// What the configuration requires.
    pub requirements: &'a Requirements,
    /// The platforms that the project asks for; none if it does not say.
    pub platforms: Option<&'a PlatformSelection>,
    /// The project's policy.
    pub policy: &'a Policy,
    /// Hashes of packages that are known already.
    pub cache: Option<&'a HashCache>,
    /// The directory of installed packages, `.terraform/providers`.
    pub installed: &'a Path,
    /// Whether installed packages are compared with the lock file.
    pub check_installed: bool,
    /// What git knows of the lock file.
    pub tracking: Tracking,
    /// The lock file as it was, if the change is to be judged.
    pub base: Option<&'a [u8]>,
    /// Where to ask what is published, if that is to be asked.
    pub online: Option<Online<'a>>,
}

/// A source that may be asked.
#[derive(Clone, Copy)]
pub struct Online<'a> {
    /// The source.
    pub source: &'a Source,
    /// Takes note of downloads.
    pub progress: ProgressSink<'a>,
}

/// What git knows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// The file is in the index.
    Tracked,
    /// The file is not in the index.
    Untracked,
    /// The file is not in the index, and ignored.
    Ignored,
    /// There is no repository, or git could not be asked.
    Unknown,
}

/// What came of a verification.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// What is wrong, in the order of the lock file, then of the other files.
    pub findings: Vec<Diagnostic>,
    /// Why something could not be checked.
    pub errors: Vec<Diagnostic>,
    /// How many entries of the lock file were looked at.
    pub entries: usize,
}

/// Verifies the lock file of one root module. Nothing is written, and nothing is asked but `request.online`.
pub fn verify(request: &VerifyRequest<'_>) -> Verified {
    let mut verified = Verified::default();
    let findings = &mut verified.findings;
    findings.extend(policy::bundled_plugins(request));
    let lock_file = match request.lock_bytes {
        None => {
            findings.extend(file::missing(request));
            LockFile::empty(request.lock_path, request.dialect)
        }
        Some(bytes) => {
            let parsed = lockfile::parse(request.lock_path, bytes, request.dialect);
            findings.extend(parsed.diagnostics.into_iter().map(|diagnostic| file::with_help(request, diagnostic)));
            findings.extend(file::untracked(request));
            match parsed.lock_file {
                Some(lock_file) => lock_file,
                None => return verified.sorted(request.lock_path),
            }
        }
    };
    verified.entries = lock_file.entries().len();
    let findings = &mut verified.findings;
    if request.lock_bytes.is_some() {
        let subject = Subject { request, lock_file: &lock_file };
        findings.extend(file::hashes(&subject));
        findings.extend(configuration::check(&subject));
        findings.extend(change::check(&subject));
        findings.extend(policy::check(&subject));
        if request.check_installed {
            let (differences, errors) = platforms::installed(&subject);
            findings.extend(differences);
            verified.errors.extend(errors);
        }
        if let Some(online) = request.online {
            let asked = online::check(&subject, online);
            findings.extend(asked.findings);
            verified.errors.extend(asked.errors);
        } else {
            findings.extend(platforms::check(&subject));
        }
    }
    verified.sorted(request.lock_path)
}

impl Verified {
    /// Puts findings in order: those about no place, those in the lock file, those elsewhere.
    fn sorted(mut self, lock_path: &Path) -> Self {
        self.findings.sort_by_cached_key(|finding| {
            let place = finding.labels.first().map(|label| &label.location);
            place.map(|place| (place.path() != lock_path, place.path().to_owned(), place.span.start))
        });
        self
    }
}

/// A lock file that can be read, with all that it is compared to.
struct Subject<'a> {
    request: &'a VerifyRequest<'a>,
    lock_file: &'a LockFile,
}

impl Subject<'_> {
    fn entries(&self) -> &[Entry] {
        self.lock_file.entries()
    }

    fn name(&self, address: &ProviderAddress) -> String {
        address.short(self.request.dialect)
    }

    /// The name and version of an entry.
    fn release(&self, entry: &Entry) -> String {
        format!("{} {}", self.name(&entry.address), entry.provider.version)
    }

    /// The platforms that are asked for by name.
    fn named_platforms(&self) -> &[crate::platform::Platform] {
        self.request.named_platforms()
    }
}

impl VerifyRequest<'_> {
    fn named_platforms(&self) -> &[crate::platform::Platform] {
        match self.platforms {
            Some(PlatformSelection::These(platforms)) => platforms,
            Some(PlatformSelection::All) | None => &[],
        }
    }

    /// The command that records the hashes for the platforms that are asked for, else for all.
    fn lock_command(&self) -> CommandLine {
        let platforms: Vec<_> = self.named_platforms().iter().map(ToString::to_string).collect();
        let platforms = if platforms.is_empty() { "all".to_owned() } else { platforms.join(",") };
        self.command(["lock", "-p", &platforms])
    }

    /// A command that fixes something in this root module.
    fn command<const N: usize>(&self, arguments: [&str; N]) -> CommandLine {
        CommandLine::from(arguments).in_directory(self.root)
    }
}

fn finding(severity: Severity, code: Code, message: String, location: &Location, label: &str) -> Diagnostic {
    Diagnostic { severity, ..Diagnostic::error(code, message) }.at(location.clone(), label)
}
