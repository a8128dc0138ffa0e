//! The page of each code: its section of `docs/findings.md`, which is part of the program.

use provlock::diagnostic::{Code, Severity};

const FINDINGS: &str = include_str!("../../../docs/findings.md");

/// Returns the page of a code: its meaning and the next step, as a paragraph of Markdown.
pub(crate) fn page(code: Code) -> &'static str {
    let heading = heading(code);
    let section = FINDINGS
        .split_once(&heading)
        .map_or(code.summary(), |(_, section)| section);
    section.split("\n##").next().unwrap_or(section).trim()
}

/// Returns the class of a code: the title of the chapter of `docs/findings.md` with its section.
pub(crate) fn class(code: Code) -> &'static str {
    chapter(code).0
}

/// Returns the questions for the reviewer of such a finding, as a sentence or more; `None` if only
/// errors have the code.
pub(crate) fn reviewer(code: Code) -> Option<&'static str> {
    let (_, questions) = chapter(code).1.split_once("\n**Reviewer: ask.** ")?;
    Some(questions.split("\n\n").next().unwrap_or(questions).trim())
}

/// Returns the title and the text of the chapter in which a code's section is.
fn chapter(code: Code) -> (&'static str, &'static str) {
    let before = FINDINGS
        .split_once(&heading(code))
        .map_or("", |(before, _)| before);
    let chapter = before.rsplit("\n## ").next().unwrap_or_default();
    chapter.split_once('\n').unwrap_or_default()
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
pub(crate) fn suppression(code: Code) -> Option<String> {
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
        ways.push(format!(
            "`# provlock: ignore[{code}] REASON` above the entry"
        ));
    }
    Some(format!("- {}", ways.join("\n- ")))
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
    (!repository.is_empty()).then(|| format!("{repository}/blob/main/docs/findings.md#{code}"))
}
