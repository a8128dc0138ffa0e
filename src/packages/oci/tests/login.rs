//! Challenges of registries, and the credentials that are sent to each host.

use super::*;
use crate::cli_config::{OciCredentials, OciDefaultCredentials, OciLogin, OciLoginSource};
use crate::packages::oci::authorization::{Access, Requester};
use crate::packages::oci::challenge::{BearerChallenge, Challenges};
use crate::packages::oci::credentials::FoundLogin;
use crate::system::{Environment, Token};

const USER: &str = "user";
const PASSWORD: &str = "s3cr3t-password";

fn logins(prefix: &str, login: OciLogin) -> OciLogins {
    let block = OciCredentials {
        repository_prefix: prefix.to_owned(),
        login: OciLoginSource::Login(login),
        location: location(),
    };
    let defaults = OciDefaultCredentials {
        discover_ambient_credentials: false,
        ..Default::default()
    };
    OciLogins::with(vec![block], defaults, &Environment::default())
}

fn basic(prefix: &str) -> OciLogins {
    logins(
        prefix,
        OciLogin::Basic {
            username: USER.to_owned(),
            password: Token::new(PASSWORD).unwrap(),
        },
    )
}

fn oauth(prefix: &str) -> OciLogins {
    let token = |text| Token::new(text).unwrap();
    logins(
        prefix,
        OciLogin::OAuth {
            access_token: Some(token("s3cr3t-access")),
            refresh_token: token("s3cr3t-refresh"),
        },
    )
}

/// A registry that takes only `Bearer good-N`, where N is how many tokens it has given out, with
/// its own token server.
fn token_registry(check: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Server {
    let content = content();
    let given = Mutex::new(0);
    Server::http(move |request| {
        let mut given = given.lock().unwrap();
        if request.path() == "/token" {
            if !check(request) {
                return Response::new(403, "{}");
            }
            *given += 1;
            return Response::new(
                200,
                json!({"access_token": format!("good-{given}"), "expires_in": 60}).to_string(),
            );
        }
        if request.authorization() == Some(&format!("Bearer good-{given}")) {
            return content.answer(request);
        }
        let host = request.header("host").unwrap();
        let challenge = format!(
            "Bearer realm=\"http://{host}/token\",service=\"it's\",scope=\"repository:m/acme/null:pull\""
        );
        Response::new(401, "").header("WWW-Authenticate", challenge)
    })
}

fn assert_no_secret(error: &Diagnostics) {
    assert!(!told(error).contains("s3cr3t"), "{}", told(error));
}

#[test]
fn a_token_for_anybody_is_fetched_once() {
    let server = token_registry(|request| request.authorization().is_none());
    let mirror = mirror(&server);
    assert!(mirror.versions(&null()).is_ok());
    assert!(fetch(&mirror).is_ok());
    assert!(
        mirror
            .fetch(&Fetch {
                package: &package_on("darwin_arm64"),
                archive_file: None,
                progress: &|_, _| ()
            })
            .is_ok()
    );
    let tokens = server.requests_for("/token");
    let target = "/token?service=it%27s&scope=repository%3Am%2Facme%2Fnull%3Apull";
    assert_eq!(
        tokens
            .iter()
            .map(|request| request.target.as_str())
            .collect::<Vec<_>>(),
        [target]
    );
}

#[test]
fn threads_that_are_refused_together_fetch_one_token() {
    let server = token_registry(|_| true);
    let mirror = mirror(&server);
    std::thread::scope(|scope| {
        for platform in ["linux_amd64", "darwin_arm64"] {
            let mirror = &mirror;
            scope.spawn(move || {
                mirror
                    .fetch(&Fetch {
                        package: &package_on(platform),
                        archive_file: None,
                        progress: &|_, _| (),
                    })
                    .unwrap()
            });
        }
    });
    assert_eq!(server.requests_for("/token").len(), 1);
}

#[test]
fn a_password_goes_to_the_token_server() {
    let server =
        token_registry(|request| request.basic().as_deref() == Some("user:s3cr3t-password"));
    assert!(fetch(&mirror_with(&server.host(), basic(&server.host()))).is_ok());
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.path() == "/token" || request.basic().is_none())
    );
    let error = fetch(&mirror(&server)).unwrap_err();
    assert_eq!(error[0].code, Code::Unauthorized);
    assert!(
        error[0]
            .message
            .contains("/token refused it with status 403"),
        "{error}"
    );
    assert!(format!("{:?}", error[0].help).contains(&format!("docker login {}", server.host())));
}

#[test]
fn an_access_token_is_used_and_then_refreshed() {
    let server = token_registry(|request| {
        request.method == "POST"
            && request.body.contains("grant_type=refresh_token")
            && request.body.contains("refresh_token=s3cr3t-refresh")
    });
    assert!(fetch(&mirror_with(&server.host(), oauth(&server.host()))).is_ok());
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.authorization().map(str::to_owned))
        .collect();
    assert_eq!(sent[..2], [None, Some("Bearer s3cr3t-access".to_owned())]);
    assert_eq!(server.requests_for("/token").len(), 1);
}

