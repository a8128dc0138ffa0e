//! Tests of the lock file. Its laws are tested in `tests/corpus.rs`.

mod edit;
mod file;
mod modules;
mod read;
mod recognise;
mod recorded;
mod values;

use std::path::Path;
use std::sync::Arc;

use crate::provider::{Dialect, ProviderAddress};

use super::{LockFile, LockedProvider, Parsed, parse};

const HEADER: &str = "# This file is maintained automatically by \"tofu init\".\n\
                      # Manual edits may be lost in future updates.\n";

fn parsed(text: &str) -> Parsed {
    parse(
        Path::new(".terraform.lock.hcl"),
        text.as_bytes(),
        Dialect::Tofu,
    )
}

fn lock_file(text: &str) -> LockFile {
    let parsed = parsed(text);
    parsed
        .lock_file
        .unwrap_or_else(|| panic!("{:?}\n{text}", parsed.diagnostics))
}

fn address(text: &str) -> ProviderAddress {
    ProviderAddress::parse_canonical(text, Dialect::Tofu).unwrap()
}

fn locked(version: &str, constraints: &str, hashes: &[&str]) -> Arc<LockedProvider> {
    Arc::new(LockedProvider {
        version: version.parse().unwrap(),
        constraints: constraints.parse().unwrap(),
        hashes: hashes.iter().map(|hash| hash.parse().unwrap()).collect(),
    })
}
