//! The flag that says which platforms are meant.

use clap::Args;
use provlock::platform::Platform;
use provlock::settings::{PlatformSelection, Settings};

#[derive(Args)]
pub(crate) struct PlatformArgs {
    /// Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]
    #[arg(
        short,
        long = "platform",
        value_name = "OS_ARCH",
        value_delimiter = ',',
        env = "PROVLOCK_PLATFORMS",
        hide_env_values = true
    )]
    platforms: Vec<PlatformSelection>,
}

impl PlatformArgs {
    /// The platforms of the flag, else of the settings.
    pub(crate) fn named(&self, settings: &Settings) -> Option<PlatformSelection> {
        if self.platforms.is_empty() {
            settings.platforms.clone()
        } else {
            Some(self.platforms.iter().cloned().collect())
        }
    }

    /// The platforms of the flag, else of the settings, else the one that this program runs on.
    pub(crate) fn named_or_current(&self, settings: &Settings) -> PlatformSelection {
        self.named(settings).unwrap_or_else(|| PlatformSelection::These(vec![Platform::current()]))
    }
}
