//! Edits `credentials.tfrc.json`, which contains tokens if there is no helper. Only the bytes of
//! the host's own member change.

#![expect(
    clippy::disallowed_methods,
    reason = "the CLI configuration is the user's, and no part of a revision"
)]

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::cli_config::document::{invalid, read_text};
use crate::diagnostic::{Diagnostic, Location, Result, SourceFile};
use crate::hcl::json::{self, Kind, Member, Value};
use crate::provider::Hostname;
use crate::system::Token;
use crate::system::files::{self, Access, Reserved};

/// Writes a host's token; other properties of its credentials stay.
pub(super) fn store(path: &Path, host: &Hostname, token: &Token) -> Result<()> {
    edit_file(path, |text, root| with_token(text, root, host, token)).map(drop)
}

/// Removes a host's credentials. Returns whether there were any.
pub(super) fn forget(path: &Path, host: &Hostname) -> Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    edit_file(path, |text, root| {
        let mut text = text.to_owned();
        let mut shorter = without_host(&text, root, host);
        // A host may have been written twice, in different spellings.
        while let Some(new) = shorter {
            shorter = without_host(&new, &json::parse(&new).ok()?, host);
            text = new;
        }
        Some(text)
    })
}

/// Applies a change to the file, and returns whether it made a difference. It is an error if the
/// change returns `None`, because the file does not have the necessary form.
fn edit_file(path: &Path, change: impl Fn(&str, &Value) -> Option<String>) -> Result<bool> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(|error| Diagnostic::io("write", path, &error))?;
    // Two simultaneous logins must not lose a token.
    let file = Reserved::wait(path)?;
    let old = if path.exists() {
        Some(read_text(path)?)
    } else {
        None
    };
    let text = old
        .as_deref()
        .filter(|text| !text.trim().is_empty())
        .unwrap_or("{}\n");
    let mut changed = None;
    if let Ok(root) = json::parse(text)
        && object_members(&root).is_some()
    {
        changed = change(text, &root);
    }
    // Never is a file written that cannot be read.
    changed = changed.filter(|new| json::parse(new).is_ok());
    let Some(new) = changed else {
        let file = SourceFile::private(path, text);
        let message = "the file must be a JSON object with an object \"credentials\"";
        return Err(invalid(message, Location::new(&file, 0..0)).into());
    };
    // An empty file stands for an empty object, so its text is not the one to compare with.
    let is_different = new != text;
    if old.as_ref() != Some(&new) {
        let _uninterrupted = files::hold_off_interrupts();
        file.replace(
            old.as_deref().map(str::as_bytes),
            new.as_bytes(),
            Access::Private,
        )?;
    }
    Ok(is_different)
}

fn object_members(value: &Value) -> Option<&[Member]> {
    match &value.kind {
        Kind::Object(members) => Some(members),
        _ => None,
    }
}

fn names_host(member: &Member, host: &Hostname) -> bool {
    Hostname::parse(&member.name).is_ok_and(|key| key == *host)
}

/// Returns the value of the last wanted member of an object: it counts, as for any reader.
fn last_value(value: &Value, is_wanted: impl Fn(&Member) -> bool) -> Option<&Value> {
    object_members(value)?
        .iter()
        .rfind(|member| is_wanted(member))
        .map(|member| &member.value)
}

/// Returns the text of a file of credentials with the token of a host added or replaced. Everything
/// else stays. `None` if the text has no room for it, because a member around it is no object.
fn with_token(text: &str, root: &Value, host: &Hostname, token: &Token) -> Option<String> {
    let token = serde_json::Value::from(token.reveal()).to_string();
    let host_key = serde_json::Value::from(host.to_string()).to_string();
    let object = format!("{{\n      \"token\": {token}\n    }}");
    let Some(credentials) = last_value(root, |member| member.name == "credentials") else {
        let member = format!("\n  \"credentials\": {{\n    {host_key}: {object}\n  }}");
        return insert_first(text, root, &member, "\n");
    };
    let Some(own) = last_value(credentials, |member| names_host(member, host)) else {
        return insert_first(
            text,
            credentials,
            &format!("\n    {host_key}: {object}"),
            "\n  ",
        );
    };
    // A value that is no object, such as null, contains nothing to keep.
    if object_members(own).is_none() {
        return Some(replace_span(text, &own.span, &object));
    }
    match last_value(own, |member| member.name == "token") {
        Some(old) => Some(replace_span(text, &old.span, &token)),
        None => insert_first(text, own, &format!("\n      \"token\": {token}"), "\n    "),
    }
}

/// Puts a member at the start of an object; `closing` goes before the brace of an empty object.
fn insert_first(text: &str, object: &Value, member: &str, closing: &str) -> Option<String> {
    let at = object.span.start + 1;
    if object_members(object)?.is_empty() {
        return Some(replace_span(
            text,
            &(at..object.span.end - 1),
            &format!("{member}{closing}"),
        ));
    }
    Some(replace_span(text, &(at..at), &format!("{member},")))
}

/// Removes one member of the host, with the comma that joins it to its neighbour.
fn without_host(text: &str, root: &Value, host: &Hostname) -> Option<String> {
    let hosts = last_value(root, |member| member.name == "credentials").and_then(object_members)?;
    let index = hosts.iter().position(|member| names_host(member, host))?;
    let own = &hosts[index];
    let span = match (hosts.get(index + 1), index.checked_sub(1)) {
        (Some(next), _) => own.name_span.start..next.name_span.start,
        (None, Some(previous)) => hosts[previous].value.span.end..own.value.span.end,
        (None, None) => own.name_span.start..own.value.span.end,
    };
    Some(replace_span(text, &span, ""))
}

fn replace_span(text: &str, span: &Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..span.start], &text[span.end..])
}
