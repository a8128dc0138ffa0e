//! Providers that the state of a root module requires. `init` installs them in addition to the
//! configuration's.
//!
//! A state may contain secrets: only the addresses of its providers leave this module, and errors
//! name a line and a column, never a text. It may also be hostile: its size, its depth (by
//! `serde_json`) and the number of files have limits.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Formatter};
use std::io::{self, ErrorKind};
use std::iter;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::file::{Backend, StatePaths};
use super::requirement::{Declaration, DeclarationKind, Requirements, StateKnowledge};
use crate::diagnostic::{Code, Diagnostic, Location, Message};
use crate::provider::{Dialect, Hostname, ProviderAddress};
use crate::system::Boundary;
use crate::system::bounded::List;
use crate::system::files::join;

/// Maximum size of all state files of a root module together.
const MAX_STATE_SIZE: u64 = 64 << 20;
/// Maximum size of the record of a backend in a data directory.
const MAX_RECORD_SIZE: u64 = 1 << 20;
/// Maximum number of entries that are listed beside a state file.
const MAX_ENTRIES_BESIDE: usize = 1_000;
/// Maximum number of workspaces of a root module.
const MAX_WORKSPACES: usize = 1_000;
/// Maximum number of resources in a state file.
const MAX_RESOURCES: usize = 500_000;
/// Maximum number of different provider configurations in a state file.
const MAX_PROVIDERS: usize = 1_000;
/// Name of the state file of a workspace.
const STATE_FILE: &str = "terraform.tfstate";
/// Version of the state format since Terraform 0.12.
const VERSION: u64 = 4;

/// Returns the providers of the resources in a state file; none if there is no file. `None` if they
/// are not all known: it is encrypted, of an older version, too large, or cannot be read.
pub(crate) fn providers_in_state(
    path: &Path,
    boundary: &Boundary,
) -> Option<BTreeSet<ProviderAddress>> {
    let mut state = State::default();
    let mut bytes_left = MAX_STATE_SIZE;
    state.add_file(path, boundary, &mut bytes_left);
    match state.knowledge {
        StateKnowledge::Absent | StateKnowledge::Read => {
            Some(state.providers.into_keys().collect())
        }
        StateKnowledge::Unknown(_) | StateKnowledge::Unreadable(_) => None,
    }
}

/// The state of a root module, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Providers of the resources, each with the first state file that has one.
    providers: BTreeMap<ProviderAddress, PathBuf>,
    /// Providers of state files that the backend does not use, each with the first such file.
    unused: BTreeMap<ProviderAddress, PathBuf>,
    knowledge: StateKnowledge,
    warnings: Vec<Diagnostic>,
}

