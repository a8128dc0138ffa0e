//! The dependency lock file: parsing with spans, format-preserving edits, canonical text, differences (spec section 3).
