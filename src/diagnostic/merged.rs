//! Merges many diagnostics into few, because the author of a file decides how many errors it contains.

use std::collections::HashMap;

use super::code::{Code, Severity};
use super::diagnostics::{Diagnostics, Result};
use super::message::Diagnostic;

/// How many diagnostics of one weight and code are kept, and how many places and providers of one diagnostic. The
/// others are counted.
const MOST: usize = 1000;

/// How many diagnostics of one weight and code are kept of all root modules of a run, and of each of very many.
const MOST_OF_ROOTS: usize = 5_000;
const MOST_OF_SMALL_PART: usize = 10;

/// Collects diagnostics, and counts those past a limit.
#[derive(Debug)]
pub(crate) struct Merged {
    /// Maximum number of diagnostics of one weight and code.
    most: usize,
    kept: Vec<Diagnostic>,
    /// Number of omitted positions of the diagnostic at an index.
    more_places: HashMap<usize, usize>,
    /// Index of a diagnostic that others may be merged with, by itself without positions and providers.
    known: HashMap<Diagnostic, usize>,
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

impl Diagnostics {
    /// Merges diagnostics that differ only in their locations and providers.
    #[must_use]
    pub fn merged(self) -> Self {
        let mut merged = Merged::default();
        self.into_iter().for_each(|diagnostic| merged.merge(diagnostic));
        merged.into_diagnostics()
    }
}

impl Default for Merged {
    fn default() -> Self {
        Self::of_one_of(1)
    }
}

impl Merged {
    /// A list for one of so many root modules: the more there are, the fewer of each are kept.
    pub(crate) fn of_one_of(roots: usize) -> Self {
        let most = (MOST_OF_ROOTS / roots.max(1)).clamp(MOST_OF_SMALL_PART, MOST);
        Self {
            most,
            kept: Vec::new(),
            more_places: HashMap::new(),
            known: HashMap::new(),
            codes: HashMap::new(),
            added: 0,
        }
    }

    /// Adds a diagnostic.
    pub(crate) fn push(&mut self, mut diagnostic: Diagnostic) {
        self.added += 1;
        let of_code = self.codes.entry((diagnostic.code, diagnostic.severity)).or_default();
        of_code.left_out += std::mem::take(&mut diagnostic.left_out);
        if of_code.kept == self.most {
            of_code.left_out += 1;
            return;
        }
        (of_code.kept, of_code.last) = (of_code.kept + 1, self.kept.len());
        self.kept.push(diagnostic);
    }

    /// Adds a diagnostic. If it differs from a merged diagnostic only in its locations and providers, these are added
    /// to it.
    pub(crate) fn merge(&mut self, mut diagnostic: Diagnostic) {
        let (labels, providers) = (std::mem::take(&mut diagnostic.labels), std::mem::take(&mut diagnostic.providers));
        let Some((kept, index)) =
            self.known.get(&diagnostic).and_then(|index| Some((self.kept.get_mut(*index)?, *index)))
        else {
            let (key, index) = (diagnostic.clone(), self.kept.len());
            self.push(Diagnostic { labels, providers, ..diagnostic });
            if self.kept.len() > index {
                self.known.insert(key, index);
            }
            return;
        };
        self.added += 1;
        for label in labels {
            if kept.labels.len() >= MOST {
                *self.more_places.entry(index).or_default() += 1;
            } else if !kept.labels.contains(&label) {
                kept.labels.push(label);
            }
        }
        for provider in providers {
            if kept.providers.len() < MOST && !kept.providers.contains(&provider) {
                kept.providers.push(provider);
            }
        }
    }

    /// How many diagnostics were added.
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

    /// The diagnostics in the order in which they were added, with how many more there were.
    pub(crate) fn into_diagnostics(mut self) -> Diagnostics {
        for (index, more) in self.more_places {
            self.kept[index].notes.push(format!("{more} more positions are omitted"));
        }
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

impl Extend<Diagnostic> for Merged {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        diagnostics.into_iter().for_each(|diagnostic| self.push(diagnostic));
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
            diagnostic.providers.push(ProviderAddress::parse("acme/a", Dialect::Tofu).unwrap());
            diagnostic
        };
        let mut merged = Merged::default();
        for line in 0..5_000 {
            let place = Location::of_file(std::path::Path::new(&format!("{line}.tf")));
            merged.merge(about("the same").at(place, ""));
        }
        for number in 0..5_000 {
            merged.merge(about(&format!("number {number}")));
            merged.push(Diagnostic::error(Code::InvalidPackage, "the same"));
        }
        let found = merged.into_diagnostics();
        assert_eq!(found.len(), 2 * MOST);
        assert_eq!(found[0].notes, ["4000 more positions are omitted"]);
        assert_eq!((found[0].labels.len(), found[0].left_out), (MOST, 0));
        let left_out = |found: &Diagnostics| -> Vec<usize> {
            found.iter().map(|diagnostic| diagnostic.left_out).filter(|left_out| *left_out > 0).collect()
        };
        assert_eq!(left_out(&found), [4001, 4000]);
        let notes: Vec<_> = found.last().into_iter().flat_map(Diagnostic::all_notes).collect();
        assert_eq!(notes, ["4000 more of this kind are omitted"]);
        // Diagnostics that were omitted before are counted, too.
        let mut again = Merged::default();
        again.extend(found.iter().chain(found.iter()).cloned());
        assert_eq!(again.added(), 4 * MOST);
        assert_eq!(left_out(&again.into_diagnostics()), [2 * 4001 + MOST, 2 * 4000 + MOST]);
        for (roots, most) in [(1, MOST), (5, MOST), (100, 50), (100_000, 10)] {
            let mut of_one = Merged::of_one_of(roots);
            of_one.extend(found.iter().cloned());
            let of_one = of_one.into_diagnostics();
            assert_eq!(of_one.len(), 2 * most, "{roots}");
            assert_eq!(left_out(&of_one), [4001 + MOST - most, 4000 + MOST - most], "{roots}");
        }
    }
}
