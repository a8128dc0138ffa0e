//! Mirrors: packages in directories and behind web servers
//! (<https://opentofu.org/docs/internals/provider-network-mirror-protocol/>).

mod filesystem;
mod network;

pub(crate) use filesystem::FilesystemMirror;
pub(crate) use filesystem::packed_name;
pub(super) use network::NetworkMirror;
