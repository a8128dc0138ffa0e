//! Addresses of modules that a pull request chooses: they send no secret, read no file of this
//! machine, and are shown without the secrets in them.

use super::modules::publish;
use provlock_test::archive::{self, Packing};
use provlock_test::{Authority, Registry, Request, Response, Server, TestEnvironment, survived};
use serde_json::json;

/// Variables of CI's environment and sensitive values must not become part of an address that a
/// pull request chooses.
#[test]
fn no_variable_is_carried_away_in_the_address_of_a_module() {
    const SECRET: &str = "correct-horse-battery";
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let host = server.local_addr().unwrap();
    let sources = [
        format!("https://{host}/${{var.s}}.zip"),
        format!("git::http://{host}/${{var.s}}.git"),
        format!("http://{host}/a.zip?${{upper(local.s)}}"),
        format!("git::ssh://git@{host}/${{trimspace(var.s)}}.git"),
        format!("http://${{var.s}}@{host}/a.zip"),
        format!("http://{host}/${{var.s == \"x\" ? \"a\" : \"b\"}}.zip"),
    ];
    let call = |source: &str| format!("module \"m\" {{\n  source = \"{source}\"\n}}\n");
    let plain = "variable \"s\" {}\nlocals {\n  s = var.s\n}\n";
    let sensitive = "variable \"s\" {\n  sensitive = true\n}\nlocals {\n  s = var.s\n}\n";
    let ephemeral = sensitive.replace("sensitive", "ephemeral");
    let mut projects: Vec<(String, String)> = Vec::new();
    for source in &sources {
        projects.push((plain.to_owned() + &call(source), String::new()));
        projects.push((sensitive.to_owned() + &call(source), String::new()));
        projects.push((ephemeral.clone() + &call(source), String::new()));
        // Through the argument of a called module.
        let through =
            format!("{plain}module \"a\" {{\n  source = \"./called\"\n  s = local.s\n}}\n");
        projects.push((through, plain.to_owned() + &call(source)));
    }
    // By the choice of a module whose own call is plain.
    let chosen = call(&format!("http://{host}/a.zip"));
    projects.push((
        plain.to_owned() + &call("./${var.s == \"\" ? \"other\" : \"called\"}"),
        chosen,
    ));
    let number = projects.len();
    for (main, called) in projects {
        let mut environment = TestEnvironment::new();
        environment.write("main.tf", &main);
        environment.write("called/main.tf", &called);
        environment.set("TF_DATA_DIR", "data");
        let flag = format!("s={SECRET}");
        let is_sensitive = main.contains(" = true");
        for command in [
            &["lock"][..],
            &["upgrade"],
            &["verify", "--online"],
            &["tree", "--online"],
        ] {
            let command = environment.command(
                command.iter().copied().chain(
                    is_sensitive
                        .then_some(["--var", &flag])
                        .into_iter()
                        .flatten(),
                ),
            );
            let from_environment = if is_sensitive {
                command
            } else {
                command.env("TF_VAR_s", SECRET)
            };
            let output = from_environment.run();
            output.assert_lacks(SECRET);
            let shown = output.stdout.clone() + &output.stderr;
            assert!(shown.contains("the variable \"s\" is"), "{main}{output}");
            let connection = server.accept().map(|_| ()).unwrap_err();
            assert_eq!(
                connection.kind(),
                std::io::ErrorKind::WouldBlock,
                "{main}{output}"
            );
        }
    }
    survived("a variable of CI in the address of a module", number);
}

#[test]
fn a_value_that_the_user_names_may_be_part_of_an_address() {
    let environment = TestEnvironment::new();
    let main =
        "variable \"s\" {}\nmodule \"m\" {\n  source = \"git::file:///nowhere/${var.s}\"\n}\n";
    environment.write("main.tf", main);
    environment
        .provlock(["lock", "--var", "s=abc"])
        .assert_code(2)
        .assert_stderr_has("/nowhere/abc");
    environment.write("terraform.tfvars", "s = \"def\"\n");
    environment
        .provlock(["lock"])
        .assert_code(2)
        .assert_stderr_has("/nowhere/def");
    let local = "variable \"s\" {}\nmodule \"m\" {\n  source = \"./${var.s}\"\n}\n";
    environment.write("main.tf", local);
    environment.write("def/main.tf", "");
    environment
        .command(["lock"])
        .env("TF_VAR_s", "def")
        .run()
        .assert_code(0);
}

