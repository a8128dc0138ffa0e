//! Packages in git repositories, fetched by the user's own git, which knows the user's credentials, keys and proxies
//! (`getter/get_git.go` of go-getter).
//!
//! Git gets a bare repository without hooks, one commit of history if it can, no submodules, and never a working tree:
//! configuration files are read from its objects. It uses only the protocols that it trusts for addresses that no user
//! wrote, and it never prompts.

mod objects;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use url::Url;

use super::contents::{MOST_BYTES, MOST_ENTRIES, PackageWriter, Problem, is_configuration};
use super::key_file::KeyFile;
use crate::system::process::{self, Finished, Limits, STDOUT_LIMIT, one_line};
use crate::system::storage;
use objects::Objects;

/// The most that git may list, in bytes: the names and object ids of files.
const LONGEST_LIST: u64 = 32 << 20;
/// The longest list of branches and tags, in bytes. Git writes a file for each.
const LONGEST_REFS: u64 = 2 << 20;
/// The most that the configuration files of a package may contain, in bytes.
const MOST_CONTENT: u64 = 256 << 20;
/// Which part of the time for a package a program of git's may keep a processor busy: with one commit, and with all of
/// them. So what takes long to read ends sooner than what takes long to arrive.
const SHARE_FOR_COMMIT: u32 = 30;
const SHARE_FOR_HISTORY: u32 = 5;
/// Larger files are fetched only when they are configuration.
const FILTER: &str = "--filter=blob:limit=64k";
/// Where the wanted commit is kept.
const MODULE: &str = "refs/provlock/module";
/// Variables that point git to another repository; hooks run with them set (`git rev-parse --local-env-vars`).
const FOREIGN_VARIABLES: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_DIR GIT_GRAFT_FILE \
    GIT_INDEX_FILE GIT_NAMESPACE GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE \
    GIT_WORK_TREE";

/// A repository and the commit wanted from it, as given by the URL of a module source.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct GitAddress {
    url: Url,
    revision: Revision,
    /// Whether only a shallow clone will do.
    depth: bool,
    /// A private key for ssh.
    ssh_key: Option<Vec<u8>>,
}

/// Which commit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Revision {
    /// What the repository's HEAD leads to.
    Head,
    /// A branch or tag; of two of the same name, the tag.
    Name(String),
    /// A full commit id.
    Commit(String),
    /// Anything else that git knows how to read, such as `v1.0.0~1` or a short commit id.
    Expression(String),
}

/// How git is run.
pub(super) struct Git<'a> {
    /// The program.
    pub(super) program: &'a Path,
    /// How long it may take for a package.
    pub(super) time_limit: Duration,
    /// `GIT_SSH_COMMAND`, if it is set.
    pub(super) ssh_command: Option<&'a OsStr>,
}

/// Why there is no package. The text continues a message that names the package.
pub(super) struct GitError {
    pub(super) why: String,
    /// What git printed, one line each.
    pub(super) said: Vec<String>,
}

type Result<T> = std::result::Result<T, GitError>;

impl GitAddress {
    /// Reads the URL after `git::`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut url = Url::parse(text).map_err(|error| GitError::new(format!("its URL cannot be read: {error}")))?;
        if !matches!(url.scheme(), "https" | "http" | "ssh" | "git" | "file") || url.cannot_be_a_base() {
            // Git runs programs for some other protocols.
            let shown = text.split([' ', '@']).next().unwrap_or_default();
            let why = format!("git is not asked for {shown:?}; only for https, ssh, http, git and file URLs");
            return Err(GitError::new(why));
        }
        let (mut reference, mut depth, mut ssh_key, mut others) = (String::new(), false, None, Vec::new());
        for (name, value) in url.query_pairs().into_owned() {
            match name.as_str() {
                "ref" if reference.is_empty() => reference = value,
                "depth" => depth = value.parse().is_ok_and(|depth: u32| depth > 0),
                "sshkey" => {
                    let key = BASE64_STANDARD.decode(value.replace(' ', "+"));
                    ssh_key = Some(key.map_err(|_| GitError::new("its sshkey is not in base64"))?);
                }
                "ref" => {}
                _ => others.push((name, value)),
            }
        }
        url.set_query(None);
        if !others.is_empty() {
            url.query_pairs_mut().extend_pairs(others);
        }
        Ok(Self { url, revision: Revision::parse(reference)?, depth, ssh_key })
    }

    /// Whether the address always leads to the same files.
    pub(super) fn is_immutable(&self) -> bool {
        matches!(self.revision, Revision::Commit(_))
    }

    /// Its `ref`, if it has one.
    pub(super) fn reference(&self) -> Option<&str> {
        match &self.revision {
            Revision::Head => None,
            Revision::Name(text) | Revision::Commit(text) | Revision::Expression(text) => Some(text),
        }
    }

    /// The repository's URL, without the parameters for provlock.
    pub(super) fn repository(&self) -> &str {
        self.url.as_str()
    }
}

