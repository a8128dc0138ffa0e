//! The `.gitattributes` of a package on disk: which files git may have changed in a copy that it checked out.

use std::collections::BTreeMap;
use std::path::Path;

use super::attributes::{self, Attributes, FILE_NAME, LARGEST, Macros};
use crate::system::files;

/// Attributes of a package.
pub(in crate::modules) struct PackageAttributes {
    /// By the directory of their file in the package; `None` if a file cannot be read, so that any file may change.
    by_directory: Option<BTreeMap<String, Vec<Attributes>>>,
}

impl PackageAttributes {
    /// Reads the attributes of the package in the directory `top`, whose files have these names.
    pub(in crate::modules) fn read<'a>(top: &Path, names: impl Iterator<Item = &'a String>) -> Self {
        let mut found: Vec<_> = names.filter_map(|name| Some((directory_of(name)?, name))).collect();
        // The file at the top defines names of attributes that the files below it use.
        found.sort();
        let (mut by_directory, mut macros) = (BTreeMap::<String, Vec<_>>::new(), Macros::default());
        for (directory, name) in found {
            let Some(text) = text(&top.join(name)) else { return Self { by_directory: None } };
            let read = Macros::read(&text).and_then(|own| {
                // A submodule has a top of its own.
                macros.add(own);
                Attributes::read(&text, directory, &macros)
            });
            let Ok(attributes) = read else { return Self { by_directory: None } };
            by_directory.entry(directory.to_owned()).or_default().push(attributes);
        }
        Self { by_directory: Some(by_directory) }
    }

    /// The attribute by which git may change more of a file than its line ends.
    pub(in crate::modules) fn changing(&self, name: &str) -> Option<&'static str> {
        let Some(by_directory) = &self.by_directory else { return Some(attributes::FILTER) };
        let above = name.match_indices('/').map(|(end, _)| &name[..end]);
        let files = std::iter::once("").chain(above).filter_map(|directory| by_directory.get(directory));
        attributes::changing(name, files.flatten())
    }
}

/// The directory of a file that git reads attributes from; `None` for any other file.
fn directory_of(name: &str) -> Option<&str> {
    let (directory, file) = name.rsplit_once('/').unwrap_or(("", name));
    file.eq_ignore_ascii_case(FILE_NAME).then_some(directory)
}

/// The text of a file that is no link.
fn text(path: &Path) -> Option<String> {
    let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let bytes = if is_file { files::read(path, LARGEST).ok()? } else { return None };
    if bytes.contains(&0) { None } else { Some(String::from_utf8_lossy(&bytes).into_owned()) }
}
