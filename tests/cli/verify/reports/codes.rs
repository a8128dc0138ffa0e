//! Each code of a finding, with the smallest defect that has it: the repository without the defect
//! has no such finding.

use std::collections::BTreeSet;
use std::fs;

use provlock::diagnostic::Code;
use provlock_test::publish::{Publish, Published};
use provlock_test::{Flaw, Registry, TestEnvironment, keys};
use serde_json::{Value, json};

use super::gate::OTHER_H1;
use super::gate_bypass::BACKEND;
use super::modules::Project;
use super::platforms::install;
use super::{H1, ZH, entry};
use crate::get::module_lock_file;
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use crate::modules::push_tag;
use crate::upgrade::age::document;
use provlock_test::git::Repository;

const NULL: &str = "registry.opentofu.org/acme/null";
const LOCK: &str = ".terraform.lock.hcl";
const MODULE_LOCK: &str = ".modules.lock.hcl";
const PLATFORMS: [&str; 2] = ["linux_amd64", "darwin_arm64"];
const BOTH: &str = "linux_amd64,darwin_arm64";
const TERRAFORM: &str = "registry.terraform.io";

/// A text in UTF-16.
const ENCODED: &str = "n\0o\0t\0e\0\n\0";

/// Makes a test for each code: the repository without the defect, the arguments of `verify`, and
/// the defect.
macro_rules! codes {
    ($all:expr; $($name:ident: $start:expr, $arguments:expr, $defect:expr;)+) => {
        $(
            #[test]
            fn $name() {
                let code = stringify!($name).replace('_', "-");
                assert_found_with(&code, &$start, |start| &start.environment, &$arguments, $defect);
            }
        )+

        #[test]
        fn every_code_has_its_test() {
            let names: Vec<_> = $all.iter().map(|code| code.as_str().replace('-', "_")).collect();
            assert_eq!([$(stringify!($name)),+], names[..]);
        }
    };
}

