//! Comments in a lock file that suppress findings about an entry: `# provlock: ignore[CODE, …]
//! REASON` directly above it.
//!
//! Codes: `invalid-ignore`, `unused-ignore`, `policy-changed`.

use std::mem::take;

use memchr::memmem;

use super::audited_root::{VerifiedRoot, finding_at};
use super::base::BaseLockFile;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::lockfile::{CommentLine, EntryKind, LockFileOf};
use crate::provider::Dialect;

/// Prefix of a comment for provlock.
const MARK: &str = "provlock:";
const USAGE: &str = "write # provlock: ignore[CODE] REASON directly above an entry";

/// A kind of finding about an entry that a comment suppresses.
struct Ignore<T: EntryKind> {
    code: Code,
    address: T::Address,
    location: Location,
}

/// Removes the findings that comments in a lock file suppress, and counts them. `about` returns the
/// entry of a finding. In a change under review, a comment applies only if the named revision has
/// it, about the same entry. Returns the findings about comments, with their entries: a comment is
/// invalid, new, or suppresses no finding of a code in `looked_for`.
pub(super) fn apply<T: EntryKind>(
    lock_file: &LockFileOf<T>,
    base: Option<&BaseLockFile<'_, T>>,
    dialect: Dialect,
    looked_for: &[Code],
    report: &mut VerifiedRoot,
    about: impl Fn(&Diagnostic) -> Option<T::Address>,
) -> Vec<(Option<T::Address>, Diagnostic)> {
    let comments = read_comments(lock_file);
    // A change must not suppress the findings about itself.
    let approved = base.map(approved_ignores);
    let mut applied = Vec::new();
    let mut new = Vec::new();
    for ignore in comments.ignores {
        // Without a change under review, every comment applies.
        let is_approved = match &approved {
            Some(approved) => approved.iter().any(|other| other.is_same(&ignore)),
            None => true,
        };
        if is_approved {
            applied.push(ignore);
        } else {
            let finding = ignore.finding_applies_later(dialect);
            new.push((Some(ignore.address), finding));
        }
    }

    let mut is_used = vec![false; applied.len()];
    for finding in take(&mut report.findings) {
        let entry = about(&finding);
        let mut ignores = applied.iter();
        let ignored_by = ignores.position(|ignore| {
            ignore.code == finding.code && entry.as_ref() == Some(&ignore.address)
        });
        match ignored_by {
            Some(index) => {
                is_used[index] = true;
                report.suppressed.ignored += 1;
            }
            None => report.findings.push(finding),
        }
    }

    let mut findings = Vec::new();
    for invalid in comments.invalid {
        findings.push((None, invalid));
    }
    for (ignore, is_used) in applied.iter().zip(is_used) {
        if !is_used && looked_for.contains(&ignore.code) {
            findings.push((Some(ignore.address.clone()), ignore.finding_unused(dialect)));
        }
    }
    findings.extend(new);
    findings
}

/// The comments that the owners of the base have approved.
fn approved_ignores<T: EntryKind>(base: &BaseLockFile<'_, T>) -> Vec<Ignore<T>> {
    if memmem::find(base.approved_bytes, MARK.as_bytes()).is_none() {
        return Vec::new();
    }
    match &base.approved().lock_file {
        Some(approved) => read_comments(approved).ignores,
        None => Vec::new(),
    }
}

/// The comments for provlock in a lock file.
struct Comments<T: EntryKind> {
    ignores: Vec<Ignore<T>>,
    /// Findings about comments that ignore nothing.
    invalid: Vec<Diagnostic>,
}

/// Reads the comments for provlock in a lock file. A comment that is not valid, or does not stand
/// above an entry, becomes a finding.
fn read_comments<T: EntryKind>(lock_file: &LockFileOf<T>) -> Comments<T> {
    let mut comments = Comments {
        ignores: Vec::new(),
        invalid: Vec::new(),
    };
    // Most lock files have no such comment, and need not be read line by line.
    if memmem::find(lock_file.file().text.as_bytes(), MARK.as_bytes()).is_none() {
        return comments;
    }
    for CommentLine {
        text,
        location,
        entry,
    } in lock_file.comment_lines()
    {
        let Some(text) = text
            .trim_start_matches(['#', '/'])
            .trim_start()
            .strip_prefix(MARK)
        else {
            continue;
        };
        let (code, message) = match (parse_codes(text.trim()), entry) {
            (Ok(codes), Some(entry)) => {
                for code in codes {
                    comments.ignores.push(Ignore {
                        code,
                        address: entry.address.clone(),
                        location: location.clone(),
                    });
                }
                continue;
            }
            (Ok(_), None) => {
                let message =
                    "this comment ignores nothing, because no entry begins in the next line";
                (Code::UnusedIgnore, message.to_owned())
            }
            (Err(message), _) => (Code::InvalidIgnore, message),
        };
        let invalid = finding_at(code, message, &location);
        comments.invalid.push(invalid.help(USAGE));
    }
    comments
}

impl<T: EntryKind> Ignore<T> {
    /// Whether both suppress the same findings.
    fn is_same(&self, other: &Self) -> bool {
        self.code == other.code && self.address == other.address
    }

    fn finding_unused(&self, dialect: Dialect) -> Diagnostic {
        let code = self.code;
        let name = T::name(&self.address, dialect);
        let message = format!("this comment ignores {code}, but {name} has no such finding");
        finding_at(Code::UnusedIgnore, message, &self.location).help("remove it")
    }

    fn finding_applies_later(&self, dialect: Dialect) -> Diagnostic {
        let code = self.code;
        let name = T::name(&self.address, dialect);
        let message = format!(
            "the comment that ignores {code} for {name} is new; this change is checked without it"
        );
        let warning = finding_at(Code::PolicyChanged, message, &self.location);
        warning.help("review its reason: it applies from the next change on")
    }
}

/// Parses `ignore[CODE, …] REASON`, and returns the codes. The error is a message about the
/// comment.
fn parse_codes(text: &str) -> Result<Vec<Code>, String> {
    const INVALID: &str = "this comment is not valid";
    let after_keyword = text.strip_prefix("ignore").ok_or(INVALID)?;
    let after_bracket = after_keyword
        .trim_start()
        .strip_prefix('[')
        .ok_or(INVALID)?;
    let (list, reason) = after_bracket.split_once(']').ok_or(INVALID)?;
    let mut codes = Vec::new();
    for name in list.split(',') {
        let name = name.trim();
        match name.parse::<Code>() {
            Ok(code) if code.may_be_suppressed() => codes.push(code),
            Ok(code) => return Err(format!("{code} cannot be ignored")),
            Err(_) => {
                return Err(format!(
                    "this comment ignores {name:?}, which is not the code of a finding"
                ));
            }
        }
    }
    if reason.trim().is_empty() {
        return Err("this comment has no reason".to_owned());
    }
    Ok(codes)
}
