pub(super) mod schema;

use std::path::Path;

use super::*;
use crate::diagnostic::{Code, Result, SourceFile};
use crate::provider::ProviderAddress;
use crate::system::{Boundary, glob};

fn parse(text: &str) -> Result<Settings> {
    Settings::parse(&SourceFile::new(FILE_NAME, text), PathBuf::from(FILE_NAME))
}

fn complaint(text: &str) -> (String, (usize, usize)) {
    let error = parse(text).unwrap_err();
    (
        error[0].message.clone(),
        error[0].labels[0].location.line_column(),
    )
}

#[test]
fn every_setting_is_read() {
    let settings = parse(
        r#"
dialect = "terraform"
platforms = ["linux_amd64", "darwin_arm64", "linux_amd64"]
[roots]
include = ["infra/**"]
exclude = ["**/examples/**"]
[policy]
allowed-hosts = ["registry.opentofu.org"]
allowed-namespaces = ["registry.opentofu.org/hashicorp"]
require-signed = true
min-age = "7d"
min-age-exempt = ["hashicorp/aws"]
pin-modules = true
[verify]
deny = ["warnings", "downgrade"]
warn = ["no-hashes"]
[[verify.paths]]
paths = ["legacy/**"]
allow = ["no-hashes"]
[trust]
"registry.example.com/acme/*" = ["0123456789abcdef0123456789ABCDEF01234567"]
"#,
    )
    .unwrap();
    assert_eq!(settings.dialect, Some(Dialect::Terraform));
    let [rules] = &settings.policy.rules[..] else {
        panic!("{settings:?}")
    };
    let platforms = PlatformSelection::These(
        ["darwin_arm64", "linux_amd64"]
            .map(|text| text.parse().unwrap())
            .into(),
    );
    assert_eq!(settings.platforms, Some(platforms));
    assert_eq!(
        settings.roots[0].include,
        [glob::parse("infra/**").unwrap()]
    );
    assert_eq!(
        rules.allowed_hosts.as_ref().unwrap()[0].as_ascii(),
        "registry.opentofu.org"
    );
    assert_eq!(rules.min_age_exempt, ["hashicorp/aws".parse().unwrap()]);
    assert_eq!(rules.min_age, Some(Duration::from_secs(7 * 86_400)));
    assert!(rules.require_signed && rules.pin_modules);
    let [verify] = &settings.verify[..] else {
        panic!("{settings:?}")
    };
    let [downgrade, pinned] = [Code::Downgrade, Code::ModuleRefFloating].map(Denied::Code);
    assert_eq!(
        verify.levels.0,
        [
            LevelOverride::Deny(Denied::Warnings),
            LevelOverride::Deny(downgrade),
            LevelOverride::Warn(Code::NoHashes),
            LevelOverride::Deny(pinned),
        ]
    );
    assert_eq!(
        verify.paths[0].levels.0,
        [LevelOverride::Allow(Code::NoHashes)]
    );
    assert_eq!(verify.paths[0].paths, [glob::parse("legacy/**").unwrap()]);
    let trust = &rules.trust[0];
    let position = rules.location(&trust.providers).unwrap().line_column();
    assert_eq!(
        (trust.providers.get_ref(), position),
        (&"registry.example.com/acme/*".parse().unwrap(), (21, 1))
    );
    assert_eq!(
        trust.fingerprints,
        ["0123456789ABCDEF0123456789ABCDEF01234567"]
    );
}

#[test]
fn selections_of_platforms_add_up() {
    let select = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| text.parse())
            .collect::<std::result::Result<_, _>>()
    };
    let these = PlatformSelection::These(
        ["darwin_arm64", "linux_amd64"]
            .map(|text| text.parse().unwrap())
            .into(),
    );
    assert_eq!(
        select(&["linux_amd64", "darwin_arm64", "linux_amd64"]),
        Ok(these)
    );
    assert_eq!(select(&["linux_amd64", "all"]), Ok(PlatformSelection::All));
    assert_eq!(
        select(&["linux_amd64", "linux"]),
        Err(PlatformError("linux".to_owned()))
    );
}

#[test]
fn all_platforms_may_be_one_word() {
    assert_eq!(
        parse("platforms = \"all\"").unwrap().platforms,
        Some(PlatformSelection::All)
    );
}

#[test]
fn an_unknown_key_is_an_error_at_its_position() {
    let (message, position) = complaint("dialect = \"tofu\"\nplatform = [\"linux_amd64\"]\n");
    assert!(message.contains("platform"), "{message}");
    assert_eq!(position, (2, 1));
}

