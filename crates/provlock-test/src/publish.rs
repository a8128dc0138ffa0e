//! Makes releases: packages, SHA256SUMS, the signature, and the metadata of the registry protocol.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::archive::{self, File, Packing};
use crate::files;
use crate::keys::{self, Form, Key};
use crate::state::{Address, Release, State};

pub use crate::state::Package;

/// A published release: the hashes to expect.
#[derive(Clone, Debug)]
pub struct Published {
    /// `HOST/NAMESPACE/TYPE`.
    pub address: String,
    pub version: String,
    /// The packages by platform.
    pub packages: BTreeMap<String, Package>,
    /// The content of SHA256SUMS.
    pub shasums: String,
}

/// A flaw of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The metadata name another sum than SHA256SUMS.
    ShasumDiffers,
    /// The archives differ from the archives that were summed and signed.
    PackageDiffers,
    /// SHA256SUMS does not name the packages.
    SumsWithoutPackages,
    /// SHA256SUMS contains a malformed line, beside the right ones.
    MalformedSumsLine,
    /// SHA256SUMS is not there.
    MissingSums,
    /// The signature is over other bytes.
    BadSignature,
    /// The signature is not OpenPGP data.
    GarbageSignature,
    /// The signature is in ASCII armor.
    ArmoredSignature,
    /// The signature held for an hour, until yesterday.
    ExpiredSignature,
    /// The signature holds from tomorrow on.
    FutureSignature,
    /// The signature is not there.
    MissingSignature,
    /// The metadata list no key.
    NoKeys,
    /// The metadata list a key that has not signed, and no other.
    WrongKey,
    /// The metadata list a key that cannot be read, before the right one.
    GarbageKey,
    /// The archives are not there.
    MissingPackages,
    /// The packages contain no provider executable.
    NoProgram,
    /// The versions do not name the release.
    Unlisted,
    /// The versions name a platform that has no package.
    ClaimsPlatform(&'static str),
    /// The URLs in the metadata are relative.
    RelativeUrls,
}

/// The `packages` map of OpenTofu's registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackagesMap {
    Right,
    /// Present and empty.
    Empty,
    WrongZh,
    WrongH1,
    WrongSize,
    /// Holds every platform but that of the request.
    WithoutPlatform,
}

/// A release in the making; [`Publish::done`] publishes it.
#[must_use = "nothing is published before `done`"]
pub struct Publish<'a> {
    state: &'a Mutex<State>,
    address: Address,
    version: String,
    platforms: Vec<String>,
    protocols: Vec<String>,
    key: &'static Key,
    more_keys: Vec<&'static Key>,
    files_host: Option<String>,
    extra: Vec<File>,
    size: usize,
    flaws: Vec<Flaw>,
    packages_map: Option<PackagesMap>,
    patch: Value,
    is_signed_on_request: bool,
}

impl<'a> Publish<'a> {
    pub(crate) fn new(state: &'a Mutex<State>, provider: &str, version: &str) -> Self {
        Self {
            state,
            address: Address::parse(provider),
            version: version.to_owned(),
            platforms: Vec::new(),
            protocols: vec!["5.0".to_owned()],
            key: &keys::ED25519,
            more_keys: Vec::new(),
            files_host: None,
            extra: Vec::new(),
            size: 200,
            flaws: Vec::new(),
            packages_map: None,
            patch: json!({}),
            is_signed_on_request: false,
        }
    }

    /// The registry that lists the release.
    pub fn on_host(mut self, host: &str) -> Self {
        self.address.host = host.to_lowercase();
        self
    }

    /// Adds a platform. Without any there are `linux_amd64`, `linux_arm64`, `darwin_arm64` and
    /// `windows_amd64`.
    pub fn platform(mut self, platform: &str) -> Self {
        self.platforms.push(platform.to_owned());
        self
    }

    /// Adds platforms.
    pub fn platforms<const N: usize>(mut self, platforms: [&str; N]) -> Self {
        self.platforms.extend(platforms.map(str::to_owned));
        self
    }

