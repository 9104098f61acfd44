//! What the workers see of the sources: a persistent map. A worker keeps the snapshot that it saw last and asks for the
//! difference; shared parts of the two maps are skipped, a burst collapses, and no change can be lost.

use super::shipment::Source;
use crate::api::{
    key::{Kind, ObjectKey},
    names::Namespace,
};
use imbl::{OrdMap, ordmap::DiffItem};
use std::{collections::BTreeMap, sync::Arc};

/// A list that is watched for sources: a kind in one namespace, or in all (`None`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    /// ConfigMaps or Secrets.
    pub kind: Kind,
    /// One namespace, or all.
    pub namespace: Option<Namespace>,
}

/// How a source left the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// This process saw it being deleted.
    Deleted,
    /// It is there, but asks for nothing any more.
    Unannotated,
    /// A relist no longer showed it.
    Vanished,
}

/// How well the list that a source would be in is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// No list of this instance covers it: its copies are another's.
    OutOfScope,
    /// The list is forbidden or not read yet, or holds sources that were not fetched: nothing is deleted on its word.
    Incomplete,
    /// What it does not show is not there.
    Complete,
}

/// How far a list has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Listed, and watched since.
    pub listed: bool,
}

/// All sources at one moment.
#[derive(Clone, Default)]
pub struct Snapshot {
    /// The sources.
    pub sources: OrdMap<ObjectKey, Arc<Source>>,
    /// How those that are not sources any more have left (as far as this process saw).
    pub farewells: OrdMap<ObjectKey, Farewell>,
    /// The lists in scope.
    pub scopes: OrdMap<Scope, Progress>,
    /// How many annotated objects there are whose content is not known, where there are any.
    pub unread: OrdMap<(Kind, Namespace), usize>,
    /// Labels of the management cluster's namespaces, if policy asks for them.
    pub namespace_labels: OrdMap<Namespace, Arc<BTreeMap<String, String>>>,
}

impl Snapshot {
    /// How well the list is known in which `key` would be.
    pub fn reading(&self, key: &ObjectKey) -> Reading {
        let scope = |namespace| self.scopes.get(&Scope { kind: key.kind, namespace });
        match scope(Some(key.namespace.clone())).or_else(|| scope(None)) {
            None => Reading::OutOfScope,
            Some(Progress { listed: true }) if !self.unread.contains_key(&(key.kind, key.namespace.clone())) => {
                Reading::Complete
            }
            Some(_) => Reading::Incomplete,
        }
    }

    /// Whether every list in scope was read once and every source in them fetched.
    pub fn is_complete(&self) -> bool {
        self.scopes.values().all(|progress| progress.listed) && self.unread.is_empty()
    }

    /// Whether nothing has changed (by the identity of the maps, not by their content).
    pub fn is_same(&self, other: &Self) -> bool {
        self.sources.ptr_eq(&other.sources)
            && self.farewells.ptr_eq(&other.farewells)
            && self.scopes.ptr_eq(&other.scopes)
            && self.unread.ptr_eq(&other.unread)
            && self.namespace_labels.ptr_eq(&other.namespace_labels)
    }

    /// The keys of sources that came, went or changed since `before`.
    pub fn changed_since(&self, before: &Self) -> Vec<ObjectKey> {
        let changes = before.sources.diff(&self.sources).map(|item| match item {
            DiffItem::Add(key, _) | DiffItem::Remove(key, _) | DiffItem::Update { new: (key, _), .. } => key.clone(),
        });
        changes.collect()
    }
}

// `diff` compares values where it cannot skip them: two reads of a source are the same only if they are one allocation.
impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
