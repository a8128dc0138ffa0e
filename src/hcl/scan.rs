//! Finds the end of brackets, strings, templates, heredocs and comments in HCL text without building anything, so that
//! skipping a block costs one pass over its bytes.
//!
//! The rules are the same as in HCL's own token scanner (`hclsyntax`): a quoted string ends at its quote and may not
//! contain a raw newline, `${` and `%{` start code that ends at their `}`, `$${` and `%%{` are literal, and a heredoc
//! ends at the line that contains nothing but its marker.

use std::ops::Range;

/// Deepest nesting of brackets, strings and templates. No person and no tool writes deeper text.
const MAX_DEPTH: usize = 10_000;

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
        Self { span, message: message.into() }
    }
}

/// An open bracket, string, template or heredoc.
#[derive(Clone, Debug)]
enum Open {
    /// `{`, `[` or `(`, with the byte that closes it.
    Bracket(u8),
    /// `${` or `%{`.
    Template,
    /// `"`.
    Quote,
    /// `<<MARKER`, with the range of the marker and whether the next byte starts a line.
    Heredoc { marker: Range<usize>, line_start: bool },
}

/// The end of the bracket, string or heredoc that starts at `at`; `None` if `at` starts something else.
pub(crate) fn skip_nested(text: &[u8], at: usize) -> Option<Result<usize, Fault>> {
    let (first, next) = opening(text, at)?;
    let mut skipper = Skipper { text, open: vec![(at, first)] };
    Some(skipper.run(next))
}

/// The end of the comment that starts at `at`: after `*/`, or at the newline that ends a line comment. `None` if
/// `at` starts something else.
pub(crate) fn skip_comment(text: &[u8], at: usize) -> Option<Result<usize, Fault>> {
    match (text.get(at)?, text.get(at + 1)) {
        (b'#', _) | (b'/', Some(b'/')) => {
            Some(Ok(memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length)))
        }
        (b'/', Some(b'*')) => Some(match memchr::memmem::find(&text[at + 2..], b"*/") {
            Some(length) => Ok(at + 2 + length + 2),
            None => Err(Fault::new(at..at + 2, "this comment is never closed")),
        }),
        _ => None,
    }
}

/// Bytes that can start or end something in skipped code.
const SIGNIFICANT: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"\"#/<([{)]}";
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

/// Returns the bracket, string or heredoc that opens at `at`, and the start of its content.
fn opening(text: &[u8], at: usize) -> Option<(Open, usize)> {
    match text.get(at)? {
        b'{' => Some((Open::Bracket(b'}'), at + 1)),
        b'[' => Some((Open::Bracket(b']'), at + 1)),
        b'(' => Some((Open::Bracket(b')'), at + 1)),
        b'"' => Some((Open::Quote, at + 1)),
        b'<' => heredoc(text, at),
        _ => None,
    }
}

/// A heredoc's introduction: `<<` or `<<-`, an identifier, and the end of the line.
fn heredoc(text: &[u8], at: usize) -> Option<(Open, usize)> {
    let rest = text[at..].strip_prefix(b"<<")?;
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    let start = text.len() - rest.len();
    let length =
        rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b >= 0x80 || matches!(b, b'_' | b'-')).count();
    if length == 0 || rest[0].is_ascii_digit() || rest[0] == b'-' {
        return None;
    }
    let after = &rest[length..];
    let line = after.strip_prefix(b"\r").unwrap_or(after).strip_prefix(b"\n")?;
    Some((Open::Heredoc { marker: start..start + length, line_start: true }, text.len() - line.len()))
}

/// Returns a line without the white space that Go's `bytes.TrimSpace` removes where HCL looks for the end of a heredoc
/// (`hclsyntax/scan_tokens.rl`): also U+000B, U+0085, U+00A0 and other spaces of Unicode.
fn trimmed(line: &[u8]) -> &[u8] {
    std::str::from_utf8(line).map_or(line.trim_ascii(), |line| line.trim().as_bytes())
}

/// Returns the text before a brace on its line, such as the type and labels of a block; `None` if the line starts with
/// the brace.
fn header(text: &[u8], brace: usize) -> Option<&str> {
    /// Longer text is not a header.
    const MOST_BYTES: usize = 200;
    let line_start = memchr::memrchr(b'\n', &text[..brace]).map_or(0, |newline| newline + 1);
    let line = std::str::from_utf8(text[line_start..brace].trim_ascii()).ok()?;
    ((1..=MOST_BYTES).contains(&line.len()) && !line.contains(['{', '}'])).then_some(line)
}

struct Skipper<'a> {
    text: &'a [u8],
    /// Open brackets, strings, templates and heredocs, outermost first, with their start positions.
    open: Vec<(usize, Open)>,
}

