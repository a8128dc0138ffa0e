//! The `packages` map of a download response, which the OpenTofu registry sends since 1.12.

use std::collections::{BTreeMap, BTreeSet};

use crate::provider::{Hash, HashScheme, Platform};

/// What the registry reports about one platform's package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageReport {
    /// Its hashes, of any scheme.
    pub hashes: Vec<Hash>,
    /// The size of the zip archive in bytes.
    pub package_size: Option<u64>,
}

/// Why a package is not the one in the `packages` map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackagesError {
    /// A key of the map is not a platform.
    #[error("the registry reports a package for {0:?}, which is not a platform")]
    InvalidPlatform(String),
    /// The requested platform is not in the map.
    #[error("the registry reports packages, but none for {0}")]
    MissingPlatform(Platform),
    /// The size is missing or zero.
    #[error("the registry reports no valid package size for {0}")]
    InvalidSize(Platform),
    /// The size is not that of the archive.
    #[error("the registry reports {reported} bytes for the package, which has {actual}")]
    SizeDiffers {
        /// The reported size in bytes.
        reported: u64,
        /// The size of what came, in bytes.
        actual: u64,
    },
    /// No `zh:` for the requested platform.
    #[error("the registry reports no zh: hash for the {0} package")]
    MissingZh(Platform),
    /// A `zh:` that is not `shasum`.
    #[error("the registry reports {reported} for the package, but its shasum is {shasum:?}")]
    ZhDiffers {
        /// The reported hash.
        reported: Hash,
        /// `shasum` as the registry sent it.
        shasum: String,
    },
    /// A `zh:` that is not in SHA256SUMS.
    #[error("the registry reports {reported} for {platform}, but SHA256SUMS does not list it")]
    NotPublished {
        /// The key in the map.
        platform: String,
        /// The reported hash.
        reported: Hash,
    },
    /// An `h1:` that is not the package's.
    #[error("the registry reports {reported} for the package, which has {computed}")]
    H1Differs {
        /// The reported hash.
        reported: Hash,
        /// The hash of what came.
        computed: Hash,
    },
}

/// Checks a downloaded package against the map; only in the tofu dialect. `shasum` is the text that the registry sent,
/// compared in its exact case; `size` is the zip's, in bytes; `h1` is the computed hash. An empty map says nothing, and
/// what it says of other platforms is not checked.
///
/// # Errors
/// The map has no valid entry for the platform, or the entry is about another package.
pub fn check(
    reports: &BTreeMap<String, PackageReport>,
    platform: &Platform,
    shasum: &str,
    size: u64,
    h1: &Hash,
) -> Result<(), PackagesError> {
    let Some(report) = report_of(reports, platform)? else { return Ok(()) };
    match report.package_size {
        Some(reported) if reported != size => return Err(PackagesError::SizeDiffers { reported, actual: size }),
        _ => {}
    }
    check_zh(report, platform, shasum)?;
    if let Some(reported) = report.of_scheme(HashScheme::H1).find(|hash| *hash != h1) {
        return Err(PackagesError::H1Differs { reported: reported.clone(), computed: h1.clone() });
    }
    Ok(())
}

/// The `h1:` that the map vouches for, for `--trust-registry`: none if there is no map, or not exactly one `h1:` for the
/// platform. `published` are the `zh:` of the verified SHA256SUMS; all that the map reports, for any platform, must be
/// among them.
///
/// # Errors
/// What [`check`] finds without the package, or a `zh:` that is not published.
pub fn authenticated(
    reports: &BTreeMap<String, PackageReport>,
    platform: &Platform,
    shasum: &str,
    published: &BTreeSet<Hash>,
) -> Result<Option<Hash>, PackagesError> {
    let Some(report) = report_of(reports, platform)? else { return Ok(None) };
    check_zh(report, platform, shasum)?;
    for (platform, report) in reports {
        if let Some(unknown) = report.of_scheme(HashScheme::Zh).find(|hash| !published.contains(hash)) {
            return Err(PackagesError::NotPublished { platform: platform.clone(), reported: unknown.clone() });
        }
    }
    let h1: BTreeSet<_> = report.of_scheme(HashScheme::H1).filter(|hash| hash.is_well_formed()).collect();
    Ok(if h1.len() == 1 { h1.first().map(|hash| (*hash).clone()) } else { None })
}

