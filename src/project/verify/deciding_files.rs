//! Changed files that decide what is installed, or what reviewers see of it, and that no reading of
//! a root module includes: OpenTofu, Terraform, git or a generator reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::atmos_stacks;
use super::attributes;
use super::base::BaseFacts;
use super::changed_file::ChangedFile;
use super::copied_state;
use super::deciding_kind::DecidingKind;
use super::decisions::decision_note;
use super::file_effect::{Effect, MAX_SEARCHED_SIZE, MAX_SIZE};
use super::given_values;
use super::local_repositories;
use super::terragrunt_cache;
use super::text_effect::{self, CLI_EFFECT, CLI_WORDS};
use super::unit_locks::UnitLocks;
use crate::configuration::{STORES, StateStorage, is_automatic, is_part_of_configuration};
use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Reason, RunOption};
use crate::hcl::code_lines::{code_lines, code_without_space};
use crate::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::project::reviewed_change::{ReviewedChange, file_name};
use crate::provider::Dialect;
use crate::system::{Tree, excludes_from_upload};

/// Blocks of such settings that other programs may have, too.
const PERHAPS_CLI_WORDS: [&str; 2] = ["host \"", "credentials \""];

/// The findings about changed files that decide and that are not read, in the directories that
/// `applies` selects.
pub(super) fn check(
    facts: &BaseFacts<'_>,
    unit_locks: &UnitLocks<'_>,
    applies: impl Fn(&Path) -> bool,
) -> Vec<Diagnostic> {
    let change = facts.change;
    let mut by_effect: BTreeMap<Effect, Vec<&Path>> = BTreeMap::new();
    for path in change.changed_paths() {
        let inside = path.strip_prefix(&change.top).unwrap_or(path);
        // A run may begin in any directory, so that this is for no root module in particular.
        if let Some(effect) = local_repositories::effect(inside, path) {
            by_effect.entry(effect).or_default().push(path);
        }
        if let Some(effect) = terragrunt_cache::effect(&change.top, path) {
            by_effect.entry(effect).or_default().push(path);
        }
        let Some(kind) = DecidingKind::of(inside) else {
            continue;
        };
        let is_selected = kind.is_anywhere() || path.parent().is_some_and(&applies);
        if is_selected && let Some(effect) = effect_of(facts, unit_locks, path, kind) {
            by_effect.entry(effect).or_default().push(path);
        }
    }
    let mut findings = Vec::new();
    for (effect, paths) in &by_effect {
        findings.push(finding_about(change, effect, paths));
    }
    findings
}

/// The effect of a changed path; `None` if it decides nothing.
fn effect_of(
    facts: &BaseFacts<'_>,
    unit_locks: &UnitLocks<'_>,
    path: &Path,
    kind: DecidingKind,
) -> Option<Effect> {
    if kind == DecidingKind::PluginDirectory {
        let effect = "is in a directory from which init installs providers";
        return Some(Effect::needs_owner(effect));
    }
    if kind == DecidingKind::State {
        return copied_state::effect(facts, unit_locks, path);
    }
    if kind == DecidingKind::Attributes {
        let files = files_with_attributes(facts.change, path);
        return attributes::effect_of_attributes(facts.change, path, &files);
    }

    let base = Tree::Revision(Arc::clone(&facts.change.base));
    let limit = if kind.is_searched() {
        MAX_SEARCHED_SIZE
    } else {
        MAX_SIZE
    };
    let file = ChangedFile {
        path,
        kind,
        before: base.read(path, limit).ok(),
        now: Tree::Work.read(path, limit).ok(),
    };
    // It is too large, or no file.
    let is_unread = (base.exists(path) && file.before.is_none())
        || (Tree::Work.exists(path) && file.now.is_none());
    if is_unread {
        return effect_if_unread(facts.change, path, kind);
    }
    effect_of_contents(facts, &file).or_else(|| effect_of_given_values(facts, &file))
}

