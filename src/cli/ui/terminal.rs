//! Colours and hyperlinks, from the variables of users and terminals.

use crate::cli::args::ColorChoice;

/// The values of variables.
pub(super) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Whether text has colours: according to the flag; otherwise according to <https://no-color.org>,
/// <https://force-color.org> and <https://bixense.com/clicolors>; otherwise only on a terminal.
pub(super) fn has_color(choice: ColorChoice, is_terminal: bool, variable: Variable<'_>) -> bool {
    match choice {
        ColorChoice::Always => return true,
        ColorChoice::Never => return false,
        ColorChoice::Auto => {}
    }
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    for name in ["FORCE_COLOR", "CLICOLOR_FORCE"] {
        if let Some(value) = variable(name)
            && !value.is_empty()
            && !is_off(&value)
        {
            return true;
        }
    }
    is_terminal && !is_dumb(variable) && !variable("CLICOLOR").is_some_and(|value| is_off(&value))
}

fn is_off(value: &str) -> bool {
    matches!(value, "0" | "false")
}

/// Whether lines of a terminal can be drawn again.
pub(super) fn can_redraw(is_terminal: bool, variable: Variable<'_>) -> bool {
    is_terminal && !is_dumb(variable)
}

/// Whether a terminal is known to show hyperlinks (OSC 8), as cargo and uv decide it.
pub(super) fn has_hyperlinks(is_terminal: bool, variable: Variable<'_>) -> bool {
    if let Some(forced) = variable("FORCE_HYPERLINK")
        && !forced.is_empty()
    {
        return forced != "0";
    }
    if !can_redraw(is_terminal, variable) {
        return false;
    }
    let program = variable("TERM_PROGRAM").unwrap_or_default();
    if PROGRAMS_WITH_HYPERLINKS.contains(&program.as_str()) {
        return true;
    }
    let term = variable("TERM").unwrap_or_default();
    if TERMS_WITH_HYPERLINKS
        .iter()
        .any(|name| term.starts_with(name))
    {
        return true;
    }
    for name in ["WT_SESSION", "KONSOLE_VERSION"] {
        if variable(name).is_some_and(|value| !value.is_empty()) {
            return true;
        }
    }
    let vte = variable("VTE_VERSION").unwrap_or_default();
    // VTE shows hyperlinks since 0.50.
    vte.parse::<u32>().is_ok_and(|version| version >= 5000)
}

/// Values of `TERM_PROGRAM`.
const PROGRAMS_WITH_HYPERLINKS: [&str; 7] = [
    "Hyper",
    "iTerm.app",
    "WezTerm",
    "ghostty",
    "rio",
    "vscode",
    "zed",
];

/// Starts of `TERM`.
const TERMS_WITH_HYPERLINKS: [&str; 4] = ["alacritty", "foot", "xterm-ghostty", "xterm-kitty"];

fn is_dumb(variable: Variable<'_>) -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of variables, written as in `NAME=value OTHER=value`.
    fn variables(text: &'static str) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let pairs = text
                .split_whitespace()
                .filter_map(|pair| pair.split_once('='));
            pairs
                .into_iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.to_owned())
        }
    }

    #[test]
    fn colours_are_as_the_user_wants_them() {
        for (text, on_terminal, elsewhere) in [
            ("", true, false),
            ("TERM=dumb", false, false),
            ("NO_COLOR=1", false, false),
            ("NO_COLOR=", true, false),
            ("NO_COLOR=1 FORCE_COLOR=1", false, false),
            ("FORCE_COLOR=1", true, true),
            ("FORCE_COLOR=0", true, false),
            ("CLICOLOR_FORCE=1 TERM=dumb", true, true),
            ("CLICOLOR_FORCE=0", true, false),
            ("CLICOLOR=0", false, false),
        ] {
            let variable = &variables(text);
            let shown = |is_terminal| has_color(ColorChoice::Auto, is_terminal, variable);
            assert_eq!(
                (shown(true), shown(false)),
                (on_terminal, elsewhere),
                "{text}"
            );
            assert!(
                has_color(ColorChoice::Always, false, variable)
                    && !has_color(ColorChoice::Never, true, variable)
            );
        }
    }

    #[test]
    fn only_terminals_that_show_links_get_them() {
        for (text, on_terminal, elsewhere) in [
            ("TERM=xterm-256color", false, false),
            ("TERM=xterm-kitty", true, false),
            ("TERM_PROGRAM=iTerm.app", true, false),
            ("TERM_PROGRAM=iTerm.app TERM=dumb", false, false),
            ("VTE_VERSION=7600", true, false),
            ("VTE_VERSION=4601", false, false),
            ("WT_SESSION=a", true, false),
            ("FORCE_HYPERLINK=1", true, true),
            ("FORCE_HYPERLINK=0 WT_SESSION=a", false, false),
        ] {
            let variable = &variables(text);
            assert_eq!(
                (
                    has_hyperlinks(true, variable),
                    has_hyperlinks(false, variable)
                ),
                (on_terminal, elsewhere),
                "{text}"
            );
        }
    }
}
