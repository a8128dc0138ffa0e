//! Names of the variables of the environment on which sources of units, included files and places
//! of states depend. The values may be in any script or workflow.
//!
//! The files of a repository are searched together, without evaluating them: a local counts if an
//! expression that decides refers to its name, in whatever file the local is.

use std::collections::{BTreeMap, BTreeSet};

use hcl_edit::Span as _;
use hcl_edit::expr::{Expression, FuncCall, ObjectKey, TraversalOperator};
use hcl_edit::parser::parse_template;
use hcl_edit::structure::{Attribute, Block, Body, Structure};
use hcl_edit::visit::{self, Visit};

use crate::configuration::storage::{StorageRole, role_in_storage};
use crate::hcl::code_lines::code_lines;
use crate::hcl::parse;

/// The function that reads a variable of the environment.
const GET_ENV: &str = "get_env";
/// The function that runs a command, which may read one.
const RUN_COMMAND: &str = "run_cmd";
/// Words of a generated file that may decide what is installed, or where the state is.
const DECIDING_WORDS: [&str; 6] = [
    "backend",
    "cloud",
    "module",
    "required_",
    "source",
    "version",
];
/// Arguments and blocks that decide on credentials, on errors, or on whether a unit is run.
const IRRELEVANT: [&str; 8] = [
    "catalog",
    "engine",
    "errors",
    "exclude",
    "iam_role",
    "iam_assume_role_session_name",
    "prevent_destroy",
    "skip",
];
/// Flags in arguments of `init` that decide.
const DECIDING_FLAGS: [&str; 5] = [
    "-backend-config",
    "-from-module",
    "-lockfile",
    "-plugin-dir",
    "-upgrade",
];

/// Names in expressions.
#[derive(Default)]
struct Names {
    /// Identifiers, and strings that may be the name of a member.
    identifiers: BTreeSet<String>,
    /// Variables of the environment.
    environment: BTreeSet<String>,
}

/// Names in the files of a repository.
struct Search<'a> {
    /// Variables of modules on which a source or the place of a state depends.
    inputs: &'a BTreeSet<String>,
    deciding: Names,
    /// Names in the values of locals, by the names of the locals.
    locals: BTreeMap<String, Names>,
}

/// Whether a file of Terragrunt may read a variable of the environment.
pub(crate) fn may_read_environment(text: &str) -> bool {
    text.contains(GET_ENV) || text.contains(RUN_COMMAND)
}

/// The names in the files of a repository. `inputs` are the variables of modules on which a source
/// or the place of a state depends.
pub(crate) fn environment_names<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    inputs: &BTreeSet<String>,
) -> BTreeSet<String> {
    let mut search = Search {
        inputs,
        deciding: Names::default(),
        locals: BTreeMap::new(),
    };
    for text in texts {
        match parse::body(text) {
            Ok(body) => search.add_file(text, &body),
            // It may be in JSON.
            Err(_) => search.deciding.add_calls_in(text),
        }
    }
    search.into_names()
}

