//! The secrets of a run, which no output may contain.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::safe_url::{is_public_parameter, percent_decoded};
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
        for secret in key.secrets() {
            self.add(secret);
        }
    }

    /// Learns the password in a URL; a user name without a password is a token.
    pub fn learn_url(&self, text: &str) {
        if let Ok(url) = Url::parse(text)
            && let Some(secret) = secret_in(url.username(), url.password())
        {
            self.add_encoded(secret);
        }
    }

    /// Learns the passwords in an address, which need not be a URL that can be parsed.
    pub(crate) fn learn_address(&self, text: &str) {
        for secret in find_all(text, next_password) {
            self.add_encoded(secret);
        }
    }

    /// Learns an address that a secret variable set: the whole, its path, the directory in the
    /// package and parameters.
    pub(crate) fn learn_secret_address(&self, address: &str) {
        let mut url = address;
        if let Some((_, after_getter)) = address.rsplit_once("::") {
            url = after_getter;
        }
        let (before_query, query) = url.split_once(['?', '#']).unwrap_or((url, ""));
        let mut path = before_query;
        if let Some((_, after_scheme)) = before_query.split_once("://") {
            let host = after_scheme.split('/').next().unwrap_or_default();
            path = &after_scheme[host.len()..];
        }

        let mut parts = vec![address, url, path];
        parts.extend(path.split("//"));
        for parameter in query.split(['&', '#']) {
            match parameter.split_once('=') {
                Some((_, value)) => parts.push(value),
                None => parts.push(parameter),
            }
        }
        for part in parts {
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
        let text = String::from_utf8_lossy(printed);
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !"-._~+/=".contains(c)) {
            self.add(word);
        }
    }

    /// Learns all strings in a JSON document except the names of members.
    fn learn_strings(&self, document: &Value) {
        match document {
            Value::String(text) => self.add(text),
            Value::Array(values) => {
                for value in values {
                    self.learn_strings(value);
                }
            }
            Value::Object(members) => {
                for value in members.values() {
                    self.learn_strings(value);
                }
            }
            _ => {}
        }
    }

    /// Whether an address has a login or parameters that would be hidden. A parameter shorter than
    /// the shortest hidden value is too short to be a secret.
    pub(crate) fn may_be_in(address: &str) -> bool {
        if next_private_key(address, 0).is_some() || next_password(address, 0).is_some() {
            return true;
        }
        find_all(address, next_secret_parameter)
            .iter()
            .any(|value| *value != REDACTED && percent_decoded(value).len() >= Self::SHORTEST)
    }

    /// A text without the secrets that are known so far.
    pub fn redact(&self, text: &str) -> String {
        self.replace(text, |_| REDACTED.to_owned())
    }

    /// A text of the same length in which the secrets are masked, so that offsets stay valid.
    pub fn mask(&self, text: &str) -> String {
        self.replace(text, |secret| "*".repeat(secret.len()))
    }

    /// Replaces each secret by the text that `with` returns for it: first the known secrets, then
    /// all text that looks like a secret.
    fn replace(&self, text: &str, with: impl Fn(&str) -> String) -> String {
        let mut shown = text.to_owned();
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for secret in secrets.iter() {
            if text.contains(secret.as_str()) {
                shown = shown.replace(secret.as_str(), &with(secret));
            }
        }

        // Secrets that the run has not learned are recognized by their form.
        for next in [
            next_private_key,
            next_password_or_user,
            next_user_of_short_address,
            next_secret_parameter,
            next_secret_fragment,
        ] {
            shown = replace_all(&shown, next, &with);
        }
        shown
    }

    /// Adds a secret from a URL, encoded and decoded.
    fn add_encoded(&self, secret: &str) {
        self.add(secret);
        self.add(&percent_decoded(secret));
    }

    /// Adds a secret in the forms in which it may be repeated: plain, in quotes and in a URL.
    fn add(&self, secret: &str) {
        let mut secrets = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for form in [
            secret.to_owned(),
            secret.escape_debug().collect(),
            byte_serialize(secret.as_bytes()).collect(),
        ] {
            if form.len() >= Self::SHORTEST && !secrets.contains(&form) {
                secrets.push(form);
            }
        }
        // One secret may contain another.
        secrets.sort_by_key(|secret| Reverse(secret.len()));
    }
}

/// Finds the first secret of one form in a text, from an offset on. The offset is the start of the
/// text or the end of the secret before.
type Finder = fn(&str, usize) -> Option<Range<usize>>;

