//! The pager of `diff`. A terminal is what `script` of util-linux makes, which every Debian has.

use provlock_test::TestEnvironment;

use super::two_files;

/// What a terminal shows of `diff` with a pager.
fn shown(environment: &TestEnvironment, pager: &str, flag: &str) -> String {
    let program = provlock_test::program();
    let command = format!("'{program}' diff --color=never {flag} old.hcl new.hcl");
    let output = environment.program("script", ["-qec", &command, "/dev/null"]).env("PAGER", pager).run();
    output.assert_code(0);
    output.stdout.replace("\r\n", "\n")
}

#[test]
fn text_on_a_terminal_goes_through_the_pager() {
    let environment = two_files();
    let paged = format!("paged: {}\n", super::TEXT.trim_end().replace('\n', "\npaged: "));
    assert_eq!(shown(&environment, "sed -e s/^/paged:\\ /", ""), paged);
    assert_eq!(shown(&environment, "sed 's/^/paged: /' | cat", ""), paged);
}

#[test]
fn a_pager_that_stops_early_or_is_missing_is_no_failure() {
    let environment = two_files();
    assert_eq!(shown(&environment, "true", ""), "");
    for missing in ["no-such-pager", "no-such-pager --flag", "no-such-pager | no-such-pager"] {
        assert!(shown(&environment, missing, "").ends_with(super::TEXT), "{missing}");
    }
}

#[test]
fn a_pager_is_not_used_where_none_is_wanted() {
    let environment = two_files();
    for (pager, flag) in [("sed s/^/paged/", "--no-pager"), ("", ""), ("cat", "")] {
        assert_eq!(shown(&environment, pager, flag), super::TEXT);
    }
    let output = environment.command(["diff", "old.hcl", "new.hcl"]).env("PAGER", "sed s/^/paged/").run();
    assert_eq!(output.stdout, super::TEXT);
}