codes! {
    Code::FINDINGS;
    lock_file_missing: Case::new(), [], |case| case.remove(LOCK);
    lock_file_syntax: Case::new(), [], |case| case.append(LOCK, "other {}\n");
    conflict_markers: Case::new(), [], |case| {
        let text = case.read(LOCK);
        case.write(LOCK, format!("<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> topic\n"));
    };
    duplicate_provider: Case::new(), [], |case| {
        let block = case.read(LOCK).split_off(case.read(LOCK).find("\nprovider").unwrap());
        case.append(LOCK, &block);
    };
    duplicate_module: Project::new(), [], |project| {
        let text = module_lock_file(&project.environment);
        let site = text.split("module \"site\"").nth(1).unwrap().split("\n\n").next().unwrap();
        project.environment.write(MODULE_LOCK, format!("{text}\nmodule \"site\"{site}\n"));
    };
    not_canonical: Case::new(), [], |case| case.edit(LOCK, "~> 3.0", "~>3.0");
    malformed_hash: Case::new(), [], |case| case.add_hash("h1:AAAA");
    unknown_hash_scheme: Case::new(), [], |case| case.add_hash("h2:anything");
    unsorted_hashes: Case::new(), [], |case| case.add_hash(ZH);
    untracked_lock_file: Case::new(), [], |case| {
        case.write(".gitignore", LOCK);
        case.git(["rm", "--quiet", "--cached", LOCK]);
    };
    provider_not_locked: Case::new(), [], |case| case.write("more.tf", "provider \"gamma\" {}\n");
    requirement_refused: Case::new(), [], |case| {
        case.write("more.tf", "provider \"terraform\" {\n  version = \"~> 1.0\"\n}\n");
    };
    provider_not_required: Case::new(), [], |case| case.write("main.tf", "locals {}\n");
    shared_lock_file: Case::with(|case| {
        case.write("b/main.tf", requires("acme/null", "~> 3.0"));
        std::os::unix::fs::symlink("../.terraform.lock.hcl", case.environment.project().join("b").join(LOCK)).unwrap();
    }), [], |case| case.append("b/main.tf", "provider \"gamma\" {}\n");
    version_outside_constraints: Case::new(), [], |case| case.edit("main.tf", "~> 3.0", "~> 2.0");
    constraints_differ: Case::new(), [], |case| case.edit("main.tf", "~> 3.0", ">= 3.0");
    module_not_locked: Project::new(), [], |project| project.edit("main.tf", "module \"vpc\"", "module \"vnet\"");
    module_lock_stale: Project::new(), [], |project| project.edit("main.tf", "~> 1.0", ">= 1.1");
    module_version_outside_constraints: Project::new(), [], |project| project.edit("main.tf", "~> 1.0", "~> 2.0");
    module_package_foreign: Project::new(), [], |project| {
        project.edit(MODULE_LOCK, "acme/vpc/aws@1.2.0", "evil/vpc/aws@1.2.0");
    };
    no_hashes: Case::new(), [], |case| case.lock(NULL, "3.2.4", &[]);
    module_not_installed: Case::new(), [], |case| case.write("calls.tf", call("acme/vpc/aws"));
    requirements_not_known: Case::new(), ["-r"], |case| {
        case.write("unit/terragrunt.hcl", "terraform {\n  source = run_cmd(\"echo\", \"x\")\n}\n");
        case.write("unit/.terraform.lock.hcl", lock_file(&[]));
    };
    state_not_read: Case::new(), [], |case| case.write("terraform.tfstate", "no state");
    no_configuration: Case::new(), ["--dialect", "terraform"], |case| case.rename("main.tf", "main.tofu");
    mixed_dialects: Case::with(|case| case.other_root("a", NULL)), ["-r"], |case| {
        case.other_root("b", "registry.terraform.io/acme/null");
    };
    single_platform: Case::new(), [], |case| case.lock(NULL, "3.2.4", &[H1]);
    platform_missing: Case::new(), ["--online", "-p", "linux_amd64"], |case| {
        case.lock(NULL, "3.2.4", &[case.null.h1("darwin_arm64"), case.null.zh("darwin_arm64")]);
    };
    platform_not_covered: Case::new(), ["--no-cache", "-p", BOTH], |case| case.lock(NULL, "3.2.4", &[H1]);
    platform_not_known: Case::new(), ["-p", BOTH], |case| {
        fs::remove_dir_all(case.environment.home().join(".cache")).unwrap();
    };
    platform_exists: Case::new(), ["--online"], |case| {
        let text = "[without-platforms]\n\"acme/null\" = [\"linux_amd64\"]\n";
        case.write("provlock.toml", text);
    };
    installed_package_differs: Case::with(|case| {
        install(&case.environment, &case.null, "linux_amd64");
    }), ["--installed"], |case| {
        let directory = format!(".terraform/providers/{NULL}/3.2.4/linux_amd64");
        case.write(&format!("{directory}/terraform-provider-null_v3.2.4"), "other");
    };
    module_differs: installed(), ["--installed"], |project| {
        project.environment.write(".terraform/modules/site/evil.tf", "");
    };
    module_not_compared: installed_with_encoding(), ["--installed"], |project| {
        project.environment.write(".terraform/modules/network/notes.txt", ENCODED);
    };
    hash_not_published: Case::new(), ["--online"], |case| case.add_hash(ZH);
    version_withdrawn: Case::new(), ["--online"], |case| case.registry.withdraw("acme/null", "3.2.4");
    provider_warning: Case::new(), ["--online"], |case| case.registry.warn("acme/null", &["use acme/delta"]);
    module_moved: Project::new(), ["--online"], |project| project.move_tag("# other\n");
    module_replaced: Project::new(), ["--online"], |project| project.serve("site.zip", "# other\n");
    module_withdrawn: Project::new(), ["--online"], |project| {
        let versions = json!({ "modules": [{ "versions": [{ "version": "1.3.0" }] }] });
        project.registry.serve("/v1/modules/acme/vpc/aws/versions", versions.to_string());
    };
    signature_invalid: Case::new(), ["--online"], |case| case.publish_again(|null| null.flaw(Flaw::BadSignature));
    key_expired: Case::new(), ["--online"], |case| case.publish_again(|null| null.signed_by(&keys::EXPIRED));
    key_not_trusted: Case::new(), ["--online"], |case| {
        case.write("provlock.toml", format!("[trust]\n\"acme/*\" = [\"{}\"]\n", keys::OTHER.fingerprint()));
    };
    package_not_authentic: Case::new(), ["--online", "--no-cache", "-p", BOTH], |case| {
        case.publish_again(|null| null.flaw(Flaw::PackageDiffers));
    };
    invalid_package: Case::new(), ["--online", "--no-cache", "-p", BOTH], |case| {
        case.publish_again(|null| null.flaw(Flaw::NoProgram));
    };
    host_not_allowed: Case::new(), [], |case| case.policy("allowed-hosts = [\"registry.example.com\"]\n");
    namespace_not_allowed: Case::new(), [], |case| case.policy("allowed-namespaces = [\"hashicorp\"]\n");
    provider_not_allowed: Case::new(), [], |case| case.policy("allow = []\n");
    module_not_allowed: Case::new(), [], |case| {
        case.policy("allowed-modules = [\"github.com/acme/*\"]\n");
        case.append("main.tf", "module \"m\" {\n  source = \"github.com/evil/network?ref=v1\"\n}\n");
    };
    version_not_allowed: Case::new(), [], |case| {
        case.policy("[[policy.require]]\nprovider = \"acme/null\"\nversions = \">= 4.0\"\n");
    };
    tier_not_allowed: Case::of_terraform(), ["--online"], |case| case.policy("tiers = [\"official\"]\n");
    provider_too_young: Case::of_terraform(), ["--online"], |case| case.policy("min-provider-age = \"30d\"\n");
    unsigned_provider: Case::new(), ["--online"], |case| {
        case.publish_again(|null| null.flaw(Flaw::NoKeys));
        case.policy("require-signed = true\n");
    };
    module_ref_floating: Case::with(|case| case.policy("pin-modules = true\n")), [], |case| {
        case.write("calls.tf", call("git::https://example.com/a.git"));
    };
    bundled_plugins: Case::new(), [], |case| {
        let directory = format!("terraform.d/plugins/{NULL}/3.2.4/linux_amd64");
        case.write(&format!("{directory}/terraform-provider-null"), "program");
    };
    tracked_data_directory: Case::new(), [], |case| case.write(".terraform/terraform.tfstate", "{}");
    outside_repository: Case::new(), [], |case| case.write("calls.tf", call("../home"));
    look_alike: Case::new(), [], |case| case.write("main.tf", requires("hashlcorp/null", ""));
    hashes_replaced: Case::new(), ["--base", "main"], |case| case.lock(NULL, "3.2.4", &[OTHER_H1]);
    decision_changed: Case::new(), ["--base", "main"], |case| case.lock(NULL, "3.2.5", &[OTHER_H1]);
    downgrade: Case::new(), ["--base", "main"], |case| case.lock(NULL, "3.2.3", &[OTHER_H1]);
    publisher_added: Case::new(), ["-r", "--base", "main"], |case| case.other_root("new", "example.com/acme/null");
    signing_key_changed: Case::new(), ["--online", "--base", "main"], |case| case.upgrade(&keys::RSA);
    version_too_young: Case::with(|case| {
        case.registry.add_host("api.opentofu.org");
        document(&case.registry, "acme/null", &[("3.2.5", 2), ("3.2.4", 100)]);
        case.policy("min-age = \"7d\"\n");
    }), ["--online", "--base", "main"], |case| case.upgrade(&keys::ED25519);
    hash_not_checked: Case::new(), ["--base", "main"], |case| case.add_hash(H1);
    policy_changed: Case::new(), ["--base", "main"], |case| case.policy("pin-modules = true\n");
    root_removed: Case::with(|case| case.other_root("old", NULL)), ["-r", "--base", "main"], |case| {
        case.remove("old/.terraform.lock.hcl");
    };
    platforms_lost: Case::new(), ["--base", "main"], |case| {
        case.lock(NULL, "3.2.4", &[case.null.h1("linux_amd64"), case.null.zh("linux_amd64")]);
    };
    not_decided: Case::new(), ["-r", "--base", "main"], |case| case.write("MAIN.TF", "");
    invalid_ignore: Case::new(), [], |case| case.comment("ignore[no-such-code] why");
    unused_ignore: Case::new(), [], |case| case.comment("ignore[no-hashes] why");
}

