//! The templates that give each provider its repository.

use std::collections::{BTreeMap, BTreeSet};

use hcl_edit::template::Template;

use crate::diagnostic::{Code, Diagnostic, Help, Location, Result, RunOption};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::expression::Evaluator;
use crate::hcl::evaluate::value::Value;
use crate::provider::{
    Hostname, OciRepository, OciRepositoryError, ProviderAddress, ProviderPattern,
};

/// A rule that gives each provider its repository.
#[derive(Clone, Debug, derive_more::Display)]
#[display("{text}")]
pub struct RepositoryTemplate {
    /// As the user wrote it.
    text: String,
    parsed: Template,
}

/// The variables of a template, which stand for the parts of a provider's address.
const VARIABLES: [&str; 3] = ["hostname", "namespace", "type"];
/// An address of a provider, by which templates are checked.
const EXAMPLE: [&str; 3] = ["registry.example", "namespace", "type"];

impl RepositoryTemplate {
    /// Reads a template that the user names: `{hostname}`, `{namespace}` and `{type}`, with or
    /// without `$` before them, stand for the parts of a provider's address.
    pub(crate) fn parse_flag(text: &str) -> Result<Self> {
        let example = "registry.example.com/mirror/{namespace}/{type}".to_owned();
        Self::parse_named(
            text,
            &Help::text("write it as in ").and(RunOption::OciMirror(example)),
        )
    }

    /// [`RepositoryTemplate::parse_flag`] of the text after `oci://`.
    pub(crate) fn parse_url_path(text: &str) -> Result<Self> {
        Self::parse_named(
            text,
            &Help::text("write it as in oci://registry.example.com/mirror/${namespace}/${type}"),
        )
    }

    fn parse_named(text: &str, help: &Help) -> Result<Self> {
        let template = parse_uri_template(text).and_then(|parsed| Self::expandable(text, parsed));
        template.map_err(|problem| {
            let message = format!("{text:?} is not the template of an OCI mirror: {problem}");
            Diagnostic::error(Code::InvalidArgument, message)
                .help(help.clone())
                .into()
        })
    }

    /// Reads the `repository_template` of an `oci_mirror` block, in which `${hostname}`,
    /// `${namespace}` and `${type}` stand for the parts of a provider's address.
    ///
    /// It must use each part that `include` does not fix. `location` is where the block stands.
    pub(crate) fn parse_configuration(
        text: &str,
        include: &[ProviderPattern],
        location: &Location,
    ) -> Result<Self> {
        let invalid = |problem: String| {
            let error = Diagnostic::error(
                Code::InvalidCliConfiguration,
                format!("invalid repository_template: {problem}"),
            );
            let help = "write it as in repository_template = \"registry.example.com/mirror/${namespace}/${type}\"";
            error.at(location.clone(), text).help(help)
        };
        let parsed = parse(text).map_err(invalid)?;
        for name in VARIABLES {
            if !uses_variable(&parsed, name) && !is_fixed(include, name) {
                let problem = format!(
                    "it must use ${{{name}}}, since \"include\" allows more than one {name}"
                );
                return Err(invalid(problem).into());
            }
        }
        Self::expandable(text, parsed).map_err(|problem| invalid(problem).into())
    }

    /// The repository of a provider.
    pub(crate) fn resolve(&self, address: &ProviderAddress) -> Result<OciRepository> {
        self.expand([
            address.hostname.as_ascii(),
            &address.namespace,
            &address.name,
        ])
        .map_err(|problem| {
            let message = format!(
                "{address} has no repository by the OCI mirror's template {:?}: {problem}",
                self.text
            );
            Diagnostic::error(Code::InvalidArgument, message)
                .help("use a different source for this provider")
                .into()
        })
    }

    /// The error about two providers with the same repository.
    pub(crate) fn given_twice_error(
        &self,
        owner: &ProviderAddress,
        address: &ProviderAddress,
        repository: &OciRepository,
    ) -> Diagnostic {
        let message = format!(
            "the OCI mirror's template gives {owner} and {address} the same repository {repository}"
        );
        let help = format!(
            "use hostname, namespace and type in the template {} where they differ",
            self.text
        );
        Diagnostic::error(Code::InvalidArgument, message).help(help)
    }

