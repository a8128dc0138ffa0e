//! Whether a text that was just written says what it should, found without a parser of all HCL.

use std::sync::Arc;

use crate::lockfile::LockedProvider;
use crate::lockfile::raw_entry::{Attribute, RawEntry, Text};
use crate::lockfile::recognise::recognise;
use crate::provider::{Hash, ProviderAddress};

/// Whether a text is in canonical form and records just these locks, word for word. If not, nothing is known.
pub(super) fn plainly_says<'a, I>(text: &str, locks: I) -> bool
where
    I: IntoIterator<Item = (&'a ProviderAddress, &'a Arc<LockedProvider>), IntoIter: ExactSizeIterator>,
{
    let locks = locks.into_iter();
    let says = |(entry, (address, provider)): (RawEntry<'_>, (&ProviderAddress, &Arc<LockedProvider>))| {
        let LockedProvider { version, constraints, hashes } = provider.as_ref();
        let text = |attribute: Option<Attribute<Option<Text<'_>>>>| {
            attribute.and_then(|attribute| attribute.value).map(|text| text.value.into_owned())
        };
        let written = entry.hashes.map(|attribute| attribute.value).unwrap_or_default();
        entry.label.is_some_and(|label| label.value == address.to_string())
            && text(entry.version).is_some_and(|text| text == version.to_string())
            && text(entry.constraints).unwrap_or_default() == constraints.to_string()
            && written.iter().map(|text| &*text.value).eq(hashes.iter().map(Hash::as_str))
    };
    let entries = recognise(text);
    entries.is_some_and(|entries| entries.len() == locks.len() && entries.into_iter().zip(locks).all(says))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockfile::{Locks, canonical_text};
    use crate::provider::Dialect;

    #[test]
    fn a_text_plainly_says_what_it_was_made_from_and_nothing_else() {
        let digits = "0123456789abcdef".repeat(4);
        let entry = |name: &str, version: &str, constraints: &str, hashes: &[&str]| {
            let address = ProviderAddress::parse(&format!("acme/{name}"), Dialect::Tofu).unwrap();
            let hashes = hashes.iter().map(|hash| hash.parse().unwrap()).collect();
            let (version, constraints) = (version.parse().unwrap(), constraints.parse().unwrap());
            (address, Arc::new(LockedProvider { version, constraints, hashes }))
        };
        let zh = format!("zh:{digits}");
        let other = zh.replace('0', "f");
        let gamma = entry("gamma", "1.0.0", "~> 1.0", &["h1:a", &zh]);
        let null = entry("null", "3.2.4", "", &[]);
        let locks = Locks::from([gamma.clone(), null.clone()]);
        let text = canonical_text(&locks, Dialect::Tofu);
        assert!(plainly_says(&text, &locks));
        for wrong in [
            vec![gamma.clone()],
            vec![gamma.clone(), null.clone(), entry("zeta", "1.0.0", "", &[])],
            vec![entry("delta", "1.0.0", "~> 1.0", &["h1:a", &zh]), null.clone()],
            vec![entry("gamma", "1.0.1", "~> 1.0", &["h1:a", &zh]), null.clone()],
            vec![entry("gamma", "1.0.0", "~> 1.1", &["h1:a", &zh]), null.clone()],
            vec![entry("gamma", "1.0.0", "", &["h1:a", &zh]), null.clone()],
            vec![entry("gamma", "1.0.0", "~> 1.0", &["h1:a", &other]), null.clone()],
            vec![entry("gamma", "1.0.0", "~> 1.0", &["h1:a"]), null.clone()],
            vec![gamma.clone(), entry("null", "3.2.4", "", &["h1:a"])],
        ] {
            assert!(!plainly_says(&text, &Locks::from_iter(wrong.clone())), "{wrong:?}");
        }
        assert!(!plainly_says(&text.replace("version", "vision"), &locks));
    }
}