impl Revision {
    fn parse(text: String) -> Result<Self> {
        if text.starts_with('-') {
            return Err(GitError::new(format!(
                "its ref {text:?} starts with a dash, so that git may take it for an option"
            )));
        }
        let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_local = ["heads/", "remotes/", "origin/", "refs/heads/", "refs/remotes/"];
        Ok(if text.is_empty() {
            Self::Head
        } else if is_hexadecimal && matches!(text.len(), 40 | 64) {
            Self::Commit(text)
        } else if (is_hexadecimal && text.len() >= 4)
            || text.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c))
            || ["..", "@{", "//"].iter().any(|part| text.contains(part))
            || is_local.iter().any(|start| text.starts_with(start))
            || ["@", "origin"].contains(&text.as_str())
        {
            Self::Expression(text)
        } else {
            Self::Name(text)
        })
    }
}

impl Git<'_> {
    /// Fetches a package and writes its configuration files into `package`; `workshop` is an empty directory for the
    /// repository. Returns the commit; none for an empty repository.
    pub(super) fn fetch(&self, address: &GitAddress, workshop: &Path, package: &Path) -> Result<Option<String>> {
        let deadline = Instant::now() + self.time_limit;
        let mut fetch = Fetch { git: self, address, directory: workshop, deadline, key: None, ssh_command: None };
        fetch.create()?;
        if address.url.scheme() == "ssh" {
            fetch.ssh_command = fetch.find_ssh_command()?;
        }
        let Some(revision) = fetch.fetch()? else { return Ok(None) };
        let files = fetch.files(&revision)?;
        fetch.write(&revision, &files, package).map(Some)
    }
}

/// A fetch of one package.
struct Fetch<'a> {
    git: &'a Git<'a>,
    address: &'a GitAddress,
    directory: &'a Path,
    deadline: Instant,
    /// The private key of the address, where ssh can read it.
    key: Option<KeyFile>,
    /// `GIT_SSH_COMMAND` for this repository; none if git finds the right one by itself.
    ssh_command: Option<OsString>,
}

/// The files of a tree that are wanted.
struct Files {
    /// Object ids by path.
    wanted: BTreeMap<String, Blob>,
    directories: Vec<String>,
}

struct Blob {
    object: String,
    is_link: bool,
}

