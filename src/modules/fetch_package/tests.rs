//! Against a web server of this machine.

use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;

use provlock_test::{Request, Response, Server};
use sha2::Digest as _;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::cli_config::NetSettings;
use crate::modules::ModuleSource;
use crate::modules::registry::ModuleRegistry;
use crate::net::Client;
use crate::packages::connections::{Connections, SourceOptions};
use crate::provider::Hostname;
use crate::system::{Environment, Token};

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, content) in files {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn module() -> Vec<u8> {
    zip(&[("main.tf", "one"), ("modules/a/main.tf", "a")])
}

/// A fetcher that may ask this machine over plain HTTP, and has a token for `127.0.0.1`.
fn fetcher(environment: &Environment, cache: Option<&Path>) -> ModuleFetcher {
    fetcher_with(environment, cache, 0)
}

fn fetcher_with(
    environment: &Environment,
    cache: Option<&Path>,
    download_retries: u32,
) -> ModuleFetcher {
    let plain_http_hosts = ["127.0.0.1", "localhost"].map(str::to_owned).into();
    let settings = NetSettings {
        retries: 0,
        download_retries,
        use_proxies: false,
        plain_http_hosts,
        ..NetSettings::default()
    };
    let token = |host: &Hostname| {
        if host.host() == "127.0.0.1" {
            Token::new("t0ken")
        } else {
            None
        }
    };
    let http = Client::new(settings, move |host| Ok(token(host))).unwrap();
    let options = SourceOptions {
        cache_directory: cache.map(Path::to_owned),
        ..SourceOptions::default()
    };
    let connections = Connections::new(options, environment).unwrap();
    let (_, discovery) = connections.module_registry(Dialect::Tofu).unwrap();
    let registry = ModuleRegistry::new(http.clone(), discovery, Dialect::Tofu);
    let oci_registries = connections.oci_registries(Dialect::Tofu).unwrap();
    let fetcher = ModuleFetcher::new(&connections, false);
    let clients = Clients {
        dialect: Dialect::Tofu,
        http,
        registry,
        oci_registries,
    };
    fetcher
        .clients
        .get_or_compute(&Dialect::Tofu, || Ok(Arc::new(clients)))
        .unwrap();
    fetcher
}

/// The package of an address that is to be read.
fn fetch(fetcher: &ModuleFetcher, source: &RemoteSource) -> FetchResult<Package> {
    fetcher.cached_or_fetched(
        &fetcher.clients(Dialect::Tofu).unwrap(),
        source,
        FetchPurpose::Reading,
    )
}

fn source(text: &str) -> RemoteSource {
    match ModuleSource::parse(text, Dialect::Tofu) {
        Ok(ModuleSource::Remote(source)) => source,
        other => panic!("{other:?}"),
    }
}

/// The content of `main.tf` in the directory of a source.
fn main(fetcher: &ModuleFetcher, text: &str) -> std::result::Result<String, String> {
    let source = source(text);
    let directory = fetch(fetcher, &source)
        .map_err(|error| error.errors)
        .and_then(|package| package.directory(&source.directory, Wildcards::Expanded));
    directory
        .map(|path| fs::read_to_string(path.join("main.tf")).unwrap())
        .map_err(|error| error.to_string())
}

fn at(server: &Server, path: &str) -> String {
    server.url("127.0.0.1", path).to_string()
}

#[test]
fn a_package_is_fetched_once_and_again_after_an_hour_unless_it_cannot_change() {
    let server = Server::http(|_| Response::ok(module()));
    let cache = tempfile::tempdir().unwrap();
    let environment = Environment::default();
    let unpinned = at(&server, "/m.zip");
    let first = fetcher(&environment, Some(cache.path()));
    assert_eq!(main(&first, &unpinned).unwrap(), "one");
    assert_eq!(
        main(&first, &format!("{unpinned}//modules/a")).unwrap(),
        "a"
    );
    assert_eq!(server.requests().len(), 1, "once a run");
    let second = fetcher(&environment, Some(cache.path()));
    assert_eq!(
        fetch(&second, &source(&unpinned)).unwrap().origin,
        PackageOrigin::Cache
    );
    assert_eq!(server.requests().len(), 1, "within the hour");

    let digest = format!("{:x}", <sha2::Sha256 as sha2::Digest>::digest(module()));
    let pinned = format!("{unpinned}?checksum=sha256:{digest}");
    assert_eq!(main(&second, &pinned).unwrap(), "one");
    age_cache(cache.path());
    let third = fetcher(&environment, Some(cache.path()));
    main(&third, &pinned).unwrap();
    assert_eq!(server.requests().len(), 2, "for ever");
    assert!(
        third.cached_package(&source(&unpinned)).unwrap().is_some(),
        "an offline run takes it whatever its age"
    );
    main(&third, &unpinned).unwrap();
    assert_eq!(server.requests().len(), 3, "after an hour");
}

/// Lets everything in a cache be two hours older.
fn age_cache(directory: &Path) {
    for entry in fs::read_dir(directory.join("provlock-modules-v2/addresses"))
        .unwrap()
        .flatten()
    {
        let mut value: serde_json::Value =
            serde_json::from_slice(&fs::read(entry.path()).unwrap()).unwrap();
        value["saved"] = (value["saved"].as_i64().unwrap() - 7200).into();
        fs::write(entry.path(), value.to_string()).unwrap();
    }
}

#[test]
fn without_a_cache_a_package_lives_as_long_as_the_fetcher() {
    let server = Server::http(|_| Response::ok(module()));
    let fetcher = fetcher(&Environment::default(), None);
    let package = fetch(&fetcher, &source(&at(&server, "/m.zip"))).unwrap();
    assert!(package.top.join("main.tf").exists());
    drop(fetcher);
    assert!(!package.top.exists());
}

#[test]
fn an_interrupted_archive_is_resumed() {
    let server = Server::http(|request| {
        let response = Response::ok(module()).resumable(request, "\"one\"");
        if request.number == 0 {
            response.cut_at(90)
        } else {
            response
        }
    });
    let fetcher = fetcher_with(&Environment::default(), None, 1);
    assert_eq!(main(&fetcher, &at(&server, "/m.zip")).unwrap(), "one");
    assert_eq!(
        server.statistics().bytes_sent,
        module().len() as u64,
        "no byte comes twice"
    );
}

#[test]
fn a_server_may_refer_to_the_package() {
    let server = Server::http(|request: &Request| match request.path() {
        "/m.zip" => Response::ok(module()),
        "/header" if request.target.contains("terraform-get=1") => Response::ok("").header(
            "X-Terraform-Get",
            format!("http://{}/m.zip//modules/*", request.host),
        ),
        "/meta" => Response::ok(format!(
            "<html><head><meta name='terraform-get' content='http://{}/m.zip'></head></html>",
            request.host
        )),
        "/loop" => {
            Response::ok("").header("X-Terraform-Get", format!("http://{}/loop", request.host))
        }
        "/relative" => Response::ok("").header("X-Terraform-Get", "./m.zip"),
        "/short" => Response::ok("").header("X-Terraform-Get", "github.com/a/b"),
        "/file" => Response::ok("").header("X-Terraform-Get", "file:///etc"),
        "/gitfile" => Response::ok("").header("X-Terraform-Get", "git::file:///etc"),
        _ => Response::ok("<html></html>"),
    });
    let fetcher = fetcher(&Environment::default(), None);
    assert_eq!(main(&fetcher, &at(&server, "/meta")).unwrap(), "one");
    assert_eq!(main(&fetcher, &at(&server, "/header")).unwrap(), "a");
    for (path, message) in [
        ("/header//../..", "leads out of the module's package"),
        ("/header//..", "leads out of it"),
        (
            "/loop",
            "more than 10 servers in a row refer to a different server",
        ),
        (
            "/relative",
            "refers to something that is not the full address",
        ),
        ("/short", "refers to something that is not the full address"),
        ("/file", "refers to this machine"),
        ("/gitfile", "refers to this machine"),
        (
            "/none",
            "does not have the name of an archive, and does not contain the location of the package",
        ),
    ] {
        let text = format!("{}{path}", at(&server, "/").trim_end_matches('/'));
        let error = match ModuleSource::parse(&text, Dialect::Tofu) {
            Ok(_) => main(&fetcher, &text).unwrap_err(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(message), "{path}: {error}");
    }
}

/// A registry leads there. A page over https is in `tests/cli/addresses.rs`.
#[test]
fn an_encrypted_address_does_not_lead_git_to_an_unencrypted_one() {
    let fetcher = fetcher(&Environment::default(), None);
    let Ok(ModuleSource::Registry(module)) = ModuleSource::parse("127.0.0.1/a/b/c", Dialect::Tofu)
    else {
        panic!()
    };
    let addresses = [
        "git::http://h.test/a.git",
        "git::git://h.test/a.git",
        "git::http://u:p@h.test/a.git?ref=v1",
    ];
    for address in addresses {
        let (clients, source) = (fetcher.clients(Dialect::Tofu).unwrap(), source(address));
        let location = || Ok(PackageLocation::Source(source.clone()));
        let package = fetcher.registry_version(
            &clients,
            &module.module,
            &"1.0.0".parse().unwrap(),
            FetchPurpose::Reading,
            location,
        );
        let error = package.unwrap_err().to_string();
        assert!(
            error.contains("is not an https URL") && !error.contains("u:p"),
            "{address}: {error}"
        );
        assert!(source.is_unencrypted(), "{address}");
    }
}

#[test]
fn a_login_stays_with_its_host_and_no_token_goes_to_an_archive() {
    let server = Server::http(|request: &Request| match request.path() {
        "/moved.zip" => Response::redirect(format!(
            "http://{}/m.zip",
            request.host.replace("127.0.0.1", "localhost")
        )),
        "/private.zip" if request.authorization().is_none() => Response::new(401, "who are you"),
        _ => Response::ok(module()),
    });
    let home = tempfile::tempdir().unwrap();
    let host = server
        .url("127.0.0.1", "/")
        .port()
        .map(|port| format!("127.0.0.1:{port}"))
        .unwrap();
    let without = fetcher(&Environment::default(), None);
    main(&without, &at(&server, "/m.zip")).unwrap();
    assert_eq!(
        server.requests()[0].authorization(),
        None,
        "though there is a token for this host"
    );
    let error = main(&without, &at(&server, "/private.zip")).unwrap_err();
    assert!(error.contains("/private.zip was refused (401)"), "{error}");

    let file = home.path().join("netrc");
    fs::write(&file, format!("machine {host} login alice password w0nder")).unwrap();
    let variables = [("NETRC".to_owned(), file.display().to_string())].into();
    let environment = Environment {
        variables,
        ..Environment::default()
    };
    let with = fetcher(&environment, None);
    let before = server.requests().len();
    main(&with, &at(&server, "/private.zip")).unwrap();
    main(&with, &at(&server, "/moved.zip")).unwrap();
    main(
        &with,
        &at(&server, "/other.zip").replace("://", "://bob:p%20w@"),
    )
    .unwrap();
    let logins: Vec<_> = server.requests()[before..]
        .iter()
        .map(|request| (request.path().to_owned(), request.basic()))
        .collect();
    let login = |text: &str| Some(text.to_owned());
    let expected = [
        ("/private.zip".to_owned(), login("alice:w0nder")),
        ("/moved.zip".to_owned(), login("alice:w0nder")),
        ("/m.zip".to_owned(), None),
        ("/other.zip".to_owned(), login("bob:p w")),
    ];
    assert_eq!(logins, expected);
}

#[test]
fn a_wrong_checksum_is_refused_and_not_cached() {
    let sums = format!("{}  m.zip\n", "0".repeat(64));
    let server = Server::http(move |request: &Request| match request.path() {
        "/SUMS" => Response::ok(sums.clone()),
        _ => Response::ok(module()),
    });
    let cache = tempfile::tempdir().unwrap();
    let fetcher = fetcher(&Environment::default(), Some(cache.path()));
    for checksum in ["0".repeat(32), format!("file:{}", at(&server, "/SUMS"))] {
        let address = source(&format!("{}?checksum={checksum}", at(&server, "/m.zip")));
        let error = fetch(&fetcher, &address).unwrap_err().errors.to_string();
        assert!(error.contains("checksum is"), "{error}");
        assert!(fetcher.cached_package(&address).unwrap().is_none());
    }
}

#[test]
fn a_version_of_a_registry_is_located_once_for_ever() {
    let server = Server::http(|_| Response::ok(module()));
    let cache = tempfile::tempdir().unwrap();
    let Ok(ModuleSource::Registry(module)) = ModuleSource::parse("127.0.0.1/a/b/c", Dialect::Tofu)
    else {
        panic!()
    };
    let version: Version = "1.0.0".parse().unwrap();
    let of_version = |fetcher: &ModuleFetcher,
                      locate: &dyn Fn() -> FetchResult<PackageLocation>| {
        let clients = fetcher.clients(Dialect::Tofu).unwrap();
        fetcher
            .registry_version(
                &clients,
                &module.module,
                &version,
                FetchPurpose::Reading,
                locate,
            )
            .unwrap()
    };
    let located = || {
        Ok(PackageLocation::Source(source(&format!(
            "{}//modules",
            at(&server, "/m.zip")
        ))))
    };
    let first = of_version(
        &fetcher(&Environment::default(), Some(cache.path())),
        &located,
    );
    assert_eq!(
        first.directory("a", Wildcards::Literal).unwrap(),
        first.top.join("modules/a")
    );
    age_cache(cache.path());
    let unasked = || panic!("nobody asks where it is");
    let second = of_version(
        &fetcher(&Environment::default(), Some(cache.path())),
        &unasked,
    );
    assert_eq!(
        (second.origin, &second.top),
        (PackageOrigin::Cache, &first.top)
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_archive_of_a_registry_is_known_by_its_content_and_may_want_the_token() {
    let server = Server::http(|_| Response::ok(module()));
    let Ok(ModuleSource::Registry(module)) = ModuleSource::parse("127.0.0.1/a/b/c", Dialect::Tofu)
    else {
        panic!()
    };
    let fetcher = fetcher(&Environment::default(), None);
    for (version, credentials_of, sent) in [
        (
            "1.0.0",
            Some(module.module.host.clone()),
            Some("Bearer t0ken"),
        ),
        ("2.0.0", None, None),
    ] {
        let location = PackageLocation::Archive {
            url: server.url("127.0.0.1", "/download"),
            credentials_of,
        };
        let package = {
            let (clients, version) = (
                fetcher.clients(Dialect::Tofu).unwrap(),
                version.parse().unwrap(),
            );
            fetcher
                .registry_version(
                    &clients,
                    &module.module,
                    &version,
                    FetchPurpose::Reading,
                    || Ok(location),
                )
                .unwrap()
        };
        assert!(package.top.join("main.tf").exists());
        assert_eq!(server.requests().last().unwrap().authorization(), sent);
    }
}

#[test]
fn errors_of_fetching_contain_the_next_step() {
    let fetcher = fetcher(&Environment::default(), None);
    for (text, message) in [
        (
            "s3::https://s3.amazonaws.com/b/m.zip",
            "\"s3\" addresses are not supported",
        ),
        ("hg::https://h.test/m", "\"hg\" addresses are not supported"),
        ("ftp://h.test/m.zip", "\"ftp\" addresses are not supported"),
        (
            "git::ext::sh -c x",
            "provlock does not pass \"ext::sh\" to git",
        ),
        (
            "git::https://h.test/a.zip?ref=v1",
            "names an archive in a git repository",
        ),
        (
            "git::https://h.test/a?archive=tgz",
            "names an archive in a git repository",
        ),
        ("https://h.test/m.gz", "names a single compressed file"),
        (
            "https://h.test/m.zip?archive=xz",
            "names a single compressed file",
        ),
        (
            "https://h.test#@o.test/m.zip",
            "contains a #, so programs read it in different ways",
        ),
        (
            "git::https://h.test#@o.test/a.git?ref=v1",
            "contains a #, so programs read it in different ways",
        ),
    ] {
        let errors = fetch(&fetcher, &source(text)).unwrap_err().errors;
        assert!(errors.to_string().contains(message), "{errors}");
        assert!(errors[0].help.is_some() || text.starts_with("git"));
    }
}

#[test]
fn a_directory_of_this_machine_is_read_where_it_is() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("main.tf"), "here").unwrap();
    fs::write(directory.path().join("m.zip"), module()).unwrap();
    let fetcher = fetcher(&Environment::default(), None);
    let path = directory.path().display();
    assert_eq!(main(&fetcher, &path.to_string()).unwrap(), "here");
    assert_eq!(
        main(&fetcher, &format!("{path}/m.zip//modules/a")).unwrap(),
        "a"
    );
    let error = main(&fetcher, &format!("file://{path}/main.tf")).unwrap_err();
    assert!(
        error.contains("neither a directory nor an archive"),
        "{error}"
    );
}

#[test]
fn the_checksum_and_the_format_of_an_archive_on_this_machine_count() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display();
    for name in ["m.zip", "m"] {
        fs::write(directory.path().join(name), module()).unwrap();
    }
    fs::create_dir(directory.path().join("d")).unwrap();
    let sha256 = format!("{:x}", Sha256::digest(module()));
    let fetcher = fetcher(&Environment::default(), None);
    for right in [
        format!("m.zip?checksum={sha256}"),
        format!("m?archive=zip&checksum=sha256:{sha256}"),
    ] {
        assert_eq!(
            main(&fetcher, &format!("{path}/{right}")).unwrap(),
            "one",
            "{right}"
        );
    }
    for (wrong, message) in [
        (
            format!("m.zip?checksum={}", "0".repeat(64)),
            "its sha256 checksum is ",
        ),
        (
            format!("m?archive=zip&checksum=md5:{}", "0".repeat(32)),
            "its md5 checksum is ",
        ),
        (
            "m.zip?checksum=none".to_owned(),
            "its checksum is malformed",
        ),
        (
            format!("m.zip?checksum=file:{path}/SUMS"),
            "its checksum must be in a file with an https URL",
        ),
        (
            format!("m?checksum={sha256}"),
            "which only an archive can have",
        ),
        (
            "m.zip?archive=false".to_owned(),
            "neither a directory nor an archive",
        ),
        ("m.zip?archive=tar.gz".to_owned(), "cannot be read"),
        (
            format!("d?checksum={sha256}"),
            "which only an archive can have",
        ),
        (
            "d?archive=zip".to_owned(),
            "it is a directory, and its address names an archive",
        ),
    ] {
        let error = main(&fetcher, &format!("file://{path}/{wrong}")).unwrap_err();
        assert!(error.contains(message), "{wrong}: {error}");
    }
}

#[test]
fn a_date_without_a_service_for_it_is_not_blamed_on_an_offline_run() {
    let fetcher = fetcher(&Environment::default(), None);
    let source = ModuleSource::parse("hashicorp/consul/aws", Dialect::Tofu).unwrap();
    let ModuleSource::Registry(source) = source else {
        panic!("{source}");
    };
    let published = fetcher.publication_date(Dialect::Tofu, &source.module, &Version::new(1, 0, 0));
    let why = "no service with its dates is configured";
    assert_eq!(published, Err(why.to_owned()));
}
