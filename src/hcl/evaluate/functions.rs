//! Functions of OpenTofu's and Terraform's language that depend on their arguments alone
//! (<https://opentofu.org/docs/language/functions/>): the functions that real configurations call where a source or a
//! version depends on them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::literal::{from_json, json};
use super::value::{Members, Piece, Stop, Value, ensure_one_type, equals, kinds};
use super::yaml;

/// Longest text that a function builds from shorter ones, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// Calls a function. Arguments that fail are passed to `try` and `can` alone.
pub(crate) fn call(name: &str, arguments: &[Value]) -> Result<Value, Stop> {
    match (name, arguments) {
        ("try", _) => match arguments
            .iter()
            .find(|argument| argument.ensure_not_failed().is_ok())
        {
            Some(value) => Ok(value.clone()),
            None => Err(Stop::failure("all arguments fail")),
        },
        ("can", [value]) => match value.ensure_not_failed() {
            Ok(()) => value.known().map(|_| Value::Bool(true)),
            Err(_) => Ok(Value::Bool(false)),
        },
        ("tostring" | "tonumber" | "tobool" | "tolist" | "tomap", [value]) => {
            convert_by_name(name, value)
        }
        (
            "lower" | "upper" | "trimspace" | "basename" | "dirname" | "abspath" | "pathexpand",
            [text],
        ) => call_with_text(name, &text.as_string()?),
        ("jsonencode", [value]) => Ok(Value::string(json(value)?)),
        ("jsondecode", [text]) => from_json(&text.as_string()?),
        ("yamldecode", [text]) => yaml::decode(&text.as_string()?),
        (
            "trim" | "trimprefix" | "trimsuffix" | "startswith" | "endswith" | "split",
            [one, two],
        ) => call_with_two_texts(name, &one.as_string()?, &two.as_string()?),
        ("join", [separator, lists @ ..]) if !lists.is_empty() => {
            join(&separator.as_string()?, lists)
        }
        ("replace", [text, part, by]) => {
            replace(&text.as_string()?, &part.as_string()?, &by.as_string()?)
        }
        ("format", [pattern, arguments @ ..]) => format(&pattern.as_string()?, arguments),
        ("length", [value]) => length(value),
        ("keys", [map]) => Value::strings(map.as_object()?.keys().map(String::as_str)),
        ("values", [map]) => Value::list(map.as_object()?.values().cloned().collect()),
        ("lookup", [map, key, default @ ..]) => {
            lookup(map.as_object()?, &key.as_string()?, default)
        }
        ("merge", maps) => merge(maps),
        ("coalesce", values) => coalesce(values),
        ("concat", [_, ..]) => concat(arguments),
        ("contains", [list, value]) => contains(list.known()?.as_list()?, value.known()?),
        _ => call_with_list(name, arguments),
    }
}

/// Calls a function of lists. A function that is not known is an error here.
fn call_with_list(name: &str, arguments: &[Value]) -> Result<Value, Stop> {
    match (name, arguments) {
        // An index beyond the end starts again at the first item.
        ("element", [list, index]) => match (list.as_list()?, usize::try_from(index.as_int()?)) {
            ([], _) => Err(Stop::failure("the list is empty")),
            (items, Ok(index)) => Ok(items[index % items.len()].clone()),
            (_, Err(_)) => Err(Stop::unknown(
                "a negative index has a meaning in some versions only",
            )),
        },
        ("compact", [list]) => {
            let mut texts = Vec::new();
            for item in list.as_list()? {
                if item.is_null() {
                    continue;
                }
                // It is not empty, whatever its unknown pieces are.
                if item.has_known_text() {
                    texts.push(item.clone());
                    continue;
                }
                let text = item.as_string()?;
                if !text.is_empty() {
                    texts.push(Value::String(text));
                }
            }
            Value::list(texts)
        }
        ("distinct", [list]) => {
            // Items of several types would be converted to one type before they are compared.
            ensure_one_type(list.known()?.as_list()?)?;
            let mut seen = BTreeSet::new();
            let mut items = Vec::new();
            for item in list.as_list()? {
                if seen.insert(json(item)?) {
                    items.push(item.clone());
                }
            }
            Value::list(items)
        }
        ("flatten", [list]) => {
            let mut flat = Vec::new();
            flatten(list.as_list()?, &mut flat)?;
            Value::list(flat)
        }
        ("range", [end]) => range(0, end.as_int()?),
        ("range", [start, end]) => range(start.as_int()?, end.as_int()?),
        _ => Err(Stop::unknown(format!("`{name}` is not evaluated"))),
    }
}

