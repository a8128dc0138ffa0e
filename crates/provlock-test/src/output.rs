//! Exit code and output of a run, and what tests demand of them.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use regex::Regex;
use snapbox::{Assert, IntoData, Redactions};

/// Exit code and output of a run.
#[must_use = "a run shows nothing until its output is checked"]
#[derive(Clone, Debug)]
pub struct Output {
    /// `None` if a signal ended the program.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// The command line, for messages.
    pub(crate) shown: String,
    pub(crate) root: PathBuf,
}

impl Output {
    /// Fails unless the exit code and all that was written are as in the snapshot. What differs
    /// from run to run is written as `[ROOT]`, `[PORT]`, `[SIZE]`, `[TIME]`, `[DATE]` and `[HASH]`;
    /// the pattern `[..]` matches any text within a line. Of JSON there is only that it is there:
    /// look at its values instead.
    ///
    /// `SNAPSHOTS=overwrite cargo test` writes the snapshots again, in the source of the tests;
    /// look at the difference.
    #[track_caller]
    pub fn matches(&self, snapshot: impl IntoData) -> &Self {
        let mut text = format!(
            "exit code: {}\n",
            self.code
                .map_or_else(|| "none".to_owned(), |code| code.to_string())
        );
        let stdout = if self.stdout.starts_with('{') {
            "(JSON)\n"
        } else {
            &self.stdout
        };
        for (name, content) in [("stdout", stdout), ("stderr", &self.stderr)] {
            if !content.is_empty() {
                let end = if content.ends_with('\n') {
                    ""
                } else {
                    "(no newline)\n"
                };
                let _ = write!(text, "----- {name} -----\n{content}{end}");
            }
        }
        text.truncate(text.trim_end().len());
        // A backslash of Windows is a slash in snapshots; elsewhere it stands for itself.
        let assert = Assert::new()
            .action_env("SNAPSHOTS")
            .normalize_paths(cfg!(windows));
        assert
            .redact_with(redactions(&self.root))
            .eq(text, snapshot);
        self
    }

    /// Fails unless another run ended and printed the same.
    #[track_caller]
    pub fn assert_same(&self, other: &Self) -> &Self {
        let told = |output: &Self| (output.code, output.stdout.clone(), output.stderr.clone());
        assert_eq!(told(self), told(other), "{self}\nand\n{other}");
        self
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "wrong exit code of\n{self}");
        self
    }

    /// Fails unless standard output contains the text, with paths unchanged or with slashes.
    #[track_caller]
    pub fn assert_stdout_has(&self, text: &str) -> &Self {
        assert!(
            has(&self.stdout, text),
            "no {text:?} on standard output of\n{self}"
        );
        self
    }

    /// Fails unless one of the two outputs contains the text, with paths unchanged or with slashes.
    #[track_caller]
    pub fn assert_has(&self, text: &str) -> &Self {
        assert!(
            has(&self.stdout, text) || has(&self.stderr, text),
            "no {text:?} in the output of\n{self}"
        );
        self
    }

    /// Fails unless standard error contains the text, with paths unchanged or with slashes.
    #[track_caller]
    pub fn assert_stderr_has(&self, text: &str) -> &Self {
        assert!(
            has(&self.stderr, text),
            "no {text:?} on standard error of\n{self}"
        );
        self
    }

    /// Fails if the text is anywhere in the output (for secrets), or if there is no output: a
    /// program that crashes or prints nothing keeps every secret, but proves nothing.
    #[track_caller]
    pub fn assert_lacks(&self, text: &str) -> &Self {
        assert!(
            matches!(self.code, Some(0..=3)),
            "the program did not end by itself:\n{self}"
        );
        assert!(
            !self.stdout.is_empty() || !self.stderr.is_empty(),
            "no output, so nothing to look for {text:?} in"
        );
        assert!(
            !self.stdout.contains(text) && !self.stderr.contains(text),
            "{text:?} in the output of\n{self}"
        );
        self
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            stdout,
            stderr,
            shown,
            ..
        } = self;
        write!(
            f,
            "$ {shown}\n--- exit code {code:?}\n--- standard output\n{stdout}\n--- standard error\n{stderr}\n---"
        )
    }
}

fn has(output: &str, text: &str) -> bool {
    output.contains(text) || with_slashes(output).contains(text)
}

fn redactions(root: &Path) -> Redactions {
    let pattern = |pattern| Regex::new(pattern).unwrap();
    let mut redactions = Redactions::new();
    redactions.insert("[ROOT]", root.to_owned()).unwrap();
    redactions
        .insert("[PORT]", pattern(r"127\.0\.0\.1:(?<redacted>[0-9]+)"))
        .unwrap();
    redactions
        .insert(
            "[TIME]",
            pattern(r"(?<redacted>20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z)"),
        )
        .unwrap();
    redactions
        .insert(
            "[DATE]",
            pattern(r" (?<redacted>20[0-9]{2}-[0-9]{2}-[0-9]{2}) "),
        )
        .unwrap();
    // How far packages can be compressed depends on the processor.
    redactions
        .insert("[SIZE]", pattern(r"(?<redacted>[0-9.]+ ([KM]i)?B)\b"))
        .unwrap();
    redactions
        .insert(
            "[HASH]",
            pattern(r"zh:(?<redacted>[0-9]*[a-f][0-9a-f]{20,})"),
        )
        .unwrap();
    redactions
}

/// A text with paths as snapshots have them: with slashes, also where the system has backslashes.
pub fn with_slashes(text: &str) -> String {
    text.replace(std::path::MAIN_SEPARATOR, "/")
}
