//! The structure of a body in HCL's native syntax: the positions of its arguments and blocks,
//! without the content of the blocks. For a `.tf` file of 0.8 KB this takes a tenth of the time
//! that hcl-edit takes to parse it, and errors in expressions that are not needed do not matter.

use std::collections::HashSet;
use std::ops::Range;

use hcl_edit::expr::Expression;

use crate::hcl::Fault;
use crate::hcl::parse;
use crate::hcl::scan::{
    conflict_marker, is_conflict_marker, skip_comment, skip_nested, skip_return,
};

/// Maximum number of arguments and blocks of a body; bounds the memory for a file.
const MOST_ITEMS: usize = 50_000;

/// An argument or a block of a body. All ranges are byte ranges of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::configuration) struct Item {
    /// The argument's name or the block's type.
    pub name: Range<usize>,
    pub kind: ItemKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::configuration) enum ItemKind {
    /// `name = value`, with the range of the value.
    Argument(Range<usize>),
    /// `name label… { body }`: labels with their quotes, the body without its braces.
    Block {
        labels: Vec<Range<usize>>,
        body: Range<usize>,
    },
}

/// Returns the arguments and blocks of a whole file, which may start with a byte order mark.
pub(in crate::configuration) fn file_items(text: &str) -> Result<Vec<Item>, Fault> {
    let start = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    Cursor {
        text,
        at: start,
        end: text.len(),
    }
    .items(Layout::File)
}

/// Returns the arguments and blocks between a block's braces.
pub(in crate::configuration) fn block_items(
    text: &str,
    body: Range<usize>,
) -> Result<Vec<Item>, Fault> {
    let mut cursor = Cursor {
        text,
        at: body.start,
        end: body.end,
    };
    cursor.skip_blank()?;
    let layout = match cursor.peek() {
        Some(b'\n' | b'#' | b'/') => Layout::Lines,
        _ => Layout::OneLine,
    };
    cursor.items(layout)
}

/// Returns the ranges of the keys and values of an object, whose range includes its braces.
pub(in crate::configuration) fn object_items(
    text: &str,
    object: Range<usize>,
) -> Result<Vec<[Range<usize>; 2]>, Fault> {
    let end = skip_nested(&text.as_bytes()[..object.end], object.start);
    if !end.is_some_and(|end| end == Ok(object.end)) {
        return Err(Fault::new(object, "an object is expected here"));
    }
    let mut cursor = Cursor {
        text,
        at: object.start + 1,
        end: object.end - 1,
    };
    let mut items = Vec::new();
    loop {
        cursor.skip_lines()?;
        if cursor.at >= cursor.end {
            return Ok(items);
        }
        items.push(cursor.read_object_item()?);
        cursor.skip_blank()?;
        if cursor.peek() == Some(b',') {
            cursor.at += 1;
        }
    }
}

/// Parses an expression that starts at this position of its file.
pub(super) fn expression(written: &str, start: usize) -> Result<Expression, Fault> {
    parse::expression(written).map_err(|error| {
        let at = start + written.floor_char_boundary(error.location().offset());
        Fault::new(
            at..at,
            format!("this value cannot be read: {}", error.message()),
        )
    })
}

/// Returns an error that the file certainly has, also in its blocks and values. Some text that
/// hcl-edit refuses is valid: a `?` or `=>` at the end of a line, a heredoc with a line such as
/// `END"`, an object that repeats a name.
pub(in crate::configuration) fn fault(text: &str) -> Option<Fault> {
    file_items(text).and_then(|items| check(text, &items)).err()
}

fn check(text: &str, items: &[Item]) -> Result<(), Fault> {
    items.iter().try_for_each(|item| match &item.kind {
        ItemKind::Argument(span) => match expression(&text[span.clone()], span.start) {
            Err(_)
                if ["?", "=>", "<<", "{"]
                    .iter()
                    .any(|mark| text[span.clone()].contains(mark)) =>
            {
                Ok(())
            }
            parsed => parsed.map(|_| ()),
        },
        ItemKind::Block { body, .. } => check(text, &block_items(text, body.clone())?),
    })
}

/// Separation of the items of a body (HCL native syntax, "Blocks").
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One to a line; the last may end with the file.
    File,
    /// One to a line.
    Lines,
    /// At most one argument, between braces on one line.
    OneLine,
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

