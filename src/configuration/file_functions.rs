//! The functions that read files (OpenTofu's `internal/lang/funcs/filesystem.go`). Paths are relative to the root
//! module, where the programs run. A path that leads out of the repository is not followed, and not even its existence
//! is known.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use globset::GlobMatcher;
use hcl_edit::expr::{Expression, ForExpr};
use hcl_edit::template::{Element, ForDirective};
use hcl_edit::visit::{self, Visit};

use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::expression::{Evaluator, undecided};
use crate::hcl::evaluate::value::{Outcome, Unknown, Value, failure, unknown};
use crate::system::files::{self, canonicalize, join};
use crate::system::{Boundary, glob, repository};

use super::withheld::Withheld;

/// The largest file that is read, in bytes.
const MAX_SIZE: u64 = 4 << 20;

/// What it takes to look at a file, in steps of the allowance.
const LOOK: usize = 32;

/// The functions, for the configuration of a root module.
#[derive(Clone, Copy)]
pub(super) struct FileFunctions<'a> {
    /// The directory of the root module, as the user knows it.
    pub root: &'a Path,
    pub boundary: &'a Boundary,
    pub allowance: &'a Allowance,
    /// Gets the reason why a value that depends on files is not sent.
    pub withheld: &'a Withheld,
}

impl FileFunctions<'_> {
    /// Calls a function; `None` for any other name.
    pub(super) fn call(&self, name: &str, arguments: &[Value]) -> Option<Outcome> {
        let needed = match name {
            "file" | "fileexists" => 1,
            "fileset" | "templatefile" => 2,
            _ => return None,
        };
        self.withheld.add(|| Unknown::new("what files of the repository say is not sent to other hosts", None));
        if arguments.len() != needed {
            return Some(failure(format!("takes {needed} arguments, not {}", arguments.len())));
        }
        Some(arguments[0].as_string().and_then(|path| match name {
            "file" => self.read(&path).map(Value::string),
            "fileexists" => self.exists(&path),
            "fileset" => self.fileset(&path, &arguments[1].as_string()?),
            _ => self.templatefile(&path, &arguments[1]),
        }))
    }

    /// The path without `..` and links, if it leads to something in the repository; `None` if it leads to nothing
    /// there.
    ///
    /// Hidden files are left alone: they may hold credentials, and some are written by the programs themselves.
    fn resolve(&self, path: &str) -> Outcome<Option<PathBuf>> {
        self.allowance.spend(LOOK)?;
        let unknown_top = |_| unknown("the directory of the root module cannot be followed");
        let root = canonicalize(join(self.root, "")).or_else(unknown_top)?;
        let top = repository::top(&root).unwrap_or_else(|| root.clone());
        let is_inside = |path: &Path| {
            let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
            let below = path.strip_prefix(&top).ok();
            below.is_some_and(|below| !below.iter().any(is_hidden)) && !self.boundary.excludes(path)
        };
        let plain = match path {
            path if path.starts_with('~') => return unknown("the home directory is not read"),
            path if cfg!(windows) && path.contains(['\\', ':']) => return unknown("this path is not followed"),
            path => join(&root, path),
        };
        if !is_inside(&plain) {
            return unknown("the path leads out of the repository, or to a hidden file");
        }
        let mut known = plain.as_path();
        loop {
            match canonicalize(known) {
                Ok(canonical) if !is_inside(&canonical) => {
                    return unknown("the path leads out of the repository, or to a hidden file");
                }
                Ok(canonical) => return Ok((known == plain).then_some(canonical)),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !known.is_symlink() => {}
                Err(_) => return unknown("the path cannot be followed"),
            }
            match known.parent() {
                Some(parent) => known = parent,
                None => return unknown("the path cannot be followed"),
            }
        }
    }

    fn read(&self, path: &str) -> Outcome<String> {
        let Some(path) = self.resolve(path)? else { return failure("there is no such file") };
        if path.is_dir() {
            return failure("the path leads to a directory");
        }
        let Ok(bytes) = files::read(&path, MAX_SIZE) else {
            return unknown(format!("the file cannot be read, or is larger than {} MiB", MAX_SIZE >> 20));
        };
        self.allowance.spend_on(bytes.len())?;
        String::from_utf8(bytes).or_else(|_| failure("the file is not UTF-8"))
    }

    fn exists(&self, path: &str) -> Outcome {
        match self.resolve(path)? {
            None => Ok(Value::Bool(false)),
            Some(path) if path.is_file() => Ok(Value::Bool(true)),
            Some(path) if path.is_dir() => failure("the path leads to a directory"),
            Some(_) => unknown("the path does not lead to a regular file"),
        }
    }

    /// A template in a file, in which the members of an object are the variables.
    fn templatefile(&self, path: &str, variables: &Value) -> Outcome {
        let text = self.read(path)?;
        let members = variables.known_itself()?.as_object()?;
        let Ok(template) = hcl_edit::parser::parse_template(&text) else { return unknown("the template is not read") };
        if text.starts_with('\u{feff}') || matches!(template.as_single_element(), Some(Element::Interpolation(_))) {
            return unknown("a template of this form is not evaluated");
        }
        let mut names = Names::default();
        template.iter().for_each(|element| names.visit_element(element));
        if names.used.iter().any(|name| !members.contains_key(name) && !names.bound.contains(name)) {
            return failure("the template refers to a variable that it is not given");
        }
        let is_name = |name: &String| hcl_edit::Ident::try_new(name).is_ok();
        if !members.keys().all(is_name) {
            return unknown("the names of variables of a template are not all names");
        }
        let functions = |name: &str, arguments: &[Value]| match name {
            "templatefile" => Some(unknown("a template in a template is not evaluated")),
            name => self.call(name, arguments),
        };
        let (allowance, either) = (self.allowance, undecided);
        Evaluator { allowance, place: &|_| None, variables: members, functions: &functions, either }.render(&template)
    }

    /// The regular files below a directory whose paths match a pattern.
    fn fileset(&self, path: &str, pattern: &str) -> Outcome {
        if !pattern.is_ascii()
            || pattern.contains(['[', ']', '{', '}', '\\'])
            || path.contains(['*', '?', '[', '{', '\\'])
        {
            return unknown("this pattern is not evaluated");
        }
        let part = |part: &str| match part {
            ".." => unknown("this pattern is not evaluated"),
            "**" => Ok(Part::Directories),
            part if part.contains("**") || part.starts_with('.') => unknown("this pattern is not evaluated"),
            part => match glob::parse(part) {
                Ok(glob) => Ok(Part::Name(glob.compile_matcher())),
                Err(_) => unknown("this pattern is not evaluated"),
            },
        };
        let parts = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).map(part);
        let parts = parts.collect::<Outcome<Vec<_>>>()?;
        self.allowance.spend_on(pattern.len() * 64)?;
        let mut found = BTreeSet::new();
        if let Some(directory) = self.resolve(path)? {
            self.find(&directory, "", &parts, &mut found)?;
        }
        Value::set(found.into_iter().map(Value::string).collect())
    }

    /// Adds the files of a directory that match the parts of a pattern. `above` is the path of the directory, with a
    /// slash behind it.
    fn find(&self, directory: &Path, above: &str, parts: &[Part], found: &mut BTreeSet<String>) -> Outcome<()> {
        let Some((part, rest)) = parts.split_first() else { return Ok(()) };
        if matches!(part, Part::Directories) && !rest.is_empty() {
            self.find(directory, above, rest, found)?;
        }
        if !directory.is_dir() {
            return Ok(());
        }
        let is_root = canonicalize(join(self.root, "")).is_ok_and(|root| root == directory);
        if is_root && [".terraform", ".terraform.lock.hcl"].iter().any(|name| part.matches(name)) {
            return unknown("the pattern may match files that `init` writes");
        }
        self.allowance.spend(LOOK)?;
        let Ok(entries) = fs::read_dir(directory) else { return unknown("a directory cannot be read") };
        for entry in entries {
            self.allowance.spend_on(LOOK + above.len())?;
            let (Ok(name), Ok(kind)) = entry.map_or((Err(()), Err(())), |entry| {
                (entry.file_name().into_string().map_err(drop), entry.file_type().map_err(drop))
            }) else {
                return unknown("a name in a directory cannot be read");
            };
            let is_passed = kind.is_dir() && rest.is_empty() && matches!(part, Part::Name(_));
            if is_passed || !part.matches(&name) {
                continue;
            }
            if name.starts_with('.') || kind.is_symlink() || !name.is_ascii() {
                return unknown("hidden files, links and names that are not ASCII are not searched");
            }
            let path = format!("{above}{name}");
            if kind.is_file() && rest.is_empty() {
                found.insert(path);
            } else if kind.is_dir() {
                let parts = if matches!(part, Part::Directories) { parts } else { rest };
                let (below, above) = (directory.join(&name), path + "/");
                self.allowance.nested(|| self.find(&below, &above, parts, found))?;
            }
        }
        Ok(())
    }
}

/// What stands between two slashes of a pattern.
enum Part {
    /// `**`: any directories.
    Directories,
    Name(GlobMatcher),
}

impl Part {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Directories => true,
            Self::Name(glob) => glob.is_match(name),
        }
    }
}

/// The names to which a template refers, and those that its loops bind.
#[derive(Default)]
struct Names {
    used: BTreeSet<String>,
    bound: BTreeSet<String>,
}

impl Visit for Names {
    fn visit_expr(&mut self, expression: &Expression) {
        if let Expression::Variable(name) = expression {
            self.used.insert(name.to_string());
        }
        visit::visit_expr(self, expression);
    }

    fn visit_for_expr(&mut self, expression: &ForExpr) {
        let names = expression.intro.key_var.iter().chain([&expression.intro.value_var]);
        self.bound.extend(names.map(ToString::to_string));
        visit::visit_for_expr(self, expression);
    }

    fn visit_for_directive(&mut self, directive: &ForDirective) {
        let intro = &directive.for_expr;
        self.bound.extend(intro.key_var.iter().chain([&intro.value_var]).map(ToString::to_string));
        visit::visit_for_directive(self, directive);
    }
}
