//! Attributes of git (<https://git-scm.com/docs/gitattributes>) that change or hide files which
//! decide.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::file_effect::{Effect, MAX_SIZE};
use crate::project::reviewed_change::ReviewedChange;
use crate::system::Tree;

/// Name of the files with attributes.
const FILE_NAME: &str = ".gitattributes";
/// Maximum number of lines of all files together, because each is compared with each file.
const MOST_LINES: usize = 10_000;
/// Maximum length of a line; newer versions of git skip a longer one.
const MAX_LINE: usize = 2_047;
/// Attributes that change what is checked out, merged or archived.
const CHANGING: [&str; 6] = [
    "export-ignore",
    "export-subst",
    "filter",
    "ident",
    "merge",
    "working-tree-encoding",
];
/// Attributes, with their values, that leave the files as they are, but fold or hide their
/// differences in a review.
const HIDING: [(&str, &str); 6] = [
    ("binary", "set"),
    ("diff", "unset"),
    ("gitlab-generated", "set"),
    ("gitlab-generated", "true"),
    ("linguist-generated", "set"),
    ("linguist-generated", "true"),
];

/// An attribute with its value: `set`, `unset`, `unspecified` or a text.
#[derive(Clone)]
struct Attribute {
    name: String,
    value: String,
}

/// A line with a pattern.
struct Line {
    /// The pattern as git matches it, and without regard to case, as it does where file systems
    /// ignore case; `None` if it cannot be read here, so that it may match any file.
    patterns: Option<[Gitignore; 2]>,
    attributes: Vec<Attribute>,
}

/// Result of matching a file with a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    No,
    Perhaps,
    Yes,
}

/// The files with attributes of a revision.
struct Attributes<'a> {
    tree: &'a Tree,
    top: &'a Path,
    /// Lines by directory.
    lines: BTreeMap<PathBuf, Vec<Line>>,
    /// Number of lines that were parsed.
    line_count: usize,
    /// Macros, which only the file at the top defines: where they are set, they set others.
    macros: BTreeMap<String, Vec<Attribute>>,
}

/// Values that each attribute of a file may have.
#[derive(Default)]
struct Values<'a> {
    by_name: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Attributes whose values are certain to be among these.
    complete: BTreeSet<&'a str>,
}

/// The effect of a changed file with attributes on configuration and lock files: an owner has to
/// allow it if git may change them; a note, if it only hides their changes from reviewers. All
/// attributes of the files are compared with the base, wherever they are set.
pub(super) fn effect_of_attributes(
    change: &ReviewedChange,
    path: &Path,
    files: &BTreeSet<PathBuf>,
) -> Option<Effect> {
    let base = Tree::Revision(Arc::clone(&change.base));
    for tree in [&base, &Tree::Work] {
        if tree.exists(path) && tree.read(path, MAX_SIZE).is_err() {
            return Some(Effect::needs_owner("is not read"));
        }
    }
    let mut before = Attributes::new(&base, &change.top);
    let mut now = Attributes::new(&Tree::Work, &change.top);
    let mut is_hidden_from_review = false;
    for file in files {
        before.read_for(file);
        now.read_for(file);
        if before.line_count > MOST_LINES || now.line_count > MOST_LINES {
            return Some(Effect::needs_owner("has too many lines to be read"));
        }
        let old = before.values_of(file);
        let new = now.values_of(file);
        for name in CHANGING {
            for value in new.of(name).difference(&old.of(name)) {
                if !is_harmless(name, value) {
                    let shown = change.shown_path(file).display();
                    let effect = format!("sets the attribute {name} of {shown}");
                    return Some(Effect::needs_owner(&effect));
                }
            }
        }
        for (name, value) in HIDING {
            is_hidden_from_review |= new.of(name).contains(value) && !old.of(name).contains(value);
        }
    }
    if is_hidden_from_review {
        return Some(Effect::note("hides changes from reviewers"));
    }
    None
}

