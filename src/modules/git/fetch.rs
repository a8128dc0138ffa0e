//! Fetches the wanted commit of a repository with as little else as its server allows.

use std::process::Command;

use super::address::{GitAddress, Revision};
use super::error::{GitError, Result};
use super::scratch::{SHARE_FOR_COMMIT, SHARE_FOR_HISTORY, Scratch};
use crate::system::process::{self, one_line};

/// The longest list of branches and tags, in bytes. Git writes a file for each.
const LONGEST_REFS: u64 = 2 << 20;
/// The most that git may write for one commit, in bytes. For all commits, and for all repositories of a package, it is
/// [`MOST_BYTES`](crate::modules::problem::MOST_BYTES).
const MOST_OF_COMMIT: u64 = 512 << 20;
/// The reference to the fetched commit.
const MODULE: &str = "refs/provlock/module";

impl<'a> Scratch<'a> {
    /// Makes the repository and fetches the commit of an address. Returns a name for the commit; `None` if the
    /// fetched repository is empty.
    pub(super) fn fetch(&mut self, address: &'a GitAddress) -> Result<Option<String>> {
        self.open(address)?;
        let wanted = match &address.revision {
            Revision::Head => "HEAD",
            Revision::Name(name) | Revision::Commit(name) => name,
            Revision::Expression(text) if address.depth => {
                return Err(GitError::new(format!("depth needs a branch or a tag, and its ref is {text:?}")));
            }
            Revision::Expression(_) => return self.fetch_all(address).map(Some),
        };
        let refspec = format!("+{wanted}:{MODULE}");
        let shallow = self.fetch_command(address, &["--depth=1"], &[&refspec]);
        let shallow = self.run_in_space(MOST_OF_COMMIT, shallow, None)?;
        if shallow.status.success() {
            // A full id is that of a commit, never the name of a branch or tag: git takes it for that of an object, and
            // OpenTofu and Terraform leave the decision to git.
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
                self.success(self.fetch_command(address, &[], &[&refspec]))?;
                Ok(Some(MODULE.to_owned()))
            }
            // A server need not hand out commits that no branch or tag names.
            Revision::Commit(_) => self.fetch_all(address).map(Some),
            _ => Err(self.failure(&shallow)),
        }
    }

    /// Fetches all commits, and finds the wanted one as git does after a clone.
    fn fetch_all(&self, address: &GitAddress) -> Result<String> {
        self.check_refs(address)?;
        let refspecs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
        let fetched = self.run(self.fetch_command(address, &[], &refspecs))?;
        if !fetched.status.success() {
            return Err(self.failure(&fetched));
        }
        let (Revision::Name(text) | Revision::Commit(text) | Revision::Expression(text)) = &address.revision else {
            return Ok(MODULE.to_owned());
        };
        if let Revision::Commit(_) = &address.revision {
            return Ok(text.clone());
        }
        if let Some(commit) = self.find(text)? {
            return Ok(commit);
        }
        // A clone has the default branch and the remote HEAD, too.
        self.set_default_branch()?;
        self.find(text)?.ok_or_else(|| {
            let error = GitError::new(format!("it has no branch, tag or commit {text:?}"));
            GitError { is_gone: true, ..error }
        })
    }

    /// Fails if there are too many branches and tags to fetch them all.
    fn check_refs(&self, address: &GitAddress) -> Result<()> {
        if self.list_refs(&["--heads", "--tags"], &[])?.is_some() {
            return Ok(());
        }
        let reference = address.reference().unwrap_or_default();
        let why = format!("it has so many branches and tags that {reference:?} is not looked for in them");
        Err(GitError::new(why))
    }

    /// Returns what `git ls-remote` lists; `None` if that is too much.
    pub(super) fn list_refs(&self, options: &[&str], patterns: &[&str]) -> Result<Option<String>> {
        let mut command = self.command("ls-remote");
        command.arg("--quiet").args(options).args(["--", self.url()]).args(patterns);
        match self.within(LONGEST_REFS, |limits| process::run_within(command, None, limits)) {
            Ok(finished) if finished.status.success() => Ok(Some(String::from_utf8_lossy(&finished.stdout).into())),
            Ok(finished) => Err(self.failure(&finished)),
            Err(process::Failure::TooMuchOutput) => Ok(None),
            Err(why) => Err(self.ended(&why)),
        }
    }

    /// Returns the commit that a revision means after a clone.
    fn find(&self, text: &str) -> Result<Option<String>> {
        for name in [text, &format!("origin/{text}"), &format!("refs/tags/{text}")] {
            let mut command = self.command("rev-parse");
            command.args(["--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]);
            let found = self.run(command)?;
            if found.status.success() {
                return Ok(Some(one_line(&found.stdout)));
            }
        }
        Ok(None)
    }

    /// Points HEAD to the default branch of the fetched repository, and creates that branch, as a clone does.
    fn set_default_branch(&self) -> Result<()> {
        let mut command = self.command("ls-remote");
        command.args(["--symref", "--", self.url(), "HEAD"]);
        let listed = self.success(command)?.stdout;
        let listed = String::from_utf8_lossy(&listed);
        let branch = listed.lines().find_map(|line| line.strip_prefix("ref: refs/heads/")?.strip_suffix("\tHEAD"));
        let Some(branch) = branch else {
            let head = listed.lines().find_map(|line| line.strip_suffix("\tHEAD"));
            let mut command = self.command("update-ref");
            command.args(["--no-deref", "HEAD"]).args(head);
            return if head.is_some() { self.success(command).map(drop) } else { Ok(()) };
        };
        let (local, remote) = (format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}"));
        for arguments in [
            ["update-ref", &local, &remote],
            ["symbolic-ref", "HEAD", &local],
            ["symbolic-ref", "refs/remotes/origin/HEAD", &remote],
        ] {
            let mut command = self.command(arguments[0]);
            command.args(&arguments[1..]);
            self.success(command)?;
        }
        Ok(())
    }

    fn fetch_command(&self, address: &GitAddress, options: &[&str], refspecs: &[&str]) -> Command {
        let share = if options.is_empty() { SHARE_FOR_HISTORY } else { SHARE_FOR_COMMIT };
        let mut command = self.command_within(share, None, "fetch");
        command.args(["--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]);
        command.args(options).arg("--").arg(address.url.as_str()).args(refspecs);
        command
    }
}
