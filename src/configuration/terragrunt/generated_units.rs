//! The units that the stacks of a repository generate
//! (<https://terragrunt.gruntwork.io/docs/features/stacks/>, `pkg/config/stack.go`). provlock
//! generates nothing: it reads the files of a unit where its source is, as if they were copied.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Component as PathPart, Path, PathBuf};
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::Block;

use super::configuration::{self, ParsedFile, unread_variables};
use super::evaluation::{Evaluation, Repository};
use super::merge::Members;
use super::parsing_context::{ParsingContext, VALUES};
use super::stack::{GENERATED_UNITS, INCLUDE, STACK};
use super::unit::{Unit, evaluate_or_unknown, is_unit, local_path};
use crate::diagnostic::Location;
use crate::hcl::evaluate::expression::Evaluator;
use crate::hcl::evaluate::value::{Stop, Unknown, Value};
use crate::system::files::join;
use crate::system::tree::{CopiedDirectory, Kind};

/// Maximum number of stacks of a repository, including generated stacks.
const MOST_STACKS: usize = 10_000;

/// Maximum number of generated units of a repository.
const MOST_UNITS: usize = 50_000;

/// Maximum number of stacks that generate each other. Real ones are two or three.
const MOST_NESTED: usize = 16;

/// Maximum number of steps in which the stacks of a repository are evaluated, because a small stack
/// may generate another one many times.
const MOST_STEPS: usize = 64 << 20;

/// The units that the stacks of a repository generate.
#[derive(Debug, Default)]
pub(crate) struct GeneratedUnits {
    /// By the directory in which they are generated.
    units: BTreeMap<PathBuf, GeneratedUnit>,
    /// The directories of the units that are copies of a directory of the repository.
    by_source: HashMap<PathBuf, Vec<PathBuf>>,
    /// By directory, on disk or generated.
    stacks: BTreeMap<PathBuf, StackReading>,
    /// Whether there are more stacks or units than are read.
    has_more: bool,
}

/// A unit that a stack generates.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedUnit {
    /// Directory in which it is generated, absolute and without symbolic links. It need not exist.
    pub(crate) directory: PathBuf,
    pub(crate) source: Result<GeneratedFrom, Unknown>,
    /// Values that the stack gives to it.
    values: Option<Value>,
    /// Copies of the stacks that generate the stack.
    copies: Vec<CopiedDirectory>,
    /// The files of these stacks.
    stack_files: Vec<PathBuf>,
    /// Whether the stack adds inputs, which are not read.
    has_more_inputs: bool,
    /// Whether the stack needs values that no other stack gives to it, so that only its copies are
    /// run.
    is_of_template: bool,
}

/// The directory that Terragrunt copies to generate a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GeneratedFrom {
    /// A directory of the repository, absolute and without symbolic links.
    Directory(PathBuf),
    /// A directory in a package from elsewhere, and the location of the source.
    Remote(String, Location),
}

/// Result of reading a stack.
#[derive(Debug)]
struct StackReading {
    /// Path of the file in messages.
    shown: PathBuf,
    /// Whether a path or an included file is unknown, so that there may be other units.
    has_unknown_path: bool,
    /// Reason why nothing in it is known.
    unknown: Option<Unknown>,
}

/// A stack that is not read yet.
struct WaitingStack {
    /// Directory in which it is, or is generated.
    directory: PathBuf,
    /// The originals of this directory and of the stacks that generate it.
    originals: Vec<PathBuf>,
    copies: Vec<CopiedDirectory>,
    stack_files: Vec<PathBuf>,
    /// Values that a different stack gives to it.
    values: Option<Value>,
}

/// Reads stacks one after the other.
struct Reader<'a> {
    repository: &'a Repository,
    environment: &'a BTreeMap<String, String>,
    /// Directories of the repository with the file of a stack.
    on_disk: &'a BTreeSet<PathBuf>,
    waiting: VecDeque<WaitingStack>,
    result: GeneratedUnits,
    steps: usize,
}

