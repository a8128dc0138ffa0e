//! Paths from the top of the repository, for reports that other directories and machines read.

use std::path::{Path, PathBuf};

use provlock::diagnostic::{Diagnostic, Help, HelpPart, Remedy, RootModules};
use provlock::project::VerifiedRoot;
use provlock::system::files;

/// Paths for a service that shows the repository.
#[derive(Clone, Copy)]
pub(crate) struct RepositoryPaths<'a> {
    pub(crate) current_directory: &'a Path,
    /// The top of the repository; `None` outside of one.
    pub(crate) top: Option<&'a Path>,
}

impl RepositoryPaths<'_> {
    /// A path relative to the top of the repository, with slashes.
    pub(crate) fn text_relative_to_top(&self, path: &Path) -> String {
        self.relative_to_top(path)
            .display()
            .to_string()
            .replace('\\', "/")
    }

    /// A path relative to the top of the repository, where it is `.`. A path outside and the
    /// address of a package stay.
    pub(crate) fn relative_to_top(&self, path: &Path) -> PathBuf {
        if path.to_string_lossy().contains("://") {
            return path.to_owned();
        }
        let clean = files::join(self.current_directory, path);
        let below = self.top.and_then(|top| clean.strip_prefix(top).ok());
        match below {
            Some(below) if below.as_os_str().is_empty() => PathBuf::from("."),
            Some(below) => below.to_owned(),
            None => path.to_owned(),
        }
    }

    /// The diagnostic as a run at the top of the repository has it, so that it is the same from
    /// every directory. Locations stay.
    pub(crate) fn diagnostic_at_top(
        &self,
        diagnostic: &Diagnostic,
        root: Option<&VerifiedRoot>,
    ) -> Diagnostic {
        if self.top.is_none() {
            return diagnostic.clone();
        }
        let rename = |path: &Path| self.text_relative_to_top(path);
        let renamings = renamings_of(diagnostic, root, &rename);
        let mut at_top = with_renamed_paths(diagnostic, root, &rename);
        at_top.help = at_top.help.map(|help| self.help_at_top(&help, &renamings));
        at_top.root_modules = at_top
            .root_modules
            .map(|roots| Box::new(self.root_modules_at_top(*roots)));
        at_top
    }

    /// The same help with files relative to the top of the repository.
    fn help_at_top(&self, help: &Help, renamings: &[Renaming]) -> Help {
        let mut at_top = Help::default();
        for part in help.parts() {
            at_top = match part {
                HelpPart::Text(text) => at_top.and_text(replace_paths(text, renamings)),
                HelpPart::Remedy(Remedy::Merge { file, resolve }) => at_top.and(Remedy::Merge {
                    file: self.relative_to_top(file),
                    resolve: *resolve,
                }),
                HelpPart::Remedy(Remedy::AddToGit { files, force }) => {
                    let files = files
                        .iter()
                        .map(|file| self.relative_to_top(file))
                        .collect();
                    let force = *force;
                    at_top.and(Remedy::AddToGit { files, force })
                }
                HelpPart::Remedy(_) | HelpPart::Exempt(_) => at_top.and_part(part.clone()),
            };
        }
        at_top
    }

    /// The same root modules, selected from the top of the repository.
    fn root_modules_at_top(&self, roots: RootModules) -> RootModules {
        match roots {
            RootModules::One {
                directory,
                is_noted,
            } => RootModules::One {
                directory: self.relative_to_top(&directory),
                is_noted,
            },
            RootModules::Selected {
                mut paths,
                recursive,
                directories,
            } => {
                // No path stands for the current directory.
                if paths.is_empty() && recursive {
                    paths.push(PathBuf::from("."));
                }
                let mut paths_at_top = self.all_relative_to_top(&paths);
                // At the top, no path is needed for the top itself.
                paths_at_top.retain(|path| path != Path::new("."));
                RootModules::Selected {
                    paths: paths_at_top,
                    recursive,
                    directories: self.all_relative_to_top(&directories),
                }
            }
        }
    }

    fn all_relative_to_top(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        paths
            .iter()
            .map(|path| self.relative_to_top(path))
            .collect()
    }
}

