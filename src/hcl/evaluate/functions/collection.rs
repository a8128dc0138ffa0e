//! Functions on lists, tuples, maps and objects.

use std::collections::BTreeMap;

use super::super::allowance::Allowance;
use super::super::convert::{convert, equals, unified};
use super::super::number::Number;
use super::super::types::unify;
use super::super::value::{List, ListKind, Outcome, Type, Value, failure, unknown};
use super::function::Function;
use super::function::Parameter::{Any, List as ListOf, Nullable, Number as Numeric, Open, Shell, Text, Texts};

pub(super) const FUNCTIONS: &[Function] = &[
    Function("try", &[], Some(Open), |arguments, _| attempt(arguments)),
    Function("can", &[Open], None, |arguments, _| can(&arguments[0])),
    Function("merge", &[], Some(Open), |arguments, _| merge(arguments)),
    Function("concat", &[Shell], Some(Shell), |arguments, _| concat(arguments)),
    Function("lookup", &[Shell, Text], Some(Open), |arguments, _| lookup(arguments)),
    Function("element", &[Shell, Numeric], None, |arguments, _| element(arguments)),
    Function("keys", &[Shell], None, |arguments, _| keys(&arguments[0])),
    Function("values", &[Shell], None, |arguments, _| values(&arguments[0])),
    Function("length", &[Shell], None, |arguments, _| length(&arguments[0])),
    Function("coalesce", &[], Some(Open), |arguments, _| coalesce(arguments)),
    Function("one", &[Shell], None, |arguments, _| one(&arguments[0])),
    Function("contains", &[Any, Any], None, contains),
    Function("index", &[Any, Any], None, index),
    Function("compact", &[Texts], None, |arguments, _| compact(&arguments[0])),
    Function("distinct", &[ListOf], None, distinct),
    Function("flatten", &[Shell], None, |arguments, _| flatten(&arguments[0])),
    Function("reverse", &[Shell], None, |arguments, _| reverse(&arguments[0])),
    Function("slice", &[Shell, Numeric, Numeric], None, |arguments, _| slice(arguments)),
    Function("sort", &[Texts], None, |arguments, _| sort(&arguments[0])),
    Function("range", &[Numeric], Some(Numeric), |arguments, _| range(arguments)),
    Function("zipmap", &[Texts, Shell], None, |arguments, _| zipmap(arguments)),
    Function("chunklist", &[ListOf, Numeric], None, |arguments, _| chunklist(arguments)),
    Function("matchkeys", &[ListOf, ListOf, ListOf], None, matchkeys),
    Function("transpose", &[Any], None, transpose),
    Function("coalescelist", &[Nullable], Some(Nullable), |arguments, _| coalescelist(arguments)),
];

/// The list or tuple; a set is none.
fn sequence(value: &Value) -> Outcome<&List> {
    match value {
        Value::List(list) if !matches!(list.kind, ListKind::Set(_)) => Ok(list),
        other => failure(format!("a list is needed, not {}", other.kind())),
    }
}

/// The first argument that does not fail. Whether one that is not known would fail is not known either.
fn attempt(arguments: &[Value]) -> Outcome {
    match arguments.iter().find(|argument| argument.failed().is_ok()) {
        Some(value) => Ok(value.clone()),
        None => failure("all arguments fail"),
    }
}

fn can(value: &Value) -> Outcome {
    match value.failed() {
        Ok(()) => value.known().map(|_| Value::Bool(true)),
        Err(_) => Ok(Value::Bool(false)),
    }
}

