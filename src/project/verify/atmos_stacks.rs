//! Stacks of Atmos: YAML that decides which component is deployed, from where its source comes, and
//! where its state is (<https://atmos.tools/stacks/>).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::file_effect::{Effect, MAX_SIZE};
use crate::configuration::{StorageRole, role_in_storage};
use crate::hcl::yaml_paths::{ValuesByPath, values_by_path};
use crate::project::reviewed_change::ReviewedChange;
use crate::system::Tree;

/// Names of the configuration of Atmos.
pub(super) const CONFIGURATIONS: [&str; 4] =
    ["atmos.yaml", "atmos.yml", ".atmos.yaml", ".atmos.yml"];
/// Directory of the configuration in images of the reference architecture.
const IN_IMAGES: &str = "rootfs/usr/local/etc/atmos";
/// Ends of the names of stacks.
const ENDS: [&str; 4] = [".yaml", ".yml", ".yaml.tmpl", ".yml.tmpl"];
/// Keys at the top of a stack.
const TOP_KEYS: [&str; 6] = [
    "components",
    "import",
    "overrides",
    "remote_state_backend",
    "terraform",
    "vars",
];
/// Sections whose values reach templates.
const TEMPLATE_INPUTS: [&str; 3] = ["locals", "settings", "vars"];
/// Variables that usually make the name of a stack, and so of a workspace.
const NAMES_OF_STACKS: [&str; 4] = ["environment", "namespace", "stage", "tenant"];

/// Effects of a changed value, from the least to the most important.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    Nothing,
    Stacks,
    Workspace,
    Component,
    Remote,
    Source,
    State,
}

impl Decision {
    fn effect(self) -> Option<Effect> {
        let effect = match self {
            Self::Nothing => return None,
            Self::Stacks => Effect::note("decides which stacks of Atmos are merged"),
            Self::Workspace => Effect::note("decides on the state of a component in its store"),
            Self::Component => Effect::note("decides which component Atmos deploys"),
            Self::Remote => Effect::needs_owner("lets Atmos read stacks from elsewhere"),
            Self::Source => Effect::needs_owner("decides from where Atmos takes a component"),
            Self::State => Effect::needs_owner("decides where the states of components are"),
        };
        Some(effect)
    }
}

/// Whether a file may be a stack, by its name.
pub(super) fn may_be_stack(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_yaml = ENDS.iter().any(|end| name.ends_with(end));
    let is_hidden = path
        .iter()
        .any(|part| part == ".github" || part == ".circleci");
    is_yaml && !is_hidden && !name.starts_with('.') && !CONFIGURATIONS.contains(&name)
}

/// The effect of a change of a stack; `None` if it decides nothing, or if the file is no stack.
pub(super) fn effect_of_stack(
    change: &ReviewedChange,
    path: &Path,
    before: Option<&[u8]>,
    now: Option<&[u8]>,
) -> Option<Effect> {
    let is_below_atmos = uses_atmos(change, path);
    let texts = [before, now].map(|bytes| String::from_utf8_lossy(bytes.unwrap_or_default()));
    let [Some(values_before), Some(values)] =
        [&texts[0], &texts[1]].map(|text| values_by_path(text))
    else {
        // A template of Go, perhaps.
        let names_state = texts
            .iter()
            .any(|text| text.contains("backend") || text.contains("components"));
        if is_below_atmos && names_state {
            return Some(Effect::needs_owner("is a stack of Atmos that is not read"));
        }
        return None;
    };
    if !is_stack(&values_before, is_below_atmos) && !is_stack(&values, is_below_atmos) {
        return None;
    }
    // Of several decisions, the most important one is reported.
    let mut most_important = Decision::Nothing;
    let mut inputs = BTreeSet::new();
    for (path_of_value, value) in differences(&values_before, &values) {
        let Some(place) = Place::of(path_of_value) else {
            continue;
        };
        // Values decide something only if a template refers to them, which is looked up below.
        if TEMPLATE_INPUTS.contains(&place.section) {
            inputs.extend(place.rest.first().map(String::as_str));
        }
        // Nothing is moved with a component that comes or goes.
        let is_new = !place.has_component(&values_before) || !place.has_component(&values);
        let decision = place.decision(value, is_new);
        most_important = most_important.max(decision);
    }
    if !inputs.is_empty() && is_read_by_template(change, path, &values, &inputs) {
        most_important = most_important.max(Decision::State);
    }
    most_important.effect()
}

/// Whether Atmos has a configuration in a directory above a file, in one of the revisions.
pub(super) fn uses_atmos(change: &ReviewedChange, path: &Path) -> bool {
    let base = Tree::Revision(Arc::clone(&change.base));
    for directory in path.ancestors() {
        if !directory.starts_with(&change.top) {
            break;
        }
        for name in CONFIGURATIONS {
            for file in [directory.join(name), directory.join(IN_IMAGES).join(name)] {
                if Tree::Work.exists(&file) || base.exists(&file) {
                    return true;
                }
            }
        }
    }
    false
}

/// Whether a document is a stack. Other programs have no components of Terraform.
fn is_stack(values: &ValuesByPath, uses_atmos: bool) -> bool {
    values
        .keys()
        .any(|path| match path.first().map(String::as_str) {
            Some("components") if path.get(1).is_some_and(|kind| kind == "terraform") => true,
            Some(first) => uses_atmos && TOP_KEYS.contains(&first),
            None => false,
        })
}

