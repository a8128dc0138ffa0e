//! A registry's challenge to an unknown client: `WWW-Authenticate` (RFC 9110, section 11.6.1).

use http_auth::{ChallengeParser, ChallengeRef};

/// A challenge that can be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A user and a password (RFC 7617).
    Basic,
    /// A token from a token server (the Docker registry's token authentication).
    Bearer(BearerChallenge),
}

/// Source of a token, and its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BearerChallenge {
    /// The token server's URL.
    pub(super) realm: String,
    /// Name of the registry at the token server.
    pub(super) service: Option<String>,
    /// Scopes that the token must have, separated by spaces.
    pub(super) scope: Option<String>,
}

/// Reads the challenges of all `WWW-Authenticate` fields. Unknown schemes, and text after a syntax error, are skipped.
pub(super) fn parse<'a>(fields: impl IntoIterator<Item = &'a str>) -> Vec<Challenge> {
    let challenges = fields.into_iter().flat_map(|field| ChallengeParser::new(field).map_while(Result::ok));
    challenges.filter_map(|challenge| understand(&challenge)).collect()
}

fn understand(challenge: &ChallengeRef<'_>) -> Option<Challenge> {
    if challenge.scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !challenge.scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let parameter = |name: &str| {
        let found = challenge.params.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_unescaped()).filter(|value| !value.is_empty())
    };
    let (service, scope) = (parameter("service"), parameter("scope"));
    Some(Challenge::Bearer(BearerChallenge { realm: parameter("realm")?, service, scope }))
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
    fn several_challenges_are_read_from_one_header_or_several() {
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
