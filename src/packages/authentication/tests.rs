//! Decisions of OpenTofu and Terraform about the conformance kit's registry; see
//! `testdata/signatures/conformance.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::*;
use crate::provider::{Hash, Platform};
use crate::system::bounded::List;

#[derive(Deserialize)]
struct Kit {
    keys: BTreeMap<String, String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    dialect: String,
    default_host: bool,
    enforce_validation: bool,
    enforce_expiration: bool,
    keys: Vec<String>,
    sums: String,
    signature: String,
    archives: BTreeMap<String, Archive>,
    packages: Option<BTreeMap<String, Report>>,
    recorded: Option<BTreeSet<String>>,
}

#[derive(Deserialize)]
struct Archive {
    filename: String,
    shasum: String,
    size: u64,
    sum: String,
    h1: String,
}

#[derive(Deserialize)]
struct Report {
    hashes: Vec<String>,
    package_size: Option<u64>,
}

fn kit() -> Kit {
    serde_json::from_str(include_str!(
        "../../../testdata/signatures/conformance.json"
    ))
    .unwrap()
}

fn policy(case: &Case) -> SignaturePolicy {
    SignaturePolicy {
        dialect: case.dialect.parse().unwrap(),
        enforce_validation: case.enforce_validation,
        enforce_expiration: case.enforce_expiration,
    }
}

/// 2026-06-01.
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(494_520)
}

fn signing_keys(kit: &Kit, case: &Case) -> Vec<OpenPgpKey> {
    let key = |name: &String| OpenPgpKey {
        ascii_armor: kit.keys[name].clone(),
        key_id: name.clone(),
    };
    case.keys.iter().map(key).collect()
}

/// Hashes that may be recorded for a case, combined as a registry source combines them.
fn record(kit: &Kit, case: &Case) -> Result<BTreeSet<String>, Box<dyn std::error::Error>> {
    let policy = policy(case);
    let tofu = policy.dialect == Dialect::Tofu;
    let signature = STANDARD.decode(&case.signature)?;
    authenticate_sums(
        case.sums.as_bytes(),
        &signature,
        &signing_keys(kit, case),
        policy,
        case.default_host,
        now(),
    )?;
    let mut reports = BTreeMap::new();
    let reported = if tofu { case.packages.as_ref() } else { None };
    for (platform, report) in reported.into_iter().flatten() {
        let hashes = report
            .hashes
            .iter()
            .map(|hash| hash.parse())
            .collect::<Result<_, _>>()?;
        reports.insert(
            platform.clone(),
            PackageReport {
                hashes: List(hashes),
                package_size: report.package_size,
            },
        );
    }
    let sums = Sha256Sums::parse(case.sums.as_bytes());
    let mut hashes = HashDispositions::default();
    hashes.extend(sums.dispositions());
    for (platform, archive) in &case.archives {
        let zh = sums.confirmed_sum(&archive.filename, &archive.shasum)?;
        let h1: Hash = archive.h1.parse()?;
        packages::check_report(
            &reports,
            &platform.parse::<Platform>()?,
            &archive.shasum,
            archive.size,
            &h1,
        )?;
        if zh.value() != archive.sum {
            return Err(format!("the archive is {}", archive.sum).into());
        }
        hashes.add(HashDisposition::Listed, [zh.clone()]);
        hashes.add(HashDisposition::Computed, [zh, h1]);
    }
    if tofu && case.default_host {
        hashes.add(
            HashDisposition::ReportedByRegistry,
            packages::reported(&reports),
        );
    }
    Ok(hashes.recordable().map(Hash::to_string).collect())
}

#[test]
fn decides_as_the_reference_programs_do() {
    let kit = kit();
    assert!(kit.cases.len() > 60);
    for case in &kit.cases {
        let recorded = record(&kit, case).map_err(|error| error.to_string());
        match &case.recorded {
            Some(expected) => assert_eq!(recorded.as_ref(), Ok(expected), "{}", case.name),
            None => assert!(recorded.is_err(), "{} is refused", case.name),
        }
    }
}

#[test]
fn reports_the_signer_and_expired_keys() {
    let kit = kit();
    let verdict = |name: &str| {
        let case = kit.cases.iter().find(|case| case.name == name).unwrap();
        let signature = STANDARD.decode(&case.signature).unwrap();
        let keys = signing_keys(&kit, case);
        authenticate_sums(
            case.sums.as_bytes(),
            &signature,
            &keys,
            policy(case),
            case.default_host,
            now(),
        )
    };
    let (authentication, warnings) = verdict("tofu/reg-subkey").unwrap();
    assert_eq!(authentication.to_string(), "signed", "the primary key's ID");
    let Authentication::Signed { fingerprint, .. } = authentication else {
        panic!("{authentication}")
    };
    assert!(
        fingerprint.len() == 40 && fingerprint.ends_with("8EF7CBDAEA5AFBCC"),
        "{fingerprint}"
    );
    assert_eq!(warnings, None);

    let (authentication, warnings) = verdict("tofu/gpg-nokeys-notenforced").unwrap();
    assert_eq!(authentication.to_string(), "signing skipped");
    assert_eq!(warnings, None);
    assert_eq!(
        verdict("tofu/gpg-nokeys-enforced"),
        Err(SignatureError::NoKeys)
    );
    assert_eq!(
        verdict("tofu/pkgs-other-nokeys"),
        Err(SignatureError::NoKeys)
    );
    assert_eq!(
        verdict("terraform/reg-unsigned"),
        Err(SignatureError::NoKeys)
    );

    let warning = |name: &str| verdict(name).unwrap().1.unwrap().message;
    for name in [
        "tofu/gpg-expired-other",
        "terraform/gpg-expired-other",
        "terraform/gpg-expired-enforced",
    ] {
        assert!(
            warning(name).starts_with("signing key 69BB20AB6AD69EB3 expired on 20"),
            "{}",
            warning(name)
        );
    }
    let error = verdict("tofu/gpg-expired-enforced").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("signing key 69BB20AB6AD69EB3 expired on 20"),
        "{error}"
    );
    assert!(
        warning("tofu/reg-expiredsig")
            .starts_with("the signature by key A6D6984B7A5BA56C expired on 20")
    );
    assert!(matches!(
        verdict("terraform/reg-expiredsig"),
        Err(SignatureError::Expired(_))
    ));
}
