//! The calls of a module and the values that decide on their sources, as they are written: what a
//! change may alter.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::code_lines::code;
use crate::provider::Dialect;

use super::decode;
use super::file::{Call, CallSource};
use super::files::is_test;
use super::module::Module;
use super::names::{Names, Variable};
use super::syntax::Attribute;

/// The name and text of each call, argument, local value and variable, by the name of its file and
/// its start.
pub(crate) type Written = BTreeMap<(String, usize), String>;

impl Module {
    /// The calls and values as they have their effect, with the arguments of override files.
    pub(crate) fn written(&self) -> Written {
        let mut written = Written::default();
        self.calls
            .iter()
            .for_each(|call| add_call(call, &mut written));
        let Names {
            locals, variables, ..
        } = self.names();
        for (name, value) in locals {
            add(
                &value.location,
                format!("local.{name} {}", text(value)),
                &mut written,
            );
        }
        for (name, variable) in variables {
            let Variable {
                default,
                kind,
                is_const,
                is_sensitive,
                is_nullable,
                location,
            } = variable;
            let (default, kind) = (optional(default.as_ref()), optional(kind.as_ref()));
            let all = format!(
                "var.{name} {default:?} {kind:?} {is_const} {is_sensitive} {is_nullable:?}"
            );
            add(location, all, &mut written);
        }
        written
    }
}

/// [`Module::written`] of a test file; `None` for any other file.
pub(crate) fn written_in_test(path: &Path, text: &str, dialect: Dialect) -> Option<Written> {
    is_test(path.file_name()?.to_str()?).then_some(())?;
    let file: Arc<SourceFile> = SourceFile::new(path, text);
    let mut written = Written::default();
    if let Ok(found) = decode::test_file(&file, dialect) {
        found
            .calls
            .blocks
            .iter()
            .for_each(|call| add_call(call, &mut written));
    }
    Some(written)
}

/// Whether one of these texts gives an argument to the call with the first text.
pub(crate) fn has_argument<'a>(
    call: &str,
    name: &str,
    all: impl IntoIterator<Item = &'a String>,
) -> bool {
    let start = format!("{}.{name} ", call.split(' ').next().unwrap_or_default());
    all.into_iter().any(|text| text.starts_with(&start))
}

fn add_call(call: &Call, written: &mut Written) {
    let Call {
        name,
        source,
        version,
        location,
        arguments,
    } = call;
    let source = match source {
        CallSource::Constant(source) => source.clone(),
        CallSource::Expression(source) => text(source),
        CallSource::Missing => String::new(),
    };
    add(
        location,
        format!("module.{name} {source:?} {:?}", optional(version.as_ref())),
        written,
    );
    // An override file replaces arguments.
    let arguments: BTreeMap<_, _> = arguments
        .iter()
        .map(|one| (one.name.text.as_str(), one))
        .collect();
    for (argument, one) in arguments
        .into_iter()
        .filter(|(argument, _)| *argument != "source")
    {
        add(
            &one.location,
            format!("module.{name}.{argument} {}", text(one)),
            written,
        );
    }
}

fn add(location: &Location, text: String, written: &mut Written) {
    written.insert(place(location), text);
}

/// The name of a location's file, and its start.
pub(crate) fn place(location: &Location) -> (String, usize) {
    let name = location
        .path()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    (name.unwrap_or_default(), location.span.start)
}

/// The text of a value without comments and white space.
fn text(attribute: &Attribute) -> String {
    code(&attribute.location.file.text[attribute.location.span.clone()])
}

fn optional(attribute: Option<&Attribute>) -> String {
    attribute.map(text).unwrap_or_default()
}