/// The entry for a platform; none if there is no map.
fn report_of<'a>(
    reports: &'a BTreeMap<String, PackageReport>,
    platform: &Platform,
) -> Result<Option<&'a PackageReport>, PackagesError> {
    if reports.is_empty() {
        return Ok(None);
    }
    if let Some(invalid) = reports.keys().find(|key| key.parse::<Platform>().is_err()) {
        return Err(PackagesError::InvalidPlatform(invalid.clone()));
    }
    let Some(report) = reports.get(&platform.to_string()) else {
        return Err(PackagesError::MissingPlatform(platform.clone()));
    };
    match report.package_size {
        None | Some(0) => Err(PackagesError::InvalidSize(platform.clone())),
        Some(_) => Ok(Some(report)),
    }
}

fn check_zh(report: &PackageReport, platform: &Platform, shasum: &str) -> Result<(), PackagesError> {
    if report.of_scheme(HashScheme::Zh).next().is_none() {
        return Err(PackagesError::MissingZh(platform.clone()));
    }
    match report.of_scheme(HashScheme::Zh).find(|hash| hash.value() != shasum) {
        Some(wrong) => Err(PackagesError::ZhDiffers { reported: wrong.clone(), shasum: shasum.to_owned() }),
        None => Ok(()),
    }
}

impl PackageReport {
    fn of_scheme(&self, scheme: HashScheme) -> impl Iterator<Item = &Hash> {
        self.hashes.iter().filter(move |hash| hash.scheme() == scheme)
    }
}

/// The hashes of the map, of every platform; to be recorded for the default host of the tofu dialect only, after
/// [`check`]. OpenTofu records none whose scheme it does not know, and any text of one that it knows; what has not the form of
/// a hash is left out here.
pub fn reported(reports: &BTreeMap<String, PackageReport>) -> BTreeSet<Hash> {
    let hashes = reports.values().flat_map(|report| &report.hashes);
    hashes.filter(|hash| has_form(hash)).cloned().collect()
}

