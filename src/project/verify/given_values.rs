//! Values that texts of any language give to variables on which sources and states depend.
//!
//! No language is read. A text gives a value to a variable where a sign follows its name, as in
//! `ref = "v1"`, `"ref": "v1"` and `-var ref=v1`. The line with the name decides, with the lines
//! that give values to the words of its value, and so on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::changed_file::ChangedFile;
use super::deciding_names::{DecidingNames, NameKind};
use super::file_effect::{Effect, MAX_SIZE};
use super::searched_text::{effective_line, ignores_case, text_of};
use crate::diagnostic::words::first_few;
use crate::project::reviewed_change::file_name;

/// Extensions of tables. The names of their columns are far from the values.
const TABLES: [&str; 2] = ["csv", "tsv"];
/// Signs between a name and its value. Longer ones come first.
const SIGNS: [&str; 7] = ["::=", ":=", "?=", "+=", "=>", "=", ":"];
/// Continuations of these signs that make others: comparisons, URLs and paths of names.
const OTHER_SIGNS: [&str; 4] = ["==", "=~", "://", "::"];
/// Maximum number of names that are followed. With more, everything in a text decides.
const MOST_NAMES: usize = 200;
/// Maximum number of lines that are visited for them.
const MOST_VISITS: usize = 100_000;

/// The effect of a changed file that gives a different value to one of these variables; `None` if
/// it does not.
pub(super) fn effect(names: &DecidingNames, file: &ChangedFile<'_>) -> Option<Effect> {
    let mut before = text_of(file.before.as_deref().unwrap_or_default())?;
    let mut now = text_of(file.now.as_deref().unwrap_or_default())?;
    let name = file_name(file.path);
    let ignores_case = ignores_case(name, &before) || ignores_case(name, &now);
    if ignores_case {
        before = before.to_uppercase();
        now = now.to_uppercase();
    }
    let mut searched = Searched {
        names: names_in(names, ignores_case, [&before, &now]),
        is_table: TABLES
            .iter()
            .any(|extension| has_extension(file.path, extension)),
        given: BTreeSet::new(),
    };
    // Most texts have no such name.
    if searched.names.is_empty() {
        return None;
    }

    let size = before.len().max(now.len());
    if size as u64 > MAX_SIZE {
        for found in searched.names.values() {
            searched.given.insert(found.name.clone());
        }
    } else {
        let lines_before = Text::of(&before).deciding_lines(&mut searched);
        let lines_now = Text::of(&now).deciding_lines(&mut searched);
        if lines_before == lines_now {
            return None;
        }
    }
    let given = first_few(searched.given.iter());
    Some(Effect::note(&format!(
        "may give a value to {given}, on which a source or a state depends"
    )))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own == extension)
}

/// The search of a changed file.
struct Searched {
    /// Names that occur in one of the texts, as the texts have them.
    names: BTreeMap<String, FoundName>,
    is_table: bool,
    /// Names to which one of the texts gives a value.
    given: BTreeSet<String>,
}

/// A name that occurs.
struct FoundName {
    /// The name as it is written in configurations.
    name: String,
    kind: NameKind,
}

/// The names that occur in one of the texts, which are in upper case if case does not matter.
fn names_in(
    names: &DecidingNames,
    ignores_case: bool,
    texts: [&str; 2],
) -> BTreeMap<String, FoundName> {
    let mut found = BTreeMap::new();
    for (name, kind) in &names.kinds {
        let mut written = name.clone();
        if ignores_case {
            written = name.to_uppercase();
        }
        if texts.iter().any(|text| text.contains(&written)) {
            let found_name = FoundName {
                name: name.clone(),
                kind: *kind,
            };
            found.insert(written, found_name);
        }
    }
    found
}

/// A text by its lines and the values that they give.
struct Text<'a> {
    lines: Vec<Line<'a>>,
    /// Numbers of the lines that give values, and the values, by names.
    values: BTreeMap<&'a str, Vec<(usize, &'a str)>>,
}

