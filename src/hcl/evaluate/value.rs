//! Values of expressions. A value, or a piece of a string, may be unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use derive_more::Deref;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

pub(crate) use super::stop::{Stop, Unknown};

/// Attributes of an object, or elements of a map, by name.
pub(crate) type Members = BTreeMap<String, Value>;

/// A value. Lists have no type of their own: where a list, tuple, map or object of Terraform would
/// behave differently, the result is unknown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// An integer that a double represents exactly. All other numbers are unknown.
    Int(i64),
    String(Arc<str>),
    /// A string with unknown pieces.
    Partial(Arc<[Piece]>),
    /// A list or a tuple. Sets are unknown.
    List(Arc<Collection<Vec<Self>>>),
    /// A map or an object.
    Object(Arc<Collection<Members>>),
    Unknown(Arc<Unknown>),
}

/// A piece of a string.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Hole(Arc<Unknown>),
    /// One of two texts, because the condition of an `if` is unknown.
    Either(Arc<[Vec<Self>; 2]>, Arc<Unknown>),
    /// A text that may be a secret. It can be compared; in every other use it is unknown, so that
    /// it is never shown or sent.
    Withheld(Arc<str>, Arc<Unknown>),
}

/// Items with facts about all values in them.
#[derive(Debug, Deref, PartialEq)]
pub(crate) struct Collection<T> {
    #[deref]
    pub items: T,
    facts: Facts,
}

/// Facts about all values in a collection. Values are shared, so visiting each one may take far
/// longer than building the collection did.
#[derive(Debug, PartialEq)]
struct Facts {
    /// Approximate size in bytes; a shared value counts each time it occurs.
    weight: usize,
    depth: usize,
    /// The first unknown value.
    unknown: Option<Arc<Unknown>>,
}

/// Heaviest value that is built.
const MAX_WEIGHT: usize = 8 << 20;
/// Deepest value that is built; bounds the stack needed to visit or drop a value.
const MAX_DEPTH: usize = 64;
/// Weight of a value without content.
const VALUE_WEIGHT: usize = 32;
/// Integers are smaller than this, so that a double represents them exactly.
const INTEGER_END: u64 = 1 << 53;

impl Facts {
    fn of<'a>(values: impl Iterator<Item = &'a Value>, names: usize) -> Result<Self, Stop> {
        let mut facts = Self {
            weight: VALUE_WEIGHT + names,
            depth: 1,
            unknown: None,
        };
        for value in values {
            facts.weight += value.weight();
            facts.depth = facts
                .depth
                .max(1 + value.facts().map_or(0, |inner| inner.depth));
            facts.unknown = facts.unknown.or_else(|| value.first_unknown().cloned());
            if facts.weight > MAX_WEIGHT || facts.depth > MAX_DEPTH {
                return too_large();
            }
        }
        Ok(facts)
    }
}

fn too_large<T>() -> Result<T, Stop> {
    Err(Stop::unknown(
        "the value is too large or too deeply nested to be computed",
    ))
}

/// Parses an integer in plain digits.
pub(crate) fn parse_exact_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == text || !digits.starts_with('0'));
    text.parse::<i64>()
        .ok()
        .filter(|number| is_plain && number.unsigned_abs() < INTEGER_END)
}

