//! The `packages` map of a download response, which the OpenTofu registry sends since 1.12.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::provider::{Hash, HashScheme, Platform};
use crate::system::bounded::List;

/// A package has one of each scheme.
const MOST_HASHES: usize = 16;

/// The registry's report about one platform's package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct PackageReport {
    /// Its hashes, of any scheme.
    pub hashes: List<Hash, MOST_HASHES>,
    /// The size of the zip archive in bytes.
    pub package_size: Option<u64>,
}

/// Checks a downloaded package against the map; only in the tofu dialect. `shasum` is the text that
/// the registry sent, compared in its exact case; `size` is the zip's, in bytes; `h1` is the
/// computed hash. An empty map passes, and its entries for other platforms are not checked.
///
/// # Errors
/// The map has no valid entry for the platform, or the entry is about another package.
pub(crate) fn check_report(
    reports: &BTreeMap<String, PackageReport>,
    platform: &Platform,
    shasum: &str,
    size: u64,
    h1: &Hash,
) -> Result<(), String> {
    let Some(report) = report_of(reports, platform)? else {
        return Ok(());
    };
    if let Some(reported) = report.package_size.filter(|reported| *reported != size) {
        return Err(format!(
            "the registry reports {reported} bytes for the package, which has {size}"
        ));
    }
    check_reported_zh(report, platform, shasum)?;
    if let Some(reported) = report.of_scheme(HashScheme::H1).find(|hash| *hash != h1) {
        return Err(format!(
            "the registry reports {reported} for the package, which has {h1}"
        ));
    }
    Ok(())
}

/// The `h1:` that `--trust-registry` records; `None` if there is no map, or not exactly one `h1:`
/// for the platform. `published` are the `zh:` of the verified SHA256SUMS.
///
/// # Errors
/// Fails as [`check_report`] does without the package, or if the map reports a `zh:` that is not
/// published.
pub(crate) fn reported_h1_to_record(
    reports: &BTreeMap<String, PackageReport>,
    platform: &Platform,
    shasum: &str,
    published: &BTreeSet<Hash>,
) -> Result<Option<Hash>, String> {
    let Some(report) = report_of(reports, platform)? else {
        return Ok(None);
    };
    check_reported_zh(report, platform, shasum)?;
    // SHA256SUMS must contain every `zh:` in the map, for any platform.
    for (platform, report) in reports {
        if let Some(unknown) = report
            .of_scheme(HashScheme::Zh)
            .find(|hash| !published.contains(hash))
        {
            return Err(format!(
                "the registry reports {unknown} for {platform}, but SHA256SUMS does not list it"
            ));
        }
    }
    // Of two different hashes at least one belongs to no package of the platform.
    let h1: BTreeSet<_> = report
        .of_scheme(HashScheme::H1)
        .filter(|hash| hash.is_well_formed())
        .collect();
    if h1.len() != 1 {
        return Ok(None);
    }
    Ok(h1.first().map(|hash| (*hash).clone()))
}

/// Returns the registry's report about the package for a platform; `None` if it reports nothing
/// about any package.
///
/// # Errors
/// It reports something that is no platform, not this package, or no size of it.
fn report_of<'a>(
    reports: &'a BTreeMap<String, PackageReport>,
    platform: &Platform,
) -> Result<Option<&'a PackageReport>, String> {
    if reports.is_empty() {
        return Ok(None);
    }
    if let Some(invalid) = reports.keys().find(|key| key.parse::<Platform>().is_err()) {
        return Err(format!(
            "the registry reports a package for {invalid:?}, which is not a platform"
        ));
    }
    let Some(report) = reports.get(&platform.to_string()) else {
        return Err(format!(
            "the registry reports packages, but none for {platform}"
        ));
    };
    match report.package_size {
        None | Some(0) => Err(format!(
            "the registry reports no valid package size for {platform}"
        )),
        Some(_) => Ok(Some(report)),
    }
}

fn check_reported_zh(
    report: &PackageReport,
    platform: &Platform,
    shasum: &str,
) -> Result<(), String> {
    if report.of_scheme(HashScheme::Zh).next().is_none() {
        return Err(format!(
            "the registry reports no zh: hash for the {platform} package"
        ));
    }
    match report
        .of_scheme(HashScheme::Zh)
        .find(|hash| hash.value() != shasum)
    {
        Some(wrong) => Err(format!(
            "the registry reports {wrong} for the package, but its shasum is {shasum:?}"
        )),
        None => Ok(()),
    }
}

impl PackageReport {
    fn of_scheme(&self, scheme: HashScheme) -> impl Iterator<Item = &Hash> {
        self.hashes
            .0
            .iter()
            .filter(move |hash| hash.scheme() == scheme)
    }
}

/// The hashes of the map, of every platform; to be recorded for the default host of the tofu
/// dialect only, after [`check`]. OpenTofu records no hash of an unknown scheme, and any text of a
/// known scheme; here malformed hashes are omitted.
pub(crate) fn reported(reports: &BTreeMap<String, PackageReport>) -> BTreeSet<Hash> {
    let hashes = reports.values().flat_map(|report| &report.hashes.0);
    hashes.filter(|hash| has_form(hash)).cloned().collect()
}

