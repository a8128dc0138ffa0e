//! Comparison of installed packages with locked ones.

use super::audited_root::{AuditedRoot, VerifiedRoot, finding_at};
use crate::diagnostic::{Code, Diagnostic, Help, Remedy};
use crate::packages::archive;
use crate::provider::AddressParts;
use crate::system::{Tree, files};

/// Adds findings about installed packages of locked versions whose `h1:` is not recorded, and about
/// packages that cannot be read. Counts the entries with and without packages; an entry without an
/// `h1:` cannot be compared with unpacked packages.
pub(super) fn check_installed_packages(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    if !root.options.check_installed {
        return;
    }
    let module = root.module;
    let providers = module.path().join(&module.data_directory).join("providers");
    report.not_installed = root.entries().len();
    for entry in root.entries() {
        if entry.locked.platform_hashes().next().is_none() {
            continue;
        }
        let AddressParts {
            hostname,
            namespace,
            name,
        } = &*entry.address;
        let directory = providers
            .join(hostname.to_string())
            .join(namespace)
            .join(name)
            .join(entry.locked.version.to_string());
        let mut packages = match files::entries(&directory) {
            Ok(packages) => packages,
            Err(error) => {
                let error = Diagnostic::io("read", &directory, &error);
                report.errors.push(error);
                continue;
            }
        };
        packages.retain(|path| Tree::Work.is_dir(path));
        packages.sort();
        if !packages.is_empty() {
            report.installed += 1;
            report.not_installed -= 1;
        }
        for package in packages {
            let why = match archive::hash_directory(&package, name) {
                Ok(hash) if entry.locked.hashes.contains(&hash) => continue,
                Ok(hash) => format!("its hash is {hash}"),
                Err(error) => error.to_string(),
            };
            let message = format!(
                "the installed package of {} matches no recorded hash",
                root.release_name(entry)
            );
            let package = package.display();
            let help = Help::text(format!("remove {package}, then run"));
            let help = if module.is_unit() {
                // Terragrunt runs the tool elsewhere.
                help.and_text(" terragrunt init in the directory of the unit")
            } else {
                help.and_text(": ")
                    .and(Remedy::InstallProviders(module.dialect))
            };
            let error = finding_at(Code::InstalledPackageDiffers, message, &entry.block)
                .note(format!("{package}: {why}"))
                .help(help);
            report.findings.push(error);
        }
    }
}
