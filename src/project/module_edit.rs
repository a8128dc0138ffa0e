//! Edits of a module call, so that it asks for a different version, tag or commit. Git sources are
//! edited as text, with the comment on the same line that names the commit.

use std::ops::Range;

use crate::configuration::ModuleCall;
use crate::configuration::rewrite::{self, ConstraintEdit};
use crate::diagnostic::Location;
use crate::lockfile::LockedModule;
use crate::modules::version_tag::{VersionTag, is_harmless};
use crate::modules::{ModuleSource, locked, registry};
use crate::provider::{ConstraintList, Dialect, Version};

/// The module that a call asks for, after any edit.
#[derive(Clone, Debug)]
pub(super) struct RequestedModule {
    pub(super) source: ModuleSource,
    pub(super) constraints: ConstraintList,
    /// Version that was chosen for a registry module.
    pub(super) version: Option<Version>,
    /// `true` if the source leads to another package than the locked one, which is to be replaced.
    pub(super) is_other_package: bool,
}

/// An edit of a call, if it needs one, and the module that the call asks for afterwards.
#[derive(Clone, Debug)]
pub(super) struct EditedCall {
    pub(super) edit: Option<ConstraintEdit>,
    pub(super) wanted: RequestedModule,
}

impl EditedCall {
    pub(super) fn as_written(call: &ModuleCall) -> Self {
        Self {
            edit: None,
            wanted: RequestedModule::as_written(call),
        }
    }

    pub(super) fn with(self, change: impl FnOnce(RequestedModule) -> RequestedModule) -> Self {
        Self {
            edit: self.edit,
            wanted: change(self.wanted),
        }
    }
}

/// The edited call, or why the call cannot be edited.
pub(super) type Edited = Result<EditedCall, &'static str>;

impl RequestedModule {
    /// The module that a call asks for as it is written.
    pub(super) fn as_written(call: &ModuleCall) -> Self {
        let (source, constraints) = (call.source.clone(), call.constraints.clone());
        Self {
            source,
            constraints,
            version: None,
            is_other_package: false,
        }
    }

    /// Whether the entry of a lock file is for this.
    pub(super) fn is_locked(&self, known: &LockedModule) -> bool {
        let is_version = self.version.is_none() || self.version == known.version;
        is_version
            && !self.is_other_package
            && locked::is_allowed(known, &self.source, &self.constraints)
    }
}

/// Rewrites the constraints of a call, which must allow a version then.
pub(super) fn constraints(
    call: &ModuleCall,
    version: &Version,
    new: impl FnOnce(&str) -> Option<String>,
) -> Edited {
    const FORM: &str = "only its version may change, not its form";
    is_own(call)?;
    let location = rewrite::plain(call.version.as_ref().ok_or("the call has none")?)?;
    let new = new(&location.file.text[location.span.clone()]).ok_or(FORM)?;
    let constraints = ConstraintList::parse_for_module(&new).map_err(|_| "it cannot be read")?;
    if !registry::allows(&constraints, version) {
        return Err(FORM);
    }
    let edit = Some(ConstraintEdit { location, new });
    Ok(EditedCall {
        edit,
        wanted: RequestedModule {
            constraints,
            ..RequestedModule::as_written(call)
        },
    })
}

/// Rewrites the `ref` of a call: to a name, or to a commit with the name that leads to it.
pub(super) fn reference(
    call: &ModuleCall,
    dialect: Dialect,
    reference: &str,
    name: Option<&str>,
) -> Edited {
    let (edit, text) = written(call)?.with(reference, name);
    let source = ModuleSource::parse(&text, dialect).map_err(|_| "it cannot be read")?;
    Ok(EditedCall {
        edit: Some(edit),
        wanted: RequestedModule {
            source,
            ..RequestedModule::as_written(call)
        },
    })
}

/// The source as it is written, if it may be edited.
pub(super) fn written(call: &ModuleCall) -> Result<WrittenSource, &'static str> {
    is_own(call)?;
    WrittenSource::read(&call.location)
}

fn is_own(call: &ModuleCall) -> Result<(), &'static str> {
    if call.entry.is_none() {
        Ok(())
    } else {
        Err("its module is not in this project")
    }
}

