//! Sources of modules that depend on variables and locals.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{
    InputVariables, Options, VariableFlag, assert_providers, errors, options, read, short, texts,
};
use crate::provider::Dialect;

/// A root module that calls `./NAME`, where the variable `name` says the name.
const ROOT: &str = "variable \"name\" {}\nmodule \"m\" {\n  source = \"./${var.name}\"\n}\n";

/// The modules `a` to `h`, which require the providers `a` to `h`.
const MODULES: [(&str, &str); 8] = [
    ("a/main.tf", "provider \"a\" {}\n"),
    ("b/main.tf", "provider \"b\" {}\n"),
    ("c/main.tf", "provider \"c\" {}\n"),
    ("d/main.tf", "provider \"d\" {}\n"),
    ("e/main.tf", "provider \"e\" {}\n"),
    ("f/main.tf", "provider \"f\" {}\n"),
    ("g/main.tf", "provider \"g\" {}\n"),
    ("h/main.tf", "provider \"h\" {}\n"),
];

/// The provider that the root module requires when these values are given.
fn provider(files: &[(&str, &str)], variables: impl Fn(PathBuf) -> InputVariables) -> String {
    let all: Vec<_> = [("main.tf", ROOT)]
        .iter()
        .chain(&MODULES)
        .chain(files)
        .copied()
        .collect();
    let directory = super::directory(&all);
    let variables = variables(directory.path().to_owned());
    let requirements = read(
        directory.path(),
        &Options {
            variables,
            ..options(Dialect::Tofu)
        },
    );
    short(&requirements.unwrap_or_else(|errors| panic!("{:?}", texts(&errors))))[0]
        .0
        .clone()
}

#[test]
fn the_value_nearest_to_the_command_line_wins() {
    let environment = BTreeMap::from([("TF_VAR_name".to_owned(), "a".to_owned())]);
    // Files, and values as `=a`.
    let given = |flags: &'static [&str]| {
        let environment = environment.clone();
        move |root: PathBuf| {
            let flag = |flag: &&str| match flag.strip_prefix('=') {
                Some(value) => VariableFlag::Value("name".to_owned(), value.to_owned()),
                None => VariableFlag::File(root.join(flag)),
            };
            InputVariables::new(&environment, flags.iter().map(flag).collect())
        }
    };
    let mut files = Vec::new();
    assert_eq!(provider(&files, given(&[])), "hashicorp/a");
    for (file, text, expected) in [
        ("terraform.tfvars", "name = \"b\"\n", "hashicorp/b"),
        ("terraform.tfvars.json", "{\"name\": \"c\"}", "hashicorp/c"),
        ("x.auto.tfvars", "name = \"d\"\n", "hashicorp/d"),
        ("y.auto.tfvars.json", "{\"name\": \"e\"}", "hashicorp/e"),
    ] {
        files.push((file, text));
        assert_eq!(provider(&files, given(&[])), expected);
    }
    files.push(("one.tfvars", "name = \"f\"\n"));
    files.push(("two.tfvars", "name = \"g\"\n"));
    assert_eq!(
        provider(&files, given(&["two.tfvars", "one.tfvars"])),
        "hashicorp/f"
    );
    assert_eq!(
        provider(&files, given(&["two.tfvars", "=a", "=h"])),
        "hashicorp/h"
    );
    assert_eq!(
        provider(&files, given(&["=h", "two.tfvars"])),
        "hashicorp/g"
    );
}

#[test]
fn the_workspace_is_known() {
    let read_with = |variable: &str, value: &str, files: &[(&str, &str)]| {
        let child = "module \"m\" {\n  source = \"../${tofu.workspace}\"\n}\n";
        let main = "module \"m\" {\n  source = \"./${terraform.workspace}\"\n}\nmodule \"n\" {\n  source = \"./n\"\n}\n";
        let more = [
            ("main.tf", main),
            ("n/main.tf", child),
            ("default/main.tf", "provider \"z\" {}\n"),
        ];
        let all: Vec<_> = more.iter().chain(&MODULES).chain(files).copied().collect();
        let directory = super::directory(&all);
        let environment = BTreeMap::from([(variable.to_owned(), value.to_owned())]);
        let variables = InputVariables::new(&environment, Vec::new());
        let requirements = read(
            directory.path(),
            &Options {
                variables,
                ..options(Dialect::Tofu)
            },
        )
        .unwrap();
        short(&requirements)
            .into_iter()
            .map(|(address, _)| address)
            .collect::<Vec<_>>()
    };
    assert_eq!(read_with("OTHER", "", &[]), ["hashicorp/z"]);
    assert_eq!(read_with("TF_WORKSPACE", "a", &[]), ["hashicorp/a"]);
    assert_eq!(
        read_with("OTHER", "", &[(".terraform/environment", "b")]),
        ["hashicorp/b"]
    );
    assert_eq!(
        read_with("TF_DATA_DIR", "data", &[("data/environment", "c\n")]),
        ["hashicorp/c"]
    );
}

