//! Packages in git repositories, fetched by the user's own git, which knows the user's credentials, keys and proxies
//! (`getter/get_git.go` of go-getter).
//!
//! Git gets a bare repository without hooks, one commit of history if it can, and never a working tree: files are read
//! from its objects, so that no filter runs. It uses only the protocols that it trusts for addresses that no user
//! wrote, and it never prompts.

mod address;
mod attributes;
mod checkout;
mod error;
mod objects;
mod package_attributes;
mod references;
mod repository;
mod submodules;
mod work_tree;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::contents::{Extent, MOST_BYTES, PackageWriter};
use super::key_file::KeyFile;
use crate::system::process::{self, Finished, Limits, STDOUT_LIMIT, one_line};
use crate::system::storage;
pub(super) use address::GitAddress;
pub(crate) use address::Revision;
use checkout::{Submodule, Written};
pub(super) use error::GitError;
use error::Result;
use objects::Objects;
pub(super) use package_attributes::PackageAttributes;
pub(crate) use references::References;

/// The longest list of branches and tags, in bytes. Git writes a file for each.
const LONGEST_REFS: u64 = 2 << 20;
/// The most that the configuration files of a package may contain, in bytes.
const MOST_CONTENT: u64 = 256 << 20;
/// The most that git may write for one commit, in bytes: a server need not leave out what is not wanted. For all
/// commits, and for all repositories of a package, it is [`MOST_BYTES`].
const MOST_OF_COMMIT: u64 = 512 << 20;
/// Which part of the time for a package a program of git's may keep a processor busy: with one commit, and with all of
/// them. So what takes long to read ends sooner than what takes long to arrive.
const SHARE_FOR_COMMIT: u32 = 30;
const SHARE_FOR_HISTORY: u32 = 5;
/// The most submodules of a package, with those of its submodules.
const MOST_SUBMODULES: usize = 100;
/// Larger files are fetched only when they are configuration.
const FILTER: &str = "--filter=blob:limit=64k";
/// Where the wanted commit is kept.
const MODULE: &str = "refs/provlock/module";
/// Variables that point git to another repository; hooks run with them set (`git rev-parse --local-env-vars`).
const FOREIGN_VARIABLES: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_DIR GIT_GRAFT_FILE \
    GIT_INDEX_FILE GIT_NAMESPACE GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE \
    GIT_WORK_TREE";

/// How git is run.
pub(super) struct Git<'a> {
    /// The program.
    pub(super) program: &'a Path,
    /// How long it may take for a package.
    pub(super) time_limit: Duration,
    /// `GIT_SSH_COMMAND`, if it is set.
    pub(super) ssh_command: Option<&'a OsStr>,
}

