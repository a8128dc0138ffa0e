//! Results of the real Terraform for declared variables, recorded by
//! `testdata/expressions/record.py`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::configuration::files::Texts;
use crate::configuration::module::Module;
use crate::configuration::scope::{Scope, UserValues, Values};
use crate::configuration::syntax::{Attribute, Name};
use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::value::Stop;
use crate::hcl::tests::expressions::shown;
use crate::provider::Dialect;
use crate::system::Boundary;

use super::InputVariables;

#[derive(serde::Deserialize)]
struct Recorded {
    /// The lines of the block.
    lines: Vec<String>,
    /// Form in which the value is given: `default`, `file`, `json` or `text`.
    how: String,
    given: Option<String>,
    /// The value as JSON; `None` if the declaration is an error.
    value: Option<String>,
}

#[test]
fn variables_have_the_same_values_as_in_terraform() {
    let recorded = include_str!("../../../testdata/expressions/declarations.jsonl");
    let recorded: Vec<Recorded> = recorded
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (mut main, mut tfvars, mut json, mut environment) =
        (String::new(), String::new(), vec![], BTreeMap::new());
    for (
        index,
        Recorded {
            lines, how, given, ..
        },
    ) in recorded.iter().enumerate()
    {
        let given = given.as_deref().unwrap_or_default();
        writeln!(main, "variable \"v{index}\" {{\n{}\n}}", lines.join("\n")).unwrap();
        match how.as_str() {
            "file" => writeln!(tfvars, "v{index} = {given}").unwrap(),
            "json" => json.push(format!("\"v{index}\": {given}")),
            "text" => drop(environment.insert(format!("TF_VAR_v{index}"), given.to_owned())),
            _ => {}
        }
    }
    let json = format!("{{{}}}", json.join(", "));
    let directory = super::directory(&[
        ("main.tf", &main),
        ("terraform.tfvars", &tfvars),
        ("terraform.tfvars.json", &json),
    ]);
    let root = directory.path();
    let module = Module::read(
        Ok(vec!["main.tf".to_owned()]),
        root,
        root,
        Dialect::Tofu,
        &Texts::default(),
        &Boundary::default(),
    );
    let variables = InputVariables::new(&environment, Vec::new());
    let values = UserValues::new(root, None, &variables);
    let (mut known, mut refused, mut unknown, mut different) = (0, 0, Vec::new(), Vec::new());
    for (index, recorded) in recorded.iter().enumerate() {
        let (allowance, text) = (Allowance::default(), format!("var.v{index}"));
        let scope = Scope::new(&module, Values::User(&values), Dialect::Tofu, &allowance);
        let location = Location::new(&SourceFile::new("value", text.as_str()), 0..text.len());
        let name = Name {
            text: String::new(),
            span: 0..0,
        };
        let value = scope.evaluate(&Attribute {
            name,
            location,
            is_json: false,
        });
        let about = || {
            format!(
                "{:?} {} {:?}: {:?}",
                recorded.lines, recorded.how, recorded.given, recorded.value
            )
        };
        match (shown(&value), &recorded.value) {
            (Ok(value), Some(right)) if value == *right => known += 1,
            (Ok(value), _) => different.push(format!("{}\n   {value}", about())),
            // What refers to a variable that fails is not evaluated: `try` does not hide it.
            (Err(Stop::Needs(it)), _) if it.is_failure => {
                different.push(format!("{}\n   fails: {it}", about()));
            }
            (Err(_), None) => refused += 1,
            (Err(stop), _) => {
                unknown.push(format!("{}\n   {}", about(), stop.into_unknown_at(|| None)));
            }
        }
    }
    println!(
        "{known} are known, {refused} refused, {} are unknown:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different.join("\n")
    );
    assert!(
        known >= 161 && refused >= 55,
        "{known} are known, {refused} refused"
    );
}
