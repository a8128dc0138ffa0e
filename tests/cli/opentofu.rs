//! The lock file of OpenTofu's draft: written, and read where there is none of provlock's.

use super::lock::requires;
use super::modules::publish as publish_tag;
use super::upgrade::modules::publish_module;
use provlock_test::{Registry, TestEnvironment};

/// A project that calls a module of a registry, one in git and an archive, each of which is locked.
fn project() -> (Registry, TestEnvironment) {
    let registry = Registry::start();
    registry.publish("acme/gamma", "1.5.0").platforms(["linux_amd64"]).done();
    publish_module(&registry, &["1.0.0", "1.1.0"]);
    let environment = TestEnvironment::with_registry(&registry);
    publish_tag(&environment, "# one\n", "v1.0.0");
    let repository = environment.root().join("modules.git");
    let calls = format!(
        "module \"net\" {{\n  source  = \"acme/net/aws\"\n  version = \"~> 1.0\"\n}}\n\
         module \"network\" {{\n  source = \"git::file://{}//network?ref=main\"\n}}\n\
         module \"site\" {{\n  source = \"https://registry.opentofu.org/net-1.0.0.zip\"\n}}\n",
        repository.display()
    );
    environment.write("main.tf", format!("{}{calls}", requires("acme/gamma", "~> 1.0")));
    (registry, environment)
}

const EXPORT: [&str; 6] = ["lock", "-p", "linux_amd64", "--modules", "--export-opentofu", "export.hcl"];

#[test]
fn what_is_locked_is_written_in_the_form_of_the_draft() {
    let (_registry, environment) = project();
    environment.provlock(EXPORT.into_iter().chain(["--check"])).assert_code(1);
    assert!(!environment.project().join("export.hcl").exists());
    environment.provlock(EXPORT).assert_code(0);
    let exported = environment.read("export.hcl");
    assert!(exported.starts_with(&environment.lock_file()), "{exported}");
    let modules = &exported[environment.lock_file().len()..];
    for (part, count) in [
        ("\nmodule \"net\" {\n", 1),
        ("  package     = \"registry::registry.opentofu.org/acme/net/aws@1.1.0\"\n", 1),
        ("\nmodule \"network\" {\n", 1),
        ("  floating = true\n", 1),
        ("version", 0),
        ("\"h1:", 2),
        ("\"zh:", 0),
    ] {
        assert_eq!(modules.matches(part).count(), count, "{part}\n{modules}");
    }
    let several = environment.provlock(EXPORT.into_iter().chain(["-r"]));
    several.assert_code(2).assert_stderr_has("several root modules");
}

#[test]
fn the_draft_is_read_where_no_other_lock_file_of_modules_is() {
    let (registry, environment) = project();
    environment.provlock(EXPORT).assert_code(0);
    let project = environment.project();
    let locked = environment.read(project.join(".modules.lock.hcl"));
    let exported = environment.read("export.hcl");
    let import = |text: &str| {
        let _ = std::fs::remove_file(project.join(".modules.lock.hcl"));
        environment.write(".opentofu.lock.hcl", text);
        environment.provlock(["lock", "-p", "linux_amd64", "--modules", "--no-cache"])
    };
    // Both have moved on, and what was selected stays.
    publish_module(&registry, &["1.0.0", "1.1.0", "1.2.0"]);
    publish_tag(&environment, "# two\n", "v1.1.0");
    import(&exported).assert_code(0);
    let imported = environment.read(project.join(".modules.lock.hcl"));
    let without_zh = |text: &str| text.lines().filter(|line| !line.contains("\"zh:")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_zh(&imported), without_zh(&locked));

    let start = exported.find("\"h1:").map(|_| exported.rfind("\"h1:").unwrap()).unwrap();
    let forged = format!("{}\"h1:{}=\",{}", &exported[..start], "A".repeat(43), &exported[start + 50..]);
    import(&forged).assert_code(2).assert_stderr_has("other bytes than when it was locked");
    import("module \"net\" {\n").assert_code(2).assert_stderr_has(".opentofu.lock.hcl");
    assert!(!project.join(".modules.lock.hcl").exists());
}
