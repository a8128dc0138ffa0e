//! Many diagnostics as few: whoever writes a file decides how much is wrong with it.

use std::collections::HashMap;

use super::code::{Code, Severity};
use super::diagnostics::Diagnostics;
use super::message::Diagnostic;

/// How many diagnostics of one weight and code are kept, and how many places and providers of one diagnostic. The
/// others are counted.
const MOST: usize = 1000;

/// Diagnostics, of which those that differ only in their places and providers are one.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    kept: Vec<Kept>,
    /// Where a diagnostic is, by itself without places and providers.
    known: HashMap<Diagnostic, usize>,
    codes: HashMap<(Code, Severity), OfCode>,
}

#[derive(Debug)]
struct Kept {
    diagnostic: Diagnostic,
    more_places: usize,
}

#[derive(Debug, Default)]
struct OfCode {
    kept: usize,
    more: usize,
    /// Where the last one is.
    last: usize,
}

impl Merged {
    /// Adds a diagnostic; one that is about a provider to one that says the same.
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        let key = Diagnostic { labels: Vec::new(), providers: Vec::new(), ..diagnostic.clone() };
        let known = self.known.get(&key).filter(|_| !diagnostic.providers.is_empty());
        if let Some(kept) = known.and_then(|known| self.kept.get_mut(*known)) {
            kept.add(diagnostic);
            return;
        }
        let of_code = self.codes.entry((diagnostic.code, diagnostic.severity)).or_default();
        if of_code.kept == MOST {
            of_code.more += 1;
            return;
        }
        (of_code.kept, of_code.last) = (of_code.kept + 1, self.kept.len());
        if !diagnostic.providers.is_empty() {
            self.known.insert(key, self.kept.len());
        }
        self.kept.push(Kept { diagnostic, more_places: 0 });
    }

    /// The diagnostics in the order in which they were added, with notes of how many more there were.
    pub(crate) fn into_diagnostics(mut self) -> Diagnostics {
        for Kept { diagnostic, more_places } in self.kept.iter_mut().filter(|kept| kept.more_places > 0) {
            diagnostic.notes.push(format!("{more_places} more places are left out"));
        }
        for OfCode { more, last, .. } in self.codes.values().filter(|of_code| of_code.more > 0) {
            if let Some(kept) = self.kept.get_mut(*last) {
                kept.diagnostic.notes.push(format!("{more} more of this kind are left out"));
            }
        }
        self.kept.into_iter().map(|kept| kept.diagnostic).collect()
    }
}

impl Kept {
    fn add(&mut self, other: Diagnostic) {
        for label in other.labels {
            if self.diagnostic.labels.len() >= MOST {
                self.more_places += 1;
            } else if !self.diagnostic.labels.contains(&label) {
                self.diagnostic.labels.push(label);
            }
        }
        for provider in other.providers {
            if self.diagnostic.providers.len() < MOST && !self.diagnostic.providers.contains(&provider) {
                self.diagnostic.providers.push(provider);
            }
        }
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
            merged.add(about("the same").at(place, ""));
        }
        for number in 0..5_000 {
            merged.add(about(&format!("number {number}")));
            merged.add(Diagnostic::error(Code::InvalidPackage, "the same"));
        }
        let found = merged.into_diagnostics();
        assert_eq!(found.len(), 2 * MOST);
        assert_eq!(
            (found[0].labels.len(), &found[0].notes[..]),
            (MOST, &["4000 more places are left out".to_owned()][..])
        );
        let notes: Vec<_> = found.iter().skip(1).flat_map(|diagnostic| &diagnostic.notes).collect();
        assert_eq!(notes, ["4001 more of this kind are left out", "4000 more of this kind are left out"]);
    }
}
