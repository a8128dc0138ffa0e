//! The document: the hashes of the packages of one release.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Code, Diagnostic};
use crate::packages::archive::PackageDigest;
use crate::provider::{Dialect, Platform, ProviderAddress, Version};
use crate::system::bounded::Map;

/// Grows when a field changes its meaning.
const SCHEMA: u32 = 1;
/// Go builds for about 50 platforms.
const MOST_PLATFORMS: usize = 256;

/// The digests of a release's packages, by platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseFacts {
    /// The provider.
    pub address: ProviderAddress,
    /// Its version.
    pub version: Version,
    /// Hashes of each package.
    pub packages: BTreeMap<Platform, PackageDigest>,
}

#[derive(Serialize, Deserialize)]
struct ReleaseJson {
    schema: u32,
    address: String,
    version: String,
    packages: Map<PackageDigest, MOST_PLATFORMS, true>,
}

impl ReleaseFacts {
    /// The document as JSON.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let document = ReleaseJson {
            schema: SCHEMA,
            address: self.address.to_string(),
            version: self.version.to_string(),
            packages: Map(self
                .packages
                .iter()
                .map(|(platform, digest)| (platform.to_string(), digest.clone()))
                .collect()),
        };
        serde_json::to_vec(&document).unwrap_or_default()
    }

    /// Reads a document. An error is a sentence about it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Schema {
            schema: u32,
        }
        const MALFORMED: &str = "the signed text is not a document of facts";
        let Schema { schema } = serde_json::from_slice(bytes).map_err(|_| MALFORMED)?;
        if schema != SCHEMA {
            return Err(format!(
                "it has schema {schema}, which this version of provlock does not know"
            ));
        }
        let document: Option<ReleaseJson> = serde_json::from_slice(bytes).ok();
        document
            .and_then(ReleaseJson::facts)
            .ok_or_else(|| MALFORMED.to_owned())
    }
}

impl ReleaseJson {
    fn facts(self) -> Option<ReleaseFacts> {
        let mut packages = BTreeMap::new();
        for (platform, digest) in self.packages.0 {
            if !digest.is_well_formed() {
                return None;
            }
            packages.insert(platform.parse().ok()?, digest);
        }
        Some(ReleaseFacts {
            // The address has all its parts, so defaults do not matter; in this dialect a namespace
            // may contain underscores.
            address: ProviderAddress::parse_canonical(&self.address, Dialect::Terraform).ok()?,
            version: self.version.parse().ok()?,
            packages,
        })
    }
}

/// The facts that are published about a release cannot be used.
pub(in crate::packages) fn unusable_warning(
    address: &ProviderAddress,
    version: &Version,
    why: &str,
) -> Diagnostic {
    let message = format!("the published facts about {address} {version} are not used: {why}");
    Diagnostic::warning(Code::SharedFactsNotUsed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(schema: u32, address: &str, platform: &str, zh: &str) -> String {
        let h1 = crate::provider::Hash::h1(&[1; 32]);
        let digest =
            format!(r#"{{"zh":"{zh}","h1":"{h1}","h1_with_directories":"{h1}","size":9}}"#);
        let packages = format!(r#"{{"{platform}":{digest}}}"#);
        format!(
            r#"{{"schema":{schema},"address":"{address}","version":"1.0.0","packages":{packages}}}"#
        )
    }

    #[test]
    fn a_document_is_read_whole_or_not_at_all() {
        let zh = crate::provider::Hash::zh(&[1; 32]).to_string();
        let address = "registry.opentofu.org/acme/gamma";
        let text = document(1, address, "linux_amd64", &zh);
        let facts = ReleaseFacts::parse(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(facts.to_json()).unwrap(), text);
        assert_eq!(facts.packages[&"linux_amd64".parse().unwrap()].size, 9);
        let start = text.find("{\"zh\"").unwrap();
        let end = text.len() - 2;
        for wrong in [
            document(1, "acme", "linux_amd64", &zh),
            document(1, address, "../..", &zh),
            document(1, address, "linux_amd64", "zh:00"),
            document(
                1,
                address,
                "linux_amd64",
                facts.packages.values().next().unwrap().h1.as_str(),
            ),
            text.replace("size", "length"),
            text.replace(
                "{\"linux_amd64\":",
                &format!("{{\"linux_amd64\":{},\"linux_amd64\":", &text[start..end]),
            ),
            text.replace("AQEBAQE", "_QEBAQE"),
            "{}".to_owned(),
            "[]".to_owned(),
        ] {
            let error = ReleaseFacts::parse(wrong.as_bytes()).unwrap_err();
            assert_eq!(
                error, "the signed text is not a document of facts",
                "{wrong}"
            );
        }
        let later = document(2, address, "linux_amd64", &zh);
        assert!(
            ReleaseFacts::parse(later.as_bytes())
                .unwrap_err()
                .starts_with("it has schema 2,")
        );
    }
}
