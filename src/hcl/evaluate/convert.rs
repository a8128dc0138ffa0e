//! Converts values to types (cty's `convert`), with the defaults of optional attributes (HCL's `typeexpr`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::types::unify;
use super::value::{Attribute, List, ListKind, Object, Outcome, Type, Value, failure, unknown};

/// The value as one of this type. What is unknown in it stays unknown.
pub(crate) fn convert(value: &Value, to: &Type) -> Outcome {
    value.failed()?;
    match (value, to) {
        (value, Type::Any) => Ok(value.clone()),
        (Value::Unknown(_), _) | (Value::Partial(_), Type::String) => Ok(value.clone()),
        (Value::Null(_), to) => Ok(Value::Null(to.of_values())),
        (value, Type::Bool) => value.as_bool().map(Value::Bool),
        (value, Type::Number) => value.as_number().map(Value::Number),
        (value, Type::String) => value.as_string().map(Value::String),
        (Value::List(list), Type::List(of)) => items_as(list, of).and_then(|(items, of)| Value::list(of, items)),
        (Value::List(list), Type::Set(of)) => items_as(list, of).and_then(|(items, of)| set(of, items)),
        (Value::List(list), Type::Tuple(kinds)) => to_tuple(list, kinds),
        (Value::Object(object), Type::Map(of)) => to_map(object, of),
        (Value::Object(object), Type::Object(attributes)) => to_object(object, attributes),
        (value, to) => failure(format!("{} is needed, not {}", to.name(), value.kind())),
    }
}

/// The items, converted to a type, and that type: for [`Type::Any`] one that suits all items.
fn items_as(list: &List, of: &Type) -> Outcome<(Vec<Value>, Type)> {
    let of = match (&list.kind, of) {
        (ListKind::List(kind) | ListKind::Set(kind), Type::Any) => kind.clone(),
        (ListKind::Tuple, Type::Any) => unified(&list.items)?,
        (_, of) => of.clone(),
    };
    let items: Vec<Value> = list.items.iter().map(|item| convert(item, &of)).collect::<Outcome<_>>()?;
    let of = precise(&of, items.iter())?;
    Ok((items, of))
}

/// The type of the items of a collection that was declared with `any` inside of its items' type.
fn precise<'a>(of: &Type, items: impl Iterator<Item = &'a Value>) -> Outcome<Type> {
    let declared = of.of_values();
    if !declared.has_any() {
        return Ok(declared);
    }
    let mut found = None;
    for item in items {
        let kind = item.type_of()?;
        if found.as_ref().is_some_and(|found| *found != kind) {
            return unknown("items of different types in a collection are not computed");
        }
        found = Some(kind);
    }
    Ok(found.unwrap_or(declared))
}

/// One type for all these values.
pub(super) fn unified<'a>(values: impl IntoIterator<Item = &'a Value>) -> Outcome<Type> {
    let types = values.into_iter().map(Value::type_of).collect::<Outcome<Vec<_>>>()?;
    match unify(&types)? {
        Some(kind) => Ok(kind),
        None if types.is_empty() => Ok(Type::Any),
        None => failure("the items have types that do not go together"),
    }
}

/// A set of items of a type: sorted, without duplicates. The order of items that are no primitive values depends on
/// cty's hashes.
pub(super) fn set(of: Type, mut items: Vec<Value>) -> Outcome {
    for item in &items {
        item.known()?;
    }
    if of.is_primitive() {
        items.sort_by(|a, b| match (a, b) {
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => a.cmp(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            // Null is last.
            (a, b) => a.is_null().cmp(&b.is_null()),
        });
    }
    items.dedup();
    if !of.is_primitive() && items.len() > 1 {
        return unknown("the order of a set of lists or objects is not computed");
    }
    Value::collection(ListKind::Set(of), items)
}

fn to_tuple(list: &List, kinds: &[Type]) -> Outcome {
    if list.kind != ListKind::Tuple || list.items.len() != kinds.len() {
        return failure(format!("a tuple of {} items is needed", kinds.len()));
    }
    let items = list.items.iter().zip(kinds).map(|(item, kind)| convert(item, kind));
    Value::tuple(items.collect::<Outcome<_>>()?)
}

fn to_map(object: &Object, of: &Type) -> Outcome {
    let of = match (&object.map_of, of) {
        (Some(kind), Type::Any) => kind.clone(),
        (None, Type::Any) => unified(object.members.values())?,
        (_, of) => of.clone(),
    };
    let member = |(name, value): (&String, &Value)| Ok((name.clone(), convert(value, &of)?));
    let members: BTreeMap<_, _> = object.members.iter().map(member).collect::<Outcome<_>>()?;
    let of = precise(&of, members.values())?;
    Value::members(Some(of), members)
}

/// An object with exactly these attributes. Others are dropped.
fn to_object(object: &Object, attributes: &BTreeMap<String, Attribute>) -> Outcome {
    let mut members = BTreeMap::new();
    for (name, attribute) in attributes {
        let given = object.members.get(name);
        let value = match (given, &attribute.default) {
            (None, None) => return failure(format!("the attribute \"{name}\" is required")),
            (None, Some(default)) => default,
            (Some(given), Some(default)) if given.is_null() => default,
            (Some(given), _) => given,
        };
        members.insert(name.clone(), convert(value, &attribute.kind)?);
    }
    Value::object(members)
}

/// Whether two values are equal, as `==` says.
pub(super) fn equals(left: &Value, right: &Value) -> Outcome<bool> {
    let (left, right) = (left.comparable()?, right.comparable()?);
    if left.is_null() || right.is_null() {
        return Ok(left.is_null() && right.is_null());
    }
    Ok(same_type(&left.type_of()?, &right.type_of()?) && same(&left, &right))
}

/// Whether types are the same. That of null, within a tuple or an object, is any.
fn same_type(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Any, _) | (_, Type::Any) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => same_type(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_type(a, b)),
        (Type::Object(a), Type::Object(b)) => {
            a.keys().eq(b.keys()) && a.iter().zip(b).all(|((_, a), (_, b))| same_type(&a.kind, &b.kind))
        }
        (a, b) => a == b,
    }
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null(_), Value::Null(_)) => true,
        (Value::List(a), Value::List(b)) => {
            Arc::ptr_eq(a, b) || a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            Arc::ptr_eq(a, b)
                || a.members.keys().eq(b.members.keys())
                    && a.members.values().zip(b.members.values()).all(|(a, b)| same(a, b))
        }
        (left, right) => left == right,
    }
}
