//! Output of `provlock --version`, for bug reports.

use provlock_test::TestEnvironment;

#[test]
fn version_names_the_target() {
    let version = concat!("provlock ", env!("CARGO_PKG_VERSION"));
    let environment = TestEnvironment::new();
    assert_eq!(environment.provlock(["-V"]).stdout, format!("{version}\n"));

    let long = environment.provlock(["--version"]).stdout;
    let build = long
        .strip_prefix(&format!("{version} ("))
        .and_then(|rest| rest.strip_suffix(")\n"))
        .unwrap();
    let target = build.split(' ').next_back().unwrap();
    assert!(
        target.starts_with(std::env::consts::ARCH) && target.contains('-'),
        "{long}"
    );
}