impl State {
    /// A state that is unknown for a reason.
    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self {
            knowledge: StateKnowledge::Unknown(reason.into()),
            ..Self::default()
        }
    }

    /// Reads the state files of a root module, given as the user knows it: of all workspaces,
    /// because any of them may be selected. `init` records the backend in `data_directory`, which
    /// is relative to the root module or absolute.
    pub(crate) fn read(
        root: &Path,
        data_directory: &Path,
        backend: Option<&Backend>,
        boundary: &Boundary,
    ) -> Self {
        let mut state = match backend {
            None => Self::of_paths(root, &StatePaths::default(), boundary),
            Some(Backend::Local(Some(paths))) => Self::of_paths(root, paths, boundary),
            Some(Backend::Local(None)) => Self::at_unknown_path(),
            Some(Backend::Remote(name)) => {
                Self::unknown(format!("{name} keeps the state elsewhere"))
            }
        };
        let used_path = match backend {
            None => StatePaths::default().state,
            Some(Backend::Local(Some(paths))) => paths.state.clone(),
            Some(Backend::Local(None) | Backend::Remote(_)) => return state,
        };

        // `init` offers to copy the state that the backend had before.
        let mut bytes_left = MAX_STATE_SIZE;
        let mut unused = Self::default();
        for path in unused_files(root, data_directory, &used_path, boundary) {
            unused.add_file(&path, boundary, &mut bytes_left);
        }
        state.unused = unused.providers;
        state
    }

    /// The state of a local backend whose path is an expression.
    fn at_unknown_path() -> Self {
        let reason = "the path of the local backend is an expression";
        let warning = Diagnostic::warning(
            Code::StateNotRead,
            format!("the state was not read: {reason}"),
        );
        let warning = warning
            .help("init installs the providers that it needs; check that the lock file has them");
        Self {
            warnings: vec![warning],
            ..Self::unknown(reason)
        }
    }

    /// Reads the state files of a local backend.
    fn of_paths(root: &Path, paths: &StatePaths, boundary: &Boundary) -> Self {
        let own = join(root, &paths.state);
        let workspaces = join(root, &paths.workspaces);
        let mut state = Self::default();
        let others = workspace_files(&workspaces, boundary).unwrap_or_else(|error| {
            state.warn_not_read(&workspaces, &error.to_string());
            Vec::new()
        });
        if others.len() > MAX_WORKSPACES {
            state.warn_not_read(
                &workspaces,
                &format!("there are more than {MAX_WORKSPACES}"),
            );
        }
        let mut bytes_left = MAX_STATE_SIZE;
        for path in iter::once(&own).chain(others.iter().take(MAX_WORKSPACES)) {
            state.add_file(path, boundary, &mut bytes_left);
        }
        state
    }

    /// Adds the requirements of a state file, if it exists. `bytes_left` is how many bytes state
    /// files may have from here on.
    fn add_file(&mut self, path: &Path, boundary: &Boundary, bytes_left: &mut u64) {
        // Most root modules have no state, and `is_outside` follows links, which takes ten times as
        // long.
        if boundary.tree().is_missing(path) {
            return;
        }
        if boundary.is_outside(path) {
            return self.note_unreadable(format!("{} leads out of the repository", path.display()));
        }
        let bytes = match boundary.tree().read(path, MAX_STATE_SIZE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => return self.warn_not_read(path, &error.to_string()),
        };
        let Some(rest) = bytes_left.checked_sub(bytes.len() as u64) else {
            let limit = MAX_STATE_SIZE >> 20;
            return self.warn_not_read(
                path,
                &format!("the state files together are larger than {limit} MiB"),
            );
        };
        *bytes_left = rest;
        let contents = match Contents::parse(&bytes) {
            Ok(contents) => contents,
            Err(problem) => return self.warn_not_read(path, &problem),
        };
        self.add_knowledge(StateKnowledge::Read);
        self.add_providers(path, contents, bytes.is_empty());
    }

    /// Adds the providers of a state file. If they are not all known, notes the reason instead.
    fn add_providers(&mut self, path: &Path, contents: Contents, is_empty: bool) {
        // Terraform ignores this member, and reads the resources beside it.
        if contents.encrypted_data.is_some() {
            self.note_unreadable(format!("{} is encrypted", path.display()));
            if contents.resources.is_none() {
                return;
            }
        }
        match contents {
            Contents {
                version: Some(VERSION),
                ..
            } => {}
            _ if is_empty => {}
            Contents {
                version: Some(version),
                ..
            } => {
                let reason = format!("{} has version {version} of the format", path.display());
                return self.note_unreadable(reason);
            }
            Contents { version: None, .. } => return self.warn_not_read(path, "it is not a state"),
        }
        let resources = contents
            .resources
            .into_iter()
            .flat_map(|resources| resources.0);
        let providers: BTreeSet<_> = resources.map(|resource| resource.provider).collect();
        if providers.len() > MAX_PROVIDERS {
            return self.warn_not_read(path, "it has too many providers");
        }
        for text in providers {
            match provider_of(&text) {
                Some(address) => {
                    self.providers
                        .entry(address)
                        .or_insert_with(|| path.to_owned());
                }
                None if is_older_form(&text) => {
                    self.note_unreadable(format!(
                        "{} refers to providers in an older form",
                        path.display()
                    ));
                }
                None => return self.warn_not_read(path, "it has a provider in an unusual form"),
            }
        }
    }

    fn note_unreadable(&mut self, reason: String) {
        self.add_knowledge(StateKnowledge::Unreadable(reason));
    }

    fn add_knowledge(&mut self, of_more: StateKnowledge) {
        let before = std::mem::take(&mut self.knowledge);
        self.knowledge = before.with(of_more);
    }

    /// Warns that a state file was not read, so that its providers are unknown.
    fn warn_not_read(&mut self, path: &Path, why: &str) {
        self.note_unreadable(format!("{} was not read", path.display()));
        let message = Message::naming(path, |path| {
            format!("the state in {path} was not read: {why}")
        });
        let warning = Diagnostic::warning(Code::StateNotRead, message)
            .at_location(Location::of_file(path))
            .help("init installs the providers that it needs; check that the lock file has them");
        self.warnings.push(warning);
    }
}

