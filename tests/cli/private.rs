//! Private registries: tokens, where they go and where they do not, `login` and `logout`.

use super::lock::requires;
use provlock_test::registry::{Discovery, Mirror, Registry};
use provlock_test::{Fault, TestEnvironment, Times, str, url};

const HOST: &str = "registry.example.com";
const TOKEN: &str = "s3cr3t-t0ken";
const CONFIGURATION: &str = if cfg!(windows) {
    "AppData/Roaming/tofu.rc"
} else {
    ".tofurc"
};
const LOCK: [&str; 4] = ["lock", "-p", "linux_amd64", "--no-cache"];

/// A registry that wants a token, and a project that requires a provider from it.
pub(super) fn private() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .on_host(HOST)
        .platforms(["linux_amd64"])
        .done();
    registry.require_token(HOST, TOKEN);
    environment.write("main.tf", requires("registry.example.com/acme/gamma", ""));
    (registry, environment)
}

/// Paths that were asked for, with whether a token came along.
fn sent(registry: &Registry, pattern: &str) -> Vec<bool> {
    registry
        .requests_matching(pattern)
        .iter()
        .map(|request| request.authorization().is_some())
        .collect()
}

fn write_configuration(environment: &TestEnvironment, text: &str) {
    environment.write(environment.home().join(CONFIGURATION), text);
}