/// The effect of a file that gives a value to a variable on which a source or a state depends. The
/// files of Terragrunt, and values that are loaded automatically, are read.
fn effect_of_given_values(facts: &BaseFacts<'_>, file: &ChangedFile<'_>) -> Option<Effect> {
    let directory = file.path.parent()?;
    let is_loaded = is_automatic(file_name(file.path)) && facts.change.has_configuration(directory);
    let is_read = is_loaded || file.kind == DecidingKind::Test || file.is_of_terragrunt();
    if is_read || file.is_unchanged() {
        return None;
    }
    let names = facts.deciding_names();
    if names.is_empty() {
        return None;
    }
    given_values::effect(names, file)
}

/// The effect of a changed path that is too large to be read, or no file.
fn effect_if_unread(change: &ReviewedChange, path: &Path, kind: DecidingKind) -> Option<Effect> {
    // An ignore file that is read has no more than a note either.
    if kind == DecidingKind::Ignore {
        return Some(Effect::note("is not read"));
    }
    // Below a configuration of Atmos it may be a stack, because stacks have no names of their own.
    if kind.may_be_of_other_program() && !atmos_stacks::uses_atmos(change, path) {
        return kind.is_program().then(|| Effect::note("is not read"));
    }
    Some(Effect::needs_owner("is not read"))
}

/// The note, or the finding, about files with the same effect.
fn finding_about(change: &ReviewedChange, effect: &Effect, paths: &[&Path]) -> Diagnostic {
    let shown: Vec<_> = paths.iter().map(|path| change.shown_path(path)).collect();
    let names = first_few(shown.iter().map(|path| path.display()));
    let verb = if shown.len() == 1 {
        "differs"
    } else {
        "differ"
    };
    let locations: Vec<_> = shown.iter().map(Location::of_file).collect();
    match effect {
        Effect::Note(verb_phrase) => {
            let message = format!("{names} {verb} from the base, which {verb_phrase}");
            decision_note(message, &locations[0])
        }
        Effect::NeedsOwner(verb_phrase) => {
            let message = format!("{names} {verb} from the base, which {verb_phrase}");
            let help = Help::text("review the change; an owner allows it with ");
            Diagnostic::not_decided(Reason::FileNotRead, message)
                .at_each_location(&locations)
                .help(help.and(RunOption::Warn(Code::NotDecided)))
        }
    }
}

/// The effect of a changed file by its contents; `None` if it decides nothing.
fn effect_of_contents(facts: &BaseFacts<'_>, file: &ChangedFile<'_>) -> Option<Effect> {
    let change = facts.change;
    if file.is_unchanged() {
        return None;
    }
    let effect = match file.kind {
        DecidingKind::CliConfiguration => Some(Effect::needs_owner(CLI_EFFECT)),
        DecidingKind::Backend | DecidingKind::PerhapsBackend => effect_of_backend_file(facts, file),
        DecidingKind::Settings => effect_of_settings(facts, file),
        DecidingKind::UploadIgnore => effect_of_upload_ignore(facts, file),
        DecidingKind::Ignore => effect_of_ignore_file(change, file),
        DecidingKind::GeneratorInput => Some(Effect::needs_owner(
            "decides which configuration is generated",
        )),
        DecidingKind::Yaml => effect_of_yaml(change, file),
        DecidingKind::Terramate => effect_of_terramate(file),
        DecidingKind::HcpStack => effect_of_hcp_stack(change, file),
        // The copied modules are in the repository, too.
        DecidingKind::Vendoring => Some(Effect::note("decides which modules are copied here")),
        DecidingKind::ToolVersion => Some(Effect::note("chooses the version of a tool")),
        DecidingKind::ToolVersions => text_effect::of_tool_versions(file),
        DecidingKind::Test => effect_of_test(change, file),
        DecidingKind::InstalledModules => {
            text_effect::of_installed_modules(facts.environment, file)
        }
        DecidingKind::Workspace => text_effect::of_workspace(file),
        DecidingKind::PluginDirectory
        | DecidingKind::State
        | DecidingKind::Attributes
        | DecidingKind::Script
        | DecidingKind::Other => None,
    };
    if effect.is_some() || !file.kind.is_searched() {
        return effect;
    }
    // A file of any name may have arguments of a backend.
    if file.kind != DecidingKind::Settings
        && let Some(effect) = effect_of_arguments_under_any_name(facts, file)
    {
        return Some(effect);
    }
    text_effect::of_text(file).or_else(|| text_effect::of_generator(change, file))
}

