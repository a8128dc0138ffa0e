//! Trees of modules.

use std::path::Path;
use std::sync::Arc;

use super::{assert_providers, at, errors, options, read_files, short, texts};
use crate::configuration::{ModuleCache, Options, RootSource, read, read_resolved};
use crate::diagnostic::{Code, Severity};
use crate::provider::Dialect;

const MANIFEST: &str = ".terraform/modules/modules.json";

#[test]
fn shows_paths_as_the_user_knows_them() {
    let directory = super::directory(&[
        (
            "infra/root/main.tf",
            "module \"a\" {\n  source = \"./../shared//a/\"\n}\nprovider \"r\" {}\n",
        ),
        (
            "infra/shared/a/main.tf",
            "module \"b\" {\n  source = \"../b\"\n}\n",
        ),
        ("infra/shared/b/main.tf", "provider \"b\" {}\n"),
    ]);
    let root = directory.path().join("infra/../infra/root/.");
    let requirements = read(&root, &options(Dialect::Tofu)).unwrap();
    let shown: Vec<_> = requirements
        .modules
        .iter()
        .map(|module| module.path.strip_prefix(directory.path()).unwrap())
        .collect();
    assert_eq!(
        shown,
        [
            Path::new("infra/root"),
            Path::new("infra/shared/a"),
            Path::new("infra/shared/b")
        ]
    );
    assert!(
        requirements
            .modules
            .iter()
            .all(|module| module.local && module.canonical.is_absolute())
    );
    let declaration = &requirements.providers.values().next().unwrap().declarations[0];
    assert!(
        declaration
            .location
            .path()
            .ends_with("infra/shared/b/main.tf")
    );
    assert!(declaration.module.ends_with("infra/shared/b"));
}

#[test]
fn cycles_end_with_an_error() {
    let found = errors(&[("main.tf", "module \"a\" {\n  source = \"./.\"\n}\n")]);
    assert!(
        found.len() == 1 && found[0].contains("calls itself [main.tf:2:12: called here]"),
        "{found:?}"
    );
    let files = [
        ("main.tf", "module \"a\" {\n  source = \"./a\"\n}\n"),
        ("a/main.tf", "module \"b\" {\n  source = \"../b\"\n}\n"),
        ("b/main.tf", "module \"a\" {\n  source = \"../a\"\n}\n"),
    ];
    let errors = read_files(&files).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].code, Code::ModuleCycle);
    assert!(
        errors[0]
            .message
            .starts_with("2 modules call one another in a circle"),
        "{errors:?}"
    );
}

#[cfg(unix)]
#[test]
fn symlinks_are_followed_but_not_in_circles() {
    let directory = super::directory(&[
        (
            "main.tf",
            "module \"a\" {\n  source = \"./a/loop/loop\"\n}\nmodule \"s\" {\n  source = \"./self\"\n}\n",
        ),
        (
            "a/main.tf",
            "module \"again\" {\n  source = \"./loop\"\n}\n",
        ),
    ]);
    std::os::unix::fs::symlink(".", directory.path().join("a/loop")).unwrap();
    std::os::unix::fs::symlink("self", directory.path().join("self")).unwrap();
    let errors = read(directory.path(), &options(Dialect::Tofu)).unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(errors[0].code, Code::ModuleCycle);
    assert!(errors[1].message.contains("cannot be read"), "{errors:?}");

    let linked = super::directory(&[
        ("real/main.tf", "provider \"x\" {}\n"),
        (
            "root/main.tf",
            "module \"m\" {\n  source = \"../link\"\n}\n",
        ),
    ]);
    std::os::unix::fs::symlink("real", linked.path().join("link")).unwrap();
    std::os::unix::fs::symlink("main.tf", linked.path().join("real/again.txt")).unwrap();
    let requirements = read(&linked.path().join("root"), &options(Dialect::Tofu)).unwrap();
    assert_eq!(
        short(&requirements),
        [("hashicorp/x".to_owned(), String::new())]
    );
    assert!(
        requirements.modules[1].path.ends_with("real")
            && requirements.modules[1].canonical.ends_with("real")
    );
}

#[test]
fn a_module_that_is_called_in_many_ways_is_read_once() {
    // Without remembering what was followed this would take 2^60 visits.
    let mut files = vec![(
        "main.tf".to_owned(),
        "module \"a\" {\n  source = \"./m0\"\n}\n".to_owned(),
    )];
    for level in 0..60 {
        let call = |name: &str| {
            format!(
                "module \"{name}\" {{\n  source = \"../m{}\"\n}}\n",
                level + 1
            )
        };
        files.push((format!("m{level}/main.tf"), call("a") + &call("b")));
    }
    files.push((
        "m60/main.tf".to_owned(),
        "provider \"x\" {\n  version = \"> 1\"\n}\n".to_owned(),
    ));
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let requirements = read_files(&files).unwrap();
    assert_eq!(requirements.modules.len(), 62);
    assert_eq!(
        requirements
            .providers
            .values()
            .next()
            .unwrap()
            .declarations
            .len(),
        1
    );
}

