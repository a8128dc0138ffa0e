//! Evaluates templates: strings, heredocs and files with interpolations and directives.

use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::expr::Expression;
use hcl_edit::template::{
    Directive, Element, ForDirective, HeredocTemplate, IfDirective, Strip, Template,
};

use super::expression::{Evaluator, ForNames, Scope};
use super::value::{Piece, Stop, Value};
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

/// Surroundings of a template.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// It is the whole string or heredoc.
    Template,
    /// In a directive of one.
    Directive,
}

impl Evaluator<'_> {
    /// Evaluates a template that is a whole file.
    pub(crate) fn render(&self, template: &Template) -> Result<Value, Stop> {
        self.evaluate_template(template, Form::Lines, None)
    }

    /// Evaluates a template between quotes.
    pub(super) fn evaluate_quoted(
        &self,
        template: &Template,
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        match template.as_single_element() {
            Some(Element::Interpolation(interpolation)) => {
                Ok(self.evaluate_in(&interpolation.expr, scope))
            }
            _ => self.evaluate_template(template, Form::Quoted, scope),
        }
    }

    /// Evaluates a heredoc. The parser removes the indentation of `<<-` by rules that differ from
    /// HCL's, so the text is parsed again.
    pub(super) fn evaluate_heredoc(
        &self,
        heredoc: &HeredocTemplate,
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        let span = heredoc.span().unwrap_or_default();
        let location = (self.location_of)(span.clone());
        let source = location
            .as_ref()
            .and_then(|location| location.file.text.get(location.span.clone()));
        match source.and_then(|source| source.strip_prefix("<<-")) {
            Some(rest) => {
                self.allowance.spend_on_bytes(rest.len())?;
                // The text is a byte shorter than in the file.
                let location_of = |part: std::ops::Range<usize>| {
                    (self.location_of)(span.start + part.start + 1..span.start + part.end + 1)
                };
                match parse::expression(&format!("<<{rest}")) {
                    Ok(Expression::HeredocTemplate(plain)) => Evaluator {
                        location_of: &location_of,
                        ..*self
                    }
                    .evaluate_template(&plain.template, Form::Flush, scope),
                    _ => Err(Stop::unknown("this heredoc is not evaluated")),
                }
            }
            None if heredoc.indent().is_some() => {
                Err(Stop::unknown("an indented heredoc is not evaluated here"))
            }
            None => self.evaluate_template(&heredoc.template, Form::Lines, scope),
        }
    }

    fn evaluate_template(
        &self,
        template: &Template,
        form: Form,
        scope: Option<&Scope<'_>>,
    ) -> Result<Value, Stop> {
        self.allowance
            .spend_on_bytes(template.span().map_or(0, |span| span.len()))?;
        let mut template = template.clone();
        let mut pieces = Vec::new();
        strip_white_space(&mut template, form)?;
        self.push_template(&template, scope, &mut pieces)?;
        Value::pieces(pieces)
    }

    /// Adds the pieces of a template whose white space has been adjusted.
    fn push_template(
        &self,
        template: &Template,
        scope: Option<&Scope<'_>>,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Stop> {
        for element in template {
            match element {
                Element::Literal(literal) => {
                    self.push_piece(pieces, Piece::Text(literal.to_string()))?;
                }
                Element::Interpolation(interpolation) => {
                    self.push_interpolated(&self.evaluate_in(&interpolation.expr, scope), pieces)?;
                }
                Element::Directive(directive) => match &**directive {
                    Directive::If(directive) => self.push_if(directive, scope, pieces)?,
                    Directive::For(directive) => self.push_for(directive, scope, pieces)?,
                },
            }
        }
        Ok(())
    }

    fn push_interpolated(&self, value: &Value, pieces: &mut Vec<Piece>) -> Result<(), Stop> {
        value.ensure_not_failed()?;
        match value {
            Value::Unknown(unknown) => self.push_piece(pieces, Piece::Hole(Arc::clone(unknown))),
            Value::Partial(inner) => inner
                .iter()
                .try_for_each(|piece| self.push_piece(pieces, piece.clone())),
            other => {
                self.allowance.spend_on_bytes(other.weight())?;
                self.push_piece(pieces, Piece::Text(other.as_string()?.to_string()))
            }
        }
    }

    fn push_piece(&self, pieces: &mut Vec<Piece>, piece: Piece) -> Result<(), Stop> {
        match (pieces.last_mut(), piece) {
            (Some(Piece::Text(last)), Piece::Text(text)) => {
                self.allowance.spend_on_bytes(text.len())?;
                last.push_str(&text);
            }
            (_, Piece::Text(text)) if text.is_empty() => {}
            (_, piece) => {
                self.allowance.spend_steps(1)?;
                pieces.push(piece);
            }
        }
        Ok(())
    }

    /// Adds the branch of `%{ if … }` that the condition selects. If the condition is unknown, adds
    /// both as a piece that may be either.
    fn push_if(
        &self,
        directive: &IfDirective,
        scope: Option<&Scope<'_>>,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Stop> {
        let condition = self.evaluate_in(&directive.if_expr.cond_expr, scope);
        condition.ensure_not_failed()?;
        let Value::Unknown(unknown) = &condition else {
            return self.push_branch(directive, condition.as_bool()?, scope, pieces);
        };

        // If both branches can be read, providers that either of them requires are found.
        let mut branches = [Vec::new(), Vec::new()];
        let [first, second] = &mut branches;
        let is_read = self.push_branch(directive, true, scope, first).is_ok()
            && self.push_branch(directive, false, scope, second).is_ok();
        let piece = if is_read {
            Piece::Either(Arc::new(branches), Arc::clone(unknown))
        } else {
            Piece::Hole(Arc::clone(unknown))
        };
        self.push_piece(pieces, piece)
    }

    /// Adds the pieces of one branch of an `if`.
    fn push_branch(
        &self,
        directive: &IfDirective,
        is_first: bool,
        scope: Option<&Scope<'_>>,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Stop> {
        match (is_first, &directive.else_expr) {
            (true, _) => self.push_template(&directive.if_expr.template, scope, pieces),
            (false, Some(other)) => self.push_template(&other.template, scope, pieces),
            (false, None) => Ok(()),
        }
    }

    fn push_for(
        &self,
        directive: &ForDirective,
        scope: Option<&Scope<'_>>,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Stop> {
        let intro = &directive.for_expr;
        let names = ForNames {
            key: intro.key_var.as_ref(),
            value: &intro.value_var,
        };
        let result = self.for_each_item(names, &intro.collection_expr, scope, |inner| {
            self.push_template(&intro.template, inner, pieces)
        });
        match result {
            Err(Stop::Needs(unknown)) if !unknown.is_failure => {
                self.push_piece(pieces, Piece::Hole(unknown))
            }
            result => result,
        }
    }
}

