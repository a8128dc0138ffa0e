//! Faults between a request and its answer. [`Flaw`](super::publish::Flaw) has releases with wrong
//! content.

use std::collections::HashMap;
use std::time::Duration;

use globset::{Glob, GlobMatcher};

/// Patterns for the requests of the protocol; `*` also matches slashes. A pattern is matched with
/// `HOST/PATH`, so that `registry.example.com/*.zip` or `*/null/versions` is narrower.
pub mod url {
    pub const ANY: &str = "*";
    pub const DISCOVERY: &str = "*/.well-known/terraform.json";
    pub const VERSIONS: &str = "*/versions";
    pub const DOWNLOAD: &str = "*/download/*";
    pub const SHASUMS: &str = "*_SHA256SUMS";
    pub const SIGNATURE: &str = "*_SHA256SUMS.sig";
    pub const PACKAGE: &str = "*.zip";
    pub const MIRROR_INDEX: &str = "*/index.json";
}

/// Number of times that a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Always,
    /// The first requests of every URL that matches, each URL on its own.
    First(usize),
}

/// Fault of a request. Delays add up; of the other faults only the first is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answered with this status.
    Status(u16),
    /// Answered with 429 and a `Retry-After` header in seconds.
    TooManyRequests { retry_after: u64 },
    /// The connection is reset instead of an answer.
    Reset,
    /// The connection ends after half of the body.
    Truncated,
    /// The connection ends after so many percent of the body.
    CutAt(u8),
    /// All of the body comes, announced as half as long.
    WrongLength,
    /// Answered with a redirect to a different host, which then answers instead;
    /// [`UNTRUSTED_HOST`](crate::UNTRUSTED_HOST) cannot.
    RedirectTo(&'static str),
    /// Answered with a redirect to the same place.
    RedirectLoop,
    /// Answered with status 200 and this body.
    Body(Vec<u8>),
    /// White space follows the body, until it has so many bytes.
    PaddedTo(usize),
    /// Answered later.
    Delay(Duration),
    /// The body comes in pieces of 16 KiB with this pause before each.
    SlowBody { pause: Duration },
    /// The body comes in single bytes with this pause before each.
    Drip { pause: Duration },
}

/// A fault, where and how often.
pub(crate) struct Rule {
    pattern: GlobMatcher,
    times: Times,
    fault: Fault,
    seen: HashMap<String, usize>,
}

impl Rule {
    pub(crate) fn new(pattern: &str, times: Times, fault: Fault) -> Self {
        Self {
            pattern: matcher(pattern),
            times,
            fault,
            seen: HashMap::new(),
        }
    }

    /// Counts the request. Returns whether the fault applies to it.
    fn strikes(&mut self, url: &str) -> bool {
        if !self.pattern.is_match(url) {
            return false;
        }
        let seen = self.seen.entry(url.to_owned()).or_default();
        *seen += 1;
        match self.times {
            Times::Always => true,
            Times::First(times) => *seen <= times,
        }
    }
}

/// Effects of all faults on one request.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) delay: Duration,
    pub(crate) pause: Duration,
    pub(crate) instead: Option<Fault>,
}

pub(crate) fn effects(rules: &mut [Rule], url: &str) -> Effects {
    let mut effects = Effects::default();
    for rule in rules {
        if !rule.strikes(url) {
            continue;
        }
        match &rule.fault {
            Fault::Delay(delay) => effects.delay += *delay,
            Fault::SlowBody { pause } => effects.pause += *pause,
            other => {
                effects.instead.get_or_insert_with(|| other.clone());
            }
        }
    }
    effects
}

pub(crate) fn matcher(pattern: &str) -> GlobMatcher {
    Glob::new(pattern).unwrap().compile_matcher()
}
