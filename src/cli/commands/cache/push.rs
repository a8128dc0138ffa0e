//! `cache push`: publishes the hashes that this machine has computed.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, ValueHint};
use provlock::diagnostic::{Code, Diagnostic, Diagnostics};
use provlock::packages::PublishedRelease;
use provlock::project::ModuleFetching;
use provlock::provider::{OciRepository, SharedCache, SigningKey};
use provlock::settings::Settings;
use provlock::system::Environment;
use provlock::system::variables::CACHE_SIGNING_KEY;
use serde_json::json;

use crate::cli::args::{CacheDirectory, RootArgs};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::json::PublishedFacts;
use crate::cli::render::style::count;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_session;
use crate::cli::ui::Ui;

/// A key has 61 characters.
const LONGEST_KEY: u64 = 4096;

/// Publish the hashes of packages in an OCI registry, so that other machines need not download them
///
/// Publishes the cached hashes of packages that root modules lock and a verified SHA256SUMS lists,
/// one signed document for each release. Other cached packages may belong to private providers,
/// whose names should stay private; --all publishes these, too. Platforms that the same key has
/// published before are kept. The login comes from `docker login` or an `oci_credentials` block.
///
/// The private key is read from --signing-key, or is the value of `PROVLOCK_CACHE_SIGNING_KEY`.
#[derive(Args)]
#[command(before_help = "Example: provlock cache push --signing-key key")]
pub(crate) struct PushArgs {
    #[command(flatten)]
    roots: RootArgs,
    /// Publish everything in the cache
    #[arg(long, conflicts_with_all = ["paths", "recursive"])]
    all: bool,
    /// Repository, as `oci://HOST/PATH` [default: shared in the [cache] of provlock.toml]
    #[arg(long, value_name = "URL", value_parser = OciRepository::parse_url)]
    to: Option<OciRepository>,
    /// The file with the private key of `provlock cache keygen`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    signing_key: Option<PathBuf>,
}

/// Publishes signed facts about the packages in the cache: about all, or about the locked ones of
/// the selected root modules.
pub(super) fn run(arguments: &PushArgs, directory: &CacheDirectory, ui: &Ui) -> Result<Outcome> {
    let mut key = None;
    let selection = arguments.roots.selection();
    let session = start_session(ui, &selection.paths, |environment, options| {
        key = Some(read_signing_key(
            arguments.signing_key.as_deref(),
            environment,
        )?);
        options.sources.cache_directory = directory.get(environment);
        options.boundary = ui.invocation.boundary().clone();
        options.modules = ModuleFetching::Never;
        Ok(())
    })?;
    let key = key.context("there is no key to sign with")?;
    let repository = match &arguments.to {
        Some(repository) => repository.clone(),
        None => configured_repository(&key, &session.settings_in(Path::new("."))?)?,
    };
    let roots = if arguments.all {
        None
    } else {
        Some(session.roots(&selection)?)
    };
    ui.show_progress(Some("publishing"));
    let published = session.publish_facts(&repository, &key, roots.as_ref())?;
    // This clears the progress from the terminal.
    drop(session);

    let mut errors = Diagnostics::default();
    for PublishedRelease { facts, outcome } in &published {
        match outcome {
            Some(Ok(true)) => {
                let packages = count(facts.packages.len(), "package");
                ui.verbose(&format!(
                    "  + {}   {}   {packages}",
                    facts.address, facts.version
                ));
            }
            Some(Err(failed)) => errors.extend(failed.iter().cloned()),
            Some(Ok(false)) | None => {}
        }
    }
    ui.error(&errors);
    match &roots {
        Some(roots) if roots.is_empty() => ui.status(&no_root_module(roots, &ui.invocation)),
        _ => ui.status(&summary_line(&published, &repository)),
    }
    let published = PublishedFacts::new(&repository, key.public_key(), &published);
    ui.print_json(json!({ "published": published }), &[], &errors);
    Ok(Outcome::failed_if(!errors.is_empty()))
}

/// Returns the last line: `Published 2 releases in oci://…`.
fn summary_line(published: &[PublishedRelease], repository: &OciRepository) -> String {
    if published.is_empty() {
        return "Nothing to publish: the cache contains none of the packages".to_owned();
    }
    let mut changed = 0;
    let mut unchanged = 0;
    let mut failed = 0;
    for release in published {
        match release.outcome {
            Some(Ok(true)) => changed += 1,
            Some(Ok(false)) => unchanged += 1,
            // A release without a result comes after a failure, which ends the run.
            Some(Err(_)) | None => failed += 1,
        }
    }

    if changed == 0 && failed == 0 {
        let all = count(unchanged, "release");
        return format!("Up to date: {all} in oci://{repository}");
    }
    let releases = count(changed, "release");
    let mut text = format!("Published {releases} in oci://{repository}");
    if failed > 0 {
        let _ = write!(text, "; {} not published", count(failed, "release"));
    } else if unchanged > 0 {
        let _ = write!(text, "; {unchanged} were there already");
    }
    text
}

/// Returns the repository in the settings, which must trust the key: otherwise no machine would use
/// the published facts.
fn configured_repository(key: &SigningKey, settings: &Settings) -> Result<OciRepository> {
    let Some(SharedCache {
        repository,
        trusted_keys,
    }) = settings.shared_cache()
    else {
        let error = Diagnostic::error(
            Code::InvalidArgument,
            "there is no repository to publish in",
        );
        return Err(error
            .help("name an OCI registry with --to oci://HOST/PATH, or in [cache] of provlock.toml")
            .into());
    };
    let public = key.public_key();
    if !trusted_keys.contains(&public) {
        let message = format!(
            "trusted-keys does not list {public}, so no machine would use the published facts"
        );
        let error = Diagnostic::error(Code::InvalidArgument, message);
        let error = error.help(
            "add it to trusted-keys in [cache] of provlock.toml, or sign with a different key",
        );
        return Err(error
            .at_each(
                settings.cache.as_ref().map(|table| &table.location),
                "for this place",
            )
            .into());
    }
    Ok(repository.clone())
}

/// The private key, which is redacted in all output from now on.
#[expect(
    clippy::disallowed_methods,
    reason = "the key is the user's, and no part of a revision"
)]
/// Reads the private key from a file, or else from the variable, and hides it in all output.
fn read_signing_key(file: Option<&Path>, environment: &Environment) -> Result<SigningKey> {
    let mut text = String::new();
    let origin;
    if let Some(file) = file {
        origin = file.display().to_string();
        let read =
            File::open(file).and_then(|opened| opened.take(LONGEST_KEY).read_to_string(&mut text));
        read.with_context(|| format!("cannot read the private key in {origin}"))?;
    } else if let Some(value) = environment.variable(CACHE_SIGNING_KEY) {
        origin = CACHE_SIGNING_KEY.to_owned();
        value.clone_into(&mut text);
    } else {
        let error = Diagnostic::error(Code::InvalidArgument, "there is no key to sign with");
        return Err(error
            .help(format!("name its file with --signing-key FILE, or set {CACHE_SIGNING_KEY} to the key itself"))
            .into());
    }
    let key = SigningKey::parse(&text).map_err(|error| {
        Diagnostic::error(
            Code::InvalidArgument,
            format!("cannot sign with {origin}: {error}"),
        )
    })?;
    // No output may show the key, wherever it appears.
    environment.secrets.learn_key(&key);
    Ok(key)
}
