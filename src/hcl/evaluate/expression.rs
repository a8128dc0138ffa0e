//! Evaluates expressions of HCL (HCL native syntax specification). Values may be unknown; there is
//! no arithmetic.

use std::collections::BTreeMap;
use std::ops::Range;

use hcl_edit::expr::{
    Array, BinaryOperator, Conditional, Expression, ForExpr, FuncCall, Object, ObjectKey,
    Traversal, TraversalOperator, UnaryOperator,
};
use hcl_edit::{Decorated, Formatted, Ident, Span};

use super::allowance::Allowance;
use super::functions;
use super::value::{Members, Stop, Value, ensure_one_type, equals, parse_exact_integer};
use crate::diagnostic::{Location, SourceFile};

/// Calls a function that depends on the file, or replaces one of [`functions`]; `None` for any
/// other name.
pub(crate) type Functions<'a> = dyn Fn(&str, &[Value]) -> Option<Result<Value, Stop>> + 'a;

/// Context of the expressions of a file.
#[derive(Clone, Copy)]
pub(crate) struct Evaluator<'a> {
    pub allowance: &'a Allowance,
    /// Location of a part of the parsed text, if it comes from a file.
    pub location_of: &'a dyn Fn(Range<usize>) -> Option<Location>,
    pub variables: &'a BTreeMap<String, Value>,
    pub functions: &'a Functions<'a>,
}

/// A variable of a `for`, and the variables of the `for` expressions around it.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    name: &'a str,
    value: &'a Value,
    outer: Option<&'a Scope<'a>>,
}

/// Names of the variables of a `for`.
#[derive(Clone, Copy)]
pub(super) struct ForNames<'a> {
    pub(super) key: Option<&'a Decorated<Ident>>,
    pub(super) value: &'a Decorated<Ident>,
}

/// Returns the value of an expression without variables and functions, or the reason why it is
/// unknown. `text` is the text that was parsed.
pub(crate) fn constant(expression: &Expression, text: &str) -> Result<Value, String> {
    let allowance = Allowance::default();
    let variables = BTreeMap::new();
    let evaluator = Evaluator {
        location_of: &|span| Some(Location::new(&SourceFile::new("value", text), span)),
        ..Evaluator::without_functions(&allowance, &variables)
    };
    match evaluator.evaluate(expression).known() {
        Ok(value) => Ok(value.clone()),
        Err(stop) => Err(stop.into_unknown_at(|| None).to_string()),
    }
}

impl<'a> Evaluator<'a> {
    /// An evaluator with the functions of the language.
    pub(crate) fn new(allowance: &'a Allowance, variables: &'a BTreeMap<String, Value>) -> Self {
        Self {
            allowance,
            location_of: &|_| None,
            variables,
            functions: &|_, _| None,
        }
    }

    /// An evaluator without functions.
    pub(crate) fn without_functions(
        allowance: &'a Allowance,
        variables: &'a BTreeMap<String, Value>,
    ) -> Self {
        let functions =
            &|_: &str, _: &[Value]| Some(Err(Stop::failure("no function can be called here")));
        Self {
            functions,
            ..Self::new(allowance, variables)
        }
    }
}

