//! EKS clusters, as EKS knows them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::arn::partition_of;

/// A cluster. The fields are what DescribeCluster tells.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The account that it is in.
    pub account: String,
    /// The region that it is in.
    pub region: String,
    /// Its name.
    pub name: String,
    /// `ACTIVE`, `CREATING`, `DELETING`, `FAILED`, `UPDATING`, `PENDING`.
    pub status: String,
    /// `https://…`; absent before it is `ACTIVE`.
    pub endpoint: Option<String>,
    /// The certificate authority of its API server, PEM.
    pub ca_pem: Option<String>,
    /// Only for local clusters on Outposts, whose tokens name it in place of the cluster's name.
    pub id: Option<String>,
    /// Of Kubernetes: `1.33`.
    pub version: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Whether the endpoint can be reached from outside its VPC.
    pub endpoint_public_access: bool,
    /// `API_AND_CONFIG_MAP`, `API`, `CONFIG_MAP`.
    pub authentication_mode: String,
    /// For a connected (external) cluster, who runs it: `EKS_ANYWHERE`, `OTHER`.
    pub connector_provider: Option<String>,
    /// When it was made.
    pub created: Timestamp,
}

impl Cluster {
    /// An active cluster without endpoint and CA.
    pub fn new(account: &str, region: &str, name: &str) -> Self {
        Self {
            account: account.to_owned(),
            region: region.to_owned(),
            name: name.to_owned(),
            status: "ACTIVE".to_owned(),
            endpoint: None,
            ca_pem: None,
            id: None,
            version: "1.33".to_owned(),
            tags: BTreeMap::new(),
            endpoint_public_access: true,
            authentication_mode: "API_AND_CONFIG_MAP".to_owned(),
            connector_provider: None,
            created: Timestamp::UNIX_EPOCH,
        }
    }

    /// The same, to be reached there.
    #[must_use]
    pub fn at(mut self, endpoint: &str, ca_pem: &str) -> Self {
        (self.endpoint, self.ca_pem) = (Some(endpoint.to_owned()), Some(ca_pem.to_owned()));
        self
    }

    /// The same with a tag.
    #[must_use]
    pub fn with_tag(mut self, key: &str, value: &str) -> Self {
        self.tags.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Its ARN.
    pub fn arn(&self) -> String {
        arn(&self.account, &self.region, &self.name)
    }
}

/// The ARN of a cluster, whether there is one or not.
pub(crate) fn arn(account: &str, region: &str, name: &str) -> String {
    format!("arn:{}:eks:{region}:{account}:cluster/{name}", partition_of(region))
}