#[test]
fn calls_too_deep_are_an_error() {
    let files: Vec<_> = (0..150)
        .map(|level| {
            (
                if level == 0 {
                    "main.tf".to_owned()
                } else {
                    format!("m{level}/main.tf")
                },
                level,
            )
        })
        .map(|(path, level)| {
            let up = if level == 0 { "./" } else { "../" };
            (
                path,
                format!("module \"m\" {{\n  source = \"{up}m{}\"\n}}\n", level + 1),
            )
        })
        .collect();
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let found = errors(&files);
    assert!(
        found.len() == 1 && found[0].contains("100 deep"),
        "{found:?}"
    );
}

#[test]
fn installed_modules_are_found_by_their_path_of_calls() {
    let manifest = r#"{"Modules":[{"Key":"","Source":"","Dir":"."},
        {"Key":"vpc","Source":"registry.opentofu.org/x/vpc/aws","Version":"1.0.0","Dir":".terraform/modules/vpc"},
        {"Key":"vpc.sub","Source":"git::https://example.com/sub.git","Dir":".terraform/modules/vpc.sub"},
        {"Key":"test.tests.t.r","Source":"git::https://example.com/t.git","Dir":".terraform/modules/t"}]}"#;
    let files = [
        (
            "main.tf",
            "module \"vpc\" {\n  source  = \"x/vpc/aws\"\n  version = \"1.0.0\"\n}\n",
        ),
        (MANIFEST, manifest),
        (
            ".terraform/modules/vpc/main.tf",
            "module \"sub\" {\n  source = \"git::https://example.com/sub.git\"\n}\n\
             module \"local\" {\n  source = \"./local\"\n}\n",
        ),
        (
            ".terraform/modules/vpc.sub/main.tf",
            "provider \"s\" {\n  version = \"> 1\"\n}\n",
        ),
        (
            ".terraform/modules/vpc/local/main.tf",
            "provider \"l\" {}\n",
        ),
        (".terraform/modules/t/main.tf", "provider \"t\" {}\n"),
        (
            "tests/t.tftest.hcl",
            "run \"r\" {\n  module {\n    source = \"git::https://example.com/t.git\"\n  }\n}\n",
        ),
    ];
    assert_providers(
        &files,
        &[
            ("hashicorp/l", ""),
            ("hashicorp/s", "> 1.0.0"),
            ("hashicorp/t", ""),
        ],
    );
    let requirements = read_files(&files).unwrap();
    let local: Vec<_> = requirements
        .modules
        .iter()
        .map(|module| module.local)
        .collect();
    assert_eq!(local, [true, false, false, false, false]);
    assert!(
        requirements
            .providers
            .values()
            .all(|r| r.declarations.iter().all(|d| !d.local))
    );
    let with_mark = format!("\u{feff}{manifest}");
    let marked = files.map(|(path, text)| {
        (
            path,
            if path == MANIFEST {
                with_mark.as_str()
            } else {
                text
            },
        )
    });
    assert_eq!(short(&read_files(&marked).unwrap()), short(&requirements));
}

#[test]
fn the_data_directory_may_be_elsewhere() {
    let elsewhere = super::directory(&[("modules/m/main.tf", "provider \"x\" {}\n")]);
    let dir = elsewhere.path().join("modules/m");
    let manifest =
        serde_json::json!({"Modules": [{"Key": "m", "Source": "x/m/y", "Dir": dir}]}).to_string();
    super::write(
        elsewhere.path(),
        "modules/modules.json",
        manifest.as_bytes(),
    );
    let root = super::directory(&[("main.tf", "module \"m\" {\n  source = \"x/m/y\"\n}\n")]);
    let options = Options {
        data_directory: elsewhere.path().to_owned(),
        ..options(Dialect::Tofu)
    };
    assert_eq!(
        short(&read(root.path(), &options).unwrap()),
        [("hashicorp/x".to_owned(), String::new())]
    );
}

