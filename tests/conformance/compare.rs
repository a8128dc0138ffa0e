//! A recorded case, and how the result of the program is compared with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use globset::Glob;
use provlock_test::Output;
use serde_json::Value;

use crate::data::Data;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The recorded lock file, byte for byte.
    Bytes,
    /// The lock file as it was.
    Unchanged,
    /// The entries of the recorded lock file, edited into the user's. Terraform and OpenTofu write
    /// theirs anew.
    Semantic,
    /// A refusal: exit code 2, a message, and the lock file as it was.
    Error,
}

#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) dialect: String,
    name: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) expected: Expected,
    /// Alternatives; one of each must be in the message.
    pub(crate) message_has: Vec<Vec<String>>,
    message_lacks: Vec<String>,
    /// Patterns of names that no file has afterwards.
    nowhere: Vec<String>,
}

/// The lock file before and after the run; none if there is none.
pub(crate) struct LockFile {
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Option<Vec<u8>>,
}

impl Case {
    /// All cases, in the order of their names.
    pub(crate) fn all(data: &Data) -> Vec<Self> {
        let files = data
            .below("cases")
            .filter_map(|(path, file)| Some((path.strip_suffix("/case.json")?, file)));
        let cases = files.map(|(path, file)| {
            let (dialect, name) = path.split_once('/').unwrap();
            Self::read(dialect, name, &serde_json::from_slice(&file.bytes).unwrap())
        });
        cases.collect()
    }

    fn read(dialect: &str, name: &str, document: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = |value: &Value| {
            value
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect::<Vec<_>>()
        };
        let variables = document["env"].as_object().into_iter().flatten();
        let message_has = document["stderr_has"].as_array().into_iter().flatten();
        Self {
            dialect: dialect.to_owned(),
            name: name.to_owned(),
            arguments: list(&document["args"]),
            variables: variables
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
            expected: match document["expect"].as_str().unwrap() {
                "bytes" => Expected::Bytes,
                "unchanged" => Expected::Unchanged,
                "semantic" => Expected::Semantic,
                "error" => Expected::Error,
                other => panic!("{name}: unknown result {other}"),
            },
            message_has: message_has
                .map(|it| {
                    if it.is_array() {
                        list(it)
                    } else {
                        vec![text(it)]
                    }
                })
                .collect(),
            message_lacks: list(&document["stderr_lacks"]),
            nowhere: list(&document["nowhere"]),
        }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.dialect, self.name)
    }

    /// The directory of the project in the archive.
    pub(crate) fn input(&self) -> String {
        format!("cases/{}/input", self.name())
    }

    /// The recorded lock file in the archive.
    pub(crate) fn output(&self) -> String {
        format!("cases/{}/out.lock.hcl", self.name())
    }

    /// Fails with the reason unless exit code, lock file and message are as recorded.
    pub(crate) fn compare(
        &self,
        data: &Data,
        lock_file: &LockFile,
        output: &Output,
    ) -> Result<(), String> {
        let code = if self.expected == Expected::Error {
            2
        } else {
            0
        };
        if output.code != Some(code) {
            return Err(format!(
                "exit code {:?} instead of {code}\n{output}",
                output.code
            ));
        }
        // A program that does nothing leaves every lock file unchanged.
        if output.stderr.is_empty() {
            return Err(format!("no message\n{output}"));
        }
        let (before, after) = (lock_file.before.as_deref(), lock_file.after.as_deref());
        match self.expected {
            Expected::Bytes => same(data.bytes(&self.output()), after),
            Expected::Unchanged => same(before, after),
            Expected::Semantic => same_content(
                data.bytes(&self.output()).unwrap(),
                before.unwrap_or_default(),
                after,
            ),
            Expected::Error => same(before, after).and_then(|()| self.compare_message(output)),
        }
    }

    fn compare_message(&self, output: &Output) -> Result<(), String> {
        let message = squeezed(&output.stderr);
        let has = |words: &String| message.contains(&squeezed(words));
        if let Some(words) = self.message_has.iter().find(|words| !words.iter().any(has)) {
            return Err(format!("the message does not contain {words:?}\n{output}"));
        }
        match self.message_lacks.iter().find(|words| has(words)) {
            Some(words) => Err(format!("the message contains {words:?}\n{output}")),
            None => Ok(()),
        }
    }

    /// Fails if a file or directory below `root` has a name that none may have.
    pub(crate) fn assert_nowhere(&self, root: &Path) -> Result<(), String> {
        for pattern in &self.nowhere {
            if let Some(found) = find(root, &Glob::new(pattern).unwrap().compile_matcher()) {
                return Err(format!("{found} was written"));
            }
        }
        Ok(())
    }
}

