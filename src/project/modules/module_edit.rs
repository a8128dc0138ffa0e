//! Edits of a module call, so that it asks for a different version, tag or commit. Git sources are
//! edited as text, with the comment on the same line that names the commit.

use std::ops::Range;

use crate::configuration::ModuleCall;
use crate::configuration::rewrite::{self, ConstraintEdit};
use crate::diagnostic::Location;
use crate::lockfile::LockedModule;
use crate::modules::version_tag::{VersionTag, is_harmless};
use crate::modules::{ModuleSource, locked, registry};
use crate::project::plan::newest::Edit;
use crate::provider::{ConstraintList, Dialect, Version};

/// The module that a call asks for, after any edit.
#[derive(Clone, Debug)]
pub(in crate::project) struct RequestedModule {
    pub(in crate::project) source: ModuleSource,
    pub(in crate::project) constraints: ConstraintList,
    /// Version that was chosen for a registry module.
    pub(in crate::project) version: Option<Version>,
    /// `true` if the source leads to another package than the locked one, which is to be replaced.
    pub(super) is_other_package: bool,
}

/// An edit of a call, if it needs one, and the module that the call asks for afterwards.
#[derive(Clone, Debug)]
pub(super) struct EditedCall {
    pub(in crate::project) edit: Option<ConstraintEdit>,
    pub(in crate::project) requested: RequestedModule,
}

/// Edit of a call, or the reason why the call cannot be edited.
pub(super) type CallEdit = Edit<EditedCall, &'static str>;

impl EditedCall {
    pub(super) fn as_written(call: &ModuleCall) -> Self {
        Self {
            edit: None,
            requested: RequestedModule::as_written(call),
        }
    }
}

impl RequestedModule {
    /// The module that a call asks for as it is written.
    pub(super) fn as_written(call: &ModuleCall) -> Self {
        Self {
            source: call.source.clone(),
            constraints: call.constraints.clone(),
            version: None,
            is_other_package: false,
        }
    }

    /// Whether the entry of a lock file is for this module.
    pub(super) fn is_met_by(&self, known: &LockedModule) -> bool {
        let is_version = self.version.is_none() || self.version == known.version;
        is_version
            && !self.is_other_package
            && locked::is_allowed(known, &self.source, &self.constraints)
    }
}

/// Rewrites the constraints of a call, which must allow a version then. `rewrite_text` returns the
/// new constraints.
///
/// # Errors
/// The reason why the call cannot be edited.
pub(super) fn to_constraints(
    call: &ModuleCall,
    version: &Version,
    rewrite_text: impl FnOnce(&str) -> Option<String>,
) -> Result<EditedCall, &'static str> {
    const FORM: &str = "only its version may change, not its form";
    require_own_call(call)?;
    let location = rewrite::editable_string(call.version.as_ref().ok_or("the call has none")?)?;
    let new = rewrite_text(&location.file.text[location.span.clone()]).ok_or(FORM)?;
    // The tool reads the new text, so that the text is what must allow the version.
    let constraints = ConstraintList::parse_for_module(&new).map_err(|_| "it cannot be read")?;
    if !registry::allows(&constraints, version) {
        return Err(FORM);
    }
    let edit = Some(ConstraintEdit { location, new });
    Ok(EditedCall {
        edit,
        requested: RequestedModule {
            constraints,
            ..RequestedModule::as_written(call)
        },
    })
}

/// The revision that a source asks for after an edit.
#[derive(Clone, Copy, Debug)]
pub(super) enum NewRevision<'a> {
    /// A branch or tag of a git repository.
    Reference(&'a str),
    /// A commit, with the branch or tag that leads to it.
    Commit { id: &'a str, name: Option<&'a str> },
    /// A tag of an OCI registry.
    Tag(&'a str),
    /// A digest of an OCI registry, with the tag that leads to it.
    Digest { digest: &'a str, tag: &'a str },
}

impl<'a> NewRevision<'a> {
    /// The parameter of the source.
    fn parameter(self) -> String {
        match self {
            Self::Reference(name) => format!("ref={name}"),
            Self::Commit { id, .. } => format!("ref={id}"),
            Self::Tag(tag) => format!("tag={tag}"),
            Self::Digest { digest, .. } => format!("digest={digest}"),
        }
    }

    /// Names of the parameters that the new one replaces.
    fn replaced_parameters(self) -> &'static [&'static str] {
        match self {
            Self::Reference(_) => &["ref"],
            // go-getter cannot fetch a commit with `depth`.
            Self::Commit { .. } => &["ref", "depth"],
            Self::Tag(_) | Self::Digest { .. } => &["tag", "digest"],
        }
    }

    /// The name in the comment.
    fn name(self) -> Option<&'a str> {
        match self {
            Self::Reference(_) | Self::Tag(_) => None,
            Self::Commit { name, .. } => name,
            Self::Digest { tag, .. } => Some(tag),
        }
    }
}