impl Requirements {
    /// Adds the providers that the state needs and the configuration does not require.
    pub(crate) fn with_state(mut self, state: State, root: &Path, dialect: Dialect) -> Self {
        let of_configuration: BTreeSet<_> = self.providers.keys().cloned().collect();
        for (address, path) in state.providers {
            let address = at_registry_of(dialect, address, &of_configuration);
            if of_configuration.contains(&address) {
                continue;
            }
            let requirements = if address.is_never_locked() {
                &mut self.never_locked
            } else {
                &mut self.providers
            };
            let requirement = requirements.entry(address).or_default();
            let declaration = Declaration::new(DeclarationKind::State, Location::of_file(path));
            requirement.declarations.push(Declaration {
                module: root.to_owned(),
                ..declaration
            });
            requirement.is_certain = true;
        }
        for (address, path) in state.unused {
            let address = at_registry_of(dialect, address, &of_configuration);
            self.unused_state.entry(address).or_insert(path);
        }
        self.warnings.extend(state.warnings);
        self.state = self.state.with(state.knowledge);
        self
    }
}

/// Returns the provider that `init` installs for a state's provider. OpenTofu replaces Terraform's
/// registry by its own, unless the configuration requires them (`internal/tofumigrate`).
fn at_registry_of(
    dialect: Dialect,
    address: ProviderAddress,
    of_configuration: &BTreeSet<ProviderAddress>,
) -> ProviderAddress {
    let is_of_terraform = address.hostname.is_default_of(Dialect::Terraform);
    if dialect == Dialect::Tofu && is_of_terraform && !of_configuration.contains(&address) {
        return address.at_host(Hostname::default_of(Dialect::Tofu));
    }
    address
}

/// Returns the existing state files that a local backend does not use: the default file, the file
/// of the backend that `init` recorded, and files beside `used`, the backend's path.
fn unused_files(
    root: &Path,
    data_directory: &Path,
    used: &Path,
    boundary: &Boundary,
) -> BTreeSet<PathBuf> {
    let tree = boundary.tree();
    let default = StatePaths::default().state;
    let mut paths = BTreeSet::from([join(root, &default)]);
    if let Some(recorded) =
        path_recorded_by_init(&join(root, data_directory).join(STATE_FILE), boundary)
    {
        paths.insert(join(root, &recorded));
    }
    // Most root modules have the default path, and listing their directories takes time.
    if used != default
        && let Some(directory) = join(root, used).parent()
    {
        paths.extend(state_files_in(directory, boundary));
    }
    paths.remove(&join(root, used));
    paths.retain(|path| !tree.is_missing(path));
    paths
}

/// Returns the paths of state files in a directory, among its first entries. Nothing outside of the
/// boundary is listed.
fn state_files_in(directory: &Path, boundary: &Boundary) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if boundary.is_outside(directory) {
        return paths;
    }
    let entries = boundary.tree().entries(directory).unwrap_or_default();
    for entry in entries.iter().take(MAX_ENTRIES_BESIDE) {
        let path = join(directory, Path::new(&entry.name));
        if path.extension().is_some_and(|end| end == "tfstate") {
            paths.push(path);
        }
    }
    paths
}

/// Returns the path of the local backend that `init` recorded in a data directory. `None` if the
/// record has the default path, a different backend, or an unusual form.
fn path_recorded_by_init(record: &Path, boundary: &Boundary) -> Option<PathBuf> {
    let tree = boundary.tree();
    if tree.is_missing(record) || boundary.is_outside(record) {
        return None;
    }
    let bytes = tree.read(record, MAX_RECORD_SIZE).ok()?;
    let record: BackendRecord = serde_json::from_slice(&bytes).ok()?;
    let backend = record.backend?;
    if backend.kind != "local" {
        return None;
    }
    backend.config?.path
}