/// The members of all; a map if all are maps of one type, or else an object.
fn merge(arguments: &[Value]) -> Outcome {
    let mut members = BTreeMap::new();
    let mut kinds = Vec::new();
    for argument in arguments {
        match argument {
            Value::Null(kind) => kinds.push(kind.clone()),
            Value::Object(object) => {
                kinds.push(object.map_of.clone().map_or_else(|| Type::Object(BTreeMap::new()), Type::map));
                members.extend(object.members.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            other => {
                other.as_object()?;
            }
        }
    }
    if !arguments.is_empty() && arguments.iter().all(Value::is_null) {
        return unknown("a merge of nulls is not computed");
    }
    match kinds.first() {
        Some(Type::Map(of)) if kinds.iter().all(|kind| *kind == kinds[0]) => {
            Value::members(Some((**of).clone()), members)
        }
        _ => Value::object(members),
    }
}

fn concat(arguments: &[Value]) -> Outcome {
    let lists = arguments.iter().map(sequence).collect::<Outcome<Vec<_>>>()?;
    let of = |list: &&List| if let ListKind::List(of) = &list.kind { Some(of.clone()) } else { None };
    let items = || lists.iter().flat_map(|list| list.items.iter());
    match lists.iter().map(of).collect::<Option<Vec<_>>>().map(|types| unify(&types)).transpose()?.flatten() {
        Some(kind) => Value::list(kind.clone(), items().map(|item| convert(item, &kind)).collect::<Outcome<_>>()?),
        None => Value::tuple(items().cloned().collect()),
    }
}

fn lookup(arguments: &[Value]) -> Outcome {
    let (Value::Object(object), key, [] | [_]) = (&arguments[0], arguments[1].as_string()?, &arguments[2..]) else {
        return failure("takes a map, a key and perhaps a default");
    };
    let default = match (arguments.get(2), &object.map_of) {
        (Some(default), Some(of)) => {
            if matches!(default, Value::Unknown(_)) {
                None
            } else if !default.type_of()?.converts_to(of)? {
                return failure("the default does not have the type of the map's values");
            } else {
                Some(convert(default, of))
            }
        }
        (default, _) => default.map(|default| Ok(default.clone())),
    };
    match (object.members.get(&*key), default) {
        // A default that cannot be converted fails, whether it is needed or not.
        (Some(_), Some(Err(stop))) => Err(stop),
        (Some(value), _) => Ok(value.clone()),
        (None, Some(default)) => default,
        (None, None) => match arguments.get(2) {
            Some(default) => default.known().cloned(),
            None => failure("the key is not in the map, and there is no default"),
        },
    }
}

fn element(arguments: &[Value]) -> Outcome {
    let (items, index) = (&sequence(&arguments[0])?.items, arguments[1].as_integer()?);
    match (items.len(), usize::try_from(index)) {
        (0, _) => failure("the list is empty"),
        (length, Ok(index)) => Ok(items[index % length].clone()),
        (_, Err(_)) => unknown("a negative index has a meaning in some versions only"),
    }
}

/// Strings or values as a list for a map, and a tuple for an object.
fn like(map_of: Option<&Type>, items: Vec<Value>) -> Outcome {
    match map_of {
        Some(of) => Value::list(of.clone(), items),
        None => Value::tuple(items),
    }
}

fn keys(map: &Value) -> Outcome {
    let keys = map.as_object()?.keys().map(|key| Value::string(key.as_str())).collect();
    let is_map = matches!(map, Value::Object(object) if object.map_of.is_some());
    like(is_map.then_some(&Type::String), keys)
}

fn values(map: &Value) -> Outcome {
    match map {
        Value::Object(object) => like(object.map_of.as_ref(), object.members.values().cloned().collect()),
        other => other.as_object().map(|_| Value::NULL),
    }
}

fn length(value: &Value) -> Outcome {
    let length = match value {
        Value::List(list) => list.items.len(),
        Value::Object(object) => object.members.len(),
        Value::String(text) if text.is_ascii() && !text.contains("\r\n") => text.len(),
        Value::String(_) => return unknown("the length of text that is not ASCII is not computed"),
        other => return failure(format!("{} has no length", other.kind())),
    };
    Ok(Value::number(length))
}

fn coalesce(arguments: &[Value]) -> Outcome {
    let of = match unified(arguments) {
        Ok(of) => of,
        // Whatever the type of the others, text stays text.
        Err(stop) => match arguments.iter().find(|argument| !argument.is_null()) {
            Some(Value::String(text)) if !text.is_empty() && arguments.iter().any(|it| it.known().is_err()) => {
                return Ok(Value::String(text.clone()));
            }
            _ => return Err(stop),
        },
    };
    for argument in arguments {
        match convert(argument, &of)?.known_itself()? {
            Value::Null(_) => {}
            Value::String(text) if text.is_empty() => {}
            value => return Ok(value.clone()),
        }
    }
    failure("all arguments are null or empty")
}

fn one(list: &Value) -> Outcome {
    let Value::List(list) = list else { return failure("takes a list") };
    match (list.items.as_slice(), &list.kind) {
        ([], ListKind::List(of) | ListKind::Set(of)) => Ok(Value::Null(of.clone())),
        ([], ListKind::Tuple) => Ok(Value::NULL),
        ([item], _) => Ok(item.clone()),
        _ => failure("the list has more than one item"),
    }
}

/// Where an item stands in a list.
fn position(items: &[Value], item: &Value, allowance: &Allowance) -> Outcome<Option<usize>> {
    for (index, other) in items.iter().enumerate() {
        allowance.spend_on(item.weight().min(other.weight()) / 4)?;
        if equals(other, item)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn contains(arguments: &[Value], allowance: &Allowance) -> Outcome {
    let items = arguments[0].as_list()?;
    Ok(Value::Bool(position(items, &arguments[1], allowance)?.is_some()))
}

fn index(arguments: &[Value], allowance: &Allowance) -> Outcome {
    match position(&sequence(&arguments[0])?.items, &arguments[1], allowance)? {
        Some(position) => Ok(Value::number(position)),
        None => failure("the item is not in the list"),
    }
}

fn compact(list: &Value) -> Outcome {
    let is_empty = |value: &&Value| value.is_null() || **value == Value::string("");
    Value::list(Type::String, list.as_list()?.iter().filter(|value| !is_empty(value)).cloned().collect())
}

fn distinct(arguments: &[Value], allowance: &Allowance) -> Outcome {
    let mut distinct: Vec<Value> = Vec::new();
    for item in arguments[0].as_list()? {
        if position(&distinct, item, allowance)?.is_none() {
            distinct.push(item.clone());
        }
    }
    match &arguments[0] {
        Value::List(list) => Value::collection(list.kind.clone(), distinct),
        other => Ok(other.clone()),
    }
}

fn flatten(list: &Value) -> Outcome {
    fn add(items: &[Value], flat: &mut Vec<Value>) -> Outcome<()> {
        for item in items {
            match item.known_itself()? {
                Value::List(list) => add(&list.items, flat)?,
                other => flat.push(other.clone()),
            }
        }
        Ok(())
    }
    let mut flat = Vec::new();
    add(list.as_list()?, &mut flat)?;
    Value::tuple(flat)
}

fn reverse(list: &Value) -> Outcome {
    let items = list.as_list()?.iter().rev().cloned().collect();
    match list {
        Value::List(list) => match &list.kind {
            ListKind::Set(of) => Value::list(of.clone(), items),
            kind => Value::collection(kind.clone(), items),
        },
        _ => Value::tuple(items),
    }
}

fn slice(arguments: &[Value]) -> Outcome {
    let list = sequence(&arguments[0])?;
    match list.items.get(arguments[1].as_index()?..arguments[2].as_index()?) {
        Some(items) => Value::collection(list.kind.clone(), items.to_vec()),
        None => failure("the range is not in the list"),
    }
}

fn sort(list: &Value) -> Outcome {
    let mut items = list.as_list()?.iter().map(Value::as_string).collect::<Outcome<Vec<_>>>()?;
    items.sort_unstable();
    Value::strings(items)
}

fn range(arguments: &[Value]) -> Outcome {
    let numbers = arguments.iter().map(Value::as_number).collect::<Outcome<Vec<_>>>()?;
    let zero = Number::from(0_usize);
    let towards = |start: &Number, end: &Number| Number::from(if end < start { -1_i64 } else { 1 });
    let (start, end, step) = match numbers.as_slice() {
        [end] => (zero.clone(), end.clone(), towards(&zero, end)),
        [start, end] => (start.clone(), end.clone(), towards(start, end)),
        [start, end, step] => (start.clone(), end.clone(), step.clone()),
        _ => return failure("takes 1 to 3 arguments"),
    };
    if step.is_zero() || start < end && step.is_negative() || end < start && !step.is_negative() {
        return failure("the step does not lead to the end");
    }
    let mut items = Vec::new();
    let mut at = start;
    while if step.is_negative() { at > end } else { at < end } {
        if items.len() == 1024 {
            return failure("more than 1024 numbers");
        }
        items.push(Value::Number(at.clone()));
        at = at.plus(&step)?;
    }
    Value::list(Type::Number, items)
}

fn zipmap(arguments: &[Value]) -> Outcome {
    let (keys, values) = (arguments[0].as_list()?, sequence(&arguments[1])?);
    if keys.len() != values.items.len() {
        return failure("the lists differ in length");
    }
    let pair = |(key, value): (&Value, &Value)| Ok((key.as_string()?.to_string(), value.clone()));
    let members = keys.iter().zip(&values.items).map(pair).collect::<Outcome<_>>()?;
    match &values.kind {
        ListKind::List(of) => Value::members(Some(of.clone()), members),
        _ => Value::object(members),
    }
}

fn chunklist(arguments: &[Value]) -> Outcome {
    let Value::List(list) = &arguments[0] else { return failure("takes a list") };
    let of = arguments[0].type_of()?;
    let size = arguments[1].as_index()?;
    let chunks = list.items.chunks(if size == 0 { list.items.len().max(1) } else { size });
    let chunks = chunks.map(|chunk| Value::collection(list.kind.clone(), chunk.to_vec()));
    Value::list(of, chunks.collect::<Outcome<_>>()?)
}

/// The values whose keys are in a list.
fn matchkeys(arguments: &[Value], allowance: &Allowance) -> Outcome {
    let Some(of) = unify(&[arguments[1].type_of()?, arguments[2].type_of()?])? else {
        return failure("the keys have types that do not go together");
    };
    let (keys, wanted) = (convert(&arguments[1], &of)?, convert(&arguments[2], &of)?);
    let (values, keys, wanted) = (arguments[0].as_list()?, keys.as_list()?, wanted.as_list()?);
    if values.len() != keys.len() {
        return failure("the lists differ in length");
    }
    let mut found = Vec::new();
    for (value, key) in values.iter().zip(keys) {
        if position(wanted, key, allowance)?.is_some() {
            found.push(value.clone());
        }
    }
    match arguments[0].type_of()? {
        Type::List(of) => Value::list(*of, found),
        _ => failure("a list is needed"),
    }
}

/// A map of lists with keys and items swapped.
fn transpose(arguments: &[Value], allowance: &Allowance) -> Outcome {
    let map = convert(&arguments[0], &Type::map(Type::list(Type::String)))?;
    let mut swapped: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (key, items) in map.as_object()? {
        if items.is_null() {
            return unknown("a null among the lists is not computed");
        }
        for item in items.as_list()? {
            allowance.spend_on(key.len() + item.weight())?;
            swapped.entry(item.as_string()?.to_string()).or_default().push(Value::string(key.as_str()));
        }
    }
    let list = |(key, items): (String, Vec<Value>)| Ok((key, Value::list(Type::String, items)?));
    Value::members(Some(Type::list(Type::String)), swapped.into_iter().map(list).collect::<Outcome<_>>()?)
}

fn coalescelist(arguments: &[Value]) -> Outcome {
    if arguments.iter().any(Value::is_null) {
        return unknown("null among the lists is not computed");
    }
    for argument in arguments {
        sequence(argument)?;
    }
    match arguments.iter().find(|list| list.as_list().is_ok_and(|items| !items.is_empty())) {
        Some(list) => Ok(list.clone()),
        None => failure("all lists are empty"),
    }
}
