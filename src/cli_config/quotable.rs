//! The text of a configuration file that an error may quote.

/// The words of the configuration language, which are not secret.
const LANGUAGE: &str = "access_token args config credentials credentials_helper dev_overrides direct \
    discover_ambient_credentials docker_credentials_helper docker_style_config_files download_retry_count exclude \
    false filesystem_mirror host include network_mirror oci_credentials oci_default_credentials oci_mirror password \
    path plugin_cache_dir provider_installation refresh_token registry_protocols repository_template \
    request_timeout_seconds retry_count services token true trust_all_hashes url username";

/// A configuration file's text as an error may quote it: if it may contain secrets, everything is masked except
/// punctuation and the names of the language in the place of names. Offsets, lines and columns stay valid.
pub(super) fn quotable(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if !["credentials", "token", "password", "secret", "@"].iter().any(|sign| lower.contains(sign)) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, None);
    while !rest.is_empty() {
        let (part, after) = rest.split_at(part_length(rest));
        if is_shown(part, before, after) {
            shown.push_str(part);
        } else {
            let closes = part.len() > 1 && part.ends_with('"');
            let last = part.len() - usize::from(closes);
            shown.extend(
                part.char_indices().map(|(at, c)| if c == '"' && (at == 0 || at == last) { c } else { mask(c) }),
            );
        }
        before = part.trim_end().chars().next_back().or(before);
        rest = after;
    }
    shown
}

/// The length of the first part of a text: a quoted string, which ends on its line, a word, or a single character.
fn part_length(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let word = text.find(|c| !is_word(c)).unwrap_or(text.len());
    if word > 0 {
        return word;
    }
    let Some(string) = text.strip_prefix('"') else { return text.chars().next().map_or(0, char::len_utf8) };
    let mut escaped = false;
    for (at, c) in string.char_indices() {
        match c {
            '\n' => return 1 + at,
            '"' if !escaped => return 1 + at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// Whether a part of a configuration file is certainly not a secret, by the text before and after it.
fn is_shown(part: &str, before: Option<char>, after: &str) -> bool {
    let name = part.strip_prefix('"').map_or(Some(part), |rest| rest.strip_suffix('"'));
    if name.is_some_and(|name| LANGUAGE.split(' ').any(|word| word == name)) {
        let is_name = after.trim_start().starts_with(['=', ':', '{', '"']) && !matches!(before, Some('=' | ':' | '['));
        return is_name || matches!(part, "true" | "false");
    }
    part.chars().all(|c| c.is_whitespace() || "{}[]=:,".contains(c))
}

/// A mark with as many bytes as the character that it hides.
fn mask(c: char) -> char {
    match c.len_utf8() {
        1 => '*',
        2 => '·',
        3 => '•',
        _ => '🞄',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_files_hold_no_secret_whatever_their_syntax() {
        for text in [
            "credentials \"h\" {\n  token = \"abc123\n",
            "credentials \"h\" { token = abc123\" }",
            "token = <<E\nabc123\nE\n",
            "{\"credentials\":{\"h\":\n{\"token\":\n\"abc123\"",
            "url = \"https://abc123@h/\"",
        ] {
            let shown = quotable(text);
            assert!(!shown.contains("abc123"), "{shown}");
            assert_eq!((shown.len(), shown.lines().count()), (text.len(), text.lines().count()));
        }
        for (text, expected) in [
            ("password = \"пароль!#%ключ 😀€\" # é", "password = \"······***····*🞄•\" * ·"),
            ("token = <<E\nпа!р\nE\n", "token = ***\n··*·\n*\n"),
            ("token = \"token\"\npassword =\n \"url\"", "token = \"*****\"\npassword =\n \"***\""),
            ("{\"token\": \"url\", \"url\":\"a\\\"{b\"}", "{\"token\": \"***\", \"url\":\"*****\"}"),
            ("credentials \"h\" { token = path }", "credentials \"*\" { token = **** }"),
            ("token = \"a,b={c", "token = \"******"),
            (
                "credentials_helper \"h\" {\n args = [\"token\", \"url\"]",
                "credentials_helper \"*\" {\n args = [\"*****\", \"***\"]",
            ),
            ("password = true", "password = true"),
            (r#"token = "" url = "a\\" path = "b""#, r#"token = "" url = "***" path = "*""#),
            ("direct {}\ntokens = 1", "direct {}\n****** = *"),
        ] {
            let shown = quotable(text);
            assert_eq!(shown, expected);
            assert_eq!((shown.len(), shown.chars().count()), (text.len(), text.chars().count()));
        }
        assert_eq!(quotable("host \"é\" {\n"), "host \"é\" {\n");
    }
}