/// Replaces all secrets of one form in a text.
fn replace_all(text: &str, next: Finder, with: &impl Fn(&str) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut position = 0;
    while let Some(secret) = next(text, position) {
        shown += &text[position..secret.start];
        shown += &with(&text[secret.clone()]);
        position = secret.end;
    }
    shown + &text[position..]
}

/// All secrets of one form in a text.
fn find_all(text: &str, next: Finder) -> Vec<&str> {
    let mut secrets = Vec::new();
    let mut position = 0;
    while let Some(secret) = next(text, position) {
        position = secret.end;
        secrets.push(&text[secret]);
    }
    secrets
}

/// The offset of the first character from `start` on that ends a part of a text, or the end of the
/// text.
fn end_of(text: &str, start: usize, ends: impl Fn(char) -> bool) -> usize {
    match text[start..].find(ends) {
        Some(length) => start + length,
        None => text.len(),
    }
}

/// Whether a character ends an address in a text.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || "\"'`<>".contains(c)
}

/// The next private key that has the form that `provlock cache keygen` writes.
fn next_private_key(text: &str, mut from: usize) -> Option<Range<usize>> {
    loop {
        let start = from + text[from..].find(PRIVATE_KEY)? + PRIVATE_KEY.len();
        let end = end_of(text, start, |c| {
            !c.is_ascii_alphanumeric() && !"+/=".contains(c)
        });
        if end > start {
            return Some(start..end);
        }
        from = end;
    }
}

/// The password of a login, or the user name if it is a token. On git servers everybody has the
/// user name `git`, and SSH takes no password.
fn secret_in<'a>(user: &'a str, password: Option<&'a str>) -> Option<&'a str> {
    match password {
        None | Some("" | "x-oauth-basic") if ["", "git", "redacted"].contains(&user) => None,
        None | Some("" | "x-oauth-basic") => Some(user),
        password => password,
    }
}

/// The next password in a URL, or token in the URL of a web server.
fn next_password(text: &str, from: usize) -> Option<Range<usize>> {
    next_secret_login(text, from, SshUsers::Public)
}

/// The next password in a URL, token in the URL of a web server, or user of SSH.
fn next_password_or_user(text: &str, from: usize) -> Option<Range<usize>> {
    next_secret_login(text, from, SshUsers::Secret)
}

/// Treatment of the users in addresses of SSH.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SshUsers {
    Public,
    Secret,
}

/// Returns the range of the first login in an address at or after a position, unless it is redacted
/// already.
fn next_secret_login(text: &str, mut from: usize, ssh_users: SshUsers) -> Option<Range<usize>> {
    loop {
        let mark = next_authority(text, from)?;
        let start = mark.end;
        let end = end_of(text, start, |c| ends_word(c) || "/?#".contains(c));
        let scheme = &text[from..mark.start];
        // In a web address the user alone may be a token. In `git@host` the user is public.
        let is_web =
            ends_with_ignoring_case(scheme, "http") || ends_with_ignoring_case(scheme, "https");
        let is_secret_user =
            ssh_users == SshUsers::Secret && ends_with_ignoring_case(scheme, "ssh");
        let login = match text[start..end].rsplit_once('@') {
            Some((login, _)) => login,
            None => "",
        };
        if let Some(secret) = secret_of_login(login, is_web, is_secret_user)
            && login[secret.clone()] != *REDACTED
        {
            return Some(start + secret.start..start + secret.end);
        }
        from = end;
    }
}

/// The position of the next `://` before the host of a URL. JSON may escape slashes.
fn next_authority(text: &str, from: usize) -> Option<Range<usize>> {
    for (colon, _) in text[from..].match_indices(':') {
        let colon = from + colon;
        for mark in ["://", ":\\/\\/"] {
            if text[colon..].starts_with(mark) {
                return Some(colon..colon + mark.len());
            }
        }
    }
    None
}

/// The secret part of `USER` or `USER:PASSWORD`. A user is secret in the URL of a web server, and
/// if `is_secret_user`.
fn secret_of_login(login: &str, is_web: bool, is_secret_user: bool) -> Option<Range<usize>> {
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    if is_secret_user && password.is_some() && secret_in(user, None).is_some() {
        return Some(0..login.len());
    }
    let secret = secret_in(user, password)?;
    if password == Some(secret) {
        return Some(login.len() - secret.len()..login.len());
    }
    if is_web || is_secret_user {
        return Some(0..user.len());
    }
    None
}

