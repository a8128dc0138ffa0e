//! Temporary repositories in which git runs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::address::GitAddress;
use super::error::{GitError, Result};
use crate::modules::key_file::KeyFile;
use crate::modules::problem::MOST_BYTES;
use crate::system::process::{self, Finished, Limits, STDOUT_LIMIT, one_line};
use crate::system::storage;

/// The part of the time for a package during which one of git's programs may keep a processor busy: with one commit,
/// and with the whole history. So reading a hostile commit ends sooner than waiting for a slow server.
pub(super) const SHARE_FOR_COMMIT: u32 = 30;
pub(super) const SHARE_FOR_HISTORY: u32 = 5;
/// Variables that point git to a different repository; hooks run with them set (`git rev-parse --local-env-vars`).
pub(super) const FOREIGN_VARIABLES: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_DIR GIT_GRAFT_FILE \
    GIT_INDEX_FILE GIT_NAMESPACE GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE \
    GIT_WORK_TREE";

/// How git is run.
pub(in crate::modules) struct Git<'a> {
    /// Path of the program.
    pub(in crate::modules) program: &'a Path,
    /// Longest time that git may take for a package.
    pub(in crate::modules) time_limit: Duration,
    /// `GIT_SSH_COMMAND`, if it is set.
    pub(in crate::modules) ssh_command: Option<&'a OsStr>,
}

/// A repository in a directory that nobody else uses.
pub(super) struct Scratch<'a> {
    pub(super) git: &'a Git<'a>,
    /// Directory of all repositories of a package.
    pub(super) all: &'a Path,
    pub(super) directory: &'a Path,
    pub(super) deadline: Instant,
    /// Address of the repository to fetch from.
    pub(super) address: Option<&'a GitAddress>,
    /// The private key of the address, where ssh can read it.
    pub(super) key: Option<KeyFile>,
    /// `GIT_SSH_COMMAND` for this repository; `None` if git finds the right one by itself.
    pub(super) ssh_command: Option<OsString>,
}

impl<'a> Scratch<'a> {
    /// A repository in a directory that is empty or does not exist yet.
    pub(super) fn new(git: &'a Git<'a>, directory: &'a Path) -> Self {
        let deadline = Instant::now() + git.time_limit;
        Self { git, all: directory, directory, deadline, address: None, key: None, ssh_command: None }
    }

    /// Makes the repository for fetching from an address.
    pub(super) fn open(&mut self, address: &'a GitAddress) -> Result<()> {
        self.address = Some(address);
        self.create()?;
        if address.url.scheme() == "ssh" {
            self.ssh_command = self.find_ssh_command(address)?;
        }
        Ok(())
    }

    /// Makes a bare repository, as `git init --bare` does.
    pub(super) fn create(&self) -> Result<()> {
        for directory in ["objects/pack", "refs"] {
            fs::create_dir_all(self.directory.join(directory))?;
        }
        fs::write(self.directory.join("HEAD"), "ref: refs/heads/main\n")?;
        let config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
        Ok(fs::write(self.directory.join("config"), config)?)
    }