/// Whether a hash of a known scheme has the right length and letters. Unlike
/// [`Hash::is_well_formed`], but like Go's base64, this ignores the bits after the last byte of an
/// `h1:`.
fn has_form(hash: &Hash) -> bool {
    match hash.scheme() {
        HashScheme::H1 => hash.value().strip_suffix('=').is_some_and(|digits| {
            digits.len() == 43
                && digits
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
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
        PackageReport {
            hashes: List(hashes.iter().map(|hash| hash.parse().unwrap()).collect()),
            package_size,
        }
    }

    fn h1() -> Hash {
        Hash::h1(&[1; 32])
    }

    fn good() -> PackageReport {
        report(&[&format!("zh:{SHASUM}"), h1().as_str()], Some(865))
    }

    /// Checks a map with this entry for `linux_amd64`, and other entries.
    fn verdict(entry: PackageReport) -> Result<(), String> {
        verdict_on(vec![
            ("linux_amd64", entry),
            ("darwin_arm64", report(&["zh:00", "h1:other", "h9:x"], None)),
        ])
    }

    fn verdict_on(entries: Vec<(&str, PackageReport)>) -> Result<(), String> {
        let reports = entries
            .into_iter()
            .map(|(key, report)| (key.to_owned(), report))
            .collect();
        check_report(
            &reports,
            &"linux_amd64".parse().unwrap(),
            SHASUM,
            865,
            &h1(),
        )
    }

    #[test]
    fn accepts_a_matching_package() {
        assert_eq!(verdict(good()), Ok(()));
        assert_eq!(verdict_on(vec![]), Ok(()), "an empty map is no map");
        let zh = format!("zh:{SHASUM}");
        assert_eq!(
            verdict(report(&[&zh], Some(865))),
            Ok(()),
            "h1 need not be reported"
        );
        assert_eq!(
            verdict(report(&[&zh, "h9:future"], Some(865))),
            Ok(()),
            "unknown schemes are not judged"
        );
    }

    #[test]
    fn refuses_a_package_that_does_not_match() {
        let zh = format!("zh:{SHASUM}");
        let upper = format!("zh:{}", SHASUM.to_uppercase());
        let zeros = format!("zh:{}", "0".repeat(64));
        let refused = |verdict: Result<(), String>, why: &str| {
            let error = verdict.unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        refused(
            verdict_on(vec![("darwin_arm64", good())]),
            "none for linux_amd64",
        );
        refused(
            verdict_on(vec![("linux_amd64", good()), ("linux", good())]),
            "\"linux\", which is not a platform",
        );
        for size in [None, Some(0)] {
            refused(
                verdict(report(&[&zh], size)),
                "no valid package size for linux_amd64",
            );
        }
        refused(
            verdict(report(&[&zh], Some(866))),
            "866 bytes for the package, which has 865",
        );
        for hashes in [vec![], vec![h1().to_string()]] {
            let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
            refused(
                verdict(report(&hashes, Some(865))),
                "no zh: hash for the linux_amd64 package",
            );
        }
        for wrong in [&zeros, &upper] {
            refused(
                verdict(report(&[&zh, wrong], Some(865))),
                &format!("{wrong} for the package, but its shasum"),
            );
        }
        let with_another = report(&[&zh, h1().as_str(), "h1:AAAA"], Some(865));
        refused(
            verdict(with_another),
            &format!("h1:AAAA for the package, which has {}", h1()),
        );
    }

    #[test]
    fn vouches_only_for_published_hashes() {
        let zh: Hash = format!("zh:{SHASUM}").parse().unwrap();
        let other = Hash::zh(&[7; 32]);
        let platform: Platform = "linux_amd64".parse().unwrap();
        let map = |h1: &[&str], other: &Hash| {
            let hashes: Vec<&str> = h1.iter().copied().chain([zh.as_str()]).collect();
            let entries = [
                ("linux_amd64", report(&hashes, Some(1))),
                ("darwin_arm64", report(&[other.as_str()], None)),
            ];
            BTreeMap::from(entries.map(|(key, report)| (key.to_owned(), report)))
        };
        let published = BTreeSet::from([zh.clone(), other.clone()]);
        let verdict = |map| reported_h1_to_record(&map, &platform, SHASUM, &published);
        assert_eq!(verdict(map(&[h1().as_str()], &other)), Ok(Some(h1())));
        assert_eq!(verdict(map(&[], &other)), Ok(None));
        assert_eq!(
            verdict(map(&[h1().as_str(), Hash::h1(&[2; 32]).as_str()], &other)),
            Ok(None),
            "which one?"
        );
        assert_eq!(verdict(map(&["h1:short"], &other)), Ok(None));
        assert_eq!(
            reported_h1_to_record(&BTreeMap::new(), &platform, SHASUM, &published),
            Ok(None)
        );
        let foreign = Hash::zh(&[8; 32]);
        let error = verdict(map(&[h1().as_str()], &foreign)).unwrap_err();
        assert!(
            error.contains(&format!(
                "{foreign} for darwin_arm64, but SHA256SUMS does not list it"
            )),
            "{error}"
        );
    }

    #[test]
    fn every_platforms_hashes_are_reported() {
        let reports = BTreeMap::from([
            (
                "a_b".to_owned(),
                report(&[&format!("zh:{SHASUM}"), h1().as_str()], None),
            ),
            (
                "c_d".to_owned(),
                report(&[Hash::h1(&[2; 32]).as_str(), "h9:2"], Some(3)),
            ),
        ]);
        let hashes: Vec<Hash> = reported(&reports).into_iter().collect();
        assert_eq!(
            hashes,
            [
                h1(),
                Hash::h1(&[2; 32]),
                format!("zh:{SHASUM}").parse().unwrap()
            ]
        );
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
