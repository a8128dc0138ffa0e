//! Effects of changed files by words of their text, whatever their names and languages are.

use std::ffi::OsStr;

use serde_json::{Map, Value};

use super::deciding_files::{CLI_EFFECT, CLI_WORDS, ChangedFile};
use super::deciding_kind::DecidingKind;
use super::file_effect::Effect;
use super::searched_text::{ToolChoices, effective_lines, passes_to_init, text_of};
use crate::hcl::code_lines::code_lines;
use crate::project::reviewed_change::file_name;

/// Effect of the version of a tool.
const TOOL_EFFECT: &str = "chooses the version of a tool";
/// Extensions of files that may be settings of OpenTofu and Terraform for the user. Files with
/// other ones may write such settings, or test them.
const PERHAPS_SETTINGS: [&str; 6] = ["", "conf", "config", "hcl", "json", "txt"];

/// The effect of a changed file by its text; `None` if it decides nothing.
pub(super) fn of_text(file: &ChangedFile<'_>) -> Option<Effect> {
    let contents = [&file.before, &file.now];
    let texts = contents.map(|bytes| text_of(bytes.as_deref().unwrap_or_default()));
    let [Some(before), Some(now)] = &texts else {
        return file
            .kind
            .is_program()
            .then(|| Effect::decided("is not read"));
    };
    let texts = [before, now];
    if texts.iter().any(|text| is_cli_configuration(file, text)) {
        return Some(Effect::not_decided(CLI_EFFECT));
    }
    if effective_lines(before) == effective_lines(now) {
        return None;
    }
    let has_cli_word = |text: &&String| CLI_WORDS.iter().any(|word| text.contains(word));
    if texts.iter().any(has_cli_word) {
        return Some(Effect::decided(
            "may decide from where providers are installed",
        ));
    }
    let name = file_name(file.path);
    if texts.iter().any(|text| passes_to_init(name, text)) {
        return Some(Effect::decided("passes arguments or variables to init"));
    }
    if ToolChoices::of(now).differ_from(&ToolChoices::of(before)) {
        return Some(Effect::decided(TOOL_EFFECT));
    }
    None
}

/// The effect of a file that lists versions of tools, if a line with the name of a tool changes,
/// with a version or without.
pub(super) fn of_tool_versions(file: &ChangedFile<'_>) -> Option<Effect> {
    const TOOLS: [&str; 4] = ["terraform", "tofu", "terragrunt", "atmos"];
    let contents = [&file.before, &file.now];
    let texts = contents.map(|bytes| text_of(bytes.as_deref().unwrap_or_default()));
    let [Some(before), Some(now)] = &texts else {
        return None;
    };
    let [before, now] = [before, now].map(|text| {
        let mut lines = effective_lines(text);
        lines.retain(|line| TOOLS.iter().any(|tool| line.contains(tool)));
        lines
    });
    (before != now).then(|| Effect::decided(TOOL_EFFECT))
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
