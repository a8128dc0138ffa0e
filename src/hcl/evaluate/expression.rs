//! Evaluates expressions and templates of HCL, in which values may be unknown.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use hcl_edit::expr::{
    Array, Conditional, Expression, ForExpr, FuncCall, Object, ObjectKey, Traversal, TraversalOperator,
};
use hcl_edit::{Decorated, Formatted, Ident, Span};

use super::allowance::Allowance;
use super::convert::convert;
use super::functions;
use super::number::Number;
use super::operators;
use super::types::unify;
use super::value::{ListKind, Outcome, Piece, Stop, Unknown, Value, failure, unknown};
use crate::diagnostic::{Location, SourceFile};

/// Calls a function that depends on the file, or replaces one of [`functions`]; `None` for any other name.
pub(crate) type Functions<'a> = dyn Fn(&str, &[Value]) -> Option<Outcome> + 'a;

/// Gives the pieces that stand for both branches of an `if` whose condition is unknown.
pub(crate) type Either = fn(Vec<Piece>, &[Piece], &Arc<Unknown>) -> Vec<Piece>;

/// What the expressions of a file see.
#[derive(Clone, Copy)]
pub(crate) struct Evaluator<'a> {
    pub allowance: &'a Allowance,
    /// The place in its file of a part of the text that was parsed, if there is a file.
    pub place: &'a dyn Fn(Range<usize>) -> Option<Location>,
    pub variables: &'a BTreeMap<String, Value>,
    pub functions: &'a Functions<'a>,
    pub either: Either,
}

/// A variable of a `for`, and the variables of the `for` expressions around it.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    name: &'a str,
    value: &'a Value,
    outer: Option<&'a Scope<'a>>,
}

pub(super) type Around<'a> = Option<&'a Scope<'a>>;

/// [`Either`] that makes the text unknown.
pub(crate) fn undecided(_: Vec<Piece>, _: &[Piece], unknown: &Arc<Unknown>) -> Vec<Piece> {
    vec![Piece::Hole(Arc::clone(unknown))]
}

/// The value of an expression without variables and functions, or the reason why it is unknown. `text` is what was
/// parsed.
pub(crate) fn constant(expression: &Expression, text: &str) -> Result<Value, String> {
    let (allowance, variables) = (Allowance::default(), BTreeMap::new());
    let place = |span| Some(Location::new(&SourceFile::new("value", text), span));
    let evaluator = Evaluator { place: &place, ..Evaluator::without_functions(&allowance, &variables) };
    let value = evaluator.evaluate(expression);
    value.known().cloned().map_err(|stop| stop.at(|| None).to_string())
}

impl<'a> Evaluator<'a> {
    /// The evaluator of a text in which no function can be called.
    pub(crate) fn without_functions(allowance: &'a Allowance, variables: &'a BTreeMap<String, Value>) -> Self {
        let functions = &|_: &str, _: &[Value]| Some(failure("no function can be called here"));
        Self { allowance, place: &|_| None, variables, functions, either: undecided }
    }
}

