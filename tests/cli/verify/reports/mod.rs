//! Output of a run: formats, summaries, wording, and the documentation of each code.

#[cfg(unix)]
mod codes;
mod coverage;
#[cfg(unix)]
mod folded;
mod formats;
mod guide;
mod run_facts;
mod snapshot;
mod wording;

use super::*;
