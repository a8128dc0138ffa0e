//! Finds the end of brackets, strings, templates, heredocs and comments in HCL text without
//! building anything, so that skipping a block costs one pass over its bytes.
//!
//! The rules are the same as in HCL's own token scanner (`hclsyntax`): a quoted string ends at its
//! quote and may not contain a raw newline, `${` and `%{` start code that ends at their `}`, `$${`
//! and `%%{` are literal, a heredoc ends at the line that contains nothing but its marker, and a
//! carriage return stands only before a newline or in a comment.

use std::ops::Range;

/// Deepest nesting of brackets, strings and templates. No person and no tool writes deeper text.
const MAX_DEPTH: usize = 1_000;

/// A syntax error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Byte range in the file.
    pub span: Range<usize>,
    /// Message in lower case.
    pub message: String,
}

impl Fault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
        }
    }
}

/// The end of the bracket, string or heredoc that starts at `at`; `None` if `at` starts something
/// else.
pub(crate) fn skip_nested(text: &[u8], at: usize) -> Option<Result<usize, Fault>> {
    skip_nested_in(text, at, 0)
}

/// The end of the comment that starts at `at`: after `*/`, or at the newline that ends a line
/// comment. `None` if `at` starts something else.
pub(crate) fn skip_comment(text: &[u8], at: usize) -> Option<Result<usize, Fault>> {
    match (text.get(at)?, text.get(at + 1)) {
        (b'#', _) | (b'/', Some(b'/')) => Some(Ok(
            memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length)
        )),
        (b'/', Some(b'*')) => Some(match memchr::memmem::find(&text[at + 2..], b"*/") {
            Some(length) => Ok(at + 2 + length + 2),
            None => Err(Fault::new(at..at + 2, "this comment is never closed")),
        }),
        _ => None,
    }
}

/// Replaces bytes by spaces, except line breaks.
pub(crate) fn replace_by_spaces(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// The end of a carriage return at `at`, which is not in a comment.
///
/// # Errors
/// No newline follows. HCL refuses it as an invalid character.
pub(crate) fn skip_return(text: &[u8], at: usize) -> Result<usize, Fault> {
    if text.get(at + 1) == Some(&b'\n') {
        return Ok(at + 1);
    }
    let message = "a carriage return may stand only at the end of a line or in a comment";
    Err(Fault::new(at..at + 1, message))
}

/// Returns the error for the first carriage return of a whole text that is neither before a newline
/// nor in a comment. The text may have other errors.
pub(crate) fn find_lone_return(text: &[u8]) -> Option<Fault> {
    // In nearly all texts every carriage return ends a line, and nothing needs to be scanned.
    let mut returns = memchr::memchr_iter(b'\r', text);
    if returns.all(|at| text.get(at + 1) == Some(&b'\n')) {
        return None;
    }
    let mut at = 0;
    while at < text.len() {
        let end = match skip_comment(text, at).or_else(|| skip_nested(text, at)) {
            Some(end) => end,
            None if text[at] == b'\r' => skip_return(text, at),
            None => Ok(at + 1),
        };
        match end {
            Ok(end) => at = end,
            // Every other error is at a bracket, a quote or the start of a comment.
            Err(fault) if text[fault.span.start] == b'\r' => return Some(fault),
            Err(_) => return None,
        }
    }
    None
}

/// Bytes that can start or end something in skipped code.
const SIGNIFICANT: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"\"#/<([{)]}\r";
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

/// [`skip_nested`] within so many levels of brackets and templates.
fn skip_nested_in(text: &[u8], at: usize, depth: usize) -> Option<Result<usize, Fault>> {
    let close = match text.get(at)? {
        b'{' => b'}',
        b'[' => b']',
        b'(' => b')',
        b'"' => return Some(skip_quoted(text, at, depth)),
        b'<' if is_conflict_marker(text, at) => return Some(Err(conflict_marker(at))),
        b'<' => {
            return heredoc_start(text, at)
                .map(|(marker, lines)| skip_heredoc(text, at, marker, lines, depth));
        }
        _ => return None,
    };
    Some(skip_code(text, at, at + 1, close, depth))
}

/// Whether a line of git's markers of a conflict starts at `at`.
pub(crate) fn is_conflict_marker(text: &[u8], at: usize) -> bool {
    const LENGTH: usize = 7;
    let is_line_start = at == 0 || text[at - 1] == b'\n';
    let line = &text[at..];
    let first = line.first().copied().unwrap_or_default();
    let is_marker = matches!(first, b'<' | b'=' | b'>' | b'|')
        && line.iter().take_while(|byte| **byte == first).count() == LENGTH;
    let end = line.get(LENGTH);
    is_line_start && is_marker && matches!(end, None | Some(b' ' | b'\r' | b'\n'))
}

/// Returns the error for a marker of a conflict.
pub(crate) fn conflict_marker(at: usize) -> Fault {
    let message = "this is a git conflict marker: finish the merge, and remove the marker";
    Fault::new(at..at + 1, message)
}

/// A heredoc's introduction: `<<` or `<<-`, an identifier, and the end of the line.
fn heredoc_start(text: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = text[at..].strip_prefix(b"<<")?;
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    let length = rest
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || **b >= 0x80 || matches!(b, b'_' | b'-'))
        .count();
    if length == 0 || rest[0].is_ascii_digit() || rest[0] == b'-' {
        return None;
    }
    let (marker, after) = rest.split_at(length);
    let lines = after
        .strip_prefix(b"\r")
        .unwrap_or(after)
        .strip_prefix(b"\n")?;
    Some((marker, text.len() - lines.len()))
}

