//! The entry of a module. Its form is that of the `module` blocks in OpenTofu's draft
//! <https://github.com/opentofu/opentofu/pull/4071> of a lock file with modules, with `version` as an addition.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use crate::diagnostic::{Code, Remedy};
use crate::provider::{ConstraintList, Dialect, Hash, Version};

use super::diff::EntryDiff;
use super::entry_kind::{AttributeRule, ConflictReason, EntryKind, merge_value};
use super::provider::LOCK_FILE_NAME;
use super::raw_entry::{PerAttribute, Problems, Text};

/// Name of the lock file of modules, beside that of providers.
pub const MODULE_LOCK_FILE_NAME: &str = ".modules.lock.hcl";

/// The address of the module that a Terragrunt unit fetches, which is no call.
pub const UNIT_ADDRESS: &str = ".";

/// The header of such a file.
const HEADER: [&str; 2] = [
    "# This file is maintained by provlock. It records the packages of the modules that this configuration calls.",
    r#"# OpenTofu and Terraform do not read it: "provlock get" installs what it records, "provlock verify" checks it."#,
];

/// The entry of one call of a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockedModule {
    /// The source as it is written in the configuration, normalised: with the host of a registry,
    /// without credentials.
    pub source: String,
    /// The selected version, if the module is from a registry.
    pub version: Option<Version>,
    /// The constraints of the call when it was selected, as [`ConstraintList::parse_for_module`]
    /// reads them; may be empty.
    pub constraints: ConstraintList,
    /// The address of the package, which never leads to another package: `git::https://…?ref=COMMIT`,
    /// `registry::HOST/NAMESPACE/NAME/SYSTEM@VERSION`, or the URL of an archive.
    pub package: String,
    /// The packages that are accepted; may be empty.
    pub hashes: BTreeSet<Hash>,
}

impl EntryKind for LockedModule {
    /// The names of the calls that lead to the module, joined by dots, as in `modules.json`.
    type Address = String;

    const FILE_NAME: &'static str = MODULE_LOCK_FILE_NAME;
    const BLOCK: &'static str = "module";
    /// The draft has both kinds of entries in one file.
    const IGNORED_BLOCK: &'static str = "provider";
    const KEEPS_UNKNOWN_ATTRIBUTES: bool = true;
    const LABEL: &'static str = "the path of the calls";
    const ATTRIBUTES: &'static [AttributeRule] = &[
        AttributeRule {
            name: "source",
            is_required: true,
        },
        AttributeRule {
            name: "version",
            is_required: false,
        },
        AttributeRule {
            name: "constraints",
            is_required: false,
        },
        AttributeRule {
            name: "package",
            is_required: true,
        },
    ];
    const CANONICAL_HELP: &'static str = "";
    const DUPLICATE: Code = Code::DuplicateModule;

    fn attributes(&self) -> PerAttribute<Cow<'_, str>> {
        let version = self
            .version
            .as_ref()
            .map(|version| Cow::Owned(version.to_string()));
        let constraints =
            (!self.constraints.is_empty()).then(|| Cow::Owned(self.constraints.to_string()));
        [
            Some(Cow::Borrowed(&self.source)),
            version,
            constraints,
            Some(Cow::Borrowed(&self.package)),
        ]
    }

    fn hashes(&self) -> &BTreeSet<Hash> {
        &self.hashes
    }

    fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    fn release(&self) -> Cow<'_, str> {
        match &self.version {
            Some(version) => Cow::Owned(version.to_string()),
            None => Cow::Borrowed(&self.package),
        }
    }

    fn is_same_release(&self, other: &Self) -> bool {
        (&self.source, &self.version, &self.package)
            == (&other.source, &other.version, &other.package)
    }

    /// A package has one hash of each scheme, whatever the platform, so two different ones of a
    /// scheme are a conflict.
    fn merge_same_release(
        base: Option<&Self>,
        ours: &Self,
        theirs: &Self,
        hashes: BTreeSet<Hash>,
    ) -> Result<Self, ConflictReason> {
        for hash in &ours.hashes {
            if hash.is_known() && theirs.contradicts(hash) {
                return Err(ConflictReason::Hashes);
            }
        }
        let base_constraints = base.map(|base| &base.constraints);
        match merge_value(base_constraints, &ours.constraints, &theirs.constraints) {
            Some(constraints) => Ok(Self {
                constraints: constraints.clone(),
                hashes,
                ..ours.clone()
            }),
            None => Err(ConflictReason::Constraints),
        }
    }

    fn name(address: &String, _: Dialect) -> String {
        Self::label_name(address).into_owned()
    }

    fn label_name(label: &str) -> Cow<'_, str> {
        if label == UNIT_ADDRESS {
            "the unit's module".into()
        } else {
            format!("module.{label}").into()
        }
    }

    fn header(_: Dialect) -> [&'static str; 2] {
        HEADER
    }

    fn remedy() -> Remedy {
        Remedy::LockModules
    }

    fn read_address(label: &Text<'_>, _: Dialect, problems: &mut Problems) -> Option<String> {
        if is_path_of_calls(&label.value) {
            return Some(label.value.clone().into_owned());
        }
        let message = format!(
            "{:?} is not the path of a module call, such as network.endpoints",
            label.value
        );
        problems.report_syntax_error(label.span.clone(), message);
        None
    }

    fn read_values(
        name: &str,
        [source, version, constraints, package]: PerAttribute<Text<'_>>,
        hashes: BTreeSet<Hash>,
        problems: &mut Problems,
    ) -> Option<Self> {
        // The problems of all values are reported before the entry is refused.
        let source_address = source.and_then(|text| read_source(text, "source", name, problems));
        let has_version = version.is_some();
        let version_number = version.and_then(|text| problems.read_version(text, name));
        let constraint_list = constraints.and_then(|text| {
            problems.read_constraints(text, name, ConstraintList::parse_for_module)
        });
        let package_address = package.and_then(|text| read_source(text, "package", name, problems));
        if has_version && version_number.is_none() {
            return None;
        }
        Some(Self {
            source: source_address?,
            version: version_number,
            constraints: constraint_list.unwrap_or_default(),
            package: package_address?,
            hashes,
        })
    }
}