/// An address that is wholly a variable of the environment is its owner's choice, not that of the
/// configuration's author. It is not shown.
#[test]
fn a_variable_of_the_environment_may_be_a_whole_address_unless_it_is_secret() {
    let environment = TestEnvironment::new();
    let lock = |declaration: &str, source: &str, value: &str| {
        let call =
            format!("variable \"s\" {{{declaration}}}\nmodule \"m\" {{\n  source = {source}\n}}\n");
        environment.write("main.tf", call);
        environment.command(["lock"]).env("TF_VAR_s", value).run()
    };
    let address = "git::file:///nowhere/abc";
    let output = lock("", "var.s", address);
    output
        .assert_code(2)
        .assert_stderr_has("cannot get")
        .assert_lacks("nowhere")
        .assert_lacks("abc");
    for (declaration, source, value) in [
        ("sensitive = true", "var.s", address),
        ("", "\"${var.s}.git\"", address),
        ("", "[var.s][0]", address),
        ("", "var.s", "correct-horse-battery"),
    ] {
        let output = lock(declaration, source, value);
        output
            .assert_code(2)
            .assert_stderr_has("the variable \"s\" is")
            .assert_lacks("cannot get");
        output.assert_lacks("correct-horse");
    }
}

/// Values of `TF_VAR_*` in the sources of modules, in every form of address.
#[test]
fn no_value_of_the_environment_in_the_source_of_a_module_is_shown() {
    const SECRET: &str = "hunter2hunter2";
    let addresses = [
        ("var.s", "https://127.0.0.1:1/SECRET.zip"),
        ("var.s", "https://127.0.0.1:1/a.zip//SECRET"),
        ("var.s", "https://127.0.0.1:1/a.zip?ref=SECRET"),
        ("var.s", "https://127.0.0.1:1/a.zip#SECRET"),
        ("var.s", "git::https://127.0.0.1:1/SECRET/a.git?ref=v1"),
        ("var.s", "git::https://127.0.0.1:1/a.git?ref=SECRET"),
        ("var.s", "git::ssh://SECRET@127.0.0.1:1/a.git"),
        ("var.s", "git::file:///nowhere/SECRET"),
        ("var.s", "acme/SECRET/aws"),
        ("var.s", "127.0.0.1/SECRET/net/aws"),
        ("var.s", "./SECRET"),
        ("var.s", "SECRET"),
        ("\"./${var.s}\"", "SECRET"),
        ("\"./a/${var.s}/b\"", "SECRET"),
        ("\"./${upper(var.s)}\"", "SECRET"),
        ("\"git::https://127.0.0.1:1/${var.s}.git\"", "SECRET"),
    ];
    let commands = [
        &["lock", "-vv"][..],
        &["verify", "--json"],
        &["verify", "--format", "sarif"],
        &["upgrade", "--format", "markdown"],
        &["tree", "-r", "--format", "html"],
    ];
    for (source, value) in addresses {
        let environment = TestEnvironment::new();
        environment.write_lock_file("");
        environment.write(
            "main.tf",
            format!("variable \"s\" {{}}\nmodule \"m\" {{\n  source = {source}\n}}\n"),
        );
        for command in commands {
            let run = environment
                .command(command.iter().copied())
                .env("TF_VAR_s", value.replace("SECRET", SECRET));
            let output = run.run();
            output
                .assert_lacks(SECRET)
                .assert_lacks(&SECRET.to_uppercase());
            assert!(!format!("{}{}", output.stdout, output.stderr).is_empty());
        }
    }
    survived(
        "a secret in the source of a module",
        addresses.len() * commands.len(),
    );
}

