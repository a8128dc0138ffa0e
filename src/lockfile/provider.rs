//! The entry of a provider, as OpenTofu and Terraform write it: `SaveLocksToBytes` in OpenTofu's
//! `internal/depsfile/locks_file.go`.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use memchr::memmem;

use crate::diagnostic::{Code, Remedy};
use crate::hcl::scan::{replace_by_spaces, skip_comment, skip_nested};
use crate::provider::{
    AddressError, ConstraintList, Dialect, Hash, HashScheme, ProviderAddress, Version,
};
use crate::system::parallel;

use super::entry_kind::{AttributeRule, ConflictReason, EntryKind, merge_sets};
use super::raw_entry::{PerAttribute, Problems, Text};

/// Name of the lock file of providers, in every root module.
pub const LOCK_FILE_NAME: &str = ".terraform.lock.hcl";

/// Name of the lock file that a draft of OpenTofu proposes. Its format is not settled.
pub(crate) const DRAFT_LOCK_FILE_NAME: &str = ".opentofu.lock.hcl";

/// Whether a file of this name is copied over [`LOCK_FILE_NAME`] before `init`, such as
/// `.STACK-COMPONENT.terraform.lock.hcl` of Atmos.
pub(crate) fn is_copied_lock_file(name: &str) -> bool {
    let stem = name.strip_suffix(LOCK_FILE_NAME);
    stem.is_some_and(|stem| stem.starts_with('.') && stem.len() > 1)
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The entry of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedProvider {
    /// The selected version.
    pub version: Version,
    /// The configuration's constraints when it was selected; may be empty.
    pub constraints: ConstraintList,
    /// The packages that are accepted; may be empty.
    pub hashes: BTreeSet<Hash>,
}

impl LockedProvider {
    /// Hashes in a scheme that gives each platform's package a different hash, without malformed
    /// ones, which are the hash of no package.
    pub fn platform_hashes(&self) -> impl Iterator<Item = &Hash> {
        self.hashes.iter().filter(|hash| match hash.scheme() {
            HashScheme::H1 => hash.is_well_formed(),
            HashScheme::Zh | HashScheme::Unknown => false,
        })
    }
}

impl EntryKind for LockedProvider {
    type Address = ProviderAddress;

    const FILE_NAME: &'static str = LOCK_FILE_NAME;
    const BLOCK: &'static str = "provider";
    /// Reserved for a later version of the format.
    const IGNORED_BLOCK: &'static str = "module";
    /// As OpenTofu and Terraform refuse them.
    const KEEPS_UNKNOWN_ATTRIBUTES: bool = false;
    const LABEL: &'static str = "the provider's address";
    const ATTRIBUTES: &'static [AttributeRule] = &[
        AttributeRule {
            name: "version",
            is_required: true,
        },
        AttributeRule {
            name: "constraints",
            is_required: false,
        },
    ];
    const CANONICAL_HELP: &'static str = "; OpenTofu and Terraform refuse any other form";
    const DUPLICATE: Code = Code::DuplicateProvider;

    fn attributes(&self) -> PerAttribute<Cow<'_, str>> {
        let constraints =
            (!self.constraints.is_empty()).then(|| Cow::Owned(self.constraints.to_string()));
        [
            Some(Cow::Owned(self.version.to_string())),
            constraints,
            None,
            None,
        ]
    }

    fn hashes(&self) -> &BTreeSet<Hash> {
        &self.hashes
    }

    fn version(&self) -> Option<&Version> {
        Some(&self.version)
    }

    fn release(&self) -> Cow<'_, str> {
        Cow::Owned(self.version.to_string())
    }

    fn is_same_release(&self, other: &Self) -> bool {
        self.version == other.version
    }

    /// Unites the terms of the constraints, except for terms of the base that one side removed.
    fn merge_same_release(
        base: Option<&Self>,
        ours: &Self,
        theirs: &Self,
        hashes: BTreeSet<Hash>,
    ) -> Result<Self, ConflictReason> {
        let before = base.map_or(&[][..], |base| base.constraints.terms());
        let terms = merge_sets(before, ours.constraints.terms(), theirs.constraints.terms());
        let constraints = terms.into_iter().cloned().collect();
        Ok(Self {
            version: ours.version.clone(),
            constraints,
            hashes,
        })
    }

    fn name(address: &ProviderAddress, dialect: Dialect) -> String {
        address.short(dialect)
    }

    fn label_name(label: &str) -> Cow<'_, str> {
        Cow::Borrowed(label)
    }

    fn header(dialect: Dialect) -> [&'static str; 2] {
        [
            header_first_line(dialect),
            "# Manual edits may be lost in future updates.",
        ]
    }

    fn remedy() -> Remedy {
        Remedy::lock()
    }

    fn read_address(
        label: &Text<'_>,
        dialect: Dialect,
        problems: &mut Problems,
    ) -> Option<ProviderAddress> {
        match ProviderAddress::parse_canonical(&label.value, dialect) {
            Ok(address) => Some(address),
            Err(error) => {
                let message = format!("provider {:?}: {error}", label.value);
                match &error {
                    AddressError::NotCanonical(canonical) => {
                        problems.report_other_address(label, message, canonical);
                    }
                    _ => problems.report_syntax_error(label.span.clone(), message),
                }
                None
            }
        }
    }

    fn read_values(
        name: &str,
        [version, constraints, ..]: PerAttribute<Text<'_>>,
        hashes: BTreeSet<Hash>,
        problems: &mut Problems,
    ) -> Option<Self> {
        // The problems of both values are reported before the entry is refused.
        let version_number = version.and_then(|text| problems.read_version(text, name));
        let constraint_list =
            constraints.and_then(|text| problems.read_constraints(text, name, str::parse));
        Some(Self {
            version: version_number?,
            constraints: constraint_list.unwrap_or_default(),
            hashes,
        })
    }
}

