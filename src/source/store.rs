//! Turns what the watches and GETs say into the [`Snapshot`]. Pure: no I/O, no clock.

use super::{
    shipment::{Condition, Frozen, Packing, Source},
    snapshot::{Farewell, Progress, Scope, Snapshot},
};
use crate::{
    api::{
        annotations::{self, Intent, Invalid},
        key::{Kind, ObjectKey},
        mark::ORIGIN,
        names::{ResourceVersion, Uid},
    },
    object::decode::{Meta, Notice, Object, Values},
};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

/// An object that is to be fetched, at least as new as this.
struct Fetch {
    uid: Uid,
    version: ResourceVersion,
    since: Instant,
}

/// Sources that left are remembered up to this number, then forgotten all at once: a deletion that a worker learns of later
/// than that counts as unwitnessed, which is the careful side.
const MOST_FAREWELLS: usize = 10_000;

/// The owner of the sources' state.
pub struct Store {
    packing: Packing,
    snapshot: Snapshot,
    /// Keys that a running relist has shown so far.
    relists: BTreeMap<Scope, BTreeSet<ObjectKey>>,
    /// What is to be fetched.
    fetches: BTreeMap<ObjectKey, Fetch>,
}

impl Store {
    /// An empty store for these lists.
    pub fn new(packing: Packing, scopes: impl IntoIterator<Item = Scope>) -> Self {
        let scopes = scopes.into_iter().map(|scope| (scope, Progress::default())).collect();
        let snapshot = Snapshot { scopes, ..Snapshot::default() };
        Self { packing, snapshot, relists: BTreeMap::new(), fetches: BTreeMap::new() }
    }

    /// All sources now.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Labels of the management cluster's namespaces; kept only if policy asks for them.
    pub fn namespace_labels(
        &mut self,
    ) -> &mut imbl::OrdMap<crate::api::names::Namespace, Arc<BTreeMap<String, String>>> {
        &mut self.snapshot.namespace_labels
    }

    /// A list begins anew.
    pub fn relist_begun(&mut self, scope: &Scope) {
        self.relists.insert(scope.clone(), BTreeSet::new());
    }

    /// A list is complete: what it did not show is gone.
    pub fn relist_done(&mut self, scope: &Scope) {
        let shown = self.relists.remove(scope).unwrap_or_default();
        let covered = self.snapshot.sources.keys().filter(|key| covers(scope, key));
        let vanished: Vec<ObjectKey> = covered.filter(|key| !shown.contains(*key)).cloned().collect();
        for key in vanished {
            self.remove(&key, Farewell::Vanished);
        }
        self.progress(scope, |progress| progress.listed = true);
    }

    /// A list cannot be read: nothing is concluded from it until it is complete again.
    pub fn denied(&mut self, scope: &Scope) {
        self.relists.remove(scope);
        self.progress(scope, |progress| progress.listed = false);
    }

    /// The metadata watch shows an object as it is. Returns whether it must be fetched.
    pub fn noticed(&mut self, notice: &Notice, scope: &Scope, now: Instant) -> Option<ObjectKey> {
        let meta = &notice.metadata;
        let key = meta.key(scope.kind);
        if let Some(shown) = self.relists.get_mut(scope) {
            shown.insert(key.clone());
        }
        if self.knows_newer(&key, meta) {
            return None;
        }
        match self.intent(meta) {
            Ok(None) => {
                self.withdraw(&key, meta);
                None
            }
            Ok(Some(intent)) if !intent.suspend => self.schedule(key, meta, now),
            Ok(Some(_)) => self.freeze(Seen { key: &key, meta, since: now }, Frozen::Suspended),
            Err(invalid) => self.freeze(Seen { key: &key, meta, since: now }, Frozen::Invalid(invalid)),
        }
    }

    /// The watch says that an object is gone. Counts only if it is the one that is stored.
    pub fn deleted(&mut self, kind: Kind, meta: &Meta) {
        let key = meta.key(kind);
        if self.uid(&key) == Some(&meta.uid) {
            self.remove(&key, Farewell::Deleted);
        }
    }

    /// The GET answered. Returns whether it must be asked again, because a newer version was noticed meanwhile.
    pub fn fetched(&mut self, key: &ObjectKey, object: Object) -> Option<ObjectKey> {
        let meta = object.metadata.clone();
        let wanted = self.fetches.get(key)?;
        if wanted.uid == meta.uid && meta.resource_version.compare(&wanted.version) == Some(Ordering::Less) {
            return Some(key.clone());
        }
        let seen = Seen { key, meta: &meta, since: wanted.since };
        self.fetches.remove(key);
        match self.intent(&meta) {
            Ok(None) => self.withdraw(key, &meta),
            Ok(Some(intent)) if intent.suspend => self.put(seen, Condition::Frozen(Frozen::Suspended)),
            Ok(Some(intent)) => {
                let condition = self.packing.pack(object, intent);
                self.put(seen, condition);
            }
            Err(invalid) => self.put(seen, Condition::Frozen(Frozen::Invalid(invalid))),
        }
        None
    }

    /// The GET was refused, or its answer cannot be decoded. It will be asked again, the copies are frozen until then.
    pub fn unreadable(&mut self, key: &ObjectKey, why: &str) {
        let Some(stored) = self.snapshot.sources.get(key) else { return };
        let source = Source {
            key: key.clone(),
            uid: stored.uid.clone(),
            version: stored.version.clone(),
            created: stored.created.clone(),
            since: stored.since,
            condition: Condition::Frozen(Frozen::Unreadable(why.into())),
        };
        self.replace(source);
    }

