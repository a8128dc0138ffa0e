//! `.gitattributes`: which files git changes when it checks them out (<https://git-scm.com/docs/gitattributes>).
//!
//! Line ends do not matter: HCL reads both. What is not surely read as git reads it counts as what changes a file, and
//! never as what leaves it as it is.

use std::collections::{BTreeMap, BTreeSet};

use globset::GlobSet;

use super::error::{GitError, Result};
use crate::system::glob;

/// The name of the file, in any directory. Where the file system does not tell cases apart, git reads others, too.
pub(super) const FILE_NAME: &str = ".gitattributes";
/// The largest file that is read, in bytes.
pub(super) const LARGEST: u64 = 1 << 20;
/// The most lines of a file that matter, and the most names for several attributes.
const MOST_RULES: usize = 1000;
/// How deeply such names may use each other.
const MOST_NESTED: usize = 16;
/// Git ignores longer lines, in bytes.
const LONGEST_LINE: usize = 2048;
/// Writes an id into the text `$Id$`.
const IDENT: &str = "ident";
/// Runs a program, such as that of Git LFS.
pub(super) const FILTER: &str = "filter";
/// The attributes that change more of a file than its line ends.
const CHANGING: [&str; 3] = [FILTER, "working-tree-encoding", IDENT];

/// For each attribute whether it is set or unset; none where that is not said.
type Says = [Option<bool>; CHANGING.len()];

/// The names that stand for several attributes, with those of [`CHANGING`] that they set. Only the file at the top of a
/// repository makes such names.
#[derive(Default)]
pub(super) struct Macros(BTreeMap<String, BTreeSet<usize>>);

/// The attributes that a file gives to those beside and below it.
pub(super) struct Attributes {
    /// The directory of the file in the package.
    base: String,
    rules: Vec<Rule>,
    /// The pattern of each rule, in lower case.
    patterns: GlobSet,
}

struct Rule {
    says: Says,
    /// Whether git surely matches what the pattern matches, if it is in lower case.
    is_exact: bool,
}

impl Macros {
    /// The names that the file at the top of a repository makes.
    ///
    /// # Errors
    /// They are too many, or use each other too deeply.
    pub(super) fn read(text: &str) -> Result<Self> {
        let mut macros = Self::default();
        // Each may use the others.
        for _ in 0..MOST_NESTED {
            let before = macros.0.clone();
            for mut words in text.split('\n').filter_map(macro_line).map(words) {
                let Some(name) = words.next() else { continue };
                let set: BTreeSet<_> = words.flat_map(|word| macros.set_by(word)).collect();
                macros.0.entry(name.to_owned()).or_default().extend(set);
            }
            if macros.0.len() > MOST_RULES {
                break;
            }
            if macros.0 == before {
                return Ok(macros);
            }
        }
        Err(GitError::new(format!("its {FILE_NAME} defines too many attributes by others")))
    }

    /// Adds names that another file makes.
    pub(super) fn add(&mut self, other: Self) {
        for (name, set) in other.0 {
            self.0.entry(name).or_default().extend(set);
        }
    }

    /// The attributes of [`CHANGING`] that a word of a line sets.
    fn set_by(&self, word: &str) -> BTreeSet<usize> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let is_utf8 = ["utf-8", "utf8"].contains(&value.to_ascii_lowercase().as_str());
        match CHANGING.iter().position(|changing| *changing == name) {
            Some(encoding) if CHANGING[encoding] == "working-tree-encoding" && is_utf8 => BTreeSet::new(),
            Some(index) => BTreeSet::from([index]),
            None => self.0.get(name).cloned().unwrap_or_default(),
        }
    }

    /// What the words of a line say.
    fn says<'a>(&self, words: impl Iterator<Item = &'a str>) -> Says {
        let mut says = Says::default();
        for word in words {
            let unset = word.strip_prefix(['-', '!']).or_else(|| word.split_once('=').map(|(name, _)| name));
            if let Some(index) = unset.and_then(|name| CHANGING.iter().position(|changing| *changing == name)) {
                says[index] = Some(false);
            }
            for index in self.set_by(word) {
                says[index] = Some(true);
            }
        }
        says
    }
}

impl Attributes {
    /// Reads the file in the directory `base` of a package.
    ///
    /// # Errors
    /// Too many lines matter.
    pub(super) fn read(text: &str, base: &str, macros: &Macros) -> Result<Self> {
        let (mut rules, mut globs) = (Vec::new(), Vec::new());
        for line in text.split('\n') {
            let mut words = words(if macro_line(line).is_some() { "" } else { line });
            let Some(pattern) = words.next().filter(|word| !word.starts_with('#') && !word.ends_with('/')) else {
                continue;
            };
            let words: Vec<_> = words.collect();
            let says = macros.says(words.iter().copied());
            if says == Says::default() {
                continue;
            }
            if rules.len() == MOST_RULES {
                return Err(GitError::new(format!("its {FILE_NAME} has more than {MOST_RULES} lines that matter")));
            }
            let glob = exact_glob(pattern);
            let is_exact = glob.is_some() && line.len() < LONGEST_LINE && words.iter().all(|word| is_valid(word));
            let glob = glob.unwrap_or_else(|| "**".to_owned());
            globs.push(glob::parse(&glob.to_ascii_lowercase()).map_err(GitError::new)?);
            rules.push(Rule { says, is_exact: is_exact && glob == glob.to_ascii_lowercase() });
        }
        let patterns = glob::set(&globs).map_err(GitError::new)?;
        Ok(Self { base: base.to_owned(), rules, patterns })
    }

