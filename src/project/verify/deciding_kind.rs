//! Kinds of files that decide what is installed, or what reviewers see of it, and that no reading
//! of a root module includes.

use std::ffi::OsStr;
use std::path::Path;

use super::atmos_stacks;
use super::local_repositories::is_like_url;
use crate::configuration::is_of_stack;
use crate::project::reviewed_change::{ReviewedChange, UPLOAD_IGNORE_FILE};

/// Settings of OpenTofu and Terraform for the user, which a job may name in `TF_CLI_CONFIG_FILE`.
const CLI_CONFIGURATIONS: [&str; 6] = [
    ".terraformrc",
    "terraformrc",
    "terraform.rc",
    ".tofurc",
    "tofurc",
    "tofu.rc",
];
/// Ends of the names of such settings.
const CLI_ENDS: [&str; 5] = [
    ".tfrc",
    ".tfrc.json",
    ".tofurc",
    ".terraformrc",
    "terraformrc.tmpl",
];
/// Input of CDK for Terraform.
pub(super) const CDKTF_INPUT: &str = "cdktf.json";
/// Files that list modules which a program copies into the repository.
const VENDORING: [&str; 3] = ["Terrafile", "component.yaml", "vendor.yaml"];
/// Directories in which OpenTofu and Terraform look for providers without a registry.
const PLUGIN_DIRECTORIES: [&str; 2] = ["terraform.d/plugins", ".terraform.d/plugins"];
/// Files that choose the version of a tool.
const VERSION_FILES: [&str; 8] = [
    ".terraform-version",
    ".opentofu-version",
    ".tofu-version",
    ".terragrunt-version",
    ".terragrunt-tofu-version",
    ".tfswitch.toml",
    ".tfswitchrc",
    ".tgswitchrc",
];
/// Files that choose the versions of several tools.
const VERSION_LISTS: [&str; 9] = [
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    "aqua.yaml",
    "aqua.yml",
    "devbox.json",
    "flake.nix",
    "shell.nix",
];
/// Ends of the names of test files.
const TESTS: [&str; 4] = [
    ".tftest.hcl",
    ".tftest.json",
    ".tofutest.hcl",
    ".tofutest.json",
];
/// Programs of the repository that may run `init`.
const SCRIPTS: [&str; 7] = [
    ".envrc",
    "GNUmakefile",
    "Jenkinsfile",
    "Justfile",
    "Makefile",
    "justfile",
    "makefile",
];
/// Ends of the names of such programs, and of files of their variables.
const SCRIPT_ENDS: [&str; 8] = [
    ".bash", ".cmd", ".env", ".mk", ".ps1", ".sh", ".yaml", ".yml",
];
/// Extensions of files that may be settings or arguments under a name of their own.
const SETTINGS: [&str; 9] = [
    "backend",
    "cfg",
    "conf",
    "config",
    "hcl",
    "properties",
    "rc",
    "tfvars",
    "tmpl",
];

/// Extensions of documents and media, in which nothing is searched, in lower case.
const DOCUMENTS: [&str; 24] = [
    "adoc", "avif", "bmp", "css", "docx", "drawio", "eot", "gif", "htm", "html", "ico", "jpeg",
    "jpg", "markdown", "md", "mdx", "pdf", "png", "rst", "svg", "ttf", "webp", "woff", "woff2",
];

/// List of the installed modules in a data directory.
pub(super) const INSTALLED_MODULES: &str = "modules/modules.json";
/// Data directory with a check of its own.
const USUAL_DATA_DIRECTORY: &str = ".terraform";
/// File of the selected workspace in a data directory.
const WORKSPACE: &str = "environment";
/// Name of the state of a local backend.
const STATE: &str = "terraform.tfstate";

/// Kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecidingKind {
    CliConfiguration,
    /// A provider, or settings, in a directory that `init` searches.
    PluginDirectory,
    /// Only a file with arguments of a backend has such a name (`-backend-config`).
    Backend,
    /// A name that is usual for arguments of a backend, and that files of other programs may have.
    PerhapsBackend,
    /// Settings of some program. Only the content shows whether they decide.
    Settings,
    UploadIgnore,
    Attributes,
    Ignore,
    GeneratorInput,
    /// YAML: a stack of Atmos, or a workflow that runs `init`.
    Yaml,
    Terramate,
    /// A part of a stack of HCP Terraform.
    HcpStack,
    Vendoring,
    ToolVersion,
    /// Versions of several tools.
    ToolVersions,
    Test,
    Script,
    /// The state of a local backend.
    State,
    /// A name that lists of installed modules have in each data directory (`TF_DATA_DIR`).
    InstalledModules,
    /// The name of the file that selects a workspace in each data directory.
    Workspace,
    /// Any other file: a script, or settings under a name of its own. Only the text shows whether
    /// it decides.
    Other,
}

