//! Requests to a source. A request that several root modules need is sent once.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::packages::archive::PackageId;
use crate::packages::{ProgressSink, Source};
use crate::provider::{Hostname, ProviderAddress, Version};
use crate::system::shared_jobs::SharedJobs;

/// A question to a source, which keeps the answer.
#[derive(Clone)]
pub(crate) struct Question {
    pub(super) source: Arc<Source>,
    pub(super) subject: RequestedData,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum RequestedData {
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