#[test]
fn a_module_that_is_not_installed_is_named() {
    let files = [
        (
            "main.tf",
            "module \"vpc\" {\n  source = \"x/vpc/aws\"\n}\nmodule \"gone\" {\n  source = \"x/gone/aws\"\n}\n\
             provider \"p\" {}\n",
        ),
        (
            MANIFEST,
            r#"{"Modules":[
                {"Key":"gone","Source":"registry.opentofu.org/x/gone/aws","Dir":".terraform/modules/gone"}]}"#,
        ),
    ];
    let errors = read_files(&files).unwrap_err();
    assert_eq!(
        texts(&errors),
        [
            "2 modules are not installed, so what they require is not known \
            [main.tf:2:12: module \"vpc\"; main.tf:5:12: module \"gone\"]",
        ]
    );
    assert!(
        errors
            .iter()
            .all(|error| error.code == Code::ModuleNotInstalled
                && format!("{:?}", error.help).contains("tofu init"))
    );
    let directory = super::directory(&files);
    let terraform = read(directory.path(), &options(Dialect::Terraform)).unwrap_err();
    assert!(format!("{:?}", terraform[0].help).contains("terraform init"));
    let allowed = Options {
        allow_missing_modules: true,
        ..options(Dialect::Tofu)
    };
    let requirements = read(directory.path(), &allowed).unwrap();
    assert_eq!(
        short(&requirements),
        [("hashicorp/p".to_owned(), String::new())]
    );
    assert!(
        requirements.warnings.len() == 1
            && requirements
                .warnings
                .iter()
                .all(|w| w.severity == Severity::Warning)
    );
}

#[test]
fn a_module_that_changed_since_it_was_installed_is_an_error() {
    let outcome = |call: &str, installed: &str, version: &str| {
        let main = format!("module \"m\" {{\n  {call}\n}}\n");
        let record = serde_json::json!({"Key": "m", "Source": installed, "Version": version, "Dir": "vendored"});
        let manifest = serde_json::json!({"Modules": [record]}).to_string();
        read_files(&[
            ("main.tf", &main),
            (MANIFEST, &manifest),
            ("vendored/main.tf", ""),
        ])
        .is_ok()
    };
    assert!(outcome(
        "source = \"x/m/aws\"",
        "registry.opentofu.org/x/m/aws",
        "1.0.0"
    ));
    assert!(outcome(
        "source = \"x/m/aws//sub/dir\"",
        "registry.opentofu.org/x/m/aws//sub/dir",
        "1.0.0"
    ));
    assert!(outcome(
        "source = \"example.com/x/m/aws\"\n  version = \"~> 1.0\"",
        "example.com/x/m/aws",
        "1.2.0"
    ));
    assert!(outcome(
        "source = \"github.com/x/y\"",
        "git::https://github.com/x/y.git",
        ""
    ));
    assert!(!outcome(
        "source = \"x/n/aws\"",
        "registry.opentofu.org/x/m/aws",
        "1.0.0"
    ));
    assert!(!outcome(
        "source = \"x/m/aws\"\n  version = \"~> 2.0\"",
        "registry.opentofu.org/x/m/aws",
        "1.0.0"
    ));
    assert!(!outcome(
        "source = \"x/m/aws//sub\"",
        "registry.opentofu.org/x/m/aws",
        "1.0.0"
    ));
    assert!(!outcome(
        "source = \"github.com/x/y\"",
        "registry.opentofu.org/x/m/aws",
        "1.0.0"
    ));
    assert!(!outcome("source = \"x/m/aws\"", "./m", ""));
}

#[test]
fn a_malformed_manifest_is_an_error() {
    for (manifest, wanted) in [
        ("{", "line 1, column 1"),
        ("{\"Modules\": 1}", "line 1, column"),
        ("[]", "modules.json"),
    ] {
        let found = errors(&[
            ("main.tf", "module \"m\" {\n  source = \"x/m/y\"\n}\n"),
            (MANIFEST, manifest),
        ]);
        assert!(
            found[0].contains(wanted) && found[0].contains("modules.json"),
            "{found:?}"
        );
    }
    assert_providers(
        &[
            ("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n"),
            ("m/main.tf", ""),
            (MANIFEST, "{"),
        ],
        &[],
    );
}

#[test]
fn a_local_module_must_exist() {
    assert_eq!(
        errors(&[("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n")])[0]
            .split(" is in ")
            .next()
            .unwrap(),
        "module \"m\""
    );
    let found = errors(&[(
        "main.tf",
        "module \"m\" {}\nmodule \"n\" {\n  source = 1\n}\n",
    )]);
    assert!(
        found[0].starts_with("module \"m\" has no source [main.tf:1:8"),
        "{found:?}"
    );
    assert!(
        found[1].starts_with("the source \"1\" of module \"n\" cannot be used"),
        "{found:?}"
    );
}

