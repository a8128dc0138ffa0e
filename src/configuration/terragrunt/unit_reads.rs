//! Files that functions in the files of a unit may read, and units whose outputs it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use hcl_edit::Span as _;
use hcl_edit::expr::{Expression, Traversal, TraversalOperator};
use hcl_edit::structure::Body;
use hcl_edit::visit::{self, Visit};

use crate::configuration::file_reads::{CallReads, FileReads};
use crate::diagnostic::Location;
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::expression::Evaluator;
use crate::hcl::evaluate::references::depends_on_names;

/// Files with the values of a unit that a stack generates.
const VALUES: [&str; 2] = ["/terragrunt.stack.hcl", "/terragrunt.values.hcl"];

/// The calls in the files of a unit, with the files that they may read.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitReads {
    /// By the paths of the files, as messages show them.
    pub(super) by_file: BTreeMap<PathBuf, Vec<CallReads>>,
    /// The files that the locals of all files may read.
    pub(super) of_locals: FileReads,
    /// The files at paths that are not known. Any unknown value may decide on these paths, also
    /// through locals.
    pub(super) uncertain: FileReads,
    /// Directories of other units, by the labels of the `dependency` blocks; `None` for a path
    /// that is not known.
    pub(super) dependencies: BTreeMap<String, BTreeSet<Option<PathBuf>>>,
}

impl UnitReads {
    /// The files on which an expression at a location depends. Without an expression there, the
    /// files that its file may read.
    pub(crate) fn of_expression_at(&self, location: &Location) -> FileReads {
        let text = &location.file.text;
        let own = text.get(location.span.clone()).unwrap_or_default();
        let Ok(expression) = own.parse::<Expression>() else {
            return self.of_file(location);
        };
        let was_evaluated = self.by_file.contains_key(location.path());
        let mut traversals = Traversals {
            dependencies: &self.dependencies,
            reads: if was_evaluated {
                self.of_span(location, &location.span)
            } else {
                without_values(&expression, location)
            },
        };
        traversals.visit_expr(&expression);

        let mut reads = traversals.reads;
        reads.add(self.uncertain.clone());
        reads.refers_to_names = depends_on_names(own);
        // Locals are not followed one by one: a name may lead to any of them.
        if reads.refers_to_names {
            reads.add(self.of_locals.clone());
        }
        reads
    }

    /// The files on which the `remote_state` of the file of a location depends.
    pub(crate) fn of_remote_state(&self, location: &Location) -> FileReads {
        let mut reads = FileReads::default();
        let Ok(body) = location.file.text.parse::<Body>() else {
            return reads;
        };
        let mut traversals = Traversals {
            dependencies: &self.dependencies,
            reads: FileReads::default(),
        };
        let mut spans = Vec::new();
        for block in body.get_blocks("remote_state") {
            traversals.visit_body(&block.body);
            spans.extend(block.span());
        }
        if let Some(attribute) = body.get_attribute("remote_state") {
            traversals.visit_expr(&attribute.value);
            spans.extend(attribute.span());
        }
        for span in spans {
            reads.add(self.of_span(location, &span));
        }
        reads.add(traversals.reads);
        reads
    }

    /// Directories of other units whose outputs it may use; `None` if one is not known.
    pub(crate) fn dependencies(&self) -> Option<BTreeSet<&PathBuf>> {
        let mut directories = BTreeSet::new();
        for directory in self.dependencies.values().flatten() {
            directories.insert(directory.as_ref()?);
        }
        Some(directories)
    }

    /// The files that calls in a part of a file, or around it, may read.
    fn of_span(&self, location: &Location, span: &Range<usize>) -> FileReads {
        let mut reads = FileReads::default();
        for call in self.by_file.get(location.path()).into_iter().flatten() {
            let is_inside = span.start <= call.span.start && call.span.end <= span.end;
            let is_around = call.span.start <= span.start && span.end <= call.span.end;
            if is_inside || is_around {
                reads.add(call.reads.clone());
            }
        }
        reads
    }

    /// The files that a file may read. Files with unknown names are usual in inputs, which decide
    /// on nothing.
    fn of_file(&self, location: &Location) -> FileReads {
        let mut reads = FileReads::default();
        for call in self.by_file.get(location.path()).into_iter().flatten() {
            let mut of_call = call.reads.clone();
            if !call.is_command {
                of_call.has_computed_path = false;
            }
            reads.add(of_call);
        }
        reads
    }
}

/// The files that an expression in a file that was not evaluated may read: only constant paths are
/// known.
fn without_values(expression: &Expression, location: &Location) -> FileReads {
    let allowance = Allowance::default();
    let variables = BTreeMap::new();
    let evaluator = Evaluator::without_functions(&allowance, &variables);
    let directory = location.path().parent().unwrap_or(location.path());
    FileReads::of(
        expression,
        &|argument| evaluator.evaluate(argument),
        &[directory.to_owned()],
    )
}

/// Collects the units and values to which an expression refers.
struct Traversals<'a> {
    dependencies: &'a BTreeMap<String, BTreeSet<Option<PathBuf>>>,
    reads: FileReads,
}

impl Visit for Traversals<'_> {
    fn visit_traversal(&mut self, traversal: &Traversal) {
        if let Expression::Variable(root) = &traversal.expr {
            if root.as_str() == "dependency" {
                self.add_outputs(traversal);
            }
            if root.as_str() == "values" {
                self.reads.path_ends.extend(VALUES.map(str::to_owned));
            }
        }
        visit::visit_traversal(self, traversal);
    }
}

impl Traversals<'_> {
    /// Adds the unit whose outputs a traversal refers to.
    fn add_outputs(&mut self, traversal: &Traversal) {
        let mut directories = None;
        if let Some(operator) = traversal.operators.first()
            && let TraversalOperator::GetAttr(label) = operator.value()
        {
            directories = self.dependencies.get(label.as_str());
        }
        let Some(directories) = directories else {
            self.reads.reads_unknown_outputs = true;
            return;
        };
        for directory in directories {
            match directory {
                Some(directory) => _ = self.reads.outputs.insert(directory.clone()),
                None => self.reads.reads_unknown_outputs = true,
            }
        }
    }
}
