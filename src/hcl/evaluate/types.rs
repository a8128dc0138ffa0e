//! The types of the language, and which of them values can be converted to (cty's `convert` and `unify`).

use std::collections::BTreeMap;

use super::value::{Attribute, Outcome, Type, unknown};

/// How many different types are unified.
const MAX_TYPES: usize = 64;

impl Type {
    pub(crate) fn list(of: Self) -> Self {
        Self::List(Box::new(of))
    }

    pub(crate) fn set(of: Self) -> Self {
        Self::Set(Box::new(of))
    }

    pub(crate) fn map(of: Self) -> Self {
        Self::Map(Box::new(of))
    }

    /// The name with its article, for an error.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Any => "any value",
            Self::Bool => "a bool",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List(_) | Self::Set(_) | Self::Tuple(_) => "a list",
            Self::Map(_) | Self::Object(_) => "an object",
        }
    }

    /// Whether it has no parts. A value of such a type that is given as text is the text itself, and no expression.
    pub(crate) fn is_primitive(&self) -> bool {
        matches!(self, Self::Bool | Self::Number | Self::String)
    }

    /// Whether it is or contains [`Type::Any`].
    pub(crate) fn has_any(&self) -> bool {
        match self {
            Self::Any => true,
            Self::Bool | Self::Number | Self::String => false,
            Self::List(of) | Self::Set(of) | Self::Map(of) => of.has_any(),
            Self::Tuple(items) => items.iter().any(Self::has_any),
            Self::Object(attributes) => attributes.values().any(|attribute| attribute.kind.has_any()),
        }
    }

    /// The type without defaults, as a value has it.
    pub(crate) fn of_values(&self) -> Self {
        match self {
            Self::Any | Self::Bool | Self::Number | Self::String => self.clone(),
            Self::List(of) => Self::list(of.of_values()),
            Self::Set(of) => Self::set(of.of_values()),
            Self::Map(of) => Self::map(of.of_values()),
            Self::Tuple(items) => Self::Tuple(items.iter().map(Self::of_values).collect()),
            Self::Object(attributes) => {
                let attribute =
                    |(name, it): (&String, &Attribute)| (name.clone(), Attribute::required(it.kind.of_values()));
                Self::Object(attributes.iter().map(attribute).collect())
            }
        }
    }

    /// Whether some value of this type can be converted to another type.
    pub(crate) fn converts_to(&self, to: &Self) -> Outcome<bool> {
        let all = |pairs: &mut dyn Iterator<Item = (&Self, &Self)>| -> Outcome<bool> {
            for (from, to) in pairs {
                if !from.converts_to(to)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match (self, to) {
            (_, Self::Any) | (Self::Any, _) => Ok(true),
            (from, to) if from.is_primitive() && to.is_primitive() => {
                Ok(from == to || *to == Self::String || *from == Self::String)
            }
            (Self::List(from) | Self::Set(from), Self::List(to) | Self::Set(to)) | (Self::Map(from), Self::Map(to)) => {
                from.converts_to(to)
            }
            (Self::Tuple(items), Self::List(to) | Self::Set(to)) => match &**to {
                Self::Any => Ok(unify(items)?.is_some()),
                to => all(&mut items.iter().map(|item| (item, to))),
            },
            (Self::Object(from), Self::Map(to)) => {
                let kinds: Vec<_> = from.values().map(|attribute| attribute.kind.clone()).collect();
                match &**to {
                    Self::Any => Ok(unify(&kinds)?.is_some()),
                    to => all(&mut kinds.iter().map(|kind| (kind, to))),
                }
            }
            (Self::Tuple(from), Self::Tuple(to)) => Ok(from.len() == to.len() && all(&mut from.iter().zip(to))?),
            (Self::Map(from), Self::Object(to)) => all(&mut to.values().map(|attribute| (&**from, &attribute.kind))),
            (Self::Object(from), Self::Object(to)) => {
                for (name, attribute) in to {
                    match from.get(name) {
                        Some(given) if !given.kind.converts_to(&attribute.kind)? => return Ok(false),
                        None if attribute.default.is_none() => return Ok(false),
                        _ => {}
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Whether values of the other type become values of this one, where both are unified.
    fn is_preferred_to(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => *other != Self::Any,
            (Self::List(a), Self::List(b)) | (Self::Set(a), Self::Set(b)) | (Self::Map(a), Self::Map(b)) => {
                a.is_preferred_to(b)
            }
            (Self::String, Self::Bool | Self::Number)
            | (Self::List(_), Self::Set(_) | Self::Tuple(_))
            | (Self::Tuple(_), Self::Set(_))
            | (Self::Map(_), Self::Object(_)) => true,
            _ => false,
        }
    }
}

/// The type that values of all these types are converted to where one type is needed; `None` if there is none.
pub(crate) fn unify(types: &[Type]) -> Outcome<Option<Type>> {
    let mut distinct: Vec<&Type> = Vec::new();
    for kind in types {
        if !distinct.contains(&kind) {
            if distinct.len() == MAX_TYPES {
                return unknown("the types of so many values are not compared");
            }
            distinct.push(kind);
        }
    }
    let known: Vec<&Type> = distinct.iter().copied().filter(|kind| **kind != Type::Any).collect();
    match known.as_slice() {
        [] => Ok(distinct.first().map(|_| Type::Any)),
        [only] => Ok(Some((*only).clone())),
        several => unify_known(several),
    }
}

/// [`unify`] for different types, none of which is [`Type::Any`].
fn unify_known(types: &[&Type]) -> Outcome<Option<Type>> {
    let count = |test: fn(&Type) -> bool| types.iter().filter(|kind| test(kind)).count();
    let objects = count(|kind| matches!(kind, Type::Object(_)));
    let maps = count(|kind| matches!(kind, Type::Map(_)));
    let tuples = count(|kind| matches!(kind, Type::Tuple(_)));
    let lists = count(|kind| matches!(kind, Type::List(_)));
    let sets = count(|kind| matches!(kind, Type::Set(_)));
    if objects > 0 && tuples > 0 {
        return Ok(None);
    }
    if objects == types.len() {
        return unify_objects(types);
    }
    if tuples == types.len() {
        return unify_tuples(types);
    }
    for (collections, others, make) in
        [(maps, objects, Type::map as fn(Type) -> Type), (lists, tuples, Type::list), (sets, 0, Type::set)]
    {
        if collections > 0 && collections + others == types.len() {
            return Ok(unify(&parts(types))?.map(make));
        }
    }
    let mut open = types.to_vec();
    while !open.is_empty() {
        let is_best = |at: &usize| !open.iter().any(|other| other.is_preferred_to(open[*at]));
        let best = open.remove((0..open.len()).find(is_best).unwrap_or(0));
        let mut all = true;
        for kind in types {
            all = all && kind.converts_to(best)?;
        }
        if all {
            return Ok(Some(best.clone()));
        }
    }
    Ok(None)
}

/// The types of what values of these types consist of.
fn parts(types: &[&Type]) -> Vec<Type> {
    let parts = types.iter().flat_map(|kind| match kind {
        Type::Tuple(items) => items.clone(),
        Type::Object(attributes) => attributes.values().map(|attribute| attribute.kind.clone()).collect(),
        Type::List(of) | Type::Set(of) | Type::Map(of) => vec![(**of).clone()],
        _ => Vec::new(),
    });
    parts.collect()
}

fn unify_tuples(types: &[&Type]) -> Outcome<Option<Type>> {
    let items: Vec<&[Type]> =
        types.iter().map(|kind| if let Type::Tuple(items) = kind { items.as_slice() } else { &[] }).collect();
    if items.iter().any(|other| other.len() != items[0].len()) {
        return Ok(unify(&parts(types))?.map(Type::list));
    }
    let mut unified = Vec::new();
    for index in 0..items[0].len() {
        let across: Vec<Type> = items.iter().map(|items| items[index].clone()).collect();
        match unify(&across)? {
            Some(kind) => unified.push(kind),
            None => return Ok(None),
        }
    }
    Ok(Some(Type::Tuple(unified)))
}

fn unify_objects(types: &[&Type]) -> Outcome<Option<Type>> {
    let empty = BTreeMap::new();
    let objects: Vec<&BTreeMap<String, Attribute>> =
        types.iter().map(|kind| if let Type::Object(attributes) = kind { attributes } else { &empty }).collect();
    if objects.iter().any(|other| !other.keys().eq(objects[0].keys())) {
        return Ok(unify(&parts(types))?.map(Type::map));
    }
    let mut unified = BTreeMap::new();
    for name in objects[0].keys() {
        let across: Vec<Type> = objects.iter().map(|attributes| attributes[name].kind.clone()).collect();
        match unify(&across)? {
            Some(kind) => unified.insert(name.clone(), Attribute::required(kind)),
            None => return Ok(None),
        };
    }
    Ok(Some(Type::Object(unified)))
}
