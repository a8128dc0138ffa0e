//! Version constraints, as a configuration writes them and in the canonical text of lock files, as
//! OpenTofu has them from <https://github.com/apparentlymart/go-versions> (its "Ruby style"
//! constraints).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::provider::{Version, VersionError};

/// Maximum number of terms in a constraint list as it is written. Some checks take time that is
/// quadratic in it.
pub(crate) const MOST_TERMS: usize = 1_000;

/// Comparison operator of a constraint.
///
/// The order of the variants is the order in which constraints at the same boundary are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub enum Operator {
    /// `>`
    #[display(">")]
    Greater,
    /// `>=`
    #[display(">=")]
    GreaterOrEqual,
    /// `=`, or no operator: exactly this version.
    #[display("=")]
    Exact,
    /// `~> 1.2.3`: only the last number may grow.
    #[display("~>")]
    PessimisticPatch,
    /// `~> 1.2`: anything below the next major version.
    #[display("~>")]
    PessimisticMinor,
    /// `~> 1` of a module: this version or any newer one. For a provider it is
    /// [`Operator::PessimisticMinor`].
    #[display("~>")]
    PessimisticMajor,
    /// `<=`
    #[display("<=")]
    LessOrEqual,
    /// `<`
    #[display("<")]
    Less,
    /// `!=`
    #[display("!=")]
    NotEqual,
}

/// One term of a constraint list, such as `>= 1.2.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constraint {
    /// The operator.
    pub operator: Operator,
    /// Boundary; numbers that were not written are zero.
    pub boundary: Version,
}

/// A set of constraints that must all be met, sorted and without duplicates.
///
/// The empty list allows every version that is not a prerelease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConstraintList(Vec<Constraint>);

/// Error of a text that is not a constraint list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// Two terms without a comma between them.
    #[error("a comma is missing after {0:?}")]
    MissingComma(String),
    /// Nothing between two commas, or before or after one.
    #[error("there is no constraint on one side of a comma")]
    EmptyTerm,
    /// More than 1,000 terms.
    #[error("there are more than {MOST_TERMS} constraints")]
    TooMany,
    /// Not one of the eight operators.
    #[error("{found:?} is not an operator{}", suggestion(.found))]
    UnknownOperator {
        /// The text in the place of an operator.
        found: String,
    },
    /// White space other than one space after the operator.
    #[error("only one space may follow the operator {0:?}")]
    SpaceAfterOperator(String),
    /// The version of a term cannot be read.
    #[error("{term:?}: {error}")]
    Version {
        /// The term as written.
        term: String,
        /// Error of its version.
        error: VersionError,
    },
}

fn suggestion(found: &str) -> &'static str {
    match found {
        "=>" => "; did you mean \">=\"?",
        "=<" => "; did you mean \"<=\"?",
        "==" => "; did you mean \"=\"?",
        "^" | "~" => "; did you mean \"~>\"?",
        "!" => "; did you mean \"!=\"?",
        _ => "",
    }
}

impl Constraint {
    /// Whether `version` meets this term, prerelease or not.
    pub(crate) fn is_met_by(&self, version: &Version) -> bool {
        let order = version.cmp_precedence(&self.boundary);
        match self.operator {
            Operator::Greater => order == Ordering::Greater,
            Operator::GreaterOrEqual | Operator::PessimisticMajor => order != Ordering::Less,
            // Build metadata has no precedence, but an exact version includes it.
            Operator::Exact => *version == self.boundary,
            Operator::NotEqual => *version != self.boundary,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Less => order == Ordering::Less,
            Operator::PessimisticPatch | Operator::PessimisticMinor => {
                order != Ordering::Less
                    && version.cmp_precedence(&self.upper_bound()) == Ordering::Less
            }
        }
    }

    /// Whether its operator is `~>`.
    pub(crate) fn is_pessimistic(&self) -> bool {
        let operators = [
            Operator::PessimisticPatch,
            Operator::PessimisticMinor,
            Operator::PessimisticMajor,
        ];
        operators.contains(&self.operator)
    }

