//! The variables and locals that the expressions of a module can use before a plan
//! (OpenTofu's `internal/configs/static_evaluator.go`).

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hcl_edit::expr::{Expression, TraversalOperator};

use crate::diagnostic::{Diagnostics, Location};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::expression::Evaluator;
use crate::hcl::evaluate::literal;
use crate::hcl::evaluate::references::References;
use crate::hcl::evaluate::types;
use crate::hcl::evaluate::value::{Stop, Unknown, Value};
use crate::modules::local;
use crate::provider::Dialect;

use super::file::Call;
use super::file_reads::FileReads;
use super::module::Module;
use super::names::Variable;
use super::origin::{Origin, OriginTracker, RunInput};
use super::root::Inputs;
use super::syntax::{Attribute, JsonStrings};
use super::variables::{InputVariables, VariableValue};

/// The variables and locals that the expressions of a module can use.
pub(super) struct Scope<'a> {
    module: &'a Module,
    values: Values<'a>,
    dialect: Dialect,
    allowance: &'a Allowance,
    /// Values evaluated so far by `var` or `local` and the name, with their origins.
    evaluated: RefCell<BTreeMap<(&'static str, String), Known>>,
    /// Reason why nothing that the module calls may be requested: a withheld value has chosen the
    /// module.
    pub(super) chosen_by: Option<Unknown>,
}

type Known = (Value, Origin);

/// Source of the values of a module's variables.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    /// The user, for a root module.
    User(&'a UserValues<'a>),
    /// A call, the scope of its expressions, and its source if that is a local one.
    Call(&'a Call, &'a Scope<'a>, Option<&'a str>),
}

/// The values that the user gives, read when one is needed.
pub(super) struct UserValues<'a> {
    root: &'a Path,
    /// The directories whose files are in the directory in which the tool runs.
    directories: Vec<PathBuf>,
    inputs: Option<&'a Inputs>,
    variables: &'a InputVariables,
    read: OnceCell<Result<BTreeMap<String, VariableValue>, Diagnostics>>,
    origin: OriginTracker,
}

impl<'a> UserValues<'a> {
    /// The values for the root module in a directory, to which another program may give some.
    pub(super) fn new(
        root: &'a Path,
        inputs: Option<&'a Inputs>,
        variables: &'a InputVariables,
    ) -> Self {
        Self {
            root,
            directories: vec![root.to_owned()],
            inputs,
            variables,
            read: OnceCell::new(),
            origin: OriginTracker::default(),
        }
    }

    /// The same where the tool runs in a directory that also has the files of these directories.
    pub(super) fn with_files_of(mut self, directories: Vec<PathBuf>) -> Self {
        self.directories.extend(directories);
        self
    }

