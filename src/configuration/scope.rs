//! The variables and locals that the expressions of a module can use before a plan
//! (OpenTofu's `internal/configs/static_evaluator.go`).

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hcl_edit::expr::Expression;

use crate::diagnostic::{Diagnostics, Location, SourceFile};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::expression::{Evaluator, undecided};
use crate::hcl::evaluate::value::{Outcome, Unknown, Value, failure};
use crate::provider::Dialect;

use super::file::Call;
use super::module::Module;
use super::names::Variable;
use super::syntax::{DeferredValue, ParsedValue};
use super::variables::{Given, InputVariables};

/// The variables and locals that the expressions of a module can use.
pub(super) struct Scope<'a> {
    module: &'a Module,
    values: Values<'a>,
    dialect: Dialect,
    allowance: &'a Allowance,
    /// What was evaluated, by `var` or `local` and the name.
    known: RefCell<BTreeMap<(&'static str, String), Value>>,
}

/// Who gives values to a module's variables.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    /// The user, for a root module.
    User(&'a UserValues<'a>),
    /// A call, and the scope of its expressions.
    Call(&'a Call, &'a Scope<'a>),
}

/// The values that the user gives, read when one is needed.
pub(super) struct UserValues<'a> {
    root: &'a Path,
    variables: &'a InputVariables,
    read: OnceCell<Result<BTreeMap<String, Given>, Diagnostics>>,
}

impl<'a> UserValues<'a> {
    /// The values for the root module in a directory.
    pub(super) fn new(root: &'a Path, variables: &'a InputVariables) -> Self {
        Self { root, variables, read: OnceCell::new() }
    }

    fn get(&self, name: &str) -> Outcome<Option<&Given>> {
        match self.read.get_or_init(|| self.variables.read(self.root)) {
            Ok(given) => Ok(given.get(name)),
            Err(errors) => failure(errors.to_string()),
        }
    }
}

impl<'a> Scope<'a> {
    pub(super) fn new(module: &'a Module, values: Values<'a>, dialect: Dialect, allowance: &'a Allowance) -> Self {
        Self { module, values, dialect, allowance, known: RefCell::default() }
    }

    /// The value of an argument in the module; [`Value::Unknown`] has the reason why it is unknown.
    pub(super) fn evaluate(&self, written: &DeferredValue) -> Value {
        let location = || Some(written.location.clone());
        let outcome = self.allowance.nested(|| written.parse().and_then(|parsed| self.parsed(&parsed, written)));
        outcome.unwrap_or_else(|stop| Value::Unknown(stop.at(location)))
    }

    fn parsed(&self, parsed: &ParsedValue, written: &DeferredValue) -> Outcome {
        let mut variables: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        let mut others = BTreeMap::new();
        for (root, name) in parsed.references().names {
            let value = match root.as_str() {
                "var" => self.remembered("var", &name, || self.variable(&name)),
                "local" => self.remembered("local", &name, || self.local(&name)),
                "path" => self.path(&name),
                _ => {
                    others.insert(root.clone(), not_known(format!("{root} is not known before a plan"), None));
                    continue;
                }
            };
            variables.entry(root).or_default().insert(name, value);
        }
        let mut roots = others;
        for (root, members) in variables {
            roots.insert(root, Value::object(members)?);
        }
        let evaluate = |expression: &Expression| {
            let place = |span| Some(written.place_of(span));
            let (allowance, functions) = (self.allowance, &|_: &str, _: &[Value]| None);
            Evaluator { allowance, place: &place, variables: &roots, functions, either: undecided }.evaluate(expression)
        };
        parsed.value(&evaluate)
    }

    /// A value that is evaluated once, and unknown while that is done.
    fn remembered(&self, root: &'static str, name: &str, evaluate: impl FnOnce() -> Value) -> Value {
        let key = (root, name.to_owned());
        if let Some(value) = self.known.borrow().get(&key) {
            return value.clone();
        }
        let itself = Unknown::new(format!("{root}.{name} refers to itself"), None);
        self.known.borrow_mut().insert(key.clone(), Value::Unknown(Arc::new(itself)));
        let value = evaluate();
        self.known.borrow_mut().insert(key, value.clone());
        value
    }

    fn local(&self, name: &str) -> Value {
        match self.module.names().locals.get(name) {
            Some(written) => self.evaluate(written),
            None => not_known(format!("there is no local \"{name}\""), None),
        }
    }

    fn variable(&self, name: &str) -> Value {
        let Some(variable) = self.module.names().variables.get(name) else {
            return not_known(format!("there is no variable \"{name}\""), None);
        };
        if self.dialect == Dialect::Terraform && !variable.is_const {
            let reason = format!("the variable \"{name}\" lacks `const = true`, which Terraform requires here");
            return not_known(reason, Some(&variable.location));
        }
        let given = match self.values {
            Values::User(values) => values.get(name).map(|given| given.map(|given| self.given(variable, given))),
            Values::Call(call, scope) => {
                let argument = call.arguments.iter().rev().find(|(argument, _)| argument == name);
                Ok(argument.map(|(_, written)| scope.evaluate(written)))
            }
        };
        match given {
            Ok(Some(value)) => value,
            Ok(None) => match &variable.default {
                Some(default) => self.evaluate(default),
                None => not_known(format!("the variable \"{name}\" has no value"), Some(&variable.location)),
            },
            Err(stop) => Value::Unknown(stop.at(|| Some(variable.location.clone()))),
        }
    }

    fn given(&self, variable: &Variable, given: &Given) -> Value {
        match given {
            Given::Text(text) if variable.is_text => Value::string(text.as_str()),
            Given::Text(text) => {
                let file = SourceFile::new("value", text.as_str());
                let location = Location::new(&file, 0..text.len());
                // The text is not in a file, so an error shows the place of the variable.
                match self.evaluate(&DeferredValue { location, is_json: false }) {
                    Value::Unknown(unknown) => not_known(unknown.reason.clone(), Some(&variable.location)),
                    value => value,
                }
            }
            Given::InFile(written) => self.evaluate(written),
        }
    }

    /// `path.module` and `path.root`, which are known in a root module.
    fn path(&self, name: &str) -> Value {
        match (name, self.values) {
            ("root", _) | ("module", Values::User(_)) => Value::string("."),
            _ => not_known(format!("path.{name} is not known before a plan"), None),
        }
    }
}

fn not_known(reason: String, location: Option<&Location>) -> Value {
    Value::Unknown(Arc::new(Unknown::new(reason, location.cloned())))
}
