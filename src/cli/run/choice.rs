//! `upgrade -i`: the user chooses on a terminal what moves.

use std::collections::{BTreeMap, BTreeSet};

use provlock::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use provlock::project::{Subject, UpgradeOptions};
use provlock::provider::ProviderSpec;

use crate::cli::render::upgrade::{MoveGroup, numbered_table};
use crate::cli::ui::{Ui, can_ask, table_columns};

const QUESTION: &str =
    "Which ones to upgrade? Numbers as in 1 2 or 1,3-5, or all; Enter or q for none: ";

/// Fails without a terminal.
pub(crate) fn check_terminal() -> Result<()> {
    if can_ask() {
        return Ok(());
    }
    let message = "upgrade -i needs a terminal, and stdin or stderr is not one";
    let help = Help::text("name what is to move, as in: ").and(Remedy::upgrade("hashicorp/aws"));
    Err(Diagnostic::error(Code::InvalidArgument, message)
        .help(help.and_text("; --check lists what can"))
        .into())
}

/// Lets the user choose among the groups that can move, and narrows the options to the chosen ones.
/// Returns whether there is anything left to do: yes, too, if no group can move.
pub(crate) fn choose_moves(
    groups: &[MoveGroup<'_>],
    options: &mut UpgradeOptions,
    ui: &Ui,
) -> bool {
    let movable: Vec<_> = groups
        .iter()
        .filter(|group| !group.first.allowed().is_empty())
        .collect();
    // There is nothing to choose. The run goes on, and shows which versions are held back.
    if movable.is_empty() {
        return true;
    }
    let mut text = numbered_table(&movable, table_columns());
    let numbers = loop {
        let Some(answer) = ui.ask(&format!("{text}{QUESTION}")) else {
            // The input has ended.
            break BTreeSet::new();
        };
        match parse_numbers(&answer, movable.len()) {
            Some(numbers) => break numbers,
            None => {
                text = format!(
                    "{:?} is not a choice between 1 and {}.\n",
                    answer.trim(),
                    movable.len()
                );
            }
        }
    };
    let chosen: Vec<_> = numbers.iter().map(|number| movable[number - 1]).collect();
    narrow_options(options, &chosen);
    !options.lock.providers.is_empty() || !options.calls.is_empty()
}

/// Narrows the options to the moves of the chosen groups. A provider or a module that was named
/// with a version keeps it.
fn narrow_options(options: &mut UpgradeOptions, groups: &[&MoveGroup<'_>]) {
    let mut moves = BTreeSet::new();
    let mut versions_of_calls = BTreeMap::new();
    for group in groups {
        moves.extend(group.provider_moves());
        if let Subject::Module { key, .. } = &group.first.planned.subject {
            // The version to move to, if the user named one.
            let named_version = options.calls.get(key).cloned().flatten();
            versions_of_calls.insert(key.clone(), named_version);
        }
    }
    let addresses: BTreeSet<_> = moves.iter().map(|(address, _)| address).collect();

    let providers = &mut options.lock.providers;
    providers.retain(|spec| {
        spec.version().is_some() && addresses.iter().any(|address| spec.is_short_for(address))
    });
    // A provider may be in the list twice, with a version and without. The version counts.
    providers.extend(addresses.into_iter().map(ProviderSpec::from_address));
    options.calls = versions_of_calls;
    // The chosen calls are named one by one.
    options.modules = false;
    options.moves = Some(moves);
}

/// Parses an answer such as `1,3-5`, `1 3`, `all`, or `q` for none. Returns `None` for any other
/// answer, and for numbers above `most`.
fn parse_numbers(answer: &str, most: usize) -> Option<BTreeSet<usize>> {
    let mut numbers = BTreeSet::new();
    if matches!(answer.trim(), "q" | "quit" | "none") {
        return Some(numbers);
    }
    for part in answer.split([',', ' ', '\t', '\r', '\n']) {
        if part.is_empty() {
            continue;
        }
        if part == "all" {
            numbers.extend(1..=most);
        } else if let Some((first, last)) = part.split_once('-') {
            let first = parse_number(first, most)?;
            let last = parse_number(last, most)?;
            if first > last {
                return None;
            }
            numbers.extend(first..=last);
        } else {
            numbers.insert(parse_number(part, most)?);
        }
    }
    Some(numbers)
}

/// Parses a number from 1 to `most`.
fn parse_number(text: &str, most: usize) -> Option<usize> {
    let number = text.trim().parse().ok()?;
    if number < 1 || number > most {
        return None;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_numbers_ranges_or_all() {
        for (answer, expected) in [
            ("", Some(&[][..])),
            ("\n", Some(&[])),
            ("2\n", Some(&[2])),
            ("1,3-5\r\n", Some(&[1, 3, 4, 5])),
            (" 5 1, 1\n", Some(&[1, 5])),
            ("all\n", Some(&[1, 2, 3, 4, 5])),
            ("5-1\n", None),
            ("0", None),
            ("6", None),
            ("1-6", None),
            ("-", None),
            ("-1", None),
            ("1,x", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(
                parse_numbers(answer, 5),
                expected.map(|numbers| numbers.iter().copied().collect()),
                "{answer:?}"
            );
        }
    }
}
