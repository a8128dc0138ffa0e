//! Temporary repositories in which git runs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use url::Url;

use super::address::GitAddress;
use crate::modules::fetch_error::{FetchError, FetchResult};
use crate::modules::key_file::KeyFile;
use crate::modules::limits::MOST_BYTES;
use crate::net::Client;
use crate::system::process::{self, Finished, ProcessLimits, STDOUT_LIMIT, one_line};
use crate::system::{git, storage};

/// The part of the time for a package during which one of git's programs may keep a processor busy:
/// with one commit, and with the whole history. So reading a hostile commit ends sooner than
/// waiting for a slow server.
const SHARE_FOR_COMMIT: u32 = 30;
pub(super) const SHARE_FOR_HISTORY: u32 = 5;
/// Variables that point git to a different repository; hooks run with them set (`git rev-parse
/// --local-env-vars`).
pub(super) const FOREIGN_VARIABLES: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_DIR GIT_GRAFT_FILE \
    GIT_INDEX_FILE GIT_NAMESPACE GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE \
    GIT_WORK_TREE";

/// Limits and environment of git for one package. Its time begins when this is created.
pub(in crate::modules) struct Git<'a> {
    /// Path of the program.
    program: &'a Path,
    /// `GIT_SSH_COMMAND`, if it is set.
    ssh_command: Option<&'a OsStr>,
    /// Directory for temporary repositories.
    pub(super) directory: &'a Path,
    time_limit: Duration,
    deadline: Instant,
    /// Client that follows redirects in place of git; `None` if git may follow them.
    client: Option<Client>,
}

impl<'a> Git<'a> {
    pub(in crate::modules) fn new(
        program: &'a Path,
        ssh_command: Option<&'a OsStr>,
        directory: &'a Path,
        time_limit: Duration,
    ) -> Self {
        Self {
            program,
            ssh_command,
            directory,
            time_limit,
            deadline: Instant::now() + time_limit,
            client: None,
        }
    }

    /// The same git, which follows no redirects if there is a client for them.
    pub(in crate::modules) fn with_client(self, client: Option<Client>) -> Self {
        Self { client, ..self }
    }

    /// Returns the URL to which an address redirects, if git must not follow redirects.
    fn redirected(&self, address: &GitAddress) -> FetchResult<Option<Url>> {
        let Some(client) = &self.client else {
            return Ok(None);
        };
        let url = client.url_after_redirects(&address.url, "info/refs?service=git-upload-pack")?;
        Ok(url.filter(|url| *url != address.url))
    }
}

/// A bare repository that no other program uses.
pub(super) struct Repository<'a> {
    pub(super) git: &'a Git<'a>,
    pub(super) directory: PathBuf,
    /// Address to fetch from.
    address: Option<GitAddress>,
    /// URL to which the address redirects, if git must not follow redirects.
    redirected: Option<Url>,
    /// `GIT_SSH_COMMAND` for the address; `None` if git finds the right one by itself.
    ssh_command: Option<OsString>,
    /// Private key of the address, where ssh can read it.
    _key: Option<KeyFile>,
}

impl<'a> Repository<'a> {
    /// Makes a repository, as `git init --bare` does.
    pub(super) fn create(git: &'a Git<'a>, directory: PathBuf) -> FetchResult<Self> {
        for part in ["objects/pack", "objects/info", "refs"] {
            fs::create_dir_all(directory.join(part))?;
        }
        fs::write(directory.join("HEAD"), "ref: refs/heads/main\n")?;
        fs::write(
            directory.join("config"),
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
        )?;
        Ok(Self {
            git,
            directory,
            address: None,
            redirected: None,
            ssh_command: None,
            _key: None,
        })
    }

    /// Makes a repository for fetching from an address.
    pub(super) fn for_fetching(
        git: &'a Git<'a>,
        name: &str,
        address: &GitAddress,
    ) -> FetchResult<Self> {
        let created = Self::create(git, git.directory.join(name))?;
        let repository = Self {
            address: Some(address.clone()),
            redirected: git.redirected(address)?,
            ..created
        };
        if address.url.scheme() == "ssh" {
            repository.with_ssh_command(address)
        } else {
            Ok(repository)
        }
    }

