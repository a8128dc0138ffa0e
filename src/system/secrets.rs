//! The secrets of a run, which no output may contain.

use std::cmp::Reverse;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::safe_url::{is_public, percent_decoded};
use super::token::Token;
use crate::provider::SigningKey;

/// The prefix of a private key.
const PRIVATE_KEY: &str = "ed25519-private:";

/// Hosts that OpenTofu and Terraform recognise in an address without a scheme.
const HOSTS_WITHOUT_SCHEME: [&str; 3] = ["bitbucket.org/", "github.com/", "gitlab.com/"];

/// The text that replaces a secret.
const REDACTED: &str = "[redacted]";

/// The secrets that a run has learned so far. They are removed from all output, such as messages of
/// registries and helper programs that repeat them. Clones share one list.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("{REDACTED}")]
pub struct Secrets(Arc<RwLock<Vec<String>>>);

impl Secrets {
    /// The shortest text that is hidden, in bytes. Shorter texts are part of too many words.
    const SHORTEST: usize = 6;

    /// Learns a token, and the password in it if it is a user name and a password.
    pub fn learn(&self, token: &Token) {
        self.add(token.reveal());
        if let Some(password) = token.password() {
            self.add(password);
        }
    }

    /// Learns a private key, with and without its prefix.
    pub fn learn_key(&self, key: &SigningKey) {
        key.secrets()
            .into_iter()
            .for_each(|secret| self.add(secret));
    }

    /// Learns the password in a URL; a user name without a password is a token.
    pub fn learn_url(&self, text: &str) {
        let Ok(url) = Url::parse(text) else { return };
        if let Some(secret) = secret_in(url.username(), url.password()) {
            self.add_encoded(secret);
        }
    }

    /// Learns the passwords in an address, which need not be a URL that can be parsed.
    pub(crate) fn learn_address(&self, text: &str) {
        without_logins(text, false, |secret| {
            self.add_encoded(secret);
            REDACTED.to_owned()
        });
    }

    /// Learns an address that a secret variable set: the whole, its path, the directory in the
    /// package and parameters.
    pub(crate) fn learn_secret_address(&self, address: &str) {
        let url = address.rsplit_once("::").map_or(address, |(_, url)| url);
        let (path, query) = url.split_once(['?', '#']).unwrap_or((url, ""));
        let path = path.split_once("://").map_or(path, |(_, rest)| {
            rest.find('/').map_or("", |at| &rest[at..])
        });
        let values = query
            .split(['&', '#'])
            .map(|value| value.split_once('=').map_or(value, |(_, value)| value));
        for part in [address, url, path]
            .into_iter()
            .chain(path.split("//"))
            .chain(values)
        {
            self.add_encoded(part);
            self.add_encoded(part.trim_start_matches("./"));
        }
    }

    /// Learns what a credentials helper has printed: the strings of a JSON document, or else each
    /// word that may be a token.
    pub(crate) fn learn_printed(&self, printed: &[u8]) {
        if let Ok(document) = serde_json::from_slice::<Value>(printed) {
            self.learn_strings(&document);
            return;
        }
        let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
        for word in String::from_utf8_lossy(printed).split(|c| !is_of_token(c)) {
            self.add(word);
        }
    }

    /// Learns all strings in a JSON document except the names of members.
    fn learn_strings(&self, document: &Value) {
        match document {
            Value::String(text) => self.add(text),
            Value::Array(values) => values.iter().for_each(|value| self.learn_strings(value)),
            Value::Object(members) => members.values().for_each(|value| self.learn_strings(value)),
            _ => {}
        }
    }

