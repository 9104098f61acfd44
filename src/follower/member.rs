//! A name by which a follower is known, with all that shapes which copies it gets.

use crate::api::{
    names::{FollowerName, Namespace},
    policy::Policy,
};
use std::{collections::BTreeMap, sync::Arc};

/// One name of a follower.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name.
    pub name: FollowerName,
    /// Labels, for `towline.dev/follower-selector`.
    pub labels: Arc<BTreeMap<String, String>>,
    /// The namespace of the kubeconfig context: copies go there instead of the same-named one.
    pub namespace: Option<Namespace>,
    /// What sources may do here beyond the base routes, and whether those are open.
    pub policy: Arc<Policy>,
}
