//! The variables of the environment that the client itself reads, set for processes of their own.

use crate::cli_config::NetSettings;
use std::path::PathBuf;
use std::process::Command;

use super::*;

/// Runs the test that calls it in a process of its own with these variables and no others for
/// proxies and certificates. Returns its output if it succeeds. There, [`is_asked`] asks for
/// `asks`: a URL to get, or `failure of` a URL, to print the error.
fn in_a_process_with(variables: &[(&str, &str)], asks: &str) -> Option<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let thread = std::thread::current();
    command.args([
        "--exact",
        "--nocapture",
        thread
            .name()
            .expect("tests run on threads that have their names"),
    ]);
    for name in ["SSL_CERT_DIR", "SSL_CERT_FILE", "REQUEST_METHOD"] {
        command.env_remove(name);
    }
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command
        .env("PROVLOCK_TEST_ASKS", asks)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success() && text.contains("1 passed")).then_some(text)
}

/// Whether this is the process that [`in_a_process_with`] has started, which then has asked for the
/// URL.
fn is_asked() -> bool {
    let Ok(asks) = std::env::var("PROVLOCK_TEST_ASKS") else {
        return false;
    };
    let is_setting = cfg!(any(windows, target_vendor = "apple"));
    let certificate_file = if is_setting {
        std::env::var_os("SSL_CERT_FILE").map(PathBuf::from)
    } else {
        None
    };
    let client = client(NetSettings {
        certificate_file,
        use_proxies: true,
        retries: 0,
        ..plain()
    });
    if let Some(url) = asks.strip_prefix("failure of ") {
        let error = client
            .get(&Url::parse(url).unwrap(), None, 10, Purpose::Metadata)
            .unwrap_err();
        println!(
            "\nFAILURE={error}; {:?}",
            error.clone().into_diagnostic("x")[0].help
        );
    } else {
        get(&client, &Url::parse(&asks).unwrap()).unwrap();
    }
    true
}

#[test]
fn proxy_and_certificate_variables_are_honoured() {
    if is_asked() {
        return;
    }
    let authority = Authority::new();
    let server = Server::https(&authority, |_| Response::ok(""));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), authority.pem()).unwrap();
    let (proxy, certificates) = (
        format!("http://{}", server.address()),
        file.path().to_str().unwrap(),
    );
    let run = |no_proxy: &str| {
        let variables = [
            ("SSL_CERT_FILE", certificates),
            ("HTTPS_PROXY", &proxy),
            ("NO_PROXY", no_proxy),
        ];
        in_a_process_with(&variables, "https://registry.acme.test/")
    };
    assert!(run("").is_some());
    assert_eq!(
        server.requests()[0].header("host"),
        Some("registry.acme.test")
    );
    assert!(
        run("acme.test").is_none(),
        "without the proxy there is no such host"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_token_for_this_machine_does_not_go_to_a_proxy() {
    if is_asked() {
        return;
    }
    let proxy = Server::http(|_| Response::ok(""));
    let server = Server::http(|request| match request.target.as_str() {
        "/" => Response::redirect("/moved"),
        _ => Response::ok(""),
    });
    let through = format!("http://user:pass@{}", proxy.address());
    let variables = [
        ("HTTP_PROXY", through.as_str()),
        ("ALL_PROXY", through.as_str()),
    ];
    for name in ["127.0.0.1", "localhost"] {
        assert!(
            in_a_process_with(&variables, server.url(name, "/").as_str()).is_some(),
            "{name}"
        );
    }
    assert!(proxy.requests().is_empty());
    assert_eq!(server.requests().len(), 4);
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.authorization() == Some("Bearer s3cr3t"))
    );

    assert!(in_a_process_with(&variables, "http://0.0.0.0/").is_some());
    let request = &proxy.requests()[0];
    assert_eq!(
        (request.target.as_str(), request.authorization()),
        ("http://0.0.0.0/", None),
        "another host is asked through it"
    );
    assert_eq!(
        request.header("proxy-authorization"),
        Some("Basic dXNlcjpwYXNz")
    );
}

#[test]
fn what_a_proxy_did_is_said_in_plain_words() {
    if is_asked() {
        return;
    }
    let refusing = |status: u16| Server::http(move |_| Response::new(status, ""));
    let silent = Server::http(|_| Response::reset());
    let (forbidden, login) = (refusing(403), refusing(407));
    let url = "https://registry.acme.test/";
    for (proxy, says) in [
        (
            forbidden.address(),
            "the proxy refused to connect to registry.acme.test",
        ),
        (
            login.address(),
            "the proxy requires a user name and password",
        ),
        (silent.address(), "the proxy sent an unusable response"),
        (
            "127.0.0.1:1".parse().unwrap(),
            "the proxy could not be reached: tcp connect error: ",
        ),
    ] {
        let proxy = format!("http://{proxy}");
        let expected = format!("FAILURE={url} could not be reached: {says}");
        let output =
            in_a_process_with(&[("HTTPS_PROXY", &proxy)], &format!("failure of {url}")).unwrap();
        let found = output
            .lines()
            .find(|line| line.starts_with("FAILURE="))
            .unwrap_or(&output);
        assert!(found.starts_with(&expected), "{found}");
        assert!(
            found.contains("check HTTPS_PROXY, and NO_PROXY for hosts that are reached without it"),
            "{found}"
        );
    }
    assert_eq!(forbidden.requests()[0].target, "registry.acme.test:443");
}
