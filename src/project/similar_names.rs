//! Similar names of providers, hosts and paths: suggestions for misspelled ones, and imitations of
//! well-known ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use crate::configuration::Requirement;
use crate::diagnostic::{Code, Diagnostic, words};
use crate::lockfile::LockFile;
use crate::provider::{AddressParts, Dialect, ProviderAddress};
use crate::settings::Policy;
use crate::system::Tree;

/// Namespace of providers without a source.
const NO_SOURCE: &str = "hashicorp";
/// Maximum number of providers in the lock file and the configuration that an address is compared
/// with.
const MOST_COMPARED: usize = 1_000;
/// Maximum number of names that a misspelled one is compared with in a directory.
const MOST_NAMES_COMPARED: usize = 10_000;
/// Well-known hosts: the public registries, registries that forks of Terraform used before, hosted
/// services, and the name that stands for the host of a `cloud` block.
const HOSTS: [&str; 8] = [
    "registry.opentofu.org",
    "registry.terraform.io",
    "registry.opentf.org",
    "registry.mnptu.io",
    "app.terraform.io",
    "app.eu.terraform.io",
    "spacelift.io",
    "localterraform.com",
];
/// Number of these hosts, from the start of the list, in which anybody can publish.
const PUBLIC: usize = 4;
/// Labels of these hosts that other domains have no reason to contain.
const BRANDS: [&str; 3] = ["hashicorp", "terraform", "opentofu"];
/// Suffixes that make a namespace look like one of the same publisher.
const PUBLISHER_SUFFIXES: [&str; 9] = [
    "official", "inc", "io", "corp", "hq", "team", "org", "com", "dev",
];
/// Names of cloud vendors whose providers are in the namespace `hashicorp`.
const VENDORS: [&str; 7] = [
    "amazon",
    "aws",
    "gcp",
    "google",
    "googlecloud",
    "kubernetes",
    "microsoft",
];
/// Minimum length of a namespace that is compared: a shorter one is one letter away from unrelated
/// words.
const NAMESPACE_LENGTH: usize = 6;

/// `NAMESPACE/TYPE` of the most used providers in the public registries, the most used first.
fn well_known_providers() -> impl Iterator<Item = &'static str> + Clone {
    include_str!("well_known_providers.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
}

/// The provider that an address was probably meant to be, as it is written in a source: one from
/// the lock file or the configuration, or a well-known one.
pub(in crate::project) fn provider_meant(
    address: &ProviderAddress,
    lock_file: &LockFile,
    required: &BTreeMap<ProviderAddress, Requirement>,
    dialect: Dialect,
) -> Option<String> {
    let well_known: Vec<_> = well_known_providers()
        .filter_map(|text| ProviderAddress::parse(text, dialect).ok())
        .collect();
    if well_known.contains(address) {
        return None;
    }
    let named = lock_file
        .locks()
        .keys()
        .chain(required.keys())
        .take(MOST_COMPARED);
    nearest(address, named.chain(&well_known)).map(|known| known.short(dialect))
}

/// Help for a provider on the command line that is not required: a required provider with a similar
/// name, or a path, because a missing path may look like the address of a provider.
pub(in crate::project) fn required_or_path(
    address: &ProviderAddress,
    required: &BTreeMap<ProviderAddress, Requirement>,
    dialect: Dialect,
) -> String {
    if let Some(known) = nearest(address, required.keys().take(MOST_COMPARED)) {
        return format!("did you mean {}?", known.short(dialect));
    }
    let has_no_namespace =
        address.namespace == NO_SOURCE && address.hostname.is_default_of(dialect);
    let typed = if has_no_namespace {
        address.name.clone()
    } else {
        address.short(dialect)
    };
    match path_meant(Path::new(&typed)) {
        Some(path) => format!("did you mean the path {}?", path.display()),
        None if has_no_namespace => {
            format!(
                "choose a provider that required_providers lists; there is no file or directory {typed} either"
            )
        }
        None => "choose a provider that required_providers lists".to_owned(),
    }
}

/// Returns the provider that a misspelled address most likely stands for. Its name differs in few
/// letters, or only in the namespace if the address has the namespace of providers without a
/// source.
fn nearest<'a>(
    address: &ProviderAddress,
    known: impl Iterator<Item = &'a ProviderAddress> + Clone,
) -> Option<&'a ProviderAddress> {
    let mut nearest = None;
    let mut namesake = None;
    for provider in known {
        if provider == address || provider.hostname != address.hostname {
            continue;
        }
        if let Some(distance) = distance(address, provider) {
            let candidate = (distance, provider);
            if nearest.is_none_or(|nearest| candidate < nearest) {
                nearest = Some(candidate);
            }
        }
        // A provider gets this namespace if its source was forgotten, so only the name is what was
        // written.
        if namesake.is_none() && address.namespace == NO_SOURCE && provider.name == address.name {
            namesake = Some(provider);
        }
    }
    match nearest {
        Some((_, provider)) => Some(provider),
        None => namesake,
    }
}

