//! `upgrade`: moves providers to newer versions, or shows where they could move.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use provlock::address::ProviderAddress;
use provlock::cli_config::{self, Environment};
use provlock::dialect::Dialect;
use provlock::lockfile::file::{self, Replacement};
use provlock::ops::{self, LockRequest, MinimumAge, Survey, UpgradeRequest};
use provlock::requirements::ModuleCache;
use provlock::requirements::rewrite::{self, FileRewrite};
use provlock::settings::parse_duration;
use provlock::source::{DateServices, ReleaseDates};
use provlock::version::Version;
use url::Url;

use super::lock::{WhatArgs, addresses};
use super::project::Project;
use super::render::{diff, json, lock as text, upgrade as table};
use super::source::{self, SourceArgs};
use super::ui::Ui;
use super::{Failure, GlobalArgs, Outcome, environment::environment, invalid_argument};

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(before_help = "Example: provlock upgrade hashicorp/aws hashicorp/random@3.6.3")]
#[command(after_help = "Exit codes: 0 done or up to date, 1 --check found that something can move, 2 could not do it")]
pub(crate) struct UpgradeArgs {
    /// Only these providers, each to its newest version or to the one named [default: all]
    #[arg(value_name = "PROVIDER[@VERSION]", help_heading = "What", display_order = 0)]
    providers: Vec<String>,
    #[command(flatten)]
    what: WhatArgs,
    /// Rewrite version constraints in the configuration so that they allow the newest version
    #[arg(long, help_heading = "What")]
    constraints: bool,
    /// Count prereleases as newer versions; only a constraint that names one exactly allows it
    #[arg(long, help_heading = "What")]
    pre: bool,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Write nothing; exit with 1 if something can move
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; show what can move, and what holds the rest back
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// How old versions must be, and who knows.
#[derive(Args)]
struct AgeArgs {
    /// Choose no version younger than this, for example 7d [default: that of provlock.toml]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "What")]
    min_age: Option<Duration>,
    /// Where registry.opentofu.org tells when versions were published
    #[arg(long, hide = true, env = "PROVLOCK_OPENTOFU_API", default_value = "https://api.opentofu.org/")]
    opentofu_api: Url,
    /// Where registry.terraform.io tells when versions were published
    #[arg(long, hide = true, env = "PROVLOCK_TERRAFORM_API", default_value = "https://registry.terraform.io/")]
    terraform_api: Url,
}

/// What an age is measured with.
struct AgePolicy {
    age: Duration,
    exempt: Vec<ProviderAddress>,
    dates: ReleaseDates,
}

pub(crate) fn run(arguments: &UpgradeArgs, global: &GlobalArgs, ui: &Ui) -> Result<Outcome, Failure> {
    let environment = environment();
    let project = Project::open(Path::new("."), global.dialect, &environment)?;
    ui.detail(&format!("dialect {} ({})", project.dialect, project.dialect_reason));
    let (document, warnings) = project.document()?;
    ui.warn(&warnings);
    let requirements = arguments.what.requirements(&project, &environment, &ModuleCache::default())?;
    let (only, versions) = targets(&arguments.providers, project.dialect)?;
    let age = arguments.age.policy(&project, &environment)?;
    let request = UpgradeRequest {
        lock: LockRequest {
            requirements: &requirements,
            document: &document,
            dialect: project.dialect,
            platforms: &project.platforms(&arguments.what.platforms)?,
            only: &only,
            versions: &versions,
            prune: arguments.what.prune,
            accept_changed_hashes: arguments.what.accept_changed_hashes,
        },
        prereleases: arguments.pre,
        rewrite_constraints: arguments.constraints,
        minimum_age: age.as_ref().map(|policy| policy.now(Timestamp::now())),
    };
    let source = arguments.source.source(project.dialect, &environment, ui)?;
    let survey = ops::survey(&request, &source)?;
    ui.warn(&survey.warnings);
    let warnings = [warnings, survey.warnings.clone()].concat();
    if arguments.check || arguments.dry_run {
        ui.warn(&requirements.warnings);
        let warnings = [warnings, requirements.warnings.clone()].concat();
        return Ok(show(&project, &survey, &warnings, arguments, ui));
    }
    let downloads = ui.downloads();
    let mut outcome =
        ops::lock(&survey.lock_request(&request), &source, &|wanted, progress| downloads.note(wanted, progress))?;
    outcome.warnings.retain(|warning| !survey.warnings.contains(warning));
    let new = document.edit(&outcome.locks).map_err(|error| vec![*error])?;
    let changed = project.lock_bytes.as_deref() != Some(new.as_slice());
    write(&project, &survey, changed.then_some(&new))?;
    ui.warn(&outcome.warnings);
    let report = text::Report { project: &project, outcome: &outcome, changed, written: true };
    for line in report.lines(ui).into_iter().chain(table::after(&survey)) {
        ui.status(&line);
    }
    if ui.json {
        ui.print(&json::upgrade(&report, &survey, &[warnings, outcome.warnings.clone()].concat()));
    }
    Ok(Outcome::Done)
}

/// Shows what would move, and how the configuration would change.
fn show(
    project: &Project,
    survey: &Survey,
    warnings: &[provlock::diagnostic::Diagnostic],
    arguments: &UpgradeArgs,
    ui: &Ui,
) -> Outcome {
    if ui.json {
        ui.print(&json::survey(project, survey, warnings));
    } else {
        ui.print(&table::table(survey, project.dialect));
        for FileRewrite { path, old, new } in rewrite::files(&survey.edits) {
            ui.print(&diff::unified(&path, Some(old.as_bytes()), Some(new.as_bytes()), ui.stdout_color));
        }
    }
    for line in table::summary(survey) {
        ui.status(&line);
    }
    if arguments.check && survey.moves() { Outcome::Found } else { Outcome::Done }
}

/// Writes the configuration, then the lock file if there is a new one: all or nothing.
fn write(project: &Project, survey: &Survey, lock_file: Option<&Vec<u8>>) -> Result<(), Failure> {
    let files = rewrite::files(&survey.edits);
    let configuration = files.iter().map(|FileRewrite { path, old, new }| Replacement {
        path,
        old: Some(old.as_bytes()),
        new: new.as_bytes(),
    });
    let lock_file =
        lock_file.map(|new| Replacement { path: &project.lock_path, old: project.lock_bytes.as_deref(), new });
    let replacements: Vec<_> = configuration.chain(lock_file).collect();
    file::write_all(&replacements).map_err(|error| vec![*error])
}

/// The providers that are named, and the versions that some of them are to have.
fn targets(
    texts: &[String],
    dialect: Dialect,
) -> Result<(Vec<ProviderAddress>, BTreeMap<ProviderAddress, Version>), Failure> {
    let (names, versions): (Vec<_>, Vec<_>) = texts
        .iter()
        .map(|text| match text.rsplit_once('@') {
            Some((name, version)) => (name.to_owned(), Some(version)),
            None => (text.clone(), None),
        })
        .unzip();
    let only = addresses(&names, dialect)?;
    let mut chosen = BTreeMap::new();
    for (address, version) in only.iter().zip(versions) {
        let Some(text) = version else { continue };
        let version =
            text.parse().map_err(|error| vec![invalid_argument(format!("{text:?} is no version: {error}"))])?;
        if chosen.insert(address.clone(), version).is_some_and(|other| other != chosen[address]) {
            return Err(vec![invalid_argument(format!("{address} is given two versions"))]);
        }
    }
    Ok((only, chosen))
}

impl AgeArgs {
    /// The age that the flag demands, else the settings; none when none is demanded.
    fn policy(&self, project: &Project, environment: &Environment) -> Result<Option<AgePolicy>, Failure> {
        let policy = &project.settings.policy;
        let Some(age) = self.min_age.or(policy.min_age).filter(|age| !age.is_zero()) else { return Ok(None) };
        let config = cli_config::load(environment, project.dialect)?;
        let client = source::client(&config, environment, project.dialect, None).map_err(|error| vec![*error])?;
        let services = DateServices { opentofu: self.opentofu_api.clone(), terraform: self.terraform_api.clone() };
        let dates = ReleaseDates::new(client, services);
        let place = |errors: Failure| errors.into_iter().map(|error| error.note("in min-age-exempt of provlock.toml"));
        let exempt =
            addresses(&policy.min_age_exempt, project.dialect).map_err(|errors| place(errors).collect::<Vec<_>>())?;
        Ok(Some(AgePolicy { age, exempt, dates }))
    }
}

impl AgePolicy {
    fn now(&self, now: Timestamp) -> MinimumAge<'_> {
        MinimumAge { age: self.age, exempt: &self.exempt, now, dates: &self.dates }
    }
}
