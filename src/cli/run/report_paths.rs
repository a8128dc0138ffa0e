//! Paths at which reports may be written.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use provlock::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use provlock::project::ReviewedChange;
use provlock::system::{boundary, canonicalize, files, repository};

/// Names of files that git, CI, or tools around OpenTofu and Terraform read.
const READ_NAMES: [&str; 15] = [
    ".gitattributes",
    ".gitlab-ci.yml",
    ".gitmodules",
    ".opentofu-version",
    ".pre-commit-config.yaml",
    ".terraform-version",
    ".terraformrc",
    ".tofurc",
    ".tool-versions",
    "atlantis.yaml",
    "credentials.tfrc.json",
    "mise.toml",
    "terraform.rc",
    "tofu.rc",
    "tofurc",
];
/// Reader of files that provlock does not read itself.
const OTHER_PROGRAM: &str = "git or a different program";
/// Endings of names of such files.
const READ_ENDINGS: [&str; 4] = [".tfbackend", ".tfrc", ".tfrc.json", ".tfstate"];
/// Directories whose files are read by programs.
const READ_DIRECTORIES: [&str; 6] = [
    ".git",
    ".terraform",
    ".terragrunt-cache",
    ".terragrunt-stack",
    "terraform.d",
    ".terraform.d",
];

/// Refuses to write reports through a link or two of them to one path, and to replace a file that a
/// program reads.
pub(crate) fn refuse_unsafe_paths<'a>(
    paths: impl IntoIterator<Item = &'a Path>,
    current_directory: &Path,
) -> Result<()> {
    let mut seen = BTreeSet::new();
    for path in paths {
        refuse_links(path)?;
        let absolute = files::join(current_directory, path);
        let shown = path.display();
        if let Some(program) = program_that_reads(&absolute) {
            return Err(refusal(format!(
                "{shown} is a file that {program} reads, so no report is written to it"
            )));
        }
        if !seen.insert(absolute) {
            return Err(refusal(format!("two reports are to be written to {shown}")));
        }
    }
    Ok(())
}

fn refusal(message: String) -> Diagnostics {
    Diagnostic::error(Code::InvalidArgument, message)
        .help("name a different file")
        .into()
}

/// Refuses to write a file through a link in the repository, for example to `.git/config`.
pub(crate) fn refuse_links(path: &Path) -> Result<()> {
    let Some(link) = boundary::link_in_repository(path) else {
        return Ok(());
    };
    let message = format!(
        "cannot write {}: {} is a symbolic link in the repository",
        path.display(),
        link.display()
    );
    Err(Diagnostic::error(Code::Io, message)
        .help("name a file that is not behind a symbolic link")
        .into())
}

/// Returns the program that reads a file with this absolute path; `None` if none is known.
fn program_that_reads(path: &Path) -> Option<&'static str> {
    // Windows ignores dots and spaces at the end of a name, and other systems may ignore case.
    let name = fold_case(&path.file_name().unwrap_or_default().to_string_lossy());
    if ReviewedChange::reads(&name) {
        return Some("provlock");
    }
    let is_known_name = READ_NAMES.contains(&name.as_str());
    if is_known_name || READ_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Some(OTHER_PROGRAM);
    }

    let directory = path.parent().unwrap_or(path);
    let canonical = canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mut parts = directory.components().chain(canonical.components());
    if parts.any(is_read_directory) || is_workflow(&canonical) || repository::is_bare(&canonical) {
        return Some(OTHER_PROGRAM);
    }
    None
}

fn is_read_directory(component: Component<'_>) -> bool {
    let Component::Normal(name) = component else {
        return false;
    };
    READ_DIRECTORIES.contains(&fold_case(&name.to_string_lossy()).as_str())
}

/// Whether a directory is that of GitHub's workflows.
fn is_workflow(directory: &Path) -> bool {
    let folded: PathBuf = fold_case(&directory.to_string_lossy()).into();
    folded.ends_with(".github/workflows")
}

/// A name as file systems compare it that ignore case.
fn fold_case(name: &str) -> String {
    name.trim_end_matches(['.', ' ']).to_lowercase()
}
