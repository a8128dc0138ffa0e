//! Identity of a finding: the same in every run and from every directory, so that services and
//! people can compare two reports.

use std::collections::HashMap;

use provlock::diagnostic::Diagnostic;
use provlock::project::VerifiedRoot;
use sha2::{Digest as _, Sha256};

use super::causes::cause_in_words;
use super::foreign::with_limited_length;
use super::verify::Verification;

/// Identity of a finding or a failure.
#[derive(Clone, Default)]
pub(crate) struct Identity {
    /// The fact that the same findings of several root modules share.
    pub(crate) cause: String,
    /// A digest of the code, the root module, the file and the cause. Lines move between two
    /// commits, so they are not part of it.
    pub(crate) fingerprint: String,
}

/// Returns the identities of all findings and then of all failures, in the order of
/// [`Verification::all_findings`]. Equal ones are numbered.
pub(crate) fn compute_identities(verification: Verification<'_>) -> Vec<Identity> {
    let mut identities = Vec::new();
    let mut equal_before: HashMap<String, usize> = HashMap::new();
    let failures = verification.errors.iter().map(|error| (None, error));
    for (root, diagnostic) in verification.all_findings().chain(failures) {
        let mut identity = Identity::new(root, diagnostic, verification);
        let number = equal_before
            .entry(identity.fingerprint.clone())
            .or_default();
        if *number > 0 {
            identity.fingerprint = digest(&[&identity.fingerprint, &number.to_string()]);
        }
        *number += 1;
        identities.push(identity);
    }
    identities
}

impl Identity {
    fn new(
        root: Option<&VerifiedRoot>,
        diagnostic: &Diagnostic,
        verification: Verification<'_>,
    ) -> Self {
        let at_top = verification.paths.diagnostic_at_top(diagnostic, root);
        let cause = with_limited_length(
            &verification
                .invocation
                .secrets
                .redact(&cause_in_words(&at_top)),
        );

        let mut directory = String::new();
        if let Some(root) = root {
            directory = verification.path(&root.path);
        } else if let Some(root) = diagnostic.root() {
            directory = verification.path(root);
        }
        let mut file = String::new();
        let mut labels = diagnostic.labels.iter();
        if let Some(label) = labels.find(|label| !label.location.file.is_fetched) {
            file = verification.path(label.location.path());
        }
        let fingerprint = digest(&[diagnostic.code.as_str(), &directory, &file, &cause]);
        Self { cause, fingerprint }
    }
}

/// A digest of texts, in hexadecimal digits. No text can look like two.
fn digest(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(text.len().to_be_bytes());
        hasher.update(text);
    }
    format!("{:x}", hasher.finalize())
}
