//! Outcomes of commands.

use std::process::ExitCode;

use provlock::diagnostic::{Code, Diagnostic, Diagnostics};

/// The results from the best to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// The command succeeded, with nothing to report.
    #[default]
    Done,
    /// There are differences or findings.
    Found,
    /// The command failed.
    Failed,
    /// The user pressed Ctrl-C at a prompt.
    Interrupted,
}

impl Outcome {
    /// [`Self::Failed`] after a failure, otherwise [`Self::Done`].
    pub(crate) fn failed_if(has_failed: bool) -> Self {
        if has_failed { Self::Failed } else { Self::Done }
    }

    /// [`Self::Found`] if there are differences or findings, unless the command failed.
    pub(crate) fn or_found_if(self, has_found: bool) -> Self {
        if has_found {
            self.max(Self::Found)
        } else {
            self
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Found => Self::from(1),
            Outcome::Failed => Self::from(2),
            // As shells report a program that SIGINT ended.
            Outcome::Interrupted => Self::from(130),
        }
    }
}

/// Returns the diagnostics of an error that stopped a command, or its words as one. Its causes
/// follow as notes.
pub(crate) fn diagnostics(error: anyhow::Error) -> Diagnostics {
    let error = match error.downcast::<Diagnostics>() {
        Ok(diagnostics) => return diagnostics,
        Err(error) => error,
    };
    let causes: Vec<_> = error.chain().skip(1).map(ToString::to_string).collect();
    let mut diagnostic = match error.downcast::<Diagnostic>() {
        Ok(diagnostic) => diagnostic,
        Err(error) => Diagnostic::error(Code::Io, error.to_string()),
    };
    for cause in causes {
        diagnostic = diagnostic.note(format!("caused by: {cause}"));
    }
    diagnostic.into()
}

/// Returns the error of a write to stdout.
pub(crate) fn stdout_error(error: std::io::Error) -> Diagnostics {
    diagnostics(anyhow::Error::new(error).context("cannot write to stdout"))
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use anyhow::Context as _;

    use super::*;

    #[test]
    fn what_caused_an_error_follows_it() {
        let missing = || Err::<(), _>(Error::from(ErrorKind::NotFound));
        let [shown] = &diagnostics(
            missing()
                .context("cannot ask")
                .context("cannot go on")
                .unwrap_err(),
        )[..] else {
            panic!("there are several");
        };
        assert_eq!(
            (shown.code, shown.message.as_str()),
            (Code::Io, "cannot go on")
        );
        assert_eq!(
            shown.notes,
            ["caused by: cannot ask", "caused by: entity not found"]
        );

        let context = Diagnostic::error(Code::InvalidArgument, "no")
            .note("why")
            .help("do");
        let expected = context.clone().note("caused by: entity not found");
        assert_eq!(
            diagnostics(missing().context(context).unwrap_err())[..],
            [expected]
        );
    }

    #[test]
    fn diagnostics_stay_as_they_are() {
        let both = Diagnostics::from_iter([
            Diagnostic::error(Code::Io, "a"),
            Diagnostic::warning(Code::Io, "b"),
        ]);
        assert_eq!(diagnostics(both.clone().into()), both);
    }
}
