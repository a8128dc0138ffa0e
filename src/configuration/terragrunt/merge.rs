//! A configuration, and how an included file is merged with the file that includes it
//! (`pkg/config/include.go`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::extra_arguments::InitArguments;
use crate::diagnostic::Location;
use crate::hcl::evaluate::value::{Stop, Unknown, Value};

/// The attributes of a block.
pub(super) type Members = BTreeMap<String, Value>;

/// A block without the blocks in it.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub members: Members,
    /// Location of its `source`, or else of its type.
    pub location: Option<Location>,
}

/// The parts of a configuration on which requirements depend.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    pub terraform: Option<Block>,
    /// By label.
    pub generate: BTreeMap<String, Block>,
    pub remote_state: Option<Block>,
    /// `terraform_binary`.
    pub program: Option<Value>,
    /// Whether `download_dir` sets a directory for working directories.
    pub has_download_directory: bool,
    /// Locals of this file alone, because they are never merged.
    pub locals: Value,
    pub inputs: Option<Value>,
    /// Whether Terragrunt may pass flags with values of variables.
    pub may_pass_flags: bool,
    /// Arguments that decide what `init` installs.
    pub init_arguments: InitArguments,
    /// Reasons why the configuration may contain more.
    pub unknown: Vec<Arc<Unknown>>,
    /// Files that certainly cannot be included, so that Terragrunt refuses the unit.
    pub refused_includes: Vec<RefusedInclude>,
    /// Whether it refers to values that no stack gives to it.
    pub needs_values: bool,
}

/// A file that certainly cannot be included.
#[derive(Clone, Debug)]
pub(crate) struct RefusedInclude {
    /// Location of what fails.
    pub location: Option<Location>,
    /// Whether its path is `find_in_parent_folders` with the plain name of a file, which no
    /// directory above the unit has, in whatever case.
    pub is_plain_search: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    NoMerge,
    Shallow,
    Deep,
}

/// Merges two configurations. The child overrides the parent.
pub(super) fn merge(
    parent: Configuration,
    child: Configuration,
    strategy: Strategy,
) -> Result<Configuration, Stop> {
    let mut unknown = parent.unknown;
    unknown.extend(child.unknown);
    let mut generate = parent.generate;
    for (label, block) in child.generate {
        if strategy == Strategy::Shallow && generate.contains_key(&label) {
            let reason =
                format!("the included file also generates \"{label}\", which Terragrunt refuses");
            unknown.push(Stop::Failure(reason).into_unknown_at(|| block.location.clone()));
        }
        generate.insert(label, block);
    }
    let mut init_arguments = parent.init_arguments;
    init_arguments.override_by(child.init_arguments);
    let mut refused_includes = parent.refused_includes;
    refused_includes.extend(child.refused_includes);
    Ok(Configuration {
        terraform: match (parent.terraform, child.terraform) {
            (Some(parent), Some(child)) => Some(merge_terraform(parent, child)),
            (parent, child) => child.or(parent),
        },
        generate,
        remote_state: child.remote_state.or(parent.remote_state),
        program: child.program.or(parent.program),
        has_download_directory: parent.has_download_directory || child.has_download_directory,
        locals: if child.locals.is_null() {
            parent.locals
        } else {
            child.locals
        },
        inputs: match (parent.inputs, child.inputs) {
            (Some(parent), Some(child)) => Some(merge_inputs(&parent, &child, strategy)?),
            (parent, child) => child.or(parent),
        },
        may_pass_flags: parent.may_pass_flags || child.may_pass_flags,
        init_arguments,
        unknown,
        refused_includes,
        needs_values: child.needs_values,
    })
}

/// Merges two `terraform` blocks. The child's attributes replace the parent's.
fn merge_terraform(mut parent: Block, child: Block) -> Block {
    if child.members.contains_key("source") {
        parent.location = child.location;
    }
    parent.members.extend(child.members);
    parent
}

fn merge_inputs(parent: &Value, child: &Value, strategy: Strategy) -> Result<Value, Stop> {
    match (parent, child) {
        (Value::Object(parent), Value::Object(child)) if strategy != Strategy::Deep => {
            let mut members = parent.items.clone();
            members.extend(child.items.clone());
            Value::object(members)
        }
        _ => merge_deep(parent, child),
    }
}

/// Merges objects member by member and concatenates lists. Of other values, the child's stays.
fn merge_deep(parent: &Value, child: &Value) -> Result<Value, Stop> {
    match (parent, child) {
        (Value::Object(parent), Value::Object(child)) => {
            let mut members = parent.items.clone();
            for (name, value) in child.iter() {
                let merged = match members.get(name) {
                    Some(first) => merge_deep(first, value)?,
                    None => value.clone(),
                };
                members.insert(name.clone(), merged);
            }
            Value::object(members)
        }
        (Value::List(parent), Value::List(child)) => {
            Value::list(parent.iter().chain(child.iter()).cloned().collect())
        }
        // The unknown value of the parent may have more members or items.
        (Value::Unknown(unknown), Value::Object(_) | Value::List(_)) => {
            Ok(Value::Unknown(Arc::clone(unknown)))
        }
        _ => Ok(child.clone()),
    }
}

impl Block {
    fn to_value(&self) -> Result<Value, Stop> {
        Value::object(self.members.clone())
    }
}

fn optional_block(block: Option<&Block>) -> Result<Value, Stop> {
    match block {
        Some(block) => block.to_value(),
        None => Ok(Value::Null),
    }
}

impl Configuration {
    /// Returns the value of `read_terragrunt_config` and of an exposed `include`.
    pub(super) fn to_value(&self) -> Result<Value, Stop> {
        let mut generate = Members::new();
        for (label, block) in &self.generate {
            generate.insert(label.clone(), block.to_value()?);
        }
        let mut members = vec![
            ("terraform", optional_block(self.terraform.as_ref())?),
            ("generate", Value::object(generate)?),
            ("remote_state", optional_block(self.remote_state.as_ref())?),
            ("inputs", self.inputs.clone().unwrap_or(Value::Null)),
            (
                "terraform_binary",
                self.program.clone().unwrap_or(Value::Null),
            ),
        ];
        // The unknown part may set each of them.
        if let Some(unknown) = self.unknown.first() {
            for (_, value) in &mut members {
                *value = Value::Unknown(Arc::clone(unknown));
            }
        }
        let reason = "this part of a configuration is not read";
        let unread = Arc::new(Unknown::new(reason, None));
        for name in NOT_READ.split(' ') {
            members.push((name, Value::Unknown(Arc::clone(&unread))));
        }
        members.push(("locals", self.locals.clone()));
        Value::object(
            members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}

/// The other members of a configuration's value (`terragruntConfigAsCty`).
const NOT_READ: &str = "download_dir dependency dependencies exclude errors engine feature iam_role prevent_destroy \
    retry_sleep_interval_sec terraform_version_constraint terragrunt_version_constraint retryable_errors";