    /// The template, unless it makes no address of a repository for any provider.
    fn expandable(text: &str, parsed: Template) -> std::result::Result<Self, String> {
        let template = Self {
            text: text.to_owned(),
            parsed,
        };
        template.expand(EXAMPLE)?;
        Ok(template)
    }

    /// The repository for an address with these parts.
    fn expand(&self, parts: [&str; 3]) -> std::result::Result<OciRepository, String> {
        let text = render(&self.parsed, VARIABLES.into_iter().zip(parts))?;
        let repository: std::result::Result<_, OciRepositoryError> = text.parse();
        repository.map_err(|error| format!("{text:?} is not the address of a repository: {error}"))
    }
}

/// Whether a template uses a variable: it cannot be rendered without it then.
fn uses_variable(template: &Template, name: &str) -> bool {
    let mut others = Vec::new();
    for (variable, value) in VARIABLES.into_iter().zip(EXAMPLE) {
        if variable != name {
            others.push((variable, value));
        }
    }
    render(template, others.into_iter()).is_err()
}

/// Whether patterns leave only one value for the part of the address that a variable stands for, by
/// OpenTofu's rule, which ignores wildcards.
fn is_fixed(include: &[ProviderPattern], variable: &str) -> bool {
    let mut values = BTreeSet::new();
    for pattern in include {
        let value = match variable {
            "hostname" => pattern.hostname.as_ref().map(Hostname::as_ascii),
            "namespace" => pattern.namespace.as_deref(),
            _ => pattern.name.as_deref(),
        };
        values.extend(value);
    }
    values.len() == 1
}

/// The text of a template in which only these variables have values, or why it has none.
fn render<'a>(
    template: &Template,
    variables: impl Iterator<Item = (&'a str, &'a str)>,
) -> std::result::Result<String, String> {
    let mut values = BTreeMap::new();
    for (name, value) in variables {
        values.insert(name.to_owned(), Value::string(value));
    }
    let allowance = Allowance::default();
    let rendered = Evaluator::without_functions(&allowance, &values).render(template);
    match rendered.and_then(|value| value.as_string()) {
        Ok(text) => Ok(text.to_string()),
        Err(stop) => Err(stop.into_unknown_at(|| None).to_string()),
    }
}

/// Reads a URI template of level 1 (RFC 6570) as a template of the configuration language.
/// Characters that a URI template would have to encode cannot be in a repository's address anyway.
fn parse_uri_template(text: &str) -> std::result::Result<Template, String> {
    let mut template = String::new();
    let mut rest = text;
    while let Some(position) = rest.find(['{', '}']) {
        let (literal, expression) = rest.split_at(position);
        let (name, after) = expression
            .strip_prefix('{')
            .and_then(|after| after.split_once('}'))
            .ok_or_else(|| "it contains an unmatched brace".to_owned())?;
        if !VARIABLES.contains(&name) {
            return Err(format!(
                "{{{name}}} is unknown; write {{hostname}}, {{namespace}} or {{type}}"
            ));
        }
        // Both spellings of a variable are accepted, `${type}` and `{type}`.
        template.extend([
            literal.strip_suffix('$').unwrap_or(literal),
            "${",
            name,
            "}",
        ]);
        rest = after;
    }
    parse(&(template + rest))
}