impl Git<'_> {
    /// Fetches a package and writes it into `package`; `workshop` is an empty directory for repositories. Returns the
    /// commit; none for an empty repository.
    pub(super) fn fetch(
        &self,
        address: &GitAddress,
        workshop: &Path,
        package: &Path,
        extent: Extent,
    ) -> Result<Option<String>> {
        let deadline = Instant::now() + self.time_limit;
        let most = if extent == Extent::Whole { MOST_BYTES } else { MOST_CONTENT };
        let (mut writer, mut left) = (PackageWriter::new(package, extent), most);
        let mut wanted = vec![(address.clone(), String::new())];
        let (mut fetched, mut commit) = (0, None);
        while let Some((address, prefix)) = wanted.pop() {
            let directory = &workshop.join(fetched.to_string());
            let fetch = Fetch { workshop, deadline, extent, ..self.in_directory(&address, directory) };
            let written = fetch.write(&prefix, &mut writer, &mut left);
            let written = written.map_err(|error| error.in_submodule(&prefix, &address.url))?;
            if fetched == 0 {
                commit = written.as_ref().map(|written| written.commit.clone());
            }
            fetched += 1;
            let submodules = written.map(|written| written.submodules).unwrap_or_default();
            if fetched + wanted.len() + submodules.len() > MOST_SUBMODULES {
                return Err(GitError::new(format!("it has more than {MOST_SUBMODULES} submodules")));
            }
            for Submodule { path, url, commit } in submodules {
                let refused =
                    || GitError::new(format!("the URL of its submodule {path:?} is not one that git is asked for"));
                wanted.push((address.submodule(&url, &commit).ok_or_else(refused)?, path));
            }
        }
        writer.finish()?;
        Ok(commit)
    }

    /// Commands in the repository in a directory.
    fn in_directory<'a>(&'a self, address: &'a GitAddress, directory: &'a Path) -> Fetch<'a> {
        let (git, workshop, deadline) = (self, directory, Instant::now() + self.time_limit);
        Fetch { git, address, workshop, directory, deadline, extent: Extent::Whole, key: None, ssh_command: None }
    }

    /// The branches and tags of a repository; `workshop` is an empty directory.
    pub(super) fn references(&self, address: &GitAddress, workshop: &Path) -> Result<References> {
        let mut fetch = self.in_directory(address, workshop);
        fetch.open()?;
        let list = fetch.list_refs(&[], &["HEAD", "refs/heads/*", "refs/tags/*"])?;
        let too_many = || GitError::new("it has too many branches and tags to look at them all");
        Ok(References::parse(&list.ok_or_else(too_many)?))
    }

    /// When the commit of an address was made, as its author says.
    pub(super) fn committed(&self, address: &GitAddress, workshop: &Path) -> Result<Timestamp> {
        let mut fetch = Fetch { extent: Extent::Configuration, ..self.in_directory(address, workshop) };
        let unknown = || GitError::new("git does not say when the commit was made");
        let revision = fetch.prepare()?.ok_or_else(unknown)?;
        let mut command = fetch.command("rev-list");
        command.args(["--max-count=1", "--format=%ct", "--end-of-options", &revision]);
        let said = fetch.success(command)?.stdout;
        let seconds = String::from_utf8_lossy(&said).lines().last().and_then(|line| line.parse().ok());
        seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).ok_or_else(unknown)
    }
}

impl Git<'_> {
    /// Whether the name that an address asks for is that of a tag. `directory` is an empty one for a repository.
    pub(super) fn has_tag(&self, address: &GitAddress, directory: &Path) -> Result<bool> {
        let name = address.reference().unwrap_or_default();
        let name = name.strip_prefix("refs/").unwrap_or(name);
        let name = name.strip_prefix("tags/").unwrap_or(name);
        if name.is_empty() || name.contains(['*', '?', '[']) {
            return Ok(false);
        }
        let mut fetch = self.in_directory(address, directory);
        fetch.open()?;
        let mut command = fetch.command("ls-remote");
        command.args(["--quiet", "--tags", "--", address.url.as_str(), &format!("refs/tags/{name}")]);
        Ok(!fetch.success(command)?.stdout.is_empty())
    }
}

/// A fetch of one repository.
struct Fetch<'a> {
    git: &'a Git<'a>,
    address: &'a GitAddress,
    /// Where the repositories of the package are.
    workshop: &'a Path,
    directory: &'a Path,
    deadline: Instant,
    extent: Extent,
    /// The private key of the address, where ssh can read it.
    key: Option<KeyFile>,
    /// `GIT_SSH_COMMAND` for this repository; none if git finds the right one by itself.
    ssh_command: Option<OsString>,
}