impl Skipper<'_> {
    /// Reads until everything is closed.
    fn run(&mut self, mut at: usize) -> Result<usize, Fault> {
        while let Some((_, open)) = self.open.last() {
            at = match open.clone() {
                Open::Bracket(_) | Open::Template => self.code(at)?,
                Open::Quote => self.quote(at)?,
                Open::Heredoc { marker, line_start } => self.heredoc(at, &marker, line_start)?,
            };
        }
        Ok(at)
    }

    fn push(&mut self, at: usize, open: Open) -> Result<(), Fault> {
        if self.open.len() == MAX_DEPTH {
            return Err(Fault::new(at..at + 1, format!("more than {MAX_DEPTH} levels of nesting")));
        }
        self.open.push((at, open));
        Ok(())
    }

    /// Returns the error for a text that ends too early.
    fn unclosed(&self) -> Fault {
        if let Some((at, Open::Bracket(b'}'))) = self.open.last()
            && let Some(header) = header(self.text, *at)
        {
            return Fault::new(*at..at + 1, format!("the \"{{\" after {header} is never closed"));
        }
        let (at, what) = match self.open.last() {
            Some((at, Open::Quote)) => (*at, "this string is never closed"),
            Some((at, Open::Heredoc { .. })) => (*at, "this heredoc is never closed"),
            Some((at, Open::Template)) => (*at, "this template is never closed"),
            Some((at, Open::Bracket(_))) => (*at, "this bracket is never closed"),
            None => (self.text.len(), "unexpected end of file"),
        };
        Fault::new(at..at + 1, what)
    }

    /// Reads code up to the start of a string or heredoc, or up to the closing bracket.
    fn code(&mut self, mut at: usize) -> Result<usize, Fault> {
        loop {
            let Some(length) = self.text[at..].iter().position(|b| SIGNIFICANT[*b as usize]) else {
                return Err(self.unclosed());
            };
            at += length;
            match self.text[at] {
                b'#' | b'/' => at = skip_comment(self.text, at).unwrap_or(Ok(at + 1))?,
                close @ (b')' | b']' | b'}') => {
                    self.close(at, close)?;
                    at += 1;
                    if !matches!(self.open.last(), Some((_, Open::Bracket(_) | Open::Template))) {
                        return Ok(at);
                    }
                }
                _ => match opening(self.text, at) {
                    Some((open @ Open::Bracket(_), next)) => {
                        self.push(at, open)?;
                        at = next;
                    }
                    Some((open, next)) => {
                        self.push(at, open)?;
                        return Ok(next);
                    }
                    None => at += 1,
                },
            }
        }
    }

    fn close(&mut self, at: usize, close: u8) -> Result<(), Fault> {
        let expected = match self.open.last() {
            Some((_, Open::Bracket(expected))) => *expected,
            _ => b'}',
        };
        if close == expected {
            self.open.pop();
            return Ok(());
        }
        Err(Fault::new(at..at + 1, format!("\"{}\" where \"{}\" is expected", close as char, expected as char)))
    }

    /// Reads the literal part of a quoted string.
    fn quote(&mut self, mut at: usize) -> Result<usize, Fault> {
        loop {
            match self.text.get(at) {
                None | Some(b'\n') => return Err(self.unclosed()),
                Some(b'"') => {
                    self.open.pop();
                    return Ok(at + 1);
                }
                // A newline stays unread, because it is an error in a string even after a backslash.
                Some(b'\\') if self.text.get(at + 1) != Some(&b'\n') => at += 2,
                Some(b'$' | b'%') => match self.template(at)? {
                    (next, true) => return Ok(next),
                    (next, false) => at = next,
                },
                Some(_) => at += 1,
            }
        }
    }

    /// Reads the literal part of a heredoc.
    fn heredoc(&mut self, mut at: usize, marker: &Range<usize>, mut line_start: bool) -> Result<usize, Fault> {
        loop {
            if line_start {
                let line = &self.text[at..];
                let line = memchr::memchr(b'\n', line).map_or(line, |length| &line[..length]);
                if trimmed(line) == &self.text[marker.clone()] {
                    self.open.pop();
                    return Ok(at + line.strip_suffix(b"\r").unwrap_or(line).len());
                }
                line_start = false;
            }
            let Some(length) = memchr::memchr3(b'\n', b'$', b'%', &self.text[at..]) else {
                return Err(self.unclosed());
            };
            at += length;
            if self.text[at] == b'\n' {
                at += 1;
                line_start = true;
                continue;
            }
            match self.template(at)? {
                (next, true) => return Ok(next),
                (next, false) => at = next,
            }
        }
    }

    /// Reads on after a `$` or `%`; `true` when a template was opened.
    fn template(&mut self, at: usize) -> Result<(usize, bool), Fault> {
        let sign = self.text[at];
        match (self.text.get(at + 1), self.text.get(at + 2)) {
            (Some(b'{'), _) => {
                if let Some((_, Open::Heredoc { line_start, .. })) = self.open.last_mut() {
                    *line_start = false;
                }
                self.push(at, Open::Template)?;
                Ok((at + 2, true))
            }
            (Some(second), Some(b'{')) if *second == sign => Ok((at + 3, false)),
            _ => Ok((at + 1, false)),
        }
    }
}
