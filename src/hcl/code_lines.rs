//! The lines of HCL text that have an effect.

use super::scan::{Fault, replace_by_spaces, skip_comment, skip_nested};

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
    let mut level = 0_usize;
    // The level of brackets at the start of each line; `None` in a heredoc.
    let mut levels = vec![Some(0)];
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let mut end = at + 1;
        let mut is_heredoc = false;
        if let Some(comment_end) = skip_comment(bytes, at) {
            end = comment_end?;
            replace_by_spaces(&mut code[at..end]);
        } else if matches!(byte, b'"' | b'<')
            && let Some(nested_end) = skip_nested(bytes, at)
        {
            end = nested_end?;
            is_heredoc = *byte == b'<';
        } else {
            match byte {
                b'{' | b'[' | b'(' => level += 1,
                b'}' | b']' | b')' => level = level.saturating_sub(1),
                _ => {}
            }
        }
        let level_inside = if is_heredoc { None } else { Some(level) };
        for byte in &bytes[at..end] {
            if *byte == b'\n' {
                levels.push(level_inside);
            }
        }
        at = end;
    }

    let mut lines = Vec::new();
    let mut block = String::new();
    for (line, level) in String::from_utf8_lossy(&code).lines().zip(levels) {
        let line = line.trim();
        // A line outside of all brackets starts a block. The lines in it are compared with lines of
        // a block that starts in the same way.
        if level == Some(0) && !line.is_empty() {
            line.clone_into(&mut block);
        }
        lines.push(CodeLine {
            block: block.clone(),
            is_text: level.is_none(),
            code: line.to_owned(),
        });
    }
    Ok(lines)
}

/// Returns a text without comments, and without white space outside of strings except between
/// words. Two texts with the same result have the same meaning.
pub(crate) fn code_without_space(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code: Vec<u8> = Vec::new();
    let mut is_after_space = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if let Some(Ok(end)) = skip_comment(bytes, at) {
            at = end;
            is_after_space = true;
            continue;
        }
        if byte.is_ascii_whitespace() {
            at += 1;
            is_after_space = true;
            continue;
        }

        let mut end = at + 1;
        if matches!(byte, b'"' | b'<')
            && let Some(Ok(nested_end)) = skip_nested(bytes, at)
        {
            end = nested_end;
        }
        // Only between words is white space more than form: `a = b` may become `a=b`, `in x` not
        // `inx`.
        if is_after_space && is_of_word(*byte) && code.last().is_some_and(|last| is_of_word(*last))
        {
            code.push(b' ');
        }
        // A checkout may have other ends of lines.
        code.extend(bytes[at..end].iter().filter(|byte| **byte != b'\r'));
        at = end;
        is_after_space = false;
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_the_same_with_other_space_and_comments() {
        let plain = code_without_space("{for k in [\"a  b\"]:k=>f(1-2)}");
        assert_eq!(plain, "{for k in[\"a  b\"]:k=>f(1-2)}");
        assert_eq!(
            code_without_space("{ # one\r\n  for k in [ \"a  b\" ] : k /* two */ => f( 1-2 )\n}"),
            plain
        );
        for other in [
            "{for k in [\"a b\"]:k=>f(1-2)}",
            "{fork in [\"a  b\"]:k=>f(1-2)}",
            "{for k in [\"a  b\"]:k=>f(1 -2)}",
        ] {
            assert_ne!(code_without_space(other), plain, "{other}");
        }
        assert_eq!(
            code_without_space("<<A\r\n  # kept\r\nA\r\n"),
            "<<A\n  # kept\nA"
        );
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