/// A `unit` or `stack` block.
struct Component {
    is_unit: bool,
    source: Option<Value>,
    /// Location of the source, or of the block without one.
    source_location: Location,
    path: Option<Value>,
    values: Option<Value>,
    /// Whether the source is relative to the source of the stack.
    is_relative_to_source: Result<bool, Stop>,
    /// Whether it is generated beside the stack rather than in [`GENERATED_UNITS`].
    is_beside: Result<bool, Stop>,
    is_enabled: Result<bool, Stop>,
    /// A block in it that is not read.
    unread_block: Option<Location>,
    has_more_inputs: bool,
    /// Location of an attribute that decides where it is generated.
    placement: Location,
}

impl GeneratedUnits {
    /// Reads the stacks in directories of a repository. `environment` is for `get_env`.
    pub(crate) fn read(
        directories: &BTreeSet<PathBuf>,
        repository: &Repository,
        environment: &BTreeMap<String, String>,
    ) -> Self {
        let mut reader = Reader {
            repository,
            environment,
            on_disk: directories,
            waiting: VecDeque::new(),
            result: Self::default(),
            steps: 0,
        };
        for directory in directories {
            reader.waiting.push_back(WaitingStack {
                directory: directory.clone(),
                originals: vec![directory.clone()],
                copies: Vec::new(),
                stack_files: Vec::new(),
                values: None,
            });
        }
        while let Some(stack) = reader.waiting.pop_front() {
            let is_full = reader.result.stacks.len() >= MOST_STACKS
                || reader.result.units.len() >= MOST_UNITS
                || reader.steps >= MOST_STEPS;
            if is_full {
                reader.result.has_more = true;
                break;
            }
            reader.read_stack(&stack);
        }

        let mut generated = reader.result;
        for (directory, unit) in &generated.units {
            if let Ok(GeneratedFrom::Directory(source)) = &unit.source
                && !unit.is_of_template
            {
                let copies = generated.by_source.entry(source.clone()).or_default();
                copies.push(directory.clone());
            }
        }
        generated
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &GeneratedUnit> {
        self.units.values()
    }

    /// The units that are copies of a directory, which is given without symbolic links.
    pub(crate) fn of_source(&self, source: &Path) -> impl Iterator<Item = &GeneratedUnit> {
        let directories = self.by_source.get(source);
        directories
            .into_iter()
            .flatten()
            .filter_map(|directory| self.units.get(directory))
    }

    /// The unit that is generated in a directory, which is given without symbolic links.
    ///
    /// # Errors
    /// No unit is known to be generated there.
    pub(crate) fn unit_at(
        &self,
        directory: &Path,
        repository: &Repository,
    ) -> Result<&GeneratedUnit, Unknown> {
        if let Some(unit) = self.units.get(directory) {
            return Ok(unit);
        }
        if self.has_more {
            let reason = "there are too many stacks in the repository to read all of them";
            return Err(Unknown::new(reason, None));
        }

        // The innermost stack in whose directory the unit would be.
        for above in directory.ancestors().skip(1) {
            let Some(stack) = self.stacks.get(above) else {
                continue;
            };
            if let Some(unknown) = &stack.unknown {
                return Err(unknown.clone());
            }
            let shown = stack.shown.display();
            let below = directory.strip_prefix(above).unwrap_or(directory);
            let path = below.strip_prefix(GENERATED_UNITS).unwrap_or(below);
            let reason = if path != below && self.units.contains_key(&above.join(path)) {
                format!("{shown} generates the unit beside it")
            } else if stack.has_unknown_path {
                format!("{shown} generates units whose paths are not known")
            } else {
                format!("no unit in {shown} has the path {}", path.display())
            };
            return Err(Unknown::new(reason, None));
        }
        let shown = repository.shown_path(&stack_around(directory).join(STACK));
        let reason = format!("{} does not exist", shown.display());
        Err(Unknown::new(reason, None))
    }
}

impl GeneratedUnit {
    /// Reads the unit as if it had been generated from a directory of the repository, or of a
    /// package, which has the path `package` in messages. Returns also the repository with its
    /// copy.
    pub(crate) fn read(
        &self,
        from: &Path,
        package: Option<&Path>,
        repository: &Repository,
        environment: &BTreeMap<String, String>,
    ) -> (Repository, Unit) {
        let mut copies = self.copies.clone();
        copies.push(CopiedDirectory {
            to: self.directory.clone(),
            from: from.to_owned(),
        });
        let mut repository = repository.with_copies(&copies);
        if let Some(shown) = package {
            repository = repository.with_package(from, shown);
        }
        let mut evaluation = Evaluation::new(&repository, environment);
        evaluation.values = given_values(self.values.as_ref(), &self.directory, &repository);
        let mut unit = evaluate_or_unknown(&evaluation, &self.directory);
        unit.inputs.is_partial |= self.has_more_inputs;
        unit.files.extend(self.stack_files.iter().cloned());
        (repository, unit)
    }
}

/// The values of a generated unit or stack: in its block, or else in a file of its source.
fn given_values(
    values: Option<&Value>,
    directory: &Path,
    repository: &Repository,
) -> Option<Value> {
    match values {
        Some(values) if !values.is_null() => Some(values.clone()),
        _ if repository.tree().has(&directory.join(VALUES)) => None,
        _ => Value::object(Members::new()).ok(),
    }
}

/// The directory of the stack that generates units in a directory below [`GENERATED_UNITS`].
fn stack_around(directory: &Path) -> PathBuf {
    let mut stack = PathBuf::new();
    for part in directory.components() {
        if part.as_os_str() == GENERATED_UNITS {
            break;
        }
        stack.push(part);
    }
    stack
}

impl Reader<'_> {
    /// Adds the units of a stack, and the stacks that it generates.
    fn read_stack(&mut self, stack: &WaitingStack) {
        let repository = self.repository.with_copies(&stack.copies);
        let path = stack.directory.join(STACK);
        let mut reading = StackReading {
            shown: repository.shown_path(&path),
            has_unknown_path: false,
            unknown: None,
        };
        match self.read_components(stack, &path, &repository, &mut reading) {
            Ok(components) => {
                // A stack that only other stacks run lacks their values.
                let is_of_template = stack.values.is_none()
                    && !repository.tree().has(&stack.directory.join(VALUES))
                    && components.needs_values;
                for component in components.list {
                    self.add_component(component, stack, &repository, is_of_template, &mut reading);
                }
            }
            Err(unknown) => reading.unknown = Some(unknown),
        }
        self.result.stacks.insert(stack.directory.clone(), reading);
    }

