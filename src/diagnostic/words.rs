//! Numbers and lists in messages.

use std::fmt::Display;

/// Number of things that a message names.
pub const MOST_NAMED: usize = 3;

/// `1 provider`, `2 providers`, `3 hashes`, `4 entries`
pub fn count(number: usize, noun: &str) -> String {
    match noun.strip_suffix("ry") {
        _ if number == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ries"),
        None if noun.ends_with('h') => format!("{number} {noun}es"),
        None => format!("{number} {noun}s"),
    }
}

/// `a, b and c`
pub fn joined_with_and<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    let mut names: Vec<_> = names.into_iter().map(|name| name.to_string()).collect();
    match (names.pop(), &names[..]) {
        (None, _) => String::new(),
        (Some(one), []) => one,
        (Some(last), first) => format!("{} and {last}", first.join(", ")),
    }
}

/// `a, b, c and 9 more`
pub fn first_few<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    if let Some(more @ 1..) = names.len().checked_sub(MOST_NAMED) {
        names.truncate(MOST_NAMED);
        names.push(format!("{more} more"));
    }
    joined_with_and(names)
}

/// The known word that a misspelled one most likely stands for: at most a third of its letters
/// differ.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = typed.chars().count() / 3;
    let distances = known
        .into_iter()
        .map(|word| (strsim::osa_distance(typed, word), word));
    distances
        .filter(|(distance, _)| (1..=most).contains(distance))
        .min()
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_three_are_named() {
        for (number, expected) in [
            (0, ""),
            (1, "1"),
            (2, "1 and 2"),
            (3, "1, 2 and 3"),
            (5, "1, 2, 3 and 2 more"),
        ] {
            assert_eq!(first_few(1..=number), expected);
        }
        assert_eq!(
            [
                count(1, "hash"),
                count(0, "hash"),
                count(2, "root module"),
                count(3, "entry")
            ],
            ["1 hash", "0 hashes", "2 root modules", "3 entries"]
        );
    }
}
