//! The events that a client reports about its requests.

use crate::cli_config::NetSettings;
use std::sync::Mutex;

use super::*;

/// Reports without their times.
fn observed(url: &Url, settings: NetSettings) -> Vec<String> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&seen);
    let observer = RequestObserver::new(
        move |RequestReport {
                  method,
                  url,
                  outcome,
              }: &RequestReport| {
            let outcome = match outcome {
                RequestOutcome::Response { status, bytes, .. } => format!("{status} {bytes}"),
                RequestOutcome::NoResponse { .. } => "nothing".to_owned(),
                RequestOutcome::Cached => "cached".to_owned(),
            };
            assert!(!url.to_string().contains("s3cr3t"), "{url}");
            lines
                .lock()
                .unwrap()
                .push(format!("{method} {} {outcome}", url.path()));
        },
    );
    let _ = get(&client(settings).with_observer(observer), url);
    seen.lock().unwrap().clone()
}

#[test]
fn every_request_is_observed_with_its_answer() {
    let server = Server::http(|request| match request.path() {
        "/moved" => Response::redirect("/data?token=s3cr3t"),
        "/data" => Response::ok("data"),
        _ => Response::not_found(),
    });
    let at = |path| observed(&server.url("127.0.0.1", path), plain());
    assert_eq!(at("/moved"), ["GET /moved 302 0", "GET /data 200 4"]);
    assert_eq!(at("/none"), ["GET /none 404 0"]);
    let server = Server::http(|request| {
        if request.number == 0 {
            Response::new(503, "no")
        } else {
            Response::ok("late")
        }
    });
    let at = |path| observed(&server.url("127.0.0.1", path), plain());
    assert_eq!(at("/later"), ["GET /later 503 2", "GET /later 200 4"]);
    let silent = Server::http(|_| Response::reset());
    assert_eq!(
        observed(
            &silent.url("127.0.0.1", "/"),
            NetSettings {
                retries: 0,
                ..plain()
            }
        ),
        ["GET / nothing"]
    );
}
