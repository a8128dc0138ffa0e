//! The branches and tags of a repository, as `git ls-remote` lists them.

use std::collections::BTreeMap;

/// The branches and tags of a repository, each with its commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct References {
    /// Commit of HEAD.
    head: Option<String>,
    branches: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
}

impl References {
    /// Parses a list. An annotated tag has two lines; the second has its commit.
    pub(super) fn parse(list: &str) -> Self {
        let mut references = Self::default();
        for (start, name) in list.lines().filter_map(|line| line.split_once('\t')) {
            if name == "HEAD" {
                references.head = Some(start.to_owned());
            } else if let Some(branch) = name.strip_prefix("refs/heads/") {
                references
                    .branches
                    .insert(branch.to_owned(), start.to_owned());
            } else if let Some(tag) = name.strip_prefix("refs/tags/") {
                let tag = tag.strip_suffix("^{}").unwrap_or(tag);
                references.tags.insert(tag.to_owned(), start.to_owned());
            }
        }
        references
    }

    /// Returns the commit that git checks out for a name. A tag precedes a branch of the same name.
    pub(crate) fn commit(&self, name: &str) -> Option<&str> {
        for prefix in ["refs/tags/", "tags/"] {
            if let Some(tag) = name.strip_prefix(prefix) {
                return self.tags.get(tag).map(String::as_str);
            }
        }
        for prefix in ["refs/heads/", "heads/"] {
            if let Some(branch) = name.strip_prefix(prefix) {
                return self.branches.get(branch).map(String::as_str);
            }
        }
        let commit = self.tags.get(name).or_else(|| self.branches.get(name))?;
        Some(commit)
    }

    /// The commit of HEAD.
    pub(crate) fn head(&self) -> Option<&str> {
        self.head.as_deref()
    }

    /// The names of the tags.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_the_commit_that_git_checks_out() {
        let references = References::parse(concat!(
            "aa\tHEAD\n",
            "aa\trefs/heads/main\n",
            "bb\trefs/heads/v1.0.0\n",
            "cc\trefs/tags/v1.0.0\n",
            "dd\trefs/tags/v1.0.0^{}\n",
            "ee\trefs/tags/tags/v2\n",
        ));
        assert_eq!(references.head(), Some("aa"));
        for (name, commit) in [
            ("main", Some("aa")),
            ("v1.0.0", Some("dd")),
            ("tags/v1.0.0", Some("dd")),
            ("refs/tags/v1.0.0", Some("dd")),
            ("refs/heads/v1.0.0", Some("bb")),
            ("tags/tags/v2", Some("ee")),
            ("none", None),
        ] {
            assert_eq!(references.commit(name), commit, "{name}");
        }
        assert_eq!(references.tags().collect::<Vec<_>>(), ["tags/v2", "v1.0.0"]);
        assert_eq!(References::parse("no list"), References::default());
    }
}
