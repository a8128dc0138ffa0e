//! Git sources as text in a configuration, with the comment on the same line that names the commit.

use std::ops::Range;

use crate::configuration::rewrite::{self, ConstraintEdit};
use crate::diagnostic::Location;
use crate::modules::version_tag::{VersionTag, is_harmless};

/// A source whose text may be edited.
pub(super) struct WrittenSource {
    /// The text between the quotes.
    text: Location,
    /// Range of the branch or tag in the comment.
    name: Option<Range<usize>>,
}

/// A source with a new `ref`.
pub(super) struct RewrittenSource {
    /// Replaces the query and, if it changes, the comment.
    pub edit: ConstraintEdit,
    /// The source after the edit.
    pub text: String,
}

impl WrittenSource {
    /// Reads the value of `source`, which is given with its quotes.
    ///
    /// # Errors
    /// The reason why the source cannot be edited.
    pub(super) fn read(location: &Location) -> Result<Self, &'static str> {
        let text = rewrite::plain(location)?;
        // The comment names a branch or tag only beside a commit.
        let is_named = !is_json(location) && names_commit(&text.file.text[text.span.clone()]);
        let name = if is_named { comment(&location.file.text, location.span.end) } else { None };
        Ok(Self { text, name })
    }

    /// Returns the branch or tag in the comment.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.clone().map(|name| &self.text.file.text[name])
    }

    /// Returns the source with a new `ref`. The name of a new commit goes into the comment.
    pub(super) fn with(&self, reference: &str, name: Option<&str>) -> RewrittenSource {
        let Location { file, span } = &self.text;
        let text = &file.text[span.clone()];
        let is_commit = name.is_some();
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let new = with_reference(query, reference, is_commit);
        let separator = if text.contains('?') { "" } else { "?" };
        let start = span.start + address.len() + 1 - separator.len();
        let rewritten = format!("{address}?{new}");
        let (end, comment) = match (name.filter(|name| is_harmless(name)), &self.name) {
            (Some(name), Some(old)) => (old.end, format!("{}{name}", &file.text[span.end..old.start])),
            (Some(name), None) if !is_json(&self.text) => {
                let rest = rest_of_line(&file.text, span.end + 1).trim();
                let is_last = rest.is_empty() || rest.starts_with('#') || rest.starts_with("//");
                (span.end + 1, if is_last { format!("\" # {name}") } else { format!("\" /* {name} */") })
            }
            _ => (span.end, String::new()),
        };
        let location = Location::new(file, start..end);
        let edit = ConstraintEdit { location, new: format!("{separator}{new}{comment}") };
        RewrittenSource { edit, text: rewritten }
    }
}

/// Whether the `ref` of a source is a full commit id.
fn names_commit(source: &str) -> bool {
    let (_, query) = source.split_once('?').unwrap_or_default();
    let reference = query.split('&').find_map(|parameter| parameter.strip_prefix("ref=")).unwrap_or_default();
    reference.len() == 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns a query with a new `ref`, and without `depth`, because go-getter's `clone` cannot fetch a commit with it.
fn with_reference(query: &str, reference: &str, is_commit: bool) -> String {
    let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_owned();
    let is_kept = |parameter: &&str| !(parameter.is_empty() || is_commit && name(parameter) == "depth");
    let mut parameters: Vec<String> = query.split('&').filter(is_kept).map(str::to_owned).collect();
    let new = format!("ref={reference}");
    match parameters.iter_mut().find(|parameter| name(parameter) == "ref") {
        Some(parameter) => *parameter = new,
        None => parameters.push(new),
    }
    parameters.join("&")
}

/// Returns the range of the branch or tag in the first comment after a position, on the same line: a word with a
/// version, or the whole comment.
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
    let word = comment.split_whitespace().next()?.trim_end_matches([',', ';', ':', '.']);
    let word = Some(word).filter(|word| is_harmless(word))?;
    let is_name = VersionTag::parse(word).is_some() || comment.trim() == word;
    let start = from + start + marker + comment.find(word)?;
    is_name.then_some(start..start + word.len())
}

fn rest_of_line(text: &str, from: usize) -> &str {
    text.get(from..).unwrap_or_default().split(['\n', '\r']).next().unwrap_or_default()
}

fn is_json(location: &Location) -> bool {
    location.path().extension().is_some_and(|extension| extension == "json")
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
        let rewritten = written.with(reference, comment);
        let mut files = rewrite::files([&rewritten.edit]);
        (files.remove(0).new, rewritten.text)
    }

    #[test]
    fn a_ref_and_its_comment_change_and_every_other_byte_stays() {
        let check = |old: &str, comment, new: &str| {
            let (found, _) = edited("main.tf", old, NEW, comment);
            assert_eq!(found, new);
        };
        let pinned = |end: &str| format!("  source = \"git::u?ref={NEW}{end}");
        check("  source = \"git::u?ref=v1\"\r\n", Some("v1"), &pinned("\" # v1\r\n"));
        check("  source = \"git::u\"\n", Some("main"), &pinned("\" # main\n"));
        check("  source = \"git::u?\"", Some("main"), &pinned("\" # main"));
        check("  source = \"git::u?depth=1&ref=v1\" # why\n", Some("v1"), &pinned("\" # v1 # why\n"));
        check(
            "{ source = \"git::u?ref=v1\" }\n",
            Some("v1"),
            &format!("{{ source = \"git::u?ref={NEW}\" /* v1 */ }}\n"),
        );
        check(&format!("  source = \"git::u?ref={OLD}\"  #  v1.2.0 x\n"), Some("v1.3.0"), &pinned("\"  #  v1.3.0 x\n"));
        check(&format!("  source = \"git::u?ref={OLD}\" // main\n"), Some("main"), &pinned("\" // main\n"));
        check(
            &format!("  source = \"git::u?ref={OLD}\" /* v1.2.0 */ }}"),
            Some("v1.3.0"),
            &pinned("\" /* v1.3.0 */ }"),
        );
        check("  source = \"git::u?ref=x\"\n", Some("a\n}"), &pinned("\"\n"));
        let (tag, text) = edited("main.tf", "source = \"git::u//d?a=1&ref=v1.0.0&depth=1\" # v", "v1.1.0", None);
        assert_eq!(tag, "source = \"git::u//d?a=1&ref=v1.1.0&depth=1\" # v");
        assert_eq!(text, "git::u//d?a=1&ref=v1.1.0&depth=1");
        let (json, _) = edited("main.tf.json", "{\"source\": \"git::u?ref=v1\"}", NEW, Some("v1"));
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
