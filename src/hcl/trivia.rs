//! White space, line breaks and comments of HCL.

use std::ops::Range;

use super::scan;

/// A piece of text between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// White space within a line.
    Space,
    /// `\n` or `\r\n`.
    LineBreak,
    /// `#` or `//` up to the end of the line.
    LineComment,
    /// `/* … */`, which may span lines.
    BlockComment,
    /// Any other character.
    Other,
}

/// A token with its range in the scanned text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Range<usize>,
}

impl Token {
    pub(crate) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::LineComment | Kind::BlockComment)
    }
}

#[cfg(test)]
thread_local! {
    /// Number of tokens that this thread has read. Tests check that it grows no faster than the
    /// text.
    pub(crate) static TOKENS_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Splits `text[range]` into tokens. The range must not contain strings, because `#` starts no
/// comment in them.
pub(crate) fn tokens(text: &str, range: Range<usize>) -> impl Iterator<Item = Token> {
    let mut position = range.start;
    std::iter::from_fn(move || {
        let rest = &text[position..range.end];
        let first = rest.chars().next()?;
        let (kind, length) = if rest.starts_with('\n') {
            (Kind::LineBreak, 1)
        } else if rest.starts_with("\r\n") {
            (Kind::LineBreak, 2)
        } else if first.is_whitespace() {
            let end = rest.find(|c: char| !c.is_whitespace() || c == '\n');
            let space = &rest[..end.unwrap_or(rest.len())];
            // A carriage return in front of a newline belongs to the line break.
            let before_break = if rest[space.len()..].starts_with('\n') {
                space.strip_suffix('\r')
            } else {
                None
            };
            (Kind::Space, before_break.unwrap_or(space).len())
        } else if let Some(end) = scan::skip_comment(&text.as_bytes()[..range.end], position) {
            // An unclosed block comment extends to the end.
            let comment = &text[position..end.unwrap_or(range.end)];
            if comment.starts_with("/*") {
                (Kind::BlockComment, comment.len())
            } else {
                (
                    Kind::LineComment,
                    comment.strip_suffix('\r').unwrap_or(comment).len(),
                )
            }
        } else {
            (Kind::Other, first.len_utf8())
        };
        let span = position..position + length;
        position = span.end;
        #[cfg(test)]
        TOKENS_READ.set(TOKENS_READ.get() + 1);
        Some(Token { kind, span })
    })
}

/// Returns the comments of `text[range]`, which may contain strings.
pub(crate) fn comments(text: &str, range: Range<usize>) -> Vec<&str> {
    let mut found = Vec::new();
    let mut position = range.start;
    while position < range.end {
        let mut string = None;
        for token in tokens(text, position..range.end) {
            if token.is_comment() {
                found.push(&text[token.span]);
            } else if text[token.span.clone()].starts_with('"') {
                string = Some(token.span.start);
                break;
            }
        }
        let string_end = |start| scan::skip_nested(&text.as_bytes()[..range.end], start)?.ok();
        position = string.and_then(string_end).unwrap_or(range.end);
    }
    found
}

/// Returns the end of the line of `position`: before its line break, after comments that start on
/// it. From `position` on, the line must contain only white space and comments.
pub(crate) fn line_end(text: &str, position: usize) -> usize {
    tokens(text, position..text.len())
        .find(|token| matches!(token.kind, Kind::LineBreak | Kind::Other))
        .map_or(text.len(), |token| token.span.start)
}

/// Returns the position after the line break that starts at `position`, or `position` if none does.
pub(crate) fn skip_line_break(text: &str, position: usize) -> usize {
    let rest = &text[position..];
    match rest
        .strip_prefix("\r\n")
        .or_else(|| rest.strip_prefix('\n'))
    {
        Some(after) => text.len() - after.len(),
        None => position,
    }
}

/// Returns the start of the line of `position`.
pub(crate) fn line_start(text: &str, position: usize) -> usize {
    text[..position]
        .rfind('\n')
        .map_or(0, |line_break| line_break + 1)
}

/// Returns the line break of most lines.
pub(crate) fn dominant_line_break(text: &str) -> &'static str {
    let with_return = text.matches("\r\n").count();
    let all = text.matches('\n').count();
    if with_return * 2 > all { "\r\n" } else { "\n" }
}
