//! State kept between runs: `lock` with a cache, `--offline`, `--trust-registry`, `provlock cache`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::json_output::validated;
use super::lock::requires;
use provlock_test::publish::{Flaw, PackagesMap};
use provlock_test::registry::{Discovery, Registry};
use provlock_test::{Fault, TestEnvironment, Times, str, url};

const LOCK: [&str; 5] = ["lock", "-p", "linux_amd64", "-p", "darwin_arm64"];
const BOTH: [&str; 2] = ["darwin_arm64", "linux_amd64"];

/// A project that requires `hashicorp/null`, published in one version.
fn project() -> (Registry, TestEnvironment) {
    let (registry, environment, _) = Registry::with_required("hashicorp/null", "3.2.4", BOTH, "");
    (registry, environment)
}

fn forget_lock_file(environment: &TestEnvironment) {
    fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
}

/// The files of the cache whose path contains the text.
pub(crate) fn cached(environment: &TestEnvironment, part: &str) -> Vec<PathBuf> {
    let output = environment.provlock(["cache", "dir"]);
    output.assert_code(0);
    let mut folders = vec![PathBuf::from(output.stdout.trim_end())];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.retain(|path| path.to_str().unwrap().contains(part));
    files
}

#[test]
fn locking_again_downloads_no_package() {
    let (registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    let expected = environment.lock_file();
    assert_eq!(
        registry.statistics().requests,
        8,
        "discovery, versions, 2 metadata, sums, signature, 2 packages"
    );
    registry.reset_statistics();

    environment.provlock(LOCK).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider for darwin_arm64 and linux_amd64
"#]]);
    assert_eq!(registry.requests_to(url::PACKAGE), 0);
    for asked in [url::VERSIONS, url::SHASUMS, url::SIGNATURE] {
        assert_eq!(registry.requests_to(asked), 1, "{asked}");
    }
    let of_one_platform = 1;
    assert_eq!(
        (
            registry.requests_to(url::DOWNLOAD),
            registry.requests_to(url::DISCOVERY)
        ),
        (of_one_platform, 0)
    );

    forget_lock_file(&environment);
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(environment.lock_file(), expected);
    assert_eq!(registry.requests_to(url::PACKAGE), 0);

    forget_lock_file(&environment);
    environment
        .provlock(LOCK.into_iter().chain(["--no-cache"]))
        .assert_code(0);
    assert_eq!(
        (
            registry.requests_to(url::PACKAGE),
            registry.requests_to(url::DISCOVERY)
        ),
        (2, 1)
    );
}

#[test]
fn a_damaged_entry_does_not_count_and_is_written_anew() {
    let (registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    let expected = environment.lock_file();
    let entries = cached(&environment, "by-");
    assert_eq!(entries.len(), 4, "by hash and by provider");
    let whole: Vec<_> = entries
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for (path, text) in entries.iter().zip(&whole) {
        fs::write(path, text.replacen("h1:", "h1:A", 1)).unwrap();
    }
    forget_lock_file(&environment);
    registry.reset_statistics();

    environment.provlock(LOCK).assert_code(0);

    assert_eq!(environment.lock_file(), expected);
    assert_eq!(registry.requests_to(url::PACKAGE), 2);
    let again: Vec<_> = entries
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(again, whole);
}

/// Only the cache says which `h1:` a package has, so an attacker who can write to it could make a
/// wrong `h1:` pass.
#[test]
fn verify_online_does_not_trust_the_cache() {
    let (_registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    let lock_file = environment.lock_file();
    let right = lock_file
        .split('"')
        .find(|text| text.starts_with("h1:"))
        .unwrap();
    let wrong = format!("h1:{}=", "A".repeat(43));
    for path in cached(&environment, "provlock-hashes-v1") {
        let text = fs::read_to_string(&path).unwrap();
        let json = text.lines().next().unwrap().replace(right, &wrong);
        let sum = provlock_test::archive::sha256(json.as_bytes());
        fs::write(&path, format!("{json}\n{sum}\n")).unwrap();
    }
    environment.write_lock_file(lock_file.replace(right, &wrong));

    let output = environment.provlock(["verify", "--online", "-p", "linux_amd64,darwin_arm64"]);

    output
        .assert_code(1)
        .assert_stdout_has("hash-not-published")
        .assert_stdout_has(&wrong);
}

#[cfg(unix)]
#[test]
fn a_cache_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_registry, environment) = project();
    let directory = environment.root().join("shared");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    let arguments = ["--cache-dir", directory.to_str().unwrap()];
    for command in [
        &["lock", "-p", "linux_amd64"][..],
        &["verify"],
        &["upgrade"],
    ] {
        let output = environment.provlock([command, &arguments].concat());
        output.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: other users can write to the cache directory [ROOT]/shared
help: remove that permission with chmod go-w, use a different directory with --cache-dir DIR, or no cache with --no-cache
"#]]);
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    environment
        .provlock([&["lock", "-p", "linux_amd64"][..], &arguments].concat())
        .assert_code(0);
    let made = fs::read_dir(&directory).unwrap().next().unwrap().unwrap();
    assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    for inner in ["provlock-hashes-v1", "provlock-hashes-v1/by-zh"] {
        let inner = directory.join(inner);
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o702)).unwrap();
        let refused = environment.provlock([&["lock", "--check"][..], &arguments].concat());
        let message = format!(
            "other users can write to the cache directory {}\n",
            inner.display()
        );
        refused.assert_code(2).assert_stderr_has(&message);
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_file_of_the_cache_that_others_can_write_to_is_missing() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    let expected = environment.lock_file();
    for path in cached(&environment, "") {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    }
    forget_lock_file(&environment);
    environment
        .provlock(LOCK.iter().chain(&["--offline"]))
        .assert_code(2);
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(environment.lock_file(), expected);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_cache_is_an_entry_that_is_missing() {
    let (_registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    let expected = environment.lock_file();
    for path in cached(&environment, "") {
        fs::remove_file(&path).unwrap();
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
    }
    forget_lock_file(&environment);
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(environment.lock_file(), expected);
    environment.provlock(["cache", "clean"]).assert_code(0);
}

#[test]
fn only_a_platform_that_is_not_remembered_is_downloaded() {
    let (registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["darwin_arm64", "linux_amd64", "windows_amd64"])
        .done();
    registry.reset_statistics();

    environment
        .provlock(LOCK.into_iter().chain(["-p", "windows_amd64"]))
        .assert_code(0);
    assert_eq!(registry.requests_to(url::PACKAGE), 1);
    let with_cache = environment.lock_file();
    forget_lock_file(&environment);
    environment
        .provlock(
            LOCK.into_iter()
                .chain(["-p", "windows_amd64", "--no-cache"]),
        )
        .assert_code(0);
    assert_eq!(with_cache, environment.lock_file());
}

#[test]
fn a_cached_hash_does_not_count_for_a_release_that_was_replaced() {
    let (registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    let old = environment.lock_file();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .size(300)
        .done();
    registry.reset_statistics();

    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the hashes of hashicorp/null 3.2.4 in the lock file differ from those published by registry.opentofu.org
 --> .terraform.lock.hcl:7:5
  |
7 |     "h1:DtNFvSSFRQfRiy/2IIgxol70KAERtZXn1/Npr/JrVvg=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ none of the 5 recorded hashes is among the published ones (signed)
  |
  = the release was replaced after it was locked, or the lock file was changed by hand or by an attacker
help: compare with the provider's release page; if the new release is right: provlock lock --accept-changed-hashes hashicorp/null
"#]]);
    assert_eq!(environment.lock_file(), old);
    assert_eq!(registry.requests_to(url::PACKAGE), 2);
}

#[test]
fn a_package_arrives_while_its_signature_is_checked_and_is_dropped_if_that_is_wrong() {
    const SIZE: usize = 2_000_000;
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .size(SIZE)
        .flaw(Flaw::BadSignature)
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    registry.fault(
        url::SIGNATURE,
        Times::Always,
        Fault::Delay(Duration::from_millis(200)),
    );
    registry.fault(
        url::PACKAGE,
        Times::Always,
        Fault::SlowBody {
            pause: Duration::from_millis(100),
        },
    );

    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[signature-invalid]: cannot authenticate registry.opentofu.org/hashicorp/null 3.2.4: the signature does not match SHA256SUMS, signing key 558D46FBE8647CB4
 |
 = checksums: https://registry.opentofu.org/files/registry.opentofu.org/hashicorp/null/3.2.4/terraform-provider-null_3.2.4_SHA256SUMS
 = signature: https://registry.opentofu.org/files/registry.opentofu.org/hashicorp/null/3.2.4/terraform-provider-null_3.2.4_SHA256SUMS.sig
help: do not use this release before the provider's author has explained this
"#]]);

    assert_eq!(registry.requests_to(url::PACKAGE), 2);
    assert!(
        registry.statistics().bytes_sent < SIZE as u64,
        "neither came whole"
    );
    assert!(!environment.has_lock_file());
    assert!(cached(&environment, "by-provider").is_empty());
}

#[test]
fn a_host_that_moved_its_service_is_found_again() {
    let (registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    let entries = cached(&environment, "discovery");
    assert_eq!(entries.len(), 1);
    let text = fs::read_to_string(&entries[0]).unwrap();
    fs::write(&entries[0], text.replace("/v1/providers/", "/formerly/")).unwrap();
    registry.reset_statistics();

    environment.provlock(LOCK).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider for darwin_arm64 and linux_amd64
"#]]);
    assert_eq!(registry.requests_to(url::DISCOVERY), 1);
    registry.reset_statistics();
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(registry.requests_to(url::DISCOVERY), 0);
}

#[test]
fn a_service_on_another_host_is_discovered_every_time() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("registry.example.com/acme/gamma", "1.0.0")
        .platforms(BOTH)
        .done();
    let service = "https://releases.example.com/via/registry.example.com/v1/providers/";
    registry.discovery(
        "registry.example.com",
        Discovery::Document(serde_json::json!({ "providers.v1": service })),
    );
    environment.write("main.tf", requires("registry.example.com/acme/gamma", ""));
    for _ in 0..2 {
        environment.provlock(LOCK).assert_code(0);
    }
    assert_eq!(registry.requests_to(url::DISCOVERY), 2);
    assert!(cached(&environment, "discovery").is_empty());
}

#[test]
fn offline_uses_what_is_known_and_says_what_is_missing() {
    let (registry, environment) = project();
    environment.provlock(LOCK).assert_code(0);
    let expected = environment.lock_file();
    registry.reset_statistics();
    let offline = |platform| environment.provlock(["lock", "--offline", "-p", platform]);

    offline("linux_amd64,darwin_arm64").matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider for darwin_arm64 and linux_amd64
"#]]);
    assert_eq!(environment.lock_file(), expected);
    let missing = offline("linux_amd64,windows_amd64");
    missing.matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-known]: registry.opentofu.org/hashicorp/null 3.2.4 for windows_amd64: the package is not in the cache of hashes
help: run the command once without --offline and with the same cache
"#]]);
    forget_lock_file(&environment);
    offline("all").matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   unauthenticated   2 h1, 2 zh
Locked 1 provider for darwin_arm64 and linux_amd64 (1 added)
The new entries contain only hashes of packages in the cache; to complete them, with network: provlock lock -p all
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    environment.provlock(["cache", "clean"]).matches(str![[r#"
exit code: 0
----- stderr -----
Removed [SIZE] from [ROOT]/home/[..]/provlock
"#]]);
    offline("all").matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-known]: no package of registry.opentofu.org/hashicorp/null 3.2.4 is in the cache of hashes
help: run the command once without --offline and with the same cache
"#]]);
    forget_lock_file(&environment);
    offline("linux_amd64").matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: no version of registry.opentofu.org/hashicorp/null is known offline
 --> main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
help: run the command once without --offline and with the same cache
"#]]);
    assert_eq!(registry.statistics().requests, 0);
    assert!(cached(&environment, "").is_empty());
}

#[test]
fn offline_refuses_an_entry_that_contradicts_the_cache() {
    let (_registry, environment) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let genuine = environment.lock_file();
    let forged = genuine.lines().map(|line| match line.split_once("\"zh:") {
        Some(_) => format!("    \"zh:{}\",\n", "0".repeat(64)),
        None if line.contains("\"h1:") => String::new(),
        None => format!("{line}\n"),
    });
    environment.write_lock_file(forged.collect::<String>());
    environment
        .provlock(["lock", "--offline", "-p", "linux_amd64"])
        .assert_code(2);
}

#[test]
fn a_trusted_registry_is_taken_at_its_word_where_it_fits_what_is_signed() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .packages(PackagesMap::Right)
        .done();
    registry
        .publish("hashicorp/random", "3.7.2")
        .platforms(BOTH)
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(LOCK.into_iter().chain(["--no-cache"]))
        .assert_code(0);
    let expected = environment.lock_file();
    assert!(expected.contains(null.h1("linux_amd64")));
    forget_lock_file(&environment);
    registry.reset_statistics();

    let output = environment.provlock(LOCK.into_iter().chain(["--trust-registry", "--json"]));
    output.matches(str![[r#"
exit code: 0
----- stdout -----
(JSON)
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   2 packages not downloaded (hashes reported by the registry), 2 h1, 3 zh
Locked 1 provider for darwin_arm64 and linux_amd64 (1 added)
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert_eq!(
        validated(&output.stdout)["roots"][0]["providers"][0]["trusted_registry"],
        true
    );
    assert_eq!(environment.lock_file(), expected);
    assert_eq!(registry.requests_to(url::PACKAGE), 0);

    forget_lock_file(&environment);
    let one = environment.provlock(["lock", "-p", "linux_amd64", "--trust-registry"]);
    one.matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 package not downloaded (hashes reported by the registry), 2 h1, 3 zh
Locked 1 provider for linux_amd64 (1 added)
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);

    // Where nothing is reported, the packages are downloaded.
    environment.write("main.tf", requires("hashicorp/random", ""));
    environment
        .provlock(LOCK.into_iter().chain(["--trust-registry"]))
        .assert_code(0);
    assert_eq!(registry.requests_to(url::PACKAGE), 2);
}

#[test]
fn a_trusted_registry_that_contradicts_what_is_signed_is_refused() {
    for map in [PackagesMap::WrongZh, PackagesMap::WithoutPlatform] {
        let (registry, environment) = Registry::with_project();
        registry
            .publish("hashicorp/null", "3.2.4")
            .platforms(BOTH)
            .packages(map)
            .done();
        environment.write("main.tf", requires("hashicorp/null", ""));
        let output = environment.provlock(LOCK.into_iter().chain(["--trust-registry"]));
        output
            .assert_code(2)
            .assert_stderr_has("error[package-not-authentic]");
        assert!(!environment.has_lock_file());
    }
}

#[test]
fn the_directory_of_the_cache_may_be_named_before_or_after_what_is_done_with_it() {
    let environment = TestEnvironment::new();
    let elsewhere = environment.project().join("elsewhere");
    let elsewhere = elsewhere.to_str().unwrap();
    for arguments in [
        ["cache", "--cache-dir", elsewhere, "dir"],
        ["cache", "dir", "--cache-dir", elsewhere],
    ] {
        let output = environment.provlock(arguments);
        assert_eq!(output.assert_code(0).stdout, format!("{elsewhere}\n"));
    }
    environment
        .provlock(["cache", "clean", "--cache-dir", elsewhere])
        .matches(str![[r#"
exit code: 0
----- stderr -----
Removed [SIZE] from [ROOT]/project/elsewhere
"#]]);
}
