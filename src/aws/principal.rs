//! Somebody on AWS: what says who they are, the roles that they assume then, and their credentials.

use super::{
    api::{Api, Observer},
    chain::{Chain, Role},
    clusters::{ClusterId, Clusters, Described, Describer, Facts},
    error::{AwsError, Remedy},
    host::sts_host,
    profile::{self, Profiles},
    roles::Roles,
    settings::{NobodyError, NodeRole, Settings},
    token::{self, Audience, Token},
};
use aws_credential_types::Credentials;
use futures::{FutureExt, future::BoxFuture};
use std::{sync::Arc, time::Duration};
use tokio::sync::OnceCell;

/// What everybody in this process has in common. Clones share it. Nothing of the SDK is loaded before somebody is asked for:
/// its TLS roots alone are megabytes, and many fleets have nothing on AWS.
#[derive(Clone)]
pub struct Aws(Arc<Shared>);

struct Shared {
    session_name: String,
    node_role: NodeRole,
    observer: Arc<dyn Observer>,
    loaded: OnceCell<Loaded>,
    clusters: Clusters,
}

struct Loaded {
    api: Arc<Api>,
    roles: Roles,
}

/// Somebody on AWS.
#[derive(Clone)]
pub struct Principal {
    aws: Aws,
    /// What says who they are.
    settings: Settings,
    /// Wins over `AWS_PROFILE`.
    profile: Option<String>,
    /// What they assume then, one after another.
    roles: Vec<Role>,
    /// The region whose STS checks the tokens; `None`: as the settings or the profile say.
    region: Option<String>,
    /// The region if they do not say it either.
    fallback: Option<&'static str>,
}

impl Aws {
    /// `session_name` is how CloudTrail shows us where nothing else is asked for.
    pub fn new(session_name: String, node_role: NodeRole, observer: Arc<dyn Observer>) -> Self {
        let (loaded, clusters) = (OnceCell::new(), Clusters::default());
        Self(Arc::new(Shared { session_name, node_role, observer, loaded, clusters }))
    }

    /// Somebody whose identity these settings say. `region` is that of the STS that checks their tokens; `None`: as the
    /// settings or the profile say.
    pub fn principal(&self, settings: Settings, region: Option<String>) -> Principal {
        Principal { aws: self.clone(), settings, profile: None, roles: Vec::new(), region, fallback: None }
    }

    /// Seconds that AWS is ahead of our clock, as far as it was heard.
    pub fn skew(&self) -> i64 {
        self.0.loaded.get().map_or(0, |loaded| loaded.api.clock().skew())
    }

    async fn loaded(&self) -> &Loaded {
        let load = async || {
            let api = Arc::new(Api::load(self.0.session_name.clone(), self.0.observer.clone()).await);
            Loaded { roles: Roles::new(api.clone()), api }
        };
        self.0.loaded.get_or_init(load).await
    }
}

impl Principal {
    /// As this profile, whatever the environment says.
    pub fn with_profile(self, profile: String) -> Self {
        Self { profile: Some(profile), ..self }
    }

    /// Seconds that AWS is ahead of our clock.
    pub fn skew(&self) -> i64 {
        self.aws.skew()
    }

    /// In this region, if nothing says another.
    pub fn or_in(self, fallback: Option<&'static str>) -> Self {
        Self { fallback, ..self }
    }

    /// With one more role at the end.
    pub fn assuming(mut self, role: Role) -> Self {
        self.roles.push(role);
        self
    }

    /// The role that all of it ends in, as far as that is known without reading any file.
    pub fn role_arn(&self) -> Option<&str> {
        self.roles.last().map(|role| role.arn.as_str())
    }

    /// The way to who they are now. Read anew each time: the shared files may have changed.
    pub async fn chain(&self) -> Result<Chain, AwsError> {
        Ok(self.resolve().await?.chain)
    }

    /// Their credentials, and whose those are.
    pub async fn credentials(&self) -> Result<(Chain, Credentials), AwsError> {
        let Resolved { chain, home, .. } = self.resolve().await?;
        let credentials = self.aws.loaded().await.roles.credentials(&chain, &home).await?;
        Ok((chain, credentials))
    }