    /// Whether an address has a login or parameters that would be hidden. A parameter shorter than
    /// the shortest hidden value is too short to be a secret.
    pub(crate) fn may_be_in(address: &str) -> bool {
        let hidden = |_: &str| REDACTED.to_owned();
        let is_short = |value: &str| percent_decoded(value).len() < Self::SHORTEST;
        let parameter = |value: &str| {
            if is_short(value) {
                value.to_owned()
            } else {
                hidden(value)
            }
        };
        without_parameters(
            &without_logins(&without_private_keys(address, hidden), false, hidden),
            parameter,
        ) != address
    }

    /// A text without the secrets that are known so far.
    pub fn redact(&self, text: &str) -> String {
        self.replace(text, |_| REDACTED.to_owned())
    }

    /// A text of the same length in which the secrets are masked, so that offsets stay valid.
    pub fn mask(&self, text: &str) -> String {
        self.replace(text, |secret| "*".repeat(secret.len()))
    }

    fn replace(&self, text: &str, with: impl Fn(&str) -> String) -> String {
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = secrets
            .iter()
            .filter(|secret| text.contains(secret.as_str()));
        let text = found.fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), &with(secret))
        });
        let text = without_logins(&without_private_keys(&text, &with), true, &with);
        without_fragments(
            &without_parameters(&without_users_of_short_addresses(&text, &with), &with),
            with,
        )
    }

    /// Adds a secret from a URL, encoded and decoded.
    fn add_encoded(&self, secret: &str) {
        self.add(secret);
        self.add(&percent_decoded(secret));
    }

    /// Adds a secret in the forms in which it may be repeated: plain, in quotes and in a URL.
    fn add(&self, secret: &str) {
        let mut secrets = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let forms = [
            secret.to_owned(),
            secret.escape_debug().collect(),
            byte_serialize(secret.as_bytes()).collect(),
        ];
        for form in forms
            .into_iter()
            .filter(|form| form.len() >= Self::SHORTEST)
        {
            if !secrets.contains(&form) {
                secrets.push(form);
            }
        }
        // One secret may contain another.
        secrets.sort_by_key(|secret| Reverse(secret.len()));
    }
}

/// Replaces all private keys in a text that have the form that `provlock cache keygen` writes.
fn without_private_keys(text: &str, with: impl Fn(&str) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(PRIVATE_KEY).map(|at| at + PRIVATE_KEY.len()) {
        let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
        let end = rest[start..]
            .find(|c| !is_base64(c))
            .map_or(rest.len(), |end| start + end);
        shown += &rest[..start];
        if end > start {
            shown += &with(&rest[start..end]);
        }
        rest = &rest[end..];
    }
    shown + rest
}

/// The password of a login, or the user name if it is a token. On git servers everybody has the
/// user name `git`, and SSH takes no password.
fn secret_in<'a>(user: &'a str, password: Option<&'a str>) -> Option<&'a str> {
    match password {
        None | Some("" | "x-oauth-basic") => {
            Some(user).filter(|user| !["", "git", "redacted"].contains(user))
        }
        password => password,
    }
}

/// Replaces the passwords of all URLs in a text, the tokens in the URLs of web servers and, if
/// `hides_users`, the users of SSH.
fn without_logins(text: &str, hides_users: bool, with: impl Fn(&str) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    // JSON may escape slashes.
    let marks = ["://", ":\\/\\/"];
    let mark = |text: &str, at: usize| marks.into_iter().find(|mark| text[at..].starts_with(mark));
    let first = |text: &str| {
        text.match_indices(':')
            .find_map(|(at, _)| Some((at, mark(text, at)?.len())))
    };
    while let Some((colon, length)) = first(rest) {
        let start = colon + length;
        let end = rest[start..].find(|c: char| c.is_whitespace() || "/?#\"'`<>".contains(c));
        let end = end.map_or(rest.len(), |end| start + end);
        let is_one_of = |schemes: &[&str]| {
            schemes
                .iter()
                .any(|scheme| ends_with_ignoring_case(&rest[..colon], scheme))
        };
        let is_web = is_one_of(&["http", "https"]);
        let has_secret_user = hides_users && is_one_of(&["ssh"]);
        let login = rest[start..end]
            .rsplit_once('@')
            .map_or("", |(login, _)| login);
        let (user, password) = login
            .split_once(':')
            .map_or((login, None), |(user, password)| (user, Some(password)));
        let is_hidden = |secret: &&str| is_web || has_secret_user || password == Some(secret);
        let secret = if has_secret_user && password.is_some() && secret_in(user, None).is_some() {
            Some(login)
        } else {
            secret_in(user, password).filter(is_hidden)
        };
        if let Some(secret) = secret.filter(|secret| *secret != REDACTED) {
            let before = if password == Some(secret) {
                start + user.len() + 1
            } else {
                start
            };
            shown += &rest[..before];
            shown += &with(secret);
            rest = &rest[before + secret.len()..];
        } else {
            shown += &rest[..end];
            rest = &rest[end..];
        }
    }
    shown + rest
}