    /// Evaluates the blocks of a stack.
    fn read_components(
        &mut self,
        stack: &WaitingStack,
        path: &Path,
        repository: &Repository,
        reading: &mut StackReading,
    ) -> Result<Components, Unknown> {
        let shown = reading.shown.display();
        let tree = repository.tree();
        // A link could resolve to a file that must not be quoted.
        if tree.own_kind(path) == Some(Kind::Link) {
            return Err(Unknown::new(format!("{shown} is a symbolic link"), None));
        }

        let mut evaluation = Evaluation::new(repository, self.environment);
        if !stack.copies.is_empty() {
            evaluation.values = given_values(stack.values.as_ref(), &stack.directory, repository);
        }
        let context = ParsingContext::new(&stack.directory, &stack.directory);
        let parsed = match ParsedFile::parse(&evaluation, path, context.clone()) {
            Ok(parsed) => parsed,
            Err(Stop::Needs(_)) => {
                return Err(Unknown::new(format!("{shown} cannot be parsed"), None));
            }
            Err(_) => return Err(Unknown::new(format!("{shown} cannot be read"), None)),
        };
        reading.has_unknown_path = parsed.body.has_blocks(INCLUDE);

        let mut variables = unread_variables();
        let values = configuration::values_of_stack(&evaluation, &context);
        variables.insert("values".to_owned(), values);
        let mut list = Vec::new();
        let evaluated = parsed.evaluate_locals(&mut variables);
        if evaluated.is_ok() {
            for block in parsed.body.blocks() {
                if ["unit", "stack"].contains(&block.ident.as_str()) {
                    list.push(parsed.with_evaluator(&variables, |evaluator| {
                        Component::read(block, &parsed, evaluator)
                    }));
                }
            }
        }
        self.steps = self.steps.saturating_add(evaluation.allowance.spent());
        if let Err(stop) = evaluated {
            return Err(Arc::unwrap_or_clone(stop.into_unknown_at(|| None)));
        }
        Ok(Components {
            list,
            needs_values: parsed.file.text.contains("values."),
        })
    }