fn find(directory: &Path, pattern: &globset::GlobMatcher) -> Option<String> {
    fs::read_dir(directory).unwrap().find_map(|entry| {
        let entry = entry.unwrap();
        if pattern.is_match(entry.file_name()) {
            return Some(entry.path().display().to_string());
        }
        entry
            .file_type()
            .unwrap()
            .is_dir()
            .then(|| find(&entry.path(), pattern))
            .flatten()
    })
}

/// Lower case without white space and the frames around messages, which may be wrapped anywhere.
fn squeezed(text: &str) -> String {
    let is_frame = |character: char| ('\u{2500}'..='\u{257f}').contains(&character);
    text.to_lowercase()
        .chars()
        .filter(|character| !character.is_whitespace() && !is_frame(*character))
        .collect()
}

fn same(expected: Option<&[u8]>, found: Option<&[u8]>) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let shown = |bytes: Option<&[u8]>| {
        bytes.map_or("none".to_owned(), |it| {
            String::from_utf8_lossy(it).into_owned()
        })
    };
    Err(format!(
        "the lock file differs\n--- expected\n{}\n--- found\n{}",
        shown(expected),
        shown(found)
    ))
}

/// Fails unless the entries are the recorded ones and the form is the user's.
fn same_content(expected: &[u8], before: &[u8], after: Option<&[u8]>) -> Result<(), String> {
    let [expected, before, after] = [expected, before, after.unwrap_or_default()]
        .map(|bytes| std::str::from_utf8(bytes).unwrap());
    let (wanted, found) = (entries(expected), entries(after));
    if wanted != found {
        return Err(format!(
            "the lock file has other content\n--- expected\n{wanted:#?}\n--- found\n{found:#?}"
        ));
    }
    let mut left = comments(after);
    for comment in comments(before) {
        let at = left
            .iter()
            .position(|other| *other == comment)
            .ok_or_else(|| format!("the comment is lost: {comment}"))?;
        left.swap_remove(at);
    }
    let ends_with_crlf = |text: &str| {
        text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count()
    };
    if ends_with_crlf(before) && !ends_with_crlf(after) {
        return Err("the line ends are no longer CRLF".to_owned());
    }
    if before.starts_with('\u{feff}') && !after.starts_with('\u{feff}') {
        return Err("the byte order mark is lost".to_owned());
    }
    Ok(())
}

/// An entry of a lock file; absent and empty constraints are the same.
#[derive(Debug, PartialEq)]
struct Entry {
    version: Option<String>,
    constraints: Option<String>,
    hashes: BTreeSet<String>,
}

/// The entries by address, read without provlock's own reader.
fn entries(text: &str) -> BTreeMap<String, Entry> {
    let body: hcl_edit::structure::Body = text.trim_start_matches('\u{feff}').parse().unwrap();
    let blocks = body
        .into_blocks()
        .filter(|block| block.ident.as_str() == "provider");
    let entries = blocks.map(|block| {
        let value = |name: &str| {
            block
                .body
                .get_attribute(name)
                .map(|attribute| &attribute.value)
        };
        let one = |name: &str| {
            value(name)
                .and_then(text_of)
                .filter(|text| !text.is_empty())
        };
        let hashes = value("hashes")
            .and_then(|value| value.as_array())
            .into_iter()
            .flat_map(|array| array.iter());
        let hashes = hashes.filter_map(text_of).collect();
        let entry = Entry {
            version: one("version"),
            constraints: one("constraints"),
            hashes,
        };
        (block.labels[0].as_str().to_owned(), entry)
    });
    entries.collect()
}

fn text_of(value: &hcl_edit::expr::Expression) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// All comments, without white space at their ends.
fn comments(text: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(['"', '#', '/']) {
        rest = &rest[at..];
        let length = if rest.starts_with('"') {
            let mut is_escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, character)| {
                let ends = *character == '"' && !is_escaped;
                is_escaped = *character == '\\' && !is_escaped;
                ends
            });
            end.map_or(rest.len(), |(at, _)| at + 1)
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if rest.starts_with('#') || rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            1
        };
        if length > 1 && !rest.starts_with('"') {
            found.push(rest[..length].trim_end());
        }
        rest = &rest[length..];
    }
    found
}