/// git takes the host of such an address for a directory, and its errors quote the file that it
/// finds.
#[test]
fn addresses_on_this_machine_end_at_the_repository() {
    let environment = TestEnvironment::new();
    std::fs::create_dir(environment.project().join(".git")).unwrap();
    let secret = environment.root().join("secret");
    std::fs::write(&secret, "gitdir: correct-horse-battery\n").unwrap();
    std::fs::create_dir(environment.root().join("more.git")).unwrap();
    let root = environment.root().to_str().unwrap().to_owned();
    let sources = [
        format!("git::file://{root}/secret"),
        format!("git::file://x{root}/secret"),
        format!("git::file://%w{root}/secret"),
        format!("file://%w{root}/secret"),
        format!("%w{root}/secret"),
        format!("git::%w{root}/secret"),
        format!("git::{root}/secret"),
        format!("{root}/secret"),
        format!("git::file://{root}/more"),
        format!("git::file://{root}/project/../secret"),
        format!("git::file://{root}/project/%2e%2e/secret"),
        format!("git::FILE://{root}/secret"),
        "../secret".to_owned(),
    ];
    for source in &sources {
        environment.write(
            "main.tf",
            format!("module \"m\" {{\n  source = \"{source}\"\n}}\n"),
        );
        environment.write(
            "live/terragrunt.hcl",
            format!("terraform {{\n  source = \"{source}\"\n}}\n"),
        );
        environment.write("live/.terraform.lock.hcl", "");
        for arguments in [
            &["verify", "--online"][..],
            &["verify", "-r", "--online"],
            &["verify", "--online", "live"],
        ] {
            let output = environment.provlock(arguments);
            output.assert_lacks("horse");
            assert!(
                !format!("{output}").contains("git could not"),
                "{source}: {output}"
            );
        }
    }
    survived(
        "an address of a module that leads to files of the machine",
        sources.len() * 3,
    );
}

#[test]
fn a_package_on_this_machine_must_have_the_checksum_in_its_address() {
    let (_registry, environment) = Registry::with_project();
    let files = [("main.tf".to_owned(), b"locals {}\n".to_vec())];
    environment.write("site.zip", archive::pack(&files, Packing::Deflated));
    environment.write("site/main.tf", "locals {}\n");
    let project = environment.project().display().to_string();
    let wrong = "0".repeat(64);
    for (source, message) in [
        (
            format!("{project}/site.zip?checksum=sha256:{wrong}"),
            format!("not {wrong}"),
        ),
        (
            format!("file://{project}/site.zip?checksum={wrong}"),
            format!("not {wrong}"),
        ),
        (
            format!("{project}/site?checksum={wrong}"),
            "which only an archive can have".to_owned(),
        ),
        (
            format!("{project}/site.zip?archive=false"),
            "neither a directory nor an archive".to_owned(),
        ),
    ] {
        environment.write(
            "main.tf",
            format!("module \"m\" {{\n  source = \"{source}\"\n}}\n"),
        );
        for arguments in [&["lock"][..], &["lock", "--modules"]] {
            environment
                .provlock(arguments)
                .assert_code(2)
                .assert_stderr_has(&message);
            assert!(
                !environment.project().join(".terraform.lock.hcl").exists(),
                "{source}"
            );
            assert!(
                !environment.project().join(".modules.lock.hcl").exists(),
                "{source}"
            );
        }
        environment
            .provlock(["verify"])
            .assert_stdout_has("module-not-installed")
            .assert_lacks("OK:");
    }
}