    /// Changes what the files above say of a file.
    fn apply(&self, path: &str, says: &mut Says) {
        let below = path.strip_prefix(&self.base).unwrap_or(path).trim_start_matches('/');
        let lower = below.to_ascii_lowercase();
        for rule in self.patterns.matches(&lower).into_iter().map(|index| &self.rules[index]) {
            for (known, new) in says.iter_mut().zip(rule.says) {
                if new == Some(true) || (new == Some(false) && rule.is_exact && lower == below) {
                    *known = new;
                }
            }
        }
    }
}

/// The attribute by which git changes a file, by the files of its directory and of those above it, from the top. If
/// there are several, [`IDENT`] is not the one.
pub(super) fn changing<'a>(path: &str, files: impl IntoIterator<Item = &'a Attributes>) -> Option<&'static str> {
    let mut says = Says::default();
    for file in files {
        file.apply(path, &mut says);
    }
    says.iter().position(|set| *set == Some(true)).map(|index| CHANGING[index])
}

const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// A line that makes a name for several attributes, without its mark.
fn macro_line(line: &str) -> Option<&str> {
    line.trim_start_matches(BLANK).strip_prefix("[attr]")
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(BLANK).filter(|word| !word.is_empty())
}

/// A glob for exactly what git matches with a pattern; none for a pattern that other programs may read in another way.
fn exact_glob(pattern: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+@/*".contains(&byte);
    let part_is_plain = |part: &str| !part.contains("**") || part == "**";
    if !pattern.bytes().all(is_plain) || !pattern.split('/').all(part_is_plain) {
        return None;
    }
    Some(match pattern.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if pattern.contains('/') => pattern.to_owned(),
        None => format!("**/{pattern}"),
    })
}

/// Whether a word is an attribute. Git ignores a line with anything else.
fn is_valid(word: &str) -> bool {
    let name = word.strip_prefix(['-', '!']).unwrap_or(word).split('=').next().unwrap_or_default();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !name.is_empty() && !name.starts_with('-') && !name.starts_with("builtin_") && name.bytes().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attribute that changes `a/main.tf`, by the files at the top and in `a`.
    fn of_main(top: &str, nested: &str) -> Option<&'static str> {
        let macros = Macros::read(top).unwrap();
        let files = [("", top), ("a", nested)].map(|(base, text)| Attributes::read(text, base, &macros).unwrap());
        changing("a/main.tf", &files)
    }

    #[test]
    fn what_changes_a_file_is_found() {
        for (top, nested, expected) in [
            ("*.tf working-tree-encoding=UTF-16LE", "", Some("working-tree-encoding")),
            ("*.tf filter=lfs diff=lfs merge=lfs -text", "", Some("filter")),
            ("a/* ident", "", Some("ident")),
            ("a/* ident working-tree-encoding=x", "", Some("working-tree-encoding")),
            ("a/* ident filter=x", "", Some("filter")),
            ("/a/main.tf filter=x", "", Some("filter")),
            ("**/main.tf filter=x", "", Some("filter")),
            ("a/** filter=x", "", Some("filter")),
            ("", "main.tf filter=x", Some("filter")),
            ("", "/main.tf filter=x", Some("filter")),
            ("* -filter\r\n*.tf filter=x\r\n", "", Some("filter")),
            ("*.TF filter=x", "", Some("filter")),
            ("\"*.t\\146\" filter=x", "", Some("filter")),
            ("[lm]ain.tf filter=x", "", Some("filter")),
            ("{a,b} filter=x", "", Some("filter")),
            ("[attr]big filter=x\n*.tf big", "", Some("filter")),
            ("*.tf two\n[attr]two one\n[attr]one ident", "", Some("ident")),
            ("[attr]one ident", "*.tf one", Some("ident")),
            ("*.tf filter=x", "*.tf -filter b@d", Some("filter")),
            ("*.tf filter=x", "*.TF -filter", Some("filter")),
            ("*.tf filter=x", "?ain.tf -filter", Some("filter")),
            ("*.tf filter=x", &format!("*.tf -filter {}", "a".repeat(2048)), Some("filter")),
            ("*.tf filter=x", "*.tf -filter", None),
            ("*.tf filter=x\na/*.tf !filter", "", None),
            ("*.tf working-tree-encoding=utf-8 text eol=crlf", "", None),
            ("*.png filter=lfs\nmain.tf/ filter=x\n# *.tf filter=x", "b/*.tf filter=x", None),
            ("[attr]big filter=x\n*.png big\nmain.tf -big", "", None),
            ("*.tf -filter -ident diff=hcl binary export-subst", "", None),
        ] {
            assert_eq!(of_main(top, nested), expected, "{top:?} {nested:?}");
        }
    }

    #[test]
    fn lines_have_an_end() {
        let lines = "*.a filter=x\n".repeat(MOST_RULES);
        assert!(Attributes::read(&lines, "", &Macros::default()).is_ok());
        assert!(Attributes::read(&format!("{lines}*.b ident"), "", &Macros::default()).is_err());
        let lines = |names: usize| (0..names).map(|name| format!("[attr]a{name} a{}\n", name + 1)).collect::<Vec<_>>();
        let chain = |names: usize| lines(names).concat();
        assert!(Macros::read(&chain(8)).is_ok());
        assert!(Macros::read(&(chain(50) + "[attr]a50 filter=x")).is_err());
        assert!(Macros::read(&chain(2_000)).is_err());
    }
}
