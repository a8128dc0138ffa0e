//! One view of a configuration in either syntax: a body contains arguments and blocks, as a schema
//! lists them.
//!
//! Blocks and arguments are parts of a file, which are parsed when they are needed, so that the
//! rest is never parsed. JSON follows [HCL's JSON
//! syntax](https://github.com/hashicorp/hcl/blob/main/json/spec.md): a block is an object, an array
//! of blocks repeats it, and labels are the names of nested objects.

mod attribute;
mod content;
pub(super) mod native;

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Location, SourceFile};
use crate::hcl::Fault;

pub(super) use attribute::{Attribute, JsonStrings, Name};
pub(super) use content::{AttributeNames, Block, BlockSchema, Content, Schema};

/// Converts a syntax error for users.
pub(super) fn diagnose(file: &Arc<SourceFile>, fault: Fault) -> Diagnostic {
    Diagnostic::error(Code::InvalidConfiguration, fault.message)
        .at_location(Location::new(file, fault.span))
}
