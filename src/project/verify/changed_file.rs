//! A changed file that may decide, with its contents in both revisions.

use std::ffi::OsStr;
use std::path::Path;

use super::deciding_kind::DecidingKind;
use super::file_effect::MAX_SIZE;
use crate::configuration::StateStorage;
use crate::hcl::code_lines::{code_lines, code_without_space};

/// A changed file with its contents; `None` where it does not exist.
pub(super) struct ChangedFile<'a> {
    pub(super) path: &'a Path,
    pub(super) kind: DecidingKind,
    pub(super) before: Option<Vec<u8>>,
    pub(super) now: Option<Vec<u8>>,
}

impl ChangedFile<'_> {
    /// Whether only line ends differ, or comments and white space in HCL.
    pub(super) fn is_unchanged(&self) -> bool {
        let (Some(before), Some(now)) = (&self.before, &self.now) else {
            return self.before == self.now;
        };
        let [before, now] = [before, now].map(|bytes| String::from_utf8_lossy(bytes));
        if self.kind.is_hcl() {
            return code_without_space(&before) == code_without_space(&now);
        }
        before.lines().eq(now.lines())
    }

    /// The place of a state that one of its contents specifies.
    pub(super) fn storage(&self, bytes: Option<&[u8]>) -> Option<StateStorage> {
        let bytes = bytes?;
        // Large files of other programs would take long to parse.
        if bytes.len() as u64 > MAX_SIZE {
            return None;
        }
        StateStorage::of_arguments(self.path, bytes)
    }

    /// Whether one of its contents has an argument that selects a store.
    pub(super) fn has_argument_of_backend(&self) -> bool {
        let contents = [&self.before, &self.now];
        let mut storages = contents
            .map(|bytes| self.storage(bytes.as_deref()))
            .into_iter();
        storages.any(|storage| storage.is_some_and(|storage| storage.selects_store()))
    }

    /// Whether all of its arguments are arguments of backends, and one selects a store.
    pub(super) fn has_only_arguments_of_backend(&self) -> bool {
        for bytes in [&self.before, &self.now].into_iter().flatten() {
            let storage = self.storage(Some(bytes));
            if storage.is_some_and(|storage| storage.is_only_of_backend()) {
                return true;
            }
        }
        false
    }

    /// Whether one of its contents is in HCL and has a block that no file with arguments of a
    /// backend has, and that Terragrunt reads in its own files.
    pub(super) fn is_of_terragrunt(&self) -> bool {
        const BLOCKS: [&str; 7] = [
            "remote_state",
            "locals",
            "include",
            "generate",
            "inputs",
            "terraform",
            "dependency",
        ];
        if self.path.extension() != Some(OsStr::new("hcl")) {
            return false;
        }
        for bytes in [&self.before, &self.now].into_iter().flatten() {
            let text = String::from_utf8_lossy(bytes);
            let Ok(lines) = code_lines(&text) else {
                continue;
            };
            for line in &lines {
                if BLOCKS.iter().any(|block| line.block.starts_with(block)) {
                    return true;
                }
            }
        }
        false
    }
}