struct Line<'a> {
    /// Number of bytes of white space before it.
    indentation: usize,
    /// The line without white space around it.
    text: &'a str,
    words: Vec<Word<'a>>,
}

/// A word that may be a name.
struct Word<'a> {
    name: &'a str,
    before: &'a str,
    after: &'a str,
}

/// The lines that decide.
enum DecidingLines {
    /// Lines with these numbers.
    Numbered(BTreeSet<usize>),
    All,
}

impl<'a> Text<'a> {
    fn of(text: &'a str) -> Self {
        let mut lines = Vec::new();
        for line in text.lines() {
            if let Some(effective) = effective_line(line) {
                let indentation = line.len() - line.trim_start().len();
                let words = words_of(effective);
                lines.push(Line {
                    indentation,
                    text: effective,
                    words,
                });
            }
        }
        let mut values: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (number, line) in lines.iter().enumerate() {
            for word in &line.words {
                if let Some(value) = word.value() {
                    values.entry(word.name).or_default().push((number, value));
                }
            }
        }
        Self { lines, values }
    }

    /// The texts of the lines that decide, in order.
    fn deciding_lines(&self, searched: &mut Searched) -> Vec<&'a str> {
        let numbers = match self.deciding_numbers(searched) {
            DecidingLines::Numbered(numbers) => numbers,
            DecidingLines::All => (0..self.lines.len()).collect(),
        };
        numbers
            .into_iter()
            .map(|number| self.lines[number].text)
            .collect()
    }

    /// The lines with the names, and the lines that give values to words of these lines, and so on.
    fn deciding_numbers(&self, searched: &mut Searched) -> DecidingLines {
        let mut numbers = BTreeSet::new();
        let mut waiting = Vec::new();
        let mut visits = 0;
        for (number, line) in self.lines.iter().enumerate() {
            for word in &line.words {
                let Some(found) = searched.names.get(word.name) else {
                    continue;
                };
                let mut own = Vec::new();
                if word.value().is_some() {
                    own.push(number);
                } else if searched.is_table {
                    searched.given.insert(found.name.clone());
                    return DecidingLines::All;
                } else if word.is_value() {
                    // `name: VPC_REF`; the value is beside it.
                    own = self.block_around(number);
                } else if found.kind == NameKind::Environment && word.is_before_value() {
                    own.push(number);
                } else {
                    continue;
                }
                searched.given.insert(found.name.clone());
                visits += own.len();
                if visits > MOST_VISITS {
                    return DecidingLines::All;
                }
                waiting.extend(self.names_in(&own));
                numbers.extend(own);
            }
        }

        let mut seen = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if !seen.insert(name) {
                continue;
            }
            for (number, value) in self.values.get(name).into_iter().flatten() {
                if may_be_anywhere(value) {
                    return DecidingLines::All;
                }
                let mut own = vec![*number];
                if !is_complete(value) {
                    own.extend(self.block_below(*number));
                }
                visits += own.len();
                if visits > MOST_VISITS || seen.len() > MOST_NAMES {
                    return DecidingLines::All;
                }
                waiting.extend(self.names_in(&own));
                numbers.extend(own);
            }
        }
        DecidingLines::Numbered(numbers)
    }

    /// The words in these lines to which the text gives values.
    fn names_in(&self, numbers: &[usize]) -> Vec<&'a str> {
        let mut names = Vec::new();
        for number in numbers {
            for word in &self.lines[*number].words {
                if self.values.contains_key(word.name) {
                    names.push(word.name);
                }
            }
        }
        names
    }

    /// The lines of the value of a line that has only its name: the next one, and all that are
    /// indented more.
    fn block_below(&self, number: usize) -> Vec<usize> {
        let indentation = self.lines[number].indentation;
        let mut block = Vec::new();
        for (below, line) in self.lines.iter().enumerate().skip(number + 1) {
            let is_item = line.indentation == indentation && line.text.starts_with("- ");
            if !block.is_empty() && line.indentation <= indentation && !is_item {
                break;
            }
            block.push(below);
        }
        block
    }

    /// The lines around a line that are not indented less.
    fn block_around(&self, number: usize) -> Vec<usize> {
        let indentation = self.lines[number].indentation;
        let mut start = number;
        while start > 0 && self.lines[start - 1].indentation >= indentation {
            start -= 1;
        }
        let mut end = number + 1;
        while end < self.lines.len() && self.lines[end].indentation >= indentation {
            end += 1;
        }
        (start..end).collect()
    }
}

