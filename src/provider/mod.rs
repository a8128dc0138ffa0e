//! Addresses, versions, constraints, platforms, hashes and keys of providers: values without I/O.

mod address;
mod authentication;
mod constraint;
mod dialect;
mod hash;
mod oci_repository;
mod pattern;
mod platform;
mod public_key;
mod spec;
mod version;

pub use address::{AddressError, AddressParts, Hostname, ProviderAddress};
pub use authentication::Authentication;
pub(crate) use constraint::MOST_TERMS;
pub use constraint::{Constraint, ConstraintError, ConstraintList, Operator};
pub use dialect::{Dialect, DialectError};
pub use hash::{Hash, HashError, HashScheme, HashesByScheme};
pub use oci_repository::{OciRepository, OciRepositoryError, SharedCache};
pub use pattern::{PatternError, ProviderPattern, ProviderSelection};
pub use platform::{Platform, PlatformError};
pub use public_key::{KeyError, PublicKey, SigningKey};
pub use spec::{NamedProvider, ProviderPatternSpec, ProviderSpec, ProviderSpecError};
pub use version::{Version, VersionError};
