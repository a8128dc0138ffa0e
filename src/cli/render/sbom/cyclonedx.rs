//! `CycloneDX` 1.6 (<https://cyclonedx.org/docs/1.6/json/>).

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::bill::{Bill, uuid};
use super::package::{Origin, Package};

/// Characters that an IRI (RFC 3987) cannot contain.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The document.
pub(crate) fn document(bill: &Bill) -> String {
    let roots = bill
        .roots
        .iter()
        .map(|root| json!({ "type": "application", "bom-ref": reference(&root.path), "name": root.path }));
    let project = json!({ "type": "application", "bom-ref": "project", "name": bill.name });
    let tool =
        json!({ "type": "application", "name": "provlock", "version": env!("CARGO_PKG_VERSION") });
    let mut metadata = json!({ "component": project, "tools": { "components": [tool] } });
    if let Some(time) = bill.time {
        metadata["timestamp"] = time.to_string().into();
    }
    let complete = |is_complete: bool| {
        let roots = bill
            .roots
            .iter()
            .filter(move |root| root.is_complete == is_complete);
        roots.map(|root| reference(&root.path)).collect::<Vec<_>>()
    };
    let mut incomplete = complete(false);
    if bill.lacks_roots {
        incomplete.push("project".to_owned());
    }
    let compositions = [("complete", complete(true)), ("incomplete", incomplete)].into_iter();
    let compositions = compositions.filter(|(_, roots)| !roots.is_empty());
    let mut document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": metadata,
        "components": roots.chain(bill.packages.values().map(component)).collect::<Vec<_>>(),
        "dependencies": dependencies(bill),
        "compositions": compositions
            .map(|(aggregate, roots)| json!({ "aggregate": aggregate, "dependencies": roots }))
            .collect::<Vec<_>>(),
    });
    document["serialNumber"] = format!("urn:uuid:{}", uuid(&document)).into();
    format!("{document:#}\n")
}

/// Returns the reference of a root module. No purl begins like this.
fn reference(path: &str) -> String {
    format!("root:{path}")
}

fn component(package: &Package) -> Value {
    let Package {
        purl,
        group,
        name,
        version,
        properties,
        ..
    } = package;
    let properties = properties
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }));
    let mut component = json!({
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "purl": purl,
        "externalReferences": references(package),
        "properties": properties.collect::<Vec<_>>(),
    });
    for (field, value) in [("group", group), ("version", version)] {
        if let Some(value) = value {
            component[field] = value.as_str().into();
        }
    }
    component
}

/// Returns the origin of a package. Each hash has a reference of its own, since each is of another
/// archive; a lock file records neither its URL nor its platform.
fn references(package: &Package) -> Vec<Value> {
    let (kind, url) = match &package.origin {
        Origin::Git(url, _) => ("vcs", url),
        Origin::Registry(url) | Origin::Archive(url) => ("distribution", url),
        Origin::Unknown => return Vec::new(),
    };
    let url = utf8_percent_encode(url, ENCODED).to_string();
    if package.archives.is_empty() {
        return vec![json!({ "type": kind, "url": url })];
    }
    let hash = |digits| json!([{ "alg": "SHA-256", "content": digits }]);
    package
        .archives
        .iter()
        .map(|digits| json!({ "type": kind, "url": url, "hashes": hash(digits) }))
        .collect()
}

fn dependencies(bill: &Bill) -> Vec<Value> {
    let project = bill
        .roots
        .iter()
        .map(|root| reference(&root.path))
        .collect::<Vec<_>>();
    let project = json!({ "ref": "project", "dependsOn": project });
    let roots = bill.roots.iter();
    let roots =
        roots.map(|root| json!({ "ref": reference(&root.path), "dependsOn": root.requirements }));
    let packages = bill.packages.keys();
    let packages = packages.map(
        |purl| json!({ "ref": purl, "dependsOn": bill.required_by(purl).collect::<Vec<_>>() }),
    );
    std::iter::once(project)
        .chain(roots)
        .chain(packages)
        .collect()
}
