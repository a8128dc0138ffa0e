//! Pointers of Git LFS, which git stores in place of files
//! (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>).

const START: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Help for a lock file in Git LFS.
pub(crate) const LFS_HELP: &str =
    "keep lock files in git itself: remove the filter from .gitattributes";

/// Whether a file is the pointer of Git LFS instead of a lock file.
pub(crate) fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(START)
}
