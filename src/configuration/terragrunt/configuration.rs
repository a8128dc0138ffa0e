//! Reads a configuration with the files that it includes (`pkg/config/config.go`, `include.go`,
//! `locals.go`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::expr::Expression;
use hcl_edit::structure::{Attribute, Block as HclBlock, Body};
use hcl_edit::visit::Visit as _;

use super::evaluation::Evaluation;
use super::extra_arguments::{InitArguments, may_set_variables};
use super::merge::{Block, Configuration, Members, RefusedInclude, Strategy, merge};
use super::parsing_context::{CONFIGURATION, ParsingContext, VALUES};
use crate::configuration::file_reads::ReadingCalls;
use crate::configuration::syntax;
use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::expression::{Evaluator, Functions};
use crate::hcl::evaluate::references::References;
use crate::hcl::evaluate::value::{Stop, Unknown, Value};
use crate::hcl::{parse, scan};
use crate::system::files::join;

/// Depth of the configuration of a unit.
const DEPTH_OF_UNIT: usize = 0;
/// Depth of a file that the configuration of a unit includes.
const DEPTH_OF_INCLUDE: usize = 1;
/// Largest number of files that a configuration includes; real ones include one to three.
const MAX_INCLUDES: usize = 64;

/// A parsed file, and the context of its expressions.
pub(super) struct ParsedFile<'a> {
    evaluation: &'a Evaluation<'a>,
    context: ParsingContext,
    pub(super) file: Arc<SourceFile>,
    pub(super) body: Body,
}

/// An `include` block whose file was not read yet.
struct IncludeBlock<'a> {
    block: &'a HclBlock,
    members: Members,
    /// Path of the included file, or why it is not known.
    path_or_stop: Result<PathBuf, Stop>,
}

/// A local that was not evaluated yet.
struct Local<'a> {
    attribute: &'a Attribute,
    references: References,
}

impl Local<'_> {
    /// Whether the local refers to none of the waiting ones.
    fn is_ready(&self, waiting: &BTreeMap<&str, Local<'_>>) -> bool {
        self.references
            .names
            .iter()
            .all(|(root, name)| root != "local" || !waiting.contains_key(name.as_str()))
    }
}

struct Include {
    label: Option<String>,
    /// Value of `expose`.
    expose: Value,
    strategy: Result<Strategy, Stop>,
    configuration: Result<Configuration, Stop>,
    /// Whether the path is unknown because a plain search found nothing
    /// ([`RefusedInclude::is_plain_search`]).
    is_plain_search: bool,
    location: Option<Location>,
}

/// Reads the configuration in a file, merged with the files that it includes.
pub(super) fn read(
    evaluation: &Evaluation,
    path: &Path,
    context: ParsingContext,
) -> Result<Configuration, Stop> {
    let mut parsed = ParsedFile::parse_own(evaluation, path, context, DEPTH_OF_UNIT)?;
    let mut variables = unread_variables();
    variables.insert(
        "values".to_owned(),
        values_of_stack(evaluation, &parsed.context),
    );
    let includes = parsed.read_includes(&variables)?;
    variables.insert("include".to_owned(), exposed_includes(&includes)?);
    let mut configuration = parsed.evaluate(variables)?;
    if let Some(unread) = parsed.autoinclude() {
        configuration.unknown.push(Arc::new(unread));
    }
    // Terragrunt only runs the copies that a stack generates, beside which other files are.
    let is_for_stack = parsed.file.text.contains("values.");
    configuration.needs_values = is_for_stack && lacks_values(evaluation, &parsed.context);
    // A later include overrides an earlier one, and the file itself overrides all.
    for Include {
        strategy,
        configuration: parent,
        location,
        is_plain_search,
        ..
    } in includes.into_iter().rev()
    {
        match (strategy, parent) {
            (Ok(Strategy::NoMerge), _) => {}
            (Ok(strategy), Ok(parent)) => configuration = merge(parent, configuration, strategy)?,
            (Err(stop), _) | (_, Err(stop)) => {
                let unknown = stop.into_unknown_at(|| location);
                if unknown.is_failure && !is_for_stack {
                    configuration.refused_includes.push(RefusedInclude {
                        location: unknown.location.clone(),
                        is_plain_search,
                    });
                }
                configuration.unknown.push(unknown);
            }
        }
    }
    Ok(configuration)
}