/// Replaces the users of SSH in addresses without a scheme, such as `git::user@host:path`.
fn without_users_of_short_addresses(text: &str, with: impl Fn(&str) -> String) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.%+".contains(c);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let user = &rest[rest[..at].trim_end_matches(is_of_name).len()..at];
        let before = &rest[..at - user.len()];
        let starts_word = before.is_empty() && shown.is_empty()
            || before.ends_with("::")
            || before.ends_with(|c: char| c.is_whitespace() || "\"'`(".contains(c));
        let word = &rest[at + 1..];
        let word = &word[..word
            .find(|c: char| c.is_whitespace() || "\"'`<>".contains(c))
            .unwrap_or(word.len())];
        // Not a file and a line, such as `a@b.tf:3:1`.
        let is_address = word.split_once(':').is_some_and(|(host, path)| {
            let is_line = path
                .trim_end_matches([',', '.'])
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b':');
            !host.is_empty() && host.chars().all(is_of_name) && !is_line && !path.starts_with("//")
        });
        if starts_word && is_address && secret_in(user, None).is_some() {
            shown += before;
            shown += &with(user);
            shown.push('@');
        } else {
            shown += &rest[..=at];
        }
        rest = &rest[at + 1..];
    }
    shown + rest
}

/// Replaces the fragments of all addresses in a text, except in links to this program's
/// documentation.
fn without_fragments(text: &str, with: impl Fn(&str) -> String) -> String {
    let ends_word = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('#').map(|at| at + 1) {
        shown += &rest[..start];
        rest = &rest[start..];
        // JSON may escape slashes.
        let word = shown
            .rsplit(ends_word)
            .next()
            .unwrap_or_default()
            .replace("\\/", "/");
        let is_address = ["://", "::"].iter().any(|mark| word.contains(mark))
            || HOSTS_WITHOUT_SCHEME
                .iter()
                .any(|host| word.starts_with(host))
            || word
                .split_once('@')
                .is_some_and(|(_, rest)| rest.contains(':'));
        let repository = env!("CARGO_PKG_REPOSITORY");
        let is_own = !repository.is_empty() && word.contains(&format!("{repository}/blob/"));
        let fragment = &rest[..rest.find(ends_word).unwrap_or(rest.len())];
        let fragment = without_punctuation(fragment, &rest[fragment.len()..]);
        if is_address && !is_own && !fragment.is_empty() && fragment != REDACTED {
            shown += &with(fragment);
            rest = &rest[fragment.len()..];
        }
    }
    shown + rest
}

/// A part of an address without the punctuation of the sentence around it, as in "ADDRESS: REASON".
fn without_punctuation<'a>(part: &'a str, following: &str) -> &'a str {
    let ends_word = following.is_empty() || following.starts_with(char::is_whitespace);
    if ends_word {
        part.trim_end_matches([':', ',', ';'])
    } else {
        part
    }
}

