//! Requests to a source for root modules. A request that several root modules need is sent once.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::candidate::Candidate;
use super::outcome::Supply;
use super::packages::ProviderPlan;
use super::recorded_entries::RecordedEntries;
use super::request::LockRequest;
use super::select::SelectedVersions;
use crate::diagnostic::{Diagnostics, Merged, Result};
use crate::packages::archive::PackageId;
use crate::packages::{Packages, ProgressSink, Source};
use crate::provider::{Hostname, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::shared_jobs::SharedJobs;

/// A question to a source, which keeps the answer.
#[derive(Clone)]
pub(crate) struct Question {
    source: Arc<Source>,
    subject: RequestedData,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum RequestedData {
    /// The list of versions.
    Versions(ProviderAddress),
    /// The signed checksums of a version, if an earlier run has kept where they are.
    Release(ProviderAddress, Version),
    /// The metadata of a package.
    Metadata(PackageId),
    /// The package.
    Package(PackageId),
}

/// Questions of all root modules of a run, by host.
pub(crate) type Questions<'a> = SharedJobs<'a, Hostname, Question>;

impl Question {
    /// Asks the source. Returns `false` if a package is not available; errors are returned again when the answer is
    /// used.
    pub(crate) fn ask(&self, progress: ProgressSink<'_>) -> bool {
        let source = &self.source;
        match &self.subject {
            RequestedData::Versions(address) => drop(source.versions(address)),
            RequestedData::Release(address, version) => source.prepare_release(address, version),
            RequestedData::Metadata(package) => source.prepare(package),
            RequestedData::Package(package) => return source.package(package, progress).is_ok(),
        }
        true
    }

    fn for_host(source: &Arc<Source>, subject: RequestedData) -> (Hostname, Self) {
        let host = match &subject {
            RequestedData::Versions(address) | RequestedData::Release(address, _) => &address.hostname,
            RequestedData::Metadata(package) | RequestedData::Package(package) => &package.address.hostname,
        };
        (host.clone(), Self { source: Arc::clone(source), subject })
    }
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.subject == other.subject
    }
}

impl Eq for Question {}

impl Hash for Question {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.subject.hash(state);
    }
}

/// Asks everything that is certain to be needed before a version is selected: the versions of each provider, and what
/// is signed about the packages of a version that is kept. Returns whether anything had to be asked.
pub(crate) fn ask_known_needs(
    request: &LockRequest<'_>,
    candidates: &[Candidate<'_>],
    source: &Arc<Source>,
    questions: &Questions<'_>,
) -> bool {
    let platforms = match &request.prepared.platforms {
        PlatformSelection::These(platforms) => &platforms[..],
        PlatformSelection::All => &[],
    };
    let mut subjects = Vec::new();
    for candidate in candidates.iter().filter(|candidate| !source.knows_versions(candidate.address)) {
        let address = candidate.address;
        subjects.push(RequestedData::Versions(address.clone()));
        if let Some(version) = candidate.kept_version() {
            subjects.push(RequestedData::Release(address.clone(), version.clone()));
            let package = |platform| RequestedData::Metadata(PackageId::new(address, version, platform));
            subjects.extend(platforms.iter().map(package));
        }
    }
    let is_unknown = !subjects.is_empty();
    questions.wait_for(subjects.into_iter().map(|subject| Question::for_host(source, subject)));
    is_unknown
}

/// Fetches the packages of the plans for which no entry is known. The first platform of each provider comes before the
/// second of any, so that large packages are known early.
///
/// # Errors
/// Packages that cannot be fetched. After the first failure no others are fetched, unless a different root module needs
/// them.
pub(crate) fn fetch_packages(
    request: &LockRequest<'_>,
    selection: &SelectedVersions,
    plans: &[ProviderPlan<'_>],
    known: &RecordedEntries,
    (source, questions): (&Arc<Source>, &Questions<'_>),
) -> Result<Vec<Supply>> {
    let find = |plan: &ProviderPlan<'_>| known.find(plan, selection.old.locks.get(plan.candidate.address), request);
    let entries: Vec<_> = plans.iter().map(find).collect();
    let mut missing = Vec::new();
    for (plan, _) in plans.iter().zip(&entries).filter(|(_, entry)| entry.is_none()) {
        let packages = plan.packages().enumerate().filter(|(_, package)| !source.knows_package(package));
        missing.extend(packages);
    }
    missing.sort_by_key(|(place, _)| *place);
    let missing = missing.into_iter().map(|(_, package)| Question::for_host(source, RequestedData::Package(package)));
    let is_complete = questions.wait_for(missing);
    let (mut supplies, mut errors) = (Vec::with_capacity(plans.len()), Merged::default());
    for (plan, entry) in plans.iter().zip(entries) {
        let supply = match entry {
            Some(entry) => Ok(Supply::Recorded(entry)),
            None => packages_of(plan, source, request.progress, is_complete).map(Supply::Packages),
        };
        match supply {
            Ok(supply) => supplies.push(supply),
            Err(more) => more.into_iter().for_each(|error| errors.merge(error)),
        }
    }
    errors.into_result(supplies)
}

/// The packages of a plan. Packages that were not fetched are omitted, unless the plan is complete.
fn packages_of(
    plan: &ProviderPlan<'_>,
    source: &Source,
    progress: ProgressSink<'_>,
    are_complete: bool,
) -> Result<Arc<Packages>> {
    let (mut packages, mut errors) = (Packages::new(), Merged::default());
    for package in plan.packages().filter(|package| are_complete || source.knows_package(package)) {
        match source.package(&package, progress) {
            Ok(fetched) => _ = packages.insert(package.platform, fetched),
            Err(error) => Diagnostics::from(error).into_iter().for_each(|error| errors.merge(error)),
        }
    }
    errors.into_result(Arc::new(packages))
}
