//! Evaluates templates: strings, heredocs and files with interpolations and directives.

use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::expr::Expression;
use hcl_edit::template::{
    Directive, Element, ForDirective, HeredocTemplate, IfDirective, Strip, Template,
};

use super::expression::{Enclosing, Evaluator};
use super::value::{Outcome, Piece, Stop, Value, unknown};
use crate::hcl::parse;

/// Form of a template, which decides the tokens on which markers such as `~` work
/// (`hclsyntax/parser_template.go`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Between quotes: all text between two expressions is a token.
    Quoted,
    /// Each line is a token.
    Lines,
    /// As [`Form::Lines`], without the indentation that all lines share.
    Flush,
}

/// A token, in the order of the text.
enum Token<'a> {
    Literal(&'a mut String, Vec<String>),
    /// An interpolation or a part of a directive, and whether it removes the white space around it.
    Marker(Strip),
}

impl Evaluator<'_> {
    /// Evaluates a template that is a whole file.
    pub(crate) fn render(&self, template: &Template) -> Outcome {
        self.text(template, Form::Lines, None)
    }

    /// Evaluates a template between quotes.
    pub(super) fn evaluate_quoted(&self, template: &Template, scope: Enclosing) -> Outcome {
        match template.as_single_element() {
            Some(Element::Interpolation(interpolation)) => {
                Ok(self.evaluate_in(&interpolation.expr, scope))
            }
            _ => self.text(template, Form::Quoted, scope),
        }
    }

    /// Evaluates a heredoc. The parser removes the indentation of `<<-` by rules that differ from
    /// HCL's, so the text is parsed again.
    pub(super) fn evaluate_heredoc(&self, heredoc: &HeredocTemplate, scope: Enclosing) -> Outcome {
        let span = heredoc.span().unwrap_or_default();
        let location = (self.place)(span.clone());
        let source = location
            .as_ref()
            .and_then(|location| location.file.text.get(location.span.clone()));
        match source.and_then(|source| source.strip_prefix("<<-")) {
            Some(rest) => {
                self.allowance.spend_on(rest.len())?;
                // The text is a byte shorter than in the file.
                let place = |part: std::ops::Range<usize>| {
                    (self.place)(span.start + part.start + 1..span.start + part.end + 1)
                };
                match parse::expression(&format!("<<{rest}")) {
                    Ok(Expression::HeredocTemplate(plain)) => Evaluator {
                        place: &place,
                        ..*self
                    }
                    .text(&plain.template, Form::Flush, scope),
                    _ => unknown("this heredoc is not evaluated"),
                }
            }
            None if heredoc.indent().is_some() => {
                unknown("an indented heredoc is not evaluated here")
            }
            None => self.text(&heredoc.template, Form::Lines, scope),
        }
    }

    fn text(&self, template: &Template, form: Form, scope: Enclosing) -> Outcome {
        self.allowance
            .spend_on(template.span().map_or(0, |span| span.len()))?;
        let mut template = template.clone();
        let mut pieces = Vec::new();
        adjust(&mut template, form)?;
        self.template(&template, scope, &mut pieces)?;
        Value::pieces(pieces)
    }

    /// Adds the pieces of a template whose white space has been adjusted.
    fn template(
        &self,
        template: &Template,
        scope: Enclosing,
        pieces: &mut Vec<Piece>,
    ) -> Outcome<()> {
        for element in template {
            match element {
                Element::Literal(literal) => self.push(pieces, Piece::Text(literal.to_string()))?,
                Element::Interpolation(interpolation) => {
                    self.interpolate(&self.evaluate_in(&interpolation.expr, scope), pieces)?;
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
        value.failed()?;
        match value {
            Value::Unknown(unknown) => self.push(pieces, Piece::Hole(Arc::clone(unknown))),
            Value::Partial(inner) => inner
                .iter()
                .try_for_each(|piece| self.push(pieces, piece.clone())),
            other => {
                self.allowance.spend_on(other.weight())?;
                self.push(pieces, Piece::Text(other.as_string()?.to_string()))
            }
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

    /// Adds the branch of `%{ if … }` that the condition selects. If the condition is unknown, adds
    /// both as a piece that may be either.
    fn if_directive(
        &self,
        directive: &IfDirective,
        scope: Enclosing,
        pieces: &mut Vec<Piece>,
    ) -> Outcome<()> {
        let condition = self.evaluate_in(&directive.if_expr.cond_expr, scope);
        condition.failed()?;
        let Value::Unknown(unknown) = &condition else {
            return self.branch(directive, condition.as_bool()?, scope, pieces);
        };

        // If both branches can be read, providers that either of them requires are found.
        let mut branches = [Vec::new(), Vec::new()];
        let [first, second] = &mut branches;
        let is_read = self.branch(directive, true, scope, first).is_ok()
            && self.branch(directive, false, scope, second).is_ok();
        let piece = if is_read {
            Piece::Either(Arc::new(branches), Arc::clone(unknown))
        } else {
            Piece::Hole(Arc::clone(unknown))
        };
        self.push(pieces, piece)
    }

    /// Adds the pieces of one branch of an `if`.
    fn branch(
        &self,
        directive: &IfDirective,
        is_first: bool,
        scope: Enclosing,
        pieces: &mut Vec<Piece>,
    ) -> Outcome<()> {
        match (is_first, &directive.else_expr) {
            (true, _) => self.template(&directive.if_expr.template, scope, pieces),
            (false, Some(other)) => self.template(&other.template, scope, pieces),
            (false, None) => Ok(()),
        }
    }

    fn for_directive(
        &self,
        directive: &ForDirective,
        scope: Enclosing,
        pieces: &mut Vec<Piece>,
    ) -> Outcome<()> {
        let intro = &directive.for_expr;
        let names = [intro.key_var.as_ref(), Some(&intro.value_var)];
        let result = self.for_each_item(names, &intro.collection_expr, scope, |inner| {
            self.template(&intro.template, inner, pieces)
        });
        match result {
            Err(Stop::Needs(unknown)) if !unknown.is_failure => {
                self.push(pieces, Piece::Hole(unknown))
            }
            result => result,
        }
    }
}

/// Removes the white space that markers and the form of the template remove.
fn adjust(template: &mut Template, form: Form) -> Outcome<()> {
    let mut tokens = Vec::new();
    collect(template, form, false, &mut tokens)?;
    // HCL reads each line of a heredoc as a token, and `~` trims only the token beside it.
    for index in 0..tokens.len() {
        let Token::Marker(strip) = tokens[index] else {
            continue;
        };
        if strip.strip_start()
            && let Some(Token::Literal(_, lines)) = index
                .checked_sub(1)
                .and_then(|before| tokens.get_mut(before))
            && let Some(last) = lines.last_mut()
        {
            last.truncate(last.trim_end().len());
        }
        if strip.strip_end()
            && let Some(Token::Literal(_, lines)) = tokens.get_mut(index + 1)
            && let Some(first) = lines.first_mut()
        {
            first.drain(..first.len() - first.trim_start().len());
        }
    }
    // As in HCL, the indentation is measured after `~` has trimmed lines.
    if form == Form::Flush {
        dedent(&mut tokens);
    }
    for token in tokens {
        if let Token::Literal(text, lines) = token {
            *text = lines.concat();
        }
    }
    Ok(())
}

/// Adds the tokens of a template, which may be inside of a directive.
fn collect<'a>(
    template: &'a mut Template,
    form: Form,
    is_inner: bool,
    tokens: &mut Vec<Token<'a>>,
) -> Outcome<()> {
    for element in template.iter_mut() {
        match element {
            Element::Literal(text)
                if is_inner && form == Form::Quoted && text.contains(['\\', '"', '\n']) =>
            {
                return unknown("escapes within the directives of a string are not evaluated");
            }
            Element::Literal(text) => {
                let lines = match form {
                    Form::Quoted => vec![text.to_string()],
                    Form::Lines | Form::Flush => {
                        text.split_inclusive('\n').map(str::to_owned).collect()
                    }
                };
                tokens.push(Token::Literal(text, lines));
            }
            Element::Interpolation(interpolation) => {
                tokens.push(Token::Marker(interpolation.strip));
            }
            Element::Directive(directive) => match &mut **directive {
                Directive::If(it) => {
                    tokens.push(Token::Marker(it.if_expr.strip));
                    collect(&mut it.if_expr.template, form, true, tokens)?;
                    if let Some(other) = &mut it.else_expr {
                        tokens.push(Token::Marker(other.strip));
                        collect(&mut other.template, form, true, tokens)?;
                    }
                    tokens.push(Token::Marker(it.endif_expr.strip));
                }
                Directive::For(it) => {
                    tokens.push(Token::Marker(it.for_expr.strip));
                    collect(&mut it.for_expr.template, form, true, tokens)?;
                    tokens.push(Token::Marker(it.endfor_expr.strip));
                }
            },
        }
    }
    Ok(())
}

/// Removes from the start of each line the white space that all lines have. Lines of white space
/// alone stay.
fn dedent(tokens: &mut [Token]) {
    let mut shared = usize::MAX;
    let mut indented: Vec<&mut String> = Vec::new();
    let mut is_start = true;
    for token in tokens {
        let Token::Literal(_, lines) = token else {
            // A line that starts with an interpolation has no indentation to remove.
            if is_start {
                shared = 0;
            }
            is_start = false;
            continue;
        };
        for line in lines {
            let starts_line = is_start;
            let ends_line = line.ends_with('\n');
            is_start = ends_line;
            let spaces = line.chars().take_while(|c| c.is_whitespace()).count();
            if starts_line && !(ends_line && line.trim_start().is_empty()) {
                shared = shared.min(spaces);
                indented.push(line);
            }
        }
    }
    for line in indented {
        let end = line
            .char_indices()
            .nth(shared)
            .map_or(line.len(), |(index, _)| index);
        line.drain(..end);
    }
}
