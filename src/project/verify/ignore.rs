//! Comments in the lock file that let findings about an entry go: `# provlock: ignore[CODE, …] REASON` directly above
//! it.

use super::subject::{Subject, Verified, finding};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::lockfile::{self, CommentLine, LockFile};
use crate::provider::ProviderAddress;

/// What a comment begins with that is for this program.
const MARK: &str = "provlock:";
const USAGE: &str = "write # provlock: ignore[CODE] REASON directly above an entry";

/// A kind of finding about a provider that a comment lets go.
struct Ignore {
    code: Code,
    provider: ProviderAddress,
    location: Location,
}

impl Ignore {
    fn is_for(&self, code: Code, providers: &[ProviderAddress]) -> bool {
        self.code == code && *providers == [self.provider.clone()]
    }
}

/// Takes the findings away that comments ignore, and adds those about comments. Of a change only the comments count
/// that were there before, about the same provider.
pub(super) fn apply(subject: &Subject<'_>, verified: &mut Verified) {
    let (ignores, wrong) = read(subject.lock_file);
    let before = subject.request.base.map(|bytes| before(subject, bytes));
    let was_there = |ignore: &Ignore| {
        let was_there = |before: &Ignore| before.code == ignore.code && before.provider == ignore.provider;
        before.as_ref().is_none_or(|before| before.iter().any(was_there))
    };
    let (ignores, new): (Vec<_>, Vec<_>) = ignores.into_iter().partition(was_there);
    let mut is_used = vec![false; ignores.len()];
    let count = verified.findings.len();
    verified.findings.retain(|finding| {
        let ignore = ignores.iter().position(|ignore| ignore.is_for(finding.code, &finding.providers));
        ignore.inspect(|index| is_used[*index] = true).is_none()
    });
    verified.ignored = count - verified.findings.len();
    let is_unused = |(ignore, is_used): &(&Ignore, bool)| !is_used && verified.looked_for.contains(&ignore.code);
    let unused: Vec<_> = ignores.iter().zip(is_used).filter(is_unused).collect();
    verified.findings.extend(wrong);
    verified.findings.extend(unused.into_iter().map(|(ignore, _)| unused_ignore(subject, ignore)));
    verified.findings.extend(new.iter().map(|ignore| new_ignore(subject, ignore)));
}

/// What the comments before the change ignored.
fn before(subject: &Subject<'_>, bytes: &[u8]) -> Vec<Ignore> {
    let parsed = lockfile::parse(&subject.request.root.lock_path, bytes, subject.request.root.dialect);
    parsed.lock_file.map_or_else(Vec::new, |lock_file| read(&lock_file).0)
}

/// What comments ignore, and findings about those that ignore nothing.
fn read(lock_file: &LockFile) -> (Vec<Ignore>, Vec<Diagnostic>) {
    let (mut ignores, mut findings) = (Vec::new(), Vec::new());
    if !lock_file.file().text.contains(MARK) {
        return (ignores, findings);
    }
    for CommentLine { text, location, entry } in lock_file.comment_lines() {
        let Some(text) = text.trim_start_matches(['#', '/']).trim_start().strip_prefix(MARK) else { continue };
        match (codes(text.trim()), entry) {
            (Ok(codes), Some(entry)) => ignores.extend(codes.into_iter().map(|code| Ignore {
                code,
                provider: entry.address.clone(),
                location: location.clone(),
            })),
            (Ok(_), None) => {
                let message = "this comment ignores nothing, since no entry begins in the next line".to_owned();
                findings.push(finding(Code::UnusedIgnore, message, &location, "").help(USAGE));
            }
            (Err(message), _) => {
                let warning = finding(Code::InvalidIgnore, message, &location, "");
                findings.push(warning.help(USAGE));
            }
        }
    }
    (ignores, findings)
}

/// The codes of `ignore[CODE, …] REASON`.
fn codes(text: &str) -> Result<Vec<Code>, String> {
    let list = text.strip_prefix("ignore").and_then(|rest| rest.trim_start().strip_prefix('['));
    let (list, reason) = list.and_then(|list| list.split_once(']')).ok_or("this comment is not understood")?;
    let code = |name: &str| match name.trim().parse::<Code>() {
        Ok(code) if code.may_be_suppressed() => Ok(code),
        Ok(code) => Err(format!("{code} cannot be ignored")),
        Err(_) => Err(format!("this comment ignores {:?}, which is not the code of a finding", name.trim())),
    };
    let codes = list.split(',').map(code).collect::<Result<_, _>>()?;
    if reason.trim().is_empty() {
        Err("this comment does not say why it ignores a finding".to_owned())
    } else {
        Ok(codes)
    }
}

fn unused_ignore(subject: &Subject<'_>, Ignore { code, provider, location }: &Ignore) -> Diagnostic {
    let message = format!("this comment ignores {code}, which was not found for {}", subject.name(provider));
    finding(Code::UnusedIgnore, message, location, "").help("remove it").about(provider)
}

fn new_ignore(subject: &Subject<'_>, Ignore { code, provider, location }: &Ignore) -> Diagnostic {
    let message = format!(
        "the comment that ignores {code} for {} is new; this change is checked without it",
        subject.name(provider)
    );
    let warning = finding(Code::PolicyChanged, message, location, "").about(provider);
    warning.help("review its reason: it counts from the next change on")
}
