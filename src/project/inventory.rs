//! What root modules have today, and the settings by which anything else is a finding: the first `provlock.toml`.

use std::collections::{BTreeMap, BTreeSet};

use super::event::Event;
use super::root_module::RootModule;
use super::roots::Roots;
use super::session::Session;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Remedy, Result};
use crate::lockfile::LockFile;
use crate::packages::Source;
use crate::packages::archive::{PackageDigest, PackageId};
use crate::provider::{Authentication, Dialect, Hash, Platform, ProviderAddress, Version};
use crate::settings::schema_directive;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// What root modules require and lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inventory {
    /// How many root modules there are.
    pub root_modules: usize,
    /// Their dialect, if all have the same.
    pub dialect: Option<Dialect>,
    /// The platforms that every entry covers, if the packages of all are known.
    pub platforms: BTreeSet<Platform>,
    /// The providers that they require or lock.
    pub providers: BTreeSet<ProviderAddress>,
    /// Who signs the locked releases of each provider; empty if nobody was asked.
    pub signers: BTreeMap<ProviderAddress, BTreeSet<Signer>>,
    /// Whether every call of a module says which state of the module it means.
    pub are_modules_pinned: bool,
}

/// What a change may do with a warning or a note otherwise, and an attacker would.
const DENIED: [Code; 5] =
    [Code::Downgrade, Code::HostChanged, Code::ModuleSourceAdded, Code::SigningKeyChanged, Code::UnitAdded];

/// Who signs a release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signer {
    /// Nobody.
    Nobody,
    /// The key with this fingerprint.
    Key(String),
}

/// A locked version of a provider, with the dialect whose rules apply.
type Release = (ProviderAddress, Version, Dialect);

/// What a root module requires and locks.
struct Contents {
    dialect: Dialect,
    are_modules_pinned: bool,
    required: Vec<ProviderAddress>,
    lock_file: LockFile,
}

impl Session<'_> {
    /// What root modules have today. Unless the session is offline, the registries are asked who signs what is locked.
    ///
    /// # Errors
    /// A root module cannot be read, none has an entry, or a registry cannot be asked.
    pub fn inventory(&self, roots: &Roots) -> Result<Inventory> {
        self.notify(Event::Reading);
        let mut inventory = Inventory { root_modules: roots.len(), are_modules_pinned: true, ..Inventory::default() };
        let (mut releases, mut dialects) = (BTreeMap::<Release, BTreeSet<Hash>>::new(), BTreeSet::new());
        let mut errors = Diagnostics::default();
        for (_, contents) in self.each_root(roots, |_, root| self.contents(&root)) {
            let Contents { dialect, are_modules_pinned, required, lock_file } = match contents {
                Ok(contents) => contents,
                Err(more) => {
                    errors.extend(more);
                    continue;
                }
            };
            dialects.insert(dialect.name());
            inventory.dialect = Some(dialect);
            inventory.are_modules_pinned &= are_modules_pinned;
            inventory.providers.extend(required);
            for (address, locked) in lock_file.locks() {
                inventory.providers.insert(address.clone());
                let hashes = releases.entry((address.clone(), locked.version.clone(), dialect));
                // Of what several root modules lock, all of them cover only what each does.
                let of_files = || locked.hashes.iter().filter(|hash| hash.is_of_files()).cloned().collect();
                let common = hashes.or_insert_with(of_files);
                common.retain(|hash| locked.hashes.contains(hash));
            }
        }
        self.announce();
        errors.into_result(())?;
        if releases.is_empty() {
            let error = Diagnostic::error(Code::LockFileMissing, "no root module here has locked a provider");
            return Err(error.help(Remedy::lock()).into());
        }
        inventory.dialect = inventory.dialect.filter(|_| dialects.len() == 1);
        inventory.platforms = self.platforms_of(&releases);
        if !self.options.offline {
            inventory.signers = self.signers(releases.into_keys().collect())?;
        }
        self.finish();
        Ok(inventory)
    }

    fn contents(&self, root: &RootModule) -> Result<Contents> {
        let requirements = self.requirements_of(root, false)?;
        Ok(Contents {
            dialect: root.dialect,
            are_modules_pinned: requirements.calls.iter().all(|call| call.request.floating().is_none()),
            required: requirements.providers.into_keys().collect(),
            lock_file: root.lock_file()?.0,
        })
    }

    /// The platforms that all entries cover; none if the cache does not know the packages of one.
    fn platforms_of(&self, releases: &BTreeMap<Release, BTreeSet<Hash>>) -> BTreeSet<Platform> {
        let covered = releases.iter().map(|((address, version, _), hashes)| {
            let packages = self.hash_cache.iter().flat_map(|cache| cache.packages_of(address, version));
            let is_covered = |digest: &PackageDigest| {
                [&digest.h1, &digest.h1_with_directories].into_iter().any(|hash| hashes.contains(hash))
            };
            let covered = packages.filter(|(_, digest)| is_covered(digest));
            covered.map(|(package, _)| package.platform).collect::<BTreeSet<_>>()
        });
        covered.reduce(|all, one| &all & &one).unwrap_or_default()
    }

    fn signers(&self, releases: Vec<Release>) -> Result<BTreeMap<ProviderAddress, BTreeSet<Signer>>> {
        let ask = |(address, version, dialect): Release| {
            let source = self.source(dialect, None)?;
            let signer = signer(&source, &address, &version)?;
            Ok::<_, Diagnostics>((address, signer))
        };
        let mut signers = BTreeMap::<_, BTreeSet<_>>::new();
        let mut errors = Diagnostics::default();
        for answer in parallel::map(releases, WAITING_REQUESTS, ask) {
            match answer {
                Ok((address, signer)) => _ = signers.entry(address).or_default().insert(signer),
                Err(more) => errors.extend(more),
            }
        }
        errors.into_result(signers)
    }
}

