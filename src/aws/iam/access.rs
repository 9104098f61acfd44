//! How the follower role is let into each cluster: as member of one group that RBAC knows, and as nothing else.
//!
//! Architecture invariant: no access policy and no group of Kubernetes itself. `system:masters` would pass by all RBAC.

use super::{
    Cluster, Topology,
    names::{AccountId, ClusterName, Region},
};
use serde::Serialize;

/// The group that RBAC in the followers is bound to.
pub const GROUP: &str = "towline";

/// The way into one cluster: an access entry, or lines in `aws-auth` where the cluster still lives by that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAccess {
    /// The account of the cluster.
    pub account: AccountId,
    /// The region of the cluster.
    pub region: Region,
    /// The access entry.
    pub access_entry: AccessEntry,
    /// The same as a command.
    pub command: String,
    /// The same as an item of `mapRoles` in the ConfigMap `kube-system/aws-auth`.
    pub map_roles: String,
}

/// An access entry as `aws eks create-access-entry --cli-input-json` takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessEntry {
    /// The cluster.
    pub cluster_name: ClusterName,
    /// The role, never a session of it.
    pub principal_arn: String,
    /// What RBAC sees it as.
    pub kubernetes_groups: [&'static str; 1],
    /// For everything that is not a node.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// The way into each cluster, by account, region and name.
pub fn access(topology: &Topology) -> Vec<ClusterAccess> {
    let accounts = topology.followers.clusters.iter();
    accounts.flat_map(|(account, clusters)| clusters.iter().map(|cluster| one(topology, account, cluster))).collect()
}

fn one(topology: &Topology, account: &AccountId, cluster: &Cluster) -> ClusterAccess {
    let principal_arn = topology.follower_role(account);
    let without_path = topology.followers.role.arn_without_path(topology.partition, account);
    let Cluster { region, name } = cluster;
    ClusterAccess {
        account: account.clone(),
        region: region.clone(),
        command: format!(
            "aws eks create-access-entry --region {region} --cluster-name {name} --principal-arn {principal_arn} \
             --kubernetes-groups {GROUP} --type STANDARD"
        ),
        map_roles: format!("- rolearn: {without_path}\n  username: {GROUP}\n  groups: [{GROUP}]\n"),
        access_entry: AccessEntry {
            cluster_name: name.clone(),
            principal_arn,
            kubernetes_groups: [GROUP],
            kind: "STANDARD",
        },
    }
}