/// Returns the existing path that a misspelled one most likely stands for: `live/network` for
/// `live/netwrok`.
pub(in crate::project) fn path_meant(path: &Path) -> Option<PathBuf> {
    let mut meant = PathBuf::new();
    for part in path.components() {
        let next = meant.join(part);
        if Tree::Work.has(&next) {
            meant = next;
            continue;
        }
        let Component::Normal(name) = part else {
            return None;
        };
        let directory = if meant.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &meant
        };
        let entries = Tree::Work.entries(directory).ok()?;
        // There may be very many names, and this is only for a hint.
        let names = entries.iter().filter_map(|entry| entry.name.to_str());
        meant = meant.join(words::nearest(
            name.to_str()?,
            names.take(MOST_NAMES_COMPARED),
        )?);
    }
    (meant != path).then_some(meant)
}

/// Returns the number of letters in which two addresses differ, or `None` if it is too large for a
/// mistake.
fn distance(one: &ProviderAddress, other: &ProviderAddress) -> Option<usize> {
    let parts = [(&one.namespace, &other.namespace), (&one.name, &other.name)];
    parts
        .into_iter()
        .map(|(one, other)| {
            let most = match other.chars().count() {
                0..3 => 0,
                3..8 => 1,
                _ => 2,
            };
            Some(strsim::osa_distance(one, other)).filter(|distance| *distance <= most)
        })
        .sum()
}

static PROVIDERS: LazyLock<WellKnown> =
    LazyLock::new(|| WellKnown::of(well_known_providers().collect()));

/// A well-known name that an address imitates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::project) struct Lookalike {
    /// The well-known name.
    pub(in crate::project) like: String,
    /// The part of the address that looks like it.
    pub(in crate::project) part: Part,
}

/// Part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::project) enum Part {
    /// The namespace and the type.
    Provider,
    /// The host.
    Host,
    /// A host whose name is common for hosts of companies. It is reported only if the host is new.
    NewHost,
}

/// The finding about an address that looks like a well-known one, unless the policy names it.
/// With a change under review, the hosts of `providers_of_base` are accepted.
pub(super) fn finding_imitation(
    address: &ProviderAddress,
    policy: &Policy,
    dialect: Dialect,
    providers_of_base: Option<&BTreeSet<ProviderAddress>>,
) -> Option<Diagnostic> {
    let Lookalike { like, part } = look_alike(address)?;
    if policy.names(address, dialect) {
        return None;
    }
    if part != Part::Provider && policy.names_host(address) {
        return None;
    }
    // Without a change under review, a host that may be new is accepted.
    let is_host_accepted = match providers_of_base {
        Some(known) => known.iter().any(|other| other.hostname == address.hostname),
        None => part == Part::NewHost,
    };
    if part != Part::Provider && is_host_accepted {
        return None;
    }

    let addition = match part {
        Part::Provider => "its namespace to allowed-namespaces".to_owned(),
        Part::Host | Part::NewHost => format!("{:?} to allowed-hosts", address.hostname.as_ascii()),
    };
    let message = format!("{address} looks like {like}, but is not");
    let help =
        format!("correct the source; if the address is right, add {addition} in provlock.toml");
    Some(Diagnostic::finding(Code::Lookalike, message).help(help))
}

/// The most used providers, `namespace/type`, and their namespaces.
struct WellKnown {
    /// Each with its [`skeleton`], computed once because every entry of a lock file is compared
    /// with it.
    providers: BTreeMap<&'static str, String>,
    namespaces: BTreeSet<&'static str>,
}