impl Evaluator<'_> {
    pub(crate) fn evaluate(&self, expression: &Expression) -> Value {
        self.evaluate_in(expression, None)
    }

    /// Evaluates an expression in the scope of the `for` expressions around it.
    pub(super) fn evaluate_in(&self, expression: &Expression, scope: Option<&Scope<'_>>) -> Value {
        match self
            .allowance
            .nested(|| self.evaluate_by_kind(expression, scope))
        {
            Ok(value) => value,
            Err(stop) => Value::Unknown(
                stop.into_unknown_at(|| expression.span().and_then(self.location_of)),
            ),
        }
    }

    /// Evaluates an expression by its kind.
    fn evaluate_by_kind(
        &self,
        expression: &Expression,
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        match expression {
            Expression::Null(_) => Ok(Value::Null),
            Expression::Bool(value) => Ok(Value::Bool(*value.value())),
            Expression::Number(number) => match parse_exact_integer(&text_of(number)) {
                Some(number) => Ok(Value::Int(number)),
                None => Err(Stop::unknown("only integers in plain digits are computed")),
            },
            Expression::String(text) => Ok(Value::string(text.value().as_str())),
            Expression::Array(array) => self.evaluate_array(array, scope),
            Expression::Object(object) => self.evaluate_object(object, scope),
            Expression::StringTemplate(template) => self.evaluate_quoted(template, scope),
            Expression::HeredocTemplate(heredoc) => self.evaluate_heredoc(heredoc, scope),
            Expression::Parenthesis(inner) => Ok(self.evaluate_in(inner.inner(), scope)),
            Expression::Variable(name) => self.value_of_variable(name, scope),
            Expression::Conditional(conditional) => self.evaluate_conditional(conditional, scope),
            Expression::FuncCall(call) => self.call_function(call, scope),
            Expression::Traversal(traversal) => self.evaluate_traversal(traversal, scope),
            Expression::UnaryOp(operation) => match operation.operator.value() {
                UnaryOperator::Not => Ok(Value::Bool(
                    !self.evaluate_in(&operation.expr, scope).as_bool()?,
                )),
                UnaryOperator::Neg => no_arithmetic(),
            },
            Expression::BinaryOp(operation) => {
                let left = self.evaluate_in(&operation.lhs_expr, scope);
                let right = self.evaluate_in(&operation.rhs_expr, scope);
                // A comparison may read both values to their ends.
                self.allowance
                    .spend_on_bytes(left.weight() + right.weight())?;
                compute_binary(*operation.operator.value(), &left, &right)
            }
            Expression::ForExpr(expression) => self.evaluate_for(expression, scope),
        }
    }

    /// The value of a variable, of the innermost `for` that has it.
    fn value_of_variable(
        &self,
        name: &Ident,
        mut scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        while let Some(innermost) = scope {
            if innermost.name == name.as_str() {
                return Ok(innermost.value.clone());
            }
            scope = innermost.outer;
        }
        match self.variables.get(name.as_str()) {
            Some(value) => Ok(value.clone()),
            None => Err(Stop::failure(format!(
                "there is no variable \"{name}\" here"
            ))),
        }
    }

    /// The value of an item, member or branch, whose failure makes the whole expression fail.
    fn evaluate_unless_it_fails(
        &self,
        expression: &Expression,
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        let value = self.evaluate_in(expression, scope);
        value.ensure_not_failed().map(|()| value)
    }

    /// The chosen branch. Both branches must be strings, or primitive values of one kind: other
    /// branches are converted to a common type. A branch that fails and is not chosen does not
    /// matter.
    fn evaluate_conditional(
        &self,
        conditional: &Conditional,
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        let mut chosen_branch = &conditional.true_expr;
        let mut other_branch = &conditional.false_expr;
        if !self.evaluate_in(&conditional.cond_expr, scope).as_bool()? {
            std::mem::swap(&mut chosen_branch, &mut other_branch);
        }
        let chosen = self.evaluate_unless_it_fails(chosen_branch, scope)?;
        let other = self.evaluate_in(other_branch, scope);
        if matches!(chosen, Value::Unknown(_)) {
            return Ok(chosen);
        }
        if let Value::Unknown(reason) = &other {
            // A branch without a value has a type nevertheless, unless it is a reference or a call
            // that fails.
            return match without_parentheses(other_branch) {
                expression if is_reference(expression) && reason.is_failure => Ok(chosen),
                expression
                    if is_reference(expression)
                        || matches!(expression, Expression::StringTemplate(_)) =>
                {
                    ensure_one_type([&chosen, &Value::string("")])?;
                    Ok(chosen)
                }
                _ => Err(Stop::unknown(
                    "the type of the other branch is not computed",
                )),
            };
        }
        // OpenTofu and Terraform convert both branches to one type, so a number beside a string
        // becomes a string.
        match (&chosen, &other) {
            (Value::Bool(_) | Value::Int(_), Value::String(_) | Value::Partial(_)) => {
                chosen.as_string().map(Value::String)
            }
            (Value::String(_) | Value::Partial(_), Value::Bool(_) | Value::Int(_)) => Ok(chosen),
            (Value::List(_) | Value::Object(_), _)
                if !matches!(without_parentheses(other_branch), Expression::Null(_)) =>
            {
                Err(Stop::unknown(
                    "branches that are lists or objects are not computed",
                ))
            }
            _ => {
                ensure_one_type([&chosen, &other])?;
                Ok(chosen)
            }
        }
    }

    fn evaluate_array(&self, array: &Array, scope: Option<&Scope<'_>>) -> Result<Value, Stop> {
        let mut items = Vec::with_capacity(array.len());
        for item in array {
            items.push(self.evaluate_unless_it_fails(item, scope)?);
        }
        Value::list(items)
    }

    fn evaluate_object(&self, object: &Object, scope: Option<&Scope<'_>>) -> Result<Value, Stop> {
        // The members of an object take more memory than its expressions.
        self.allowance.spend_steps(4 + 4 * object.len())?;
        let mut members = Members::new();
        for (key, value) in object {
            let key = match key {
                ObjectKey::Ident(name) => name.to_string(),
                ObjectKey::Expression(expression) => {
                    self.evaluate_in(expression, scope).as_string()?.to_string()
                }
            };
            members.insert(key, self.evaluate_unless_it_fails(value.expr(), scope)?);
        }
        Value::object(members)
    }

    /// Calls a function with evaluated arguments.
    fn call_function(&self, call: &FuncCall, scope: Option<&Scope<'_>>) -> Result<Value, Stop> {
        let namespace = call.name.namespace.as_slice();
        let is_core = matches!(namespace, [core] if core.as_str() == "core");
        if !namespace.is_empty() && !is_core {
            return Err(Stop::unknown("functions of providers are not evaluated"));
        }
        let name = call.name.name.as_str();
        let mut arguments = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            let value = self.evaluate_in(argument, scope);
            // `try` returns its first argument that does not fail, and evaluates no further ones.
            let is_last_needed = name == "try" && value.ensure_not_failed().is_ok();
            arguments.push(value);
            if is_last_needed {
                break;
            }
        }
        // Every other function fails with its first argument that fails.
        if name != "try" && name != "can" {
            arguments.iter().try_for_each(Value::ensure_not_failed)?;
        }
        // If `try` ended early, the argument with `...` was not evaluated.
        if call.args.expand_final()
            && arguments.len() == call.args.len()
            && let Some(last) = arguments.pop()
        {
            arguments.extend(last.as_list()?.iter().cloned());
        }
        self.allowance
            .spend_on_bytes(arguments.iter().map(Value::weight).sum())?;
        // The caller's own functions, such as Terragrunt's, hide the common ones.
        let outcome = match (self.functions)(name, &arguments) {
            Some(outcome) => outcome,
            None => functions::call(name, &arguments),
        };
        let value = match outcome {
            Ok(value) => value,
            // The reason of a function is about one of its arguments.
            Err(Stop::Failure(reason)) => return Err(Stop::failure(format!("`{name}`: {reason}"))),
            Err(stop) => return Err(stop),
        };
        self.allowance.spend_on_bytes(value.weight())?;
        Ok(value)
    }

    fn evaluate_traversal(
        &self,
        traversal: &Traversal,
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        if matches!(&traversal.expr, Expression::Number(number) if text_of(number).starts_with('-'))
        {
            // To the language the sign belongs to the whole of `-1[0]`.
            return no_arithmetic();
        }
        let value = self.evaluate_in(&traversal.expr, scope);
        if let Expression::Array(_) | Expression::Object(_) = without_parentheses(&traversal.expr) {
            // A part that is not computed may fail, and the whole with it.
            value.known()?;
        }
        self.follow_operators(value, &traversal.operators, scope)
    }

    /// Follows operators from a value: attributes, indexes and splats.
    fn follow_operators(
        &self,
        mut value: Value,
        operators: &[Decorated<TraversalOperator>],
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        for (at, operator) in operators.iter().enumerate() {
            let rest = &operators[at + 1..];
            value = match operator.value() {
                // An attribute of an unknown value is unknown for the same reason.
                TraversalOperator::GetAttr(_) if matches!(value, Value::Unknown(_)) => value,
                TraversalOperator::GetAttr(name) => attribute_of(value.as_object()?, name)?,
                TraversalOperator::LegacyIndex(number) => item_at(
                    &value,
                    &Value::Int(i64::try_from(*number.value()).unwrap_or(i64::MAX)),
                )?,
                TraversalOperator::Index(expression) => {
                    item_at(&value, &self.evaluate_unless_it_fails(expression, scope)?)?
                }
                // `[*]` applies everything after it to each item.
                TraversalOperator::FullSplat(_) => {
                    return self.follow_for_each_item(&value, rest, scope);
                }
                // `.*` applies only the attributes after it to each item, and an index to the
                // whole list.
                TraversalOperator::AttrSplat(_) => {
                    let first_other = rest
                        .iter()
                        .position(|operator| {
                            !matches!(operator.value(), TraversalOperator::GetAttr(_))
                        })
                        .unwrap_or(rest.len());
                    let (attributes, others) = rest.split_at(first_other);
                    let list = self.follow_for_each_item(&value, attributes, scope)?;
                    return self
                        .allowance
                        .nested(|| self.follow_operators(list, others, scope));
                }
            };
        }
        Ok(value)
    }

    /// Follows operators from each item of a list. A value that is no list is a list of one; null
    /// is an empty one.
    fn follow_for_each_item(
        &self,
        value: &Value,
        operators: &[Decorated<TraversalOperator>],
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        // Of null, a splat makes an empty list, and of any other single value a list of one.
        let items = match value.known_except_items()? {
            Value::Null => &[],
            Value::List(list) => list.as_slice(),
            other => std::slice::from_ref(other),
        };
        let mut results = Vec::with_capacity(items.len());
        for item in items {
            let result = self
                .allowance
                .nested(|| self.follow_operators(item.clone(), operators, scope))?;
            result.ensure_not_failed()?;
            results.push(result);
        }
        Value::list(results)
    }

    /// Evaluates `[for …]` and `{for …}`. With `...`, items with the same key become a list.
    fn evaluate_for(&self, expression: &ForExpr, scope: Option<&Scope<'_>>) -> Result<Value, Stop> {
        let intro = &expression.intro;
        let names = ForNames {
            key: intro.key_var.as_ref(),
            value: &intro.value_var,
        };
        let condition = expression.cond.as_ref().map(|condition| &condition.expr);
        let mut items = Vec::new();
        let mut members: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        self.for_each_item(names, &intro.collection_expr, scope, |inner| {
            if let Some(condition) = condition
                && !self.evaluate_in(condition, inner).as_bool()?
            {
                return Ok(());
            }
            let value = self.evaluate_unless_it_fails(&expression.value_expr, inner)?;
            let Some(key) = &expression.key_expr else {
                items.push(value);
                return Ok(());
            };
            let same = members
                .entry(self.evaluate_in(key, inner).as_string()?.to_string())
                .or_default();
            // Only `...` allows a key more than once, and then makes a list of its values.
            if !same.is_empty() && !expression.grouping {
                return Err(Stop::failure("two items have the same key"));
            }
            same.push(value);
            Ok(())
        })?;
        if expression.key_expr.is_none() {
            return Value::list(items);
        }
        let mut object = Members::new();
        for (key, mut values) in members {
            if expression.grouping {
                object.insert(key, Value::list(values)?);
            } else if let Some(value) = values.pop() {
                // Without grouping, each key has one item.
                object.insert(key, value);
            }
        }
        Value::object(object)
    }

    /// Runs a step for each item of a collection, with the variables for its key and its value.
    pub(super) fn for_each_item(
        &self,
        names: ForNames<'_>,
        collection: &Expression,
        scope: Option<&Scope<'_>>,
        mut step: impl FnMut(Option<&Scope<'_>>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let collection = self.evaluate_in(collection, scope);
        let mut items = Vec::new();
        match collection.known_except_items()? {
            Value::List(list) => {
                for (index, value) in list.iter().enumerate() {
                    items.push((Value::count(index), value));
                }
            }
            other => {
                for (key, value) in other.as_object()? {
                    items.push((Value::string(key.as_str()), value));
                }
            }
        }

        for (key, value) in items {
            // A body that computes nothing takes time, too.
            self.allowance.spend_steps(1)?;
            let key_scope = Scope {
                // No variable has an empty name.
                name: names.key.map_or("", |name| name.as_str()),
                value: &key,
                outer: scope,
            };
            step(Some(&Scope {
                name: names.value.as_str(),
                value,
                outer: Some(&key_scope),
            }))?;
        }
        Ok(())
    }
}