/// The values that only one of the revisions has, with their paths.
fn differences<'a>(
    before: &'a ValuesByPath,
    now: &'a ValuesByPath,
) -> Vec<(&'a Vec<String>, &'a String)> {
    let mut differences = Vec::new();
    for (one, other) in [(now, before), (before, now)] {
        for (path, value) in one {
            if other.get(path) != Some(value) {
                differences.push((path, value));
            }
        }
    }
    differences
}

/// Place of a value in a stack.
struct Place<'a> {
    /// The path of the component, or of the defaults of all components.
    component: &'a [String],
    /// A section such as `backend`.
    section: &'a str,
    /// The path in the section.
    rest: &'a [String],
}

impl<'a> Place<'a> {
    /// `None` for what only other programs read, such as Helmfile.
    fn of(path: &'a [String]) -> Option<Self> {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        let start = match words[..] {
            ["components", "terraform", ..] => 3,
            ["components" | "helmfile" | "packer" | "ansible", ..] => return None,
            ["terraform", "overrides", ..] => 2,
            ["terraform" | "overrides", ..] => 1,
            _ => 0,
        };
        let (component, below) = path.split_at_checked(start)?;
        let (section, rest) = below.split_first()?;
        Some(Self {
            component,
            section,
            rest,
        })
    }

    /// Whether values contain anything of the same component.
    fn has_component(&self, values: &ValuesByPath) -> bool {
        let mut paths = values.keys();
        paths.any(|path| path.starts_with(self.component))
    }

    /// The decision that a changed value makes. `is_new` is set if the component, or the file, is
    /// in one of the revisions only.
    fn decision(&self, value: &str, is_new: bool) -> Decision {
        let last = self.rest.last().map(String::as_str).unwrap_or_default();
        match self.section {
            "backend" | "remote_state_backend" => {
                // The first key is the kind of the backend.
                let argument = self.rest.get(1).map(String::as_str).unwrap_or_default();
                match role_in_storage(argument) {
                    StorageRole::Irrelevant => Decision::Nothing,
                    StorageRole::Selector => Decision::Workspace,
                    StorageRole::Store if is_new => Decision::Workspace,
                    StorageRole::Store => Decision::State,
                }
            }
            "backend_type" | "remote_state_backend_type" if is_new => Decision::Workspace,
            "backend_type" | "remote_state_backend_type" => Decision::State,
            "source" if last == "version" => Decision::Component,
            "source" | "generate" | "required_providers" => Decision::Source,
            "import" | "imports" if is_remote(value) => Decision::Remote,
            "import" | "imports" => Decision::Stacks,
            "component" | "metadata" | "command" | "providers" | "required_version"
            | "dependencies" => self.of_metadata(),
            "env" if decides_on_init(last) => Decision::State,
            "vars" if NAMES_OF_STACKS.contains(&last) => Decision::Workspace,
            _ => Decision::Nothing,
        }
    }

    /// The decision of a value that describes a component.
    fn of_metadata(&self) -> Decision {
        const OTHERS: [&str; 6] = ["custom", "description", "enabled", "locked", "name", "tags"];
        let first = self.rest.first().map(String::as_str).unwrap_or_default();
        match (self.section, first) {
            (
                "metadata",
                "terraform_workspace"
                | "terraform_workspace_pattern"
                | "terraform_workspace_template",
            ) => Decision::Workspace,
            ("metadata", first) if OTHERS.contains(&first) => Decision::Nothing,
            ("dependencies", _) => Decision::Nothing,
            _ => Decision::Component,
        }
    }
}

/// Whether Atmos fetches an imported stack from a different machine.
fn is_remote(value: &str) -> bool {
    let first = value.split('/').next().unwrap_or_default();
    value.contains("://")
        || value.contains("::")
        || (first.contains('.') && !first.starts_with('.') && value.contains('/'))
}

/// Whether a variable of the environment decides what `init` does.
fn decides_on_init(name: &str) -> bool {
    name.starts_with("TF_") && !name.starts_with("TF_VAR_") && !name.starts_with("TF_LOG")
        || name.starts_with("ATMOS_")
        || name.starts_with("TOFU_")
}

/// Whether a template refers to one of these values, in this stack or in a file that may be a stack
/// in its directory or above. The template decides where a state is, or chooses a component.
fn is_read_by_template(
    change: &ReviewedChange,
    path: &Path,
    now: &ValuesByPath,
    inputs: &BTreeSet<&str>,
) -> bool {
    if has_template_with(now, inputs) {
        return true;
    }
    for directory in path.ancestors().skip(1) {
        if !directory.starts_with(&change.top) {
            break;
        }
        for entry in Tree::Work.entries(directory).unwrap_or_default() {
            let other = directory.join(&entry.name);
            if !may_be_stack(&other) {
                continue;
            }
            let bytes = Tree::Work.read(&other, MAX_SIZE).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if text.contains("{{")
                && let Some(values) = values_by_path(&text)
                && has_template_with(&values, inputs)
            {
                return true;
            }
        }
    }
    false
}

fn has_template_with(values: &ValuesByPath, inputs: &BTreeSet<&str>) -> bool {
    values.iter().any(|(path, value)| {
        let is_template = value.contains("{{") || value.starts_with('!');
        let Some(place) = Place::of(path) else {
            return false;
        };
        is_template
            && place.decision(value, false) >= Decision::Component
            && inputs.iter().any(|input| value.contains(input))
    })
}
