//! Runs the git program.
//!
//! Arguments go to git as a list and never through a shell. Text from a user follows
//! `--end-of-options` or `--`, and revisions are resolved to object names first. Paths are relative
//! to the directory in which git runs. The default is the current directory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ExitStatus, Stdio};

use anyhow::{Context as _, Result};
use provlock::diagnostic::{Code, Diagnostic, Help, Remedy};
use provlock::lockfile::SIZE_LIMIT;
use provlock::lockfile::merge::MarkerStyle;
use provlock::project::ReviewedChange;
use provlock::system::{git, repository};

/// Maximum size of git's output in bytes. Git is stopped at this limit.
const OUTPUT_LIMIT: u64 = 256 * 1024 * 1024;

/// Maximum size of a blob that is no lock file, in bytes: that of a configuration file, the largest
/// kind that is read.
const BLOB_LIMIT: u64 = 8 * 1024 * 1024;

/// Maximum size of git's error message in bytes.
const MESSAGE_LIMIT: u64 = 16 * 1024;

/// Variables in the environment of git, with their values, for options that take a value from
/// there.
pub(super) const FALSE: (&str, &str) = ("PROVLOCK_FALSE", "false");
pub(super) const EMPTY: (&str, &str) = ("PROVLOCK_EMPTY", "");

/// Standard input of a command that reads none.
pub(super) const NO_INPUT: &[u8] = b"";

/// End of a git process.
pub(super) struct Output {
    /// Directory in which git ran.
    directory: PathBuf,
    /// Name of the git command.
    command: String,
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
}

/// The object name of the commit or tree of a revision; `None` if git does not know the revision.
pub(crate) fn resolve(directory: &Path, revision: &str) -> Result<Option<String>> {
    let arguments = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        revision,
    ];
    first_line_or_none(directory, arguments)
}

/// The full name of the branch that is checked out; `None` for a detached HEAD.
pub(crate) fn current_branch(directory: &Path) -> Result<Option<String>> {
    first_line_or_none(directory, ["symbolic-ref", "--quiet", "HEAD"])
}

/// The object name of a tree without files, which every repository has.
pub(crate) fn empty_tree(directory: &Path) -> Result<Option<String>> {
    first_line_or_none(directory, ["hash-object", "-t", "tree", "--stdin"])
}

/// Returns the full names that are references.
pub(crate) fn references(directory: &Path, names: &[String]) -> Result<Vec<String>> {
    let mut arguments = vec!["for-each-ref", "--format=%(refname)", "--"];
    arguments.extend(names.iter().map(String::as_str));
    let printed = run_successfully(directory, arguments)?;
    let mut references = Vec::new();
    for line in String::from_utf8_lossy(&printed).lines() {
        // Git also lists references below a name.
        if names.iter().any(|name| name == line) {
            references.push(line.to_owned());
        }
    }
    Ok(references)
}

/// The names of the remotes.
pub(crate) fn remotes(directory: &Path) -> Result<Vec<String>> {
    let printed = run_successfully(directory, ["remote"])?;
    let printed = String::from_utf8_lossy(&printed);
    Ok(printed.lines().map(str::to_owned).collect())
}

/// Whether the repository has an object whose ID begins with these hexadecimal digits.
pub(crate) fn object_exists(directory: &Path, digits: &str) -> Result<bool> {
    let option = format!("--disambiguate={digits}");
    let printed = run_successfully(directory, ["rev-parse", &option])?;
    Ok(!printed.is_empty())
}

/// The best common ancestor of two objects from [`resolve`], if they have one.
pub(crate) fn merge_base(one: &str, other: &str) -> Result<Option<String>> {
    let arguments = ["merge-base", "--end-of-options", one, other];
    first_line_or_none(Path::new("."), arguments)
}

