//! Functions on sets.

use super::super::allowance::Allowance;
use super::super::convert::{convert, set, unified};
use super::super::types::unify;
use super::super::value::{ListKind, Outcome, Type, Value, failure, unknown};
use super::function::Function;
use super::function::Parameter::Any;

pub(super) const FUNCTIONS: &[Function] = &[
    Function("setunion", &[Any], Some(Any), |arguments, _| combine(arguments, |has| has.contains(&true))),
    Function("setintersection", &[Any], Some(Any), |arguments, _| combine(arguments, |has| !has.contains(&false))),
    Function("setproduct", &[Any, Any], Some(Any), product),
    Function("setsubtract", &[Any, Any], None, |arguments, _| combine(arguments, |has| has[0] && !has[1])),
];

/// All tuples of an item of each list or set: a list, or a set if one of them is a set.
fn product(arguments: &[Value], allowance: &Allowance) -> Outcome {
    let (mut types, mut rows, mut is_list) = (Vec::new(), vec![Vec::new()], true);
    for argument in arguments {
        let Value::List(list) = argument else { return failure("takes lists and sets") };
        let of = match &list.kind {
            ListKind::List(of) | ListKind::Set(of) => of.clone(),
            ListKind::Tuple => unified(&list.items)?,
        };
        is_list &= !matches!(list.kind, ListKind::Set(_));
        if of.has_any() && !list.items.is_empty() {
            return unknown("items of such types are not combined");
        }
        allowance.spend(rows.len().saturating_mul(list.items.len()).saturating_mul(types.len() + 1))?;
        let items = list.items.iter().map(|item| convert(item, &of)).collect::<Outcome<Vec<_>>>()?;
        let with = |row: &Vec<Value>| {
            let row = row.clone();
            items
                .iter()
                .map(move |item| row.iter().cloned().chain([item.clone()]).collect())
                .collect::<Vec<Vec<Value>>>()
        };
        rows = rows.iter().flat_map(with).collect();
        types.push(of);
    }
    let of = Type::Tuple(types);
    let rows = rows.into_iter().map(Value::tuple).collect::<Outcome<_>>()?;
    if is_list { Value::list(of, rows) } else { set(of, rows) }
}

/// The set of the items that a test selects by the sets that hold them.
fn combine(arguments: &[Value], is_selected: fn(&[bool]) -> bool) -> Outcome {
    let sets: Vec<Value> =
        arguments.iter().map(|argument| convert(argument, &Type::set(Type::Any))).collect::<Outcome<_>>()?;
    let mut types = Vec::new();
    for set in &sets {
        let items = set.as_list()?;
        if let Type::Set(of) = set.type_of()?
            && (*of != Type::Any || !items.is_empty())
        {
            types.push(*of);
        }
    }
    let of = match unify(&types)? {
        Some(of) => of,
        None if types.is_empty() => Type::Any,
        None => return failure("the sets have types that do not go together"),
    };
    if of != Type::Any && !of.is_primitive() {
        return unknown("sets of lists or objects are not computed");
    }
    let sets: Vec<Value> = sets.iter().map(|set| convert(set, &Type::set(of.clone()))).collect::<Outcome<_>>()?;
    let items = sets.iter().map(Value::as_list).collect::<Outcome<Vec<_>>>()?;
    let every = set(of.clone(), items.concat())?;
    // Sets are sorted, so each is walked once.
    let mut cursors = vec![0; items.len()];
    let mut selected = Vec::new();
    for item in every.as_list()? {
        let mut has = vec![false; items.len()];
        for (set, cursor) in cursors.iter_mut().enumerate() {
            if items[set].get(*cursor) == Some(item) {
                has[set] = true;
                *cursor += 1;
            }
        }
        if is_selected(&has) {
            selected.push(item.clone());
        }
    }
    set(of, selected)
}