impl Evaluator<'_> {
    /// The value of an expression.
    pub(crate) fn evaluate(&self, expression: &Expression) -> Value {
        self.value(expression, None)
    }

    pub(super) fn value(&self, expression: &Expression, scope: Around) -> Value {
        let place = || expression.span().and_then(self.place);
        let value = self.allowance.nested(|| self.outcome(expression, scope));
        value.unwrap_or_else(|stop| Value::Unknown(stop.at(place)))
    }

    fn outcome(&self, expression: &Expression, scope: Around) -> Outcome {
        match expression {
            Expression::Null(_) => Ok(Value::NULL),
            Expression::Bool(value) => Ok(Value::Bool(*value.value())),
            Expression::Number(number) => literal(number),
            Expression::String(text) => Ok(Value::string(text.value().as_str())),
            Expression::Array(array) => self.array(array, scope),
            Expression::Object(object) => self.object(object, scope),
            Expression::StringTemplate(template) => self.quoted(template, scope),
            Expression::HeredocTemplate(heredoc) => self.heredoc(heredoc, scope),
            Expression::Parenthesis(inner) => Ok(self.value(inner.inner(), scope)),
            Expression::Variable(name) => self.variable(name, scope),
            Expression::Conditional(conditional) => self.conditional(conditional, scope),
            Expression::FuncCall(call) => self.call(call, scope),
            Expression::Traversal(traversal) => self.traversal(traversal, scope),
            Expression::UnaryOp(operation) => {
                operators::unary(*operation.operator.value(), &self.value(&operation.expr, scope))
            }
            Expression::BinaryOp(operation) => {
                let left = self.value(&operation.lhs_expr, scope);
                let right = self.value(&operation.rhs_expr, scope);
                self.allowance.spend_on(left.weight() + right.weight())?;
                operators::binary(*operation.operator.value(), &left, &right)
            }
            Expression::ForExpr(expression) => self.for_expression(expression, scope),
        }
    }

    fn variable(&self, name: &Ident, mut scope: Around) -> Outcome {
        while let Some(innermost) = scope {
            if innermost.name == name.as_str() {
                return Ok(innermost.value.clone());
            }
            scope = innermost.outer;
        }
        match self.variables.get(name.as_str()) {
            Some(value) => Ok(value.clone()),
            None => failure(format!("there is no variable \"{name}\" here")),
        }
    }

    /// The value of an item, member or argument, whose failure is that of the whole expression.
    fn part(&self, expression: &Expression, scope: Around) -> Outcome {
        let value = self.value(expression, scope);
        value.failed().map(|()| value)
    }

    /// The chosen branch, as the type that suits both. A branch that fails and is not chosen does not matter.
    fn conditional(&self, conditional: &Conditional, scope: Around) -> Outcome {
        let condition = self.value(&conditional.cond_expr, scope).as_bool()?;
        let (one, two) = (&conditional.true_expr, &conditional.false_expr);
        let (chosen, other) = if condition { (one, two) } else { (two, one) };
        let chosen = self.part(chosen, scope)?;
        let is_text = matches!(chosen, Value::String(_) | Value::Partial(_));
        let other_value = self.value(other, scope);
        if other_value.failed().is_err() {
            // What fails has a type nevertheless, unless it is a reference or a call.
            return match unwrapped(other) {
                Expression::Variable(_) | Expression::Traversal(_) | Expression::FuncCall(_) => Ok(chosen),
                Expression::StringTemplate(_) | Expression::UnaryOp(_) | Expression::BinaryOp(_) if is_text => {
                    Ok(chosen)
                }
                _ => unknown("the type of a branch that fails is not computed"),
            };
        }
        let other = other_value;
        if is_text && (other.is_null() || other.type_of().is_ok_and(|kind| kind.is_primitive())) {
            return Ok(chosen);
        }
        // Text has the type that all values have that go together with it.
        if is_text && matches!(other, Value::Unknown(_)) || matches!(chosen, Value::Unknown(_)) {
            return Ok(chosen);
        }
        self.allowance.spend_on(chosen.weight() + other.weight())?;
        match unify(&[chosen.type_of()?, other.type_of()?])? {
            Some(kind) => convert(&chosen, &kind),
            None => failure("the branches have types that do not go together"),
        }
    }

    fn array(&self, array: &Array, scope: Around) -> Outcome {
        Value::tuple(array.iter().map(|item| self.part(item, scope)).collect::<Outcome<_>>()?)
    }

    fn object(&self, object: &Object, scope: Around) -> Outcome {
        // The members of an object take more memory than its expressions.
        self.allowance.spend(4 + 4 * object.len())?;
        let mut members = BTreeMap::new();
        for (key, value) in object {
            let key = match key {
                ObjectKey::Ident(name) => name.to_string(),
                ObjectKey::Expression(expression) => self.value(expression, scope).as_string()?.to_string(),
            };
            members.insert(key, self.part(value.expr(), scope)?);
        }
        Value::object(members)
    }

    fn call(&self, call: &FuncCall, scope: Around) -> Outcome {
        let is_core = |namespace: &[Decorated<Ident>]| matches!(namespace, [core] if core.as_str() == "core");
        if call.name.is_namespaced() && !is_core(&call.name.namespace) {
            return unknown("functions of providers are not evaluated");
        }
        let name = call.name.name.as_str();
        let is_lazy = name == "try" || name == "can";
        let mut arguments = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            let value = self.value(argument, scope);
            // `try` returns its first argument that does not fail, and evaluates no further ones.
            let is_last_needed = name == "try" && value.failed().is_ok();
            arguments.push(value);
            if is_last_needed {
                break;
            }
        }
        if !is_lazy {
            arguments.iter().try_for_each(Value::failed)?;
        }
        if call.args.expand_final()
            && arguments.len() == call.args.len()
            && let Some(last) = arguments.pop()
        {
            arguments.extend(last.as_list()?.iter().cloned());
        }
        self.allowance.spend_on(arguments.iter().map(Value::weight).sum())?;
        let result = (self.functions)(name, &arguments).or_else(|| functions::call(name, &arguments, self.allowance));
        let value = match result {
            None => unknown(format!("`{name}` is not evaluated")),
            // The reason of a function is about one of its arguments.
            Some(Err(Stop::Failure(reason))) => failure(format!("`{name}`: {reason}")),
            Some(outcome) => outcome,
        }?;
        self.allowance.spend_on(value.weight())?;
        Ok(value)
    }

    fn traversal(&self, traversal: &Traversal, scope: Around) -> Outcome {
        if matches!(&traversal.expr, Expression::Number(number) if written(number).starts_with('-')) {
            // To the language the sign belongs to the whole of `-1[0]`.
            return unknown("parts of a negative number are not computed");
        }
        self.traverse(self.value(&traversal.expr, scope), &traversal.operators, scope)
    }

    fn traverse(&self, mut value: Value, operators: &[Decorated<TraversalOperator>], scope: Around) -> Outcome {
        for (at, operator) in operators.iter().enumerate() {
            let rest = &operators[at + 1..];
            value = match operator.value() {
                TraversalOperator::GetAttr(name) => operators::attribute(&value, name)?,
                TraversalOperator::LegacyIndex(index) => {
                    let index = i64::try_from(*index.value()).map_or_else(|_| failure("the index is too large"), Ok)?;
                    operators::index(value.known_itself()?, &Value::number(index))?
                }
                TraversalOperator::Index(expression) => {
                    operators::index(value.known_itself()?, &self.part(expression, scope)?)?
                }
                TraversalOperator::FullSplat(_) => return self.splat(&value, rest, scope),
                TraversalOperator::AttrSplat(_) => {
                    let is_attribute = |operator: &&Decorated<TraversalOperator>| {
                        matches!(operator.value(), TraversalOperator::GetAttr(_))
                    };
                    let (attributes, rest) = rest.split_at(rest.iter().take_while(is_attribute).count());
                    let value = self.splat(&value, attributes, scope)?;
                    return self.allowance.nested(|| self.traverse(value, rest, scope));
                }
            };
        }
        Ok(value)
    }

    fn splat(&self, value: &Value, operators: &[Decorated<TraversalOperator>], scope: Around) -> Outcome {
        let each = |item: &Value| {
            let item = self.allowance.nested(|| self.traverse(item.clone(), operators, scope))?;
            item.failed().map(|()| item)
        };
        let list = match value.known_itself()? {
            Value::Null(_) => return Value::tuple(Vec::new()),
            Value::List(list) => list,
            other => return Value::tuple(vec![each(other)?]),
        };
        let items: Vec<Value> = list.items.iter().map(each).collect::<Outcome<_>>()?;
        match &list.kind {
            ListKind::Tuple => Value::tuple(items),
            ListKind::List(of) | ListKind::Set(of) if operators.is_empty() => Value::list(of.clone(), items),
            _ => match items.first() {
                Some(first) => Value::list(first.type_of()?, items),
                None => unknown("the type of an empty list's parts is not computed"),
            },
        }
    }

    fn for_expression(&self, expression: &ForExpr, scope: Around) -> Outcome {
        let intro = &expression.intro;
        let names = [intro.key_var.as_ref(), Some(&intro.value_var)];
        let condition = expression.cond.as_ref().map(|condition| &condition.expr);
        let mut items = Vec::new();
        let mut members: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        self.each(names, &intro.collection_expr, scope, |inner| {
            if let Some(condition) = condition
                && !self.value(condition, inner).as_bool()?
            {
                return Ok(());
            }
            let value = self.part(&expression.value_expr, inner)?;
            match &expression.key_expr {
                Some(key) => {
                    let same = members.entry(self.value(key, inner).as_string()?.to_string()).or_default();
                    if !same.is_empty() && !expression.grouping {
                        return failure("two items have the same key");
                    }
                    same.push(value);
                }
                None => items.push(value),
            }
            Ok(())
        })?;
        if expression.key_expr.is_none() {
            return Value::tuple(items);
        }
        let member = |mut values: Vec<Value>| match values.pop() {
            Some(value) if !expression.grouping => Ok(value),
            last => Value::tuple(values.into_iter().chain(last).collect()),
        };
        Value::object(members.into_iter().map(|(key, values)| Ok((key, member(values)?))).collect::<Outcome<_>>()?)
    }

    /// Runs a step for each item of a collection, with the variables for its key and its value.
    pub(super) fn each(
        &self,
        [key_name, value_name]: [Option<&Decorated<Ident>>; 2],
        collection: &Expression,
        scope: Around,
        mut step: impl FnMut(Around) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut run = |key: &Value, value: &Value| {
            self.allowance.spend(1)?;
            let name = |name: Option<&'_ Decorated<Ident>>| name.map_or("", |name| name.as_str()).to_owned();
            let (key_name, value_name) = (name(key_name), name(value_name));
            let key = Scope { name: &key_name, value: key, outer: scope };
            step(Some(&Scope { name: &value_name, value, outer: Some(&key) }))
        };
        match self.value(collection, scope).known_itself()? {
            // The keys of a set are its items.
            Value::List(list) if matches!(list.kind, ListKind::Set(_)) => {
                list.items.iter().try_for_each(|value| run(value, value))
            }
            Value::List(list) => {
                list.items.iter().enumerate().try_for_each(|(index, value)| run(&Value::number(index), value))
            }
            Value::Object(object) => {
                object.members.iter().try_for_each(|(key, value)| run(&Value::string(key.as_str()), value))
            }
            other => failure(format!("a list or an object is needed, not {}", other.kind())),
        }
    }
}

/// An expression without the parentheses around it.
fn unwrapped(mut expression: &Expression) -> &Expression {
    while let Expression::Parenthesis(inner) = expression {
        expression = inner.inner();
    }
    expression
}

fn written(number: &Formatted<hcl_edit::Number>) -> String {
    number.as_repr().map_or_else(|| number.value().to_string(), |written| String::from(&**written))
}

/// A number as it is written. The parser holds it as a double, and a sign as part of it.
fn literal(number: &Formatted<hcl_edit::Number>) -> Outcome {
    let written = written(number);
    match written.strip_prefix('-') {
        Some(unsigned) => Number::parse(unsigned.trim_start())?.negated().map(Value::Number),
        None => Number::parse(&written).map(Value::Number),
    }
}