/// Whether the path of an `include` block is a call of `find_in_parent_folders` with nothing but
/// the plain name of a file, or without one.
fn is_plain_search(include: &HclBlock) -> bool {
    let Some(path) = include.body.get_attribute("path") else {
        return false;
    };
    let Expression::FuncCall(call) = &path.value else {
        return false;
    };
    let is_search =
        call.name.namespace.is_empty() && call.name.name.as_str() == "find_in_parent_folders";
    let arguments: Vec<&Expression> = call.args.iter().collect();
    match arguments.as_slice() {
        [] => is_search,
        [Expression::String(name)] => is_search && is_plain_name(name),
        _ => false,
    }
}

/// Whether a path is the name of a file, without a directory.
fn is_plain_name(path: &str) -> bool {
    !path.contains(['/', '\\']) && Path::new(path).file_name() == Some(OsStr::new(path))
}

/// Variables whose values are not read.
pub(super) fn unread_variables() -> Members {
    [
        ("dependency", "outputs of other units are not read"),
        ("feature", "features are not read"),
        ("values", "values of stacks are not read"),
    ]
    .map(|(name, reason)| {
        let unknown = Unknown::new(reason, None);
        (name.to_owned(), Value::Unknown(Arc::new(unknown)))
    })
    .into()
}

/// Whether the values that a stack gives to the configuration of a directory are not there.
fn lacks_values(evaluation: &Evaluation, context: &ParsingContext) -> bool {
    let is_given = evaluation.values.is_some() && context.directory == context.original;
    let path = context.directory.join(VALUES);
    !is_given && !evaluation.repository.tree().has(&path)
}

/// The values that a stack gives to the configuration of a directory, from the file that Terragrunt
/// writes beside it.
pub(super) fn values_of_stack(evaluation: &Evaluation, context: &ParsingContext) -> Value {
    let directory = &context.directory;
    if lacks_values(evaluation, context) {
        return unread_variables().remove("values").unwrap_or(Value::Null);
    }
    if let Some(values) = &evaluation.values
        && *directory == context.original
    {
        return values.clone();
    }
    let path = directory.join(VALUES);
    let context = ParsingContext::new(directory, &context.original);
    let read = ParsedFile::parse(evaluation, &path, context)
        .and_then(|file| Value::object(file.evaluate_attributes(&Members::new(), &file.body)));
    match read {
        Ok(values) => values,
        Err(stop) => Value::Unknown(stop.into_unknown_at(|| None)),
    }
}

/// Reads a file that the configuration of `context` includes. It may not include other files.
fn read_included(
    evaluation: &Evaluation,
    path: &Path,
    context: &ParsingContext,
) -> Result<Configuration, Stop> {
    let file = path.parent().unwrap_or(path).to_owned();
    let context = ParsingContext {
        file,
        included: Some(path.to_owned()),
        ..context.clone()
    };
    let parsed = ParsedFile::parse_own(evaluation, path, context, DEPTH_OF_INCLUDE)?;
    if parsed.body.has_blocks("include") {
        return Err(Stop::failure(
            "an included file includes a file, which Terragrunt refuses",
        ));
    }
    parsed.evaluate(unread_variables())
}

impl<'a> ParsedFile<'a> {
    /// [`ParsedFile::parse`] for a file at this depth of includes. Terragrunt refuses the unit if
    /// it is malformed. A file that `read_terragrunt_config` reads may be malformed, because there
    /// may be a default.
    fn parse_own(
        evaluation: &'a Evaluation<'a>,
        path: &Path,
        context: ParsingContext,
        depth: usize,
    ) -> Result<Self, Stop> {
        let parsed = Self::parse(evaluation, path, context);
        if parsed.is_err()
            && evaluation.depth() == depth
            && let Ok(file) = evaluation.read_file(path)
            && let Some(fault) = syntax::native::fault(&file.text)
        {
            evaluation
                .malformed
                .borrow_mut()
                .get_or_insert_with(|| syntax::diagnose(&file, fault));
        }
        parsed
    }