/// The effect of a file under any name: settings of the user for OpenTofu and Terraform, or
/// arguments of a backend.
fn effect_of_settings(facts: &BaseFacts<'_>, file: &ChangedFile<'_>) -> Option<Effect> {
    // `TF_CLI_CONFIG_FILE` and `-backend-config` may name a file of any name.
    let contents = [&file.before, &file.now].into_iter().flatten();
    for bytes in contents {
        let text = String::from_utf8_lossy(bytes);
        if has_line_beginning_with(&text, &CLI_WORDS) && !file.is_of_terragrunt() {
            return Some(Effect::needs_owner(CLI_EFFECT));
        }
        if has_line_beginning_with(&text, &PERHAPS_CLI_WORDS) && !file.is_of_terragrunt() {
            // `services` is an argument of such a `host`.
            if has_line_beginning_with(&text, &["services"]) {
                return Some(Effect::needs_owner(CLI_EFFECT));
            }
            return Some(Effect::note(
                "may decide from where providers are installed",
            ));
        }
    }
    if file.has_only_arguments_of_backend() && !has_values_of_variables(facts, file.path) {
        return effect_of_backend_file(facts, file);
    }
    effect_if_perhaps_needed(facts, file)
}

/// The effect of a file whose name is not one of settings, if a backend at the base lacks its
/// arguments.
fn effect_of_arguments_under_any_name(
    facts: &BaseFacts<'_>,
    file: &ChangedFile<'_>,
) -> Option<Effect> {
    if is_needed_by_a_backend(facts, file) && !has_values_of_variables(facts, file.path) {
        return effect_of_backend_file(facts, file);
    }
    effect_if_perhaps_needed(facts, file)
}

/// The effect of a file with an argument that a backend at the base lacks, beside arguments of
/// other purposes or values of variables.
fn effect_if_perhaps_needed(facts: &BaseFacts<'_>, file: &ChangedFile<'_>) -> Option<Effect> {
    if file.is_of_terragrunt() || !completes_a_backend(facts, file) {
        return None;
    }
    Some(Effect::note("may decide where a state is"))
}

/// Whether a line of a text begins with one of these words after white space.
fn has_line_beginning_with(text: &str, words: &[&str]) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| words.iter().any(|word| line.starts_with(word)))
}

/// Whether a file has values of variables: it is loaded by its name, or a module beside it or above
/// declares a variable with the name of an argument of backends.
fn has_values_of_variables(facts: &BaseFacts<'_>, path: &Path) -> bool {
    let name = file_name(path);
    if name == "terraform.tfvars" || name.ends_with(".auto.tfvars") {
        return true;
    }
    let change = facts.change;
    for directory in path.ancestors().skip(1) {
        if !directory.starts_with(&change.top) {
            break;
        }
        let module = facts
            .module_cache
            .canonical_module(directory, directory, Dialect::default());
        if STORES.iter().any(|name| module.has_variable(name)) {
            return true;
        }
    }
    false
}

