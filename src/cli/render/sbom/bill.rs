//! Bill of materials for all formats: the packages of all root modules, each once, and their
//! requirements.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use provlock::project::{Material, Materials};
use provlock::system::Secrets;
use serde_json::Value;
use sha1::{Digest as _, Sha1};

use super::package::{Package, safe};
use crate::cli::render::repository_paths::RepositoryPaths;

/// The namespace for URLs (RFC 9562, section 6.6).
const NAMESPACE: [u8; 16] = [
    0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
];

/// Locked packages of a project, without secrets.
pub(crate) struct Bill {
    /// Name of the project.
    pub(super) name: String,
    /// Time of the document, if it has one.
    pub(super) time: Option<Timestamp>,
    pub(super) roots: Vec<Root>,
    /// Whether root modules are missing because of errors.
    pub(crate) has_failed_roots: bool,
    /// Packages by their purls.
    pub(super) packages: BTreeMap<String, Package>,
    /// The purls that the package with a purl requires.
    requirements: BTreeMap<String, BTreeSet<String>>,
}

/// A root module.
pub(super) struct Root {
    /// Paths of the directory and of the lock file, from the top of the repository.
    pub(super) path: String,
    pub(super) lock_path: String,
    /// The purls of its own requirements, and of all entries in its lock files.
    pub(super) requirements: BTreeSet<String>,
    pub(super) all: BTreeSet<String>,
    pub(super) is_complete: bool,
}

impl Bill {
    pub(crate) fn new(
        name: &str,
        time: Option<Timestamp>,
        roots: &[Materials],
        paths: &RepositoryPaths<'_>,
        secrets: &Secrets,
    ) -> Self {
        let mut bill = Self {
            name: safe(name, secrets),
            time,
            roots: Vec::new(),
            has_failed_roots: false,
            packages: BTreeMap::new(),
            requirements: BTreeMap::new(),
        };
        for root in roots {
            bill.add_root(root, paths, secrets);
        }
        bill
    }

    /// Adds the locked packages of a root module, and the requirements between them.
    fn add_root(&mut self, materials: &Materials, paths: &RepositoryPaths<'_>, secrets: &Secrets) {
        let mut purls = BTreeMap::new();
        for (address, locked) in &materials.providers {
            let mut properties = Vec::new();
            for key in materials.trusted_keys.get(address).into_iter().flatten() {
                properties.push(("provlock:trusted-key", key.clone()));
            }
            if let Some(key) = materials.signers.get(address) {
                properties.push(("provlock:signed-by", key.clone()));
            }
            let package = Package::provider(address, locked, properties);
            let purl = self.insert_or_merge(package);
            purls.insert(Material::Provider(address.clone()), purl);
        }
        for (key, locked) in &materials.modules {
            let purl = self.insert_or_merge(Package::module(key, locked, secrets));
            purls.insert(Material::Module(key.clone()), purl);
        }
        let mut root_requirements = BTreeSet::new();
        for (requiring_module, material) in &materials.requirements {
            let required = purls[material].clone();
            // Without a module, the root module itself requires it.
            let Some(key) = requiring_module else {
                root_requirements.insert(required);
                continue;
            };
            let requiring = &purls[&Material::Module(key.clone())];
            // A module may call another module of its own package.
            if *requiring != required {
                self.requirements
                    .entry(requiring.clone())
                    .or_default()
                    .insert(required);
            }
        }
        let mut path = safe(&paths.text_relative_to_top(&materials.path), secrets);
        if path.is_empty() {
            ".".clone_into(&mut path);
        }
        self.roots.push(Root {
            path,
            lock_path: safe(&paths.text_relative_to_top(&materials.lock_path), secrets),
            requirements: root_requirements,
            all: purls.into_values().collect(),
            is_complete: materials.is_complete,
        });
    }

    /// Adds a package, merges it with an equal one, and returns its purl.
    fn insert_or_merge(&mut self, package: Package) -> String {
        let purl = package.purl.clone();
        match self.packages.get_mut(&purl) {
            Some(known) => known.merge(package),
            None => _ = self.packages.insert(purl.clone(), package),
        }
        purl
    }

    /// The time to the second, for a format that requires a time.
    pub(super) fn time_to_the_second(&self) -> String {
        self.time
            .unwrap_or_else(Timestamp::now)
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string()
    }

    pub(super) fn required_by(&self, purl: &str) -> impl Iterator<Item = &String> {
        self.requirements.get(purl).into_iter().flatten()
    }
}

/// A UUID of a document, made from its content (version 5 of RFC 9562).
pub(super) fn uuid(content: &Value) -> String {
    let digest = Sha1::new()
        .chain_update(NAMESPACE)
        .chain_update(content.to_string())
        .finalize();
    let bytes: [u8; 16] = std::array::from_fn(|index| digest[index]);
    // The bits of the version and of the variant have fixed values.
    let number = u128::from_be_bytes(bytes) & !(0xf << 76 | 0x3 << 62) | 0x5 << 76 | 0x2 << 62;
    let digits = format!("{number:032x}");
    [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by Python: `uuid.uuid5(uuid.NAMESPACE_URL, '"a"')`.
    #[test]
    fn a_number_is_a_uuid_of_version_5() {
        assert_eq!(
            uuid(&Value::from("a")),
            "300400aa-54bd-523a-b611-1c1069e8d0fc"
        );
    }
}
