//! The commit that a revision stands for. Git takes a tag for the branch that it is named after,
//! and anyone who may push can make a tag; so a name with two meanings is refused here, and so is a
//! tag with the name of a branch of a remote.

use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::Result;
use provlock::diagnostic::{Code, Diagnostic};

use super::command::{object_exists, references, remotes, resolve};

/// A commit, and an unambiguous revision for it.
pub(crate) struct Commit {
    pub(crate) name: String,
    pub(crate) revision: String,
}

/// Returns the commit of a revision, such as `origin/main~2`; `None` if git does not know it.
///
/// # Errors
/// The revision has several meanings, or is a tag with the name of a branch.
pub(super) fn resolve_unambiguous(top: &Path, revision: &str) -> Result<Option<Commit>> {
    // The name of a reference ends before the steps from it.
    let mut end = revision.find(['~', '^', ':']).unwrap_or(revision.len());
    if let Some(start) = revision.find("@{") {
        end = end.min(start);
    }
    let (name, steps) = revision.split_at(end);
    let full_revision = match references_named(top, name)?.as_slice() {
        // The name is an object name, or that of a reference with a file of its own, such as
        // `HEAD`.
        [] if !is_path_of_reference(name) => revision.to_owned(),
        [] => return Ok(None),
        [one] if is_tag_in_place_of_branch(top, name, one)? => {
            let message = format!("{one} is a tag, and no local branch has this name");
            let error = Diagnostic::error(
                Code::InvalidArgument,
                format!("--base {revision}: {message}"),
            );
            let advice = match remote_branches(top, name)?.first() {
                Some(branch) => format!("name the branch: {branch}{steps}"),
                None => "fetch the branch".to_owned(),
            };
            return Err(error
                .help(format!("{advice}, or the tag itself: {one}{steps}"))
                .into());
        }
        [one] => format!("{one}{steps}"),
        several => return Err(ambiguous_error(revision, steps, several).into()),
    };
    let Some(object) = resolve(top, &format!("{full_revision}^{{commit}}"))? else {
        return Ok(None);
    };
    Ok(Some(Commit {
        name: object,
        revision: full_revision,
    }))
}

/// Returns the references that a name may stand for, by the rules of `gitrevisions(7)`. If there is
/// one and the name is also a special one, such as `HEAD`, or an abbreviated ID, the name itself is
/// a further meaning.
fn references_named(top: &Path, name: &str) -> Result<Vec<String>> {
    // A full ID is never ambiguous.
    if name.is_empty() || is_id(name, 40..=64) {
        return Ok(Vec::new());
    }
    let places: &[&str] = match name {
        _ if name.starts_with("refs/") => &[""],
        _ if is_path_of_reference(name) => &["refs/"],
        _ => &["refs/tags/", "refs/heads/", "refs/remotes/"],
    };
    let mut candidates: Vec<_> = places
        .iter()
        .map(|place| format!("{place}{name}"))
        .collect();
    if places.len() > 1 {
        candidates.push(format!("refs/remotes/{name}/HEAD"));
    }
    let mut meanings = references(top, &candidates)?;
    // A path of a reference has no further meaning.
    if meanings.is_empty() || places.len() == 1 {
        return Ok(meanings);
    }
    let is_special = name == "HEAD" || name.ends_with("_HEAD");
    if is_special || (is_id(name, 4..=39) && object_exists(top, name)?) {
        meanings.push(name.to_owned());
    }
    Ok(meanings)
}

/// Whether a name contains the kind of its reference, as in `refs/tags/v1`.
fn is_path_of_reference(name: &str) -> bool {
    ["refs/", "heads/", "tags/", "remotes/"]
        .iter()
        .any(|start| name.starts_with(start))
}

fn is_id(name: &str, length: RangeInclusive<usize>) -> bool {
    length.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a name of a branch, such as `main` or `origin/main`, is only a tag here. A clone need
/// not have fetched the branch, so every name without a digit is treated as one; a tag such as `v1`
/// has a digit.
fn is_tag_in_place_of_branch(top: &Path, name: &str, reference: &str) -> Result<bool> {
    if !reference.starts_with("refs/tags/") || is_path_of_reference(name) {
        return Ok(false);
    }
    if !name.bytes().any(|byte| byte.is_ascii_digit()) {
        return Ok(true);
    }
    // `origin/release-1` is the name of a branch of `origin`.
    for remote in remotes(top)? {
        if name.starts_with(&format!("{remote}/")) {
            return Ok(true);
        }
    }
    Ok(!remote_branches(top, name)?.is_empty())
}

/// Returns the branches of remotes with a name, as they were fetched last.
fn remote_branches(top: &Path, name: &str) -> Result<Vec<String>> {
    let candidates: Vec<_> = remotes(top)?
        .iter()
        .map(|remote| format!("refs/remotes/{remote}/{name}"))
        .collect();
    references(top, &candidates)
}

fn ambiguous_error(revision: &str, steps: &str, meanings: &[String]) -> Diagnostic {
    let mut example = meanings.first();
    for meaning in meanings {
        // The last one is the most likely, because it is the branch of a remote if there is one.
        if meaning.starts_with("refs/remotes/") || meaning.starts_with("refs/heads/") {
            example = Some(meaning);
        }
    }
    let example = match example {
        Some(name) => format!(", such as {name}{steps}"),
        None => String::new(),
    };
    let meanings = meanings.join(", ");
    let message = format!("--base {revision}: the name is ambiguous: {meanings}");
    Diagnostic::error(Code::InvalidArgument, message).help(format!("write the full name{example}"))
}
