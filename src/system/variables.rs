//! Names of provlock's own environment variables, which docs/environment.md explains. Numbers are
//! read with `Environment::number` and `Environment::seconds`.

/// Value of `--dialect`.
pub const DIALECT: &str = "PROVLOCK_DIALECT";
/// Value of `-p`.
pub const PLATFORMS: &str = "PROVLOCK_PLATFORMS";
/// Value of `--cache-dir`.
pub const CACHE_DIR: &str = "PROVLOCK_CACHE_DIR";
/// Private key for `cache push`.
pub const CACHE_SIGNING_KEY: &str = "PROVLOCK_CACHE_SIGNING_KEY";
/// Base URL of the service that publishes the dates of releases in OpenTofu's registry.
pub const OPENTOFU_API: &str = "PROVLOCK_OPENTOFU_API";
/// Base URL of the service that publishes the dates of releases in Terraform's registry.
pub const TERRAFORM_API: &str = "PROVLOCK_TERRAFORM_API";
/// Time limit of a download in seconds.
pub const DOWNLOAD_TIMEOUT: &str = "PROVLOCK_DOWNLOAD_TIMEOUT";
/// Minimum speed of a download in KiB per second; 0 for none.
pub const DOWNLOAD_MINIMUM_RATE: &str = "PROVLOCK_DOWNLOAD_MINIMUM_RATE";
/// Time limit of a credentials helper in seconds.
pub const HELPER_TIMEOUT: &str = "PROVLOCK_HELPER_TIMEOUT";
/// Time limit of git for a package of a module in seconds.
pub const GIT_TIMEOUT: &str = "PROVLOCK_GIT_TIMEOUT";
/// Pause before the first repetition of a request in milliseconds. Undocumented: for tests.
pub const RETRY_PAUSE: &str = "PROVLOCK_RETRY_PAUSE";
/// Shell that requests completions. Undocumented: the scripts of `completions` set it.
pub const COMPLETE: &str = "PROVLOCK_COMPLETE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_for_users_is_documented() {
        let page = include_str!("../../docs/environment.md");
        for name in [
            DIALECT,
            PLATFORMS,
            CACHE_DIR,
            CACHE_SIGNING_KEY,
            OPENTOFU_API,
            TERRAFORM_API,
            DOWNLOAD_TIMEOUT,
            DOWNLOAD_MINIMUM_RATE,
            HELPER_TIMEOUT,
            GIT_TIMEOUT,
        ] {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
