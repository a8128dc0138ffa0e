//! Findings about what the project's policy does not allow.

use std::path::Path;

use super::lookalike;
use super::subject::{Subject, VerifyRequest, finding};
use crate::configuration::ModuleCall;
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Label, Remedy};
use crate::lockfile::Entry;
use crate::modules::Floating;
use crate::packages::FilesystemMirror;
use crate::project::root_module::RootModule;
use crate::provider::Authentication;

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
    let first = request.tracked.data_files.first()?;
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
pub(super) fn floating_modules(request: &VerifyRequest<'_>) -> Vec<Diagnostic> {
    let calls = request.requirements.calls.iter().filter(|_| request.root.settings.policy.pins_modules());
    calls.filter_map(|call| Some(floating(call, &call.request.floating()?))).collect()
}

fn floating(ModuleCall { name, location, .. }: &ModuleCall, why: &Floating) -> Diagnostic {
    let (message, help) = match why {
        Floating::AnyVersion => {
            (format!("{name} has no version, so the newest is used"), "add a version such as \"1.2.3\" or \"~> 1.2\"")
        }
        Floating::DefaultBranch => (
            format!("{name} has no ref, so the newest commit of the default branch is used"),
            "add ?ref= with a full commit ID or the tag of a version",
        ),
        Floating::Reference(reference) => (
            format!("{name} has the ref {reference:?}, which is a branch or may be one"),
            "use a full commit ID, or a tag: refs/tags/NAME unless it looks like a version",
        ),
    };
    finding(Code::ModuleRefFloating, message, location, "called here").help(help)
}

/// What the policy and common sense say about the addresses in the lock file.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.entries().iter().flat_map(|entry| check_address(subject, entry)).collect()
}

fn check_address(subject: &Subject<'_>, entry: &Entry) -> Vec<Diagnostic> {
    let RootModule { settings, dialect, .. } = subject.request.root;
    let (policy, address, dialect) = (&settings.policy, &entry.address, *dialect);
    let errors = policy.against_address(address, dialect).into_iter();
    let mut findings: Vec<_> = errors.map(|error| about(entry, error)).collect();
    if let Some(known) = lookalike::of(address).filter(|_| !policy.names(address, dialect)) {
        let message = format!("{address} looks like {known}, but is not");
        let help = format!("did you mean {known}? If the address is right, allow its namespace in provlock.toml");
        findings.push(finding(Code::Lookalike, message, &entry.block, "").help(help));
    }
    findings
}

/// What the policy says about the signature of an entry's release.
pub(super) fn check_signature(subject: &Subject<'_>, entry: &Entry, found: &Authentication) -> Vec<Diagnostic> {
    let RootModule { settings, dialect, .. } = subject.request.root;
    let errors = settings.policy.against_signature(&entry.address, *dialect, &subject.release(entry), found);
    errors.into_iter().map(|error| about(entry, error)).collect()
}

/// Puts an entry before the other places of a finding.
fn about(entry: &Entry, mut finding: Diagnostic) -> Diagnostic {
    finding.labels.insert(0, Label { location: entry.block.clone(), text: String::new() });
    finding
}