fn ends_with_ignoring_case(text: &str, ending: &str) -> bool {
    let start = text.len().checked_sub(ending.len());
    start
        .and_then(|start| text.get(start..))
        .is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

/// Replaces the values of all URL parameters in a text that may be secrets, also in URLs without a
/// scheme; after a scheme also text that is not a named parameter.
fn without_parameters(text: &str, with: impl Fn(&str) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['?', '&']).map(|at| at + 1) {
        let word = rest[..start - 1]
            .rsplit(|c: char| c.is_whitespace() || "\"'`<>".contains(c))
            .next();
        let is_in_url = rest[..start].ends_with('?')
            && word.is_some_and(|word| word.contains("://") || word.contains(":\\/\\/"));
        shown += &rest[..start];
        rest = &rest[start..];
        let end = rest
            .find(|c: char| c.is_whitespace() || "&?#\"'`<>".contains(c))
            .unwrap_or(rest.len());
        let end = without_punctuation(&rest[..end], &rest[end..]).len();
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let parameter = rest[..end]
            .split_once('=')
            .filter(|(name, value)| is_name(name) && !value.is_empty());
        if let Some((name, value)) =
            parameter.filter(|(_, value)| !value.starts_with('=') && !is_public(&rest[..end]))
        {
            shown += &rest[..=name.len()];
            shown += &with(value);
            rest = &rest[end..];
        } else if is_in_url && end > 0 && !rest[..end].contains('=') && rest[..end] != *REDACTED {
            shown += &with(&rest[..end]);
            rest = &rest[end..];
        }
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts, and what is shown of them.
    const TEXTS: &[(&str, &str)] = &[
        ("a s3cr3t+/\"x b", "a [redacted] b"),
        ("a=s3cr3t%2B%2F%22x", "a=[redacted]"),
        ("\"s3cr3t+/\\\"x\"", "\"[redacted]\""),
        (
            "Basic dXNlcjpwYXNzIHdvcmQ= is pass word",
            "Basic [redacted] is [redacted]",
        ),
        ("hunter@2 hunter%402", "[redacted] [redacted]"),
        ("ghp_token git user alice", "[redacted] git user alice"),
        (
            "git::https://me:p@h.test/a://x:1/",
            "git::https://me:[redacted]@h.test/a://x:1/",
        ),
        (
            "[\"ed25519-private:nWGxne/9+A=\"] ed25519:11qY",
            "[\"ed25519-private:[redacted]\"] ed25519:11qY",
        ),
        ("ed25519-private: and more", "ed25519-private: and more"),
        (
            "a://b:c@d://e:f@g h://i:j",
            "a://b:[redacted]@d://e:[redacted]@g h://i:j",
        ),
        (
            "git::https://t0ken@h.test/a a://me@h.test/",
            "git::https://[redacted]@h.test/a a://me@h.test/",
        ),
        (
            "ssh://me@h/ SSH://me:x@h/ ssh://git@h/",
            "ssh://[redacted]@h/ SSH://[redacted]@h/ ssh://git@h/",
        ),
        (
            r"ssh:\/\/me:x@h\/ https:\/\/t0ken@h\/",
            r"ssh:\/\/[redacted]@h\/ https:\/\/[redacted]@h\/",
        ),
        (
            "https://h.test/a?token=b: gone, https://h.test/a#b: gone, https://h.test/?b;",
            "https://h.test/a?token=[redacted]: gone, https://h.test/a#[redacted]: gone, https://h.test/?[redacted];",
        ),
        (
            "https://h.test/a?token=b:&c=d:e",
            "https://h.test/a?token=[redacted]&c=[redacted]",
        ),
        (
            "'me@h:a.git' git::me@h:/a git@h:a",
            "'[redacted]@h:a.git' git::[redacted]@h:/a git@h:a",
        ),
        (
            "a/null@5.0:b a@b.tf:3:1: x@y: z m@1.0",
            "a/null@5.0:b a@b.tf:3:1: x@y: z m@1.0",
        ),
        (
            "https://h/a#abc git::h/a?ref=v1#b",
            "https://h/a#[redacted] git::h/a?ref=v1#[redacted]",
        ),
        (
            "github.com/a/b#c # d a/b.tf#e https://h/#",
            "github.com/a/b#[redacted] # d a/b.tf#e https://h/#",
        ),
        (
            r#""github.com\/a\/b#c" "https:\/\/h#c""#,
            r#""github.com\/a\/b#[redacted]" "https:\/\/h#[redacted]""#,
        ),
        (
            "http://t0ken:@h/ https://t0ken:x-oauth-basic@h/",
            "http://[redacted]:@h/ https://[redacted]:x-oauth-basic@h/",
        ),
        (
            "https://git@h/ https://redacted@h/ https://h/a@b",
            "https://git@h/ https://redacted@h/ https://h/a@b",
        ),
        (
            "'https://h/a.git?token=abc/info?ref=v1'",
            "'https://h/a.git?token=[redacted]?ref=v1'",
        ),
        (
            "\"git@h:a.git?ref=v1&sshkey=YWJj==&depth=1\"",
            "\"git@h:a.git?ref=v1&sshkey=[redacted]&depth=1\"",
        ),
        (
            "h/a.zip?checksum=file:https://h/s?sig=abc",
            "h/a.zip?checksum=file:https://h/s?sig=[redacted]",
        ),
        ("a ? b=c : d&&e==f?g==h", "a ? b=c : d&&e==f?g==h"),
        (
            "'https://h/a?abc&ref=v1' is it? yes",
            "'https://h/a?[redacted]&ref=v1' is it? yes",
        ),
        ("HTTPS://t0ken@h.test/a", "HTTPS://[redacted]@h.test/a"),
    ];

    #[test]
    fn secrets_are_hidden_in_every_form() {
        let secrets = Secrets::default();
        let clone = secrets.clone();
        clone.learn(&Token::new("s3cr3t+/\"x").unwrap());
        clone.learn(&Token::basic("user", "pass word"));
        clone.learn_url("https://alice:hunter%402@h.test/");
        clone.learn_url("https://ghp_token@h.test/");
        clone.learn_url("ssh://git@h.test/");
        for (text, redacted) in TEXTS {
            assert_eq!(secrets.redact(text), *redacted);
        }
        secrets.learn_address("git::https://me:cr3d3ntial@h.test/a//b?ref=v1");
        assert_eq!(
            secrets.redact(r"https:\/\/me:cr3d3ntial@h.test"),
            r"https:\/\/me:[redacted]@h.test"
        );
        assert_eq!(secrets.mask("x ghp_token y"), "x ********* y");
        assert_eq!(format!("{secrets:?}"), "[redacted]");
    }

    #[test]
    fn long_parts_of_an_address_are_secrets() {
        for (address, may_be) in [
            ("https://h/a.zip?w=a%20b&archive=zip", false),
            ("https://h/a.zip?w=%61%62%63%64%65", false),
            ("https://h/a.zip?w=abcdef", true),
            ("https://h/a.zip?abcde", false),
            ("https://h/a.zip?abcdef", true),
            ("https://u:p@h/a.zip", true),
            ("https://h/a.zip?checksum=file:https://u:p@h/s", true),
        ] {
            assert_eq!(Secrets::may_be_in(address), may_be, "{address}");
        }
    }

    #[test]
    fn a_secret_within_a_longer_secret_does_not_expose_the_rest() {
        let secrets = Secrets::default();
        for text in ["abcdef", "abcdefghi"] {
            secrets.learn(&Token::new(text).unwrap());
        }
        assert_eq!(secrets.redact("abcdefghi abcdef"), "[redacted] [redacted]");
        secrets.learn(&Token::new("me").unwrap());
        assert_eq!(secrets.redact("some"), "some");
    }
}
