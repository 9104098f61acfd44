//! A cluster as a document.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::world::Cluster;

/// What DescribeCluster answers. What a cluster does not have yet is left out.
pub(super) fn cluster(cluster: &Cluster) -> Value {
    let ca = cluster.ca_pem.as_ref().map(|pem| json!({"data": BASE64_STANDARD.encode(pem)}));
    let connector = cluster.connector_provider.as_ref().map(|provider| json!({"provider": provider}));
    // A connected cluster is elsewhere: EKS knows nothing of its network and its logins.
    let own = connector.is_none();
    let network = own.then(|| {
        json!({
            "subnetIds": [], "securityGroupIds": [], "vpcId": "vpc-0a1b2c3d4e5f60718",
            "endpointPublicAccess": cluster.endpoint_public_access,
            "endpointPrivateAccess": !cluster.endpoint_public_access,
            "publicAccessCidrs": ["0.0.0.0/0"],
        })
    });
    let fields = [
        ("name", Some(json!(cluster.name))),
        ("arn", Some(json!(cluster.arn()))),
        ("createdAt", Some(json!(cluster.created.as_second()))),
        ("status", Some(json!(cluster.status))),
        ("tags", Some(json!(cluster.tags))),
        ("version", own.then(|| json!(cluster.version))),
        ("endpoint", cluster.endpoint.as_ref().map(|endpoint| json!(endpoint))),
        ("certificateAuthority", ca),
        ("id", cluster.id.as_ref().map(|id| json!(id))),
        ("resourcesVpcConfig", network),
        ("accessConfig", own.then(|| json!({"authenticationMode": cluster.authentication_mode}))),
        ("connectorConfig", connector),
    ];
    let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    json!({"cluster": present.collect::<Map<_, _>>()})
}
