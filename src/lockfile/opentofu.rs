//! The lock file of providers and modules that OpenTofu's draft <https://github.com/opentofu/opentofu/pull/4071>
//! announces. The draft may change, so what reads and writes this form is experimental.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use hcl_edit::structure::{Block, Structure};

use crate::diagnostic::{Diagnostics, Result, Severity};
use crate::provider::{Dialect, HashScheme};

use super::canonical::{canonical_text, push_hashes_attribute, quoted};
use super::lock_file::{Locks, ModuleLockFile, ModuleLocks};
use super::locked::Locked as _;
use super::module::LockedModule;
use super::provider::LockedProvider;

/// Name of the lock file that OpenTofu's draft announces.
pub const OPENTOFU_LOCK_FILE_NAME: &str = ".opentofu.lock.hcl";

/// The start of the address of a package that a registry hands out.
const REGISTRY: &str = "registry::";

/// What such a file holds for these entries. It has no versions, only `h1:` hashes of modules, and of a package whose
/// address may lead to another one only that it floats.
pub fn opentofu_text(providers: &Locks, modules: &ModuleLocks) -> String {
    let mut text = canonical_text::<LockedProvider>(providers, Dialect::Tofu);
    for (key, locked) in modules {
        let _ = write!(text, "\n{} {} {{\n", LockedModule::BLOCK, quoted(key));
        let is_floating = !["git::", REGISTRY, "oci:"].iter().any(|start| locked.package.starts_with(start));
        let constraints = Some(locked.constraints.to_string()).filter(|text| !text.is_empty());
        let attributes = [
            ("source", Some(quoted(&locked.source))),
            ("constraints", constraints.filter(|_| !is_floating).map(|text| quoted(&text))),
            ("package", (!is_floating).then(|| quoted(&without_directory(&locked.package)))),
            ("floating", is_floating.then(|| "true".to_owned())),
        ];
        let present = || attributes.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let width = present().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, value) in present() {
            let _ = writeln!(text, "  {name:width$} = {value}");
        }
        let mut hashes = locked.hashes.iter().filter(|hash| hash.scheme() == HashScheme::H1).peekable();
        if !is_floating && hashes.peek().is_some() {
            text.push_str("  ");
            push_hashes_attribute(&mut text, hashes, "  ", "\n");
            text.push('\n');
        }
        text.push_str("}\n");
    }
    text
}

/// The modules that such a file locks, by the paths of their calls. Those that float are left out.
///
/// # Errors
/// The file cannot be read.
pub fn read_opentofu(path: &Path, bytes: &[u8]) -> Result<ModuleLocks> {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if let Ok(body) = hcl_edit::parser::parse_body(&text) {
        let others: Vec<_> = body.iter().filter(|structure| !is_locked_module(structure)).collect();
        let spans: Vec<_> = others.into_iter().filter_map(hcl_edit::Span::span).collect();
        for span in spans {
            // What is left keeps its place.
            let blank: String = text[span.clone()].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
            let padding = " ".repeat(span.len() - blank.len());
            text.replace_range(span, &(padding + &blank));
        }
    }
    let parsed = ModuleLockFile::parse(path, text.as_bytes());
    let Some(lock_file) = parsed.lock_file else {
        let errors = parsed.diagnostics.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        return Err(errors.collect::<Diagnostics>());
    };
    let with_version = |(key, locked): (&String, &Arc<LockedModule>)| {
        let of_registry = locked.package.strip_prefix(REGISTRY).and_then(|package| package.split_once('@'));
        let version = of_registry.and_then(|(_, version)| version.parse().ok());
        let version = version.or_else(|| locked.version.clone());
        (key.clone(), Arc::new(LockedModule { version, ..LockedModule::clone(locked) }))
    };
    Ok(lock_file.locks().iter().map(with_version).collect())
}

/// Whether a part of the file is the entry of a module that does not float.
fn is_locked_module(structure: &Structure) -> bool {
    let floats = |block: &Block| {
        block.body.iter().filter_map(Structure::as_attribute).any(|attribute| attribute.key.as_str() == "floating")
    };
    structure.as_block().is_some_and(|block| block.ident.as_str() == LockedModule::BLOCK && !floats(block))
}

/// The address of a package as the draft has it, which is without the directory that a registry names in it.
fn without_directory(package: &str) -> String {
    let (address, query) = package.split_at(package.find('?').unwrap_or(package.len()));
    let start = address.find("://").map_or(0, |index| index + 3);
    let end = address[start..].find("//").map_or(address.len(), |index| start + index);
    format!("{}{query}", &address[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "5632352e8042c13b2da684ad5895525f2aeb0f98";

    fn module(source: &str, version: Option<&str>, constraints: &str, package: &str) -> Arc<LockedModule> {
        let hashes = [format!("h1:{}=", "A".repeat(43)), format!("zh:{}", "0".repeat(64))];
        Arc::new(LockedModule {
            source: source.to_owned(),
            version: version.map(|version| version.parse().unwrap()),
            constraints: constraints.parse().unwrap(),
            package: package.to_owned(),
            hashes: hashes.iter().map(|hash| hash.parse().unwrap()).collect(),
        })
    }

    #[test]
    fn modules_are_written_as_the_draft_has_them_and_read_again() {
        let modules = ModuleLocks::from([
            ("a".to_owned(), module("h.test/a/b/c", Some("1.2.0"), "~> 1.0", "registry::h.test/a/b/c@1.2.0//inner")),
            (
                "a.b".to_owned(),
                module(
                    "git::https://h.test/x.git//d?ref=v1",
                    None,
                    "",
                    &format!("git::https://h.test/x.git?ref={COMMIT}"),
                ),
            ),
            ("site".to_owned(), module("https://h.test/site.zip//infra", None, "", "https://h.test/site.zip")),
        ]);
        let text = opentofu_text(&Locks::new(), &modules);
        let expected = format!(
            r#"# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

module "a" {{
  source      = "h.test/a/b/c"
  constraints = "~> 1.0"
  package     = "registry::h.test/a/b/c@1.2.0"
  hashes = [
    "h1:{hash}=",
  ]
}}

module "a.b" {{
  source  = "git::https://h.test/x.git//d?ref=v1"
  package = "git::https://h.test/x.git?ref={COMMIT}"
  hashes = [
    "h1:{hash}=",
  ]
}}

module "site" {{
  source   = "https://h.test/site.zip//infra"
  floating = true
}}
"#,
            hash = "A".repeat(43),
        );
        assert_eq!(text, expected);
        let provider = "provider \"registry.opentofu.org/a/b\" {\n  version = \"1.0.0\" # \u{e9}\n}\n\n";
        let read = read_opentofu(Path::new("f"), format!("{provider}{text}").as_bytes()).unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), ["a", "a.b"]);
        assert_eq!(read["a"].version, modules["a"].version);
        assert_eq!(read["a.b"].package, modules["a.b"].package);
        let broken = format!("{provider}module \"a\" {{\n  source = \"x\"\n}}\n");
        let errors = read_opentofu(Path::new("f"), broken.as_bytes()).unwrap_err();
        assert_eq!(errors.iter().next().unwrap().labels[0].location.line_column(), (5, 8));
        read_opentofu(Path::new("f"), b"module \"a\" {").unwrap_err();
    }
}
