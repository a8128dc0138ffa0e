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
mod subject;

use crate::diagnostic::Code;
use crate::lockfile::{self, LockFile};

pub use subject::Tracking;
pub(crate) use subject::{Online, Verified, VerifyRequest};

use subject::Subject;

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
    Code::RequirementsNotKnown,
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
    Code::ModuleRefFloating,
    Code::BundledPlugins,
    Code::TrackedDataDirectory,
    Code::Lookalike,
    Code::HashesReplaced,
    Code::Downgrade,
    Code::HostChanged,
    Code::HashNotChecked,
    Code::PolicyChanged,
    Code::RootRemoved,
];

/// Verifies the lock file of one root module. Nothing is written, and nothing is asked but `request.online`.
pub(crate) fn verify(request: &VerifyRequest<'_>) -> Verified {
    let mut verified = Verified::default();
    let findings = &mut verified.findings;
    findings.extend(policy::bundled_plugins(request));
    findings.extend(policy::tracked_data(request));
    findings.extend(policy::floating_modules(request));
    let lock_file = match request.lock_bytes {
        None => {
            verified.unshared = file::missing(request);
            LockFile::empty(request.lock_path, request.dialect)
        }
        Some(bytes) => {
            let parsed = lockfile::parse(request.lock_path, bytes, request.dialect);
            findings.extend(parsed.diagnostics.into_iter().map(|diagnostic| diagnostic.in_directory(request.root)));
            findings.extend(file::untracked(request));
            verified.unshared = file::ignored(request);
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