impl Search<'_> {
    fn add_file(&mut self, text: &str, body: &Body) {
        for structure in body {
            match structure {
                Structure::Attribute(attribute) => self.add_attribute(attribute),
                Structure::Block(block) => self.add_block(text, block),
            }
        }
    }

    fn add_attribute(&mut self, attribute: &Attribute) {
        let name = attribute.key.as_str();
        if name == "inputs" {
            self.add_inputs(&attribute.value);
        } else if !IRRELEVANT.contains(&name) {
            self.deciding.visit_expr(&attribute.value);
        }
    }

    /// Adds the inputs that give a value to a variable on which something depends. A value that is
    /// not written as an object may have any input.
    fn add_inputs(&mut self, value: &Expression) {
        let Expression::Object(object) = value else {
            if !self.inputs.is_empty() {
                self.deciding.visit_expr(value);
            }
            return;
        };
        for (key, value) in object {
            if name_of(key).is_none_or(|name| self.inputs.contains(&name)) {
                self.deciding.visit_expr(value.expr());
            }
        }
    }

    fn add_block(&mut self, text: &str, block: &Block) {
        match block.ident.as_str() {
            "locals" => {
                for attribute in block.body.attributes() {
                    let name = attribute.key.as_str().to_owned();
                    let names = self.locals.entry(name).or_default();
                    names.visit_expr(&attribute.value);
                }
            }
            "terraform" => self.add_terraform(text, &block.body),
            "remote_state" => self.add_remote_state(&block.body),
            // Outputs that stand for missing ones decide on nothing.
            "dependency" => {
                if let Some(path) = block.body.get_attribute("config_path") {
                    self.deciding.visit_expr(&path.value);
                }
            }
            "generate" => {
                let own = text_of(block, text);
                if DECIDING_WORDS.iter().any(|word| own.contains(word)) {
                    for attribute in block.body.attributes() {
                        self.add_generated(text, &attribute.value);
                    }
                }
            }
            name if IRRELEVANT.contains(&name) => {}
            _ => self.deciding.visit_body(&block.body),
        }
    }

    /// Adds the contents of a generated file without its `provider` blocks, which have credentials.
    fn add_generated(&mut self, text: &str, contents: &Expression) {
        if let Expression::HeredocTemplate(_) = contents
            && let Some(own) = contents.span().and_then(|span| text.get(span))
            && let Some(own) = without_provider_blocks(own)
            && let Ok(template) = parse_template(&own)
        {
            for element in &template {
                self.deciding.visit_element(element);
            }
            return;
        }
        self.deciding.visit_expr(contents);
    }

    fn add_terraform(&mut self, text: &str, body: &Body) {
        for structure in body {
            match structure {
                Structure::Attribute(attribute) => self.deciding.visit_attr(attribute),
                Structure::Block(block) if block.ident.as_str() == "extra_arguments" => {
                    let text = text_of(block, text);
                    let gives_values = !self.inputs.is_empty();
                    if gives_values || DECIDING_FLAGS.iter().any(|flag| text.contains(flag)) {
                        self.deciding.visit_body(&block.body);
                    }
                }
                // Hooks are commands.
                Structure::Block(_) => {}
            }
        }
    }

    /// Adds the arguments of a backend, except arguments about locks and the like.
    fn add_remote_state(&mut self, body: &Body) {
        for attribute in body.attributes() {
            let Expression::Object(config) = &attribute.value else {
                self.deciding.visit_expr(&attribute.value);
                continue;
            };
            for (key, value) in config {
                let role = name_of(key).map(|name| role_in_storage(&name));
                if role != Some(StorageRole::Irrelevant) {
                    self.deciding.visit_expr(value.expr());
                }
            }
        }
    }

    /// The names of all that decides, also through locals.
    fn into_names(self) -> BTreeSet<String> {
        let Names {
            identifiers,
            mut environment,
        } = self.deciding;
        let mut locals = self.locals;
        let mut waiting: Vec<String> = identifiers.into_iter().collect();
        while let Some(name) = waiting.pop() {
            if let Some(local) = locals.remove(&name) {
                environment.extend(local.environment);
                waiting.extend(local.identifiers);
            }
        }
        environment
    }
}

/// The text of a block; the whole text if its position is not known.
fn text_of<'t>(block: &Block, text: &'t str) -> &'t str {
    let own = block.span().and_then(|span| text.get(span));
    own.unwrap_or(text)
}

