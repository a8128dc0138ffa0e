//! A request as one line, which shows what the run is waiting for.

use std::time::Duration;

use provlock::packages::connections::{RequestOutcome, RequestReport};

use super::foreign::printable;
use super::style::bytes;

/// `GET https://registry.opentofu.org/v1/providers/hashicorp/aws/versions 200 41.20 KiB 83 ms`
pub(crate) fn line(
    RequestReport {
        method,
        url,
        outcome,
    }: &RequestReport,
) -> String {
    let outcome = match outcome {
        RequestOutcome::Response {
            status,
            bytes: number,
            duration,
        } => {
            format!("{status} {} {}", bytes(*number), time(*duration))
        }
        RequestOutcome::NoResponse { duration } => format!("no response {}", time(*duration)),
        RequestOutcome::Cached => "cached".to_owned(),
    };
    printable(&format!("{method} {url} {outcome}"))
}

fn time(duration: Duration) -> String {
    match duration.as_millis() {
        milliseconds @ 0..1000 => format!("{milliseconds} ms"),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}
