//! Servers and repositories that take more time or space than they may.

use super::*;

/// A server that lists refs without end keeps git busy only as long as it may take.
#[test]
fn an_endless_list_of_refs_ends_with_the_time_limit() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n";
        let start = "001e# service=git-upload-pack\n0000";
        let mut written =
            std::io::Write::write_all(&mut stream, format!("{head}{start}").as_bytes());
        for number in 0_u64.. {
            let line = format!("{:040x} refs/heads/{number:016}\n", 1);
            written = std::io::Write::write_all(
                &mut stream,
                format!("{:04x}{line}", line.len() + 4).as_bytes(),
            );
            std::thread::sleep(Duration::from_millis(5));
            if written.is_err() {
                break;
            }
        }
        drop(written);
    });
    let fixture = Fixture::new();
    let error = fixture
        .fetch_within(
            &format!("http://127.0.0.1:{port}/a.git"),
            Duration::from_secs(2),
        )
        .map(drop)
        .unwrap_err();
    assert_eq!(error, "git took more than 2 seconds: ");
}

/// A few KB of objects that stand for 10,000,000,000 files, names of 150 KB, or links of 180 MB.
#[test]
fn small_repositories_do_not_become_large_packages() {
    let fixture = Fixture::new();
    let file = fixture.object("blob", "locals {}\n");
    let link = fixture.object("blob", &"a/".repeat(30_000));
    let ten: Vec<_> = (0..10).map(|number| format!("{number}.tf")).collect();
    let links: Vec<_> = (0..3000)
        .map(|number| format!("120000 blob {link}\t{number:04}\n"))
        .collect();
    let too_long = "it contains a name that is longer than 4096 bytes or has more than 100 parts: ";
    let cases = [
        (
            fixture.tree(&ten, 10, &file),
            "it contains more than 100000 entries: ",
        ),
        (
            fixture.tree(&ten, 5, &file),
            "it contains more than 100000 entries: ",
        ),
        (
            fixture.tree(&["d".repeat(250)], 600, &file),
            "the list of its files is longer than 24 MiB: ",
        ),
        (fixture.tree(&["d".to_owned()], 200, &file), too_long),
        (
            fixture.object("tree", &links.concat()),
            "the target of its link \"0000\" is longer than 4095 bytes: ",
        ),
    ];
    for (tree, expected) in &cases {
        assert_eq!(fixture.refused(tree), *expected);
    }
    provlock_test::survived(
        "a module package that takes too much memory or time",
        cases.len(),
    );
}

#[test]
fn no_more_branches_are_fetched_than_git_can_keep() {
    let fixture = Fixture::new();
    let head = fixture.git(&["rev-parse", "HEAD"]);
    let refs: Vec<_> = (0..40_000)
        .map(|number| format!("{head} refs/heads/b{number}\n"))
        .collect();
    let packed = format!("# pack-refs with: peeled fully-peeled \n{}", refs.concat());
    fs::write(fixture.origin().join(".git/packed-refs"), packed).unwrap();
    let error = fixture.fetch(&fixture.url("?ref=main~0")).unwrap_err();
    assert_eq!(
        error,
        "it has too many branches and tags to find \"main~0\": "
    );
    assert_eq!(fixture.main("?ref=b7"), "two");
    provlock_test::survived("a module package that takes too much memory or time", 1);
}

/// A small answer of a server that takes long to read.
#[test]
fn what_keeps_a_processor_busy_ends() {
    let fixture = Fixture::new();
    let script = fs::read_to_string(fixture.program()).unwrap();
    let busy = "case \"$*\" in *cat-file*) while :; do :; done ;; esac\nHOME=";
    fs::write(fixture.program(), script.replace("HOME=", busy)).unwrap();
    let error = fixture
        .fetch_within(&fixture.url(""), Duration::from_secs(30))
        .map(drop)
        .unwrap_err();
    assert_eq!(
        error,
        "git was stopped because there is too much in it to read: "
    );
    provlock_test::survived("a module package that takes too much memory or time", 1);
}