    /// Returns the ssh command that never prompts and uses the key of the address; `None` if git's own does.
    fn find_ssh_command(&mut self, address: &GitAddress) -> Result<Option<OsString>> {
        let not_written = |error| GitError::new(format!("its sshkey cannot be written for ssh: {error}"));
        let key = address.ssh_key.as_ref().map(|key| KeyFile::new(self.directory, key).map_err(not_written));
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

    /// URL of the address.
    pub(super) fn url(&self) -> &str {
        self.address.map(GitAddress::repository).unwrap_or_default()
    }

    /// A git command in the repository that runs no hook or monitor from the user's settings.
    pub(super) fn command(&self, name: &str) -> Command {
        self.command_within(SHARE_FOR_COMMIT, None, name)
    }

    /// [`Scratch::command`] with a different share of the time, and with a work tree.
    pub(super) fn command_within(&self, share: u32, work_tree: Option<&Path>, name: &str) -> Command {
        let mut command = process::with_processor_time(self.git.program, self.git.time_limit / share);
        command.current_dir(self.directory);
        let [no_hooks, no_attributes] = ["core.hooksPath", "core.attributesFile"]
            .map(|key| format!("{key}={}", self.directory.join("no").display()));
        // Nothing has to survive the run. Waiting for the disk would take most of the time where there are many refs.
        let settings = [
            "core.fsmonitor=false",
            "gc.auto=0",
            "fetch.recurseSubmodules=false",
            // The size of an object is found sooner in a pack file than in a file of its own.
            "fetch.unpackLimit=1",
            "core.fsync=none",
        ];
        for setting in [no_hooks.as_str(), &no_attributes].into_iter().chain(settings) {
            command.args(["-c", setting]);
        }
        let scheme = self.address.map_or("", |address| address.url.scheme());
        if scheme == "https" {
            // The settings of the user may put plain http in the place of https (`insteadOf`), but no server may.
            command.args(["-c", "protocol.http.allow=user"]);
        }
        command.arg("--git-dir=.");
        if let Some(work_tree) = work_tree {
            command.arg("--work-tree").arg(work_tree);
        }
        command.arg(name);
        for variable in FOREIGN_VARIABLES.split(' ') {
            command.env_remove(variable);
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1");
        command.env("GIT_PROTOCOL_FROM_USER", if matches!(scheme, "file" | "https") { "1" } else { "0" });
        if let Some(ssh_command) = &self.ssh_command {
            command.env("GIT_SSH_COMMAND", ssh_command);
        }
        command
    }

    pub(super) fn success(&self, command: Command) -> Result<Finished> {
        let finished = self.run(command)?;
        if finished.status.success() { Ok(finished) } else { Err(self.failure(&finished)) }
    }

    /// Runs git until its time or the space for its files is used up.
    pub(super) fn run(&self, command: Command) -> Result<Finished> {
        self.run_in_space(MOST_BYTES, command, None)
    }

    /// [`Scratch::run`] with `most` bytes for this repository, and an input.
    pub(super) fn run_in_space(&self, most: u64, command: Command, stdin: Option<String>) -> Result<Finished> {
        let finished = self.within_space(most, STDOUT_LIMIT, |limits| process::run_within(command, stdin, limits));
        finished.map_err(|why| self.ended(&why))
    }

    /// Gives `run` the limits of everything that git does for a package, with `stdout` bytes of output.
    pub(super) fn within<T>(&self, stdout: u64, run: impl FnOnce(&Limits<'_>) -> T) -> T {
        self.within_space(MOST_BYTES, stdout, run)
    }

    fn within_space<T>(&self, most: u64, stdout: u64, run: impl FnOnce(&Limits<'_>) -> T) -> T {
        let exceeded = || {
            let places = [(self.directory, most), (self.all, MOST_BYTES)];
            let (_, most) = places.into_iter().find(|(place, most)| storage::size_below(place) > *most)?;
            Some(format!("what it fetches is larger than {} MiB", most >> 20))
        };
        run(&Limits { time: self.time_left(), stdout, exceeded: &exceeded })
    }

    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The error for git that did not end by itself.
    pub(super) fn ended(&self, why: &process::Failure) -> GitError {
        let limit = self.git.time_limit.as_secs();
        let is_late = Instant::now() >= self.deadline;
        GitError::new(if is_late { format!("git took more than {limit} seconds") } else { format!("git {why}") })
    }

    /// The error with what git printed, without the password and the parameters that may be in the URL.
    pub(super) fn failure(&self, finished: &Finished) -> GitError {
        let text = String::from_utf8_lossy(&finished.stderr);
        // Parameters for provlock are not in the URL, so all of them may be secrets.
        let query = self.address.and_then(|address| address.url.query());
        let text = query.map_or_else(|| text.to_string(), |query| text.replace(query, "[redacted]"));
        let user = self.url().split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
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
