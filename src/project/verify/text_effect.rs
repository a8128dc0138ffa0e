//! Effects of changed files by words of their text, whatever their names and languages are.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::changed_file::ChangedFile;
use super::deciding_kind::{CDKTF_INPUT, DecidingKind, INSTALLED_MODULES};
use super::file_effect::Effect;
use super::searched_text::{ToolChoices, effective_lines, passes_to_init, text_of};
use crate::hcl::code_lines::code_lines;
use crate::project::reviewed_change::{ReviewedChange, file_name};
use crate::system::{Environment, Tree};

/// Words that only settings of OpenTofu and Terraform for the user have, under whatever name.
pub(super) const CLI_WORDS: [&str; 4] = [
    "provider_installation",
    "credentials_helper",
    "dev_overrides",
    "plugin_cache_dir",
];
/// Effect of settings of OpenTofu and Terraform for the user.
pub(super) const CLI_EFFECT: &str = "decides from where providers are installed";

/// Effect of the version of a tool.
const TOOL_EFFECT: &str = "chooses the version of a tool";
/// Extensions of templates.
const TEMPLATES: [&str; 14] = [
    "cue", "ejs", "erb", "gotmpl", "hbs", "in", "j2", "jinja", "jinja2", "jsonnet", "mustache",
    "template", "tmpl", "tpl",
];
/// Words of blocks and arguments that decide what is installed.
const DECIDING_BLOCKS: [&str; 7] = [
    "backend",
    "cloud",
    "include",
    "module",
    "remote_state",
    "required_",
    "source",
];
/// Extensions of files that may be settings of OpenTofu and Terraform for the user. Files with
/// other ones may write such settings, or test them.
const PERHAPS_SETTINGS: [&str; 6] = ["", "conf", "config", "hcl", "json", "txt"];

/// The effect of a changed file by its text; `None` if it decides nothing.
pub(super) fn of_text(file: &ChangedFile<'_>) -> Option<Effect> {
    let contents = [&file.before, &file.now];
    let texts = contents.map(|bytes| text_of(bytes.as_deref().unwrap_or_default()));
    let [Some(before), Some(now)] = &texts else {
        return file.kind.is_program().then(|| Effect::note("is not read"));
    };
    let texts = [before, now];
    if texts.iter().any(|text| is_cli_configuration(file, text)) {
        return Some(Effect::needs_owner(CLI_EFFECT));
    }
    if effective_lines(before) == effective_lines(now) {
        return None;
    }
    let has_cli_word = |text: &&String| CLI_WORDS.iter().any(|word| text.contains(word));
    if texts.iter().any(has_cli_word) {
        return Some(Effect::note(
            "may decide from where providers are installed",
        ));
    }
    let name = file_name(file.path);
    // What Terragrunt passes to `init` is read, and compared by its values.
    if !file.is_of_terragrunt() && texts.iter().any(|text| passes_to_init(name, text)) {
        return Some(Effect::note("passes arguments or variables to init"));
    }
    if ToolChoices::of(now).differ_from(&ToolChoices::of(before)) {
        return Some(Effect::note(TOOL_EFFECT));
    }
    None
}

/// The effect of a file that lists versions of tools, if a line with the name of a tool changes,
/// with a version or without.
pub(super) fn of_tool_versions(file: &ChangedFile<'_>) -> Option<Effect> {
    const TOOLS: [&str; 4] = ["terraform", "tofu", "terragrunt", "atmos"];
    let before = text_of(file.before.as_deref().unwrap_or_default())?;
    let now = text_of(file.now.as_deref().unwrap_or_default())?;
    let mut lines_before = effective_lines(&before);
    let mut lines_now = effective_lines(&now);
    for lines in [&mut lines_before, &mut lines_now] {
        lines.retain(|line| TOOLS.iter().any(|tool| line.contains(tool)));
    }
    if lines_before == lines_now {
        return None;
    }
    Some(Effect::note(TOOL_EFFECT))
}

