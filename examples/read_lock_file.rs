//! Prints the providers that a lock file locks: `cargo run --example read_lock_file --
//! .terraform.lock.hcl`.

use std::error::Error;
use std::path::PathBuf;

use provlock::lockfile;
use provlock::provider::Dialect;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from(lockfile::LOCK_FILE_NAME), PathBuf::from);
    let bytes = lockfile::read(&path)?.ok_or("there is no such file")?;
    let dialect = lockfile::detect_dialect(&bytes).unwrap_or_default();
    let parsed = lockfile::parse(&path, &bytes, dialect);
    let Some(lock_file) = parsed.lock_file else {
        parsed
            .diagnostics
            .iter()
            .for_each(|diagnostic| eprintln!("{diagnostic}"));
        return Err("the lock file cannot be read".into());
    };
    for (address, provider) in lock_file.locks() {
        let program = if dialect == Dialect::Tofu {
            "OpenTofu"
        } else {
            "Terraform"
        };
        println!(
            "{address} {} for {program}, {} hashes",
            provider.version,
            provider.hashes.len()
        );
    }
    Ok(())
}
