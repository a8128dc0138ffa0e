//! Settings files that the change edits: `policy-changed`. They are compared as values, and each
//! key has a direction.

use std::collections::BTreeSet;
use std::path::Path;

use crate::diagnostic::words::joined_with_and;
use crate::diagnostic::{Code, Diagnostic, Location, Severity};
use crate::lockfile::{detect_dialect, named_providers};
use crate::project::reviewed_change::{ReviewedChange, lines};
use crate::project::root_module::searched_repository::TofuMentions;
use crate::project::session::Session;
use crate::project::similar_names::{Part, look_alike};
use crate::provider::{Dialect, ProviderAddress};
use crate::settings::{
    self, ComparedSettings, Settings, SettingsAbove, SettingsDifference, SettingsFiles, read_in,
};
use crate::system::Tree;

impl Session<'_> {
    /// Findings about edited settings files in the directories that `applies` selects, and errors
    /// about settings that cannot be read after the change.
    pub(super) fn edited_settings(
        &self,
        change: &ReviewedChange,
        applies: impl Fn(&Path) -> bool,
    ) -> Vec<Diagnostic> {
        let mut paths: BTreeSet<&Path> = change.current_files_named(settings::FILE_NAME).collect();
        for (path, _) in change.base_files_named(settings::FILE_NAME) {
            paths.insert(path);
        }
        paths.retain(|path| path.parent().is_some_and(&applies));

        // Words in other files count only if no file of the base shows its tool.
        let mut mentioned = Vec::new();
        if !paths.is_empty() {
            let repository = self.repositories.around(&change.top, &self.environment);
            if repository.tofu_mentions(Some(&change.commit)) == TofuMentions::Found {
                mentioned.push(Dialect::Tofu);
            }
        }

        let mut findings = Vec::new();
        let mut edited_directories = Vec::new();
        for path in &paths {
            let before = change.file_before(path);
            let now = read_in(&Tree::Work, path);
            let Some(what) = what_changed(before, &now) else {
                continue;
            };
            let directory = path.parent().unwrap_or(path);
            edited_directories.push(directory);
            let edit = SettingsEdit {
                shown: change.shown_path(path),
                what,
                directory,
                before: usable_at_base(change, path, before),
                now: now
                    .ok()
                    .and_then(|bytes| parse(change, path, bytes.as_deref())),
                above: settings_above(change, directory),
                mentioned_dialects: &mentioned,
            };
            findings.extend(change.finding_edited_settings(&edit));
        }

        findings.extend(self.errors_in_nearer_settings(
            change,
            &paths,
            &edited_directories,
            &findings,
        ));
        findings
    }

    /// Errors of the settings in or below directories whose settings are edited, because an edited
    /// file may make a nearer one invalid; except those in `reported`.
    fn errors_in_nearer_settings(
        &self,
        change: &ReviewedChange,
        settings_paths: &BTreeSet<&Path>,
        edited_directories: &[&Path],
        reported: &[Diagnostic],
    ) -> Vec<Diagnostic> {
        let mut errors: Vec<Diagnostic> = Vec::new();
        let cache = SettingsAbove::default();
        let shown = |path: &Path| change.shown_path(path).to_owned();
        for directory in settings_paths.iter().filter_map(|path| path.parent()) {
            if !edited_directories
                .iter()
                .any(|above| directory.starts_with(above))
            {
                continue;
            }
            let settings = Settings::find(directory, self.settings_on_disk(), &cache, &shown);
            for error in settings.err().into_iter().flatten() {
                if !reported.contains(&error) && !errors.contains(&error) {
                    errors.push(error);
                }
            }
        }
        errors
    }
}

/// A settings file that the change edits.
#[derive(Debug)]
pub struct SettingsEdit<'a> {
    /// Path of the file, as the user knows it.
    pub shown: &'a Path,
    /// Difference from the base, from [`what_changed`].
    pub what: &'static str,
    /// Directory to which the settings apply, absolute and without symlinks.
    pub directory: &'a Path,
    /// Settings at the base, the default if there were none. `None` if they cannot be used.
    pub before: Option<Settings>,
    /// Settings now, the default if there are none. `None` if they cannot be read.
    pub now: Option<Settings>,
    /// Settings of the files further up at the base.
    pub above: Settings,
    /// Dialects that count if no lock file and no other file name of the base shows one.
    pub mentioned_dialects: &'a [Dialect],
}

/// Parses a settings file; the default settings if there is none.
fn parse(change: &ReviewedChange, path: &Path, bytes: Option<&[u8]>) -> Option<Settings> {
    match bytes {
        Some(bytes) => Settings::named(path, bytes.to_vec(), &change.top).ok(),
        None => Some(Settings::default()),
    }
}

/// Settings of the base; `None` if they cannot be used where they are: settings of a cache below
/// other settings.
fn usable_at_base(change: &ReviewedChange, path: &Path, bytes: Option<&[u8]>) -> Option<Settings> {
    let settings = parse(change, path, bytes)?;
    let mut files = change.base_files_named(settings::FILE_NAME);
    let is_below_other = files.any(|(other, _)| {
        other != path
            && path
                .parent()
                .zip(other.parent())
                .is_some_and(|(own, other)| own.starts_with(other))
    });
    if settings.cache.is_some() && is_below_other {
        None
    } else {
        Some(settings)
    }
}