/// The only best common ancestor of two commits of a repository; `None` if they have none here, or
/// several.
pub(super) fn only_merge_base(top: &Path, one: &str, other: &str) -> Result<Option<String>> {
    let arguments = ["merge-base", "--all", "--end-of-options", one, other];
    let output = run(top, Paths::Literal, arguments, NO_INPUT)?;
    match output.status.code() {
        Some(0) => {}
        Some(1) => return Ok(None),
        _ => return Err(output.failure().into()),
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let bases: Vec<_> = text.lines().collect();
    Ok(match bases[..] {
        [only] => Some(only.to_owned()),
        _ => None,
    })
}

/// Number of commits that are in `included` and not in `excluded`.
pub(super) fn commits_between(top: &Path, excluded: &str, included: &str) -> Result<usize> {
    let range = format!("{excluded}..{included}");
    let printed = run_successfully(top, ["rev-list", "--count", "--end-of-options", &range])?;
    Ok(first_line(&printed).parse().unwrap_or_default())
}

/// The commits on the line of the first parents of a tip, the tip among them: the states that the
/// branch itself was in. Empty if git does not know.
pub(super) fn commits_on_line_of(top: &Path, tip: &str) -> BTreeSet<String> {
    let arguments = ["rev-list", "--first-parent", "--end-of-options", tip];
    let printed = run_successfully(top, arguments).unwrap_or_default();
    let mut commits = BTreeSet::new();
    for line in String::from_utf8_lossy(&printed).lines() {
        commits.insert(line.to_owned());
    }
    commits
}

/// Whether a revision, whose object comes from [`resolve`], is a directory such as `HEAD:app`.
pub(crate) fn is_directory(revision: &str, object: &str) -> Result<bool> {
    Ok(revision.contains(':')
        && first_line_or_none(Path::new("."), ["cat-file", "-t", object])?.as_deref()
            == Some("tree"))
}

/// A file of a working tree.
#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) is_tracked: bool,
    /// The object name of the staged content; `None` for a submodule.
    pub(crate) blob: Option<String>,
    /// Whether it is staged as a symbolic link.
    pub(crate) is_link: bool,
    /// Whether a sparse checkout omits it.
    pub(crate) is_omitted: bool,
}

/// The wanted files in a directory and below: tracked files as they are staged, and new files that
/// git does not ignore. The keys are their paths, as texts because these are compared faster.
pub(crate) fn list_entries(
    directory: &Path,
    is_wanted: impl Fn(&Path, &Entry) -> bool,
) -> Result<BTreeMap<OsString, Entry>> {
    let listing = [
        "ls-files",
        "-z",
        "-t",
        "--stage",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let printed = run_successfully(directory, listing)?;
    let mut entries = BTreeMap::new();
    for line in printed.split(|byte| *byte == 0) {
        if let Some((path, entry)) = parse_entry(line)
            && is_wanted(&path, &entry)
        {
            entries.insert(path.into_os_string(), entry);
        }
    }
    Ok(entries)
}

/// Reads `? PATH`, or `TAG MODE OBJECT STAGE`, a tab and the path.
fn parse_entry(line: &[u8]) -> Option<(PathBuf, Entry)> {
    if let Some(path) = line.strip_prefix(b"? ") {
        return Some((native_path(path), Entry::default()));
    }
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (tag, words) = std::str::from_utf8(&line[..tab]).ok()?.split_once(' ')?;
    let entry = Entry {
        is_tracked: true,
        blob: blob_in_words(words, 1),
        is_link: words.starts_with("12"),
        is_omitted: tag == "S",
    };
    Some((native_path(&line[tab + 1..]), entry))
}

/// A path at which the index differs from a commit.
pub(crate) struct StagedChange {
    pub(crate) path: PathBuf,
    /// Object name of the commit's blob.
    pub(crate) before: Option<String>,
    /// Whether it is a symbolic link in the commit.
    pub(crate) was_link: bool,
    /// Whether it is a submodule in the commit or in the index.
    pub(crate) is_submodule: bool,
}

/// The paths at which the index differs from a commit. Git reads only the trees that differ.
pub(crate) fn staged_changes(top: &Path, commit: &str) -> Result<Vec<StagedChange>> {
    let arguments = [
        "diff-index",
        "--cached",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "--ignore-submodules=none",
        commit,
        "--",
    ];
    let printed = run_successfully(top, arguments)?;
    let mut fields = printed.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(words), Some(path)) = (fields.next(), fields.next()) {
        // `:MODE MODE OBJECT OBJECT STATUS` of the commit and the index.
        let words = std::str::from_utf8(words).unwrap_or_default();
        // After the last change there is an empty field.
        let Some(words) = words.strip_prefix(':') else {
            break;
        };
        changes.push(StagedChange {
            path: native_path(path),
            before: blob_in_words(words, 2),
            was_link: words.starts_with("12"),
            is_submodule: words.split(' ').take(2).any(|mode| mode == "160000"),
        });
    }
    Ok(changes)
}

