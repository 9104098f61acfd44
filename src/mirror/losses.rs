//! The only state that workers share: on how many followers a source has lost copies by Unwitnessed deletions. It bounds
//! what one mistake can destroy.

use crate::api::{key::ObjectKey, names::ClusterUid};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

/// Which followers each source has lost copies on.
#[derive(Clone)]
pub struct Losses {
    /// `--max-unwitnessed-followers`.
    most: usize,
    table: Arc<Mutex<BTreeMap<ObjectKey, BTreeSet<ClusterUid>>>>,
}

impl Losses {
    /// An empty table with this limit.
    pub fn new(most: usize) -> Self {
        Self { most, table: Arc::default() }
    }

    /// Whether the source may lose copies on this follower, too; if so, that is remembered.
    pub fn admit(&self, source: &ObjectKey, follower: &ClusterUid) -> bool {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let followers = table.entry(source.clone()).or_default();
        let admitted = followers.contains(follower) || followers.len() < self.most;
        if admitted {
            followers.insert(follower.clone());
        }
        admitted
    }

    /// The source wants copies on this follower again.
    pub fn forgive(&self, source: &ObjectKey, follower: &ClusterUid) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(followers) = table.get_mut(source) {
            followers.remove(follower);
            if followers.is_empty() {
                table.remove(source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::key::Kind;

    #[test]
    fn the_eleventh_follower_keeps_its_copies_until_the_source_is_back() {
        let (losses, source) = (Losses::new(10), ObjectKey::new(Kind::Secret, "n", "a"));
        let admit = |number: usize| losses.admit(&source, &number.to_string().as_str().into());
        assert!((0..10).all(admit));
        assert!(!admit(10) && admit(3));
        assert!(losses.admit(&ObjectKey::new(Kind::Secret, "n", "b"), &"10".into()));
        losses.forgive(&source, &"3".into());
        assert!(admit(10));
    }
}