impl Fetch<'_> {
    /// Writes the commit into the directory `prefix` of a package; none if the repository is empty.
    fn write(mut self, prefix: &str, writer: &mut PackageWriter, left: &mut u64) -> Result<Option<Written>> {
        let Some(revision) = self.prepare()? else { return Ok(None) };
        let mut command = self.command("cat-file");
        command.arg("--batch");
        let time = self.deadline.saturating_duration_since(Instant::now());
        let written = process::talk(command, time, |requests, answers| {
            checkout::write(&mut Objects::new(requests, answers), &revision, prefix, writer, left)
        });
        written.map_err(|why| self.ended(&why))?.map(Some)
    }

    /// Makes a repository and fetches into it. Returns a name for the commit; none if the repository is empty.
    fn prepare(&mut self) -> Result<Option<String>> {
        self.open()?;
        self.fetch()
    }

    /// Makes a repository, and finds the ssh command that the address needs.
    fn open(&mut self) -> Result<()> {
        self.create()?;
        if self.address.url.scheme() == "ssh" {
            self.ssh_command = self.find_ssh_command()?;
        }
        Ok(())
    }

    /// Makes a bare repository, as `git init --bare` does.
    fn create(&self) -> Result<()> {
        for directory in ["objects/pack", "refs"] {
            fs::create_dir_all(self.directory.join(directory))?;
        }
        fs::write(self.directory.join("HEAD"), "ref: refs/heads/main\n")?;
        let config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
        Ok(fs::write(self.directory.join("config"), config)?)
    }

    /// The ssh command that never prompts and uses the key of the address.
    fn find_ssh_command(&mut self) -> Result<Option<OsString>> {
        let not_written = |error| GitError::new(format!("its sshkey cannot be written for ssh: {error}"));
        let key = self.address.ssh_key.as_ref().map(|key| KeyFile::new(self.directory, key).map_err(not_written));
        self.key = key.transpose()?;
        let key_option = self.key.as_ref().map(|key| format!(" -i {}", key.name));
        let mut command = self.command("config");
        command.args(["--get", "core.sshCommand"]);
        let configured = OsString::from(one_line(&self.run(command)?.stdout));
        let own = self.git.ssh_command.or(Some(configured.as_os_str()).filter(|command| !command.is_empty()));
        if own.is_some() && key_option.is_none() {
            return Ok(None);
        }
        let mut command = own.unwrap_or("ssh -oBatchMode=yes".as_ref()).to_owned();
        command.push(key_option.unwrap_or_default());
        Ok(Some(command))
    }

    /// Fetches as little as the server allows. Returns a name for the commit; none if the repository is empty.
    fn fetch(&self) -> Result<Option<String>> {
        let wanted = match &self.address.revision {
            Revision::Head => "HEAD",
            Revision::Name(name) | Revision::Commit(name) => name,
            Revision::Expression(text) if self.address.depth => {
                return Err(GitError::new(format!("depth needs a branch or a tag, and its ref is {text:?}")));
            }
            Revision::Expression(_) => return self.fetch_all().map(Some),
        };
        let refspec = format!("+{wanted}:{MODULE}");
        let options: &[_] = if self.extent == Extent::Whole { &["--depth=1"] } else { &["--depth=1", FILTER] };
        let shallow = self.run_in_space(MOST_OF_COMMIT, self.fetch_command(options, &[&refspec]), None)?;
        if shallow.status.success() {
            return Ok(Some(self.fetched().to_owned()));
        }
        let said = String::from_utf8_lossy(&shallow.stderr).into_owned();
        // Only this text shows that the server is a plain web server.
        let is_dumb = said.contains("dumb http transport does not support shallow");
        if is_dumb {
            // The attempt has marked the repository as one with missing objects.
            let mut command = self.command("config");
            command.args(["--unset-all", "extensions.partialClone"]);
            self.run(command)?;
        }
        match &self.address.revision {
            _ if self.address.depth => Err(self.failure(&shallow)),
            Revision::Head if said.contains("couldn't find remote ref HEAD") => Ok(None),
            Revision::Head | Revision::Name(_) if is_dumb => {
                self.start_again()?;
                let whole = self.run(self.fetch_command(&[], &[&refspec]))?;
                if whole.status.success() { Ok(Some(MODULE.to_owned())) } else { Err(self.failure(&whole)) }
            }
            // A server need not hand out commits that no branch or tag names.
            Revision::Commit(_) => {
                self.start_again()?;
                self.fetch_all().map(Some)
            }
            _ => Err(self.failure(&shallow)),
        }
    }

    /// Creates the repository again. After a filtered fetch, even a failed one, git assumes that the server hands out
    /// each missing object, and asks for every one.
    fn start_again(&self) -> Result<()> {
        for name in ["config", "objects", "refs", "shallow"] {
            let path = self.directory.join(name);
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        }
        self.create()
    }

    /// Fetches all commits with all files, and finds the wanted one as git does after a clone.
    fn fetch_all(&self) -> Result<String> {
        self.check_refs()?;
        let refspecs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
        let fetched = self.run(self.fetch_command(&[], &refspecs))?;
        if !fetched.status.success() {
            return Err(self.failure(&fetched));
        }
        let (Revision::Name(text) | Revision::Commit(text) | Revision::Expression(text)) = &self.address.revision
        else {
            return Ok(MODULE.to_owned());
        };
        if let Revision::Commit(_) = &self.address.revision {
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

    /// Makes sure that there are not too many branches and tags to fetch them all.
    fn check_refs(&self) -> Result<()> {
        if self.list_refs(&["--heads", "--tags"], &[])?.is_some() {
            return Ok(());
        }
        let reference = self.address.reference().unwrap_or_default();
        let why = format!("it has so many branches and tags that {reference:?} is not looked for in them");
        Err(GitError::new(why))
    }

    /// What `git ls-remote` lists; none if that is too much.
    fn list_refs(&self, options: &[&str], patterns: &[&str]) -> Result<Option<String>> {
        let mut command = self.command("ls-remote");
        command.arg("--quiet").args(options).args(["--", self.address.url.as_str()]).args(patterns);
        match self.within(LONGEST_REFS, MOST_BYTES, |limits| process::run_within(command, None, limits)) {
            Ok(finished) if finished.status.success() => Ok(Some(String::from_utf8_lossy(&finished.stdout).into())),
            Ok(finished) => Err(self.failure(&finished)),
            Err(process::Failure::TooMuchOutput) => Ok(None),
            Err(why) => Err(self.ended(&why)),
        }
    }

    /// A name for what was fetched. A full ID is its own, never a branch or tag that is called so: git takes it for
    /// that of an object, which Terraform and OpenTofu leave to it.
    fn fetched(&self) -> &str {
        if let Revision::Commit(wanted) = &self.address.revision { wanted } else { MODULE }
    }

    /// The commit that a revision names after a clone.
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

    /// Sets HEAD to what that of the fetched repository is, with the branch that it names, as a clone does.
    fn set_default_branch(&self) -> Result<()> {
        let mut command = self.command("ls-remote");
        command.args(["--symref", "--", self.address.url.as_str(), "HEAD"]);
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

    fn fetch_command(&self, options: &[&str], refspecs: &[&str]) -> Command {
        let share = if options.is_empty() { SHARE_FOR_HISTORY } else { SHARE_FOR_COMMIT };
        let mut command = self.command_within(share, "fetch");
        command.args(["--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]);
        command.args(options).arg("--").arg(self.address.url.as_str()).args(refspecs);
        // Where a server ignores the filter, each missing object would start a fetch of its own, and that another one.
        command.env("GIT_NO_LAZY_FETCH", "1");
        command
    }

    /// A git command in the repository that runs no hook or monitor from the user's settings.
    fn command(&self, name: &str) -> Command {
        self.command_within(SHARE_FOR_COMMIT, name)
    }

    /// [`Fetch::command`] with another share of the time.
    fn command_within(&self, share: u32, name: &str) -> Command {
        let mut command = process::with_processor_time(self.git.program, self.git.time_limit / share);
        command.current_dir(self.directory);
        let no_hooks = format!("core.hooksPath={}", self.directory.join("hooks").display());
        // Nothing has to survive the run. Waiting for the disk would take most of the time where there are many refs.
        let settings = ["core.fsmonitor=false", "gc.auto=0", "fetch.recurseSubmodules=false", "core.fsync=none"];
        for setting in [no_hooks.as_str()].into_iter().chain(settings) {
            command.args(["-c", setting]);
        }
        if self.address.url.scheme() == "https" {
            // The settings of the user may put plain http in the place of https (`insteadOf`), but no server may.
            command.args(["-c", "protocol.http.allow=user"]);
        }
        command.arg("--git-dir=.").arg(name);
        for variable in FOREIGN_VARIABLES.split(' ') {
            command.env_remove(variable);
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        let is_from_user = matches!(self.address.url.scheme(), "file" | "https");
        command.env("GIT_PROTOCOL_FROM_USER", if is_from_user { "1" } else { "0" });
        if let Some(ssh_command) = &self.ssh_command {
            command.env("GIT_SSH_COMMAND", ssh_command);
        }
        command
    }

    fn success(&self, command: Command) -> Result<Finished> {
        let finished = self.run(command)?;
        if finished.status.success() { Ok(finished) } else { Err(self.failure(&finished)) }
    }

    /// Runs git until its time or the space for its files is used up.
    fn run(&self, command: Command) -> Result<Finished> {
        self.run_with(command, None)
    }

    /// [`Fetch::run`] with an input.
    fn run_with(&self, command: Command, stdin: Option<String>) -> Result<Finished> {
        self.run_in_space(MOST_BYTES, command, stdin)
    }

    /// [`Fetch::run_with`] with `most` bytes for this repository.
    fn run_in_space(&self, most: u64, command: Command, stdin: Option<String>) -> Result<Finished> {
        let finished = self.within(STDOUT_LIMIT, most, |limits| process::run_within(command, stdin, limits));
        finished.map_err(|why| self.ended(&why))
    }

    /// Gives `run` the limits of everything that git does for a package, with `most` bytes for this repository.
    fn within<T>(&self, stdout: u64, most: u64, run: impl FnOnce(&Limits<'_>) -> T) -> T {
        let exceeded = || {
            let places = [(self.directory, most), (self.workshop, MOST_BYTES)];
            let (_, most) = places.into_iter().find(|(place, most)| storage::size_below(place) > *most)?;
            Some(format!("what it fetches is larger than {} MiB", most >> 20))
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        run(&Limits { time: left, stdout, exceeded: &exceeded })
    }

    fn ended(&self, why: &process::Failure) -> GitError {
        let limit = self.git.time_limit.as_secs();
        let is_late = Instant::now() >= self.deadline;
        GitError::new(if is_late { format!("git took more than {limit} seconds") } else { format!("git {why}") })
    }

    /// What git printed, without the password and the parameters that may be in the URL.
    fn failure(&self, finished: &Finished) -> GitError {
        let text = String::from_utf8_lossy(&finished.stderr);
        // Parameters for provlock are not in it, so that all may be secrets.
        let text = self.address.url.query().map_or_else(|| text.to_string(), |query| text.replace(query, "[redacted]"));
        let user = self.address.url.as_str().split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
        let secret = user.map(|(user, _)| user).filter(|user| *user != "git");
        let text = secret.map_or_else(|| text.clone(), |secret| text.replace(secret, "redacted"));
        let lines = text.lines().map(|line| one_line(line.as_bytes())).filter(|line| !line.is_empty());
        let why = if process::is_out_of_processor_time(finished) {
            "git was ended because there is too much in it to read"
        } else {
            "git could not fetch it"
        };
        let is_gone = text.contains("couldn't find remote ref");
        GitError { why: why.to_owned(), said: lines.take(8).collect(), is_gone }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
