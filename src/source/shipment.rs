//! One source: what it asks for and what it ships, or why it is frozen.

use crate::{
    api::{
        annotations::{Intent, Invalid},
        key::ObjectKey,
        metadata::MetadataFilter,
        names::{ClusterUid, ResourceVersion, Uid},
    },
    object::{
        decode::{Meta, Object, Values},
        digest::{Digest, DigestKey},
        hidden::Hidden,
        payload::{Misfit, Payload},
    },
};
use std::{fmt, sync::Arc, time::Instant};

/// A ConfigMap or Secret that asks, by annotation, to be copied.
#[derive(Debug)]
pub struct Source {
    /// Kind, namespace, name: what it is known by.
    pub key: ObjectKey,
    /// UID; for people, and to tell a late `DELETED` from a real one.
    pub uid: Uid,
    /// The version of the metadata that this state was read from.
    pub version: ResourceVersion,
    /// `creationTimestamp`, RFC 3339: the older of two sources for one target wins.
    pub created: Arc<str>,
    /// When this process first saw this version.
    pub since: Instant,
    /// Whether it can be shipped.
    pub condition: Condition,
}

impl Source {
    /// What it ships, unless it is frozen.
    pub fn shipment(&self) -> Option<&Arc<Shipment>> {
        match &self.condition {
            Condition::Ready(shipment) => Some(shipment),
            Condition::Frozen(_) => None,
        }
    }
}

/// Whether a source can be shipped.
#[derive(Debug)]
pub enum Condition {
    /// It can.
    Ready(Arc<Shipment>),
    /// It cannot, and every copy whose mark names it stays as it is.
    Frozen(Frozen),
}

/// Why a source's copies are left as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frozen {
    /// An annotation is wrong.
    Invalid(Invalid),
    /// The annotations do not fit the content.
    Misfit(Misfit),
    /// `towline.dev/suspend`.
    Suspended,
    /// The GET has not answered yet.
    NotFetched,
    /// The GET was refused, or what it answered cannot be decoded.
    Unreadable(Arc<str>),
    /// A type that is never copied.
    RefusedType(Arc<str>),
}

impl Frozen {
    /// The source's state as in metrics and `/api/v1/sources`.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Invalid(_) | Self::Misfit(_) => "Invalid",
            Self::Suspended => "Suspended",
            Self::NotFetched | Self::Unreadable(_) => "Unreadable",
            Self::RefusedType(_) => "RefusedType",
        }
    }

    /// Whether the content is not known, so that deletions in its scope wait.
    pub fn is_unread(&self) -> bool {
        matches!(self, Self::NotFetched | Self::Unreadable(_))
    }
}

impl fmt::Display for Frozen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Misfit(misfit) => misfit.fmt(f),
            Self::Suspended => f.write_str("suspended by annotation towline.dev/suspend"),
            Self::NotFetched => f.write_str("not fetched yet"),
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::RefusedType(type_) => {
                write!(
                    f,
                    "type {type_} is never copied (bootstrap tokens and Helm releases can be allowed by --allow-types)"
                )
            }
        }
    }
}

/// What a source asks for and what it ships.
#[derive(Debug)]
pub struct Shipment {
    /// The version of the object that was fetched.
    pub version: ResourceVersion,
    /// The routes.
    pub intent: Intent,
    /// The content.
    pub payload: Payload,
    /// Labels that travel.
    pub labels: Values,
    /// Annotations that travel.
    pub annotations: Values,
    /// Digest over names and values of both.
    pub carried: Digest,
}

/// How sources are made ready: the flags that shape a shipment.
#[derive(Clone)]
pub struct Packing {
    /// The management cluster: objects with its origin label are copies, never sources.
    pub hub: ClusterUid,
    /// Which labels and annotations travel.
    pub filter: Arc<MetadataFilter>,
    /// `--allow-types`.
    pub allowed_types: Arc<[String]>,
    /// The process's digest key.
    pub key: DigestKey,
}

const REFUSED: [&str; 3] =
    ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "helm.sh/release.v1"];
const NEVER_ALLOWED: &str = "kubernetes.io/service-account-token";

impl Packing {
    /// Makes a fetched object ready, or says why it is frozen.
    pub fn pack(&self, object: Object, intent: Intent) -> Condition {
        let Object { metadata, content } = object;
        if let Some(refused) = content.type_.as_deref().filter(|type_| self.refuses(type_)) {
            return Condition::Frozen(Frozen::RefusedType(refused.into()));
        }
        match Payload::pack(content, &intent, &self.key) {
            Ok(payload) => Condition::Ready(Arc::new(self.shipment(metadata, intent, payload))),
            Err(misfit) => Condition::Frozen(Frozen::Misfit(misfit)),
        }
    }

    fn refuses(&self, type_: &str) -> bool {
        let allowed = type_ != NEVER_ALLOWED && self.allowed_types.iter().any(|allowed| allowed == type_);
        REFUSED.contains(&type_) && !allowed
    }

    fn shipment(&self, metadata: Meta, intent: Intent, payload: Payload) -> Shipment {
        let labels = metadata.labels.into_iter().filter(|(key, _)| self.filter.carries_label(key));
        let labels: Values = labels.map(|(key, value)| (key, Hidden::from(value.as_str()))).collect();
        let mut annotations = metadata.annotations;
        annotations.retain(|key, _| self.filter.carries_annotation(key));
        let carried = carried_digest(&self.key, present(&labels), present(&annotations));
        Shipment { version: metadata.resource_version, intent, payload, labels, annotations, carried }
    }
}

/// Digest over the labels and annotations that a source gives to its copies: the list of names, and the value of each, if
/// it is there.
pub fn carried_digest<'a>(
    key: &DigestKey,
    labels: impl ExactSizeIterator<Item = (&'a str, Option<&'a str>)>,
    annotations: impl ExactSizeIterator<Item = (&'a str, Option<&'a str>)>,
) -> Digest {
    let mut hasher = key.start();
    hasher.count(labels.len());
    labels.for_each(|(name, value)| hasher.entry(name, value));
    hasher.count(annotations.len());
    annotations.for_each(|(name, value)| hasher.entry(name, value));
    hasher.finish()
}

fn present(values: &Values) -> impl ExactSizeIterator<Item = (&str, Option<&str>)> {
    values.iter().map(|(name, value)| (&**name, Some(value.reveal())))
}