/// `tostring`, `tonumber`, `tobool`, `tolist` or `tomap`.
fn convert_by_name(name: &str, value: &Value) -> Result<Value, Stop> {
    match (name, value.known_except_items()?) {
        (_, Value::Null) => Err(Stop::unknown("a conversion of null depends on its type")),
        ("tostring", _) => value.as_string().map(Value::String),
        ("tonumber", _) => value.as_int().map(Value::Int),
        ("tobool", _) => value.as_bool().map(Value::Bool),
        ("tolist", _) => {
            ensure_one_type(value.as_list()?).and_then(|()| Value::list(value.as_list()?.to_vec()))
        }
        _ => ensure_one_type(value.as_object()?.values()).map(|()| value.clone()),
    }
}

/// Calls a function of one text.
fn call_with_text(name: &str, text: &str) -> Result<Value, Stop> {
    let result = match name {
        "lower" | "upper" if !text.is_ascii() => {
            return Err(Stop::unknown(
                "the case of text that is not ASCII is not computed",
            ));
        }
        "lower" => text.to_ascii_lowercase(),
        "upper" => text.to_ascii_uppercase(),
        "trimspace" => text.trim().to_owned(),
        // As Go's `filepath.Base`, which never returns an empty text.
        "basename" => match (text, text.trim_end_matches('/')) {
            ("", _) => ".".to_owned(),
            (_, "") => "/".to_owned(),
            (_, path) => path.rsplit('/').next().unwrap_or(path).to_owned(),
        },
        "dirname" => clean_path(&text[..text.rfind('/').map_or(0, |slash| slash + 1)]),
        "abspath" if text.starts_with('/') && cfg!(unix) => clean_path(text),
        "abspath" => return Err(Stop::unknown("the current directory is not known")),
        _ if text.starts_with('~') => return Err(Stop::unknown("the home directory is not read")),
        _ => text.to_owned(),
    };
    Ok(Value::string(result))
}

/// Returns the shortest equivalent of a path (Go's `path.Clean`): `a/./b/../c` is `a/c`.
pub(crate) fn clean_path(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    match (is_absolute, parts.join("/")) {
        (true, path) => format!("/{path}"),
        (false, path) if path.is_empty() => ".".to_owned(),
        (false, path) => path,
    }
}

/// Calls a function of two texts.
fn call_with_two_texts(name: &str, one: &str, two: &str) -> Result<Value, Stop> {
    Ok(match name {
        "trim" => Value::string(one.trim_matches(|c| two.contains(c))),
        "trimprefix" => Value::string(one.strip_prefix(two).unwrap_or(one)),
        "trimsuffix" => Value::string(one.strip_suffix(two).unwrap_or(one)),
        "startswith" => Value::Bool(one.starts_with(two)),
        "endswith" => Value::Bool(one.ends_with(two)),
        _ if one.is_empty() => {
            return Err(Stop::unknown("a split at every character is not computed"));
        }
        _ => return Value::strings(two.split(one)),
    })
}

/// Refuses to build a long text out of short ones.
fn ensure_short(length: usize) -> Result<(), Stop> {
    if length > MAX_TEXT {
        Err(Stop::unknown("the text is too long to be computed"))
    } else {
        Ok(())
    }
}

/// `join`. As in a template, only the pieces of unknown items are unknown.
fn join(separator: &str, lists: &[Value]) -> Result<Value, Stop> {
    let mut pieces = Vec::new();
    let mut length = 0;
    let mut is_first = true;
    for list in lists {
        for item in list.as_list()? {
            item.ensure_not_failed()?;
            length += separator.len() + item.weight();
            ensure_short(length)?;
            if !is_first {
                push_text(&mut pieces, separator);
            }
            is_first = false;
            match item {
                Value::Unknown(unknown) => pieces.push(Piece::Hole(Arc::clone(unknown))),
                Value::Partial(inner) => {
                    for piece in inner.iter() {
                        match piece {
                            Piece::Text(text) => push_text(&mut pieces, text),
                            piece => pieces.push(piece.clone()),
                        }
                    }
                }
                item => push_text(&mut pieces, &item.as_string()?),
            }
        }
    }
    Value::pieces(pieces)
}

/// Adds a text to the end of the pieces of a string.
fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// `replace`. A pattern between slashes is a regular expression of RE2.
fn replace(text: &str, part: &str, by: &str) -> Result<Value, Stop> {
    if part.len() > 1 && part.starts_with('/') && part.ends_with('/') {
        return Err(Stop::unknown("regular expressions are not evaluated"));
    }
    ensure_short(
        text.matches(part)
            .count()
            .saturating_mul(by.len())
            .saturating_add(text.len()),
    )?;
    Ok(Value::string(text.replace(part, by)))
}

