//! Findings about what the project's policy does not allow.

use std::path::Path;

use super::subject::{Named, Subject, VerifyRequest, finding};
use crate::configuration::ModuleCall;
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy};
use crate::lockfile::Entry;
use crate::modules::Unpinned;
use crate::packages::FilesystemMirror;
use crate::project::change::KnownProviders;
use crate::project::root_module::RootModule;
use crate::project::similar_names::{Lookalike, Part, look_alike};
use crate::provider::{Authentication, ProviderAddress};
use crate::settings::Settings;

/// A directory beside the configuration that the programs take for a mirror.
const BUNDLED: &str = "terraform.d/plugins";

/// Packages beside the configuration, which the programs install instead of the registry's. Only what they find counts:
/// since Terraform 0.13 they read no flat directory of programs.
pub(super) fn bundled_plugins(request: &VerifyRequest<'_>) -> Option<Diagnostic> {
    let directory = request.root.path.join(BUNDLED);
    let providers = FilesystemMirror::new(&directory).providers(request.root.dialect);
    providers.first()?;
    let names = few(providers.iter().map(|provider| provider.short(request.root.dialect)));
    let message = |directory: &Path| {
        let directory = directory.display();
        format!("{directory} contains packages of {names}, which are installed instead of the registry's")
    };
    let finding = Diagnostic::finding(Code::BundledPlugins, message(&directory)).shared(message(Path::new(BUNDLED)));
    Some(finding.help("remove this directory, or name a mirror in the CLI configuration"))
}

/// Files in git below the data directory, which the programs take for what they have installed themselves.
pub(super) fn tracked_data(request: &VerifyRequest<'_>) -> Option<Diagnostic> {
    let first = &request.root.lock_path.with_file_name(request.tracked.data_files.first()?);
    let files = match request.tracked.data_files.len() {
        1 => String::new(),
        count => format!("{count} files such as "),
    };
    let help = Help::from(Remedy::UntrackDataDirectory).and_text(", and add .terraform/ to .gitignore");
    let finding = Diagnostic::finding(Code::TrackedDataDirectory, "")
        .naming(first, |first| format!("git tracks {files}{first}, which init would trust as installed by itself"));
    Some(finding.help(help))
}

/// Calls that do not say which state of a module they mean, if the policy wants that.
pub(super) fn unpinned_modules(request: &VerifyRequest<'_>) -> Vec<Diagnostic> {
    let calls = request.judged.calls.iter().filter(|_| request.root.settings.policy.pins_modules());
    calls.filter_map(|call| Some(unpinned(call, &call.request.unpinned()?))).collect()
}

fn unpinned(ModuleCall { name, location, .. }: &ModuleCall, why: &Unpinned) -> Diagnostic {
    let (message, help) = match why {
        Unpinned::AnyVersion => {
            (format!("{name} has no version, so the newest is used"), "add a version such as \"1.2.3\" or \"~> 1.2\"")
        }
        Unpinned::DefaultBranch => (
            format!("{name} has no ref, so the newest commit of the default branch is used"),
            "add ?ref= with a full commit ID or the tag of a version",
        ),
        Unpinned::Reference(reference) => (
            format!("{name} has the ref {reference:?}, which is a branch or may be one"),
            "use a full commit ID, or a tag: refs/tags/NAME unless it looks like a version",
        ),
        Unpinned::NoChecksum => (
            format!("{name} is an archive whose bytes the call does not name, so they may be others tomorrow"),
            "add ?checksum=sha256: with the digest of the archive; a list of the server's pins nothing",
        ),
        Unpinned::Tag => {
            (format!("{name} has no digest, so what its tag leads to is used"), "add ?digest=sha256: with its digest")
        }
    };
    finding(Code::ModuleRefFloating, message, location, "called here").help(help)
}

/// What the policy and common sense say about the addresses of what is locked, and of what is required and not locked.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.named().flat_map(|named| check_address(subject, named)).collect()
}

fn check_address(subject: &Subject<'_>, named: Named<'_>) -> Vec<Diagnostic> {
    let RootModule { settings, dialect, .. } = subject.request.root;
    let errors = settings.policy.against_address(named.address, *dialect).into_iter();
    let locked = named.entry.map(|entry| &entry.locked.version);
    let against = |version| settings.policy.against_version(named.address, *dialect, version);
    let required = named.requirement.map(|requirement| &requirement.constraints);
    let required =
        required.and_then(|constraints| settings.policy.against_constraints(named.address, *dialect, constraints));
    errors
        .chain(required)
        .chain(locked.into_iter().flat_map(against))
        .chain(looks_like_another(subject.request.root, subject.request.known, named.address))
        .map(|error| named.place(error))
        .collect()
}

/// An address that is easily taken for another one, unless the policy names it. A host that was there before the change
/// is meant.
pub(in crate::project) fn looks_like_another(
    root: &RootModule,
    known: Option<&KnownProviders>,
    address: &ProviderAddress,
) -> Option<Diagnostic> {
    let Lookalike { like, part } = look_alike(address)?;
    let RootModule { settings: Settings { policy, .. }, dialect, .. } = root;
    let was_there = |known: &KnownProviders| known.has_host(&address.hostname);
    let is_meant = match part {
        Part::Provider => false,
        Part::Host => policy.names_host(address) || known.is_some_and(was_there),
        Part::NewHost => policy.names_host(address) || known.is_none_or(was_there),
    };
    if is_meant || policy.names(address, *dialect) {
        return None;
    }
    let what = match part {
        Part::Provider => "its namespace to allowed-namespaces".to_owned(),
        Part::Host | Part::NewHost => format!("{:?} to allowed-hosts", address.hostname.as_ascii()),
    };
    let error = Diagnostic::finding(Code::Lookalike, format!("{address} looks like {like}, but is not"));
    Some(error.help(format!("correct the source; if the address is right, add {what} in provlock.toml")))
}

/// What the policy says about the signature of an entry's release.
pub(super) fn check_signature(subject: &Subject<'_>, entry: &Entry, found: &Authentication) -> Vec<Diagnostic> {
    let RootModule { settings, dialect, .. } = subject.request.root;
    let errors = settings.policy.against_signature(&entry.address, *dialect, &subject.release(entry), found);
    let named = Named { address: &entry.address, entry: Some(entry), requirement: None };
    errors.into_iter().map(|error| named.place(error)).collect()
}
