//! Files that git changes when it checks them out, according to `.gitattributes`
//! (<https://git-scm.com/docs/gitattributes>).

use std::collections::BTreeSet;
use std::path::Path;

use super::repository::{Git, Repository};
use crate::modules::fetch_error::{FetchError, FetchResult};

/// Longest list of attributes in bytes. It has two for each file.
const LONGEST_LIST: u64 = 64 << 20;

impl Git<'_> {
    /// Returns the files of a package that git may change beyond line ends and `$Id$` when it
    /// checks them out. Only the package's own attributes are used, not the user's.
    ///
    /// # Errors
    /// git cannot read the attributes.
    pub(in crate::modules) fn changed_at_checkout<'n>(
        &self,
        package: &Path,
        names: &[&'n str],
    ) -> FetchResult<BTreeSet<&'n str>> {
        let repository = Repository::create(self, self.directory.join("0"))?;
        let mut command = repository.command(&[
            "check-attr",
            "-z",
            "--stdin",
            "filter",
            "working-tree-encoding",
        ]);
        command
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_WORK_TREE", package);
        let list = repository.read(
            command,
            Some(names.join("\0") + "\0"),
            LONGEST_LIST,
            "git printed too much",
        )?;
        let list = String::from_utf8(list).map_err(|_| FetchError::unreadable_git_output())?;
        let fields: Vec<_> = list.split_terminator('\0').collect();
        // For each file, git prints three fields for each of two attributes.
        if fields.len() != names.len() * 6 {
            return Err(FetchError::unreadable_git_output());
        }

        // The name of a file, an attribute and its value.
        let mut listed = BTreeSet::new();
        for field in fields.chunks_exact(3) {
            let value = field[2].to_ascii_lowercase();
            if !["unspecified", "unset", "utf-8", "utf8"].contains(&value.as_str()) {
                listed.insert(field[0]);
            }
        }
        let mut changed = BTreeSet::new();
        for name in names {
            if listed.contains(name) {
                changed.insert(*name);
            }
        }
        Ok(changed)
    }
}
