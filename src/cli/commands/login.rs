//! `login` and `logout`: tokens of hosts, kept where OpenTofu and Terraform keep them.

use std::io::{ErrorKind, IsTerminal as _, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Args;
use provlock::cli_config::{self, Credentials};
use provlock::diagnostic::{Code, Diagnostic, Help, Remedy};
use provlock::project::Selection;
use provlock::provider::{Dialect, Hostname};
use provlock::system::{Token, token_variable};

use crate::cli::args::{NoRequestsArgs, OWN};
use crate::cli::environment::read_environment;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_session;
use crate::cli::ui::Ui;

/// Tokens are a few kilobytes at most.
const MAXIMUM_TOKEN_BYTES: u64 = 1 << 20;

/// Maximum number of prompts for a token.
const ATTEMPTS: usize = 3;

/// Store the token of a registry or mirror, from a prompt or stdin
#[derive(Args)]
#[command(before_help = "Example: provlock login registry.example.com < token")]
#[command(after_help = "Exit codes: 0 done, 1 --check: no token, 2 failed, 130 Ctrl-C", next_display_order = OWN)]
pub(crate) struct LoginArgs {
    /// The registry or mirror, such as `registry.example.com`
    #[arg(value_name = "HOST")]
    host: String,
    #[command(flatten)]
    _offline: NoRequestsArgs,
    /// Store nothing; show where the token for the host comes from, but not the token
    #[arg(long, help_heading = "Output")]
    check: bool,
}

/// Remove the token of a registry or mirror
#[derive(Args)]
#[command(before_help = "Example: provlock logout registry.example.com")]
pub(crate) struct LogoutArgs {
    /// The registry or mirror, such as `registry.example.com`
    #[arg(value_name = "HOST")]
    host: String,
    #[command(flatten)]
    _offline: NoRequestsArgs,
}

pub(crate) fn login(arguments: &LoginArgs, ui: &Ui) -> Result<Outcome> {
    let host = parse_host(&arguments.host)?;
    let (credentials, dialect) = credentials(ui)?;
    if arguments.check {
        return check(&host, &credentials, ui);
    }
    let Some(token) = read_token(&host, ui)? else {
        return Ok(Outcome::Interrupted);
    };
    // The tools prefer a variable of the environment to a stored token.
    let winner = variable_that_wins(&host, &credentials);
    let origin = credentials.store(&host, &token)?;
    ui.status(&format!(
        "Stored the token for {host} in {origin}, for {dialect}"
    ));
    ui.warn(winner.as_slice());
    Ok(Outcome::Done)
}

pub(crate) fn logout(arguments: &LogoutArgs, ui: &Ui) -> Result<Outcome> {
    let host = parse_host(&arguments.host)?;
    let (credentials, _) = credentials(ui)?;
    let winner = variable_that_wins(&host, &credentials);
    let (origin, was_there) = credentials.forget(&host)?;
    ui.status(&if was_there {
        format!("Removed the token for {host} from {origin}")
    } else {
        format!("There was no token for {host} in {origin}")
    });
    ui.warn(winner.as_slice());
    Ok(Outcome::Done)
}

fn check(host: &Hostname, credentials: &Credentials, ui: &Ui) -> Result<Outcome> {
    let origin = credentials.source(host)?;
    ui.print(&match &origin {
        Some(origin) => format!("The token for {host} comes from {origin}\n"),
        None => format!("There is no token for {host}\n"),
    });
    if origin.is_some() {
        return Ok(Outcome::Done);
    }
    let variable = token_variable(host).map(|variable| format!(", or set {variable}"));
    let login = ui.suggest(&["login", &host.to_string()], &Selection::default());
    ui.status(&format!("Add one: {login}{}", variable.unwrap_or_default()));
    Ok(Outcome::Found)
}

fn parse_host(text: &str) -> Result<Hostname> {
    Hostname::parse(text)
        .map_err(|error| Diagnostic::error(Code::InvalidArgument, error.to_string()).into())
}

fn credentials(ui: &Ui) -> Result<(Credentials, Dialect)> {
    let environment = read_environment(&ui.invocation.secrets);
    let dialect = dialect_of_current_directory(ui);
    let config = cli_config::load(&environment, dialect)?;
    ui.warn(&config.warnings);
    for line in &config.debug {
        ui.verbose(line);
    }
    Ok((Credentials::new(&environment, &config, dialect), dialect))
}

/// The dialect of the root module in the current directory, whose tool will look for the token; the
/// default one if there is none.
fn dialect_of_current_directory(ui: &Ui) -> Dialect {
    if let Some(dialect) = ui.global.dialect {
        return dialect;
    }
    if let Ok(session) = start_session(ui, &[], |_, _| Ok(()))
        && let Ok(root) = session.open(Path::new("."))
    {
        return root.dialect;
    }
    Dialect::default()
}

/// A warning if a variable contains a token, which replaces the stored one.
fn variable_that_wins(host: &Hostname, credentials: &Credentials) -> Option<Diagnostic> {
    let variable = credentials.variable(host)?;
    let message =
        format!("{variable} is set, so its token is used for {host}, and not a stored one");
    Some(Diagnostic::warning(Code::CredentialsNotUsed, message).help(format!("unset {variable}")))
}

/// Reads a token from a terminal without showing it, or otherwise from stdin, without the line end.
/// `None` if the user pressed Ctrl-C.
fn read_token(host: &Hostname, ui: &Ui) -> Result<Option<Token>> {
    if std::io::stdin().is_terminal() {
        return ask_for_token(host, ui);
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(MAXIMUM_TOKEN_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read the token for {host} from stdin"))?;
    if text.len() as u64 > MAXIMUM_TOKEN_BYTES {
        let limit = MAXIMUM_TOKEN_BYTES >> 20;
        let message = format!("the token for {host} on stdin is larger than {limit} MiB");
        return Err(Diagnostic::error(Code::InvalidArgument, message).into());
    }
    // Programs that print a token, such as `echo`, end the line.
    let line = match text.strip_suffix('\n') {
        Some(line) => line.strip_suffix('\r').unwrap_or(line),
        None => &text,
    };
    if let Some(token) = Token::new(line) {
        return Ok(Some(token));
    }
    let message = format!("there is no token for {host} on stdin");
    let login = Remedy::Login {
        host: host.to_string(),
    };
    let help = Help::text("pipe it: printf %s \"$TOKEN\" | ").and(login);
    Err(Diagnostic::error(Code::InvalidArgument, message)
        .help(help)
        .into())
}

/// Reads a token from a terminal without showing it. An empty line asks again; an end of input is
/// an error. `None` if the user pressed Ctrl-C.
fn ask_for_token(host: &Hostname, ui: &Ui) -> Result<Option<Token>> {
    for _ in 0..ATTEMPTS {
        let text = match rpassword::prompt_password(format!("Token for {host}: ")) {
            // The prompt also sends the signal, which may end the program first.
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(None),
            text => {
                text.with_context(|| format!("cannot read the token for {host} from the terminal"))?
            }
        };
        if let Some(token) = Token::new(text.trim()) {
            return Ok(Some(token));
        }
        ui.status("The token is empty; paste it and press Enter, or end with Ctrl-C");
    }
    let message = format!("no token for {host} was typed");
    Err(Diagnostic::error(Code::InvalidArgument, message).into())
}
