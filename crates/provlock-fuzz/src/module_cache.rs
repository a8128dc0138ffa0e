//! Damaged entries in the cache of modules.

use std::fs;

use provlock::project::ModuleFetching;

use crate::module_archive::named;
use crate::project::Project;

/// Stands for the hash of the package.
const HASH: &str = "HASH";

/// Replaces each entry of the cache (an empty input leaves it unchanged), and reads a module from
/// the cache. Nothing but the package is read.
pub fn module_cache(data: &[u8]) -> bool {
    let (name, archive) = named(include_bytes!(
        "../../../fuzz/seeds/module_archive/stored.zip"
    ));
    let project = Project::new(&[(name, &archive)]);
    let source = format!("file://{}", project.path(name).display());
    project.write(
        "root/main.tf",
        format!("module \"m\" {{\n  source = \"{source}\"\n}}\n").as_bytes(),
    );
    let fetched = project.required("root", ModuleFetching::Fetch);
    assert!(fetched.is_some(), "the package cannot be read");
    let addresses = project.cache().join("provlock-modules-v2/addresses");
    for entry in fs::read_dir(addresses).into_iter().flatten() {
        let entry = entry.expect("an entry").path();
        let right = fs::read_to_string(&entry).expect("an entry");
        let hash = right
            .split('"')
            .find(|text| text.starts_with("h1:"))
            .expect("the hash of the package");
        if !data.is_empty() {
            let written = String::from_utf8_lossy(data).replace(HASH, hash);
            fs::write(entry, written).expect("an entry");
        }
    }
    let kept = project.required("root", ModuleFetching::FromCache);
    // An entry may lead to a part of the package, or of another one.
    assert!(
        kept.iter()
            .flatten()
            .all(|name| name.ends_with("/acme/a") || name.ends_with("/b")),
        "{kept:?}"
    );
    kept.is_some()
}
