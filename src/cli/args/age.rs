//! The flags that say how old a version must be, of `lock` and `upgrade`.

use std::time::Duration;

use clap::Args;
use provlock::packages::DateServices;
use provlock::settings::parse_duration;
use url::Url;

/// How old versions must be, and who knows.
#[derive(Args)]
pub(crate) struct AgeArgs {
    /// Choose no version younger than this, such as 7d [default: min-age of provlock.toml]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Selection")]
    pub(crate) min_age: Option<Duration>,
    /// Where registry.opentofu.org tells when versions were published
    #[arg(long, hide = true, env = "PROVLOCK_OPENTOFU_API", default_value = "https://api.opentofu.org/")]
    opentofu_api: Url,
    /// Where registry.terraform.io tells when versions were published
    #[arg(long, hide = true, env = "PROVLOCK_TERRAFORM_API", default_value = "https://registry.terraform.io/")]
    terraform_api: Url,
}

impl AgeArgs {
    /// Who knows when versions were published.
    pub(crate) fn services(&self) -> DateServices {
        DateServices { opentofu: self.opentofu_api.clone(), terraform: self.terraform_api.clone() }
    }
}
