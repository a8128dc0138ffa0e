//! Lock files and refusals of Terraform 1.15.5 and OpenTofu 1.12.6, recorded case by case, compared
//! with provlock's.
//!
//! `testdata/conformance.tar.xz` contains `cases/DIALECT/NAME/` with `case.json`, the directory
//! `input` and, if a lock file is written, `out.lock.hcl`; `registry/` and `modules/` are what the
//! hosts of the cases serve. To change a case:
//!
//! ```sh
//! mkdir target/conformance && tar -xJf testdata/conformance.tar.xz -C target/conformance
//! tar -C target/conformance --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
//!     -cJf testdata/conformance.tar.xz cases registry modules
//! PROVLOCK_CASES=tofu/reg- cargo test --test conformance   # cases with the text in their names
//! ```

#![cfg(target_os = "linux")]

mod compare;
mod data;
mod modules;
mod network;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use provlock_test::{Authority, Server, TestEnvironment};

use compare::{Case, Expected, LockFile};
use data::Data;
use network::Network;

const LOCK_FILE: &str = ".terraform.lock.hcl";
/// Cases that write a lock file like the recorded one byte for byte, leave it alone, write one with
/// the recorded content in the user's form, and refuse. docs/evidence.md contains their sum.
const COUNTS: [(Expected, usize); 4] = [
    (Expected::Bytes, 550),
    (Expected::Unchanged, 15),
    (Expected::Semantic, 54),
    (Expected::Error, 400),
];

/// Runs a case in a network of its own, and fails with the reason if the result is not the recorded
/// one.
fn run(case: &Case, data: &Arc<Data>, authority: &Authority) -> Result<(), String> {
    let network = Network::new(Arc::clone(data));
    let server = Server::https_for(authority, network::is_known, move |request| {
        network.answer(request)
    });
    let mut environment = TestEnvironment::new();
    let certificate = environment.write("../authority.pem", authority.pem());
    for variable in ["HTTPS_PROXY", "https_proxy"] {
        environment.set(variable, format!("http://{}", server.address()));
    }
    for variable in ["SSL_CERT_FILE", "GIT_SSL_CAINFO"] {
        environment.set(variable, &certificate);
    }
    environment.set("GIT_CONFIG_GLOBAL", "/dev/null");
    environment.set(
        "GIT_SSH_COMMAND",
        "ssh -o BatchMode=yes -o ProxyCommand=false",
    );
    environment.set("PROVLOCK_DIALECT", &case.dialect);
    let directory = environment.project();
    let in_directory = |text: &str| text.replace("{dir}", directory.to_str().unwrap());
    for (name, value) in &case.variables {
        environment.set(name, in_directory(value));
    }
    for (path, file) in data.below(&case.input()) {
        let path = environment.write(path, &file.bytes);
        if file.is_executable {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
    let lock_file = || fs::read(directory.join(LOCK_FILE)).ok();
    let before = lock_file();
    let run = || environment.provlock(case.arguments.iter().map(|argument| in_directory(argument)));
    let output = run();
    case.compare(
        data,
        &LockFile {
            before,
            after: lock_file(),
        },
        &output,
    )?;
    if case.expected == Expected::Semantic {
        let written = lock_file();
        run().assert_code(0);
        if lock_file() != written {
            return Err("the same command changes the lock file again".to_owned());
        }
    }
    case.assert_nowhere(&environment.root())
}

#[test]
fn recorded_cases_come_out_the_same() {
    let data = Arc::new(Data::read());
    let authority = Authority::new();
    let wanted = std::env::var("PROVLOCK_CASES").unwrap_or_default();
    let all = Case::all(&data);
    for (expected, count) in COUNTS {
        assert_eq!(
            all.iter().filter(|case| case.expected == expected).count(),
            count,
            "{expected:?}"
        );
    }
    let evidence =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/evidence.md")).unwrap();
    assert_eq!(all.len(), 1_019);
    assert!(
        evidence.contains("1,019 recorded"),
        "docs/evidence.md contains the number of cases"
    );

    let cases: Vec<_> = all
        .iter()
        .filter(|case| case.name().contains(&wanted))
        .collect();
    assert!(!cases.is_empty(), "no case is called {wanted}");
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // Half of them wait for the network or for git.
    let workers = 2 * thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(reason) = run(case, &data, &authority) {
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("{}: {reason}", case.name()));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(
        failures.is_empty(),
        "{} of {} cases:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// One changed byte, entry, word of a message, or file of the registry fails a case.
#[test]
fn another_recorded_output_fails() {
    let (mut data, authority) = (Data::read(), Authority::new());
    let first = |data: &Data, expected| {
        Case::all(data)
            .into_iter()
            .find(|case| case.expected == expected)
            .unwrap()
    };
    for expected in [Expected::Bytes, Expected::Semantic] {
        let path = first(&data, expected).output();
        let recorded = data.files.get_mut(&path).unwrap();
        let last = recorded
            .bytes
            .iter()
            .rposition(u8::is_ascii_lowercase)
            .unwrap();
        recorded.bytes[last] ^= 1;
    }
    let bytes = first(&data, Expected::Bytes);
    let semantic = first(&data, Expected::Semantic);
    let mut error = first(&data, Expected::Error);
    error.message_has.push(vec!["no such words".to_owned()]);
    let mut unchanged = bytes.clone();
    unchanged.expected = Expected::Unchanged;
    let mut accepted = bytes.clone();
    accepted.expected = Expected::Error;
    let data = Arc::new(data);
    for (case, reason) in [
        (bytes, "the lock file differs"),
        (semantic, "the lock file has other content"),
        (error, "the message does not contain"),
        (unchanged, "the lock file differs"),
        (accepted, "exit code Some(0)"),
    ] {
        let failure = run(&case, &data, &authority).unwrap_err();
        assert!(failure.starts_with(reason), "{}: {failure}", case.name());
    }
}
