//! Remote modules that no program has installed.

use super::lock::requires;
use provlock_test::archive::{self, Packing};
use provlock_test::{Registry, Response, Server, TestEnvironment, str};

/// Commits a module to `work`, and hands it to the bare repository `modules.git` beside it.
pub(crate) fn publish(environment: &TestEnvironment, configuration: &str, tag: &str) {
    let work = environment.root().join("work");
    let is_new = !work.exists();
    environment.write(work.join("network/main.tf"), configuration);
    environment.write(work.join("network/README"), "No configuration.\n");
    if is_new {
        environment.git_init(&work);
        environment.git(
            environment.root(),
            [
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=main",
                "modules.git",
            ],
        );
    }
    environment.commit_all(&work);
    push_tag(environment, tag);
}

/// Points a tag to the newest commit of `work`, and pushes both to `modules.git`.
pub(crate) fn push_tag(environment: &TestEnvironment, tag: &str) {
    let work = environment.root().join("work");
    environment.git(&work, ["tag", "--force", tag]);
    environment.git(
        &work,
        ["push", "--quiet", "--force", "../modules.git", "main", tag],
    );
}

/// Returns the commit that a name points to in `modules.git`.
pub(crate) fn commit_of(environment: &TestEnvironment, name: &str) -> String {
    environment.git(
        environment.root().join("modules.git"),
        ["rev-parse", &format!("{name}^{{commit}}")],
    )
}

/// A project that calls the module at a tag.
fn calls(environment: &TestEnvironment, tag: &str) {
    let repository = environment.root().join("modules.git");
    let source = format!("git::file://{}//network?ref={tag}", repository.display());
    environment.write(
        "main.tf",
        format!("module \"network\" {{\n  source = \"{source}\"\n}}\n"),
    );
}

#[test]
fn a_module_in_git_is_fetched_once_and_read_from_the_cache() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("acme/gamma", "2.0.0")
        .platforms(["linux_amd64"])
        .done();
    publish(&environment, &requires("acme/gamma", "~> 1.0"), "v1.0.0");
    publish(&environment, &requires("acme/gamma", "~> 2.0"), "v2.0.0");
    calls(&environment, "v1.0.0");

    environment.provlock(["lock", "-p", "linux_amd64", "--no-fetch-modules"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[module-not-installed]: module "network" from "git::file://[ROOT]/modules.git//network?ref=v1.0.0" is not installed
 --> main.tf:2:12
  |
2 |   source = "git::file://[ROOT]/modules.git//network?ref=v1.0.0"
  |            [..]^ called here
  |
help: install it with tofu get or tofu init, or skip it with --allow-missing-modules
"#]]);
    assert!(!environment.has_lock_file());

    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + acme/gamma   1.5.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert!(
        environment.lock_file().contains("constraints = \"~> 1.0\""),
        "{}",
        environment.lock_file()
    );

    std::fs::rename(
        environment.root().join("modules.git"),
        environment.root().join("gone.git"),
    )
    .unwrap();
    environment
        .provlock(["verify"])
        .assert_code(0)
        .assert_lacks("module-not-installed");
    environment
        .provlock(["lock", "-p", "linux_amd64", "--offline", "--check"])
        .assert_code(0);
    environment
        .provlock(["verify", "--no-fetch-modules"])
        .assert_code(0)
        .assert_stdout_has("module-not-installed");
    environment
        .provlock(["verify", "--no-cache"])
        .assert_code(0)
        .assert_stdout_has("module-not-installed");

    calls(&environment, "v2.0.0");
    environment
        .provlock(["verify"])
        .assert_code(0)
        .assert_stdout_has("module-not-installed");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("cannot get the module package");
    std::fs::rename(
        environment.root().join("gone.git"),
        environment.root().join("modules.git"),
    )
    .unwrap();
    environment
        .provlock(["verify", "--online"])
        .assert_code(1)
        .assert_stdout_has("version-outside-constraints");
}

/// `lock` fails because of a module, but the registry has received the requests by then.
#[test]
fn versions_are_requested_while_modules_are_fetched() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    publish(&environment, &requires("acme/gamma", "~> 1.0"), "v1.0.0");
    calls(&environment, "v1.0.0");
    let asks = |arguments: &[&str]| {
        let root = environment.root();
        let missing = format!(
            "module \"missing\" {{\n  source = \"git::file://{}/none.git\"\n}}\n",
            root.display()
        );
        environment.write("missing.tf", missing);
        let before = registry.requests().len();
        let lock = ["lock", "-p", "linux_amd64"];
        environment
            .provlock(lock.iter().chain(arguments))
            .assert_code(2)
            .assert_stderr_has("none.git");
        std::fs::remove_file(environment.project().join("missing.tf")).unwrap();
        registry
            .requests()
            .split_off(before)
            .iter()
            .any(|request| request.path().ends_with("/acme/gamma/versions"))
    };
    assert!(asks(&[]));
    assert!(asks(&["acme/gamma"]));
    assert!(!asks(&["acme/other"]));
    assert!(!asks(&["--offline"]));
    environment.write(
        "provlock.toml",
        "[policy]\nallowed-hosts = [\"registry.example.com\"]\n",
    );
    assert!(!asks(&[]), "the policy does not allow the provider");
    environment.write("provlock.toml", "");
    assert!(!environment.has_lock_file());

    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert!(
        !asks(&[]),
        "what is locked is asked for together with its package"
    );
}