/// The effect of a list of installed modules: `init` and `plan` use the modules without comparing
/// them with the sources of the calls. `None` in the data directory of this run, whose tracked
/// files are a finding of their own.
pub(super) fn of_installed_modules(
    environment: &Environment,
    file: &ChangedFile<'_>,
) -> Option<Effect> {
    if let Some(data_directory) = environment.variable("TF_DATA_DIR")
        && file
            .path
            .ends_with(Path::new(data_directory).join(INSTALLED_MODULES))
    {
        return None;
    }
    let list: Map<String, Value> = serde_json::from_slice(file.now.as_deref()?).ok()?;
    if !list.contains_key("Modules") {
        return None;
    }
    let effect = "lists installed modules, which init uses if TF_DATA_DIR names the directory";
    Some(Effect::needs_owner(effect))
}

/// The effect of a file with the name of a workspace.
pub(super) fn of_workspace(file: &ChangedFile<'_>) -> Option<Effect> {
    for bytes in [&file.before, &file.now].into_iter().flatten() {
        if text_of(bytes).is_some_and(|text| is_name_of_workspace(text.trim())) {
            return Some(Effect::note("may select a workspace, and so a state"));
        }
    }
    None
}

fn is_name_of_workspace(text: &str) -> bool {
    let is_of_name = |part: char| part.is_ascii_alphanumeric() || "-_.".contains(part);
    !text.is_empty() && text.chars().all(is_of_name)
}

/// The effect of a template of configuration, or of a part of a program that generates one with CDK
/// for Terraform. The generated configuration may be in no revision.
pub(super) fn of_generator(change: &ReviewedChange, file: &ChangedFile<'_>) -> Option<Effect> {
    if is_below_cdktf(change, file.path) {
        return Some(Effect::note("may decide which configuration is generated"));
    }
    let name = file_name(file.path);
    if ![".tf.", ".tofu.", ".hcl."]
        .iter()
        .any(|part| name.contains(part))
    {
        return None;
    }
    let extension = file.path.extension().and_then(OsStr::to_str);
    if !TEMPLATES.contains(&extension.unwrap_or_default()) {
        return None;
    }
    for bytes in [&file.before, &file.now].into_iter().flatten() {
        let Some(text) = text_of(bytes) else {
            continue;
        };
        if DECIDING_BLOCKS.iter().any(|word| text.contains(word)) {
            return Some(Effect::note("may be a template of configuration"));
        }
    }
    None
}

/// Whether a directory above a file has the settings of CDK for Terraform, in one of the revisions.
fn is_below_cdktf(change: &ReviewedChange, path: &Path) -> bool {
    let base = Tree::Revision(Arc::clone(&change.base));
    for directory in path.ancestors().skip(1) {
        if !directory.starts_with(&change.top) {
            break;
        }
        let settings = directory.join(CDKTF_INPUT);
        if Tree::Work.exists(&settings) || base.exists(&settings) {
            return true;
        }
    }
    false
}

/// Whether a text is settings of OpenTofu and Terraform for the user: it has one of their blocks or
/// arguments at the top level.
fn is_cli_configuration(file: &ChangedFile<'_>, text: &str) -> bool {
    let is_settings = matches!(file.kind, DecidingKind::Settings | DecidingKind::Other);
    let extension = file.path.extension().and_then(OsStr::to_str);
    let may_be_settings = PERHAPS_SETTINGS.contains(&extension.unwrap_or_default());
    // Most files have none of the words.
    if !is_settings
        || !may_be_settings
        || text.starts_with("#!")
        || !CLI_WORDS.iter().any(|word| text.contains(word))
    {
        return false;
    }
    if let Ok(object) = serde_json::from_str::<Map<String, Value>>(text) {
        return object.keys().any(|key| CLI_WORDS.contains(&key.as_str()));
    }
    let Ok(lines) = code_lines(text) else {
        return true;
    };
    // The name of a block may be quoted.
    let starts_block = |code: &str| {
        let code = code.trim_start_matches('"');
        CLI_WORDS.iter().any(|word| code.starts_with(word))
    };
    lines
        .iter()
        .any(|line| !line.is_text && line.code == line.block && starts_block(&line.code))
}
