//! Completions of values of arguments.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap_complete::CompletionCandidate;
use provlock::diagnostic::Code;
use provlock::project::{ModuleFetching, Session, SessionOptions};
use provlock::provider::Dialect;
use provlock::system::Secrets;

use crate::cli::environment::read_environment;

/// Platforms for which providers are commonly published, the most used ones first.
const PLATFORMS: &str = "linux_amd64 linux_arm64 darwin_arm64 darwin_amd64 windows_amd64 windows_arm64 windows_386 \
    linux_386 linux_arm freebsd_amd64 freebsd_386 freebsd_arm freebsd_arm64";

/// Platforms, and `all`.
pub(crate) fn platforms() -> Vec<CompletionCandidate> {
    let all =
        CompletionCandidate::new("all").help(Some("Every platform that the registry lists".into()));
    std::iter::once(all)
        .chain(PLATFORMS.split(' ').map(CompletionCandidate::new))
        .collect()
}

/// The target tools.
pub(crate) fn dialects() -> Vec<CompletionCandidate> {
    [Dialect::Tofu, Dialect::Terraform]
        .map(|dialect| CompletionCandidate::new(dialect.to_string()))
        .into()
}

/// Codes with their meanings.
pub(crate) fn findings() -> Vec<CompletionCandidate> {
    Code::FINDINGS
        .iter()
        .map(|code| CompletionCandidate::new(code.as_str()).help(Some(code.summary().into())))
        .collect()
}

/// The providers that the root module requires or has locked, without any request. Empty if the
/// root module cannot be opened.
pub(crate) fn providers() -> Vec<CompletionCandidate> {
    let mut options = SessionOptions::default();
    // A completion is shown at once or not at all, and has no place for errors.
    options.modules = ModuleFetching::Never;
    let Ok(session) = Session::new(read_environment(&Secrets::default()), options) else {
        return Vec::new();
    };
    let Ok(root) = session.open(&directory_of_chdir()) else {
        return Vec::new();
    };
    let mut help_by_address = BTreeMap::new();
    let ignore_tests = false;
    if let Ok(requirements) = session.requirements(&root, ignore_tests) {
        for address in requirements.providers.into_keys() {
            help_by_address.insert(address, None);
        }
    }
    if let Ok((lock_file, _)) = root.lock_file() {
        for (address, locked) in lock_file.locks() {
            let version = locked.version.to_string().into();
            help_by_address.insert(address.clone(), Some(version));
        }
    }
    help_by_address
        .into_iter()
        .map(|(address, help)| CompletionCandidate::new(address.short(root.dialect)).help(help))
        .collect()
}

/// The directory of `-C` on the command line that is being completed.
fn directory_of_chdir() -> PathBuf {
    let mut words = std::env::args_os();
    words
        .find(|word| word == "-C" || word == "--chdir")
        .and_then(|_| words.next())
        .map_or(".".into(), PathBuf::from)
}