    /// The value that the user or Terragrunt gives to a variable; `None` if neither gives one.
    /// Unknown if Terragrunt may give a different one.
    fn get(&self, name: &str) -> Result<Option<VariableValue>, Stop> {
        let given = match self.read.get_or_init(|| self.variables.read(self.root)) {
            Ok(given) => given.get(name).cloned(),
            Err(errors) => return Err(Stop::failure(errors.to_string())),
        };
        let Some(inputs) = self.inputs else {
            return Ok(given);
        };
        // Any variable may have a different value, even if the user gives one.
        if let Some(reason) = inputs.uncertain {
            return Err(Stop::unknown(reason));
        }
        // Terragrunt passes inputs as `TF_VAR` variables, which files and flags override.
        if given.is_some() {
            return Ok(given);
        }
        match inputs.texts.get(name) {
            Some(Some(text)) => Ok(Some(VariableValue::Text(text.clone()))),
            // It is not a text, or not known.
            Some(None) => Err(Stop::unknown(format!("the input \"{name}\" is not known"))),
            // There may be more inputs.
            None if inputs.is_partial => {
                Err(Stop::unknown(format!("the input \"{name}\" is not known")))
            }
            None => Ok(None),
        }
    }
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        module: &'a Module,
        values: Values<'a>,
        dialect: Dialect,
        allowance: &'a Allowance,
    ) -> Self {
        Self {
            module,
            values,
            dialect,
            allowance,
            evaluated: RefCell::default(),
            chosen_by: None,
        }
    }

    /// The same where a withheld value has chosen the module.
    pub(super) fn chosen_by(self, chosen_by: Option<Unknown>) -> Self {
        Self { chosen_by, ..self }
    }

    /// Evaluates an argument, and returns the origin of its value, too.
    pub(super) fn evaluate_with_origin(&self, written: &Attribute) -> (Value, Origin) {
        self.origin().during(|| self.evaluate(written))
    }

    /// Whether a value is a variable that is not secret, as the user set it: only the user decides
    /// where such an address leads.
    pub(super) fn is_set_by_user(&self, written: &Attribute) -> bool {
        let Values::User(_) = self.values else {
            return false;
        };
        let Ok(Expression::Traversal(traversal)) = written.expression(JsonStrings::Template) else {
            return false;
        };
        let is_var =
            matches!(&traversal.expr, Expression::Variable(root) if root.as_str() == "var");
        let [operator] = &traversal.operators[..] else {
            return false;
        };
        let TraversalOperator::GetAttr(name) = operator.value() else {
            return false;
        };
        let variable = self.module.names().variables.get(name.as_str());
        is_var && variable.is_some_and(|variable| !variable.is_sensitive)
    }

    fn origin(&self) -> &OriginTracker {
        match self.values {
            Values::User(user) => &user.origin,
            Values::Call(_, caller, _) => caller.origin(),
        }
    }

    /// The directories to which paths of functions are relative.
    fn directories(&self) -> &[PathBuf] {
        match self.values {
            Values::User(user) => &user.directories,
            Values::Call(_, caller, _) => caller.directories(),
        }
    }

    /// The value of an argument in the module; [`Value::Unknown`] has the reason why it is unknown.
    pub(super) fn evaluate(&self, written: &Attribute) -> Value {
        self.origin().mix("value", &written.code());
        let outcome = self
            .allowance
            .nested(|| self.evaluate_expression(&parse(written, JsonStrings::Template)?, written));
        match outcome {
            Ok(value) => value,
            Err(stop) => Value::Unknown(stop.into_unknown_at(|| Some(written.location.clone()))),
        }
    }

    /// Evaluates an expression with the values to which it refers. `written` is the argument that
    /// it was parsed from.
    fn evaluate_expression(
        &self,
        expression: &Expression,
        written: &Attribute,
    ) -> Result<Value, Stop> {
        let roots = self.values_of_references(expression)?;
        let evaluator = Evaluator {
            location_of: &|part| Some(written.location_of(part)),
            ..Evaluator::new(self.allowance, &roots)
        };
        let files = FileReads::of(
            expression,
            &|argument: &Expression| evaluator.evaluate(argument),
            self.directories(),
        );
        self.origin().add_files(files);
        Ok(evaluator.evaluate(expression))
    }

    /// The values to which an expression refers, by the roots of their names: `var`, `local`.
    fn values_of_references(
        &self,
        expression: &Expression,
    ) -> Result<BTreeMap<String, Value>, Stop> {
        let mut members_by_root: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        let mut roots = BTreeMap::new();
        for (root, name) in References::of(expression).names {
            let value = match root.as_str() {
                "var" => self.evaluate_once("var", &name, || self.value_of_variable(&name)),
                "local" => self.evaluate_once("local", &name, || self.value_of_local(&name)),
                "path" => self.value_of_path(&name),
                "terraform" | "tofu" if name == "workspace" => self.name_of_workspace(),
                _ => {
                    roots.insert(
                        root.clone(),
                        not_known(format!("{root} is not known before a plan"), None),
                    );
                    continue;
                }
            };
            members_by_root.entry(root).or_default().insert(name, value);
        }
        for (root, members) in members_by_root {
            roots.insert(root, Value::object(members)?);
        }
        Ok(roots)
    }

    /// Returns the value of a variable or a local, which `evaluate` is called for only once. The
    /// value is unknown while that is done.
    fn evaluate_once(
        &self,
        root: &'static str,
        name: &str,
        evaluate: impl FnOnce() -> Value,
    ) -> Value {
        let key = (root, name.to_owned());
        if let Some((value, origin)) = self.evaluated.borrow().get(&key) {
            self.origin().add(origin.clone());
            return value.clone();
        }
        // A value that refers to itself finds this entry, so that the evaluation ends.
        let itself = Unknown::new(format!("{root}.{name} refers to itself"), None);
        self.evaluated.borrow_mut().insert(
            key.clone(),
            (Value::Unknown(Arc::new(itself)), Origin::default()),
        );
        let (value, origin) = self.origin().during(|| unless_it_fails(evaluate()));
        self.evaluated
            .borrow_mut()
            .insert(key, (value.clone(), origin));
        value
    }

    fn value_of_local(&self, name: &str) -> Value {
        match self.module.names().locals.get(name) {
            Some(written) => self.evaluate(written),
            None => not_known(format!("there is no local \"{name}\""), None),
        }
    }

    fn value_of_variable(&self, name: &str) -> Value {
        let Some(variable) = self.module.names().variables.get(name) else {
            return not_known(format!("there is no variable \"{name}\""), None);
        };
        self.origin().mix("variable", &variable.declaration());
        // The dialect may be a guess, and only the value of a run decides.
        if let Values::User(values) = self.values {
            values.origin.add_variable(name);
        }
        if self.dialect == Dialect::Terraform && !variable.is_const {
            let reason = format!(
                "the variable \"{name}\" lacks `const = true`, which Terraform requires here"
            );
            return not_known(reason, Some(&variable.location));
        }
        let value = self.evaluate_variable(name, variable);
        value.unwrap_or_else(|stop| {
            Value::Unknown(stop.into_unknown_at(|| Some(variable.location.clone())))
        })
    }

    /// The value of a variable, given or by default, converted to the type that it declares
    /// (`prepareFinalInputVariableValue`).
    fn evaluate_variable(&self, name: &str, variable: &Variable) -> Result<Value, Stop> {
        let kind = match &variable.kind {
            Some(kind) => Some(parse(kind, JsonStrings::Expression)?),
            None => None,
        };
        let is_primitive = kind.as_ref().is_none_or(types::is_primitive);
        let given = match self.values {
            Values::User(values) => Self::given_by_user(values, name, variable, is_primitive)?,
            Values::Call(call, scope, _) => {
                // Of arguments with the same name, the last one counts.
                let argument = call
                    .arguments
                    .iter()
                    .rfind(|argument| argument.name.text == name);
                if argument.is_none() {
                    self.origin().mix("argument that is missing", name);
                }
                argument.map(|argument| scope.evaluate(argument))
            }
        };
        if variable.is_sensitive {
            let reason =
                format!("the variable \"{name}\" is sensitive, and not sent to other hosts");
            self.origin()
                .withhold(Unknown::new(reason, Some(variable.location.clone())));
        }

        // A default that does not fit fails, whether it is needed or not.
        let default = match &variable.default {
            Some(default) => Some(self.convert(self.evaluate(default), kind.as_ref())?),
            None => None,
        };
        let is_nullable = variable.is_nullable != Some(false);
        let value = match (given, default) {
            (Some(given), _) if is_nullable || !given.is_null() => {
                self.convert(given, kind.as_ref())?
            }
            (_, Some(default)) => default,
            (_, None) => {
                return Err(Stop::unknown(format!(
                    "the variable \"{name}\" has no value"
                )));
            }
        };
        if value.is_null() && !is_nullable {
            return Err(Stop::failure(format!(
                "the variable \"{name}\" must not be null"
            )));
        }
        Ok(value)
    }

    /// Converts a value to the type of a variable, if it has one.
    fn convert(&self, value: Value, kind: Option<&Expression>) -> Result<Value, Stop> {
        self.allowance.spend_on_bytes(value.weight())?;
        if let Some(kind) = kind {
            return types::convert(&value, kind);
        }
        value.ensure_not_failed()?;
        Ok(value)
    }

    /// Returns the value that the user gives to a variable, and notes where it comes from; `None`
    /// if the user gives none. Text is the value itself if the type is primitive, or else an
    /// expression.
    fn given_by_user(
        values: &UserValues<'_>,
        name: &str,
        variable: &Variable,
        is_primitive: bool,
    ) -> Result<Option<Value>, Stop> {
        let given = values.get(name);
        let is_flag = matches!(
            given,
            Ok(Some(
                VariableValue::Text(_) | VariableValue::InFileOfFlag(_)
            ))
        );
        values.origin.add_input(RunInput {
            name: format!("the variable \"{name}\""),
            is_flag,
        });
        let given_value = given?;
        // Other files may give a value that this one replaces.
        values
            .origin
            .mix("given value", &format!("{given_value:?}"));
        if let Some(VariableValue::FromEnvironment(_)) = given_value {
            let reason = format!(
                "the variable \"{name}\" is set by the environment, which is not sent to other hosts"
            );
            values
                .origin
                .withhold(Unknown::new(reason, Some(variable.location.clone())));
        }
        Ok(given_value.map(|given| Self::parse_given(variable, &given, is_primitive)))
    }

    /// The value that the user gives to a variable.
    fn parse_given(variable: &Variable, given: &VariableValue, is_primitive: bool) -> Value {
        let text = match given {
            VariableValue::InFile(value) | VariableValue::InFileOfFlag(value) => {
                return value.clone();
            }
            VariableValue::Text(text) | VariableValue::FromEnvironment(text) if is_primitive => {
                return Value::string(text.as_str());
            }
            VariableValue::Text(text) | VariableValue::FromEnvironment(text) => text,
        };
        match literal::parse_literal(text) {
            Ok(value) => value,
            // The text is not in a file, so an error shows the position of the variable.
            Err(stop) => Value::Unknown(stop.into_unknown_at(|| Some(variable.location.clone()))),
        }
    }

    /// The workspace, which is that of the root module.
    fn name_of_workspace(&self) -> Value {
        match self.values {
            Values::User(user) => {
                user.origin.add_input(RunInput {
                    name: "the workspace".to_owned(),
                    is_flag: false,
                });
                Value::string(user.variables.workspace(user.root))
            }
            Values::Call(_, caller, _) => caller.name_of_workspace(),
        }
    }

    /// `path.module` and `path.root`.
    fn value_of_path(&self, name: &str) -> Value {
        let path = match name {
            "root" => Some(PathBuf::from(".")),
            "module" => self.directory(),
            _ => None,
        };
        match path.as_deref().and_then(Path::to_str) {
            Some(path) => Value::string(if cfg!(windows) {
                path.replace('\\', "/")
            } else {
                path.to_owned()
            }),
            None => not_known(format!("path.{name} is not known before a plan"), None),
        }
    }

    /// The module's directory, relative to that of the root module; `None` for a fetched module.
    fn directory(&self) -> Option<PathBuf> {
        match self.values {
            Values::User(_) => Some(PathBuf::from(".")),
            Values::Call(_, caller, path) => {
                self.origin()
                    .mix("directory of a module", path.unwrap_or_default());
                Some(local::directory(&caller.directory()?, path?))
            }
        }
    }
}

/// The value of a variable or a local, which is unknown if a part of it fails: OpenTofu and
/// Terraform then evaluate nothing that refers to it, not even `try`.
fn unless_it_fails(value: Value) -> Value {
    match value.ensure_not_failed() {
        Err(stop) => Value::Unknown(Arc::new(Unknown {
            is_failure: false,
            ..Unknown::clone(&stop.into_unknown_at(|| None))
        })),
        Ok(()) => value,
    }
}

fn parse(written: &Attribute, strings: JsonStrings) -> Result<Expression, Stop> {
    written
        .expression(strings)
        .map_err(|fault| Stop::Unknown(fault.message))
}

fn not_known(reason: String, location: Option<&Location>) -> Value {
    Value::Unknown(Arc::new(Unknown::new(reason, location.cloned())))
}
