//! Progress of a package while it is fetched.

use crate::packages::archive::PackageId;

/// A step in fetching a package.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// The download starts; its size in bytes, where the server says.
    Started(Option<u64>),
    /// More bytes have arrived.
    Received(u64),
    /// The package is complete, or has failed.
    Finished,
}

/// Takes note of progress; called from several threads.
pub type ProgressSink<'a> = &'a (dyn Fn(&PackageId, Progress) + Sync);
