//! Which findings in a root module are reported, and how much they weigh.

use std::path::Path;

use super::baseline::{Baseline, KnownFinding};
use super::consequences;
use super::verified::{Suppressed, VerifiedRoot};
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Merged, Remedy};
use crate::settings::{FileLevels, Levels, RootLevels};

/// What decides which findings in a root module are reported.
pub(super) struct Levelled<'a> {
    caller: &'a Levels,
    settings: RootLevels,
    baseline: Option<&'a Baseline>,
    /// The path by which the baseline names the root module.
    path: Option<String>,
    /// The findings of the baseline in this root module that have not been met.
    expected: Vec<KnownFinding>,
    /// The findings that would be there if there were a reason for them.
    looked_for: Vec<Code>,
    suppressed: Suppressed,
}

impl<'a> Levelled<'a> {
    /// `root` is the directory of the root module, absolute and without symlinks.
    pub(super) fn new(
        root: &Path,
        (caller, files): (&'a Levels, &[FileLevels]),
        baseline: Option<&'a Baseline>,
        looked_for: Vec<Code>,
        ignored: usize,
    ) -> Self {
        let path = baseline.and_then(|baseline| baseline.path_of(root));
        let listed = baseline.and_then(|baseline| baseline.findings.as_deref()).unwrap_or_default();
        let expected = listed.iter().filter(|finding| path.as_ref() == Some(&finding.path)).cloned().collect();
        let suppressed = Suppressed { ignored, ..Suppressed::default() };
        Self { caller, settings: RootLevels::at(root, files), baseline, path, expected, looked_for, suppressed }
    }

    /// A finding at its level; none if it is not reported.
    pub(super) fn apply(&mut self, finding: Diagnostic) -> Option<Diagnostic> {
        let Some(finding) = self.caller.applied(finding, &self.settings) else {
            self.suppressed.allowed += 1;
            return None;
        };
        let Some(known) = self.known(&finding) else { return Some(finding) };
        self.suppressed.baseline.push(known);
        None
    }

    /// The finding as the baseline lists it, or will.
    fn known(&mut self, finding: &Diagnostic) -> Option<KnownFinding> {
        if !finding.code.may_be_suppressed() {
            return None;
        }
        let provider = finding.providers.first().map(ToString::to_string);
        let known = KnownFinding { path: self.path.clone()?, code: finding.code.to_string(), provider };
        if self.baseline?.findings.is_none() {
            return Some(known);
        }
        let index = self.expected.iter().position(|expected| *expected == known)?;
        Some(self.expected.remove(index))
    }

    /// Applies the levels to all findings in the root module, which is one of so many. Those that say the same of
    /// several providers become one, and those that follow from others are removed. Done again, it changes nothing.
    pub(super) fn apply_all(&mut self, findings: &mut Vec<Diagnostic>, one_of: usize) {
        let mut merged = Merged::of_one_of(one_of);
        let reported = std::mem::take(findings).into_iter().filter_map(|finding| self.apply(finding)).collect();
        for finding in consequences::remove(reported) {
            if finding.providers.is_empty() { merged.push(finding) } else { merged.merge(finding) }
        }
        findings.extend(merged.into_diagnostics());
    }

    /// Applies the levels to all findings in the root module, the one about the baseline included.
    pub(super) fn finish(mut self, root: &mut VerifiedRoot, one_of: usize) {
        self.apply_all(&mut root.findings, one_of);
        if let Some(stale) = self.stale() {
            root.findings.extend(self.caller.applied(stale, &self.settings));
        }
        root.suppressed = self.suppressed;
    }

    /// The findings of the baseline that are gone.
    fn stale(&self) -> Option<Diagnostic> {
        let is_gone = |known: &&KnownFinding| self.looked_for.iter().any(|code| code.as_str() == known.code);
        let gone: Vec<_> = self.expected.iter().filter(is_gone).collect();
        let name = |known: &&KnownFinding| match &known.provider {
            Some(provider) => format!("{} of {provider}", known.code),
            None => known.code.clone(),
        };
        let names = few(gone.iter().map(name));
        let path = &self.baseline.filter(|_| !gone.is_empty())?.path;
        let (verb, them) = if gone.len() == 1 { ("is", "it") } else { ("are", "them") };
        let message = format!("{names} in {} {verb} in the baseline and no longer found", self.path.as_ref()?);
        let warning = Diagnostic::finding(Code::StaleBaseline, message).at(Location::of_file(path), "");
        let help = Help::text(format!("remove {them} from the baseline, or write it anew with "));
        Some(warning.help(help.and(Remedy::WriteBaseline)))
    }
}
