//! Modules that `get` installs from a mirror, which Terraform uses without a network.

use std::fs;

use provlock_test::archive::{self, Packing};

use super::project;
use crate::modules::publish;

#[test]
fn terraform_initializes_modules_of_a_mirror_without_a_network() {
    let project = project();
    let environment = &project.environment;
    publish(
        environment,
        "output \"network\" {\n  value = 1\n}\n",
        "v1.0.0",
    );
    let site = "output \"site\" {\n  value = 2\n}\n".as_bytes().to_vec();
    let archive = archive::pack(&[("main.tf".to_owned(), site)], Packing::Deflated);
    project.registry.serve("/site.zip", archive);
    let repository = environment.root().join("modules.git");
    let main = format!(
        "module \"network\" {{\n  source = \"git::file://{}//network?ref=v1.0.0\"\n}}\n\n\
         module \"site\" {{\n  source = \"https://registry.terraform.io/site.zip\"\n}}\n",
        repository.display()
    );
    project.write(&[("main.tf", &main)]);
    environment.provlock(["lock", "--modules"]).assert_code(0);
    let mirror = environment.root().join("mirror");
    let mirror = mirror.to_str().unwrap();
    environment
        .provlock(["mirror", "--modules", mirror])
        .assert_code(0);

    // Without the network, Terraform cannot fetch them itself.
    fs::rename(&repository, repository.with_extension("gone")).unwrap();
    project.registry.serve("/site.zip", "gone");
    fs::remove_dir_all(environment.home().join(".cache")).unwrap();
    if let Some(result) = project.init() {
        assert!(result.0.is_none(), "Terraform finds the modules somewhere");
    }
    let _ = fs::remove_dir_all(environment.project().join(".terraform"));

    let requests = project.registry.requests().len();
    environment
        .provlock(["get", "--modules-mirror", mirror])
        .assert_code(0)
        .assert_stderr_has("Installed 2 modules: network, site\n");
    if let Some(result) = project.init() {
        assert!(
            result.0.is_some(),
            "Terraform does not use what get installed"
        );
        let site = environment.read(".terraform/modules/site/main.tf");
        assert!(site.contains("output \"site\""), "{site}");
    }
    assert_eq!(project.registry.requests().len(), requests);
    environment
        .provlock(["get", "--check", "--modules-mirror", mirror])
        .assert_code(0);
}
