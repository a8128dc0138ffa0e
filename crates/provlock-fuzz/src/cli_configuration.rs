//! The CLI configuration, in HCL or, if it begins with a brace, in JSON.

use std::fs;
use std::path::Path;

use provlock::cli_config::{CliConfig, load};
use provlock::diagnostic::Result;
use provlock::provider::Dialect;
use provlock::system::Environment;

/// The token in the seeds.
const SECRET: &str = "s3cr3t";

/// Reads a CLI configuration. No excerpt of it shows the seeds' token, and a comment at its end
/// changes nothing.
pub fn cli_configuration(data: &[u8]) -> bool {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let is_json = data.starts_with(b"{");
    let file = directory
        .path()
        .join(if is_json { "cli.tfrc.json" } else { "cli.tfrc" });
    let read = |content: &[u8], dialect| {
        fs::write(&file, content).expect("a file");
        load_file(directory.path(), &file, dialect)
    };
    let holds_secrets = String::from_utf8_lossy(data)
        .to_ascii_lowercase()
        .contains("token");
    let mut is_accepted = false;
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let config = match read(data, dialect) {
            Ok(config) => config,
            Err(errors) => {
                for label in errors.iter().flat_map(|error| &error.labels) {
                    let text = &label.location.file.text;
                    assert!(text.get(label.location.span.clone()).is_some(), "{label:?}");
                    assert!(!holds_secrets || !text.contains(SECRET), "{text}");
                }
                continue;
            }
        };
        is_accepted = true;
        let end: &[u8] = if is_json { b"\n " } else { b"\n# a comment\n" };
        let longer =
            read(&[data, end].concat(), dialect).expect("a comment at the end is no error");
        assert_same(&longer, &config);
    }
    is_accepted
}

fn load_file(directory: &Path, file: &Path, dialect: Dialect) -> Result<CliConfig> {
    let variables = [("TF_CLI_CONFIG_FILE".to_owned(), file.display().to_string())].into();
    load(
        &Environment {
            variables,
            home: None,
            current_directory: directory.to_owned(),
            ..Environment::default()
        },
        dialect,
    )
}

/// Everything but locations, which contain the text of the file.
fn assert_same(one: &CliConfig, other: &CliConfig) {
    assert_eq!(one.credentials, other.credentials);
    assert_eq!(one.hosts, other.hosts);
    assert_eq!(
        (one.registry_retries, one.registry_timeout),
        (other.registry_retries, other.registry_timeout)
    );
    assert_eq!(
        one.provider_installation.is_some(),
        other.provider_installation.is_some()
    );
    assert_eq!(one.oci_credentials.len(), other.oci_credentials.len());
}