/// The effect of YAML, if it is a stack of Atmos.
fn effect_of_yaml(change: &ReviewedChange, file: &ChangedFile<'_>) -> Option<Effect> {
    if !atmos_stacks::may_be_stack(file.path) {
        return None;
    }
    let contents = [&file.before, &file.now].into_iter().flatten();
    if contents.map(Vec::len).max() > usize::try_from(MAX_SIZE).ok() {
        let is_stack = atmos_stacks::uses_atmos(change, file.path);
        return is_stack.then(|| Effect::needs_owner("is not read"));
    }
    let before = file.before.as_deref();
    atmos_stacks::effect_of_stack(change, file.path, before, file.now.as_deref())
}

/// The effect of a part of a stack of HCP Terraform. Beside a lock file it is a finding of the
/// root module.
fn effect_of_hcp_stack(change: &ReviewedChange, file: &ChangedFile<'_>) -> Option<Effect> {
    let directory = file.path.parent()?;
    let lock_file = directory.join(LOCK_FILE_NAME);
    if change.has_configuration(directory) || change.read_files_now.contains(lock_file.as_os_str())
    {
        return None;
    }
    let effect = "is a part of a stack of HCP Terraform, which is not read";
    // Deployments have values for components only.
    if file_name(file.path).contains(".tfdeploy.") {
        return Some(Effect::note(effect));
    }
    Some(Effect::needs_owner(effect))
}

/// The effect of a test that no `init` reads without `-test-directory`.
fn effect_of_test(change: &ReviewedChange, file: &ChangedFile<'_>) -> Option<Effect> {
    let directory = file.path.parent()?;
    let is_of_module = directory.ends_with("tests")
        && directory
            .parent()
            .is_some_and(|module| change.has_configuration(module));
    if is_of_module || change.has_configuration(directory) {
        return None;
    }
    Some(Effect::note("is read only with -test-directory"))
}

/// The effect of a file with arguments of a backend: a note if the file is new or removed, or only
/// selects a state in a store that the base uses, or that another file beside it selects there.
/// `None` if the file has no such arguments, or they select the same state as before.
fn effect_of_backend_file(facts: &BaseFacts<'_>, file: &ChangedFile<'_>) -> Option<Effect> {
    let has_usual_name = file.kind == DecidingKind::Backend;
    if file.is_of_terragrunt() || (!has_usual_name && !file.has_argument_of_backend()) {
        return None;
    }
    // No backend needs the arguments, so the file may belong to another program.
    if !has_usual_name && !is_needed_by_a_backend(facts, file) {
        return Some(Effect::note("may decide where a state is"));
    }
    let effect = "decides where a state is";
    if file.now.is_none() {
        return Some(Effect::note(effect));
    }
    // Arguments that cannot be parsed may select any store.
    let Some(now) = file.storage(file.now.as_deref()) else {
        return Some(Effect::needs_owner(effect));
    };
    let before = file.storage(file.before.as_deref());
    if let Some(before) = &before
        && now.is_same_place(before)
    {
        return None;
    }
    // No deployment of the base uses a new file.
    if file.before.is_none() {
        return Some(Effect::note(effect));
    }
    if is_known_store(facts, file.path, before.as_ref(), &now) {
        return Some(Effect::note(effect));
    }
    Some(Effect::needs_owner(effect))
}

/// Whether the base uses a store: the file before selected it, or a backend or a file beside it
/// does.
fn is_known_store(
    facts: &BaseFacts<'_>,
    path: &Path,
    before: Option<&StateStorage>,
    now: &StateStorage,
) -> bool {
    if before.is_some_and(|before| before.selects_same_store(now)) {
        return true;
    }
    let mut storages = facts.readings.whole_base().state_storages.iter();
    if storages.any(|known| known.selects_same_store(now)) {
        return true;
    }
    let mut beside = stores_beside_at_base(facts.change, path).into_iter();
    beside.any(|known| known.selects_same_store(now))
}

