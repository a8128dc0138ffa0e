use std::path::Path;

use super::*;
use crate::configuration::rewrite::{allow, files, list_allowing};
use crate::provider::{ConstraintList, Version};

/// Layouts of requirements of acme/gamma, with the constraint to change between `«` and `»`, by the
/// name of their file.
const LAYOUTS: [(&str, &str); 20] = [
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = {
      source  = "acme/gamma"
      version = "«~> 5.0»"
    }
  }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = { source = "acme/gamma", version = "«~> 5.0»" }
  }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = { version = "«~> 5.0»", source = "acme/gamma" } # version = "~> 5.0"
  }
}"#,
    ),
    (
        "main.tf",
        r#"# version = "~> 5.0"
// ~> 5.0
/* "~> 5.0" */
terraform {
  required_providers {
    gamma={source="acme/gamma",version="«~> 5.0»"}
  }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
    required_version = "~> 5.0"
    required_providers {
        gamma = {
            version = /* here */ "«~>5.0»" // ünïcode ~> 5.0
            source  = "acme/gamma"
        }
    }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = {
      "source": "acme/gamma",
      "version": "«~> 5.0»",
    }
  }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = {
      version = (


        "~> 5.0"
      )
      source = "acme/gamma"
    }
  }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = {
      source = "acme/gamma"
      version = "«>= 5.0.0, < 6.0.0»"
      configuration_aliases = [gamma.a]
    }
  }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = {
      source = "acme/gamma"
      version = " «~> 5.1.2 ,!= 5.1.3» "
    }
    null = { source = "acme/null", version = "~> 5.0" }
  }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {


  required_providers {
    null = { source = "acme/null", version = "~> 5.0" }

    gamma = { source = "acme/gamma", version = "«= 5.3.1»" }
  }
}


"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = { source = "acme/gamma", version = "«5.3.1»" }
  }
}

locals {
  a = <<EOT
version = "5.3.1"
EOT
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = { source = "acme/gamma" }
  }
}
provider "gamma" {
  version = "«~> 5.0»"
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = { source = "acme/gamma", version = "«~> 5»" }
  }
}
resource "gamma_thing" "x" {
  version = "~> 5"
}
"#,
    ),
    (
        "versions.tofu",
        "terraform {\n\
         \trequired_providers {\n\
         \t\tgamma = {\n\
         \t\t\tsource\t= \"acme/gamma\"\n\
         \t\t\tversion\t= \"«~> 5.0»\"\t# tab\n\
         \t\t}\n\
         \t}\n\
         }\n",
    ),
    (
        "main.tf.json",
        "{\"terraform\":{\"required_providers\":{\"gamma\":{\"source\":\"acme/gamma\",\"version\":\"«~> 5.0»\"}}}}",
    ),
    (
        "main.tf.json",
        r#"{
  "//": "~> 5.0",
  "terraform": [ { "required_providers": { "gamma": {
    "version" : "«<= 5.0»" ,
    "source": "acme/gamma" } } } ]
}
"#,
    ),
    (
        "main_override.tf",
        r#"terraform {
  required_providers {
    gamma = {
      source = "acme/gamma" # one
      # two
      version = "«~> 5.0, ~> 5.1»" # three
    }
  }
}
"#,
    ),
    (
        "main.tf",
        concat!(
            "terraform { \n",
            "  required_providers { \n",
            "    gamma = { \n",
            "      source  = \"registry.opentofu.org/acme/gamma\"   \n",
            "      version = \"«~> 5.0.0-beta1»\"   \n",
            "    } \n",
            "  } \n",
            "} \n",
        ),
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = {
      source  = "acme/gamma"
      version = <<EOT
~> 5.0
EOT
    }
  }
}
"#,
    ),
    (
        "main.tf",
        r#"terraform {
  required_providers {
    gamma = {
      source  = "acme/gamma"
      version = "\u007e> 5.0"
    }
  }
}
"#,
    ),
];

