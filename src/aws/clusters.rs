//! What EKS says about clusters: where their API servers are and whom to trust there. Kept for minutes; asked again after a
//! connection or a certificate failed.

use super::error::{AwsError, Remedy};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures::future::BoxFuture;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long facts are believed.
const FRESH: Duration = Duration::from_secs(600);
/// A cluster that cannot be reached is not asked about more often.
const AGAIN: Duration = Duration::from_secs(30);

/// A cluster, and as whom to ask about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterId {
    /// The role as which EKS is asked: clusters of two accounts may have the same name.
    pub role_arn: Option<String>,
    /// Its region.
    pub region: String,
    /// Its name.
    pub name: String,
}

/// What is needed to reach a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `https://…`.
    pub endpoint: String,
    /// PEM: the only roots to trust.
    pub certificate_authority: Vec<u8>,
    /// What a token for it names: the id of a local cluster on an Outpost, else the name.
    pub token_id: String,
    /// Whether it has an address that can be reached from anywhere.
    pub public: bool,
    /// Its Kubernetes version, such as `1.36`.
    pub version: String,
}

/// A cluster as EKS describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// CREATING, ACTIVE, DELETING, FAILED, UPDATING, PENDING.
    pub status: String,
    /// The API server.
    pub endpoint: Option<String>,
    /// PEM in base64.
    pub certificate_authority: Option<String>,
    /// Only local clusters on Outposts have one.
    pub id: Option<String>,
    /// Whether the endpoint is public.
    pub public: bool,
    /// Its Kubernetes version.
    pub version: String,
    /// A cluster elsewhere that is only shown in EKS.
    pub connected: bool,
}

/// Who describes clusters: EKS, or a test.
pub trait Describer: Send + Sync {
    /// Asks for one.
    fn describe<'a>(&'a self, cluster: &'a ClusterId) -> BoxFuture<'a, Result<Described, AwsError>>;
}

/// The facts of all clusters. Clones share them.
#[derive(Clone, Default)]
pub struct Clusters {
    slots: Arc<Mutex<HashMap<ClusterId, Arc<Slot>>>>,
}

type Slot = tokio::sync::Mutex<Held>;

#[derive(Default)]
struct Held {
    facts: Option<Facts>,
    /// When EKS was last asked, and what it refused then.
    asked: Option<Instant>,
    failed: Option<(AwsError, Instant)>,
    distrusted: bool,
}

impl Clusters {
    /// What is known of a cluster, or what `describer` says now.
    pub async fn facts(&self, cluster: &ClusterId, describer: &dyn Describer) -> Result<Facts, AwsError> {
        let slot = self.slot(cluster);
        let mut held = slot.lock().await;
        if let Some(answer) = held.answer(Instant::now()) {
            return answer;
        }
        held.asked = Some(Instant::now());
        match describer.describe(cluster).await.and_then(|described| usable(cluster, &described)) {
            Ok(facts) => {
                *held = Held { facts: Some(facts.clone()), asked: held.asked, ..Held::default() };
                Ok(facts)
            }
            Err(error) => {
                held.failed = Some((error.clone(), Instant::now() + error.pause()));
                // EKS does not answer: the cluster may, where it was.
                match (error.remedy(), &held.facts) {
                    (Remedy::Retry | Remedy::SlowDown, Some(facts)) => Ok(facts.clone()),
                    _ => Err(error),
                }
            }
        }
    }

    /// The cluster did not answer, or not as itself: EKS is asked again before the next attempt.
    pub async fn distrust(&self, cluster: &ClusterId) {
        self.slot(cluster).lock().await.distrusted = true;
    }

    fn slot(&self, cluster: &ClusterId) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(cluster.clone()).or_default().clone()
    }
}

impl Held {
    /// What can be said without asking.
    fn answer(&self, now: Instant) -> Option<Result<Facts, AwsError>> {
        let age = self.asked.map(|asked| now.duration_since(asked))?;
        if let Some((error, _)) = self.failed.as_ref().filter(|(_, until)| now < *until) {
            return match (error.remedy(), &self.facts) {
                (Remedy::Retry | Remedy::SlowDown, Some(facts)) => Some(Ok(facts.clone())),
                _ => Some(Err(error.clone())),
            };
        }
        let limit = if self.distrusted { AGAIN } else { FRESH };
        let facts = self.facts.as_ref().filter(|_| age < limit)?;
        Some(Ok(facts.clone()))
    }
}

/// What a description is good for.
fn usable(cluster: &ClusterId, described: &Described) -> Result<Facts, AwsError> {
    let refuse = |remedy, why: &str| AwsError::Cluster {
        cluster: cluster.name.clone(),
        region: cluster.region.clone(),
        why: why.to_owned(),
        remedy,
    };
    if described.connected {
        return Err(refuse(Remedy::Change, "it runs elsewhere and is only shown in EKS: use a kubeconfig for it"));
    }
    match described.status.as_str() {
        "DELETING" => return Err(refuse(Remedy::Change, "it is being deleted: take it out of the followers")),
        "FAILED" => return Err(refuse(Remedy::Change, "its creation failed: see its health in EKS")),
        "CREATING" | "PENDING" if described.endpoint.is_none() || described.certificate_authority.is_none() => {
            return Err(refuse(Remedy::Retry, "it is being created and has no endpoint yet; asked again"));
        }
        _ => {}
    }
    let endpoint = described.endpoint.clone().ok_or_else(|| refuse(Remedy::Retry, "EKS names no endpoint for it"))?;
    let authority = described.certificate_authority.as_deref().and_then(|data| STANDARD.decode(data.trim()).ok());
    let certificate_authority =
        authority.ok_or_else(|| refuse(Remedy::Retry, "EKS names no usable certificate authority for it"))?;
    let token_id = described.id.clone().unwrap_or_else(|| cluster.name.clone());
    let (public, version) = (described.public, described.version.clone());
    Ok(Facts { endpoint, certificate_authority, token_id, public, version })
}

#[cfg(test)]
mod tests;