/// Whether a hash of a known scheme has the length and the letters of one. Unlike [`Hash::is_well_formed`], but like the base64
/// of Go, this takes no notice of the bits after the last byte of an `h1:`.
fn has_form(hash: &Hash) -> bool {
    match hash.scheme() {
        HashScheme::H1 => hash.value().strip_suffix('=').is_some_and(|digits| {
            digits.len() == 43 && digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
        }),
        HashScheme::Zh => hash.is_well_formed(),
        HashScheme::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHASUM: &str = "3670fff05fd637a4623994ceb445a252fa34ae5192a35fa7b91259879ed89f92";

    fn report(hashes: &[&str], package_size: Option<u64>) -> PackageReport {
        PackageReport { hashes: hashes.iter().map(|hash| hash.parse().unwrap()).collect(), package_size }
    }

    fn h1() -> Hash {
        Hash::h1(&[1; 32])
    }

    fn good() -> PackageReport {
        report(&[&format!("zh:{SHASUM}"), h1().as_str()], Some(865))
    }

    /// The verdict on a map with this entry for `linux_amd64` and others beside it.
    fn verdict(entry: PackageReport) -> Result<(), PackagesError> {
        verdict_on(vec![("linux_amd64", entry), ("darwin_arm64", report(&["zh:00", "h1:other", "h9:x"], None))])
    }

    fn verdict_on(entries: Vec<(&str, PackageReport)>) -> Result<(), PackagesError> {
        let reports = entries.into_iter().map(|(key, report)| (key.to_owned(), report)).collect();
        check(&reports, &"linux_amd64".parse().unwrap(), SHASUM, 865, &h1())
    }

    #[test]
    fn accepts_what_fits() {
        assert_eq!(verdict(good()), Ok(()));
        assert_eq!(verdict_on(vec![]), Ok(()), "an empty map is no map");
        let zh = format!("zh:{SHASUM}");
        assert_eq!(verdict(report(&[&zh], Some(865))), Ok(()), "h1 need not be reported");
        assert_eq!(verdict(report(&[&zh, "h9:future"], Some(865))), Ok(()), "unknown schemes are not judged");
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let zh = format!("zh:{SHASUM}");
        let upper = format!("zh:{}", SHASUM.to_uppercase());
        let zeros = format!("zh:{}", "0".repeat(64));
        let platform: Platform = "linux_amd64".parse().unwrap();
        assert_eq!(verdict_on(vec![("darwin_arm64", good())]), Err(PackagesError::MissingPlatform(platform.clone())));
        assert_eq!(
            verdict_on(vec![("linux_amd64", good()), ("linux", good())]),
            Err(PackagesError::InvalidPlatform("linux".into()))
        );
        for size in [None, Some(0)] {
            assert_eq!(verdict(report(&[&zh], size)), Err(PackagesError::InvalidSize(platform.clone())));
        }
        assert_eq!(verdict(report(&[&zh], Some(866))), Err(PackagesError::SizeDiffers { reported: 866, actual: 865 }));
        for hashes in [vec![], vec![h1().to_string()]] {
            let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
            assert_eq!(verdict(report(&hashes, Some(865))), Err(PackagesError::MissingZh(platform.clone())));
        }
        for wrong in [&zeros, &upper] {
            let result = verdict(report(&[&zh, wrong], Some(865)));
            assert!(matches!(result, Err(PackagesError::ZhDiffers { .. })), "{wrong}: {result:?}");
        }
        let result = verdict(report(&[&zh, h1().as_str(), "h1:AAAA"], Some(865)));
        assert!(matches!(result, Err(PackagesError::H1Differs { .. })), "{result:?}");
    }

    #[test]
    fn vouches_only_for_what_is_published() {
        let zh: Hash = format!("zh:{SHASUM}").parse().unwrap();
        let other = Hash::zh(&[7; 32]);
        let platform: Platform = "linux_amd64".parse().unwrap();
        let map = |h1: &[&str], other: &Hash| {
            let hashes: Vec<&str> = h1.iter().copied().chain([zh.as_str()]).collect();
            let entries =
                [("linux_amd64", report(&hashes, Some(1))), ("darwin_arm64", report(&[other.as_str()], None))];
            BTreeMap::from(entries.map(|(key, report)| (key.to_owned(), report)))
        };
        let published = BTreeSet::from([zh.clone(), other.clone()]);
        let verdict = |map| authenticated(&map, &platform, SHASUM, &published);
        assert_eq!(verdict(map(&[h1().as_str()], &other)), Ok(Some(h1())));
        assert_eq!(verdict(map(&[], &other)), Ok(None));
        assert_eq!(verdict(map(&[h1().as_str(), Hash::h1(&[2; 32]).as_str()], &other)), Ok(None), "which one?");
        assert_eq!(verdict(map(&["h1:short"], &other)), Ok(None));
        assert_eq!(authenticated(&BTreeMap::new(), &platform, SHASUM, &published), Ok(None));
        let foreign = Hash::zh(&[8; 32]);
        let error = PackagesError::NotPublished { platform: "darwin_arm64".into(), reported: foreign.clone() };
        assert_eq!(verdict(map(&[h1().as_str()], &foreign)), Err(error));
    }

    #[test]
    fn every_platforms_hashes_are_reported() {
        let reports = BTreeMap::from([
            ("a_b".to_owned(), report(&[&format!("zh:{SHASUM}"), h1().as_str()], None)),
            ("c_d".to_owned(), report(&[Hash::h1(&[2; 32]).as_str(), "h9:2"], Some(3))),
        ]);
        let hashes: Vec<Hash> = reported(&reports).into_iter().collect();
        assert_eq!(hashes, [h1(), Hash::h1(&[2; 32]), format!("zh:{SHASUM}").parse().unwrap()]);
    }

    #[test]
    fn what_cannot_be_a_hash_is_not_recorded() {
        let base64 = "B".repeat(43);
        for (text, is_recorded) in [
            (format!("h1:{base64}="), true),
            (format!("h1:{base64}"), false),
            (format!("h1:{base64}B="), false),
            (format!("h1:{}!=", &base64[1..]), false),
            ("h1:".to_owned(), false),
            (format!("zh:{SHASUM}"), true),
            (format!("zh:{}", SHASUM.to_uppercase()), false),
            (format!("zh:{}", &SHASUM[1..]), false),
            (format!("zh:{SHASUM}\n"), false),
            ("h9:future".to_owned(), false),
        ] {
            let reports = BTreeMap::from([("a_b".to_owned(), report(&[&text], None))]);
            assert_eq!(reported(&reports).len() == 1, is_recorded, "{text}");
        }
    }
}
