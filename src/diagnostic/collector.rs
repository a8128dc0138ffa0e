//! Collects diagnostics up to a limit, because the author of a file decides how many errors it
//! contains.

use std::collections::HashMap;
use std::mem::take;

use super::code::{Code, Severity};
use super::diagnostics::{Diagnostics, Result};
use super::message::Diagnostic;

/// Maximum number of positions and of providers of a diagnostic.
const MOST: usize = 1000;

/// Returns the maximum number of diagnostics of one severity and code that are kept of each root
/// module. The others are counted.
///
/// | root modules in the run | of each |
/// | --- | --- |
/// | up to 5 | 1,000 |
/// | 6 to 499 | 5,000 divided by their number |
/// | 500 or more | 10 |
fn most_of_a_code(roots: usize) -> usize {
    (5_000 / roots.max(1)).clamp(10, MOST)
}

/// Collects diagnostics, and counts the ones past a limit.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// Number of root modules in the run; 0 is treated as 1.
    roots: usize,
    kept: Vec<Diagnostic>,
    /// Indexes in `kept` of the diagnostics that others may be merged into, by the diagnostic
    /// without positions and providers.
    merged: HashMap<Diagnostic, usize>,
    codes: HashMap<(Code, Severity), OfCode>,
    /// Number of diagnostics that were added.
    added: usize,
}

#[derive(Debug, Default)]
struct OfCode {
    kept: usize,
    left_out: usize,
    /// Index of the last one.
    last: usize,
}

impl Collector {
    /// A collector for a root module of a run with this number of them.
    pub(crate) fn for_one_of(roots: usize) -> Self {
        Self {
            roots,
            ..Self::default()
        }
    }

    /// Adds a diagnostic.
    pub(crate) fn push(&mut self, mut diagnostic: Diagnostic) {
        self.added += 1;
        let of_code = self
            .codes
            .entry((diagnostic.code, diagnostic.severity))
            .or_default();
        of_code.left_out += take(&mut diagnostic.left_out);
        // Further ones are counted only, because a file may have any number of them.
        if of_code.kept == most_of_a_code(self.roots) {
            of_code.left_out += 1;
            return;
        }
        (of_code.kept, of_code.last) = (of_code.kept + 1, self.kept.len());
        self.kept.push(diagnostic);
    }

    /// Adds a diagnostic. If it differs from a merged diagnostic only in its locations and
    /// providers, these are added to it.
    pub(crate) fn merge(&mut self, mut diagnostic: Diagnostic) {
        let labels = take(&mut diagnostic.labels);
        let providers = take(&mut diagnostic.providers);
        let more_labels = take(&mut diagnostic.more_labels);
        let Some(merged) = self
            .merged
            .get(&diagnostic)
            .and_then(|index| self.kept.get_mut(*index))
        else {
            // The key has no locations and no providers, in which merged diagnostics differ.
            let key = diagnostic.clone();
            let index = self.kept.len();
            self.push(Diagnostic {
                labels,
                providers,
                more_labels,
                ..diagnostic
            });
            // No other one can be merged into a diagnostic that was left out.
            if self.kept.len() > index {
                self.merged.insert(key, index);
            }
            return;
        };
        self.added += 1;
        merged.more_labels += more_labels;
        for label in labels {
            // A file may repeat a fault many times. Further locations are counted, not kept.
            if merged.labels.len() >= MOST {
                merged.more_labels += 1;
            } else if !merged.labels.contains(&label) {
                merged.labels.push(label);
            }
        }
        for provider in providers {
            if merged.providers.len() < MOST && !merged.providers.contains(&provider) {
                merged.providers.push(provider);
            }
        }
    }

    /// Returns the diagnostics, each [merged](Collector::merge) with equal ones.
    pub(crate) fn merged(
        mut self,
        diagnostics: impl IntoIterator<Item = Diagnostic>,
    ) -> Diagnostics {
        diagnostics
            .into_iter()
            .for_each(|diagnostic| self.merge(diagnostic));
        self.into_diagnostics()
    }

    /// Number of diagnostics that were added.
    pub(crate) fn added(&self) -> usize {
        self.added
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.added == 0
    }

    /// The diagnostics that are kept.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.kept.iter()
    }

    /// Returns the diagnostics in the order in which they were added, with the numbers of omitted
    /// ones.
    pub(crate) fn into_diagnostics(mut self) -> Diagnostics {
        for OfCode { left_out, last, .. } in self.codes.values() {
            if let Some(kept) = self.kept.get_mut(*last) {
                kept.left_out = *left_out;
            }
        }
        self.kept.into_iter().collect()
    }

    /// `value` if there are no diagnostics.
    pub(crate) fn into_result<T>(self, value: T) -> Result<T> {
        self.into_diagnostics().into_result(value)
    }
}

impl Extend<Diagnostic> for Collector {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        diagnostics
            .into_iter()
            .for_each(|diagnostic| self.push(diagnostic));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Location;
    use crate::provider::{Dialect, ProviderAddress};

    #[test]
    fn past_a_thousand_of_a_kind_they_are_counted() {
        let about = |message: &str| {
            let mut diagnostic = Diagnostic::finding(Code::Io, message);
            diagnostic
                .providers
                .push(ProviderAddress::parse("acme/a", Dialect::Tofu).unwrap());
            diagnostic
        };
        let mut merged = Collector::default();
        for line in 0..5_000 {
            let place = Location::of_file(std::path::Path::new(&format!("{line}.tf")));
            merged.merge(about("the same").at_location(place));
        }
        for number in 0..5_000 {
            merged.merge(about(&format!("number {number}")));
            merged.push(Diagnostic::error(Code::InvalidPackage, "the same"));
        }
        let found = merged.into_diagnostics();
        assert_eq!(found.len(), 2 * MOST);
        assert_eq!(
            (
                found[0].labels.len(),
                found[0].more_labels,
                found[0].left_out
            ),
            (MOST, 4000, 0)
        );
        let left_out = |found: &Diagnostics| -> Vec<usize> {
            found
                .iter()
                .map(|diagnostic| diagnostic.left_out)
                .filter(|left_out| *left_out > 0)
                .collect()
        };
        assert_eq!(left_out(&found), [4001, 4000]);
        let notes: Vec<_> = found
            .last()
            .into_iter()
            .flat_map(Diagnostic::all_notes)
            .collect();
        assert_eq!(notes, ["4000 more of this kind are omitted"]);
        // Diagnostics that were omitted before are counted, too.
        let mut again = Collector::default();
        again.extend(found.iter().chain(found.iter()).cloned());
        assert_eq!(again.added(), 4 * MOST);
        assert_eq!(
            left_out(&again.into_diagnostics()),
            [2 * 4001 + MOST, 2 * 4000 + MOST]
        );
        for (roots, most) in [(1, MOST), (5, MOST), (100, 50), (100_000, 10)] {
            let mut of_one = Collector::for_one_of(roots);
            of_one.extend(found.iter().cloned());
            let of_one = of_one.into_diagnostics();
            assert_eq!(of_one.len(), 2 * most, "{roots}");
            assert_eq!(
                left_out(&of_one),
                [4001 + MOST - most, 4000 + MOST - most],
                "{roots}"
            );
        }
    }
}
