//! Files of the work tree that differ from a commit.
//!
//! To find out whether a file differs, git would run the filters that a repository configures, such
//! as the filter of Git LFS. All filters are switched off here. Conversions that git makes itself,
//! such as of line endings, stay.

#![expect(
    clippy::disallowed_methods,
    reason = "git's objects are compared with the files of the work tree themselves"
)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use provlock::system::parallel;
use sha2::{Digest as _, Sha256};

use super::base_tree::{BaseFile, BaseFiles};
use super::command::{
    EMPTY, FALSE, NO_INPUT, Paths, native_path, native_text, read_blobs, run, run_successfully,
    run_with,
};
use super::object_name::{is_blob, is_blob_on_disk};

/// Maximum size of a pointer of Git LFS in bytes.
const POINTER_LIMIT: usize = 1024;

/// A path at which the work tree differs from a commit according to the times and sizes in the
/// index.
struct Candidate {
    /// Relative to the top of the work tree.
    path: PathBuf,
    /// Object name of the commit's blob.
    blob: String,
    is_link: bool,
}

/// The tracked files below the top of a work tree that differ from a commit, or exist in only one
/// of the two, with what the commit has. Submodules are not listed.
pub(super) fn changed_files(top: &Path, commit: &str) -> Result<BaseFiles> {
    let filters_off = options_without_filters(top)?;
    let mut changed = BaseFiles::new();
    let mut candidates = Vec::new();
    for (words, path) in run_diff_index(top, commit, &filters_off)? {
        match parse_candidate(&words, &path) {
            Some(candidate) => candidates.push(candidate),
            None => _ = changed.insert(path.into_os_string(), BaseFile::parse_words(&words)),
        }
    }

    // Git distrusts new times, but a file may have new times and the old content.
    let compared = parallel::map(candidates, parallel::cores(), |candidate| {
        let is_same = candidate.is_same_on_disk(top);
        (candidate, is_same)
    });
    let mut differing = Vec::new();
    for (candidate, is_same) in compared {
        if !is_same {
            differing.push(candidate);
        }
    }
    let converted = unchanged_but_converted(top, &differing, &filters_off)?;
    differing.retain(|candidate| !converted.contains(&candidate.path));
    let filtered = unchanged_behind_filters(top, &differing)?;
    differing.retain(|candidate| !filtered.contains(&candidate.path));

    for candidate in differing {
        let at_base = if candidate.is_link {
            BaseFile::Link(candidate.blob)
        } else {
            BaseFile::File(candidate.blob)
        };
        changed.insert(candidate.path.into_os_string(), at_base);
    }
    Ok(changed)
}

impl Candidate {
    /// Whether the file has exactly the bytes of the commit, or the link its target.
    fn is_same_on_disk(&self, top: &Path) -> bool {
        let path = top.join(&self.path);
        if self.is_link && path.is_symlink() {
            let target = path.read_link().unwrap_or_default();
            return is_blob(target.as_os_str().as_encoded_bytes(), &self.blob);
        }
        is_blob_on_disk(&path, &self.blob)
    }

    /// Whether git wrote the file from the commit's blob, and no program has written it since.
    fn is_checked_out(&self, top: &Path, entry: &IndexEntry) -> bool {
        let Ok(metadata) = top.join(&self.path).symlink_metadata() else {
            return false;
        };
        entry.blob == self.blob && entry.is_as_git_left_it(&metadata)
    }
}

/// Options by which git runs none of the filters in its configuration; empty if there are none.
fn options_without_filters(top: &Path) -> Result<Vec<OsString>> {
    let arguments = [
        "config",
        "--null",
        "--name-only",
        "--get-regexp",
        r"^filter\..*\.(clean|smudge|process|required)$",
    ];
    let output = run(top, Paths::Literal, arguments, NO_INPUT)?;
    if output.has_found_nothing() {
        return Ok(Vec::new());
    }
    let printed = output.stdout_if_successful()?;

    let mut options = Vec::new();
    for variable in printed.split(|byte| *byte == 0) {
        if variable.is_empty() {
            continue;
        }
        let is_required = variable.ends_with(b".required");
        let variable = native_text(variable);
        let (environment_variable, value) = if is_required { FALSE } else { EMPTY };
        // The name after `-c` ends at the first equals sign. After `--config-env` it ends at the
        // last one, and the name of a variable of the environment follows.
        let mut option = OsString::new();
        if variable.as_encoded_bytes().contains(&b'=') {
            option.push("--config-env=");
            option.push(variable);
            option.push("=");
            option.push(environment_variable);
        } else {
            options.push("-c".into());
            option.push(variable);
            option.push("=");
            option.push(value);
        }
        options.push(option);
    }
    Ok(options)
}

