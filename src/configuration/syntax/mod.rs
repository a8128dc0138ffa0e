//! One view of a configuration in either syntax: bodies hold arguments and blocks, blocks have labels and a body.
//!
//! Native values are handed to hcl-edit one at a time, when they are asked for, so that what does not matter is never
//! parsed. JSON follows [HCL's JSON syntax](https://github.com/hashicorp/hcl/blob/main/json/spec.md): a block is an
//! object, an array of blocks repeats it, and labels are the names of nested objects.

mod body;
mod deferred;
mod expression;
pub(super) mod native;

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Location, Result, SourceFile};
use crate::hcl::{Fault, json};

pub(super) use body::{Block, Body, Items};
pub(super) use deferred::{DeferredValue, ParsedValue};
pub(super) use expression::{Expression, Name};

/// Splits a file of either syntax into its top-level arguments and blocks, and hands them to `decode`.
pub(super) fn read<T>(file: &Arc<SourceFile>, decode: impl FnOnce(&Items<'_>) -> T) -> Result<T> {
    let is_json = file.path.extension().is_some_and(|extension| extension == "json");
    let decoded = if is_json {
        json::parse(&file.text).and_then(|value| Ok(decode(&Body::Json(&value).items()?)))
    } else {
        native::file_items(&file.text).map(|items| decode(&Items::Native { text: &file.text, items }))
    };
    decoded.map_err(|fault| diagnose(file, fault).into())
}

/// A fault as what the user sees.
pub(super) fn diagnose(file: &Arc<SourceFile>, fault: Fault) -> Diagnostic {
    Diagnostic::error(Code::InvalidConfiguration, fault.message).at(Location::new(file, fault.span), "")
}
