//! One source's content addressed to one target. Pure.

use super::{desired::Wish, observed::CopyMark};
use crate::{
    api::{
        annotations::DeletionPolicy,
        key::ObjectKey,
        mark::{Mark, MarkSource, MarkTarget, Propagated},
        names::ClusterUid,
    },
    source::{Shipment, Source},
};
use std::sync::Arc;

/// Who writes: the same for all copies of this process.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The management cluster.
    pub hub: ClusterUid,
    /// `--cluster-name`: for people.
    pub cluster_name: Arc<str>,
    /// `--instance`: for people.
    pub instance: Arc<str>,
}

/// What is written at a target.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The target.
    pub target: ObjectKey,
    /// The management cluster.
    pub hub: ClusterUid,
    /// Content, labels and annotations.
    pub shipment: Arc<Shipment>,
    /// The mark.
    pub mark: Mark,
}

/// What a copy's mark will say, as far as a plan needs it.
pub fn copy_mark(source: &ObjectKey, shipment: &Shipment, wish: &Wish) -> CopyMark {
    CopyMark {
        source: source.clone(),
        follower: wish.via.clone(),
        policy: shipment.intent.deletion_policy.unwrap_or(DeletionPolicy::Delete),
        delay: shipment.intent.deletion_delay,
    }
}

impl Parcel {
    /// Addresses a shipment.
    pub fn new(
        sender: &Sender,
        cluster: &ClusterUid,
        source: &Source,
        shipment: &Arc<Shipment>,
        to: (&ObjectKey, &Wish),
    ) -> Self {
        let (target, wish) = to;
        let CopyMark { follower, policy, delay, .. } = copy_mark(&source.key, shipment, wish);
        let mark = Mark {
            instance: sender.instance.to_string(),
            source: MarkSource {
                cluster: sender.cluster_name.to_string(),
                kind: source.key.kind,
                namespace: source.key.namespace.clone(),
                name: source.key.name.clone(),
                uid: source.uid.clone(),
                resource_version: shipment.version.clone(),
            },
            target: MarkTarget {
                cluster: cluster.clone(),
                follower,
                namespace: target.namespace.clone(),
                name: target.name.clone(),
            },
            deletion_policy: policy,
            deletion_delay: delay,
        };
        Self { target: target.clone(), hub: sender.hub.clone(), shipment: shipment.clone(), mark }
    }

    /// The names of what the source gives to the copy.
    pub fn propagated(&self) -> Propagated {
        let names = |values: &crate::object::decode::Values| values.keys().map(ToString::to_string).collect();
        Propagated { labels: names(&self.shipment.labels), annotations: names(&self.shipment.annotations) }
    }
}