#[test]
fn many_providers_of_a_module_are_requested_only_after_all_modules() {
    let (registry, environment) = Registry::with_project();
    let providers: Vec<_> = (0..100)
        .map(|n| format!("    p{n} = {{ source = \"acme/p{n}\" }}\n"))
        .collect();
    publish(
        &environment,
        &format!(
            "terraform {{\n  required_providers {{\n{}  }}\n}}\n",
            providers.concat()
        ),
        "v1.0.0",
    );
    calls(&environment, "v1.0.0");
    environment.write(
        "missing.tf",
        "module \"missing\" {\n  source = \"git::file:///none.git\"\n}\n",
    );
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("none.git");
    let asked = registry
        .requests()
        .iter()
        .filter(|request| request.path().ends_with("/versions"))
        .count();
    assert_eq!(asked, 64);
}

#[test]
fn the_cache_is_for_the_user_alone_whatever_is_put_there_first() {
    use std::os::unix::fs::PermissionsExt as _;
    let (registry, mut environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    let cache = environment.root().join("new/cache");
    environment.set("PROVLOCK_CACHE_DIR", &cache);
    publish(&environment, &requires("acme/gamma", "~> 1.0"), "v1.0.0");
    calls(&environment, "v1.0.0");
    let lock = format!(
        "umask 0; exec {} lock -p linux_amd64",
        provlock_test::program()
    );
    for _ in 0..2 {
        environment
            .program("sh", ["-c", &lock])
            .run()
            .assert_code(0);
        for directory in [&cache, &cache.join("provlock-modules-v2/contents")] {
            assert_eq!(
                std::fs::metadata(directory).unwrap().permissions().mode() & 0o777,
                0o700
            );
        }
    }
}

/// A project that calls a module at this source, and a registry with what the module requires.
fn calling(source: &str) -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write(
        "main.tf",
        format!("module \"network\" {{\n  source = \"{source}\"\n}}\n"),
    );
    (registry, environment)
}