/// Whether `init` is likely to get a file under any name: it has nothing but arguments of backends,
/// and a backend at the base lacks one of them. Settings of other programs and values of variables
/// may have the same names.
fn is_needed_by_a_backend(facts: &BaseFacts<'_>, file: &ChangedFile<'_>) -> bool {
    let is_of_variables =
        file.kind == DecidingKind::Settings && file.path.extension() == Some(OsStr::new("tfvars"));
    if is_of_variables || !file.has_only_arguments_of_backend() {
        return false;
    }
    completes_a_backend(facts, file)
}

/// Whether a file has an argument that selects a store, and that a backend at the base lacks.
fn completes_a_backend(facts: &BaseFacts<'_>, file: &ChangedFile<'_>) -> bool {
    // Few files are like arguments of a backend, and all of the base is read only for them.
    if !file.has_argument_of_backend() {
        return false;
    }
    let backends = &facts.readings.whole_base().state_storages;
    let contents = [&file.before, &file.now].into_iter().flatten();
    let mut storages = contents.filter_map(|bytes| file.storage(Some(bytes)));
    storages.any(|storage| {
        backends
            .iter()
            .any(|backend| backend.is_completed_by(&storage))
    })
}

/// Returns the stores that other files with arguments of backends in the directory of a file select
/// at the base.
fn stores_beside_at_base(change: &ReviewedChange, path: &Path) -> Vec<StateStorage> {
    const BACKEND_KINDS: [DecidingKind; 3] = [
        DecidingKind::Backend,
        DecidingKind::PerhapsBackend,
        DecidingKind::Settings,
    ];
    let base = Tree::Revision(Arc::clone(&change.base));
    let mut storages = Vec::new();
    let Some(directory) = path.parent() else {
        return storages;
    };
    for entry in base.entries(directory).unwrap_or_default() {
        let other = directory.join(&entry.name);
        let kind = DecidingKind::of(&other);
        let may_be_backend = kind.is_some_and(|kind| BACKEND_KINDS.contains(&kind));
        if other == path || !may_be_backend {
            continue;
        }
        let bytes = base.read(&other, MAX_SIZE).unwrap_or_default();
        storages.extend(StateStorage::of_arguments(&other, &bytes));
    }
    storages
}

/// The effect of a `.terraformignore` on configuration that remote runs no longer get, or that they
/// get now; `None` if it hides the same files as at the base.
fn effect_of_upload_ignore(facts: &BaseFacts<'_>, file: &ChangedFile<'_>) -> Option<Effect> {
    let change = facts.change;
    let directory = file.path.parent()?;
    let base = Tree::Revision(Arc::clone(&change.base));
    let mut newly_hidden = Vec::new();
    let mut newly_uploaded = Vec::new();
    for path in configuration_and_lock_files_below(change, directory) {
        // The lock files of remote runs are checked with their root modules.
        let is_lock_file = [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME].contains(&file_name(path));
        if is_lock_file || !may_be_uploaded(facts, path) {
            continue;
        }
        let [was_hidden, is_hidden] = [&file.before, &file.now].map(|rules| match rules {
            Some(rules) => excludes_from_upload(directory, rules, path),
            None => false,
        });
        if is_hidden && !was_hidden {
            newly_hidden.push(path);
        } else if was_hidden && !is_hidden && base.exists(path) {
            newly_uploaded.push(path);
        }
    }
    if !newly_hidden.is_empty() {
        let effect = format!(
            "excludes {} from remote runs",
            names_of(change, &newly_hidden)
        );
        return Some(Effect::needs_owner(&effect));
    }
    // Both revisions were read with these files.
    if !newly_uploaded.is_empty() {
        let effect = format!("lets remote runs use {}", names_of(change, &newly_uploaded));
        return Some(Effect::note(&effect));
    }
    None
}

/// The first few paths for a message.
fn names_of(change: &ReviewedChange, paths: &[&Path]) -> String {
    first_few(paths.iter().map(|path| change.shown_path(path).display()))
}