/// The author of a fetched module chooses its calls, so they must not lead to this machine, locked
/// or not.
#[cfg(unix)]
#[test]
fn a_locked_module_calls_nothing_on_this_machine() {
    let call = |source: &str| format!("module \"x\" {{\n  source = \"{source}\"\n}}\n");
    let archive = |configuration: &str| {
        archive::pack(
            &[("main.tf".to_owned(), configuration.as_bytes().to_vec())],
            Packing::Deflated,
        )
    };
    let hosted = |name: &str| format!("https://registry.opentofu.org/{name}");
    let (registry, environment) = Registry::with_project();
    publish(&environment, "locals {}\n", "v1.0.0");
    let root = environment.root().to_str().unwrap().to_owned();
    std::fs::create_dir(environment.root().join("outside")).unwrap();
    std::fs::write(environment.root().join("outside/main.tf"), "locals {}\n").unwrap();
    std::fs::write(
        environment.root().join("outside.zip"),
        archive("locals {}\n"),
    )
    .unwrap();
    std::os::unix::fs::symlink("outside", environment.root().join("link")).unwrap();
    let sources = [
        format!("git::file://{root}/modules.git?ref=v1.0.0"),
        format!("git::FILE://{root}/modules.git//network?ref=v1.0.0"),
        format!("git::{root}/modules.git"),
        format!("{root}/modules.git"),
        format!("file://{root}/outside.zip"),
        format!("{root}/outside.zip"),
        format!("{root}/outside"),
        format!("{root}/link"),
    ];
    for source in &sources {
        // By the package that the user calls, and by one behind that.
        for outer in [call(source), call(&hosted("middle.zip"))] {
            registry.serve("/outer.zip", archive(&outer));
            registry.serve("/middle.zip", archive(&call(source)));
            environment.write("main.tf", call(&hosted("outer.zip")));
            for arguments in [
                &["lock", "--modules"][..],
                &["lock", "--modules", "--json"],
                &["lock"],
            ] {
                let output = environment.provlock(arguments.iter().chain(&["--no-cache"]));
                output.assert_code(2);
                let shown = output.stdout.clone() + &output.stderr;
                assert!(
                    shown.contains("is fetched, and may not call"),
                    "{source}: {output}"
                );
                assert!(
                    !environment.project().join(".modules.lock.hcl").exists(),
                    "{source}: {output}"
                );
            }
        }
    }
    survived(
        "an address of a module that leads to files of the machine",
        sources.len() * 6,
    );
}

#[test]
fn no_secret_gets_into_the_lock_file_of_modules() {
    const SECRET: &str = "hunter2hunter2";
    let module = [("main.tf".to_owned(), Vec::new())];
    let archive = archive::pack(&module, Packing::Deflated);
    let (registry, environment) = Registry::with_project();
    let located = format!("https://mirror.example.com/a.zip?archive=zip&X-Amz-Signature={SECRET}");
    registry.serve("/a.zip", archive);
    registry.serve(
        "/moved",
        format!("<html><head><meta name=\"terraform-get\" content=\"{located}\"></head></html>"),
    );
    let sources = [
        "https://mirror.example.com/a.zip?token=SECRET",
        "https://mirror.example.com/a.zip?SECRET",
        "https://mirror.example.com/a.zip?archive=zip&X-Amz-Signature=SECRET",
        "https://mirror.example.com/a.zip?checksum=file:https://u:SECRET@mirror.example.com/sums",
        "git::https://mirror.example.com/a.git?ref=v1&private_token=SECRET",
        "git::https://mirror.example.com/a.git//sub?access_token=SECRET&ref=v1",
        "https://mirror.example.com/moved",
    ];
    for source in sources {
        let source = source.replace("SECRET", SECRET);
        environment.write(
            "main.tf",
            format!("module \"m\" {{\n  source = \"{source}\"\n}}\n"),
        );
        for command in [
            &["lock", "--modules"][..],
            &["lock", "--modules", "--dry-run"],
            &["lock", "--modules", "--json"],
        ] {
            let output = environment.provlock(command);
            output.assert_code(2).assert_lacks(SECRET);
            let shown = output.stdout.clone() + &output.stderr;
            assert!(
                shown.contains("a parameter that may be a secret") && shown.contains("~/.netrc"),
                "{source} {output}"
            );
            assert!(!environment.project().join(".modules.lock.hcl").exists());
        }
    }
    environment.write(
        "main.tf",
        "module \"m\" {\n  source = \"https://mirror.example.com/a.zip?archive=zip\"\n}\n",
    );
    environment.provlock(["lock", "--modules"]).assert_code(0);
    survived("a secret in the source of a module", sources.len() * 3);
}

