mod file;
#[cfg(unix)]
mod helper;

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::provider::ProviderAddress;

/// A home directory of its own with the environment that names it.
struct Home {
    directory: TempDir,
    environment: Environment,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut home = Self {
            directory,
            environment: Environment::default(),
        };
        home.environment.home = Some(home.path(""));
        home.environment.current_directory = home.path("work");
        home.set("APPDATA", home.path("").to_str().unwrap());
        home
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().join(relative)
    }

    fn write(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn set(&mut self, variable: &str, value: &str) {
        self.environment
            .variables
            .insert(variable.to_owned(), value.to_owned());
    }

    /// A configuration that is named by `TF_CLI_CONFIG_FILE`.
    fn named(text: &str) -> Self {
        let mut home = Self::new();
        let path = home.write("rc", text);
        home.set("TF_CLI_CONFIG_FILE", path.to_str().unwrap());
        home
    }

    fn load(&self) -> CliConfig {
        load(&self.environment, Dialect::Tofu).unwrap()
    }

    fn credentials(&self) -> Credentials {
        Credentials::new(&self.environment, &self.load(), Dialect::Tofu)
    }

    /// The first error of the configuration: message, line, column.
    fn error(&self) -> (String, usize, usize) {
        let errors = load(&self.environment, Dialect::Tofu).unwrap_err();
        let (line, column) = errors[0].labels[0].location.line_column();
        (errors[0].message.clone(), line, column)
    }
}

fn host(text: &str) -> Hostname {
    Hostname::parse(text).unwrap()
}

fn token_of(credentials: &Credentials, name: &str) -> Option<String> {
    credentials
        .token(&host(name))
        .unwrap()
        .map(|token| token.reveal().to_owned())
}

fn block(host: &str, token: &str) -> String {
    format!("credentials \"{host}\" {{\n  token = \"{token}\"\n}}\n")
}

#[cfg(unix)]
mod search {
    use super::*;

    fn found(home: &Home, dialect: Dialect) -> Option<String> {
        let config = load(&home.environment, dialect).unwrap();
        config
            .credentials
            .get(&host("h.test"))
            .and_then(|block| Some(block.token.as_ref()?.reveal().to_owned()))
    }

    #[test]
    fn the_first_existing_file_is_read_in_each_dialect() {
        let mut home = Home::new();
        assert_eq!(found(&home, Dialect::Tofu), None);
        let xdg = home.path("xdg");
        home.set("XDG_CONFIG_HOME", xdg.to_str().unwrap());
        home.write("xdg/opentofu/tofurc", &block("h.test", "xdg"));
        assert_eq!(found(&home, Dialect::Tofu).as_deref(), Some("xdg"));
        assert_eq!(found(&home, Dialect::Terraform), None);
        home.write(".terraformrc", &block("h.test", "terraform"));
        assert_eq!(found(&home, Dialect::Tofu).as_deref(), Some("terraform"));
        home.write(".tofurc", &block("h.test", "tofu"));
        assert_eq!(found(&home, Dialect::Tofu).as_deref(), Some("tofu"));
        assert_eq!(
            found(&home, Dialect::Terraform).as_deref(),
            Some("terraform")
        );
        home.write("mine", &block("h.test", "named"));
        home.set("TERRAFORM_CONFIG", "../mine");
        fs::create_dir(home.path("work")).unwrap();
        assert_eq!(found(&home, Dialect::Tofu).as_deref(), Some("named"));
        let other = home.write("other", "");
        home.set("TF_CLI_CONFIG_FILE", other.to_str().unwrap());
        assert_eq!(found(&home, Dialect::Tofu), None);
    }

    #[test]
    fn files_of_the_directory_are_added_unless_a_file_is_named() {
        let mut home = Home::new();
        let xdg = home.path("xdg");
        home.set("XDG_CONFIG_HOME", xdg.to_str().unwrap());
        home.write(".tofurc", &block("h.test", "main"));
        home.write("xdg/opentofu/a.tfrc", &block("h.test", "xdg directory"));
        assert_eq!(
            found(&home, Dialect::Tofu).as_deref(),
            Some("xdg directory")
        );
        home.write(".terraform.d/a.tfrc", &block("h.test", "a"));
        home.write(
            ".terraform.d/b.tfrc.json",
            r#"{"credentials": {"h.test": {"token": "b"}}}"#,
        );
        home.write(".terraform.d/c.json", "no configuration");
        assert_eq!(found(&home, Dialect::Tofu).as_deref(), Some("b"));
        let rc = home.write("rc", "");
        home.set("TF_CLI_CONFIG_FILE", rc.to_str().unwrap());
        assert_eq!(found(&home, Dialect::Tofu), None);
    }

