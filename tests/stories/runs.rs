//! The program runs.

use super::support::TestEnvironment;

#[test]
fn runs_in_an_empty_project_and_leaves_it_alone() {
    let environment = TestEnvironment::new();
    let before = environment.snapshot();
    let output = environment.provlock([] as [&str; 0]);
    assert!(matches!(output.code, Some(0 | 2)), "{output}");
    before.assert_same(&environment.snapshot());
}
