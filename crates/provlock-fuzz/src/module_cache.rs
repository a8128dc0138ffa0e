//! What the cache of modules says of an address.

use std::fs;

use provlock::project::ModuleFetching;

use crate::module_archive::named;
use crate::project::Project;

/// What stands for the name of the directory with the package.
const CONTENT: &str = "CONTENT";

/// Puts something in the place of each entry of the cache; nothing stands for what is there. Nothing is read then but
/// the package.
pub fn module_cache(data: &[u8]) -> bool {
    let (name, archive) = named(include_bytes!("../../../fuzz/seeds/module_archive/stored.zip"));
    let project = Project::new(&[(name, &archive)]);
    let source = format!("file://{}", project.path(name).display());
    project.write("root/main.tf", format!("module \"m\" {{\n  source = \"{source}\"\n}}\n").as_bytes());
    let fetched = project.required("root", ModuleFetching::Fetch);
    assert!(fetched.is_some(), "the package cannot be read");
    let modules = project.cache().join("provlock-modules-v1");
    let names = |folder: &str| {
        let entries = fs::read_dir(modules.join(folder)).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>()
    };
    let content = names("contents").first().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let content = content.expect("a package in the cache");
    for entry in names("addresses") {
        if !data.is_empty() {
            let written = String::from_utf8_lossy(data).replace(CONTENT, &content);
            fs::write(entry, written).expect("an entry");
        }
    }
    let kept = project.required("root", ModuleFetching::FromCache);
    // An entry may lead to a part of the package, or of another one.
    assert!(kept.iter().flatten().all(|name| name.ends_with("/acme/a") || name.ends_with("/b")), "{kept:?}");
    kept.is_some()
}
