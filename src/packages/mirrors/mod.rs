//! Mirrors: packages in directories and behind web servers
//! (<https://opentofu.org/docs/internals/provider-network-mirror-protocol/>).

mod filesystem;
mod network;

pub use filesystem::FilesystemMirror;
pub(crate) use filesystem::packed_name;
pub use network::NetworkMirror;