/// Sources of modules that contain a secret, for which `SECRET` stands, each in a form that no
/// output may repeat.
const SOURCES_WITH_SECRETS: [&str; 31] = [
    "git::https://user:SECRET@127.0.0.1:1/a.git",
    "git::https://SECRET@127.0.0.1:1/a.git?ref=v1",
    "git::https://SECRET:x-oauth-basic@127.0.0.1:1/a.git",
    "git::https://oauth2:SECRET@127.0.0.1:1/a.git//sub?ref=v1",
    "https://user:SECRET@127.0.0.1:1/a.zip",
    "https://SECRET@127.0.0.1:1/a.zip",
    "HTTPS://SECRET@127.0.0.1:1/a.zip",
    "https://127.0.0.1:1/a.zip?token=SECRET",
    "https://127.0.0.1:1/a.zip?SECRET",
    "https://127.0.0.1:1/a.zip?archive=zip&X-Amz-Signature=SECRET",
    "https://127.0.0.1:1/a.zip?checksum=file:https://u:SECRET@127.0.0.1:1/sums",
    "git::ssh://user:SECRET@127.0.0.1:1/a.git",
    "git::ssh://git@127.0.0.1:1/a.git?sshkey=SECRET",
    "git::git@127.0.0.1:a.git?sshkey=SECRET&ref=v1",
    "github.com/a/b?sshkey=SECRET",
    "s3::https://s3.amazonaws.com/b/a.zip?aws_access_key_id=AKIA&aws_access_key_secret=SECRET&\
     aws_access_token=SECRET",
    "hg::https://user:SECRET@127.0.0.1:1/a",
    "gcs::https://u:SECRET@www.googleapis.com/storage/v1/b/a.zip",
    "oci://127.0.0.1:1/a?tag=v1&token=SECRET",
    "git::https://user:${\"SECRET\"}@127.0.0.1:1/a.git",
    "git::https://user:${local.s}@127.0.0.1:1/a.git",
    "x y https://user:SECRET@127.0.0.1:1/a",
    "https://127.0.0.1:1/a.zip#SECRET",
    "git::https://127.0.0.1:1/a.git?ref=v1#SECRET",
    "git::git@127.0.0.1:a.git#SECRET",
    "github.com/a/b#SECRET",
    "git::ssh://SECRET@127.0.0.1:1/a.git",
    "ssh://SECRET@127.0.0.1:1/a.git",
    "git::ssh://SECRET:x@127.0.0.1:1/a.git",
    "git::SECRET@127.0.0.1:a.git",
    "SECRET@127.0.0.1:a.git",
];

#[test]
fn no_secret_in_the_source_of_a_module_is_shown() {
    const SECRET: &str = "hunter2hunter2";
    let mut leaks = Vec::new();
    let mut runs = 0;
    for source in SOURCES_WITH_SECRETS {
        let source = source.replace("SECRET", SECRET);
        let call = format!(
            "module \"m\" {{
  {}source = \"{source}\"
}}
",
            "/* long */ ".repeat(200)
        );
        let json = json!({ "module": { "m": { "source": source } } }).to_string();
        let files = [
            ("main.tf", call),
            ("main.tf.json", json.replace('/', "\\/")),
            (
                "terragrunt.hcl",
                format!("terraform {{\n  source = \"{source}\"\n}}\n"),
            ),
        ];
        for (file, text) in files {
            let environment = TestEnvironment::new();
            environment.write(file, text);
            environment.write("provlock.toml", "[policy]\npin-modules = true\n");
            environment.write_lock_file("");
            if source.contains("local.s") {
                environment.write("terraform.tfvars", format!("s = \"{SECRET}\"\n"));
                environment.write("locals.tf", "variable \"s\" {}\nlocals {\n  s = var.s\n}\n");
            }
            let all = [
                &["verify", "--json"][..],
                &["lock", "-vv", "--offline"],
                &["tree", "--json"],
                &["verify"],
                &["verify", "--format", "sarif"],
                &["verify", "--format", "github", "-r"],
                &["upgrade", "--dry-run", "--offline"],
            ];
            // The syntax of the file makes no difference to how a source is printed.
            let commands = if file == "main.tf" {
                &all[..]
            } else {
                &all[..3]
            };
            for &arguments in commands {
                let output = environment.provlock(arguments);
                let shown = format!("{}{}", output.stdout, output.stderr);
                assert!(
                    !shown.is_empty() && matches!(output.code, Some(0..=2)),
                    "{arguments:?}: {output}"
                );
                if shown.contains(SECRET) {
                    leaks.push(format!("{source} in {file}: {arguments:?}\n{output}"));
                }
                runs += 1;
            }
        }
    }
    assert!(
        leaks.is_empty(),
        "{} of {runs}:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
    survived("a secret in the source of a module", runs);
}

