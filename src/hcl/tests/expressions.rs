//! What the real Terraform makes of thousands of expressions, recorded by `testdata/expressions/record.py`.

use std::collections::BTreeMap;

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::expression::{Evaluator, undecided};
use crate::hcl::evaluate::value::{Outcome, Stop, Type, Value};

#[derive(serde::Deserialize)]
struct Recorded {
    expression: String,
    value: String,
    #[serde(rename = "type")]
    kind: String,
}

/// What the recorder writes for an expression that fails.
const FAILS: &str = "\"(fails)\"";

/// The value of an expression that may call the functions of the language.
fn evaluate(text: &str) -> Value {
    let (allowance, variables) = (Allowance::default(), BTreeMap::new());
    let file = SourceFile::new("value", text);
    let place = |span| Some(Location::new(&file, span));
    let evaluator = Evaluator {
        allowance: &allowance,
        place: &place,
        variables: &variables,
        functions: &|_, _| None,
        either: undecided,
    };
    evaluator.evaluate(&hcl_edit::parser::parse_expr(text).unwrap())
}

/// A type as the recorder writes it; the recorder also leaves out white space in names.
pub(crate) fn type_text(kind: &Type) -> String {
    match kind {
        Type::Any => "dynamic".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::List(of) => format!("list({})", type_text(of)),
        Type::Set(of) => format!("set({})", type_text(of)),
        Type::Map(of) => format!("map({})", type_text(of)),
        Type::Tuple(items) => format!("tuple([{}])", items.iter().map(type_text).collect::<Vec<_>>().join(",")),
        Type::Object(attributes) => {
            let attributes = attributes.iter().map(|(name, it)| format!("{name}:{}", type_text(&it.kind)));
            format!("object({{{}}})", attributes.collect::<Vec<_>>().join(","))
        }
    }
}

/// The value as JSON, and its type.
pub(crate) fn shown(value: &Value) -> Outcome<(String, String)> {
    let json = crate::hcl::evaluate::functions::call("jsonencode", std::slice::from_ref(value), &Allowance::default());
    Ok((json.unwrap()?.as_string()?.to_string(), type_text(&value.type_of()?)))
}

#[test]
fn no_known_value_differs_from_terraforms() {
    let recorded = include_str!("../../../testdata/expressions/expressions.jsonl");
    let (mut known, mut failing, mut different, mut unknown) = (0, 0, Vec::new(), BTreeMap::<String, usize>::new());
    for line in recorded.lines() {
        let recorded: Recorded = serde_json::from_str(line).unwrap();
        let fails = recorded.value == FAILS;
        match shown(&evaluate(&recorded.expression)) {
            Ok((value, kind)) => {
                known += 1;
                let kind: String = kind.split_whitespace().collect();
                if (&value, &kind) != (&recorded.value, &recorded.kind) {
                    different.push(format!("{line}\n   {value} {kind}"));
                }
            }
            Err(Stop::Needs(it)) if it.is_failure => {
                failing += 1;
                if !fails {
                    different.push(format!("{line}\n   fails: {it}"));
                }
            }
            Err(stop) => {
                *unknown.entry(stop.at(|| None).reason.clone()).or_default() += 1;
            }
        }
    }
    println!("{known} are known, {failing} fail, unknown are: {unknown:#?}");
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(known >= 2300 && failing >= 1550, "{known} are known, {failing} fail");
}

/// Terraform does not have this function of OpenTofu.
#[test]
fn networks_contain_addresses_and_networks() {
    for (arguments, expected) in [
        ("\"10.0.0.0/8\", \"10.1.2.3\"", Some(true)),
        ("\"10.0.0.0/8\", \"11.0.0.0\"", Some(false)),
        ("\"10.0.0.0/16\", \"10.0.0.0/8\"", Some(false)),
        ("\"fd00::/8\", \"fd12::/16\"", Some(true)),
        ("\"::/0\", \"10.0.0.0\"", None),
    ] {
        let value = evaluate(&format!("cidrcontains({arguments})"));
        assert_eq!(value.known().ok(), expected.map(Value::Bool).as_ref(), "{arguments}");
    }
}
