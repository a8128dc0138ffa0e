//! The units of Terragrunt in a directory, including units that stacks generate.

use std::path::Path;
use std::sync::Arc;

use crate::configuration::DirectoryListing;
use crate::configuration::terragrunt::{
    self, GENERATED_UNITS, GeneratedFrom, GeneratedUnit, Unknown,
};
use crate::modules::fetched::ModuleRequest;
use crate::modules::{ModuleSource, RemoteSource};
use crate::project::root_module::repository_stacks::RepositoryStacks;
use crate::project::root_module::searched_repository::SearchedRepository;
use crate::project::root_module::unit::TerragruntUnit;
use crate::project::session::Session;
use crate::provider::{ConstraintList, Dialect};
use crate::system::Tree;

/// Maximum number of copies of a unit that share its lock file.
const MOST_COPIES: usize = 5_000;

/// Maximum number of steps in which the copies of a unit are evaluated, because stacks can make
/// many copies of a unit that takes long.
const MOST_STEPS: usize = 64 << 20;

/// The units of a directory.
#[derive(Default)]
pub(super) struct UnitsOfDirectory {
    /// The unit in it, and the copies of it that use its lock file; or the unit that a stack
    /// generates there.
    pub(super) units: Vec<TerragruntUnit>,
    /// Reason why the unit that a stack generates there is not known.
    pub(super) unknown: Option<Unknown>,
    /// Whether stacks generate some of them.
    pub(super) are_generated: bool,
    /// Whether stacks generate more copies of it than are read.
    pub(super) has_more_copies: bool,
    /// Whether stacks generate copies of it, all with lock files of their own.
    pub(super) is_only_source: bool,
}

/// Whether a directory has a configuration of its own. No stack generates a unit in such a
/// directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnConfiguration {
    Present,
    Absent,
    /// The directory is listed, which is only done if a stack is above it.
    NotListed,
}