    /// Adds the unit of a block, or its stack. If two units have the same path, neither is
    /// known.
    fn add_component(
        &mut self,
        component: Component,
        stack: &WaitingStack,
        repository: &Repository,
        is_of_template: bool,
        reading: &mut StackReading,
    ) {
        let Ok(path) = component.generated_path() else {
            reading.has_unknown_path = true;
            return;
        };
        // It is not generated.
        if component.is_enabled == Ok(false) {
            return;
        }
        // It may be in one of two directories.
        if component.is_beside.is_err() {
            reading.has_unknown_path = true;
        }
        let mut directory = stack.directory.clone();
        if component.is_beside != Ok(true) {
            directory.push(GENERATED_UNITS);
        }
        let directory = join(&directory, &path);
        let source = component.generated_from(stack, repository);
        let mut stack_files = stack.stack_files.clone();
        let file = stack.directory.join(STACK);
        stack_files.push(repository.tree().original(&file).into_owned());
        if !component.is_unit {
            self.add_stack(component, directory, source, stack, stack_files, reading);
            return;
        }

        let unit = GeneratedUnit {
            directory: directory.clone(),
            source,
            values: component.values,
            copies: stack.copies.clone(),
            stack_files,
            has_more_inputs: component.has_more_inputs,
            is_of_template,
        };
        if let Some(other) = self.result.units.insert(directory.clone(), unit) {
            let reason = format!(
                "several units in {} have the path {}",
                reading.shown.display(),
                path.display()
            );
            let unknown = Unknown::new(reason, None);
            self.result.units.insert(
                directory,
                GeneratedUnit {
                    source: Err(unknown),
                    ..other
                },
            );
        }
    }

    /// Adds a stack that a stack generates to the waiting ones, unless it is on disk already.
    fn add_stack(
        &mut self,
        component: Component,
        directory: PathBuf,
        source: Result<GeneratedFrom, Unknown>,
        stack: &WaitingStack,
        stack_files: Vec<PathBuf>,
        reading: &mut StackReading,
    ) {
        // Its file is read on its own.
        if self.on_disk.contains(&directory) {
            return;
        }
        let unknown = match source {
            Ok(GeneratedFrom::Directory(from)) => {
                let is_circle = stack.originals.contains(&from);
                if !is_circle && stack.originals.len() < MOST_NESTED {
                    let mut originals = stack.originals.clone();
                    originals.push(from.clone());
                    let mut copies = stack.copies.clone();
                    copies.push(CopiedDirectory {
                        to: directory.clone(),
                        from,
                    });
                    self.waiting.push_back(WaitingStack {
                        directory,
                        originals,
                        copies,
                        stack_files,
                        values: component.values,
                    });
                    return;
                }
                let reason = if is_circle {
                    "the stack generates itself"
                } else {
                    "too many stacks generate each other"
                };
                Unknown::new(reason, Some(component.source_location))
            }
            Ok(GeneratedFrom::Remote(_, location)) => {
                let reason = "the source of the stack is not in the repository";
                Unknown::new(reason, Some(location))
            }
            Err(unknown) => unknown,
        };
        let unread = StackReading {
            shown: reading.shown.clone(),
            has_unknown_path: false,
            unknown: Some(unknown),
        };
        self.result.stacks.insert(directory, unread);
    }
}

/// The blocks of a stack.
struct Components {
    list: Vec<Component>,
    /// Whether the stack refers to values that a different stack gives to it.
    needs_values: bool,
}

/// Whether a block is an `autoinclude` that adds nothing but inputs and dependencies on other
/// units.
fn adds_only_inputs(block: &Block) -> bool {
    if block.ident.as_str() != "autoinclude" {
        return false;
    }
    let mut attributes = block.body.attributes();
    let mut blocks = block.body.blocks();
    attributes.all(|attribute| attribute.key.as_str() == "inputs")
        && blocks.all(|inner| ["dependency", "dependencies"].contains(&inner.ident.as_str()))
}

