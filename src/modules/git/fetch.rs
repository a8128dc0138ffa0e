//! Fetches the wanted commit of a repository with as little else as its server allows.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::fs;
use std::process::Command;

use super::address::{GitAddress, Revision};
use super::repository::{Repository, SHARE_FOR_HISTORY};
use crate::modules::fetch_error::{FetchError, FetchResult};
use crate::system::parallel;
use crate::system::process::{Finished, one_line};

/// Longest list of branches and tags in bytes. Git writes a file for each.
const LONGEST_REFS: u64 = 2 << 20;
/// Largest size of what git writes for one commit in bytes. All commits, and all repositories of a
/// package, may have [`MOST_BYTES`](crate::modules::limits::MOST_BYTES).
const MOST_OF_COMMIT: u64 = 512 << 20;
/// Reference to the fetched commit.
const MODULE: &str = "refs/provlock/module";
/// All branches and tags, under the names that they have in a clone.
const ALL_BRANCHES: [&str; 2] = [
    "+refs/heads/*:refs/remotes/origin/*",
    "+refs/tags/*:refs/tags/*",
];
const FETCH: [&str; 5] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
];

fn no_branch(name: &str) -> FetchError {
    FetchError::git(format!("it has no branch or tag {name:?}")).marked_gone()
}