impl Session<'_> {
    /// Opens the units of a directory, which is given as the user knows it and without symbolic
    /// links. Unless the directory has a configuration, a stack may generate a unit there.
    pub(super) fn units_in(
        &self,
        path: &Path,
        canonical: &Path,
        configuration: OwnConfiguration,
    ) -> UnitsOfDirectory {
        if terragrunt::is_unit(self.tree(), canonical) {
            return self.unit_with_copies(path, canonical);
        }
        self.generated_unit_in(canonical, configuration)
    }

    /// Opens the unit that a stack generates in a directory without a unit of its own. There is
    /// none in a directory with a configuration, or if no stack generates it.
    pub(super) fn generated_unit_in(
        &self,
        canonical: &Path,
        configuration: OwnConfiguration,
    ) -> UnitsOfDirectory {
        let mut opened = UnitsOfDirectory::default();
        if !self.is_below_stack(canonical) {
            return opened;
        }
        let has_configuration = match configuration {
            OwnConfiguration::Present => true,
            OwnConfiguration::Absent => false,
            OwnConfiguration::NotListed => self.has_configuration_files(canonical),
        };
        if has_configuration {
            return opened;
        }
        let repository = self.repository_around(canonical);
        let Some(stacks) = repository.stacks(&self.environment) else {
            return opened;
        };
        match stacks.unit_at(canonical) {
            Ok(unit) => match self.open_generated(unit, stacks) {
                Ok(unit) => {
                    opened.units.push(unit);
                    opened.are_generated = true;
                }
                Err(unknown) => opened.unknown = Some(unknown),
            },
            Err(unknown) => opened.unknown = Some(unknown),
        }
        opened
    }

    /// Opens the unit in a directory, and the copies of it that stacks generate and that use its
    /// lock file, up to a limit.
    fn unit_with_copies(&self, path: &Path, canonical: &Path) -> UnitsOfDirectory {
        let mut opened = UnitsOfDirectory::default();
        let unit = TerragruntUnit::open(self.tree(), path, canonical, &self.environment);
        let repository = self.repository_around(canonical);
        let mut has_copies = false;
        if let Some(stacks) = repository.stacks(&self.environment) {
            has_copies = stacks.has_copies(canonical);
            let mut steps = 0;
            for copy in stacks.locked_beside(canonical) {
                if opened.units.len() == MOST_COPIES || steps > MOST_STEPS {
                    opened.has_more_copies = true;
                    break;
                }
                let copy = TerragruntUnit::open_generated(copy, canonical, stacks);
                steps += copy.read.steps;
                opened.units.push(copy);
            }
        }
        opened.are_generated = !opened.units.is_empty();
        opened.is_only_source = opened.units.is_empty() && has_copies;
        // A unit that only its copies are made from is not run where it is.
        if let Some(unit) = unit
            && (opened.units.is_empty() || !unit.read.is_only_copied())
        {
            opened.units.insert(0, unit);
        }
        opened
    }

    /// Opens a unit where a stack generates it.
    ///
    /// # Errors
    /// Nothing is known of the unit, because its source is not known, or it runs no module.
    pub(super) fn open_generated(
        &self,
        unit: &GeneratedUnit,
        stacks: &RepositoryStacks,
    ) -> Result<TerragruntUnit, Unknown> {
        let opened = match &unit.source {
            Ok(GeneratedFrom::Directory(source)) => {
                TerragruntUnit::open_generated(unit, source, stacks).locked_where_generated()
            }
            Ok(GeneratedFrom::Remote(address, location)) => self
                .fetch_generated(unit, address, stacks)
                .map_err(|reason| Unknown::new(reason, Some(location.clone())))?,
            Err(unknown) => return Err(unknown.clone()),
        };
        // The module of an unknown source is not known either.
        let runs_nothing = opened.read.source.is_ok() && opened.has_no_configuration();
        if runs_nothing {
            let reason = format!(
                "the unit in {} runs no module",
                opened.shown_path().display()
            );
            return Err(Unknown::new(reason, None));
        }
        Ok(opened)
    }

    /// Opens a unit that a stack generates from a package of a different repository.
    ///
    /// # Errors
    /// The reason why the unit is not known.
    fn fetch_generated(
        &self,
        unit: &GeneratedUnit,
        address: &str,
        stacks: &RepositoryStacks,
    ) -> Result<TerragruntUnit, String> {
        const ELSEWHERE: &str = "the source of the unit is not in the repository";
        self.modules.secrets.learn_address(address);
        let Ok(source) = RemoteSource::detect(address, "") else {
            return Err(ELSEWHERE.to_owned());
        };
        let source = ModuleSource::Remote(source);
        let Some(request) = ModuleRequest::new(source, ConstraintList::default()) else {
            return Err(ELSEWHERE.to_owned());
        };
        if request.why_unpinned().is_some() {
            return Err(format!("{ELSEWHERE}, and not pinned"));
        }
        // A change must not choose the hosts that are requested before these are limited.
        let may_request_any_host = self.options.change.is_some()
            && self.modules.requested_hosts.get().is_none()
            && !self.modules.is_offline();
        if may_request_any_host {
            return Err(ELSEWHERE.to_owned());
        }
        let opened = match self.modules.fetched(Dialect::default(), &request) {
            Ok(Some(package)) => TerragruntUnit::open_fetched(unit, package, stacks),
            Ok(None) => return Err(format!("{ELSEWHERE}, and was not fetched")),
            Err(errors) => Err(errors),
        };
        opened.map_err(|errors| match errors.into_iter().next() {
            Some(error) => format!("{ELSEWHERE}: {}", error.message),
            None => ELSEWHERE.to_owned(),
        })
    }

    /// Whether a directory is in that of a stack, which may generate a unit there.
    fn is_below_stack(&self, directory: &Path) -> bool {
        let mut parts = directory.components();
        if parts.any(|part| part.as_os_str() == GENERATED_UNITS) {
            return true;
        }
        let repository = self.repository_around(directory);
        directory
            .parent()
            .is_some_and(|above| self.repositories.has_stack_around(above, repository.top()))
    }

    pub(super) fn repository_around(&self, directory: &Path) -> Arc<SearchedRepository> {
        self.repositories.around(directory, &self.environment)
    }

    /// Whether a directory has files of a configuration.
    fn has_configuration_files(&self, directory: &Path) -> bool {
        let listing = DirectoryListing::of(self.tree(), directory);
        listing.is_some_and(|listing| listing.has_configuration())
    }
}

/// Whether no symbolic link leads to a directory, which need not exist.
pub(super) fn has_no_links(tree: &Tree, directory: &Path) -> bool {
    let mut above = directory.ancestors();
    let Some(existing) = above.find(|above| tree.has(above)) else {
        return false;
    };
    tree.canonicalize(existing)
        .is_ok_and(|canonical| canonical == existing)
}