impl Value {
    /// A string in Unicode's normal form C, as the language keeps strings.
    pub(crate) fn string(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
            return Self::String(text);
        }
        Self::String(text.nfc().collect::<String>().into())
    }

    /// A string of pieces. No two neighbours are [`Piece::Text`].
    pub(crate) fn pieces(pieces: Vec<Piece>) -> Result<Value, Stop> {
        let value = match pieces.as_slice() {
            [] => Self::string(""),
            [Piece::Text(text)] => Self::string(text.as_str()),
            _ => Self::Partial(pieces.into()),
        };
        if value.weight() > MAX_WEIGHT {
            too_large()
        } else {
            Ok(value)
        }
    }

    /// A number of items.
    pub(crate) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn list(items: Vec<Self>) -> Result<Value, Stop> {
        let facts = Facts::of(items.iter(), 0)?;
        Ok(Self::List(Arc::new(Collection { items, facts })))
    }

    /// A list of strings.
    pub(crate) fn strings(
        texts: impl IntoIterator<Item = impl Into<Arc<str>>>,
    ) -> Result<Value, Stop> {
        Self::list(texts.into_iter().map(Self::string).collect())
    }

    pub(crate) fn object(members: Members) -> Result<Value, Stop> {
        let facts = Facts::of(members.values(), members.keys().map(String::len).sum())?;
        Ok(Self::Object(Arc::new(Collection {
            items: members,
            facts,
        })))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns an error if OpenTofu, Terraform or Terragrunt would certainly fail here.
    pub(crate) fn ensure_not_failed(&self) -> Result<(), Stop> {
        match self {
            Self::Unknown(unknown) if unknown.is_failure => Err(Stop::Needs(Arc::clone(unknown))),
            _ => Ok(()),
        }
    }

    /// Approximate size in bytes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::String(text) => VALUE_WEIGHT + text.len(),
            Self::Partial(pieces) => VALUE_WEIGHT + pieces.iter().map(Piece::weight).sum::<usize>(),
            other => other.facts().map_or(VALUE_WEIGHT, |facts| facts.weight),
        }
    }

    fn facts(&self) -> Option<&Facts> {
        match self {
            Self::List(list) => Some(&list.facts),
            Self::Object(object) => Some(&object.facts),
            _ => None,
        }
    }

    /// Returns the reason why the value itself is unknown, or a piece of it, ignoring the items of
    /// a collection.
    fn hole(&self) -> Option<&Arc<Unknown>> {
        match self {
            Self::Unknown(unknown) => Some(unknown),
            Self::Partial(pieces) => pieces.iter().find_map(Piece::unknown),
            _ => None,
        }
    }

    pub(crate) fn first_unknown(&self) -> Option<&Arc<Unknown>> {
        self.facts()
            .map_or_else(|| self.hole(), |facts| facts.unknown.as_ref())
    }

    /// Returns the value if everything in it is known.
    pub(crate) fn known(&self) -> Result<&Self, Stop> {
        self.first_unknown()
            .map_or(Ok(self), |unknown| Err(Stop::Needs(Arc::clone(unknown))))
    }

    /// Returns the value if it is known; its items need not be.
    pub(crate) fn known_except_items(&self) -> Result<&Self, Stop> {
        self.hole()
            .map_or(Ok(self), |unknown| Err(Stop::Needs(Arc::clone(unknown))))
    }

    /// Returns the value if it can be compared: if it is known, or a text that is withheld.
    pub(crate) fn comparable(&self) -> Result<Value, Stop> {
        let Self::Partial(pieces) = self else {
            return self.known_except_items().cloned();
        };
        let mut text = String::new();
        for piece in pieces.iter() {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Withheld(part, _) => text.push_str(part),
                _ => return self.known().cloned(),
            }
        }
        Ok(Self::string(text))
    }

    /// Whether the value is a string of unknown pieces and a known text, so that it is not empty.
    pub(crate) fn has_known_text(&self) -> bool {
        let Self::Partial(pieces) = self else {
            return false;
        };
        let mut pieces = pieces.iter();
        pieces.any(|piece| matches!(piece, Piece::Text(text) if !text.is_empty()))
    }

    /// The kind of the value with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a bool",
            Self::Int(_) => "a number",
            Self::String(_) | Self::Partial(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
            Self::Unknown(_) => "unknown",
        }
    }

    fn mismatch<T>(&self, expected: &str) -> Result<T, Stop> {
        self.known_except_items()?;
        Err(Stop::failure(format!(
            "{expected} is needed, not {}",
            self.kind()
        )))
    }

    /// Converts a primitive value to a string.
    pub(crate) fn as_string(&self) -> Result<Arc<str>, Stop> {
        match self {
            Self::String(text) => Ok(Arc::clone(text)),
            Self::Bool(value) => Ok(value.to_string().into()),
            Self::Int(number) => Ok(number.to_string().into()),
            other => other.mismatch("a string"),
        }
    }

    /// Converts `true`, `false` and the strings for them.
    pub(crate) fn as_bool(&self) -> Result<bool, Stop> {
        match self {
            Self::Bool(value) => Ok(*value),
            Self::String(text) if matches!(&**text, "true" | "1") => Ok(true),
            Self::String(text) if matches!(&**text, "false" | "0") => Ok(false),
            other => other.mismatch("a bool"),
        }
    }

    /// Converts an integer or a string of digits.
    pub(crate) fn as_int(&self) -> Result<i64, Stop> {
        match self {
            Self::Int(number) => Ok(*number),
            Self::String(text) => match parse_exact_integer(text) {
                Some(number) => Ok(number),
                // Go also reads fractions, exponents and infinity.
                None if text.starts_with(['i', 'I'])
                    || text.contains(|c: char| c.is_ascii_digit()) =>
                {
                    Err(Stop::unknown("only integers in plain digits are computed"))
                }
                None => self.mismatch("a number"),
            },
            other => other.mismatch("a number"),
        }
    }

    /// Converts an integer that is not negative.
    pub(crate) fn as_index(&self) -> Result<usize, Stop> {
        usize::try_from(self.as_int()?)
            .map_err(|_| Stop::failure("an integer that is not negative is needed"))
    }

    /// Returns the items of a list.
    pub(crate) fn as_list(&self) -> Result<&[Self], Stop> {
        match self {
            Self::List(list) => Ok(list),
            other => other.mismatch("a list"),
        }
    }

    pub(crate) fn as_object(&self) -> Result<&Members, Stop> {
        match self {
            Self::Object(object) => Ok(object),
            other => other.mismatch("an object"),
        }
    }
}

