//! Lock files beside their configuration: requirements, root modules, and files that are read.

mod configuration;
mod outside;
mod roots;

use super::*;
