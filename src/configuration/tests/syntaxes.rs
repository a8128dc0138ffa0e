//! Declarations in one module's files, in both syntaxes.

use super::{assert_providers, at, errors, options, place, read_files, texts};
use crate::configuration::file::StatePaths;
use crate::configuration::{Backend, DeclarationKind, Module, ModuleCache, read};
use crate::provider::Dialect;

#[test]
fn a_declaration_has_its_location() {
    let text = "\u{feff}terraform {\r\n  required_providers {\r\n    \
                a = { source = \"x/a\", version = \"~> 1.0\" }\r\n    b = { source = \"x/b\" }\r\n    \
                c = {}\r\n    d = \"> 1\"\r\n  }\r\n}\r\n\
                provider \"a\" {\r\n  version = \"< 2\"\r\n}\r\nprovider \"e\" {}\r\nresource \"f_g\" \"h\" {}\r\n\
                data \"i_j\" \"k\" {\r\n  provider = l.m\r\n}\r\n";
    let requirements = read_files(&[("main.tf", text)]).unwrap();
    let found: Vec<_> = requirements
        .providers
        .iter()
        .flat_map(|(address, r)| {
            r.declarations
                .iter()
                .map(move |d| (address.name.as_str(), d))
        })
        .map(|(name, d)| {
            format!(
                "{name} {:?} {} {} {:?}",
                d.kind,
                place(&d.location),
                at(&d.location),
                d.version.as_ref().map(at)
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "c RequiredProviders main.tf:5:5 c None",
            "d RequiredProviders main.tf:6:9 \"> 1\" Some(\"\\\"> 1\\\"\")",
            "e ProviderBlock main.tf:12:10 \"e\" None",
            "f Implied main.tf:13:10 \"f_g\" None",
            "l Implied main.tf:15:14 l.m None",
            "a RequiredProviders main.tf:3:37 \"~> 1.0\" Some(\"\\\"~> 1.0\\\"\")",
            "a ProviderBlock main.tf:10:13 \"< 2\" Some(\"\\\"< 2\\\"\")",
            "b RequiredProviders main.tf:4:20 \"x/b\" None",
        ]
    );
    assert!(
        requirements
            .providers
            .values()
            .flat_map(|r| &r.declarations)
            .all(|d| d.local)
    );
}

#[test]
fn constant_expressions_are_evaluated_and_others_are_errors() {
    let entry =
        |value: &str| format!("terraform {{\n  required_providers {{\n    a = {value}\n  }}\n}}\n");
    for (value, constraints) in [
        ("{ source = \"x/${\"a\"}\", version = \"${2}.0\" }", "2.0.0"),
        (
            r#"{
 source : "x/a"
 ("ver${"sion"}") = (true ? "1.0" : "2.0")
 configuration_aliases = [a.b]
 }"#,
            "1.0.0",
        ),
        (
            "{ source = \"x/a\", version = <<-X\n  > 1\n  X\n}",
            "> 1.0.0",
        ),
        ("{ source = \"x/\\u0061\", version = \">= 1\" }", ">= 1.0.0"),
    ] {
        assert_providers(&[("main.tf", &entry(value))], &[("x/a", constraints)]);
    }
    for (value, wanted) in [
        (
            "{ source = \"x/a\", version = true }",
            "a string is expected here, not a bool [main.tf:3:37",
        ),
        (
            "{ source = \"x/a\", version = var.v }",
            "variables are not allowed here",
        ),
        (
            "{ source = \"x/a\", version = 1 % 0 }",
            "only a constant may stand here: arithmetic is not evaluated",
        ),
        (
            "{ source = join(\"x\", []) }",
            "only a constant may stand here: `join`: no function can be called here",
        ),
        (
            "{ source = \"x/a\", version = \"\" }",
            "\"\" is not a version constraint for provider a [main.tf:3:37: it is empty",
        ),
        (
            "{ source = \"x/a\", version = \"=> 1\" }",
            "[main.tf:3:37: \"=>\" is not an operator; did you mean \">=\"?]",
        ),
        (
            "{ source = \"x/a/b/c\" }",
            "the source \"x/a/b/c\" of provider a is not a provider address [main.tf:3:20",
        ),
        (
            "{ sauce = \"x/a\" }",
            "unknown argument \"sauce\" [main.tf:3:11",
        ),
        ("{ source = }", "a value is expected here [main.tf:3:20"),
        (
            "{ source = \"x/a\" version = \"1\" }",
            "this value cannot be read: ",
        ),
        (
            "{ source }",
            "this value cannot be read: an object such as { NAME = VALUE } is expected [main.tf:3:18",
        ),
        (
            "{ for k, v in {} : k => v }",
            "this value cannot be read: an object such as",
        ),
        (
            "{ source = \"x/a\" }[\"source\"]",
            "an object is expected here [main.tf:3:9",
        ),
        ("[]", "a string is expected here, not a list"),
        ("null", "a string is expected here, not null"),
        (
            "\"nonsense\"",
            "\"nonsense\" is not a version constraint for provider a",
        ),
    ] {
        let errors = errors(&[("main.tf", &entry(value))]);
        assert!(
            errors.len() == 1 && errors[0].contains(wanted),
            "{value}: {errors:?}"
        );
    }
}

