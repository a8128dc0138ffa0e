//! Runs git and reads its answers.

mod at_base;
mod base_tree;
mod command;
mod links;
mod repositories;
mod repository;
mod revision;
mod tree;
mod work_tree;

pub(crate) use command::{
    attributes, branch, configure, configured, empty_tree, entries, is_directory, merge_base,
    merge_file, resolve, top_directory,
};
pub(crate) use repositories::Repositories;
pub(crate) use repository::{Before, Repository};
pub(crate) use tree::RevisionFiles;
pub(crate) use work_tree::with_converted_line_endings;