impl Component {
    /// Evaluates the attributes of a `unit` or `stack` block, and notes the blocks in it.
    fn read(block: &Block, parsed: &ParsedFile<'_>, evaluator: &Evaluator) -> Self {
        let is_unit = block.ident.as_str() == "unit";
        let mut source_location =
            Location::new(&parsed.file, block.ident.span().unwrap_or_default());
        let mut placement = source_location.clone();
        let mut source = None;
        let mut path = None;
        let mut values = None;
        let mut is_relative_to_source = Ok(false);
        let mut is_beside = Ok(false);
        let mut is_enabled = Ok(true);
        for attribute in block.body.attributes() {
            let value = &attribute.value;
            match attribute.key.as_str() {
                "source" => {
                    source_location = Location::new(&parsed.file, value.span().unwrap_or_default());
                    source = Some(evaluator.evaluate(value));
                }
                "path" => path = Some(evaluator.evaluate(value)),
                "values" => values = Some(evaluator.evaluate(value)),
                "update_source_with_cas" => {
                    is_relative_to_source = evaluator.evaluate(value).as_bool();
                }
                name @ ("no_dot_terragrunt_stack" | "enabled") => {
                    let is_true = evaluator.evaluate(value).as_bool();
                    if is_true.is_err() {
                        placement =
                            Location::new(&parsed.file, attribute.span().unwrap_or_default());
                    }
                    if name == "enabled" {
                        is_enabled = is_true;
                    } else {
                        is_beside = is_true;
                    }
                }
                _ => {}
            }
        }
        let mut has_more_inputs = false;
        let mut unread = None;
        for inner in block.body.blocks() {
            if is_unit && adds_only_inputs(inner) {
                has_more_inputs = true;
            } else {
                unread.get_or_insert(inner.ident.span().unwrap_or_default());
            }
        }
        Self {
            is_unit,
            source,
            source_location,
            path,
            values,
            is_relative_to_source,
            is_beside,
            is_enabled,
            unread_block: unread.map(|span| Location::new(&parsed.file, span)),
            has_more_inputs,
            placement,
        }
    }

    /// The path below the directory in which components are generated. Terragrunt refuses a path
    /// that leads out of this directory.
    fn generated_path(&self) -> Result<PathBuf, Stop> {
        let Some(path) = &self.path else {
            return Err(Stop::failure("there is no path"));
        };
        let written = path.as_string()?;
        let path = join(Path::new(""), &*written);
        let is_below = path
            .components()
            .all(|part| matches!(part, PathPart::Normal(_)));
        if !is_below || path.as_os_str().is_empty() {
            return Err(Stop::failure("the path leads out of the stack"));
        }
        Ok(path)
    }

    /// The directory that is copied; an error if it is unknown, or not all of the block is read.
    fn generated_from(
        &self,
        stack: &WaitingStack,
        repository: &Repository,
    ) -> Result<GeneratedFrom, Unknown> {
        let kind = if self.is_unit { "unit" } else { "stack" };
        if self.is_beside.is_err() || self.is_enabled.is_err() {
            let reason = format!("the {kind} may be generated elsewhere, or not at all");
            return Err(Unknown::new(reason, Some(self.placement.clone())));
        }
        if let Some(block) = &self.unread_block {
            let reason = format!("blocks in {kind}s of stacks are not read");
            return Err(Unknown::new(reason, Some(block.clone())));
        }
        let Some(source) = &self.source else {
            return Err(self.unknown_source(format!("the {kind} has no source")));
        };
        let source = source.as_string().map_err(|stop| {
            let unknown = stop.into_unknown_at(|| Some(self.source_location.clone()));
            Arc::unwrap_or_clone(unknown)
        })?;

        let Some(path) = local_path(&source) else {
            let location = self.source_location.clone();
            return Ok(GeneratedFrom::Remote(source.to_string(), location));
        };
        let tree = repository.tree();
        let mut base = Cow::Borrowed(stack.directory.as_path());
        if self.is_relative_to_source != Ok(false) {
            base = tree.original(&stack.directory);
        }
        let Ok(directory) = repository.resolve(&join(&base, path)) else {
            let reason = format!("the source of the {kind} is not in the repository");
            return Err(self.unknown_source(reason));
        };
        let (name, has_file) = if self.is_unit {
            ("terragrunt.hcl", is_unit(tree, &directory))
        } else {
            (STACK, tree.is_file(&directory.join(STACK)))
        };
        if !has_file {
            let reason = format!("the source of the {kind} has no {name}");
            return Err(self.unknown_source(reason));
        }
        let original = tree.original(&directory).into_owned();
        Ok(GeneratedFrom::Directory(original))
    }

    fn unknown_source(&self, reason: String) -> Unknown {
        Unknown::new(reason, Some(self.source_location.clone()))
    }
}
