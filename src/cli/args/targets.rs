//! Targets of `lock`, `upgrade` and `tree`: providers, module calls and paths, in any order.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use provlock::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result};
use provlock::provider::{ProviderSpec, ProviderSpecError};
use provlock::system::Tree;

/// Providers, calls of modules, and paths of root modules.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    pub(crate) providers: Vec<ProviderSpec>,
    /// Modules by their paths, with the requested versions.
    pub(crate) modules: BTreeMap<String, Option<String>>,
    pub(crate) paths: Vec<PathBuf>,
}

impl Targets {
    /// Parses arguments: paths, `module.NAME` and providers, both also with `@VERSION`. An argument
    /// that exists in the current directory is a path.
    ///
    /// # Errors
    /// Each argument that is none of these.
    pub(crate) fn parse(arguments: &[OsString]) -> Result<Self> {
        let mut targets = Self::default();
        let mut errors = Diagnostics::default();
        for argument in arguments {
            let path = Path::new(argument);
            // A path such as `network/dns` also has the form of a provider, and wins if it exists.
            if Tree::Work.exists(path) || is_surely_path(path) {
                targets.paths.push(path.to_owned());
                continue;
            }
            if let Some((module, version)) = parse_module(argument) {
                targets.modules.insert(module, version);
                continue;
            }
            match parse_provider(argument) {
                Ok(provider) => targets.providers.push(provider),
                Err(error) => errors.extend(error),
            }
        }
        errors.into_result(targets)
    }

    /// Returns the providers, then the modules, as they are written on a command line, without
    /// their versions.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        names.extend(self.providers.iter().map(ProviderSpec::written));
        names.extend(self.modules.keys().map(|key| format!("module.{key}")));
        names
    }

    /// [`Self::names`], with the versions that the command line names.
    pub(crate) fn names_with_versions(&self) -> Vec<String> {
        let mut names = Vec::new();
        for provider in &self.providers {
            names.push(match provider.version() {
                Some(version) => format!("{}@{version}", provider.written()),
                None => provider.written(),
            });
        }
        for (key, version) in &self.modules {
            names.push(match version {
                Some(version) => format!("module.{key}@{version}"),
                None => format!("module.{key}"),
            });
        }
        names
    }

    /// Fails if an argument is a module, or a provider with a version: `lock` takes neither.
    pub(crate) fn refuse_modules_and_versions(&self) -> Result<()> {
        if let Some(module) = self.modules.keys().next() {
            let message = format!("lock takes providers and paths, and module.{module} is neither");
            let help =
                Help::text("to upgrade it: ").and(Remedy::upgrade(format!("module.{module}")));
            return Err(Diagnostic::error(Code::InvalidArgument, message)
                .help(help)
                .into());
        }
        let mut errors = Diagnostics::default();
        for provider in &self.providers {
            let Some(version) = provider.version() else {
                continue;
            };
            let named = format!("{provider}@{version}");
            let error = Diagnostic::error(
                Code::InvalidArgument,
                format!("lock keeps locked versions, so {named} must not contain a version"),
            );
            let help = Help::text("to upgrade it to that version: ").and(Remedy::upgrade(named));
            errors.push(error.help(help));
        }
        errors.into_result(())
    }
}

/// Whether a missing path cannot be anything else: it is written as a path, or it was the path of a
/// removed file.
pub(crate) fn is_surely_path(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let extension = path.extension().and_then(OsStr::to_str);
    path.has_root()
        || text.starts_with('.')
        || text.ends_with(std::path::is_separator)
        || matches!(extension, Some("tf" | "tofu" | "hcl" | "json"))
}

/// The path of a call, in the form `module.network.endpoints` or `module.network.module.endpoints`,
/// and the requested version.
fn parse_module(argument: &OsStr) -> Option<(String, Option<String>)> {
    let text = argument.to_str()?.strip_prefix("module.")?;
    let (path, version) = text
        .split_once('@')
        .map_or((text, None), |(path, version)| (path, Some(version)));
    let is_path = !path.contains('/') && path.split('.').all(|name| !name.is_empty());
    is_path.then(|| (path.replace(".module.", "."), version.map(str::to_owned)))
}

fn parse_provider(argument: &OsStr) -> Result<ProviderSpec> {
    let text = argument.to_string_lossy();
    text.parse().map_err(|error| {
        let error = match error {
            ProviderSpecError::Version(version, _) => {
                let name = text.split('@').next().unwrap_or_default();
                let message = format!("{version:?} is not a version: name one, as in {name}@1.2.3, or only {name}");
                Diagnostic::error(Code::InvalidArgument, message)
                    .help("without a version, upgrade selects the newest version that the constraints allow")
            }
            ProviderSpecError::Address(error) => {
                let message =
                    format!("{text} is not a provider, and there is no file or directory of that name: {error}");
                Diagnostic::error(Code::InvalidArgument, message)
            }
        };
        error.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(argument: &str) -> Result<(Vec<String>, Vec<PathBuf>)> {
        let Targets {
            providers, paths, ..
        } = Targets::parse(&[OsString::from(argument)])?;
        Ok((providers.iter().map(ToString::to_string).collect(), paths))
    }

    #[test]
    fn existing_files_are_paths_and_possible_addresses_are_providers() {
        for path in [
            "src",
            "src/main.rs",
            "./none",
            "../none",
            "/none",
            "none/",
            "a/b/gone.tf",
            "gone.tofu",
            ".none",
        ] {
            assert_eq!(
                read(path).unwrap(),
                (Vec::new(), vec![PathBuf::from(path)]),
                "{path}"
            );
        }
        for provider in ["hashicorp/aws@5.80.0", "registry.example.com/acme/gamma"] {
            let name = provider.trim_end_matches("@5.80.0").to_owned();
            assert_eq!(
                read(provider).unwrap(),
                (vec![name], Vec::new()),
                "{provider}"
            );
        }
        for (text, path, version) in [
            ("module.network", "network", None),
            ("module.network@5.14.0", "network", Some("5.14.0")),
            (
                "module.network.module.endpoints@v1",
                "network.endpoints",
                Some("v1"),
            ),
            ("module.test.tests.a.x", "test.tests.a.x", None),
        ] {
            let Targets { modules, .. } = Targets::parse(&[OsString::from(text)]).unwrap();
            assert_eq!(
                modules.into_iter().collect::<Vec<_>>(),
                [(path.to_owned(), version.map(str::to_owned))]
            );
        }
        for neither in ["acme/gamma@new", "a/b/c/d", "a b"] {
            assert!(read(neither).is_err(), "{neither}");
        }
    }
}