    /// Reads and parses a file of Terragrunt, without evaluating it. Files in JSON are not read.
    pub(super) fn parse(
        evaluation: &'a Evaluation<'a>,
        path: &Path,
        context: ParsingContext,
    ) -> Result<Self, Stop> {
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            evaluation.repository.note_unread(path.to_owned());
            return Err(Stop::unknown("configurations in JSON are not read"));
        }
        let file = evaluation.read_file(path)?;
        let file = match file.text.strip_prefix('\u{feff}') {
            Some(text) => SourceFile::new(&file.path, text),
            None => file,
        };
        if let Some(fault) = scan::find_lone_return(file.text.as_bytes()) {
            return Err(malformed(&file, fault.span.start, &fault.message));
        }
        match parse::body(&file.text) {
            Ok(body) => Ok(Self {
                evaluation,
                context,
                file,
                body,
            }),
            Err(error) => {
                let offset = error.location().offset().min(file.text.len());
                Err(malformed(&file, offset, error.message()))
            }
        }
    }

    /// The reason why the configuration may contain more: Terragrunt merges a file that the stack
    /// of a unit writes.
    fn autoinclude(&self) -> Option<Unknown> {
        const NAME: &str = "terragrunt.autoinclude.hcl";
        let path = self.context.directory.join(NAME);
        if !self.evaluation.repository.tree().has(&path) {
            return None;
        }
        self.evaluation.repository.note_unread(path);
        Some(Unknown::new(format!("{NAME} is not read"), None))
    }

    /// Runs a step with the evaluator of the file.
    pub(super) fn with_evaluator<T>(
        &self,
        variables: &Members,
        step: impl FnOnce(&Evaluator) -> T,
    ) -> T {
        let Self {
            evaluation,
            context,
            ..
        } = self;
        let functions: &Functions = &|name, arguments| match name {
            "read_terragrunt_config" => {
                Some(read_terragrunt_config(evaluation, context, arguments))
            }
            _ => context.call(evaluation, name, arguments),
        };
        let location_of = &|span| Some(Location::new(&self.file, span));
        step(&Evaluator {
            allowance: &evaluation.allowance,
            location_of,
            variables,
            functions,
        })
    }

    fn evaluate_attributes(&self, variables: &Members, body: &Body) -> Members {
        self.with_evaluator(variables, |evaluator| attributes(body, evaluator))
    }

    /// Reads the `include` blocks and their files, and adds the files to the context.
    fn read_includes(&mut self, variables: &Members) -> Result<Vec<Include>, Stop> {
        let mut blocks = Vec::new();
        for block in self.body.get_blocks("include") {
            if blocks.len() == MAX_INCLUDES {
                return Err(Stop::unknown("too many files are included"));
            }
            let members = self.evaluate_attributes(variables, &block.body);
            let path = match members.get("path") {
                Some(path) => path.as_string(),
                None => Err(Stop::failure("the include has no path")),
            };
            blocks.push(IncludeBlock {
                block,
                members,
                path_or_stop: path.map(|path| join(&self.context.directory, &*path)),
            });
        }

        // Functions in an included file can refer to all of them.
        self.context.includes = blocks
            .iter()
            .map(|include| {
                (
                    label_of(include.block).unwrap_or_default(),
                    include.path_or_stop.clone().ok(),
                )
            })
            .collect();
        Ok(blocks
            .into_iter()
            .map(|include| self.read_include(include))
            .collect())
    }

    /// Reads the file of an `include` block, and how it is merged. A strategy or a configuration
    /// that is not known is an error in its field.
    fn read_include(&self, include: IncludeBlock<'_>) -> Include {
        let IncludeBlock {
            block,
            members,
            path_or_stop,
        } = include;
        let is_plain_search = path_or_stop.is_err() && is_plain_search(block);
        let configuration = match path_or_stop {
            Ok(path) => self
                .evaluation
                .one_deeper(|| read_included(self.evaluation, &path, &self.context)),
            Err(stop) => Err(stop),
        };
        Include {
            label: label_of(block),
            is_plain_search,
            expose: members.get("expose").cloned().unwrap_or(Value::Bool(false)),
            strategy: match members.get("merge_strategy") {
                Some(value) => merge_strategy(value),
                None => Ok(Strategy::Shallow),
            },
            configuration,
            location: block.span().map(|_| location(&self.file, block)),
        }
    }

    /// Evaluates the file without its includes.
    fn evaluate(&self, mut variables: Members) -> Result<Configuration, Stop> {
        self.evaluate_locals(&mut variables)?;
        self.note_reads(&variables);
        let locals = variables.get("local").cloned().unwrap_or(Value::Null);
        Ok(self.with_evaluator(&variables, |evaluator| {
            self.evaluate_blocks(evaluator, locals)
        }))
    }

    /// Notes the files that calls in the file may read, and the units whose outputs it uses.
    fn note_reads(&self, variables: &Members) {
        let mut directories = vec![self.context.file.clone()];
        for other in [&self.context.directory, &self.context.original] {
            if !directories.contains(other) {
                directories.push(other.clone());
            }
        }
        let mut calls = Vec::new();
        let mut dependencies = Vec::new();
        self.with_evaluator(variables, |evaluator| {
            let evaluate = |argument: &Expression| evaluator.evaluate(argument);
            let mut visitor = ReadingCalls::new(&evaluate, &directories);
            visitor.visit_body(&self.body);
            calls = visitor.calls;
            for block in self.body.get_blocks("dependency") {
                let mut unit = None;
                if let Some(path) = block.body.get_attribute("config_path")
                    && let Ok(path) = evaluator.evaluate(&path.value).as_string()
                {
                    unit = Some(join(&self.context.directory, &*path));
                }
                dependencies.push((label_of(block).unwrap_or_default(), unit));
            }
        });

        let mut reads = self.evaluation.reads.borrow_mut();
        let locals: Vec<_> = self.body.get_blocks("locals").collect();
        let inputs = self.body.get_attribute("inputs").and_then(Span::span);
        for call in &calls {
            let mut spans = locals.iter().filter_map(|block| block.span());
            if spans.any(|span| span.contains(&call.span.start)) {
                reads.of_locals.add(call.reads.clone());
            }
            let is_input = inputs
                .as_ref()
                .is_some_and(|span| span.contains(&call.span.start));
            // Inputs decide on nothing.
            if !is_input {
                reads.uncertain.add(call.reads.uncertain());
            }
        }
        let path = self.file.path.clone();
        reads.by_file.entry(path).or_default().extend(calls);
        for (label, unit) in dependencies {
            reads.dependencies.entry(label).or_default().insert(unit);
        }
    }

    /// Adds the variable `local`. Like Terragrunt, evaluates in each round the locals whose
    /// references are all known.
    pub(super) fn evaluate_locals(&self, variables: &mut Members) -> Result<(), Stop> {
        let mut waiting = BTreeMap::new();
        for block in self.body.get_blocks("locals") {
            for attribute in block.body.attributes() {
                let local = Local {
                    attribute,
                    references: References::of(&attribute.value),
                };
                waiting.insert(attribute.key.as_str(), local);
            }
        }

        let mut values = Members::new();
        loop {
            variables.insert("local".to_owned(), Value::object(values.clone())?);
            self.evaluation.allowance.spend_steps(waiting.len())?;
            self.evaluation
                .allowance
                .spend_on_bytes(variables["local"].weight())?;
            let ready: Vec<&str> = waiting
                .iter()
                .filter(|(_, local)| local.is_ready(&waiting))
                .map(|(name, _)| *name)
                .collect();
            if ready.is_empty() {
                break;
            }
            for name in ready {
                let Some(local) = waiting.remove(name) else {
                    continue;
                };
                let expression = &local.attribute.value;
                let value =
                    self.with_evaluator(variables, |evaluator| evaluator.evaluate(expression));
                values.insert(name.to_owned(), value);
            }
        }

        // The rest refers to itself, directly or through others.
        for (name, local) in waiting {
            let span = local.attribute.span();
            let reason = format!("the local \"{name}\" refers to itself");
            let unknown = Stop::Failure(reason)
                .into_unknown_at(|| span.map(|span| Location::new(&self.file, span)));
            values.insert(name.to_owned(), Value::Unknown(unknown));
        }
        variables.insert("local".to_owned(), Value::object(values)?);
        Ok(())
    }

    /// The blocks and attributes of a file that are merged with other files.
    fn evaluate_blocks(&self, evaluator: &Evaluator, locals: Value) -> Configuration {
        let body = &self.body;
        let mut unknown = Vec::new();
        let mut generate = BTreeMap::new();
        for block in body.get_blocks("generate") {
            let label = label_of(block).unwrap_or_default();
            generate.insert(label, self.evaluate_block(block, evaluator));
        }
        // Terragrunt accepts a map of blocks as an argument, too.
        if let Some((value, location)) = self.located_value_outside_of_blocks("generate", evaluator)
        {
            match named_blocks(&value, location.as_ref()) {
                Ok(blocks) => generate.extend(blocks),
                Err(stop) => unknown.push(stop.into_unknown_at(|| location)),
            }
        }
        let mut remote_state = self.evaluate_first_block("remote_state", evaluator);
        if let Some((value, location)) =
            self.located_value_outside_of_blocks("remote_state", evaluator)
        {
            match value.as_object() {
                Ok(members) => {
                    remote_state = Some(Block {
                        members: members.clone(),
                        location,
                    });
                }
                Err(stop) => unknown.push(stop.into_unknown_at(|| location)),
            }
        }
        Configuration {
            terraform: self.evaluate_first_block("terraform", evaluator),
            generate,
            remote_state,
            program: self.value_outside_of_blocks("terraform_binary", evaluator),
            has_download_directory: body.has_attribute("download_dir"),
            locals,
            inputs: self.value_outside_of_blocks("inputs", evaluator),
            may_pass_flags: self.may_pass_flags(evaluator),
            init_arguments: self.init_arguments(evaluator),
            unknown,
            refused_includes: Vec::new(),
            needs_values: false,
        }
    }

    fn evaluate_first_block(&self, name: &str, evaluator: &Evaluator) -> Option<Block> {
        let block = self.body.get_blocks(name).next()?;
        Some(self.evaluate_block(block, evaluator))
    }

    fn evaluate_block(&self, block: &HclBlock, evaluator: &Evaluator) -> Block {
        let source = block.body.get_attribute("source");
        let location = match source.and_then(|source| source.value.span()) {
            Some(span) => Location::new(&self.file, span),
            None => location(&self.file, block),
        };
        Block {
            members: attributes(&block.body, evaluator),
            location: Some(location),
        }
    }

    /// The value of an attribute outside of blocks.
    fn value_outside_of_blocks(&self, name: &str, evaluator: &Evaluator) -> Option<Value> {
        let (value, _) = self.located_value_outside_of_blocks(name, evaluator)?;
        Some(value)
    }

    /// The value and the location of an attribute outside of blocks.
    fn located_value_outside_of_blocks(
        &self,
        name: &str,
        evaluator: &Evaluator,
    ) -> Option<(Value, Option<Location>)> {
        let expression = &self.body.get_attribute(name)?.value;
        let span = expression.span();
        let location = span.map(|span| Location::new(&self.file, span));
        Some((evaluator.evaluate(expression), location))
    }

    /// The arguments of `extra_arguments` that decide what `init` installs.
    fn init_arguments(&self, evaluator: &Evaluator) -> InitArguments {
        let mut arguments = InitArguments::default();
        for block in self.extra_arguments() {
            let label = label_of(block).unwrap_or_default();
            arguments.add_block(label, &attributes(&block.body, evaluator));
        }
        arguments
    }

    fn extra_arguments(&self) -> impl Iterator<Item = &HclBlock> {
        self.body
            .get_blocks("terraform")
            .flat_map(|block| block.body.get_blocks("extra_arguments"))
    }

    /// Whether Terragrunt may pass flags with values of variables, by its `extra_arguments`.
    fn may_pass_flags(&self, evaluator: &Evaluator) -> bool {
        const FILES: [&str; 3] = ["required_var_files", "optional_var_files", "env_vars"];
        for block in self.extra_arguments() {
            if let Some(arguments) = block.body.get_attribute("arguments")
                && may_set_variables(&evaluator.evaluate(&arguments.value))
            {
                return true;
            }
            if FILES.iter().any(|name| block.body.has_attribute(name)) {
                return true;
            }
        }
        false
    }
}