/// The reasons of findings whose code has several.
mod reasons {
    use provlock::diagnostic::Reason;

    use super::*;

    codes! {
        Reason::ALL;
        unknown_part: Case::new(), ["-r", "--base", "main"], |case| case.write("stack/terragrunt.stack.hcl", "unit {");
        run_input: Case::new(), ["-r", "--base", "main"], |case| {
            case.write("calls.tf", "variable \"a\" {\n  default = \"acme/vpc/aws\"\n}\nmodule \"m\" {\n  source = var.a\n}\n");
        };
        not_checked_out: Case::with(|case| case.other_root("old", NULL)), ["-r", "--base", "main"], |case| {
            case.write("old/main.tf", requires("acme/null", "~> 3.1"));
            case.environment.commit_all(".");
            case.git(["sparse-checkout", "set", "--no-cone", "/*", "!/old/"]);
        };
        link_added: Case::with(|case| case.other_root("old", NULL)), ["old", "--base", "main"], |case| {
            case.rename("old", "moved");
            std::os::unix::fs::symlink("moved", case.environment.project().join("old")).unwrap();
        };
        case_variant: Case::new(), ["-r", "--base", "main"], |case| case.write("MAIN.TF", "");
        dialect_changed: Case::of_terraform(), ["-r", "--base", "main"], |case| {
            case.lock(NULL, "3.2.4", &[H1]);
            case.write("main.tofu", requires("acme/null", ""));
        };
        unit_added: Case::new(), ["-r", "--base", "main"], |case| case.write("terragrunt.hcl", "locals {}\n");
        entry_removed: Case::with(|case| {
            case.other_root("unknown", NULL);
            case.write("unknown/main.tf", format!("{BACKEND}{}", call("s3::https://s3.amazonaws.com/b/known.zip")));
        }), ["-r", "--base", "main"], |case| case.write("unknown/.terraform.lock.hcl", lock_file(&[]));
        state_moved: Case::new(), ["-r", "--base", "main"], |case| case.write("state.tf", BACKEND);
        file_not_read: Case::new(), ["-r", "--base", "main"], |case| case.write("ci.tfrc", "disable_checkpoint = true\n");
        host_added: Case::new(), ["-r", "--base", "main"], |case| case.other_root("new", "example.com/acme/null");
        namespace_added: Case::new(), ["-r", "--base", "main"], |case| {
            case.other_root("new", "registry.opentofu.org/other/null");
        };
        provider_added: Case::new(), ["-r", "--base", "main"], |case| {
            case.other_root("new", "registry.opentofu.org/acme/gamma");
        };
        host_changed: Case::new(), ["--base", "main"], |case| {
            case.write("main.tf", requires("registry.example.com/acme/null", "~> 3.0"));
            case.lock("registry.example.com/acme/null", "3.2.4", &[OTHER_H1]);
        };
        module_source_added: Case::with(|case| case.write("calls.tf", call("acme/vpc/aws"))), ["-r", "--base", "main"],
            |case| case.write("calls.tf", call("evil/vpc/aws"));
    }
}

