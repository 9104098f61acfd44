//! The bodies of the requests that an action becomes. Pure. Every buffer is wiped on drop.

use super::{
    observed::{Observed, Standing},
    parcel::Parcel,
};
use crate::{
    api::{
        annotations::{KUBED, SYNC, SYNC_CONTEXTS, TOWLINE},
        mark::{MANAGED_BY, MANAGED_BY_TOWLINE, ORIGIN, PROPAGATED, SOURCE},
        metadata::MetadataFilter,
        names::Namespace,
    },
    object::{
        decode::{Meta, Values},
        hidden::Hidden,
        payload::{Fields, json_text},
    },
};
use std::collections::BTreeSet;
use zeroize::Zeroizing;

/// A JSON body in the making.
pub type Body = Zeroizing<Vec<u8>>;

/// Labels and annotations that somebody else put on a copy: a Replace carries them over.
#[derive(Default)]
pub struct Keepsakes {
    labels: Values,
    annotations: Values,
}

impl Keepsakes {
    /// What on this object came neither from us nor from the source.
    pub fn of(meta: Meta, observed: &Observed, dropped: &Dropped) -> Self {
        let foreign_label = |key: &str| {
            ![ORIGIN, MANAGED_BY].contains(&key)
                && !observed.propagated.labels.contains(key)
                && !dropped.labels.iter().any(|name| &**name == key)
        };
        let foreign_annotation = |key: &str| {
            ![SOURCE, PROPAGATED].contains(&key)
                && !observed.propagated.annotations.contains(key)
                && !dropped.annotations.iter().any(|name| &**name == key)
        };
        let labels = meta.labels.into_iter().filter(|(key, _)| foreign_label(key));
        let mut annotations = meta.annotations;
        annotations.retain(|key, _| foreign_annotation(key));
        Self { labels: labels.map(|(key, value)| (key, Hidden::from(value.as_str()))).collect(), annotations }
    }
}

/// Names of labels and annotations that an adoption takes off: kubed's own, and what kubed should not have copied.
#[derive(Default)]
pub struct Dropped {
    labels: Vec<Box<str>>,
    annotations: Vec<Box<str>>,
}

/// Whether an adoption leaves kubed's marks (`--keep-kubed-marks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubedMarks {
    /// They go.
    Remove,
    /// They stay, for a way back.
    Keep,
}

/// They make a follower's own kubed fan the copy out further: not ours to take away.
const KUBED_ROUTES: [&str; 2] = [SYNC, SYNC_CONTEXTS];

impl Dropped {
    /// What an adoption of this object takes off.
    pub fn on_adoption(observed: &Observed, filter: &MetadataFilter, marks: KubedMarks) -> Self {
        let Standing::Foreign(foreign) = &observed.standing else { return Self::default() };
        let goes = |key: &str, carried: bool| {
            if key.starts_with(TOWLINE) {
                false
            } else if key.starts_with(KUBED) {
                marks == KubedMarks::Remove && !KUBED_ROUTES.contains(&key)
            } else {
                !carried
            }
        };
        let chosen = |names: &[Box<str>], carries: &dyn Fn(&str) -> bool| {
            names.iter().filter(|name| goes(name, carries(name))).cloned().collect()
        };
        Self {
            labels: chosen(&foreign.labels, &|key| filter.carries_label(key)),
            annotations: chosen(&foreign.annotations, &|key| filter.carries_annotation(key)),
        }
    }
}

/// A new copy. `keepsakes` are of the object that it replaces.
pub fn create(parcel: &Parcel, keepsakes: &Keepsakes) -> Body {
    let payload = &parcel.shipment.payload;
    let mut json = Json::with_room(room(parcel) + values_room(&keepsakes.labels) + values_room(&keepsakes.annotations));
    json.object(|json| {
        json.text("apiVersion", "v1");
        json.text("kind", parcel.target.kind.as_str());
        json.nested("metadata", |json| {
            json.text("namespace", parcel.target.namespace.as_str());
            json.text("name", parcel.target.name.as_str());
            json.nested("labels", |json| labels(json, parcel, &keepsakes.labels));
            json.nested("annotations", |json| annotations(json, parcel, &keepsakes.annotations));
        });
        if let Some(type_) = &payload.type_ {
            json.text("type", type_);
        }
        if payload.immutable {
            json.raw("immutable", b"true");
        }
        fields(json, "data", &payload.data, &[]);
        fields(json, "binaryData", &payload.binary_data, &[]);
    });
    json.finish()
}