impl Repository<'_> {
    /// Fetches the commit of an address, with as little else as the server allows. Returns a name
    /// for the commit; `None` if the fetched repository is empty.
    pub(super) fn fetch(&self, address: &GitAddress) -> FetchResult<Option<String>> {
        let revision = match &address.revision {
            Revision::Head => "HEAD",
            Revision::Name(name) if address.is_shallow => return self.fetch_clone(address, name),
            Revision::Commit(text) | Revision::Expression(text) if address.is_shallow => {
                return Err(FetchError::git(format!(
                    "depth needs a branch or a tag, and its ref is {text:?}"
                )));
            }
            Revision::Name(name) => name,
            Revision::Commit(commit) => return self.fetch_commit(address, commit).map(Some),
            Revision::Expression(text) => return self.fetch_all(address, text).map(Some),
        };

        // 1. Fetch it without its history.
        let shallow = self.fetch_shallow(address, revision)?;
        if shallow.status.success() {
            return match &address.revision {
                Revision::Name(name) if !self.has_fetched_branch(name)? => {
                    self.fetch_branch(address, name)
                }
                _ => Ok(Some(MODULE.to_owned())),
            };
        }

        // 2. Fetch it with its history if the server cannot do without.
        let printed = String::from_utf8_lossy(&shallow.stderr);
        // Only this text shows that the server is a plain web server.
        let is_dumb = printed.contains("dumb http transport does not support shallow");
        match &address.revision {
            Revision::Head if printed.contains("couldn't find remote ref HEAD") => Ok(None),
            Revision::Head | Revision::Name(_) if is_dumb && !address.is_shallow => {
                let refspec = format!("+{revision}:{MODULE}");
                self.fetch_history(address.url.as_str(), &[], &[&refspec])?;
                match &address.revision {
                    Revision::Name(name) if !self.has_fetched_branch(name)? => Err(no_branch(name)),
                    _ => Ok(Some(MODULE.to_owned())),
                }
            }
            _ => Err(self.failure(&shallow)),
        }
    }

    /// Fetches the commit with a full ID. git never takes such an ID for the name of a branch or
    /// tag, and OpenTofu and Terraform leave the decision to git.
    fn fetch_commit(&self, address: &GitAddress, commit: &str) -> FetchResult<String> {
        if address.allows_any_commit {
            let shallow = self.fetch_shallow(address, commit)?;
            if shallow.status.success() {
                return Ok(commit.to_owned());
            }
            return self.fetch_all(address, commit);
        }

        // Neither needs the result of the other, and each waits for the server.
        let (shallow, listed) = parallel::both(
            || self.fetch_shallow(address, commit),
            || self.list_branches(address, commit),
        );
        if !shallow?.status.success() {
            // A server need not hand out commits that no branch or tag names.
            return self.fetch_all(address, commit);
        }
        self.require_branch(address, commit, &listed?)?;
        Ok(commit.to_owned())
    }

    /// Fetches one commit.
    fn fetch_shallow(&self, address: &GitAddress, revision: &str) -> FetchResult<Finished> {
        let refspec = format!("+{revision}:{MODULE}");
        let arguments = ["--depth=1", "--", address.url.as_str(), &refspec];
        let command = self.command(&[&FETCH[..], &arguments].concat());
        self.run_with_space(command, MOST_OF_COMMIT)
    }

    /// Whether the last fetched name is the name of a branch or a tag. A clone has no other
    /// references; the author of a fork makes references such as `refs/pull/1/head`.
    fn has_fetched_branch(&self, name: &str) -> FetchResult<bool> {
        // `COMMIT`, a tab, perhaps `not-for-merge`, a tab, and `branch 'NAME' of URL`.
        let text = fs::read_to_string(self.directory.join("FETCH_HEAD"))?;
        let description = text.split('\t').nth(2).unwrap_or_default();
        Ok(name == "HEAD"
            || description.starts_with("branch '")
            || description.starts_with("tag '"))
    }

    /// Fails unless a branch or a tag of the fetched repository, as they are listed, contains a
    /// commit.
    fn require_branch(&self, address: &GitAddress, commit: &str, listed: &str) -> FetchResult<()> {
        let commit = commit.to_ascii_lowercase();
        // The head of a branch or tag is found without its history.
        if listed.lines().any(|line| line.starts_with(&commit)) {
            return Ok(());
        }

        // Otherwise the history shows it. It is fetched without files, into a repository without
        // the commit. A server that cannot omit files sends all.
        let own_name = self.directory.file_name().unwrap_or_default();
        let name = format!("{}-history", own_name.to_string_lossy());
        let history = Repository::for_fetching(self.git, &name, address)?;
        history.fetch_history(address.url.as_str(), &["--filter=tree:0"], &ALL_BRANCHES)?;
        let contains = format!("--contains={commit}");
        let arguments = ["for-each-ref", "--count=1", &contains];
        let references = history.run(history.command(&arguments))?;
        if references.status.success() && !references.stdout.is_empty() {
            return Ok(());
        }
        let why = format!("no branch or tag of it contains the commit {commit}");
        let help = "use a commit of a branch or a tag; init cannot check out this one, which may \
                    be from a fork";
        Err(FetchError::git(why).help(help).marked_gone())
    }

    /// Fetches the tag of this name, or else the branch, where a different reference also has the
    /// name.
    fn fetch_branch(&self, address: &GitAddress, name: &str) -> FetchResult<Option<String>> {
        self.fetch_first(address, name, ["tags", "heads"])
    }

    /// Fetches the branch of this name, or else the tag, as `git clone --branch` does.
    fn fetch_clone(&self, address: &GitAddress, name: &str) -> FetchResult<Option<String>> {
        self.fetch_first(address, name, ["heads", "tags"])
    }

    /// Fetches the first reference of a name that exists.
    fn fetch_first(
        &self,
        address: &GitAddress,
        name: &str,
        kinds: [&str; 2],
    ) -> FetchResult<Option<String>> {
        for kind in kinds {
            let shallow = self.fetch_shallow(address, &format!("refs/{kind}/{name}"))?;
            if shallow.status.success() {
                return Ok(Some(MODULE.to_owned()));
            }
            let failure = self.failure(&shallow);
            if !failure.is_gone {
                return Err(failure);
            }
        }
        Err(no_branch(name))
    }

    /// Fetches all commits, and finds the wanted one as git does after a clone.
    fn fetch_all(&self, address: &GitAddress, revision: &str) -> FetchResult<String> {
        let url = address.url.as_str();
        // A list that is too long is not fetched.
        self.list_branches(address, revision)?;
        self.fetch_history(url, &[], &ALL_BRANCHES)?;
        if let Revision::Commit(_) = &address.revision {
            return Ok(revision.to_owned());
        }
        if let Some(commit) = self.commit_meant_by(revision)? {
            return Ok(commit);
        }
        // A clone has the default branch and the remote HEAD, too.
        self.set_default_branch(url)?;
        let Some(commit) = self.commit_meant_by(revision)? else {
            let why = format!("it has no branch, tag or commit {revision:?}");
            return Err(FetchError::git(why).marked_gone());
        };
        Ok(commit)
    }

    /// Lists all branches and tags, among which a revision is to be found.
    fn list_branches(&self, address: &GitAddress, revision: &str) -> FetchResult<String> {
        let too_many = format!("it has too many branches and tags to find {revision:?}");
        self.list_refs(address, &["--heads", "--tags"], &[], &too_many)
    }

    /// Returns what `git ls-remote` lists. If that is too much, the error is `too_many`.
    pub(super) fn list_refs(
        &self,
        address: &GitAddress,
        options: &[&str],
        patterns: &[&str],
        too_many: &str,
    ) -> FetchResult<String> {
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

    /// Returns the commit that a revision means after a clone: as it is, or as a branch or tag of
    /// the repository. `None` if it means none.
    fn commit_meant_by(&self, text: &str) -> FetchResult<Option<String>> {
        for name in [
            text,
            &format!("origin/{text}"),
            &format!("refs/tags/{text}"),
        ] {
            let commit = format!("{name}^{{commit}}");
            let parsed = self.run(self.command(&[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &commit,
            ]))?;
            if parsed.status.success() {
                return Ok(Some(one_line(&parsed.stdout)));
            }
        }
        Ok(None)
    }

    /// Points HEAD to the default branch of the fetched repository, and creates that branch, as a
    /// clone does.
    fn set_default_branch(&self, url: &str) -> FetchResult<()> {
        let listed = self.output(&["ls-remote", "--symref", "--", url, "HEAD"])?;
        for line in listed.lines() {
            if let Some(reference) = line.strip_prefix("ref: refs/heads/")
                && let Some(branch) = reference.strip_suffix("\tHEAD")
            {
                let local = format!("refs/heads/{branch}");
                let remote = format!("refs/remotes/origin/{branch}");
                self.output(&["update-ref", &local, &remote])?;
                self.output(&["symbolic-ref", "HEAD", &local])?;
                self.output(&["symbolic-ref", "refs/remotes/origin/HEAD", &remote])?;
                return Ok(());
            }
        }
        // HEAD is a commit without a branch.
        for line in listed.lines() {
            if let Some(head) = line.strip_suffix("\tHEAD") {
                self.output(&["update-ref", "--no-deref", "HEAD", head])?;
                return Ok(());
            }
        }
        Ok(())
    }

    fn fetch_history(&self, url: &str, options: &[&str], refspecs: &[&str]) -> FetchResult<()> {
        let arguments = [&FETCH[..], options, &["--", url], refspecs].concat();
        let command: Command = self.command_within(SHARE_FOR_HISTORY, &arguments);
        let fetched = self.run(command)?;
        if fetched.status.success() {
            Ok(())
        } else {
            Err(self.failure(&fetched))
        }
    }
}