/// Asserts that `verify` finds the code once there is the defect, and not before.
#[track_caller]
fn assert_found_with<T>(
    code: &str,
    start: &T,
    environment: fn(&T) -> &TestEnvironment,
    arguments: &[&str],
    defect: impl FnOnce(&T),
) {
    let environment = environment(start);
    let without = found(environment, arguments);
    assert!(
        !without.iter().any(|found| found == code),
        "without the defect: {without:?}"
    );
    defect(start);
    let with = found(environment, arguments);
    assert!(
        with.iter().any(|found| found == code),
        "with the defect: {with:?}"
    );
    if let Ok(code) = code.parse::<Code>()
        && code.may_be_suppressed()
        && !arguments.contains(&"--base")
    {
        assert_ways(environment, arguments, code);
    }
    assert_override(environment, arguments, code);
}

/// Asserts that the help of each error about the change names the option by which an owner lets it
/// through, and that the option does so at the end of the command that denies the finding.
#[track_caller]
fn assert_override(environment: &TestEnvironment, arguments: &[&str], denied: &str) {
    let mut flags: Vec<String> = arguments.iter().map(|&flag| flag.to_owned()).collect();
    if !environment.project().join(".git").exists() {
        environment.write(".gitignore", ".terraform/\n");
        environment.git_init(".");
        environment.commit_all(".");
    }
    if !arguments.contains(&"--base") {
        flags.extend(["--base", "main"].map(str::to_owned));
        // The settings of the base apply.
        if environment.project().join("provlock.toml").exists() {
            environment.git(".", ["checkout", "--quiet", "main"]);
            environment.git(".", ["checkout", "change", "--", "provlock.toml"]);
            environment.commit_all(".");
            environment.git(".", ["checkout", "--quiet", "change"]);
        }
    }
    let recipe = [
        "--deny",
        "downgrade,signing-key-changed,untracked-lock-file",
        "--deny",
        denied,
    ];
    flags.extend(recipe.map(str::to_owned));
    // A finding that is lowered no longer hides its consequences.
    let mut is_named = false;
    for _ in 0..3 {
        let mut codes = BTreeSet::new();
        for finding in findings(environment, &flags) {
            if finding["severity"] != "error" {
                continue;
            }
            let code = finding["code"].as_str().unwrap().to_owned();
            let option = format!("an owner allows it with --warn {code}");
            let help = finding["help"].as_str().unwrap_or_default();
            assert_eq!(help.matches(&option).count(), 1, "{code}: {help:?}");
            codes.insert(code);
        }
        for code in codes {
            is_named = true;
            flags.extend(["--warn".to_owned(), code]);
        }
    }
    assert!(is_named, "{denied} was denied");
    let verify = std::iter::once("verify").chain(flags.iter().map(String::as_str));
    environment.provlock(verify).assert_code(0);
}

