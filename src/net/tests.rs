mod environment;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use provlock_test::{Authority, Request, Response, Server};
use url::Url;

use super::*;
use crate::address::Hostname;
use crate::cli_config::{CliConfig, Credentials, Environment};
use crate::diagnostic::{Code, Help, HelpPart};
use crate::dialect::Dialect;

const TOKEN: &str = "s3cr3t";

fn host(text: &str) -> Hostname {
    Hostname::parse(text).unwrap()
}

fn settings() -> NetSettings {
    NetSettings { back_off: Duration::from_millis(1), use_proxies: false, ..NetSettings::default() }
}

/// A client that has a token for `h.test` and for `localhost` with any of the given ports.
fn client(settings: NetSettings, config: &CliConfig) -> Client {
    let mut environment = Environment::default();
    environment.variables.insert("TF_TOKEN_h_test".to_owned(), TOKEN.to_owned());
    let credentials = Credentials::new(&environment, config, Dialect::Tofu);
    Client::new(settings, Arc::new(credentials), config).unwrap()
}

/// A `host` block that makes plain requests to this machine legal.
fn plain(services: &str) -> CliConfig {
    let urls = [("providers.v1", services), ("a.v1", "http://localhost/"), ("b.v1", "http://0.0.0.0/")];
    let urls = urls.map(|(name, url)| (name.to_owned(), url.to_owned()));
    CliConfig { hosts: BTreeMap::from([(host("h.test"), BTreeMap::from(urls))]), ..CliConfig::default() }
}

fn plain_client() -> Client {
    client(settings(), &plain("http://127.0.0.1/"))
}

fn get(client: &Client, url: &Url) -> Result<Vec<u8>, RequestErrorKind> {
    let document = client.get(url, Some(&host("h.test")), 1000, Purpose::Registry);
    document.map(|document| document.bytes).map_err(|error| error.kind)
}

fn status(status: u16) -> RequestErrorKind {
    RequestErrorKind::Status { status, body: "no".to_owned() }
}

