//! An API server's JSON of a ConfigMap or Secret, whole or metadata only. Values are [`Hidden`] from the first moment.

use super::hidden::Hidden;
use crate::api::{
    annotations,
    key::{Kind, ObjectKey},
    names::{Namespace, ObjectName, ResourceVersion, Uid},
};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use std::{collections::BTreeMap, sync::Arc};

/// Labels or annotations by key.
pub type Values = BTreeMap<Box<str>, Hidden>;

/// What `metadata` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// Name.
    pub name: ObjectName,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(default = "no_namespace")]
    pub namespace: Namespace,
    /// UID.
    pub uid: Uid,
    /// Version.
    pub resource_version: ResourceVersion,
    /// RFC 3339 in UTC and whole seconds: byte order is time order.
    #[serde(default)]
    pub creation_timestamp: Option<Arc<str>>,
    /// Whether the object is being deleted.
    #[serde(default, rename = "deletionTimestamp", deserialize_with = "is_set")]
    pub deleting: bool,
    /// Labels.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub labels: BTreeMap<Box<str>, String>,
    /// Annotations.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub annotations: Values,
    /// Who wrote last, by `managedFields`.
    #[serde(default, rename = "managedFields", deserialize_with = "last_manager")]
    pub last_manager: Option<Box<str>>,
}

impl Meta {
    /// The key of an object of this kind with this metadata.
    pub fn key(&self, kind: Kind) -> ObjectKey {
        ObjectKey { kind, namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(Hidden::reveal)
    }
}

/// Any object of which only the metadata matters: namespaces, sources in the watch.
#[derive(Clone, Debug, Deserialize)]
pub struct MetaOnly {
    /// Its metadata.
    pub metadata: Meta,
}

/// Metadata in which only the annotations that Towline reads were kept; the others were dropped while decoding.
#[derive(Clone, Debug, Deserialize)]
pub struct Notice {
    /// Its metadata, with its annotations filtered.
    #[serde(deserialize_with = "only_read_annotations")]
    pub metadata: Meta,
}

/// A whole ConfigMap or Secret.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Flat")]
pub struct Object {
    /// Its metadata.
    pub metadata: Meta,
    /// What it holds.
    pub content: Content,
}

/// What a ConfigMap or Secret holds beside its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// `type` of a Secret; `None` for ConfigMaps and where it is absent.
    pub type_: Option<Arc<str>>,
    /// `immutable`.
    pub immutable: bool,
    /// `data`: base64 in a Secret, text in a ConfigMap.
    pub data: Values,
    /// `binaryData` of a ConfigMap: base64.
    pub binary_data: Values,
}

/// The shape on the wire. (`serde(flatten)` would buffer the values in strings that nobody wipes.)
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Flat {
    metadata: Meta,
    #[serde(default, rename = "type")]
    type_: Option<Arc<str>>,
    #[serde(default, deserialize_with = "null_is_empty")]
    immutable: bool,
    #[serde(default, deserialize_with = "null_is_empty")]
    data: Values,
    #[serde(default, deserialize_with = "null_is_empty")]
    binary_data: Values,
}

impl From<Flat> for Object {
    fn from(flat: Flat) -> Self {
        let Flat { metadata, type_, immutable, data, binary_data } = flat;
        Self { metadata, content: Content { type_, immutable, data, binary_data } }
    }
}

fn no_namespace() -> Namespace {
    Namespace::from("")
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn is_set<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(deserializer)?.is_some())
}

fn last_manager<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<str>>, D::Error> {
    #[derive(Deserialize)]
    struct Entry {
        #[serde(default)]
        manager: Box<str>,
        #[serde(default)]
        time: Box<str>,
    }
    let entries = Option::<Vec<Entry>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(entries.into_iter().max_by(|one, two| one.time.cmp(&two.time)).map(|entry| entry.manager))
}

fn only_read_annotations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Meta, D::Error> {
    let mut meta = Meta::deserialize(deserializer)?;
    meta.annotations.retain(|key, _| annotations::is_read(key));
    Ok(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_whole() {
        let object: Object = serde_json::from_str(
            r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7",
                "creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-01T00:00:01Z","annotations":{"x":"y"},
                "managedFields":[{"manager":"late","time":"2026-01-02T00:00:00Z"},{"manager":"early","time":"2026-01-01T00:00:00Z"}]},
                "data":{"k":"dg==","none":null},"type":"Opaque","immutable":true}"#,
        )
        .unwrap();
        assert_eq!(object.metadata.key(Kind::Secret).to_string(), "Secret/n/a");
        assert!(object.metadata.deleting && object.content.immutable);
        assert_eq!(object.metadata.last_manager.as_deref(), Some("late"));
        assert_eq!(object.content.data["k"].reveal(), "dg==");
        assert_eq!(object.content.data["none"].reveal(), "");
        assert_eq!(object.content.type_.as_deref(), Some("Opaque"));
    }

    #[test]
    fn absent_and_null_fields_are_empty() {
        let object: Object = serde_json::from_str(
            r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"7"},"data":null,"immutable":null}"#,
        )
        .unwrap();
        assert!(object.content.data.is_empty() && !object.content.immutable && !object.metadata.deleting);
    }

    #[test]
    fn foreign_annotation_values_are_dropped_while_decoding_a_notice() {
        let notice: Notice = serde_json::from_str(
            r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"7","annotations":
                {"kubectl.kubernetes.io/last-applied-configuration":"{secret}","kubed.appscode.com/sync":""}}}"#,
        )
        .unwrap();
        let kept: Vec<_> = notice.metadata.annotations.keys().map(|key| &**key).collect();
        assert_eq!(kept, ["kubed.appscode.com/sync"]);
    }
}
