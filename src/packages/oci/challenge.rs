//! A registry's challenge to an unknown client: `WWW-Authenticate` (RFC 9110, section 11.6.1).

use http_auth::{ChallengeParser, ChallengeRef};

/// The challenges of a response that can be answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenges {
    /// Whether the registry accepts a user and a password (RFC 7617).
    pub(super) basic: bool,
    /// The first token server (the Docker registry's token authentication).
    pub(super) bearer: Option<BearerChallenge>,
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

/// Reads the challenges of all `WWW-Authenticate` fields. Unknown schemes, and text after a syntax
/// error, are skipped.
pub(super) fn parse<'a>(fields: impl IntoIterator<Item = &'a str>) -> Challenges {
    let mut challenges = Challenges::default();
    for challenge in fields
        .into_iter()
        .flat_map(|field| ChallengeParser::new(field).map_while(Result::ok))
    {
        challenges.basic |= challenge.scheme.eq_ignore_ascii_case("basic");
        if challenge.scheme.eq_ignore_ascii_case("bearer") {
            challenges.bearer = challenges.bearer.or_else(|| bearer_challenge(&challenge));
        }
    }
    challenges
}

/// `None` if the challenge contains no token server.
fn bearer_challenge(challenge: &ChallengeRef<'_>) -> Option<BearerChallenge> {
    Some(BearerChallenge {
        realm: parameter(challenge, "realm")?,
        service: parameter(challenge, "service"),
        scope: parameter(challenge, "scope"),
    })
}

/// A parameter of a challenge. An empty one is treated as absent.
fn parameter(challenge: &ChallengeRef<'_>, name: &str) -> Option<String> {
    for (other, value) in &challenge.params {
        if other.eq_ignore_ascii_case(name) {
            let value = value.to_unescaped();
            return if value.is_empty() { None } else { Some(value) };
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASIC: Challenges = Challenges {
        basic: true,
        bearer: None,
    };

    fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenges {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let bearer = BearerChallenge {
            realm: realm.to_owned(),
            service: own(service),
            scope: own(scope),
        };
        Challenges {
            basic: false,
            bearer: Some(bearer),
        }
    }

    #[test]
    fn challenges_are_read_as_registries_send_them() {
        let docker = concat!(
            r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io","#,
            r#"scope="repository:a/b:pull,push""#,
        );
        let expected = bearer(
            "https://auth.docker.io/token",
            Some("registry.docker.io"),
            Some("repository:a/b:pull,push"),
        );
        assert_eq!(parse([docker]), expected);
        assert_eq!(parse(["Basic realm=\"Registry Realm\""]), BASIC);
        assert_eq!(parse(["basic"]), BASIC);
        assert_eq!(
            parse([r#"bearer REALM = "x" , Service=y"#]),
            bearer("x", Some("y"), None)
        );
        assert_eq!(
            parse([r#"Bearer realm="a\"b\\c""#]),
            bearer("a\"b\\c", None, None)
        );
    }

    #[test]
    fn several_challenges_are_read_from_one_header_or_several() {
        let both = Challenges {
            basic: true,
            ..bearer("r", None, Some("s"))
        };
        assert_eq!(
            parse([r#"Bearer realm="r",scope="s", Basic realm="x, y""#]),
            both
        );
        assert_eq!(
            parse([r#"Bearer realm="r",scope="s""#, "Basic realm=x"]),
            both
        );
        assert_eq!(
            parse([
                r#"Bearer scope="s""#,
                r#"Bearer realm="r""#,
                "Bearer realm=x"
            ]),
            bearer("r", None, None)
        );
        assert_eq!(
            parse([r#"Negotiate, Digest realm="d", nonce="n", Basic realm="b""#]),
            BASIC
        );
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
            assert_eq!(
                parse([field]),
                Challenges::default(),
                "{}",
                &field[..field.len().min(20)]
            );
        }
        assert_eq!(
            parse(["Negotiate YWJj==, Basic realm=\"b\""]),
            Challenges::default()
        );
    }
}
