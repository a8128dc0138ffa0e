//! The schema of what every command prints, and of what the library writes in it.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};

use super::Output;

/// The tool that a lock file is for.
#[derive(JsonSchema)]
#[schemars(rename = "dialect", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
pub(super) enum Dialect {
    Tofu,
    Terraform,
}

/// How much a finding weighs.
#[derive(JsonSchema)]
#[schemars(rename = "severity", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
pub(super) enum Severity {
    Error,
    Warning,
    Note,
}

/// What happened to a package, or would happen.
#[derive(JsonSchema)]
#[schemars(rename = "mirror_action", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
pub(super) enum MirrorAction {
    /// It was there, and a lock file records it.
    Kept,
    /// It was not there.
    Added,
    /// Something that no lock file records was in its place.
    Replaced,
}

/// What happened to an entry.
#[derive(JsonSchema)]
#[schemars(rename = "action", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
pub(crate) enum Action {
    Added,
    Changed,
    Removed,
    Unchanged,
}

/// Which way and how far a version moved.
#[derive(JsonSchema)]
#[schemars(rename = "version_change", deny_unknown_fields)]
#[expect(dead_code, reason = "stands for the library's type")]
pub(super) struct VersionChange {
    direction: Direction,
    /// The first number that differs; patch also for a prerelease or build metadata.
    step: Step,
}

/// Which way a version moved.
#[derive(JsonSchema)]
#[schemars(rename = "direction", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
enum Direction {
    Upgrade,
    Downgrade,
}

/// How far a version moved.
#[derive(JsonSchema)]
#[schemars(rename = "step", rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the library's type")]
enum Step {
    Major,
    Minor,
    Patch,
}

pub(crate) fn schema() -> Schema {
    /// Puts the lines of a comment after one another.
    fn join_lines(schema: &mut Schema) {
        if let Some(serde_json::Value::String(description)) = schema.get_mut("description") {
            *description = description.replace('\n', " ");
        }
    }
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.with_transform(RecursiveTransform(join_lines)).into_generator().into_root_schema_for::<Output>()
}
