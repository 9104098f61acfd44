//! The naive judge: what must be true of a follower when everything has come to rest, reckoned from scratch and from raw
//! JSON, by rules that are simple because the objects of the random test are.

use super::{World, api::is_labelled};
use crate::{
    api::{
        key::ObjectKey,
        mark::{HOLD, Mark, SOURCE},
    },
    mirror::makers::CLUSTER,
    mirror::plan::State,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a source wants here.
#[derive(Debug, PartialEq)]
pub enum Wants {
    /// Nothing: it is not a source, or leads elsewhere.
    Nothing,
    /// Its copies stay as they are.
    Frozen,
    /// These targets; `kept`: copies elsewhere stay as they are.
    Targets { targets: BTreeSet<ObjectKey>, kept: bool },
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// The members' names and whether their rules grant everything.
pub type Names = Vec<(&'static str, bool)>;

/// `namespaces`: those that carry the label `team=x`.
pub fn wants(key: &ObjectKey, object: &Value, names: &Names, namespaces: &BTreeSet<String>) -> Wants {
    let of = |name: &str| annotation(object, &format!("towline.dev/{name}"));
    if of("suspend").is_some() || of("validate") == Some("perhaps") {
        return Wants::Frozen;
    }
    let (followers, contexts) = (of("followers"), annotation(object, "kubed.appscode.com/sync-contexts"));
    if followers.is_none() && contexts.is_none() {
        return Wants::Nothing;
    }
    let (mut targets, mut kept) = (BTreeSet::new(), false);
    for (name, rules) in names {
        if followers != Some("*") && followers != Some(*name) && contexts != Some(*name) {
            continue;
        }
        let (to, selected) = (of("target-namespaces"), of("target-namespace-selector").is_some());
        let needs_rule = to.is_some() || selected && !namespaces.is_empty() || of("target-name").is_some();
        if needs_rule && !rules {
            kept = true;
            continue;
        }
        let into: Vec<&str> = match to {
            Some(to) => vec![to],
            None if selected => namespaces.iter().map(String::as_str).collect(),
            None => vec![key.namespace.as_str()],
        };
        let copy = of("target-name").unwrap_or(key.name.as_str());
        targets.extend(into.into_iter().map(|namespace| ObjectKey::new(key.kind, namespace, copy)));
    }
    Wants::Targets { targets, kept }
}

/// Our mark, if the object is our copy.
pub fn mark(key: &ObjectKey, object: &Value) -> Option<Mark> {
    let mark = annotation(object, SOURCE).and_then(Mark::parse).filter(|_| is_labelled(object))?;
    let here = (&mark.target.namespace, &mark.target.name) == (&key.namespace, &key.name);
    (here && mark.target.cluster.as_str() == CLUSTER).then_some(mark)
}

pub fn is_held(object: &Value) -> bool {
    annotation(object, HOLD) == Some("true")
}

impl World {
    pub fn selected(&self) -> BTreeSet<String> {
        let chosen = self.api.namespaces.iter().filter(|(_, info)| info.labels.contains_key("team"));
        chosen.map(|(name, _)| name.clone()).collect()
    }

    fn is_late(&self, source: &ObjectKey, other: &ObjectKey, key: &ObjectKey) -> bool {
        let has_arrived =
            self.api.get(other).and_then(|object| mark(other, object)).is_some_and(|mark| mark.source.key() == *source);
        other.namespace == key.namespace && !(has_arrived && self.state(other) == Some(State::InStep))
    }

    /// Panics unless the follower is what the hub says.
    pub fn judge(&self, names: &Names, foreign: &BTreeMap<ObjectKey, Value>) {
        let selected = self.selected();
        let wants = |source: &ObjectKey| match self.hub.objects.get(source) {
            Some(object) => wants(source, object, names, &selected),
            None => Wants::Nothing,
        };
        let wanting = |key: &ObjectKey| -> Vec<ObjectKey> {
            let is_in =
                |source: &&ObjectKey| matches!(wants(source), Wants::Targets { targets, .. } if targets.contains(key));
            self.hub.objects.keys().filter(is_in).cloned().collect()
        };
        let all_targets = self.hub.objects.keys().flat_map(|source| match wants(source) {
            Wants::Targets { targets, .. } => targets,
            _ => BTreeSet::new(),
        });
        let all: BTreeSet<ObjectKey> = all_targets.chain(self.api.objects.keys().cloned()).collect();
        for key in all {
            let open = self.api.namespaces.get(key.namespace.as_str()).is_some_and(|info| info.accepts);
            let wanting = wanting(&key);
            let context = || format!("{key}, {:?}, wanted by {wanting:?}", self.state(&key));
            let Some(object) = self.api.get(&key) else {
                assert!(wanting.is_empty() || !open, "missing: {}", context());
                continue;
            };
            let Some(mark) = mark(&key, object) else {
                assert!(foreign.get(&key).is_some_and(|stored| stored == object), "touched: {}", context());
                continue;
            };
            if is_held(object) {
                continue;
            }
            let source = mark.source.key();
            match wants(&source) {
                Wants::Frozen => {}
                _ if wanting.contains(&source) => {
                    let of = &self.hub.objects[&source];
                    let same = (&of["data"], &of["type"]) == (&object["data"], &object["type"]);
                    assert!(same || !open, "not in step with {source}: {}", context());
                }
                Wants::Targets { kept: true, .. } => {}
                // The old name stays while something keeps the new one from being made.
                Wants::Targets { targets, .. } if targets.iter().any(|other| self.is_late(&source, other, &key)) => {}
                _ if !open && !wanting.is_empty() => {}
                _ => panic!("an unwanted copy of {source} is left: {}", context()),
            }
        }
    }
}