/// Whether a remote run may read a file of configuration: it is not in a root module with a backend
/// that has none.
fn may_be_uploaded(facts: &BaseFacts<'_>, path: &Path) -> bool {
    let Some(directory) = path.parent() else {
        return false;
    };
    let shown = facts.change.shown_path(directory);
    let module = facts
        .module_cache
        .canonical_module(directory, shown, Dialect::default());
    match &module.backend {
        Some(backend) => backend.runs_remotely(),
        None => true,
    }
}

/// The files of configurations, and the lock files, in a directory and below.
fn configuration_and_lock_files_below<'a>(
    change: &'a ReviewedChange,
    directory: &Path,
) -> Vec<&'a Path> {
    let mut files = Vec::new();
    for path in change.read_files_now.iter().map(Path::new) {
        let name = file_name(path);
        let is_lock_file = [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME].contains(&name);
        if path.starts_with(directory) && (is_lock_file || is_part_of_configuration(name)) {
            files.push(path);
        }
    }
    files
}

/// The directories with configuration or lock files below a directory.
fn directories_below(change: &ReviewedChange, directory: &Path) -> BTreeSet<PathBuf> {
    let files = configuration_and_lock_files_below(change, directory);
    files
        .into_iter()
        .filter_map(Path::parent)
        .map(Path::to_owned)
        .collect()
}

/// The effect of a `.gitignore` that ignores lock files which git did not ignore before.
fn effect_of_ignore_file(change: &ReviewedChange, file: &ChangedFile<'_>) -> Option<Effect> {
    let directory = file.path.parent()?;
    let [before, now] =
        [&file.before, &file.now].map(|bytes| ignore_rules(directory, bytes.as_deref()));
    let mut names = vec![LOCK_FILE_NAME];
    if change
        .base_files_named(MODULE_LOCK_FILE_NAME)
        .next()
        .is_some()
    {
        names.push(MODULE_LOCK_FILE_NAME);
    }
    for root in directories_below(change, directory) {
        for name in &names {
            let lock_file = root.join(name);
            if is_ignored(&now, &lock_file) && !is_ignored(&before, &lock_file) {
                return Some(Effect::note("ignores lock files"));
            }
        }
    }
    None
}

fn is_ignored(rules: &Gitignore, path: &Path) -> bool {
    rules.matched_path_or_any_parents(path, false).is_ignore()
}

fn ignore_rules(directory: &Path, bytes: Option<&[u8]>) -> Gitignore {
    let mut builder = GitignoreBuilder::new(directory);
    let text = String::from_utf8_lossy(bytes.unwrap_or_default());
    for line in text.lines() {
        // git skips a pattern that it cannot read, too.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The files whose attributes decide in the directory of a file with attributes and below.
fn files_with_attributes(change: &ReviewedChange, path: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    let directory = path.parent().unwrap_or(path);
    for file in configuration_and_lock_files_below(change, directory) {
        files.insert(file.to_owned());
        // A lock file that is only added later gets the attributes as well.
        files.insert(file.with_file_name(LOCK_FILE_NAME));
        files.insert(file.with_file_name(MODULE_LOCK_FILE_NAME));
    }
    files
}

/// The effect of a file of Terramate, unless it only describes stacks.
fn effect_of_terramate(file: &ChangedFile<'_>) -> Option<Effect> {
    let before = generating_lines(file.before.as_deref());
    let now = generating_lines(file.now.as_deref());
    if now.is_some() && before == now {
        return None;
    }
    // The generated files are in the repository, too.
    Some(Effect::note("decides which configuration is generated"))
}

/// The lines of a file of Terramate that may generate code: all but descriptions of stacks. `None`
/// if they cannot be read.
fn generating_lines(bytes: Option<&[u8]>) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(bytes.unwrap_or_default());
    let mut lines = Vec::new();
    for line in code_lines(&text).ok()? {
        let is_stack = line.block.starts_with("stack ") || line.block.starts_with("stack{");
        if !line.code.is_empty() && !is_stack {
            lines.push(code_without_space(&line.code));
        }
    }
    Some(lines)
}
