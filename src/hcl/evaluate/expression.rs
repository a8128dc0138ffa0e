//! Evaluates expressions and templates of HCL, in which values may be unknown.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use hcl_edit::expr::{Array, Expression, ForExpr, FuncCall, Object, ObjectKey, Traversal, TraversalOperator};
use hcl_edit::template::{Directive, Element, ForDirective, IfDirective, Strip, Template};
use hcl_edit::{Decorated, Ident, Span};

use super::allowance::Allowance;
use super::functions;
use super::operators;
use super::value::{Outcome, Piece, Stop, Unknown, Value, exact, failure, unknown};
use crate::diagnostic::Location;

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
struct Scope<'a> {
    name: &'a str,
    value: &'a Value,
    outer: Option<&'a Scope<'a>>,
}

type Around<'a> = Option<&'a Scope<'a>>;

/// [`Either`] that makes the text unknown.
pub(crate) fn undecided(_: Vec<Piece>, _: &[Piece], unknown: &Arc<Unknown>) -> Vec<Piece> {
    vec![Piece::Hole(Arc::clone(unknown))]
}

/// The value of an expression without variables and functions, or the reason why it is unknown.
pub(crate) fn constant(expression: &Expression) -> Result<Value, String> {
    let (allowance, variables) = (Allowance::default(), BTreeMap::new());
    let value = Evaluator::without_functions(&allowance, &variables).evaluate(expression);
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

    /// The value of a template that is a whole file.
    pub(crate) fn render(&self, template: &Template) -> Outcome {
        let mut pieces = Vec::new();
        self.template(template, None, [Strip::None; 2], &mut pieces)?;
        Value::pieces(pieces)
    }

    fn value(&self, expression: &Expression, scope: Around) -> Value {
        let place = || expression.span().and_then(self.place);
        let value = self.allowance.nested(|| self.outcome(expression, scope));
        value.unwrap_or_else(|stop| Value::Unknown(stop.at(place)))
    }

    fn outcome(&self, expression: &Expression, scope: Around) -> Outcome {
        match expression {
            Expression::Null(_) => Ok(Value::Null),
            Expression::Bool(value) => Ok(Value::Bool(*value.value())),
            Expression::Number(number) => Ok(Value::Number(exact(number.value().as_f64().unwrap_or(f64::INFINITY))?)),
            Expression::String(text) => Ok(Value::string(text.value().as_str())),
            Expression::Array(array) => self.array(array, scope),
            Expression::Object(object) => self.object(object, scope),
            Expression::StringTemplate(template) => match template.as_single_element() {
                Some(Element::Interpolation(interpolation)) => Ok(self.value(&interpolation.expr, scope)),
                _ => self.string(template, scope),
            },
            Expression::HeredocTemplate(heredoc) => self.string(&heredoc.template, scope),
            Expression::Parenthesis(inner) => Ok(self.value(inner.inner(), scope)),
            Expression::Variable(name) => self.variable(name, scope),
            Expression::Conditional(conditional) => {
                let condition = self.value(&conditional.cond_expr, scope).as_bool()?;
                Ok(self.value(if condition { &conditional.true_expr } else { &conditional.false_expr }, scope))
            }
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

    fn array(&self, array: &Array, scope: Around) -> Outcome {
        Value::list(array.iter().map(|item| self.value(item, scope)).collect())
    }

    fn object(&self, object: &Object, scope: Around) -> Outcome {
        let mut members = BTreeMap::new();
        for (key, value) in object {
            let key = match key {
                ObjectKey::Ident(name) => name.to_string(),
                ObjectKey::Expression(expression) => self.value(expression, scope).as_string()?.to_string(),
            };
            members.insert(key, self.value(value.expr(), scope));
        }
        Value::object(members)
    }

    fn call(&self, call: &FuncCall, scope: Around) -> Outcome {
        if call.name.is_namespaced() {
            return unknown("functions of providers are not evaluated");
        }
        let name = call.name.name.as_str();
        let mut arguments = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            let value = self.value(argument, scope);
            // `try` returns its first argument that does not fail, and evaluates no further ones.
            let is_last_needed = name == "try" && !matches!(&value, Value::Unknown(unknown) if unknown.is_failure);
            arguments.push(value);
            if is_last_needed {
                break;
            }
        }
        if call.args.expand_final()
            && let Some(last) = arguments.pop()
        {
            arguments.extend(last.as_list()?.iter().cloned());
        }
        self.allowance.spend_on(arguments.iter().map(Value::weight).sum())?;
        let result = (self.functions)(name, &arguments).or_else(|| functions::call(name, &arguments));
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
        self.traverse(self.value(&traversal.expr, scope), &traversal.operators, scope)
    }

    fn traverse(&self, mut value: Value, operators: &[Decorated<TraversalOperator>], scope: Around) -> Outcome {
        for (at, operator) in operators.iter().enumerate() {
            let rest = &operators[at + 1..];
            value = match operator.value() {
                TraversalOperator::GetAttr(name) => operators::attribute(&value, name)?,
                TraversalOperator::LegacyIndex(index) => {
                    match value.as_list()?.get(usize::try_from(*index.value()).unwrap_or(usize::MAX)) {
                        Some(item) => item.clone(),
                        None => return failure("the index is past the end of the list"),
                    }
                }
                TraversalOperator::Index(expression) => {
                    operators::index(value.known_itself()?, &self.value(expression, scope))?
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
        let each = |item: &Value| self.allowance.nested(|| self.traverse(item.clone(), operators, scope));
        let items = match value.known_itself()? {
            Value::Null => Vec::new(),
            Value::List(list) => list.items.iter().map(each).collect::<Outcome<_>>()?,
            other => vec![each(other)?],
        };
        Value::list(items)
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
            let value = self.value(&expression.value_expr, inner);
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
            return Value::list(items);
        }
        let member = |mut values: Vec<Value>| match values.pop() {
            Some(value) if !expression.grouping => Ok(value),
            last => Value::list(values.into_iter().chain(last).collect()),
        };
        Value::object(members.into_iter().map(|(key, values)| Ok((key, member(values)?))).collect::<Outcome<_>>()?)
    }

    /// Runs a step for each item of a collection, with the variables for its key and its value.
    fn each(
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
            #[expect(clippy::cast_precision_loss)] // lists are far shorter
            Value::List(list) => {
                list.items.iter().enumerate().try_for_each(|(index, value)| run(&Value::Number(index as f64), value))
            }
            Value::Object(object) => {
                object.members.iter().try_for_each(|(key, value)| run(&Value::string(key.as_str()), value))
            }
            other => failure(format!("a list or an object is needed, not {}", other.kind())),
        }
    }

    fn string(&self, template: &Template, scope: Around) -> Outcome {
        let mut pieces = Vec::new();
        self.template(template, scope, [Strip::None; 2], &mut pieces)?;
        Value::pieces(pieces)
    }

    /// Adds the pieces of a template; the markers around it strip white space at its ends.
    fn template(
        &self,
        template: &Template,
        scope: Around,
        [before, behind]: [Strip; 2],
        pieces: &mut Vec<Piece>,
    ) -> Outcome<()> {
        let strip = |element: Option<&Element>, side: Strip| element.map_or(side, outer_strip);
        for (at, element) in template.iter().enumerate() {
            match element {
                Element::Literal(literal) => {
                    let previous = strip(at.checked_sub(1).and_then(|at| template.get(at)), before);
                    let next = strip(template.get(at + 1), behind);
                    self.push(pieces, Piece::Text(stripped(literal.value(), previous, next)))?;
                }
                Element::Interpolation(interpolation) => {
                    self.interpolate(&self.value(&interpolation.expr, scope), pieces)?;
                }
                Element::Directive(directive) => match &**directive {
                    Directive::If(directive) => self.if_directive(directive, scope, pieces)?,
                    Directive::For(directive) => self.for_directive(directive, scope, pieces)?,
                },
            }
        }
        Ok(())
    }

    fn interpolate(&self, value: &Value, pieces: &mut Vec<Piece>) -> Outcome<()> {
        match value {
            Value::Unknown(unknown) if unknown.is_failure => Err(Stop::Needs(Arc::clone(unknown))),
            Value::Unknown(unknown) => self.push(pieces, Piece::Hole(Arc::clone(unknown))),
            Value::Partial(inner) => inner.iter().try_for_each(|piece| self.push(pieces, piece.clone())),
            other => self.push(pieces, Piece::Text(other.as_string()?.to_string())),
        }
    }

    fn push(&self, pieces: &mut Vec<Piece>, piece: Piece) -> Outcome<()> {
        match (pieces.last_mut(), piece) {
            (Some(Piece::Text(last)), Piece::Text(text)) => {
                self.allowance.spend_on(text.len())?;
                last.push_str(&text);
            }
            (_, Piece::Text(text)) if text.is_empty() => {}
            (_, piece) => {
                self.allowance.spend(1)?;
                pieces.push(piece);
            }
        }
        Ok(())
    }

    fn if_directive(&self, directive: &IfDirective, scope: Around, pieces: &mut Vec<Piece>) -> Outcome<()> {
        let condition = self.value(&directive.if_expr.cond_expr, scope);
        if let Value::Unknown(unknown) = &condition
            && !unknown.is_failure
        {
            let chosen = match self.branches(directive, scope) {
                Ok([one, two]) => (self.either)(one, &two, unknown),
                Err(_) => vec![Piece::Hole(Arc::clone(unknown))],
            };
            return chosen.into_iter().try_for_each(|piece| self.push(pieces, piece));
        }
        self.branch(directive, condition.as_bool()?, scope, pieces)
    }

    /// Adds the pieces of one branch of an `if`.
    fn branch(&self, directive: &IfDirective, is_first: bool, scope: Around, pieces: &mut Vec<Piece>) -> Outcome<()> {
        let (first, last) = (&directive.if_expr, directive.endif_expr.strip);
        match (is_first, &directive.else_expr) {
            (true, None) => self.template(&first.template, scope, [first.strip, last], pieces),
            (true, Some(other)) => self.template(&first.template, scope, [first.strip, other.strip], pieces),
            (false, Some(other)) => self.template(&other.template, scope, [other.strip, last], pieces),
            (false, None) => Ok(()),
        }
    }

    /// The pieces of both branches, which are to be parsed.
    fn branches(&self, directive: &IfDirective, scope: Around) -> Outcome<[Vec<Piece>; 2]> {
        let [mut one, mut two] = [Vec::new(), Vec::new()];
        self.branch(directive, true, scope, &mut one)?;
        self.branch(directive, false, scope, &mut two)?;
        self.allowance.spend(one.iter().chain(&two).map(Piece::weight).sum())?;
        Ok([one, two])
    }

    fn for_directive(&self, directive: &ForDirective, scope: Around, pieces: &mut Vec<Piece>) -> Outcome<()> {
        let intro = &directive.for_expr;
        let names = [intro.key_var.as_ref(), Some(&intro.value_var)];
        self.each(names, &intro.collection_expr, scope, |inner| {
            self.template(&intro.template, inner, [intro.strip, directive.endfor_expr.strip], pieces)
        })
    }
}

/// The markers of a template's element as its neighbours see them.
fn outer_strip(element: &Element) -> Strip {
    let (start, end) = match element {
        Element::Literal(_) => return Strip::None,
        Element::Interpolation(interpolation) => return interpolation.strip,
        Element::Directive(directive) => match &**directive {
            Directive::If(directive) => (directive.if_expr.strip, directive.endif_expr.strip),
            Directive::For(directive) => (directive.for_expr.strip, directive.endfor_expr.strip),
        },
    };
    match (start.strip_start(), end.strip_end()) {
        (true, true) => Strip::Both,
        (true, false) => Strip::Start,
        (false, true) => Strip::End,
        (false, false) => Strip::None,
    }
}

/// A literal without the white space that the markers beside it remove: the white space of one line, together with its
/// line break if the line is blank (HCL's parser trims a token, and a token is a line: `hclsyntax/parser_template.go`).
fn stripped(mut literal: &str, previous: Strip, next: Strip) -> String {
    let mut kept = String::new();
    if previous.strip_end() {
        let line = literal.find('\n').map_or(literal.len(), |newline| newline + 1);
        kept.push_str(literal[..line].trim_start());
        literal = &literal[line..];
    }
    kept.push_str(literal);
    if next.strip_start() {
        let inner = kept.strip_suffix('\n').unwrap_or(&kept);
        let line = inner.rfind('\n').map_or(0, |newline| newline + 1);
        kept.truncate(line + kept[line..].trim_end().len());
    }
    kept
}
