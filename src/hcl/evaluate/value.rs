//! Values of expressions, where a value, or a piece of one, may be unknown.

use std::collections::BTreeMap;
use std::sync::Arc;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::number::Number;
pub(crate) use super::outcome::{Stop, Unknown, failure, unknown};

/// The result of a function or an operator.
pub(crate) type Outcome<T = Value> = super::outcome::Outcome<T>;

/// A type. In the type of a value no attribute is optional.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Any type: `any` where a type is declared, and the type of `null`.
    Any,
    Bool,
    Number,
    String,
    List(Box<Self>),
    Set(Box<Self>),
    Map(Box<Self>),
    Tuple(Vec<Self>),
    Object(BTreeMap<String, Attribute>),
}

/// The attribute of an object type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attribute {
    pub kind: Type,
    /// What an object gets that lacks the attribute: null, or the declared default.
    pub default: Option<Value>,
}

impl Attribute {
    pub(crate) fn required(kind: Type) -> Self {
        Self { kind, default: None }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// The null of a type, which is [`Type::Any`] for a literal `null`.
    Null(Type),
    Bool(bool),
    Number(Number),
    String(Arc<str>),
    /// A string with unknown pieces.
    Partial(Arc<[Piece]>),
    /// A list, a set or a tuple.
    List(Arc<List>),
    /// A map or an object.
    Object(Arc<Object>),
    Unknown(Arc<Unknown>),
}

/// A piece of a string.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Hole(Arc<Unknown>),
    /// The text of one of two branches. It is unknown which branch is taken.
    Branch(String, Arc<Unknown>),
    /// What two branches have in common, where the rest of one may hold a requirement. It is unknown which branch is
    /// taken.
    Common(String, Arc<Unknown>),
    /// A text that may be a secret. It can be compared. For every other use it is unknown, so that it is never shown or
    /// sent.
    Withheld(Arc<str>, Arc<Unknown>),
}

/// What a [`List`] is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ListKind {
    Tuple,
    /// A list of items of one type.
    List(Type),
    /// A set of items of one type, in their order.
    Set(Type),
}

#[derive(Debug)]
pub(crate) struct List {
    pub kind: ListKind,
    pub items: Vec<Value>,
    shape: Shape,
}

#[derive(Debug)]
pub(crate) struct Object {
    /// The type of a map's members; `None` for an object.
    pub map_of: Option<Type>,
    pub members: BTreeMap<String, Value>,
    shape: Shape,
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.items == other.items
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.map_of == other.map_of && self.members == other.members
    }
}

/// What is known about a value without walking it. Values are shared, so walking a value may take far longer than
/// building it: a shared value adds to the weight each time it occurs.
#[derive(Clone, Debug, Default)]
struct Shape {
    /// About how many bytes it takes.
    weight: usize,
    depth: usize,
    /// The first unknown value in it.
    unknown: Option<Arc<Unknown>>,
}

impl Shape {
    /// The heaviest value that is built.
    const MAX_WEIGHT: usize = 8 << 20;
    /// Also bounds the stack that walking and dropping take.
    const MAX_DEPTH: usize = 64;

    fn of<'a>(values: impl Iterator<Item = &'a Value>, names: usize) -> Outcome<Self> {
        let mut shape = Self { weight: VALUE_WEIGHT + names, depth: 1, unknown: None };
        for value in values {
            let (depth, unknown) = match value {
                Value::List(list) => (list.shape.depth, list.shape.unknown.as_ref()),
                Value::Object(object) => (object.shape.depth, object.shape.unknown.as_ref()),
                _ => (0, value.hole()),
            };
            shape.weight += value.weight();
            shape.depth = shape.depth.max(depth + 1);
            if shape.unknown.is_none() {
                shape.unknown = unknown.cloned();
            }
            if shape.weight > Self::MAX_WEIGHT || shape.depth > Self::MAX_DEPTH {
                return unknown_size();
            }
        }
        Ok(shape)
    }
}

fn unknown_size<T>() -> Outcome<T> {
    unknown("the value is too large or too deeply nested to be computed")
}

/// The weight of a value that holds nothing.
const VALUE_WEIGHT: usize = 32;

impl Value {
    /// A literal `null`.
    pub(crate) const NULL: Self = Self::Null(Type::Any);