#[test]
fn an_expired_token_is_replaced() {
    let expired = Mutex::new(false);
    let content = content();
    let server = Server::http(move |request| {
        if request.path() == "/token" {
            let token = if *expired.lock().unwrap() {
                "new"
            } else {
                "old"
            };
            return Response::new(200, json!({"token": token}).to_string());
        }
        let mut expired = expired.lock().unwrap();
        *expired |= request.path().contains("/blobs/");
        if request.authorization() == Some(if *expired { "Bearer new" } else { "Bearer old" }) {
            return content.answer(request);
        }
        let challenge = format!(
            "Bearer realm=\"http://{}/token\"",
            request.header("host").unwrap()
        );
        Response::new(401, "").header("WWW-Authenticate", challenge)
    });
    assert!(fetch(&mirror(&server)).is_ok());
    let tokens = server.requests_for("/token");
    assert_eq!(tokens.len(), 2);
    assert_eq!(
        tokens[0].target, "/token?scope=repository%3Am%2Facme%2Fnull%3Apull",
        "the scope is made up if need be"
    );
}

#[test]
fn a_registry_that_always_refuses_is_an_error() {
    for challenge in [
        "Basic realm=x",
        "Bearer realm=\"http://HOST/token\"",
        "Negotiate",
        "",
    ] {
        let server = Server::http(move |request| match request.path() {
            "/token" => Response::new(200, r#"{"token": "s3cr3t-token"}"#),
            _ => Response::new(401, "").header(
                "WWW-Authenticate",
                challenge.replace("HOST", request.header("host").unwrap()),
            ),
        });
        for login in [
            basic(&server.host()),
            oauth(&server.host()),
            OciLogins::anonymous(),
        ] {
            let before = server.requests().len();
            let error = fetch(&mirror_with(&server.host(), login)).unwrap_err();
            assert_eq!(error[0].code, Code::Unauthorized, "{challenge}: {error}");
            assert!(
                server.requests().len() - before <= 5,
                "{challenge}: {:?}",
                server.requests()
            );
            assert_no_secret(&error);
        }
    }
}

#[test]
fn a_refusal_names_the_credentials_that_were_sent() {
    let server =
        Server::http(|_| Response::new(401, "").header("WWW-Authenticate", "Basic realm=x"));
    let error = fetch(&mirror_with(&server.host(), basic(&server.host()))).unwrap_err();
    assert!(
        error[0].notes[0].contains("the oci_credentials block at .tofurc:1"),
        "{error:?}"
    );
    let error = fetch(&mirror_with(&server.host(), basic("registry.example"))).unwrap_err();
    assert!(
        error[0].notes[0].contains("no credentials were sent"),
        "{error:?}"
    );
    assert!(
        error[0].notes[1].contains("none of 1 oci_credentials blocks matches"),
        "{error:?}"
    );
}

#[test]
fn credentials_do_not_follow_a_redirect_to_another_host() {
    let content = content();
    let storage = Server::http({
        let content = content.clone();
        move |request| content.answer(request)
    });
    let storage_host = storage.host();
    let server = Server::http(move |request| match request.basic().as_deref() {
        None => Response::new(401, "").header("WWW-Authenticate", "Basic realm=x"),
        Some(_) if request.path().contains("/blobs/") => Response::new(307, "").header(
            "Location",
            format!("http://{storage_host}{}?sig=x", request.path()),
        ),
        Some(_) => content.answer(request),
    });
    assert!(fetch(&mirror_with(&server.host(), basic(&server.host()))).is_ok());
    let seen = storage.requests();
    assert_eq!(seen.len(), 1);
    assert!(
        seen.iter().all(|request| request.authorization().is_none()),
        "{seen:?}"
    );
    assert!(
        server
            .requests()
            .iter()
            .any(|request| request.basic().as_deref() == Some("user:s3cr3t-password"))
    );
}

#[test]
fn another_host_cannot_ask_for_the_credentials() {
    let thief =
        Server::http(|_| Response::new(401, "").header("WWW-Authenticate", "Basic realm=x"));
    let host = thief.host();
    let server = Server::http(move |request| {
        Response::new(302, "").header("Location", format!("http://{host}{}", request.target))
    });
    let error = fetch(&mirror_with(&server.host(), basic(&server.host()))).unwrap_err();
    assert_eq!(error[0].code, Code::Unauthorized);
    assert_no_secret(&error);
    assert_eq!(thief.requests().len(), 1);
    assert!(thief.requests()[0].authorization().is_none());
}

#[test]
fn a_token_server_must_use_https_and_not_redirect() {
    for realm in [
        "http://registry.example/token",
        "ftp://127.0.0.1/",
        "http://user:s3cr3t@127.0.0.1/",
        "nonsense",
        "",
    ] {
        let server = Server::http(move |_| {
            Response::new(401, "").header("WWW-Authenticate", format!("Bearer realm=\"{realm}\""))
        });
        let error = fetch(&mirror_with(&server.host(), basic(&server.host()))).unwrap_err();
        assert_eq!(error[0].code, Code::Unauthorized, "{realm}");
        assert_no_secret(&error);
    }
    let thief = Server::http(|_| Response::new(200, r#"{"token": "x"}"#));
    let host = thief.host();
    let server = Server::http(move |request| match request.path() {
        "/token" => Response::new(307, "").header("Location", format!("http://{host}/")),
        _ => Response::new(401, "").header(
            "WWW-Authenticate",
            format!(
                "Bearer realm=\"http://{}/token\"",
                request.header("host").unwrap()
            ),
        ),
    });
    for login in [basic(&server.host()), oauth(&server.host())] {
        assert_eq!(
            fetch(&mirror_with(&server.host(), login)).unwrap_err()[0].code,
            Code::Unauthorized
        );
    }
    assert!(thief.requests().is_empty());
}

#[test]
fn a_token_server_on_another_host_gets_the_login_only_if_the_user_has_it_for_that_host() {
    let tokens = Server::http(|_| Response::new(200, r#"{"token": "good"}"#));
    let named = tokens.host().replace("127.0.0.1", "localhost");
    let (realm, content) = (format!("http://{named}/token"), content());
    let server = Server::http(move |request| match request.authorization() {
        Some("Bearer good") => content.answer(request),
        _ => Response::new(401, "").header("WWW-Authenticate", format!("Bearer realm=\"{realm}\"")),
    });
    let block = |prefix: &str, password: &str| OciCredentials {
        repository_prefix: prefix.to_owned(),
        login: OciLoginSource::Login(OciLogin::Basic {
            username: USER.to_owned(),
            password: Token::new(password).unwrap(),
        }),
        location: location(),
    };
    let with = |others: Vec<OciCredentials>| {
        let blocks = std::iter::once(block(&server.host(), PASSWORD))
            .chain(others)
            .collect();
        let defaults = OciDefaultCredentials {
            discover_ambient_credentials: false,
            ..Default::default()
        };
        OciLogins::with(blocks, defaults, &Environment::default())
    };
    for refused in [
        with(Vec::new()),
        with(vec![block(&named, "s3cr3t-other")]),
        oauth(&server.host()),
    ] {
        // An access token is for the registry, the refresh token for its token server.
        let error = fetch(&mirror_with(&server.host(), refused)).unwrap_err();
        assert_eq!(error[0].code, Code::Unauthorized);
        assert!(
            error[0]
                .message
                .contains("127.0.0.1 names a token server on the host localhost:"),
            "{error}"
        );
        assert_no_secret(&error);
    }
    assert!(tokens.requests().is_empty());
    assert!(
        fetch(&mirror_with(
            &server.host(),
            with(vec![block(&named, PASSWORD)])
        ))
        .is_ok()
    );
    assert_eq!(
        tokens.requests()[0].basic().as_deref(),
        Some("user:s3cr3t-password")
    );
    assert!(fetch(&mirror(&server)).is_ok(), "an anonymous token");
}

#[test]
fn a_token_server_that_sends_no_token_is_an_error() {
    for body in [
        "",
        "[]",
        "{}",
        r#"{"token": ""}"#,
        r#"{"token": "s3cr3t\nX: y"}"#,
        r#"{"token": 5, "x": "s3cr3t"}"#,
    ] {
        let server = Server::http(move |request| match request.path() {
            "/token" => Response::new(200, body),
            _ => Response::new(401, "").header(
                "WWW-Authenticate",
                format!(
                    "Bearer realm=\"http://{}/token\"",
                    request.header("host").unwrap()
                ),
            ),
        });
        let error = fetch(&mirror(&server)).unwrap_err();
        assert_eq!(error[0].code, Code::Unauthorized, "{body}: {error}");
        assert_no_secret(&error);
    }
}

#[test]
fn a_registry_of_the_network_cannot_name_a_token_server_of_this_machine() {
    let thief = Server::http(|_| Response::new(200, r#"{"token": "x"}"#));
    let found = FoundLogin {
        login: OciLogin::Basic {
            username: USER.to_owned(),
            password: Token::new(PASSWORD).unwrap(),
        },
        origin: String::new(),
    };
    let attempt = |registry: &str| {
        let client = network();
        let repository = "h.test/a".parse().unwrap();
        let registry = registry.parse().unwrap();
        let requester = Requester {
            client: &client,
            repository: &repository,
            registry: &registry,
            login: Some(&found),
            logins: &OciLogins::anonymous(),
            access: Access::Pull,
        };
        let realm = format!("http://{}/token", thief.host());
        let bearer = Some(BearerChallenge {
            realm,
            ..Default::default()
        });
        requester
            .next_authorization(
                &Challenges {
                    basic: false,
                    bearer,
                },
                None,
                false,
            )
            .is_ok()
    };
    assert!(!attempt("https://h.test/v2/"));
    assert!(thief.requests().is_empty());
    assert!(attempt("http://127.0.0.1/v2/"));
}