/// Removes the white space that `~` markers remove, and the indentation that `<<-` removes.
fn strip_white_space(template: &mut Template, form: Form) -> Result<(), Stop> {
    let mut tokens = Vec::new();
    collect_tokens(template, form, Within::Template, &mut tokens)?;
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
        remove_shared_indentation(&mut tokens);
    }
    for token in tokens {
        if let Token::Literal(text, lines) = token {
            *text = lines.concat();
        }
    }
    Ok(())
}

/// Adds the tokens of a template.
fn collect_tokens<'a>(
    template: &'a mut Template,
    form: Form,
    within: Within,
    tokens: &mut Vec<Token<'a>>,
) -> Result<(), Stop> {
    for element in template.iter_mut() {
        match element {
            Element::Literal(text)
                if within == Within::Directive
                    && form == Form::Quoted
                    && text.contains(['\\', '"', '\n']) =>
            {
                return Err(Stop::unknown(
                    "escapes within the directives of a string are not evaluated",
                ));
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
                Directive::If(directive) => {
                    let opening = &mut directive.if_expr;
                    collect_branch(opening.strip, &mut opening.template, form, tokens)?;
                    if let Some(other) = &mut directive.else_expr {
                        collect_branch(other.strip, &mut other.template, form, tokens)?;
                    }
                    tokens.push(Token::Marker(directive.endif_expr.strip));
                }
                Directive::For(directive) => {
                    let opening = &mut directive.for_expr;
                    collect_branch(opening.strip, &mut opening.template, form, tokens)?;
                    tokens.push(Token::Marker(directive.endfor_expr.strip));
                }
            },
        }
    }
    Ok(())
}

/// Adds the tokens of a branch of a directive: of its marker, and of its template.
fn collect_branch<'a>(
    marker: Strip,
    template: &'a mut Template,
    form: Form,
    tokens: &mut Vec<Token<'a>>,
) -> Result<(), Stop> {
    tokens.push(Token::Marker(marker));
    collect_tokens(template, form, Within::Directive, tokens)
}

/// Removes from the start of each line the white space that all lines have. Lines of white space
/// alone stay.
fn remove_shared_indentation(tokens: &mut [Token]) {
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
