use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::diagnostic::{Location, SourceFile};
use crate::system::Token;

impl OciLogins {
    pub(in crate::packages::oci) fn with(
        oci_credentials: Vec<OciCredentials>,
        oci_default_credentials: OciDefaultCredentials,
        environment: &Environment,
    ) -> Self {
        Self::new(
            &CliConfig {
                oci_credentials,
                oci_default_credentials,
                ..CliConfig::default()
            },
            environment,
        )
    }

    /// No logins.
    pub(in crate::packages::oci) fn anonymous() -> Self {
        let defaults = OciDefaultCredentials {
            discover_ambient_credentials: false,
            ..Default::default()
        };
        Self::with(Vec::new(), defaults, &Environment::default())
    }
}

fn block(prefix: &str, login: OciLoginSource) -> OciCredentials {
    let location = Location::new(&SourceFile::new(".tofurc", "\n\nblock"), 2..3);
    OciCredentials {
        repository_prefix: prefix.to_owned(),
        login,
        location,
    }
}

fn token(text: &str) -> Token {
    Token::new(text).unwrap()
}

fn password(username: &str) -> OciLoginSource {
    OciLoginSource::Login(OciLogin::Basic {
        username: username.to_owned(),
        password: token("s3cr3t"),
    })
}

fn auth(username: &str) -> serde_json::Value {
    use base64::Engine as _;
    json!({"auth": base64::engine::general_purpose::STANDARD.encode(format!("{username}:s3cr3t"))})
}

/// Logins with the helper of `testdata` in the path and a home directory of the test.
fn logins(blocks: Vec<OciCredentials>, defaults: OciDefaultCredentials, home: &Path) -> OciLogins {
    let helpers =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/docker-credential-helpers");
    let path = std::env::join_paths([Path::new("relative"), &helpers])
        .unwrap()
        .into_string()
        .unwrap();
    let run = home.join("run").into_os_string().into_string().unwrap();
    let variables = [
        ("PATH".to_owned(), path),
        ("XDG_RUNTIME_DIR".to_owned(), run),
    ]
    .into();
    let environment = Environment {
        variables,
        home: Some(home.to_owned()),
        current_directory: home.to_owned(),
        ..Environment::default()
    };
    OciLogins::with(blocks, defaults, &environment)
}

fn write(path: &Path, content: &serde_json::Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content.to_string()).unwrap();
}

fn find(logins: &OciLogins, repository: &str) -> Result<Option<FoundLogin>> {
    logins.login_for(&repository.parse().unwrap())
}

/// The user of the login for a repository, or `-`.
fn user(logins: &OciLogins, repository: &str) -> String {
    match find(logins, repository).unwrap().map(|found| found.login) {
        Some(OciLogin::Basic { username, .. }) => username,
        Some(OciLogin::OAuth { .. }) => "<oauth>".to_owned(),
        None => "-".to_owned(),
    }
}

#[test]
fn the_most_specific_login_wins_and_blocks_win_over_files() {
    let home = tempfile::tempdir().unwrap();
    write(
        &home.path().join(".docker/config.json"),
        &json!({"auths": {
            "h.test": auth("file"),
            "h.test/a/b": auth("file-ab"),
            "h.test/x": auth("file-x"),
            "H2.test": auth("file-2"),
        }}),
    );
    let blocks = vec![
        block("h.test/a", password("block-a")),
        block("h.test", password("block")),
        block("h.test/x", password("block-x")),
    ];
    let logins = logins(blocks, OciDefaultCredentials::default(), home.path());
    for (repository, expected) in [
        ("h.test/z", "block"),
        ("h.test/a", "block-a"),
        ("h.test/ab", "block"),
        ("h.test/a/c", "block-a"),
        ("h.test/a/b", "file-ab"),
        ("h.test/a/b/c", "file-ab"),
        ("h.test/a/bc", "block-a"),
        ("h.test/x/y", "block-x"),
        ("h2.test/a", "file-2"),
        ("h.test:5000/a", "-"),
        ("sub.h.test/a", "-"),
    ] {
        assert_eq!(user(&logins, repository), expected, "{repository}");
    }
    let found = find(&logins, "h.test/a").unwrap().unwrap();
    assert_eq!(found.origin, "the oci_credentials block at .tofurc:3");
    assert!(!format!("{found:?}").contains("s3cr3t"));
}

#[test]
fn docker_files_are_read_in_their_order() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    if cfg!(target_os = "linux") {
        write(
            &at("run/containers/auth.json"),
            &json!({"auths": {"first.test": auth("run")}}),
        );
    } else {
        write(
            &at(".config/containers/auth.json"),
            &json!({"auths": {"first.test": auth("run")}}),
        );
    }
    write(
        &at(".docker/config.json"),
        &json!({
            "auths": {
                "first.test": auth("docker"),
                "https://second.test/": auth("docker"),
                "https://index.docker.io/v1/": auth("hub"),
                "emptied.test": {},
                "identity.test": {"auth": "MDAwMDo=", "identitytoken": "s3cr3t"},
            },
            "HttpHeaders": {"unknown": 1},
        }),
    );
    fs::write(at(".dockercfg"), "{\"auths\": s3cr3t").unwrap();
    let logins = logins(Vec::new(), OciDefaultCredentials::default(), home.path());
    for (repository, expected) in [
        ("first.test/a", "run"),
        ("second.test/a", "docker"),
        ("docker.io/a/b", "hub"),
        ("identity.test/a", "<oauth>"),
        ("emptied.test/a", "-"),
    ] {
        assert_eq!(user(&logins, repository), expected, "{repository}");
    }
    let searched = logins.searched_places().join("\n");
    assert!(
        searched.contains(".dockercfg:1:11: this is not a Docker configuration file"),
        "{searched}"
    );
    assert!(!searched.contains("s3cr3t"));
}

