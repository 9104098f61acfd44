//! The management cluster in memory, read by the real store.

use super::api::key_of;
use crate::{
    api::key::{Kind, ObjectKey},
    mirror::makers::{Thing, packing},
    object::decode::Notice,
    source::{Scope, Store},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Instant};

pub struct Hub {
    pub objects: BTreeMap<ObjectKey, Value>,
    /// What the store was shown.
    pub shown: BTreeMap<ObjectKey, Value>,
    pub store: Store,
    version: u64,
}

pub fn scope() -> Scope {
    Scope { kind: Kind::Secret, namespace: None }
}

impl Hub {
    pub fn new(now: Instant) -> Self {
        let mut hub =
            Self { objects: BTreeMap::new(), shown: BTreeMap::new(), store: Store::new(packing(), []), version: 0 };
        hub.restart(now);
        hub
    }

    /// Another process reads everything anew.
    pub fn restart(&mut self, now: Instant) {
        self.store = Store::new(packing(), [scope()]);
        self.relist(now);
    }

    pub fn relist(&mut self, now: Instant) {
        self.store.relist_begun(&scope());
        for object in self.objects.values().cloned().collect::<Vec<_>>() {
            self.notice(&object, now);
        }
        self.store.relist_done(&scope());
        self.shown = self.objects.clone();
    }

    /// Creates or updates.
    pub fn put(&mut self, Thing(mut object): Thing, now: Instant) {
        self.stamp(&mut object);
        self.objects.insert(key_of(&object), object.clone());
        self.notice(&object, now);
    }

    pub fn delete(&mut self, key: &ObjectKey) {
        self.shown.remove(key);
        if let Some(object) = self.objects.remove(key) {
            let notice: Notice = serde_json::from_value(object).unwrap();
            self.store.deleted(key.kind, &notice.metadata);
        }
    }

    /// Deleted while nobody watched: a relist will show.
    pub fn lose(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
    }

    fn stamp(&mut self, object: &mut Value) {
        self.version += 1;
        let before = self.objects.get(&key_of(object));
        let uid =
            before.map_or_else(|| json!(format!("source-{}", self.version)), |old| old["metadata"]["uid"].clone());
        object["metadata"]["uid"] = uid;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }

    fn notice(&mut self, object: &Value, now: Instant) {
        self.shown.insert(key_of(object), object.clone());
        let notice: Notice = serde_json::from_value(object.clone()).unwrap();
        if let Some(key) = self.store.noticed(&notice, &scope(), now) {
            assert!(self.store.fetched(&key, serde_json::from_value(object.clone()).unwrap()).is_none());
        }
    }
}