#[test]
fn constants_take_bounded_time_and_stack() {
    let entry = |value: &str| {
        format!("terraform {{\n  required_providers {{\n    a = {{ {value} }}\n  }}\n}}\n")
    };
    for value in [
        "source = [for x in [\"x/a\"] : x][0]",
        "([for x in [\"source\"] : x][0]) = \"x/%{ for x in [\"a\"] }${x}%{ endfor }\"",
        "source = \"x/a\", version = ([\"1\"][*])[0]",
        "source = \"x/a\", version = [{ v = \"1\" }].*.v[0]",
    ] {
        let found = read_files(&[("main.tf", &entry(value))]);
        assert!(found.is_ok(), "{value}: {found:?}");
    }
    let nested = (0..12).fold("1".to_owned(), |inner, depth| {
        format!("[for x{depth} in [{}1] : {inner}]", "1,".repeat(60))
    });
    let splats = format!("1{}", "[*]".repeat(100_000));
    for (value, wanted) in [
        (&format!("source = {nested}"), "takes too long to evaluate"),
        (&format!("version = {splats}"), "too deeply nested"),
    ] {
        let errors = errors(&[("main.tf", &entry(value))]);
        assert!(
            errors.len() == 1 && errors[0].contains(wanted),
            "{value:.100}: {errors:?}"
        );
    }
    // Text that looks like a template only after its escapes were resolved is plain.
    let literal = errors(&[(
        "main.tf",
        &entry("source = \"${\"x/\"}\\u0024{[for x in [1] : x]}\""),
    )]);
    assert!(
        literal[0].contains("is not a provider address"),
        "{literal:?}"
    );

    let module = format!("module \"m\" {{\n  source = {nested}\n}}\n");
    let errors = errors(&[("main.tf", &module)]);
    assert!(
        errors.len() == 1 && errors[0].contains("takes too long to evaluate"),
        "{errors:?}"
    );
}

#[test]
fn a_local_name_is_a_provider_part_in_lower_case() {
    for text in [
        "provider \"Null\" {}\n",
        "resource \"a\" \"b\" {\n  provider = Null\n}\n",
        "terraform {\n  required_providers {\n    my_null = { source = \"x/a\" }\n  }\n}\n",
        "resource \"goo--gle_x\" \"y\" {}\n",
        "import {\n  to = data.a.b\n}\n",
    ] {
        assert_eq!(errors(&[("main.tf", text)]).len(), 1, "{text}");
    }
    assert_providers(
        &[(
            "main.tf",
            "provider \"a\" {\n  version = 3\n}\nresource \"A_b\" \"c\" {}\nprovider \"google-beta\" {}\n",
        )],
        &[("hashicorp/a", "3.0.0"), ("hashicorp/google-beta", "")],
    );
    let found = errors(&[(
        "main.tf",
        "provider \"a\" {\n  alias = \"b\"\n  alias = \"b\"\n}\n",
    )]);
    assert_eq!(found, ["this argument is set twice [main.tf:3:3: ]"]);
}

