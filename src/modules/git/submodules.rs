//! `.gitmodules`: where the submodules of a repository come from (<https://git-scm.com/docs/gitmodules>).

use std::collections::BTreeMap;

use super::error::{GitError, Result};

/// The name of the file, at the top of a repository.
pub(super) const FILE_NAME: &str = ".gitmodules";

/// A submodule as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) url: String,
    /// Whether `git submodule update` leaves it out.
    pub(super) is_left_out: bool,
}

/// The submodules by their paths.
///
/// # Errors
/// The file is not one that git would read, or demands that git runs a program.
pub(super) fn read(text: &str) -> Result<BTreeMap<String, Mapping>> {
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut section = None;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            section = header.strip_prefix("submodule \"").and_then(|name| name.strip_suffix("\"]")).map(str::to_owned);
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        let Some(section) = &section else { continue };
        if value.contains('\\') {
            return Err(GitError::new("its .gitmodules has an escape or a line that continues"));
        }
        let entries = sections.entry(section.clone()).or_default();
        entries.insert(name.trim().to_ascii_lowercase(), unquoted(value.trim()));
    }
    let mut mappings = BTreeMap::new();
    for mut entries in sections.into_values() {
        let (Some(path), url) = (entries.remove("path"), entries.remove("url").unwrap_or_default()) else { continue };
        let update = entries.remove("update").unwrap_or_default();
        if update.starts_with('!') {
            return Err(GitError::new("its .gitmodules names a program that updates a submodule"));
        }
        mappings.insert(path, Mapping { url, is_left_out: update == "none" });
    }
    Ok(mappings)
}

/// A value without its quotes, or else without a comment.
fn unquoted(value: &str) -> String {
    match value.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some((quoted, _)) => quoted.to_owned(),
        None => value.split([';', '#']).next().unwrap_or_default().trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submodule_is_found_by_its_path() {
        let text = "# libs\n[submodule \"leaf\"]\n\tpath = libs/leaf\n\turl = ../leaf.git ; here\n\
                    [core]\n\thooksPath = /x\n[submodule \"b\"]\n path=\"b c\"\n url=https://h.test/b\n update=none\n";
        let mappings = read(text).unwrap();
        let leaf = Mapping { url: "../leaf.git".to_owned(), is_left_out: false };
        let other = Mapping { url: "https://h.test/b".to_owned(), is_left_out: true };
        assert_eq!(
            mappings.into_iter().collect::<Vec<_>>(),
            [("b c".to_owned(), other), ("libs/leaf".to_owned(), leaf)]
        );
        for refused in ["update = !sh", "url = a\\\n b"] {
            assert!(read(&format!("[submodule \"x\"]\npath = x\n{refused}\n")).is_err(), "{refused}");
        }
    }
}
