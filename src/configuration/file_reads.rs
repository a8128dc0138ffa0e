//! Files on which values depend that cannot be computed: files that functions read, scripts, and
//! configurations of other units whose outputs are used.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use hcl_edit::Span as _;
use hcl_edit::expr::{Expression, FuncCall};
use hcl_edit::visit::{self, Visit};

use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::expression::Evaluator;
use crate::hcl::evaluate::value::{Piece, Value};
use crate::system::files::join;

/// Maximum number of words of a command that may be files.
const MOST_WORDS: usize = 1_000;

/// Files that decide on a value that cannot be computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileReads {
    /// Files and directories at known paths, which are absolute or as the user knows them. If the
    /// directory is not certain, there is a path for each possible one.
    pub(crate) paths: BTreeSet<PathBuf>,
    /// Templates, which are among the paths, with the directories to which paths in them are
    /// relative. A template may read further files.
    pub(crate) templates: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// Ends of paths that are not known to the start: `.yaml`, or `/a.yaml` for a whole name.
    pub(crate) path_ends: BTreeSet<String>,
    /// Whether there is a path whose end is not known either.
    pub(crate) has_computed_path: bool,
    /// Directories of other units of Terragrunt whose outputs it depends on.
    pub(crate) outputs: BTreeSet<PathBuf>,
    /// Whether it depends on outputs of units that are not known.
    pub(crate) reads_unknown_outputs: bool,
    /// Whether it depends on values that the expression refers to by names.
    pub(crate) refers_to_names: bool,
}

/// The files that a call of a function may read.
#[derive(Clone, Debug)]
pub(super) struct CallReads {
    /// Position of the call in its file.
    pub(super) span: Range<usize>,
    /// Whether it is a call of `run_cmd`.
    pub(super) is_command: bool,
    pub(super) reads: FileReads,
}

/// Evaluates an argument of a call.
pub(super) type Evaluate<'a> = dyn Fn(&Expression) -> Value + 'a;

/// Finds the calls that may read files.
pub(super) struct ReadingCalls<'a> {
    evaluate: &'a Evaluate<'a>,
    /// Directories to which the paths may be relative.
    directories: &'a [PathBuf],
    pub(super) calls: Vec<CallReads>,
}

impl FileReads {
    /// The files that an expression may read.
    pub(super) fn of(
        expression: &Expression,
        evaluate: &Evaluate<'_>,
        directories: &[PathBuf],
    ) -> Self {
        let mut visitor = ReadingCalls::new(evaluate, directories);
        visitor.visit_expr(expression);
        visitor.all()
    }

    /// The files that a template may read. Only constant paths are known.
    pub(crate) fn of_template(text: &str, directories: &[PathBuf]) -> Self {
        let Ok(template) = hcl_edit::parser::parse_template(text) else {
            // OpenTofu, Terraform and Terragrunt may read it nevertheless.
            return Self {
                has_computed_path: true,
                ..Self::default()
            };
        };
        let allowance = Allowance::default();
        let variables = BTreeMap::new();
        let evaluator = Evaluator::without_functions(&allowance, &variables);
        let evaluate = |argument: &Expression| evaluator.evaluate(argument);
        let mut visitor = ReadingCalls::new(&evaluate, directories);
        for element in &template {
            visitor.visit_element(element);
        }
        visitor.all()
    }

    pub(super) fn add(&mut self, other: Self) {
        self.paths.extend(other.paths);
        self.templates.extend(other.templates);
        self.path_ends.extend(other.path_ends);
        self.has_computed_path |= other.has_computed_path;
        self.outputs.extend(other.outputs);
        self.reads_unknown_outputs |= other.reads_unknown_outputs;
        self.refers_to_names |= other.refers_to_names;
    }

    /// The same without the known paths.
    pub(super) fn uncertain(&self) -> Self {
        Self {
            path_ends: self.path_ends.clone(),
            has_computed_path: self.has_computed_path,
            ..Self::default()
        }
    }

    fn add_path(&mut self, path: &str, directories: &[PathBuf]) {
        for directory in directories {
            self.paths.insert(join(directory, path));
        }
    }

    /// Adds an argument of a command that may be a path. A unit's own directory, or one above, only
    /// tells the command where it is called.
    fn add_argument(&mut self, path: &str, directories: &[PathBuf]) {
        for directory in directories {
            let path = join(directory, path);
            if !directories.iter().any(|own| own.starts_with(&path)) {
                self.paths.insert(path);
            }
        }
    }

    /// Adds a path whose end alone may be known. A path that the environment gives as a whole is
    /// that of a file of the job.
    fn add_computed(&mut self, argument: &Expression, value: &Value, evaluate: &Evaluate<'_>) {
        match end_of(value).or_else(|| searched_name(argument, evaluate)) {
            Some(end) => _ = self.path_ends.insert(end),
            None => self.has_computed_path |= !is_call_of(argument, "get_env"),
        }
    }

