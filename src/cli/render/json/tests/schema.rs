//! The schema of every command's output, and of the library's types in it.

use std::borrow::Cow;

use clap::CommandFactory as _;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use crate::cli::commands::Cli;
use crate::cli::render::json::counts::Counts;
use crate::cli::render::json::diagnostic::{Finding, ListedFinding, Notice};
use crate::cli::render::json::mirror::Mirror;
use crate::cli::render::json::output::SCHEMA;
use crate::cli::render::json::reports::{Explanation, PublishedFacts, SettingsFile};
use crate::cli::render::json::root::{
    ComparedRoot, FailedRoot, InstalledRoot, LockedRoot, PinnedRoot, RepairedRoot, VerifiedRoot,
};
use crate::cli::render::json::run::Run;
use crate::cli::render::json::tree::{ProviderUse, TreeRoot};
use crate::cli::render::json::values::AsText;

/// Every command prints one object on stdout. The number in `schema` increases when a field is
/// removed or changes its meaning; new fields do not increase it.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Output of provlock --json", deny_unknown_fields)]
struct AnyOutput<'a> {
    #[schemars(extend("const" = SCHEMA))]
    schema: u32,
    #[schemars(with = "CommandName")]
    command: String,
    /// `explain`: the meanings of codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    explanations: Vec<Explanation>,
    /// `init`: the settings file.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<SettingsFile<'a>>,
    /// `mirror`: the mirror.
    #[serde(skip_serializing_if = "Option::is_none")]
    mirror: Option<Mirror<'a>>,
    /// `cache push`: the published facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<PublishedFacts<'a>>,
    /// `verify`: facts about the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run<'a>>,
    roots: Vec<Root<'a>>,
    /// `tree --recursive`: the locked versions, with their root modules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    providers: Vec<ProviderUse<'a>>,
    /// `verify`: numbers of root modules that were checked and not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
    /// `verify`: findings about no single root module.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Finding<'a>>,
    /// `verify`: all findings in one list, the ones about no single root module first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    all_findings: Vec<ListedFinding<'a>>,
    warnings: Vec<Notice>,
    errors: Vec<Notice>,
}

impl<T> JsonSchema for AsText<T> {
    fn inline_schema() -> bool {
        String::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        String::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// The command that printed the result.
struct CommandName;

impl JsonSchema for CommandName {
    fn schema_name() -> Cow<'static, str> {
        "command".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let command = Cli::command();
        let names: Vec<_> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        json_schema!({
            "description": "The command that printed the result.",
            "oneOf": [
                { "type": "string", "enum": names },
                { "type": "string", "const": "provlock", "description": "The command line contains no command." },
            ],
        })
    }
}

/// A root module or a lock file.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "any_root")]
#[expect(dead_code, reason = "stands for the roots of each command")]
enum Root<'a> {
    Locked(LockedRoot<'a>),
    Verified(VerifiedRoot<'a>),
    Compared(ComparedRoot<'a>),
    Failed(FailedRoot<'a>),
    Tree(TreeRoot<'a>),
    Installed(InstalledRoot<'a>),
    Pinned(PinnedRoot<'a>),
    Repaired(RepairedRoot<'a>),
}

/// The tool that a lock file is for.
#[derive(JsonSchema)]
#[schemars(rename = "dialect", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
pub(in crate::cli::render::json) enum Dialect {
    Tofu,
    Terraform,
}

/// The severity of a finding.
#[derive(JsonSchema)]
#[schemars(rename = "severity", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
pub(in crate::cli::render::json) enum Severity {
    Error,
    Warning,
    Note,
}

/// Change of a package, or forecast.
#[derive(JsonSchema)]
#[schemars(rename = "mirror_action", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
pub(in crate::cli::render::json) enum MirrorAction {
    /// The package was in the mirror before, and a lock file records it.
    Kept,
    /// The package was not in the mirror.
    Added,
    /// A file that no lock file records was in its place.
    Replaced,
}

/// Change of an entry.
#[derive(JsonSchema)]
#[schemars(rename = "action", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
pub(crate) enum Action {
    Added,
    Changed,
    Removed,
    Unchanged,
}

/// Direction and size of a version change.
#[derive(JsonSchema)]
#[schemars(rename = "version_change", deny_unknown_fields)]
#[expect(dead_code, reason = "stands for the library's type")]
pub(in crate::cli::render::json) struct VersionChange {
    direction: Direction,
    /// The first number that differs; patch also for a prerelease or build metadata.
    step: Step,
}

/// Direction of a version change.
#[derive(JsonSchema)]
#[schemars(rename = "direction", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
enum Direction {
    Upgrade,
    Downgrade,
}

/// Size of a version change.
#[derive(JsonSchema)]
#[schemars(rename = "step", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
enum Step {
    Major,
    Minor,
    Patch,
}

pub(crate) fn schema() -> Schema {
    /// Joins the lines of a comment.
    fn join_lines(schema: &mut Schema) {
        if let Some(Value::String(description)) = schema.get_mut("description") {
            *description = description.replace('\n', " ");
        }
    }
    /// Fields that may be omitted are never null.
    fn without_null(schema: &mut Schema) {
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required = |name: &str| {
            required
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one == name))
        };
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
            return;
        };
        let properties = properties.iter_mut().filter(|(name, _)| !is_required(name));
        for property in properties.filter_map(|(_, property)| property.as_object_mut()) {
            if let Some(Value::Array(kinds)) = property.remove("anyOf") {
                property.extend(kinds[0].as_object().cloned().unwrap_or_default());
            }
            if let Some(Value::Array(types)) = property.get_mut("type") {
                let first = types[0].clone();
                property.insert("type".to_owned(), first);
            }
        }
    }
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(join_lines))
        .with_transform(RecursiveTransform(without_null))
        .into_generator()
        .into_root_schema_for::<AnyOutput>()
}

/// Number of findings that are not reported.
#[derive(JsonSchema)]
#[schemars(rename = "suppressed", deny_unknown_fields)]
#[expect(dead_code, reason = "stands for the library's type")]
pub(in crate::cli::render::json) struct Suppressed {
    /// Number of findings that the settings or --allow suppress.
    allowed: usize,
    /// Number of findings that comments in the lock file suppress.
    ignored: usize,
    /// Findings that the commit of --base also has, with --new.
    base: usize,
}
