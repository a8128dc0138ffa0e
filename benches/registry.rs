//! The tests' registry as a program, for shell scripts and for benchmarks against other programs:
//!
//! ```sh
//! cargo bench --bench registry -- --providers 8 --platforms 5 --size 2MB --latency-ms 50
//! ```
//!
//! Publishes `bench/p1`, `bench/p2`, … on both default hosts, or on the one that `--host` names, prints one line of
//! JSON (proxy, certificate file, providers), and serves until its standard input ends. Every line that it reads there
//! makes it print the statistics since the last one as JSON, and reset them. Without any option it does nothing.
//!
//! With `--body PATTERN=FILE` every request that matches the pattern is answered with that file. With `--http 2` it
//! speaks HTTP/2. With `--content FILE` a package is made of that file, repeated to `--size`, so that it packs as real
//! programs do.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use provlock_test::{Fault, PackagesMap, Registry, Times, url};
use serde_json::json;

const HOSTS: [&str; 2] = ["registry.opentofu.org", "registry.terraform.io"];
const VERSIONS: [&str; 2] = ["1.0.0", "1.1.0"];
const PLATFORMS: [&str; 12] = [
    "linux_amd64",
    "darwin_arm64",
    "windows_amd64",
    "linux_arm64",
    "darwin_amd64",
    "linux_386",
    "linux_arm",
    "windows_386",
    "windows_arm64",
    "freebsd_amd64",
    "freebsd_386",
    "freebsd_arm",
];

struct Options {
    providers: usize,
    platforms: usize,
    /// Of the program in each package, in bytes.
    size: usize,
    /// Where everything is published.
    hosts: Vec<String>,
    /// What packages are made of, instead of made-up bytes.
    content: Vec<u8>,
    latency: Duration,
    /// Answers that are not what they should be, by the patterns of requests.
    bodies: Vec<(String, Vec<u8>)>,
    /// Starts it, in the version of HTTP that it is to speak.
    start: fn() -> Registry,
}

fn main() {
    // `cargo bench` adds this flag to the arguments of every bench target.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.is_empty() {
        // Part of all benchmarks or all targets, where nobody wants a server.
        return;
    }
    let options = Options::parse(arguments.into_iter());
    let registry = (options.start)();
    for number in 1..=options.providers {
        for host in &options.hosts {
            publish(&registry, &format!("{host}/bench/p{number}"), &options);
        }
    }
    if options.latency > Duration::ZERO {
        registry.fault(url::ANY, Times::Always, Fault::Delay(options.latency));
    }
    for (pattern, body) in options.bodies {
        registry.fault(&pattern, Times::Always, Fault::Body(body));
    }
    print(&json!({
        "proxy": registry.proxy_url(),
        "certificate_file": registry.certificate_file(),
        "hosts": options.hosts,
        "providers": (1..=options.providers).map(|number| format!("bench/p{number}")).collect::<Vec<_>>(),
        "versions": VERSIONS,
        "platforms": PLATFORMS[..options.platforms],
    }));
    for line in std::io::stdin().lock().lines() {
        if line.is_err() {
            return;
        }
        print(&json!(registry.statistics()));
        registry.reset_statistics();
    }
}

/// The newest version is the one that is downloaded; the other needs no bulk.
fn publish(registry: &Registry, provider: &str, options: &Options) {
    for (version, size) in VERSIONS.into_iter().zip([200, options.size]) {
        let mut release = registry.publish(provider, version);
        release = if options.content.is_empty() {
            release.size(size)
        } else {
            release.package_file("content", options.content.iter().copied().cycle().take(size).collect::<Vec<_>>())
        };
        for platform in &PLATFORMS[..options.platforms] {
            release = release.platform(platform);
        }
        if provider.starts_with(HOSTS[0]) {
            release = release.packages(PackagesMap::Right);
        }
        release.done();
    }
}

fn print(document: &serde_json::Value) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{document}").and_then(|()| output.flush()).unwrap();
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let hosts = HOSTS.map(str::to_owned).to_vec();
        let mut options = Self {
            providers: 4,
            platforms: 2,
            size: 1_000_000,
            hosts,
            content: Vec::new(),
            latency: Duration::ZERO,
            bodies: Vec::new(),
            start: Registry::start,
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
            match name.as_str() {
                "--providers" => options.providers = value.parse().unwrap(),
                "--platforms" => options.platforms = value.parse().unwrap(),
                "--size" => options.size = size(&value),
                "--host" => options.hosts = vec![value],
                "--content" => options.content = std::fs::read(&value).unwrap(),
                "--latency-ms" => options.latency = Duration::from_millis(value.parse().unwrap()),
                "--body" => {
                    let (pattern, file) = value.split_once('=').unwrap();
                    options.bodies.push((pattern.to_owned(), std::fs::read(file).unwrap()));
                }
                "--http" => options.start = if value == "2" { Registry::start_http2 } else { Registry::start },
                _ => panic!("unknown option {name}"),
            }
        }
        assert!((1..=PLATFORMS.len()).contains(&options.platforms), "1 to {} platforms", PLATFORMS.len());
        options
    }
}

/// Bytes, with an optional `KB` or `MB`.
fn size(text: &str) -> usize {
    match (text.strip_suffix("MB"), text.strip_suffix("KB")) {
        (Some(number), _) => number.parse::<usize>().unwrap() * 1_000_000,
        (None, Some(number)) => number.parse::<usize>().unwrap() * 1_000,
        (None, None) => text.parse().unwrap(),
    }
}
