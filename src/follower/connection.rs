//! How a follower is reached: at an address that is known, or at one that EKS must be asked for first. All providers make
//! these, and nobody behind them sees a difference.

mod aws;
mod eks;
mod tokens;

pub use aws::AwsConnections;
pub use eks::EksCluster;
pub use tokens::ClusterTokens;

use crate::{
    cluster::{
        endpoint::{Endpoint, Fingerprint},
        error::Error,
        session::{Options, Session},
    },
    telemetry::metrics::FollowerInfo,
};
use std::sync::Arc;

/// How a follower is reached. Cheap to clone.
#[derive(Clone)]
pub enum Connection {
    /// Its address is known.
    Direct(Endpoint),
    /// EKS says where it is.
    Eks(Arc<EksCluster>),
}

impl Connection {
    /// Connects, and asks who is there before anything else. A cluster that does not answer where EKS said, or not with a
    /// certificate of its authority, is asked about again before the next attempt.
    pub async fn open(&self, options: Options) -> Result<Session, Error> {
        let endpoint = self.endpoint().await?;
        match (self, Session::open(&endpoint, options).await) {
            (Self::Eks(cluster), Err(Error::Connect { server, why })) => {
                cluster.distrust().await;
                Err(Error::Connect { server, why: cluster.explain(why) })
            }
            (_, opened) => opened,
        }
    }

    /// Where it is now.
    pub async fn endpoint(&self) -> Result<Endpoint, Error> {
        match self {
            Self::Direct(endpoint) => Ok(endpoint.clone()),
            Self::Eks(cluster) => cluster.endpoint().await,
        }
    }

    /// What is known of the cluster before anybody connects.
    pub fn info(&self) -> FollowerInfo {
        match self {
            Self::Direct(_) => FollowerInfo::default(),
            Self::Eks(cluster) => cluster.info(),
        }
    }

    /// What tells this connection from another.
    pub fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Direct(endpoint) => endpoint.fingerprint(),
            Self::Eks(cluster) => cluster.fingerprint(),
        }
    }
}

impl From<Endpoint> for Connection {
    fn from(endpoint: Endpoint) -> Self {
        Self::Direct(endpoint)
    }
}
