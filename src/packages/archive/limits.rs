//! Limits on the size of a package.

/// Largest sizes of a package, so that a hostile package cannot exhaust memory or disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the zip archive.
    pub archive_bytes: u64,
    /// Bytes of all its files together, extracted.
    pub inflated_bytes: u64,
    /// Bytes of the central directory and everything after it, which are held in memory.
    pub directory_bytes: u64,
}

impl Default for Limits {
    /// 4 GiB packed, 16 GiB extracted, 16 MiB of central directory.
    fn default() -> Self {
        Self {
            archive_bytes: 4 << 30,
            inflated_bytes: 16 << 30,
            directory_bytes: 16 << 20,
        }
    }
}
