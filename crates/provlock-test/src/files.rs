//! The text of configurations and lock files, as OpenTofu writes them.

const HEADER: &str = "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n";

/// Returns a configuration that requires one provider. Without a constraint every version is
/// allowed.
pub fn requires(source: &str, constraint: &str) -> String {
    let name = source.rsplit('/').next().unwrap();
    let version = if constraint.is_empty() {
        String::new()
    } else {
        format!("version = \"{constraint}\"")
    };
    format!(
        r#"terraform {{
  required_providers {{
    {name} = {{
      source = "{source}"
      {version}
    }}
  }}
}}
"#
    )
}

/// Returns a well-formed `h1:` that begins with these letters and digits.
pub fn h1(beginning: &str) -> String {
    format!("h1:{beginning:A<43}=")
}

/// Returns a well-formed `zh:` that begins with these hexadecimal digits.
pub fn zh(beginning: &str) -> String {
    format!("zh:{beginning:0<64}")
}

/// Returns the text of a lock file with these entries.
pub fn lock_file(entries: &[String]) -> String {
    format!("{HEADER}{}", entries.concat())
}

/// Returns the text of an entry, with a blank line before it. An address without a host is one of
/// OpenTofu's registry. Constraints that are empty and hashes that are not there leave no
/// attribute.
pub fn entry(address: &str, version: &str, constraints: &str, hashes: &[&str]) -> String {
    let host = if address.matches('/').count() == 1 {
        "registry.opentofu.org/"
    } else {
        ""
    };
    let (padding, constraints) = match constraints {
        "" => ("", String::new()),
        text => ("    ", format!("  constraints = \"{text}\"\n")),
    };
    let lines: Vec<_> = hashes
        .iter()
        .map(|hash| format!("    \"{hash}\",\n"))
        .collect();
    let lines = lines.concat();
    let hashes = if lines.is_empty() {
        String::new()
    } else {
        format!("  hashes = [\n{lines}  ]\n")
    };
    format!(
        "\nprovider \"{host}{address}\" {{\n  version{padding} = \"{version}\"\n{constraints}{hashes}}}\n"
    )
}

/// Returns the text of a lock file of modules with these entries.
pub fn module_lock_file(entries: &[String]) -> String {
    let header = "# This file is maintained by provlock. It records the packages of the modules that this \
                  configuration calls.\n\
                  # OpenTofu and Terraform do not read it: \"provlock get\" installs what it records, \
                  \"provlock verify\" checks it.\n";
    format!("{header}{}", entries.concat())
}

/// Returns the entry of a module in git, locked at a tag and the commit that it pointed to, with a
/// blank line before it.
pub fn module_entry(name: &str, tag: &str, commit: &str) -> String {
    let address = format!("git::https://example.com/{name}.git?ref=");
    let hash = h1(&format!("{name}{commit}"));
    format!(
        "\nmodule \"{name}\" {{\n  source  = \"{address}{tag}\"\n  package = \"{address}{commit}\"\n  \
         hashes = [\n    \"{hash}\",\n  ]\n}}\n"
    )
}