impl Fetch<'_> {
    fn create(&self) -> Result<()> {
        let mut command = self.configured(Command::new(self.git.program), "init");
        command.args(["--quiet", "--bare", "--template=", "."]);
        self.success(command, None).map(drop)
    }

    /// The ssh command that never prompts and uses the key of the address.
    fn find_ssh_command(&mut self) -> Result<Option<OsString>> {
        let not_written = |error| GitError::new(format!("its sshkey cannot be written for ssh: {error}"));
        let key = self.address.ssh_key.as_ref().map(|key| KeyFile::new(self.directory, key).map_err(not_written));
        self.key = key.transpose()?;
        let key_option = self.key.as_ref().map(|key| format!(" -i {}", key.name));
        let mut command = self.command("config");
        command.args(["--get", "core.sshCommand"]);
        let configured = OsString::from(one_line(&self.run(command, None)?.stdout));
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
        let shallow = self.run(self.fetch_command(&["--depth=1", FILTER], &[&refspec]), None)?;
        if shallow.status.success() {
            return Ok(Some(MODULE.to_owned()));
        }
        let said = String::from_utf8_lossy(&shallow.stderr).into_owned();
        // Only this text shows that the server is a plain web server.
        let is_dumb = said.contains("dumb http transport does not support shallow");
        if is_dumb {
            // The attempt has marked the repository as one with missing objects.
            let mut command = self.command("config");
            command.args(["--unset-all", "extensions.partialClone"]);
            self.run(command, None)?;
        }
        match &self.address.revision {
            _ if self.address.depth => Err(self.failure(&shallow)),
            Revision::Head if said.contains("couldn't find remote ref HEAD") => Ok(None),
            Revision::Head | Revision::Name(_) if is_dumb => {
                self.start_again()?;
                let whole = self.run(self.fetch_command(&[], &[&refspec]), None)?;
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
        let fetched = self.run(self.fetch_command(&[], &refspecs), None)?;
        if !fetched.status.success() {
            return Err(self.failure(&fetched));
        }
        let (Revision::Name(text) | Revision::Commit(text) | Revision::Expression(text)) = &self.address.revision
        else {
            return Ok(MODULE.to_owned());
        };
        if let Some(commit) = self.find(text)? {
            return Ok(commit);
        }
        // A clone has the default branch and the remote HEAD, too.
        self.set_default_branch()?;
        self.find(text)?.ok_or_else(|| GitError::new(format!("it has no branch, tag or commit {text:?}")))
    }

    /// Makes sure that there are not too many branches and tags to fetch them all.
    fn check_refs(&self) -> Result<()> {
        let mut command = self.command("ls-remote");
        command.args(["--quiet", "--heads", "--tags", "--", self.address.url.as_str()]);
        let reference = self.address.reference().unwrap_or_default();
        let too_many =
            || GitError::new(format!("it has so many branches and tags that {reference:?} is not looked for in them"));
        self.list(command, LONGEST_REFS, too_many).map(drop)
    }

    /// The commit that a revision names after a clone.
    fn find(&self, text: &str) -> Result<Option<String>> {
        for name in [text, &format!("origin/{text}"), &format!("refs/tags/{text}")] {
            let mut command = self.command("rev-parse");
            command.args(["--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]);
            let found = self.run(command, None)?;
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
        let listed = self.success(command, None)?.stdout;
        let listed = String::from_utf8_lossy(&listed);
        let branch = listed.lines().find_map(|line| line.strip_prefix("ref: refs/heads/")?.strip_suffix("\tHEAD"));
        let Some(branch) = branch else {
            let head = listed.lines().find_map(|line| line.strip_suffix("\tHEAD"));
            let mut command = self.command("update-ref");
            command.args(["--no-deref", "HEAD"]).args(head);
            return if head.is_some() { self.success(command, None).map(drop) } else { Ok(()) };
        };
        let (local, remote) = (format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}"));
        for arguments in [
            ["update-ref", &local, &remote],
            ["symbolic-ref", "HEAD", &local],
            ["symbolic-ref", "refs/remotes/origin/HEAD", &remote],
        ] {
            let mut command = self.command(arguments[0]);
            command.args(&arguments[1..]);
            self.success(command, None)?;
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

    /// The configuration files, links and directories of a commit.
    fn files(&self, revision: &str) -> Result<Files> {
        let mut command = self.command("ls-tree");
        command.args(["-r", "-t", "-z", "--full-tree", revision]);
        let listed = self.list(command, LONGEST_LIST, || Problem::TooManyNames.into())?;
        let mut files = Files { wanted: BTreeMap::new(), directories: Vec::new() };
        for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let entry = String::from_utf8_lossy(entry);
            let (words, path) = entry.split_once('\t').ok_or_else(GitError::unreadable)?;
            let words: Vec<_> = words.split(' ').collect();
            let [mode, _, object] = words[..] else { return Err(GitError::unreadable()) };
            if files.wanted.len() + files.directories.len() > MOST_ENTRIES {
                return Err(Problem::TooMany.into());
            }
            let is_link = mode == "120000";
            match mode {
                "040000" => files.directories.push(path.to_owned()),
                "100644" | "100755" | "100664" | "120000" if is_link || is_configuration(path) => {
                    files.wanted.insert(path.to_owned(), Blob { object: object.to_owned(), is_link });
                }
                _ => {}
            }
        }
        Ok(files)
    }

    /// Writes the files, and returns the commit.
    fn write(&self, revision: &str, files: &Files, package: &Path) -> Result<String> {
        let mut command = self.command("cat-file");
        command.arg("--batch");
        let objects = files.wanted.values().map(|blob| blob.object.as_str());
        let mut input = format!("{revision}^{{commit}}\n");
        input.extend(objects.flat_map(|object| [object, "\n"]));
        let mut objects = Objects::new(self.content(command, input)?);
        let commit = objects.next(None, |content| Ok(io::copy(content, &mut io::sink()).map(drop)?))?;
        let mut writer = PackageWriter::new(package);
        files.directories.iter().try_for_each(|directory| writer.directory(directory))?;
        for (path, blob) in &files.wanted {
            objects.next(Some(&blob.object), |content| {
                if blob.is_link { writer.link(path, &objects::target(content)?) } else { writer.file(path, content) }
            })?;
        }
        writer.finish()?;
        Ok(commit)
    }

    /// A git command in the repository that runs no hook or monitor from the user's settings.
    fn command(&self, name: &str) -> Command {
        self.command_within(SHARE_FOR_COMMIT, name)
    }

    /// [`Fetch::command`] with another share of the time.
    fn command_within(&self, share: u32, name: &str) -> Command {
        self.configured(process::with_processor_time(self.git.program, self.git.time_limit / share), name)
    }

    fn configured(&self, mut command: Command, name: &str) -> Command {
        command.current_dir(self.directory);
        let no_hooks = format!("core.hooksPath={}", self.directory.join("hooks").display());
        // Nothing has to survive the run. Waiting for the disk would take most of the time where there are many refs.
        let settings = ["core.fsmonitor=false", "gc.auto=0", "fetch.recurseSubmodules=false", "core.fsync=none"];
        for setting in [no_hooks.as_str()].into_iter().chain(settings) {
            command.args(["-c", setting]);
        }
        command.arg("--git-dir=.").arg(name);
        for variable in FOREIGN_VARIABLES.split(' ') {
            command.env_remove(variable);
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        let is_file = self.address.url.scheme() == "file";
        command.env("GIT_PROTOCOL_FROM_USER", if is_file { "1" } else { "0" });
        if let Some(ssh_command) = &self.ssh_command {
            command.env("GIT_SSH_COMMAND", ssh_command);
        }
        command
    }

    fn success(&self, command: Command, stdin: Option<String>) -> Result<Finished> {
        let finished = self.run(command, stdin)?;
        if finished.status.success() { Ok(finished) } else { Err(self.failure(&finished)) }
    }

    /// Runs git until its time or the space for its files is used up.
    fn run(&self, command: Command, stdin: Option<String>) -> Result<Finished> {
        self.within(STDOUT_LIMIT, |limits| process::run_within(command, stdin, limits)).map_err(|why| self.ended(&why))
    }

    /// What git lists, in at most so many bytes.
    fn list(&self, command: Command, longest: u64, too_long: impl FnOnce() -> GitError) -> Result<Vec<u8>> {
        match self.within(longest, |limits| process::run_within(command, None, limits)) {
            Ok(finished) if finished.status.success() => Ok(finished.stdout),
            Ok(finished) => Err(self.failure(&finished)),
            Err(process::Failure::TooMuchOutput) => Err(too_long()),
            Err(why) => Err(self.ended(&why)),
        }
    }

    /// What `cat-file --batch` says of the objects that it reads from `stdin`, kept in a file.
    fn content(&self, command: Command, stdin: String) -> Result<File> {
        let path = self.directory.join("content");
        let file = File::create_new(&path)?;
        let finished = self.within(MOST_CONTENT, |limits| process::run_into(command, Some(stdin), &file, limits));
        let finished = finished.map_err(|why| self.ended(&why))?;
        if finished.status.success() { Ok(File::open(path)?) } else { Err(self.failure(&finished)) }
    }

    /// Gives `run` the limits of everything that git does for a package.
    fn within<T>(&self, stdout: u64, run: impl FnOnce(&Limits<'_>) -> T) -> T {
        let exceeded = || {
            let is_large = storage::size_below(self.directory) > MOST_BYTES;
            is_large.then(|| format!("the repository is larger than {} MiB", MOST_BYTES >> 20))
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
        GitError { why: why.to_owned(), said: lines.take(8).collect() }
    }
}

impl GitError {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), said: Vec::new() }
    }

    fn unreadable() -> Self {
        Self::new("git printed something that cannot be read")
    }
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> Self {
        Self { why: format!("there is no place to put it: {error}"), said: Vec::new() }
    }
}

impl From<Problem> for GitError {
    fn from(problem: Problem) -> Self {
        Self::new(problem.to_string())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
