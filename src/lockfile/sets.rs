//! Sets and values that two sides changed.

use std::collections::HashSet;
use std::hash::Hash;

/// The items that both sides have, and the items that either side added to the base.
pub(super) fn merge_sets<'a, T, S>(base: &'a S, ours: &'a S, theirs: &'a S) -> Vec<&'a T>
where
    T: Eq + Hash + 'a,
    S: ?Sized,
    &'a S: IntoIterator<Item = &'a T>,
{
    let set = |items: &'a S| items.into_iter().collect::<HashSet<&T>>();
    let (before, other) = (set(base), set(theirs));
    let kept = ours.into_iter().filter(|item| other.contains(item) || !before.contains(item));
    let added = theirs.into_iter().filter(|item| !before.contains(item));
    kept.chain(added).collect()
}

/// The value of the side that changed it; none if both did, to different values.
pub(super) fn merge_value<'a, T: Eq>(base: Option<&T>, ours: &'a T, theirs: &'a T) -> Option<&'a T> {
    if ours == theirs || base == Some(theirs) {
        return Some(ours);
    }
    (base == Some(ours)).then_some(theirs)
}