#[test]
fn a_wrong_value_is_an_error_at_its_position() {
    assert_eq!(complaint("platforms = [\n  \"linux-amd64\"]").1, (2, 3));
    assert_eq!(complaint("platforms = [\"linux_amd64\", 7]").1, (1, 29));
    assert_eq!(complaint("platforms = []").1, (1, 13));
    assert_eq!(complaint("platforms = \"linux_amd64\"").1, (1, 13));
    let (message, position) = complaint("platforms = 7");
    assert!(
        message.contains("\"all\" or a list of platforms"),
        "{message}"
    );
    assert_eq!(position, (1, 13));
    assert_eq!(
        complaint("[policy]\nallowed-hosts = [\n  \"a.test\",\n  \"a b\",\n]").1,
        (4, 3)
    );
    assert_eq!(complaint("dialect = \"pulumi\"").1, (1, 11));
    assert_eq!(complaint("[policy]\nmin-age = \"soon\"").1, (2, 11));
    assert_eq!(complaint("[trust]\n\"a/b\" = [\"12\"]").1, (2, 10));
    assert_eq!(complaint("[roots]\ninclude = [\"a[\"]").1, (2, 12));
}

/// Settings files on disk, without a home directory.
fn on_disk(boundary: &Boundary) -> SettingsFiles<'_> {
    SettingsFiles::OnDisk {
        boundary,
        home: None,
    }
}

/// The settings of a root module alone.
fn find_settings(root: &Path) -> Result<Settings> {
    let boundary = Boundary::default();
    Settings::find(
        root,
        on_disk(&boundary),
        &SettingsAbove::default(),
        &Path::to_path_buf,
    )
}

#[test]
fn what_root_modules_share_is_read_once() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join(".git")).unwrap();
    let roots = ["live/a", "live/b", "live"].map(|name| directory.path().join(name));
    for root in &roots {
        std::fs::create_dir_all(root).unwrap();
    }
    let above = directory.path().join(FILE_NAME);
    std::fs::write(&above, "dialect = \"terraform\"").unwrap();
    std::fs::write(roots[1].join(FILE_NAME), "platforms = \"all\"").unwrap();
    let (boundary, known) = (Boundary::default(), SettingsAbove::default());
    let find =
        |root: &Path| Settings::find(root, on_disk(&boundary), &known, &Path::to_path_buf).unwrap();
    let first = find(&roots[0]);
    std::fs::remove_file(&above).unwrap();
    assert_eq!(
        (first.dialect, &first.paths[..]),
        (Some(Dialect::Terraform), &[above.clone()][..])
    );
    let second = find(&roots[1]);
    assert_eq!(
        (second.dialect, second.platforms),
        (Some(Dialect::Terraform), Some(PlatformSelection::All))
    );
    assert_eq!(second.paths, [roots[1].join(FILE_NAME), above]);
    assert_eq!(find(&roots[2]), first);
}

#[test]
fn the_files_up_to_the_repository_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("repository/infra/live");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::create_dir_all(directory.path().join("repository/.git")).unwrap();
    std::fs::write(directory.path().join(FILE_NAME), "dialect = \"terraform\"").unwrap();
    let find = || find_settings(&root).unwrap();
    assert_eq!(
        find(),
        Settings::default(),
        "a file above the repository does not count"
    );
    let above = directory.path().join("repository").join(FILE_NAME);
    std::fs::write(
        &above,
        "dialect = \"tofu\"\nplatforms = \"all\"\n[policy]\nmin-age = \"7d\"",
    )
    .unwrap();
    assert_eq!(
        (&find().paths[..], find().dialect),
        (&[above.clone()][..], Some(Dialect::Tofu))
    );
    std::fs::write(
        root.join(FILE_NAME),
        "dialect = \"terraform\"\n[policy]\nmin-age = \"1d\"",
    )
    .unwrap();
    let both = find();
    assert_eq!(
        (both.dialect, both.platforms),
        (Some(Dialect::Terraform), Some(PlatformSelection::All))
    );
    assert_eq!(both.policy.min_age(), parse_duration("7d").ok());
    let bases: Vec<_> = both
        .roots
        .iter()
        .map(|filter| filter.base.as_path())
        .collect();
    assert_eq!(bases, [&root, above.parent().unwrap()]);
    assert_eq!(both.paths, [root.join(FILE_NAME), above]);
}

const KEY: &str = "ed25519:NwSv77aqolqatel4nEJ4LV14RutTjMN4H73CrJSCqq0=";