/// Who signs a release, seen from a platform that it is published for.
fn signer(source: &Source, address: &ProviderAddress, version: &Version) -> Result<Signer> {
    let platforms = source.platforms(address, version).map_err(|error| {
        if !error.is_platform_missing() {
            return Diagnostics::from(error);
        }
        let message = format!("{address} {version} is locked, but its source does not list it");
        Diagnostic::error(Code::VersionWithdrawn, message).help("lock another version first").into()
    })?;
    let package = platforms.first().map(|platform| PackageId::new(address, version, platform));
    let published = package.map(|package| source.published(&package)).transpose()?.flatten();
    Ok(match published.map(|published| published.authentication) {
        Some(Authentication::Signed { fingerprint, .. }) => Signer::Key(fingerprint),
        _ => Signer::Nobody,
    })
}

impl Inventory {
    /// The hosts of the providers.
    pub fn hosts(&self) -> BTreeSet<String> {
        self.providers.iter().map(|address| address.hostname.as_ascii().to_owned()).collect()
    }

    /// The namespaces of the providers, `HOST/NAMESPACE`.
    pub fn namespaces(&self) -> BTreeSet<String> {
        self.providers.iter().map(namespace).collect()
    }

    /// The fingerprints of the keys that sign what is locked.
    pub fn keys(&self) -> BTreeSet<&String> {
        self.signers.values().flatten().filter_map(Signer::key).collect()
    }

    /// The text of a `provlock.toml` by which any other host, namespace or key is a finding.
    pub fn settings(&self) -> String {
        let mut lines: Vec<_> = schema_directive().into_iter().collect();
        lines.push("# Written by provlock init; docs/gate.md of provlock explains each line.".to_owned());
        lines.extend(self.dialect.map(|dialect| format!("dialect = {}", quoted(dialect.name()))));
        if !self.platforms.is_empty() {
            lines.push(format!("platforms = {}", list(self.platforms.iter().map(ToString::to_string))));
        }
        lines.extend([String::new(), "[policy]".to_owned()]);
        lines.push(format!("allowed-hosts = {}", list(self.hosts())));
        lines.push(format!("allowed-namespaces = {}", list(self.namespaces())));
        if !self.signers.is_empty() && !self.signers.values().any(|signers| signers.contains(&Signer::Nobody)) {
            lines.push("require-signed = true".to_owned());
        }
        if self.are_modules_pinned {
            lines.push("pin-modules = true".to_owned());
        }
        lines.extend([String::new(), "[verify]".to_owned()]);
        lines.push(format!("deny = {}", list(DENIED.into_iter().map(|code| code.to_string()))));
        let trusted = self.trusted();
        if !trusted.is_empty() {
            lines.extend([String::new(), "[trust]".to_owned()]);
        }
        lines.extend(trusted.into_iter().map(|(providers, keys)| format!("{} = {}", quoted(&providers), list(keys))));
        lines.join("\n") + "\n"
    }

    /// The keys of each namespace; where it has a release that nobody signs, those of each other provider.
    fn trusted(&self) -> BTreeMap<String, BTreeSet<String>> {
        let unsigned = self.signers.iter().filter(|(_, signers)| signers.contains(&Signer::Nobody));
        let unsigned: BTreeSet<_> = unsigned.map(|(address, _)| namespace(address)).collect();
        let mut trusted = BTreeMap::<_, BTreeSet<_>>::new();
        for (address, signers) in self.signers.iter().filter(|(_, signers)| !signers.contains(&Signer::Nobody)) {
            let namespace = namespace(address);
            let is_mixed = unsigned.contains(&namespace);
            let providers = if is_mixed { format!("{namespace}/{}", address.name) } else { format!("{namespace}/*") };
            trusted.entry(providers).or_default().extend(signers.iter().filter_map(Signer::key).cloned());
        }
        trusted
    }
}

impl Signer {
    fn key(&self) -> Option<&String> {
        match self {
            Self::Key(fingerprint) => Some(fingerprint),
            Self::Nobody => None,
        }
    }
}

/// `HOST/NAMESPACE`
fn namespace(address: &ProviderAddress) -> String {
    format!("{}/{}", address.hostname.as_ascii(), address.namespace)
}

/// A list of strings in TOML.
fn list(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<_> = texts.into_iter().map(|text| quoted(&text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A string in TOML. No name of a provider or platform has a character that must be escaped.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
