//! Modules and providers that are not requested, because only the change under review names their
//! hosts.
//!
//! Code: `not-decided`.

use std::sync::Arc;

use super::audited_root::AuditedRoot;
use crate::configuration::ModuleCall;
use crate::diagnostic::{Diagnostic, Reason};
use crate::lockfile::{Entry, LockedModule};
use crate::modules::fetched::{ModuleRequest, ReplacedPackage};

/// Help of all findings about hosts that are not requested.
const HELP: &str = "if this is intended, name the host in allowed-hosts or allowed-modules of provlock.toml first, in a pull request of its own";

/// Returns a finding for each module that was not fetched.
pub(super) fn check_refused_requests(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (call, host) in refused_calls(root) {
        let message = format!(
            "{} was not fetched: the base does not use {host}",
            call.name()
        );
        let error = Diagnostic::not_decided(Reason::UnknownPart, message);
        findings.push(call.at_call(error).help(HELP));
    }
    findings
}

/// The calls of modules that were not fetched because of their hosts, each with the host, once for
/// each location. None if the hosts are not limited.
pub(super) fn refused_calls<'a>(root: &'a AuditedRoot<'_>) -> Vec<(&'a ModuleCall, String)> {
    let mut refused: Vec<(&ModuleCall, String)> = Vec::new();
    if root.module_cache.requested_hosts.get().is_none() {
        return refused;
    }
    for call in root.declared.package_calls() {
        // A module that is installed is read where it is.
        let mut read_modules = root.declared.call_tree.iter();
        if call.module.is_some() || read_modules.any(|called| called.key == call.key) {
            continue;
        }
        let Some(request) = call.request() else {
            continue;
        };
        let Some(host) = root.module_cache.refused_host(&request) else {
            continue;
        };
        let is_known = refused
            .iter()
            .any(|(known, _)| known.location == call.location && known.source == call.source);
        if !is_known {
            refused.push((call, host));
        }
    }
    refused
}

/// Answer to whether the package of a locked module may be requested.
pub(super) enum LockedRequest {
    Allowed,
    /// The call of the module has a finding of its own.
    CallRefused,
    /// Only the change names the host of the package.
    PackageRefused(Box<Diagnostic>),
}

/// Returns whether the package of a locked module may be requested, or has a finding instead.
pub(super) fn locked_request(
    root: &AuditedRoot<'_>,
    call: &ModuleCall,
    locked: &Arc<LockedModule>,
) -> LockedRequest {
    let request = ModuleRequest::Locked {
        source: call.source.clone(),
        locked: Arc::clone(locked),
        replaced: ReplacedPackage::Refused,
    };
    let Some(host) = root.module_cache.refused_host(&request) else {
        return LockedRequest::Allowed;
    };
    // The call itself names the host, and is reported as a call.
    if let Some(request_of_call) = call.request()
        && root.module_cache.refused_host(&request_of_call).is_some()
    {
        return LockedRequest::CallRefused;
    }
    let message = format!(
        "{} was not fetched: the base does not use {host}",
        call.name()
    );
    let finding = Diagnostic::not_decided(Reason::UnknownPart, message).help(HELP);
    LockedRequest::PackageRefused(Box::new(finding))
}

/// The finding about an entry whose registry was not requested.
pub(super) fn not_requested(root: &AuditedRoot<'_>, entry: &Entry) -> Diagnostic {
    let name = root.release_name(entry);
    let host = &entry.address.hostname;
    let message = format!("{name} was not checked: the base does not use {host}");
    Diagnostic::not_decided(Reason::UnknownPart, message)
        .at_location(entry.block.clone())
        .help(HELP)
}