    #[test]
    fn a_named_file_that_does_not_exist_is_a_warning() {
        let mut home = Home::new();
        home.set("TF_CLI_CONFIG_FILE", "/none/rc");
        assert!(
            home.load().warnings[0]
                .message
                .contains("/none/rc that TF_CLI_CONFIG_FILE names")
        );
    }

    #[test]
    fn helpers_are_found_in_all_plugin_directories() {
        let mut home = Home::new();
        home.write(
            ".tofurc",
            "credentials_helper \"store\" { args = [\"--a\"] }",
        );
        let warning = &home.load().warnings[0];
        assert!(
            warning
                .message
                .contains("terraform-credentials-store is not installed")
        );
        assert!(home.load().credentials_helper.unwrap().program.is_none());
        assert_eq!(
            token_of(&home.credentials(), "h.test"),
            None,
            "a helper that is missing stops nothing"
        );
        let error = home
            .credentials()
            .store(&host("h.test"), &Token::new("t").unwrap())
            .unwrap_err();
        assert!(error[0].message.contains("not installed"));
        let xdg = home.path("data");
        home.set("XDG_DATA_HOME", xdg.to_str().unwrap());
        let platform = crate::provider::Platform::current();
        for directory in [
            "data/opentofu/plugins".to_owned(),
            format!(".terraform.d/plugins/{platform}"),
            ".terraform.d/plugins".into(),
        ] {
            let program = home.write(&format!("{directory}/terraform-credentials-store"), "");
            assert_eq!(
                home.load().credentials_helper.unwrap().program,
                Some(program)
            );
        }
    }

