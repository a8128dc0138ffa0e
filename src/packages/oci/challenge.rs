//! What a registry demands of a client that it does not know: `WWW-Authenticate` (RFC 9110, section 11.6.1).

/// A demand that can be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A user and a password (RFC 7617).
    Basic,
    /// A token from a token server (the Docker registry's token authentication).
    Bearer(BearerChallenge),
}

/// Where a token is to be had, and for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BearerChallenge {
    /// The token server's URL.
    pub(super) realm: String,
    /// What the token server calls the registry.
    pub(super) service: Option<String>,
    /// What the token must allow, separated by spaces.
    pub(super) scope: Option<String>,
}

/// Reads the challenges of all `WWW-Authenticate` fields; unknown schemes, and what follows a syntax error, are left
/// out.
pub(super) fn parse<'a>(fields: impl IntoIterator<Item = &'a str>) -> Vec<Challenge> {
    fields.into_iter().flat_map(parse_field).filter_map(|parsed| understand(&parsed)).collect()
}

struct Parsed<'a> {
    scheme: &'a str,
    parameters: Vec<(&'a str, String)>,
}

fn understand(parsed: &Parsed<'_>) -> Option<Challenge> {
    if parsed.scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !parsed.scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let parameter = |name: &str| {
        let found = parsed.parameters.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    };
    let (service, scope) = (parameter("service"), parameter("scope"));
    Some(Challenge::Bearer(BearerChallenge { realm: parameter("realm")?, service, scope }))
}

fn parse_field(field: &str) -> Vec<Parsed<'_>> {
    let mut challenges: Vec<Parsed<'_>> = Vec::new();
    let mut rest = field;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (name, after) = rest.split_at(rest.find(|c| !is_token_character(c)).unwrap_or(rest.len()));
        if name.is_empty() {
            return challenges;
        }
        // A name with "=" after it is a parameter of the challenge that it follows, any other is the next challenge.
        let Some(value) = after.trim_start().strip_prefix('=') else {
            challenges.push(Parsed { scheme: name, parameters: Vec::new() });
            rest = after;
            continue;
        };
        let (Some((value, after)), Some(challenge)) = (parse_value(value.trim_start()), challenges.last_mut()) else {
            return challenges;
        };
        challenge.parameters.push((name, value));
        rest = after;
    }
}

/// A quoted string or a token, and what follows it.
fn parse_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (token, after) = text.split_at(text.find(|c| !is_token_character(c)).unwrap_or(text.len()));
        return Some((token.to_owned(), after));
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return Some((value, characters.as_str())),
            '\\' => value.push(characters.next()?),
            other => value.push(other),
        }
    }
}

fn is_token_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenge {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Challenge::Bearer(BearerChallenge { realm: realm.to_owned(), service: own(service), scope: own(scope) })
    }

    #[test]
    fn challenges_are_read_as_registries_send_them() {
        let docker = r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push""#;
        let expected =
            bearer("https://auth.docker.io/token", Some("registry.docker.io"), Some("repository:a/b:pull,push"));
        assert_eq!(parse([docker]), [expected]);
        assert_eq!(parse(["Basic realm=\"Registry Realm\""]), [Challenge::Basic]);
        assert_eq!(parse(["basic"]), [Challenge::Basic]);
        assert_eq!(parse([r#"bearer REALM = "x" , Service=y"#]), [bearer("x", Some("y"), None)]);
        assert_eq!(parse([r#"Bearer realm="a\"b\\c""#]), [bearer("a\"b\\c", None, None)]);
    }

    #[test]
    fn several_challenges_may_come_in_one_field_or_in_several() {
        let both = [bearer("r", None, Some("s")), Challenge::Basic];
        assert_eq!(parse([r#"Bearer realm="r",scope="s", Basic realm="x, y""#]), both);
        assert_eq!(parse([r#"Bearer realm="r",scope="s""#, "Basic realm=x"]), both);
        assert_eq!(parse([r#"Negotiate, Digest realm="d", nonce="n", Basic realm="b""#]), [Challenge::Basic]);
    }

    #[test]
    fn nonsense_is_left_out() {
        let long = "a=".repeat(100_000);
        for field in [
            "",
            ",,,",
            "Bearer",
            "Bearer realm",
            "Bearer realm=",
            "Bearer realm=\"x",
            "=x",
            "\"",
            "é",
            "Bearer service=\"s\"",
            &long,
        ] {
            assert_eq!(parse([field]), [], "{}", &field[..field.len().min(20)]);
        }
        assert_eq!(parse(["Negotiate YWJj==, Basic realm=\"b\""]), []);
    }
}