/// Rewrites the source of a call, so that it asks for a revision.
///
/// # Errors
/// The reason why the call cannot be edited.
pub(super) fn to_revision(
    call: &ModuleCall,
    dialect: Dialect,
    new: NewRevision<'_>,
) -> Result<EditedCall, &'static str> {
    let (edit, text) = written_source(call)?.with_revision(new);
    let source = ModuleSource::parse(&text, dialect).map_err(|_| "it cannot be read")?;
    Ok(EditedCall {
        edit: Some(edit),
        requested: RequestedModule {
            source,
            ..RequestedModule::as_written(call)
        },
    })
}

/// The source as it is written, if it may be edited.
pub(in crate::project) fn written_source(call: &ModuleCall) -> Result<WrittenSource, &'static str> {
    require_own_call(call)?;
    WrittenSource::read(&call.location)
}

fn require_own_call(call: &ModuleCall) -> Result<(), &'static str> {
    if call.own_call.is_none() {
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
        let text = rewrite::editable_string(location)?;
        // The comment names a branch or tag only beside a commit or a digest.
        let is_named = !is_json(location) && is_pinned(&text.file.text[text.span.clone()]);
        let name = if is_named {
            name_in_comment(&location.file.text, location.span.end)
        } else {
            None
        };
        Ok(Self { text, name })
    }

    /// Returns the branch or tag in the comment.
    pub(in crate::project) fn name(&self) -> Option<&str> {
        self.name.clone().map(|name| &self.text.file.text[name])
    }

    /// Returns the edit that sets a new revision, and the source after the edit. The name of a new
    /// commit or digest goes into the comment.
    fn with_revision(&self, revision: NewRevision<'_>) -> (ConstraintEdit, String) {
        let Location { file, span } = &self.text;
        let text = &file.text[span.clone()];
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let new_query = query_with_revision(query, revision);
        let new_source = format!("{address}?{new_query}");

        // The edit begins behind the address and its `?`.
        let mut start = span.start + address.len() + 1;
        let mut new = new_query;
        if !text.contains('?') {
            start -= 1;
            new = format!("?{new}");
        }
        let mut end = span.end;
        let name = revision.name().filter(|name| is_harmless(name));
        if let (Some(name), Some(old)) = (name, &self.name) {
            // The name in an existing comment is replaced.
            new.push_str(&file.text[span.end..old.start]);
            new.push_str(name);
            end = old.end;
        } else if let Some(name) = name
            && !is_json(&self.text)
        {
            let rest = rest_of_line(&file.text, span.end + 1).trim();
            let is_last = rest.is_empty() || rest.starts_with('#') || rest.starts_with("//");
            new = if is_last {
                format!("{new}\" # {name}")
            } else {
                format!("{new}\" /* {name} */")
            };
            end = span.end + 1;
        }
        let location = Location::new(file, start..end);
        (ConstraintEdit { location, new }, new_source)
    }
}

/// Whether a source contains a full commit id or a digest.
fn is_pinned(source: &str) -> bool {
    let (_, query) = source.split_once('?').unwrap_or_default();
    for parameter in query.split('&') {
        if let Some(reference) = parameter.strip_prefix("ref=") {
            return is_hexadecimal(reference, 40);
        }
        if let Some(digest) = parameter.strip_prefix("digest=sha256:") {
            return is_hexadecimal(digest, 64);
        }
    }
    false
}

