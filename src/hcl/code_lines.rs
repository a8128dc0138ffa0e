//! The lines of HCL text that have an effect.

use super::scan::{Fault, skip_comment, skip_nested};

/// A line without comments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CodeLine {
    /// The first line of the block or argument at the top level; the line itself outside of blocks.
    pub block: String,
    /// Whether the line is part of a heredoc.
    pub is_text: bool,
    /// The line without white space around it.
    pub code: String,
}

/// Returns the lines of a text in order, empty where there is only a comment.
///
/// # Errors
/// A comment, string or heredoc has no end.
pub(crate) fn code_lines(text: &str) -> Result<Vec<CodeLine>, Fault> {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let (mut level, mut at) = (0_usize, 0);
    // The level of brackets at the start of each line; `None` in a heredoc.
    let mut levels = vec![Some(0)];
    while let Some(byte) = bytes.get(at) {
        let (end, inside) = if let Some(end) = skip_comment(bytes, at) {
            let end = end?;
            code[at..end]
                .iter_mut()
                .filter(|byte| **byte != b'\n')
                .for_each(|byte| *byte = b' ');
            (end, Some(level))
        } else if matches!(byte, b'"' | b'<')
            && let Some(end) = skip_nested(bytes, at)
        {
            (end?, if *byte == b'"' { Some(level) } else { None })
        } else {
            match byte {
                b'{' | b'[' | b'(' => level += 1,
                b'}' | b']' | b')' => level = level.saturating_sub(1),
                _ => {}
            }
            (at + 1, Some(level))
        };
        levels.extend(
            bytes[at..end]
                .iter()
                .filter(|byte| **byte == b'\n')
                .map(|_| inside),
        );
        at = end;
    }
    let mut block = String::new();
    let line = |(code, level): (&str, Option<usize>)| {
        let code = code.trim().to_owned();
        if level == Some(0) && !code.is_empty() {
            block.clone_from(&code);
        }
        CodeLine {
            block: block.clone(),
            is_text: level.is_none(),
            code,
        }
    };
    Ok(String::from_utf8_lossy(&code)
        .lines()
        .zip(levels)
        .map(line)
        .collect())
}

/// Returns a text without comments, and without white space outside of strings except between
/// words.
pub(crate) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_word =
        |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'-');
    let (mut code, mut at, mut is_apart) = (Vec::new(), 0, false);
    while let Some(byte) = bytes.get(at) {
        if let Some(Ok(end)) = skip_comment(bytes, at) {
            (at, is_apart) = (end, true);
        } else if byte.is_ascii_whitespace() {
            (at, is_apart) = (at + 1, true);
        } else {
            let nested = if matches!(byte, b'"' | b'<') {
                skip_nested(bytes, at)
            } else {
                None
            };
            let end = nested.and_then(Result::ok).unwrap_or(at + 1);
            if is_apart && is_word(*byte) && code.last().is_some_and(|last| is_word(*last)) {
                code.push(b' ');
            }
            // A checkout may have other ends of lines.
            code.extend(bytes[at..end].iter().filter(|byte| **byte != b'\r'));
            (at, is_apart) = (end, false);
        }
    }
    String::from_utf8_lossy(&code).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_the_same_with_other_space_and_comments() {
        let plain = code("{for k in [\"a  b\"]:k=>f(1-2)}");
        assert_eq!(plain, "{for k in[\"a  b\"]:k=>f(1-2)}");
        assert_eq!(
            code("{ # one\r\n  for k in [ \"a  b\" ] : k /* two */ => f( 1-2 )\n}"),
            plain
        );
        for other in [
            "{for k in [\"a b\"]:k=>f(1-2)}",
            "{fork in [\"a  b\"]:k=>f(1-2)}",
            "{for k in [\"a  b\"]:k=>f(1 -2)}",
        ] {
            assert_ne!(code(other), plain, "{other}");
        }
        assert_eq!(code("<<A\r\n  # kept\r\nA\r\n"), "<<A\n  # kept\nA");
    }

    #[test]
    fn comments_are_no_code_and_heredocs_are_text() {
        let text = "a = 1 # one\n/* b {\n*/ c {\n  // x\n  d = \"}/*\" /* é */\n  e = <<EOT\n  f { # kept\nEOT\n}\ng = [\n]";
        let lines = code_lines(text).unwrap();
        let found: Vec<_> = lines
            .iter()
            .map(|line| (&*line.block, line.is_text, &*line.code))
            .collect();
        let in_c = |is_text, code| ("c {", is_text, code);
        let mut expected = vec![
            ("a = 1", false, "a = 1"),
            ("a = 1", false, ""),
            in_c(false, "c {"),
            in_c(false, ""),
        ];
        expected.extend([
            in_c(false, "d = \"}/*\""),
            in_c(false, "e = <<EOT"),
            in_c(true, "f { # kept"),
        ]);
        expected.extend([
            in_c(true, "EOT"),
            in_c(false, "}"),
            ("g = [", false, "g = ["),
            ("g = [", false, "]"),
        ]);
        assert_eq!(found, expected);
        assert!(code_lines("a /* b").is_err());
    }
}