/// A source whose text may be edited.
pub(super) struct WrittenSource {
    /// The text between the quotes.
    text: Location,
    /// Range of the branch or tag in the comment.
    name: Option<Range<usize>>,
}

impl WrittenSource {
    /// Reads the value of `source`, which is given with its quotes.
    ///
    /// # Errors
    /// The reason why the source cannot be edited.
    fn read(location: &Location) -> Result<Self, &'static str> {
        let text = rewrite::plain(location)?;
        // The comment names a branch or tag only beside a commit.
        let is_named = !is_json(location) && names_commit(&text.file.text[text.span.clone()]);
        let name = if is_named {
            comment(&location.file.text, location.span.end)
        } else {
            None
        };
        Ok(Self { text, name })
    }

    /// Returns the branch or tag in the comment.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.clone().map(|name| &self.text.file.text[name])
    }

    /// Returns the edit that sets a new `ref`, and the source after the edit. The name of a new
    /// commit goes into the comment.
    fn with(&self, reference: &str, name: Option<&str>) -> (ConstraintEdit, String) {
        let Location { file, span } = &self.text;
        let text = &file.text[span.clone()];
        let is_commit = name.is_some();
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let new = with_reference(query, reference, is_commit);
        let separator = if text.contains('?') { "" } else { "?" };
        let start = span.start + address.len() + 1 - separator.len();
        let rewritten = format!("{address}?{new}");
        let (end, comment) = match (name.filter(|name| is_harmless(name)), &self.name) {
            (Some(name), Some(old)) => (
                old.end,
                format!("{}{name}", &file.text[span.end..old.start]),
            ),
            (Some(name), None) if !is_json(&self.text) => {
                let rest = rest_of_line(&file.text, span.end + 1).trim();
                let is_last = rest.is_empty() || rest.starts_with('#') || rest.starts_with("//");
                (
                    span.end + 1,
                    if is_last {
                        format!("\" # {name}")
                    } else {
                        format!("\" /* {name} */")
                    },
                )
            }
            _ => (span.end, String::new()),
        };
        let location = Location::new(file, start..end);
        (
            ConstraintEdit {
                location,
                new: format!("{separator}{new}{comment}"),
            },
            rewritten,
        )
    }
}

