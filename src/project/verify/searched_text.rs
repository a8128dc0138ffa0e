//! Texts of any kind, such as scripts and workflows, and what they pass to OpenTofu, Terraform and
//! Terragrunt: arguments and variables of `init`, and the version of the tool.
//!
//! No such language is read: what a text contains is found by words that only these tools and git
//! have. If a text has such a word, everything in it may decide, because the value of
//! `-backend-config="bucket=$BUCKET"` may be in any line.

use std::collections::BTreeSet;

/// Arguments of `init` and of Terragrunt that decide what is installed, without their dashes.
const ARGUMENTS: [&str; 13] = [
    "backend-config",
    "download-dir",
    "from-module",
    "lockfile",
    "plugin-dir",
    "source-map",
    "terragrunt-config",
    "terragrunt-download-dir",
    "terragrunt-source",
    "terragrunt-source-map",
    "terragrunt-tfpath",
    "test-directory",
    "tf-path",
];
/// Beginnings of the names of variables of the environment that these tools, their backends and git
/// read.
const VARIABLES: [&str; 18] = [
    "ARM_ENDPOINT",
    "ARM_ENVIRONMENT",
    "ARM_METADATA_HOST",
    "ATMOS_",
    "AWS_CONFIG_FILE",
    "AWS_ENDPOINT_URL",
    "AWS_S3_ENDPOINT",
    "CONSUL_HTTP_ADDR",
    "GIT_CONFIG",
    "GOOGLE_BACKEND_",
    "GOOGLE_STORAGE_CUSTOM_ENDPOINT",
    "KUBE_CONFIG_PATH",
    "PG_CONN_STR",
    "TERRAFORM_CONFIG",
    "TERRAGRUNT_",
    "TF_",
    "TG_",
    "TOFU_",
];
/// Beginnings of what follows `TF_`, `TG_` and the like in variables that do not decide what is
/// installed. Versions of tools have a check of their own.
const HARMLESS: [&str; 22] = [
    "ACC",
    "CLI_ARGS_apply",
    "CLI_ARGS_destroy",
    "CLI_ARGS_plan",
    "CLI_ARGS_show",
    "CLI_ARGS_validate",
    "DEBUG",
    "INPUT",
    "IN_AUTOMATION",
    "LOG",
    "NON_INTERACTIVE",
    "NO_COLOR",
    "PARALLELISM",
    "STRICT",
    "TF_VERSION",
    "TOKEN_",
    "VAR_",
    "VERSION",
    "WORKING_DIR",
    "FORWARD_TF_STDOUT",
    "REPORT",
    "SUMMARY",
];
/// Words that only settings of git have which put one URL in place of another one, in lower case.
const URL_REPLACEMENTS: [&str; 2] = ["insteadof", "pushinsteadof"];
/// Variables that select the home directory, and with it the settings of the user.
const HOMES: [&str; 5] = [
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];
/// Names of tools, in lower case.
const TOOLS: [&str; 4] = ["opentofu", "terraform", "terragrunt", "tofu"];
/// Words in lower case with which a line may choose the version of a tool. Some are programs that
/// install tools.
const CHOSEN_TOOLS: [&str; 14] = [
    "atmos",
    "atmos_version",
    "opentofu",
    "tenv",
    "terraform",
    "terragrunt",
    "tf_version",
    "tfenv",
    "tfswitch",
    "tg_version",
    "tgenv",
    "tgswitch",
    "tofu",
    "tofuenv",
];
/// Words by which a line chooses a tool without a number of its own.
const CHOICES: [&str; 5] = ["FROM ", "distribution", "image", "version", "uses:"];

/// Returns a file as text: UTF-8, or UTF-16 with a byte order mark, as PowerShell writes it. `None`
/// if it is no text.
pub(super) fn text_of(bytes: &[u8]) -> Option<String> {
    let [first, second, ..] = *bytes else {
        return Some(String::from_utf8_lossy(bytes).into_owned());
    };
    let is_big_endian = match (first, second) {
        (0xff, 0xfe) => false,
        (0xfe, 0xff) => true,
        _ if bytes.contains(&0) => return None,
        _ => return Some(String::from_utf8_lossy(bytes).into_owned()),
    };
    let mut units = Vec::new();
    for pair in bytes[2..].chunks_exact(2) {
        units.push(if is_big_endian {
            u16::from_be_bytes([pair[0], pair[1]])
        } else {
            u16::from_le_bytes([pair[0], pair[1]])
        });
    }
    Some(String::from_utf16_lossy(&units))
}

/// Returns the lines that may do something: no empty ones, no comments, and no versions of actions
/// of GitHub, which are programs of their own. A comment stays if it is none for the tool that gets
/// it, as in a folded text of YAML.
pub(super) fn effective_lines(text: &str) -> Vec<&str> {
    text.lines().filter_map(effective_line).collect()
}

