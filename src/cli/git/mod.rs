//! Runs git and reads its answers.

mod at_base;
mod base_tree;
mod command;
mod links;
mod object_name;
mod repositories;
mod repository;
mod revision;
mod tree;
mod work_tree;

pub(crate) use command::{
    current_branch, empty_tree, is_directory, list_entries, merge_base, merge_file,
    read_attributes, read_variable, resolve, set_variable, top_directory,
};
pub(crate) use repositories::Repositories;
pub(crate) use repository::{Before, Repository};
pub(crate) use tree::RevisionFiles;
pub(crate) use work_tree::with_converted_line_endings;