    /// The first release that `~>` no longer allows. Prereleases of it are below it, and so allowed
    /// when pinned.
    fn upper_bound(&self) -> Version {
        match self.operator {
            Operator::PessimisticPatch => Version::new(
                self.boundary.major,
                self.boundary.minor.saturating_add(1),
                0,
            ),
            _ => Version::new(self.boundary.major.saturating_add(1), 0, 0),
        }
    }

    /// Parses a term such as `~> 1.2`.
    fn parse(term: &str) -> Result<Self, ConstraintError> {
        let end = term.find(|c: char| {
            c.is_alphanumeric() || c.is_whitespace() || matches!(c, '*' | '.' | '-' | '+')
        });
        let (symbol, rest) = term.split_at(end.unwrap_or(term.len()));
        // One space may follow the operator, and no more.
        let text = rest.strip_prefix(' ').unwrap_or(rest);
        if text.starts_with(char::is_whitespace) {
            return Err(ConstraintError::SpaceAfterOperator(symbol.to_owned()));
        }
        if let Some((first, _)) = text.split_once(char::is_whitespace) {
            return Err(ConstraintError::MissingComma(first.to_owned()));
        }
        let (boundary, numbers_written) =
            Version::parse_partial(text).map_err(|error| ConstraintError::Version {
                term: term.to_owned(),
                error,
            })?;
        let operator = match symbol {
            "" | "=" => Operator::Exact,
            "!=" => Operator::NotEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            // The last number that is written may grow, so `~> 1.2.0` differs from `~> 1.2`.
            "~>" if numbers_written == 3 => Operator::PessimisticPatch,
            "~>" => Operator::PessimisticMinor,
            found => {
                return Err(ConstraintError::UnknownOperator {
                    found: found.to_owned(),
                });
            }
        };
        Ok(Self { operator, boundary })
    }

    /// Parses a term by the rules for versions of modules, which are looser: spaces and a `v` may
    /// stand before the version, and `~> 1` allows every later major version.
    fn parse_for_module(term: &str) -> Result<Self, ConstraintError> {
        let start = term.find(char::is_alphanumeric).unwrap_or(term.len());
        let (symbol, version) = term.split_at(start);
        let operator = symbol.trim();
        let written = version.strip_prefix('v').unwrap_or(version);
        // What `~>` allows depends on how many numbers are written.
        let numbers = if operator == "~>" {
            written
        } else {
            without_further_zeros(written)
        };
        let mut constraint = Self::parse(&format!("{operator}{numbers}"))?;
        // Both tools ignore build metadata when they compare versions of modules.
        constraint.boundary = constraint.boundary.without_metadata();
        if constraint.operator == Operator::PessimisticMinor
            && numbers.bytes().all(|byte| byte.is_ascii_digit())
        {
            constraint.operator = Operator::PessimisticMajor;
        }
        Ok(constraint)
    }
}

/// Removes further numbers of a module's version if all of them are zero: `1.0.0.0` is `1.0.0`.
fn without_further_zeros(version: &str) -> &str {
    let end = version.find(['-', '+']).unwrap_or(version.len());
    let Some((third, _)) = version[..end].match_indices('.').nth(2) else {
        return version;
    };
    let is_release = version.len() == end || version[end..].starts_with('+');
    if !is_release {
        return version;
    }
    for part in version[third + 1..end].split('.') {
        if part.is_empty() || part.bytes().any(|byte| byte != b'0') {
            return version;
        }
    }
    &version[..third]
}

impl ConstraintList {
    /// Reads the `version` of a module's call. Unlike for providers, `~> 1` has no upper bound, a
    /// version may start with `v` or have further numbers that are zero, any space may follow an
    /// operator, and build metadata is ignored (<https://github.com/hashicorp/go-version>,
    /// `constraintPessimistic`).
    ///
    /// # Errors
    /// The text is not a list of constraints.
    pub fn parse_for_module(text: &str) -> Result<Self, ConstraintError> {
        Self::parse_terms(text, Constraint::parse_for_module)
    }