/// `read_terragrunt_config(path[, default])`: a configuration with its own context.
fn read_terragrunt_config(
    evaluation: &Evaluation,
    context: &ParsingContext,
    arguments: &[Value],
) -> Result<Value, Stop> {
    let ([path] | [path, _]) = arguments else {
        return Err(Stop::failure("takes a path and a default"));
    };
    let mut path = join(&context.directory, &*path.as_string()?);
    let repository = evaluation.repository;
    if let Ok(directory) = repository.resolve(&path)
        && repository.tree().is_dir(&directory)
    {
        path.push(CONFIGURATION);
    }

    // Only a file that certainly does not exist is replaced by the default.
    if let Some(default) = arguments.get(1)
        && let Err(Stop::Failure(_)) = repository.resolve(&path)
    {
        return Ok(default.clone());
    }
    if path.ends_with("terragrunt.stack.hcl") || path.ends_with("terragrunt.values.hcl") {
        repository.note_unread(path);
        return Err(Stop::unknown(
            "stacks and values are not read as configurations",
        ));
    }
    // Functions in the file refer to its own directory.
    let inner = ParsingContext::new(path.parent().unwrap_or(&path), &context.original);
    let configuration = evaluation.one_deeper(|| read(evaluation, &path, inner))?;
    configuration.to_value()
}

