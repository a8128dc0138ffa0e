//! Upgrades of providers that only the state needs.

use provlock_test::files::lock_file;

use super::{LINUX, project};

const STATE: &str = r#"{"version": 4, "terraform_version": "1.5.0", "serial": 1, "lineage": "a", "outputs": {}, "resources": [
    {"mode": "managed", "type": "one_a", "name": "b", "provider": "provider[\"registry.terraform.io/acme/one\"]", "instances": []}]}"#;

/// Terraform 1.15 takes them from the state without constraints, and only new ones.
#[test]
fn an_upgrade_moves_what_terraform_moves() {
    let project = project();
    let environment = &project.environment;
    let address = "registry.terraform.io/acme/one";
    let old = project.registry.publish(address, "1.0.0");
    let old = old.platforms(LINUX).done();
    let new = project.registry.publish(address, "2.1.1");
    let _ = new.platforms(LINUX).done();
    let required =
        "terraform {\n  required_providers {\n    one = { source = \"acme/one\" }\n  }\n}\n";
    for (main, constraint, expected) in [
        ("locals {}\n", "", "1.0.0"),
        (required, "", "2.1.1"),
        (
            &required.replace("\" }", "\", version = \"~> 1.0\" }"),
            "~> 1.0",
            "1.0.0",
        ),
    ] {
        let locked = lock_file(&[old.entry_for(constraint, &LINUX)]).replace("tofu", "terraform");
        let files = [
            ("main.tf", main),
            ("terraform.tfstate", STATE),
            (".terraform.lock.hcl", &locked),
        ];
        project.write(&files);
        let mut by_terraform = None;
        if project.has_terraform {
            let init = ["init", "-upgrade", "-input=false", "-no-color"];
            environment.terraform(init).run().assert_code(0);
            by_terraform = Some(environment.lock_file());
        }
        project.write(&files);
        let upgrade = ["upgrade", "-p", "linux_amd64"];
        environment.provlock(upgrade).assert_code(0);
        let own = environment.lock_file();
        assert!(
            own.contains(&format!("= \"{expected}\"\n")),
            "{main}: {own}"
        );
        if let Some(text) = by_terraform {
            assert_eq!(own, text, "{main}");
        }
    }
}
