//! The flag that says which platforms are meant.

use clap::Args;
use clap_complete::ArgValueCandidates;
use provlock::settings::PlatformSelection;

use super::candidates;

#[derive(Args)]
pub(crate) struct PlatformArgs {
    /// Platforms such as `linux_amd64`, or `all` [default: platforms of provlock.toml, else the current one]
    #[arg(
        short,
        long = "platform",
        value_name = "OS_ARCH",
        value_delimiter = ',',
        env = "PROVLOCK_PLATFORMS",
        hide_env_values = true,
        add = ArgValueCandidates::new(candidates::platforms)
    )]
    platforms: Vec<PlatformSelection>,
}

impl PlatformArgs {
    /// The platforms of the flag.
    pub(crate) fn named(&self) -> Option<PlatformSelection> {
        (!self.platforms.is_empty()).then(|| self.platforms.iter().cloned().collect())
    }
}
