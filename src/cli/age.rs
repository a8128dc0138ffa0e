//! The flags that say how old a version must be, of `lock` and `upgrade`.

use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use provlock::address::ProviderAddress;
use provlock::diagnostic::Result;
use provlock::dialect::Dialect;
use provlock::ops::{LockRequest, MinimumAge};
use provlock::settings::parse_duration;
use provlock::source::{DateServices, PublicationDates};
use url::Url;

use super::batch::{Batch, Root};
use super::connections::Connections;
use super::invalid_argument;
use super::project::Project;

/// How old versions must be, and who knows.
#[derive(Args)]
pub(crate) struct AgeArgs {
    /// Choose no version younger than this, for example 7d [default: that of provlock.toml]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "What")]
    min_age: Option<Duration>,
    /// Where registry.opentofu.org tells when versions were published
    #[arg(long, hide = true, env = "PROVLOCK_OPENTOFU_API", default_value = "https://api.opentofu.org/")]
    opentofu_api: Url,
    /// Where registry.terraform.io tells when versions were published
    #[arg(long, hide = true, env = "PROVLOCK_TERRAFORM_API", default_value = "https://registry.terraform.io/")]
    terraform_api: Url,
}

/// The ages that are demanded in a run.
pub(crate) struct Ages {
    /// The flag's.
    minimum: Option<Duration>,
    now: Timestamp,
    /// Who knows when versions were published, by dialect; nobody where no age is demanded.
    dates: Vec<(Dialect, PublicationDates)>,
}

impl AgeArgs {
    /// The ages that are demanded of the roots. Offline there is nobody who knows when versions were published.
    pub(crate) fn ages(&self, batch: &Batch<'_>, offline: bool, connections: &Connections<'_>) -> Result<Ages> {
        let mut ages = Ages { minimum: self.min_age, now: Timestamp::now(), dates: Vec::new() };
        for dialect in [Dialect::Tofu, Dialect::Terraform] {
            if !offline && batch.of_dialect(dialect).iter().any(|(_, root)| ages.demanded(root).is_some()) {
                let (opentofu, terraform) = (self.opentofu_api.clone(), self.terraform_api.clone());
                let services = DateServices { opentofu, terraform };
                ages.dates.push((dialect, PublicationDates::new(connections.client(dialect)?, services)));
            }
        }
        Ok(ages)
    }
}

impl Ages {
    /// What is demanded of a root module.
    pub(crate) fn of<'a>(&'a self, root: &'a Root) -> Option<MinimumAge<'a>> {
        let age = self.demanded(root)?;
        let (_, dates) = self.dates.iter().find(|(dialect, _)| *dialect == root.project.dialect)?;
        Some(MinimumAge { age, now: self.now, dates })
    }

    /// Fails the roots that demand an age of one of the providers that `choosing` says a version is chosen of, for when
    /// nobody can be asked for dates.
    pub(crate) fn refuse(
        &self,
        batch: &mut Batch<'_>,
        choosing: impl for<'a> Fn(&'a Root, &LockRequest<'a>) -> Vec<&'a ProviderAddress>,
    ) {
        let is_demanded = |root: &Root| {
            let Project { settings, dialect, .. } = &root.project;
            let is_exempt = |address: &&ProviderAddress| settings.policy.is_exempt_from_min_age(address, *dialect);
            self.demanded(root).is_some() && !choosing(root, &batch.request(root)).iter().all(is_exempt)
        };
        let demanding: Vec<_> =
            batch.readable().filter(|(_, root)| is_demanded(root)).map(|(index, _)| index).collect();
        let message = "min-age is in force, and with --offline nobody can be asked when versions were published";
        let help = "choose versions whatever their age with --min-age 0d, or leave --offline out";
        batch.fail(&demanding, &invalid_argument(message.to_owned()).help(help));
    }

    /// The age that the flag demands of a root module, else its settings; none when none is demanded.
    fn demanded(&self, root: &Root) -> Option<Duration> {
        self.minimum.or(root.project.settings.policy.min_age).filter(|age| !age.is_zero())
    }
}
