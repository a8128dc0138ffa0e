//! The place of the state of a root module, as a block of its configuration or of Terragrunt
//! specifies it. The state decides on providers, too: `init` installs the providers of its
//! resources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::file_reads::FileReads;
use super::syntax::{Block, BlockSchema, JsonStrings, Schema};
use super::terragrunt::is_readonly;
use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::value::{Members, Piece, Unknown, Value};

/// Arguments that select a state in a store, or the user who reads it. All other arguments select
/// the store.
const SELECTORS: [&str; 34] = [
    "key",
    "path",
    "prefix",
    "schema_name",
    "secret_suffix",
    "workspace_dir",
    "workspace_key_prefix",
    "workspaces",
    // Credentials. The names of buckets and storage accounts are the same for all users.
    "access_key",
    "assume_role",
    "assume_role_with_web_identity",
    "client_id",
    "client_secret",
    "credentials",
    "encryption_key",
    "external_id",
    "impersonate_service_account",
    "oidc_token",
    "password",
    "profile",
    "role_arn",
    "sas_token",
    "secret_key",
    "session_name",
    "shared_config_files",
    "shared_credentials_file",
    "shared_credentials_files",
    "sse_customer_key",
    "subscription_id",
    "tenant_id",
    "token",
    "use_azuread_auth",
    "use_msi",
    "use_oidc",
];
/// Arguments about locks, encryption, checks and retries, which do not decide where a state is.
const IRRELEVANT: [&str; 22] = [
    "acl",
    "bucket_sse_algorithm",
    "dynamodb_table",
    "encrypt",
    "force_path_style",
    "kms_encryption_key",
    "kms_key_id",
    "lock",
    "lock_method",
    "lock_table",
    "max_retries",
    "retry_max",
    "retry_wait_max",
    "retry_wait_min",
    "skip_credentials_validation",
    "skip_metadata_api_check",
    "skip_region_validation",
    "skip_requesting_account_id",
    "skip_s3_checksum",
    "unlock_method",
    "use_lockfile",
    "use_path_style",
];
/// Arguments by which a file is known as one with arguments of a backend.
pub(crate) const STORES: [&str; 10] = [
    "address",
    "bucket",
    "conn_str",
    "container_name",
    "dynamodb_table",
    "hostname",
    "organization",
    "resource_group_name",
    "storage_account_name",
    "workspaces",
];
/// Arguments that messages show.
const SHOWN: [&str; 15] = [
    "bucket",
    "container_name",
    "hostname",
    "key",
    "namespace",
    "organization",
    "path",
    "prefix",
    "region",
    "repo",
    "resource_group_name",
    "secret_suffix",
    "storage_account_name",
    "workspace_key_prefix",
    "project",
];
/// Name under which the arguments of Terragrunt for `init` are compared.
const ARGUMENTS_OF_INIT: &str = "extra_arguments";
/// Argument of `init` that keeps it from changing the lock file.
const READONLY: &str = "-lockfile=readonly";
/// Maximum size of a value that is compared, in bytes.
const MAX_WEIGHT: usize = 1 << 16;
/// Nested blocks of backends.
pub(super) const BLOCKS: [BlockSchema; 7] = [
    block("workspaces"),
    block("assume_role"),
    block("assume_role_with_web_identity"),
    block("endpoints"),
    block("encryption"),
    block("exec"),
    block("provider"),
];

/// Returns the files on which an unknown value depends.
pub(super) type ReadsOf<'a> = dyn Fn(&Unknown) -> FileReads + 'a;

/// Effect of an argument of a backend on the place of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageRole {
    /// It selects the store.
    Store,
    /// It selects a state in the store, or the user who reads it.
    Selector,
    Irrelevant,
}

/// The effect of the argument with this name.
pub(crate) fn role_in_storage(argument: &str) -> StorageRole {
    if IRRELEVANT.contains(&argument) {
        StorageRole::Irrelevant
    } else if SELECTORS.contains(&argument) {
        StorageRole::Selector
    } else {
        StorageRole::Store
    }
}

/// The block of a root module that specifies where its state is.
#[derive(Clone, Debug)]
pub(super) struct StorageBlock {
    /// Start of the block, such as `backend "s3"`.
    pub(super) name: String,
    /// Location of the block's type; `None` if it is malformed.
    pub(super) location: Option<Location>,
    /// The block; `None` if it is malformed.
    pub(super) block: Option<Block>,
}

