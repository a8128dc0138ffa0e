//! Remedies as commands: the only file that contains the commands and flags of this program by
//! name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use provlock::diagnostic::{
    Diagnostic, Help, HelpPart, LockRemedy, Remedy, RootModules, RunOption, UpgradeRemedy,
};
use provlock::provider::{Dialect, Platform};

use super::repository_paths::RepositoryPaths;

/// A flag of the command line that commands in help repeat, because they would do something else
/// without it.
#[derive(Clone)]
pub(crate) struct RepeatedFlag {
    flag: String,
    /// `None` for a flag without a value.
    value: Option<String>,
    is_path: bool,
    /// Commands that repeat the flag.
    commands: Vec<String>,
}

/// Commands that repeat a flag, as far as they have it.
#[derive(Clone, Copy)]
enum RepeatedBy {
    /// All commands.
    All,
    /// All commands but `mirror`, which fills what the others read.
    Readers,
    /// `lock` and `upgrade`. A suggested `verify` compares with the registries.
    Locking,
    /// `lock` and `upgrade`, if one of them was run.
    LockingAgain,
    /// The command that was run. For a different one the flag has a different meaning: `lock` adds
    /// platforms, `upgrade` replaces them, and `verify` checks them.
    Same,
}

/// Flags that commands in help repeat, by the names of clap. `--accept-changed-hashes` is not among
/// them, because a user accepts hashes of one provider at a time.
const REPEATED: [(&str, RepeatedBy); 24] = [
    ("config", RepeatedBy::All),
    ("dialect", RepeatedBy::All),
    ("fs_mirror", RepeatedBy::Locking),
    ("net_mirror", RepeatedBy::Locking),
    ("oci_mirror", RepeatedBy::Locking),
    ("use_cli_config", RepeatedBy::Locking),
    ("trust_registry", RepeatedBy::Locking),
    ("min_age", RepeatedBy::Locking),
    ("no_fetch_modules", RepeatedBy::Locking),
    ("modules_mirror", RepeatedBy::Readers),
    ("variables", RepeatedBy::All),
    ("var_file", RepeatedBy::All),
    ("no_tests", RepeatedBy::All),
    ("allow_missing_modules", RepeatedBy::All),
    ("allow_outside", RepeatedBy::All),
    ("cache_dir", RepeatedBy::All),
    ("no_cache", RepeatedBy::All),
    ("offline", RepeatedBy::LockingAgain),
    ("platforms", RepeatedBy::Same),
    ("prune", RepeatedBy::Same),
    ("constraints", RepeatedBy::Same),
    ("pre", RepeatedBy::Same),
    ("allow_downgrade", RepeatedBy::Same),
    ("with_modules", RepeatedBy::Same),
];

impl RepeatedBy {
    /// Whether a suggested command repeats the flag after a run of `command`.
    fn includes(self, suggested: &str, command: &str) -> bool {
        match self {
            Self::All => true,
            Self::Readers => suggested != "mirror",
            Self::Locking => is_locking(suggested),
            Self::LockingAgain => is_locking(suggested) && is_locking(command),
            Self::Same => suggested == command,
        }
    }
}

/// Returns the flags on the command line of `command` that commands in help repeat, in the order of
/// the table, and then variables in their own order. An address that may contain a secret is
/// omitted.
pub(crate) fn repeated_flags(
    program: &mut Command,
    command: &str,
    matches: &ArgMatches,
) -> Vec<RepeatedFlag> {
    let mut given = Vec::new();
    for (index, (id, by)) in REPEATED.iter().enumerate() {
        // A variable of the environment is still set for the next command.
        if matches.try_contains_id(id).unwrap_or(false)
            && matches.value_source(id) == Some(ValueSource::CommandLine)
        {
            given.push((index, id, by));
        }
    }
    if given.is_empty() {
        return Vec::new();
    }

    // Adds the flags of every command to each command.
    program.build();
    let mut by_place = BTreeMap::new();
    for (index, id, by) in given {
        let Some(argument) = program
            .find_subcommand(command)
            .and_then(|command| argument_of(command, id))
        else {
            continue;
        };
        let mut commands = Vec::new();
        for suggested in program.get_subcommands() {
            let name = suggested.get_name();
            if argument_of(suggested, id).is_some() && by.includes(name, command) {
                commands.push(name.to_owned());
            }
        }
        for (position, value) in given_values(argument, matches) {
            let flag = RepeatedFlag {
                flag: spell_flag(argument),
                value,
                is_path: matches!(
                    *id,
                    "config" | "fs_mirror" | "modules_mirror" | "var_file" | "cache_dir"
                ),
                commands: commands.clone(),
            };
            if flag.may_be_secret() {
                continue;
            }
            // Variables keep their order, because a later value of a variable wins.
            let place = match *id {
                "variables" | "var_file" => (REPEATED.len(), position),
                _ => (index, position),
            };
            by_place.insert(place, flag);
        }
    }
    by_place.into_values().collect()
}

