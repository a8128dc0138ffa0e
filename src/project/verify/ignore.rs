//! Comments in a lock file that suppress findings about an entry: `# provlock: ignore[CODE, …] REASON` directly above
//! it.

use memchr::memmem;

use super::base::Base;
use super::root::Root;
use super::verified::{VerifiedRoot, finding};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::lockfile::{CommentLine, LockFileOf, Locked, ModuleLockFile};
use crate::provider::Dialect;

/// Prefix of a comment for provlock.
const MARK: &str = "provlock:";
const USAGE: &str = "write # provlock: ignore[CODE] REASON directly above an entry";

/// A kind of finding about an entry that a comment suppresses.
struct Ignore<T: Locked> {
    code: Code,
    address: T::Address,
    location: Location,
}

/// Findings that comments ignore, and findings about comments that ignore nothing.
struct IgnoreComments<T: Locked> {
    ignores: Vec<Ignore<T>>,
    wrong: Vec<Diagnostic>,
}

/// Removes the findings that comments in the lock file of providers ignore, and adds those about comments.
pub(super) fn apply(root: &Root<'_>, looked_for: &[Code], report: &mut VerifiedRoot) {
    let before = |base: &Base<'_>| {
        IgnoreComments::before(base.bytes, || base.providers().lock_file.as_ref().map(IgnoreComments::read))
    };
    let before = root.base.as_ref().map(before);
    let about = |finding: &Diagnostic| match &finding.providers[..] {
        [provider] => Some(provider.clone()),
        _ => None,
    };
    let added = IgnoreComments::read(&root.lock_file).apply(before, root.module.dialect, looked_for, report, about);
    let added = added.into_iter().map(|(finding, address)| match address {
        Some(address) => finding.about(&address),
        None => finding,
    });
    report.findings.extend(added);
}

/// [`apply`] for the lock file of modules. A finding is about an entry if its first location is in that entry, and no
/// other location is in a different one.
pub(super) fn apply_to_modules(
    root: &Root<'_>,
    lock_file: &ModuleLockFile,
    looked_for: &[Code],
    report: &mut VerifiedRoot,
) {
    let before = |base: &Base<'_>| {
        IgnoreComments::before(base.module_bytes, || base.modules().lock_file.as_ref().map(IgnoreComments::read))
    };
    let before = root.base.as_ref().map(before);
    let entry_at = |location: &Location| {
        let is_here = location.path() == root.module.module_lock_path;
        is_here.then(|| lock_file.entry_at(location.span.start)).flatten()
    };
    let about = |finding: &Diagnostic| {
        let mut entries = finding.labels.iter().map(|label| entry_at(&label.location));
        let first = entries.next()??;
        let is_alone = entries.flatten().all(|entry| entry.address == first.address);
        is_alone.then(|| first.address.clone())
    };
    let added = IgnoreComments::read(lock_file).apply(before, root.module.dialect, looked_for, report, about);
    report.findings.extend(added.into_iter().map(|(finding, _)| finding));
}

impl<T: Locked> IgnoreComments<T> {
    /// Comments at the base revision; none in a file that cannot be read. `read` is called only if there are some.
    fn before(bytes: &[u8], read: impl FnOnce() -> Option<Self>) -> Self {
        let comments = memmem::find(bytes, MARK.as_bytes()).and_then(|_| read());
        comments.unwrap_or_else(|| Self { ignores: Vec::new(), wrong: Vec::new() })
    }

