//! Programs of the repository that run a tool, in files that no row of the table can have.

use super::gate::Gate;

/// Writes a text for a script or for arguments of a backend.
type Content = fn(&str) -> Vec<u8>;

/// A workflow that is larger than most files.
fn large(bucket: &str) -> Vec<u8> {
    let mut text = format!("run: tofu init -backend-config=bucket={bucket}\n");
    text += &"# A comment.\n".repeat(200_000);
    text.into_bytes()
}

/// A workflow that is too large to be searched.
fn too_large(bucket: &str) -> Vec<u8> {
    let mut text = large(bucket);
    text.resize(9 << 20, b' ');
    text
}

/// A text as PowerShell writes it.
fn utf16(bucket: &str) -> Vec<u8> {
    let text = format!("\u{feff}tofu init -backend-config=bucket={bucket}\n");
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A script that is no text.
fn binary(bucket: &str) -> Vec<u8> {
    format!("\0\u{1}{bucket}").into_bytes()
}

#[test]
fn a_script_in_any_form_is_a_note() {
    let cases: [(&str, Content); 4] = [
        (".gitlab-ci.yml", large),
        (".gitlab-ci.yml", too_large),
        ("init.ps1", utf16),
        ("deploy.sh", binary),
    ];
    for (path, content) in cases {
        let gate = Gate::with(|gate| gate.write(path, content("acme-state")));
        gate.write(path, content("evil-state"));
        gate.commit();
        let output = gate.provlock(&["verify", "-r", "--base", "main"]);
        let note = format!("note[decision-changed]: {path} differs from the base");
        assert!(
            output.code == Some(0) && output.to_string().contains(&note),
            "{output}"
        );
    }
}

#[test]
fn large_data_and_data_that_is_no_text_are_silent() {
    let cases: [(&str, Content); 3] = [
        ("data.json", too_large),
        ("image.bin", binary),
        ("pnpm-lock.yaml", |version| {
            format!("a: {version}\n").repeat(200_000).into_bytes()
        }),
    ];
    for (path, content) in cases {
        let gate = Gate::with(|gate| gate.write(path, content("1.0.0")));
        gate.write(path, content("1.0.1"));
        gate.commit();
        let output = gate.provlock(&["verify", "-r", "--base", "main"]);
        output.assert_code(0).assert_stderr_has("root modules");
        assert!(!output.to_string().contains("decision-changed"), "{output}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn arguments_of_a_backend_in_a_file_whose_name_is_no_text_are_an_error() {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    let name = OsStr::from_bytes(b"live/\xff.tfbackend");
    let gate = Gate::with(|gate| {
        gate.write("live/state.tf", "terraform {\n  backend \"s3\" {}\n}\n");
        fs::write(gate.project().join(name), "bucket = \"acme-state\"\n").unwrap();
    });
    fs::write(gate.project().join(name), "bucket = \"evil-state\"\n").unwrap();
    gate.commit();
    let output = gate.provlock(&["verify", "-r", "--base", "main"]);
    assert!(
        output.code == Some(1) && output.to_string().contains("error[not-decided]: "),
        "{output}"
    );
}

/// Macros of git's attributes. Each sets the next one, and the last one hides lock files.
fn chain_of_macros(length: usize) -> String {
    let mut lines = Vec::new();
    for number in 0..length {
        lines.push(format!("[attr]m{number} m{}\n", number + 1));
    }
    lines.push(format!("[attr]m{length} -diff\n*.hcl m0\n"));
    lines.concat()
}

#[test]
fn a_long_chain_of_macros_is_followed_or_refused() {
    for (length, expected) in [
        (3, "note[decision-changed]"),
        (9_000, "note[decision-changed]"),
        (45_000, "error[not-decided]"),
    ] {
        let gate = Gate::with(|_| {});
        gate.write(".gitattributes", chain_of_macros(length));
        gate.commit();
        let output = gate.provlock(&["verify", "-r", "--base", "main"]);
        output
            .assert_code(i32::from(length == 45_000))
            .assert_stdout_has(expected)
            .assert_stdout_has(".gitattributes");
    }
}
