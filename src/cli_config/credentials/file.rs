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
    edit(path, |text, root| with_token(text, root, host, token)).map(drop)
}

/// Removes a host's credentials. Returns whether there were any.
pub(super) fn forget(path: &Path, host: &Hostname) -> Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    edit(path, |text, root| {
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

/// Applies a change to the file, and says whether it made a difference; `None` means that the file
/// does not have the form that it must have.
fn edit(path: &Path, change: impl Fn(&str, &Value) -> Option<String>) -> Result<bool> {
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
    let refuse = || {
        let file = SourceFile::private(path, text);
        invalid(
            "the file must be a JSON object with an object \"credentials\"",
            Location::new(&file, 0..0),
        )
    };
    let root = json::parse(text)
        .ok()
        .filter(|root| members(root).is_some())
        .ok_or_else(refuse)?;
    let new = change(text, &root)
        .filter(|new| json::parse(new).is_ok())
        .ok_or_else(refuse)?;
    // Compare the changed text: an empty file stands for an empty object.
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

fn members(value: &Value) -> Option<&[Member]> {
    match &value.kind {
        Kind::Object(members) => Some(members),
        _ => None,
    }
}

fn is_host(member: &Member, host: &Hostname) -> bool {
    Hostname::parse(&member.name).is_ok_and(|key| key == *host)
}

/// The last member of a key counts, as for any reader.
fn last(value: &Value, is_wanted: impl Fn(&Member) -> bool) -> Option<&Value> {
    members(value)?
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
    let Some(credentials) = last(root, |member| member.name == "credentials") else {
        let member = format!("\n  \"credentials\": {{\n    {host_key}: {object}\n  }}");
        return insert_first(text, root, &member, "\n");
    };
    let Some(own) = last(credentials, |member| is_host(member, host)) else {
        return insert_first(
            text,
            credentials,
            &format!("\n    {host_key}: {object}"),
            "\n  ",
        );
    };
    // A value that is no object, such as null, contains nothing to keep.
    if members(own).is_none() {
        return Some(replace(text, &own.span, &object));
    }
    match last(own, |member| member.name == "token") {
        Some(old) => Some(replace(text, &old.span, &token)),
        None => insert_first(text, own, &format!("\n      \"token\": {token}"), "\n    "),
    }
}

/// Puts a member at the start of an object; `closing` goes before the brace of an empty object.
fn insert_first(text: &str, object: &Value, member: &str, closing: &str) -> Option<String> {
    let at = object.span.start + 1;
    if members(object)?.is_empty() {
        return Some(replace(
            text,
            &(at..object.span.end - 1),
            &format!("{member}{closing}"),
        ));
    }
    Some(replace(text, &(at..at), &format!("{member},")))
}

/// Removes one member of the host, with the comma that joins it to its neighbour.
fn without_host(text: &str, root: &Value, host: &Hostname) -> Option<String> {
    let hosts = last(root, |member| member.name == "credentials").and_then(members)?;
    let index = hosts.iter().position(|member| is_host(member, host))?;
    let own = &hosts[index];
    let span = match (hosts.get(index + 1), index.checked_sub(1)) {
        (Some(next), _) => own.name_span.start..next.name_span.start,
        (None, Some(previous)) => hosts[previous].value.span.end..own.value.span.end,
        (None, None) => own.name_span.start..own.value.span.end,
    };
    Some(replace(text, &span, ""))
}

fn replace(text: &str, span: &Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..span.start], &text[span.end..])
}
