//! Which sources want which targets of one follower, and which copies their source does not want. Pure.

use super::desired::{Desired, Wish};
use crate::{
    api::{
        key::{Kind, ObjectKey},
        names::Namespace,
    },
    source::{Shipment, Snapshot},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// What a source wants here, and the version of the source that it was read from.
pub struct Wants {
    /// Targets, kept copies, what was not granted.
    pub desired: Desired,
    /// The source as it asked for them.
    pub shipment: Arc<Shipment>,
}

/// Both directions: source → targets, target → sources.
#[derive(Default)]
pub struct Claims {
    by_source: HashMap<ObjectKey, Wants>,
    by_target: BTreeMap<ObjectKey, Vec<ObjectKey>>,
    by_namespaces: BTreeSet<ObjectKey>,
}

impl Claims {
    /// What a source wants.
    pub fn of(&self, source: &ObjectKey) -> Option<&Wants> {
        self.by_source.get(source)
    }

    /// How a source wants a target.
    pub fn wish(&self, source: &ObjectKey, target: &ObjectKey) -> Option<&Wish> {
        self.by_source.get(source)?.desired.targets.get(target)
    }

    /// All sources with what they want.
    pub fn sources(&self) -> impl Iterator<Item = (&ObjectKey, &Wants)> {
        self.by_source.iter()
    }

    /// The sources that want a target.
    pub fn on(&self, target: &ObjectKey) -> &[ObjectKey] {
        self.by_target.get(target).map_or(&[], Vec::as_slice)
    }

    /// The same key as it is in memory already, if the target is wanted.
    pub fn shared(&self, target: &ObjectKey) -> Option<&ObjectKey> {
        self.by_target.get_key_value(target).map(|(key, _)| key)
    }

    /// All wanted targets.
    pub fn targets(&self) -> impl Iterator<Item = &ObjectKey> {
        self.by_target.keys()
    }

    /// All wanted targets of a kind in a namespace.
    pub fn targets_in(&self, kind: Kind, namespace: &Namespace) -> impl Iterator<Item = &ObjectKey> {
        within(&self.by_target, kind, namespace)
    }

    /// Replaces what a source wants; returns what it wanted before.
    pub fn set(&mut self, source: &ObjectKey, wants: Wants) -> Option<Wants> {
        let before = self.remove(source);
        for target in wants.desired.targets.keys() {
            // Nearly always one: a vector that grows by itself would make room for four.
            self.by_target.entry(target.clone()).or_insert_with(|| Vec::with_capacity(1)).push(source.clone());
        }
        if wants.desired.by_namespaces {
            self.by_namespaces.insert(source.clone());
        }
        self.by_source.insert(source.clone(), wants);
        before
    }

    /// A source wants nothing any more; returns what it wanted before.
    pub fn remove(&mut self, source: &ObjectKey) -> Option<Wants> {
        let before = self.by_source.remove(source)?;
        self.by_namespaces.remove(source);
        for target in before.desired.targets.keys() {
            if let Some(sources) = self.by_target.get_mut(target) {
                sources.retain(|other| other != source);
                if sources.is_empty() {
                    self.by_target.remove(target);
                }
            }
        }
        Some(before)
    }

    /// Who gets a target that nobody holds: the same-named namespace first, then the older source, then by name. Frozen
    /// sources get nothing.
    pub fn winner(&self, target: &ObjectKey, sources: &Snapshot) -> Option<&ObjectKey> {
        let ready = |key: &&ObjectKey| sources.sources.get(*key).is_some_and(|source| source.shipment().is_some());
        self.on(target).iter().filter(ready).min_by_key(|key| {
            let created = sources.sources.get(*key).map(|source| source.created.clone());
            (key.namespace != target.namespace, created, (*key).clone())
        })
    }

    /// Sources whose answer depends on which namespaces there are.
    pub fn by_namespaces(&self) -> &BTreeSet<ObjectKey> {
        &self.by_namespaces
    }
}

/// The keys of a kind in a namespace.
pub fn within<'a, T>(
    map: &'a BTreeMap<ObjectKey, T>,
    kind: Kind,
    namespace: &Namespace,
) -> impl Iterator<Item = &'a ObjectKey> {
    let first = ObjectKey::new(kind, namespace.clone(), "");
    let inside = move |key: &&ObjectKey| key.kind == first.kind && key.namespace == first.namespace;
    map.range(ObjectKey::new(kind, namespace.clone(), "")..).map(|(key, _)| key).take_while(inside)
}

/// Copies whose mark names a source that does not want them: what is unwanted, or held in spite of somebody. Usually none,
/// so that a change of a source costs what it touches, and not a look at every copy.
#[derive(Default)]
pub struct Unclaimed(BTreeMap<ObjectKey, BTreeSet<ObjectKey>>);

impl Unclaimed {
    /// Takes note of a copy of this source.
    pub fn add(&mut self, source: &ObjectKey, copy: &ObjectKey) {
        self.0.entry(source.clone()).or_default().insert(copy.clone());
    }

    /// The copy is wanted by its source, or is not its copy any more.
    pub fn remove(&mut self, source: &ObjectKey, copy: &ObjectKey) {
        if let Some(copies) = self.0.get_mut(source) {
            copies.remove(copy);
            if copies.is_empty() {
                self.0.remove(source);
            }
        }
    }

    /// The unclaimed copies of a source.
    pub fn of(&self, source: &ObjectKey) -> impl Iterator<Item = &ObjectKey> {
        self.0.get(source).into_iter().flatten()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &ObjectKey> {
        self.0.values().flatten()
    }
}
