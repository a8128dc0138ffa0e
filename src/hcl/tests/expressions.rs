//! Values that the real Terraform computes for thousands of expressions, recorded by
//! `testdata/expressions/record.py`.

use std::collections::BTreeMap;

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::expression::Evaluator;
use crate::hcl::evaluate::functions;
use crate::hcl::evaluate::value::{Stop, Value};

#[derive(serde::Deserialize)]
struct Recorded {
    expression: String,
    value: String,
}

/// Value that the recorder writes for an expression that fails.
const FAILS: &str = "\"(fails)\"";

/// The value of an expression that may call the functions of the language.
fn evaluate(text: &str) -> Value {
    let (allowance, variables) = (Allowance::default(), BTreeMap::new());
    let file = SourceFile::new("value", text);
    let location_of = |span| Some(Location::new(&file, span));
    let evaluator = Evaluator {
        location_of: &location_of,
        ..Evaluator::new(&allowance, &variables)
    };
    evaluator.evaluate(&hcl_edit::parser::parse_expr(text).unwrap())
}

/// The value as JSON.
pub(crate) fn shown(value: &Value) -> Result<String, Stop> {
    Ok(functions::call("jsonencode", std::slice::from_ref(value))?
        .as_string()?
        .to_string())
}

#[test]
fn no_known_value_differs_from_terraforms() {
    let recorded = include_str!("../../../testdata/expressions/expressions.jsonl");
    let (mut known, mut failing, mut different, mut unknown) =
        (0, 0, Vec::new(), BTreeMap::<String, usize>::new());
    for line in recorded.lines() {
        let recorded: Recorded = serde_json::from_str(line).unwrap();
        let fails = recorded.value == FAILS;
        match shown(&evaluate(&recorded.expression)) {
            Ok(value) => {
                known += 1;
                if value != recorded.value {
                    different.push(format!("{line}\n   {value}"));
                }
            }
            Err(Stop::Needs(it)) if it.is_failure => {
                failing += 1;
                if !fails {
                    different.push(format!("{line}\n   fails: {it}"));
                }
            }
            Err(stop) => {
                *unknown
                    .entry(stop.into_unknown_at(|| None).reason.clone())
                    .or_default() += 1;
            }
        }
    }
    println!("{known} are known, {failing} fail, unknown are: {unknown:#?}");
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different.join("\n")
    );
    assert!(
        known >= 1103 && failing >= 520,
        "{known} are known, {failing} fail"
    );
}