impl EntryDiff<LockedModule> {
    /// `true` if the same version of a registry module, or the same source with its tag or branch,
    /// has a different package.
    pub fn package_replaced(&self) -> bool {
        let (Some(old), Some(new)) = (&self.old, &self.new) else {
            return false;
        };
        (&old.source, &old.version) == (&new.source, &new.version) && old.package != new.package
    }
}

/// Name of a module in a sentence.
pub(crate) fn module_name(path: &str) -> Cow<'_, str> {
    if path == UNIT_ADDRESS {
        "the unit's module".into()
    } else {
        format!("module \"{path}\"").into()
    }
}

/// Whether a lock file is one of modules. Its name decides, else its content, which need not be
/// valid.
pub fn is_of_modules(name: &Path, bytes: &[u8]) -> bool {
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    if name.contains(MODULE_LOCK_FILE_NAME) || name.contains(LOCK_FILE_NAME) {
        return name.contains(MODULE_LOCK_FILE_NAME);
    }
    let text = String::from_utf8_lossy(bytes);
    let has_header = text.trim_start_matches('\u{feff}').starts_with(HEADER[0]);
    has_header || (has_line(&text, "module \"") && !has_line(&text, "provider \""))
}

/// Whether a line of a text starts so.
fn has_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.starts_with(start))
}

impl LockedModule {
    /// Whether the entry has hashes of the scheme of a hash, but not the hash itself.
    fn contradicts(&self, hash: &Hash) -> bool {
        let scheme = hash.scheme();
        self.hashes.iter().any(|other| other.scheme() == scheme) && !self.hashes.contains(hash)
    }
}

/// Whether a label is a valid path of calls. It is also the name of a directory below
/// `.terraform/modules`.
///
/// The path to a module of a test begins with the names of directories, which need not be names of
/// calls.
fn is_path_of_calls(label: &str) -> bool {
    label == UNIT_ADDRESS || label.split('.').all(is_name_of_directory)
}

fn is_name_of_directory(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_control() || "/\\:".contains(c))
}

/// Reads an address, which has neither spaces at its ends nor control characters.
fn read_source(
    text: Text<'_>,
    attribute: &str,
    name: &str,
    problems: &mut Problems,
) -> Option<String> {
    let value = &text.value;
    if value.is_empty() || value.trim() != value || value.contains(char::is_control) {
        let message =
            format!("the {attribute} of {name} cannot be the address of a module: {value:?}");
        problems.report_syntax_error(text.span, message);
        return None;
    }
    Some(text.value.into_owned())
}
