//! Several diagnostics as one error.

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use super::message::Diagnostic;

/// The result of something that can fail for a reason that the user must see.
pub type Result<T> = std::result::Result<T, Diagnostics>;

/// Reasons why something could not be done, in the order in which they are shown.
///
/// An empty list collects errors; [`Diagnostics::into_result`] fails if there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq, derive_more::IntoIterator)]
pub struct Diagnostics(#[into_iterator(owned, ref)] Vec<Diagnostic>);

impl Diagnostics {
    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Changes each diagnostic.
    #[must_use]
    pub fn map(self, change: impl FnMut(Diagnostic) -> Diagnostic) -> Self {
        self.0.into_iter().map(change).collect()
    }

    /// `value` if there are no diagnostics.
    ///
    /// # Errors
    /// The diagnostics, if there are any.
    pub fn into_result<T>(self, value: T) -> Result<T> {
        if self.is_empty() {
            Ok(value)
        } else {
            Err(self)
        }
    }
}

/// Returns the values of all results. Unlike `collect`, it goes on after the first error.
///
/// # Errors
/// The errors of all results that failed.
pub(crate) fn collect_all<T, C: FromIterator<T>>(
    results: impl IntoIterator<Item = Result<T>>,
) -> Result<C> {
    let mut errors = Diagnostics::default();
    let mut values = Vec::new();
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(more) => errors.extend(more),
        }
    }
    errors.into_result(values.into_iter().collect())
}

impl Deref for Diagnostics {
    type Target = [Diagnostic];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self(diagnostics.into_iter().collect())
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        self.0.extend(diagnostics);
    }
}

/// The messages, one a line; the places are for a renderer.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.iter().map(Diagnostic::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl Error for Diagnostics {}
