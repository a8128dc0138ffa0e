//! Functions on lists, sets, maps and objects.

use std::collections::BTreeMap;

use super::super::value::{Outcome, Value, exact, failure, unknown};
use super::arguments::take;

/// Calls a function whose result contains items of its arguments, which may be unknown.
pub(super) fn call_with_unknown_items(name: &str, arguments: &[Value]) -> Option<Outcome> {
    let outcome = match name {
        "try" => attempt(arguments),
        "can" => can(arguments),
        "merge" => merge(arguments),
        "concat" => concat(arguments),
        "lookup" => lookup(arguments),
        "element" => element(arguments),
        "keys" => keys(arguments),
        "values" => values(arguments),
        "length" => length(arguments),
        "tolist" | "toset" if matches!(arguments, [Value::List(list)] if name == "tolist" || list.items.is_empty()) => {
            Ok(arguments[0].clone())
        }
        "tomap" => take(arguments).and_then(|[map]| map.as_object().map(|_| map.clone())),
        "coalesce" => coalesce(arguments),
        "one" => one(arguments),
        _ => return None,
    };
    Some(outcome)
}

/// Calls a function whose arguments are fully known.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Outcome> {
    let outcome = match name {
        "contains" => take(arguments).and_then(|[list, item]| Ok(Value::Bool(list.as_list()?.contains(item)))),
        "index" => index(arguments),
        "compact" => compact(arguments),
        "distinct" => take(arguments).and_then(|[list]| distinct(list.as_list()?)),
        "flatten" => flatten(arguments),
        "reverse" => take(arguments).and_then(|[list]| Value::list(list.as_list()?.iter().rev().cloned().collect())),
        "slice" => slice(arguments),
        "sort" => sort(arguments),
        "toset" => toset(arguments),
        "range" => range(arguments),
        "zipmap" => zipmap(arguments),
        "chunklist" => chunklist(arguments),
        "coalescelist" => coalescelist(arguments),
        "matchkeys" | "transpose" | "setproduct" | "setunion" | "setintersection" | "setsubtract" => {
            unknown(format!("`{name}` is not evaluated"))
        }
        _ => return None,
    };
    Some(outcome)
}

/// The first argument that does not fail. Whether one that is not known would fail is not known either.
fn attempt(arguments: &[Value]) -> Outcome {
    let fails = |value: &&Value| matches!(value, Value::Unknown(unknown) if unknown.is_failure);
    match arguments.iter().find(|argument| !fails(argument)) {
        Some(value) => Ok(value.clone()),
        None => failure("all arguments fail"),
    }
}

fn can(arguments: &[Value]) -> Outcome {
    match take(arguments)? {
        [Value::Unknown(unknown)] if unknown.is_failure => Ok(Value::Bool(false)),
        [value] => value.known().map(|_| Value::Bool(true)),
    }
}

