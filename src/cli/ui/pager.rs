//! The pager that long text goes through, as git's does (`pager.c` of git).

use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};

use provlock::system::files;

/// What git's pagers get unless the user has set them: less quits where one screen is enough and keeps colours.
const DEFAULTS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// What has a meaning to a shell only.
const SHELL_CHARACTERS: &[char] =
    &['|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', '#', '~', '=', '%'];

/// Shows text by the pager that `PROVLOCK_PAGER` or `PAGER` names, else by less. Whether that was possible: if not,
/// nothing was shown. A user who leaves the pager early has seen enough.
pub(super) fn show(text: &str) -> bool {
    let named = ["PROVLOCK_PAGER", "PAGER"].into_iter().find_map(std::env::var_os);
    let Some(pager) = named.map_or(Some("less".to_owned()), |name| name.into_string().ok()) else { return false };
    if matches!(pager.trim(), "" | "cat") {
        return false;
    }
    // An interrupt while the pager runs is for the pager.
    let _interrupts_wait = files::wait_for_writes();
    // A shell that finds no program, or cannot run it, ends with one of these.
    run(command(&pager), text).is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
}

/// `pager` is not blank.
fn command(pager: &str) -> Command {
    let needs_shell = pager.contains(SHELL_CHARACTERS);
    let words: Vec<_> = if needs_shell { vec!["sh", "-c", pager] } else { pager.split_whitespace().collect() };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command.envs(DEFAULTS.into_iter().filter(|(variable, _)| std::env::var_os(variable).is_none()));
    command
}

fn run(mut command: Command, text: &str) -> std::io::Result<ExitStatus> {
    let mut pager = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = pager.stdin.take() {
        let _ = input.write_all(text.as_bytes());
    }
    pager.wait()
}
