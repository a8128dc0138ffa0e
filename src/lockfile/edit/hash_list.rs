//! Editing the list of hashes of an entry, in the style in which it is written.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use crate::diagnostic::Location;
use crate::hcl::trivia::{Kind, Token, tokens};
use crate::provider::Hash;

use crate::lockfile::canonical::quoted;

/// The surroundings of a list, which it is formatted like.
pub(super) struct Surroundings<'a> {
    /// The whole text.
    pub(super) text: &'a str,
    /// The list from its opening to its closing bracket.
    pub(super) span: Range<usize>,
    /// The indentation of the attribute.
    pub(super) indent: &'a str,
    /// The line break for new lines.
    pub(super) line_break: &'a str,
}

/// The text of the list, brackets included, when it holds exactly the hashes of `new`.
///
/// New hashes go before the first greater one. Comments of removed ones stay, before the next hash. A list that is not
/// sorted is sorted, as both programs write it.
pub(super) fn edited(around: &Surroundings, old: &[(Hash, Location)], new: &BTreeSet<Hash>) -> String {
    let mut list = HashList::read(around, old);
    list.sort();
    let known: HashSet<_> = old.iter().map(|(hash, _)| hash).collect();
    for hash in new.iter().filter(|hash| !known.contains(hash)) {
        list.insert(hash);
    }
    list.retain(new);
    list.text()
}

/// A list cut into pieces, which in their order make up its text.
struct HashList {
    /// What follows the opening bracket on its line.
    head: String,
    items: Vec<Item>,
    /// What stands before the closing bracket.
    closing: String,
    /// Whether hashes are on lines of their own.
    one_per_line: bool,
    /// Whether a comma follows the last hash.
    trailing_comma: bool,
    /// A line break with the indentation of a hash.
    new_line: String,
}

/// A hash with all that belongs to it.
struct Item {
    hash: Hash,
    /// From the end of the previous item: white space, and comments above this one.
    lead: String,
    /// The string literal.
    literal: String,
    before_comma: String,
    comma: bool,
    /// Comments and white space after the comma on the same line.
    after_comma: String,
}

/// What stays of hashes that follow each other and are removed.
struct Removed {
    /// The white space before the first of them, or before the last with a line or a comment of its own.
    space: String,
    comments: Vec<String>,
}

impl Removed {
    /// One more hash after those that were removed, if any were. Reads each piece of text once, however many there are.
    fn with(before: Option<Self>, item: &Item) -> Self {
        let text = item.lead.trim_end();
        let own_space = &item.lead[text.len()..];
        let mut removed = match before {
            Some(before) if text.is_empty() && !has_line_break(own_space) => before,
            Some(before) => Self { space: own_space.to_owned(), ..before },
            None => Self { space: own_space.to_owned(), comments: Vec::new() },
        };
        let parts = [&item.lead, &item.before_comma, &item.after_comma];
        removed.comments.extend(parts.into_iter().flat_map(|part| comments_of(part)).map(ToOwned::to_owned));
        removed
    }
}

impl HashList {
    fn read(around: &Surroundings, hashes: &[(Hash, Location)]) -> Self {
        let (text, start, end) = (around.text, around.span.start + 1, around.span.end - 1);
        let first = hashes.first().map_or(end, |(_, location)| location.span.start);
        let (head, mut lead) = split_first_line(text, start..first);
        let mut items = Vec::with_capacity(hashes.len());
        for (index, (hash, location)) in hashes.iter().enumerate() {
            let next = hashes.get(index + 1).map(|(_, next)| next.span.start);
            let gap = Gap::read(text, location.span.end..next.unwrap_or(end), next.is_none());
            items.push(Item {
                hash: hash.clone(),
                lead: std::mem::replace(&mut lead, gap.rest),
                literal: text[location.span.clone()].to_owned(),
                before_comma: gap.before_comma,
                comma: gap.comma,
                after_comma: gap.after_comma,
            });
        }
        let closing = lead;
        let one_per_line = match &items[..] {
            [only] => has_line_break(&only.lead) || has_line_break(&closing),
            items => items.iter().skip(1).any(|item| has_line_break(&item.lead)),
        };
        let indent = items.iter().find_map(|item| last_line_indent(&item.lead));
        let indent = indent.map_or_else(|| format!("{}  ", around.indent), ToOwned::to_owned);
        Self {
            one_per_line,
            trailing_comma: items.last().is_none_or(|item| item.comma),
            new_line: format!("{}{indent}", around.line_break),
            head,
            items,
            closing,
        }
    }

