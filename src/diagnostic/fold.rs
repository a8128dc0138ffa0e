//! Folds diagnostics with the same next step into one.

use super::message::Diagnostic;
use super::remedy::Help;
use super::words::joined_with_and;

/// Folds diagnostics that have the same next step into the first one of them.
pub(crate) fn fold(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut groups: Vec<Vec<Diagnostic>> = Vec::new();
    // Indexes of the groups that others may join.
    let mut with_patterns: Vec<usize> = Vec::new();
    for diagnostic in diagnostics {
        // Only a pattern can be worded for several providers or files.
        if diagnostic.pattern.is_none() {
            groups.push(vec![diagnostic]);
            continue;
        }
        let same_group = with_patterns
            .iter()
            .find(|index| has_same_next_step(&groups[**index][0], &diagnostic));
        if let Some(index) = same_group {
            groups[*index].push(diagnostic);
        } else {
            with_patterns.push(groups.len());
            groups.push(vec![diagnostic]);
        }
    }
    groups.into_iter().filter_map(fold_group).collect()
}

/// Whether two diagnostics differ only in the names, locations and providers.
fn has_same_next_step(one: &Diagnostic, other: &Diagnostic) -> bool {
    let (Some(pattern), Some(other_pattern)) = (&one.pattern, &other.pattern) else {
        return false;
    };
    one.code == other.code
        && one.severity == other.severity
        && one.help.as_ref().map(Help::without_names)
            == other.help.as_ref().map(Help::without_names)
        && one.notes == other.notes
        && pattern.without_names() == other_pattern.without_names()
}

/// Folds the diagnostics of a group into the first; `None` if there are none.
fn fold_group(group: Vec<Diagnostic>) -> Option<Diagnostic> {
    let mut pattern = group.first()?.pattern.clone();
    let mut are_details_equal = true;
    // Details that all diagnostics have in common are not repeated at each location.
    for diagnostic in &group {
        if let (Some(all), Some(own)) = (&mut pattern, &diagnostic.pattern) {
            are_details_equal &= all.details() == own.details();
            all.add_names(own);
        }
    }

    let mut rest = group.into_iter();
    let mut folded = with_details_in_label(rest.next()?, are_details_equal);
    for diagnostic in rest {
        let part = with_details_in_label(diagnostic, are_details_equal);
        folded.labels.extend(part.labels);
        // The next step is the same, for the names of all.
        if let (Some(help), Some(other)) = (&mut folded.help, &part.help) {
            help.add_names_of(other);
        }
        folded.more_labels += part.more_labels;
        folded.left_out += part.left_out;
        for provider in part.providers {
            if !folded.providers.contains(&provider) {
                folded.providers.push(provider);
            }
        }
    }
    if let Some(pattern) = pattern {
        folded.message = pattern.message();
        folded.notes.extend(pattern.all_names());
        folded.pattern = Some(pattern);
    }
    Some(folded)
}

/// Writes the details of a diagnostic at its first location, unless they are the same for all.
fn with_details_in_label(mut diagnostic: Diagnostic, are_details_equal: bool) -> Diagnostic {
    if are_details_equal {
        return diagnostic;
    }
    if let (Some(pattern), Some(first)) = (&diagnostic.pattern, diagnostic.labels.first_mut())
        && first.text.is_empty()
    {
        first.text = joined_with_and(pattern.details().into_iter().flatten());
    }
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Code, Location, Pattern};

    fn missing(provider: &str, platforms: &[&str]) -> Diagnostic {
        let pattern = Pattern::text("no h1 of ")
            .and_names("provider", [provider.to_owned()])
            .and_text(" for ")
            .and_names("platform", platforms.iter().map(|name| (*name).to_owned()))
            .and_text(" is recorded");
        Diagnostic::finding(Code::PlatformMissing, pattern)
            .at_location(Location::of_file(provider))
            .help("lock")
    }

    #[test]
    fn diagnostics_with_the_same_next_step_become_one_that_names_all() {
        let folded = fold(vec![
            missing("a", &["linux_amd64", "linux_arm64"]),
            Diagnostic::error(Code::Io, "between"),
            missing("b", &["linux_arm64", "linux_amd64"]),
            missing("c", &["linux_amd64", "linux_arm64"]).help("something else"),
        ]);
        let messages: Vec<_> = folded.iter().map(|one| one.message.as_str()).collect();
        let expected = [
            "no h1 of a and b for linux_amd64 and linux_arm64 is recorded",
            "between",
            "no h1 of c for linux_amd64 and linux_arm64 is recorded",
        ];
        assert_eq!(messages, expected);
        assert!(folded[0].labels.iter().all(|label| label.text.is_empty()));
    }

    #[test]
    fn details_that_differ_are_at_their_locations_and_many_names_are_a_number() {
        let all = ["a", "b", "c", "d"].map(|name| missing(name, &["linux_amd64"]));
        let other = missing("e", &["linux_arm64"]);
        let folded = fold(all.into_iter().chain([other]).collect());
        assert_eq!(folded.len(), 1);
        assert_eq!(
            folded[0].message,
            "no h1 of 5 providers for linux_amd64 and linux_arm64 is recorded"
        );
        assert_eq!(folded[0].notes, ["a, b, c, d and e"]);
        let texts: Vec<_> = folded[0].labels.iter().map(|label| &*label.text).collect();
        assert_eq!(texts[3..], ["linux_amd64", "linux_arm64"]);
    }
}
