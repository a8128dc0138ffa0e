//! Identities of parts of a configuration, by which the same part is found in a different revision.

use std::collections::BTreeSet;

use hcl_edit::expr::{Expression, FuncCall, Traversal};
use hcl_edit::structure::Body;
use hcl_edit::template::Element;
use hcl_edit::visit::{self, Visit};
use sha2::{Digest as _, Sha256};

use crate::diagnostic::Location;

/// Files with the values of a unit that a stack generates.
const VALUES: [&str; 2] = ["terragrunt.stack.hcl", "terragrunt.values.hcl"];

/// Identity of an expression, and of everything that it refers to. Comments, white space and
/// positions do not count.
///
/// It is a tree of hashes, so that it has one size however much decides on a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Adds something that decides on the value: its kind, such as `local`, and its text.
    pub(crate) fn mix(&mut self, kind: &str, text: &str) {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        for part in [kind, text] {
            hasher.update(part.len().to_be_bytes());
            hasher.update(part);
        }
        self.0 = hasher.finalize().into();
    }

    /// Adds everything that decides on a value that this one depends on.
    pub(super) fn add(&mut self, other: Self) {
        if other != Self::default() {
            self.0 = Sha256::new()
                .chain_update(self.0)
                .chain_update(other.0)
                .finalize()
                .into();
        }
    }
}

/// Identity of a module call, or of something that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PartId {
    /// Path of the calls that lead to it, or the kind of another part.
    pub(crate) key: String,
    pub(crate) fingerprint: Fingerprint,
}

/// Files that decide on a value that cannot be computed: files that functions such as `file` may
/// read, scripts, and configurations of other units whose outputs it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileReads {
    /// Paths that are known to the end, or their ends: `/a.yaml` of `"${path.module}/a.yaml"`.
    pub(crate) paths: BTreeSet<String>,
    /// Whether there is a path whose end is not known.
    pub(crate) has_computed_path: bool,
    /// Whether it depends on outputs of other units of Terragrunt, which any configuration of them
    /// may change.
    pub(crate) reads_outputs: bool,
}

impl FileReads {
    /// The files that an expression may read.
    pub(super) fn of(expression: &Expression) -> Self {
        let mut reads = Self::default();
        reads.visit_expr(expression);
        reads
    }

    /// The files on which an expression of Terragrunt's at a location depends. Without an
    /// expression there, the scripts in its file.
    pub(crate) fn of_unit(location: &Location) -> Self {
        let mut reads = UnitReads::default();
        let text = &location.file.text;
        let own = text.get(location.span.clone()).unwrap_or_default();
        if let Ok(expression) = own.parse() {
            reads.visit_expr(&expression);
            return reads.reads;
        }
        if let Ok(body) = text.parse::<Body>() {
            reads.visit_body(&body);
        }
        Self {
            paths: reads.reads.paths,
            has_computed_path: reads.reads.has_computed_path,
            // Outputs are usual in inputs, which decide on nothing.
            reads_outputs: false,
        }
    }

    /// The files on which the `remote_state` of the file of a location depends.
    pub(super) fn of_remote_state(location: &Location) -> Self {
        let mut reads = UnitReads::default();
        if let Ok(body) = location.file.text.parse::<Body>() {
            for block in body.get_blocks("remote_state") {
                reads.visit_body(&block.body);
            }
            if let Some(attribute) = body.get_attribute("remote_state") {
                reads.visit_expr(&attribute.value);
            }
        }
        reads.reads
    }

    pub(super) fn add(&mut self, other: Self) {
        self.paths.extend(other.paths);
        self.has_computed_path |= other.has_computed_path;
        self.reads_outputs |= other.reads_outputs;
    }
}

impl Visit for FileReads {
    fn visit_func_call(&mut self, call: &FuncCall) {
        if reads_file(call) {
            match call.args.iter().next().and_then(end_if_known) {
                Some(path) => _ = self.paths.insert(path),
                None => self.has_computed_path = true,
            }
        }
        visit::visit_func_call(self, call);
    }
}

/// Whether a function reads a file: `file`, `filebase64`, `fileexists`, `fileset`, `templatefile`,
/// `sops_decrypt_file`.
fn reads_file(call: &FuncCall) -> bool {
    call.name.name.contains("file")
}

/// Collects what an expression of Terragrunt's depends on.
#[derive(Default)]
struct UnitReads {
    reads: FileReads,
}

impl UnitReads {
    /// Adds the files that a call of `run_cmd` may read: its command, files that arguments name,
    /// and files that the command reads without being told.
    fn add_command(&mut self, call: &FuncCall) {
        let mut arguments = call.args.iter();
        if let Some(command) = arguments.find(|argument| !is_flag(argument)) {
            match end_if_known(command) {
                Some(path) => _ = self.reads.paths.insert(path),
                None => self.reads.has_computed_path = true,
            }
        }
        // The script may be any argument, such as that of an interpreter.
        for argument in arguments.filter_map(end_if_known) {
            self.reads.paths.extend(words(&argument).map(str::to_owned));
            self.reads.paths.insert(argument);
        }
        self.reads.paths.extend(files_without_argument(call));
    }
}

