//! Blocks of `extra_arguments`, by which Terragrunt passes arguments to the commands that it runs.

use std::collections::BTreeMap;

use crate::hcl::evaluate::value::{Members, Piece, Value};

/// Flags of `init` that decide where the state is, or what is installed and whether the lock file
/// is used.
const DECIDING_FLAGS: [&str; 6] = [
    "backend-config",
    "from-module",
    "lockfile",
    "plugin-dir",
    "test-directory",
    "upgrade",
];
/// Variables of the environment that decide the same. Terragrunt may run `init` before the command
/// for which it sets them.
const DECIDING_VARIABLES: [&str; 5] = [
    "TERRAFORM_CONFIG",
    "TF_CLI_ARGS",
    "TF_CLI_ARGS_init",
    "TF_CLI_CONFIG_FILE",
    "TF_DATA_DIR",
];
/// Deciding flag without a value.
const SWITCH: &str = "upgrade";

/// Arguments that Terragrunt passes to `init`, as far as they decide: by the labels of their
/// blocks, because a block replaces one with the same label in an included file.
#[derive(Clone, Debug, Default)]
pub(super) struct InitArguments {
    by_label: BTreeMap<String, Vec<Value>>,
}

impl InitArguments {
    /// Adds the arguments of a block with these attributes.
    pub(super) fn add_block(&mut self, label: String, members: &Members) {
        let arguments = self.by_label.entry(label).or_default();
        if may_be_for_init(members.get("commands")) {
            arguments.extend(deciding(members.get("arguments")));
        }
        if let Some(Value::Object(variables)) = members.get("env_vars") {
            for (name, value) in &variables.items {
                if DECIDING_VARIABLES.contains(&name.as_str()) {
                    arguments.extend([Value::String(name.as_str().into()), value.clone()]);
                }
            }
        }
    }

    /// Adds the blocks of the file that includes the file of these ones.
    pub(super) fn override_by(&mut self, child: Self) {
        self.by_label.extend(child.by_label);
    }

    /// All deciding arguments. A part that is not known may be any of them.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.by_label.values().flatten()
    }
}

/// Whether `init` may be one of the commands of a block.
fn may_be_for_init(commands: Option<&Value>) -> bool {
    let Some(Value::List(commands)) = commands else {
        return true;
    };
    let mut commands = commands.items.iter();
    commands.any(|command| match command {
        Value::String(name) => &**name == "init",
        _ => true,
    })
}

/// The arguments that decide, with the values that follow them.
fn deciding(arguments: Option<&Value>) -> Vec<Value> {
    let items = match arguments {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::List(items)) => &items.items,
        Some(unknown) => return vec![unknown.clone()],
    };
    let mut deciding = Vec::new();
    let mut is_value_next = false;
    for item in items {
        let flag = flag_of(item);
        let decides = is_value_next || flag.is_none_or(|flag| DECIDING_FLAGS.contains(&flag));
        is_value_next = match item {
            Value::String(text) => decides && !text.contains('=') && flag.is_some_and(has_value),
            _ => false,
        };
        if decides {
            deciding.push(item.clone());
        }
    }
    deciding
}

fn has_value(flag: &str) -> bool {
    DECIDING_FLAGS.contains(&flag) && flag != SWITCH
}

/// The name of the flag in an argument: `upgrade` of `-upgrade=true`; empty for an argument without
/// a flag, and `None` if it is not known.
fn flag_of(argument: &Value) -> Option<&str> {
    let text = match argument {
        Value::String(text) => text,
        Value::Partial(pieces) => match pieces.first() {
            // A name without an equals sign may go on in the unknown piece.
            Some(Piece::Text(text)) if text.contains('=') => text.as_str(),
            _ => return None,
        },
        Value::Unknown(_) => return None,
        _ => return Some(""),
    };
    let Some(flag) = text.strip_prefix('-') else {
        return Some("");
    };
    let flag = flag.strip_prefix('-').unwrap_or(flag);
    Some(flag.split('=').next().unwrap_or(flag))
}

/// Whether one of the arguments may be a flag with values of variables.
pub(super) fn may_set_variables(arguments: &Value) -> bool {
    let items = match arguments {
        Value::Null => return false,
        Value::List(items) => &items.items,
        _ => return true,
    };
    let mut flags = items.iter().map(flag_of);
    flags.any(|flag| flag.is_none_or(|flag| ["var", "var-file"].contains(&flag)))
}

/// Whether an argument is `-lockfile=readonly`, without which `init` may change the lock file.
pub(crate) fn is_readonly(argument: &Value) -> bool {
    match argument {
        Value::String(text) => ["-lockfile=readonly", "--lockfile=readonly"].contains(&&**text),
        _ => false,
    }
}