/// Returns the argument of a command with this name of clap.
fn argument_of<'a>(command: &'a Command, id: &str) -> Option<&'a Arg> {
    command
        .get_arguments()
        .find(|argument| argument.get_id() == id)
}

/// Returns a flag as help spells it.
fn spell_flag(argument: &Arg) -> String {
    match argument.get_long() {
        Some("platform") | None => "-p".to_owned(),
        Some(long) => format!("--{long}"),
    }
}

/// Returns the values of a flag on the command line with their positions there. A flag without
/// values has no value. Values that commas separate are one value, also if the flag is repeated.
fn given_values(argument: &Arg, matches: &ArgMatches) -> Vec<(usize, Option<String>)> {
    let id = argument.get_id().as_str();
    let positions: Vec<usize> = matches.indices_of(id).into_iter().flatten().collect();
    let first_position = positions.first().copied().unwrap_or_default();
    if !argument.get_action().takes_values() {
        return vec![(first_position, None)];
    }

    let mut values = Vec::new();
    for (position, value) in positions
        .iter()
        .zip(matches.get_raw(id).into_iter().flatten())
    {
        // Help is text, which cannot repeat a path that is not UTF-8.
        if let Some(value) = value.to_str() {
            values.push((*position, value));
        }
    }
    if argument.get_value_delimiter().is_some() {
        let texts: Vec<_> = values.iter().map(|(_, value)| *value).collect();
        return vec![(first_position, Some(texts.join(",")))];
    }
    values
        .into_iter()
        .map(|(position, value)| (position, Some(value.to_owned())))
        .collect()
}

impl RepeatedFlag {
    /// The flag for a run at the top of the repository.
    pub(super) fn at_top(&self, paths: &RepositoryPaths<'_>) -> Self {
        let value = match &self.value {
            Some(path) if self.is_path => Some(paths.text_relative_to_top(Path::new(path))),
            value => value.clone(),
        };
        Self {
            value,
            ..self.clone()
        }
    }

    /// Whether the value is an address that may contain a secret.
    fn may_be_secret(&self) -> bool {
        let value = self.value.as_deref().unwrap_or_default();
        self.flag == "--net-mirror" && value.contains(['@', '?'])
    }

    /// Whether it is `--offline`. Hints suggest runs that complete an offline run.
    pub(super) fn is_offline(&self) -> bool {
        self.flag == "--offline"
    }

    /// Returns the flag and its value as words of a command with these arguments; none if the
    /// command does not need or already has the flag. `complete_path` completes a relative path.
    pub(super) fn words_for_command(
        &self,
        arguments: &[String],
        complete_path: impl Fn(&Path) -> PathBuf,
    ) -> Vec<String> {
        let command = arguments.first().map_or("", String::as_str);
        if !self.commands.iter().any(|repeats| repeats == command) || arguments.contains(&self.flag)
        {
            return Vec::new();
        }
        // These read no configuration, and no dialect would matter to them.
        if ["explain", "login", "logout"].contains(&command) {
            return Vec::new();
        }
        // A repair reads no configuration.
        if arguments.iter().any(|word| word == "--repair") && self.flag != "--dialect" {
            return Vec::new();
        }
        // The hashes of other platforms would be removed.
        if self.flag == "-p"
            && arguments
                .iter()
                .any(|word| word == "--accept-changed-hashes")
        {
            return Vec::new();
        }
        let mut words = vec![self.flag.clone()];
        match &self.value {
            Some(path) if self.is_path => {
                words.push(path_argument(&complete_path(Path::new(path))));
            }
            value => words.extend(value.clone()),
        }
        words
    }
}