/// The object name among words that begin with a mode, if that is the mode of a file or of a
/// symbolic link.
pub(super) fn blob_in_words(words: &str, index: usize) -> Option<String> {
    let is_blob = words.starts_with("10") || words.starts_with("12");
    if is_blob {
        words.split(' ').nth(index).map(str::to_owned)
    } else {
        None
    }
}

/// The files that match one of the patterns in any directory: tracked or other ones, according to
/// the options of `git ls-files`. Their paths are compared faster as texts.
pub(crate) fn list_matching_files(
    top: &Path,
    options: &[&str],
    patterns: &[&str],
) -> Result<BTreeSet<OsString>> {
    let mut arguments = vec!["ls-files".to_owned(), "-z".to_owned()];
    arguments.push("--full-name".to_owned());
    arguments.extend(options.iter().map(ToString::to_string));
    arguments.push("--".to_owned());
    for pattern in patterns {
        arguments.push(format!(":(top,glob)**/{pattern}"));
    }
    let printed = run(top, Paths::Patterns, arguments, NO_INPUT)?.stdout_if_successful()?;

    // Each path ends with a NUL.
    let mut paths = BTreeSet::new();
    for path in printed.split(|byte| *byte == 0) {
        if !path.is_empty() {
            paths.insert(native_path(path).into_os_string());
        }
    }
    Ok(paths)
}

/// A line of an ignore file.
pub(crate) struct IgnoreRule {
    /// The file, relative to the directory in which git ran, or absolute.
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

/// The lines of ignore files that ignore `paths`, which are relative to `directory`; `None` for
/// each path that is not ignored. Empty if none of them is ignored, or git fails.
pub(crate) fn rules_ignoring_paths(
    directory: &Path,
    paths: &[&PathBuf],
) -> Vec<Option<IgnoreRule>> {
    if paths.is_empty() {
        return Vec::new();
    }
    // This command reads patterns, but a path that begins with `./` is not read as one.
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(b"./");
        input.extend_from_slice(path.as_os_str().as_encoded_bytes());
        input.push(0);
    }
    let arguments = [
        "check-ignore",
        "--stdin",
        "-z",
        "--verbose",
        "--non-matching",
    ];
    let printed = run(directory, Paths::Patterns, arguments, &input)
        .and_then(Output::stdout_if_successful)
        .unwrap_or_default();
    // Four fields are printed about each path.
    let fields: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
    fields.chunks_exact(4).map(parse_ignore_rule).collect()
}

/// The rule in the four fields that `git check-ignore` prints about a path; `None` if no rule
/// ignores it.
fn parse_ignore_rule(fields: &[&[u8]]) -> Option<IgnoreRule> {
    let [file, line, pattern, _] = fields else {
        return None;
    };
    if pattern.starts_with(b"!") {
        return None;
    }
    Some(IgnoreRule {
        file: native_path(file),
        line: std::str::from_utf8(line).ok()?.parse().ok()?,
    })
}

/// The contents of files, given their object names and their paths. Neither filters nor textconv
/// are applied. A file that is too large is an error.
pub(crate) fn read_blobs(
    directory: &Path,
    objects: &BTreeMap<&str, &Path>,
) -> Result<BTreeMap<String, Vec<u8>>> {
    if objects.is_empty() {
        return Ok(BTreeMap::new());
    }
    let input: String = objects.keys().flat_map(|object| [object, "\n"]).collect();
    let output = run(
        directory,
        Paths::Literal,
        ["cat-file", "--batch"],
        input.as_bytes(),
    )?;
    if !output.status.success()
        && let Some(error) = missing_file_error(directory, objects, &output.stderr)
    {
        return Err(error.into());
    }
    let printed = output.stdout_if_successful()?;
    let mut rest = printed.as_slice();
    let mut contents = BTreeMap::new();
    while !rest.is_empty() {
        let Some((object, content, after)) = parse_batch_entry(rest) else {
            if let Some(error) = missing_file_error(directory, objects, &first_line(rest)) {
                return Err(error.into());
            }
            return Err(unreadable_object_error(directory, rest).into());
        };
        let path = objects.get(object.as_str()).unwrap_or(&directory);
        let limit = size_limit(path);
        if content.len() as u64 > limit {
            let message = format!(
                "cannot read {}, blob {object} of git: it is larger than {} MiB",
                path.display(),
                limit / (1024 * 1024)
            );
            return Err(Diagnostic::error(Code::Io, message).into());
        }
        contents.insert(object, content.to_owned());
        rest = after;
    }
    Ok(contents)
}

