//! Files that git changes when it checks them out, according to `.gitattributes`
//! (<https://git-scm.com/docs/gitattributes>).

use std::collections::BTreeSet;
use std::path::Path;

use super::Git;
use super::error::{GitError, Result};
use super::scratch::{SHARE_FOR_COMMIT, Scratch};
use crate::system::TemporaryDirectory;
use crate::system::process;

/// The longest list of attributes in bytes: two for each file.
const LONGEST_LIST: u64 = 64 << 20;

impl Git<'_> {
    /// Returns those of the files of a package that git may change beyond line ends and `$Id$` when it checks them out.
    /// Only the package's own attributes count, not those of the user.
    ///
    /// # Errors
    /// git cannot read the attributes.
    pub(in crate::modules) fn changed_at_checkout<'a>(
        &self,
        package: &Path,
        names: &[&'a str],
    ) -> Result<BTreeSet<&'a str>> {
        let directory = TemporaryDirectory::new()?;
        let scratch = Scratch::new(self, directory.path());
        scratch.create()?;
        let mut command = scratch.command_within(SHARE_FOR_COMMIT, Some(package), "check-attr");
        command.env("GIT_ATTR_NOSYSTEM", "1").args(["-z", "--stdin", "filter", "working-tree-encoding"]);
        let input = names.join("\0") + "\0";
        let finished = scratch.within(LONGEST_LIST, |limits| process::run_within(command, Some(input), limits));
        let finished = finished.map_err(|why| scratch.ended(&why))?;
        if !finished.status.success() {
            return Err(scratch.failure(&finished));
        }
        let list = String::from_utf8(finished.stdout).map_err(|_| GitError::unreadable())?;
        let fields: Vec<_> = list.split_terminator('\0').collect();
        let is_changing = |fields: &&[&str]| {
            !matches!(fields[2].to_ascii_lowercase().as_str(), "unspecified" | "unset" | "utf-8" | "utf8")
        };
        if fields.len() != names.len() * 6 {
            return Err(GitError::unreadable());
        }
        let changed: BTreeSet<_> = fields.chunks_exact(3).filter(is_changing).map(|fields| fields[0]).collect();
        Ok(names.iter().copied().filter(|name| changed.contains(name)).collect())
    }
}
