//! A mirror of the fifty providers that lock files name most often, for root modules of both
//! dialects.

#[cfg(unix)]
use std::process::Command;
use std::time::Duration;

use super::super::lock::lock_file;
use super::{has, package};
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{Fault, TestEnvironment, Times, survived, url};

const MIRROR_ALL: [&str; 5] = ["mirror", "mirror", "-r", "-p", "linux_amd64"];
/// In 949 lock files of public repositories: their addresses, and the versions that are locked most
/// often.
const PROVIDERS: &str = include_str!("common_providers.txt");

/// The providers made up in a registry, and two root modules that lock them.
fn fleet() -> (Registry, TestEnvironment, Vec<Published>) {
    let (registry, environment) = Registry::with_project();
    let publish = |line: &str| {
        let (address, version) = line.split_once(' ').unwrap();
        registry
            .publish(address, version)
            .platforms(["linux_amd64"])
            .size(50_000)
            .done()
    };
    let providers: Vec<_> = PROVIDERS.lines().map(publish).collect();
    for (root, host) in [
        ("tofu", "registry.opentofu.org/"),
        ("terraform", "registry.terraform.io/"),
    ] {
        let locked = providers
            .iter()
            .filter(|provider| provider.address.starts_with(host));
        let entries: Vec<_> = locked
            .map(|provider| provider.entry_for("", &["linux_amd64"]))
            .collect();
        environment.write(
            format!("{root}/main.tf"),
            "terraform {\n  backend \"s3\" {}\n}\n",
        );
        environment.write(format!("{root}/.terraform.lock.hcl"), lock_file(&entries));
    }
    (registry, environment, providers)
}

/// Lets the packages of these providers arrive slowly.
fn slow_down(registry: &Registry, providers: &[Published]) {
    for provider in providers {
        let slow = Fault::SlowBody {
            pause: Duration::from_millis(500),
        };
        let file = format!("*/{}", provider.packages["linux_amd64"].filename);
        registry.fault(&file, Times::Always, slow);
    }
}

/// The packages that are there, which are whole.
fn there(environment: &TestEnvironment, providers: &[Published]) -> usize {
    let there = providers
        .iter()
        .filter(|provider| package(environment, provider, "linux_amd64").exists());
    let there: Vec<_> = there.collect();
    assert!(
        there
            .iter()
            .all(|provider| has(environment, provider, "linux_amd64"))
    );
    there.len()
}

#[test]
fn a_second_run_downloads_nothing_and_a_tampered_file_is_replaced() {
    let (registry, environment, providers) = fleet();
    environment
        .provlock(MIRROR_ALL)
        .assert_code(0)
        .assert_stderr_has("Mirrored 50 packages of 50 providers in mirror");
    assert_eq!(
        (
            there(&environment, &providers),
            registry.requests_to(url::PACKAGE)
        ),
        (50, 50)
    );

    registry.reset_statistics();
    environment
        .provlock(MIRROR_ALL)
        .assert_code(0)
        .assert_stderr_has("Up to date: 50 packages of 50 providers");
    assert_eq!(registry.requests().len(), 0);

    std::fs::write(
        package(&environment, &providers[17], "linux_amd64"),
        "tampered",
    )
    .unwrap();
    environment
        .provlock(MIRROR_ALL)
        .assert_code(0)
        .assert_stderr_has("1 of them replaced another file");
    assert_eq!(
        (
            there(&environment, &providers),
            registry.requests_to(url::PACKAGE)
        ),
        (50, 1)
    );
}

#[cfg(unix)]
#[test]
fn a_run_that_is_interrupted_leaves_no_part_of_a_package() {
    let (registry, environment, providers) = fleet();
    slow_down(&registry, &providers[9..]);
    let mut run = environment.command(MIRROR_ALL).spawn();
    provlock_test::run_until(&mut run, || there(&environment, &providers) >= 9);
    let process = run.id().to_string();
    let sent = Command::new("kill").args(["-INT", &process]).status();
    assert!(sent.unwrap().success());
    let status = provlock_test::wait(&mut run);
    assert!(!status.success(), "the run was over before");
    for provider in &providers {
        for name in super::names(&environment, &format!("mirror/{}", provider.address)) {
            assert!(!name.contains(".provlock-"), "{name} is left");
        }
    }
    survived("a run that is killed", 1);
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    const KILLS: usize = 5;
    let (registry, environment, providers) = fleet();
    let mut seen = 0;
    for kill in 1..=KILLS {
        registry.clear_faults();
        // Each run gets some packages more, and is killed while others arrive.
        slow_down(&registry, &providers[kill * 9..]);
        let mut run = environment.command(MIRROR_ALL).spawn();
        provlock_test::run_until(&mut run, || there(&environment, &providers) >= kill * 9);
        run.kill().unwrap();
        provlock_test::wait(&mut run);
        let there = there(&environment, &providers);
        assert!(
            there >= kill * 9 && there >= seen,
            "{there} packages after {kill} runs"
        );
        seen = there;
    }
    assert!(seen < 50, "the last run was over before it was killed");
    registry.clear_faults();
    registry.reset_statistics();
    environment
        .provlock(MIRROR_ALL)
        .assert_code(0)
        .assert_stderr_has(&format!("{seen} already there"));
    assert_eq!(
        (
            there(&environment, &providers),
            registry.requests_to(url::PACKAGE)
        ),
        (50, 50 - seen)
    );
    for provider in &providers {
        let files = super::names(&environment, &format!("mirror/{}", provider.address)).len();
        assert!(
            files == 3 || cfg!(windows),
            "what killed runs have left of {} is gone",
            provider.address
        );
    }
    survived("a run that is killed", KILLS);
}