/// Settings of the base above a directory.
fn settings_above(change: &ReviewedChange, directory: &Path) -> Settings {
    let Some(parent) = directory.parent() else {
        return Settings::default();
    };
    if !parent.starts_with(&change.top) {
        return Settings::default();
    }
    let files = SettingsFiles::Committed {
        top: &change.top,
        files: &change.settings,
    };
    let shown = |path: &Path| change.shown_path(path).to_owned();
    Settings::find(parent, files, &SettingsAbove::default(), &shown).unwrap_or_default()
}

/// Returns the difference of a file from the base as a verb phrase for a message; `None` if there
/// is none.
pub fn what_changed(
    before: Option<&[u8]>,
    now: &std::io::Result<Option<Vec<u8>>>,
) -> Option<&'static str> {
    match (before, now) {
        (None, Ok(None)) => None,
        (Some(before), Ok(Some(now))) if lines(before) == lines(now) => None,
        (None, _) => Some("is new"),
        (Some(_), Ok(None)) => Some("was removed"),
        (Some(_), _) => Some("has changed"),
    }
}

impl ReviewedChange {
    /// The finding about an edited settings file: an error if it may allow more than before, a note
    /// if it only allows less; `None` if its values are equal. Settings that the base has, and that
    /// cannot be used, do not apply.
    pub fn finding_edited_settings(&self, edit: &SettingsEdit<'_>) -> Option<Diagnostic> {
        let mut difference = None;
        if let Some(before) = &edit.before
            && let Some(now) = &edit.now
        {
            let known = self.difference(edit, before, now);
            if known.is_empty() {
                return None;
            }
            difference = Some(known);
        }
        let checked_how = match (&edit.before, Tree::Work.exists(edit.shown)) {
            (Some(_), _) => "this change is checked without it",
            (None, true) => "that of the base cannot be read, so this change is checked with it",
            (None, false) => {
                "that of the base cannot be read, so this change is checked without it"
            }
        };
        let shown = edit.shown.display();
        let what = edit.what;
        let location = Location::of_file(edit.shown);
        match difference {
            Some(difference) if difference.looser.is_empty() => {
                let message = format!("{shown} {what} and only forbids more; {checked_how}");
                let mut note = Diagnostic::finding(Code::PolicyChanged, message);
                note.severity = Severity::Note;
                let keys = joined_with_and(&difference.stricter);
                let note = note.at_location(location).note(format!("stricter: {keys}"));
                Some(note.help("make sure that later changes can meet it"))
            }
            difference => {
                let message = format!("{shown} {what}; {checked_how}");
                let mut error =
                    Diagnostic::finding(Code::PolicyChanged, message).at_location(location);
                if let Some(difference) = difference {
                    let keys = joined_with_and(&difference.looser);
                    error = error.note(format!("may allow more: {keys}"));
                }
                Some(error.help("review what it will allow for later changes"))
            }
        }
    }

    /// The keys whose values differ, for the dialects that the lock files and file names of the
    /// base show: those below the directory of the settings, else those elsewhere.
    fn difference(
        &self,
        edit: &SettingsEdit<'_>,
        before: &Settings,
        now: &Settings,
    ) -> SettingsDifference {
        let mut dialects = Vec::new();
        let mut dialects_elsewhere = Vec::new();
        let mut files = Vec::new();
        for (path, bytes) in self.base_lock_files() {
            if path.starts_with(edit.directory) {
                dialects.extend(detect_dialect(bytes));
            } else {
                dialects_elsewhere.extend(detect_dialect(bytes));
            }
            files.push(bytes);
        }
        if self.has_tofu_files(edit.directory) {
            dialects.push(Dialect::Tofu);
        }
        if dialects.is_empty() {
            dialects = dialects_elsewhere;
        }
        if dialects.is_empty() {
            dialects = edit.mentioned_dialects.to_vec();
        }
        let compared = ComparedSettings {
            before,
            now,
            above: &edit.above,
            dialects: &dialects,
        };
        let mut difference = compared.difference();
        for (key, address) in compared.allowed_by_name() {
            // A name on such a list is no look-alike any more.
            if imitates(&address, || named_providers(files.clone())) {
                difference.looser.insert(key);
            }
        }
        difference
    }
}

/// Whether an address looks like a well-known one. `known` returns the providers of the base.
fn imitates(address: &ProviderAddress, known: impl Fn() -> BTreeSet<ProviderAddress>) -> bool {
    let Some(found) = look_alike(address) else {
        return false;
    };
    let is_known = known().iter().any(|one| {
        let is_of_host = one.hostname == address.hostname;
        let is_of_namespace = is_of_host && one.namespace == address.namespace;
        match found.part {
            Part::Provider => is_of_namespace,
            Part::Host | Part::NewHost => is_of_host,
        }
    });
    !is_known
}
