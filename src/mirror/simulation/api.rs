//! A follower's API server in memory: versions, uids, preconditions, and a watch by our label, with the answers that the
//! real one gives (DESIGN §13).

use crate::{
    api::{key::ObjectKey, mark::ORIGIN},
    mirror::{
        makers::{HUB, kind, merge},
        namespaces::NamespaceInfo,
    },
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// What a watch says.
#[derive(Clone)]
pub enum Event {
    Seen(Value),
    Gone(Value),
    Namespace(String, NamespaceInfo),
    NamespaceGone(String),
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Missing,
    Exists,
    Stale,
    Invalid,
    NoNamespace,
}

#[derive(Default)]
pub struct Api {
    pub objects: BTreeMap<ObjectKey, Value>,
    pub namespaces: BTreeMap<String, NamespaceInfo>,
    pub events: VecDeque<Event>,
    /// An admission webhook.
    pub webhook: Option<fn(&mut Value)>,
    pub version: u64,
    uids: u64,
}

pub fn key_of(object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap().to_owned();
    ObjectKey::new(kind(object), text("namespace"), text("name"))
}

pub fn is_labelled(object: &Value) -> bool {
    object["metadata"]["labels"][ORIGIN] == HUB
}

impl Api {
    pub fn get(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key)
    }

    pub fn post(&mut self, body: &[u8]) -> Result<Value, Refusal> {
        let mut object: Value = serde_json::from_slice(body).unwrap();
        assert!(object["metadata"]["uid"].is_null() && object["metadata"]["resourceVersion"].is_null(), "500");
        let key = key_of(&object);
        match self.namespaces.get(key.namespace.as_str()) {
            None => return Err(Refusal::NoNamespace),
            Some(namespace) if namespace.terminating => return Err(Refusal::NoNamespace),
            Some(_) => {}
        }
        if self.objects.contains_key(&key) {
            return Err(Refusal::Exists);
        }
        if let Some(webhook) = self.webhook {
            webhook(&mut object);
        }
        Ok(self.put(object))
    }

    pub fn patch(&mut self, key: &ObjectKey, body: &[u8]) -> Result<Value, Refusal> {
        let patch: Value = serde_json::from_slice(body).unwrap();
        let version = patch["metadata"]["resourceVersion"].as_str().expect("every patch is conditional");
        assert!(!version.is_empty() && version != "0", "every patch is conditional");
        let before = self.objects.get(key).ok_or(Refusal::Missing)?;
        if before["metadata"]["resourceVersion"] != version {
            return Err(Refusal::Stale);
        }
        let mut after = before.clone();
        merge(&mut after, &patch);
        if let Some(webhook) = self.webhook {
            webhook(&mut after);
        }
        let immutable = before["immutable"] == true;
        let content = |object: &Value| [&object["data"], &object["binaryData"], &object["immutable"]].map(Clone::clone);
        if after["type"] != before["type"] || (immutable && content(&after) != content(before)) {
            return Err(Refusal::Invalid);
        }
        if after == *before {
            return Ok(after);
        }
        Ok(self.put(after))
    }

    pub fn delete(&mut self, key: &ObjectKey, body: &[u8]) -> Result<(), Refusal> {
        let options: Value = serde_json::from_slice(body).unwrap();
        let object = self.objects.get(key).ok_or(Refusal::Missing)?;
        for field in ["uid", "resourceVersion"] {
            let wanted = options["preconditions"][field].as_str().expect("every deletion is conditional");
            if object["metadata"][field] != wanted {
                return Err(Refusal::Stale);
            }
        }
        self.remove(key);
        Ok(())
    }

    /// Stores an object, whoever it is that writes it.
    pub fn put(&mut self, mut object: Value) -> Value {
        let key = key_of(&object);
        let before = self.objects.get(&key);
        object["metadata"]["uid"] = match before {
            Some(before) => before["metadata"]["uid"].clone(),
            None => {
                self.uids += 1;
                json!(format!("uid-{}", self.uids))
            }
        };
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let before = self.objects.insert(key, object.clone());
        if is_labelled(&object) {
            self.events.push_back(Event::Seen(object.clone()));
        } else if let Some(before) = before.filter(is_labelled) {
            self.events.push_back(Event::Gone(before));
        }
        object
    }

    pub fn remove(&mut self, key: &ObjectKey) {
        let Some(before) = self.objects.remove(key) else { return };
        self.version += 1;
        if is_labelled(&before) {
            self.events.push_back(Event::Gone(before));
        }
    }

    /// Changes an object in place, whoever it is that does.
    pub fn edit(&mut self, key: &ObjectKey, change: impl FnOnce(&mut Value)) {
        if let Some(mut object) = self.objects.get(key).cloned() {
            change(&mut object);
            self.put(object);
        }
    }

    pub fn namespace(&mut self, name: &str, labels: &[(&str, &str)], accepts: bool) {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let info = NamespaceInfo { labels: Arc::new(labels), accepts, terminating: false };
        self.namespaces.insert(name.to_owned(), info.clone());
        self.version += 1;
        self.events.push_back(Event::Namespace(name.to_owned(), info));
    }

    pub fn remove_namespace(&mut self, name: &str) {
        if self.namespaces.remove(name).is_none() {
            return;
        }
        let within: Vec<ObjectKey> =
            self.objects.keys().filter(|key| key.namespace.as_str() == name).cloned().collect();
        within.iter().for_each(|key| self.remove(key));
        self.events.push_back(Event::NamespaceGone(name.to_owned()));
    }
}