/// A server may send unwanted data. Its messages meanwhile do not suspend any limit.
#[test]
fn the_data_from_a_server_has_a_limit() {
    let fixture = Fixture::new();
    let script = fs::read_to_string(fixture.program()).unwrap();
    let sends = |size: &str, then: &str| {
        let endless = format!(
            "case \"$*\" in *' fetch '*) truncate -s {size} objects/pack/sent; {then} ;; esac\nHOME="
        );
        fs::write(fixture.program(), script.replace("HOME=", &endless)).unwrap();
    };
    let cases = [
        ("", "600M", "sleep 300", 512),
        ("", "600M", "while :; do echo . >&2; sleep 0.02; done", 512),
        ("?ref=main~0", "1100M", "sleep 300", 1024),
        // The fetch is over before anybody has looked.
        ("", "600M", "", 512),
    ];
    for (query, size, then, limit) in cases {
        sends(size, then);
        let error = fixture.fetch(&fixture.url(query)).unwrap_err();
        assert_eq!(
            error,
            format!("git was stopped because the fetched data is larger than {limit} MiB: ")
        );
    }
    // Each repository of a package is within its limit.
    sends("400M", "");
    let leaf = Fixture::new();
    leaf.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let (commit, url) = (leaf.git(&["rev-parse", "HEAD"]), leaf.url(""));
    for name in ["a", "b", "c"] {
        fixture.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{commit},{name}"),
        ]);
    }
    let mappings =
        ["a", "b", "c"].map(|name| format!("[submodule \"{name}\"]\npath = {name}\nurl = {url}\n"));
    fs::write(fixture.origin().join(".gitmodules"), mappings.concat()).unwrap();
    fixture.git(&["add", ".gitmodules"]);
    fixture.git(&["commit", "--quiet", "--message=submodules"]);
    let error = fixture.fetch(&fixture.url("")).unwrap_err();
    assert!(error.starts_with("its submodule \""), "{error}");
    assert!(
        error.ends_with(": git was stopped because the fetched data is larger than 1024 MiB: "),
        "{error}"
    );
    provlock_test::survived(
        "a module package that takes too much memory or time",
        cases.len() + 1,
    );
}

/// The package itself is none of its submodules.
#[test]
fn a_package_has_at_most_a_hundred_submodules() {
    let fixture = Fixture::new();
    let leaf = fixture.git(&["rev-parse", "v1.0.0"]);
    let url = fixture.url("");
    for (count, expected) in [
        (99, None),
        (100, None),
        (101, Some("it has more than 100 submodules")),
    ] {
        let names: Vec<_> = (0..count).map(|number| format!("s{number}")).collect();
        let mut arguments = vec!["update-index".to_owned(), "--add".to_owned()];
        let mut mappings = Vec::new();
        for name in &names {
            arguments.extend(["--cacheinfo".to_owned(), format!("160000,{leaf},{name}")]);
            mappings.push(format!(
                "[submodule \"{name}\"]\npath = {name}\nurl = {url}\n"
            ));
        }
        fs::write(fixture.origin().join(".gitmodules"), mappings.concat()).unwrap();
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        fixture.git(&arguments);
        fixture.git(&["add", ".gitmodules"]);
        fixture.git(&["commit", "--quiet", "--message=submodules"]);

        let place = tempfile::tempdir_in(fixture.directory.path()).unwrap();
        let (scratch, package) = (place.path().join("scratch"), place.path().join("package"));
        fs::create_dir(&scratch).unwrap();
        fs::create_dir(&package).unwrap();
        let program = fixture.program();
        let git = Git::new(&program, None, &scratch, Duration::from_mins(1));
        let commit = fixture.git(&["rev-parse", "HEAD"]);
        let address = GitAddress::parse(&fixture.url(&format!("?ref={commit}"))).unwrap();
        // All commits are in one store of objects, so that nothing is fetched.
        let read = git.read_objects(&fixture.origin().join(".git"), &address, &package);
        assert_eq!(
            read.err().map(|error| error.to_string()).as_deref(),
            expected,
            "{count}"
        );
        if expected.is_none() {
            let last = package.join(format!("s{}/main.tf", count - 1));
            assert_eq!(fs::read_to_string(last).unwrap(), "one");
        }
    }
}
