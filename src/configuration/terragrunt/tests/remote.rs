//! Requirements of remote sources.

use crate::configuration::terragrunt::remote::requested;
use crate::modules::ModuleSource;
use crate::provider::Dialect;

fn shown(source: &str) -> Option<String> {
    Some(match requested(source, Dialect::Tofu)? {
        (ModuleSource::Registry(source), constraints) => {
            format!("{} {} {constraints}", source.module, source.directory)
        }
        (ModuleSource::Remote(source), _) => format!("{} {}", source.package, source.directory),
        local => unreachable!("{local:?}"),
    })
}

#[test]
fn sources_are_addresses_of_packages_or_of_modules_of_registries() {
    for (source, expected) in [
        (
            "git::https://example.com/m.git//app?ref=v1",
            "git::https://example.com/m.git?ref=v1 app",
        ),
        (
            "git@example.com:team/m.git//app/sub?ref=v1",
            "git::ssh://git@example.com/team/m.git?ref=v1 app/sub",
        ),
        (
            "github.com/team/m//app",
            "git::https://github.com/team/m.git app",
        ),
        ("https://example.com/m.zip", "https://example.com/m.zip "),
        (
            "tfr://registry.example.com/a/b/c//sub/dir?version=1.2.0",
            "registry.example.com/a/b/c sub/dir 1.2.0",
        ),
        (
            "tfr:///a/b/c?version=1.2.0",
            "registry.opentofu.org/a/b/c  1.2.0",
        ),
        ("tfr:///a/b/c", "registry.opentofu.org/a/b/c  "),
    ] {
        assert_eq!(shown(source).as_deref(), Some(expected), "{source}");
    }
}

#[test]
fn other_sources_have_no_request() {
    for source in [
        "git::../../..//m?ref=v1",
        "tfr://a/b",
        "tfr://registry.example.com/a/b/c?version=new",
        "tfr://../x",
    ] {
        assert_eq!(shown(source), None, "{source}");
    }
}