    /// A string, which the language keeps in Unicode's normal form C.
    pub(crate) fn string(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
            return Self::String(text);
        }
        Self::String(text.nfc().collect::<String>().into())
    }

    pub(crate) fn number(number: impl Into<Number>) -> Self {
        Self::Number(number.into())
    }

    pub(crate) fn tuple(items: Vec<Self>) -> Outcome {
        Self::collection(ListKind::Tuple, items)
    }

    /// A list whose items are of a type already.
    pub(crate) fn list(of: Type, items: Vec<Self>) -> Outcome {
        Self::collection(ListKind::List(of), items)
    }

    /// A list of strings.
    pub(crate) fn strings(texts: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Outcome {
        Self::list(Type::String, texts.into_iter().map(Self::string).collect())
    }

    /// A list, a tuple, or a set whose items are in order already.
    pub(crate) fn collection(kind: ListKind, items: Vec<Self>) -> Outcome {
        let shape = Shape::of(items.iter(), 0)?;
        Ok(Self::List(Arc::new(List { kind, items, shape })))
    }

    pub(crate) fn object(members: BTreeMap<String, Self>) -> Outcome {
        Self::members(None, members)
    }

    /// A map whose members are of a type already, or an object.
    pub(crate) fn members(map_of: Option<Type>, members: BTreeMap<String, Self>) -> Outcome {
        let names = members.keys().map(String::len).sum();
        let shape = Shape::of(members.values(), names)?;
        Ok(Self::Object(Arc::new(Object { map_of, members, shape })))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null(_))
    }

    /// Why the program that runs the configuration would certainly fail here, if it would.
    pub(crate) fn failed(&self) -> Outcome<()> {
        match self {
            Self::Unknown(unknown) if unknown.is_failure => Err(Stop::Needs(Arc::clone(unknown))),
            _ => Ok(()),
        }
    }

    /// The type, if what is known decides it.
    pub(crate) fn type_of(&self) -> Outcome<Type> {
        Ok(match self {
            Self::Null(kind) => kind.clone(),
            Self::Bool(_) => Type::Bool,
            Self::Number(_) => Type::Number,
            Self::String(_) | Self::Partial(_) => Type::String,
            Self::List(list) => match &list.kind {
                ListKind::Tuple => Type::Tuple(list.items.iter().map(Self::type_of).collect::<Outcome<_>>()?),
                ListKind::List(of) => Type::list(of.clone()),
                ListKind::Set(of) => Type::set(of.clone()),
            },
            Self::Object(object) => {
                let attribute =
                    |(name, value): (&String, &Self)| Ok((name.clone(), Attribute::required(value.type_of()?)));
                match &object.map_of {
                    Some(of) => Type::map(of.clone()),
                    None => Type::Object(object.members.iter().map(attribute).collect::<Outcome<_>>()?),
                }
            }
            Self::Unknown(unknown) => return Err(Stop::Needs(Arc::clone(unknown))),
        })
    }

    /// A string of pieces. No two neighbours are [`Piece::Text`].
    pub(crate) fn pieces(pieces: Vec<Piece>) -> Outcome {
        let value = match pieces.as_slice() {
            [] => Self::string(""),
            [Piece::Text(text)] => Self::string(text.as_str()),
            _ => Self::Partial(pieces.into()),
        };
        if value.weight() > Shape::MAX_WEIGHT { unknown_size() } else { Ok(value) }
    }

    /// About how many bytes it takes, or as much more as it is slower to handle.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::String(text) => VALUE_WEIGHT + text.len(),
            Self::Number(number) => VALUE_WEIGHT + number.weight(),
            Self::Partial(pieces) => VALUE_WEIGHT + pieces.iter().map(Piece::weight).sum::<usize>(),
            Self::List(list) => list.shape.weight,
            Self::Object(object) => object.shape.weight,
            Self::Null(_) | Self::Bool(_) | Self::Unknown(_) => VALUE_WEIGHT,
        }
    }

    /// Why the value itself is unknown, or a piece of it. Items of a list or an object are not looked at.
    fn hole(&self) -> Option<&Arc<Unknown>> {
        match self {
            Self::Unknown(unknown) => Some(unknown),
            Self::Partial(pieces) => pieces.iter().find_map(|piece| match piece {
                Piece::Hole(unknown)
                | Piece::Branch(_, unknown)
                | Piece::Common(_, unknown)
                | Piece::Withheld(_, unknown) => Some(unknown),
                Piece::Text(_) => None,
            }),
            _ => None,
        }
    }

    /// The value, if it and all in it is known.
    pub(crate) fn known(&self) -> Outcome<&Self> {
        let unknown = match self {
            Self::List(list) => list.shape.unknown.as_ref(),
            Self::Object(object) => object.shape.unknown.as_ref(),
            _ => self.hole(),
        };
        unknown.map_or(Ok(self), |unknown| Err(Stop::Needs(Arc::clone(unknown))))
    }

    /// The value, if it is known; its items need not be.
    pub(crate) fn known_itself(&self) -> Outcome<&Self> {
        self.hole().map_or(Ok(self), |unknown| Err(Stop::Needs(Arc::clone(unknown))))
    }

    /// The value, if it can be compared with others: if it is known, or a text that is withheld.
    pub(crate) fn comparable(&self) -> Outcome {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Withheld(text, _) => Some(text.to_string()),
            Piece::Hole(_) | Piece::Branch(..) | Piece::Common(..) => None,
        };
        let texts = match self {
            Self::Partial(pieces) => pieces.iter().map(text).collect::<Option<String>>(),
            _ => None,
        };
        texts.map_or_else(|| self.known().cloned(), |text| Ok(Self::string(text)))
    }

    /// The kind of the value, with its article, for an error.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null(_) => "null",
            Self::Bool(_) => "a bool",
            Self::Number(_) => "a number",
            Self::String(_) | Self::Partial(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
            Self::Unknown(_) => "unknown",
        }
    }

    fn is_not<T>(&self, expected: &str) -> Outcome<T> {
        self.known_itself()?;
        failure(format!("{expected} is needed, not {}", self.kind()))
    }

    /// As a string; numbers and bools are converted.
    pub(crate) fn as_string(&self) -> Outcome<Arc<str>> {
        match self {
            Self::String(text) => Ok(Arc::clone(text)),
            Self::Bool(value) => Ok(value.to_string().into()),
            Self::Number(number) => Ok(number.to_string().into()),
            other => other.is_not("a string"),
        }
    }

    /// As a bool; strings that stand for one are converted.
    pub(crate) fn as_bool(&self) -> Outcome<bool> {
        match self {
            Self::Bool(value) => Ok(*value),
            Self::String(text) => match &**text {
                "true" | "1" => Ok(true),
                "false" | "0" => Ok(false),
                _ => self.is_not("a bool"),
            },
            other => other.is_not("a bool"),
        }
    }

    /// As a number; a string that holds one is converted.
    pub(crate) fn as_number(&self) -> Outcome<Number> {
        match self {
            Self::Number(number) => Ok(number.clone()),
            Self::String(text) => Number::parse(text),
            other => other.is_not("a number"),
        }
    }

    /// As a whole number that a machine holds.
    pub(crate) fn as_integer(&self) -> Outcome<i64> {
        let number = self.as_number()?;
        match number.to_i64() {
            Some(number) => Ok(number),
            None if number.to_integer().is_some() => unknown("indexes this large are not computed"),
            None => failure("a whole number is needed"),
        }
    }

    /// As a whole number that is not negative.
    pub(crate) fn as_index(&self) -> Outcome<usize> {
        let Ok(index) = usize::try_from(self.as_integer()?) else {
            return failure("a whole number that is not negative is needed");
        };
        Ok(index)
    }

    /// As the items of a list, a set or a tuple.
    pub(crate) fn as_list(&self) -> Outcome<&[Self]> {
        match self {
            Self::List(list) => Ok(&list.items),
            other => other.is_not("a list"),
        }
    }

    /// As the members of a map or an object.
    pub(crate) fn as_object(&self) -> Outcome<&BTreeMap<String, Self>> {
        match self {
            Self::Object(object) => Ok(&object.members),
            other => other.is_not("an object"),
        }
    }
}

impl Piece {
    /// How many bytes it holds, and itself.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) | Self::Branch(text, _) | Self::Common(text, _) => 1 + text.len(),
            Self::Withheld(text, _) => 1 + text.len(),
            Self::Hole(_) => 1,
        }
    }
}