impl Cursor<'_> {
    fn bytes(&self) -> &[u8] {
        &self.text.as_bytes()[..self.end]
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    fn fault<T>(&self, message: &str) -> Result<T, Fault> {
        let length = self.text[self.at..self.end]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        Err(Fault::new(self.at..self.at + length, message))
    }

    /// Skips white space and comments within a line; stands at a newline or line comment when there
    /// is one.
    fn skip_blank(&mut self) -> Result<(), Fault> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\r') => self.at = skip_return(self.bytes(), self.at)?,
                Some(b'/') if self.bytes().get(self.at + 1) == Some(&b'*') => {
                    self.skip_comment()?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), Fault> {
        if let Some(end) = skip_comment(self.bytes(), self.at) {
            self.at = end?;
        }
        Ok(())
    }

    /// Skips to the next item or the end.
    fn skip_lines(&mut self) -> Result<(), Fault> {
        loop {
            self.skip_blank()?;
            match self.peek() {
                Some(b'\n') => self.at += 1,
                Some(b'#' | b'/') => {
                    let start = self.at;
                    self.skip_comment()?;
                    if self.at == start {
                        return Ok(());
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Reads arguments and blocks up to the end of the body.
    fn items(mut self, layout: Layout) -> Result<Vec<Item>, Fault> {
        let mut items = Vec::new();
        let mut arguments = HashSet::new();
        loop {
            if layout == Layout::OneLine {
                self.skip_blank()?;
            } else {
                self.skip_lines()?;
            }
            if self.at >= self.end {
                return Ok(items);
            }
            if items.len() == MOST_ITEMS {
                return self.fault(&format!("more than {MOST_ITEMS} arguments and blocks"));
            }
            if layout == Layout::OneLine && !items.is_empty() {
                return self.fault("only one argument may stand between braces on one line");
            }
            let item = self.read_item()?;
            let is_argument = matches!(item.kind, ItemKind::Argument(_));
            if is_argument && !arguments.insert(&self.text[item.name.clone()]) {
                return Err(Fault::new(item.name, "this argument is set twice"));
            }
            if layout == Layout::OneLine && !is_argument {
                let message = "a block may not stand between braces on one line; start a new line after the \"{\"";
                return Err(Fault::new(item.name, message));
            }
            items.push(item);
            if layout != Layout::OneLine {
                self.expect_end_of_line(layout)?;
            }
        }
    }

    fn expect_end_of_line(&mut self, layout: Layout) -> Result<(), Fault> {
        self.skip_blank()?;
        match self.peek() {
            Some(b'\n' | b'#') => Ok(()),
            Some(b'/') if self.bytes().get(self.at + 1) == Some(&b'/') => Ok(()),
            None if layout == Layout::File => Ok(()),
            None => self.fault("a new line must start before the closing \"}\""),
            Some(_) => self.fault("a new line must start here"),
        }
    }

    /// Reads an argument, `name = value`, or a block, `name "label" { … }`.
    fn read_item(&mut self) -> Result<Item, Fault> {
        let Some(name) = self.read_identifier() else {
            if is_conflict_marker(self.bytes(), self.at) {
                return Err(conflict_marker(self.at));
            }
            let quoted = self.peek() == Some(b'"');
            return self.fault(if quoted {
                "the name of an argument or block must not be quoted"
            } else {
                "an argument or block is expected here"
            });
        };
        let mut labels = Vec::new();
        loop {
            self.skip_blank()?;
            match self.peek() {
                Some(b'=') if labels.is_empty() && self.bytes().get(self.at + 1) != Some(&b'=') => {
                    self.at += 1;
                    return Ok(Item {
                        name,
                        kind: ItemKind::Argument(self.read_value(b"")?),
                    });
                }
                Some(b'{') => {
                    let start = self.at;
                    self.skip_nested()?;
                    return Ok(Item {
                        name,
                        kind: ItemKind::Block {
                            labels,
                            body: start + 1..self.at - 1,
                        },
                    });
                }
                Some(b'"') => {
                    let start = self.at;
                    self.skip_nested()?;
                    labels.push(start..self.at);
                }
                _ => match self.read_identifier() {
                    Some(label) => labels.push(label),
                    None => return self.fault("\"=\" or \"{\" is expected here"),
                },
            }
        }
    }

    /// Reads an identifier if one starts here: letters, digits, `_` and `-`, not starting with a
    /// digit or dash.
    fn read_identifier(&mut self) -> Option<Range<usize>> {
        let rest = &self.text[self.at..self.end];
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        let length = rest
            .find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
            .unwrap_or(rest.len());
        let span = self.at..self.at + length;
        self.at = span.end;
        Some(span)
    }

    /// Reads the key and the value of an object's item.
    fn read_object_item(&mut self) -> Result<[Range<usize>; 2], Fault> {
        let start = self.at;
        let has_key = match self.peek() {
            Some(b'"' | b'(') => self.skip_nested()?,
            _ => self.read_identifier().is_some(),
        };
        let key = start..self.at;
        self.skip_blank()?;
        let follows = self.bytes().get(self.at + 1);
        match self.peek() {
            Some(b'=') if has_key && follows != Some(&b'=') => {}
            Some(b':') if has_key => {}
            _ => {
                return self.fault(
                    "this value cannot be read: an object such as { NAME = VALUE } is expected",
                );
            }
        }
        self.at += 1;
        Ok([key, self.read_value(b",")?])
    }

    /// Reads a value, which ends with its line or before a separator.
    fn read_value(&mut self, separators: &[u8]) -> Result<Range<usize>, Fault> {
        self.skip_blank()?;
        let start = self.at;
        let mut end = start;
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' | b'#' => break,
                _ if separators.contains(&byte) => break,
                b'/' if skip_comment(self.bytes(), self.at).is_some() => {
                    // A comment to the end of the line ends the value. A block comment may stand
                    // within it.
                    if self.bytes().get(self.at + 1) == Some(&b'/') {
                        break;
                    }
                    self.skip_comment()?;
                    continue;
                }
                b')' | b']' | b'}' => {
                    return self.fault("this closing bracket has no opening bracket");
                }
                b' ' | b'\t' => {
                    self.at += 1;
                    continue;
                }
                b'\r' => {
                    self.at = skip_return(self.bytes(), self.at)?;
                    continue;
                }
                _ if self.skip_nested()? => {}
                _ => self.at += 1,
            }
            end = self.at;
        }
        if end == start {
            return self.fault("a value is expected here");
        }
        Ok(start..end)
    }

    /// Skips a bracket, string or heredoc; `false` if something else starts here.
    fn skip_nested(&mut self) -> Result<bool, Fault> {
        match skip_nested(self.bytes(), self.at) {
            Some(end) => {
                self.at = end?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}