#[test]
fn every_error_of_every_file_is_reported() {
    let found = errors(&[
        (
            "a.tf",
            r#"terraform {
  required_providers {
    A = { source = "x/y" }
    b = { version = "x", source = "/" }
  }
}
"#,
        ),
        (
            "b.tf",
            "resource \"x\" {}\nprovider {}\nmodule \"m\" {}\nmodule \"n\" \"o\" {}\n",
        ),
        ("c.tf", "locals {\n  a = \"b\n}\n"),
        (
            "d.tf",
            "terraform {\n  required_providers {\n    c {}\n  }\n  required_providers {}\n}\n",
        ),
        (
            "e.tf.json",
            "{\n  \"provider\": {\"a\": 1},\n  \"resource\": [{\"b\": []}, 2]\n}",
        ),
        ("f.tf.json", "{\"a\": }"),
    ]);
    let places: Vec<_> = found
        .iter()
        .map(|text| text.split_once(" [").unwrap().1.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "a.tf:3:5",
            "a.tf:4:21",
            "a.tf:4:35",
            "b.tf:1:1",
            "b.tf:2:1",
            "b.tf:4:12",
            "c.tf:2:7",
            "d.tf:3:5",
            "d.tf:5:3",
            "e.tf.json:2:21",
            "e.tf.json:3:27",
            "f.tf.json:1:7",
            "b.tf:3:8",
        ],
        "{found:#?}"
    );
}

#[test]
fn what_does_not_matter_is_not_parsed() {
    assert_providers(
        &[(
            "main.tf",
            "locals {\n  a = { b = 1, b = 2 }\n  c = { for k, v in x : k =>\n  v }\n}\nvariable { ??? }\n\
             future \"a\" \"b\" \"c\" { = }\n\
             terraform {\n  future \"x\" {\n    required_providers {}\n  }\n  required_version = \"nonsense\"\n}\n\
             resource \"null_resource\" \"x\" {\n  a = { b = 1, b = 2 }\n  c = provider(\n  1)\n  \
             d {\n    provider = random\n  }\n}\n\
             removed {\n  from = a_b.c\n}\nmoved {\n  from = d_e.f\n  to = g_h.i\n}\n\
             output \"o\" {\n  value = provider::x::y()\n}\n",
        )],
        &[("hashicorp/null", "")],
    );
}