/// Returns the paths of the state files of workspaces, one more than are read if there are too
/// many.
fn workspace_files(directory: &Path, boundary: &Boundary) -> io::Result<Vec<PathBuf>> {
    let tree = boundary.tree();
    if tree.is_missing(directory) || boundary.is_outside(directory) {
        return Ok(Vec::new());
    }
    let entries = match tree.entries(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries.into_iter().take(MAX_WORKSPACES + 1) {
        files.push(directory.join(entry.name).join(STATE_FILE));
    }
    files.sort();
    Ok(files)
}

/// The provider in `module.network.provider["registry.opentofu.org/hashicorp/aws"].east`; `None`
/// for the forms before Terraform 0.13, such as `provider.aws`.
fn provider_of(text: &str) -> Option<ProviderAddress> {
    const START: &str = "provider[\"";
    let start = text
        .rfind(START)
        .filter(|start| *start == 0 || text[..*start].ends_with('.'))?;
    let (address, alias) = text[start + START.len()..].split_once("\"]")?;
    if !(alias.is_empty() || alias.starts_with('.')) {
        return None;
    }
    ProviderAddress::parse(address, Dialect::Terraform)
        .ok()
        .filter(|address| address.namespace != "-")
}

/// Whether a provider is in a form of Terraform before 0.13, which has no namespace.
fn is_older_form(text: &str) -> bool {
    let is_legacy = text.contains("/-/");
    is_legacy
        || (text.split('.').any(|part| part == "provider") && !text.contains(['[', '"', ' ', '\\']))
}

/// The members of a state that matter.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Contents {
    version: Option<u64>,
    encrypted_data: Option<IgnoredAny>,
    resources: Option<List<Resource, MAX_RESOURCES>>,
}

#[derive(Deserialize)]
struct Resource {
    provider: String,
}

/// The members of the record of a backend that matter.
#[derive(Deserialize)]
struct BackendRecord {
    backend: Option<BackendOfInit>,
}

#[derive(Deserialize)]
struct BackendOfInit {
    #[serde(rename = "type")]
    kind: String,
    config: Option<PathsOfInit>,
}

#[derive(Deserialize)]
struct PathsOfInit {
    path: Option<PathBuf>,
}

impl Contents {
    /// Parses a state file. The error says where it is not a state, in a form that quotes no value.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        // OpenTofu and Terraform leave an empty file where a command was interrupted.
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        // The message of serde_json may quote a value.
        parse(bytes).map_err(|error| {
            let line = error.line();
            let column = error.column();
            format!("it is not a state, at line {line}, column {column}")
        })
    }
}

/// Parses a state. Go reads the names of members in any case, so a relevant name in another case is
/// an error.
fn parse(bytes: &[u8]) -> serde_json::Result<Contents> {
    let contents = serde_json::from_slice(bytes)?;
    let mut names = serde_json::Deserializer::from_slice(bytes);
    MemberNames { of_state: true }.deserialize(&mut names)?;
    Ok(contents)
}

/// Checks the names of the members of a state, or of a resource.
#[derive(Clone, Copy)]
struct MemberNames {
    of_state: bool,
}