#[test]
fn named_files_replace_the_usual_ones_and_must_exist() {
    let home = tempfile::tempdir().unwrap();
    write(
        &home.path().join(".docker/config.json"),
        &json!({"auths": {"h.test": auth("usual")}}),
    );
    let named = home.path().join("named.json");
    write(
        &named,
        &json!({"auths": {"h.test": auth("named"), "bad.test": {"auth": "s3cr3t-but-no-base64"}}}),
    );
    let with = |files: Option<Vec<PathBuf>>, discover| {
        let defaults = OciDefaultCredentials {
            docker_style_config_files: files,
            discover_ambient_credentials: discover,
            ..Default::default()
        };
        logins(Vec::new(), defaults, home.path())
    };
    assert_eq!(user(&with(None, true), "h.test/a"), "usual");
    assert_eq!(
        user(&with(Some(vec![named.clone()]), true), "h.test/a"),
        "named"
    );
    assert_eq!(user(&with(Some(Vec::new()), true), "h.test/a"), "-");
    assert_eq!(user(&with(None, false), "h.test/a"), "-");
    let error = find(&with(Some(vec![named.clone()]), true), "bad.test/a").unwrap_err();
    assert!(
        error[0].message.contains("bad.test") && !format!("{error:?}").contains("s3cr3t"),
        "{error:?}"
    );
    let error = find(
        &with(Some(vec![named, home.path().join("missing.json")]), true),
        "h.test/a",
    )
    .unwrap_err();
    assert!(
        error[0].message.contains("missing.json does not exist"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn helpers_are_called_as_by_opentofu_and_docker() {
    let home = tempfile::tempdir().unwrap();
    write(
        &home.path().join(".docker/config.json"),
        &json!({
            "auths": {"known.test": {}, "static.test": auth("file")},
            "credHelpers": {"known.test": "sketch"},
            "credsStore": "sketch",
        }),
    );
    let blocks = vec![block(
        "identity.test",
        OciLoginSource::DockerHelper("sketch".to_owned()),
    )];
    let logins = logins(blocks, OciDefaultCredentials::default(), home.path());
    for (repository, expected) in [
        ("known.test/a", "helper"),
        ("static.test/a", "file"),
        ("bare.test/a", "bare"),
        ("docker.io/a/b", "hub"),
        ("identity.test/a", "<oauth>"),
        ("unknown.test/a", "-"),
    ] {
        assert_eq!(user(&logins, repository), expected, "{repository}");
    }
    assert!(
        find(&logins, "known.test/a")
            .unwrap()
            .unwrap()
            .origin
            .ends_with("/docker-credential-sketch")
    );
}

#[cfg(unix)]
#[test]
fn the_error_of_a_helper_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let defaults = OciDefaultCredentials {
        docker_credentials_helper: Some("sketch".to_owned()),
        ..Default::default()
    };
    let logins = logins(Vec::new(), defaults, home.path());
    for (registry, expected) in [
        (
            "junk.test",
            "printed something that is not a credentials object",
        ),
        ("failing.test", "says: the keychain is locked; try again"),
        ("silent.test", "gave no error message"),
        ("chatty.test", "was stopped because it printed too much"),
    ] {
        let error = find(&logins, &format!("{registry}/a")).unwrap_err();
        assert_eq!(error[0].code, Code::CredentialsHelper);
        assert!(
            error[0].message.contains(expected) && error[0].message.contains(registry),
            "{error}"
        );
        assert!(
            error[0].message.contains("docker-credential-sketch"),
            "{error}"
        );
        assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_helper_that_hangs_is_stopped() {
    let home = tempfile::tempdir().unwrap();
    let defaults = OciDefaultCredentials {
        docker_credentials_helper: Some("sketch".to_owned()),
        ..Default::default()
    };
    let logins = OciLogins {
        time_limit: Duration::from_millis(200),
        ..logins(Vec::new(), defaults, home.path())
    };
    let error = find(&logins, "hanging.test/a").unwrap_err();
    assert!(
        error[0]
            .message
            .contains("was stopped because it took more than 0.2 seconds"),
        "{error}"
    );
}

#[test]
fn a_helper_that_is_not_installed_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    for name in [
        "missing",
        "../docker-credential-helpers/docker-credential-sketch",
    ] {
        let defaults = OciDefaultCredentials {
            docker_credentials_helper: Some(name.to_owned()),
            ..Default::default()
        };
        let error = find(&logins(Vec::new(), defaults, home.path()), "known.test/a").unwrap_err();
        assert!(
            error[0].message.contains("is in no directory of PATH"),
            "{error}"
        );
    }
}