#[test]
fn an_archive_without_encryption_is_fetched_with_a_warning_and_without_credentials() {
    let module = [(
        "main.tf".to_owned(),
        requires("acme/gamma", "~> 1.0").into_bytes(),
    )];
    let module = archive::pack(&module, Packing::Deflated);
    let proxy = Server::http(move |request| match request.path() {
        "http://h.test/network.zip" | "http://h.test/moved.zip" => Response::ok(module.clone()),
        "http://h.test/redirect.zip" => Response::new(302, "").header("Location", "/moved.zip"),
        "http://h.test/elsewhere.zip" => {
            Response::new(302, "").header("Location", "http://internal.test/moved.zip")
        }
        "http://h.test/page" => {
            Response::ok("").header("X-Terraform-Get", "http://h.test/moved.zip")
        }
        _ => Response::not_found(),
    });
    let (_registry, mut environment) = calling("");
    environment.set("HTTP_PROXY", proxy.url("127.0.0.1", "/").as_str());
    environment.set("http_proxy", proxy.url("127.0.0.1", "/").as_str());
    environment.write(
        environment.home().join(".netrc"),
        "machine h.test login user password hunter22\n",
    );
    let lock = |source: &str| {
        environment.write(
            "main.tf",
            format!("module \"network\" {{\n  source = \"{source}\"\n}}\n"),
        );
        environment.provlock(["lock", "-p", "linux_amd64"])
    };
    for source in [
        "user:s3cr3t@h.test/network.zip",
        "h.test/redirect.zip",
        "h.test/page",
    ] {
        let output = lock(&format!("http://{source}"));
        output
            .assert_code(0)
            .assert_lacks("s3cr3t")
            .assert_lacks("hunter22")
            .assert_stderr_has("without encryption");
    }
    lock("http://h.test/elsewhere.zip")
        .assert_code(2)
        .assert_stderr_has("http://internal.test/moved.zip is not an https");
    assert_eq!(proxy.requests().len(), 6);
    assert!(
        proxy
            .requests()
            .iter()
            .all(|request| request.authorization().is_none())
    );
    lock("http://h.test/network.zip").matches(str![[r#"
exit code: 0
----- stderr -----
warning[invalid-configuration]: module "network" comes from http://h.test/network.zip without encryption
 --> main.tf:2:12
  |
2 |   source = "http://h.test/network.zip"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
  = an attacker in the network can change what it requires
help: use an https URL
Up to date: 1 provider for linux_amd64
"#]]);
    environment.provlock(["verify"]).assert_code(0);
    environment.provlock(["verify", "--online"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[invalid-configuration]: module "network" comes from http://h.test/network.zip without encryption
 --> main.tf:2:12
  |
2 |   source = "http://h.test/network.zip"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
  = an attacker in the network can change what it requires
help: use an https URL

----- stderr -----
Not checked: platforms (select with -p)
1 warning in main.tf
"#]]);
    environment
        .provlock(["verify", "--online", "--format", "sarif"])
        .assert_code(0);
}

#[test]
fn an_https_page_does_not_lead_to_plain_http() {
    let (registry, environment) = calling("https://registry.opentofu.org/network");
    registry.serve(
        "/network",
        "<meta name=\"terraform-get\" content=\"http://registry.opentofu.org/network.zip\">",
    );
    let output = environment.provlock(["lock", "-p", "linux_amd64"]);
    output
        .assert_code(2)
        .assert_stderr_has("was not requested, because it is not an https URL");
    assert_eq!(registry.requests_to("registry.opentofu.org/network.zip"), 0);
}

#[test]
fn a_local_directory_without_configuration_is_an_empty_module() {
    let (_registry, environment) = calling("./modules/empty");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("which does not exist");
    environment.write("modules/empty/README.md", "No configuration yet.\n");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    environment.provlock(["verify"]).assert_code(0);
    // A submodule that is not checked out is a different case.
    std::fs::remove_file(environment.project().join("modules/empty/README.md")).unwrap();
    environment.write(
        ".gitmodules",
        "[submodule \"empty\"]\n\tpath = modules/empty\n\turl = https://h.test/a.git\n",
    );
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("submodule");
}

#[test]
fn an_absolute_directory_is_read_where_it_is() {
    let (_registry, environment) = calling("/");
    let module = environment.write("modules/network/main.tf", requires("acme/gamma", "~> 1.0"));
    let module = module.parent().unwrap().display();
    let modules = environment.project().join("modules");
    for source in [
        format!("{module}"),
        format!("file://{module}"),
        format!("{}//network", modules.display()),
    ] {
        environment.write(
            "main.tf",
            format!("module \"network\" {{\n  source = \"{source}\"\n}}\n"),
        );
        environment
            .provlock(["verify"])
            .assert_code(1)
            .assert_lacks("not installed");
        for more in [&["--no-fetch-modules"][..], &[]] {
            environment
                .provlock(["lock", "-p", "linux_amd64"].iter().chain(more))
                .assert_code(0);
            environment
                .provlock(["lock", "--offline", "-p", "linux_amd64", "--check"])
                .assert_code(0);
            environment
                .provlock(["verify"])
                .assert_code(0)
                .assert_lacks("not installed");
            std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
        }
    }
    for (source, message) in [
        (format!("{module}/missing"), "is not installed"),
        (
            format!("{}//missing", modules.display()),
            "has no directory \"missing\"",
        ),
        (format!("git::file://{module}"), "is not installed"),
    ] {
        environment.write(
            "main.tf",
            format!("module \"network\" {{\n  source = \"{source}\"\n}}\n"),
        );
        let output = environment.provlock(["lock", "-p", "linux_amd64", "--no-fetch-modules"]);
        output.assert_code(2).assert_stderr_has(message);
    }
}

#[test]
fn parameters_of_a_source_that_may_be_secrets_are_shown_nowhere() {
    let (_registry, environment) = calling("");
    environment.write_lock_file("# Nothing.\n");
    for source in [
        "git::https://127.0.0.1:1/a.git?ref=v1.0.0&token=s3cr3t",
        "git::https://127.0.0.1:1/a.git//network?token=s3cr3t&ref=v1.0.0",
        "git::https://s3cr3t@127.0.0.1:1/a.git//network?ref=v1.0.0",
        "git::https://s3cr3t:x-oauth-basic@127.0.0.1:1/a.git//network?ref=v1.0.0",
        "git@h.test:a.git?ref=v1.0.0&sshkey=s3cr3ts3cr3t",
        "https://127.0.0.1:1/a.zip?ref=v1.0.0&sig=s3cr3t",
    ] {
        environment.write(
            "main.tf",
            format!("module \"network\" {{\n  source = \"{source}\"\n}}\n"),
        );
        for command in [
            "lock",
            "lock -vv",
            "lock --json",
            "verify",
            "verify --json",
            "verify --format sarif",
            "tree",
        ] {
            let output = environment
                .command(command.split(' '))
                .env("GIT_SSH_COMMAND", "false")
                .env("TF_PROVIDER_DOWNLOAD_RETRY", "0")
                .run();
            output.assert_lacks("s3cr3t");
            let is_shown = format!("{}{}", output.stdout, output.stderr).contains("ref=v1.0.0");
            assert!(is_shown, "{output}");
        }
    }
}

/// The programs evaluate what `try` refers to before they call it, so that it catches only what its
/// own argument does.
#[test]
fn try_does_not_hide_that_what_it_refers_to_fails() {
    let environment = TestEnvironment::new();
    let reference = |text: &str| format!("{}{{{text}}}", "$");
    environment.write("m/a/main.tf", "");
    let locals = "locals {\n  wrong = lower([])\n  inside = [lower([])]\n  list = []\n}\n";
    for (expression, is_known) in [
        ("try(local.list[0], \"a\")", true),
        ("can(local.list[0]) ? \"b\" : \"a\"", true),
        ("try(local.wrong, \"a\")", false),
        ("can(local.wrong) ? \"b\" : \"a\"", false),
        ("try(local.inside[0], \"a\")", false),
        ("length(local.inside) == 1 ? \"a\" : \"b\"", false),
    ] {
        let call = format!(
            "module \"m\" {{\n  source = \"./m/{}\"\n}}\n",
            reference(expression)
        );
        environment.write("main.tf", format!("{locals}{call}"));

        let output = environment.provlock(["tree"]);

        assert_eq!(
            output.to_string().contains("is not known: "),
            !is_known,
            "{expression}: {output}"
        );
    }
}

/// A package whose directories `network` and `part` require different providers, called by `whole`;
/// and `part` by the directory where the package of `whole` is installed.
fn called_by_installed_path(path: &str) -> (Registry, TestEnvironment) {
    let registry = Registry::start();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("acme/delta", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("acme/delta", "2.0.0")
        .platforms(["linux_amd64"])
        .done();
    let environment = TestEnvironment::with_registry(&registry);
    publish(&environment, "", "v0.1.0");
    for version in ["1", "2"] {
        environment.write(
            environment.root().join("work/part/main.tf"),
            requires("acme/delta", &format!("~> {version}.0")),
        );
        publish(
            &environment,
            &requires("acme/gamma", &format!("~> 1.{version}")),
            &format!("v{version}.0.0"),
        );
    }
    environment.write(
        "a.tf",
        format!("module \"part\" {{\n  source = \"{path}\"\n}}\n"),
    );
    call_whole(&environment, "v1.0.0");
    (registry, environment)
}

fn call_whole(environment: &TestEnvironment, tag: &str) {
    let repository = environment.root().join("modules.git");
    let source = format!("git::file://{}//network?ref={tag}", repository.display());
    environment.write(
        "b.tf",
        format!("module \"whole\" {{\n  source = \"{source}\"\n}}\n"),
    );
}

const PART: &str = "./.terraform/modules/whole/part";

#[test]
fn a_module_is_called_by_the_directory_where_another_call_is_installed() {
    let (_registry, environment) = called_by_installed_path(PART);
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + acme/delta   1.0.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
  + acme/gamma   1.5.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 2 providers for linux_amd64 (2 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    environment
        .provlock(["verify"])
        .assert_code(0)
        .assert_lacks("module-not-installed");
    environment
        .provlock(["tree"])
        .assert_code(0)
        .assert_stdout_has("module.part");

    // A module of the repository calls it, too; and nothing else in the package may be called.
    environment.write(
        "a.tf",
        "module \"own\" {\n  source = \"./modules/own\"\n}\n",
    );
    environment.write(
        "modules/own/main.tf",
        format!("module \"part\" {{\n  source = \"../.{PART}\"\n}}\n"),
    );
    environment
        .provlock(["lock", "-p", "linux_amd64", "--check"])
        .assert_code(0)
        .assert_stderr_has("Up to date");
    environment.write(
        "modules/own/main.tf",
        format!("module \"part\" {{\n  source = \"../.{PART}s\"\n}}\n"),
    );
    let missing = environment.provlock(["lock", "-p", "linux_amd64"]);
    missing
        .assert_code(2)
        .assert_stderr_has("has no directory \"parts\"")
        .assert_stderr_has("modules/own/main.tf:2:12");
}

#[test]
fn the_directory_of_an_installed_call_is_read_only_while_its_call_is_what_was_installed() {
    let (_registry, environment) = called_by_installed_path(PART);
    let installed = |tag: &str| {
        let repository = environment.root().join("modules.git");
        let source = format!("git::file://{}//network?ref={tag}", repository.display());
        let list = format!(
            "{{\"Modules\":[{{\"Key\":\"\",\"Source\":\"\",\"Dir\":\".\"}},\
             {{\"Key\":\"part\",\"Source\":\"{PART}\",\"Dir\":\".terraform/modules/whole/part\"}},\
             {{\"Key\":\"whole\",\"Source\":\"{source}\",\"Dir\":\".terraform/modules/whole/network\"}}]}}"
        );
        environment.write(".terraform/modules/modules.json", list);
        environment.write(
            ".terraform/modules/whole/network/main.tf",
            requires("acme/gamma", "~> 1.0"),
        );
        environment.write(
            ".terraform/modules/whole/part/main.tf",
            requires("acme/delta", "~> 1.0"),
        );
    };
    let constraints = || {
        environment
            .provlock(["lock", "-p", "linux_amd64"])
            .assert_code(0);
        let lock_file = environment.lock_file();
        std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
        let line = |start: &str| {
            lock_file
                .lines()
                .find(|line| line.contains(start))
                .unwrap_or_default()
                .to_owned()
        };
        line("~> 2.0") + &line("~> 1.0")
    };
    installed("v1.0.0");
    assert_eq!(
        constraints().trim(),
        "constraints = \"~> 1.0\"",
        "as installed"
    );
    call_whole(&environment, "v2.0.0");
    assert_eq!(
        constraints().trim(),
        "constraints = \"~> 2.0\"",
        "as called"
    );
    installed("v2.0.0");
    assert_eq!(
        constraints().trim(),
        "constraints = \"~> 1.0\"",
        "as installed again"
    );
    std::fs::remove_dir_all(environment.project().join(".terraform/modules/whole/part")).unwrap();
    let missing = environment.provlock(["lock", "-p", "linux_amd64"]);
    missing
        .assert_code(2)
        .assert_stderr_has("module \"part\" from \"./.terraform/modules/whole/part\"");
}

#[test]
fn a_module_that_is_called_by_an_installed_path_is_installed_with_the_package() {
    let (_registry, environment) = called_by_installed_path(PART);
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    let locked = environment.read(".modules.lock.hcl");
    assert_eq!(locked.matches("module \"").count(), 1, "{locked}");
    assert!(
        environment.lock_file().contains("acme/delta"),
        "{}",
        environment.lock_file()
    );
    environment
        .provlock(["get"])
        .assert_code(0)
        .assert_stderr_has("Installed 1 module: whole");
    let list = environment.read(".terraform/modules/modules.json");
    let part =
        format!(r#"{{"Key":"part","Source":"{PART}","Dir":".terraform/modules/whole/part"}}"#);
    assert!(list.contains(&part), "{list}");
    environment.provlock(["get", "--check"]).assert_code(0);
    environment
        .provlock(["verify", "--installed"])
        .assert_lacks("module-");
    environment
        .provlock(["upgrade", "--modules", "--check"])
        .assert_lacks("module.part");
}

#[test]
fn a_call_by_an_installed_path_is_not_pinned_and_stops_no_other() {
    let (_registry, environment) = called_by_installed_path(PART);
    environment
        .provlock(["pin"])
        .assert_code(0)
        .assert_lacks("module-not-installed");
    let pinned = environment.read("b.tf");
    assert!(pinned.contains("# v1.0.0"), "{pinned}");
    assert_eq!(
        environment.read("a.tf"),
        format!("module \"part\" {{\n  source = \"{PART}\"\n}}\n")
    );
}

#[test]
fn a_unit_calls_a_module_by_the_directory_where_another_call_is_installed() {
    let (_registry, environment) = called_by_installed_path(PART);
    for file in ["a.tf", "b.tf"] {
        environment.write(format!("modules/m/{file}"), environment.read(file));
        std::fs::remove_file(environment.project().join(file)).unwrap();
    }
    environment.write(
        "unit/terragrunt.hcl",
        "terraform {\n  source = \"../modules//m\"\n}\n",
    );
    environment
        .provlock(["lock", "-p", "linux_amd64", "unit"])
        .assert_code(0);
    let lock_file = environment.read("unit/.terraform.lock.hcl");
    assert!(
        lock_file.contains("acme/delta") && lock_file.contains("acme/gamma"),
        "{lock_file}"
    );
}

#[test]
fn a_path_below_the_installed_modules_leads_to_a_package_of_another_call_only() {
    for (path, message) in [
        (
            "./.terraform/modules/none/part",
            "module \"part\" from \"./.terraform/modules/none/part\" is not installed",
        ),
        (
            "./.terraform/modules/part",
            "module \"part\" from \"./.terraform/modules/part\" is not installed",
        ),
        (
            "./.terraform/modules/loop/part",
            "2 modules are not installed",
        ),
        (
            "./.terraform/modules",
            "module \"part\" from \"./.terraform/modules\" is not installed",
        ),
        (
            "./.terraform/modules/whole/../none",
            "module \"part\" from \"./.terraform/modules/whole/../none\"",
        ),
        (
            "./.terraform/modules/whole/../../../other",
            "module \"part\" is in other, which does not exist",
        ),
        (
            "./.terraform/modules/whole/.git",
            "has no directory \".git\"",
        ),
    ] {
        let (_registry, environment) = called_by_installed_path(path);
        if path.contains("loop") {
            environment.write(
                "c.tf",
                "module \"loop\" {\n  source = \"./.terraform/modules/part\"\n}\n",
            );
        }
        let output = environment.provlock(["lock", "-p", "linux_amd64"]);
        let text = output
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            output.code == Some(2) && text.contains(message),
            "{path}: {output}"
        );
        assert!(!environment.has_lock_file(), "{path}");
    }
}
