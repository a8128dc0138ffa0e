mod environment;
mod observer;
mod resume;

use crate::cli_config::NetSettings;
use crate::system::Token;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use provlock_test::{Authority, Response, Server};
use url::Url;

use super::*;
use crate::diagnostic::{Code, Help, HelpPart, Remedy};
use crate::provider::Hostname;

const TOKEN: &str = "s3cr3t";

fn host(text: &str) -> Hostname {
    Hostname::parse(text).unwrap()
}

fn settings() -> NetSettings {
    NetSettings {
        back_off: Duration::from_millis(1),
        use_proxies: false,
        ..NetSettings::default()
    }
}

/// Settings with which this machine may be asked over plain HTTP.
fn plain() -> NetSettings {
    let plain_http_hosts = ["127.0.0.1", "localhost", "0.0.0.0"]
        .map(str::to_owned)
        .into();
    NetSettings {
        plain_http_hosts,
        ..settings()
    }
}

/// A client that has a token for `h.test`.
fn client(settings: NetSettings) -> Client {
    let h = host("h.test");
    Client::new(settings, move |host| {
        Ok(if *host == h { Token::new(TOKEN) } else { None })
    })
    .unwrap()
}

fn plain_client() -> Client {
    client(plain())
}

fn get(client: &Client, url: &Url) -> Result<Vec<u8>, RequestErrorKind> {
    let document = client.get(url, Some(&host("h.test")), 1000, Purpose::Metadata);
    document
        .map(|document| document.bytes)
        .map_err(|error| error.kind)
}

fn status(status: u16) -> RequestErrorKind {
    RequestErrorKind::Status {
        status,
        wait: None,
        body: "no".to_owned(),
    }
}

