//! A request as one line, which shows what a run waits for.

use std::time::Duration;

use provlock::net::{Answer, RequestReport};

use super::foreign::printable;
use super::style::bytes;

/// `GET https://registry.opentofu.org/v1/providers/hashicorp/aws/versions 200 41.20 KiB 83 ms`
pub(crate) fn line(RequestReport { method, url, answer }: &RequestReport) -> String {
    let answer = match answer {
        Answer::Response { status, bytes: number, duration } => {
            format!("{status} {} {}", bytes(*number), time(*duration))
        }
        Answer::None { duration } => format!("no response {}", time(*duration)),
        Answer::Cached => "cached".to_owned(),
    };
    printable(&format!("{method} {url} {answer}"))
}

fn time(duration: Duration) -> String {
    match duration.as_millis() {
        milliseconds @ 0..1000 => format!("{milliseconds} ms"),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}