/// `a == b` and the like.
fn compute_binary(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, Stop> {
    use BinaryOperator::{And, Eq, Greater, GreaterEq, Less, LessEq, NotEq, Or};
    Ok(Value::Bool(match operator {
        Eq => equals(left, right)?,
        NotEq => !equals(left, right)?,
        And => compute_logical(left, right, false)?,
        Or => compute_logical(left, right, true)?,
        Less => left.as_int()? < right.as_int()?,
        LessEq => left.as_int()? <= right.as_int()?,
        Greater => left.as_int()? > right.as_int()?,
        GreaterEq => left.as_int()? >= right.as_int()?,
        _ => return no_arithmetic(),
    }))
}

/// `&&`, which `false` decides, or `||`, which `true` decides, even if the other operand is unknown
/// but does not fail.
fn compute_logical(left: &Value, right: &Value, deciding: bool) -> Result<bool, Stop> {
    left.ensure_not_failed()?;
    let is_left_deciding = left.as_bool() == Ok(deciding);
    let is_right_deciding = right.as_bool() == Ok(deciding);
    if left.is_null()
        || right.is_null()
        || right.ensure_not_failed().is_err()
        || is_left_deciding && right.known_except_items().is_ok() && right.as_bool().is_err()
    {
        // Newer versions evaluate the second operand only when they need it, older ones always.
        return Err(Stop::unknown(
            "whether an operand that fails matters depends on the version of the program",
        ));
    }
    if is_left_deciding || is_right_deciding && left.known_except_items().is_err() {
        return Ok(deciding);
    }
    left.as_bool()?;
    right.as_bool()
}

fn no_arithmetic<T>() -> Result<T, Stop> {
    Err(Stop::unknown("arithmetic is not evaluated"))
}

/// `object.name`.
fn attribute_of(object: &Members, name: &str) -> Result<Value, Stop> {
    match object.get(name) {
        Some(value) => Ok(value.clone()),
        None => Err(Stop::failure(format!("there is no attribute \"{name}\""))),
    }
}

/// `collection[index]`. The index may be secret.
fn item_at(collection: &Value, index: &Value) -> Result<Value, Stop> {
    let item = match collection.known_except_items()? {
        Value::List(list) => list.get(index.as_index()?),
        other => other.as_object()?.get(&*index.comparable()?.as_string()?),
    };
    match item {
        Some(item) => Ok(item.clone()),
        None => Err(Stop::failure(
            "the index is past the end of the list, or no key of the object",
        )),
    }
}

/// Whether an expression refers to a variable or calls a function.
fn is_reference(expression: &Expression) -> bool {
    match expression {
        Expression::Variable(_) | Expression::FuncCall(_) => true,
        Expression::Traversal(traversal) => is_reference(without_parentheses(&traversal.expr)),
        _ => false,
    }
}

/// An expression without the parentheses around it.
fn without_parentheses(mut expression: &Expression) -> &Expression {
    while let Expression::Parenthesis(inner) = expression {
        expression = inner.inner();
    }
    expression
}

/// A number as it is written in the file.
fn text_of(number: &Formatted<hcl_edit::Number>) -> String {
    match number.as_repr() {
        Some(written) => String::from(&**written),
        None => number.value().to_string(),
    }
}
