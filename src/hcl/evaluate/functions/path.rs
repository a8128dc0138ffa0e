//! Functions on paths, as Go's `path/filepath` treats them on systems with slashes.

use super::super::value::{Value, unknown};
use super::function::Function;
use super::function::Parameter::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    Function("basename", &[Text], None, |arguments, _| Ok(Value::string(base(&arguments[0].as_string()?)))),
    Function("dirname", &[Text], None, |arguments, _| {
        let path = arguments[0].as_string()?;
        let end = path.rfind('/').map_or(0, |slash| slash + 1);
        Ok(Value::string(clean(&path[..end])))
    }),
    Function("abspath", &[Text], None, |arguments, _| {
        let path = arguments[0].as_string()?;
        if !path.starts_with('/') || cfg!(windows) {
            return unknown("the current directory is not known");
        }
        Ok(Value::string(clean(&path)))
    }),
    Function("pathexpand", &[Text], None, |arguments, _| {
        if arguments[0].as_string()?.starts_with('~') {
            return unknown("the home directory is not read");
        }
        Ok(arguments[0].clone())
    }),
];

/// The last part of a path (`Base`).
fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    match path.trim_end_matches('/') {
        "" => "/",
        path => path.rsplit('/').next().unwrap_or(path),
    }
}

/// The shortest path that means the same (Go's `path.Clean`).
pub(crate) fn clean(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    match (is_absolute, parts.join("/")) {
        (true, path) => format!("/{path}"),
        (false, path) if path.is_empty() => ".".to_owned(),
        (false, path) => path,
    }
}