    fn read(lock_file: &LockFileOf<T>) -> Self {
        let (mut ignores, mut wrong) = (Vec::new(), Vec::new());
        if memmem::find(lock_file.file().text.as_bytes(), MARK.as_bytes()).is_none() {
            return Self { ignores, wrong };
        }
        for CommentLine { text, location, entry } in lock_file.comment_lines() {
            let Some(text) = text.trim_start_matches(['#', '/']).trim_start().strip_prefix(MARK) else { continue };
            match (codes(text.trim()), entry) {
                (Ok(codes), Some(entry)) => ignores.extend(codes.into_iter().map(|code| Ignore {
                    code,
                    address: entry.address.clone(),
                    location: location.clone(),
                })),
                (Ok(_), None) => {
                    let message = "this comment ignores nothing, because no entry begins in the next line".to_owned();
                    wrong.push(finding(Code::UnusedIgnore, message, &location, "").help(USAGE));
                }
                (Err(message), _) => {
                    let warning = finding(Code::InvalidIgnore, message, &location, "");
                    wrong.push(warning.help(USAGE));
                }
            }
        }
        Self { ignores, wrong }
    }

    /// Removes the suppressed findings; `about` returns the entry of a finding. In a change under review, a comment
    /// applies only if it was there before, about the same entry. Returns the findings about comments, with their
    /// entries.
    fn apply(
        self,
        before: Option<Self>,
        dialect: Dialect,
        looked_for: &[Code],
        report: &mut VerifiedRoot,
        about: impl Fn(&Diagnostic) -> Option<T::Address>,
    ) -> Vec<(Diagnostic, Option<T::Address>)> {
        let before = before.map(|before| before.ignores);
        let was_there = |ignore: &Ignore<T>| {
            let was_there = |before: &Ignore<T>| before.code == ignore.code && before.address == ignore.address;
            before.as_ref().is_none_or(|before| before.iter().any(was_there))
        };
        let (ignores, new): (Vec<_>, Vec<_>) = self.ignores.into_iter().partition(was_there);
        let mut is_used = vec![false; ignores.len()];
        let count = report.findings.len();
        report.findings.retain(|finding| {
            let is_for = |ignore: &Ignore<T>| {
                ignore.code == finding.code && about(finding).is_some_and(|address| address == ignore.address)
            };
            let ignore = ignores.iter().position(is_for);
            ignore.inspect(|index| is_used[*index] = true).is_none()
        });
        report.suppressed.ignored += count - report.findings.len();
        let is_unused = |(ignore, is_used): &(&Ignore<T>, bool)| !is_used && looked_for.contains(&ignore.code);
        let unused = ignores.iter().zip(is_used).filter(is_unused);
        let unused = unused.map(|(ignore, _)| (ignore.unused(dialect), Some(ignore.address.clone())));
        let new = new.iter().map(|ignore| (ignore.counts_later(dialect), Some(ignore.address.clone())));
        self.wrong.into_iter().map(|finding| (finding, None)).chain(unused).chain(new).collect()
    }
}

impl<T: Locked> Ignore<T> {
    fn unused(&self, dialect: Dialect) -> Diagnostic {
        let (code, name) = (self.code, T::name(&self.address, dialect));
        let message = format!("this comment ignores {code}, but {name} has no such finding");
        finding(Code::UnusedIgnore, message, &self.location, "").help("remove it")
    }

    fn counts_later(&self, dialect: Dialect) -> Diagnostic {
        let (code, name) = (self.code, T::name(&self.address, dialect));
        let message = format!("the comment that ignores {code} for {name} is new; this change is checked without it");
        let warning = finding(Code::PolicyChanged, message, &self.location, "");
        warning.help("review its reason: it applies from the next change on")
    }
}

/// The codes of `ignore[CODE, …] REASON`.
fn codes(text: &str) -> Result<Vec<Code>, String> {
    let list = text.strip_prefix("ignore").and_then(|rest| rest.trim_start().strip_prefix('['));
    let (list, reason) = list.and_then(|list| list.split_once(']')).ok_or("this comment is not valid")?;
    let code = |name: &str| match name.trim().parse::<Code>() {
        Ok(code) if code.may_be_suppressed() => Ok(code),
        Ok(code) => Err(format!("{code} cannot be ignored")),
        Err(_) => Err(format!("this comment ignores {:?}, which is not the code of a finding", name.trim())),
    };
    let codes = list.split(',').map(code).collect::<Result<_, _>>()?;
    if reason.trim().is_empty() { Err("this comment has no reason".to_owned()) } else { Ok(codes) }
}