    /// Adds the files that `run_cmd` may read: its command, files that arguments name, and files
    /// that the command reads without being told.
    fn add_command(&mut self, arguments: &[Value], directories: &[PathBuf]) {
        let mut texts = Vec::new();
        let mut is_command_known = false;
        for argument in arguments {
            let Ok(text) = argument.as_string() else {
                match end_of(argument) {
                    Some(end) => _ = self.path_ends.insert(end),
                    // Environment variables are usual arguments.
                    None => self.has_computed_path |= !is_command_known,
                }
                is_command_known = true;
                continue;
            };
            // A flag of Terragrunt's.
            if !is_command_known && text.starts_with("--") {
                continue;
            }
            is_command_known = true;
            texts.push(text);
        }
        let is_elsewhere = texts.iter().any(|text| may_change_directory(text));
        for text in &texts {
            self.add_argument(text, directories);
            for word in words(text).take(MOST_WORDS) {
                self.add_argument(word, directories);
                let name = word.rsplit('/').next().unwrap_or(word);
                if is_elsewhere && !name.is_empty() {
                    self.path_ends.insert(format!("/{name}"));
                }
            }
        }
        for name in files_without_argument(&texts) {
            self.path_ends.insert(format!("/{name}"));
        }
    }
}

impl<'a> ReadingCalls<'a> {
    pub(super) fn new(evaluate: &'a Evaluate<'a>, directories: &'a [PathBuf]) -> Self {
        Self {
            evaluate,
            directories,
            calls: Vec::new(),
        }
    }

    /// The files of all calls.
    fn all(self) -> FileReads {
        let mut all = FileReads::default();
        for call in self.calls {
            all.add(call.reads);
        }
        all
    }

    /// The files that a call may read; `None` for a function that reads none.
    fn reads_of(&self, call: &FuncCall) -> Option<FileReads> {
        let name = call.name.name.as_str();
        let mut reads = FileReads::default();
        if name == "run_cmd" {
            let mut values = Vec::new();
            for argument in &call.args {
                match (self.evaluate)(argument) {
                    // The last argument may be a list.
                    Value::List(items) => values.extend(items.iter().cloned()),
                    value => values.push(value),
                }
            }
            reads.add_command(&values, self.directories);
            return Some(reads);
        }
        if !reads_file(name) {
            return None;
        }
        let mut arguments = call.args.iter();
        let argument = arguments.next()?;
        let value = (self.evaluate)(argument);
        match value.as_string() {
            Ok(path) => reads.add_path(&path, self.directories),
            Err(_) => reads.add_computed(argument, &value, self.evaluate),
        }
        if name == "templatefile" {
            for path in &reads.paths {
                let directories = self.directories.to_vec();
                reads.templates.insert(path.clone(), directories);
            }
        }
        // A pattern with `..` finds files in other directories.
        if name == "fileset"
            && let Some(pattern) = arguments.next()
        {
            let pattern = (self.evaluate)(pattern).as_string();
            reads.has_computed_path |=
                pattern.is_err() || pattern.is_ok_and(|it| it.contains(".."));
        }
        Some(reads)
    }
}

impl Visit for ReadingCalls<'_> {
    fn visit_func_call(&mut self, call: &FuncCall) {
        if let Some(reads) = self.reads_of(call) {
            self.calls.push(CallReads {
                span: call.span().unwrap_or_default(),
                is_command: call.name.name.as_str() == "run_cmd",
                reads,
            });
        }
        visit::visit_func_call(self, call);
    }
}

/// Whether a function reads a file: `file`, `filebase64`, `fileexists`, `fileset`, `templatefile`,
/// `sops_decrypt_file`, `read_tfvars_file`, `read_terragrunt_config`.
fn reads_file(name: &str) -> bool {
    name.contains("file") || name == "read_terragrunt_config"
}

/// The end of a text whose start is unknown, from the last slash on; `None` if the end is unknown,
/// too, or there is none after the slash.
fn end_of(value: &Value) -> Option<String> {
    let Value::Partial(pieces) = value else {
        return None;
    };
    let Some(Piece::Text(text)) = pieces.last() else {
        return None;
    };
    let end = match text.rfind('/') {
        Some(slash) => &text[slash..],
        None => text,
    };
    (end.len() > 1).then(|| end.to_owned())
}

fn is_call_of(expression: &Expression, function: &str) -> bool {
    matches!(expression, Expression::FuncCall(call) if call.name.name.as_str() == function)
}

/// The name of the file that `find_in_parent_folders` searches.
fn searched_name(argument: &Expression, evaluate: &Evaluate<'_>) -> Option<String> {
    let Expression::FuncCall(call) = argument else {
        return None;
    };
    if !is_call_of(argument, "find_in_parent_folders") {
        return None;
    }
    let name = evaluate(call.args.iter().next()?).as_string().ok()?;
    let name = Path::new(&*name).file_name()?.to_str()?;
    Some(format!("/{name}"))
}

