//! Limits of packages, and the names of files that matter in them.

/// Directory of a repository, or file of a submodule, in which git keeps its data. It is not part
/// of a package.
pub(crate) const GIT: &str = ".git";
/// Largest size of an unpacked archive or a fetched repository in bytes.
pub(super) const MOST_BYTES: u64 = 1 << 30;
pub(super) const MOST_ENTRIES: usize = 100_000;
/// Longest name of an entry and longest target of a link in bytes. No system opens a longer path.
pub(super) const LONGEST_NAME: usize = 4096;
/// Largest depth of an entry.
pub(super) const MOST_PARTS: usize = 100;
/// Largest size of all names in bytes, including the directories around entries.
pub(super) const MOST_NAMES: usize = 16 << 20;
/// Largest size of the names and targets of all links in bytes. The system looks up every part of
/// them.
pub(super) const MOST_LINKS: usize = 1 << 20;

/// Whether OpenTofu or Terraform reads a file of this name as configuration.
pub(crate) fn is_configuration(name: &str) -> bool {
    [".tf", ".tofu", ".tf.json", ".tofu.json"]
        .iter()
        .any(|extension| name.ends_with(extension))
}
