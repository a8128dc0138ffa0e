//! The CLI configuration of a dialect, and the client that sends requests as it says.

use std::sync::Arc;

use crate::cli_config::{self, CliConfig, Credentials};
use crate::diagnostic::Result;
use crate::net::{Client, RequestObserver};
use crate::packages::oci::{OciLogins, OciRegistries};
use crate::packages::{DateServices, Discovery, PublicationDates, RegistryCache};
use crate::provider::Dialect;
use crate::system::Environment;

/// Values that are read or created once for a dialect.
pub(super) struct Connection {
    pub(super) dialect: Dialect,
    pub(super) config: CliConfig,
    pub(super) client: Client,
    /// `None` if no services for dates are configured.
    pub(super) dates: Option<PublicationDates>,
    pub(super) discovery: Arc<Discovery>,
    /// Shared by all sources, so that one login is enough.
    pub(super) oci_registries: Arc<OciRegistries>,
}

impl Connection {
    /// Reads the CLI configuration. Sends no request yet.
    pub(super) fn open(
        environment: &Environment,
        dialect: Dialect,
        observer: RequestObserver,
        dates: Option<DateServices>,
        cache: Option<RegistryCache>,
    ) -> Result<Self> {
        let config = cli_config::load(environment, dialect)?;
        let credentials = Credentials::new(environment, &config, dialect);
        let client = Client::new(config.net_settings(environment), move |host| credentials.token(host))?;
        let client = client.with_observer(observer);
        let dates = dates.map(|services| PublicationDates::new(client.clone(), services));
        let discovery = Arc::new(Discovery::new(client.clone(), config.hosts.clone(), cache));
        let (blocks, defaults) = (config.oci_credentials.clone(), config.oci_default_credentials.clone());
        let logins = OciLogins::new(blocks, defaults, environment.clone(), environment.helper_time_limit());
        let oci_registries = Arc::new(OciRegistries::new(client.clone(), logins));
        Ok(Self { dialect, config, client, dates, discovery, oci_registries })
    }
}