impl DecidingKind {
    /// The kind of a file, given its path in the repository; `None` if a file of this name decides
    /// nothing without being read.
    pub(super) fn of(path: &Path) -> Option<Self> {
        // A name that is no text may have one of the ends, too.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        let ends_with = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        let is_in = |directory: &str| path.iter().any(|part| part == directory);
        // In a directory of plugins the place decides, whatever the name is.
        if is_of_plugins(path) {
            return Some(Self::PluginDirectory);
        }
        if path.ends_with(INSTALLED_MODULES) && !is_in(USUAL_DATA_DIRECTORY) {
            return Some(Self::InstalledModules);
        }
        if CLI_CONFIGURATIONS.contains(&name) || ends_with(&CLI_ENDS) {
            return Some(Self::CliConfiguration);
        }
        if ends_with(&[".tfbackend", ".tfbackend.json"]) {
            return Some(Self::Backend);
        }
        if is_usual_for_backend(path, name) {
            return Some(Self::PerhapsBackend);
        }
        match name {
            UPLOAD_IGNORE_FILE => return Some(Self::UploadIgnore),
            ".gitattributes" => return Some(Self::Attributes),
            ".gitignore" => return Some(Self::Ignore),
            STATE => return Some(Self::State),
            WORKSPACE => return Some(Self::Workspace),
            _ => {}
        }
        if atmos_stacks::CONFIGURATIONS.contains(&name) || name == CDKTF_INPUT {
            return Some(Self::GeneratorInput);
        }
        if ends_with(&[".tm.hcl", ".tm"]) {
            return Some(Self::Terramate);
        }
        if is_of_stack(OsStr::new(name)) {
            return Some(Self::HcpStack);
        }
        if VENDORING.contains(&name) {
            return Some(Self::Vendoring);
        }
        if VERSION_FILES.contains(&name) {
            return Some(Self::ToolVersion);
        }
        let is_of_mise = name == "config.toml" && (is_in("mise") || is_in(".mise"));
        if VERSION_LISTS.contains(&name) || is_of_mise || name.starts_with("Dockerfile") {
            return Some(Self::ToolVersions);
        }
        if ends_with(&TESTS) {
            return Some(Self::Test);
        }
        if ends_with(&[".yaml", ".yml", ".yaml.tmpl", ".yml.tmpl"]) {
            return Some(Self::Yaml);
        }
        if SCRIPTS.contains(&name) || ends_with(&SCRIPT_ENDS) || name.starts_with(".env") {
            return Some(Self::Script);
        }
        // Terragrunt's own files are read.
        if name.starts_with("terragrunt.") {
            return None;
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if SETTINGS.contains(&&*extension) {
            return Some(Self::Settings);
        }
        let is_document = DOCUMENTS.contains(&&*extension.to_ascii_lowercase());
        if is_document || ReviewedChange::reads(name) {
            return None;
        }
        Some(Self::Other)
    }

    /// Whether the text of the file is searched for what it passes to `init`.
    pub(super) fn is_searched(self) -> bool {
        self.is_program()
            || matches!(
                self,
                Self::Settings | Self::Vendoring | Self::Workspace | Self::Other
            )
    }

    /// Whether the name is one of a program that may run `init`, or of its environment.
    pub(super) fn is_program(self) -> bool {
        matches!(self, Self::Script | Self::Yaml | Self::ToolVersions)
    }

    /// Whether the file decides wherever it is, because a command names it.
    pub(super) fn is_anywhere(self) -> bool {
        !matches!(
            self,
            Self::UploadIgnore
                | Self::Attributes
                | Self::Ignore
                | Self::GeneratorInput
                | Self::Terramate
                | Self::Vendoring
                | Self::ToolVersion
                | Self::ToolVersions
                | Self::Test
        )
    }

    /// Whether the language of the file is HCL.
    pub(super) fn is_hcl(self) -> bool {
        matches!(
            self,
            Self::CliConfiguration
                | Self::Backend
                | Self::PerhapsBackend
                | Self::Settings
                | Self::Terramate
        )
    }

    /// Whether a file that cannot be read may be one of a program that has nothing to do with
    /// OpenTofu and Terraform.
    pub(super) fn may_be_of_other_program(self) -> bool {
        self.is_searched()
    }
}

/// Whether a file is in a directory in which OpenTofu and Terraform look for providers.
fn is_of_plugins(path: &Path) -> bool {
    path.ancestors().skip(1).any(|directory| {
        PLUGIN_DIRECTORIES
            .iter()
            .any(|plugins| directory.ends_with(plugins))
    })
}

/// Whether the name of a file is usual for arguments of a backend.
fn is_usual_for_backend(path: &Path, name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "hcl"));
    if !SETTINGS.contains(&extension) {
        return false;
    }
    let directory = path.parent().and_then(Path::file_name);
    let is_in_directory = directory.is_some_and(|name| name == "backend" || name == "backends");
    stem.contains("backend") || extension == "backend" || is_in_directory
}

/// Whether a file may decide without being read for a root module, by its name.
#[must_use]
pub fn may_decide(path: &Path) -> bool {
    let kind = DecidingKind::of(path);
    kind.is_some_and(|kind| kind != DecidingKind::Other) || is_like_url(path)
}

/// Whether a file is searched if it differs, whatever its name is.
#[must_use]
pub fn is_searched(path: &Path) -> bool {
    DecidingKind::of(path) == Some(DecidingKind::Other)
}
