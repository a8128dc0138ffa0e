//! What every command shows of a run: progress, where modules and packages come from, and what was decided about root
//! modules.

use std::path::{Path, PathBuf};

use provlock::diagnostic::words::few;
use provlock::packages::SharedFacts;
use provlock::project::{Event, OtherDirectories, Prepared, RootModule, Roots, Session, SessionOptions};
use provlock::system::Environment;

use crate::cli::args::{AgeArgs, CacheArgs, ModuleArgs, SourceArgs};
use crate::cli::environment::{environment, proxies};
use crate::cli::render::foreign::printable;
use crate::cli::render::style::{count, enumerate};
use crate::cli::render::verify::{names, reason};
use crate::cli::ui::Ui;

/// Shows what happens in a session, apart from what becomes of root modules. Takes away what it has drawn at the end.
struct Watch<'a> {
    ui: &'a Ui,
    /// Where packages come from, to show which hosts are waited for.
    source: Option<&'a SourceArgs>,
}

/// Reads the surroundings and starts a session with the options that every command has, as `complete` completes them.
pub(super) fn start<'a>(
    ui: &'a Ui,
    source: Option<&'a SourceArgs>,
    complete: impl FnOnce(&Environment, &mut SessionOptions) -> anyhow::Result<()>,
) -> anyhow::Result<Session<'a>> {
    let environment = environment(&ui.invocation.secrets);
    let mut options = SessionOptions::default();
    options.dialect = ui.global.dialect;
    options.settings = ui.global.settings(&environment)?;
    options.sources.observer = ui.request_observer();
    complete(&environment, &mut options)?;
    let watch = Watch { ui, source };
    Ok(Session::new(environment, options)?.observed_by(move |event| watch.show(event)))
}

pub(super) fn start_locking<'a>(
    (modules, age, source): (&ModuleArgs, &AgeArgs, &'a SourceArgs),
    ui: &'a Ui,
) -> anyhow::Result<Session<'a>> {
    start(ui, Some(source), |environment, options| {
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
    ui: &'a Ui,
) -> anyhow::Result<Session<'a>> {
    start(ui, None, |environment, options| {
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

impl Watch<'_> {
    fn show(&self, event: Event<'_>) {
        match event {
            Event::Reading => self.ui.progress(Some("fetching modules")),
            Event::Asking(hosts) => self.ui.progress(self.source.and_then(|source| source.asked(hosts)).as_deref()),
            Event::Package(package, progress) => self.ui.download(package, progress),
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

    /// Shows what was decided about a root module, and by what.
    fn decided(&self, Prepared { root, platforms, platforms_are_named, .. }: &Prepared) {
        let RootModule { settings, dialect, dialect_reason, .. } = root;
        let named_by = match &settings.platforms {
            _ if !platforms_are_named => "this machine, unless the lock file covers others",
            Some(set) if set == platforms => "provlock.toml",
            _ => "the flag or PROVLOCK_PLATFORMS",
        };
        let (path, reason, platforms) = (root.path().display(), reason(*dialect_reason), names(platforms));
        self.ui.verbose(&format!("{path}: dialect {dialect} ({reason}); {platforms} ({named_by})"));
        for settings in &settings.paths {
            self.ui.verbose(&format!("{path}: settings of {}", settings.display()));
        }
    }

    /// Shows how many shared facts were used, and warns if some were not.
    fn shared_facts(&self, facts: &SharedFacts) {
        self.ui.clear();
        let used = count(facts.used(), "package");
        self.ui.verbose(&format!("{used} looked up in oci://{}", facts.repository()));
        self.ui.warn(facts.warning().as_slice());
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.ui.clear();
    }
}

/// Says that there is no root module below the directories that were searched, why, and what to do.
pub(super) fn no_root_module(roots: &Roots) -> String {
    let shown = |path: &PathBuf| printable(&path.display().to_string());
    let paths: Vec<_> = roots.searched_paths().iter().map(shown).collect();
    let searched = if paths.is_empty() { ".".to_owned() } else { enumerate(&paths) };
    let OtherDirectories { skipped_by_name, without_sign, stacks, .. } = roots.other_directories();
    let signs = "has a backend, a lock file, or providers that it configures and uses";
    let why = match skipped_by_name.len() {
        0 => format!("none {signs}"),
        number => {
            let are = if number == 1 { "is" } else { "are" };
            let names = few(skipped_by_name.iter().map(shown));
            format!(
                "{names} {are} skipped because of the name, as modules, examples, tests and templates are, and no \
                other directory {signs}"
            )
        }
    };
    let not_read = match stacks.len() {
        0 => String::new(),
        _ => format!("; stacks of Terraform are not read ({})", few(stacks.iter().map(shown))),
    };
    let lock = without_sign.first().map(|directory| {
        let argument = if directory == Path::new(".") { String::new() } else { format!(" {}", shown(directory)) };
        format!("; to lock the configuration in {} as a root module: provlock lock{argument}", shown(directory))
    });
    format!(
        "No root module in {searched} or below: {why}{not_read}; to use one anyway, name its directory here or in \
        [roots] of provlock.toml{}",
        lock.unwrap_or_default()
    )
}
