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

/// The bill as a `CycloneDX` document: its components, their requirements, and whether the
/// requirements of each root module are completely known.
pub(crate) fn document(bill: &Bill) -> String {
    let mut components = Vec::new();
    let mut complete = Vec::new();
    let mut incomplete = Vec::new();
    for root in &bill.roots {
        let reference = root_reference(&root.path);
        components.push(json!({ "type": "application", "bom-ref": reference, "name": root.path }));
        if root.is_complete {
            complete.push(reference);
        } else {
            incomplete.push(reference);
        }
    }
    components.extend(bill.packages.values().map(component_object));
    // The project also depends on the root modules that could not be read.
    if bill.has_failed_roots {
        incomplete.push("project".to_owned());
    }
    let mut compositions = Vec::new();
    for (aggregate, roots) in [("complete", complete), ("incomplete", incomplete)] {
        if !roots.is_empty() {
            compositions.push(json!({ "aggregate": aggregate, "dependencies": roots }));
        }
    }

    let project = json!({ "type": "application", "bom-ref": "project", "name": bill.name });
    let tool =
        json!({ "type": "application", "name": "provlock", "version": env!("CARGO_PKG_VERSION") });
    let mut metadata = json!({ "component": project, "tools": { "components": [tool] } });
    if let Some(time) = bill.time {
        metadata["timestamp"] = time.to_string().into();
    }
    let mut document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": metadata,
        "components": components,
        "dependencies": dependencies(bill),
        "compositions": compositions,
    });
    // The number is computed from the content, so that the same bill has the same number.
    document["serialNumber"] = format!("urn:uuid:{}", uuid(&document)).into();
    format!("{document:#}\n")
}

/// Returns the reference of a root module. No purl begins like this.
fn root_reference(path: &str) -> String {
    format!("root:{path}")
}

/// The `component` object of a package.
fn component_object(package: &Package) -> Value {
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
        "externalReferences": external_references(package),
        "properties": properties.collect::<Vec<_>>(),
    });
    for (field, value) in [("group", group), ("version", version)] {
        if let Some(value) = value {
            component[field] = value.as_str().into();
        }
    }
    component
}

/// Returns the origin of a package, once for each archive.
fn external_references(package: &Package) -> Vec<Value> {
    let (kind, url) = match &package.origin {
        Origin::Git(url, _) => ("vcs", url),
        Origin::Registry(url) | Origin::Archive(url) => ("distribution", url),
        Origin::Unknown => return Vec::new(),
    };
    let url = utf8_percent_encode(url, ENCODED).to_string();
    if package.archives.is_empty() {
        return vec![json!({ "type": kind, "url": url })];
    }
    // Each hash is of a different archive. A lock file records neither its URL nor its platform.
    let mut references = Vec::new();
    for digits in &package.archives {
        let hash = json!({ "alg": "SHA-256", "content": digits });
        references.push(json!({ "type": kind, "url": url, "hashes": [hash] }));
    }
    references
}

fn dependencies(bill: &Bill) -> Vec<Value> {
    let roots: Vec<_> = bill
        .roots
        .iter()
        .map(|root| root_reference(&root.path))
        .collect();
    let mut dependencies = vec![json!({ "ref": "project", "dependsOn": roots })];
    for root in &bill.roots {
        let reference = root_reference(&root.path);
        dependencies.push(json!({ "ref": reference, "dependsOn": root.requirements }));
    }
    for purl in bill.packages.keys() {
        let required: Vec<_> = bill.required_by(purl).collect();
        dependencies.push(json!({ "ref": purl, "dependsOn": required }));
    }
    dependencies
}
