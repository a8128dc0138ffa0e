//! Functions that take regular expressions in the syntax of RE2. A pattern is understood if it has the same meaning to
//! the `regex` crates.

use regex_automata::PatternID;
use regex_automata::meta::{Config, Regex};
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;

use super::super::allowance::Allowance;
use super::super::value::{Attribute, Outcome, Type, Value, failure, unknown};
use super::function::Function;
use super::function::Parameter::Text;
use super::string::bounded;

pub(super) const FUNCTIONS: &[Function] = &[
    Function("regex", &[Text, Text], None, find),
    Function("regexall", &[Text, Text], None, find_all),
    Function("replace", &[Text, Text, Text], None, replace),
];

/// A pattern, and what it takes to match it against a byte.
struct Pattern<'a> {
    regex: Regex,
    text: &'a str,
    cost: usize,
    allowance: &'a Allowance,
}

impl<'a> Pattern<'a> {
    /// Compiles a pattern, which may be hostile, within bounds of memory.
    fn compile(pattern: &str, text: &'a str, allowance: &'a Allowance) -> Outcome<Self> {
        const LIMIT: usize = 1 << 20;
        let is_ascii = pattern.is_ascii() && text.is_ascii();
        let (translated, repeats) = translate(pattern, is_ascii)?;
        let cost = pattern.len().saturating_add(8).saturating_mul(repeats);
        allowance.spend(cost)?;
        let config = Config::new().nfa_size_limit(Some(LIMIT)).onepass_size_limit(Some(LIMIT));
        let config = config.dfa_size_limit(Some(LIMIT)).hybrid_cache_capacity(LIMIT);
        let syntax = syntax::Config::new().unicode(!is_ascii).utf8(!is_ascii).nest_limit(50);
        match Regex::builder().configure(config).syntax(syntax).build(&translated) {
            Ok(regex) => Ok(Self { regex, text, cost, allowance }),
            Err(_) => unknown("the regular expression is not one that can be used here"),
        }
    }

    /// Runs a step for each match. Finding one may take a walk over all of the rest.
    fn each(&self, limit: usize, mut step: impl FnMut(&Captures) -> Outcome<()>) -> Outcome<()> {
        let mut rest = self.text.len();
        let walk = |rest: usize| self.allowance.spend((rest + 16).saturating_mul(self.cost) / 64);
        walk(rest)?;
        for captures in self.regex.captures_iter(self.text).take(limit) {
            step(&captures)?;
            rest = self.text.len() - captures.get_match().map_or(0, |found| found.end());
            walk(rest)?;
        }
        Ok(())
    }

    /// The names of the groups, or `None` where they have none.
    fn group_names(&self) -> Outcome<Vec<Option<String>>> {
        let names = self.regex.group_info().pattern_names(PatternID::ZERO).skip(1);
        let names: Vec<_> = names.map(|name| name.map(str::to_owned)).collect();
        if names.iter().any(Option::is_some) && names.iter().any(Option::is_none) {
            return failure("some groups have names and others do not");
        }
        Ok(names)
    }

    /// The match, or its groups: named ones as an object.
    fn matched(&self, names: &[Option<String>], captures: &Captures) -> Outcome {
        let group = |index: usize| {
            let span = captures.get_group(index);
            span.map_or(Value::Null(Type::String), |span| Value::string(&self.text[span.range()]))
        };
        match names.first() {
            None => Ok(group(0)),
            Some(None) => Value::tuple((1..=names.len()).map(group).collect()),
            Some(Some(_)) => {
                let members = names.iter().zip(1..).filter_map(|(name, index)| Some((name.clone()?, group(index))));
                Value::object(members.collect())
            }
        }
    }
}

/// The type of what a match gives.
fn type_of_match(names: &[Option<String>]) -> Type {
    match names.first() {
        None => Type::String,
        Some(None) => Type::Tuple(vec![Type::String; names.len()]),
        Some(Some(_)) => {
            let attributes = names.iter().flatten().map(|name| (name.clone(), Attribute::required(Type::String)));
            Type::Object(attributes.collect())
        }
    }
}

/// The pattern as the `regex` crates write it, and how often its parts may be repeated; unknown if it contains anything
/// that may mean something else to them.
fn translate(pattern: &str, is_ascii: bool) -> Outcome<(String, usize)> {
    const MAX_REPEATS: usize = 1000;
    let mut translated = String::new();
    let mut repeats: usize = 1;
    let mut rest = pattern;
    let mut before = Before::Start;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        before = match (c, before) {
            ('*' | '+' | '?' | '{', Before::Item) => Before::Repetition,
            ('(' | '|' | '^' | '$', _) | ('?', Before::Repetition) => Before::Start,
            // RE2 refuses repetitions of nothing and of repetitions.
            ('*' | '+' | '?' | '{', _) => return foreign(),
            _ => Before::Item,
        };
        rest = match c {
            '\\' => escape(behind, is_ascii, false, &mut translated)?,
            '[' => class(behind, is_ascii, &mut translated)?,
            '{' => {
                let Some((counts, behind)) = behind.split_once('}') else { return foreign() };
                repeats = repeats.saturating_mul(highest(counts)?);
                translated.extend(["{", counts, "}"]);
                behind
            }
            '(' if behind.starts_with('?') => {
                let start = group_start(behind, is_ascii)?;
                translated.extend(["(", &behind[..start]]);
                &behind[start..]
            }
            c => {
                translated.push(c);
                behind
            }
        };
    }
    // RE2 refuses more, also of nested repetitions.
    if repeats > MAX_REPEATS { foreign() } else { Ok((translated, repeats)) }
}

