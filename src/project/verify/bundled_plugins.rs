//! The finding about packages that OpenTofu and Terraform install instead of the registry's.

use std::path::Path;

use super::audited_root::AuditedRoot;
use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Diagnostic, Message};
use crate::packages::FilesystemMirror;
use crate::provider::Dialect;

/// Directory beside the configuration that OpenTofu and Terraform use as a mirror.
const BUNDLED: &str = "terraform.d/plugins";

/// Packages beside the configuration or the local module of a Terragrunt unit, which OpenTofu and
/// Terraform install instead of the registry's. They ignore the flat layout of Terraform 0.12.
pub(super) fn check_bundled_plugins(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let mut directories = vec![root.module.path().to_owned()];
    for unit in &root.module.units {
        directories.extend(unit.shown_module());
    }
    let mut findings = Vec::new();
    for directory in directories {
        let finding = finding_bundled_packages(&directory.join(BUNDLED), root.module.dialect);
        findings.extend(finding);
    }
    findings
}

/// The finding about a directory of packages that `init` would install instead of packages of
/// registries; `None` if there are none.
fn finding_bundled_packages(directory: &Path, dialect: Dialect) -> Option<Diagnostic> {
    let mirror = FilesystemMirror::new(directory);
    let mut other_directories = mirror.directories();
    let mut names = Vec::new();
    for provider in mirror.providers(dialect) {
        other_directories.retain(|name| provider.to_string() != *name);
        names.push(provider.short(dialect));
    }
    names.extend(other_directories);
    if names.is_empty() {
        return None;
    }
    let contains = format!(
        "contains packages of {}, which are installed instead of the registry's",
        first_few(names)
    );
    let message = Message::naming(directory, |directory| format!("{directory} {contains}"));
    let finding = Diagnostic::finding(Code::BundledPlugins, message)
        .with_shared_message(format!("{BUNDLED} {contains}"))
        .help("remove this directory, or name a mirror in the CLI configuration");
    Some(finding)
}
