//! The base revision: its name, requests to git and to hosts, and findings about any difference.

mod change;
mod failing_git;
#[cfg(unix)]
mod git_programs;
mod links_of_the_base;
mod merge_base;
mod new_findings;
mod partial_clones;
mod requests;
mod revisions;

use super::*;
