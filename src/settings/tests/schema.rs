//! The JSON Schema of `provlock.toml`, `docs/provlock.schema.json`, from the types that read the
//! file. Editors know draft 7, and describes the structure of the file; only the reader checks the
//! meaning of values.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::diagnostic::{Code, SourceFile};
use crate::provider::{
    ConstraintList, Dialect, Hostname, ProviderPatternSpec, ProviderSpec, PublicKey,
};
use crate::settings::file::File;
use crate::settings::{FILE_NAME, ModulePattern, ProviderRule, Settings};

pub(in crate::settings) fn dialect(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": [Dialect::Tofu.name(), "opentofu", Dialect::Terraform.name()] })
}

pub(in crate::settings) fn platforms(_: &mut SchemaGenerator) -> Schema {
    let platform = json!({ "type": "string", "pattern": "^([a-z0-9]+_[a-z0-9]+|all)$", "examples": ["linux_amd64"] });
    json_schema!({ "anyOf": [{ "const": "all" }, { "type": "array", "items": platform, "minItems": 1 }] })
}

pub(in crate::settings) fn without_platforms(_: &mut SchemaGenerator) -> Schema {
    let platform = json!({ "type": "string", "pattern": "^[a-z0-9]+_[a-z0-9]+$", "examples": ["darwin_arm64"] });
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": "array", "items": platform, "minItems": 1 }
    })
}

pub(in crate::settings) fn new_hosts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["deny", "allow"] })
}

pub(in crate::settings) fn denied(_: &mut SchemaGenerator) -> Schema {
    let codes = Code::FINDINGS.iter().map(|code| code.as_str());
    list_of(std::iter::once("warnings").chain(codes))
}

pub(in crate::settings) fn loosened(_: &mut SchemaGenerator) -> Schema {
    list_of(
        Code::FINDINGS
            .iter()
            .filter(|code| code.may_be_suppressed())
            .map(|code| code.as_str()),
    )
}

/// Types that are read from a text.
macro_rules! texts {
    ($($type:ty),+) => {$(
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                "text".into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string" })
            }
        }
    )+};
}

texts!(
    ConstraintList,
    Hostname,
    ModulePattern,
    ProviderPatternSpec,
    ProviderSpec,
    PublicKey
);

/// Rules that mean nothing without versions.
pub(in crate::settings) fn requirements(generator: &mut SchemaGenerator) -> Schema {
    let rule = generator.subschema_for::<ProviderRule>();
    json_schema!({ "type": "array", "items": { "allOf": [rule, { "required": ["versions"] }] } })
}

fn list_of<'a>(words: impl Iterator<Item = &'a str>) -> Schema {
    json_schema!({ "type": "array", "items": { "enum": words.collect::<Vec<_>>() }, "uniqueItems": true })
}

fn schema() -> Value {
    /// Joins the lines of a comment, without the part about a missing value, which TOML cannot
    /// write.
    fn tidy(schema: &mut Schema) {
        schema.remove("default");
        if let Some(Value::Array(types)) = schema.get("type") {
            let kind = types.iter().find(|kind| *kind != "null").cloned();
            schema.insert("type".to_owned(), kind.into());
        }
        if let Some(Value::Array(options)) = schema.remove("anyOf") {
            let options: Vec<_> = options
                .into_iter()
                .filter(|option| option["type"] != "null")
                .collect();
            match &options[..] {
                [Value::Object(one)] => {
                    for (key, value) in one {
                        schema.insert(key.clone(), value.clone());
                    }
                }
                _ => _ = schema.insert("anyOf".to_owned(), options.into()),
            }
        }
        if let Some(Value::String(description)) = schema.get_mut("description") {
            *description = description.replace('\n', " ");
        }
    }
    let settings = SchemaSettings::draft07().with_transform(RecursiveTransform(tidy));
    settings
        .into_generator()
        .into_root_schema_for::<File>()
        .to_value()
}

/// Whether the schema accepts a text, and whether the reader does.
fn judged(text: &str) -> (bool, bool) {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let value: Value = toml::from_str(text).unwrap();
    (
        validator.is_valid(&value),
        Settings::parse(&SourceFile::new(FILE_NAME, text), FILE_NAME.into()).is_ok(),
    )
}

#[test]
fn the_schema_is_current() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    provlock_test::generated("docs/provlock.schema.json", text.as_bytes());
}

#[test]
fn every_example_follows_the_schema() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = std::fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut number = 0;
    for path in pages.chain([root.join("README.md")]) {
        let page = std::fs::read_to_string(&path).unwrap();
        for example in page
            .split("```toml\n")
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap())
        {
            assert_eq!(
                judged(example),
                (true, true),
                "{}\n{example}",
                path.display()
            );
            number += 1;
        }
    }
    assert!(number > 10, "only {number} examples were found");
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    for text in [
        "platform = [\"linux_amd64\"]",
        "dialect = \"pulumi\"",
        "platforms = []",
        "platforms = \"linux_amd64\"",
        "platforms = [\"linux-amd64\"]",
        "platforms = [\"linux_amd64\", 7]",
        "without-platforms = [\"darwin_arm64\"]",
        "[without-platforms]\n\"hashicorp/template\" = \"darwin_arm64\"",
        "[without-platforms]\n\"hashicorp/template\" = []",
        "[without-platforms]\n\"hashicorp/template\" = [\"all\"]",
        "[without-platforms]\n\"hashicorp/template\" = [\"darwin-arm64\"]",
        "fetch-modules = \"no\"",
        "fetch_modules = true",
        "[modules]\nlocked = true",
        "[roots]\ninclude = \"infra/**\"",
        "[policy]\nnew-hosts = \"refuse\"",
        "[policy]\nmin-age = 7",
        "[[policy.deny]]\nversions = \"< 2\"",
        "[[policy.require]]\nprovider = \"acme/gamma\"",
        "[policy.deny]\nprovider = \"acme/gamma\"",
        "[verify]\ndeny = [\"no-hash\"]",
        "[verify]\nallow = [\"warnings\"]",
        "[verify]\nwarn = [\"hash-not-published\"]",
        "[verify]\ndeny = [\"no-hashes\", \"no-hashes\"]",
        "[[verify.paths]]\nallow = [\"no-hashes\"]",
        "[trust]\n\"acme/*\" = \"0123456789ABCDEF0123456789ABCDEF01234567\"",
        "[cache]\nshared = \"oci://h.test/a\"",
        "[cache]\nshared = \"oci://h.test/a\"\ntrusted-keys = []",
    ] {
        assert_eq!(judged(text), (false, false), "{text}");
    }
}