/// The marked constraints of [`LAYOUTS`] as they are to be.
const REWRITTEN: [(&str, &str); 12] = [
    ("~> 5.0", "~> 6.3"),
    ("~>5.0", "~>6.3"),
    ("~> 5", "~> 6"),
    (">= 5.0.0, < 6.0.0", ">= 5.0.0, < 7.0.0"),
    ("~> 5.1.2 ,!= 5.1.3", "~> 6.3.1 ,!= 5.1.3"),
    ("= 5.3.1", "= 6.3.1"),
    ("5.3.1", "6.3.1"),
    ("<= 5.0", "<= 6.4"),
    ("~> 5.0, ~> 5.1", "~> 6.3, ~> 6.3"),
    ("~> 5.0.0-beta1", "~> 6.3.1"),
    ("< 5.2", "< 6.4"),
    ("< 5.2.0", "< 6.4.0"),
];

/// A configuration that requires acme/gamma.
fn requiring(constraint: &str) -> String {
    format!(
        r#"terraform {{
  required_providers {{
    gamma = {{ source = "acme/gamma", version = "{constraint}" }}
  }}
}}
"#
    )
}

/// The same layout as other editors would have saved it.
fn variants(layout: &str) -> [String; 4] {
    let crlf = layout.replace('\n', "\r\n");
    [
        layout.to_owned(),
        crlf.clone(),
        format!("\u{feff}{layout}"),
        format!("\u{feff}# ½ ✓\r\n{crlf}"),
    ]
}

fn allow_newest(
    directory: &Path,
    version: &str,
) -> std::result::Result<Vec<(PathBuf, String)>, String> {
    let requirements = read(directory, &options(Dialect::Tofu))
        .unwrap_or_else(|errors| panic!("{:?}", texts(&errors)));
    let (_, requirement) = requirements
        .providers
        .iter()
        .find(|(address, _)| address.name == "gamma")
        .unwrap();
    let version: Version = version.parse().unwrap();
    let rewrite = allow(requirement, &version).map_err(|warning| warning.message.clone())?;
    assert!(rewrite.requirement.constraints.allows(&version));
    let files = files(&rewrite.edits);
    for file in &files {
        assert_eq!(
            fs::read(&file.path).ok(),
            file.old,
            "the old text is the file's"
        );
        fs::write(&file.path, &file.new).unwrap();
    }
    let again = read(directory, &options(Dialect::Tofu)).unwrap();
    assert_eq!(
        again
            .providers
            .values()
            .map(|r| &r.constraints)
            .filter(|c| c.allows(&version))
            .count(),
        1
    );
    Ok(files
        .into_iter()
        .map(|file| (file.path, String::from_utf8(file.new).unwrap()))
        .collect())
}

#[test]
fn every_other_byte_of_many_layouts_stays() {
    let mut rewritten = 0;
    for (name, layout) in LAYOUTS {
        let json = Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "json");
        for text in variants(layout)
            .iter()
            .filter(|text| !json || !text.contains('#'))
        {
            let parts = text
                .split_once('«')
                .and_then(|(a, rest)| rest.split_once('»').map(|(b, c)| (a, b, c)));
            let directory = directory(&[(name, &text.replace(['«', '»'], ""))]);
            let outcome = allow_newest(directory.path(), "6.3.1");
            let Some((before, old, after)) = parts else {
                assert!(
                    outcome.unwrap_err().contains("it is not a plain string"),
                    "{text}"
                );
                continue;
            };
            let new = REWRITTEN
                .iter()
                .find(|(from, _)| *from == old)
                .unwrap_or_else(|| panic!("{old}"))
                .1;
            assert_eq!(
                outcome.unwrap(),
                [(directory.path().join(name), format!("{before}{new}{after}"))]
            );
            rewritten += 1;
        }
    }
    assert!(rewritten >= 50, "{rewritten} layouts");
}

#[test]
fn each_operator_keeps_its_form() {
    for (old, new) in REWRITTEN {
        let text = requiring(old);
        let directory = directory(&[("main.tf", &text)]);
        assert_eq!(
            allow_newest(directory.path(), "6.3.1").unwrap()[0].1,
            text.replace(old, new)
        );
    }
}