/// A line without white space around it and without the version of an action; `None` if it does not
/// count among the [`effective_lines`].
pub(super) fn effective_line(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_comment = line.starts_with('#') && !passes_to_init("", line);
    if line.is_empty() || is_comment {
        return None;
    }
    Some(without_action_version(line))
}

/// A line such as `- uses: actions/checkout@v4`, without the version.
fn without_action_version(line: &str) -> &str {
    let Some((_, action)) = line.split_once("uses:") else {
        return line;
    };
    let name = action.trim_start().split('@').next().unwrap_or_default();
    let is_action = !name.is_empty() && !name.contains(char::is_whitespace);
    match line.find('@') {
        Some(at) if is_action => &line[..at],
        _ => line,
    }
}

/// Whether a text passes arguments or variables to `init`, or to git for `init`. `name` is the name
/// of its file.
pub(super) fn passes_to_init(name: &str, text: &str) -> bool {
    let has_argument = ARGUMENTS.iter().any(|word| has_argument(text, word));
    if has_argument || has_variable(text) || is_upgraded(text) {
        return true;
    }
    if ignores_case(name, text) && has_variable(&text.to_ascii_uppercase()) {
        return true;
    }
    let lower = text.to_ascii_lowercase();
    if URL_REPLACEMENTS.iter().any(|word| lower.contains(word)) {
        return true;
    }
    runs_tool(name, &lower) && (selects_workspace(text) || selects_home(text))
}

/// Whether the shell of a text may ignore the case of names of variables, as Windows does.
pub(super) fn ignores_case(name: &str, text: &str) -> bool {
    const SCRIPTS: [&str; 4] = [".bat", ".cmd", ".ps1", ".psm1"];
    // Of PowerShell: `$env:TF_DATA_DIR`, `Set-Item Env:TF_DATA_DIR`.
    const WORDS: [&str; 5] = [
        "$env:",
        "${env:",
        "environmentvariable(",
        "item env:",
        "path env:",
    ];
    let lower_name = name.to_ascii_lowercase();
    if SCRIPTS.iter().any(|end| lower_name.ends_with(end)) {
        return true;
    }
    let lower = text.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a text, in lower case, has the name of a tool, or of a program that runs one.
fn runs_tool(name: &str, lower: &str) -> bool {
    const RUNNERS: [&str; 4] = ["atlantis", "digger", "env0", "spacelift"];
    let lower_name = name.to_ascii_lowercase();
    for tool in TOOLS {
        if lower_name.contains(tool) || lower.contains(tool) {
            return true;
        }
    }
    RUNNERS.iter().any(|runner| lower_name.contains(runner))
}

/// Whether a text has an argument, such as `-backend-config`, with one dash or two.
fn has_argument(text: &str, word: &str) -> bool {
    for (at, _) in text.match_indices(word) {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let dashes = before.len() - before.trim_end_matches('-').len();
        let is_start = !before.trim_end_matches('-').ends_with(is_of_word);
        let is_end = !after.starts_with(|next| is_of_word(next) || next == '-');
        if (1..=2).contains(&dashes) && is_start && is_end {
            return true;
        }
    }
    false
}

/// Whether a text has the name of a variable that decides what is installed.
fn has_variable(text: &str) -> bool {
    for start in VARIABLES {
        for (at, _) in text.match_indices(start) {
            let rest = &text[at + start.len()..];
            if text[..at].ends_with(is_of_word) {
                continue;
            }
            let is_family = start.ends_with('_');
            let is_named = !is_family || rest.starts_with(|next: char| next.is_ascii_uppercase());
            let is_harmless = is_family && HARMLESS.iter().any(|word| rest.starts_with(word));
            if is_named && !is_harmless {
                return true;
            }
        }
    }
    false
}

/// Whether a text passes `-upgrade`, by which `init` ignores the locked versions. Other programs
/// have `--upgrade`, too.
fn is_upgraded(text: &str) -> bool {
    // An argument may be on a line of its own.
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in joined.lines().filter(|line| line.contains("-upgrade")) {
        if !has_argument(line, "upgrade") {
            continue;
        }
        let lower = line.to_ascii_lowercase();
        let is_alone = line
            .trim_start_matches(|first: char| first.is_whitespace() || "-\"',[".contains(first))
            .starts_with("upgrade");
        let is_of_tool = TOOLS.iter().any(|tool| lower.contains(tool));
        let has_one_dash = has_argument(&line.replace("--upgrade", ""), "upgrade");
        if is_alone || is_of_tool || has_one_dash || has_word(&lower, "init") {
            return true;
        }
    }
    false
}

/// Whether a text selects a workspace by a key, or by the command.
fn selects_workspace(text: &str) -> bool {
    for line in text.lines() {
        for (at, word) in line.match_indices("workspace") {
            if line[..at].ends_with(|last| is_of_word(last) || "-./".contains(last)) {
                continue;
            }
            let rest = line[at + word.len()..].trim_start_matches(['"', '\'', ' ']);
            if rest.starts_with([':', '=']) || rest.starts_with("select") || rest.starts_with("new")
            {
                return true;
            }
        }
    }
    false
}

/// Whether a text sets the home directory.
fn selects_home(text: &str) -> bool {
    for name in HOMES {
        for (at, _) in text.match_indices(name) {
            let rest = text[at + name.len()..].trim_start_matches(['"', '\'', ' ']);
            let is_set = [":", "=", ":=", "?="]
                .iter()
                .any(|sign| rest.starts_with(sign));
            if is_set && !text[..at].ends_with(|last| is_of_word(last) || "${%".contains(last)) {
                return true;
            }
        }
    }
    false
}

/// The tools that a text names, and the lines that choose their versions.
#[derive(Default, PartialEq, Eq)]
pub(super) struct ToolChoices<'a> {
    tools: BTreeSet<&'static str>,
    versions: BTreeSet<&'a str>,
}