    /// Puts the hashes in order, each with its comments. What is between them as space stays where it is.
    fn sort(&mut self) {
        let is_sorted = self.items.is_sorted_by(|one, next| one.hash <= next.hash);
        if is_sorted {
            return;
        }
        let spaces: Vec<_> = self.items.iter().map(|item| split_space(&item.lead).0.to_owned()).collect();
        self.items.sort_by(|one, other| one.hash.cmp(&other.hash));
        for (item, space) in self.items.iter_mut().zip(spaces) {
            item.lead = space + split_space(&item.lead).1;
        }
    }

    /// Adds a hash before the first greater one.
    fn insert(&mut self, hash: &Hash) {
        let index = self.items.iter().position(|item| item.hash > *hash).unwrap_or(self.items.len());
        let separator = if self.one_per_line { self.new_line.clone() } else { " ".to_owned() };
        let lead = match self.items.get_mut(index) {
            None => separator,
            Some(_) if self.one_per_line && index > 0 => separator,
            Some(next) if self.one_per_line && has_line_break(&next.lead) => separator,
            // The new hash takes the place of the next one, whose comments stay with it.
            Some(next) => {
                let (space, rest) = split_space(&next.lead);
                let (space, rest) = (space.to_owned(), rest.to_owned());
                let keeps_line = has_line_break(&space) && !rest.is_empty();
                next.lead = format!("{}{rest}", if keeps_line { &space } else { &separator });
                space
            }
        };
        let item = Item {
            hash: hash.clone(),
            lead,
            literal: quoted(hash.as_str()),
            before_comma: String::new(),
            comma: true,
            after_comma: String::new(),
        };
        self.items.insert(index, item);
    }

    /// Removes the hashes that are not in `new` or there twice; comments above and beside one go to what follows.
    fn retain(&mut self, new: &BTreeSet<Hash>) {
        let mut removed: Option<Removed> = None;
        for mut item in std::mem::take(&mut self.items) {
            let is_first = self.items.last().is_none_or(|last| last.hash != item.hash);
            if !new.contains(&item.hash) || !is_first {
                removed = Some(Removed::with(removed, &item));
                continue;
            }
            if let Some(Removed { space, comments }) = removed.take() {
                if !has_line_break(&item.lead) {
                    item.lead = space + item.lead.trim_start();
                }
                self.put_before(&comments, &mut item.lead);
            }
            self.items.push(item);
        }
        if let Some(Removed { comments, .. }) = removed {
            let mut closing = std::mem::take(&mut self.closing);
            self.put_before(&comments, &mut closing);
            self.closing = closing;
        }
    }

    /// Puts the comments of removed hashes in front of what follows these.
    fn put_before(&self, comments: &[String], following: &mut String) {
        if comments.is_empty() {
            return;
        }
        let to_line_end = comments.iter().any(|comment| !comment.starts_with("/*"));
        let separator = if self.one_per_line || to_line_end { &self.new_line } else { " " };
        let mut text: String = comments.iter().flat_map(|comment| [separator, comment]).collect();
        if to_line_end && !starts_a_line(following) {
            text.push_str(&self.new_line);
            *following = following.trim_start_matches([' ', '\t']).to_owned();
        } else if following.is_empty() {
            text.push(' ');
        }
        following.insert_str(0, &text);
    }