/// The next user of SSH in an address without a scheme, such as `git::user@host:path`.
fn next_user_of_short_address(text: &str, mut from: usize) -> Option<Range<usize>> {
    loop {
        let at = from + text[from..].find('@')?;
        let before = text[from..at].trim_end_matches(is_of_name);
        let user = from + before.len()..at;
        let starts_word = user.start == 0
            || before.ends_with("::")
            || before.ends_with(|c: char| c.is_whitespace() || "\"'`(".contains(c));
        let word = &text[at + 1..end_of(text, at + 1, ends_word)];
        if starts_word && is_host_and_path(word) && secret_in(&text[user.clone()], None).is_some() {
            return Some(user);
        }
        from = at + 1;
    }
}

/// Whether a character may be part of a name of a user or host.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.%+".contains(c)
}

/// Whether a word is `HOST:PATH`, and not the end of a file and a line, such as `b.tf:3:1` in
/// `a@b.tf:3:1`.
fn is_host_and_path(word: &str) -> bool {
    let Some((host, path)) = word.split_once(':') else {
        return false;
    };
    if host.is_empty() || !host.chars().all(is_of_name) || path.starts_with("//") {
        return false;
    }
    let position = path.trim_end_matches([',', '.']);
    !position
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b':')
}

/// The next fragment of an address, except in a link to this program's documentation.
fn next_secret_fragment(text: &str, mut from: usize) -> Option<Range<usize>> {
    loop {
        let start = from + text[from..].find('#')? + 1;
        let end = end_of(text, start, ends_word);
        let following = &text[end..];
        let fragment = without_punctuation(&text[start..end], following);
        let word = text[..start].rsplit(ends_word).next().unwrap_or_default();
        if !fragment.is_empty() && fragment != REDACTED && has_secret_fragment(word) {
            return Some(start..start + fragment.len());
        }
        from = start;
    }
}

/// Whether a fragment after this word may be a secret: whether the word is an address, and not of
/// this program's documentation.
fn has_secret_fragment(word: &str) -> bool {
    // JSON may escape slashes.
    let address = word.replace("\\/", "/");
    let repository = env!("CARGO_PKG_REPOSITORY");
    if !repository.is_empty() && address.contains(&format!("{repository}/blob/")) {
        return false;
    }
    if address.contains("://") || address.contains("::") {
        return true;
    }
    if HOSTS_WITHOUT_SCHEME
        .iter()
        .any(|host| address.starts_with(host))
    {
        return true;
    }
    match address.split_once('@') {
        Some((_, host_and_path)) => host_and_path.contains(':'),
        None => false,
    }
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
    let Some(start) = text.len().checked_sub(ending.len()) else {
        return false;
    };
    match text.get(start..) {
        Some(end) => end.eq_ignore_ascii_case(ending),
        None => false,
    }
}

/// The next value of a URL parameter that may be a secret, also in URLs without a scheme; after a
/// scheme also text that is not a named parameter.
fn next_secret_parameter(text: &str, mut from: usize) -> Option<Range<usize>> {
    loop {
        let mark = from + text[from..].find(['?', '&'])?;
        let start = mark + 1;
        let end = end_of(text, start, |c| ends_word(c) || "&?#".contains(c));
        let following = &text[end..];
        let parameter = without_punctuation(&text[start..end], following);
        if let Some((name, value)) = parameter.split_once('=') {
            // Any named parameter may be a secret, unless its name is on the list of public ones.
            if is_named_parameter(name, value) && !is_public_parameter(parameter) {
                return Some(start + name.len() + 1..start + parameter.len());
            }
        } else {
            let word = text[from..mark]
                .rsplit(ends_word)
                .next()
                .unwrap_or_default();
            // In prose a question mark starts no query. JSON may escape slashes.
            let is_in_url =
                text[mark..].starts_with('?') && (word.contains("://") || word.contains(":\\/\\/"));
            if is_in_url && !parameter.is_empty() && parameter != REDACTED {
                return Some(start..start + parameter.len());
            }
        }
        from = start;
    }
}

/// Whether `name=value` has the form of a parameter, unlike the comparison `a==b`.
fn is_named_parameter(name: &str, value: &str) -> bool {
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_name && !value.is_empty() && !value.starts_with('=')
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