/// Compares the index and the work tree with a commit. Each difference consists of words, which
/// begin with a colon, and the path.
fn run_diff_index(
    top: &Path,
    commit: &str,
    filters_off: &[OsString],
) -> Result<Vec<(String, PathBuf)>> {
    let arguments = [
        "diff-index",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "--ignore-submodules=all",
        commit,
        "--",
    ];
    let printed =
        run_with(filters_off, top, Paths::Literal, arguments, NO_INPUT)?.stdout_if_successful()?;
    let mut differences = Vec::new();
    let mut fields = printed.split(|byte| *byte == 0);
    while let (Some(words), Some(path)) = (fields.next(), fields.next()) {
        let words = String::from_utf8_lossy(words).into_owned();
        differences.push((words, native_path(path)));
    }
    Ok(differences)
}

/// The file to compare by content, from `:MODE MODE OBJECT OBJECT STATUS` of the commit and the
/// work tree. `None` if the words alone show that the file differs.
fn parse_candidate(words: &str, path: &Path) -> Option<Candidate> {
    let words: Vec<_> = words.strip_prefix(':')?.split(' ').collect();
    let [mode, mode_now, blob, blob_now, "M"] = words[..] else {
        return None;
    };
    // Git gives no object name to a file that may differ from the index.
    let is_undecided = blob_now.bytes().all(|byte| byte == b'0');
    let is_file = mode.starts_with("10") || mode.starts_with("12");
    if mode != mode_now || !is_undecided || !is_file {
        return None;
    }
    Some(Candidate {
        path: path.to_owned(),
        blob: blob.to_owned(),
        is_link: mode.starts_with("12"),
    })
}

/// The files that become the commit's blobs by conversions that git makes itself, such as of line
/// endings. Links, and paths that git cannot read from a list, are not compared.
fn unchanged_but_converted(
    top: &Path,
    candidates: &[Candidate],
    filters_off: &[OsString],
) -> Result<HashSet<PathBuf>> {
    let mut files = Vec::new();
    for candidate in candidates {
        if !candidate.is_link {
            files.push(candidate.path.as_path());
        }
    }
    let converted = converted_blobs(top, &files, filters_off)?;
    let mut unchanged = HashSet::new();
    for candidate in candidates {
        if converted.get(candidate.path.as_path()) == Some(&candidate.blob) {
            unchanged.insert(candidate.path.clone());
        }
    }
    Ok(unchanged)
}

/// Object names of files in a directory after git's own conversions. Links, and paths that git
/// cannot read from a list, are omitted.
fn converted_blobs<'a>(
    directory: &Path,
    files: &[&'a Path],
    filters_off: &[OsString],
) -> Result<HashMap<&'a Path, String>> {
    let mut converted = Vec::new();
    let mut input = Vec::new();
    for file in files {
        let path = file.as_os_str().as_encoded_bytes();
        // Git reads a quoted path where a line begins with a quotation mark.
        let is_line = !path.contains(&b'\n') && !path.starts_with(b"\"");
        let is_file = directory
            .join(file)
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file());
        if is_line && is_file {
            converted.push(*file);
            input.extend_from_slice(path);
            input.push(b'\n');
        }
    }
    if converted.is_empty() {
        return Ok(HashMap::new());
    }
    let arguments = ["hash-object", "--stdin-paths"];
    let output = run_with(filters_off, directory, Paths::Literal, arguments, &input)?;
    let printed = output.stdout_if_successful()?;
    let blobs = String::from_utf8_lossy(&printed);
    Ok(converted
        .into_iter()
        .zip(blobs.lines().map(str::to_owned))
        .collect())
}

