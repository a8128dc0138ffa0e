//! Requests for tags and manifests of modules in OCI registries.

use jiff::Timestamp;

use super::fetch_error::{FetchError, FetchResult};
use super::fetcher::{Clients, ModuleFetcher};
use super::source::{RemoteSource, request_url};
use super::version_tag::VersionTag;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Result};
use crate::packages::oci::{ModuleManifest, ModulePackage};
use crate::provider::Dialect;

impl ModuleFetcher {
    /// Returns the tags to which a source may move: none if its own tag is not a version.
    pub(super) fn list_tags(clients: &Clients, source: &RemoteSource) -> FetchResult<Vec<String>> {
        let package = parse(source)?;
        // Reading a package may be allowed where listing tags is not.
        if package
            .tag()
            .is_some_and(|tag| VersionTag::parse(tag).is_none())
        {
            return Ok(Vec::new());
        }
        let tags = clients
            .oci_registries
            .module_tags(&package, &subject(source))
            .map_err(Diagnostics::from)?;
        Ok(tags)
    }

    /// Returns the digest to which the tag of a source leads now.
    ///
    /// # Errors
    /// The registry does not answer or has no such tag, or no requests are made.
    pub(crate) fn current_digest(&self, dialect: Dialect, source: &RemoteSource) -> Result<String> {
        Ok(self.module_manifest(dialect, source)?.digest)
    }

    /// Returns when the package of a source was created, according to its manifest.
    ///
    /// # Errors
    /// The reason why it is unknown.
    pub(crate) fn creation_date(
        &self,
        dialect: Dialect,
        source: &RemoteSource,
    ) -> std::result::Result<Timestamp, String> {
        let manifest = self.module_manifest(dialect, source);
        manifest.map_err(|error| error.to_string())?.created
    }

    fn module_manifest(&self, dialect: Dialect, source: &RemoteSource) -> Result<ModuleManifest> {
        if self.is_offline() {
            let message =
                format!("the digest of {source} is not known, because no requests are made");
            return Err(Diagnostic::error(Code::RequestFailed, message)
                .help(Help::run_online())
                .into());
        }
        let clients = self.clients(dialect)?;
        self.manifests.get_or_compute(&source.package, || {
            let manifest = clients
                .oci_registries
                .module_manifest(&parse(source)?, &subject(source));
            Ok(manifest.map_err(FetchError::from)?)
        })
    }
}

fn parse(source: &RemoteSource) -> FetchResult<ModulePackage> {
    let url = request_url(source.url())?;
    ModulePackage::parse(&url)
        .map_err(|why| FetchError::address(why).about_package(&source.without_directory()))
}

/// Name of a package in errors.
fn subject(source: &RemoteSource) -> String {
    format!("the module package {}", source.without_directory())
}