    /// Sets the ssh command: the user's own or, if there is none, ssh without prompts. The key of
    /// the address is added to it. Without a key, git finds the user's own command by itself.
    fn with_ssh_command(self, address: &GitAddress) -> FetchResult<Self> {
        let key = match &address.ssh_key {
            Some(key) => match KeyFile::new(&self.directory, key) {
                Ok(file) => Some(file),
                Err(error) => {
                    let why = format!("its sshkey cannot be written for ssh: {error}");
                    return Err(FetchError::git(why));
                }
            },
            None => None,
        };
        let printed = self.run(self.command(&["config", "--get", "core.sshCommand"]))?;
        let configured = OsString::from(one_line(&printed.stdout));

        // The variable of the environment precedes the setting.
        let users_command = match self.git.ssh_command {
            Some(command) => Some(command),
            None if configured.is_empty() => None,
            None => Some(configured.as_os_str()),
        };
        if users_command.is_some() && key.is_none() {
            return Ok(self);
        }
        let mut command = match users_command {
            Some(command) => command.to_owned(),
            None => OsString::from("ssh -oBatchMode=yes"),
        };
        if let Some(key) = &key {
            command.push(format!(" -i {}", key.name));
        }
        Ok(Self {
            ssh_command: Some(command),
            _key: key,
            ..self
        })
    }