    /// Parses terms with commas between them. One comma may stand at the end.
    fn parse_terms(
        text: &str,
        parse: fn(&str) -> Result<Constraint, ConstraintError>,
    ) -> Result<Self, ConstraintError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let trimmed = text.trim();
        let list = trimmed.strip_suffix(',').unwrap_or(trimmed);
        // The author of a configuration decides how many terms it has, and comparing them with a
        // policy takes quadratic time.
        if list.split(',').nth(MOST_TERMS).is_some() {
            return Err(ConstraintError::TooMany);
        }
        let mut terms = Vec::new();
        for term in list.split(',').map(str::trim) {
            if term.is_empty() {
                return Err(ConstraintError::EmptyTerm);
            }
            terms.push(parse(term)?);
        }
        Ok(terms.into_iter().collect())
    }

    /// The constraint that allows one version alone.
    pub(crate) fn exactly(version: &Version) -> Self {
        Self(vec![Constraint {
            operator: Operator::Exact,
            boundary: version.clone(),
        }])
    }

    /// Whether a version is newer than all that the constraints allow, so that a rewrite may allow
    /// it.
    pub(crate) fn is_outgrown_by(&self, version: &Version) -> bool {
        self.0.iter().all(|term| {
            term.is_met_by(version)
                || *version > term.boundary
                || (*version == term.boundary && term.operator == Operator::Less)
        })
    }

    /// `true` if there is no constraint.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The terms in canonical order.
    pub fn terms(&self) -> &[Constraint] {
        &self.0
    }

    /// All terms of several lists, as over the modules of a configuration.
    pub fn merge<'a>(lists: impl IntoIterator<Item = &'a ConstraintList>) -> Self {
        lists
            .into_iter()
            .flat_map(|list| list.0.iter().cloned())
            .collect()
    }

    /// Releases such that at least one lies between each two that the terms tell apart, and on
    /// either side of all.
    pub(crate) fn samples(&self) -> impl Iterator<Item = Version> {
        let mut samples = vec![Version::new(0, 0, 0)];
        for term in &self.0 {
            let Version {
                major,
                minor,
                patch,
                ..
            } = term.boundary;
            samples.push(term.boundary.clone());
            samples.push(Version::new(major, minor, patch));
            samples.push(Version::new(major, minor, patch.saturating_add(1)));
            samples.push(term.upper_bound());
        }
        samples.into_iter()
    }

    /// Whether a single term already excludes `limit` and every version above it.
    pub fn is_below(&self, limit: &Version) -> bool {
        self.0.iter().any(|term| match term.operator {
            Operator::Exact | Operator::LessOrEqual => term.boundary < *limit,
            Operator::Less => term.boundary <= *limit,
            Operator::PessimisticPatch | Operator::PessimisticMinor => term.upper_bound() <= *limit,
            Operator::Greater
            | Operator::GreaterOrEqual
            | Operator::PessimisticMajor
            | Operator::NotEqual => false,
        })
    }

    /// Whether `version` meets every term. A prerelease does so only when a term names exactly it.
    pub fn allows(&self, version: &Version) -> bool {
        if version.is_prerelease() && !self.names(version) {
            return false;
        }
        self.0.iter().all(|term| term.is_met_by(version))
    }

    /// Whether a term allows exactly this version.
    fn names(&self, version: &Version) -> bool {
        self.0
            .iter()
            .any(|term| term.operator == Operator::Exact && term.boundary == *version)
    }
}

impl FromIterator<Constraint> for ConstraintList {
    fn from_iter<I: IntoIterator<Item = Constraint>>(terms: I) -> Self {
        let mut terms: Vec<_> = terms.into_iter().collect();
        terms.sort_by(|a, b| {
            a.boundary
                .cmp(&b.boundary)
                .then(a.operator.cmp(&b.operator))
        });
        terms.dedup();
        Self(terms)
    }
}

impl FromStr for ConstraintList {
    type Err = ConstraintError;

    /// Parses comma separated terms in any notation that OpenTofu accepts; the empty text is the
    /// empty list, and one comma may follow the last term.
    fn from_str(text: &str) -> Result<Self, ConstraintError> {
        Self::parse_terms(text, Constraint::parse)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operator {
            Operator::Exact => write!(f, "{}", self.boundary),
            Operator::PessimisticMinor => write!(f, "~> {}", self.boundary.without_patch()),
            Operator::PessimisticMajor => write!(f, "~> {}", self.boundary.major),
            operator => write!(f, "{operator} {}", self.boundary),
        }
    }
}