/// Asserts that `explain` proposes a comment above an entry only if one suppresses the finding.
#[track_caller]
fn assert_ways(environment: &TestEnvironment, arguments: &[&str], code: Code) {
    let mark = format!("# provlock: ignore[{code}] ");
    let explained = environment.provlock(["explain", code.as_str()]).stdout;
    let comment = format!("\n{mark}a reason\n");
    let mut originals = Vec::new();
    for directory in ["", "a/", "b/", "unit/"] {
        for name in [LOCK, MODULE_LOCK] {
            let path = format!("{directory}{name}");
            if environment.project().join(&path).is_file() {
                let text = environment.read(&path);
                originals.push((path.clone(), text.clone()));
                let text = text.replace("\nprovider \"", &format!("{comment}provider \""));
                let text = text.replace("\nmodule \"", &format!("{comment}module \""));
                environment.write(&path, text);
            }
        }
    }
    let with_comments = found(environment, arguments);
    let is_ignored = !with_comments.iter().any(|found| found == code.as_str());
    assert_eq!(
        explained.contains(&mark),
        is_ignored,
        "{with_comments:?}\n{explained}"
    );
    // A link was written after its target.
    for (path, text) in originals.into_iter().rev() {
        environment.write(path, text);
    }
    found(environment, arguments);
}

/// The codes of findings in the root modules and in the change as a whole, after everything has
/// been committed.
#[track_caller]
fn found(environment: &TestEnvironment, arguments: &[&str]) -> Vec<String> {
    if environment.project().join(".git").exists() {
        environment.commit_all(".");
    }
    let mut names = Vec::new();
    for finding in findings(environment, arguments) {
        for name in [&finding["code"], &finding["reason"]] {
            names.extend(name.as_str().map(str::to_owned));
        }
    }
    names
}

/// The findings in the root modules and in the change as a whole.
#[track_caller]
fn findings(environment: &TestEnvironment, arguments: &[impl AsRef<str>]) -> Vec<Value> {
    let arguments = arguments.iter().map(AsRef::as_ref);
    let output = environment.provlock(["verify", "--json"].into_iter().chain(arguments));
    assert!(matches!(output.code, Some(0 | 1)), "{output}");
    let report = validated(&output.stdout);
    let mut findings = Vec::new();
    for root in report["roots"].as_array().unwrap() {
        findings.extend(root["findings"].as_array().into_iter().flatten().cloned());
    }
    findings.extend(report["findings"].as_array().into_iter().flatten().cloned());
    findings
}

/// The text of a call of a module.
fn call(source: &str) -> String {
    format!("module \"m\" {{\n  source = \"{source}\"\n}}\n")
}

/// A repository with a root module that is locked for two platforms; it is committed, and the base
/// is `main`.
struct Case {
    registry: Registry,
    environment: TestEnvironment,
    null: Published,
}

impl Case {
    fn new() -> Self {
        Self::with(|_| {})
    }

    /// A repository whose base has more in it.
    fn with(prepare: impl FnOnce(&Self)) -> Self {
        Self::on_host("registry.opentofu.org", prepare)
    }

    /// A repository for Terraform, whose registry reports a tier and dates.
    fn of_terraform() -> Self {
        Self::on_host(TERRAFORM, |case| {
            let attributes =
                json!({ "version": "3.2.4", "published-at": jiff::Timestamp::now().to_string() });
            let versions = [json!({ "type": "provider-versions", "attributes": attributes })];
            let data = json!({ "type": "providers", "attributes": { "tier": "community" } });
            let document = json!({ "data": data, "included": versions });
            case.registry
                .serve("/v2/providers/acme/null", document.to_string());
        })
    }

