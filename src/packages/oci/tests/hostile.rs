//! Registries that lie, break off or want too much.

use super::*;

fn serve(content: Content) -> Server {
    Server::http(move |request| content.answer(request))
}

fn blob_path() -> String {
    format!("{NULL}/blobs/{}", digest_of(&archive()))
}

fn assert_fails(server: &Server, code: Code, expected: &str) {
    let error = fetch(&mirror(server)).unwrap_err();
    assert_eq!(error[0].code, code, "{error}");
    assert!(told(&error).contains(expected), "{}", told(&error));
}

#[test]
fn a_package_that_is_not_its_layer_is_refused() {
    let mut other = content();
    let mut bytes = archive();
    bytes.extend(b"PK");
    other.put(blob_path(), bytes.clone());
    let error = fetch(&mirror(&serve(other.clone()))).unwrap_err();
    assert!(
        matches!(
            error[0].code,
            Code::PackageNotAuthentic | Code::InvalidPackage
        ),
        "{error}"
    );

    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .start_file("terraform-provider-null", SimpleFileOptions::default())
        .unwrap();
    other.put(blob_path(), writer.finish().unwrap().into_inner());
    assert_fails(
        &serve(other.clone()),
        Code::PackageNotAuthentic,
        "but its manifest says",
    );

    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .start_file(
            "terraform-provider-null_v1.0.0",
            SimpleFileOptions::default(),
        )
        .unwrap();
    writer.write_all(b"A PROGRAM").unwrap();
    let same_size = writer.finish().unwrap().into_inner();
    assert_eq!(same_size.len(), archive().len());
    other.put(blob_path(), same_size);
    assert_fails(
        &serve(other),
        Code::PackageNotAuthentic,
        "but its manifest says",
    );

    let mut liar = content();
    let mut layer = zip_layer(&archive());
    layer["size"] = json!(1);
    let target = liar.put_manifest(&target_manifest(&json!([layer])));
    liar.put_index("1.0.0", &[with_platform(target, "linux", "amd64")]);
    assert_fails(
        &serve(liar),
        Code::PackageNotAuthentic,
        "but its manifest says 1",
    );

    let mut no_zip = content();
    let target = no_zip.put_manifest(&target_manifest(&json!([zip_layer(b"no zip")])));
    no_zip.put_index("1.0.0", &[with_platform(target, "linux", "amd64")]);
    no_zip.put(format!("{NULL}/blobs/{}", digest_of(b"no zip")), "no zip");
    assert_fails(&serve(no_zip), Code::InvalidPackage, "downloaded from");
}

#[test]
fn manifests_are_checked_against_their_digests() {
    let mut content = content();
    let package = zip_layer(&archive());
    let target = content.put_manifest(&target_manifest(&json!([package])));
    let path = format!("{NULL}/manifests/{}", target["digest"].as_str().unwrap());
    content.put_index("1.0.0", &[with_platform(target, "linux", "amd64")]);
    content.put(
        path,
        target_manifest(&json!([zip_layer(b"another")])).to_string(),
    );
    assert_fails(
        &serve(content.clone()),
        Code::RequestFailed,
        "does not have its digest",
    );

    let wrong = digest_of(b"something else");
    let server = Server::http(move |request| {
        content
            .answer(request)
            .header("Docker-Content-Digest", wrong.clone())
    });
    assert_fails(
        &server,
        Code::RequestFailed,
        "with a different digest than its header",
    );
}

#[test]
fn a_platform_may_be_listed_once() {
    let mut content = content();
    let target = content.put_manifest(&target_manifest(&json!([zip_layer(&archive())])));
    let twice = with_platform(target.clone(), "linux", "amd64");
    let mut versioned = with_platform(target.clone(), "linux", "amd64");
    versioned["platform"]["os.version"] = json!("10.0");
    content.put_index("1.0.0", &[twice.clone(), versioned.clone()]);
    assert!(
        fetch(&mirror(&serve(content.clone()))).is_ok(),
        "entries for versions of an operating system do not count"
    );
    content.put_index("1.0.0", &[twice.clone(), versioned, twice]);
    assert_fails(&serve(content), Code::RequestFailed, "several manifests");
}