    /// A git command in the repository that runs no hook or monitor from the user's settings.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        self.command_within(SHARE_FOR_COMMIT, arguments)
    }

    /// [`Repository::command`] with a different share of the time.
    pub(super) fn command_within(&self, share: u32, arguments: &[&str]) -> Command {
        let mut command =
            process::with_processor_time(self.git.program, self.git.time_limit / share);
        command.current_dir(&self.directory);
        git::without_programs(&mut command);
        command.arg("-c").arg(format!(
            "core.attributesFile={}",
            self.directory.join("no").display()
        ));
        let scheme = self
            .address
            .as_ref()
            .map_or("", |address| address.url.scheme());
        let settings = [
            "fetch.recurseSubmodules=false",
            // An object is found sooner in a pack file than in a file of its own.
            "fetch.unpackLimit=1",
            // Nothing has to survive the run. Waiting for the disk would take most of the time if
            // there are many refs.
            "core.fsync=none",
        ];
        for setting in settings {
            command.args(["-c", setting]);
        }
        // The user's settings may replace https by plain http (`insteadOf`), but no server may.
        if scheme == "https" {
            command.args(["-c", "protocol.http.allow=user"]);
        }
        // git must not follow a redirect into the internal network. The address to which this one
        // redirects is in `redirected`.
        if self.git.client.is_some() {
            command.args(["-c", "http.followRedirects=false"]);
        }
        if let (Some(address), Some(redirected)) = (&self.address, &self.redirected)
            && !redirected.as_str().contains('=')
        {
            let rule = format!("url.{redirected}.insteadOf={}", address.url);
            command.args(["-c", &rule]);
        }
        command.arg("--git-dir=.").args(arguments);
        for variable in FOREIGN_VARIABLES.split(' ') {
            command.env_remove(variable);
        }
        // 0 forbids protocols that only the user may choose: no server may lead to a file of this
        // machine.
        let may_user_choose = matches!(scheme, "file" | "https");
        command.env(
            "GIT_PROTOCOL_FROM_USER",
            if may_user_choose { "1" } else { "0" },
        );
        if let Some(ssh_command) = &self.ssh_command {
            command.env("GIT_SSH_COMMAND", ssh_command);
        }
        command
    }

    /// Returns the standard output of a git command that must succeed.
    pub(super) fn output(&self, arguments: &[&str]) -> FetchResult<String> {
        let output = self.read(
            self.command(arguments),
            None,
            STDOUT_LIMIT,
            "git printed too much",
        )?;
        Ok(String::from_utf8_lossy(&output).into())
    }

    /// [`Repository::output`] with an input and a limit in bytes, and the error if there is more
    /// output.
    pub(super) fn read(
        &self,
        command: Command,
        stdin: Option<String>,
        most: u64,
        too_much: &str,
    ) -> FetchResult<Vec<u8>> {
        match self.run_within(command, stdin, most, MOST_BYTES) {
            Ok(finished) if finished.status.success() => Ok(finished.stdout),
            Ok(finished) => Err(self.failure(&finished)),
            Err(process::Failure::TooMuchOutput) => Err(FetchError::git(too_much)),
            Err(why) => Err(self.ended(&why)),
        }
    }

    /// Runs git, which may fail.
    pub(super) fn run(&self, command: Command) -> FetchResult<Finished> {
        self.run_with_space(command, MOST_BYTES)
    }

    /// [`Repository::run`] with a limit for the size of this repository in bytes.
    pub(super) fn run_with_space(&self, command: Command, space: u64) -> FetchResult<Finished> {
        self.run_within(command, None, STDOUT_LIMIT, space)
            .map_err(|why| self.ended(&why))
    }

    /// Runs git until its time, its output, or the space for its files is used up.
    fn run_within(
        &self,
        command: Command,
        stdin: Option<String>,
        stdout: u64,
        space: u64,
    ) -> Result<Finished, process::Failure> {
        process::run_within(
            command,
            stdin,
            &ProcessLimits {
                time: self.time_left(),
                stdout,
                exceeded: &|| self.exceeded_space(space),
            },
        )
    }

    /// Returns the reason why git must be stopped: this repository is larger than `space`, or all
    /// repositories together are larger than a package may be.
    fn exceeded_space(&self, space: u64) -> Option<String> {
        for (directory, limit) in [
            (self.directory.as_path(), space),
            (self.git.directory, MOST_BYTES),
        ] {
            if storage::size_below(directory) > limit {
                let limit = limit >> 20;
                return Some(format!("the fetched data is larger than {limit} MiB"));
            }
        }
        None
    }

    pub(super) fn time_left(&self) -> Duration {
        self.git.deadline.saturating_duration_since(Instant::now())
    }

    /// The error for git that did not end by itself.
    pub(super) fn ended(&self, why: &process::Failure) -> FetchError {
        let limit = self.git.time_limit.as_secs();
        let is_late = Instant::now() >= self.git.deadline;
        FetchError::git(if is_late {
            format!("git took more than {limit} seconds")
        } else {
            format!("git {why}")
        })
    }

    /// The error with what git printed, without the password and the parameters that may be in the
    /// URL.
    pub(super) fn failure(&self, finished: &Finished) -> FetchError {
        let mut text = String::from_utf8_lossy(&finished.stderr).into_owned();
        if let Some(address) = &self.address {
            // Parameters for provlock are not in the URL, so all of them may be secrets.
            let query = address.url.query().unwrap_or_default();
            if !query.is_empty() {
                text = text.replace(query, "[redacted]");
            }
            let login = login_of(address.url.as_str());
            if !login.is_empty() && login != "git" {
                text = text.replace(login, "redacted");
            }
        }
        let lines: Vec<_> = text
            .lines()
            .map(|line| one_line(line.as_bytes()))
            .filter(|line| !line.is_empty())
            .take(8)
            .collect();

        let error = FetchError::git(if process::is_out_of_processor_time(finished) {
            "git was stopped because there is too much in it to read"
        } else {
            "git could not fetch it"
        });
        let error = error.marked_gone_if(text.contains("couldn't find remote ref"));
        if lines.is_empty() {
            return error;
        }
        // The messages of git are in English. The next step, which names the directory, is added
        // later.
        if text.contains("No space left on device") || text.contains("Disk quota exceeded") {
            return error.notes(&lines).marked_disk_full();
        }
        let help = "check whether git clone can fetch it; git uses its credential helpers and ssh keys, and never prompts";
        error.notes(&lines).help(help)
    }
}

/// The login in a URL, with its password; empty without one.
fn login_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let (login, _) = rest.rsplit_once('@').unwrap_or_default();
    login
}