impl<'a> ToolChoices<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let lines = effective_lines(text);
        let mut choices = Self::default();
        let mut is_computed = false;
        for line in &lines {
            // Each text is searched, and few lines have such a word.
            let lower = line.to_ascii_lowercase();
            for tool in TOOLS {
                if has_standalone(&lower, tool) {
                    choices.tools.insert(tool);
                }
            }
            if !CHOSEN_TOOLS.iter().any(|tool| has_tool(&lower, tool)) {
                continue;
            }
            let has_version = has_version(line);
            let is_choice = CHOICES.iter().any(|word| line.contains(word));
            let is_choice = is_choice || lower.contains("version");
            if has_version || is_choice {
                choices.versions.insert(line);
                is_computed |= !has_version && !line.contains("uses:");
            }
        }
        // The version is in a different line.
        if is_computed {
            choices
                .versions
                .extend(lines.iter().filter(|line| has_version(line)));
        }
        choices
    }

    /// Whether a change from one text to another one chooses a different tool or version.
    pub(super) fn differ_from(&self, before: &Self) -> bool {
        let has_other_tool =
            !self.tools.is_empty() && !before.tools.is_empty() && self.tools != before.tools;
        has_other_tool || self.versions != before.versions
    }
}

/// Whether a line in lower case has the name of a tool, and not of a different program such as
/// `terraform-docs`, of a file such as `terraform.tfvars`, or of a directory.
fn has_tool(lower: &str, tool: &str) -> bool {
    for (at, _) in lower.match_indices(tool) {
        let rest = &lower[at + tool.len()..];
        if lower[..at].ends_with(|last: char| last.is_ascii_alphanumeric()) {
            continue;
        }
        let mut next = rest.chars();
        let is_end = match next.next() {
            Some('-' | '.') => !next.next().is_some_and(char::is_alphabetic),
            Some('_') => {
                let part = next.as_str();
                part.starts_with("version")
                    || part.starts_with("distribution")
                    || part.starts_with("image")
                    || !part.starts_with(char::is_alphabetic)
            }
            Some(next) => !next.is_ascii_alphabetic(),
            None => true,
        };
        if is_end {
            return true;
        }
    }
    false
}

/// Whether a line in lower case has a word with nothing but white space, quotes, brackets or signs
/// around it.
fn has_standalone(lower: &str, word: &str) -> bool {
    let is_part = |part: char| is_of_word(part) || "-./".contains(part);
    for (at, _) in lower.match_indices(word) {
        let (before, rest) = (&lower[..at], &lower[at + word.len()..]);
        if !before.ends_with(is_part) && !rest.starts_with(is_part) {
            return true;
        }
    }
    false
}

/// Whether a line in lower case has a word.
fn has_word(lower: &str, word: &str) -> bool {
    for (at, _) in lower.match_indices(word) {
        let (before, rest) = (&lower[..at], &lower[at + word.len()..]);
        if !before.ends_with(is_of_word) && !rest.starts_with(is_of_word) {
            return true;
        }
    }
    false
}

/// Whether a line has a number with a point, such as `1.11`.
fn has_version(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes
        .windows(3)
        .any(|part| part[0].is_ascii_digit() && part[1] == b'.' && part[2].is_ascii_digit())
}

fn is_of_word(part: char) -> bool {
    part.is_ascii_alphanumeric() || part == '_'
}