/// Maximum size in bytes of the blob at a path.
pub(super) fn size_limit(path: &Path) -> u64 {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if ReviewedChange::is_lock_file(name) {
        SIZE_LIMIT
    } else {
        BLOB_LIMIT
    }
}

/// The sizes of blobs in bytes, without missing ones.
pub(super) fn read_sizes<'a>(
    directory: &Path,
    objects: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, u64>> {
    let mut input = String::new();
    for object in objects {
        input.push_str(object);
        input.push('\n');
    }
    let arguments = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
    let printed =
        run(directory, Paths::Literal, arguments, input.as_bytes())?.stdout_if_successful()?;
    let mut sizes = BTreeMap::new();
    for line in String::from_utf8_lossy(&printed).lines() {
        if let Some((object, size)) = line.split_once(' ')
            && let Ok(size) = size.parse()
        {
            sizes.insert(object.to_owned(), size);
        }
    }
    Ok(sizes)
}

/// Reads `OBJECT blob SIZE`, a line break, that many bytes and a line break.
fn parse_batch_entry(text: &[u8]) -> Option<(String, &[u8], &[u8])> {
    let line_end = text.iter().position(|byte| *byte == b'\n')?;
    let header = std::str::from_utf8(&text[..line_end]).ok()?;
    let words: Vec<_> = header.split(' ').collect();
    let [object, _, size] = words[..] else {
        return None;
    };
    let size = size.parse().ok()?;
    let (content, rest) = text[line_end + 1..].split_at_checked(size)?;
    Some((object.to_owned(), content, rest.strip_prefix(b"\n")?))
}

/// The error for an object that git knows but does not have.
pub(super) fn unreadable_object_error(directory: &Path, answer: &[u8]) -> Diagnostic {
    let answer = first_line(answer);
    if let Some(help) = help_for_partial_clone(directory) {
        return missing_part_error("a file").help(help);
    }
    let error = Diagnostic::error(
        Code::Io,
        format!("git cat-file failed: it printed {answer:?}"),
    );
    error.help("look at the repository with git fsck; fetch what is missing")
}

/// The error for the file whose object git reports as missing, in a partial clone; `None` if the
/// report names none of the objects, or for other repositories.
fn missing_file_error(
    directory: &Path,
    objects: &BTreeMap<&str, &Path>,
    report: &str,
) -> Option<Diagnostic> {
    let (_, path) = objects
        .iter()
        .find(|(object, _)| report.contains(**object))?;
    let help = help_for_partial_clone(directory)?;
    let path = path.strip_prefix(directory).unwrap_or(path);
    Some(missing_part_error(&path.display().to_string()).help(help))
}

/// The error for a part of the repository that a partial clone lacks.
fn missing_part_error(part: &str) -> Diagnostic {
    let message = format!(
        "this partial clone lacks {part} of a commit that is compared, and provlock fetches nothing"
    );
    Diagnostic::error(Code::Io, message)
}

/// The next step where a partial clone lacks an object: to fetch it from the remote that has
/// promised the missing objects, which provlock does not do. `None` for other repositories.
fn help_for_partial_clone(directory: &Path) -> Option<Help> {
    let arguments = [
        "config",
        "--null",
        "--type=bool",
        "--get-regexp",
        r"^remote\..*\.promisor$",
    ];
    let printed = run_successfully(directory, arguments).ok()?;
    // Each entry is the name of the variable, a line break and the value.
    for entry in printed.split(|byte| *byte == 0) {
        let remote = std::str::from_utf8(entry).ok().and_then(|entry| {
            entry
                .strip_suffix(".promisor\ntrue")?
                .strip_prefix("remote.")
        });
        if let Some(remote) = remote {
            let remedy = Remedy::FetchMissingObjects {
                remote: remote.to_owned(),
            };
            return Some(Help::text("fetch all files of the repository: ").and(remedy));
        }
    }
    None
}