#[test]
fn templates_in_files_of_values_are_text_or_errors() {
    // One value without meaning does not keep the others from being read.
    for file in [
        ("terraform.tfvars", "x = 1 + 1\nname = \"a\"\ny = 1.5\n"),
        ("a.auto.tfvars.json", "{\"x\": 1.5, \"name\": \"a\"}"),
    ] {
        assert_eq!(
            provider(&[file], |_| InputVariables::default()),
            "hashicorp/a"
        );
    }
    let found = errors(&[
        ("main.tf", ROOT),
        ("terraform.tfvars.json", "{\"name\": \"${1 + 1}\"}"),
    ]);
    assert!(found[0].contains("${1 + 1}"), "{found:?}");
    let found = errors(&[
        ("main.tf", ROOT),
        ("terraform.tfvars", "name = upper(\"a\")"),
    ]);
    assert!(
        found[0].contains(
            "only a literal may stand here [main.tf:3:12: called here; terraform.tfvars:1:8"
        ),
        "{found:?}"
    );
}

#[test]
fn a_value_given_as_text_is_an_expression_unless_the_type_is_simple() {
    let main = "variable \"o\" {\n  type = object({ path = string })\n}\nmodule \"m\" {\n  source = var.o.path\n}\n";
    let directory = super::directory(&[("main.tf", main), MODULES[0]]);
    let read_with = |value: &str| {
        let flags = vec![VariableFlag::Value("o".to_owned(), value.to_owned())];
        let variables = InputVariables::new(&BTreeMap::new(), flags);
        read(
            directory.path(),
            &Options {
                variables,
                ..options(Dialect::Tofu)
            },
        )
    };
    assert_eq!(
        short(&read_with("{ path = \"./a\" }").unwrap()),
        [("hashicorp/a".to_owned(), String::new())]
    );
    let found = texts(&read_with("{ path = ").unwrap_err());
    assert!(
        found[0].contains("this value cannot be read") && found[0].contains("main.tf:1:10"),
        "{found:?}"
    );
}

#[test]
fn a_file_of_values_that_cannot_be_read_is_named() {
    let found = errors(&[("main.tf", ROOT), ("terraform.tfvars", "name = ")]);
    assert!(
        found[0].starts_with("the source of module \"m\" is not known: "),
        "{found:?}"
    );
    assert_providers(
        &[
            ("main.tf", "provider \"x\" {}\n"),
            ("terraform.tfvars", "name = "),
        ],
        &[("hashicorp/x", "")],
    );
}

#[test]
fn a_file_of_values_of_more_than_1_mib_is_refused() {
    let of_length = |length: usize| {
        format!(
            "name = \"a\"\n#{}",
            "x".repeat(length - "name = \"a\"\n#".len())
        )
    };
    let fits = of_length(1 << 20);
    assert_eq!(
        provider(&[("terraform.tfvars", &fits)], |_| InputVariables::default(
        )),
        "hashicorp/a"
    );
    let found = errors(&[
        ("main.tf", ROOT),
        ("terraform.tfvars", &of_length((1 << 20) + 1)),
    ]);
    assert!(
        found[0].contains("the file is larger than 1 MiB"),
        "{found:?}"
    );
}