/// Returns the well-known host, namespace or provider that an address resembles without being it.
pub(in crate::project) fn look_alike(address: &ProviderAddress) -> Option<Lookalike> {
    let AddressParts {
        hostname,
        namespace,
        name,
    } = &**address;
    // A different port of a well-known host is a different server.
    if let Some(known) = HOSTS.iter().position(|host| *host == hostname.host()) {
        return match hostname.port() {
            Some(_) => Some(Lookalike {
                like: HOSTS[known].to_owned(),
                part: Part::Host,
            }),
            // Any user can register a namespace in a public registry.
            None if known < PUBLIC => Some(Lookalike {
                like: PROVIDERS.imitated(namespace, name)?,
                part: Part::Provider,
            }),
            None => None,
        };
    }
    let shown = hostname.to_string();
    let host = shown.split(':').next().unwrap_or_default();
    let host_skeleton = skeleton(host);
    let provider = format!("{namespace}/{name}");
    if let Some(like) = imitated_host(host) {
        return Some(Lookalike {
            like: like.to_owned(),
            part: Part::Host,
        });
    }
    if let Some(brand) = brand_in(domain(&host_skeleton)) {
        return Some(Lookalike {
            like: format!("a host of {brand}"),
            part: Part::Host,
        });
    }
    // At any other host the same name may stand for a different program.
    if PROVIDERS.providers.contains_key(&*provider) {
        return Some(Lookalike {
            like: provider,
            part: Part::Host,
        });
    }

    // Companies use these words for their own hosts, and attackers for theirs.
    let like = if let Some(brand) = brand_in(&host_skeleton) {
        format!("a host of {brand}")
    } else if host_skeleton.contains(&skeleton("registry")) {
        "a public registry".to_owned()
    } else {
        return None;
    };
    Some(Lookalike {
        like,
        part: Part::NewHost,
    })
}

/// The well-known host that a host imitates, or follows as in `registry.terraform.io.example.com`.
fn imitated_host(host: &str) -> Option<&'static str> {
    if let Some(like) = imitated(host, HOSTS.into_iter()) {
        return Some(like);
    }
    for known in HOSTS {
        // The owner of a domain may use any labels in front of it.
        if let Some(rest) = host.strip_prefix(known)
            && rest.starts_with(['.', '-'])
        {
            return Some(known);
        }
    }
    None
}

/// The brand whose name a text contains, which is a skeleton.
fn brand_in(text: &str) -> Option<&'static str> {
    BRANDS
        .into_iter()
        .find(|brand| text.contains(&skeleton(brand)))
}

/// Returns the registered domain of a host: the last two labels, or three below a suffix such as
/// `co.uk`. This is an approximation, because there is no list of all public suffixes here.
fn domain(host: &str) -> &str {
    const SECOND: [&str; 9] = ["ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"];
    let labels: Vec<&str> = host.split('.').collect();
    let is_below_second = labels.len() > 2 && SECOND.contains(&labels[labels.len() - 2]);
    let count = if is_below_second { 3 } else { 2 };
    let length: usize = labels
        .iter()
        .rev()
        .take(count)
        .map(|label| label.len() + 1)
        .sum();
    &host[host.len().saturating_sub(length - 1)..]
}

impl WellKnown {
    fn of(providers: BTreeSet<&'static str>) -> Self {
        let namespaces = providers
            .iter()
            .filter_map(|provider| Some(provider.split_once('/')?.0))
            .collect();
        let providers = providers
            .into_iter()
            .map(|provider| (provider, skeleton(provider)))
            .collect();
        Self {
            providers,
            namespaces,
        }
    }

    /// Returns the well-known provider that a provider in a public registry resembles without being
    /// it:
    ///
    /// - its namespace and name differ in a letter, or in similar letters,
    /// - its namespace does, with a different name,
    /// - its namespace extends a well-known one: `hashicorp-official/x`, `hashicorp-aws/x`,
    /// - its namespace is the vendor of a provider in `hashicorp`: `aws/aws`, `microsoft/azurerm`.
    fn imitated(&self, namespace: &str, name: &str) -> Option<String> {
        let provider = format!("{namespace}/{name}");
        if self.providers.contains_key(&*provider) {
            return None;
        }
        let provider_skeleton = skeleton(&provider);
        let is_known = self.namespaces.contains(namespace);
        for (known, known_skeleton) in &self.providers {
            let Some((known_namespace, known_name)) = known.split_once('/') else {
                continue;
            };
            // The owner of a namespace chooses the names in it, so a similar short name there is no
            // imitation.
            let may_be_imitation = if known_namespace == namespace {
                known_name.len() >= NAMESPACE_LENGTH
            } else {
                !is_known
            };
            let is_like = *known_skeleton == provider_skeleton || differs_by_one(&provider, known);
            if may_be_imitation && is_like {
                return Some((*known).to_owned());
            }
        }
        if let Some(like) = imitated(namespace, self.namespaces.iter().copied()) {
            return Some(format!("{like}/{name}"));
        }
        if !is_known {
            for known in &self.namespaces {
                if known.len() >= NAMESPACE_LENGTH && self.is_extended(known, namespace) {
                    return Some(format!("{known}/{name}"));
                }
            }
        }
        if namespace == name || VENDORS.contains(&namespace) {
            let of_vendor = format!("hashicorp/{name}");
            if self.providers.contains_key(&*of_vendor) {
                return Some(of_vendor);
            }
        }
        None
    }

