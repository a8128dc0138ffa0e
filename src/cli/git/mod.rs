//! Runs git and reads its answers.

mod command;
mod repository;
mod revision;

pub(crate) use command::{
    attributes, branch, configure, configured, contents, empty_tree, entries, files_in, is_directory, merge_base,
    merge_file, resolve, top_directory,
};
pub(crate) use repository::{Before, Repository, both};
pub(crate) use revision::Commit;