#[test]
fn where_facts_are_shared_is_read() {
    let settings = parse(&format!(
        "[cache]\nshared = \"oci://h.test/a\"\ntrusted-keys = [\"{KEY}\", \"{KEY}\"]"
    ))
    .unwrap();
    let shared = settings.shared_cache().unwrap();
    assert_eq!(
        (shared.repository.to_string(), &shared.trusted_keys[..]),
        ("h.test/a".to_owned(), &[KEY.parse().unwrap()][..])
    );
    for (text, part, position) in [
        (
            "shared = \"https://h.test/a\"\ntrusted-keys = [\"KEY\"]",
            "write it as oci://HOST/PATH",
            (2, 10),
        ),
        (
            "shared = \"oci://h.test/a\"\ntrusted-keys = [\"KEY\",\n  \"ed25519:AA\"]",
            "not a public key",
            (4, 3),
        ),
        (
            "shared = \"oci://h.test/a\"\ntrusted-keys = []",
            "at least one key",
            (3, 16),
        ),
        ("shared = \"oci://h.test/a\"", "trusted-keys", (1, 1)),
        ("trusted-keys = [\"KEY\"]", "shared", (1, 1)),
        (
            "shared = \"oci://h.test/a\"\ntrusted-keys = [\"KEY\"]\npush = true",
            "unknown field",
            (4, 1),
        ),
    ] {
        let (message, at) = complaint(&format!("[cache]\n{}", text.replace("KEY", KEY)));
        assert!(message.contains(part), "{message}");
        assert_eq!(at, position, "{message}");
    }
}

#[test]
fn no_nearer_file_sets_the_trusted_keys() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("infra");
    std::fs::create_dir_all(root.join("live")).unwrap();
    std::fs::create_dir_all(directory.path().join(".git")).unwrap();
    let table = format!("[cache]\nshared = \"oci://h.test/a\"\ntrusted-keys = [\"{KEY}\"]");
    let find = || find_settings(&root.join("live"));
    std::fs::write(root.join(FILE_NAME), &table).unwrap();
    assert!(
        find().unwrap().shared_cache().is_some(),
        "no file is above it"
    );
    std::fs::write(root.join("live").join(FILE_NAME), "dialect = \"tofu\"").unwrap();
    assert!(find().unwrap().shared_cache().is_some());
    for above in ["", table.as_str()] {
        std::fs::write(directory.path().join(FILE_NAME), above).unwrap();
        let error = find().unwrap_err();
        assert!(
            error[0]
                .message
                .starts_with("[cache] may only be in the topmost provlock.toml"),
            "{error}"
        );
        assert_eq!(error[0].labels[0].location.path(), root.join(FILE_NAME));
    }
}

#[test]
fn a_nearer_file_only_tightens_the_policy() {
    let rules = |text: &str| parse(text).unwrap().policy.rules.remove(0);
    let above = rules(
        r#"
[policy]
allowed-hosts = ["a.test"]
allowed-namespaces = ["a.test/x"]
min-age = "7d"
min-age-exempt = ["a.test/x/free"]
"#,
    );
    let nearer = rules(
        r#"
[policy]
allowed-hosts = ["a.test", "b.test"]
allowed-namespaces = ["a.test/x", "a.test/y", "b.test/x"]
min-age-exempt = ["a.test/x/p"]
"#,
    );
    let policy = Policy {
        rules: vec![nearer, above],
    };
    let judged = |address: &str| {
        let address = ProviderAddress::parse(address, Dialect::Tofu).unwrap();
        let errors = policy.against_address(&address, Dialect::Tofu);
        let codes: Vec<_> = errors.iter().map(|error| error.code).collect();
        (
            codes,
            policy.is_exempt_from_min_age(&address, Dialect::Tofu),
        )
    };
    assert_eq!(judged("a.test/x/p"), (vec![], false));
    assert_eq!(judged("a.test/x/free"), (vec![], true));
    assert_eq!(judged("a.test/y/p").0, [Code::NamespaceNotAllowed]);
    assert_eq!(
        judged("b.test/x/p").0,
        [Code::HostNotAllowed, Code::NamespaceNotAllowed]
    );
}

#[test]
fn what_cannot_be_a_settings_file_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);
    let complaint = || {
        let error = find_settings(directory.path()).unwrap_err();
        assert_eq!(error[0].code, Code::Io);
        error[0]
            .message
            .split_once("provlock.toml: ")
            .unwrap()
            .1
            .to_owned()
    };
    std::fs::write(&path, "#".repeat((1 << 20) + 1)).unwrap();
    assert_eq!(complaint(), "it is larger than 1 MiB");
    std::fs::write(&path, b"# \xff").unwrap();
    assert_eq!(complaint(), "it is not UTF-8 text");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(complaint(), "it is a directory");
    #[cfg(unix)]
    {
        std::fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert_eq!(complaint(), "it is not a regular file");
    }
}