impl<'a> Word<'a> {
    /// The value that a line gives to a name; `None` without a sign.
    fn value(&self) -> Option<&'a str> {
        // A parameter of a URL.
        if self.before.ends_with('?')
            || (self.before.ends_with('&') && !self.before.ends_with("&&"))
        {
            return None;
        }
        let is_flag = self.before.ends_with('-');
        if is_flag && self.after.starts_with(' ') {
            return Some(self.after.trim());
        }
        let after = self
            .after
            .trim_start_matches(['"', '\'', '`', ']', ')', '}']);
        let after = after.trim_start();
        if OTHER_SIGNS.iter().any(|sign| after.starts_with(sign)) {
            return None;
        }
        let value = SIGNS.iter().find_map(|sign| after.strip_prefix(sign))?;
        Some(value.trim().trim_end_matches([',', ';']))
    }

    /// Whether the word is the whole value of a different name: `name: VPC_REF`.
    fn is_value(&self) -> bool {
        let before = self.before.trim_end_matches(['"', '\'', '`']).trim_end();
        let is_after_sign = before.ends_with([':', '=']) && !before.ends_with("::");
        let after = self.after.trim_start_matches(['"', '\'', '`']);
        let is_quoted = after.len() < self.after.len();
        let after = after.trim_start();
        let is_end = after.is_empty() || after.starts_with([',', ';', '}']);
        is_after_sign && (is_end || is_quoted)
    }

    /// Whether a value may follow without a sign: `setenv("VPC_REF", "v1")`, `ENV VPC_REF v1`.
    fn is_before_value(&self) -> bool {
        if self.before.ends_with(['$', '%', '.', '{']) || self.before.ends_with("$(") {
            return false;
        }
        let after = self.after.trim_start_matches(['"', '\'', '`']);
        let value = after.trim_start_matches([',', ' ', '\t']);
        after.starts_with([',', ' ', '\t']) && !value.is_empty()
    }
}

/// The words of a line.
fn words_of(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut end = 0;
    while let Some(start) = line[end..].find(is_of_word) {
        let start = end + start;
        end = match line[start..].find(|part| !is_of_word(part)) {
            Some(length) => start + length,
            None => line.len(),
        };
        let word = &line[start..end];
        let name = word.trim_matches('-');
        if !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) {
            let start = start + word.len() - word.trim_start_matches('-').len();
            let name_end = start + name.len();
            words.push(Word {
                name,
                before: &line[..start],
                after: &line[name_end..],
            });
        }
    }
    words
}

fn is_of_word(part: char) -> bool {
    part.is_alphanumeric() || part == '_' || part == '-'
}

/// Whether a value may be in any line: the result of a command, an alias of YAML, or a text of
/// several lines.
fn may_be_anywhere(value: &str) -> bool {
    let has_open_quote = ['"', '\'']
        .iter()
        .any(|quote| value.matches(*quote).count() % 2 == 1);
    value.contains(['(', '`'])
        || value.starts_with(['*', '!'])
        || value.starts_with("<<")
        || value.ends_with(['\\', '^'])
        || has_open_quote
}

/// Whether a value ends in its line.
fn is_complete(value: &str) -> bool {
    let is_empty_text = value.contains("\"\"") || value.contains("''");
    let has_value = is_empty_text || value.contains(char::is_alphanumeric);
    let is_block = value.starts_with(['|', '>']);
    let opened = value.matches(['{', '[']).count();
    let closed = value.matches(['}', ']']).count();
    has_value && !is_block && opened <= closed
}
