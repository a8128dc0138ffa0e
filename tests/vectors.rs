//! The constraint strings of `testdata/constraints.jsonl`, recorded from OpenTofu: each one's error
//! or canonical text, and which versions it allows.

use provlock::provider::{ConstraintList, Version};

#[derive(serde::Deserialize)]
struct Vector {
    constraint: String,
    canonical: Option<String>,
    error: Option<String>,
    #[serde(default)]
    allowed: Vec<String>,
    #[serde(default)]
    denied: Vec<String>,
}

#[test]
fn every_recorded_constraint_string_is_read_as_opentofu_reads_it() {
    let vectors = include_str!("../testdata/constraints.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let vectors: Vec<Vector> = vectors.collect();
    assert_eq!(vectors.len(), 1582);
    let wrong: Vec<_> = vectors.iter().filter_map(difference).collect();
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn difference(vector: &Vector) -> Option<String> {
    let text = &vector.constraint;
    let list = match (text.parse::<ConstraintList>(), &vector.error) {
        (Err(_), Some(_)) => return None,
        (Err(error), None) => return Some(format!("{text:?} refused: {error}")),
        (Ok(list), Some(error)) => {
            return Some(format!("{text:?} accepted as {list}; recorded: {error}"));
        }
        (Ok(list), None) => list,
    };
    let canonical = vector.canonical.as_deref().unwrap_or("");
    if list.to_string() != canonical {
        return Some(format!("{text:?} printed as {list}, not {canonical}"));
    }
    let allows = |version: &String| list.allows(&version.parse::<Version>().unwrap());
    let wrongly = vector
        .allowed
        .iter()
        .filter(|v| !allows(v))
        .chain(vector.denied.iter().filter(|v| allows(v)));
    let wrongly: Vec<_> = wrongly.cloned().collect();
    (!wrongly.is_empty()).then(|| format!("{text:?} wrong about {}", wrongly.join(", ")))
}