fn parse(template: &str) -> std::result::Result<Template, String> {
    hcl_edit::parser::parse_template(template).map_err(|error| {
        let text = error.to_string();
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::provider::Dialect;

    fn address(text: &str) -> ProviderAddress {
        ProviderAddress::parse(text, Dialect::Tofu).unwrap()
    }

    fn configured(text: &str, include: &[&str]) -> Result<RepositoryTemplate> {
        let include: Vec<_> = include
            .iter()
            .map(|text| ProviderPattern::parse(text, Dialect::Tofu).unwrap())
            .collect();
        RepositoryTemplate::parse_configuration(
            text,
            &include,
            &Location::new(&SourceFile::new("rc", "x"), 0..1),
        )
    }

    #[test]
    fn the_flag_takes_a_uri_template() {
        let template =
            RepositoryTemplate::parse_flag("localhost:5000/m/{hostname}/{namespace}-{type}")
                .unwrap();
        let repository = template.resolve(&address("Acme/Gamma")).unwrap();
        assert_eq!(repository.registry, "localhost:5000");
        assert_eq!(repository.name, "m/registry.opentofu.org/acme-gamma");
        assert_eq!(
            template.to_string(),
            "localhost:5000/m/{hostname}/{namespace}-{type}"
        );
        let as_configured = RepositoryTemplate::parse_flag("h.test/${namespace}/${type}").unwrap();
        assert_eq!(
            as_configured
                .resolve(&address("acme/gamma"))
                .unwrap()
                .to_string(),
            "h.test/acme/gamma"
        );
        let fixed = RepositoryTemplate::parse_flag("[::1]:5000/only").unwrap();
        assert_eq!(
            fixed.resolve(&address("a/b")).unwrap().to_string(),
            "[::1]:5000/only"
        );
    }

    #[test]
    fn a_flag_that_is_not_a_template_is_refused() {
        for (text, expected) in [
            ("h.test/{name}", "{name} is unknown"),
            ("h.test/{+type}", "{+type} is unknown"),
            ("h.test/{type", "brace"),
            ("h.test/type}", "brace"),
            ("h.test/$${type}", "lower-case"),
            ("{type}", "REGISTRY/NAME"),
            ("https://h.test/{type}", "before the first slash"),
            ("user@h.test/{type}", "before the first slash"),
            ("h.test/Mirror/{type}", "lower-case"),
            ("h.test/{type}:latest", "lower-case"),
            ("h.test//{type}", "lower-case"),
        ] {
            let error = RepositoryTemplate::parse_flag(text).unwrap_err();
            assert_eq!(error[0].code, Code::InvalidArgument);
            assert!(error[0].message.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_configuration_takes_a_template_of_its_language() {
        let all = "h.test/${ hostname }/${namespace}/${type}";
        let repository = configured(all, &[])
            .unwrap()
            .resolve(&address("bücher.test/acme/gamma"))
            .unwrap();
        assert_eq!(
            repository.to_string(),
            "h.test/xn--bcher-kva.test/acme/gamma"
        );
        let conditional = "h.test/${namespace == \"hashicorp\" ? \"core\" : namespace}/${type}";
        let template = configured(conditional, &["registry.opentofu.org/*/*"]).unwrap();
        assert_eq!(
            template.resolve(&address("hashicorp/null")).unwrap().name,
            "core/null"
        );
        assert_eq!(
            template.resolve(&address("acme/null")).unwrap().name,
            "acme/null"
        );
    }

    #[test]
    fn a_configured_template_must_use_the_open_parts_of_patterns() {
        assert!(configured("h.test/${namespace}/${type}", &["h.test/*/*"]).is_ok());
        assert!(configured("h.test/${type}", &["h.test/acme/*"]).is_ok());
        assert!(configured("h.test/gamma", &["h.test/acme/gamma"]).is_ok());
        for (text, include, expected) in [
            (
                "h.test/${namespace}/${type}",
                &[][..],
                "must use ${hostname}",
            ),
            ("h.test/${type}", &["h.test/*/*"], "must use ${namespace}"),
            ("h.test/x", &["h.test/acme/*"], "must use ${type}"),
            (
                "h.test/${type}",
                &["h.test/acme/*", "h.test/emca/*"],
                "must use ${namespace}",
            ),
            (
                "h.test/${hostname}/${namespace}/${type}/${version}",
                &[],
                "version",
            ),
            (
                "h.test/${hostname}/${namespace}/${type",
                &[],
                "invalid repository_template",
            ),
            ("${hostname}${namespace}${type}", &[], "REGISTRY/NAME"),
            (
                "h.test/${upper(hostname)}/${namespace}/${type}",
                &[],
                "upper",
            ),
            (
                "h.test/${hostname}/${namespace}/${type}/${1 % 0}",
                &[],
                "arithmetic is not evaluated",
            ),
        ] {
            let error = configured(text, include).unwrap_err();
            assert_eq!(
                (error[0].code, error[0].labels.len()),
                (Code::InvalidCliConfiguration, 1)
            );
            assert!(error[0].message.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_provider_whose_repository_cannot_exist_is_an_error() {
        let template = configured("h.test/${hostname}/${namespace}/${type}", &[]).unwrap();
        for provider in ["acme/größe", "h.test:8443/acme/gamma"] {
            let error = template.resolve(&address(provider)).unwrap_err();
            assert!(error[0].message.contains(provider), "{error}");
        }
    }
}