    fn on_host(host: &str, prepare: impl FnOnce(&Self)) -> Self {
        let registry = Registry::start();
        let null = registry
            .publish("acme/null", "3.2.4")
            .on_host(host)
            .platforms(PLATFORMS)
            .done();
        let Repository { environment } =
            Repository::around(TestEnvironment::with_registry(&registry));
        let case = Self {
            registry,
            environment,
            null,
        };
        case.write("main.tf", requires("acme/null", "~> 3.0"));
        let dialect = if host == TERRAFORM {
            "terraform"
        } else {
            "tofu"
        };
        case.environment
            .provlock(["--dialect", dialect, "lock", "-p", BOTH])
            .assert_code(0);
        prepare(&case);
        case.environment.commit_all(".");
        case.environment
            .git(".", ["checkout", "--quiet", "-b", "change"]);
        case
    }

    fn read(&self, path: &str) -> String {
        self.environment.read(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        self.environment.write(path, text);
    }

    fn append(&self, path: &str, text: &str) {
        self.write(path, self.read(path) + text);
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.environment.project().join(path)).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        let project = self.environment.project();
        fs::rename(project.join(from), project.join(to)).unwrap();
    }

    #[track_caller]
    fn edit(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "{old} is not in {text}");
        self.write(path, text.replace(old, new));
    }

    #[track_caller]
    fn git<const N: usize>(&self, arguments: [&str; N]) {
        self.environment.git(".", arguments);
    }

    fn policy(&self, rules: &str) {
        self.write("provlock.toml", format!("[policy]\n{rules}"));
    }

    /// Adds a hash to the beginning of the only entry.
    fn add_hash(&self, hash: &str) {
        self.edit(
            LOCK,
            "hashes = [\n",
            &format!("hashes = [\n    \"{hash}\",\n"),
        );
    }

    /// Adds a comment above the only entry.
    fn comment(&self, text: &str) {
        self.edit(
            LOCK,
            "\nprovider",
            &format!("\n# provlock: {text}\nprovider"),
        );
    }

    /// Replaces the lock file by one with this entry.
    fn lock(&self, address: &str, version: &str, hashes: &[&str]) {
        self.write(
            LOCK,
            lock_file(&[entry(address, version, "~> 3.0", hashes)]),
        );
    }

    /// Writes a root module in another directory.
    fn other_root(&self, directory: &str, address: &str) {
        self.write(&format!("{directory}/main.tf"), requires(address, ""));
        let entry = entry(address, "3.2.4", "", &[H1, OTHER_H1]);
        self.write(&format!("{directory}/{LOCK}"), lock_file(&[entry]));
    }

    /// Publishes the locked release again, in another way.
    fn publish_again(&self, change: impl for<'a> FnOnce(Publish<'a>) -> Publish<'a>) {
        change(
            self.registry
                .publish("acme/null", "3.2.4")
                .platforms(PLATFORMS),
        )
        .done();
    }

    /// Publishes the next release, and locks it.
    fn upgrade(&self, key: &'static keys::Key) {
        self.registry
            .publish("acme/null", "3.2.5")
            .platforms(PLATFORMS)
            .signed_by(key)
            .done();
        self.environment
            .provlock(["upgrade", "-p", BOTH, "--min-age", "0d"])
            .assert_code(0);
    }
}

/// A project whose modules are installed.
fn installed() -> Project {
    let project = Project::new();
    project.install("site");
    project
}

/// A project with an installed module that has a file which git encodes in another way at checkout.
fn installed_with_encoding() -> Project {
    let project = Project::new();
    let work = project.environment.root().join("work");
    project.environment.write(
        work.join(".gitattributes"),
        "*.txt working-tree-encoding=UTF-16LE\n",
    );
    project.environment.write(work.join("notes.txt"), ENCODED);
    project.environment.commit_all(&work);
    push_tag(&project.environment, "v2.0.0");
    project.edit("main.tf", "ref=v1.0.0", "ref=v2.0.0");
    project
        .environment
        .provlock(["lock", "-p", "linux_amd64", "--modules"])
        .assert_code(0);
    project.install("network");
    project
}