    /// Puts the pieces together: a comma after every hash, and after the last as it was.
    fn text(self) -> String {
        let mut text = format!("[{}", self.head);
        let mut in_comment = ends_in_line_comment(&self.head);
        let count = self.items.len();
        for (index, mut item) in self.items.into_iter().enumerate() {
            let is_last = index + 1 == count;
            if !is_last && !item.comma {
                // Comments may end only with the line, so that the comma goes before them.
                item.after_comma.insert_str(0, &std::mem::take(&mut item.before_comma));
            }
            let comma = if is_last && !self.trailing_comma { "" } else { "," };
            if comma.is_empty() && item.comma {
                item.before_comma.truncate(item.before_comma.trim_end().len());
            }
            push_after_comment(&mut text, in_comment, &item.lead, &self.new_line);
            text.extend([&item.literal, &item.before_comma, comma, &item.after_comma]);
            in_comment = [item.before_comma, item.after_comma].iter().any(|part| ends_in_line_comment(part));
        }
        push_after_comment(&mut text, in_comment, &self.closing, &self.new_line);
        text.push(']');
        text
    }
}

/// What stands between one hash and the next, or the closing bracket.
struct Gap {
    before_comma: String,
    comma: bool,
    after_comma: String,
    /// From the end of the line on; without a line break, what belongs to the next hash.
    rest: String,
}

impl Gap {
    fn read(text: &str, span: Range<usize>, is_last: bool) -> Self {
        let comma = tokens(text, span.clone()).find(|token| text[token.span.clone()].starts_with(','));
        let line = comma.as_ref().map_or(span.start, |token| token.span.end);
        let rest: Vec<Token> = tokens(text, line..span.end).collect();
        let line_break = rest.iter().find(|token| token.kind == Kind::LineBreak).map(|token| token.span.start);
        let last_comment = rest.iter().rfind(|token| is_last && token.is_comment()).map(|token| token.span.end);
        let end = line_break.or(last_comment).unwrap_or(line);
        let (before_comma, after_comma) = match &comma {
            Some(comma) => (&text[span.start..comma.span.start], &text[line..end]),
            None => (&text[line..end], ""),
        };
        Self {
            before_comma: before_comma.to_owned(),
            comma: comma.is_some(),
            after_comma: after_comma.to_owned(),
            rest: text[end..span.end].to_owned(),
        }
    }
}

/// Splits before the first line break; without one everything is in the second part.
fn split_first_line(text: &str, span: Range<usize>) -> (String, String) {
    let line_break = tokens(text, span.clone()).find(|token| token.kind == Kind::LineBreak);
    let end = line_break.map_or(span.start, |token| token.span.start);
    (text[span.start..end].to_owned(), text[end..span.end].to_owned())
}

/// Splits before the first comment.
fn split_space(trivia: &str) -> (&str, &str) {
    trivia.split_at(trivia.len() - trivia.trim_start().len())
}

fn has_line_break(trivia: &str) -> bool {
    tokens(trivia, 0..trivia.len()).any(|token| token.kind == Kind::LineBreak)
}

fn ends_in_line_comment(trivia: &str) -> bool {
    let last = tokens(trivia, 0..trivia.len()).filter(|token| token.kind != Kind::Space).last();
    last.is_some_and(|token| token.kind == Kind::LineComment)
}

fn comments_of(trivia: &str) -> Vec<&str> {
    tokens(trivia, 0..trivia.len()).filter(Token::is_comment).map(|token| &trivia[token.span]).collect()
}

/// The indentation of the last line of `trivia`, if it has more than one.
fn last_line_indent(trivia: &str) -> Option<&str> {
    let (_, line) = trivia.rsplit_once('\n')?;
    Some(split_space(line).0)
}

/// Whether a line break comes before anything that is visible.
fn starts_a_line(trivia: &str) -> bool {
    trivia.trim_start_matches([' ', '\t']).starts_with(['\n', '\r'])
}

/// Adds `next`, on a new line if it would be read as part of a comment otherwise.
fn push_after_comment(text: &mut String, in_comment: bool, next: &str, new_line: &str) {
    if in_comment && !starts_a_line(next) {
        text.extend([new_line, next.trim_start_matches([' ', '\t'])]);
    } else {
        text.push_str(next);
    }
}