/// Git follows where the server of a repository leads it.
#[test]
fn a_git_server_does_not_lead_to_a_connection_that_anybody_can_read() {
    let authority = Authority::new();
    let plain = Server::http(|_| Response::not_found());
    let encrypted = Server::https(&authority, |_| Response::not_found());
    let redirect = |target: String| {
        move |request: &Request| Response::redirect(target.clone() + &request.target)
    };
    let to_plain = Server::https(&authority, redirect(format!("http://{}", plain.host())));
    let to_encrypted = Server::https(
        &authority,
        redirect(format!("https://{}", encrypted.host())),
    );
    let plain_to_plain = Server::http(redirect(format!("http://{}", plain.host())));
    let over_both = Server::https(&authority, redirect(format!("https://{}", to_plain.host())));
    let mut environment = TestEnvironment::new();
    let certificate = environment.write("../authority.pem", authority.pem());
    environment.set("GIT_SSL_CAINFO", certificate);
    for variable in ["NO_PROXY", "no_proxy"] {
        environment.set(variable, "127.0.0.1");
    }
    let asked = |server: &Server| server.requests().len();
    let cases = [
        ("https", &to_plain, &plain, false),
        ("https", &over_both, &plain, false),
        ("https", &to_encrypted, &encrypted, true),
        ("http", &plain_to_plain, &plain, true),
    ];
    let commands = [&["lock"][..], &["upgrade"], &["tree", "--online"]];
    for (scheme, from, to, follows) in cases {
        for reference in ["", "?ref=v1", "?ref=x~0"] {
            let source = format!("git::{scheme}://{}/m.git{reference}", from.host());
            environment.write(
                "main.tf",
                format!("module \"m\" {{\n  source = \"{source}\"\n}}\n"),
            );
            for command in commands {
                let before = (asked(from), asked(to));
                let output = environment.provlock(command);
                output.assert_stderr_has("cannot get the module package");
                assert!(asked(from) > before.0, "{source}: {output}");
                assert_eq!(asked(to) > before.1, follows, "{source}: {output}");
            }
        }
    }
    // The user's configuration of git may lead to plain HTTP, although a server may not.
    environment.set("GIT_CONFIG_COUNT", "1");
    environment.set(
        "GIT_CONFIG_KEY_0",
        format!("url.http://{}/.insteadOf", plain.host()),
    );
    environment.set("GIT_CONFIG_VALUE_0", "https://git.test/");
    environment.write(
        "main.tf",
        "module \"m\" {\n  source = \"git::https://git.test/mine.git\"\n}\n",
    );
    environment.provlock(["lock"]).assert_code(2);
    assert!(
        plain
            .requests()
            .iter()
            .any(|request| request.target.starts_with("/mine.git"))
    );
    survived(
        "a redirect of a git server to a connection that is not encrypted",
        2 * 3 * commands.len(),
    );
}

/// Nor does a server that says where a module is: a download that began over TLS goes on over TLS.
#[test]
fn a_server_does_not_lead_to_a_connection_that_anybody_can_read() {
    let (registry, environment) = Registry::with_project();
    environment.write(
        "main.tf",
        "module \"m\" {\n  source = \"https://registry.example.com/moved\"\n}\n",
    );
    let targets = [
        "http://h.test/a.zip",
        "git::http://h.test/a.git",
        "git::git://h.test/a.git",
    ];
    for target in targets {
        registry.serve(
            "/moved",
            format!("<html><head><meta name=\"terraform-get\" content=\"{target}\"></head></html>"),
        );
        for command in [
            &["lock", "-p", "linux_amd64"][..],
            &["lock", "--modules", "-p", "linux_amd64"],
            &["tree", "--online"],
        ] {
            let output = environment.provlock(command);
            let shown = output.stdout.clone() + &output.stderr;
            assert!(shown.contains("is not an https URL"), "{target}: {output}");
        }
    }
    survived(
        "a redirect of a server to a connection that is not encrypted",
        targets.len() * 3,
    );
}