/// A merge patch that brings an observed object in step: what is desired, and nulls for what we once propagated and for
/// data keys that should not be there. `dropped` goes, too.
pub fn update(parcel: &Parcel, observed: &Observed, dropped: &Dropped) -> Body {
    let payload = &parcel.shipment.payload;
    let shipment = &parcel.shipment;
    let old = &observed.propagated;
    let no_labels = gone(old.labels.iter().map(String::as_str).chain(names(&dropped.labels)), &shipment.labels);
    let no_annotations =
        gone(old.annotations.iter().map(String::as_str).chain(names(&dropped.annotations)), &shipment.annotations);
    let nulls: usize = no_labels.iter().chain(&no_annotations).map(|key| key.len() + 8).sum();
    let keys: usize = observed.data_keys.iter().chain(&observed.binary_keys).map(|key| key.len() + 8).sum();
    let mut json = Json::with_room(room(parcel) + nulls + keys);
    json.object(|json| {
        json.nested("metadata", |json| {
            json.text("resourceVersion", observed.version.as_str());
            json.nested("labels", |json| {
                labels(json, parcel, &Values::new());
                json.nulls(no_labels.iter().copied().filter(|key| ![ORIGIN, MANAGED_BY].contains(key)));
            });
            json.nested("annotations", |json| {
                annotations(json, parcel, &Values::new());
                json.nulls(no_annotations.iter().copied().filter(|key| ![SOURCE, PROPAGATED].contains(key)));
                if parcel.propagated().encode().is_none() {
                    json.nulls([PROPAGATED].into_iter());
                }
            });
        });
        if let Some(type_) = &payload.type_ {
            json.text("type", type_);
        }
        json.raw("immutable", if payload.immutable { b"true" } else { b"null" });
        fields(json, "data", &payload.data, &observed.data_keys);
        fields(json, "binaryData", &payload.binary_data, &observed.binary_keys);
    });
    json.finish()
}

/// A merge patch that strips the marks and leaves the object to whoever wants it.
pub fn release(observed: &Observed) -> Body {
    let mut json = Json::with_room(512);
    json.object(|json| {
        json.nested("metadata", |json| {
            json.text("resourceVersion", observed.version.as_str());
            json.nested("labels", |json| json.nulls([ORIGIN, MANAGED_BY].into_iter()));
            json.nested("annotations", |json| json.nulls([SOURCE, PROPAGATED].into_iter()));
        });
    });
    json.finish()
}

/// The options of a DELETE that hits only what was observed.
pub fn delete(observed: &Observed) -> Body {
    let mut json = Json::with_room(256);
    json.object(|json| {
        json.text("apiVersion", "v1");
        json.text("kind", "DeleteOptions");
        json.nested("preconditions", |json| {
            json.text("uid", observed.uid.as_str());
            json.text("resourceVersion", observed.version.as_str());
        });
    });
    json.finish()
}

/// A namespace that a source was granted to create.
pub fn namespace(name: &Namespace) -> Body {
    let mut json = Json::with_room(256);
    json.object(|json| {
        json.text("apiVersion", "v1");
        json.text("kind", "Namespace");
        json.nested("metadata", |json| {
            json.text("name", name.as_str());
            json.nested("labels", |json| json.text(MANAGED_BY, MANAGED_BY_TOWLINE));
        });
    });
    json.finish()
}

