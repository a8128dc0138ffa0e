//! Comments in a lock file that suppress findings about an entry: `# provlock: ignore[CODE, …]
//! REASON` directly above it.

use memchr::memmem;

use super::audited_root::{VerifiedRoot, finding};
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

/// Removes the findings that comments in a lock file suppress; `about` returns the entry of a
/// finding. In a change under review, a comment applies only if it was there before, about the same
/// entry. Returns the findings about comments, with their entries.
pub(super) fn apply<T: EntryKind>(
    lock_file: &LockFileOf<T>,
    base: Option<&BaseLockFile<'_, T>>,
    dialect: Dialect,
    looked_for: &[Code],
    report: &mut VerifiedRoot,
    about: impl Fn(&Diagnostic) -> Option<T::Address>,
) -> Vec<(Option<T::Address>, Diagnostic)> {
    let (ignores, wrong) = read(lock_file);
    let before = base.map(|base| match memmem::find(base.bytes, MARK.as_bytes()) {
        Some(_) => base
            .parsed()
            .lock_file
            .as_ref()
            .map(|before| read(before).0)
            .unwrap_or_default(),
        None => Vec::new(),
    });
    let was_there = |ignore: &Ignore<T>| {
        let is_same =
            |before: &Ignore<T>| before.code == ignore.code && before.address == ignore.address;
        before
            .as_ref()
            .is_none_or(|before| before.iter().any(is_same))
    };
    let (ignores, new): (Vec<_>, Vec<_>) = ignores.into_iter().partition(was_there);
    let mut is_used = vec![false; ignores.len()];
    let count = report.findings.len();
    report.findings.retain(|finding| {
        let is_for = |ignore: &Ignore<T>| {
            ignore.code == finding.code && about(finding).as_ref() == Some(&ignore.address)
        };
        let ignore = ignores.iter().position(is_for);
        ignore.inspect(|index| is_used[*index] = true).is_none()
    });
    report.suppressed.ignored += count - report.findings.len();
    let is_unused =
        |(ignore, is_used): &(&Ignore<T>, bool)| !is_used && looked_for.contains(&ignore.code);
    let unused = ignores.iter().zip(is_used).filter(is_unused);
    let unused = unused.map(|(ignore, _)| (Some(ignore.address.clone()), ignore.unused(dialect)));
    let new = new
        .iter()
        .map(|ignore| (Some(ignore.address.clone()), ignore.applies_later(dialect)));
    wrong
        .into_iter()
        .map(|finding| (None, finding))
        .chain(unused)
        .chain(new)
        .collect()
}

/// Reads the comments of a lock file. Returns also findings about comments that ignore nothing.
fn read<T: EntryKind>(lock_file: &LockFileOf<T>) -> (Vec<Ignore<T>>, Vec<Diagnostic>) {
    let (mut ignores, mut wrong) = (Vec::new(), Vec::new());
    if memmem::find(lock_file.file().text.as_bytes(), MARK.as_bytes()).is_none() {
        return (ignores, wrong);
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
        let (code, message) = match (codes(text.trim()), entry) {
            (Ok(codes), Some(entry)) => {
                let ignore = |code| Ignore {
                    code,
                    address: entry.address.clone(),
                    location: location.clone(),
                };
                ignores.extend(codes.into_iter().map(ignore));
                continue;
            }
            (Ok(_), None) => {
                let message =
                    "this comment ignores nothing, because no entry begins in the next line";
                (Code::UnusedIgnore, message.to_owned())
            }
            (Err(message), _) => (Code::InvalidIgnore, message),
        };
        wrong.push(finding(code, message, &location, "").help(USAGE));
    }
    (ignores, wrong)
}

impl<T: EntryKind> Ignore<T> {
    fn unused(&self, dialect: Dialect) -> Diagnostic {
        let (code, name) = (self.code, T::name(&self.address, dialect));
        let message = format!("this comment ignores {code}, but {name} has no such finding");
        finding(Code::UnusedIgnore, message, &self.location, "").help("remove it")
    }

    fn applies_later(&self, dialect: Dialect) -> Diagnostic {
        let (code, name) = (self.code, T::name(&self.address, dialect));
        let message = format!(
            "the comment that ignores {code} for {name} is new; this change is checked without it"
        );
        let warning = finding(Code::PolicyChanged, message, &self.location, "");
        warning.help("review its reason: it applies from the next change on")
    }
}

/// The codes of `ignore[CODE, …] REASON`.
fn codes(text: &str) -> Result<Vec<Code>, String> {
    let list = text
        .strip_prefix("ignore")
        .and_then(|rest| rest.trim_start().strip_prefix('['));
    let (list, reason) = list
        .and_then(|list| list.split_once(']'))
        .ok_or("this comment is not valid")?;
    let code = |name: &str| match name.trim().parse::<Code>() {
        Ok(code) if code.may_be_suppressed() => Ok(code),
        Ok(code) => Err(format!("{code} cannot be ignored")),
        Err(_) => Err(format!(
            "this comment ignores {:?}, which is not the code of a finding",
            name.trim()
        )),
    };
    let codes = list.split(',').map(code).collect::<Result<_, _>>()?;
    if reason.trim().is_empty() {
        Err("this comment has no reason".to_owned())
    } else {
        Ok(codes)
    }
}