/// Parses the `merge_strategy` of an include.
fn merge_strategy(value: &Value) -> Result<Strategy, Stop> {
    match &*value.as_string()? {
        "shallow" => Ok(Strategy::Shallow),
        "deep" => Ok(Strategy::Deep),
        "no_merge" => Ok(Strategy::NoMerge),
        _ => Err(Stop::failure("there is no such merge strategy")),
    }
}

/// The value of the variable `include`: the exposed files by label, or the only one without a
/// label.
fn exposed_includes(includes: &[Include]) -> Result<Value, Stop> {
    let mut members = BTreeMap::new();
    for include in includes {
        let value = match include.expose.as_bool() {
            Ok(false) => continue,
            Ok(true) => match &include.configuration {
                Ok(configuration) => configuration.to_value(),
                Err(stop) => Err(stop.clone()),
            },
            Err(stop) => Err(stop),
        };
        let value = match value {
            Ok(value) => value,
            Err(stop) => Value::Unknown(stop.into_unknown_at(|| include.location.clone())),
        };
        let Some(label) = &include.label else {
            return Ok(value);
        };
        members.insert(label.clone(), value);
    }
    Value::object(members)
}

/// Returns the members of `generate = { name = { … } }` as blocks.
fn named_blocks(value: &Value, location: Option<&Location>) -> Result<Vec<(String, Block)>, Stop> {
    let mut blocks = Vec::new();
    for (name, value) in value.as_object()? {
        let block = Block {
            members: value.as_object()?.clone(),
            location: location.cloned(),
        };
        blocks.push((name.clone(), block));
    }
    Ok(blocks)
}

/// The error for a file that Terragrunt cannot parse.
fn malformed(file: &Arc<SourceFile>, offset: usize, message: &str) -> Stop {
    let reason = format!("the file cannot be parsed: {message}");
    let unknown = Unknown::new(reason, Some(Location::new(file, offset..offset)));
    Stop::Needs(Arc::new(Unknown {
        is_failure: true,
        ..unknown
    }))
}

fn attributes(body: &Body, evaluator: &Evaluator) -> Members {
    let mut members = Members::new();
    for attribute in body.attributes() {
        let value = evaluator.evaluate(&attribute.value);
        members.insert(attribute.key.to_string(), value);
    }
    members
}

/// The first label of a block.
fn label_of(block: &HclBlock) -> Option<String> {
    block.labels.first().map(|label| label.as_str().to_owned())
}

/// Location of a block's type.
fn location(file: &Arc<SourceFile>, block: &HclBlock) -> Location {
    Location::new(file, block.ident.span().unwrap_or_default())
}