/// What stands before a part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing that can be repeated.
    Start,
    Item,
    Repetition,
}

/// How often `{2}`, `{2,}` or `{2,5}` repeat at most, as far as that is bounded.
fn highest(counts: &str) -> Outcome<usize> {
    let (low, high) = counts.split_once(',').unwrap_or((counts, counts));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let high = if high.is_empty() { low } else { high };
    match (low.parse::<usize>(), high.parse::<usize>()) {
        (Ok(from), Ok(to)) if is_number(low) && is_number(high) && from <= to => Ok(to.max(1)),
        _ => foreign(),
    }
}

/// How long the start of a group is, such as `?:`. Other flags and looks are foreign.
fn group_start(rest: &str, is_ascii: bool) -> Outcome<usize> {
    let plain = ["?:", "?s)", "?m)", "?s:", "?m:"];
    let ascii = ["?i)", "?i:"];
    if let Some(start) = plain.iter().chain(ascii.iter().filter(|_| is_ascii)).find(|start| rest.starts_with(**start)) {
        return Ok(start.len());
    }
    let name = rest.strip_prefix("?P<").or_else(|| rest.strip_prefix("?<"));
    match name.and_then(|name| name.split_once('>')) {
        Some((name, behind)) if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.is_empty() => {
            Ok(rest.len() - behind.len())
        }
        _ => foreign(),
    }
}

fn foreign<T>() -> Outcome<T> {
    unknown("the regular expression has parts that are not understood here")
}

/// Translates what follows a backslash, and returns the rest.
fn escape<'a>(rest: &'a str, is_ascii: bool, is_in_class: bool, translated: &mut String) -> Outcome<&'a str> {
    let Some(c) = rest.chars().next() else { return foreign() };
    match c {
        'd' => translated.push_str("[0-9]"),
        'D' => translated.push_str("[^0-9]"),
        'w' => translated.push_str("[0-9A-Za-z_]"),
        'W' => translated.push_str("[^0-9A-Za-z_]"),
        's' => translated.push_str("[\\t\\n\\x0c\\r ]"),
        'S' => translated.push_str("[^\\t\\n\\x0c\\r ]"),
        'b' | 'B' if is_ascii && !is_in_class => translated.extend(['\\', c]),
        'A' | 'z' if !is_in_class => translated.extend(['\\', c]),
        't' | 'n' | 'r' | 'f' | 'v' => translated.extend(['\\', c]),
        c if c.is_ascii_punctuation() => translated.extend(['\\', c]),
        _ => return foreign(),
    }
    Ok(&rest[c.len_utf8()..])
}

/// Translates a class, whose bracket has been read, and returns the rest.
fn class<'a>(mut rest: &'a str, is_ascii: bool, translated: &mut String) -> Outcome<&'a str> {
    translated.push('[');
    if let Some(behind) = rest.strip_prefix('^') {
        translated.push('^');
        rest = behind;
    }
    let mut is_first = true;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        if ["&&", "--", "~~"].iter().any(|operator| rest.starts_with(operator)) {
            return foreign();
        }
        rest = match c {
            ']' if is_first => return foreign(),
            ']' => {
                translated.push(']');
                return Ok(behind);
            }
            '[' => {
                let Some((name, behind)) = behind.strip_prefix(':').and_then(|name| name.split_once(":]")) else {
                    return foreign();
                };
                translated.extend(["[:", name, ":]"]);
                behind
            }
            '\\' => escape(behind, is_ascii, true, translated)?,
            c => {
                translated.push(c);
                behind
            }
        };
        is_first = false;
    }
    foreign()
}

fn find(arguments: &[Value], allowance: &Allowance) -> Outcome {
    let text = arguments[1].as_string()?;
    let pattern = Pattern::compile(&arguments[0].as_string()?, &text, allowance)?;
    let names = pattern.group_names()?;
    let mut found = None;
    pattern.each(1, |captures| {
        found = Some(pattern.matched(&names, captures)?);
        Ok(())
    })?;
    found.map_or_else(|| failure("the text does not match"), Ok)
}

fn find_all(arguments: &[Value], allowance: &Allowance) -> Outcome {
    let text = arguments[1].as_string()?;
    let pattern = Pattern::compile(&arguments[0].as_string()?, &text, allowance)?;
    let names = pattern.group_names()?;
    let mut found = Vec::new();
    pattern.each(usize::MAX, |captures| {
        found.push(pattern.matched(&names, captures)?);
        Ok(())
    })?;
    Value::list(type_of_match(&names), found)
}

/// `replace`, where a pattern between slashes is a regular expression.
fn replace(arguments: &[Value], allowance: &Allowance) -> Outcome {
    let [text, pattern, replacement] =
        [arguments[0].as_string()?, arguments[1].as_string()?, arguments[2].as_string()?];
    let regular = pattern.strip_prefix('/').and_then(|pattern| pattern.strip_suffix('/'));
    let Some(regular) = regular else {
        bounded(text.matches(&*pattern).count().saturating_mul(replacement.len()))?;
        return Ok(Value::string(text.replace(&*pattern, &replacement)));
    };
    let pattern = Pattern::compile(regular, &text, allowance)?;
    let mut result = String::new();
    let mut end = 0;
    pattern.each(usize::MAX, |captures| {
        let Some(whole) = captures.get_match() else { return Ok(()) };
        result.push_str(&text[end..whole.start()]);
        captures.interpolate_string_into(&text, &replacement, &mut result);
        end = whole.end();
        bounded(result.len())
    })?;
    result.push_str(&text[end..]);
    Ok(Value::string(result))
}