/// The place of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateStorage {
    /// Start of the block, such as `backend "s3"`.
    pub(crate) name: String,
    /// Arguments by name, the parts of nested blocks included.
    pub(crate) arguments: BTreeMap<String, StorageArgument>,
    /// Location of the block.
    pub(crate) location: Option<Location>,
    /// Files on which unknown arguments depend.
    pub(crate) reads: FileReads,
    /// Variables of the root module on which arguments depend, known or not.
    pub(crate) variables: BTreeSet<String>,
}

/// Difference of the arguments that Terragrunt passes to `init`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitChange {
    /// No argument was added, except perhaps `-lockfile=readonly`.
    NoneAdded,
    /// Arguments that decide where the state is, or what is installed, were added or altered.
    Others,
}

/// An argument that decides where a state is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StorageArgument {
    /// Text that is equal for equal values, and for unknown values of equal origin.
    pub(super) identity: String,
    /// The value for messages, if it is known and no secret.
    shown: Option<String>,
}

impl StateStorage {
    /// The place that Terragrunt's `remote_state` specifies by its members.
    pub(super) fn of_remote_state(
        members: &Members,
        location: Option<Location>,
        reads_of: &ReadsOf<'_>,
    ) -> Self {
        let name = match members.get("backend").map(Value::as_string) {
            Some(Ok(backend)) => format!("backend {:?}", &*backend),
            _ => "backend".to_owned(),
        };
        let mut arguments = BTreeMap::new();
        let mut reads = FileReads::default();
        match members.get("config") {
            Some(Value::Object(config)) => {
                for (name, value) in &config.items {
                    add_reads(&mut reads, value, reads_of);
                    arguments.insert(name.clone(), StorageArgument::of_value(name, value));
                }
            }
            Some(config) => {
                add_reads(&mut reads, config, reads_of);
                let argument = StorageArgument::of_value("config", config);
                arguments.insert("config".to_owned(), argument);
            }
            None => {}
        }
        Self {
            name,
            arguments,
            location,
            reads,
            variables: BTreeSet::new(),
        }
    }

    /// The arguments that a file for `-backend-config` gives to a backend; `None` if it is no such
    /// file.
    pub(crate) fn of_arguments(path: &Path, bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8(bytes.to_vec()).ok()?;
        let file = SourceFile::new(path, text);
        let schema = Schema::with_any_attribute(&BLOCKS);
        let content = Block::of_file(&file).content(&schema).ok()?;
        // With other blocks it is a different kind of file.
        if content.other_block.is_some() {
            return None;
        }
        let mut storage = Self::default();
        for attribute in &content.attributes {
            let name = attribute.name.text.clone();
            // A file of arguments has no variables. In JSON, too, a string is taken as it is.
            let value = attribute.constant(JsonStrings::Literal).ok()?;
            let argument = StorageArgument::of_value(&name, &value);
            storage.arguments.insert(name, argument);
        }
        // Nested blocks are compared as they are written.
        for (kind, nested) in &content.blocks {
            let argument = StorageArgument::of_code(nested.as_ref().ok()?.code());
            storage.arguments.insert((*kind).to_owned(), argument);
        }
        Some(storage)
    }

    /// Whether it has an argument that selects a store, as only files with arguments of backends
    /// have.
    pub(crate) fn selects_store(&self) -> bool {
        STORES.iter().any(|name| self.arguments.contains_key(*name))
    }

    /// Whether a file has an argument that selects a store and that this backend lacks, so that
    /// `init` needs such a file.
    pub(crate) fn is_completed_by(&self, file: &Self) -> bool {
        let completes =
            |name: &str| !self.arguments.contains_key(name) && file.arguments.contains_key(name);
        stores_of(&self.name).iter().any(|name| completes(name))
    }

    /// The place of this backend with the arguments of a file, which replace its own.
    pub(crate) fn completed_by(&self, file: Self) -> Self {
        let mut completed = self.clone();
        completed.arguments.extend(file.arguments);
        completed
    }

    /// Whether all arguments are arguments of backends, and one selects a store.
    pub(crate) fn is_only_of_backend(&self) -> bool {
        self.selects_store() && self.arguments.keys().all(|name| is_of_backend(name))
    }