/// Whether the `ref` of a source is a full commit id.
fn names_commit(source: &str) -> bool {
    let (_, query) = source.split_once('?').unwrap_or_default();
    let reference = query
        .split('&')
        .find_map(|parameter| parameter.strip_prefix("ref="))
        .unwrap_or_default();
    reference.len() == 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns a query with a new `ref`, and without `depth`, because go-getter's `clone` cannot fetch
/// a commit with it.
fn with_reference(query: &str, reference: &str, is_commit: bool) -> String {
    let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_owned();
    let is_kept =
        |parameter: &&str| !(parameter.is_empty() || is_commit && name(parameter) == "depth");
    let mut parameters: Vec<String> = query
        .split('&')
        .filter(is_kept)
        .map(str::to_owned)
        .collect();
    let new = format!("ref={reference}");
    match parameters
        .iter_mut()
        .find(|parameter| name(parameter) == "ref")
    {
        Some(parameter) => *parameter = new,
        None => parameters.push(new),
    }
    parameters.join("&")
}

/// Returns the range of the branch or tag in the first comment after a position, on the same line:
/// a word with a version, or the whole comment.
fn comment(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = rest_of_line(text, from);
    let start = rest.find(|c: char| !c.is_whitespace())?;
    let (marker, end) = match &rest[start..] {
        comment if comment.starts_with('#') => (1, rest.len()),
        comment if comment.starts_with("//") => (2, rest.len()),
        comment if comment.starts_with("/*") => (2, start + comment.find("*/")?),
        _ => return None,
    };
    let comment = &rest[start + marker..end];
    let word = comment
        .split_whitespace()
        .next()?
        .trim_end_matches([',', ';', ':', '.']);
    let word = Some(word).filter(|word| is_harmless(word))?;
    let is_name = VersionTag::parse(word).is_some() || comment.trim() == word;
    let start = from + start + marker + comment.find(word)?;
    is_name.then_some(start..start + word.len())
}

fn rest_of_line(text: &str, from: usize) -> &str {
    text.get(from..)
        .unwrap_or_default()
        .split(['\n', '\r'])
        .next()
        .unwrap_or_default()
}

fn is_json(location: &Location) -> bool {
    location
        .path()
        .extension()
        .is_some_and(|extension| extension == "json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    const OLD: &str = "0123456789abcdef0123456789abcdef01234567";
    const NEW: &str = "76543210fedcba9876543210fedcba9876543210";

    /// Returns the file and the source after an edit.
    fn edited(name: &str, text: &str, reference: &str, comment: Option<&str>) -> (String, String) {
        let file = SourceFile::new(name, text);
        let start = text.find("\"git").unwrap();
        let end = start + 1 + text[start + 1..].find('"').unwrap() + 1;
        let written = WrittenSource::read(&Location::new(&file, start..end)).unwrap();
        let (edit, source) = written.with(reference, comment);
        (
            String::from_utf8(rewrite::files([&edit]).remove(0).new).unwrap(),
            source,
        )
    }

    #[test]
    fn a_ref_and_its_comment_change_and_every_other_byte_stays() {
        let check = |old: &str, comment, new: &str| {
            let (found, _) = edited("main.tf", old, NEW, comment);
            assert_eq!(found, new);
        };
        let pinned = |end: &str| format!("  source = \"git::u?ref={NEW}{end}");
        check(
            "  source = \"git::u?ref=v1\"\r\n",
            Some("v1"),
            &pinned("\" # v1\r\n"),
        );
        check(
            "  source = \"git::u\"\n",
            Some("main"),
            &pinned("\" # main\n"),
        );
        check("  source = \"git::u?\"", Some("main"), &pinned("\" # main"));
        check(
            "  source = \"git::u?depth=1&ref=v1\" # why\n",
            Some("v1"),
            &pinned("\" # v1 # why\n"),
        );
        check(
            "{ source = \"git::u?ref=v1\" }\n",
            Some("v1"),
            &format!("{{ source = \"git::u?ref={NEW}\" /* v1 */ }}\n"),
        );
        check(
            &format!("  source = \"git::u?ref={OLD}\"  #  v1.2.0 x\n"),
            Some("v1.3.0"),
            &pinned("\"  #  v1.3.0 x\n"),
        );
        check(
            &format!("  source = \"git::u?ref={OLD}\" // main\n"),
            Some("main"),
            &pinned("\" // main\n"),
        );
        check(
            &format!("  source = \"git::u?ref={OLD}\" /* v1.2.0 */ }}"),
            Some("v1.3.0"),
            &pinned("\" /* v1.3.0 */ }"),
        );
        check(
            "  source = \"git::u?ref=x\"\n",
            Some("a\n}"),
            &pinned("\"\n"),
        );
        let (tag, text) = edited(
            "main.tf",
            "source = \"git::u//d?a=1&ref=v1.0.0&depth=1\" # v",
            "v1.1.0",
            None,
        );
        assert_eq!(tag, "source = \"git::u//d?a=1&ref=v1.1.0&depth=1\" # v");
        assert_eq!(text, "git::u//d?a=1&ref=v1.1.0&depth=1");
        let (json, _) = edited(
            "main.tf.json",
            "{\"source\": \"git::u?ref=v1\"}",
            NEW,
            Some("v1"),
        );
        assert_eq!(json, format!("{{\"source\": \"git::u?ref={NEW}\"}}"));
    }

    #[test]
    fn a_comment_names_a_commit_with_a_version_or_with_nothing_else() {
        for (text, name) in [
            (" # v1.2.0", Some("v1.2.0")),
            ("\t// network-v1.2.0 and more", Some("network-v1.2.0")),
            (" # v1.2.0, see the wiki", Some("v1.2.0")),
            ("# main", Some("main")),
            ("/* main */ }", Some("main")),
            ("/* main", None),
            (" # the network", None),
            (" # \u{202e}", None),
            (" }", None),
            ("", None),
            ("\n# v1.2.0", None),
        ] {
            assert_eq!(comment(text, 0).map(|range| &text[range]), name, "{text:?}");
        }
    }
}