fn labels(json: &mut Json, parcel: &Parcel, keepsakes: &Values) {
    let carried = &parcel.shipment.labels;
    json.text(ORIGIN, parcel.hub.as_str());
    if !carried.contains_key(MANAGED_BY) {
        json.text(MANAGED_BY, MANAGED_BY_TOWLINE);
    }
    json.values(carried);
    json.values_unless(keepsakes, carried);
}

fn annotations(json: &mut Json, parcel: &Parcel, keepsakes: &Values) {
    json.text(SOURCE, &parcel.mark.encode());
    if let Some(propagated) = parcel.propagated().encode() {
        json.text(PROPAGATED, &propagated);
    }
    json.values(&parcel.shipment.annotations);
    json.values_unless(keepsakes, &parcel.shipment.annotations);
}

/// `data` or `binaryData`: what is desired, and null for every key that is there and should not be.
fn fields(json: &mut Json, name: &str, fields: &Fields, there: &[Box<str>]) {
    let extra: Vec<&str> =
        there.iter().filter(|key| fields.keys.binary_search(key).is_err()).map(|key| &**key).collect();
    if fields.keys.is_empty() && extra.is_empty() {
        return;
    }
    json.nested(name, |json| {
        if !fields.keys.is_empty() {
            json.separate();
            json.body.extend_from_slice(fields.members());
        }
        json.nulls(extra.into_iter());
    });
}

fn names(names: &[Box<str>]) -> impl Iterator<Item = &str> {
    names.iter().map(|name| &**name)
}

fn gone<'a>(old: impl Iterator<Item = &'a str>, new: &Values) -> BTreeSet<&'a str> {
    old.filter(|key| !new.contains_key(*key)).collect()
}

/// Enough for everything a parcel adds to a body, so that the buffer never grows and leaves an unwiped copy behind.
fn room(parcel: &Parcel) -> usize {
    let shipment = &parcel.shipment;
    let payload = shipment.payload.data.members().len() + shipment.payload.binary_data.members().len();
    let metadata = values_room(&shipment.labels) + values_room(&shipment.annotations);
    let names: usize = shipment.labels.keys().chain(shipment.annotations.keys()).map(|key| 2 * key.len() + 8).sum();
    payload + metadata + names + 2 * parcel.mark.encode().len() + 2048
}

fn values_room(values: &Values) -> usize {
    values.iter().map(|(key, value)| 6 * (key.len() + value.reveal().len()) + 8).sum()
}

/// Writes JSON into a buffer that is wiped on drop.
struct Json {
    body: Body,
    room: usize,
}

impl Json {
    fn with_room(room: usize) -> Self {
        Self { body: Zeroizing::new(Vec::with_capacity(room)), room }
    }

    fn finish(self) -> Body {
        debug_assert!(self.body.len() <= self.room, "the buffer grew, and left an unwiped copy behind");
        self.body
    }

    fn object(&mut self, inside: impl FnOnce(&mut Self)) {
        self.body.push(b'{');
        inside(self);
        self.body.push(b'}');
    }

    fn nested(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
        self.key(key);
        self.object(inside);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        json_text(&mut self.body, value);
    }

    fn raw(&mut self, key: &str, json: &[u8]) {
        self.key(key);
        self.body.extend_from_slice(json);
    }

    fn values(&mut self, values: &Values) {
        self.values_unless(values, &Values::new());
    }

    fn values_unless(&mut self, values: &Values, there: &Values) {
        for (key, value) in values.iter().filter(|(key, _)| !there.contains_key(*key)) {
            self.text(key, value.reveal());
        }
    }

    fn nulls<'a>(&mut self, keys: impl Iterator<Item = &'a str>) {
        for key in keys {
            self.raw(key, b"null");
        }
    }

    fn key(&mut self, key: &str) {
        self.separate();
        json_text(&mut self.body, key);
        self.body.push(b':');
    }

    fn separate(&mut self) {
        if !matches!(self.body.last(), Some(b'{') | None) {
            self.body.push(b',');
        }
    }
}

#[cfg(test)]
mod tests;
