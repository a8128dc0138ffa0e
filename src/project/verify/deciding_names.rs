//! Names of variables on which sources of modules, and places of states, depend at the base.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use super::readings::BaseReadings;
use crate::configuration::terragrunt::{
    MAX_FILE_SIZE, environment_names, may_read, may_read_environment,
};
use crate::project::reviewed_change::{ReviewedChange, file_name};
use crate::system::parallel;

/// Names of variables. A text that gives a value to one decides.
pub(super) struct DecidingNames {
    pub(super) kinds: BTreeMap<String, NameKind>,
}

/// Kind of a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A variable of root modules, whose name may be any word.
    Input,
    /// A variable of the environment, whose name has no other meaning.
    Environment,
}

impl DecidingNames {
    /// The names in all root modules and units of the base.
    pub(super) fn of_base(change: &ReviewedChange, readings: &BaseReadings) -> Self {
        let inputs = &readings.whole_base().variables;
        let mut kinds = BTreeMap::new();
        for name in inputs {
            kinds.insert(name.clone(), NameKind::Input);
            kinds.insert(format!("TF_VAR_{name}"), NameKind::Environment);
        }
        let texts = texts_of_terragrunt(change, readings);
        if texts.iter().any(|text| may_read_environment(text)) {
            let texts = texts.iter().map(String::as_str);
            for name in environment_names(texts, inputs) {
                kinds.insert(name, NameKind::Environment);
            }
        }
        Self { kinds }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }
}

/// The texts of the files of the base that Terragrunt may read.
fn texts_of_terragrunt(change: &ReviewedChange, readings: &BaseReadings) -> Vec<String> {
    let paths: BTreeSet<&OsString> = change
        .read_files_now
        .iter()
        .chain(change.before.keys())
        .collect();
    let mut files = Vec::new();
    for path in paths {
        let path = Path::new(path);
        let name = file_name(path);
        if may_read(name) && !ReviewedChange::is_lock_file(name) {
            files.push(path);
        }
    }
    parallel::map(files, parallel::cores(), |path| {
        let bytes = readings.tree().read(path, MAX_FILE_SIZE);
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    })
}