    /// The key that signs and is listed, instead of [`keys::ED25519`].
    pub fn signed_by(mut self, key: &'static Key) -> Self {
        self.key = key;
        self
    }

    /// Signs when the signature is requested, in a later second than the first request of the run.
    pub fn signed_on_request(mut self) -> Self {
        self.is_signed_on_request = true;
        self
    }

    /// Lists a different key before the key that signs.
    pub fn lists_key(mut self, key: &'static Key) -> Self {
        self.more_keys.push(key);
        self
    }

    /// The plugin protocols, instead of 5.0.
    pub fn protocols<const N: usize>(mut self, protocols: [&str; N]) -> Self {
        self.protocols = protocols.map(str::to_owned).to_vec();
        self
    }

    /// The host that SHA256SUMS, signature and packages are on, instead of the registry's.
    pub fn files_on(mut self, host: &str) -> Self {
        self.files_host = Some(host.to_owned());
        self
    }

    /// Adds a file to every package; a name that ends in `/` is a directory entry.
    pub fn package_file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.extra.push((name.to_owned(), content.into()));
        self
    }

    /// The size of the program in each package, in bytes. The archive has about half of it.
    pub fn size(mut self, bytes: usize) -> Self {
        self.size = bytes;
        self
    }

    /// Makes the release wrong; flaws add up.
    pub fn flaw(mut self, flaw: Flaw) -> Self {
        self.flaws.push(flaw);
        self
    }

    /// Adds a `packages` map to the metadata.
    pub fn packages(mut self, map: PackagesMap) -> Self {
        self.packages_map = Some(map);
        self
    }

    /// Replaces members of the download metadata, for whatever has no method of its own.
    pub fn patch_metadata(mut self, members: Value) -> Self {
        self.patch = members;
        self
    }

    /// Publishes the release.
    pub fn done(mut self) -> Published {
        if self.platforms.is_empty() {
            self.platforms = [
                "linux_amd64",
                "linux_arm64",
                "darwin_arm64",
                "windows_amd64",
            ]
            .map(str::to_owned)
            .to_vec();
        }
        let mut packages: BTreeMap<_, _> = self
            .platforms
            .iter()
            .map(|platform| (platform.clone(), self.package(platform)))
            .collect();
        let shasums = self.shasums(&packages);
        let metadata: Vec<_> = packages
            .keys()
            .map(|platform| self.metadata(platform, &packages))
            .collect();
        for (package, metadata) in packages.values_mut().zip(metadata) {
            package.metadata = metadata;
        }
        self.store(&packages, &shasums);
        let (address, version) = (self.address.path(), self.version);
        Published {
            address,
            version,
            packages,
            shasums,
        }
    }

    fn has(&self, flaw: &Flaw) -> bool {
        self.flaws.contains(flaw)
    }

    fn filename(&self, rest: &str) -> String {
        format!(
            "terraform-provider-{}_{}_{rest}",
            self.address.name, self.version
        )
    }

    fn package(&self, platform: &str) -> Package {
        let seed = format!("{} {}", self.address.path(), self.version);
        let mut files = archive::provider_files(
            &self.address.name,
            &self.version,
            platform,
            &seed,
            self.size,
        );
        if self.has(&Flaw::NoProgram) {
            files.retain(|(name, _)| !name.starts_with("terraform-provider-"));
        }
        files.extend(self.extra.iter().cloned());
        let archive = archive::pack(&files, Packing::Deflated);
        Package {
            filename: self.filename(&format!("{platform}.zip")),
            h1: archive::h1(&files),
            zh: archive::zh(&archive),
            h1_with_directories: archive::h1_with_directories(&files),
            archive: Arc::new(archive),
            metadata: Value::Null,
        }
    }

    fn shasums(&self, packages: &BTreeMap<String, Package>) -> String {
        let mut text = String::new();
        if !self.has(&Flaw::SumsWithoutPackages) {
            for package in packages.values() {
                writeln!(text, "{}  {}", &package.zh["zh:".len()..], package.filename).unwrap();
            }
        }
        writeln!(
            text,
            "{}  {}",
            archive::sha256(b"{}"),
            self.filename("manifest.json")
        )
        .unwrap();
        if self.has(&Flaw::MalformedSumsLine) {
            text.push_str("no sum at all\n");
        }
        text
    }

    fn metadata(&self, platform: &str, packages: &BTreeMap<String, Package>) -> Value {
        let package = &packages[platform];
        let (os, arch) = platform.split_once('_').unwrap();
        let sums = self.url(&self.filename("SHA256SUMS"));
        let shasum = if self.has(&Flaw::ShasumDiffers) {
            archive::sha256(b"another")
        } else {
            package.zh["zh:".len()..].to_owned()
        };
        let mut metadata = json!({
            "protocols": self.protocols,
            "os": os,
            "arch": arch,
            "filename": package.filename,
            "download_url": self.url(&package.filename),
            "shasums_url": sums,
            "shasums_signature_url": format!("{sums}.sig"),
            "shasum": shasum,
            "signing_keys": { "gpg_public_keys": self.listed_keys() },
        });
        if let Some(map) = self.packages_map {
            metadata["packages"] = packages_map(map, platform, packages);
        }
        for (member, value) in self.patch.as_object().unwrap() {
            metadata[member] = value.clone();
        }
        metadata
    }

    fn directory(&self) -> String {
        format!("/files/{}/{}/", self.address.path(), self.version)
    }

    fn url(&self, filename: &str) -> String {
        let path = format!("{}{filename}", self.directory());
        if self.has(&Flaw::RelativeUrls) {
            return path;
        }
        format!(
            "https://{}{path}",
            self.files_host.as_ref().unwrap_or(&self.address.host)
        )
    }

    fn listed_keys(&self) -> Vec<Value> {
        let listed = |key_id: &str, armor: &str| {
            json!({
                "key_id": key_id, "ascii_armor": armor, "trust_signature": "", "source": "",
            })
        };
        let mut keys = self.more_keys.clone();
        match (self.has(&Flaw::NoKeys), self.has(&Flaw::WrongKey)) {
            (true, _) => return Vec::new(),
            (false, true) => keys.push(&keys::OTHER),
            (false, false) => keys.push(self.key),
        }
        let garbage = self
            .has(&Flaw::GarbageKey)
            .then(|| listed("0000000000000000", "no key"));
        garbage
            .into_iter()
            .chain(
                keys.into_iter()
                    .map(|key| listed(&key.key_id(), key.public)),
            )
            .collect()
    }

    fn signature(&self, shasums: &str) -> Option<Vec<u8>> {
        let mut data = shasums.as_bytes().to_vec();
        if self.has(&Flaw::BadSignature) {
            data.push(b'\n');
        }
        let form = if self.has(&Flaw::ArmoredSignature) {
            Form::Armored
        } else if self.has(&Flaw::ExpiredSignature) {
            Form::Expired
        } else if self.has(&Flaw::FutureSignature) {
            Form::Future
        } else {
            Form::Binary
        };
        match (
            self.has(&Flaw::MissingSignature),
            self.has(&Flaw::GarbageSignature),
        ) {
            (true, _) => None,
            (false, true) => Some(b"no signature".to_vec()),
            (false, false) => Some(self.key.sign(&data, form)),
        }
    }

    fn store(&self, packages: &BTreeMap<String, Package>, shasums: &str) {
        let signature = self.signature(shasums);
        let path = |filename: &str| format!("{}{filename}", self.directory());
        let sums = path(&self.filename("SHA256SUMS"));
        let mut state = self.state.lock().unwrap();
        state.files.retain(|file, _| !file.starts_with(&path("")));
        if self.is_signed_on_request {
            let signed = (self.key, shasums.to_owned());
            state
                .signed_on_request
                .insert(format!("{sums}.sig"), signed);
        }
        if let Some(signature) = signature {
            state
                .files
                .insert(format!("{sums}.sig"), Arc::new(signature));
        }
        if !self.has(&Flaw::MissingSums) {
            state
                .files
                .insert(sums, Arc::new(shasums.as_bytes().to_vec()));
        }
        for package in packages.values() {
            if self.has(&Flaw::MissingPackages) {
                break;
            }
            let content = if self.has(&Flaw::PackageDiffers) {
                let files = [("terraform-provider-other".to_owned(), b"another".to_vec())];
                Arc::new(archive::pack(&files, Packing::Deflated))
            } else {
                Arc::clone(&package.archive)
            };
            state.files.insert(path(&package.filename), content);
        }
        state.host(&self.address.host);
        if let Some(host) = &self.files_host {
            state.host(host);
        }
        let claimed = self.flaws.iter().filter_map(|flaw| match flaw {
            Flaw::ClaimsPlatform(platform) => Some((*platform).to_owned()),
            _ => None,
        });
        let release = Release {
            version: self.version.clone(),
            protocols: self.protocols.clone(),
            listed: !self.has(&Flaw::Unlisted),
            packages: packages.clone(),
            claimed: claimed.collect(),
        };
        let releases = &mut state
            .providers
            .entry(self.address.clone())
            .or_default()
            .releases;
        releases.retain(|other| other.version != release.version);
        releases.push(release);
    }
}

