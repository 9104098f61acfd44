//! What a worker says about itself when asked: names, states and counts, never content. The shapes of `/api/v1` and of
//! `towline plan`.

use crate::api::key::Kind;
use crate::api::names::{ClusterUid, FollowerName, Namespace, ObjectName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One follower.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowerReport {
    /// Its first name, in byte order.
    pub follower: FollowerName,
    /// All its names.
    pub names: Vec<FollowerName>,
    /// Its identity; absent as long as it never answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<ClusterUid>,
    /// Whether it is connected and its copies are known.
    pub connected: bool,
    /// Why it is not, in Towline's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How many targets there are in each state.
    pub copies: BTreeMap<&'static str, usize>,
    /// Objects with our label that are not in their place.
    pub strays: usize,
    /// Targets that are not in step.
    pub rows: Vec<Row>,
}

impl FollowerReport {
    /// A name of which nothing is known but what is wrong with it.
    pub fn silent(name: &FollowerName, problem: Option<String>) -> Self {
        Self {
            follower: name.clone(),
            names: vec![name.clone()],
            cluster_uid: None,
            connected: false,
            problem,
            copies: BTreeMap::new(),
            strays: 0,
            rows: Vec::new(),
        }
    }
}

/// One target, or one write: the fields of the audit log, of a plan and of the API.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// RFC 3339, for writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The follower's first name.
    pub follower: FollowerName,
    /// The follower's identity.
    #[serde(rename = "clusterUID")]
    pub cluster_uid: ClusterUid,
    /// Kind of the copy.
    pub kind: Kind,
    /// Namespace of the copy.
    pub namespace: Namespace,
    /// Name of the copy.
    pub name: ObjectName,
    /// The source, `namespace/name`.
    pub source: String,
    /// The action, or the state of a target that needs none.
    pub action: &'static str,
    /// The class of a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    /// `Done`, `Planned`, or what went wrong.
    pub result: String,
    /// The follower's HTTP answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
}

/// One source, over all followers.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceReport {
    /// Kind.
    pub kind: Kind,
    /// Namespace.
    pub namespace: Namespace,
    /// Name.
    pub name: ObjectName,
    /// `Ready`, `Invalid`, `InvalidPayload`, `Suspended`, `Unreadable` or `RefusedType`.
    pub state: &'static str,
    /// Why it is frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The version that is shipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// How many of its targets are in each state.
    pub copies: BTreeMap<&'static str, usize>,
}

/// The unwanted copies of one follower that wait for approval.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletionReport {
    /// The follower's first name.
    pub follower: FollowerName,
    /// The follower's identity.
    #[serde(rename = "clusterUID")]
    pub cluster_uid: ClusterUid,
    /// What approves exactly these copies.
    pub digest: String,
    /// Why they are held: each reason once.
    pub reasons: Vec<String>,
    /// `Kind/namespace/name/uid`, sorted.
    pub copies: Vec<String>,
}