/// Merges `ours` in place, line by line, as git does without a merge driver. Returns whether there
/// was no conflict.
pub(crate) fn merge_file(
    base: &Path,
    ours: &Path,
    theirs: &Path,
    style: &MarkerStyle,
) -> Result<bool> {
    let size = format!("--marker-size={}", style.size);
    let mut arguments: Vec<OsString> = ["merge-file", "--quiet", &size].map(OsString::from).into();
    arguments
        .extend(["-L", &style.ours, "-L", "base", "-L", &style.theirs, "--"].map(OsString::from));
    arguments.extend([ours, base, theirs].map(OsString::from));
    let output = run(Path::new("."), Paths::Literal, arguments, NO_INPUT)?;
    match output.status.code() {
        Some(0) => Ok(true),
        // The number of conflicts, at most 127; higher codes are errors.
        Some(1..=127) => Ok(false),
        _ => Err(output.failure().into()),
    }
}

/// The top directory of the working tree, from git.
pub(crate) fn top_directory() -> Result<PathBuf> {
    let output = run_successfully(Path::new("."), ["rev-parse", "--show-toplevel"])?;
    Ok(native_path(output.strip_suffix(b"\n").unwrap_or(&output)))
}

/// The value of a configuration variable, from any of git's files.
pub(crate) fn read_variable(variable: &str) -> Result<Option<String>> {
    first_line_or_none(Path::new("."), ["config", "--get", variable])
}

/// Sets a configuration variable of this repository.
pub(crate) fn set_variable(variable: &str, value: &str) -> Result<()> {
    run_successfully(Path::new("."), ["config", "--local", variable, value]).map(drop)
}

/// The values of attributes of a path below `directory`, in the order of `names`.
pub(crate) fn read_attributes(directory: &Path, names: &[&str], path: &str) -> Result<Vec<String>> {
    let mut arguments: Vec<OsString> = vec!["check-attr".into(), "-z".into()];
    arguments.extend(names.iter().chain(&["--", path]).map(OsString::from));
    let output = run_successfully(directory, arguments)?;
    let fields = output.split(|byte| *byte == 0).skip(2).step_by(3);
    Ok(fields
        .map(|value| String::from_utf8_lossy(value).into_owned())
        .collect())
}

/// Runs git, and returns the first line of its output; `None` if its exit code means that git has
/// found nothing.
fn first_line_or_none<const N: usize>(
    directory: &Path,
    arguments: [&str; N],
) -> Result<Option<String>> {
    let output = run(directory, Paths::Literal, arguments, NO_INPUT)?;
    match output.status.code() {
        Some(0) => Ok(Some(first_line(&output.stdout))),
        Some(1) => Ok(None),
        _ => Err(output.failure().into()),
    }
}

pub(super) fn run_successfully<A: Into<OsString>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Vec<u8>> {
    run(directory, Paths::Literal, arguments, NO_INPUT)?.stdout_if_successful()
}

/// Way in which git reads paths among its arguments.
#[derive(Clone, Copy)]
pub(super) enum Paths {
    Literal,
    /// As patterns with magic.
    Patterns,
}

/// Runs git in a directory to its end, and kills it if it prints more than [`OUTPUT_LIMIT`].
pub(super) fn run<A: Into<OsString>>(
    directory: &Path,
    paths: Paths,
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Result<Output> {
    run_with(&[], directory, paths, arguments, input)
}

/// [`run`] with options of git itself, which precede the name of the command. They may refer to
/// [`FALSE`] and [`EMPTY`].
pub(super) fn run_with<A: Into<OsString>>(
    options: &[OsString],
    directory: &Path,
    paths: Paths,
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Result<Output> {
    let arguments: Vec<OsString> = arguments.into_iter().map(A::into).collect();
    let mut git = git::in_repository(directory);
    git.args(options).args(&arguments).envs([FALSE, EMPTY]);
    if matches!(paths, Paths::Patterns) {
        git.env("GIT_LITERAL_PATHSPECS", "0");
    }
    git.stdin(Stdio::piped());
    git.stdout(Stdio::piped());
    git.stderr(Stdio::piped());
    let ended = match git.spawn() {
        Ok(child) => write_and_wait(child, input),
        Err(error) => Err(error),
    };
    let Ended {
        status,
        stdout,
        stderr,
    } = ended.with_context(|| Diagnostic::error(Code::Io, "cannot run git").help("install git"))?;

    let mut command = String::new();
    if let Some(name) = arguments.first() {
        command = name.to_string_lossy().into_owned();
    }
    Ok(Output {
        directory: directory.to_owned(),
        command,
        status,
        stdout,
        stderr,
    })
}

/// Status, output and error message of a process that has ended.
struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
}

/// Writes the input of git and reads its output until it ends. Kills it if it prints more than
/// [`OUTPUT_LIMIT`].
fn write_and_wait(mut child: Child, input: &[u8]) -> std::io::Result<Ended> {
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    std::thread::scope(|scope| {
        // Git may end before it has read everything; its exit code shows whether it failed.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        let message = scope.spawn(move || match stderr {
            Some(stderr) => read_message(stderr),
            None => Ok(String::new()),
        });
        let mut printed = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(OUTPUT_LIMIT + 1).read_to_end(&mut printed)?;
        }
        if printed.len() as u64 > OUTPUT_LIMIT {
            child.kill()?;
            child.wait()?;
            let limit = OUTPUT_LIMIT / (1024 * 1024);
            return Err(std::io::Error::other(format!(
                "it printed more than {limit} MiB"
            )));
        }
        let status = child.wait()?;
        let stderr = message.join().unwrap_or_else(|_| Ok(String::new()))?;
        Ok(Ended {
            status,
            stdout: printed,
            stderr,
        })
    })
}