    /// Whether both have the same relevant arguments.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        differing_arguments(self, other).is_empty()
    }

    /// Whether the arguments select the same store, whatever block has them. Arguments that select
    /// a state in the store may differ.
    pub(crate) fn selects_same_store(&self, other: &Self) -> bool {
        let mut differences = differing_arguments(self, other).into_iter();
        differences.all(|name| SELECTORS.contains(&name))
    }

    /// Adds the arguments that Terragrunt gives to a block of the configuration, or the whole place
    /// if there is no such block.
    pub(crate) fn add_to(&self, storages: &mut Vec<Self>) {
        for storage in storages.iter_mut() {
            if storage.name == self.name || self.name.is_empty() {
                storage.arguments.extend(self.arguments.clone());
                storage.reads.add(self.reads.clone());
                return;
            }
        }
        storages.push(self.clone());
    }

    /// The same with arguments that Terragrunt passes to `init`.
    pub(super) fn with_arguments_of_init(
        mut self,
        arguments: &[&Value],
        reads_of: &ReadsOf<'_>,
    ) -> Self {
        let mut others = String::new();
        for value in arguments {
            if is_readonly(value) {
                let argument = StorageArgument::of_code(String::new());
                self.arguments.insert(READONLY.to_owned(), argument);
                continue;
            }
            add_reads(&mut self.reads, value, reads_of);
            others += &StorageArgument::of_value("", value).identity;
            others.push(' ');
        }
        if !others.is_empty() {
            let argument = StorageArgument::of_code(others);
            self.arguments
                .insert(ARGUMENTS_OF_INIT.to_owned(), argument);
        }
        self
    }

    /// The difference of the arguments that Terragrunt passes to `init`; `None` without one, or
    /// if others differ, too.
    pub(crate) fn change_of_init(&self, before: &Self) -> Option<InitChange> {
        let names = differing_arguments(self, before);
        let are_of_init = names
            .iter()
            .all(|name| [ARGUMENTS_OF_INIT, READONLY].contains(name));
        if self.name != before.name || names.is_empty() || !are_of_init {
            return None;
        }
        let is_added =
            names.contains(&ARGUMENTS_OF_INIT) && self.arguments.contains_key(ARGUMENTS_OF_INIT);
        Some(if is_added {
            InitChange::Others
        } else {
            InitChange::NoneAdded
        })
    }

    /// Whether both states are in the same store, perhaps under different keys.
    pub(crate) fn is_in_same_store(&self, other: &Self) -> bool {
        self.name == other.name
            && differing_arguments(self, other)
                .iter()
                .all(|name| SELECTORS.contains(name))
    }

    /// The differences to the most similar store of the same kind, as [`Self::changes_from`] shows
    /// them; `None` if there is none.
    pub(crate) fn changes_from_nearest(&self, known: &[Self]) -> Option<Vec<String>> {
        let mut nearest: Option<Vec<&str>> = None;
        let mut changes = None;
        for other in known {
            let mut names = differing_arguments(self, other);
            names.retain(|name| !SELECTORS.contains(name));
            let is_nearer = nearest
                .as_ref()
                .is_none_or(|least| names.len() < least.len());
            if self.name == other.name && is_nearer {
                changes = Some(self.changes_of(&names, other));
                nearest = Some(names);
            }
        }
        changes
    }

    /// The differences to a different place for a message, such as `bucket "a" → "b"`; empty if
    /// both are the same place.
    pub(crate) fn changes_from(&self, before: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if self.name != before.name {
            changes.push(match (&*before.name, &*self.name) {
                ("", name) => name.to_owned(),
                (old, "") => format!("no longer {old}"),
                (old, name) => format!("{old} → {name}"),
            });
        }
        changes.extend(self.changes_of(&differing_arguments(self, before), before));
        changes
    }

    /// The differences in these arguments.
    fn changes_of(&self, names: &[&str], before: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for name in names {
            let old = before.arguments.get(*name);
            let new = self.arguments.get(*name);
            changes.push(match (shown_value(old), shown_value(new)) {
                (Some(old), Some(new)) => format!("{name} {old:?} → {new:?}"),
                (None, Some(new)) if old.is_none() => format!("{name} {new:?}"),
                (Some(old), None) if new.is_none() => format!("{name} {old:?} → none"),
                _ => (*name).to_owned(),
            });
        }
        changes
    }
}

