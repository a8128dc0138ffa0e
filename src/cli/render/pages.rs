//! The page of each code: its section of `docs/findings.md`, which is part of the program.

use provlock::diagnostic::Code;

const FINDINGS: &str = include_str!("../../../docs/findings.md");

/// Returns the page of a code: its meaning and the next step, as a paragraph of Markdown.
pub(crate) fn page(code: Code) -> &'static str {
    let heading = format!("\n### `{code}`\n");
    let section = FINDINGS
        .split_once(&heading)
        .map_or(code.summary(), |(_, section)| section);
    section.split("\n##").next().unwrap_or(section).trim()
}

/// Returns a sentence about suppressing findings with this code; `None` if only errors have the
/// code.
pub(crate) fn suppression(code: Code) -> Option<String> {
    let is_finding = Code::FINDINGS.contains(&code);
    is_finding.then(|| {
        if code.may_be_suppressed() {
            format!(
                "To suppress it: `allow = [\"{code}\"]` in `[verify]` of `provlock.toml`, \
                `# provlock: ignore[{code}] REASON` above an entry that it is about, or `--allow {code}`."
            )
        } else {
            format!("It is always reported; only `--allow {code}` suppresses it, for one run.")
        }
    })
}

/// Returns the address of the page on the web, if the address of the project's repository is known.
pub(crate) fn url(code: Code) -> Option<String> {
    let repository = env!("CARGO_PKG_REPOSITORY");
    (!repository.is_empty()).then(|| format!("{repository}/blob/main/docs/findings.md#{code}"))
}
