//! What can be read from outside. Pure.

use super::{
    deletion::Pending,
    observed::Standing,
    plan::State,
    state::{Mirror, Roster},
};
use crate::{
    api::{key::ObjectKey, names::ClusterUid},
    source::Source,
};
use std::collections::BTreeMap;

impl Mirror {
    /// The names that lead here.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The follower's identity.
    pub fn cluster(&self) -> &ClusterUid {
        &self.settings.observer.cluster
    }

    /// The unwanted copies.
    pub fn deletions(&self) -> &BTreeMap<ObjectKey, Pending> {
        self.deletions.pending()
    }

    /// Every target with its source and state. A target that several sources want shows each of them: all but one are in
    /// conflict.
    pub fn targets(&self) -> impl Iterator<Item = (&ObjectKey, &ObjectKey, State)> {
        self.states.iter().flat_map(|(target, state)| {
            let owner = self.holder(target);
            let losers = self.claims.on(target).iter().filter(move |source| Some(*source) != owner);
            let held = owner.map(|owner| (target, owner, *state));
            held.into_iter().chain(losers.map(move |loser| (target, loser, State::Conflict)))
        })
    }

    /// Whether every source in scope has been read.
    pub fn sources_are_complete(&self) -> bool {
        self.sources.is_complete()
    }

    /// A source as it was last seen.
    pub fn source(&self, key: &ObjectKey) -> Option<&Source> {
        self.sources.sources.get(key).map(|source| &**source)
    }

    fn holder(&self, target: &ObjectKey) -> Option<&ObjectKey> {
        let marked = match self.copies.get(target).map(|observed| &observed.standing) {
            Some(Standing::Ours(mark)) => Some(&mark.source),
            _ => None,
        };
        marked.or_else(|| self.claims.winner(target, &self.sources))
    }
}