#[test]
fn finds_every_kind_of_implied_provider() {
    assert_providers(
        &[(
            "main.tf",
            "resource \"a_x\" \"x\" {}\ndata \"b_x\" \"x\" {}\nephemeral \"c_x\" \"x\" {}\naction \"d_x\" \"x\" {}\n\
             check \"c\" {\n  data \"e_x\" \"x\" {}\n}\nimport {\n  to = f_x.x[\"a.b\"]\n  id = \"1\"\n}\n\
             resource \"z\" \"m\" {\n  provider = g\n}\nresource \"z\" \"n\" {\n  provider = h.y[each.key]\n}\n\
             resource \"z\" \"o\" {\n  provider = \"i.y\"\n}\nresource \"local\" \"x\" {\n  provider = mine\n}\n\
             resource \"terraform_data\" \"x\" {}\ndata \"terraform_remote_state\" \"x\" {}\n\
             provider \"terraform\" {}\n\
             terraform {\n  required_providers {\n    mine = { source = \"x/j\" }\n    \
             old = { source = \"-/old\" }\n  }\n}\n",
        )],
        &[
            ("hashicorp/a", ""),
            ("hashicorp/b", ""),
            ("hashicorp/c", ""),
            ("hashicorp/d", ""),
            ("hashicorp/e", ""),
            ("hashicorp/f", ""),
            ("hashicorp/g", ""),
            ("hashicorp/h", ""),
            ("hashicorp/i", ""),
            ("x/j", ""),
        ],
    );
    let found = errors(&[(
        "main.tf",
        "resource \"_x\" \"y\" {}\nresource \"a\" \"b\" {\n  provider = 1\n}\n",
    )]);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn an_ephemeral_block_in_an_override_file_is_read_by_opentofu_alone() {
    let block =
        |provider: &str| format!("ephemeral \"a_b\" \"c\" {{\n  provider = {provider}\n}}\n");
    let names = |files: &[(&str, &str)], dialect| {
        let directory = super::directory(files);
        let requirements = read(directory.path(), &options(dialect)).ok()?;
        Some(
            requirements
                .providers
                .keys()
                .map(|address| address.name.clone())
                .collect::<Vec<_>>(),
        )
    };
    let (base, other) = (block("x"), block("y"));
    let overridden = [
        ("main.tf", base.as_str()),
        ("main_override.tf", other.as_str()),
    ];
    assert_eq!(
        names(&overridden, Dialect::Tofu),
        Some(vec!["y".to_owned()])
    );
    assert_eq!(
        names(&overridden, Dialect::Terraform),
        Some(vec!["x".to_owned()])
    );
    let alone = [("main.tf", ""), ("override.tf", other.as_str())];
    assert_eq!(names(&alone, Dialect::Tofu), None);
    assert_eq!(names(&alone, Dialect::Terraform), Some(vec![]));
}

#[test]
fn an_import_has_the_provider_that_each_tool_uses() {
    let files = [(
        "main.tf",
        "resource \"a_b\" \"c\" {\n  provider = x\n}\nimport {\n  to = a_b.c\n  id = 1\n}\n\
         import {\n  to = module.m[0].d_e.f\n  id = 1\n}\n",
    )];
    let directory = super::directory(&files);
    let names = |dialect| {
        let requirements = read(directory.path(), &options(dialect)).unwrap();
        requirements
            .providers
            .keys()
            .map(|address| address.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(Dialect::Tofu), ["a", "d", "x"]);
    assert_eq!(names(Dialect::Terraform), ["x"]);
}

#[test]
fn override_files_replace_entries_and_arguments() {
    assert_providers(
        &[
            (
                "main.tf",
                "provider \"a\" {\n  version = \"> 1\"\n}\nprovider \"b\" {\n  version = \"> 1\"\n}\n\
                 resource \"c_c\" \"x\" {}\nresource \"d_d\" \"x\" {\n  provider = e\n}\n",
            ),
            (
                "x_override.tf",
                "provider \"a\" {\n  version = \"> 2\"\n}\nprovider \"b\" {}\nprovider \"f\" {}\n\
                 resource \"c_c\" \"x\" {\n  provider = g\n}\nresource \"d_d\" \"x\" {}\n",
            ),
            (
                "override.tf.json",
                r#"{"terraform": {"required_providers": {"g": {"source": "x/g"}}}}"#,
            ),
            (
                "z_override.tofu",
                "terraform {\n  required_providers {\n    g = { source = \"x/h\" }\n  }\n}\n",
            ),
        ],
        &[
            ("hashicorp/a", "> 2.0.0"),
            ("hashicorp/b", "> 1.0.0"),
            ("hashicorp/e", ""),
            ("hashicorp/f", ""),
            ("x/h", ""),
        ],
    );
    let found = errors(&[
        (
            "main.tf",
            "provider \"a\" {}\nprovider \"a\" {}\nprovider \"a\" {\n  alias = \"b\"\n}\nresource \"a_b\" \"c\" {}\n\
             resource \"a_b\" \"c\" {}\n",
        ),
        (
            "override.tf",
            "resource \"a_b\" \"d\" {}\nprovider \"a\" {\n  alias = \"c\"\n}\n",
        ),
    ]);
    assert_eq!(
        found,
        [
            "provider \"a\" is declared twice in this module [main.tf:2:10: ]",
            "resource \"a_b\" \"c\" is declared twice in this module [main.tf:7:10: ]",
            "resource \"a_b\" \"d\" is in an override file, but there is nothing that it overrides \
             [override.tf:1:10: ]",
            "provider \"a\" with the alias \"c\" is in an override file, but there is nothing that it overrides \
             [override.tf:2:10: ]",
        ]
    );
}

#[test]
fn test_files_are_read_unless_they_are_excluded() {
    let files = [
        (
            "main.tf",
            "terraform {\n  required_providers {\n    a = { source = \"x/a\" }\n  }\n}\n",
        ),
        (
            "m.tftest.hcl",
            "provider \"a\" {}\nprovider \"b\" {\n  version = \"> 1\"\n}\nmock_provider \"c\" {}\n\
             run \"r\" {\n  command = plan\n}\n",
        ),
        ("hidden.tftest.hcl", "provider \"d\" {}\n"),
        ("hidden.tofutest.hcl", "provider \"e\" {}\n"),
        (
            "tests/n.tftest.json",
            r#"{"provider": {"f": {}}, "run": {"r": {"module": {"source": "./tests/setup"}}}}"#,
        ),
        ("tests/setup/main.tf", "resource \"g_h\" \"x\" {}\n"),
        ("tests/.x.tftest.hcl", "provider \"h\" {}\n"),
        ("q.tfquery.hcl", "provider \"i\" {}\n"),
    ];
    let expected = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let directory = super::directory(&files);
    let names = |dialect, tests| {
        let requirements = read(
            directory.path(),
            &crate::configuration::Options {
                tests,
                ..options(dialect)
            },
        )
        .unwrap();
        requirements
            .providers
            .keys()
            .map(|address| address.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(Dialect::Tofu, true),
        expected(&["b", "e", "f", "g", "a"])
    );
    assert_eq!(
        names(Dialect::Terraform, true),
        expected(&["g", "a"]),
        "the modules of runs, but no provider block"
    );
    assert_eq!(names(Dialect::Tofu, false), expected(&["a"]));
}

#[test]
fn files_that_are_not_configuration_are_skipped() {
    let empty = super::directory(&[
        ("x.txt", ""),
        (".a.tf", "{"),
        ("b.tf~", "{"),
        ("#c.tf#", "{"),
        ("d.tfvars", "{"),
        ("s/e.tf", ""),
    ]);
    let errors = read(empty.path(), &options(Dialect::Tofu)).unwrap_err();
    assert_eq!(errors[0].code, crate::diagnostic::Code::NoConfiguration);
    assert!(errors[0].message.contains("has no configuration"));
    let missing = read(&empty.path().join("nowhere"), &options(Dialect::Tofu)).unwrap_err();
    assert_eq!(missing[0].code, crate::diagnostic::Code::Io);
    let foreign = super::directory(&[("x.tofu", "provider \"a\" {}")]);
    let requirements = read(foreign.path(), &options(Dialect::Terraform)).unwrap();
    assert!(requirements.providers.is_empty());
    assert!(texts(&requirements.warnings)[0].contains("are for OpenTofu"));
}

#[test]
fn a_large_or_unreadable_file_is_an_error() {
    let directory = super::directory(&[("a.tf", "")]);
    std::fs::File::create(directory.path().join("b.tf"))
        .unwrap()
        .set_len(9 << 20)
        .unwrap();
    let errors = read(directory.path(), &options(Dialect::Tofu)).unwrap_err();
    assert!(
        errors[0].message.ends_with("b.tf: it is larger than 8 MiB"),
        "{errors:?}"
    );
}

#[test]
fn a_backend_specifies_the_location_of_state() {
    let backend = |name: &str, text: &str| module(name, text).backend.clone();
    let remote = |text: &str| Some(Backend::Remote(text.to_owned()));
    assert_eq!(
        backend("a.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
        remote("backend \"s3\"")
    );
    assert_eq!(
        backend("a.tf", "terraform {\n  backend {}\n}\n"),
        remote("backend"),
        "wrong, but there"
    );
    assert_eq!(
        backend("a.tf", "terraform {\n  cloud {}\n}\n"),
        remote("cloud")
    );
    assert_eq!(
        backend(
            "a.tf",
            "terraform {\n  cloud {\n    hostname = \"a.example\"\n  }\n}\n"
        ),
        remote("cloud")
    );
    assert_eq!(
        backend("a.tf.json", r#"{"terraform": {"backend": {"s3": {}}}}"#),
        remote("backend \"s3\"")
    );
    assert_eq!(
        backend(
            "a.tf.json",
            r#"{"terraform": {"cloud": {"organization": "a"}}}"#
        ),
        remote("cloud")
    );
    assert_eq!(
        backend("a.tf", "terraform {\n  state_store \"a_b\" {}\n}\n"),
        remote("state_store")
    );
    assert_eq!(
        backend("a.tf", "terraform {\n  required_providers {}\n}\n"),
        None
    );
    assert_eq!(
        backend("a.txt", "terraform {\n  backend \"s3\" {}\n}\n"),
        None
    );
}

#[test]
fn a_local_backend_may_set_its_paths() {
    let paths = |arguments: &str| {
        let text = format!("terraform {{\n  backend \"local\" {{\n{arguments}\n}}\n}}\n");
        module("a.tf", &text).backend.clone()
    };
    let local = |state: &str, workspaces: &str| {
        Some(Backend::Local(Some(StatePaths {
            state: state.into(),
            workspaces: workspaces.into(),
        })))
    };
    assert_eq!(paths(""), local("terraform.tfstate", "terraform.tfstate.d"));
    assert_eq!(
        paths("path = \"\""),
        local("terraform.tfstate", "terraform.tfstate.d")
    );
    assert_eq!(
        paths("path = \"a\"\nworkspace_dir = \"b\""),
        local("a", "b")
    );
    assert_eq!(paths("path = 5\nworkspace_dir = true"), local("5", "true"));
    assert_eq!(
        paths("path = null"),
        local("terraform.tfstate", "terraform.tfstate.d")
    );
    assert_eq!(paths("path = var.a"), Some(Backend::Local(None)));
    let json = r#"{"terraform": {"backend": {"local": {"path": "a"}}}}"#;
    assert_eq!(
        module("a.tf.json", json).backend,
        local("a", "terraform.tfstate.d")
    );
}

#[test]
fn the_provider_of_a_state_store_is_required() {
    let store = r#"terraform {
  state_store "a_b" {
    provider "a" {
      region = "x"
    }
    path = "y"
  }
}
"#;
    let sources = "terraform {\n  required_providers {\n    a = { source = \"x/z\", version = \"~> 1.0\" }\n  }\n}\n";
    assert_providers(&[("a.tf", store), ("b.tf", sources)], &[("x/z", "~> 1.0")]);
    assert_providers(&[("a.tf", store)], &[("hashicorp/a", "")]);
    let json = r#"{"terraform": {"state_store": {"a_b": {"provider": {"a": {}}}}}}"#;
    assert_providers(&[("a.tf.json", json)], &[("hashicorp/a", "")]);
    let backend = "terraform {\n  backend \"s3\" {}\n}\n";
    assert_providers(&[("a.tf", store), ("override.tf", backend)], &[]);
    let found = errors(&[("a.tf", &store.replace("\"a\"", "\"A\""))]);
    assert!(found[0].contains("must be in lower case"), "{found:?}");
}

#[test]
fn a_language_block_requires_nothing() {
    let language = "language {\n  edition = x2026\n  compatible_with {\n    opentofu = \">= 1.12\"\n  }\n}\nprovider \"a\" {}\n";
    let json = r#"{"language": {"compatible_with": {"opentofu": ">= 1.12"}}}"#;
    assert_providers(
        &[("a.tf", language), ("b.tf.json", json)],
        &[("hashicorp/a", "")],
    );
}

#[test]
fn a_module_configures_the_providers_that_it_uses_or_takes_them_from_its_caller() {
    let configures = |text: &str| module("a.tf", text).configures_providers;
    let provider = "provider \"a\" {}\n";
    for used in [
        "resource \"a_b\" \"c\" {}\n",
        "data \"a_b\" \"c\" {}\n",
        "module \"a\" {\n  source = \"./a\"\n}\n",
    ] {
        assert!(configures(&[provider, used].concat()), "{used}");
        assert!(!configures(used), "{used}");
    }
    assert!(!configures(provider), "nothing uses it");
    let aliases = r#"terraform {
  required_providers {
    a = {
      source = "x/a"
      configuration_aliases = [a.b]
    }
  }
}
"#;
    assert!(!configures(
        &[aliases, provider, "resource \"a_b\" \"c\" {}\n"].concat()
    ));
}

#[test]
fn a_file_that_cannot_be_read_may_be_one_of_a_root_module() {
    let may_be_root = |text: &str| module("a.tf", text).may_be_root;
    assert!(may_be_root("provider \"a\" {\n"));
    assert!(may_be_root("terraform {\n  backend \"s3\" {\n"));
    assert!(may_be_root("terraform {\n  state_store \"a_b\" {\n"));
    assert!(!may_be_root("provider \"a\" {}\n"), "it can be read");
    for text in [
        "resource \"{{ a }}\" {",
        "this is {\n",
        "provider_name = [\n",
    ] {
        assert!(!may_be_root(text), "{text}");
    }
}

#[test]
fn the_required_versions_of_all_blocks_apply() {
    let required = |text: &str| module("a.tf", text).required_version.to_string();
    let text = "terraform {\n  required_version = \">= 1.3\"\n}\nterraform {\n  required_version = \"< 1.6\"\n}\n";
    assert_eq!(required(text), ">= 1.3.0, < 1.6.0");
    assert_eq!(
        required("terraform {\n  required_version = \"new\"\n}\n"),
        "",
        "for the program to report"
    );
}

fn module(name: &str, text: &str) -> std::sync::Arc<Module> {
    let directory = super::directory(&[(name, text)]);
    ModuleCache::default().module(directory.path(), Dialect::Tofu)
}

#[test]
fn the_first_implied_location_of_a_module_represents_all() {
    let text = "resource \"a_b\" \"x\" {}\nresource \"a_c\" \"x\" {}\nresource \"d_e\" \"x\" {}\nprovider \"d\" {}\n";
    let requirements = read_files(&[("main.tf", text)]).unwrap();
    let kinds = |index: usize| {
        let declarations = &requirements
            .providers
            .values()
            .nth(index)
            .unwrap()
            .declarations;
        declarations
            .iter()
            .map(|d| (d.kind, place(&d.location)))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(0),
        [(DeclarationKind::Implied, "main.tf:1:10".to_owned())]
    );
    assert_eq!(
        kinds(1),
        [(DeclarationKind::ProviderBlock, "main.tf:4:10".to_owned())]
    );
}
