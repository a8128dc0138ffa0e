//! Fetches the wanted commit of a repository with as little else as its server allows.

use std::process::Command;

use super::address::{GitAddress, Revision};
use super::repository::{Repository, SHARE_FOR_HISTORY};
use crate::modules::fetch_error::{FetchError, Fetched};
use crate::system::process::one_line;

/// Longest list of branches and tags in bytes. Git writes a file for each.
const LONGEST_REFS: u64 = 2 << 20;
/// Largest size of what git writes for one commit in bytes. All commits, and all repositories of a
/// package, may have [`MOST_BYTES`](crate::modules::limits::MOST_BYTES).
const MOST_OF_COMMIT: u64 = 512 << 20;
/// Reference to the fetched commit.
const MODULE: &str = "refs/provlock/module";
const FETCH: [&str; 5] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
];

impl Repository<'_> {
    /// Fetches the commit of an address. Returns a name for the commit; `None` if the fetched
    /// repository is empty.
    pub(super) fn fetch(&self, address: &GitAddress) -> Fetched<Option<String>> {
        let wanted = match &address.revision {
            Revision::Head => "HEAD",
            Revision::Name(name) | Revision::Commit(name) => name,
            Revision::Expression(text) if address.depth => {
                return Err(FetchError::git(format!(
                    "depth needs a branch or a tag, and its ref is {text:?}"
                )));
            }
            Revision::Expression(text) => return self.fetch_all(address, text).map(Some),
        };
        let (url, refspec) = (address.url.as_str(), format!("+{wanted}:{MODULE}"));
        let shallow = self.command(&[&FETCH[..], &["--depth=1", "--", url, &refspec]].concat());
        let shallow = self.run_with_space(shallow, MOST_OF_COMMIT)?;
        if shallow.status.success() {
            // A full id is that of a commit, never the name of a branch or tag: git takes it for
            // that of an object, and OpenTofu and Terraform leave the decision to git.
            let is_commit = matches!(address.revision, Revision::Commit(_));
            return Ok(Some(if is_commit { wanted } else { MODULE }.to_owned()));
        }
        let printed = String::from_utf8_lossy(&shallow.stderr);
        // Only this text shows that the server is a plain web server.
        let is_dumb = printed.contains("dumb http transport does not support shallow");
        match &address.revision {
            _ if address.depth => Err(self.failure(&shallow)),
            Revision::Head if printed.contains("couldn't find remote ref HEAD") => Ok(None),
            Revision::Head | Revision::Name(_) if is_dumb => {
                self.fetch_history(url, &[&refspec])?;
                Ok(Some(MODULE.to_owned()))
            }
            // A server need not hand out commits that no branch or tag names.
            Revision::Commit(commit) => self.fetch_all(address, commit).map(Some),
            _ => Err(self.failure(&shallow)),
        }
    }

    /// Fetches all commits, and finds the wanted one as git does after a clone.
    fn fetch_all(&self, address: &GitAddress, wanted: &str) -> Fetched<String> {
        let url = address.url.as_str();
        let too_many = format!("it has too many branches and tags to find {wanted:?}");
        self.list_refs(address, &["--heads", "--tags"], &[], &too_many)?;
        self.fetch_history(
            url,
            &[
                "+refs/heads/*:refs/remotes/origin/*",
                "+refs/tags/*:refs/tags/*",
            ],
        )?;
        if let Revision::Commit(_) = &address.revision {
            return Ok(wanted.to_owned());
        }
        if let Some(commit) = self.find(wanted)? {
            return Ok(commit);
        }
        // A clone has the default branch and the remote HEAD, too.
        self.set_default_branch(url)?;
        let missing =
            || FetchError::git(format!("it has no branch, tag or commit {wanted:?}")).gone(true);
        self.find(wanted)?.ok_or_else(missing)
    }

    /// Returns what `git ls-remote` lists. If that is too much, the error is `too_many`.
    pub(super) fn list_refs(
        &self,
        address: &GitAddress,
        options: &[&str],
        patterns: &[&str],
        too_many: &str,
    ) -> Fetched<String> {
        let arguments = [
            &["ls-remote", "--quiet"],
            options,
            &["--", address.url.as_str()],
            patterns,
        ]
        .concat();
        let list = self.read(self.command(&arguments), None, LONGEST_REFS, too_many)?;
        Ok(String::from_utf8_lossy(&list).into())
    }

    /// Returns the commit that a revision means after a clone.
    fn find(&self, text: &str) -> Fetched<Option<String>> {
        for name in [
            text,
            &format!("origin/{text}"),
            &format!("refs/tags/{text}"),
        ] {
            let commit = format!("{name}^{{commit}}");
            let found = self.run(self.command(&[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &commit,
            ]))?;
            if found.status.success() {
                return Ok(Some(one_line(&found.stdout)));
            }
        }
        Ok(None)
    }

    /// Points HEAD to the default branch of the fetched repository, and creates that branch, as a
    /// clone does.
    fn set_default_branch(&self, url: &str) -> Fetched<()> {
        let listed = self.output(&["ls-remote", "--symref", "--", url, "HEAD"])?;
        let branch = listed.lines().find_map(|line| {
            line.strip_prefix("ref: refs/heads/")?
                .strip_suffix("\tHEAD")
        });
        let Some(branch) = branch else {
            let Some(head) = listed.lines().find_map(|line| line.strip_suffix("\tHEAD")) else {
                return Ok(());
            };
            return self
                .output(&["update-ref", "--no-deref", "HEAD", head])
                .map(drop);
        };
        let (local, remote) = (
            format!("refs/heads/{branch}"),
            format!("refs/remotes/origin/{branch}"),
        );
        self.output(&["update-ref", &local, &remote])?;
        self.output(&["symbolic-ref", "HEAD", &local])?;
        self.output(&["symbolic-ref", "refs/remotes/origin/HEAD", &remote])
            .map(drop)
    }

    fn fetch_history(&self, url: &str, refspecs: &[&str]) -> Fetched<()> {
        let command: Command = self.command_within(
            SHARE_FOR_HISTORY,
            &[&FETCH[..], &["--", url], refspecs].concat(),
        );
        let fetched = self.run(command)?;
        if fetched.status.success() {
            Ok(())
        } else {
            Err(self.failure(&fetched))
        }
    }
}
