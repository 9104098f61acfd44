//! What a follower's API server last showed for a target: everything that a plan needs, and no value. Pure.

use crate::{
    api::{
        annotations::{self, DeletionPolicy},
        key::{Kind, ObjectKey},
        mark::{self, KubedOrigin, Propagated, Standing as MarkStanding},
        names::{ClusterUid, FollowerName, Namespace, ObjectName, ResourceVersion, Uid},
    },
    object::{
        decode::{Meta, Object},
        digest::{Digest, DigestKey, OPAQUE},
        hidden::Hidden,
        tls::{self, Sound},
    },
    source::shipment::carried_digest,
};
use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

/// An object at a target.
#[derive(Clone, Debug)]
pub struct Observed {
    /// UID.
    pub uid: Uid,
    /// Version: what every write is conditional on.
    pub version: ResourceVersion,
    /// Whose it is.
    pub standing: Standing,
    /// Digest over type, immutable, data and binaryData.
    pub content: Digest,
    /// Digest over all that must be in step.
    pub whole: Digest,
    /// `type`.
    pub type_: Option<Arc<str>>,
    /// `immutable`.
    pub immutable: bool,
    /// Keys of `data`.
    pub data_keys: Box<[Box<str>]>,
    /// Keys of `binaryData`.
    pub binary_keys: Box<[Box<str>]>,
    /// What came from the source, as the copy itself says.
    pub propagated: Propagated,
    /// Annotated `towline.dev/hold: "true"`.
    pub hold: bool,
    /// Being deleted.
    pub deleting: bool,
    /// Its TLS pair, if it has a sound one.
    pub tls: Option<Sound>,
    /// Who wrote last, if not we.
    pub last_manager: Option<Box<str>>,
}

impl Observed {
    /// Whether it is a copy, be it a damaged one: only these are watched, and kept.
    pub fn is_copy(&self) -> bool {
        matches!(self.standing, Standing::Ours(_) | Standing::Damaged)
    }
}

/// Whose an object is.
#[derive(Clone, Debug)]
pub enum Standing {
    /// Our copy.
    Ours(CopyMark),
    /// Our label; the mark is missing, cannot be parsed or is wrong only in the target's cluster.
    Damaged,
    /// Our label; the mark names another namespace or name.
    Stray,
    /// Not ours.
    Foreign(Box<Foreign>),
}

/// What the plan needs of a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyMark {
    /// The source.
    pub source: ObjectKey,
    /// By which name the follower was asked for.
    pub follower: FollowerName,
    /// What happens to the copy when its source is gone.
    pub policy: DeletionPolicy,
    /// The source's own deletion delay, if it was annotated.
    pub delay: Option<Duration>,
}

/// An object that Towline did not make.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// Another hub's copy, taken over from us, a source itself: `Overwrite` never applies.
    pub untouchable: bool,
    /// It was ours until somebody removed the label.
    pub taken_over: bool,
    /// The other hub whose copy it is, if its mark fits the place.
    pub copy_of: Option<ClusterUid>,
    /// kubed's mark.
    pub kubed: Option<KubedOrigin>,
    /// Names of its labels.
    pub labels: Box<[Box<str>]>,
    /// Names of its annotations.
    pub annotations: Box<[Box<str>]>,
}

/// Where and for whom objects are observed.
#[derive(Clone)]
pub struct Observer {
    /// The management cluster.
    pub hub: ClusterUid,
    /// The follower.
    pub cluster: ClusterUid,
    /// The process's digest key.
    pub key: DigestKey,
}

impl Observer {
    /// Reads an object. Values end here: only digests and names go on.
    pub fn observe(&self, kind: Kind, object: &Object) -> Observed {
        let Object { metadata: meta, content } = object;
        let standing = self.standing(kind, meta);
        let propagated = meta.annotation(mark::PROPAGATED).map(Propagated::parse).unwrap_or_default();
        let digest = self.key.content(content);
        let carried = self.carried(meta, &propagated);
        Observed {
            uid: meta.uid.clone(),
            version: meta.resource_version.clone(),
            whole: self.whole(digest, carried, &meta.key(kind), &standing),
            content: digest,
            standing,
            type_: content.type_.as_ref().map(shared),
            immutable: content.immutable,
            data_keys: content.data.keys().cloned().collect(),
            binary_keys: content.binary_data.keys().cloned().collect(),
            propagated,
            hold: meta.annotation(mark::HOLD) == Some("true"),
            deleting: meta.deleting,
            tls: tls::examine(content).and_then(Result::ok),
            last_manager: meta.last_manager.clone().filter(|manager| **manager != *FIELD_MANAGER),
        }
    }