impl StorageArgument {
    pub(super) fn of_code(code: String) -> Self {
        Self {
            identity: code,
            shown: None,
        }
    }

    pub(super) fn of_value(name: &str, value: &Value) -> Self {
        let shown = match value.as_string() {
            Ok(text) if SHOWN.contains(&name) => Some(text.to_string()),
            _ => None,
        };
        let mut identity = String::new();
        // A value that was written to waste time is never equal to another one.
        if value.weight() > MAX_WEIGHT {
            identity = format!("{value:p}");
        } else {
            add_identity(&mut identity, value);
        }
        Self { identity, shown }
    }
}

/// Adds what the first unknown part of a value depends on. Relevant arguments are strings, which
/// rarely have several.
fn add_reads(reads: &mut FileReads, value: &Value, reads_of: &ReadsOf<'_>) {
    if let Some(unknown) = value.first_unknown() {
        reads.add(reads_of(unknown));
    }
}

/// Adds a text that is the same for equal values, wherever they are written. Unknown values have
/// the same text if they have the same expression.
fn add_identity(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(&value.to_string()),
        Value::Int(number) => text.push_str(&number.to_string()),
        Value::String(string) => _ = write!(text, "{string:?}"),
        Value::Partial(pieces) => add_pieces(text, pieces),
        Value::List(list) => {
            text.push('[');
            for item in &list.items {
                add_identity(text, item);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(object) => {
            text.push('{');
            for (name, member) in &object.items {
                _ = write!(text, "{name:?}=");
                add_identity(text, member);
                text.push(',');
            }
            text.push('}');
        }
        Value::Unknown(unknown) => add_unknown(text, unknown),
    }
}

fn add_pieces(text: &mut String, pieces: &[Piece]) {
    for piece in pieces {
        match piece {
            Piece::Text(part) => _ = write!(text, "{part:?}"),
            Piece::Hole(unknown) => add_unknown(text, unknown),
            Piece::Either(sides, unknown) => {
                add_unknown(text, unknown);
                for side in sides.iter() {
                    text.push('(');
                    add_pieces(text, side);
                    text.push(')');
                }
            }
            Piece::Withheld(secret, _) => _ = write!(text, "{secret:?}"),
        }
    }
}

fn add_unknown(text: &mut String, unknown: &Unknown) {
    _ = write!(text, "<{}", unknown.reason);
    if let Some(location) = &unknown.location {
        let span = location.span.clone();
        text.push_str(location.file.text.get(span).unwrap_or_default());
    }
    text.push('>');
}

/// The arguments that select the store of a block such as `backend "s3"` or `cloud`.
fn stores_of(block: &str) -> &'static [&'static str] {
    let kind = block.split('"').nth(1).unwrap_or(block);
    match kind {
        "s3" | "gcs" | "oss" | "cos" => &["bucket"],
        "http" | "consul" => &["address"],
        "pg" => &["conn_str"],
        "azurerm" => &[
            "container_name",
            "resource_group_name",
            "storage_account_name",
        ],
        "remote" | "cloud" => &["hostname", "organization", "workspaces"],
        // Others are known by a key or a path, which selects a state.
        _ => &[],
    }
}

/// Whether a backend has an argument of this name.
fn is_of_backend(name: &str) -> bool {
    let lists: [&[&str]; 4] = [&SELECTORS, &IRRELEVANT, &STORES, &SHOWN];
    lists.iter().any(|list| list.contains(&name)) || name == "region"
}

/// Names of the relevant arguments that differ.
fn differing_arguments<'a>(one: &'a StateStorage, other: &'a StateStorage) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (name, argument) in &one.arguments {
        let same = other.arguments.get(name);
        if same.is_none_or(|same| same.identity != argument.identity) {
            names.push(name.as_str());
        }
    }
    for name in other.arguments.keys() {
        if !one.arguments.contains_key(name) {
            names.push(name);
        }
    }
    names.retain(|name| !IRRELEVANT.contains(name));
    names
}

fn shown_value(argument: Option<&StorageArgument>) -> Option<&str> {
    argument?.shown.as_deref()
}

const fn block(kind: &'static str) -> BlockSchema {
    BlockSchema { kind, labels: &[] }
}