/// The files in a directory whose line endings git converts, with their contents after that.
/// `files` are contents by path.
pub(crate) fn with_converted_line_endings(
    directory: &Path,
    files: &BTreeMap<&Path, &[u8]>,
) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut converted = BTreeMap::new();
    if files.is_empty() {
        return Ok(converted);
    }
    let paths: Vec<_> = files.keys().copied().collect();
    let blobs = converted_blobs(directory, &paths, &options_without_filters(directory)?)?;
    for (path, bytes) in files {
        let bytes = without_carriage_returns(bytes);
        if blobs.get(path).is_some_and(|blob| is_blob(&bytes, blob)) {
            converted.insert((*path).to_owned(), bytes);
        }
    }
    Ok(converted)
}

/// A text with line feeds in place of the line endings of Windows.
fn without_carriage_returns(text: &[u8]) -> Vec<u8> {
    let mut converted = Vec::with_capacity(text.len());
    for (index, byte) in text.iter().enumerate() {
        if *byte != b'\r' || text.get(index + 1) != Some(&b'\n') {
            converted.push(*byte);
        }
    }
    converted
}

/// The unchanged files to which `.gitattributes` assign a filter: files that were checked out from
/// the commit's blob and not written since, and files of Git LFS whose pointer has the digest of
/// their content.
fn unchanged_behind_filters(top: &Path, candidates: &[Candidate]) -> Result<HashSet<PathBuf>> {
    let filtered = candidates_with_filter(top, candidates)?;
    if filtered.is_empty() {
        return Ok(HashSet::new());
    }
    let index = read_index(top)?;
    let mut unchanged = HashSet::new();
    let mut undecided = Vec::new();
    for candidate in filtered {
        let entry = index.get(&candidate.path);
        if entry.is_some_and(|entry| candidate.is_checked_out(top, entry)) {
            unchanged.insert(candidate.path.clone());
        } else {
            undecided.push(candidate);
        }
    }
    for (candidate, pointer) in read_lfs_pointers(top, undecided)? {
        if pointer.matches_file(&top.join(&candidate.path)) {
            unchanged.insert(candidate.path.clone());
        }
    }
    Ok(unchanged)
}

/// The candidates to which `.gitattributes` assign a filter.
fn candidates_with_filter<'a>(
    top: &Path,
    candidates: &'a [Candidate],
) -> Result<Vec<&'a Candidate>> {
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let mut input = Vec::new();
    for candidate in candidates {
        input.extend_from_slice(candidate.path.as_os_str().as_encoded_bytes());
        input.push(0);
    }
    let arguments = ["check-attr", "-z", "--stdin", "filter"];
    let printed = run(top, Paths::Literal, arguments, &input)?.stdout_if_successful()?;
    // Each answer is the path, the name of the attribute and its value.
    let fields: Vec<_> = printed.split(|byte| *byte == 0).collect();
    let mut filtered = Vec::new();
    for (candidate, answer) in candidates.iter().zip(fields.chunks_exact(3)) {
        if !matches!(answer[2], b"unspecified" | b"unset") {
            filtered.push(candidate);
        }
    }
    Ok(filtered)
}

/// A file in the index.
struct IndexEntry {
    blob: String,
    /// Times in seconds and nanoseconds, inode and size: as git keeps them, without their upper
    /// bits.
    status: [u32; 6],
}

impl IndexEntry {
    /// Whether a file on disk was not written since git wrote it, or read it, for this entry. This
    /// compares nanoseconds, so a file that was written in the same second differs.
    #[cfg(unix)]
    fn is_as_git_left_it(&self, metadata: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt as _;

        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "git keeps 32 bits of each"
        )]
        let status = [
            metadata.ctime() as u32,
            metadata.ctime_nsec() as u32,
            metadata.mtime() as u32,
            metadata.mtime_nsec() as u32,
            metadata.ino() as u32,
            metadata.size() as u32,
        ];
        self.status == status
    }

    /// Not known on other systems.
    #[cfg(not(unix))]
    fn is_as_git_left_it(&self, _: &Metadata) -> bool {
        let _ = self.status;
        false
    }
}

/// The files in the index. An entry that cannot be read is omitted.
fn read_index(top: &Path) -> Result<BTreeMap<PathBuf, IndexEntry>> {
    /// Number of lines about the status of a file, which follow its path.
    const STATUS_LINES: usize = 5;
    let printed = run_successfully(top, ["ls-files", "-z", "--stage", "--debug"])?;
    let mut entries = BTreeMap::new();
    // The path ends with a NUL. The lines about its status precede the words of the next file.
    let mut fields = printed.split(|byte| *byte == 0);
    let mut words = fields.next().unwrap_or_default();
    for field in fields {
        let mut rest = field;
        let mut status = Vec::new();
        for _ in 0..STATUS_LINES {
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                break;
            };
            status.push(String::from_utf8_lossy(&rest[..end]));
            rest = &rest[end + 1..];
        }
        if let Some((path, entry)) = parse_index_entry(words, &status) {
            entries.insert(path, entry);
        }
        words = rest;
    }
    Ok(entries)
}

