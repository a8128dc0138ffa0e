//! Proxies of the environment and the system. Requests to this machine never use a proxy.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Proxy;
use reqwest::blocking::ClientBuilder;
use url::{Host, Url};

use crate::cli_config::NetSettings;

/// Configures the proxies of a client.
pub(super) fn with_proxies(builder: ClientBuilder, settings: &NetSettings) -> ClientBuilder {
    if !settings.use_proxies {
        return builder.no_proxy();
    }
    let system = Matcher::from_system();
    builder.proxy(Proxy::custom(move |url| proxy_for(&system, url)))
}

/// Whether a URL's host is this machine: `localhost`, 127.0.0.0/8 or `::1`. A token may be sent
/// there over plain HTTP, so requests to it must not leave this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether requests for a URL go through a proxy.
pub(super) fn is_proxied(url: &Url, settings: &NetSettings) -> bool {
    settings.use_proxies && proxy_for(&Matcher::from_system(), url).is_some()
}

/// The proxy for a URL. As in Go, and so in OpenTofu, there is none for this machine, even if
/// `NO_PROXY` does not list it.
fn proxy_for(system: &Matcher, url: &Url) -> Option<Url> {
    if is_loopback(url) {
        return None;
    }
    let destination = url.as_str().parse().ok()?;
    let intercept = system.intercept(&destination)?;
    let mut proxy = Url::parse(&intercept.uri().to_string()).ok()?;
    if let Some((user, password)) = login(&intercept) {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        proxy.set_username(&encoded(&user)).ok()?;
        proxy.set_password(Some(&encoded(&password))).ok()?;
    }
    Some(proxy)
}

/// The user name and password for a proxy, which the matcher hands out as the value of a header
/// only.
fn login(intercept: &Intercept) -> Option<(String, String)> {
    let header = intercept.basic_auth()?.to_str().ok()?;
    let text = String::from_utf8(
        BASE64_STANDARD
            .decode(header.strip_prefix("Basic ")?)
            .ok()?,
    )
    .ok()?;
    text.split_once(':')
        .map(|(user, password)| (user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(proxy: &str, no_proxy: &str, url: &str) -> Option<String> {
        let system = Matcher::builder()
            .all(proxy.to_owned())
            .no(no_proxy.to_owned())
            .build();
        proxy_for(&system, &Url::parse(url).unwrap()).map(String::from)
    }

    #[test]
    fn the_proxy_is_bypassed_for_this_machine_and_for_no_proxy() {
        for url in [
            "http://localhost:8/",
            "https://LOCALHOST/",
            "http://127.0.0.1/",
            "http://127.9.9.9/",
            "http://[::1]/",
        ] {
            assert_eq!(proxy("http://proxy.test:3128", "", url), None, "{url}");
        }
        for url in [
            "http://h.test/",
            "https://h.test/",
            "https://localhost.test/",
            "http://128.0.0.1/",
            "http://[::2]/",
        ] {
            assert_eq!(
                proxy("http://proxy.test:3128", "", url).unwrap(),
                "http://proxy.test:3128/",
                "{url}"
            );
        }
        assert_eq!(
            proxy("http://proxy.test", "h.test", "https://a.h.test/"),
            None
        );
        assert!(proxy("http://proxy.test", "h.test", "https://other.test/").is_some());
        assert_eq!(proxy("", "", "https://h.test/"), None);
    }

    #[test]
    fn the_login_for_a_proxy_is_the_same_in_the_end() {
        for login in ["user:p%40%3a%2F%25w", "us%65r:", "user", "%C3%BC:%7B"] {
            let system = |proxy: String| Matcher::builder().all(proxy).build();
            let (destination, url) = (
                "https://h.test/".parse().unwrap(),
                Url::parse("https://h.test/").unwrap(),
            );
            let first = system(format!("http://{login}@proxy.test:1"));
            let second = system(proxy_for(&first, &url).unwrap().into());
            let header = |system: &Matcher| {
                system
                    .intercept(&destination)
                    .unwrap()
                    .basic_auth()
                    .cloned()
            };
            assert!(header(&first).is_some());
            assert_eq!(header(&first), header(&second), "{login}");
        }
    }
}
