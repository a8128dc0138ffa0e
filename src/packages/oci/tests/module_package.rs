//! Packages of modules.

use super::*;
use crate::packages::oci::manifest::MODULE_PACKAGE;

const PATH: &str = "/v2/acme/network";

fn manifest_of(archive: &[u8], artifact_type: &str) -> String {
    json!({"schemaVersion": 2, "mediaType": manifest::MANIFEST, "artifactType": artifact_type,
        "layers": [zip_layer(archive)]})
    .to_string()
}

/// A repository whose tag `latest` is a package, and `provider` something else.
fn content(archive: &[u8]) -> Content {
    let (package, provider) = (
        manifest_of(archive, MODULE_PACKAGE),
        manifest_of(archive, "application/x"),
    );
    let mut content = Content::default();
    content.put(
        format!("{PATH}/manifests/{}", digest_of(package.as_bytes())),
        package.clone(),
    );
    content.put(format!("{PATH}/manifests/latest"), package);
    content.put(format!("{PATH}/manifests/provider"), provider);
    content.put(format!("{PATH}/blobs/{}", digest_of(archive)), archive);
    content
}

fn download(server: &Server, query: &str) -> std::result::Result<Vec<u8>, String> {
    let registries = OciRegistries::new(network(), OciLogins::anonymous());
    let url = format!("oci://{}/acme/network{query}", server.host())
        .parse()
        .unwrap();
    let package = ModulePackage::parse(&url)?;
    let mut file = tempfile::tempfile().unwrap();
    let outcome = registries.download_module(&package, "the module", 1 << 20, &mut file);
    let digest = outcome.map_err(|error| Diagnostics::from(error.error).to_string())?;
    assert!(digest.starts_with("sha256:"), "{digest}");
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
    Ok(bytes)
}

#[test]
fn a_package_is_found_by_tag_or_digest() {
    let content = content(b"archive");
    let server = Server::http(move |request| content.answer(request));
    let digest = digest_of(manifest_of(b"archive", MODULE_PACKAGE).as_bytes());
    for query in ["", "?tag=latest", &format!("?digest={digest}")] {
        assert_eq!(download(&server, query).unwrap(), b"archive", "{query}");
    }
    for (query, message) in [
        ("?tag=absent", "404"),
        (
            "?tag=provider",
            "its manifest has the artifact type \"application/x\", not application/vnd.opentofu.modulepkg",
        ),
        ("?tag=-x", "\"-x\" is not a tag"),
        ("?digest=sha256:0", "\"sha256:0\" is not a sha256 digest"),
        ("?tag=a&tag=b", "it has more than one tag or digest"),
        (
            "?archive=zip",
            "it has the argument \"archive\", but only tag and digest are allowed",
        ),
    ] {
        let error = download(&server, query).unwrap_err();
        assert!(error.contains(message), "{query}: {error}");
    }
}

#[test]
fn an_archive_of_another_digest_is_refused() {
    let mut content = content(b"archive");
    content.put(format!("{PATH}/blobs/{}", digest_of(b"archive")), "another");
    let server = Server::http(move |request| content.answer(request));
    let error = download(&server, "").unwrap_err();
    assert!(
        error.contains("contains a different digest than the archive"),
        "{error}"
    );
}

/// By its digest the archive would be right.
#[test]
fn an_archive_of_another_size_is_refused() {
    for size in ["6", "8", "0", "18446744073709551615"] {
        let manifest = manifest_of(b"archive", MODULE_PACKAGE)
            .replace("\"size\":7", &format!("\"size\":{size}"));
        let mut content = content(b"archive");
        content.put(format!("{PATH}/manifests/latest"), manifest);
        let server = Server::http(move |request| content.answer(request));
        let error = download(&server, "").unwrap_err();
        assert!(
            error.contains(&format!(
                "says that the archive has {size} bytes, but it has 7"
            )),
            "{error}"
        );
    }
}
