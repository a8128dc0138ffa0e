//! The flag that makes a command work on many root modules.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use provlock::cli_config::Environment;
use provlock::diagnostic::{Code, Diagnostic};
use provlock::dialect::Dialect;
use provlock::ops::{RootSearch, find_roots};
use provlock::requirements::ModuleCache;

use super::Failure;
use super::project::settings;

#[derive(Args)]
#[command(next_help_heading = "What")]
pub(crate) struct RootArgs {
    /// Every root module below the PATHs [default: .]; what `.gitignore` names is left out
    #[arg(short, long, value_name = "PATH", num_args(0..), value_hint = ValueHint::DirPath)]
    recursive: Option<Vec<PathBuf>>,
}

impl RootArgs {
    /// Whether there may be other root modules than the one in the current directory.
    pub(crate) fn is_recursive(&self) -> bool {
        self.recursive.is_some()
    }

    /// The root modules in question, at least one, sorted.
    pub(crate) fn find(
        &self,
        dialect: Option<Dialect>,
        environment: &Environment,
        modules: &ModuleCache,
    ) -> Result<Vec<PathBuf>, Failure> {
        let starts = match self.recursive.as_deref() {
            None => return Ok(vec![PathBuf::from(".")]),
            Some([]) => &[PathBuf::from(".")],
            Some(paths) => paths,
        };
        let mut roots = Vec::new();
        for start in starts {
            roots.extend(roots_below(start, dialect, environment, modules)?);
        }
        roots.sort();
        roots.dedup();
        if roots.is_empty() {
            let message = format!("there is no root module in {} or below", starts[0].display());
            let error = Diagnostic::error(Code::NoConfiguration, message).note(
                "a root module has a backend, cloud or provider block or a lock file, and no other module calls it",
            );
            return Err(vec![error]);
        }
        Ok(roots)
    }
}

fn roots_below(
    start: &Path,
    dialect: Option<Dialect>,
    environment: &Environment,
    modules: &ModuleCache,
) -> Result<Vec<PathBuf>, Failure> {
    let (absolute, settings) = settings(start, environment)?;
    let base = settings.path.as_deref().and_then(Path::parent).unwrap_or(&absolute);
    let dialect = dialect.or(settings.dialect);
    find_roots(&RootSearch { start, filter: &settings.roots, base, dialect }, modules)
}