    /// The ARN that AWS knows one step of the way by.
    pub async fn arn_of(&self, chain: &Chain) -> Result<String, AwsError> {
        let home = self.resolve().await?.home;
        let Loaded { api, roles } = self.aws.loaded().await;
        let credentials = roles.credentials(chain, &home).await?;
        api.caller(credentials, chain, &home).await
    }

    /// A token for a cluster, and how long it is good.
    pub async fn token(&self, cluster: &str) -> Result<(Token, Duration), AwsError> {
        let Resolved { chain, home, region } = self.resolve().await?;
        let Loaded { api, roles } = self.aws.loaded().await;
        let credentials = roles.credentials(&chain, &home).await?;
        let audience =
            Audience { sts_host: sts_host(&region, self.settings.variant())?, region, cluster: cluster.to_owned() };
        let now = api.clock().now();
        let token = token::presign(&credentials, &audience, now)?;
        let lifetime = token.expires.duration_since(now).unwrap_or_default();
        Ok((token, lifetime))
    }

    /// A cluster refused what they signed.
    pub async fn doubt(&self) {
        // Whoever cannot be told who they are has signed nothing.
        if let Ok(chain) = self.chain().await {
            self.aws.loaded().await.roles.doubt(&chain).await;
        }
    }

    /// What is known of a cluster, or what EKS says now.
    pub async fn facts(&self, cluster: &ClusterId) -> Result<Facts, AwsError> {
        // Whoever gets no credentials learns it here, where it is not kept as something that EKS said: it would outlast its
        // remedy, and another external id would change nothing for a minute.
        self.credentials().await?;
        self.aws.0.clusters.facts(cluster, self).await
    }

    /// The cluster did not answer, or not as itself.
    pub async fn distrust(&self, cluster: &ClusterId) {
        self.aws.0.clusters.distrust(cluster).await;
    }

    /// What tells this principal from another. To be hashed, never printed.
    pub fn features(&self) -> Vec<u8> {
        let mut text = format!("{:?}\n{:?}\n{:?}\n", self.profile, self.roles, self.region);
        text.push_str(&self.settings.features());
        text.into_bytes()
    }

    async fn resolve(&self) -> Result<Resolved, AwsError> {
        let settings = match &self.profile {
            Some(profile) => self.settings.as_profile(profile),
            None => self.settings.clone(),
        };
        let profiles = Profiles::load(&settings.files()).await.map_err(NobodyError::from)?;
        let chain = settings.chain(&profiles, self.aws.0.node_role)?;
        let chain = self.roles.iter().cloned().fold(chain, Chain::then);
        let profile = settings.profile().unwrap_or(profile::DEFAULT);
        let home = settings.region().or_else(|| profiles.get(profile, "region")).map(str::to_owned);
        let region = self.region.clone().or_else(|| home.clone()).or_else(|| self.fallback.map(str::to_owned));
        let region = region.ok_or(NobodyError::Nowhere)?;
        // Credentials are good everywhere: asked for in one region, all followers of a role share them.
        Ok(Resolved { chain, home: home.unwrap_or_else(|| region.clone()), region })
    }
}

/// What settings, shared files and region come to.
struct Resolved {
    chain: Chain,
    /// Where STS is asked for credentials.
    home: String,
    /// Where tokens are checked.
    region: String,
}

impl Describer for Principal {
    fn describe<'a>(&'a self, cluster: &'a ClusterId) -> BoxFuture<'a, Result<Described, AwsError>> {
        async move {
            let (chain, credentials) = self.credentials().await?;
            let Loaded { api, roles } = self.aws.loaded().await;
            match api.describe(cluster, credentials.clone(), &chain).await {
                Err(error) if error.remedy() == Remedy::RenewBase => {
                    roles.renew(&chain, &credentials).await;
                    let (_, credentials) = self.credentials().await?;
                    api.describe(cluster, credentials, &chain).await
                }
                answer => answer,
            }
        }
        .boxed()
    }
}