#[test]
fn huge_documents_are_not_read() {
    let huge = vec![b' '; (4 << 20) + 1];
    let mut index = content();
    index.put(format!("{NULL}/manifests/1.0.0"), huge.clone());
    assert_fails(
        &serve(index),
        Code::RequestFailed,
        "larger than 4194304 bytes",
    );
    let mut tags = content();
    tags.put(format!("{NULL}/tags/list"), huge);
    let error = diagnosed(mirror(&serve(tags)).versions(&null()));
    assert!(error[0].message.contains("larger than"), "{error}");
}

#[test]
fn a_list_of_tags_must_end_and_stay_on_its_host() {
    let endless = Server::http(|request| {
        Response::new(200, r#"{"tags": ["1.0.0"]}"#)
            .header("Link", format!("<{}>; rel=next", request.target))
    });
    let error = diagnosed(mirror(&endless).versions(&null()));
    assert!(error[0].message.contains("has no end"), "{error}");
    let elsewhere = Server::http(|_| Response::new(200, r#"{"tags": []}"#));
    let host = elsewhere.host();
    let server = Server::http(move |_| {
        Response::new(200, r#"{"tags": []}"#).header(
            "Link",
            format!("<http://{host}/v2/m/acme/null/tags/list>; rel=next"),
        )
    });
    let error = diagnosed(mirror(&server).versions(&null()));
    assert!(
        error[0].message.contains("continues on a different host"),
        "{error}"
    );
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn a_list_of_tags_is_not_kept_whatever_its_size() {
    let long = "a".repeat(1 << 20);
    let endless = Server::http(move |request| {
        let page = format!(r#"{{"tags": ["1.0.0-{long}"]}}"#);
        Response::new(200, page).header("Link", format!("<{}>; rel=next", request.target))
    });
    let error = diagnosed(mirror(&endless).versions(&null()));
    assert!(
        error[0].message.contains("is larger than 33554432 bytes"),
        "{error}"
    );
    assert_eq!(endless.requests().len(), 32);

    // The longest possible tag, and a tag that is too long.
    let tags = [
        format!("1.0.0-{}", "a".repeat(122)),
        format!("1.0.0-{}", "b".repeat(123)),
        "latest".to_owned(),
    ];
    let page = serde_json::json!({ "tags": tags }).to_string();
    let server = Server::http(move |_| Response::new(200, page.clone()));
    let available = mirror(&server).versions(&null()).unwrap();
    assert_eq!(
        available
            .versions
            .keys()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        tags[..1]
    );
}

#[test]
fn a_broken_download_is_done_again() {
    let content = content();
    let attempts = Mutex::new(0);
    let server = Server::http(move |request| {
        let reply = content.answer(request);
        if !request.path().contains("/blobs/") {
            return reply;
        }
        let mut attempts = attempts.lock().unwrap();
        *attempts += 1;
        if *attempts < 3 {
            reply.truncated()
        } else {
            reply
        }
    });
    assert_eq!(
        fetch(&mirror(&server)).unwrap().downloaded,
        archive().len() as u64
    );
    assert_eq!(server.requests_for(&blob_path()).len(), 3);
}

#[test]
fn redirects_end_and_do_not_leave_encryption_or_reach_into_this_machine() {
    for (location, expected) in [
        ("/v2/again", "more than 10 redirects"),
        ("ftp://127.0.0.1/", "is not an https URL"),
        (
            "http://example.invalid/?X-Signature=s3cr3t",
            "is not an https URL",
        ),
        ("https://[/", "redirects to a URL that is not allowed"),
    ] {
        let server = Server::http(move |_| Response::new(307, "").header("Location", location));
        let error = fetch(&mirror(&server)).unwrap_err();
        assert!(error[0].message.contains(expected), "{location}: {error}");
        assert!(!told(&error).contains("s3cr3t"), "{}", told(&error));
    }
    let server = Server::http(move |_| Response::new(302, ""));
    assert!(
        fetch(&mirror(&server)).unwrap_err()[0]
            .message
            .contains("has no location")
    );
}