/// The first line of the header.
fn header_first_line(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Tofu => "# This file is maintained automatically by \"tofu init\".",
        Dialect::Terraform => "# This file is maintained automatically by \"terraform init\".",
    }
}

/// Detects the tool that wrote a lock file: by the default registry in its entries, or else by its
/// header.
///
/// Reads line by line, so that even a file that cannot be parsed has a dialect.
pub fn detect_dialect(bytes: &[u8]) -> Option<Dialect> {
    let text = without_block_comments(bytes);
    let labels: Vec<_> = provider_labels(&text).collect();
    let of_entries = Dialect::only_one_where(|dialect| {
        labels
            .iter()
            .any(|label| host(label) == dialect.default_host_name())
    });
    if of_entries.is_some() {
        return of_entries;
    }
    lines_with(&text, "# This file is maintained").find_map(|line| header_dialect(&line))
}

/// The providers that blocks of lock files name. Reads as [`detect_dialect`] does, so that a file
/// names them also while it has conflict markers or an entry twice.
pub(crate) fn named_providers(files: Vec<&[u8]>) -> BTreeSet<ProviderAddress> {
    let labels_of_files = parallel::map(files, parallel::cores(), |bytes| {
        provider_labels(&without_block_comments(bytes)).collect::<Vec<_>>()
    });
    let labels: HashSet<String> = labels_of_files.into_iter().flatten().collect();
    let mut providers = BTreeSet::new();
    for label in labels {
        // Terraform allows underscores in namespaces, too.
        if let Ok(address) = ProviderAddress::parse(&label, Dialect::Terraform) {
            providers.insert(address);
        }
    }
    providers
}

/// Replaces block comments by spaces, because their lines may look like an entry.
fn without_block_comments(bytes: &[u8]) -> Cow<'_, [u8]> {
    if memmem::find(bytes, b"/*").is_none() {
        return bytes.into();
    }
    let mut text = bytes.to_vec();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let mut skipped = skip_comment(bytes, at);
        // A `/*` in a string starts no comment.
        if skipped.is_none() && *byte == b'"' {
            skipped = skip_nested(bytes, at);
        }
        let end = match skipped {
            Some(Ok(end)) => end,
            Some(Err(_)) => bytes.len(),
            None => at + 1,
        };
        if bytes[at..].starts_with(b"/*") {
            replace_by_spaces(&mut text[at..end]);
        }
        at = end;
    }
    text.into()
}

/// The labels of `provider` blocks.
fn provider_labels(bytes: &[u8]) -> impl Iterator<Item = String> {
    let lines = lines_with(bytes, "provider");
    lines.filter_map(|line| {
        Some(
            line.strip_prefix("provider")?
                .trim_start()
                .strip_prefix('"')?
                .split('"')
                .next()?
                .into(),
        )
    })
}

fn host(label: &str) -> &str {
    label.split_once('/').map_or("", |(host, _)| host)
}

/// The lines that begin with a word, which few do, without the white space before it.
fn lines_with<'a>(bytes: &'a [u8], word: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    memmem::find_iter(bytes, word).filter_map(|at| {
        let before = bytes[..at].trim_ascii_end();
        let is_first =
            matches!(before, b"" | BYTE_ORDER_MARK) || bytes[before.len()..at].contains(&b'\n');
        is_first.then(|| {
            String::from_utf8_lossy(
                bytes[at..]
                    .split(|byte| *byte == b'\n')
                    .next()
                    .unwrap_or_default(),
            )
        })
    })
}

/// Returns the tool in a line of the header.
fn header_dialect(line: &str) -> Option<Dialect> {
    let line = line.trim_end();
    [Dialect::Tofu, Dialect::Terraform]
        .into_iter()
        .find(|dialect| line == header_first_line(*dialect))
}
