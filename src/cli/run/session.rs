//! Starts sessions, and shows their events: progress, the sources of modules and packages, and
//! decisions about root modules.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::slice;

use provlock::cli_config::CliConfig;
use provlock::diagnostic::words::first_few;
use provlock::diagnostic::{Code, Diagnostic};
use provlock::packages::SharedFacts;
use provlock::packages::connections::SourceChoice;
use provlock::project::{Event, Prepared, RootModule, Session, SessionOptions};
use provlock::provider::Hostname;
use provlock::system::Environment;

use crate::cli::args::{AgeArgs, ModuleArgs, SourceArgs};
use crate::cli::environment::{proxies, read_environment, shown_url};
use crate::cli::render::style::count;
use crate::cli::render::verify::{dialect_reason_in_words, platforms_in_words};
use crate::cli::ui::Ui;

/// Shows the events of a session, and clears the progress at its end.
struct EventDisplay<'a> {
    ui: &'a Ui,
    /// Source of packages; `None` in an offline run.
    source: Option<SourceChoice>,
    /// Warnings about CLI configurations. OpenTofu's and Terraform's are often the same file.
    warnings: HashSet<Diagnostic>,
}

/// Starts a session for the root modules at `paths`, whose repositories may be quoted. The options
/// are the flags of every command, and what `add_options` sets.
pub(crate) fn start_session<'a>(
    ui: &'a Ui,
    paths: &[PathBuf],
    add_options: impl FnOnce(&Environment, &mut SessionOptions) -> anyhow::Result<()>,
) -> anyhow::Result<Session<'a>> {
    let environment = read_environment(&ui.invocation.secrets);
    ui.invocation.set_paths(paths);
    let mut options = SessionOptions::default();
    options.dialect = ui.global.dialect;
    options.settings = ui.global.settings(&environment)?;
    options.sources.observer = ui.request_observer();
    add_options(&environment, &mut options)?;
    let mut display = EventDisplay {
        ui,
        source: (!options.offline).then(|| options.sources.choice.clone()),
        warnings: HashSet::new(),
    };
    Ok(Session::new(environment, options)?.observed_by(move |event| display.show_event(event)))
}

/// Starts a session that locks providers.
pub(crate) fn start_locking_session<'a>(
    ui: &'a Ui,
    paths: &[PathBuf],
    modules: &ModuleArgs,
    age: &AgeArgs,
    source: &SourceArgs,
) -> anyhow::Result<Session<'a>> {
    start_session(ui, paths, |environment, options| {
        source.add_to(environment, options);
        age.dates.add_to(options);
        modules.add_to(environment, options, source.offline);
        show_package_origin(ui, environment, options);
        Ok(())
    })
}

/// Shows where packages come from, and which proxies the environment sets; the system may have
/// others.
pub(crate) fn show_package_origin(ui: &Ui, environment: &Environment, options: &SessionOptions) {
    let mut origin = match &options.sources.choice {
        SourceChoice::FilesystemMirror(directory) => {
            format!("the directory {}", directory.display())
        }
        SourceChoice::NetworkMirror(url) => format!("the network mirror {}", shown_url(url)),
        SourceChoice::OciMirror(template) => format!("the OCI registry of {template}"),
        SourceChoice::CliConfiguration => "where the CLI configuration says".to_owned(),
        SourceChoice::Registries => "the registries of the providers".to_owned(),
    };
    if options.offline {
        "the cache of hashes and the lock files".clone_into(&mut origin);
    }
    ui.verbose(&format!("packages from {origin}"));
    for (variable, value) in proxies(environment) {
        ui.verbose(&format!("{variable} is {value}"));
    }
}

impl EventDisplay<'_> {
    /// Shows an event of the run: progress, warnings and, with `-v`, decisions.
    fn show_event(&mut self, event: Event<'_>) {
        match event {
            Event::Reading => self.ui.show_progress(Some("fetching modules")),
            Event::Asking(hosts) => self.ui.show_progress(self.words_for_wait(hosts).as_deref()),
            Event::Package(package, progress) => self.ui.show_download(package, progress),
            Event::Module(name, origin) => self.ui.verbose(&format!("module {name}: {origin}")),
            Event::Prepared(prepared) => self.show_decisions(prepared),
            Event::CliConfiguration(config) => self.show_cli_configuration(config),
            Event::SettingsOfOtherUser(path) => {
                self.ui.warn(&[warning_about_settings_of_other_user(path)]);
            }
            Event::DatesByServers(hosts) => {
                self.ui.clear_progress();
                let hosts = first_few(hosts);
                self.ui.status(&format!(
                    "Not checked: dates of releases on {hosts} (Last-Modified, the server's own claim)"
                ));
            }
            Event::SharedFactsUsed(facts) => self.show_shared_facts(facts),
            _ => {}
        }
    }

    /// Shows the warnings about a CLI configuration, each once in a run, and, with `-v`, its debug
    /// lines.
    fn show_cli_configuration(&mut self, config: &CliConfig) {
        for warning in &config.warnings {
            if self.warnings.insert(warning.clone()) {
                self.ui.warn(slice::from_ref(warning));
            }
        }
        for line in &config.debug {
            self.ui.verbose(line);
        }
    }

    /// Returns the words for the wait until versions are known; `None` in an offline run.
    fn words_for_wait(&self, hosts: &BTreeSet<Hostname>) -> Option<String> {
        match (self.source.as_ref()?, hosts.len()) {
            (SourceChoice::FilesystemMirror(_), _) | (SourceChoice::Registries, 0) => None,
            (SourceChoice::Registries, 1) => hosts.first().map(|host| format!("asking {host}")),
            (SourceChoice::Registries, number) => Some(format!("asking {number} registries")),
            _ => Some("asking for versions".to_owned()),
        }
    }

    /// Shows the decisions about a root module, with their reasons.
    fn show_decisions(
        &self,
        Prepared {
            root,
            platforms,
            platforms_are_named,
            ..
        }: &Prepared,
    ) {
        let RootModule {
            settings,
            dialect,
            dialect_reason,
            ..
        } = root;
        let named_by = if !platforms_are_named {
            "this machine, unless the lock file covers others"
        } else if settings.platforms.as_ref() == Some(platforms) {
            "provlock.toml"
        } else {
            "the flag or PROVLOCK_PLATFORMS"
        };
        let path = root.path().display();
        let reason = dialect_reason_in_words(*dialect_reason);
        let platforms = platforms_in_words(platforms);
        self.ui.verbose(&format!(
            "{path}: dialect {dialect} ({reason}); {platforms} ({named_by})"
        ));
        for settings in &settings.paths {
            self.ui
                .verbose(&format!("{path}: settings of {}", settings.display()));
        }
    }

    /// Shows how many shared facts were used, and warns if some were not.
    fn show_shared_facts(&self, facts: &SharedFacts) {
        self.ui.clear_progress();
        let used = count(facts.used(), "package");
        self.ui
            .verbose(&format!("{used} looked up in oci://{}", facts.repository()));
        self.ui.warn(facts.warning().as_slice());
    }
}

/// The warning about a settings file of a different user.
fn warning_about_settings_of_other_user(path: &Path) -> Diagnostic {
    let message = format!(
        "{} was not read, because it belongs neither to you nor to the owner of the root module",
        path.display()
    );
    let warning = Diagnostic::warning(Code::Io, message);
    warning.help("if you trust it, name it with --config")
}

impl Drop for EventDisplay<'_> {
    fn drop(&mut self) {
        self.ui.clear_progress();
    }
}