impl fmt::Display for ConstraintList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<_> = self.0.iter().map(Constraint::to_string).collect();
        f.write_str(&terms.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_limit() {
        let list = |terms: usize| {
            (0..terms)
                .map(|term| format!("!= 1.0.{term}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(
            list(MOST_TERMS)
                .parse::<ConstraintList>()
                .unwrap()
                .terms()
                .len(),
            MOST_TERMS
        );
        assert_eq!(
            list(MOST_TERMS + 1).parse::<ConstraintList>(),
            Err(ConstraintError::TooMany)
        );
    }

    #[test]
    fn a_single_term_decides_an_upper_bound() {
        let is_below = |text: &str| {
            text.parse::<ConstraintList>()
                .unwrap()
                .is_below(&Version::new(1, 6, 0))
        };
        for text in [
            "< 1.6",
            "<= 1.5.7",
            "1.5.7",
            "~> 1.5.0",
            "~> 0.14",
            ">= 1.3, < 1.6.0",
        ] {
            assert!(is_below(text), "{text}");
        }
        for text in [
            "", "~> 1.5", "< 2", "<= 1.6", "1.6.0", ">= 0.12", "> 1.5", "!= 1.6",
        ] {
            assert!(!is_below(text), "{text}");
        }
    }

    #[test]
    fn one_number_of_a_module_is_a_lower_bound() {
        for (text, written, allows_next) in [
            ("~> 1", "~> 1", true),
            ("~>v1", "~> 1", true),
            ("~> 1.0", "~> 1.0", false),
            ("~> v1.0.0, != 1.0.3", "~> 1.0.0, != 1.0.3", false),
            (">= v1, < 2", ">= 1.0.0, < 2.0.0", false),
        ] {
            let constraints = ConstraintList::parse_for_module(text).unwrap();
            assert_eq!(constraints.to_string(), written, "{text}");
            assert_eq!(
                constraints.allows(&Version::new(2, 0, 0)),
                allows_next,
                "{text}"
            );
            assert!(constraints.allows(&Version::new(1, 0, 0)), "{text}");
            assert!(!constraints.allows(&Version::new(0, 9, 0)), "{text}");
            assert_eq!(
                ConstraintList::parse_for_module(written).as_ref(),
                Ok(&constraints),
                "{text}"
            );
        }
        assert_eq!(
            "~> 1".parse::<ConstraintList>().unwrap().to_string(),
            "~> 1.0"
        );
    }

    #[test]
    fn a_plus_without_build_metadata_is_refused() {
        for text in ["1.2.3+", ">= 1.2.3+", "~> 1.2+", "1.2.3-rc1+"] {
            assert!(text.parse::<ConstraintList>().is_err(), "{text}");
            assert!(ConstraintList::parse_for_module(text).is_err(), "{text}");
        }
    }

    #[test]
    fn module_versions_may_have_four_numbers_or_build_metadata() {
        for (text, written) in [
            ("1.0.0.0", "1.0.0"),
            ("v1.0.0.0.0", "1.0.0"),
            ("= 1.0.0+x", "1.0.0"),
            (">= 1.0.0.0+x, != 1.2.0+y", ">= 1.0.0, != 1.2.0"),
        ] {
            assert_eq!(
                ConstraintList::parse_for_module(text).unwrap().to_string(),
                written,
                "{text}"
            );
        }
        for text in ["1.0.0.1", "1.0.0.", "~> 1.0.0.0", "1.0.0+x+y"] {
            assert!(ConstraintList::parse_for_module(text).is_err(), "{text}");
        }
        assert!("1.0.0.0".parse::<ConstraintList>().is_err());
    }

    #[test]
    fn any_space_may_follow_an_operator_of_a_module() {
        for (text, written) in [
            ("=  1.0.0", "1.0.0"),
            (">=\t1.0.0,<  2", ">= 1.0.0, < 2.0.0"),
            ("~>   1.2", "~> 1.2"),
        ] {
            assert_eq!(
                ConstraintList::parse_for_module(text).unwrap().to_string(),
                written,
                "{text}"
            );
            assert!(text.parse::<ConstraintList>().is_err(), "{text}");
        }
        assert!(ConstraintList::parse_for_module("> = 1.0").is_err());
    }
}
