//! Identities of parts of a configuration, by which the same part is found in a different revision.

use std::collections::BTreeSet;

use hcl_edit::expr::{Expression, FuncCall};
use hcl_edit::structure::Body;
use hcl_edit::template::Element;
use hcl_edit::visit::{self, Visit};
use sha2::{Digest as _, Sha256};

use crate::diagnostic::Location;

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

/// Files that functions such as `file` and `templatefile` may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileReads {
    /// The paths that are plain strings.
    pub(crate) paths: BTreeSet<String>,
    /// Whether there is a path that is no plain string.
    pub(crate) has_computed_path: bool,
}

impl FileReads {
    /// The files that an expression may read.
    pub(super) fn of(expression: &Expression) -> Self {
        let mut reads = Self::default();
        reads.visit_expr(expression);
        reads
    }

    /// The scripts that an expression of Terragrunt's may run, or else any expression of its file.
    /// Terragrunt's reader knows the files that its other functions read.
    pub(crate) fn of_scripts(location: &Location) -> Self {
        let mut scripts = Scripts::default();
        let text = &location.file.text;
        let own = text.get(location.span.clone()).unwrap_or_default();
        if let Ok(expression) = own.parse() {
            scripts.visit_expr(&expression);
        } else if let Ok(body) = text.parse::<Body>() {
            scripts.visit_body(&body);
        }
        scripts.0
    }

    pub(super) fn add(&mut self, other: Self) {
        self.paths.extend(other.paths);
        self.has_computed_path |= other.has_computed_path;
    }
}

impl Visit for FileReads {
    fn visit_func_call(&mut self, call: &FuncCall) {
        // `file`, `filebase64`, `fileexists`, `fileset`, `templatefile`, `sops_decrypt_file`.
        if call.name.name.contains("file") {
            match call.args.iter().next() {
                Some(Expression::String(path)) => _ = self.paths.insert(path.to_string()),
                _ => self.has_computed_path = true,
            }
        }
        visit::visit_func_call(self, call);
    }
}

/// Collects the files that `run_cmd` may run: the script may be any argument.
#[derive(Default)]
struct Scripts(FileReads);

impl Visit for Scripts {
    fn visit_func_call(&mut self, call: &FuncCall) {
        let mut arguments = call.args.iter();
        let is_flag = |argument: &&Expression| matches!(argument, Expression::String(text) if text.starts_with("--"));
        if call.name.name.as_str() == "run_cmd" {
            let command = arguments.by_ref().find(|argument| !is_flag(argument));
            if let Some(command) = command {
                self.0.has_computed_path |= end_of_text(command).is_none();
                self.0.paths.extend(end_of_text(command));
            }
            self.0.paths.extend(arguments.filter_map(end_of_text));
        }
        visit::visit_func_call(self, call);
    }
}

/// The text at the end of a string: `/x.sh` of `"${get_repo_root()}/x.sh"`.
fn end_of_text(expression: &Expression) -> Option<String> {
    match expression {
        Expression::String(text) => Some(text.to_string()),
        Expression::StringTemplate(template) => match template.iter().last()? {
            Element::Literal(text) => Some(text.to_string()),
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
        assert!(of(r#"file("${path.module}/a")"#).has_computed_path);
        assert_eq!(of(r#"join("file(", ["a"])"#), FileReads::default());
    }

    #[test]
    fn a_script_may_be_any_argument_of_a_command() {
        let of = |text: &str| {
            let file = SourceFile::new("terragrunt.hcl", text);
            FileReads::of_scripts(&Location::new(&file, 0..text.len()))
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
        assert_eq!(of(r#"file("a")"#), FileReads::default());
    }
}
