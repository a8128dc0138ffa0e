//! Functions that take regular expressions in the syntax of RE2. The `regex` crates have the same, except for rare
//! classes.

use std::collections::BTreeMap;

use regex_automata::meta::{Config, Regex};
use regex_automata::util::captures::Captures;

use super::super::value::{Outcome, Value, failure, unknown};
use super::arguments::{bounded, take};

/// Calls a function whose arguments are fully known.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Outcome> {
    let outcome = match name {
        "regex" => find(arguments),
        "regexall" => find_all(arguments),
        "replace" => replace(arguments),
        _ => return None,
    };
    Some(outcome)
}

/// Compiles a pattern, which may be hostile, within bounds of memory.
fn compile(pattern: &str) -> Outcome<Regex> {
    const LIMIT: usize = 1 << 20;
    let config = Config::new().nfa_size_limit(Some(LIMIT)).onepass_size_limit(Some(LIMIT)).dfa_size_limit(Some(LIMIT));
    match Regex::builder().configure(config.hybrid_cache_capacity(LIMIT)).build(pattern) {
        Ok(regex) => Ok(regex),
        Err(_) => unknown("the regular expression is not one that can be used here"),
    }
}

fn find(arguments: &[Value]) -> Outcome {
    let [pattern, text] = take(arguments)?;
    let (regex, text) = (compile(&pattern.as_string()?)?, text.as_string()?);
    let mut captures = regex.create_captures();
    regex.captures(&*text, &mut captures);
    if captures.is_match() { matched(&captures, &text) } else { failure("the text does not match") }
}

fn find_all(arguments: &[Value]) -> Outcome {
    let [pattern, text] = take(arguments)?;
    let (regex, text) = (compile(&pattern.as_string()?)?, text.as_string()?);
    let matches = regex.captures_iter(&*text).map(|captures| matched(&captures, &text));
    Value::list(matches.collect::<Outcome<_>>()?)
}

/// The match, or its groups: named ones as an object.
fn matched(captures: &Captures, text: &str) -> Outcome {
    let group =
        |span: Option<regex_automata::Span>| span.map_or(Value::Null, |span| Value::string(&text[span.range()]));
    if captures.group_len() == 1 {
        return Ok(group(captures.get_group(0)));
    }
    let group_names = || captures.group_info().pattern_names(regex_automata::PatternID::ZERO).skip(1);
    if group_names().all(|name| name.is_none()) {
        return Value::list((1..captures.group_len()).map(|index| group(captures.get_group(index))).collect());
    }
    let members: BTreeMap<_, _> =
        group_names().filter_map(|name| Some((name?.to_owned(), group(captures.get_group_by_name(name?))))).collect();
    Value::object(members)
}

/// `replace`, where a pattern between slashes is a regular expression.
fn replace(arguments: &[Value]) -> Outcome {
    let [text, pattern, replacement] = take(arguments)?;
    let (text, pattern, replacement) = (text.as_string()?, pattern.as_string()?, replacement.as_string()?);
    let regular = pattern.strip_prefix('/').and_then(|pattern| pattern.strip_suffix('/'));
    let Some(regular) = regular else {
        bounded(text.matches(&*pattern).count().saturating_mul(replacement.len()))?;
        return Ok(Value::string(text.replace(&*pattern, &replacement)));
    };
    let regex = compile(regular)?;
    let mut result = String::new();
    let mut end = 0;
    for captures in regex.captures_iter(&*text) {
        let Some(whole) = captures.get_match() else { continue };
        result.push_str(&text[end..whole.start()]);
        captures.interpolate_string_into(&text, &replacement, &mut result);
        bounded(result.len())?;
        end = whole.end();
    }
    result.push_str(&text[end..]);
    Ok(Value::string(result))
}
