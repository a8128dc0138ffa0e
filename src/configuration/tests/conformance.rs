//! Results of Terraform 1.15.5 and OpenTofu 1.12.6 for small configurations.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{options, table, texts, write};
use crate::configuration::read;
use crate::provider::Dialect;

#[derive(Deserialize)]
struct Case {
    files: BTreeMap<String, String>,
    tofu: Option<Outcome>,
    terraform: Option<Outcome>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    /// The lock file's providers with their constraints.
    Providers(BTreeMap<String, String>),
    /// An error that is about the configuration, and what it must name.
    Error(Vec<String>),
    /// An error that only the registry's answers give.
    Accepted(()),
}

#[test]
fn agrees_with_the_recorded_outcomes() {
    let text = include_str!("../../../testdata/configurations/conformance.json");
    let cases: BTreeMap<String, Case> = serde_json::from_str(text).unwrap();
    let mut failures = Vec::new();
    let mut checked = 0;
    for (name, case) in &cases {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in &case.files {
            // The one file that is not UTF-8 is kept as the code points of its Latin-1 bytes.
            let latin1 = || {
                text.chars()
                    .map(|c| u8::try_from(u32::from(c)).unwrap())
                    .collect()
            };
            let bytes = if name == "syn-latin1" {
                latin1()
            } else {
                text.clone().into_bytes()
            };
            write(directory.path(), path, &bytes);
        }
        for (dialect, outcome) in [
            (Dialect::Tofu, &case.tofu),
            (Dialect::Terraform, &case.terraform),
        ] {
            let Some(outcome) = outcome else { continue };
            checked += 1;
            if let Err(failure) = check(&read(directory.path(), &options(dialect)), outcome) {
                failures.push(format!("{name} ({dialect}): {failure}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked > 250, "only {checked} outcomes were checked");
}

fn check(
    result: &crate::diagnostic::Result<crate::configuration::Requirements>,
    outcome: &Outcome,
) -> Result<(), String> {
    match (result, outcome) {
        (Ok(_), Outcome::Accepted(())) => Ok(()),
        (Ok(requirements), Outcome::Providers(expected)) if table(requirements) == *expected => {
            Ok(())
        }
        (Ok(requirements), _) => Err(format!("{:?}", table(requirements))),
        (Err(errors), Outcome::Error(wanted)) => {
            let text = texts(errors).join("\n").to_lowercase();
            match wanted
                .iter()
                .find(|wanted| !text.contains(&wanted.to_lowercase()))
            {
                None => Ok(()),
                Some(missing) => Err(format!("{missing:?} is not in {text}")),
            }
        }
        (Err(errors), _) => Err(texts(errors).join("\n")),
    }
}
