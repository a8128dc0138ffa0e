//! What every command shows of a run: progress, where modules and packages come from, and what was decided about root
//! modules.

use std::path::PathBuf;

use provlock::packages::SharedFacts;
use provlock::project::{Event, Prepared, RootModule, Session, SessionOptions};
use provlock::system::Environment;

use crate::cli::args::{AgeArgs, CacheArgs, GlobalArgs, ModuleArgs, SourceArgs};
use crate::cli::environment::{environment, proxies};
use crate::cli::render::foreign::printable;
use crate::cli::render::style::{count, enumerate};
use crate::cli::render::verify::{names, reason};
use crate::cli::ui::{Downloads, Ui};

/// Shows what happens in a run, apart from what becomes of root modules.
pub(super) struct Watch<'a> {
    ui: &'a Ui,
    /// Where packages come from, to show which hosts are waited for.
    source: Option<&'a SourceArgs>,
    downloads: Option<Downloads>,
}

/// Reads the surroundings and starts a session with the options that every command has, as `complete` completes them.
pub(super) fn start<'a>(
    global: &GlobalArgs,
    ui: &Ui,
    complete: impl FnOnce(&Environment, &mut SessionOptions) -> anyhow::Result<()>,
) -> anyhow::Result<Session<'a>> {
    let environment = environment(&ui.invocation.secrets);
    let mut options = SessionOptions::default();
    options.dialect = global.dialect;
    options.settings = global.settings(&environment)?;
    options.sources.observer = ui.request_observer();
    complete(&environment, &mut options)?;
    Ok(Session::new(environment, options)?)
}

pub(super) fn start_locking<'a>(
    (modules, age, source): (&ModuleArgs, &AgeArgs, &SourceArgs),
    global: &GlobalArgs,
    ui: &Ui,
) -> anyhow::Result<Session<'a>> {
    start(global, ui, |environment, options| {
        source.sources(environment, options);
        options.sources.date_services = Some(age.dates.services());
        modules.add_to(options, environment, source.offline);
        show_origin(&source.origin(), environment, ui);
        Ok(())
    })
}

/// Starts a session that needs modules, and no packages of providers.
pub(super) fn start_with_modules<'a>(
    (modules, cache, offline): (&ModuleArgs, &CacheArgs, bool),
    global: &GlobalArgs,
    ui: &Ui,
) -> anyhow::Result<Session<'a>> {
    start(global, ui, |environment, options| {
        options.offline = offline;
        options.sources.cache_directory = cache.used(environment);
        modules.add_to(options, environment, offline);
        Ok(())
    })
}

/// Shows where packages come from, and through which proxies of the environment; the system may have others.
pub(super) fn show_origin(origin: &str, environment: &Environment, ui: &Ui) {
    ui.verbose(&format!("packages from {origin}"));
    for (variable, value) in proxies(environment) {
        ui.verbose(&format!("{variable} is {value}"));
    }
}

impl<'a> Watch<'a> {
    pub(super) fn new(ui: &'a Ui, source: Option<&'a SourceArgs>) -> Self {
        Self { ui, source, downloads: None }
    }

    pub(super) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Reading => self.wait_for(Some("fetching modules")),
            Event::Asking(hosts) => self.wait_for(self.source.and_then(|source| source.asked(hosts)).as_deref()),
            Event::Package(package, progress) => {
                let downloads = self.downloads.get_or_insert_with(|| self.ui.progress(None));
                downloads.note(package, *progress);
            }
            Event::Module(name, origin) => self.ui.verbose(&format!("module {name}: {origin}")),
            Event::Prepared(prepared) => self.decided(prepared),
            Event::Configuration(config) => {
                self.ui.warn(&config.warnings);
                config.debug.iter().for_each(|line| self.ui.verbose(line));
            }
            Event::SharedFacts(facts) => self.shared_facts(facts),
            _ => {}
        }
    }

    /// Takes away what is drawn.
    pub(super) fn clear(&mut self) {
        self.downloads = None;
    }

    fn wait_for(&mut self, what: Option<&str>) {
        // What was shown before goes first.
        self.downloads = None;
        self.downloads = Some(self.ui.progress(what));
    }

    /// Shows what was decided about a root module, and by what.
    fn decided(&self, Prepared { root, platforms, platforms_are_named, .. }: &Prepared) {
        let RootModule { path, settings, dialect, dialect_reason, .. } = root;
        let named_by = match &settings.platforms {
            _ if !platforms_are_named => "this machine, unless the lock file covers others",
            Some(set) if set == platforms => "provlock.toml",
            _ => "the flag or PROVLOCK_PLATFORMS",
        };
        let (path, reason, platforms) = (path.display(), reason(*dialect_reason), names(platforms));
        self.ui.verbose(&format!("{path}: dialect {dialect} ({reason}); {platforms} ({named_by})"));
        for settings in &settings.paths {
            self.ui.verbose(&format!("{path}: settings of {}", settings.display()));
        }
    }

    /// Shows how many shared facts were used, and warns if some were not.
    fn shared_facts(&mut self, facts: &SharedFacts) {
        self.downloads = None;
        let used = count(facts.used(), "package");
        self.ui.verbose(&format!("{used} looked up in oci://{}", facts.repository()));
        self.ui.warn(facts.warning().as_slice());
    }
}

/// Says that there is no root module below directories; below the current one if there are none.
pub(super) fn no_root_module(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| printable(&path.display().to_string())).collect();
    let places = if paths.is_empty() { ".".to_owned() } else { enumerate(&paths) };
    format!(
        "No root module in {places} or below: none has a backend, a lock file, or providers that it configures and uses; \
        to use one anyway, name its directory here or in [roots] of provlock.toml"
    )
}