fn merge(arguments: &[Value]) -> Outcome {
    let mut members = BTreeMap::new();
    for argument in arguments.iter().filter(|argument| !matches!(argument, Value::Null)) {
        members.extend(argument.as_object()?.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    Value::object(members)
}

fn concat(arguments: &[Value]) -> Outcome {
    let mut items = Vec::new();
    for argument in arguments {
        items.extend_from_slice(argument.as_list()?);
    }
    Value::list(items)
}

fn lookup(arguments: &[Value]) -> Outcome {
    let ([map, key] | [map, key, _]) = arguments else { return failure("takes 2 or 3 arguments") };
    match (map.as_object()?.get(&*key.as_string()?), arguments.get(2)) {
        (Some(value), _) | (None, Some(value)) => Ok(value.clone()),
        (None, None) => failure("the key is not in the map, and there is no default"),
    }
}

fn element(arguments: &[Value]) -> Outcome {
    let [list, index] = take(arguments)?;
    let list = list.as_list()?;
    if list.is_empty() {
        return failure("the list is empty");
    }
    Ok(list[index.as_index()? % list.len()].clone())
}

fn keys(arguments: &[Value]) -> Outcome {
    let [map] = take(arguments)?;
    Value::list(map.as_object()?.keys().map(|key| Value::string(key.as_str())).collect())
}

fn values(arguments: &[Value]) -> Outcome {
    let [map] = take(arguments)?;
    Value::list(map.as_object()?.values().cloned().collect())
}

fn length(arguments: &[Value]) -> Outcome {
    let [value] = take(arguments)?;
    let length = match value.known_itself()? {
        Value::List(list) => list.items.len(),
        Value::Object(object) => object.members.len(),
        Value::String(text) if text.is_ascii() => text.len(),
        Value::String(_) => return unknown("the length of text that is not ASCII is not computed"),
        other => return failure(format!("{} has no length", other.kind())),
    };
    number(length)
}

fn coalesce(arguments: &[Value]) -> Outcome {
    for argument in arguments {
        match argument.known_itself()? {
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            value => return Ok(value.clone()),
        }
    }
    failure("all arguments are null or empty")
}

fn one(arguments: &[Value]) -> Outcome {
    match take(arguments)?.each_ref().map(Value::as_list) {
        [Ok([])] => Ok(Value::Null),
        [Ok([item])] => Ok(item.clone()),
        [Ok(_)] => failure("the list has more than one item"),
        [Err(stop)] => Err(stop),
    }
}

fn index(arguments: &[Value]) -> Outcome {
    let [list, item] = take(arguments)?;
    match list.as_list()?.iter().position(|other| other == item) {
        Some(position) => number(position),
        None => failure("the item is not in the list"),
    }
}

fn compact(arguments: &[Value]) -> Outcome {
    let [list] = take(arguments)?;
    let is_empty = |value: &&Value| matches!(value, Value::Null) || **value == Value::string("");
    Value::list(list.as_list()?.iter().filter(|value| !is_empty(value)).cloned().collect())
}

fn distinct(items: &[Value]) -> Outcome {
    // The comparison of all with all is bounded here; the lists of configurations are short.
    if items.len() > 1000 {
        return unknown("a list this long is not compared");
    }
    let mut distinct: Vec<Value> = Vec::new();
    for item in items {
        if !distinct.contains(item) {
            distinct.push(item.clone());
        }
    }
    Value::list(distinct)
}

fn flatten(arguments: &[Value]) -> Outcome {
    fn add(items: &[Value], flat: &mut Vec<Value>) {
        for item in items {
            match item {
                Value::List(list) => add(&list.items, flat),
                other => flat.push(other.clone()),
            }
        }
    }
    let [list] = take(arguments)?;
    let mut flat = Vec::new();
    add(list.as_list()?, &mut flat);
    Value::list(flat)
}

fn slice(arguments: &[Value]) -> Outcome {
    let [list, start, end] = take(arguments)?;
    match list.as_list()?.get(start.as_index()?..end.as_index()?) {
        Some(items) => Value::list(items.to_vec()),
        None => failure("the range is not in the list"),
    }
}

fn sort(arguments: &[Value]) -> Outcome {
    let [list] = take(arguments)?;
    let mut items = list.as_list()?.iter().map(Value::as_string).collect::<Outcome<Vec<_>>>()?;
    items.sort_unstable();
    Value::list(items.into_iter().map(Value::String).collect())
}

/// A set of strings, sorted by their bytes as `cty` does. Sets of other values are not computed.
fn toset(arguments: &[Value]) -> Outcome {
    let [list] = take(arguments)?;
    if !list.as_list()?.iter().all(|item| matches!(item, Value::String(_))) {
        return unknown("a set of values other than strings is not computed");
    }
    match sort(arguments)? {
        Value::List(list) => {
            let mut items = list.items.clone();
            items.dedup();
            Value::list(items)
        }
        other => Ok(other),
    }
}

fn range(arguments: &[Value]) -> Outcome {
    let numbers = arguments.iter().map(Value::as_number).collect::<Outcome<Vec<_>>>()?;
    let (start, end, step) = match numbers.as_slice() {
        [end] => (0.0, *end, if *end < 0.0 { -1.0 } else { 1.0 }),
        [start, end] => (*start, *end, if end < start { -1.0 } else { 1.0 }),
        [start, end, step] => (*start, *end, *step),
        _ => return failure("takes 1 to 3 arguments"),
    };
    if step == 0.0 {
        return failure("the step is zero");
    }
    let mut items = Vec::new();
    let mut at = start;
    while if step > 0.0 { at < end } else { at > end } {
        if items.len() == 1024 {
            return failure("more than 1024 numbers");
        }
        items.push(Value::Number(at));
        at += step;
    }
    Value::list(items)
}

fn zipmap(arguments: &[Value]) -> Outcome {
    let [keys, values] = take(arguments)?;
    let (keys, values) = (keys.as_list()?, values.as_list()?);
    if keys.len() != values.len() {
        return failure("the lists differ in length");
    }
    let pair = |(key, value): (&Value, &Value)| Ok((key.as_string()?.to_string(), value.clone()));
    Value::object(keys.iter().zip(values).map(pair).collect::<Outcome<_>>()?)
}

fn chunklist(arguments: &[Value]) -> Outcome {
    let [list, size] = take(arguments)?;
    let (list, size) = (list.as_list()?, size.as_index()?);
    let chunks = list.chunks(if size == 0 { list.len().max(1) } else { size });
    Value::list(chunks.map(|chunk| Value::list(chunk.to_vec())).collect::<Outcome<_>>()?)
}

fn coalescelist(arguments: &[Value]) -> Outcome {
    for argument in arguments {
        if !argument.as_list()?.is_empty() {
            return Ok(argument.clone());
        }
    }
    failure("all lists are empty")
}

fn number(count: usize) -> Outcome {
    #[expect(clippy::cast_precision_loss)] // `exact` refuses what is not exact
    Ok(Value::Number(exact(count as f64)?))
}