impl Visit for UnitReads {
    fn visit_func_call(&mut self, call: &FuncCall) {
        if call.name.name.as_str() == "run_cmd" {
            self.add_command(call);
        } else if reads_file(call)
            && let Some(path) = call.args.iter().next().and_then(end_if_known)
        {
            // A path whose end is not known adds nothing: the files that the evaluation of the unit
            // reads are in `Unit::files`.
            self.reads.paths.insert(path);
        }
        visit::visit_func_call(self, call);
    }

    fn visit_traversal(&mut self, traversal: &Traversal) {
        if let Expression::Variable(root) = &traversal.expr {
            self.reads.reads_outputs |= root.as_str() == "dependency";
            if root.as_str() == "values" {
                self.reads.paths.extend(VALUES.map(str::to_owned));
            }
        }
        visit::visit_traversal(self, traversal);
    }
}

/// The names of files in a command for a shell: `a.txt` of `cat a.txt | tail -n1`. Other words have
/// no extension and no directory.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split(|c: char| c.is_whitespace() || "\"'`;|&<>()=$,".contains(c));
    words.filter(|word| word.contains(['.', '/']))
}

/// Returns files that a command of `run_cmd` reads although no argument names them: rules of
/// `make`, modules of `python3 -m`.
fn files_without_argument(call: &FuncCall) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let mut is_module = false;
    for argument in call.args.iter().filter_map(end_if_known) {
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

/// Whether an argument of `run_cmd` is a flag of Terragrunt's.
fn is_flag(argument: &Expression) -> bool {
    matches!(argument, Expression::String(text) if text.starts_with("--"))
}

/// The text of a string, or its end if that has a whole name of a file: `/x.sh` of
/// `"${get_repo_root()}/x.sh"`.
fn end_if_known(expression: &Expression) -> Option<String> {
    match expression {
        Expression::String(text) => Some(text.to_string()),
        Expression::StringTemplate(template) => match template.iter().last()? {
            Element::Literal(text) if text.contains('/') => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    #[test]
    fn a_fingerprint_depends_on_kinds_and_texts_and_their_order() {
        let of = |parts: &[(&str, &str)]| {
            let mut fingerprint = Fingerprint::default();
            for (kind, text) in parts {
                fingerprint.mix(kind, text);
            }
            fingerprint
        };
        let one = of(&[("local", "a"), ("var", "b")]);
        assert_eq!(one, of(&[("local", "a"), ("var", "b")]));
        for other in [
            of(&[("var", "b"), ("local", "a")]),
            of(&[("local", "a")]),
            of(&[("loca", "la"), ("var", "b")]),
            of(&[("local", "a"), ("var", "b"), ("var", "")]),
        ] {
            assert_ne!(one, other);
        }
        let mut sum = one;
        sum.add(Fingerprint::default());
        assert_eq!(sum, one, "nothing was added");
        sum.add(one);
        assert_ne!(sum, one);
    }

    #[test]
    fn files_are_found_in_calls_at_any_depth() {
        let of = |text: &str| FileReads::of(&text.parse().unwrap());
        let reads = of(r#"yamldecode(file("a.yaml"))["x"] + templatefile("b.tpl", { c = 1 })"#);
        assert_eq!(reads.paths, ["a.yaml", "b.tpl"].map(str::to_owned).into());
        assert!(!reads.has_computed_path);
        let end = of(r#"file("${path.module}/a")"#);
        assert_eq!(end.paths, ["/a".to_owned()].into());
        assert!(!end.has_computed_path);
        assert!(of(r#"file("${var.a}.yaml")"#).has_computed_path);
        assert_eq!(of(r#"join("file(", ["a"])"#), FileReads::default());
    }

    #[test]
    fn a_script_may_be_any_argument_of_a_command() {
        let of = |text: &str| {
            let file = SourceFile::new("terragrunt.hcl", text);
            FileReads::of_unit(&Location::new(&file, 0..text.len()))
        };
        for text in [
            r#"trimspace(run_cmd("--terragrunt-quiet", "./version.sh"))"#,
            r#"run_cmd("bash", "${get_repo_root()}/version.sh", get_env("A"))"#,
        ] {
            let scripts = of(text);
            let is_script = |path: &String| path.ends_with("/version.sh");
            assert!(scripts.paths.iter().any(is_script), "{text}");
            assert!(!scripts.has_computed_path, "{text}");
        }
        assert!(of("run_cmd(local.script)").has_computed_path);
        assert_eq!(
            of(r#"sops_decrypt_file("a")"#).paths,
            ["a".to_owned()].into()
        );
        assert_eq!(of("file(local.a)"), FileReads::default());
        assert!(of("dependency.vpc.outputs.a").reads_outputs);
    }
}
