//! Summaries of `verify`.

use std::collections::BTreeMap;

use provlock::project::DirectoryKind;

use super::*;

/// A root module in which nothing was found.
pub(in crate::cli::render) fn root(
    platforms: Option<PlatformSelection>,
    entries: usize,
) -> VerifiedRoot {
    VerifiedRoot {
        path: ".".into(),
        lock_path: ".terraform.lock.hcl".into(),
        has_lock_file: true,
        needs_lock_file: true,
        platforms,
        entries,
        ..VerifiedRoot::default()
    }
}

#[test]
fn what_is_well_is_said_in_a_line() {
    let these = |names: &[&str]| {
        names
            .iter()
            .map(|name| name.parse().unwrap())
            .collect::<PlatformSelection>()
    };
    let two = || Some(these(&["linux_amd64", "darwin_arm64"]));
    let well = |roots: &[VerifiedRoot], online| {
        let lines = lines_if_ok(roots)
            .unwrap()
            .into_iter()
            .chain(line_about_published(roots, online));
        lines
            .chain(lines_about_not_checked(roots, online))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let one = "OK: 3 providers locked as required, for darwin_arm64 and linux_amd64\n\
        Not checked: hashes against the registry (--online does)";
    assert_eq!(well(&[root(two(), 3)], false), one);
    let many = "OK: 5 providers of 2 root modules locked as required, for all platforms\nAll hashes are published";
    let all = || Some(PlatformSelection::All);
    assert_eq!(well(&[root(all(), 3), root(all(), 2)], true), many);
    let other = VerifiedRoot {
        kind: DirectoryKind::OtherLockFile,
        ..root(all(), 2)
    };
    let text = well(&[root(all(), 3), other], true);
    assert!(
        text.starts_with("OK: 5 providers locked as required, for all"),
        "the next lines count kinds: {text}"
    );
    assert!(
        well(&[root(all(), 3), root(two(), 2)], true)
            .contains("required, each for its platforms\n")
    );
    let mixed = well(&[root(None, 3), root(all(), 2)], false);
    assert!(
        mixed.ends_with("its platforms\nNot checked: hashes against the registry (--online does)"),
        "{mixed}"
    );
    let with_modules = VerifiedRoot {
        modules: 2,
        ..root(all(), 1)
    };
    let lines =
        "OK: 1 provider locked as required, for all platforms\nOK: 2 modules locked as called\n";
    assert!(well(&[with_modules], true).starts_with(lines));
    let unnamed = "OK: 1 provider locked as required\n\
        Not checked: platforms (select with -p), hashes against the registry (--online)";
    assert_eq!(well(&[root(None, 1)], false), unnamed);
    let nothing =
        "OK: no provider is required, and none is locked\nNot checked: platforms (select with -p)";
    assert_eq!(well(&[root(None, 0)], true), nothing);
    let unknown = VerifiedRoot {
        has_unknown_platforms: true,
        ..root(two(), 3)
    };
    let not_named = "OK: 5 providers of 2 root modules locked as required\n\
        Not checked: which platforms the hashes are for (--online checks that)\n\
        Not checked: hashes against the registry (--online does)";
    assert_eq!(well(&[root(two(), 2), unknown], false), not_named);
    let asked_mirrors = BTreeMap::from([("the mirror a".to_owned(), 2)]);
    let of_mirror = "OK: 3 providers locked as required, for all platforms\n\
        Not checked: the registry's hashes of 2 providers, because the mirror a was used";
    assert_eq!(
        well(
            &[VerifiedRoot {
                asked_mirrors,
                ..root(all(), 3)
            }],
            true
        ),
        of_mirror
    );
}

#[test]
fn what_is_well_fits_the_terminal() {
    let names = [
        "darwin_amd64",
        "darwin_arm64",
        "linux_amd64",
        "linux_arm64",
        "windows_amd64",
    ];
    for number in 1..=names.len() {
        let platforms: PlatformSelection = names[..number]
            .iter()
            .map(|name| name.parse().unwrap())
            .collect();
        for platforms in [None, Some(platforms), Some(PlatformSelection::All)] {
            let many: Vec<_> = (0..300).map(|_| root(platforms.clone(), 10)).collect();
            for roots in [&many[..1], &many] {
                let lines = lines_if_ok(roots).into_iter().flatten();
                let lines = lines
                    .chain(lines_about_not_checked(roots, true))
                    .chain(lines_about_not_checked(roots, false));
                lines.for_each(|line| assert!(line.len() <= 80, "{line}"));
            }
        }
    }
    let these: PlatformSelection = names.iter().map(|name| name.parse().unwrap()).collect();
    let lines = lines_if_ok(&[root(Some(these), 3)]).unwrap();
    assert_eq!(
        lines[0],
        "OK: 3 providers locked as required, for 5 platforms"
    );
}

#[test]
fn without_a_lock_file_nothing_is_well() {
    let unlocked = VerifiedRoot {
        has_lock_file: false,
        ..root(None, 0)
    };
    assert_eq!(lines_if_ok(std::slice::from_ref(&unlocked)), None);
    assert_eq!(lines_if_ok(&[]), None);
    assert_eq!(
        (
            line_about_published(&[unlocked], true),
            lines_about_not_checked(&[], false)
        ),
        (None, Vec::new())
    );
}