/// Returns the flag of an option, with a value if it needs one.
pub(super) fn flag_of_option(option: &RunOption) -> String {
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

/// Adds root modules and a dialect to the arguments of a command. Also returns the directory in
/// which to run it, if that is not the current one: the directory of the only root module.
pub(super) fn with_root_modules(
    mut arguments: Vec<String>,
    roots: Option<&RootModules>,
    dialect: Option<Dialect>,
) -> (Option<&Path>, Vec<String>) {
    let mut run_in = None;
    match roots {
        Some(RootModules::One { directory, .. }) if !is_current(directory) => {
            run_in = Some(directory.as_path());
        }
        Some(RootModules::Selected {
            paths, recursive, ..
        }) if takes_root_modules(&arguments) => {
            let mut selected = Vec::new();
            if *recursive {
                selected.push("-r".to_owned());
            }
            selected.extend(paths.iter().map(|path| path_argument(path)));
            // They follow the name of the command.
            arguments.splice(1..1, selected);
        }
        _ => {}
    }
    if let Some(dialect) = dialect {
        arguments.extend(["--dialect", dialect.name()].map(str::to_owned));
    }
    (run_in, arguments)
}

/// Whether a path is `.`, or the empty parent of a file name.
fn is_current(directory: &Path) -> bool {
    directory.as_os_str().is_empty() || directory == Path::new(".")
}

/// A command of a different program that applies a remedy to all root modules that a diagnostic is
/// about; `None` for other remedies.
pub(super) fn command_of_other_program(
    remedy: &Remedy,
    diagnostic: &Diagnostic,
    user_path: impl Fn(&Path) -> PathBuf,
) -> Option<Vec<String>> {
    match remedy {
        Remedy::FetchMissingObjects { remote } => {
            Some(fetch_command(remote, &user_path(Path::new(""))))
        }
        Remedy::AddToGit { files, force } => {
            let command: &[&str] = if *force {
                &["git", "add", "--force"]
            } else {
                &["git", "add"]
            };
            let pattern = format!("*{}", file_name(files));
            Some(with_paths(command, files, pattern, user_path))
        }
        Remedy::UntrackDataDirectory => {
            let roots = directories(diagnostic);
            let data: Vec<_> = roots.iter().map(|root| root.join(".terraform")).collect();
            let command = ["git", "rm", "-r", "--cached"];
            let pattern = ":(glob)**/.terraform/**".to_owned();
            Some(with_paths(&command, &data, pattern, user_path))
        }
        Remedy::InstallProviders(dialect) => {
            let mut words = vec![dialect.name().to_owned()];
            // A single root module may be elsewhere. The words around it name several.
            if let [root] = directories(diagnostic) {
                let directory: PathBuf = user_path(root).components().collect();
                if !is_current(&directory) {
                    words.push(format!("-chdir={}", directory.display()));
                }
            }
            words.push("init".to_owned());
            Some(words)
        }
        _ => None,
    }
}

/// A command with paths, or with a pattern for very many.
fn with_paths(
    command: &[&str],
    paths: &[PathBuf],
    pattern: String,
    user_path: impl Fn(&Path) -> PathBuf,
) -> Vec<String> {
    const MOST: usize = 20;
    let mut words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    if paths.len() > MOST {
        words.push(pattern);
        return words;
    }
    for path in paths {
        let path = path.strip_prefix(".").unwrap_or(path);
        words.push(path_argument(&user_path(path)));
    }
    words
}

/// The name of the first file, which all have.
fn file_name(files: &[PathBuf]) -> String {
    let name = files.first().and_then(|file| file.file_name());
    name.unwrap_or_default().to_string_lossy().into_owned()
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
pub(super) fn runs_in_each_root(diagnostic: &Diagnostic) -> bool {
    let is_unnamed = matches!(
        diagnostic.root_modules.as_deref(),
        Some(RootModules::Selected { paths, recursive: false, .. }) if paths.is_empty()
    );
    let is_for_one = |part: &HelpPart| match part {
        HelpPart::Remedy(remedy) => {
            matches!(remedy, Remedy::Merge { .. })
                || is_unnamed && takes_root_modules(&own_command(remedy))
        }
        HelpPart::Text(_) | HelpPart::Exempt(_) => false,
    };
    directories(diagnostic).len() > 1
        && diagnostic.help.iter().flat_map(Help::parts).any(is_for_one)
}

/// Whether a remedy locks or upgrades all providers.
pub(super) fn is_for_all_providers(remedy: &Remedy) -> bool {
    match remedy {
        Remedy::Lock(LockRemedy { providers, .. })
        | Remedy::Upgrade(UpgradeRemedy { providers, .. }) => providers.is_empty(),
        _ => false,
    }
}

/// Whether a command accepts paths of root modules and `-r`.
pub(super) fn takes_root_modules(arguments: &[String]) -> bool {
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

/// Returns the words of a command of this program; none for other remedies.
pub(super) fn own_command(remedy: &Remedy) -> Vec<String> {
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
        Remedy::LockModules => to_words(["lock", "--modules"]),
        Remedy::RepairLockFile => to_words(["lock", "--repair"]),
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
        Remedy::Login { host } => to_words(["login", host]),
        Remedy::CheckLogin { host } => to_words(["login", "--check", host]),
        Remedy::Run(arguments) => arguments.clone(),
        _ => Vec::new(),
    }
}

fn to_words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

/// Returns the words of a command with the flags that are set. An empty list of platforms means
/// all.
fn with_flags(
    command: &str,
    flags: &[(&str, bool)],
    platforms: Option<&[Platform]>,
    operands: &[String],
) -> Vec<String> {
    let mut words = vec![command.to_owned()];
    for (flag, is_set) in flags {
        if *is_set {
            words.push((*flag).to_owned());
        }
    }
    if let Some(platforms) = platforms {
        words.push("-p".to_owned());
        let names: Vec<_> = platforms.iter().map(ToString::to_string).collect();
        words.push(if names.is_empty() {
            "all".to_owned()
        } else {
            names.join(",")
        });
    }
    words.extend_from_slice(operands);
    words
}

fn is_locking(command: &str) -> bool {
    matches!(command, "lock" | "upgrade")
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::commands::Cli;

    /// Flags that commands in help do not repeat, each with the reason.
    const NOT_REPEATED: [(&str, &str); 31] = [
        ("_offline", "it is the default of verify"),
        (
            "accept_changed_hashes",
            "a user accepts one provider at a time",
        ),
        ("allow", "the command mends what it allows"),
        ("base", "the command is about the files as they are"),
        ("chdir", "every command names its directory"),
        ("check", "the command writes"),
        ("color", "a matter of this output"),
        ("deny", "the command mends what it denies"),
        ("dry_run", "the command writes"),
        ("format", "a matter of this output"),
        ("help", "runs nothing"),
        ("installed", "the command is about the lock file"),
        ("interactive", "the command says what it does"),
        ("jobs", "changes no result"),
        ("json", "a matter of this output"),
        ("marker_size", "comes from git"),
        ("new", "goes with --base"),
        ("online", "each command has it or not"),
        ("opentofu_api", "for tests"),
        ("path", "comes from git"),
        ("quiet", "a matter of this output"),
        ("recursive", "each command has it or not"),
        ("registry", "no help advises pin"),
        ("repair", "each command has it or not"),
        ("report", "a matter of this output"),
        ("resolve", "each command has it or not"),
        ("terraform_api", "for tests"),
        ("trust_shared", "the command asks the registry itself"),
        ("verbose", "a matter of this output"),
        ("warn", "the command mends what it warns of"),
        ("with_git", "only verify advises get"),
    ];

    #[test]
    fn every_flag_is_repeated_or_has_a_reason() {
        let mut known: BTreeSet<&str> = REPEATED.iter().map(|(flag, _)| *flag).collect();
        known.extend(NOT_REPEATED.iter().map(|(flag, _)| *flag));
        let mut program = Cli::command();
        program.build();
        let mut flags = BTreeSet::new();
        for command in ["lock", "upgrade", "verify", "get", "merge", "mirror", "pin"] {
            let command = program.find_subcommand(command).unwrap();
            for argument in command.get_arguments() {
                if argument.get_long().is_some() {
                    flags.insert(argument.get_id().as_str().to_owned());
                }
            }
        }
        let flags: BTreeSet<&str> = flags.iter().map(String::as_str).collect();
        assert_eq!(
            flags, known,
            "in REPEATED, or in NOT_REPEATED with a reason"
        );
    }

    #[cfg(unix)]
    #[test]
    fn files_of_variables_keep_their_order_beside_a_path_that_is_no_text() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let no_text = OsStr::from_bytes(b"caf\xe9.tfvars");
        let words = ["provlock", "lock", "--var-file"].map(OsStr::new);
        let rest = ["--var", "a=1", "--var-file", "b.tfvars"].map(OsStr::new);
        let matches = Cli::command()
            .try_get_matches_from([&words[..], &[no_text], &rest[..]].concat())
            .unwrap();
        let (command, arguments) = matches.subcommand().unwrap();
        let flags = repeated_flags(&mut Cli::command(), command, arguments);
        let values: Vec<_> = flags.iter().map(|flag| flag.value.as_deref()).collect();
        assert_eq!(values, [Some("a=1"), Some("b.tfvars")]);
    }
}
