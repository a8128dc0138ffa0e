//! Changes of files that a configuration reads by their names: templates, JSON, and values that a
//! flag names.

use super::gate::Gate;

const UNKNOWN: &str = "s3::https://evil.test/m.zip";

/// The name of an attempt, and the attempt.
type Attempt = (&'static str, fn(&Gate));

fn call(name: &str, source: &str) -> String {
    format!("module \"{name}\" {{\n  source = {source}\n}}\n")
}

#[test]
fn what_a_unit_reads_is_compared() {
    fn with_source(gate: &Gate, unit: &str, rest: &str) {
        let module = "terraform {\n  source = \"../../modules/m\"\n}\n";
        gate.write(
            &format!("units/{unit}/terragrunt.hcl"),
            module.to_owned() + rest,
        );
    }
    fn generated(gate: &Gate, source: &str) {
        let (contents, hole) = (
            call("x", source).replace("}\n", ""),
            "  a = \"${run_cmd(\"x\")}\"\n}\n",
        );
        let block = "generate \"net\" {\n  path = \"net.tf\"\n  if_exists = \"overwrite\"\n  contents = <<EOF\n";
        with_source(gate, "hole", &format!("{block}{contents}{hole}EOF\n}}\n"));
    }
    fn unknown_source(host: &str) -> String {
        let source = "terraform {\n  source = \"${local.url}?ref=${run_cmd(\"x\")}\"\n}\n";
        source.to_owned() + &format!("locals {{\n  url = \"git::https://{host}/a/x.git\"\n}}\n")
    }
    fn computed(gate: &Gate, host: &str) {
        gate.write("units/computed/terragrunt.hcl", unknown_source(host));
    }
    fn included(gate: &Gate, host: &str) {
        gate.write("common/.root.tg", unknown_source(host));
        gate.write(
            "units/included/terragrunt.hcl",
            "include \"c\" {\n  path = \"../../common/.root.tg\"\n}\n",
        );
    }
    let gate = Gate::with(|gate| {
        gate.root("modules/m", super::NULL, &[super::H1, super::ZH]);
        gate.write("modules/m/lib/main.tf", "locals {}\n");
        for unit in ["file", "hole", "computed", "included"] {
            gate.write(
                &format!("units/{unit}/.terraform.lock.hcl"),
                gate.read("modules/m/.terraform.lock.hcl"),
            );
        }
        let block = "generate \"net\" {\n  path = \"net.tf\"\n  if_exists = \"overwrite\"\n";
        with_source(
            gate,
            "file",
            &format!("{block}  contents = file(\"net.tpl\")\n}}\n"),
        );
        gate.write("units/file/net.tpl", call("x", "\"./lib\""));
        generated(gate, "\"./lib\"");
        computed(gate, "good.test");
        included(gate, "good.test");
    });
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    let attempts: [Attempt; 4] = [
        ("a file that becomes a generated file", |gate| {
            gate.write("units/file/net.tpl", call("x", &format!("\"{UNKNOWN}\"")));
        }),
        ("text beside an unknown part of a generated file", |gate| {
            generated(gate, &format!("\"{UNKNOWN}\""));
        }),
        ("a local of a source that is not known", |gate| {
            computed(gate, "evil.test");
        }),
        (
            "a local of such a source in a file with another name",
            |gate| included(gate, "evil.test"),
        ),
    ];
    for (name, attempt) in attempts {
        attempt(&gate);
        assert_eq!(gate.errors(&["-r"]), ["not-decided"], "{name}");
        gate.reset();
    }
}

#[test]
fn values_in_a_file_that_a_flag_names_are_compared() {
    let gate = Gate::with(|gate| {
        gate.write(
            "live/net.tf",
            "variable \"s\" {}\n".to_owned() + &call("m", "var.s"),
        );
        gate.write("env/prod.values", "s = \"./m\"\n");
        gate.write("live/m/main.tf", "locals {}\n");
    });
    let arguments = ["-r", "--var-file", "env/prod.values"];
    assert_eq!(gate.errors(&arguments), [] as [&str; 0]);
    gate.write("env/prod.values", "s = \"./other\"\n");
    gate.write("live/other/main.tf", "locals {}\n");
    assert_eq!(gate.errors(&arguments), ["not-decided"]);
}

#[test]
fn a_unit_beside_a_shared_file_does_not_hide_its_change() {
    let shared =
        |host: &str| format!("terraform {{\n  source = \"git::https://{host}/a/x.git\"\n}}\n");
    let gate = Gate::with(|gate| {
        gate.write(
            "provlock.toml",
            gate.read("provlock.toml") + "[verify]\ndeny = [\"publisher-added\"]\n",
        );
        gate.root("units/u", super::NULL, &[super::H1, super::ZH]);
        gate.write(
            "units/u/terragrunt.hcl",
            "include \"c\" {\n  path = \"../../common/net.hcl\"\n}\n",
        );
        gate.write("common/net.hcl", shared("good.test"));
    });
    gate.write("common/net.hcl", shared("evil.test"));
    assert!(gate.errors(&["-r"]).contains(&"publisher-added".to_owned()));
    gate.write("m/main.tf", "locals {}\n");
    gate.write(
        "common/terragrunt.hcl",
        "terraform {\n  source = \"../m\"\n}\n",
    );
    assert!(
        gate.errors(&["-r"]).contains(&"publisher-added".to_owned()),
        "with a unit beside it"
    );
}

#[test]
fn a_generated_lock_file_makes_a_unit_unknown() {
    let module = "terraform {\n  source = \"../../modules/m\"\n}\n";
    let gate = Gate::with(|gate| {
        gate.root("modules/m", super::NULL, &[super::H1, super::ZH]);
        gate.write(
            "units/u/.terraform.lock.hcl",
            gate.read("modules/m/.terraform.lock.hcl"),
        );
        gate.write("units/u/terragrunt.hcl", module);
    });
    for path in [".terraform.lock.hcl", ".terraform/modules/modules.json"] {
        let block = format!(
            "generate \"x\" {{\n  path = \"{path}\"\n  if_exists = \"overwrite\"\n  contents = \"\"\n}}\n"
        );
        gate.write("units/u/terragrunt.hcl", module.to_owned() + &block);
        assert_eq!(gate.errors(&["-r"]), ["not-decided"], "{path}");
    }
}
