//! SPDX 2.3 (<https://spdx.github.io/spdx-spec/v2.3/>).

use std::collections::HashMap;

use serde_json::{Value, json};

use super::bill::{Bill, uuid};
use super::package::{Origin, Package};

const TOOL: &str = concat!("Tool: provlock-", env!("CARGO_PKG_VERSION"));

/// The bill as an SPDX document: the project depends on its root modules, these on their packages.
pub(crate) fn document(bill: &Bill) -> String {
    let created = bill.time_to_the_second();
    let project = "SPDXRef-Project";
    let mut packages = vec![application_object(project, &bill.name)];
    let mut root_ids = Vec::new();
    for (number, root) in bill.roots.iter().enumerate() {
        let id = make_id("RootModule", number, &root.path);
        packages.push(application_object(&id, &root.path));
        root_ids.push(id);
    }
    let mut ids: HashMap<&str, String> = HashMap::new();
    for (number, package) in bill.packages.values().enumerate() {
        let id = make_id("Package", number, &package.full_name());
        packages.push(library_object(package, &id, &created));
        ids.insert(&package.purl, id);
    }

    let mut relations = vec![relationship_object(
        "SPDXRef-DOCUMENT",
        "DESCRIBES",
        project,
    )];
    // NOASSERTION means that there may be more dependencies (clause 11 of the specification).
    if bill.has_failed_roots {
        relations.push(relationship_object(project, "DEPENDS_ON", "NOASSERTION"));
    }
    for (root, id) in bill.roots.iter().zip(&root_ids) {
        relations.push(relationship_object(project, "DEPENDS_ON", id));
        for purl in &root.requirements {
            relations.push(relationship_object(id, "DEPENDS_ON", &ids[&**purl]));
        }
        if !root.is_complete {
            relations.push(relationship_object(id, "DEPENDS_ON", "NOASSERTION"));
        }
    }
    for purl in bill.packages.keys() {
        for other in bill.required_by(purl) {
            relations.push(relationship_object(
                &ids[&**purl],
                "DEPENDS_ON",
                &ids[&**other],
            ));
        }
    }
    let mut document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": bill.name,
        "creationInfo": { "created": created, "creators": [TOOL] },
        "packages": packages,
        "relationships": relations,
    });
    // Computed from the content, so that the same bill has the same name.
    document["documentNamespace"] =
        format!("https://spdx.org/spdxdocs/provlock-{}", uuid(&document)).into();
    format!("{document:#}\n")
}

fn relationship_object(from: &str, kind: &str, to: &str) -> Value {
    json!({
        "spdxElementId": from,
        "relationshipType": kind,
        "relatedSpdxElement": to,
    })
}

/// An identifier with only letters, digits, dots and dashes. The number makes it unique.
fn make_id(kind: &str, number: usize, name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(100)
        .collect();
    format!("SPDXRef-{kind}-{number}-{name}")
}

/// The `package` object of a project or a root module.
fn application_object(id: &str, name: &str) -> Value {
    json!({
        "SPDXID": id,
        "name": name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "primaryPackagePurpose": "APPLICATION",
    })
}

/// The `package` object of a provider or a module.
fn library_object(package: &Package, id: &str, created: &str) -> Value {
    let location = match &package.origin {
        Origin::Registry(_) | Origin::Unknown => "NOASSERTION",
        // The format has no locations on a machine.
        Origin::Git(url, _) | Origin::Archive(url) if url.starts_with("file:") => "NOASSERTION",
        Origin::Git(_, location) => location,
        Origin::Archive(url) => url,
    };
    let checksums = package
        .archives
        .iter()
        .map(|digits| json!({ "algorithm": "SHA256", "checksumValue": digits }));
    let annotations = package.properties.iter().map(|(name, value)| {
        json!({
            "annotationDate": created,
            "annotationType": "OTHER",
            "annotator": TOOL,
            "comment": format!("{name}={value}"),
        })
    });
    let mut library = json!({
        "SPDXID": id,
        "name": package.full_name(),
        "downloadLocation": location,
        "filesAnalyzed": false,
        "primaryPackagePurpose": "LIBRARY",
        "checksums": checksums.collect::<Vec<_>>(),
        "annotations": annotations.collect::<Vec<_>>(),
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": package.purl,
        }],
    });
    if let Some(version) = &package.version {
        library["versionInfo"] = version.as_str().into();
    }
    if package.archives.len() > 1 {
        library["comment"] = "Each checksum is that of the archive for one platform.".into();
    }
    library
}
