//! A cluster whose address and authority EKS is asked for.

use super::tokens::{ClusterTokens, refused};
use crate::{
    aws::{
        clusters::{ClusterId, Facts},
        principal::Principal,
    },
    cluster::{
        endpoint::{Endpoint, Fingerprint, Parts},
        error::Error,
        login::Login,
    },
    telemetry::metrics::FollowerInfo,
};
use std::sync::{Arc, Mutex, PoisonError};

/// A cluster of EKS.
pub struct EksCluster {
    /// The follower, for messages.
    name: String,
    principal: Principal,
    cluster: ClusterId,
    way: Way,
    fingerprint: Fingerprint,
    /// The endpoint of the facts that were last heard: its token is used again.
    known: Mutex<Option<(Facts, Endpoint)>>,
}

/// What lies between us and the server.
#[derive(Clone, Default)]
pub struct Way {
    /// A proxy that understands CONNECT.
    pub proxy_url: Option<String>,
    /// The name that the server's certificate must have.
    pub tls_server_name: Option<String>,
}

impl EksCluster {
    /// Nobody is asked yet.
    pub fn new(name: String, principal: Principal, region: String, cluster: String, way: Way) -> Self {
        let role_arn = principal.role_arn().map(str::to_owned);
        let cluster = ClusterId { role_arn, region, name: cluster };
        let text = format!("{cluster:?}\n{:?}\n{:?}", way.proxy_url, way.tls_server_name);
        let fingerprint = Fingerprint::of([text.as_bytes(), &principal.features()]);
        Self { name, principal, cluster, way, fingerprint, known: Mutex::new(None) }
    }

    /// Where it is now.
    pub async fn endpoint(&self) -> Result<Endpoint, Error> {
        let facts = self.principal.facts(&self.cluster).await.map_err(|error| refused(&error))?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, endpoint)) = known.as_ref().filter(|(heard, _)| *heard == facts) {
            return Ok(endpoint.clone());
        }
        let tokens = ClusterTokens { principal: self.principal.clone(), cluster: facts.token_id.clone() };
        let parts = Parts {
            server: facts.endpoint.clone(),
            certificate_authority: Some(facts.certificate_authority.clone()),
            tls_server_name: self.way.tls_server_name.clone(),
            proxy_url: self.way.proxy_url.clone(),
            login: Login::source(Arc::new(tokens)),
            ..Parts::default()
        };
        let endpoint = Endpoint::new(&self.name, parts)?;
        *known = Some((facts, endpoint.clone()));
        Ok(endpoint)
    }

    /// It did not answer where EKS said.
    pub async fn distrust(&self) {
        self.principal.distrust(&self.cluster).await;
    }

    /// Why it cannot be reached, with what EKS says about that.
    pub(super) fn explain(&self, why: String) -> String {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.as_ref() {
            Some((facts, _)) if !facts.public => format!(
                "{why}; EKS says that its endpoint is private: Towline must run where the VPC can be reached, and the cluster's security group must let it in"
            ),
            _ => why,
        }
    }

    /// What is known of it. The account is that of the role that asks: EKS shows nobody a cluster of another one.
    pub(super) fn info(&self) -> FollowerInfo {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let account = self.cluster.role_arn.as_deref().and_then(|arn| arn.split(':').nth(4));
        FollowerInfo {
            account: account.unwrap_or_default().to_owned(),
            region: self.cluster.region.clone(),
            cluster: self.cluster.name.clone(),
            kubernetes_version: known.as_ref().map(|(facts, _)| facts.version.clone()).unwrap_or_default(),
            ..FollowerInfo::default()
        }
    }

    /// What tells it from another.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Who signs its tokens.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The cluster, as EKS is asked for it.
    pub fn cluster(&self) -> &ClusterId {
        &self.cluster
    }
}