#[test]
fn a_request_has_a_user_agent_and_returns_the_body() {
    let server = Server::http(|_| {
        Response::ok("data").header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    });
    let url = server.url("127.0.0.1", "/a?b=c");
    let document = plain_client()
        .get(&url, Some(&host("h.test")), 4, Purpose::Metadata)
        .unwrap();
    assert_eq!(
        (document.bytes.as_slice(), &document.url),
        (b"data".as_slice(), &url)
    );
    assert_eq!(
        document.last_modified.unwrap().to_string(),
        "1994-11-06T08:49:37Z"
    );
    let request = &server.requests()[0];
    assert_eq!(
        request.header("user-agent"),
        Some(concat!("provlock/", env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(
        (request.target.as_str(), request.authorization()),
        ("/a?b=c", Some("Bearer s3cr3t"))
    );
}

#[test]
fn connections_are_reused() {
    let server = Server::http(|_| Response::ok("data"));
    let client = plain_client();
    for _ in 0..5 {
        get(&client.clone(), &server.url("127.0.0.1", "/")).unwrap();
    }
    assert_eq!(
        (server.requests().len(), server.statistics().connections),
        (5, 1)
    );
}

#[test]
fn passing_failures_are_repeated_twice() {
    type Fault = fn() -> Response;
    let faults: [(Fault, Option<RequestErrorKind>); 5] = [
        (|| Response::new(503, "no"), Some(status(503))),
        (|| Response::new(500, "no"), Some(status(500))),
        (
            || Response::new(429, "no").header("Retry-After", "0"),
            Some(status(429)),
        ),
        (Response::reset, None),
        (|| Response::ok("data").truncated(), None),
    ];
    for (fault, kind) in faults {
        let server = Server::http(move |request| {
            if request.number < 2 {
                fault()
            } else {
                Response::ok("data")
            }
        });
        assert_eq!(
            get(&plain_client(), &server.url("127.0.0.1", "/")).unwrap(),
            b"data"
        );
        let server = Server::http(move |_| fault());
        let error = get(&plain_client(), &server.url("127.0.0.1", "/")).unwrap_err();
        assert_eq!(server.requests().len(), 3);
        match kind {
            Some(kind) => assert_eq!(error, kind),
            None => assert!(
                matches!(error, RequestErrorKind::Connection(_)),
                "{error:?}"
            ),
        }
    }
}

#[test]
fn lasting_failures_are_not_repeated() {
    for (code, kind) in [
        (404, RequestErrorKind::NotFound),
        (400, status(400)),
        (410, status(410)),
        (304, status(304)),
    ] {
        let server =
            Server::http(move |_| Response::new(code, if code == 304 { "" } else { "no" }));
        let error = get(&plain_client(), &server.url("127.0.0.1", "/")).unwrap_err();
        let expected = if code == 304 {
            RequestErrorKind::Status {
                status: 304,
                wait: None,
                body: String::new(),
            }
        } else {
            kind
        };
        assert_eq!((error, server.requests().len()), (expected, 1));
    }
}

#[test]
fn a_retry_waits_as_long_as_the_server_requests() {
    let server = Server::http(|request| match request.number {
        0 => Response::new(429, "").header("Retry-After", "0"),
        1 => Response::new(503, "").header("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"),
        _ => Response::ok("data"),
    });
    // Without the header, the test would take an hour.
    let slow = NetSettings {
        back_off: Duration::from_hours(1),
        ..plain()
    };
    assert_eq!(
        get(&client(slow), &server.url("127.0.0.1", "/")).unwrap(),
        b"data"
    );
}

#[test]
fn each_purpose_has_its_number_of_tries() {
    let server = Server::http(|_| Response::reset());
    let settings = NetSettings {
        retries: 0,
        download_retries: 1,
        ..plain()
    };
    let client = client(settings);
    let url = server.url("127.0.0.1", "/");
    let mut made = 0;
    for (client, purpose, tries) in [
        (client.clone(), Purpose::Metadata, 1),
        (client.clone(), Purpose::Download, 2),
        (client.with_download_retries(3), Purpose::Download, 4),
    ] {
        assert!(client.get(&url, None, 10, purpose).is_err());
        made += tries;
        assert_eq!(server.requests().len(), made);
    }
}

#[test]
fn a_silent_server_is_not_waited_for() {
    let server = Server::http(|_| Response::silence());
    let late = RequestErrorKind::Timeout {
        time_limit: Some(Duration::from_millis(300)),
        is_configured: true,
    };
    let settings = NetSettings {
        retries: 0,
        timeout: Duration::from_millis(300),
        ..plain()
    };
    assert_eq!(
        get(&client(settings), &server.url("127.0.0.1", "/")),
        Err(late.clone())
    );
    let settings = NetSettings {
        download_retries: 0,
        download_timeout: Duration::from_millis(300),
        ..plain()
    };
    let sums = client(settings).get(&server.url("127.0.0.1", "/"), None, 1000, Purpose::Download);
    assert_eq!(sums.unwrap_err().kind, late);
}

#[test]
fn bodies_end_at_the_limit_however_they_are_sent() {
    let server = Server::http(|request| {
        let size = request.target.rsplit('/').next().unwrap().parse().unwrap();
        let body = vec![b'x'; size];
        match &request.target[..2] {
            "/g" => {
                let mut encoder =
                    flate2::read::GzEncoder::new(body.as_slice(), flate2::Compression::best());
                let mut zipped = Vec::new();
                encoder.read_to_end(&mut zipped).unwrap();
                Response::ok(zipped).header("Content-Encoding", "gzip")
            }
            "/u" => Response::ok(body).without_length(),
            _ => Response::ok(body),
        }
    });
    let client = plain_client();
    for way in ["g", "u", "l"] {
        let url = |size| server.url("127.0.0.1", &format!("/{way}/{size}"));
        assert_eq!(get(&client, &url(1000)).unwrap().len(), 1000, "{way}");
        assert_eq!(
            get(&client, &url(1001)),
            Err(RequestErrorKind::TooLarge { limit: 1000 }),
            "{way}"
        );
        assert_eq!(
            get(&client, &url(10_000_000)),
            Err(RequestErrorKind::TooLarge { limit: 1000 }),
            "{way}"
        );
    }
    assert_eq!(server.requests().len(), 9, "none was repeated");
}

#[test]
fn a_broken_download_starts_afresh_where_the_server_cannot_go_on() {
    let body = vec![b'x'; 300_000];
    let expected = body.clone();
    let server = Server::http(move |request| match request.number {
        0 => Response::ok(body.clone()).truncated(),
        1 => Response::reset(),
        _ => Response::ok(body.clone()),
    });
    let mut calls = 0;
    let bytes = plain_client().download(
        &server.url("127.0.0.1", "/"),
        RequestCredentials::None,
        1 << 20,
        |reader, length| {
            calls += 1;
            assert_eq!(length, Some(300_000));
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes)
        },
    );
    assert_eq!((bytes.unwrap().unwrap(), calls), (expected, 2));
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn an_error_of_the_reader_is_final() {
    let server = Server::http(|_| Response::ok("data"));
    let url = server.url("127.0.0.1", "/");
    let result: Result<Result<(), &str>, _> =
        plain_client().download(&url, RequestCredentials::None, 10, |_, _| {
            Err("not what was expected")
        });
    assert_eq!(result, Ok(Err("not what was expected")));
    assert_eq!(server.requests().len(), 1);
    let result = plain_client().download(&url, RequestCredentials::None, 3, |reader, _| {
        io::copy(reader, &mut io::sink()).is_ok()
    });
    assert_eq!(
        result.unwrap_err().kind,
        RequestErrorKind::TooLarge { limit: 3 }
    );
}

#[test]
fn a_token_stays_with_its_host_and_port() {
    let other = Arc::new(Server::http(|_| Response::new(401, "")));
    let port = other.address().port();
    let server = Server::http(move |request| match request.target.as_str() {
        "/same" => Response::redirect("/end"),
        "/port" => Response::redirect(format!("http://127.0.0.1:{port}/end")),
        "/name" => Response::redirect(
            request
                .header("host")
                .unwrap()
                .replace("127.0.0.1", "http://localhost")
                + "/end",
        ),
        _ => Response::new(401, ""),
    });
    let client = plain_client();
    let refused = |credentials_sent| {
        Err(RequestErrorKind::Unauthorized {
            status: 401,
            credentials_sent,
        })
    };
    let tokens = |server: &Server| -> Vec<bool> {
        server
            .requests()
            .iter()
            .map(|r| r.authorization().is_some())
            .collect()
    };
    assert_eq!(
        get(&client, &server.url("127.0.0.1", "/same")),
        refused(true)
    );
    assert_eq!(
        get(&client, &server.url("127.0.0.1", "/name")),
        refused(false)
    );
    assert_eq!(tokens(&server), [true, true, true, false]);
    assert_eq!(
        get(&client, &server.url("127.0.0.1", "/port")),
        refused(false)
    );
    assert_eq!(tokens(&other), [false]);
    assert!(other.requests()[0].header("referer").is_none());
    let error = client
        .get(&server.url("127.0.0.1", "/x"), None, 10, Purpose::Download)
        .unwrap_err();
    assert_eq!(
        error.kind,
        RequestErrorKind::Unauthorized {
            status: 401,
            credentials_sent: false
        }
    );
    let error = client
        .get(
            &server.url("127.0.0.1", "/x"),
            Some(&host("other.test")),
            10,
            Purpose::Download,
        )
        .unwrap_err();
    assert_eq!(
        error.kind,
        RequestErrorKind::Unauthorized {
            status: 401,
            credentials_sent: false
        }
    );
    assert_eq!(tokens(&server)[5..], [false, false]);
}

#[test]
fn a_redirect_does_not_choose_credentials() {
    let server = Server::http(|request| match request.target.as_str() {
        "/" => Response::redirect(format!(
            "http://user:password@{}/end",
            request.header("host").unwrap()
        )),
        _ => Response::ok("data"),
    });
    assert_eq!(
        get(&plain_client(), &server.url("127.0.0.1", "/")).unwrap(),
        b"data"
    );
    let url = server.url("127.0.0.1", "/");
    plain_client()
        .get(&url, None, 10, Purpose::Metadata)
        .unwrap();
    let requests = server.requests();
    let sent: Vec<_> = requests
        .iter()
        .map(|request| request.authorization())
        .collect();
    assert_eq!(
        sent,
        [Some("Bearer s3cr3t"), Some("Bearer s3cr3t"), None, None]
    );
}

#[test]
fn a_token_is_not_sent_again_after_redirects_between_hosts() {
    let other = Server::http(|request| {
        let port = request.target.trim_start_matches('/');
        Response::redirect(format!("http://127.0.0.1:{port}/end"))
    });
    let port = other.address().port();
    let server = Server::http(move |request| match request.target.as_str() {
        "/" => {
            let home = request.header("host").unwrap().rsplit_once(':').unwrap().1;
            Response::redirect(format!("http://127.0.0.1:{port}/{home}"))
        }
        _ => Response::ok("data"),
    });
    assert_eq!(
        get(&plain_client(), &server.url("127.0.0.1", "/")).unwrap(),
        b"data"
    );
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.authorization().is_some())
        .collect();
    assert_eq!(sent, [true, false]);
    assert!(other.requests()[0].authorization().is_none());
}

/// On these systems 0.0.0.0 is this machine, and yet no loopback address.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn a_token_is_not_sent_in_the_open() {
    let server = Server::http(|_| Response::ok(""));
    get(&plain_client(), &server.url("0.0.0.0", "/")).unwrap();
    get(&plain_client(), &server.url("localhost", "/")).unwrap();
    assert_eq!(
        server
            .requests()
            .iter()
            .map(|r| r.authorization().is_some())
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[test]
fn requests_without_encryption_are_refused() {
    let server = Server::http(|_| Response::ok(""));
    let client = client(settings());
    assert_eq!(
        get(&client, &server.url("127.0.0.1", "/")),
        Err(RequestErrorKind::Insecure)
    );
    assert_eq!(
        get(&client, &Url::parse("file:///etc/passwd").unwrap()),
        Err(RequestErrorKind::Insecure)
    );
    assert!(server.requests().is_empty());
}

#[test]
fn redirects_end_and_never_leave_https() {
    let authority = Authority::new();
    let plain_server = Server::http(|_| Response::ok(""));
    let target = plain_server.url("127.0.0.1", "/");
    let server = Server::https(&authority, move |request| match request.target.as_str() {
        "/down" => Response::redirect(target.clone()),
        "/file" => Response::redirect("file:///etc/passwd"),
        path => Response::redirect(format!("{path}x")),
    });
    let client = client(NetSettings {
        extra_root_certificates: vec![authority.der()],
        ..plain()
    });
    for (path, why) in [
        ("/down", "is not an https URL"),
        ("/", "more than 10 redirects"),
        ("/file", "is not an https URL"),
    ] {
        match get(&client, &server.url("localhost", path)).unwrap_err() {
            RequestErrorKind::Redirect(text) => assert!(text.contains(why), "{text}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert!(plain_server.requests().is_empty());
    let loops = server
        .requests()
        .iter()
        .filter(|request| request.target.ends_with(['/', 'x']))
        .count();
    assert_eq!(loops, 11);
}

#[test]
fn an_unknown_authority_is_a_clear_error() {
    let server = Server::https(&Authority::new(), |_| Response::ok(""));
    let settings = NetSettings {
        retries: 0,
        ..settings()
    };
    match get(&client(settings), &server.url("localhost", "/")).unwrap_err() {
        RequestErrorKind::Connection(why) => assert!(why.contains("certificate"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_of_certificates_replaces_those_of_the_system() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = Server::https(&authority, |_| Response::ok("data"));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("certificates.pem");
    let with_file = || NetSettings {
        retries: 0,
        certificate_file: Some(file.clone()),
        ..settings()
    };
    std::fs::write(&file, [other.pem(), authority.pem()].concat()).unwrap();
    assert_eq!(
        get(&client(with_file()), &server.url("localhost", "/")).unwrap(),
        b"data"
    );
    std::fs::write(&file, other.pem()).unwrap();
    assert!(get(&client(with_file()), &server.url("localhost", "/")).is_err());
    for (content, why) in [
        ("", "it holds no certificate"),
        ("-----BEGIN CERTIFICATE-----\n", ""),
    ] {
        std::fs::write(&file, content).unwrap();
        let error = Client::new(with_file(), |_| Ok(None)).unwrap_err()[0]
            .message
            .clone();
        assert!(
            error.starts_with("cannot set up HTTPS: ") && error.ends_with(why),
            "{error}"
        );
    }
    std::fs::remove_file(&file).unwrap();
    let error = Client::new(with_file(), |_| Ok(None)).unwrap_err()[0]
        .message
        .clone();
    assert!(error.contains("certificates.pem: "), "{error}");
}

#[test]
fn an_answer_that_is_not_json_is_an_error_with_the_url() {
    let server = Server::http(|_| Response::ok("no JSON\u{1b}[31m"));
    let url = server.url("127.0.0.1", "/x?sig=s3cr3t");
    let error = plain_client()
        .get_json::<serde_json::Value, _>(&url, None, 1000, |value| (value, 0))
        .unwrap_err();
    assert!(matches!(error.kind, RequestErrorKind::InvalidBody(_)));
    let text = error.into_diagnostic("acme/gamma")[0].message.clone();
    assert!(
        text.contains("/x?[redacted]") && !text.contains(TOKEN),
        "{text}"
    );
}

#[test]
fn nothing_shown_contains_the_token() {
    let server = Server::http(|request| {
        Response::new(
            400,
            format!(
                "\u{1b}[31mbad\r\n {} {}",
                request.authorization().unwrap(),
                "x".repeat(500)
            ),
        )
    });
    let client = plain_client();
    let error = client
        .get(
            &server.url("127.0.0.1", "/"),
            Some(&host("h.test")),
            10,
            Purpose::Metadata,
        )
        .unwrap_err();
    let RequestErrorKind::Status { body, .. } = &error.kind else {
        panic!("{error:?}")
    };
    assert!(
        body.starts_with("[31mbad   Bearer [redacted] xxx") && body.len() == 200,
        "{body:?}"
    );
    let diagnostic = error.clone().into_diagnostic("acme/gamma");
    for shown in [
        format!("{error} {error:?} {client:?} {diagnostic:?}"),
        format!("{:?}", settings()),
    ] {
        assert!(!shown.contains(TOKEN), "{shown}");
    }
}

/// A server may repeat a secret of the request, anywhere in a document.
#[test]
fn an_unreadable_answer_is_not_quoted() {
    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only its form counts")]
    struct Numbers {
        number: Option<u32>,
    }
    for (answer, why) in [
        (
            r#"{"number": "TOKEN"}"#,
            "its JSON does not have the expected form (line 1, column 26)",
        ),
        (
            r#""TOKEN""#,
            "its JSON does not have the expected form (line 1, column 15)",
        ),
        ("TOKEN", "it is not JSON (line 1, column 1)"),
        ("{\n\"TOKEN", "its JSON ends too early (line 2, column 14)"),
    ] {
        let server = Server::http(|request| {
            Response::ok(answer.replace("TOKEN", request.authorization().unwrap()))
        });
        let url = server.url("127.0.0.1", "/");
        let asked =
            plain_client()
                .get_json::<Numbers, _>(&url, Some(&host("h.test")), 1000, |numbers| (numbers, 0));
        let error = asked.unwrap_err();
        assert_eq!(
            error.kind,
            RequestErrorKind::InvalidBody(why.to_owned()),
            "{answer}"
        );
        assert!(!error.into_diagnostic("x")[0].message.contains(TOKEN));
    }
}

#[test]
fn the_user_learns_how_to_add_credentials() {
    let error = |credentials_sent, credentials_of: Option<&str>| RequestError {
        url: Url::parse("https://h.test/v1/").unwrap().into(),
        kind: RequestErrorKind::Unauthorized {
            status: 401,
            credentials_sent,
        },
        credentials_of: credentials_of.map(host),
    };
    let diagnostic =
        error(false, Some("my-h.test")).into_diagnostic("the versions of my-h.test/a/b");
    assert_eq!(diagnostic[0].code, Code::Unauthorized);
    let message = "cannot get the versions of my-h.test/a/b: https://h.test/v1/ was refused (401); no credentials were sent";
    assert_eq!(diagnostic[0].message, message);
    let help = diagnostic[0].help.clone().unwrap();
    let login = |host: &str| Remedy::Login {
        host: host.to_owned(),
    };
    assert_eq!(
        help,
        Help::text("add credentials: ")
            .and(login("my-h.test"))
            .and_text(", or set TF_TOKEN_my__h_test")
    );
    let diagnostic = error(true, Some("h.test:8443")).into_diagnostic("x");
    assert!(
        diagnostic[0]
            .message
            .ends_with("was refused (401) with the credentials that were sent")
    );
    assert!(
        diagnostic[0]
            .help
            .as_ref()
            .unwrap()
            .parts()
            .contains(&HelpPart::Remedy(Remedy::CheckLogin {
                host: "h.test:8443".to_owned()
            }))
    );
    assert_eq!(
        error(false, Some("h.test:8443")).into_diagnostic("x")[0]
            .help
            .clone()
            .unwrap(),
        Help::text("add credentials: ").and(login("h.test:8443"))
    );
}