fn is_hexadecimal(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns a query with the parameter of a new revision, in place of the first parameter that the
/// revision replaces.
fn query_with_revision(query: &str, revision: NewRevision<'_>) -> String {
    let mut parameters = Vec::new();
    let mut is_set = false;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let name = parameter.split('=').next().unwrap_or_default();
        if !revision.replaced_parameters().contains(&name) {
            parameters.push(parameter.to_owned());
        } else if !is_set && name != "depth" {
            parameters.push(revision.parameter());
            is_set = true;
        }
    }
    if !is_set {
        parameters.push(revision.parameter());
    }
    parameters.join("&")
}

/// Returns the range of the branch or tag in the first comment after a position, on the same line:
/// a word with a version, or the whole comment.
fn name_in_comment(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = rest_of_line(text, from);
    let start = rest.find(|c: char| !c.is_whitespace())?;
    let (marker, end) = match &rest[start..] {
        comment if comment.starts_with('#') => (1, rest.len()),
        comment if comment.starts_with("//") => (2, rest.len()),
        comment if comment.starts_with("/*") => (2, start + comment.find("*/")?),
        _ => return None,
    };
    let comment = &rest[start + marker..end];
    let first_word = comment.split_whitespace().next()?;
    let name = first_word.trim_end_matches([',', ';', ':', '.']);
    if !is_harmless(name) || (VersionTag::parse(name).is_none() && comment.trim() != name) {
        return None;
    }
    let start_of_name = from + start + marker + comment.find(name)?;
    Some(start_of_name..start_of_name + name.len())
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
    fn edited(name: &str, text: &str, new: NewRevision<'_>) -> (String, String) {
        let file = SourceFile::new(name, text);
        let start = text.find("\"git").or_else(|| text.find("\"oci")).unwrap();
        let end = start + 1 + text[start + 1..].find('"').unwrap() + 1;
        let written = WrittenSource::read(&Location::new(&file, start..end)).unwrap();
        let (edit, source) = written.with_revision(new);
        (
            String::from_utf8(rewrite::files([&edit]).remove(0).new).unwrap(),
            source,
        )
    }

    #[test]
    fn a_ref_and_its_comment_change_and_every_other_byte_stays() {
        let check = |old: &str, comment, new: &str| {
            let new_commit = NewRevision::Commit {
                id: NEW,
                name: comment,
            };
            let (found, _) = edited("main.tf", old, new_commit);
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
            NewRevision::Reference("v1.1.0"),
        );
        assert_eq!(tag, "source = \"git::u//d?a=1&ref=v1.1.0&depth=1\" # v");
        assert_eq!(text, "git::u//d?a=1&ref=v1.1.0&depth=1");
        let (json, _) = edited(
            "main.tf.json",
            "{\"source\": \"git::u?ref=v1\"}",
            NewRevision::Commit {
                id: NEW,
                name: Some("v1"),
            },
        );
        assert_eq!(json, format!("{{\"source\": \"git::u?ref={NEW}\"}}"));
    }

    #[test]
    fn a_digest_and_its_comment_change_and_every_other_byte_stays() {
        let (old, new) = (
            format!("sha256:{}", "0".repeat(64)),
            format!("sha256:{}", "1".repeat(64)),
        );
        let digest = NewRevision::Digest {
            digest: &new,
            tag: "v1.1.0",
        };
        for (written, revision, expected) in [
            (
                "source = \"oci://h/a//d?tag=v1.0.0\"".to_owned(),
                digest,
                format!("source = \"oci://h/a//d?digest={new}\" # v1.1.0"),
            ),
            (
                "source = \"oci://h/a\" # ours".to_owned(),
                digest,
                format!("source = \"oci://h/a?digest={new}\" # v1.1.0 # ours"),
            ),
            (
                format!("source = \"oci://h/a?digest={old}\" # v1.0.0 x"),
                digest,
                format!("source = \"oci://h/a?digest={new}\" # v1.1.0 x"),
            ),
            (
                "source = \"oci://h/a?tag=v1.0.0\" # x".to_owned(),
                NewRevision::Tag("v1.1.0"),
                "source = \"oci://h/a?tag=v1.1.0\" # x".to_owned(),
            ),
        ] {
            assert_eq!(edited("main.tf", &written, revision).0, expected);
        }
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
            assert_eq!(
                name_in_comment(text, 0).map(|range| &text[range]),
                name,
                "{text:?}"
            );
        }
    }
}