    /// The digest that a copy of this content, with these carried labels and annotations and this mark, has here.
    pub fn in_step(&self, content: Digest, carried: Digest, target: &ObjectKey, mark: &CopyMark) -> Digest {
        let mut hasher = self.key.start();
        hasher.digest(content);
        hasher.digest(carried);
        for text in [mark.source.kind.as_str(), mark.source.namespace.as_str(), mark.source.name.as_str()] {
            hasher.text(text);
        }
        for text in [self.cluster.as_str(), target.namespace.as_str(), target.name.as_str()] {
            hasher.text(text);
        }
        hasher.flag(mark.policy == DeletionPolicy::Orphan);
        hasher.maybe(mark.delay.map(|delay| delay.as_millis().to_string()).as_deref());
        hasher.finish()
    }

    fn whole(&self, content: Digest, carried: Digest, key: &ObjectKey, standing: &Standing) -> Digest {
        match standing {
            Standing::Ours(mark) => self.in_step(content, carried, key, mark),
            _ => Digest::default(),
        }
    }

    fn carried(&self, meta: &Meta, propagated: &Propagated) -> Digest {
        let label = |name: &String| meta.labels.get(name.as_str()).map(String::as_str);
        let annotation = |name: &String| meta.annotations.get(name.as_str()).map(Hidden::reveal);
        carried_digest(
            &self.key,
            propagated.labels.iter().map(|name| (name.as_str(), label(name))),
            propagated.annotations.iter().map(|name| (name.as_str(), annotation(name))),
        )
    }

    fn standing(&self, kind: Kind, meta: &Meta) -> Standing {
        let key = meta.key(kind);
        let origin = meta.labels.get(mark::ORIGIN).map(String::as_str);
        match mark::standing(&self.hub, &self.cluster, &key, origin, meta.annotation(mark::SOURCE)) {
            MarkStanding::Ours(mark) => Standing::Ours(compact(mark, &key)),
            MarkStanding::Damaged(_) => Standing::Damaged,
            MarkStanding::Stray => Standing::Stray,
            MarkStanding::Foreign => Standing::Foreign(Box::new(self.foreign(&key, meta))),
        }
    }

    fn foreign(&self, key: &ObjectKey, meta: &Meta) -> Foreign {
        let other_hubs = meta.labels.contains_key(mark::ORIGIN);
        let taken_over = !other_hubs && meta.annotations.contains_key(mark::SOURCE);
        let is_source =
            self.hub == self.cluster && meta.annotations.keys().any(|key| annotations::SOURCE_KEYS.contains(&&**key));
        Foreign {
            untouchable: other_hubs || taken_over || is_source,
            taken_over,
            copy_of: self.other_hub(key, meta),
            kubed: KubedOrigin::read(
                |key| meta.labels.get(key).map(String::as_str),
                meta.annotation(mark::KUBED_ORIGIN),
            ),
            labels: meta.labels.keys().cloned().collect(),
            annotations: meta.annotations.keys().cloned().collect(),
        }
    }
}

impl Observer {
    /// The other hub whose copy this is.
    fn other_hub(&self, key: &ObjectKey, meta: &Meta) -> Option<ClusterUid> {
        let origin = meta.labels.get(mark::ORIGIN)?.as_str();
        let hub = ClusterUid::from(origin);
        let standing = mark::standing(&hub, &self.cluster, key, Some(origin), meta.annotation(mark::SOURCE));
        matches!(standing, MarkStanding::Ours(_)).then_some(hub)
    }
}

/// By this name we write.
const FIELD_MANAGER: &str = "towline";

/// The types that nearly all Secrets have, once in memory and not once per copy.
static COMMON_TYPES: LazyLock<[Arc<str>; 3]> =
    LazyLock::new(|| [OPAQUE, tls::TLS_TYPE, "kubernetes.io/dockerconfigjson"].map(Arc::from));

fn shared(type_: &Arc<str>) -> Arc<str> {
    COMMON_TYPES.iter().find(|common| *common == type_).unwrap_or(type_).clone()
}

/// Keeps of a mark what a plan needs; names that equal the target's share its memory.
fn compact(mark: mark::Mark, target: &ObjectKey) -> CopyMark {
    let namespace: Namespace = mark.source.namespace;
    let name: ObjectName = mark.source.name;
    CopyMark {
        source: ObjectKey {
            kind: target.kind,
            namespace: if namespace == target.namespace { target.namespace.clone() } else { namespace },
            name: if name == target.name { target.name.clone() } else { name },
        },
        follower: mark.target.follower,
        policy: mark.deletion_policy,
        delay: mark.deletion_delay,
    }
}