#[test]
fn locals_and_functions_are_evaluated() {
    for source in [
        "local.path",
        "\"./${local.names[0]}\"",
        "join(\"/\", [\".\", lower(\"A\")])",
        "local.map[local.key].path",
        "try(local.map.none, \"./a\")",
        "[for name in local.names : \"./${name}\"][0]",
        "\"${path.module}/a\"",
    ] {
        let main = format!(
            "locals {{\n  names = [\"a\"]\n  path = \"./${{local.names[0]}}\"\n  id = aws_vpc.main.id\n}}\n\
             locals {{\n  key = \"k\"\n  map = {{ (local.key) = {{ path = \"./a\" }} }}\n}}\n\
             module \"m\" {{\n  source = {source}\n}}\n"
        );
        assert_providers(&[("main.tf", &main), MODULES[0]], &[("hashicorp/a", "")]);
    }
    let json = r#"{"locals": {"n": "a"}, "module": {"m": {"source": "./${local.n}"}}}"#;
    assert_providers(
        &[("main.tf.json", json), MODULES[0]],
        &[("hashicorp/a", "")],
    );
    let overridden = "locals {\n  n = \"a\"\n}\nmodule \"m\" {\n  source = \"./${local.n}\"\n}\n";
    let files = [
        ("main.tf", overridden),
        ("override.tf", "locals {\n  n = \"b\"\n}\n"),
        MODULES[0],
        MODULES[1],
    ];
    assert_providers(&files, &[("hashicorp/b", "")]);
}

#[test]
fn what_is_not_known_before_a_plan_is_named() {
    for (source, why) in [
        ("local.id", "aws_vpc is not known before a plan"),
        ("each.value", "each is not known before a plan"),
        ("local.gone", "there is no local \"gone\""),
        ("var.gone", "there is no variable \"gone\""),
        ("local.one", "local.one refers to itself"),
        ("filebase64(\"a\")", "`filebase64` is not evaluated"),
        ("path.cwd", "path.cwd is not known before a plan"),
    ] {
        let main = format!(
            "locals {{\n  id = aws_vpc.main.id\n  one = local.two\n  two = local.one\n}}\n\
             module \"m\" {{\n  source = {source}\n}}\n"
        );
        let found = errors(&[("main.tf", &main)]);
        assert!(
            found.len() == 1 && found[0].contains(why),
            "{source}: {found:?}"
        );
    }
}

#[test]
fn a_caller_hands_values_down() {
    let child = "variable \"name\" {}\nmodule \"m\" {\n  source = \"../${var.name}\"\n}\n";
    let grandchild =
        "variable \"name\" {}\nmodule \"m\" {\n  source = \"../c1\"\n  name = var.name\n}\n";
    let root = "locals {\n  name = \"a\"\n}\nmodule \"c\" {\n  source = \"./c2\"\n  name = local.name\n}\n\
        module \"d\" {\n  source = \"./c2\"\n  name = \"b\"\n}\n";
    let files = [
        ("main.tf", root),
        ("c2/main.tf", grandchild),
        ("c1/main.tf", child),
        MODULES[0],
        MODULES[1],
    ];
    assert_providers(&files, &[("hashicorp/a", ""), ("hashicorp/b", "")]);
}

#[test]
fn terraform_wants_variables_to_be_constant() {
    let main = |more: &str| {
        format!(
            "variable \"s\" {{\n  default = \"./a\"\n{more}}}\nmodule \"m\" {{\n  source = var.s\n}}\n"
        )
    };
    let read = |more: &str, dialect| {
        let directory = super::directory(&[("main.tf", &main(more)), MODULES[0]]);
        read(directory.path(), &options(dialect)).map_err(|errors| texts(&errors))
    };
    assert!(read("", Dialect::Tofu).is_ok());
    assert!(read("  const = true\n", Dialect::Terraform).is_ok());
    let found = read("", Dialect::Terraform).unwrap_err();
    assert!(
        found[0].contains("the variable \"s\" lacks `const = true`"),
        "{found:?}"
    );
}

#[test]
fn hostile_locals_end() {
    let local = |name: &str, n: usize, text: String| format!("  {name}{n} = \"{text}\"\n");
    let chain: Vec<_> = (0..5000)
        .map(|n| local("l", n, format!("${{local.l{}}}x", n + 1)))
        .collect();
    let doubled: Vec<_> = (0..100)
        .map(|n| local("d", n, format!("${{local.d{}}}", n + 1).repeat(2)))
        .collect();
    let (chain, doubled) = (chain.concat(), doubled.concat());
    let main = |local: &str| {
        format!(
            "locals {{\n{chain}{doubled}  d100 = \"xxxx\"\n}}\nmodule \"m\" {{\n  source = local.{local}\n}}\n"
        )
    };
    let found = errors(&[("main.tf", &main("l0"))]);
    assert!(found[0].contains("too deeply nested"), "{found:?}");
    let found = errors(&[("main.tf", &main("d0"))]);
    assert!(
        found[0].contains("too large") || found[0].contains("too long"),
        "{found:?}"
    );
}
