//! Snapshots for GitHub's dependency submission
//! (<https://docs.github.com/en/rest/dependency-graph/dependency-submission>).

use serde_json::{Map, Value, json};

use super::bill::{Bill, Root};

/// A submitted snapshot: its commit, and the job that makes it.
pub(crate) struct Submission {
    pub(crate) sha: String,
    /// The full name of a branch or tag.
    pub(crate) reference: String,
    /// The run of the job that makes the snapshot.
    pub(crate) run_id: String,
    /// A later snapshot with the same text replaces this one.
    pub(crate) correlator: String,
}

/// The snapshot, with a manifest for each root module that has a lock file.
pub(crate) fn snapshot(bill: &Bill, submission: &Submission) -> String {
    let mut manifests = Map::new();
    for root in &bill.roots {
        if !root.all.is_empty() {
            manifests.insert(root.lock_path.clone(), manifest(root, bill));
        }
    }
    let snapshot = json!({
        "version": 0,
        "sha": submission.sha,
        "ref": submission.reference,
        "job": { "id": submission.run_id, "correlator": submission.correlator },
        "detector": { "name": "provlock", "version": env!("CARGO_PKG_VERSION"), "url": env!("CARGO_PKG_REPOSITORY") },
        "scanned": bill.time_to_the_second(),
        "manifests": manifests,
    });
    format!("{snapshot:#}\n")
}

/// The manifest of a root module: its packages, with the ones that it requires itself marked as
/// direct.
fn manifest(root: &Root, bill: &Bill) -> Value {
    let mut resolved = Map::new();
    for purl in &root.all {
        let is_direct = root.requirements.contains(purl);
        // Another root module may require more of the same package.
        let dependencies: Vec<_> = bill
            .required_by(purl)
            .filter(|other| root.all.contains(*other))
            .collect();
        let dependency = json!({
            "package_url": purl,
            "relationship": if is_direct { "direct" } else { "indirect" },
            "scope": "runtime",
            "dependencies": dependencies,
        });
        resolved.insert(purl.clone(), dependency);
    }
    json!({
        "name": root.lock_path,
        "file": { "source_location": root.lock_path },
        "resolved": resolved,
    })
}