fn packages_map(map: PackagesMap, requested: &str, packages: &BTreeMap<String, Package>) -> Value {
    let entry = |(platform, package): (&String, &Package)| {
        let (mut h1, mut zh, mut size) = (
            package.h1.clone(),
            package.zh.clone(),
            package.archive.len(),
        );
        match map {
            PackagesMap::WrongZh => zh = archive::zh(b"another"),
            PackagesMap::WrongH1 => h1 = archive::h1(&[]),
            PackagesMap::WrongSize => size += 1,
            PackagesMap::Right | PackagesMap::Empty | PackagesMap::WithoutPlatform => {}
        }
        (
            platform.clone(),
            json!({ "hashes": [zh, h1], "package_size": size }),
        )
    };
    let included = |platform: &str| match map {
        PackagesMap::Empty => false,
        PackagesMap::WithoutPlatform => platform != requested,
        _ => true,
    };
    packages
        .iter()
        .filter(|(platform, _)| included(platform))
        .map(entry)
        .collect::<serde_json::Map<_, _>>()
        .into()
}

impl Published {
    /// The `h1:` hash of a platform's package.
    pub fn h1(&self, platform: &str) -> &str {
        &self.packages[platform].h1
    }

    /// The `zh:` hash of a platform's package.
    pub fn zh(&self, platform: &str) -> &str {
        &self.packages[platform].zh
    }

