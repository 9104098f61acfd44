//! Makers for tests: objects as an API server shows them, sources, parcels, and one observer for all.

use super::{
    desired::Wish,
    observed::{Observed, Observer},
    parcel::{Parcel, Sender},
};
use crate::{
    api::{
        annotations,
        key::{Kind, ObjectKey},
        metadata::MetadataFilter,
        names::ClusterUid,
    },
    follower::member::Member,
    object::{decode::Object, digest::DigestKey},
    source::{Condition, Packing, Shipment, Source},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

pub const HUB: &str = "hub-uid";
pub const CLUSTER: &str = "cluster-uid";
pub const FOLLOWER: &str = "prod";

pub fn digest_key() -> DigestKey {
    static KEY: OnceLock<DigestKey> = OnceLock::new();
    KEY.get_or_init(|| DigestKey::generate().unwrap()).clone()
}

pub fn observer() -> Observer {
    observer_of(CLUSTER)
}

pub fn observer_of(cluster: &str) -> Observer {
    Observer { hub: HUB.into(), cluster: cluster.into(), key: digest_key() }
}

pub fn sender() -> Sender {
    Sender { hub: HUB.into(), cluster_name: "mgmt".into(), instance: "towline".into() }
}

pub fn packing() -> Packing {
    Packing {
        hub: HUB.into(),
        filter: Arc::new(MetadataFilter::default()),
        allowed_types: Arc::default(),
        key: digest_key(),
    }
}

pub fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(Kind::Secret, namespace, name)
}

pub fn member(name: &str) -> Member {
    Member { name: name.into(), labels: Arc::default(), namespace: None, policy: Arc::default() }
}

/// An object in the making.
#[derive(Clone, Debug)]
pub struct Thing(pub Value);

pub fn secret(namespace: &str, name: &str) -> Thing {
    Thing(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"namespace": namespace, "name": name, "uid": format!("uid-of-{namespace}-{name}"),
            "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "data": {"k": "dg=="},
    }))
}

impl Thing {
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["labels"][key] = value.into();
        self
    }

    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][key] = value.into();
        self
    }

    pub fn meta(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"][key] = value.into();
        self
    }

    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.0[field] = value;
        self
    }

    pub fn object(&self) -> Object {
        serde_json::from_value(self.0.clone()).unwrap()
    }

    pub fn observed(&self) -> Observed {
        observer().observe(kind(&self.0), &self.object())
    }

    /// The source that this object is; it must be a sound one.
    pub fn source(&self) -> Source {
        let object = self.object();
        let read = object.metadata.annotations.iter().map(|(key, value)| (key.to_string(), value.reveal().to_owned()));
        let intent = annotations::parse(&read.filter(|(key, _)| annotations::is_read(key)).collect()).unwrap().unwrap();
        Source {
            key: object.metadata.key(kind(&self.0)),
            uid: object.metadata.uid.clone(),
            version: object.metadata.resource_version.clone(),
            created: object.metadata.creation_timestamp.clone().unwrap(),
            since: Instant::now(),
            condition: packing().pack(object, intent),
        }
    }

    /// This object, as a source, addressed to the follower's same-named place.
    pub fn parcel(&self) -> Parcel {
        let source = self.source();
        let target = source.key.clone();
        parcel(&source, &target)
    }
}

pub fn kind(object: &Value) -> Kind {
    if object["kind"] == "Secret" { Kind::Secret } else { Kind::ConfigMap }
}

pub fn shipment(source: &Source) -> &Arc<Shipment> {
    let Condition::Ready(shipment) = &source.condition else { panic!("frozen") };
    shipment
}

pub fn wish() -> Wish {
    Wish { via: FOLLOWER.into(), overwrite: false, create_namespace: false }
}

pub fn parcel(source: &Source, target: &ObjectKey) -> Parcel {
    Parcel::new(&sender(), &ClusterUid::from(CLUSTER), source, shipment(source), (target, &wish()))
}

/// A body that was made for a POST, as the API server stores it.
pub fn stored(body: &[u8], uid: &str, version: &str) -> Thing {
    let mut object: Value = serde_json::from_slice(body).unwrap();
    object["metadata"]["uid"] = uid.into();
    object["metadata"]["resourceVersion"] = version.into();
    Thing(object)
}

/// RFC 7386.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let fields = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
