//! The baseline: findings that a project knows of and has put off, so that only others are reported.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::system::files;

/// The version of the format.
const SCHEMA: u32 = 1;
/// The largest baseline that is read, in bytes.
const SIZE_LIMIT: u64 = 16 << 20;

/// Findings that are not reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The file, as the user knows it.
    pub path: PathBuf,
    /// The directory that paths in it are relative to: its own, absolute and without symlinks.
    pub directory: PathBuf,
    /// The findings, sorted; none while the file is to be written, when all count that may be in it.
    pub findings: Option<Vec<KnownFinding>>,
}

/// A finding of a baseline. Where there are several of the same, each is listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFinding {
    /// The directory of the root module, relative to that of the baseline, with slashes.
    pub path: String,
    /// The name of the finding.
    pub code: String,
    /// The address of the provider that it is about, if it is about one.
    pub provider: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    findings: Vec<KnownFinding>,
}

impl Baseline {
    /// A baseline that is to be written. `directory` is that of the file, absolute and without symlinks.
    pub fn new(path: &Path, directory: PathBuf) -> Self {
        Self { path: path.to_owned(), directory, findings: None }
    }

    /// Reads what a file on disk holds, as bytes.
    ///
    /// # Errors
    /// It cannot be read, or is larger than a baseline may be.
    pub fn read(path: &Path) -> Result<Vec<u8>> {
        files::read(path, SIZE_LIMIT).map_err(|error| Diagnostic::io("read", path, &error).into())
    }

    /// The findings of a file's content, sorted.
    ///
    /// # Errors
    /// It is not a baseline, or lists findings that may not be in one.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<KnownFinding>> {
        let wrong = |why: String| {
            let message = format!("the baseline {} cannot be used: {why}", path.display());
            Diagnostic::error(Code::InvalidArgument, message)
                .help(Help::text("write it anew with ").and(Remedy::WriteBaseline))
        };
        let File { schema, mut findings } = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        if schema != SCHEMA {
            return Err(wrong(format!("its schema is {schema}, and this program knows {SCHEMA}")).into());
        }
        for KnownFinding { code, .. } in &findings {
            match code.parse::<Code>() {
                Ok(code) if code.may_be_suppressed() => {}
                Ok(code) => return Err(wrong(format!("{code} is always reported")).into()),
                Err(error) => return Err(wrong(format!("{code:?}: {error}")).into()),
            }
        }
        findings.sort();
        Ok(findings)
    }

    /// The text of a file with these findings.
    pub fn text(mut findings: Vec<KnownFinding>) -> String {
        findings.sort();
        let file = File { schema: SCHEMA, findings };
        // Strings and numbers can always be written.
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// The path by which the baseline names a root module, whose directory is absolute and without symlinks; none
    /// outside of its own directory.
    pub(super) fn path_of(&self, root: &Path) -> Option<String> {
        let below = root.strip_prefix(&self.directory).ok()?;
        let names: Option<Vec<_>> = below.components().map(|name| name.as_os_str().to_str()).collect();
        let names = names?;
        Some(if names.is_empty() { ".".to_owned() } else { names.join("/") })
    }
}

/// What two sorted lists of findings have in common, and what only the first one has.
pub fn split(findings: Vec<KnownFinding>, others: &[KnownFinding]) -> (Vec<KnownFinding>, Vec<KnownFinding>) {
    let mut others = others.to_vec();
    findings.into_iter().partition(|finding| {
        let index = others.iter().position(|other| other == finding);
        index.inspect(|index| _ = others.swap_remove(*index)).is_some()
    })
}