    /// The `zh:` hashes of every line of SHA256SUMS, sorted.
    pub fn all_zh(&self) -> Vec<String> {
        let sums = self
            .shasums
            .lines()
            .filter(|line| line.as_bytes().get(64) == Some(&b' '));
        let mut hashes: Vec<String> = sums.map(|line| format!("zh:{}", &line[..64])).collect();
        hashes.sort();
        hashes
    }

    /// The hashes that a lock file records for these platforms: their `h1:` and all `zh:`, sorted.
    pub fn hashes(&self, platforms: &[&str]) -> Vec<String> {
        let mut hashes: Vec<String> = platforms
            .iter()
            .map(|platform| self.h1(platform).to_owned())
            .collect();
        hashes.extend(self.all_zh());
        hashes.sort();
        hashes.dedup();
        hashes
    }

    /// Returns the entry of a lock file with these hashes, sorted and without duplicates.
    pub fn entry(&self, constraints: &str, hashes: &[impl AsRef<str>]) -> String {
        let mut hashes: Vec<_> = hashes.iter().map(AsRef::as_ref).collect();
        hashes.sort_unstable();
        hashes.dedup();
        files::entry(&self.address, &self.version, constraints, &hashes)
    }

    /// Returns the entry that is recorded for these platforms.
    pub fn entry_for(&self, constraints: &str, platforms: &[&str]) -> String {
        self.entry(constraints, &self.hashes(platforms))
    }

    /// Returns the lock file with this entry alone, for these platforms.
    pub fn lock_file(&self, constraints: &str, platforms: &[&str]) -> String {
        files::lock_file(&[self.entry_for(constraints, platforms)])
    }
}