/// Returns an error unless Terraform could put the values into one list without converting any: if
/// it is one value, or all are strings, or primitive values of one kind. Null fits all.
pub(super) fn ensure_one_type<'a, V>(values: V) -> Result<(), Stop>
where
    V: IntoIterator<Item = &'a Value, IntoIter: Clone>,
{
    let values = values.into_iter();
    let is_single = values
        .clone()
        .filter(|value| !value.is_null())
        .nth(1)
        .is_none();
    match kinds(values).as_slice() {
        ["a string" | "a bool" | "a number" | "unknown"] | ["a string", "unknown"] => Ok(()),
        _ if is_single => Ok(()),
        _ => Err(Stop::unknown(
            "conversions to a common type are not computed",
        )),
    }
}

/// The different kinds of values other than null, sorted.
pub(super) fn kinds<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<&'static str> {
    let kinds: BTreeSet<_> = values
        .into_iter()
        .filter(|value| !value.is_null())
        .map(Value::kind)
        .collect();
    kinds.into_iter().collect()
}

/// Whether two values are equal. Only primitive values are compared.
pub(super) fn equals(left: &Value, right: &Value) -> Result<bool, Stop> {
    let left = left.comparable()?;
    let right = right.comparable()?;
    if left.is_primitive() && right.is_primitive() || left.is_null() || right.is_null() {
        return Ok(left == right);
    }
    Err(Stop::unknown("lists and objects are not compared"))
}

impl Value {
    fn is_primitive(&self) -> bool {
        matches!(
            self,
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::String(_)
        )
    }
}

impl Piece {
    /// Approximate size in bytes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => 1 + text.len(),
            Self::Withheld(text, _) => 1 + text.len(),
            Self::Hole(_) => 1,
            Self::Either(branches, _) => {
                1 + branches.iter().flatten().map(Self::weight).sum::<usize>()
            }
        }
    }

    fn unknown(&self) -> Option<&Arc<Unknown>> {
        match self {
            Self::Text(_) => None,
            Self::Hole(unknown) | Self::Either(_, unknown) | Self::Withheld(_, unknown) => {
                Some(unknown)
            }
        }
    }
}