#[test]
fn what_the_user_excludes_is_not_allowed_by_force() {
    for constraint in [">= 7.0", "> 6.3.1", "!= 6.3.1", "= 5.0", "~> 5.0, != 6.3.1"] {
        let text = requiring(constraint);
        let message = allow_newest(directory(&[("main.tf", &text)]).path(), "6.3.1").unwrap_err();
        assert!(message.contains("not its form"), "{constraint}: {message}");
    }
}

#[test]
fn only_an_exact_constraint_comes_to_allow_a_prerelease() {
    let exact = directory(&[("main.tf", &requiring("= 6.0.0"))]);
    assert_eq!(
        allow_newest(exact.path(), "7.0.0-rc.1").unwrap()[0].1,
        requiring("= 7.0.0-rc.1")
    );
    for constraint in ["~> 6.0", "~> 6.0.0", "< 7.0", ">= 6.0"] {
        assert!(
            allow_newest(
                directory(&[("main.tf", &requiring(constraint))]).path(),
                "7.0.0-rc.1"
            )
            .is_err(),
            "{constraint}"
        );
    }
}

#[test]
fn a_file_that_is_not_text_and_a_foreign_module_stay() {
    let text = requiring("~> 5.0");
    let latin = directory(&[]);
    write(
        latin.path(),
        "main.tf",
        &[b"# caf\xe9\n", text.as_bytes()].concat(),
    );
    assert!(
        allow_newest(latin.path(), "6.3.1")
            .unwrap_err()
            .contains("not UTF-8")
    );

    let manifest = r#"{"Modules":[{"Key":"","Source":"","Dir":"."},
        {"Key":"m","Source":"registry.opentofu.org/a/b/c","Version":"1.0.0","Dir":".terraform/modules/m"}]}"#;
    let foreign = directory(&[
        ("main.tf", "module \"m\" {\n  source = \"a/b/c\"\n}\n"),
        (".terraform/modules/modules.json", manifest),
        (".terraform/modules/m/main.tf", &text),
    ]);
    assert!(
        allow_newest(foreign.path(), "6.3.1")
            .unwrap_err()
            .contains("not in this project")
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_two_modules_share_is_written_once() {
    let text = requiring("~> 5.0");
    let directory = directory(&[
        ("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n"),
        ("m/main.tf", ""),
        ("versions.tf", &text),
    ]);
    std::os::unix::fs::symlink("../versions.tf", directory.path().join("m/versions.tf")).unwrap();
    assert_eq!(allow_newest(directory.path(), "6.3.1").unwrap().len(), 1);
}

/// Each term's text before its version, and how many numbers the version has.
fn shape(constraints: &str) -> Vec<(&str, usize)> {
    let term = |term| {
        let (operator, version) = str::split_at(
            term,
            term.find(|c: char| c.is_ascii_digit())
                .unwrap_or(term.len()),
        );
        (
            operator,
            version
                .split(['-', '+'])
                .next()
                .unwrap()
                .matches('.')
                .count(),
        )
    };
    constraints.split(',').map(term).collect()
}

#[test]
fn whatever_is_rewritten_keeps_its_shape_and_allows_the_version() {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/constraints.jsonl");
    let mut rewritten = 0;
    for line in fs::read_to_string(vectors).unwrap().lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = vector["constraint"].as_str().unwrap();
        let Ok(old) = text.parse::<ConstraintList>() else {
            continue;
        };
        for version in [
            "0.0.1",
            "1.5.0",
            "6.3.1",
            "18446744073709551615.0.0",
            "2.0.0-beta1",
            "3.0.0+build.1",
        ] {
            let version: Version = version.parse().unwrap();
            let Some(new) = list_allowing(text, &version) else {
                continue;
            };
            let parsed: ConstraintList = new
                .parse()
                .unwrap_or_else(|error| panic!("{text:?} {version} {new:?}: {error}"));
            assert!(
                parsed.terms().iter().all(|term| term.is_met_by(&version)),
                "{text:?} {version} {new:?}"
            );
            assert_eq!(shape(text), shape(&new), "{text:?} {version}");
            let met = old.terms().iter().all(|term| term.is_met_by(&version));
            assert_eq!(
                met,
                text == new,
                "{text:?} {version} {new:?}: what is met stays"
            );
            rewritten += usize::from(text != new);
        }
    }
    assert!(rewritten > 500, "{rewritten}");
}