impl<'de> DeserializeSeed<'de> for MemberNames {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MemberNames {
    type Value = ();

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            // The upper case of some letters outside ASCII is in ASCII.
            let folded = name.to_uppercase().to_lowercase();
            if folded != *name && ["version", "resources", "provider"].contains(&&*folded) {
                return Err(A::Error::custom("a name in another case"));
            } else if self.of_state && folded == "resources" {
                members.next_value_seed(Self { of_state: false })?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut resources: A) -> Result<(), A::Error> {
        while resources.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn providers_are_read_from_configurations_with_modules_and_aliases() {
        for (text, provider) in [
            (
                r#"provider["registry.terraform.io/hashicorp/aws"]"#,
                Some("registry.terraform.io/hashicorp/aws"),
            ),
            (
                r#"provider["example.com/acme/two"].east"#,
                Some("example.com/acme/two"),
            ),
            (
                r#"module.a.module.b.provider["example.com/acme/two"]"#,
                Some("example.com/acme/two"),
            ),
            (
                r#"provider["terraform.io/builtin/terraform"]"#,
                Some("terraform.io/builtin/terraform"),
            ),
            (r#"provider["registry.terraform.io/-/aws"]"#, None),
            (
                r#"provider["hashicorp/aws"]"#,
                Some("registry.terraform.io/hashicorp/aws"),
            ),
            (
                r#"provider["aws"]"#,
                Some("registry.terraform.io/hashicorp/aws"),
            ),
            (r#"provider["a/b/c"]x"#, None),
            (r#"xprovider["example.com/acme/two"]"#, None),
            ("provider.aws", None),
            ("", None),
        ] {
            assert_eq!(
                provider_of(text)
                    .map(|address| address.to_string())
                    .as_deref(),
                provider,
                "{text}"
            );
        }
    }

    #[test]
    fn members_in_another_case_are_not_overlooked() {
        let resource = r#"{"provider": "provider[\"acme/two\"]"}"#;
        let read = |text: &str| {
            parse(text.as_bytes())
                .map(|contents| contents.resources.map_or(0, |found| found.0.len()))
        };
        assert_eq!(
            read(&format!(
                r#"{{"version": 4, "resources": [{resource}], "outputs": {{"Version": 1}}}}"#
            ))
            .unwrap(),
            1
        );
        assert_eq!(read(r#"{"version": 4, "resources": null}"#).unwrap(), 0);
        for name in ["Resources", "re\u{17f}ources"] {
            assert!(
                read(&format!(r#"{{"version": 4, "{name}": [{resource}]}}"#)).is_err(),
                "{name}"
            );
        }
        assert!(
            read(&format!(
                r#"{{"version": 3, "Version": 4, "resources": [{resource}]}}"#
            ))
            .is_err()
        );
        assert!(read(r#"{"version": 4, "resources": [{"provider": "provider[\"a/b\"]", "Provider": ""}]}"#).is_err());
    }

    #[test]
    fn a_hostile_state_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(STATE_FILE);
        let deep = format!(
            r#"{{"version": 4, "resources": [], "outputs": {}"#,
            "[".repeat(100_000)
        );
        let many = (0..2000)
            .map(|number| format!(r#"{{"provider": "provider.a{number}"}}"#))
            .collect::<Vec<_>>();
        let many = format!(r#"{{"version": 4, "resources": [{}]}}"#, many.join(","));
        for text in [
            &deep,
            &many,
            "4",
            "[]",
            r#"{"version": "hunter2"}"#,
            r#"{"version": 4, "version": 4}"#,
            "{}",
        ] {
            fs::write(&path, text).unwrap();
            let state = State::read(
                directory.path(),
                Path::new(".terraform"),
                None,
                &Boundary::default(),
            );
            assert!(
                matches!(state.knowledge, StateKnowledge::Unreadable(_))
                    && state.providers.is_empty(),
                "{text:.80}"
            );
            assert_eq!(state.warnings.len(), 1, "{text:.80}");
            assert!(!format!("{:?}", state.warnings).contains("hunter2"));
        }
    }
    #[test]
    fn more_workspaces_than_are_read_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let workspace = |number: usize| root.join(format!("terraform.tfstate.d/w{number}"));
        (0..=MAX_WORKSPACES).for_each(|number| fs::create_dir_all(workspace(number)).unwrap());
        let text =
            r#"{"version": 4, "resources": [{"provider": "provider[\"example.com/acme/two\"]"}]}"#;
        fs::write(root.join(STATE_FILE), text).unwrap();
        let state = State::read(root, Path::new(".terraform"), None, &Boundary::default());
        assert!(
            matches!(state.knowledge, StateKnowledge::Unreadable(_)) && state.providers.len() == 1
        );
        assert!(
            state.warnings[0]
                .message
                .ends_with("there are more than 1000"),
            "{:?}",
            state.warnings
        );

        fs::remove_dir(workspace(0)).unwrap();
        let state = State::read(root, Path::new(".terraform"), None, &Boundary::default());
        assert_eq!(
            (state.knowledge, state.warnings.len()),
            (StateKnowledge::Read, 0)
        );
    }
}