    /// Whether a namespace is a well-known one with a suffix that publishers use, or with the name
    /// of a well-known provider.
    fn is_extended(&self, known: &str, namespace: &str) -> bool {
        let Some(rest) = namespace.strip_prefix(known) else {
            return false;
        };
        let suffix = rest.strip_prefix('-').unwrap_or(rest);
        if PUBLISHER_SUFFIXES.contains(&suffix) {
            return true;
        }
        let has_hyphen = rest.len() > suffix.len();
        has_hyphen && self.has_name(suffix)
    }

    /// Whether a well-known provider has this name.
    fn has_name(&self, name: &str) -> bool {
        self.providers
            .keys()
            .any(|provider| match provider.split_once('/') {
                Some((_, known)) => known == name,
                None => false,
            })
    }
}

/// Returns the well-known name that a text resembles without being it.
fn imitated<'a>(text: &str, mut known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if known.clone().any(|name| name == text) {
        return None;
    }
    let seen = skeleton(text);
    known.find(|name| {
        skeleton(name) == seen || (name.len() >= NAMESPACE_LENGTH && differs_by_one(text, name))
    })
}

/// Returns the text with similar letters replaced by one of them.
fn skeleton(text: &str) -> String {
    let mut skeleton = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '-' => {}
            '0' | 'о' | 'ο' => skeleton.push('o'),
            '1' | 'i' | 'ı' | 'і' | 'ӏ' => skeleton.push('l'),
            '5' | 'ѕ' => skeleton.push('s'),
            'а' | 'α' => skeleton.push('a'),
            'с' => skeleton.push('c'),
            'е' => skeleton.push('e'),
            'һ' => skeleton.push('h'),
            'р' | 'ρ' => skeleton.push('p'),
            'х' => skeleton.push('x'),
            'у' => skeleton.push('y'),
            'ν' => skeleton.push('v'),
            'ԁ' => skeleton.push('d'),
            'ј' => skeleton.push('j'),
            other => skeleton.push(other),
        }
    }
    // These pairs look like one letter in many fonts.
    skeleton.replace("rn", "m").replace("vv", "w")
}

