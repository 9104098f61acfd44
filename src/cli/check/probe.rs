//! Goes the way to a follower, and asks at each step. What the answers mean is judged elsewhere.

mod aws;
mod server;
mod way;

use super::{
    rights::Places,
    step::{Kind, Report, Step},
};
use crate::{
    api::names::FollowerName,
    aws::principal::Principal,
    cli::roster::{Listed, Origin},
    follower::{
        catalog::SUSPENDED,
        connection::{AwsConnections, Connection},
    },
};
use jiff::Timestamp;

/// What all followers are checked with.
pub(super) struct Probe {
    pub(super) aws: AwsConnections,
    pub(super) places: Places,
    pub(super) now: Timestamp,
}

impl Probe {
    /// Checks one follower.
    pub(super) async fn follower(&self, name: &FollowerName, listed: &Listed) -> Report {
        let steps = match &listed.entry.connection {
            Ok(connection) => self.steps(name, listed, connection).await,
            Err(why) if why == SUSPENDED => vec![Step::warned(Kind::Connection, why, "")],
            Err(why) => vec![Step::failed(Kind::Connection, why, "")],
        };
        Report::new(name.clone(), steps)
    }

    async fn steps(&self, name: &FollowerName, listed: &Listed, connection: &Connection) -> Vec<Step> {
        let mut steps = Vec::new();
        let signer = self.signer(name, listed);
        let is_known = match &signer {
            Some(signer) => aws::identity(signer, matches!(listed.origin, Origin::Context(_)), &mut steps).await,
            None => true,
        };
        let endpoint = match (connection, is_known) {
            (Connection::Direct(endpoint), _) => Some(endpoint.clone()),
            (Connection::Eks(cluster), true) => aws::describe(cluster, &mut steps).await,
            (Connection::Eks(_), false) => {
                steps.push(Step::not_tried(Kind::Describe));
                None
            }
        };
        let is_reached = match &endpoint {
            Some(endpoint) => way::way(endpoint, self.now, &mut steps).await,
            None => {
                steps.extend([Kind::Dns, Kind::Tcp, Kind::Tls].map(Step::not_tried));
                false
            }
        };
        match endpoint.filter(|_| is_known && is_reached) {
            Some(endpoint) => {
                let role = match &signer {
                    Some(signer) => aws::name(signer).await,
                    None => None,
                };
                let visit = server::Visit { endpoint: &endpoint, entry: &listed.entry, role: role.as_deref() };
                visit.steps(&self.places, &mut steps).await;
            }
            None => steps
                .extend([Kind::Credential, Kind::User, Kind::Cluster, Kind::Rights, Kind::Excess].map(Step::not_tried)),
        }
        steps
    }

    /// Who signs the tokens for it, if this process does.
    fn signer(&self, name: &FollowerName, listed: &Listed) -> Option<Principal> {
        match &listed.origin {
            Origin::Context(kubeconfig) => self.aws.context_signer(kubeconfig, name.as_str()),
            // A mistake is the connection's, too, and told there.
            Origin::Declared(declared) => self.aws.signer(declared).ok(),
            Origin::Mistaken => None,
        }
    }
}
