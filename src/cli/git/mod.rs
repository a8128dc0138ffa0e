//! Runs git and reads its answers.

mod command;
mod repository;
mod revision;

pub(crate) use command::{
    attributes, branch, configure, configured, contents, files_in, files_in_working_tree, is_directory, listed,
    merge_base, merge_file, resolve, top_directory,
};
pub(crate) use repository::{Before, Repository};
pub(crate) use revision::Commit;
