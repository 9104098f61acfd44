//! The roles: each with its trust and its policies by name.

use super::{
    Topology,
    names::AccountId,
    policies::{self, Document},
};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// The policy of the hub role.
pub const HUB_POLICY: &str = "towline-assume-followers";
/// The policy of a follower role.
pub const FOLLOWER_POLICY: &str = "towline-describe-clusters";

/// A role as IAM takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Role {
    /// The account that it is in.
    pub account: AccountId,
    /// Its ARN, once it is made.
    pub arn: String,
    /// Its path.
    pub path: String,
    /// Its name.
    pub role_name: String,
    /// What it is for.
    pub description: &'static str,
    /// Who may assume it (`aws iam create-role --assume-role-policy-document`).
    pub trust_policy: Document,
    /// What it may do, by name (`aws iam put-role-policy`).
    pub policies: BTreeMap<&'static str, Document>,
}

/// The role that Towline's pod starts as.
pub fn hub(topology: &Topology) -> Role {
    let role = &topology.hub.role;
    Role {
        account: topology.hub.account.clone(),
        arn: topology.hub_role(),
        path: role.path().to_owned(),
        role_name: role.name().to_owned(),
        description: "Towline: assumes the follower roles",
        trust_policy: policies::hub_trust(topology),
        policies: BTreeMap::from([(HUB_POLICY, policies::hub_policy(topology))]),
    }
}

/// The role in each follower account.
pub fn followers(topology: &Topology) -> Vec<Role> {
    let role = &topology.followers.role;
    let in_account = |(account, clusters): (&AccountId, Vec<String>)| Role {
        account: account.clone(),
        arn: topology.follower_role(account),
        path: role.path().to_owned(),
        role_name: role.name().to_owned(),
        description: FOLLOWER_DESCRIPTION,
        trust_policy: policies::follower_trust(topology),
        policies: BTreeMap::from([(FOLLOWER_POLICY, policies::follower_policy(json!(clusters)))]),
    };
    topology.cluster_arns().map(in_account).collect()
}

/// What a follower role is for.
pub(super) const FOLLOWER_DESCRIPTION: &str = "Towline: looks up the clusters that it copies to, and is let into them";
