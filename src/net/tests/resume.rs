//! Downloads that continue where the connection broke, and downloads that must not.

use provlock_test::{Request, survived};

use super::*;

const SIZE: usize = 1_000_000;

/// Downloads a file. Returns its bytes, and how often `consume` was called.
fn download(server: &Server) -> (Vec<u8>, usize) {
    let mut calls = 0;
    let result = plain_client().download(
        &server.url("127.0.0.1", "/file"),
        RequestCredentials::None,
        1 << 30,
        |body, length| {
            calls += 1;
            assert_eq!(length, Some(SIZE as u64));
            let mut bytes = Vec::new();
            let _ = body.read_to_end(&mut bytes);
            bytes
        },
    );
    (result.unwrap(), calls)
}

/// Bytes that tell where they are.
fn content(seed: u8) -> Vec<u8> {
    (0..=250)
        .cycle()
        .take(SIZE)
        .map(|byte: u8| byte ^ seed)
        .collect()
}

#[test]
fn a_broken_download_goes_on_where_it_broke() {
    let server = Server::http(|request| {
        let response = Response::ok(content(0)).resumable(request, "\"one\"");
        if request.number == 0 {
            response.cut_at(90)
        } else {
            response
        }
    });
    assert_eq!(download(&server), (content(0), 1));
    assert_eq!(
        server.statistics().bytes_sent,
        SIZE as u64,
        "no byte comes twice"
    );
    let request = &server.requests()[1];
    assert_eq!(
        (request.header("range"), request.header("if-range")),
        (Some("bytes=900000-"), Some("\"one\""))
    );
}

/// A break near the end does not repeat the whole download.
#[test]
fn a_resumed_download_requests_only_the_missing_part() {
    const LARGE: u64 = 200_000_000;
    let whole = Response::ok(vec![0; usize::try_from(LARGE).unwrap()]);
    let server = Server::http(move |request| {
        let response = whole.clone().resumable(request, "\"one\"");
        if request.number == 0 {
            response.cut_at(90)
        } else {
            response
        }
    });
    let url = server.url("127.0.0.1", "/");
    let received = plain_client()
        .download(&url, RequestCredentials::None, LARGE, |body, _| {
            io::copy(body, &mut io::sink()).unwrap()
        })
        .unwrap();
    assert_eq!((received, server.statistics().bytes_sent), (LARGE, LARGE));
    assert_eq!(
        server.requests()[1].header("range"),
        Some("bytes=180000000-")
    );
    survived(
        "200 MB that break off at 90 %: 20 MB are fetched after that, and no byte twice",
        1,
    );
}

#[test]
fn each_break_takes_one_of_the_tries() {
    let server = Server::http(|request| {
        Response::ok(content(0))
            .resumable(request, "\"one\"")
            .cut_at(10)
    });
    let url = server.url("127.0.0.1", "/");
    let error = plain_client()
        .download(&url, RequestCredentials::None, 1 << 30, |body, _| {
            io::copy(body, &mut io::sink()).is_ok()
        })
        .unwrap_err();
    assert!(
        matches!(error.kind, RequestErrorKind::Connection(_)),
        "{error:?}"
    );
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_download_goes_on_from_where_it_is_redirected_to() {
    let server = Server::http(|request| match request.target.as_str() {
        "/file" => Response::redirect(format!("/signed/{}", request.number)),
        _ if request.number == 1 => Response::ok(content(0))
            .resumable(request, "\"one\"")
            .cut_at(90),
        _ => Response::ok(content(0)).resumable(request, "\"one\""),
    });
    assert_eq!(download(&server), (content(0), 1));
    assert_eq!(server.requests()[3].target, "/signed/2");
    assert_eq!(server.statistics().bytes_sent, SIZE as u64);
}

/// The bytes of two files are never mixed, whatever the server says.
#[test]
fn what_has_changed_is_fetched_anew() {
    type Answer = fn(&Request) -> Response;
    let answers: [(&str, Answer, usize); 5] = [
        (
            "the server says that it has changed",
            |request| Response::ok(content(1)).resumable(request, "\"two\""),
            2,
        ),
        ("a server without ranges", |_| Response::ok(content(1)), 2),
        (
            "it is shorter now",
            |request| match request.header("range") {
                Some(_) => Response::new(416, ""),
                None => Response::ok(content(1)),
            },
            3,
        ),
        (
            "another part",
            |request| match request.header("range") {
                Some(_) => {
                    Response::new(206, content(1)).header("Content-Range", "bytes 0-999999/1000000")
                }
                None => Response::ok(content(1)),
            },
            3,
        ),
        (
            "a part of a longer file",
            |request| match request.header("range") {
                Some(_) => Response::new(206, &content(1)[900_000..])
                    .header("Content-Range", "bytes 900000-999999/*"),
                None => Response::ok(content(1)),
            },
            3,
        ),
    ];
    for (what, answer, requests) in answers {
        let server = Server::http(move |request| match request.number {
            0 => Response::ok(content(0))
                .resumable(request, "\"one\"")
                .cut_at(90),
            _ => answer(request),
        });
        assert!(download(&server) == (content(1), 2), "{what}");
        assert_eq!(server.requests().len(), requests, "{what}");
    }
}

type Headers = Vec<(&'static str, &'static str)>;

/// RFC 9110, sections 8.8.2.2 and 13.1.5: only a strong validator says that the bytes are the same.
#[test]
fn only_a_strong_validator_is_enough() {
    let modified = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT");
    let cases: [(Headers, Option<&str>); 6] = [
        (vec![("ETag", "\"one\""), modified], Some("\"one\"")),
        (
            vec![
                ("ETag", "W/\"one\""),
                modified,
                ("Date", "Sun, 06 Nov 1994 08:59:37 GMT"),
            ],
            None,
        ),
        (
            vec![modified, ("Date", "Sun, 06 Nov 1994 08:49:38 GMT")],
            Some(modified.1),
        ),
        (vec![modified, ("Date", modified.1)], None),
        (vec![modified], None),
        (vec![], None),
    ];
    for (headers, validator) in cases {
        let answered = headers.clone();
        let server = Server::http(move |request| {
            let response = Response::ok(content(0));
            let response = answered.iter().fold(response, |response, (name, value)| {
                response.header(name, *value)
            });
            if request.number == 0 {
                response.cut_at(90)
            } else {
                response
            }
        });
        assert_eq!(download(&server).1, 2);
        assert_eq!(
            server.requests()[1].header("if-range"),
            validator,
            "{headers:?}"
        );
    }
}
