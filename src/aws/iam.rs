//! The IAM that Towline needs, and no more, as documents for people to read and apply. Nothing here talks to AWS.
//!
//! ```text
//!                 trust: IRSA | Pod Identity                 trust: the hub role
//!   Towline's pod ──────────────────────────▶ hub role ────────────────────────▶ follower role, one per account
//!                                              policy: sts:AssumeRole on             policy: eks:DescribeCluster on
//!                                              exactly the follower roles            exactly the clusters named
//!                                                                                      │ access entry | mapRoles
//!                                                                                      ▼
//!                                                                                group `towline` ◀── RBAC
//! ```
//! [`policies`] says what is granted; [`roles`] puts the policies into roles; [`access`] lets the roles into clusters;
//! [`terraform`] and [`cloudformation`] are other spellings of the same documents. Values come in by [`names`].

pub mod access;
pub mod cloudformation;
pub mod names;
pub mod policies;
pub mod roles;
pub mod terraform;

use crate::api::names::Namespace;
use names::{AccountId, Audience, ClusterName, ExternalId, Issuer, Partition, Region, RoleName, ServiceAccountName};
use std::collections::{BTreeMap, BTreeSet};

/// Who is who: the management cluster's side, and the accounts and clusters that Towline goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The partition of all accounts: no role can be assumed across partitions.
    pub partition: Partition,
    /// Where Towline's pod runs.
    pub hub: Hub,
    /// Where it goes to.
    pub followers: Followers,
}

/// The side of the management cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    /// The account of the hub role.
    pub account: AccountId,
    /// The role that Towline's pod starts as.
    pub role: RoleName,
    /// How the pod comes by it.
    pub identity: Identity,
    /// Towline's own namespace.
    pub namespace: Namespace,
    /// Its ServiceAccount there.
    pub service_account: ServiceAccountName,
}

/// How a pod comes by its role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// IAM roles for service accounts: a token that the cluster's issuer signed.
    Irsa {
        /// The cluster's OIDC issuer.
        issuer: Issuer,
        /// Who the token is for: `sts.amazonaws.com` in all partitions, unless the ServiceAccount says otherwise.
        audience: Audience,
    },
    /// EKS Pod Identity: an agent on the node.
    PodIdentity {
        /// The only cluster whose pods may have the role; `None`: any of the account.
        cluster: Option<Cluster>,
    },
}

/// The side of the followers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followers {
    /// The role in each follower account.
    pub role: RoleName,
    /// What the hub role must say to assume it.
    pub external_id: Option<ExternalId>,
    /// Whom it trusts.
    pub trust: Trust,
    /// The clusters of each account; at least one.
    pub clusters: BTreeMap<AccountId, BTreeSet<Cluster>>,
}

/// Whom a follower role trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The hub role itself. It must exist before, and IAM forgets it when it is deleted and made again.
    Role,
    /// The hub's account, on condition that it is the hub role that asks. Outlives the hub role, and may come before it.
    Account,
}

/// A cluster within an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cluster {
    /// Its region.
    pub region: Region,
    /// Its name.
    pub name: ClusterName,
}

/// Something does not fit into what AWS allows.
#[derive(Debug, thiserror::Error)]
pub enum IamError {
    /// More than a quota.
    #[error("{what}: {size} {unit}, and AWS takes {most}: {advice}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// How large it is.
        size: usize,
        /// In what it is counted.
        unit: &'static str,
        /// The quota.
        most: usize,
        /// What to do about it.
        advice: &'static str,
    },
    /// A document cannot be written as JSON.
    #[error("a document cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// A template cannot be written as YAML.
    #[error("a template cannot be written as YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

impl Topology {
    /// The ARN of the hub role.
    pub fn hub_role(&self) -> String {
        self.hub.role.arn(self.partition, &self.hub.account)
    }

    /// The ARN of the follower role in `account`.
    pub fn follower_role(&self, account: &AccountId) -> String {
        self.followers.role.arn(self.partition, account)
    }

    /// The ARN of a cluster.
    pub fn cluster(&self, account: &AccountId, cluster: &Cluster) -> String {
        format!("arn:{}:eks:{}:{account}:cluster/{}", self.partition, cluster.region, cluster.name)
    }

    /// All follower accounts with the ARNs of their clusters.
    pub fn cluster_arns(&self) -> impl Iterator<Item = (&AccountId, Vec<String>)> {
        let arns = |account, clusters: &BTreeSet<Cluster>| clusters.iter().map(|c| self.cluster(account, c)).collect();
        self.followers.clusters.iter().map(move |(account, clusters)| (account, arns(account, clusters)))
    }

    /// Whether sessions carry tags: Pod Identity gives six, which go along to the follower role.
    fn tags_sessions(&self) -> bool {
        matches!(self.hub.identity, Identity::PodIdentity { .. })
    }
}

#[cfg(test)]
mod tests;