/// `format` with the verbs `%s`, `%v`, `%d` and `%%`, without widths.
fn format(pattern: &str, arguments: &[Value]) -> Result<Value, Stop> {
    let mut text = String::new();
    let mut rest = pattern;
    let mut arguments = arguments.iter();
    while let Some((literal, verb)) = rest.split_once('%') {
        text.push_str(literal);
        let mut letters = verb.chars();
        let Some(letter) = letters.next() else {
            return Err(Stop::failure("the format ends within a verb"));
        };
        rest = letters.as_str();
        let argument = match letter {
            '%' => "%".into(),
            's' | 'v' | 'd' => match (letter, arguments.next()) {
                (_, None) => return Err(Stop::failure("too few arguments")),
                ('d', Some(argument)) => argument.as_int()?.to_string().into(),
                (_, Some(Value::Null | Value::List(_) | Value::Object(_))) => {
                    return Err(Stop::unknown(
                        "only strings, numbers and bools are formatted",
                    ));
                }
                (_, Some(argument)) => argument.as_string()?,
            },
            _ => return Err(Stop::unknown("this format is not evaluated")),
        };
        text.push_str(&argument);
        ensure_short(text.len())?;
    }
    match arguments.next() {
        None => Ok(Value::string(text + rest)),
        Some(_) => Err(Stop::unknown("too many arguments")),
    }
}

fn length(value: &Value) -> Result<Value, Stop> {
    match value.known_except_items()? {
        Value::Object(object) => Ok(Value::count(object.len())),
        Value::String(text) if text.is_ascii() && !text.contains("\r\n") => {
            Ok(Value::count(text.len()))
        }
        Value::String(_) => Err(Stop::unknown(
            "the length of text that is not ASCII is not computed",
        )),
        other => other.as_list().map(|items| Value::count(items.len())),
    }
}

/// `lookup`. The values of a map and the default have one type, the values of an object need not.
/// If the argument may be a map or an object, there is a result only if both rules give the same.
fn lookup(map: &Members, key: &str, default: &[Value]) -> Result<Value, Stop> {
    let [default] = default else {
        return match (map.get(key), default) {
            (Some(value), []) => Ok(value.clone()),
            (None, []) => Err(Stop::failure(
                "the key is not in the map, and there is no default",
            )),
            _ => Err(Stop::failure("takes a map, a key and perhaps a default")),
        };
    };
    let known: Vec<_> = kinds(map.values())
        .into_iter()
        .filter(|kind| *kind != "unknown")
        .collect();
    let is_primitive = matches!(default, Value::Bool(_) | Value::Int(_) | Value::String(_));
    if known.len() > 1 || known == [default.kind()] && is_primitive {
        return Ok(map.get(key).unwrap_or(default).clone());
    }
    Err(Stop::unknown(
        "whether the default has the type of the map's values is not computed",
    ))
}

/// The members of all. Null is skipped.
fn merge(maps: &[Value]) -> Result<Value, Stop> {
    let mut members = Members::new();
    for map in maps.iter().filter(|map| !map.is_null()) {
        members.extend(
            map.as_object()?
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
    }
    if !maps.is_empty() && maps.iter().all(Value::is_null) {
        return Err(Stop::unknown("a merge of nulls is not computed"));
    }
    Value::object(members)
}

/// The first value that is neither null nor empty.
fn coalesce(values: &[Value]) -> Result<Value, Stop> {
    ensure_one_type(values)?;
    for value in values {
        match value.known_except_items()? {
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            value => return Ok(value.clone()),
        }
    }
    Err(Stop::failure("all arguments are null or empty"))
}

/// `concat`. Lists, unlike tuples, have their items converted to one type; an empty list has any
/// type.
fn concat(lists: &[Value]) -> Result<Value, Stop> {
    let mut items = Vec::new();
    let mut has_list_without_type = false;
    for list in lists {
        let list = list.as_list()?;
        has_list_without_type |= list.iter().all(Value::is_null);
        items.extend(list);
    }

    // Strings need no conversion, whether the results are lists or tuples.
    let is_text = kinds(items.iter().copied())
        .iter()
        .all(|kind| matches!(*kind, "a string" | "unknown"));
    if lists.len() > 1 && !is_text {
        ensure_one_type(items.iter().copied())?;
        if has_list_without_type {
            return Err(Stop::unknown("the type of an empty list is not computed"));
        }
    }
    Value::list(items.into_iter().cloned().collect())
}

fn contains(items: &[Value], value: &Value) -> Result<Value, Stop> {
    if value.is_null() {
        return Err(Stop::failure("the searched value is null"));
    }
    for item in items {
        if equals(item, value)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn flatten(items: &[Value], flat: &mut Vec<Value>) -> Result<(), Stop> {
    for item in items {
        match item.known_except_items()? {
            Value::List(list) => flatten(list, flat)?,
            other => flat.push(other.clone()),
        }
    }
    Ok(())
}

/// The integers from `start` up or down to `end`, without it.
fn range(start: i64, end: i64) -> Result<Value, Stop> {
    if start.abs_diff(end) > 1024 {
        return Err(Stop::failure("more than 1024 numbers"));
    }
    let numbers: Vec<i64> = if start <= end {
        (start..end).collect()
    } else {
        (end + 1..=start).rev().collect()
    };
    Value::list(numbers.into_iter().map(Value::Int).collect())
}
