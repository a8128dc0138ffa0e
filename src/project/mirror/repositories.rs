//! Filling a mirror in OCI registries: a package is uploaded when it was authenticated and a lock file records it, and
//! the index of its version, which makes it known, when all packages of the version are there.

use std::collections::{BTreeMap, btree_map};

use super::directory::MirrorDirectory;
use super::mirrored::{MirrorAction, Mirrored};
use super::releases::Releases;
use super::wanted::{self, Put, Wanted};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::packages::RepositoryTemplate;
use crate::packages::archive::PackageId;
use crate::packages::oci::{Content, OciRegistries, ProviderTag, PushedPackage};
use crate::project::session::Session;
use crate::provider::{OciRepository, ProviderAddress, Version};
use crate::system::{TemporaryDirectory, parallel};

/// Releases that are mirrored at the same time, and packages of each; every package is a temporary file meanwhile.
const THREADS: usize = 4;

struct Repositories<'a, 's> {
    session: &'a Session<'s>,
    registries: &'a OciRegistries,
    of_providers: BTreeMap<&'a ProviderAddress, OciRepository>,
    /// For packages between download and upload.
    directory: TemporaryDirectory,
    is_dry_run: bool,
}

impl Session<'_> {
    /// Puts the packages that lock files name into repositories, each once. What else is there stays.
    ///
    /// # Errors
    /// No registry can be asked. What is wrong with single packages and repositories is in the result.
    pub(super) fn fill_repositories(
        &self,
        template: &RepositoryTemplate,
        releases: &Releases,
        is_dry_run: bool,
    ) -> Result<Mirrored> {
        let registries = self.connections.oci_registries(self.options.dialect.unwrap_or_default())?;
        let no_place = |error| {
            let message = format!("cannot create a temporary directory for packages: {error}");
            Diagnostic::error(Code::Io, message)
        };
        let directory = TemporaryDirectory::new().map_err(no_place)?;
        let mut mirrored = Mirrored::default();
        let (of_providers, errors) = of_providers(template, releases);
        mirrored.errors.extend(errors);
        let folders = of_providers.iter().map(|(address, repository)| (*address, repository.to_string().into()));
        let (wanted, errors) = wanted::all(releases, &folders.collect(), self);
        mirrored.errors.extend(errors);
        let mut by_release = BTreeMap::<(ProviderAddress, Version), Vec<Wanted<'_>>>::new();
        for wanted in wanted {
            let PackageId { address, version, .. } = wanted.package.clone();
            by_release.entry((address, version)).or_default().push(wanted);
        }
        let repositories = Repositories { session: self, registries: &registries, of_providers, directory, is_dry_run };
        let fill = |((address, version), wanted)| repositories.fill(&address, &version, wanted);
        for (packages, errors) in parallel::map(by_release.into_iter().collect(), THREADS, fill) {
            mirrored.errors.extend(errors);
            for put in packages {
                mirrored.add(put);
            }
        }
        Ok(mirrored)
    }
}

/// The repository of each provider that has one for itself.
fn of_providers<'a>(
    template: &RepositoryTemplate,
    releases: &'a Releases,
) -> (BTreeMap<&'a ProviderAddress, OciRepository>, Diagnostics) {
    let (mut owners, mut errors) = (BTreeMap::new(), Diagnostics::default());
    for (address, _) in releases.by_provider() {
        let owned = template.resolve(address).and_then(|repository| match owners.entry(repository) {
            btree_map::Entry::Vacant(entry) => {
                entry.insert(address);
                Ok(())
            }
            btree_map::Entry::Occupied(owner) => Err(template.given_twice(owner.get(), address, owner.key()).into()),
        });
        errors.extend(owned.err().into_iter().flatten());
    }
    (owners.into_iter().map(|(repository, address)| (address, repository)).collect(), errors)
}

impl Repositories<'_, '_> {
    /// Puts packages of a release into its repository, and lists those that could be put there.
    fn fill(&self, address: &ProviderAddress, version: &Version, wanted: Vec<Wanted<'_>>) -> (Vec<Put>, Diagnostics) {
        let repository = self.of_providers[address].clone();
        let tag = match ProviderTag::read(self.registries, repository, version, self.is_dry_run) {
            Ok(tag) => tag,
            Err(errors) => return (Vec::new(), errors),
        };
        let (mut packages, mut new, mut errors) = (Vec::new(), Vec::new(), Diagnostics::default());
        for result in parallel::map(wanted, THREADS, |wanted| self.put(wanted, &tag)) {
            match result {
                Ok((put, pushed)) => {
                    packages.push(put);
                    new.extend(pushed);
                }
                Err(more) => errors.extend(more),
            }
        }
        if !new.is_empty()
            && let Err(more) = tag.list(&new)
        {
            packages.retain(|put| put.package.action == MirrorAction::Kept);
            errors.extend(more);
        }
        (packages, errors)
    }

    /// Uploads a package, unless the tag leads to it already.
    fn put(&self, mut wanted: Wanted<'_>, tag: &ProviderTag<'_>) -> Result<(Put, Option<PushedPackage>)> {
        let platform = wanted.package.platform.clone();
        let file_path = self.directory.path().join(MirrorDirectory::file_name(&wanted.package));
        wanted.path = tag.to_string().into();
        let there = tag.archive(&platform)?;
        if let Some((zh, size)) = &there
            && let Some(errors) = wanted.accepts(zh, self.session)?
        {
            let mut put = wanted.in_place(MirrorAction::Kept, None, errors);
            put.package.size = Some(*size);
            return Ok((put, None));
        }
        let action = if tag.lists(&platform) { MirrorAction::Replaced } else { MirrorAction::Added };
        if self.is_dry_run {
            return Ok((wanted.in_place(action, None, Vec::new()), None));
        }
        let file = tempfile::tempfile_in(self.directory.path());
        let file = file.map_err(|error| Diagnostic::io("create", &file_path, &error))?;
        let (fetched, digest, errors) = wanted.fetch_into(&file, &file_path, self.session)?;
        let (action, pushed) = match there {
            Some((zh, _)) if zh == digest.zh => (MirrorAction::Kept, None),
            _ => (action, Some(tag.push(&platform, Content::File(&file, digest.size), &digest)?)),
        };
        let mut put = wanted.in_place(action, Some(digest), errors);
        put.package.authentication = Some(fetched.authentication);
        put.warnings = fetched.warnings;
        Ok((put, pushed))
    }
}
