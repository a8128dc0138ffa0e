//! The flags that say how called modules are found.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use provlock::configuration::InputVariables;
use provlock::project::{ModuleFetching, SessionOptions};
use provlock::system::Environment;

/// How called modules are found.
#[derive(Args)]
#[command(next_help_heading = "Modules")]
pub(crate) struct ModuleArgs {
    /// Don't fetch modules; read installed ones only
    #[arg(long, hide_short_help = true)]
    no_fetch_modules: bool,
    /// Set a variable, for the sources and versions of modules
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment, hide_short_help = true)]
    variables: Vec<(String, String)>,
    /// Read variables from FILE, like terraform.tfvars; --var wins
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    var_file: Vec<PathBuf>,
}

impl ModuleArgs {
    /// Adds the source of modules that are not installed, and the values of variables. If `is_offline`, modules come
    /// from the cache only.
    pub(crate) fn add_to(&self, options: &mut SessionOptions, environment: &Environment, is_offline: bool) {
        options.variables = InputVariables::new(&environment.variables, self.var_file.clone(), self.variables.clone());
        options.modules = match is_offline {
            _ if self.no_fetch_modules => ModuleFetching::Never,
            true => ModuleFetching::FromCache,
            false => ModuleFetching::Fetch,
        };
    }
}

/// Reads `NAME=VALUE`.
fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}
