//! Lists and maps with a maximum number of elements, for foreign documents. A short text can
//! contain many elements: an empty string in a list takes three bytes in JSON, and ten times that
//! in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// A list of at most `MOST` elements; reading a longer one is an error, and stops there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct List<T, const MOST: usize>(pub(crate) Vec<T>);

/// A map of at most `MOST` members. Of two members with the same name the last is used, unless
/// names are `UNIQUE`: then it is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Map<T, const MOST: usize, const UNIQUE: bool = false>(
    pub(crate) BTreeMap<String, T>,
);

struct ListVisitor<T, const MOST: usize>(PhantomData<T>);
struct MapVisitor<T, const MOST: usize, const UNIQUE: bool>(PhantomData<T>);

impl<T, const MOST: usize> Default for List<T, MOST> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for List<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize, const UNIQUE: bool> Deserialize<'de>
    for Map<T, MOST, UNIQUE>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for ListVisitor<T, MOST> {
    type Value = List<T, MOST>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a list of at most {MOST} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = sequence.next_element()? {
            if list.len() == MOST {
                return Err(A::Error::invalid_length(MOST + 1, &self));
            }
            list.push(element);
        }
        Ok(List(list))
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize, const UNIQUE: bool> Visitor<'de>
    for MapVisitor<T, MOST, UNIQUE>
{
    type Value = Map<T, MOST, UNIQUE>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a map of at most {MOST} members")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = access.next_entry()? {
            if map.len() == MOST {
                return Err(A::Error::invalid_length(MOST + 1, &self));
            }
            if map.insert(key, value).is_some() && UNIQUE {
                return Err(A::Error::custom("a name occurs twice"));
            }
        }
        Ok(Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_more_elements_is_not_read() {
        assert_eq!(
            serde_json::from_str::<List<u8, 2>>("[1, 2]").unwrap(),
            List(vec![1, 2])
        );
        assert!(serde_json::from_str::<List<u8, 2>>("[1, 2, 3]").is_err());
        assert!(serde_json::from_str::<List<u8, 2>>("[1, 2, ").is_err());
        assert_eq!(
            serde_json::from_str::<Map<u8, 1>>(r#"{"a": 1}"#).unwrap().0,
            [("a".to_owned(), 1)].into()
        );
        assert!(serde_json::from_str::<Map<u8, 1>>(r#"{"a": 1, "b": 2}"#).is_err());
        let twice = r#"{"a": 1, "a": 2}"#;
        assert_eq!(serde_json::from_str::<Map<u8, 2>>(twice).unwrap().0["a"], 2);
        assert!(serde_json::from_str::<Map<u8, 2, true>>(twice).is_err());
    }
}