/// Whether a value of an attribute changes no content: it is not set any more, or it is the merge
/// driver of provlock or of git.
fn is_harmless(name: &str, value: &str) -> bool {
    match value {
        // Without a merge driver, git reports a conflict.
        "unspecified" | "unset" => true,
        _ => name == "merge" && ["provlock", "text"].contains(&value),
    }
}

impl<'a> Attributes<'a> {
    fn new(tree: &'a Tree, top: &'a Path) -> Self {
        // `binary` is a macro of git.
        let binary = ["diff", "merge", "text"].map(|name| Attribute {
            name: name.to_owned(),
            value: "unset".to_owned(),
        });
        let mut attributes = Self {
            tree,
            top,
            lines: BTreeMap::new(),
            line_count: 0,
            macros: BTreeMap::from([("binary".to_owned(), binary.into())]),
        };
        attributes.read_for(&top.join(FILE_NAME));
        attributes
    }

    /// Reads the files with attributes in the directory of a file and above.
    fn read_for(&mut self, file: &Path) {
        for directory in file.ancestors().skip(1) {
            if !directory.starts_with(self.top) || self.lines.contains_key(directory) {
                break;
            }
            let path = directory.join(FILE_NAME);
            let bytes = self.tree.read(&path, MAX_SIZE).unwrap_or_default();
            // Only some versions of git follow links here.
            let is_certainly_read = !self.tree.is_symlink(&path);
            let text = String::from_utf8_lossy(&bytes);
            let lines = self.parse_lines(directory, &text, is_certainly_read);
            self.lines.insert(directory.to_owned(), lines);
        }
    }

    /// Parses the lines of a file in a directory, and adds its macros. Unless git certainly reads
    /// the file, its lines may match any file.
    fn parse_lines(&mut self, directory: &Path, text: &str, is_certainly_read: bool) -> Vec<Line> {
        let without_mark = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = Vec::new();
        for written in without_mark.split('\n') {
            let line = written.trim_matches(is_blank);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            self.line_count += 1;
            if self.line_count > MOST_LINES {
                break;
            }
            let (pattern, rest) = split_pattern(line);
            let mut attributes = Vec::new();
            for word in rest.split(is_blank) {
                if !word.is_empty() {
                    attributes.push(parse_attribute(word));
                }
            }
            if let Some(name) = pattern.strip_prefix("[attr]")
                && !name.is_empty()
            {
                // Git reads macros only there.
                if directory == self.top {
                    self.macros.insert(name.to_owned(), attributes);
                }
                continue;
            }
            // Git skips negative patterns.
            if pattern.starts_with('!') {
                continue;
            }
            let mut patterns = None;
            if is_certainly_read && line.len() <= MAX_LINE {
                patterns = compiled(directory, &pattern);
            }
            lines.push(Line {
                patterns,
                attributes,
            });
        }
        lines
    }

    /// The values that the attributes of a file may have. Like git, begins at the last line of the
    /// nearest file, and keeps the first value that it finds.
    fn values_of(&self, file: &Path) -> Values<'_> {
        let mut values = Values::default();
        for directory in file.ancestors().skip(1) {
            let lines = self.lines.get(directory).map(Vec::as_slice);
            for line in lines.unwrap_or_default().iter().rev() {
                let matched = line.matches(file);
                if matched != Match::No {
                    values.add(&line.attributes, matched, &self.macros);
                }
            }
        }
        values
    }
}

impl<'a> Values<'a> {
    /// Adds the values that a line sets, and the values of its macros.
    fn add(
        &mut self,
        attributes: &'a [Attribute],
        matched: Match,
        macros: &'a BTreeMap<String, Vec<Attribute>>,
    ) {
        // Macros may set each other in a chain of any length.
        let mut open = Vec::new();
        for attribute in attributes {
            open.push((attribute, matched));
        }
        // The last one comes first, with all that it sets.
        while let Some((Attribute { name, value }, matched)) = open.pop() {
            if self.complete.contains(name.as_str()) {
                continue;
            }
            let known = self.by_name.entry(name).or_default();
            let is_first = known.is_empty();
            let is_new = known.insert(value);
            if matched == Match::Yes {
                self.complete.insert(name);
            }
            if is_new
                && value == "set"
                && let Some(others) = macros.get(name)
            {
                // An earlier value may take the place of this one.
                let matched = if is_first { matched } else { Match::Perhaps };
                for other in others {
                    open.push((other, matched));
                }
            }
        }
    }