/// The text of a heredoc without its markers and without the lines of `provider` blocks, except old
/// constraints on versions. `None` if it is not complete.
fn without_provider_blocks(heredoc: &str) -> Option<String> {
    let mut contents = heredoc;
    if heredoc.starts_with("<<") {
        let (_, after_marker) = heredoc.split_once('\n')?;
        (contents, _) = after_marker.trim_end().rsplit_once('\n')?;
    }
    let mut kept = String::new();
    for (line, code) in contents.lines().zip(code_lines(contents).ok()?) {
        if !code.block.starts_with("provider ") || code.code.starts_with("version") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    Some(kept)
}

/// The name of an item of an object; `None` if it is computed.
fn name_of(key: &ObjectKey) -> Option<String> {
    match key {
        ObjectKey::Ident(name) => Some(name.as_str().to_owned()),
        ObjectKey::Expression(Expression::String(name)) => Some(name.value().clone()),
        ObjectKey::Expression(_) => None,
    }
}

impl Names {
    /// Adds the names in a text that is not parsed.
    fn add_calls_in(&mut self, text: &str) {
        for (at, _) in text.match_indices(GET_ENV) {
            let arguments = &text[at + GET_ENV.len()..];
            let name =
                arguments.trim_start_matches(|c: char| c.is_whitespace() || "(\\\"".contains(c));
            let end = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
            self.environment.insert(name[..end].to_owned());
        }
    }

    /// Adds the words of a command that may be names of variables.
    fn add_command(&mut self, text: &str) {
        for word in text.split(|c| !is_of_name(c)) {
            let is_name = word.len() > 2 && word.starts_with(|c: char| c.is_ascii_uppercase());
            if is_name && !word.contains(|c: char| c.is_ascii_lowercase()) {
                self.environment.insert(word.to_owned());
            }
        }
    }
}

impl Visit for Names {
    fn visit_expr(&mut self, expression: &Expression) {
        match expression {
            Expression::Variable(name) => _ = self.identifiers.insert(name.to_string()),
            // `lookup(local.versions, "vpc")`
            Expression::String(text) if text.chars().all(is_of_name) => {
                self.identifiers.insert(text.value().clone());
            }
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_traversal_operator(&mut self, operator: &TraversalOperator) {
        if let TraversalOperator::GetAttr(name) = operator {
            self.identifiers.insert(name.to_string());
        }
        visit::visit_traversal_operator(self, operator);
    }

    fn visit_func_call(&mut self, call: &FuncCall) {
        match call.name.name.as_str() {
            GET_ENV => {
                if let Some(Expression::String(name)) = call.args.iter().next() {
                    self.environment.insert(name.value().clone());
                }
            }
            RUN_COMMAND => {
                for argument in &call.args {
                    self.add_command(&argument.to_string());
                }
            }
            _ => {}
        }
        visit::visit_func_call(self, call);
    }
}

fn is_of_name(part: char) -> bool {
    part.is_ascii_alphanumeric() || part == '_' || part == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str], inputs: &[&str]) -> Vec<String> {
        let inputs = inputs.iter().map(ToString::to_string).collect();
        let names = environment_names(texts.iter().copied(), &inputs);
        names.into_iter().collect()
    }

    #[test]
    fn a_variable_decides_through_locals_of_any_file() {
        let unit = "locals {\n  common = read_terragrunt_config(\"common.hcl\")\n  tag = get_env(\"TAG\")\n}\nterraform {\n  source = \"a?ref=${local.common.locals.refs[\"vpc\"]}\"\n}\ninputs = {\n  tag = local.tag\n}\n";
        let common = "locals {\n  refs = { vpc = local.default }\n  default = get_env(\"VPC_REF\", \"v1\")\n  region = get_env(\"REGION\")\n}\n";
        assert_eq!(names(&[unit, common], &[]), ["VPC_REF"]);
        assert_eq!(names(&[unit, common], &["tag"]), ["TAG", "VPC_REF"]);
        assert_eq!(
            names(&["{\"locals\": {\"a\": \"${get_env(\\\"A_B\\\")}\"}}"], &[]),
            ["A_B"]
        );
    }

    #[test]
    fn only_what_decides_counts() {
        for (text, expected) in [
            (
                "remote_state {\n  config = {\n    bucket = get_env(\"B\")\n    kms_key_id = get_env(\"K\")\n  }\n}\n",
                "B",
            ),
            (
                "include {\n  path = \"${get_env(\"A\")}/x.hcl\"\n}\niam_role = get_env(\"I\")\n",
                "A",
            ),
            (
                "terraform {\n  source = run_cmd(\"sh\", \"-c\", \"echo $VPC_REF\")\n  before_hook \"x\" {\n    execute = [get_env(\"H\")]\n  }\n}\n",
                "VPC_REF",
            ),
            (
                "generate \"p\" {\n  contents = <<A\nprovider \"aws\" {\n  region = \"${get_env(\"R\")}\"\n}\nA\n}\ngenerate \"m\" {\n  contents = <<A\nmodule \"x\" {\n  source = \"${get_env(\"S\")}\"\n}\nA\n}\n",
                "S",
            ),
            (
                "terraform {\n  extra_arguments \"x\" {\n    arguments = [\"-var-file=${get_env(\"E\")}\"]\n  }\n  extra_arguments \"y\" {\n    arguments = [\"-backend-config=${get_env(\"F\")}\"]\n  }\n}\n",
                "F",
            ),
            (
                "generate \"p\" {\n  contents = <<A\nprovider \"b2\" {\n  key = \"${get_env(\"KEY\")}\"\n}\nterraform {\n  required_providers {\n    b2 = {\n      version = \"${get_env(\"V\")}\"\n    }\n  }\n}\nA\n}\n",
                "V",
            ),
        ] {
            assert_eq!(names(&[text], &[]), [expected], "{text}");
        }
    }
}