/// Returns a line without the white space that Go's `bytes.TrimSpace` removes where HCL looks for
/// the end of a heredoc (`hclsyntax/scan_tokens.rl`): also U+000B, U+0085, U+00A0 and other spaces
/// of Unicode.
fn trim_as_go(line: &[u8]) -> &[u8] {
    std::str::from_utf8(line).map_or(line.trim_ascii(), |line| line.trim().as_bytes())
}

/// Returns the text before a brace on its line, such as the type and labels of a block; `None` if
/// the line starts with the brace.
fn header(text: &[u8], brace: usize) -> Option<&str> {
    /// Longer text is not a header.
    const MOST_BYTES: usize = 200;
    let line_start = memchr::memrchr(b'\n', &text[..brace]).map_or(0, |newline| newline + 1);
    let line = std::str::from_utf8(text[line_start..brace].trim_ascii()).ok()?;
    ((1..=MOST_BYTES).contains(&line.len()) && !line.contains(['{', '}'])).then_some(line)
}

/// Returns the error for a bracket, string, template or heredoc without an end.
fn unclosed(text: &[u8], start: usize) -> Fault {
    let message = match (text[start], header(text, start)) {
        (b'{', Some(header)) => format!("the \"{{\" after {header} is never closed"),
        (b'"', _) => "this string is never closed".to_owned(),
        (b'<', _) => "this heredoc is never closed".to_owned(),
        (b'$' | b'%', _) => "this template is never closed".to_owned(),
        _ => "this bracket is never closed".to_owned(),
    };
    Fault::new(start..start + 1, message)
}

/// Returns the end of code, after the bracket `close`. The code begins at `at`, and the bracket
/// that `close` closes at `start`.
fn skip_code(
    text: &[u8],
    start: usize,
    mut at: usize,
    close: u8,
    depth: usize,
) -> Result<usize, Fault> {
    if depth == MAX_DEPTH {
        return Err(Fault::new(
            start..start + 1,
            format!("more than {MAX_DEPTH} levels of nesting"),
        ));
    }
    loop {
        let plain_length = text[at..].iter().position(|b| SIGNIFICANT[*b as usize]);
        at += plain_length.ok_or_else(|| unclosed(text, start))?;
        at = match text[at] {
            // A single slash is a division.
            b'#' | b'/' => skip_comment(text, at).unwrap_or(Ok(at + 1))?,
            b'\r' => skip_return(text, at)?,
            found if found == close => return Ok(at + 1),
            found @ (b')' | b']' | b'}') => {
                let message = format!(
                    "\"{}\" where \"{}\" is expected",
                    found as char, close as char
                );
                return Err(Fault::new(at..at + 1, message));
            }
            // A `<` without a marker after it is an operator.
            _ => skip_nested_in(text, at, depth + 1).unwrap_or(Ok(at + 1))?,
        };
    }
}

/// Returns the end of a quoted string, after its quote.
fn skip_quoted(text: &[u8], start: usize, depth: usize) -> Result<usize, Fault> {
    let mut at = start + 1;
    loop {
        at = match text.get(at) {
            None | Some(b'\n') => return Err(unclosed(text, start)),
            Some(b'\r') => skip_return(text, at)?,
            Some(b'"') => return Ok(at + 1),
            // A newline stays unread, because it is an error in a string even after a backslash.
            Some(b'\\') if text.get(at + 1) != Some(&b'\n') => at + 2,
            Some(b'$' | b'%') => skip_template(text, at, depth)?,
            Some(_) => at + 1,
        };
    }
}

/// Returns the end of a heredoc, after its closing marker. Its lines begin at `at`, and its
/// introduction at `start`.
fn skip_heredoc(
    text: &[u8],
    start: usize,
    marker: &[u8],
    mut at: usize,
    depth: usize,
) -> Result<usize, Fault> {
    let mut is_line_start = true;
    loop {
        if is_line_start {
            let rest = &text[at..];
            let line = memchr::memchr(b'\n', rest).map_or(rest, |length| &rest[..length]);
            // HCL accepts white space around the closing marker, without `-` in the opening one,
            // too.
            if trim_as_go(line) == marker {
                return Ok(at + line.strip_suffix(b"\r").unwrap_or(line).len());
            }
        }
        let plain_length =
            memchr::memchr3(b'\n', b'$', b'%', &text[at..]).ok_or_else(|| unclosed(text, start))?;
        for index in memchr::memchr_iter(b'\r', &text[at..at + plain_length]) {
            skip_return(text, at + index)?;
        }
        at += plain_length;
        is_line_start = text[at] == b'\n';
        at = if is_line_start {
            at + 1
        } else {
            skip_template(text, at, depth)?
        };
    }
}

/// Returns the end of a `$` or `%` of a string, and of the template that it may start.
fn skip_template(text: &[u8], at: usize, depth: usize) -> Result<usize, Fault> {
    match (text.get(at + 1), text.get(at + 2)) {
        (Some(b'{'), _) => skip_code(text, at, at + 2, b'}', depth + 1),
        (Some(second), Some(b'{')) if *second == text[at] => Ok(at + 3),
        _ => Ok(at + 1),
    }
}
