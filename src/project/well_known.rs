//! The providers that most configurations require.

/// `NAMESPACE/TYPE` in the public registries, the most used first.
pub(super) fn providers() -> impl Iterator<Item = &'static str> + Clone {
    include_str!("well_known_providers.txt").lines().filter(|line| !line.starts_with('#'))
}
