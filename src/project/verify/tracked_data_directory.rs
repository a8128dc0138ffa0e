//! The finding about a data directory in git.

use super::audited_root::AuditedRoot;
use crate::configuration::DATA_DIRECTORY;
use crate::diagnostic::{Code, Diagnostic, Help, Message, Remedy};

/// Tracked files below the data directory, which `init` trusts as installed by itself.
pub(super) fn check_tracked_data(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(first) = root.tracked_data.first() else {
        return Vec::new();
    };
    let many = match root.tracked_data.len() {
        1 => String::new(),
        count => format!("{count} files such as "),
    };
    let help = if first.starts_with(root.module.lock_path.with_file_name(DATA_DIRECTORY)) {
        Help::from(Remedy::UntrackDataDirectory).and_text(", and add .terraform/ to .gitignore")
    } else if first.iter().any(|part| part == DATA_DIRECTORY) {
        "remove this directory from git, and add .terraform/ to .gitignore".into()
    } else {
        "remove the directory of TF_DATA_DIR from git, and add it to .gitignore".into()
    };
    let message = Message::naming(first, |first| {
        format!("git tracks {many}{first}, which init would trust as installed by itself")
    });
    let finding = Diagnostic::finding(Code::TrackedDataDirectory, message);
    vec![finding.help(help)]
}