/// Whether two texts differ by one added, removed or replaced character, or by two swapped
/// neighbours.
fn differs_by_one(one: &str, other: &str) -> bool {
    // One character has at most four bytes.
    one.len().abs_diff(other.len()) <= 4 && strsim::osa_distance(one, other) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookalike(text: &str) -> Option<Lookalike> {
        look_alike(&ProviderAddress::parse(text, Dialect::Tofu).unwrap())
    }

    fn looks_like(text: &str) -> Option<String> {
        lookalike(text).map(|lookalike| lookalike.like)
    }

    #[test]
    fn imitations_are_known() {
        for text in [
            "hashlcorp/aws",
            "hashicorpp/aws",
            "hashcorp/aws",
            "hahsicorp/aws",
            "hash-icorp/aws",
            "hаshicorp/aws",
        ] {
            assert_eq!(looks_like(text).as_deref(), Some("hashicorp/aws"), "{text}");
        }
        for text in [
            "hashicorp/kuberntes",
            "hashicorp/kubernettes",
            "hashicorp/kuber-netes",
            "hashicorp/kubernete5",
        ] {
            assert_eq!(
                looks_like(text).as_deref(),
                Some("hashicorp/kubernetes"),
                "{text}"
            );
        }
        assert_eq!(
            looks_like("registry.terraform.io/kreuzwenker/docker").as_deref(),
            Some("kreuzwerker/docker")
        );
        assert_eq!(
            looks_like("kreuzwenker/other").as_deref(),
            Some("kreuzwerker/other")
        );
        assert_eq!(looks_like("azuree/azapi").as_deref(), Some("azure/azapi"));
        assert_eq!(
            looks_like("data-dog/datadog").as_deref(),
            Some("datadog/datadog")
        );
        assert_eq!(looks_like("0kta/okta").as_deref(), Some("okta/okta"));
    }

    #[test]
    fn namespaces_that_pretend_to_be_of_a_publisher_are_known() {
        for (text, like) in [
            ("hashicorp-official/aws", "hashicorp/aws"),
            ("hashicorpinc/other", "hashicorp/other"),
            ("hashicorp-aws/aws", "hashicorp/aws"),
            ("hashicorp-kubernetes/x", "hashicorp/x"),
            ("cloudflare-io/cloudflare", "cloudflare/cloudflare"),
            ("kreuzwerker-io/docker", "kreuzwerker/docker"),
            ("aws/aws", "hashicorp/aws"),
            ("google/google", "hashicorp/google"),
            ("microsoft/azurerm", "hashicorp/azurerm"),
            ("microsoft/azuread", "hashicorp/azuread"),
        ] {
            assert_eq!(looks_like(text).as_deref(), Some(like), "{text}");
        }
        for text in [
            "hashicorp-training/x",
            "microsoft/fabric",
            "aws/other",
            "helmfile/helm",
            "databrickslabs/x",
        ] {
            assert_eq!(looks_like(text), None, "{text}");
        }
    }

    #[test]
    fn hosts_that_pretend_to_be_others_are_known() {
        for (host, like) in [
            ("registry.0pentofu.org", "registry.opentofu.org"),
            ("registry.terraform.co", "registry.terraform.io"),
            ("registry.terraform.io.example.com", "registry.terraform.io"),
            ("registry.hashicorp-aws.com", "a host of hashicorp"),
            ("hashicorp-terraform.io", "a host of hashicorp"),
            ("registry.hash1corp.net:8443", "a host of hashicorp"),
            ("terraform-registry.co.uk", "a host of terraform"),
            ("opentofu.dev", "a host of opentofu"),
            ("registry.terraform.io:8443", "registry.terraform.io"),
            ("registry.opentofu.org:444", "registry.opentofu.org"),
        ] {
            let expected = Lookalike {
                like: like.to_owned(),
                part: Part::Host,
            };
            assert_eq!(
                lookalike(&format!("{host}/acme/x")),
                Some(expected),
                "{host}"
            );
        }
        let expected = Lookalike {
            like: "hashicorp/aws".to_owned(),
            part: Part::Host,
        };
        assert_eq!(lookalike("example.com/hashicorp/aws"), Some(expected));
    }

    #[test]
    fn a_company_may_have_such_a_host() {
        for host in [
            "registry.example.com",
            "terraform.example.com",
            "tf-registry.example.co.uk",
            "opentofu.acme.test",
            "terraform.ibm.test",
        ] {
            assert_eq!(
                lookalike(&format!("{host}/acme/x")).map(|lookalike| lookalike.part),
                Some(Part::NewHost),
                "{host}"
            );
        }
        assert_eq!(lookalike("artifacts.example.com/acme/x"), None);
    }

    #[test]
    fn other_names_are_accepted() {
        for text in [
            "hashicorp/aws",
            "hashicorp/awx",
            "acme/aws",
            "datadog/datadog",
            "app.terraform.io/acme/x",
            "localterraform.com/acme/x",
            "spacelift.io/spacelift-io/spacelift",
            "hashicorp/tfcoremocka",
            "registry.opentf.org/hashicorp/aws",
            "vmware/vce",
            "azur/x",
            "vult/x",
        ] {
            assert_eq!(looks_like(text), None, "{text}");
        }
    }

    /// Tests each well-known provider as if it were not well known.
    #[test]
    fn well_known_providers_do_not_look_like_each_other() {
        assert!(well_known_providers().all(|provider| provider.split('/').count() == 2));
        let looks_like_another = |provider: &&&str| {
            let others = WellKnown::of(
                well_known_providers()
                    .filter(|other| *other != **provider)
                    .collect(),
            );
            let (namespace, name) = provider.split_once('/').unwrap();
            others.imitated(namespace, name).is_some()
        };
        let found: Vec<_> = PROVIDERS
            .providers
            .keys()
            .filter(looks_like_another)
            .collect();
        assert_eq!(found, [] as [&&str; 0]);
    }

    #[test]
    fn a_provider_with_a_similar_name_is_suggested() {
        let lock_file = LockFile::empty(Path::new(".terraform.lock.hcl"), Dialect::Tofu);
        let address = |text| ProviderAddress::parse(text, Dialect::Tofu).unwrap();
        let required = BTreeMap::from([(address("acme/gamma"), Requirement::default())]);
        for (text, meant) in [
            ("hashicrop/aws", Some("hashicorp/aws")),
            ("hashicorp/kuberentes", Some("hashicorp/kubernetes")),
            ("hashicorp/azurrm", Some("hashicorp/azurerm")),
            ("acme/gama", Some("acme/gamma")),
            ("hashicorp/datadog", Some("datadog/datadog")),
            ("acme/gamma", None),
            ("acme/beta", None),
            ("acme/aws", None),
            ("hashicorp/aws", None),
            ("registry.example.com/hashicrop/aws", None),
        ] {
            let found = provider_meant(&address(text), &lock_file, &required, Dialect::Tofu);
            assert_eq!(found.as_deref(), meant, "{text}");
        }
    }
}