/// Returns a diagnostic whose words have paths as `rename` returns them. Locations, help and root
/// modules stay.
pub(super) fn with_renamed_paths(
    diagnostic: &Diagnostic,
    root: Option<&VerifiedRoot>,
    rename: &impl Fn(&Path) -> String,
) -> Diagnostic {
    let renamings = renamings_of(diagnostic, root, rename);
    let mut with_paths = diagnostic.clone();
    with_paths.message = match &diagnostic.named {
        Some(about) => about.message(&rename(&about.path)),
        None => replace_paths(&diagnostic.message, &renamings),
    };
    for note in &mut with_paths.notes {
        *note = replace_paths(note, &renamings);
    }
    for label in &mut with_paths.labels {
        label.text = replace_paths(&label.text, &renamings);
    }
    with_paths
}

/// Paths of files that a diagnostic may contain, each with its new path from `rename`; the longest
/// first, so that none is replaced as a part of a longer one. Directories are left out: their names
/// may be ordinary words of the text.
fn renamings_of(
    diagnostic: &Diagnostic,
    root: Option<&VerifiedRoot>,
    rename: &impl Fn(&Path) -> String,
) -> Vec<Renaming> {
    let mut paths: Vec<&Path> = Vec::new();
    for label in &diagnostic.labels {
        // A fetched file is not in the repository, and keeps its path.
        if !label.location.file.is_fetched {
            paths.push(label.location.path());
        }
    }
    paths.extend(root.map(|root| &*root.lock_path));

    let mut renamings = Vec::new();
    for path in paths {
        let renaming = Renaming {
            from: path.display().to_string(),
            to: rename(path),
        };
        if !renaming.from.is_empty()
            && renaming.from != renaming.to
            && !renamings.contains(&renaming)
        {
            renamings.push(renaming);
        }
    }
    renamings.sort_by_key(|renaming| std::cmp::Reverse(renaming.from.len()));
    renamings
}

/// A path in a text, and the path that replaces it.
#[derive(PartialEq, Eq)]
struct Renaming {
    from: String,
    to: String,
}

/// A text in which paths are replaced where they are words, or the start of a longer path.
fn replace_paths(text: &str, renamings: &[Renaming]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_start = true;
    while let Some(c) = rest.chars().next() {
        let mut renaming = None;
        if is_start {
            renaming = renamings
                .iter()
                .find(|renaming| begins_with_path(rest, &renaming.from));
        }
        if let Some(renaming) = renaming {
            replaced += &renaming.to;
            rest = &rest[renaming.from.len()..];
            is_start = false;
            continue;
        }
        replaced.push(c);
        is_start = c.is_whitespace() || "\"'`([{=,;".contains(c);
        rest = &rest[c.len_utf8()..];
    }
    replaced
}

/// Whether a text begins with a path, or with a path below it.
fn begins_with_path(text: &str, path: &str) -> bool {
    let Some(rest) = text.strip_prefix(path) else {
        return false;
    };
    let mut next = rest.chars();
    match next.next() {
        None | Some('/' | '\\') => true,
        // The end of a sentence is not the start of a file's extension.
        Some('.' | ':') => next
            .next()
            .is_none_or(|c| c.is_whitespace() || c.is_ascii_digit()),
        Some(c) => c.is_whitespace() || "\"'`)]},;".contains(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_replaced_only_where_they_are_words() {
        let renamings = [
            ("a/.terraform.lock.hcl", "live/a/.terraform.lock.hcl"),
            ("main.tf", "live/main.tf"),
        ];
        let renamings = renamings.map(|(from, to)| Renaming {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        for (text, expected) in [
            (
                "a/.terraform.lock.hcl is missing",
                "live/a/.terraform.lock.hcl is missing",
            ),
            (
                "see main.tf:3, or main.tf.",
                "see live/main.tf:3, or live/main.tf.",
            ),
            (
                "x/main.tf main.tf.json domain.tf",
                "x/main.tf main.tf.json domain.tf",
            ),
        ] {
            assert_eq!(replace_paths(text, &renamings), expected);
        }
    }
}