/// The words of a command for a shell that may be names of files: `cat` and `a.txt` of `cat a.txt |
/// tail -n1`.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split(|c: char| c.is_whitespace() || "\"'`;|&<>()=$,".contains(c));
    words.filter(|word| !word.is_empty())
}

/// Whether a command, or an argument of it, may select the directory of the files, or compute their
/// paths.
fn may_change_directory(text: &str) -> bool {
    const WORDS: [&str; 4] = ["cd", "pushd", "-C", "--cwd"];
    text.contains(['$', '`', '*', '?', '~', '{'])
        || words(text).any(|word| {
            let is_option =
                word.starts_with('-') && (word.contains("dir") || word.contains("prefix"));
            WORDS.contains(&word) || is_option
        })
}

/// Returns files that a command reads although no argument names them: rules of `make`, modules of
/// `python3 -m`.
fn files_without_argument<T: AsRef<str>>(arguments: &[T]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let mut is_module = false;
    for argument in arguments {
        let argument = argument.as_ref();
        let program = argument.rsplit('/').next().unwrap_or_default();
        let names: &[&str] = match program {
            "make" | "gmake" => &["GNUmakefile", "Makefile", "makefile"],
            "just" => &["Justfile", "justfile", ".justfile"],
            "task" => &["Taskfile.yaml", "Taskfile.yml"],
            "npm" | "yarn" | "pnpm" => &["package.json"],
            _ => &[],
        };
        files.extend(names.iter().map(ToString::to_string));
        // `python3 -m tool.source`
        if is_module {
            let last = argument.rsplit('.').next().unwrap_or_default();
            files.extend([format!("{last}.py"), "__main__.py".to_owned()]);
        }
        is_module = argument == "-m";
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that an expression without variables reads.
    fn reads_of(text: &str) -> FileReads {
        let allowance = Allowance::default();
        let unknown = Value::Unknown(std::sync::Arc::new(
            crate::hcl::evaluate::value::Unknown::new("x", None),
        ));
        let variables = [("unknown".to_owned(), unknown)].into();
        let evaluator = Evaluator::new(&allowance, &variables);
        FileReads::of(
            &text.parse().unwrap(),
            &|argument| evaluator.evaluate(argument),
            &["live".into()],
        )
    }

    fn paths(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn files_are_found_in_calls_at_any_depth() {
        let reads = reads_of(r#"yamldecode(file("a.yaml"))["x"] + templatefile("../b.tpl", {})"#);
        assert_eq!(reads.paths, paths(&["live/a.yaml", "b.tpl"]));
        assert!(reads.templates.contains_key(Path::new("b.tpl")));
        assert!(!reads.has_computed_path);
        for (text, end) in [
            (r#"file("${unknown}/a")"#, "/a"),
            (r#"file("${unknown}/b/../a.x")"#, "/a.x"),
            (r#"file("${unknown}.yaml")"#, ".yaml"),
            (
                r#"file(find_in_parent_folders("x/a.hcl", unknown))"#,
                "/a.hcl",
            ),
        ] {
            let reads = reads_of(text);
            assert_eq!(reads.path_ends, [end.to_owned()].into(), "{text}");
            assert!(!reads.has_computed_path, "{text}");
        }
        for text in [
            "file(unknown)",
            r#"file("a${unknown}")"#,
            r#"fileset("a", "../*")"#,
        ] {
            assert!(reads_of(text).has_computed_path, "{text}");
        }
        assert_eq!(reads_of(r#"join("file(", ["a"])"#), FileReads::default());
    }

    #[test]
    fn a_template_names_further_files() {
        let directories = ["live".into()];
        let reads = FileReads::of_template("a ${trimspace(file(\"v.txt\"))}", &directories);
        assert_eq!(reads.paths, paths(&["live/v.txt"]));
        assert!(FileReads::of_template("${file(x)}", &directories).has_computed_path);
        assert_eq!(
            FileReads::of_template("${x} file(\"v.txt\")", &directories),
            FileReads::default()
        );
    }

    #[test]
    fn a_script_may_be_any_argument_of_a_command() {
        for text in [
            r#"trimspace(run_cmd("--terragrunt-quiet", "./version.sh"))"#,
            r#"run_cmd("bash", "version.sh", unknown)"#,
            r#"run_cmd(["sh", "-c", "cat x | ./version.sh"]...)"#,
        ] {
            let reads = reads_of(text);
            assert!(reads.paths.contains(Path::new("live/version.sh")), "{text}");
            assert_eq!(reads.path_ends, BTreeSet::new(), "{text}");
            assert!(!reads.has_computed_path, "{text}");
        }
        let reads = reads_of(r#"run_cmd("sh", "-c", "cd x && cat VERSION")"#);
        assert!(reads.path_ends.contains("/VERSION"));
        assert!(reads_of("run_cmd(unknown)").has_computed_path);
    }
}
