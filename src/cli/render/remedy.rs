//! Remedies as commands: the only file that contains the commands and flags of this program by
//! name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;
use provlock::diagnostic::{
    Diagnostic, Help, HelpPart, LockRemedy, Remedy, RootModules, RunOption, UpgradeRemedy,
};
use provlock::provider::{Dialect, Platform};

use super::repository_paths::RepositoryPaths;

/// A flag of the command line that commands in help repeat, because they would do something else
/// without it.
#[derive(Clone)]
pub(crate) struct RepeatedFlag {
    flag: &'static str,
    /// `None` for a flag without a value.
    value: Option<String>,
    is_path: bool,
}

/// Returns the flags on the command line that commands in help repeat. An address that may contain
/// a secret is omitted.
pub(crate) fn repeated_flags(matches: &ArgMatches) -> Vec<RepeatedFlag> {
    const FLAGS: [(&str, &str); 7] = [
        ("config", "--config"),
        ("dialect", "--dialect"),
        ("fs_mirror", "--fs-mirror"),
        ("net_mirror", "--net-mirror"),
        ("oci_mirror", "--oci-mirror"),
        ("use_cli_config", "--use-cli-config"),
        ("min_age", "--min-age"),
    ];
    let is_given = |id: &str| {
        matches.try_contains_id(id).unwrap_or(false)
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let flag = |(id, flag): (&str, &'static str)| {
        let value = matches
            .get_raw(id)
            .and_then(|mut values| values.next())
            .and_then(OsStr::to_str);
        let value = if flag == "--use-cli-config" {
            None
        } else {
            Some(value?.to_owned())
        };
        let may_be_secret =
            flag == "--net-mirror" && value.as_ref().is_some_and(|url| url.contains(['@', '?']));
        let is_path = matches!(flag, "--config" | "--fs-mirror");
        (!may_be_secret).then_some(RepeatedFlag {
            flag,
            value,
            is_path,
        })
    };
    FLAGS
        .into_iter()
        .filter(|(id, _)| is_given(id))
        .filter_map(flag)
        .collect()
}

impl RepeatedFlag {
    /// The flag for a run at the top of the repository.
    pub(super) fn at_top(&self, paths: &RepositoryPaths<'_>) -> Self {
        let value = match &self.value {
            Some(path) if self.is_path => Some(paths.shown(Path::new(path))),
            value => value.clone(),
        };
        Self {
            value,
            ..self.clone()
        }
    }

    /// Returns the words for a command, none if it does not need the flag. `path` completes a
    /// relative path.
    pub(super) fn words(
        &self,
        arguments: &[String],
        path: impl Fn(&Path) -> PathBuf,
    ) -> Vec<String> {
        let command = arguments.first().map_or("", String::as_str);
        let is_used = match self.flag {
            "--config" | "--dialect" => !["explain", "login", "logout"].contains(&command),
            // A suggested `verify` compares with the registries.
            _ => matches!(command, "lock" | "upgrade"),
        };
        if !is_used || arguments.iter().any(|word| word == self.flag) {
            return Vec::new();
        }
        let value = self.value.as_ref().map(|value| {
            if self.is_path {
                path_argument(&path(Path::new(value)))
            } else {
                value.clone()
            }
        });
        [self.flag.to_owned()].into_iter().chain(value).collect()
    }
}

/// Returns the flag of an option, with a value if it needs one.
pub(super) fn flag(option: &RunOption) -> String {
    let flag = match option {
        RunOption::AnyAge => "--min-age 0d",
        RunOption::Offline => "--offline",
        RunOption::NamePlatforms => "--platform linux_amd64",
        RunOption::Recursive => "--recursive (-r)",
        RunOption::AllowMissingModules => "--allow-missing-modules",
        RunOption::FetchNoModules => "--no-fetch-modules",
        RunOption::AllowOutside => "--allow-outside",
        RunOption::SetVariable => "--var NAME=VALUE",
        RunOption::UseCliConfiguration => "--use-cli-config",
        RunOption::OciMirror(template) => return format!("--oci-mirror \"{template}\""),
        RunOption::CacheDirectory => "--cache-dir DIR",
        RunOption::NoCache => "--no-cache",
        RunOption::AcceptChangedHashes => "--accept-changed-hashes",
        RunOption::Dialect(dialect) => return format!("--dialect {}", dialect.name()),
        RunOption::Warn(code) => return format!("--warn {code}"),
    };
    flag.to_owned()
}

/// Adds root modules and a dialect to the arguments of a command, and returns the directory in
/// which to run it.
pub(super) fn command(
    mut arguments: Vec<String>,
    roots: Option<&RootModules>,
    dialect: Option<Dialect>,
) -> (Option<&Path>, Vec<String>) {
    let directory = match roots {
        Some(RootModules::One { directory, .. }) => {
            Some(&**directory).filter(|directory| !is_current(directory))
        }
        Some(RootModules::Selected {
            paths, recursive, ..
        }) if takes_root_modules(&arguments) => {
            let recursive = recursive.then(|| "-r".to_owned());
            arguments.splice(
                1..1,
                recursive
                    .into_iter()
                    .chain(paths.iter().map(|path| path_argument(path))),
            );
            None
        }
        _ => None,
    };
    if let Some(dialect) = dialect {
        arguments.extend(["--dialect", dialect.name()].map(str::to_owned));
    }
    (directory, arguments)
}

/// Whether a path is `.`, or the empty parent of a file name.
fn is_current(directory: &Path) -> bool {
    directory.as_os_str().is_empty() || directory == Path::new(".")
}

/// A command of git that applies a remedy to all root modules that a diagnostic is about; `None`
/// for other remedies. Git takes a pattern for very many.
pub(super) fn git_command(
    remedy: &Remedy,
    diagnostic: &Diagnostic,
    shown: impl Fn(&Path) -> PathBuf,
) -> Option<Vec<String>> {
    const MOST: usize = 20;
    if let Remedy::FetchMissingObjects { remote } = remedy {
        return Some(fetch_command(remote, &shown(Path::new(""))));
    }
    let (command, name, pattern): (&[&str], _, _) = match *remedy {
        Remedy::AddToGit { name, force: true } => {
            (&["git", "add", "--force"], name, format!("*{name}"))
        }
        Remedy::AddToGit { name, force: false } => (&["git", "add"], name, format!("*{name}")),
        Remedy::UntrackDataDirectory => (
            &["git", "rm", "-r", "--cached"],
            ".terraform",
            ":(glob)**/.terraform/**".to_owned(),
        ),
        _ => return None,
    };
    let directories = directories(diagnostic);
    let path = |directory: &PathBuf| {
        let directory = directory.strip_prefix(".").unwrap_or(directory);
        path_argument(&shown(&directory.join(name)))
    };
    let paths = match directories.len() {
        0..=MOST => directories.iter().map(path).collect(),
        _ => vec![pattern],
    };
    Some(
        command
            .iter()
            .map(|word| (*word).to_owned())
            .chain(paths)
            .collect(),
    )
}

/// A command of git that fetches the objects that a partial clone lacks, in the directory in which
/// the program ran.
fn fetch_command(remote: &str, directory: &Path) -> Vec<String> {
    let mut words = vec!["git".to_owned()];
    if !is_current(directory) {
        let directory: PathBuf = directory.components().collect();
        words.extend(["-C".to_owned(), path_argument(&directory)]);
    }
    words.extend(["fetch", "--refetch", "--no-filter"].map(str::to_owned));
    // A name that git would read as an option is of no use in a command.
    if !remote.starts_with('-') {
        words.push(remote.to_owned());
    }
    words
}

/// Whether the help is about a file of each of several root modules, and its commands take only
/// one.
pub(super) fn is_for_each(diagnostic: &Diagnostic) -> bool {
    let is_unnamed = matches!(
        diagnostic.root_modules.as_deref(),
        Some(RootModules::Selected { paths, recursive: false, .. }) if paths.is_empty()
    );
    let is_for_one = |part: &HelpPart| match part {
        HelpPart::Remedy(remedy) => {
            matches!(remedy, Remedy::Merge { .. })
                || is_unnamed && takes_root_modules(&arguments(remedy))
        }
        HelpPart::Text(_) => false,
    };
    directories(diagnostic).len() > 1
        && diagnostic.help.iter().flat_map(Help::parts).any(is_for_one)
}

/// Whether a command accepts paths of root modules and `-r`.
fn takes_root_modules(arguments: &[String]) -> bool {
    arguments
        .first()
        .is_some_and(|command| ["lock", "upgrade", "verify"].contains(&command.as_str()))
}

/// The root modules that a diagnostic is about.
fn directories(diagnostic: &Diagnostic) -> &[PathBuf] {
    match diagnostic.root_modules.as_deref() {
        Some(RootModules::One { directory, .. }) => std::slice::from_ref(directory),
        Some(RootModules::Selected { directories, .. }) => directories,
        None => &[],
    }
}

pub(super) fn arguments(remedy: &Remedy) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match remedy {
        Remedy::Lock(LockRemedy {
            providers,
            platforms,
            recursive,
            prune,
            accept_changed_hashes,
        }) => {
            let flags = [
                ("-r", *recursive),
                ("--prune", *prune),
                ("--accept-changed-hashes", *accept_changed_hashes),
            ];
            with_flags("lock", &flags, platforms.as_deref(), providers)
        }
        Remedy::LockModules => words(&["lock", "--modules"]),
        Remedy::Upgrade(UpgradeRemedy {
            providers,
            platforms,
            constraints,
            allow_downgrade,
        }) => {
            let flags = [
                ("--constraints", *constraints),
                ("--allow-downgrade", *allow_downgrade),
            ];
            with_flags("upgrade", &flags, platforms.as_deref(), providers)
        }
        Remedy::Verify { online, platforms } => with_flags(
            "verify",
            &[("--online", *online)],
            platforms.as_deref(),
            &[],
        ),
        Remedy::Merge { file, resolve } => with_flags(
            "merge",
            &[("--resolve", *resolve)],
            None,
            &[path_argument(file)],
        ),
        Remedy::Login { host } => words(&["login", host]),
        Remedy::CheckLogin { host } => words(&["login", "--check", host]),
        Remedy::Run(arguments) => arguments.clone(),
        _ => Vec::new(),
    }
}

fn with_flags(
    command: &str,
    flags: &[(&str, bool)],
    platforms: Option<&[Platform]>,
    operands: &[String],
) -> Vec<String> {
    let flags = flags
        .iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(flag, _)| (*flag).to_owned());
    let platforms = platforms.map(|platforms| match platforms {
        [] => "all".to_owned(),
        _ => platforms
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(","),
    });
    let platforms = platforms
        .into_iter()
        .flat_map(|platforms| ["-p".to_owned(), platforms]);
    std::iter::once(command.to_owned())
        .chain(flags)
        .chain(platforms)
        .chain(operands.iter().cloned())
        .collect()
}

/// A path in a form that is not read as a flag.
pub(super) fn path_argument(path: &Path) -> String {
    let text = path.display().to_string();
    if text.starts_with('-') {
        format!("./{text}")
    } else {
        text
    }
}