    #[test]
    fn implied_mirrors_are_those_of_the_two_programs() {
        let mut home = Home::new();
        home.set("XDG_DATA_HOME", "/data");
        home.set("XDG_DATA_DIRS", "/one:/two");
        let directories = directories::implied_mirrors(&home.environment, Dialect::Tofu);
        assert_eq!(directories[0], home.path("work/terraform.d/plugins"));
        assert_eq!(directories[1], PathBuf::from("/data/opentofu/plugins"));
        if cfg!(target_os = "linux") {
            let system = [
                "/data/terraform/plugins",
                "/one/terraform/plugins",
                "/two/terraform/plugins",
            ];
            assert_eq!(directories[2..], system.map(PathBuf::from));
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "it contains a file with every block")]
fn every_block_is_read() {
    let home = Home::named(
        r#"
plugin_cache_dir = "$CACHE/${SUB}/plugins"
disable_checkpoint = true
credentials "Bücher.test" { token = "t1" }
host "h.test" { services = { "providers.v1" = "https://x.test/p/", "login.v1" = { client = "c" } } }
registry_protocols {
  retry_count = 5
  request_timeout_seconds = 7
}
provider_installation {
  dev_overrides { "acme/gamma" = "bin" }
  filesystem_mirror {
    path    = "mirror"
    include = ["acme/*"]
  }
  network_mirror {
    url                  = "https://mirror.test/x"
    trust_all_hashes     = true
    download_retry_count = 9
    exclude              = ["acme/alpha", "h.test/*/*"]
  }
  oci_mirror { repository_template = "r.test/${namespace}/${type}" }
  git_mirror { from = "2030" }
  direct {}
}
oci_default_credentials {
  docker_style_config_files = ["docker.json"]
  docker_credentials_helper = "desktop"
}
oci_credentials "r.test/a" {
  username = "u"
  password = "p4ss"
}
oci_credentials "s.test" {
  access_token  = "acc3ss"
  refresh_token = "r3fresh"
}
future_block "x" { y = 1 }
credentials_helper "store" { args = ["--flag"] }
"#,
    );
    let config = home.load();
    assert_eq!(
        config.credentials[&host("bücher.test")]
            .token
            .as_ref()
            .unwrap()
            .reveal(),
        "t1"
    );
    assert_eq!(
        config.hosts[&host("h.test")],
        BTreeMap::from([("providers.v1".into(), "https://x.test/p/".into())])
    );
    assert_eq!(
        (config.registry_retries, config.registry_timeout),
        (Some(5), Some(Duration::from_secs(7)))
    );
    let installation = config.provider_installation.as_ref().unwrap();
    let address = |text| ProviderAddress::parse(text, Dialect::Tofu).unwrap();
    assert_eq!(
        installation.dev_overrides,
        BTreeMap::from([(address("acme/gamma"), home.path("work/bin"))])
    );
    let kinds: Vec<_> = installation
        .methods
        .iter()
        .map(|method| method.kind.clone())
        .collect();
    let expected = [
        MethodKind::FilesystemMirror(home.path("work").join("mirror")),
        MethodKind::NetworkMirror {
            url: url::Url::parse("https://mirror.test/x/").unwrap().into(),
            trust_all_hashes: true,
        },
        MethodKind::OciMirror("r.test/${namespace}/${type}".to_owned()),
        MethodKind::Unknown("git_mirror".to_owned()),
        MethodKind::Direct,
    ];
    assert_eq!(kinds, expected);
    let network = &installation.methods[1];
    assert_eq!(network.download_retries, Some(9));
    assert!(
        network.providers.contains(&address("acme/beta"))
            && !network.providers.contains(&address("acme/alpha"))
    );
    assert!(!network.providers.contains(&address("h.test/a/b")));
    assert!(
        !installation.methods[0]
            .providers
            .contains(&address("hashicorp/aws"))
    );
    assert_eq!(
        config.oci_default_credentials.docker_style_config_files,
        Some(vec![home.path("docker.json")])
    );
    assert_eq!(
        config
            .oci_default_credentials
            .docker_credentials_helper
            .as_deref(),
        Some("desktop")
    );
    let OciLoginSource::Login(OciLogin::Basic { username, .. }) = &config.oci_credentials[0].login
    else {
        panic!()
    };
    assert_eq!(username, "u");
    assert!(matches!(
        &config.oci_credentials[1].login,
        OciLoginSource::Login(OciLogin::OAuth { .. })
    ));
    assert!(
        config
            .debug
            .iter()
            .any(|line| line.contains(":38:1: \"future_block\" is not known")),
        "{:?}",
        config.debug
    );
    assert!(
        config
            .debug
            .iter()
            .any(|line| line.contains("disable_checkpoint"))
    );
    assert_eq!(config.warnings.len(), 1, "the helper is not installed");
    let shown = format!("{config:?} {:?}", home.environment);
    for secret in ["t1\"", "--flag", "p4ss", "acc3ss", "r3fresh"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[test]
fn json_files_mean_the_same() {
    let config = Home::named(
        r#"{"host": {"h.test": {"services": {"providers.v1": "https://x.test/"}}},
            "credentials_helper": {"store": {"args": ["a", "b"]}},
            "provider_installation": [
                {"network_mirror": [{"url": "https://one.test/"}, {"url": "https://two.test/"}]},
            ]}"#,
    )
    .load();
    assert_eq!(
        config.hosts[&host("h.test")]["providers.v1"],
        "https://x.test/"
    );
    assert_eq!(config.credentials_helper.unwrap().arguments, ["a", "b"]);
    assert_eq!(config.provider_installation.unwrap().methods.len(), 2);
}

#[test]
fn errors_name_their_place() {
    for (text, message, line, column) in [
        ("a = \"b\n", "closing quote", 1, 5),
        (
            "\n  credentials \"h_x\" { token = \"t\" }",
            "is not a host name",
            2,
            15,
        ),
        (
            "credentials \"h.test\" { token = 3 }",
            "\"token\" must be text",
            1,
            32,
        ),
        ("credentials \"h.test\" = 3", "must be a block", 1, 24),
        ("credentials_helper \"a/b\" {}", "contains no slash", 1, 20),
        (
            "credentials_helper \"a\" {}\ncredentials_helper \"b\" {}",
            "only one credentials_helper",
            2,
            20,
        ),
        (
            "provider_installation {}\nprovider_installation {}",
            "only one provider_installation",
            2,
            1,
        ),
        (
            "provider_installation {\n  direct { include = [\"a\"] }\n}",
            "not a provider pattern",
            2,
            23,
        ),
        (
            "provider_installation {\n  filesystem_mirror {}\n}",
            "needs the argument \"path\"",
            2,
            3,
        ),
        (
            "provider_installation {\n  network_mirror { url = \"http://m.test/\" }\n}",
            "https",
            2,
            26,
        ),
        (
            "provider_installation {\n  direct {}\n  dev_overrides {}\n}",
            "before all",
            3,
            3,
        ),
        (
            "provider_installation {\n  dev_overrides { \"a_b\" = \".\" }\n}",
            "not a provider address",
            2,
            19,
        ),
        (
            "provider_installation {\n  direct { download_retry_count = -1 }\n}",
            "whole number",
            2,
            35,
        ),
        (
            "oci_credentials \"h\" { username = \"u\" }",
            "username and password",
            1,
            17,
        ),
        (
            "oci_credentials \"h/a\" { docker_credentials_helper = \"x\" }",
            "whole hosts",
            1,
            17,
        ),
    ] {
        let (found, found_line, found_column) = Home::named(text).error();
        assert!(found.contains(message), "{text}: {found}");
        assert_eq!((found_line, found_column), (line, column), "{text}");
    }
}

#[test]
fn all_errors_are_reported_and_none_quotes_a_token() {
    let home = Home::named(
        "credentials \"bad_host\" { token = \"s3cr3t\" }\nhost \"also_bad\" {}\ncredentials_helper \"\" {}",
    );
    let errors = load(&home.environment, Dialect::Tofu).unwrap_err();
    assert_eq!(errors.len(), 3);
    for error in errors {
        assert!(!error.labels[0].location.file.text.contains("s3cr3t"));
    }
}

#[test]
fn a_file_that_is_too_large_or_not_text_is_refused() {
    let home = Home::named(&" ".repeat(usize::try_from(document::SIZE_LIMIT).unwrap() + 1));
    assert!(
        load(&home.environment, Dialect::Tofu).unwrap_err()[0]
            .message
            .contains("too large")
    );
    fs::write(home.path("rc"), [0xff, 0xfe]).unwrap();
    assert!(
        load(&home.environment, Dialect::Tofu).unwrap_err()[0]
            .message
            .contains("cannot read")
    );
}

#[test]
fn variables_win_over_blocks() {
    let mut home = Home::named(
        &(block("a.test", "block") + &block("h-x.test", "block") + &block("c.test:8443", "port")),
    );
    for (variable, value) in [
        ("TF_TOKEN_a_test", "a"),
        ("TF_TOKEN_h__x_test", "dash"),
        ("TF_TOKEN_xn____caf__dma_fr", "punycode"),
        ("TF_TOKEN_b\u{fc}cher_test", "unicode"),
        ("TF_TOKEN_p_test:8443", "variable port"),
        ("TF_TOKEN_c_test", ""),
        ("TF_TOKEN_", "nothing"),
        ("TF_TOKEN_..", "nothing"),
    ] {
        home.set(variable, value);
    }
    let credentials = home.credentials();
    for (name, expected) in [
        ("a.test", Some("a")),
        ("h-x.test", Some("dash")),
        ("café.fr", Some("punycode")),
        ("BÜCHER.test", Some("unicode")),
        ("p.test:8443", Some("variable port")),
        ("p.test", None),
        ("c.test:8443", Some("port")),
        ("c.test", None),
        ("a.test:443", Some("a")),
        ("a.test:8443", None),
    ] {
        assert_eq!(token_of(&credentials, name).as_deref(), expected, "{name}");
    }
    let origin = credentials.source(&host("h-x.test")).unwrap();
    assert_eq!(
        origin,
        Some(CredentialsOrigin::Environment("TF_TOKEN_h__x_test".into()))
    );
    assert_eq!(
        credentials.source(&host("c.test:8443")).unwrap(),
        Some(CredentialsOrigin::Block(home.path("rc")))
    );
    let shown = format!("{credentials:?}");
    assert!(
        !shown.contains("punycode") && !shown.contains("\"port\""),
        "{shown}"
    );
}

#[test]
fn a_token_that_cannot_be_sent_is_an_error_that_does_not_show_it() {
    let mut home = Home::new();
    home.set("TF_TOKEN_h_test", "abc\ndef");
    let error = home.credentials().token(&host("h.test")).unwrap_err();
    assert!(error[0].message.contains("TF_TOKEN_h_test") && !format!("{error:?}").contains("abc"));
}