/// Reads `MODE OBJECT STAGE`, a tab and the path, and the lines about the status.
fn parse_index_entry(words: &[u8], status: &[impl AsRef<str>]) -> Option<(PathBuf, IndexEntry)> {
    let tab = words.iter().position(|byte| *byte == b'\t')?;
    let [_, blob, "0"] = std::str::from_utf8(&words[..tab])
        .ok()?
        .split(' ')
        .collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let mut values = HashMap::new();
    for line in status {
        for part in line.as_ref().trim().split('\t') {
            let (name, value) = part.split_once(": ")?;
            values.insert(name, value);
        }
    }
    let (ctime, ctime_nanoseconds) = values.get("ctime")?.split_once(':')?;
    let (mtime, mtime_nanoseconds) = values.get("mtime")?.split_once(':')?;
    let entry = IndexEntry {
        blob: blob.to_owned(),
        status: [
            ctime.parse().ok()?,
            ctime_nanoseconds.parse().ok()?,
            mtime.parse().ok()?,
            mtime_nanoseconds.parse().ok()?,
            values.get("ino")?.parse().ok()?,
            values.get("size")?.parse().ok()?,
        ],
    };
    Some((native_path(&words[tab + 1..]), entry))
}

/// A pointer of Git LFS, which git has in place of a large file
/// (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>).
struct Pointer {
    /// In hexadecimal digits.
    sha256: String,
    size: u64,
}

impl Pointer {
    fn parse(text: &str) -> Option<Self> {
        let mut sha256 = None;
        let mut size = None;
        if !text.starts_with("version https://git-lfs.github.com/spec/v1\n") {
            return None;
        }
        for line in text.lines() {
            if let Some(digits) = line.strip_prefix("oid sha256:") {
                sha256 = Some(digits.to_owned());
            } else if let Some(digits) = line.strip_prefix("size ") {
                size = digits.parse().ok();
            }
        }
        Some(Self {
            sha256: sha256?,
            size: size?,
        })
    }

    /// Whether a file has the size and the digest of the pointer.
    fn matches_file(&self, path: &Path) -> bool {
        let is_file_of_size = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() == self.size);
        if !is_file_of_size {
            return false;
        }
        let Ok(file) = File::open(path) else {
            return false;
        };
        let mut hasher = Sha256::new();
        std::io::copy(&mut file.take(self.size), &mut hasher).is_ok()
            && format!("{:x}", hasher.finalize()) == self.sha256
    }
}

/// The candidates whose blobs in the commit are pointers of Git LFS, with the pointers. Reads only
/// blobs that are small enough to be one.
fn read_lfs_pointers<'a>(
    top: &Path,
    candidates: Vec<&'a Candidate>,
) -> Result<Vec<(&'a Candidate, Pointer)>> {
    let mut input = String::new();
    for candidate in &candidates {
        input += &candidate.blob;
        input += "\n";
    }
    let arguments = ["cat-file", "--batch-check=%(objectsize)"];
    let printed = run(top, Paths::Literal, arguments, input.as_bytes())?.stdout_if_successful()?;
    let sizes = String::from_utf8_lossy(&printed);

    let mut small = Vec::new();
    for (candidate, size) in candidates.into_iter().zip(sizes.lines()) {
        // A missing blob has no size.
        if let Ok(size) = size.parse::<usize>()
            && size <= POINTER_LIMIT
        {
            small.push(candidate);
        }
    }
    let objects = small
        .iter()
        .map(|candidate| (candidate.blob.as_str(), candidate.path.as_path()))
        .collect();
    let contents = read_blobs(top, &objects)?;
    let mut pointers = Vec::new();
    for candidate in small {
        let content = contents.get(&candidate.blob).map(Vec::as_slice);
        let text = std::str::from_utf8(content.unwrap_or_default()).unwrap_or_default();
        if let Some(pointer) = Pointer::parse(text) {
            pointers.push((candidate, pointer));
        }
    }
    Ok(pointers)
}