#[test]
fn a_token_of_login_is_used_until_logout() {
    let (_registry, environment) = private();
    for input in [
        TOKEN.to_owned(),
        format!("{TOKEN}\n"),
        format!("{TOKEN}\r\n"),
    ] {
        let login = environment.command(["login", HOST]).stdin(input).run();
        login
            .assert_code(0)
            .assert_stderr_has("credentials.tfrc.json")
            .assert_lacks(TOKEN);
        environment
            .provlock(LOCK)
            .assert_code(0)
            .assert_lacks(TOKEN);
    }
    let check = environment.provlock(["login", "--check", HOST]);
    check
        .matches(str![[r#"
exit code: 0
----- stdout -----
The token for registry.example.com comes from [..]credentials.tfrc.json
"#]])
        .assert_lacks(TOKEN);

    environment.provlock(["logout", HOST]).matches(str![[r#"
exit code: 0
----- stderr -----
Removed the token for registry.example.com from [..]credentials.tfrc.json
"#]]);
    let refused = environment.provlock(LOCK);
    refused.matches(str![[r#"
exit code: 2
----- stderr -----
error[unauthorized]: cannot get registry.example.com/acme/gamma: https://registry.example.com/v1/providers/acme/gamma/versions was refused (401); no credentials were sent
 --> main.tf:4:16
  |
4 |       source = "registry.example.com/acme/gamma"
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ required here
  |
help: add credentials: provlock login registry.example.com, or set TF_TOKEN_registry_example_com
"#]]);
    let check = environment.provlock(["login", "--check", HOST]);
    check.matches(str![[r#"
exit code: 1
----- stdout -----
There is no token for registry.example.com
----- stderr -----
Add one: provlock login registry.example.com, or set TF_TOKEN_registry_example_com
"#]]);
    let again = environment.provlock(["logout", HOST]);
    again.matches(str![[r#"
exit code: 0
----- stderr -----
There was no token for registry.example.com in [..]credentials.tfrc.json
"#]]);
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_stored_tokens_and_other_content_stays() {
    use std::os::unix::fs::PermissionsExt as _;
    let environment = TestEnvironment::new();
    let path = environment
        .home()
        .join(".terraform.d/credentials.tfrc.json");
    let other = "\"other.test\": {\n      \"token\": \"0ther\",\n      \"note\": [1, 2]\n    }";
    environment.write(
        &path,
        format!("{{\n  \"credentials\": {{\n    {other}\n  }},\n  \"x\": 1.50\n}}\n"),
    );
    environment
        .command(["login", HOST])
        .stdin(TOKEN)
        .run()
        .assert_code(0);
    let text = environment.read(&path);
    assert!(
        text.contains(TOKEN) && text.contains(other) && text.contains("\"x\": 1.50"),
        "{text}"
    );
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    environment.provlock(["logout", HOST]).assert_code(0);
    let text = environment.read(&path);
    assert!(!text.contains(HOST) && text.contains(other), "{text}");
}

#[test]
fn invalid_tokens_and_hosts_are_refused() {
    let environment = TestEnvironment::new();
    for (host, input, expected) in [
        (
            HOST,
            "",
            "there is no token for registry.example.com on stdin",
        ),
        (HOST, "\n", "there is no token"),
        (
            HOST,
            "s3cr3t\nm0re",
            "contains characters that cannot be sent",
        ),
        (
            HOST,
            "s3cr3t\u{e9}",
            "contains characters that cannot be sent",
        ),
        ("not a host", TOKEN, "\"not a host\" is not a host name"),
        ("https://registry.example.com", TOKEN, "is not a host name"),
    ] {
        let refused = environment.command(["login", host]).stdin(input).run();
        refused
            .assert_code(2)
            .assert_stderr_has("error[invalid-argument]")
            .assert_stderr_has(expected);
        refused.assert_lacks("s3cr3t");
    }
    assert!(!environment.home().join(".terraform.d").exists());
}

#[test]
fn login_warns_if_a_different_token_takes_precedence() {
    let mut environment = TestEnvironment::new();
    write_configuration(
        &environment,
        "credentials \"block.test\" {\n  token = \"s3cr3t-block\"\n}\n",
    );
    environment.set("TF_TOKEN_registry_example_com", "s3cr3t-variable");
    let login = environment.command(["login", HOST]).stdin(TOKEN).run();
    login.matches(str![[r#"
exit code: 0
----- stderr -----
Stored the token for registry.example.com in [..]credentials.tfrc.json, for tofu
warning[credentials-not-used]: TF_TOKEN_registry_example_com is set, so its token is used for registry.example.com, and not a stored one
help: unset TF_TOKEN_registry_example_com
"#]]).assert_lacks("s3cr3t");
    let check = environment.provlock(["login", "--check", HOST]);
    check.matches(str![[r#"
exit code: 0
----- stdout -----
The token for registry.example.com comes from the environment variable TF_TOKEN_registry_example_com
"#]]);

    let check = environment.provlock(["login", "--check", "block.test"]);
    check
        .matches(str![[r#"
exit code: 0
----- stdout -----
The token for block.test comes from [ROOT]/home/[..]
"#]])
        .assert_lacks("s3cr3t");
    let login = environment
        .command(["login", "block.test"])
        .stdin(TOKEN)
        .run();
    login.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-cli-configuration]: the token for block.test is written in [ROOT]/home/[..], which is not changed automatically
help: edit the block credentials "block.test" in [ROOT]/home/[..]
"#]]);
    login.assert_lacks("s3cr3t");
}

#[test]
fn hosts_are_compared_after_idna() {
    let environment = TestEnvironment::new();
    environment
        .command(["login", "BÜCHER.example"])
        .stdin(TOKEN)
        .run()
        .assert_code(0);
    let check = environment.provlock(["login", "--check", "bücher.example"]);
    check.matches(str![[r#"
exit code: 0
----- stdout -----
The token for bücher.example comes from [..]credentials.tfrc.json
"#]]);
    let check = environment.command(["login", "--check", "bücher.example"]);
    let check = check.env("TF_TOKEN_xn____bcher__kva_example", TOKEN).run();
    check.matches(str![[r#"
exit code: 0
----- stdout -----
The token for bücher.example comes from the environment variable TF_TOKEN_xn____bcher__kva_example
"#]]);
}

#[test]
fn the_token_goes_to_the_registry_only() {
    let (registry, mut environment) = private();
    environment.set("TF_TOKEN_registry_example_com", TOKEN);
    environment.provlock(LOCK).assert_code(0);
    for (pattern, expected) in [
        (url::DISCOVERY, vec![true]),
        (url::VERSIONS, vec![true]),
        (url::DOWNLOAD, vec![true]),
        (url::SHASUMS, vec![false]),
        (url::SIGNATURE, vec![false]),
        (url::PACKAGE, vec![false]),
    ] {
        assert_eq!(sent(&registry, pattern), expected, "{pattern}");
    }
}

#[test]
fn the_token_does_not_follow_a_redirect_to_another_host() {
    for pattern in [url::DISCOVERY, url::VERSIONS, url::DOWNLOAD] {
        let (registry, mut environment) = private();
        environment.set("TF_TOKEN_registry_example_com", TOKEN);
        registry.fault(
            &pattern.replacen('*', &format!("{HOST}*"), 1),
            Times::Always,
            Fault::RedirectTo("mirror.example.com"),
        );
        environment.provlock(LOCK).assert_lacks(TOKEN);
        let on = |host: &str| sent(&registry, &pattern.replacen('*', &format!("{host}*"), 1));
        let (first, second) = (on(HOST), on("mirror.example.com"));
        assert!(
            first.first().is_some_and(|sent| *sent),
            "{pattern}: {first:?}"
        );
        assert!(
            !second.is_empty() && second.iter().all(|sent| !sent),
            "{pattern}: {second:?}"
        );
    }
}

#[test]
fn no_output_contains_the_token() {
    let echo = || Fault::Body(format!("{{\"oops\": \"{TOKEN}\"}}").into_bytes());
    let faults = [
        (url::VERSIONS, Fault::Status(500), 2),
        (url::VERSIONS, Fault::Status(403), 2),
        (url::VERSIONS, echo(), 2),
        (url::DISCOVERY, Fault::Status(401), 2),
        (url::DOWNLOAD, Fault::RedirectTo("mirror.example.com"), 0),
        (url::PACKAGE, Fault::Status(404), 2),
    ];
    for flags in [&[][..], &["--json"], &["-vvv"], &["-vvv", "--json"]] {
        let arguments = [&LOCK[..], flags].concat();
        let (registry, mut environment) = private();
        environment.set("TF_TOKEN_registry_example_com", TOKEN);
        environment.set("TF_REGISTRY_DISCOVERY_RETRY", "0");
        environment
            .provlock(&arguments)
            .assert_code(0)
            .assert_lacks(TOKEN);
        for (pattern, fault, code) in &faults {
            registry.clear_faults();
            registry.fault(pattern, Times::Always, fault.clone());
            environment
                .provlock(&arguments)
                .assert_code(*code)
                .assert_lacks(TOKEN);
        }
        environment.set("TF_TOKEN_registry_example_com", "wr0ng-t0ken");
        registry.clear_faults();
        let refused = environment.provlock(&arguments);
        refused.assert_code(2).assert_lacks("wr0ng-t0ken");
        refused.assert_stderr_has("with the credentials that were sent");
        refused.assert_stderr_has("provlock login --check registry.example.com");
    }
}

#[test]
fn errors_in_a_configuration_with_tokens_do_not_quote_them() {
    let (_registry, environment) = private();
    for text in [
        "credentials \"registry.example.com\" {\n  token = \"s3cr3t-t0ken\"\n",
        "credentials \"registry.example.com\" {\n  token = s3cr3t-t0ken\"\n}\n",
        "credentials \"a b\" {\n  token = \"s3cr3t-t0ken\"\n}\n",
        "credentials \"x.test\" {\n  token = [\"s3cr3t-t0ken\"]\n}\n",
    ] {
        write_configuration(&environment, text);
        let output = environment.provlock([&LOCK[..], &["-vvv", "--json"]].concat());
        output
            .assert_code(2)
            .assert_stderr_has(&format!("{CONFIGURATION}:"))
            .assert_lacks(TOKEN);
    }
}

#[test]
fn a_host_block_names_the_registry_without_discovery() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .on_host("registry.example.com")
        .platforms(["linux_amd64"])
        .done();
    registry.discovery("registry.example.com", Discovery::WithoutProviders);
    environment.write("main.tf", requires("registry.example.com/acme/gamma", ""));
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get providers from registry.example.com: https://registry.example.com/.well-known/terraform.json offers no provider registry
 --> main.tf:4:16
  |
4 |       source = "registry.example.com/acme/gamma"
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ required here
"#]]);
    write_configuration(
        &environment,
        r#"host "registry.example.com" {
  services = {
    "providers.v1" = "https://mirror.example.com/via/registry.example.com/v1/providers/"
  }
}
"#,
    );
    let asked = registry.requests_to(url::DISCOVERY);
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(registry.requests_to(url::DISCOVERY), asked);
    assert_ne!(registry.requests_to("mirror.example.com/via/*"), 0);
}

#[test]
fn a_network_mirror_takes_the_token_of_its_own_host() {
    let (registry, mut environment) = private();
    registry.mirror("https://mirror.example.com/providers/", Mirror::default());
    registry.require_token("mirror.example.com", "m1rror-t0ken");
    environment.set("TF_TOKEN_registry_example_com", TOKEN);
    let arguments = [
        &LOCK[..],
        &["--net-mirror", "https://mirror.example.com/providers/"],
    ]
    .concat();
    let refused = environment.provlock(&arguments);
    refused.matches(str![[r#"
exit code: 2
----- stderr -----
error[unauthorized]: cannot get registry.example.com/acme/gamma: https://mirror.example.com/providers/registry.example.com/acme/gamma/index.json was refused (401); no credentials were sent
 --> main.tf:4:16
  |
4 |       source = "registry.example.com/acme/gamma"
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ required here
  |
help: add credentials: provlock login mirror.example.com, or set TF_TOKEN_mirror_example_com
"#]]);
    environment
        .command(["login", "mirror.example.com"])
        .stdin("m1rror-t0ken")
        .run()
        .assert_code(0);
    environment
        .provlock(&arguments)
        .assert_code(0)
        .assert_lacks("t0ken");
    assert_eq!(registry.requests_to("registry.example.com/*"), 0);
    assert_eq!(sent(&registry, "mirror.example.com/*.zip"), [false]);
}

#[test]
fn a_token_is_stored_where_the_dialect_of_the_project_looks() {
    let (_registry, environment) = private();
    environment.write("provlock.toml", "dialect = \"terraform\"\n");
    let configuration = environment.home().join("xdg");
    let run = |arguments: &[&str]| {
        environment
            .command(arguments)
            .env("XDG_CONFIG_HOME", &configuration)
            .stdin(TOKEN)
            .run()
    };
    run(&LOCK)
        .assert_code(2)
        .assert_stderr_has("help: add credentials: provlock login registry.example.com");
    let login = run(&["login", HOST]);
    login
        .assert_code(0)
        .assert_stderr_has("credentials.tfrc.json, for terraform");
    assert!(environment.home().join(".terraform.d").exists() && !configuration.exists());
    run(&LOCK).assert_code(0);
    run(&["login", "--check", HOST]).assert_code(0);
    run(&["logout", HOST])
        .assert_code(0)
        .assert_stderr_has("Removed the token");
    // The other program looks elsewhere.
    run(&["login", HOST, "--dialect", "tofu"])
        .assert_code(0)
        .assert_stderr_has("for tofu");
}

#[test]
fn a_refused_token_does_not_propose_a_login() {
    let (_registry, environment) = private();
    environment
        .command(["login", HOST])
        .stdin("0ther")
        .run()
        .assert_code(0);
    let refused = environment.provlock(LOCK);
    refused
        .assert_code(2)
        .assert_stderr_has("(403) with the credentials that were sent");
    refused.assert_stderr_has(
        "help: check where the token comes from: provlock login --check registry.example.com\n",
    );
    refused.assert_lacks("provlock login registry.example.com");
}

#[test]
fn a_field_that_a_registry_leaves_out_is_named() {
    let (registry, environment, _) =
        Registry::with_required("hashicorp/null", "3.2.4", ["linux_amd64"], "");
    let lock = || environment.provlock(["lock", "-p", "linux_amd64", "--no-cache"]);
    let body = r#"{"os": "linux", "arch": "amd64", "filename": "a.zip", "download_url": "a.zip", "shasum": ""}"#;
    registry.fault(url::DOWNLOAD, Times::Always, Fault::Body(body.into()));
    lock().matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get registry.opentofu.org/hashicorp/null 3.2.4 for linux_amd64: https://registry.opentofu.org/v1/providers/hashicorp/null/3.2.4/download/linux/amd64 sent an unusable response: it has no `shasums_url` (line 1, column 92)
"#]]);
    registry.fault(url::VERSIONS, Times::Always, Fault::Body(b"{}".to_vec()));
    lock()
        .assert_code(2)
        .assert_stderr_has("it has no `versions` (line 1, column 2)");
}

/// A project that requires a provider of `localterraform.com`, which `registry.example.com` has.
fn project_of_cloud() -> (Registry, TestEnvironment) {
    let (registry, mut environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.0.0")
        .on_host("registry.example.com")
        .platforms(["linux_amd64"])
        .done();
    environment.set("TF_TOKEN_registry_example_com", TOKEN);
    (registry, environment)
}

/// A configuration with a backend that requires a provider of `localterraform.com`.
fn of_cloud(backend: &str) -> String {
    let required = requires("localterraform.com/acme/gamma", "");
    format!("{required}terraform {{\n{backend}\n}}\n")
}

#[test]
fn localterraform_com_is_the_host_of_the_backend() {
    let cases = [
        (
            "main.tf",
            of_cloud("cloud {\n  hostname = \"registry.example.com\"\n}"),
        ),
        (
            "main.tf",
            of_cloud(
                "cloud {\n  organization = \"a\"\n  workspaces {\n    name = \"b\"\n  }\n  \
                 hostname = \"registry.${\"example\"}.com\"\n}",
            ),
        ),
        (
            "main.tf",
            of_cloud("backend \"remote\" {\n  hostname = \"Registry.Example.com\"\n}"),
        ),
        (
            "main.tf.json",
            r#"{"terraform": {"cloud": {"hostname": "registry.example.com"},
                "required_providers": {"gamma": {"source": "localterraform.com/acme/gamma"}}}}"#
                .to_owned(),
        ),
    ];
    for (name, text) in cases {
        for arguments in [&LOCK[..], &[&LOCK[..], &["-r"]].concat()] {
            let (registry, environment) = project_of_cloud();
            environment.write(name, &text);
            environment.provlock(arguments).assert_code(0);
            assert_eq!(sent(&registry, "*/versions"), [true], "{text}");
            let lock_file = environment.lock_file();
            assert!(
                lock_file.contains("provider \"localterraform.com/acme/gamma\""),
                "{lock_file}"
            );
            let verify = ["verify", "--online", "--allow", "single-platform"];
            environment.provlock(verify).assert_code(0);
        }
    }

    // The token of the name itself is not the host's.
    let (registry, mut environment) = project_of_cloud();
    environment.set("TF_TOKEN_localterraform_com", "other");
    environment.set("TF_CLOUD_HOSTNAME", "registry.example.com");
    environment.write("main.tf", of_cloud("cloud {}"));
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(sent(&registry, "*/versions"), [true]);
    environment.write(
        "main.tf",
        of_cloud("cloud {\n  hostname = \"other.example.com\"\n}"),
    );
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_stderr_has("other.example.com");
}

#[test]
fn a_module_of_localterraform_com_is_one_of_the_host_of_the_backend() {
    let (registry, environment) = project_of_cloud();
    let file = [("main.tf".to_owned(), b"locals {}\n".to_vec())];
    let archive = provlock_test::archive::pack(&file, provlock_test::archive::Packing::Deflated);
    registry.serve("/net.zip", archive);
    registry.serve(
        "/v1/modules/acme/net/aws/versions",
        r#"{"modules":[{"versions":[{"version":"1.3.0"}]}]}"#,
    );
    registry.serve(
        "/v1/modules/acme/net/aws/1.3.0/download",
        r#"{"location":"https://registry.example.com/net.zip"}"#,
    );
    environment.write(
        "main.tf",
        "terraform {\n  cloud {\n    hostname = \"registry.example.com\"\n  }\n}\n\
         module \"net\" {\n  source = \"localterraform.com/acme/net/aws\"\n}\n",
    );
    environment.provlock(["lock", "--modules"]).assert_code(0);
    assert!(
        environment
            .read(".modules.lock.hcl")
            .contains("localterraform.com/acme/net/aws")
    );
}

/// A pull request must not choose the host that confirms its hashes.
#[test]
fn a_change_of_the_backend_does_not_move_localterraform_com() {
    let (_registry, environment) = project_of_cloud();
    let backend = "cloud {\n  hostname = \"registry.example.com\"\n}";
    environment.write("main.tf", of_cloud(backend));
    environment.provlock(LOCK).assert_code(0);
    environment.git_init(".");
    environment.commit_all(".");
    environment.write("main.tf", of_cloud(&backend.replace("registry", "other")));
    let verify = ["verify", "--online", "--base", "HEAD", "-r"];
    let output = environment.provlock(verify);
    output
        .assert_code(1)
        .assert_stdout_has("moves to a store that the base does not use");
    assert!(!output.stderr.contains("other.example.com"), "{output}");
    environment
        .provlock(["verify", "--online", "--no-cache"])
        .assert_code(2)
        .assert_stderr_has("other.example.com");
}

#[test]
fn localterraform_com_is_explained_where_the_host_is_not_known() {
    let (registry, mut environment) = project_of_cloud();
    let expected = "cannot get providers from localterraform.com: it stands for the hostname in the cloud block, ";
    for (backend, why) in [
        ("", "and there is none"),
        ("backend \"s3\" {}", "and there is none"),
        ("cloud {\n  hostname = var.h\n}", "which is not a literal"),
        (
            "cloud {\n  hostname = \"no host/\"\n}",
            "which is not a literal",
        ),
        // A flag of `init` may set it.
        ("backend \"remote\" {}", "which is not a literal"),
    ] {
        environment.write("main.tf", of_cloud(backend));
        environment
            .provlock(LOCK)
            .assert_code(2)
            .assert_stderr_has(&format!("{expected}{why}"))
            .assert_stderr_has("help: add to the CLI configuration, with that hostname");
    }
    std::fs::remove_file(environment.project().join("main.tf")).unwrap();
    for (root, host) in [("a", "registry.example.com"), ("b", "other.example.com")] {
        let backend = format!("cloud {{\n  hostname = \"{host}\"\n}}");
        environment.write(format!("{root}/main.tf"), of_cloud(&backend));
    }
    environment
        .provlock([&LOCK[..], &["-r"]].concat())
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get providers from localterraform.com: it stands for the hostname in the cloud block, which differs between root modules, in 2 root modules
 --> a/main.tf:4:16
  |
4 |       source = "localterraform.com/acme/gamma"
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ required here
  |
  = also in b
help: run the command for each of these root modules alone
Locked 0 of 2 root modules: 0 changed, 0 up to date; 2 failed
2 errors
"#]]);
    assert_eq!(registry.requests().len(), 0, "no other host gets a request");
    environment
        .provlock([&LOCK[..], &["a"]].concat())
        .assert_code(0);

    // A host block of the CLI configuration.
    environment.write("main.tf", of_cloud("cloud {\n  hostname = var.h\n}"));
    let services =
        "\"providers.v1\" = \"https://registry.example.com/via/localterraform.com/v1/providers/\"";
    write_configuration(
        &environment,
        &format!("host \"localterraform.com\" {{ services = {{ {services} }} }}\n"),
    );
    registry
        .publish("acme/gamma", "2.0.0")
        .on_host("localterraform.com")
        .platforms(["linux_amd64"])
        .done();
    environment.set("TF_TOKEN_localterraform_com", TOKEN);
    environment.provlock(LOCK).assert_code(0);
    assert!(
        environment
            .lock_file()
            .contains("\"localterraform.com/acme/gamma\"")
    );
}