    /// The version that an object must have at least when it is fetched; `None` if it need not be fetched any more.
    pub fn wanted(&self, key: &ObjectKey) -> Option<&ResourceVersion> {
        self.fetches.get(key).map(|fetch| &fetch.version)
    }

    /// All objects that are still to be fetched.
    pub fn unfetched(&self) -> impl Iterator<Item = ObjectKey> {
        self.fetches.keys().cloned()
    }

    /// The GET found nothing: nothing changes, the watch will say.
    pub fn missed(&mut self, key: &ObjectKey) {
        self.fetches.remove(key);
    }

    fn intent(&self, meta: &Meta) -> Result<Option<Intent>, Invalid> {
        let is_copy = meta.labels.get(ORIGIN).is_some_and(|origin| origin == self.packing.hub.as_str());
        if is_copy { Ok(None) } else { annotations::parse(&read_annotations(&meta.annotations)) }
    }

    fn uid(&self, key: &ObjectKey) -> Option<&Uid> {
        self.snapshot.sources.get(key).map(|source| &source.uid)
    }

    /// For one uid, state only moves to a higher version.
    fn knows_newer(&self, key: &ObjectKey, meta: &Meta) -> bool {
        let newer = |uid: &Uid, version: &ResourceVersion| {
            *uid == meta.uid && !matches!(version.compare(&meta.resource_version), None | Some(Ordering::Less))
        };
        let stored = self.snapshot.sources.get(key).filter(|source| !is_unread(source));
        stored.is_some_and(|source| newer(&source.uid, &source.version))
            || self.fetches.get(key).is_some_and(|fetch| newer(&fetch.uid, &fetch.version))
    }

    fn schedule(&mut self, key: ObjectKey, meta: &Meta, now: Instant) -> Option<ObjectKey> {
        if !self.snapshot.sources.contains_key(&key) {
            self.put(Seen { key: &key, meta, since: now }, Condition::Frozen(Frozen::NotFetched));
        }
        let fetch = Fetch { uid: meta.uid.clone(), version: meta.resource_version.clone(), since: now };
        let running = self.fetches.insert(key.clone(), fetch);
        running.is_none().then_some(key)
    }

    fn freeze(&mut self, seen: Seen<'_>, frozen: Frozen) -> Option<ObjectKey> {
        self.fetches.remove(seen.key);
        self.put(seen, Condition::Frozen(frozen));
        None
    }

    /// An object that asks for nothing: the end of a source, or none of our business.
    fn withdraw(&mut self, key: &ObjectKey, meta: &Meta) {
        let farewell = if self.uid(key) == Some(&meta.uid) { Farewell::Unannotated } else { Farewell::Deleted };
        self.remove(key, farewell);
    }

    fn put(&mut self, seen: Seen<'_>, condition: Condition) {
        self.replace(Source {
            key: seen.key.clone(),
            uid: seen.meta.uid.clone(),
            version: seen.meta.resource_version.clone(),
            created: seen.meta.creation_timestamp.clone().unwrap_or_default(),
            since: seen.since,
            condition,
        });
    }

    fn replace(&mut self, source: Source) {
        let key = source.key.clone();
        let now = Arc::new(source);
        self.snapshot.farewells.remove(&key);
        let before = self.snapshot.sources.insert(key.clone(), now.clone());
        self.count_unread(&key, before.as_deref(), Some(&now));
    }

    fn remove(&mut self, key: &ObjectKey, farewell: Farewell) {
        self.fetches.remove(key);
        if let Some(source) = self.snapshot.sources.remove(key) {
            self.count_unread(key, Some(&source), None);
            if self.snapshot.farewells.len() >= MOST_FAREWELLS {
                self.snapshot.farewells.clear();
            }
            self.snapshot.farewells.insert(key.clone(), farewell);
        }
    }

    fn count_unread(&mut self, key: &ObjectKey, before: Option<&Source>, now: Option<&Source>) {
        let count = |source: Option<&Source>| usize::from(source.is_some_and(is_unread));
        let (before, now) = (count(before), count(now));
        let place = (key.kind, key.namespace.clone());
        let held = self.snapshot.unread.get(&place).copied().unwrap_or_default();
        match held.saturating_add(now).saturating_sub(before) {
            count if count == held => {}
            0 => {
                self.snapshot.unread.remove(&place);
            }
            count => {
                self.snapshot.unread.insert(place, count);
            }
        }
    }

    fn progress(&mut self, scope: &Scope, change: impl FnOnce(&mut Progress)) {
        if let Some(progress) = self.snapshot.scopes.get_mut(scope) {
            change(progress);
        }
    }
}

/// An object as it was seen, and since when.
#[derive(Clone, Copy)]
struct Seen<'a> {
    key: &'a ObjectKey,
    meta: &'a Meta,
    since: Instant,
}

fn is_unread(source: &Source) -> bool {
    matches!(&source.condition, Condition::Frozen(frozen) if frozen.is_unread())
}

fn covers(scope: &Scope, key: &ObjectKey) -> bool {
    scope.kind == key.kind && scope.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
}

fn read_annotations(annotations: &Values) -> BTreeMap<String, String> {
    let read = annotations.iter().filter(|(key, _)| annotations::is_read(key));
    read.map(|(key, value)| (key.to_string(), value.reveal().to_owned())).collect()
}

#[cfg(test)]
mod tests;