    /// The values that an attribute may have.
    fn of(&self, name: &str) -> BTreeSet<&'a str> {
        let mut values = self.by_name.get(name).cloned().unwrap_or_default();
        if !self.complete.contains(name) {
            values.insert("unspecified");
        }
        values
    }
}

impl Line {
    fn matches(&self, file: &Path) -> Match {
        let Some([exact, folded]) = &self.patterns else {
            return Match::Perhaps;
        };
        let is_directory = false;
        if exact.matched(file, is_directory).is_ignore() {
            Match::Yes
        } else if folded.matched(file, is_directory).is_ignore() {
            Match::Perhaps
        } else {
            Match::No
        }
    }
}

/// The pattern with and without regard to case; `None` if git may match it in a different way.
fn compiled(directory: &Path, pattern: &str) -> Option<[Gitignore; 2]> {
    let is_plain_pattern = pattern
        .split('/')
        .all(|part| part == "**" || !part.contains("**"));
    let has_others = pattern.contains(['[', ']', '{', '}', '\\', '\t', '\r', '\n', '\u{fffd}']);
    let is_trimmed = pattern.trim() == pattern && !pattern.starts_with('#');
    if !is_plain_pattern || has_others || !is_trimmed {
        return None;
    }
    let exact = matcher(directory, pattern, false)?;
    let folded = matcher(directory, pattern, true)?;
    Some([exact, folded])
}

fn matcher(directory: &Path, pattern: &str, ignores_case: bool) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(directory);
    builder.case_insensitive(ignores_case).ok()?;
    builder.add_line(None, pattern).ok()?;
    builder.build().ok()
}

fn is_blank(c: char) -> bool {
    " \t\r\n".contains(c)
}

/// Splits a line into its pattern and the rest. Like git, reads a malformed quoted pattern as one
/// without quotes.
fn split_pattern(line: &str) -> (String, &str) {
    if let Some(split) = unquoted(line) {
        return split;
    }
    let end = line.find(is_blank).unwrap_or(line.len());
    (line[..end].to_owned(), &line[end..])
}

/// Parses a quoted pattern at the beginning of a line. Returns it with the rest of the line; `None`
/// if there is none, or if it is malformed.
fn unquoted(line: &str) -> Option<(String, &str)> {
    let rest = line.strip_prefix('"')?;
    let bytes = rest.as_bytes();
    let mut pattern = Vec::new();
    let mut index = 0;
    loop {
        let byte = *bytes.get(index)?;
        index += 1;
        match byte {
            b'"' => break,
            b'\\' => {
                let escaped = *bytes.get(index)?;
                index += 1;
                pattern.push(match escaped {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 0x0b,
                    b'"' | b'\\' => escaped,
                    b'0'..=b'3' => {
                        let digits = rest.get(index - 1..index + 2)?;
                        index += 2;
                        u8::from_str_radix(digits, 8).ok()?
                    }
                    _ => return None,
                });
            }
            _ => pattern.push(byte),
        }
    }
    let pattern = String::from_utf8_lossy(&pattern).into_owned();
    Some((pattern, rest.get(index..)?))
}

/// Parses an attribute: `-diff`, `!merge`, `text` or `filter=lfs`.
fn parse_attribute(word: &str) -> Attribute {
    let (name, value) = if let Some(name) = word.strip_prefix('-') {
        (name, "unset")
    } else if let Some(name) = word.strip_prefix('!') {
        (name, "unspecified")
    } else {
        word.split_once('=').unwrap_or((word, "set"))
    };
    Attribute {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}
