//! An entry before its values are checked.

use std::borrow::Cow;
use std::ops::Range;

/// Something for each attribute of an entry but `hashes`, in the order in which attributes are written.
pub type PerAttribute<T> = [Option<T>; 4];

/// An entry. A part that is missing or of the wrong type is `None`, and was reported.
pub(super) struct RawEntry<'a> {
    pub(super) span: Range<usize>,
    /// The type of the block.
    pub(super) keyword: Range<usize>,
    pub(super) label: Option<Text<'a>>,
    pub(super) attributes: PerAttribute<Attribute<Option<Text<'a>>>>,
    pub(super) hashes: Option<Attribute<Vec<Text<'a>>>>,
    pub(super) unknown_attributes: Vec<Range<usize>>,
}

/// An attribute with its value.
pub(super) struct Attribute<T> {
    pub(super) layout: AttributeLayout,
    pub(super) value: T,
}

/// A string literal's value and place.
#[derive(Debug)]
pub struct Text<'a> {
    pub(super) value: Cow<'a, str>,
    pub(super) span: Range<usize>,
}

/// The places of the parts of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttributeLayout {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

impl AttributeLayout {
    /// From the key to the end of the value.
    pub(super) fn span(&self) -> Range<usize> {
        self.key.start..self.value.end
    }
}
