//! Required providers that `init` refuses, because no registry can have them.

use crate::configuration::{Declaration, Requirement, Requirements};
use crate::diagnostic::{Code, Diagnostic};
use crate::provider::{Dialect, ProviderAddress};

/// Name of the only built-in provider.
const BUILT_IN: &str = "terraform";

/// Returns a finding about each required provider that `init` refuses: legacy addresses, unknown
/// built-in providers, and versions of the built-in one (`getProviders` in OpenTofu's
/// `internal/command/init.go`, and `internal/providercache/installer.go`).
pub(in crate::project) fn refused_by_init(
    requirements: &Requirements,
    dialect: Dialect,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (address, requirement) in &requirements.never_locked {
        if address.namespace == "-" {
            findings.push(legacy_address(address, requirement, dialect));
        } else if address.name != BUILT_IN {
            let message =
                format!("{address} is required, but {dialect} has no such built-in provider");
            let finding = Diagnostic::finding(Code::RequirementRefused, message).about(address);
            let help = format!(
                "correct or remove the source; the only built-in provider is terraform.io/builtin/{BUILT_IN}"
            );
            findings.push(requirement.at_declarations(finding.help(help)));
        } else if !requirement.constraints.is_empty() {
            findings.push(built_in_version(address, requirement));
        }
    }
    findings
}

/// The finding about an address from before Terraform 0.13, which has no namespace.
fn legacy_address(
    address: &ProviderAddress,
    requirement: &Requirement,
    dialect: Dialect,
) -> Diagnostic {
    let name = &address.name;
    let message = format!(
        "the legacy address {} is required, and {dialect} init refuses it",
        address.short(dialect)
    );
    let finding = Diagnostic::finding(Code::RequirementRefused, message).about(address);
    let help = if requirement.is_of_state() {
        format!("run: {dialect} state replace-provider {address} hashicorp/{name}")
    } else {
        format!("write the namespace of the provider, such as source = \"hashicorp/{name}\"")
    };
    requirement.at_declarations(finding.help(help))
}

/// The finding about constraints on the version of the built-in provider.
fn built_in_version(address: &ProviderAddress, requirement: &Requirement) -> Diagnostic {
    let message = format!("{address} is built in, and its version cannot be constrained");
    let finding = Diagnostic::finding(Code::RequirementRefused, message).about(address);
    let constrained = requirement
        .declarations
        .iter()
        .filter(|declaration| !declaration.constraints.is_empty())
        .map(Declaration::version_place);
    finding
        .at_each(constrained, "init refuses this")
        .help("remove the version")
}