#[test]
fn a_source_may_depend_on_defaults_of_variables() {
    let m = ("m/main.tf", "provider \"x\" {}\n");
    for source in [
        "var.s",
        "\"./${var.n}\"",
        "var.o.path",
        "var.n == \"m\" ? \"./m\" : \"./n\"",
    ] {
        let main = format!(
            "variable \"s\" {{\n  default = \"./m\"\n}}\nvariable \"n\" {{\n  default = \"m\"\n}}\n\
             variable \"o\" {{\n  default = {{ path = \"./m\" }}\n}}\n\
             module \"m\" {{\n  source = {source}\n}}\n"
        );
        assert_providers(&[("main.tf", &main), m], &[("hashicorp/x", "")]);
    }
    let json =
        r#"{"variable": {"n": {"default": "m"}}, "module": {"m": {"source": "./${var.n}"}}}"#;
    assert_providers(&[("main.tf.json", json), m], &[("hashicorp/x", "")]);

    let unknown = "variable \"s\" {}\nmodule \"m\" {\n  source = var.s\n}\n";
    assert_eq!(
        errors(&[("main.tf", unknown), m]),
        [
            "the source of module \"m\" is not known: the variable \"s\" has no value \
            [main.tf:3:12: called here; main.tf:1:10: because of this]"
        ]
    );
    let manifest = r#"{"Modules":[{"Key":"m","Source":"./m","Dir":"m"}]}"#;
    assert_providers(
        &[("main.tf", unknown), m, (MANIFEST, manifest)],
        &[("hashicorp/x", "")],
    );

    // A value from the caller is not the default.
    let child = "variable \"s\" {\n  default = \"../m\"\n}\nmodule \"m\" {\n  source = var.s\n}\n";
    let call = |argument: &str| format!("module \"c\" {{\n  source = \"./c\"\n{argument}}}\n");
    assert_providers(
        &[("main.tf", &call("")), ("c/main.tf", child), m],
        &[("hashicorp/x", "")],
    );
    assert_providers(
        &[
            ("main.tf", &call("  s = \"../n\"\n")),
            ("c/main.tf", child),
            m,
            ("n/main.tf", "provider \"y\" {}\n"),
        ],
        &[("hashicorp/y", "")],
    );
    let both = call("") + &call("  s = aws_vpc.main.id\n").replace("\"c\"", "\"d\"");
    let second = errors(&[("main.tf", &both), ("c/main.tf", child), m]);
    assert!(
        second[0].starts_with(
            "the source of module \"d.m\" is not known: aws_vpc is not known before a plan"
        ),
        "{second:?}"
    );
}

#[test]
fn modules_are_shared_through_a_cache() {
    let directory = super::directory(&[
        ("a/main.tf", "module \"s\" {\n  source = \"../s\"\n}\n"),
        ("b/main.tf", "module \"s\" {\n  source = \"../s\"\n}\n"),
        ("s/main.tf", "resource \"x_y\" \"z\" {}\n"),
    ]);
    let cache = ModuleCache::default();
    let results: Vec<_> = std::thread::scope(|scope| {
        let root = |name| {
            let root = directory.path().join(name);
            let cache = &cache;
            scope.spawn(move || {
                read_resolved(
                    RootSource::Directory(&root, None),
                    &options(Dialect::Tofu),
                    cache,
                    None,
                    &|_| (),
                )
                .unwrap()
            })
        };
        [root("a"), root("b")]
            .map(|thread| thread.join().unwrap())
            .into()
    });
    let file = |index: usize| {
        let requirements: &crate::configuration::Requirements = &results[index];
        Arc::clone(
            &requirements.providers.values().next().unwrap().declarations[0]
                .location
                .file,
        )
    };
    assert!(
        Arc::ptr_eq(&file(0), &file(1)),
        "the shared module was read twice"
    );
    let shared = cache.module(&directory.path().join("s"), Dialect::Tofu);
    assert!(Arc::ptr_eq(
        &shared,
        &cache.module(&directory.path().join("a/../s"), Dialect::Tofu)
    ));
    assert!(!Arc::ptr_eq(
        &shared,
        &cache.module(&directory.path().join("s"), Dialect::Terraform)
    ));
    let calls: Vec<_> = cache
        .module(&directory.path().join("a"), Dialect::Tofu)
        .local_calls()
        .collect();
    assert_eq!(calls, [directory.path().join("s")]);
}

#[test]
fn constraints_of_all_modules_are_merged() {
    let requirements = read_files(&[
        (
            "main.tf",
            "module \"m\" {\n  source = \"./m\"\n}\nprovider \"x\" {\n  version = \"< 2\"\n}\n",
        ),
        (
            "m/main.tf",
            r#"terraform {
  required_providers {
    y = { source = "hashicorp/x", version = ">= 1, < 2.0" }
  }
}
"#,
        ),
    ])
    .unwrap();
    let requirement = requirements.providers.values().next().unwrap();
    assert_eq!(requirement.constraints.to_string(), ">= 1.0.0, < 2.0.0");
    let texts: Vec<_> = requirement
        .declarations
        .iter()
        .map(|d| at(&d.location))
        .collect();
    assert_eq!(texts, ["\"< 2\"", "\">= 1, < 2.0\""]);
}
