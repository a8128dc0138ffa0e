//! Messages that name things, so that several diagnostics with one next step can be one.

use std::collections::BTreeSet;

use super::words::{MOST_NAMED, count, joined_with_and};

/// A message with lists of names. Diagnostics whose patterns differ only in the names are folded
/// into one, which names all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Text(String),
    /// Names, and the noun for more than a message shows.
    Names {
        names: BTreeSet<String>,
        noun: &'static str,
    },
    /// A verb for one name of the list before it, and for several.
    Verb {
        one: &'static str,
        many: &'static str,
    },
}

impl Pattern {
    /// A message that begins with words, which may be empty.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// The names in the lists with a noun.
    pub(crate) fn names(&self, noun: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for part in &self.0 {
            if let Part::Names { names, noun: other } = part
                && *other == noun
            {
                all.extend(names.iter().cloned());
            }
        }
        all
    }

    /// The same message without some of the names in its lists with a noun.
    #[must_use]
    pub(crate) fn omitting(mut self, noun: &str, removed: &BTreeSet<String>) -> Self {
        for part in &mut self.0 {
            if let Part::Names { names, noun: other } = part
                && *other == noun
            {
                names.retain(|name| !removed.contains(name));
            }
        }
        self
    }

    /// Adds words.
    #[must_use]
    pub(crate) fn and_text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Adds a list of names.
    #[must_use]
    pub(crate) fn and_names(
        mut self,
        noun: &'static str,
        names: impl IntoIterator<Item = String>,
    ) -> Self {
        let names = names.into_iter().collect();
        self.0.push(Part::Names { names, noun });
        self
    }

    /// Adds the verb for the names before it.
    #[must_use]
    pub(crate) fn and_verb(mut self, one: &'static str, many: &'static str) -> Self {
        self.0.push(Part::Verb { one, many });
        self
    }

    /// The message: `no h1 of 8 providers for darwin_arm64 is recorded`.
    pub fn message(&self) -> String {
        let mut message = String::new();
        let mut number = 1;
        for part in &self.0 {
            match part {
                Part::Text(text) => message += text,
                Part::Names { names, noun } => {
                    number = names.len();
                    message += &listed(names, noun);
                }
                Part::Verb { one, many } => message += if number == 1 { one } else { many },
            }
        }
        message
    }

    /// The pattern without its names. Diagnostics with the same are folded.
    #[must_use]
    pub fn without_names(&self) -> Self {
        let mut pattern = self.clone();
        for part in &mut pattern.0 {
            if let Part::Names { names, .. } = part {
                names.clear();
            }
        }
        pattern
    }

    /// Adds the names of a pattern with the same words.
    pub fn add_names(&mut self, other: &Self) {
        for (part, other) in self.0.iter_mut().zip(&other.0) {
            if let (Part::Names { names, .. }, Part::Names { names: more, .. }) = (part, other) {
                names.extend(more.iter().cloned());
            }
        }
    }

    /// The names of the first list, if the message contains only their number.
    pub(super) fn all_names(&self) -> Option<String> {
        const MOST: usize = 50;
        for part in &self.0 {
            if let Part::Names { names, .. } = part {
                if names.len() <= MOST_NAMED {
                    return None;
                }
                let mut shown: Vec<_> = names.iter().take(MOST).cloned().collect();
                if names.len() > MOST {
                    shown.push(format!("{} more", names.len() - MOST));
                }
                return Some(joined_with_and(shown));
            }
        }
        None
    }

    /// The names of all lists but the first: the facts about the things that the first one names.
    pub(super) fn details(&self) -> Vec<&BTreeSet<String>> {
        let mut lists = Vec::new();
        for part in &self.0 {
            if let Part::Names { names, .. } = part {
                lists.push(names);
            }
        }
        lists.split_off(lists.len().min(1))
    }
}

/// `linux_amd64 and darwin_arm64`, or `8 providers`; `…` in a pattern without names.
fn listed(names: &BTreeSet<String>, noun: &str) -> String {
    if names.is_empty() {
        "…".to_owned()
    } else if names.len() > MOST_NAMED {
        count(names.len(), noun)
    } else {
        joined_with_and(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_follows_the_number_of_names() {
        let comes = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned());
            let pattern = Pattern::text("").and_names("module", names);
            pattern
                .and_verb(" comes", " come")
                .and_text(" from x")
                .message()
        };
        assert_eq!(comes(&["a"]), "a comes from x");
        assert_eq!(comes(&["a", "b"]), "a and b come from x");
        assert_eq!(comes(&["a", "b", "c", "d"]), "4 modules come from x");
    }
}