#[test]
fn a_request_says_who_asks_and_what_came_back() {
    let server = Server::http(|_| Response::ok("data").header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"));
    let url = server.url("127.0.0.1", "/a?b=c");
    let document = plain_client().get(&url, Some(&host("h.test")), 4, Purpose::Registry).unwrap();
    assert_eq!((document.bytes.as_slice(), &document.url), (b"data".as_slice(), &url));
    assert_eq!(document.last_modified.unwrap().to_string(), "1994-11-06T08:49:37Z");
    let request = &server.requests()[0];
    assert_eq!(request.header("user-agent"), Some(concat!("provlock/", env!("CARGO_PKG_VERSION"))));
    assert_eq!((request.target.as_str(), request.authorization()), ("/a?b=c", Some("Bearer s3cr3t")));
}

#[test]
fn connections_are_reused() {
    let server = Server::http(|_| Response::ok("data"));
    let client = plain_client();
    for _ in 0..5 {
        get(&client.clone(), &server.url("127.0.0.1", "/")).unwrap();
    }
    assert_eq!((server.requests().len(), server.statistics().connections), (5, 1));
}

#[test]
fn passing_failures_are_repeated_twice() {
    type Fault = fn() -> Response;
    let faults: [(Fault, Option<RequestErrorKind>); 5] = [
        (|| Response::new(503, "no"), Some(status(503))),
        (|| Response::new(500, "no"), Some(status(500))),
        (|| Response::new(429, "no").header("Retry-After", "0"), Some(status(429))),
        (Response::reset, None),
        (|| Response::ok("data").truncated(), None),
    ];
    for (fault, kind) in faults {
        let server = Server::http(move |request| if request.number < 2 { fault() } else { Response::ok("data") });
        assert_eq!(get(&plain_client(), &server.url("127.0.0.1", "/")).unwrap(), b"data");
        let server = Server::http(move |_| fault());
        let error = get(&plain_client(), &server.url("127.0.0.1", "/")).unwrap_err();
        assert_eq!(server.requests().len(), 3);
        match kind {
            Some(kind) => assert_eq!(error, kind),
            None => assert!(matches!(error, RequestErrorKind::Connection(_)), "{error:?}"),
        }
    }
}

#[test]
fn lasting_failures_are_not_repeated() {
    for (code, kind) in [(404, RequestErrorKind::NotFound), (400, status(400)), (410, status(410)), (304, status(304))]
    {
        let server = Server::http(move |_| Response::new(code, if code == 304 { "" } else { "no" }));
        let error = get(&plain_client(), &server.url("127.0.0.1", "/")).unwrap_err();
        let expected = if code == 304 { RequestErrorKind::Status { status: 304, body: String::new() } } else { kind };
        assert_eq!((error, server.requests().len()), (expected, 1));
    }
}

#[test]
fn the_server_says_when_to_come_back() {
    let server = Server::http(|request| match request.number {
        0 => Response::new(429, "").header("Retry-After", "0"),
        1 => Response::new(503, "").header("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"),
        _ => Response::ok("data"),
    });
    // Without the header, the test would take an hour.
    let slow = NetSettings { back_off: Duration::from_hours(1), ..settings() };
    assert_eq!(get(&client(slow, &plain("http://127.0.0.1/")), &server.url("127.0.0.1", "/")).unwrap(), b"data");
}

#[test]
fn each_purpose_has_its_number_of_tries() {
    let server = Server::http(|_| Response::reset());
    let settings = NetSettings { discovery_retries: 0, download_retries: 1, ..settings() };
    let client = client(settings, &plain("http://127.0.0.1/"));
    let url = server.url("127.0.0.1", "/");
    let mut made = 0;
    for (client, purpose, tries) in [
        (client.clone(), Purpose::Registry, 1),
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
    let settings = NetSettings { discovery_retries: 0, timeout: Duration::from_millis(300), ..settings() };
    let client = client(settings, &plain("http://127.0.0.1/"));
    assert_eq!(get(&client, &server.url("127.0.0.1", "/")), Err(RequestErrorKind::Timeout));
}

#[test]
fn bodies_end_at_the_limit_however_they_are_sent() {
    let server = Server::http(|request| {
        let size = request.target.rsplit('/').next().unwrap().parse().unwrap();
        let body = vec![b'x'; size];
        match &request.target[..2] {
            "/g" => {
                let mut encoder = flate2::read::GzEncoder::new(body.as_slice(), flate2::Compression::best());
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
        assert_eq!(get(&client, &url(1001)), Err(RequestErrorKind::TooLarge { limit: 1000 }), "{way}");
        assert_eq!(get(&client, &url(10_000_000)), Err(RequestErrorKind::TooLarge { limit: 1000 }), "{way}");
    }
    assert_eq!(server.requests().len(), 9, "none was repeated");
}

#[test]
fn a_broken_download_starts_afresh() {
    let body = vec![b'x'; 300_000];
    let expected = body.clone();
    let server = Server::http(move |request| match request.number {
        0 => Response::ok(body.clone()).truncated(),
        1 => Response::reset(),
        _ => Response::ok(body.clone()),
    });
    let mut calls = 0;
    let bytes = plain_client().download(&server.url("127.0.0.1", "/"), None, 1 << 20, |reader, length| {
        calls += 1;
        assert_eq!(length, Some(300_000));
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map(|_| bytes)
    });
    assert_eq!((bytes.unwrap(), calls), (expected, 2));
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn an_error_of_the_reader_is_final() {
    let server = Server::http(|_| Response::ok("data"));
    let result: Result<(), _> = plain_client()
        .download(&server.url("127.0.0.1", "/"), None, 10, |_, _| Err(io::Error::other("not what was expected")));
    assert!(matches!(result, Err(DownloadError::Consume(error)) if error.to_string() == "not what was expected"));
    assert_eq!(server.requests().len(), 1);
    let result: Result<u64, DownloadError<io::Error>> =
        plain_client().download(&server.url("127.0.0.1", "/"), None, 3, |reader, _| io::copy(reader, &mut io::sink()));
    assert!(
        matches!(result, Err(DownloadError::Request(error)) if error.kind == RequestErrorKind::TooLarge { limit: 3 })
    );
}

#[test]
fn a_token_stays_with_its_host_and_port() {
    let other = Arc::new(Server::http(|_| Response::new(401, "")));
    let port = other.address().port();
    let server = Server::http(move |request| match request.target.as_str() {
        "/same" => Response::redirect("/end"),
        "/port" => Response::redirect(format!("http://127.0.0.1:{port}/end")),
        "/name" => {
            Response::redirect(request.header("host").unwrap().replace("127.0.0.1", "http://localhost") + "/end")
        }
        _ => Response::new(401, ""),
    });
    let client = plain_client();
    let refused = |credentials_sent| Err(RequestErrorKind::Unauthorized { status: 401, credentials_sent });
    let tokens =
        |server: &Server| -> Vec<bool> { server.requests().iter().map(|r| r.authorization().is_some()).collect() };
    assert_eq!(get(&client, &server.url("127.0.0.1", "/same")), refused(true));
    assert_eq!(get(&client, &server.url("127.0.0.1", "/name")), refused(false));
    assert_eq!(tokens(&server), [true, true, true, false]);
    assert_eq!(get(&client, &server.url("127.0.0.1", "/port")), refused(false));
    assert_eq!(tokens(&other), [false]);
    assert!(other.requests()[0].header("referer").is_none());
    let error = client.get(&server.url("127.0.0.1", "/x"), None, 10, Purpose::Download).unwrap_err();
    assert_eq!(error.kind, RequestErrorKind::Unauthorized { status: 401, credentials_sent: false });
    let error =
        client.get(&server.url("127.0.0.1", "/x"), Some(&host("other.test")), 10, Purpose::Download).unwrap_err();
    assert_eq!(error.kind, RequestErrorKind::Unauthorized { status: 401, credentials_sent: false });
    assert_eq!(tokens(&server)[5..], [false, false]);
}

/// On these systems 0.0.0.0 is this machine, and yet no loopback address.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn a_token_is_not_sent_in_the_open() {
    let server = Server::http(|_| Response::ok(""));
    get(&plain_client(), &server.url("0.0.0.0", "/")).unwrap();
    get(&plain_client(), &server.url("localhost", "/")).unwrap();
    assert_eq!(server.requests().iter().map(|r| r.authorization().is_some()).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn only_https_is_asked() {
    let server = Server::http(|_| Response::ok(""));
    let client = client(settings(), &CliConfig::default());
    assert_eq!(get(&client, &server.url("127.0.0.1", "/")), Err(RequestErrorKind::Insecure));
    assert_eq!(get(&client, &Url::parse("file:///etc/passwd").unwrap()), Err(RequestErrorKind::Insecure));
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
    let settings = NetSettings { extra_root_certificates: vec![authority.der()], ..settings() };
    let client = client(settings, &plain("http://127.0.0.1/"));
    for (path, why) in [("/down", "is no https URL"), ("/", "more than 10 redirects"), ("/file", "")] {
        match get(&client, &server.url("localhost", path)).unwrap_err() {
            RequestErrorKind::Redirect(text) => assert!(text.contains(why), "{text}"),
            RequestErrorKind::Status { status: 302, .. } if path == "/file" => {}
            other => panic!("{path}: {other:?}"),
        }
    }
    assert!(plain_server.requests().is_empty());
    let loops = server.requests().iter().filter(|request| request.target.ends_with(['/', 'x'])).count();
    assert_eq!(loops, 11);
}

#[test]
fn an_unknown_authority_is_an_error_that_says_so() {
    let server = Server::https(&Authority::new(), |_| Response::ok(""));
    let settings = NetSettings { discovery_retries: 0, ..settings() };
    match get(&client(settings, &CliConfig::default()), &server.url("localhost", "/")).unwrap_err() {
        RequestErrorKind::Connection(why) => assert!(why.contains("certificate"), "{why}"),
        other => panic!("{other:?}"),
    }
}

mod discovery {
    use super::*;

    /// Discovery on an HTTPS server: the URL of the service, or the error.
    fn discover(
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> (Server, Result<String, RequestErrorKind>) {
        let authority = Authority::new();
        let server = Server::https(&authority, handler);
        let settings = NetSettings { extra_root_certificates: vec![authority.der()], ..settings() };
        let client = client(settings, &CliConfig::default());
        let name = host(&format!("localhost:{}", server.address().port()));
        let result = client.providers_service(&name).map(|url| url.to_string()).map_err(|error| error.kind);
        (server, result)
    }

    #[test]
    fn a_relative_url_is_relative_to_where_the_document_was() {
        let (server, result) = discover(|request| match request.target.as_str() {
            "/.well-known/terraform.json" => Response::redirect("/moved/here/doc.json"),
            "/moved/here/doc.json" => Response::ok(r#"{"modules.v1": "/m/", "providers.v1": "../providers/#x"}"#),
            _ => Response::new(500, ""),
        });
        assert_eq!(result.unwrap(), server.url("localhost", "/moved/providers/").to_string());
    }

    #[test]
    fn a_host_without_the_service_is_told_from_one_that_fails() {
        for body in [r#"{"modules.v1": "/m/"}"#, "{}", r#"{"providers.v1": null}"#] {
            assert_eq!(discover(move |_| Response::ok(body)).1, Err(RequestErrorKind::NoSuchService), "{body}");
        }
        assert_eq!(discover(|_| Response::new(404, "")).1, Err(RequestErrorKind::NoSuchService));
        for body in [
            "<html>",
            "[]",
            r#"{"providers.v1": 3}"#,
            r#"{"providers.v1": "https://"}"#,
            r#"{"providers.v1": "https://u:p@h.test/"}"#,
        ] {
            let result = discover(move |_| Response::ok(body)).1;
            assert!(matches!(result, Err(RequestErrorKind::InvalidBody(_))), "{body}: {result:?}");
        }
        let result = discover(|_| Response::ok(r#"{"providers.v1": "http://127.0.0.1/"}"#)).1;
        assert_eq!(result, Err(RequestErrorKind::Insecure));
        let (server, result) = discover(|_| Response::new(503, "no"));
        assert_eq!((result, server.requests().len()), (Err(status(503)), 3));
    }

    #[test]
    fn threads_that_ask_for_the_same_host_share_one_request() {
        let authority = Authority::new();
        let server = Server::https(&authority, |_| Response::ok(r#"{"providers.v1": "/v1/"}"#));
        let settings = NetSettings { extra_root_certificates: vec![authority.der()], ..settings() };
        let client = client(settings, &CliConfig::default());
        let name = host(&format!("localhost:{}", server.address().port()));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (client, name) = (client.clone(), name.clone());
                thread::spawn(move || client.providers_service(&name).unwrap())
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), server.url("localhost", "/v1/"));
        }
        assert_eq!(server.requests().len(), 1);
    }

    #[test]
    fn a_host_block_takes_its_place() {
        let client = client(settings(), &plain("http://127.0.0.1:1/p/"));
        assert_eq!(client.providers_service(&host("h.test")).unwrap().as_str(), "http://127.0.0.1:1/p/");
        let relative = super::client(settings(), &plain("/p/"));
        assert_eq!(relative.providers_service(&host("h.test")).unwrap().as_str(), "https://h.test/p/");
        let mut config = plain("/p/");
        config.hosts.get_mut(&host("h.test")).unwrap().remove("providers.v1");
        let error = super::client(settings(), &config).providers_service(&host("h.test")).unwrap_err();
        assert_eq!(error.kind, RequestErrorKind::NoSuchService);
        let error = client.providers_service(&host("1.2.3.4.5")).unwrap_err();
        assert!(matches!(error.kind, RequestErrorKind::Connection(_)));
    }
}

#[test]
fn json_that_is_none_is_an_error_that_names_the_url() {
    let server = Server::http(|_| Response::ok("<html>\u{1b}[31m"));
    let url = server.url("127.0.0.1", "/x?sig=s3cr3t");
    let error = plain_client().get_json::<serde_json::Value>(&url, None, 1000, Purpose::Registry).unwrap_err();
    assert!(matches!(error.kind, RequestErrorKind::InvalidBody(_)));
    let text = error.into_diagnostic("acme/gamma")[0].message.clone();
    assert!(text.contains("/x?[redacted]") && !text.contains(TOKEN), "{text}");
}

#[test]
fn nothing_that_is_shown_holds_the_token() {
    let server = Server::http(|request| {
        Response::new(400, format!("\u{1b}[31mbad\r\n {} {}", request.authorization().unwrap(), "x".repeat(500)))
    });
    let client = plain_client();
    let error = client.get(&server.url("127.0.0.1", "/"), Some(&host("h.test")), 10, Purpose::Registry).unwrap_err();
    let RequestErrorKind::Status { body, .. } = &error.kind else { panic!("{error:?}") };
    assert!(body.starts_with("[31mbad   Bearer [redacted] xxx") && body.len() == 200, "{body:?}");
    let diagnostic = error.clone().into_diagnostic("acme/gamma");
    for shown in [format!("{error} {error:?} {client:?} {diagnostic:?}"), format!("{:?}", settings())] {
        assert!(!shown.contains(TOKEN), "{shown}");
    }
}

/// A server may send back what it got, wherever in a document.
#[test]
fn an_answer_that_cannot_be_read_is_not_quoted() {
    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only its form counts")]
    struct Numbers {
        number: Option<u32>,
    }
    for (answer, why) in [
        (r#"{"number": "TOKEN"}"#, "its JSON does not have the expected form (line 1, column 26)"),
        (r#""TOKEN""#, "its JSON does not have the expected form (line 1, column 15)"),
        ("TOKEN", "it is no JSON (line 1, column 1)"),
        ("{\n\"TOKEN", "its JSON ends too early (line 2, column 14)"),
    ] {
        let server = Server::http(|request| Response::ok(answer.replace("TOKEN", request.authorization().unwrap())));
        let url = server.url("127.0.0.1", "/");
        let asked = plain_client().get_json::<Numbers>(&url, Some(&host("h.test")), 1000, Purpose::Registry);
        let error = asked.unwrap_err();
        assert_eq!(error.kind, RequestErrorKind::InvalidBody(why.to_owned()), "{answer}");
        assert!(!error.into_diagnostic("x")[0].message.contains(TOKEN));
    }
}

#[test]
fn the_user_learns_how_to_add_credentials() {
    let error = |credentials_sent, credentials_of: Option<&str>| RequestError {
        url: "https://h.test/v1/".to_owned(),
        kind: RequestErrorKind::Unauthorized { status: 401, credentials_sent },
        credentials_of: credentials_of.map(host),
    };
    let diagnostic = error(false, Some("my-h.test")).into_diagnostic("the versions of my-h.test/a/b");
    assert_eq!(diagnostic[0].code, Code::Unauthorized);
    let message =
        "cannot get the versions of my-h.test/a/b: https://h.test/v1/ was refused (401); no credentials were sent";
    assert_eq!(diagnostic[0].message, message);
    let help = diagnostic[0].help.clone().unwrap();
    assert_eq!(
        help,
        Help::text("add credentials: ").and_command(["login", "my-h.test"]).and_text(", or set TF_TOKEN_my__h_test")
    );
    let diagnostic = error(true, Some("h.test:8443")).into_diagnostic("x");
    assert!(diagnostic[0].message.ends_with("was refused (401) with the credentials that were sent"));
    assert!(
        diagnostic[0]
            .help
            .as_ref()
            .unwrap()
            .parts()
            .contains(&HelpPart::Command(["login", "--check", "h.test:8443"].into()))
    );
    assert_eq!(
        error(false, Some("h.test:8443")).into_diagnostic("x")[0].help.clone().unwrap(),
        Help::text("add credentials: ").and_command(["login", "h.test:8443"])
    );
}

#[test]
fn settings_come_from_the_environment_and_the_configuration() {
    let mut environment = Environment::default();
    let mut config = CliConfig::default();
    assert_eq!(NetSettings::new(&environment, &config), NetSettings::default());
    config.registry_retries = Some(7);
    config.registry_timeout = Some(Duration::from_secs(70));
    let settings = NetSettings::new(&environment, &config);
    assert_eq!((settings.discovery_retries, settings.timeout), (7, Duration::from_secs(70)));
    for (name, value) in [
        ("TF_REGISTRY_DISCOVERY_RETRY", "0"),
        ("TF_PROVIDER_DOWNLOAD_RETRY", "5"),
        ("TF_REGISTRY_CLIENT_TIMEOUT", "30"),
    ] {
        environment.variables.insert(name.to_owned(), value.to_owned());
    }
    let settings = NetSettings::new(&environment, &config);
    let numbers = (settings.discovery_retries, settings.download_retries, settings.timeout.as_secs());
    assert_eq!(numbers, (0, 5, 30));
    environment.variables.insert("TF_REGISTRY_CLIENT_TIMEOUT".to_owned(), "soon".to_owned());
    assert_eq!(NetSettings::new(&environment, &config).timeout.as_secs(), 70);
}