/// Reads to the end, and returns the first [`MESSAGE_LIMIT`] bytes.
fn read_message(mut stderr: ChildStderr) -> std::io::Result<String> {
    let mut message = Vec::new();
    stderr
        .by_ref()
        .take(MESSAGE_LIMIT)
        .read_to_end(&mut message)?;
    std::io::copy(&mut stderr, &mut std::io::sink())?;
    Ok(String::from_utf8_lossy(&message).into_owned())
}

impl Output {
    /// Whether the exit code means that git has found nothing.
    pub(super) fn has_found_nothing(&self) -> bool {
        self.status.code() == Some(1)
    }

    /// Returns the output of a successful command, or the error of a failed one.
    pub(super) fn stdout_if_successful(self) -> Result<Vec<u8>> {
        if self.status.success() {
            Ok(self.stdout)
        } else {
            Err(self.failure().into())
        }
    }

    /// Returns the error of a command that failed, with a next step as far as one is known.
    fn failure(&self) -> Diagnostic {
        let reason = self.reason();
        let error = Diagnostic::error(Code::Io, format!("git {} failed: {reason}", self.command));
        // Git requires the user to trust the owner of the repository first.
        let mut lines = self.stderr.lines().map(str::trim);
        if let Some(advice) =
            lines.find(|line| line.starts_with("git config --global --add safe.directory"))
        {
            return error.help(format!("if you trust its owner: {advice}"));
        }
        if self.names_missing_object()
            && let Some(help) = help_for_partial_clone(&self.directory)
        {
            let part = if self.command == "cat-file" {
                "a file"
            } else {
                "a directory"
            };
            return missing_part_error(part).help(help);
        }
        let is_in_repository =
            std::env::current_dir().is_ok_and(|directory| repository::top(&directory).is_some());
        if is_in_repository {
            error
        } else {
            error.help("run in a git repository")
        }
    }

    /// The first line of the error message that is no warning.
    fn reason(&self) -> &str {
        let mut lines = self.stderr.lines();
        let line = lines.find(|line| !line.starts_with("warning: "));
        let reason = line.unwrap_or("it gave no reason");
        for prefix in ["fatal: ", "error: "] {
            if let Some(reason) = reason.strip_prefix(prefix) {
                return reason;
            }
        }
        reason
    }

    /// Whether git reports an object that it does not have.
    fn names_missing_object(&self) -> bool {
        const REPORTS: [&str; 6] = [
            "unable to read",
            "bad tree object",
            "not a tree object",
            "could not parse",
            "could not fetch",
            "missing",
        ];
        REPORTS.iter().any(|report| self.stderr.contains(report))
    }
}

fn first_line(stdout: &[u8]) -> String {
    String::from_utf8_lossy(stdout)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The path that git writes in these bytes.
pub(crate) fn native_path(bytes: &[u8]) -> PathBuf {
    let text = native_text(bytes);
    if cfg!(unix) {
        return PathBuf::from(text);
    }
    // Git writes its own separator on other systems.
    let text = text.to_string_lossy();
    PathBuf::from(text.replace('/', std::path::MAIN_SEPARATOR_STR))
}

#[cfg(unix)]
pub(super) fn native_text(bytes: &[u8]) -> OsString {
    let text: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    text.to_owned()
}

/// Git writes UTF-8 on other systems.
#[cfg(not(unix))]
pub(super) fn native_text(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}
