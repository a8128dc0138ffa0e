//! The page of each code: its section of `docs/findings.md` or `docs/errors.md`, which are part of
//! the program.

use provlock::diagnostic::{Code, Severity};

const FINDINGS: &str = include_str!("../../../docs/findings.md");
const ERRORS: &str = include_str!("../../../docs/errors.md");

/// Returns the page of a code: its meaning and the next step, as a paragraph of Markdown.
pub(crate) fn markdown(code: Code) -> &'static str {
    let (text, _) = document(code);
    let section = text
        .split_once(&heading(code))
        .map_or(code.summary(), |(_, section)| section);
    section.split("\n##").next().unwrap_or(section).trim()
}

/// Returns the document with the section of a code, and its name.
fn document(code: Code) -> (&'static str, &'static str) {
    if code.rule().is_some() {
        (FINDINGS, "findings.md")
    } else {
        (ERRORS, "errors.md")
    }
}

/// Returns the class of a code: the title of the chapter with its section.
pub(crate) fn class(code: Code) -> &'static str {
    chapter(code).0
}

/// Returns the questions for the reviewer of such a finding, as a sentence or more; `None` if only
/// errors have the code.
pub(crate) fn reviewer_questions(code: Code) -> Option<&'static str> {
    let (_, questions) = chapter(code).1.split_once("\n**Reviewer: ask.** ")?;
    Some(questions.split("\n\n").next().unwrap_or(questions).trim())
}

/// Returns the title and the text of the chapter in which a code's section is.
fn chapter(code: Code) -> (&'static str, &'static str) {
    let (text, _) = document(code);
    let before = text
        .split_once(&heading(code))
        .map_or("", |(before, _)| before);
    let chapter = before.rsplit("\n## ").next().unwrap_or_default();
    let (title, text) = chapter.split_once('\n').unwrap_or_default();
    // A document without chapters has only a title.
    (title.trim_start_matches("# "), text)
}

fn heading(code: Code) -> String {
    format!("\n### `{code}`\n")
}

/// Returns the severity of findings with this code, unless settings or flags change it; `None` if
/// only errors have the code.
pub(crate) fn severity(code: Code) -> Option<Severity> {
    Some(code.rule()?.level)
}

/// Returns the ways to let findings with this code through, a line each; `None` if only errors have
/// the code.
pub(crate) fn suppression_list(code: Code) -> Option<String> {
    code.rule()?;
    let mut ways = Vec::new();
    if is_decided_by_policy(code) {
        ways.push("change the policy in `provlock.toml`, in a pull request of its own".to_owned());
    }
    ways.push(format!(
        "`--warn {code}` at the end of the command, for one run"
    ));
    if code.may_be_suppressed() {
        ways.push(format!(
            "`warn = [\"{code}\"]` in `[verify]` of `provlock.toml`"
        ));
        if is_about_entry(code) {
            ways.push(format!(
                "`# provlock: ignore[{code}] REASON` above the entry"
            ));
        }
    }
    Some(format!("- {}", ways.join("\n- ")))
}

/// Whether such findings are about an entry of a lock file, above which a comment may stand.
fn is_about_entry(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownHashScheme
            | Code::UnsortedHashes
            | Code::ProviderNotRequired
            | Code::VersionOutsideConstraints
            | Code::ConstraintsDiffer
            | Code::ModuleLockStale
            | Code::ModuleVersionOutsideConstraints
            | Code::NoHashes
            | Code::SinglePlatform
            | Code::PlatformMissing
            | Code::PlatformNotCovered
            | Code::PlatformNotKnown
            | Code::PlatformExists
            | Code::ModuleNotCompared
            | Code::VersionWithdrawn
            | Code::ProviderWarning
            | Code::ModuleMoved
            | Code::ModuleWithdrawn
            | Code::KeyExpired
            | Code::DecisionChanged
            | Code::Downgrade
            | Code::HashNotChecked
            | Code::PlatformsLost
    )
}

/// Whether `[policy]` or `[trust]` decides on such findings, so that their owners change it to let
/// one through.
fn is_decided_by_policy(code: Code) -> bool {
    matches!(
        code,
        Code::HostNotAllowed
            | Code::NamespaceNotAllowed
            | Code::ProviderNotAllowed
            | Code::ModuleNotAllowed
            | Code::VersionNotAllowed
            | Code::TierNotAllowed
            | Code::ProviderTooYoung
            | Code::UnsignedProvider
            | Code::VersionTooYoung
            | Code::KeyNotTrusted
            | Code::Lookalike
    )
}

/// Returns the address of the page on the web, if the address of the project's repository is known.
pub(crate) fn url(code: Code) -> Option<String> {
    let repository = env!("CARGO_PKG_REPOSITORY");
    let (_, name) = document(code);
    (!repository.is_empty()).then(|| format!("{repository}/blob/main/docs/{name}#{code}"))
}
