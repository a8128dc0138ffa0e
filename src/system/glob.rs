//! Globs for paths.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// The longest glob, in bytes.
const LONGEST: usize = 4096;
/// Most nested braces. The library reads, compiles and drops them recursively.
const MOST_NESTED: usize = 16;
/// Most globs in a set. They are compiled to one automaton.
const MOST: usize = 10_000;

/// Reads a glob in which `*` does not match `/`.
///
/// # Errors
/// The text is not a glob, or longer than any glob that people write. The error describes the glob.
pub(crate) fn parse(text: &str) -> Result<Glob, String> {
    if text.len() > LONGEST {
        return Err(format!("a glob has at most {LONGEST} bytes"));
    }
    // Compiling a glob recurses into its braces: 50,000 of them overflow the stack.
    let mut open = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MOST_NESTED {
            return Err(format!("a glob has at most {MOST_NESTED} nested braces"));
        }
    }
    GlobBuilder::new(text)
        .literal_separator(true)
        .build()
        .map_err(|error| error.to_string())
}

/// A set that matches if one of the globs does.
///
/// # Errors
/// The globs are too many or too large together.
pub(crate) fn set(globs: &[Glob]) -> Result<GlobSet, String> {
    if globs.len() > MOST {
        return Err(format!("there are more than {MOST} globs"));
    }
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(glob.clone());
    }
    set.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_have_an_end() {
        let nested = |depth: usize| "{".repeat(depth) + "a" + &"}".repeat(depth);
        assert!(parse(&nested(MOST_NESTED)).is_ok());
        assert!(parse(&"{a,b}".repeat(100)).is_ok());
        let hostile = [
            nested(50_000),
            nested(1_000),
            nested(17),
            "{".repeat(2_000),
            "{a,".repeat(17),
            "a".repeat(5_000),
        ];
        for text in &hostile {
            assert!(
                parse(text).unwrap_err().starts_with("a glob has at most"),
                "{} bytes",
                text.len()
            );
        }
        assert!(parse("[").unwrap_err().contains("error parsing glob"));
        assert!(set(&vec![parse("a").unwrap(); MOST + 1]).is_err());
        provlock_test::survived(
            "a file of the repository that takes too much memory or time",
            hostile.len() + 1,
        );
    }
}
