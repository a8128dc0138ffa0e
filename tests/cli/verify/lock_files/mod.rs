//! Lock files by themselves: their form, their entries, and copies under other names.

mod copied_lock_files;
mod file;

use super::*;
