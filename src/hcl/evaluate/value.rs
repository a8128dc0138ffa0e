//! Values of expressions, where a value, or a piece of one, may be unknown.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::diagnostic::Location;

/// Why something is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// A fragment such as "`run_cmd` is not run". It quotes no values: they may come from the user's environment, and
    /// the configuration may be hostile.
    pub reason: String,
    /// The expression in question.
    pub location: Option<Location>,
    /// Whether OpenTofu, Terraform or Terragrunt would certainly fail here, so that `try` takes its next argument.
    pub(crate) is_failure: bool,
}

impl Unknown {
    /// Something that the program that runs the configuration may know, although a reader of files does not.
    pub(crate) fn new(reason: impl Into<String>, location: Option<Location>) -> Self {
        Self { reason: reason.into(), location, is_failure: false }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// What ends an evaluation early.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// A value that was needed is unknown.
    Needs(Arc<Unknown>),
    /// The evaluator, a function or an operator does not know; the place is added by the expression around it.
    Unknown(String),
    /// The program that runs the configuration would fail, too.
    Failure(String),
}

/// The result of a function or an operator.
pub(crate) type Outcome<T = Value> = Result<T, Stop>;

impl Stop {
    /// The unknown value that is left behind at a place.
    pub(crate) fn at(self, location: impl FnOnce() -> Option<Location>) -> Arc<Unknown> {
        match self {
            Self::Needs(unknown) => unknown,
            Self::Unknown(reason) => Arc::new(Unknown::new(reason, location())),
            Self::Failure(reason) => Arc::new(Unknown { is_failure: true, ..Unknown::new(reason, location()) }),
        }
    }
}

/// A failure of the program that runs the configuration, for `Err`.
pub(crate) fn failure<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Stop::Failure(reason.into()))
}

/// Something that is not known here, for `Err`.
pub(crate) fn unknown<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Stop::Unknown(reason.into()))
}

/// A value. Lists, sets and tuples are one, as are objects and maps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// Numbers that a double holds exactly are all that are computed with.
    Number(f64),
    String(Arc<str>),
    /// A string with unknown pieces.
    Partial(Arc<[Piece]>),
    List(Arc<List>),
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
    /// A text that may be a secret. It can be compared. For every other use it is unknown, so that it is never shown or
    /// sent.
    Withheld(Arc<str>, Arc<Unknown>),
}

#[derive(Debug)]
pub(crate) struct List {
    pub items: Vec<Value>,
    shape: Shape,
}

#[derive(Debug)]
pub(crate) struct Object {
    pub members: BTreeMap<String, Value>,
    shape: Shape,
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members
    }
}

/// What is known about a value without walking it. Values are shared, so walking a value may take far longer than
/// building it: a shared value adds to the weight each time it occurs.
#[derive(Clone, Debug, Default)]
struct Shape {
    /// Values and bytes of strings.
    weight: usize,
    depth: usize,
    /// The first unknown value in it.
    unknown: Option<Arc<Unknown>>,
}

impl Shape {
    /// The heaviest value that is built.
    const MAX_WEIGHT: usize = 4 << 20;
    /// Also bounds the stack that walking and dropping take.
    const MAX_DEPTH: usize = 64;

    fn of<'a>(values: impl Iterator<Item = &'a Value>, names: usize) -> Outcome<Self> {
        let mut shape = Self { weight: 1 + names, depth: 1, unknown: None };
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

impl Value {
    pub(crate) fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    pub(crate) fn list(items: Vec<Self>) -> Outcome {
        let shape = Shape::of(items.iter(), 0)?;
        Ok(Self::List(Arc::new(List { items, shape })))
    }

    pub(crate) fn object(members: BTreeMap<String, Self>) -> Outcome {
        let names = members.keys().map(String::len).sum();
        let shape = Shape::of(members.values(), names)?;
        Ok(Self::Object(Arc::new(Object { members, shape })))
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

    /// How many values and bytes it holds.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::String(text) => 1 + text.len(),
            Self::Partial(pieces) => pieces.iter().map(Piece::weight).sum(),
            Self::List(list) => list.shape.weight,
            Self::Object(object) => object.shape.weight,
            _ => 1,
        }
    }

    /// Why the value itself is unknown, or a piece of it. Items of a list or an object are not looked at.
    fn hole(&self) -> Option<&Arc<Unknown>> {
        match self {
            Self::Unknown(unknown) => Some(unknown),
            Self::Partial(pieces) => pieces.iter().find_map(|piece| match piece {
                Piece::Hole(unknown) | Piece::Branch(_, unknown) | Piece::Withheld(_, unknown) => Some(unknown),
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
            Piece::Hole(_) | Piece::Branch(..) => None,
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
            Self::Null => "null",
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

    /// As a bool; `"true"` and `"false"` are converted.
    pub(crate) fn as_bool(&self) -> Outcome<bool> {
        match self {
            Self::Bool(value) => Ok(*value),
            Self::String(text) if matches!(&**text, "true" | "false") => Ok(&**text == "true"),
            other => other.is_not("a bool"),
        }
    }

    /// As a number; a string that holds one is converted.
    pub(crate) fn as_number(&self) -> Outcome<f64> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::String(text) => match text.parse::<f64>() {
                Ok(number) if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => exact(number),
                _ => self.is_not("a number"),
            },
            other => other.is_not("a number"),
        }
    }

    /// As a whole number that is not negative.
    pub(crate) fn as_index(&self) -> Outcome<usize> {
        let number = self.as_number()?;
        if number < 0.0 || number.fract() != 0.0 {
            return failure("a whole number that is not negative is needed");
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked above, and exact
        Ok(number as usize)
    }

    /// As the items of a list.
    pub(crate) fn as_list(&self) -> Outcome<&[Self]> {
        match self {
            Self::List(list) => Ok(&list.items),
            other => other.is_not("a list"),
        }
    }

    /// As the members of an object.
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
            Self::Text(text) | Self::Branch(text, _) => 1 + text.len(),
            Self::Withheld(text, _) => 1 + text.len(),
            Self::Hole(_) => 1,
        }
    }
}

/// The number, if a double holds every whole number up to it exactly. `cty` computes with 512 bits.
pub(crate) fn exact(number: f64) -> Outcome<f64> {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if number.abs() <= LARGEST { Ok(number) } else { unknown("numbers this large are not computed") }
}
