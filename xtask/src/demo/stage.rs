//! What the story is played on: an AWS, clusters that ask a real aws-iam-authenticator who comes, and Towline.
//!
//! ```text
//! Towline ──▶ Aws: AssumeRoleWithWebIdentity, AssumeRole, DescribeCluster
//!    └─(token)─▶ kube-apiserver ──▶ aws-iam-authenticator ──▶ Aws: GetCallerIdentity
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use controlplane::{Fleet, Options, Scratch};
use sandbox::{Authenticator, Aws, Cluster};

use super::accounts::{Documents, ISSUER, PLACES, Place, REGION};
use super::{FOLLOWERS, HUB};
use crate::lab::Lab;
use crate::towline::Towline;

/// Towline's pod, as its token calls it.
const SUBJECT: &str = "system:serviceaccount:towline:towline";
/// The demo may stay up for long, and nobody renews the token here as kubelet would.
const TOKEN_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What tells Towline of its followers.
pub(super) const FOLLOWERS_FILE: &str = "followers.yaml";

/// All that runs but Towline.
pub(super) struct Stage {
    documents: Documents,
    _authenticators: Vec<Authenticator>,
    aws: Aws,
    // Last, so that it goes last: all files are in there.
    pub(super) lab: Lab,
}

impl Stage {
    /// Starts AWS with the roles that Towline prints, and clusters that let these roles in.
    pub(super) async fn build(program: &Path) -> Result<Self> {
        let scratch = Scratch::new("demo")?;
        let documents = Documents::print(program).await?;
        let aws = Aws::start(documents.world()?)?;
        let (mut authenticators, mut options) = (Vec::new(), Vec::new());
        for place in &PLACES {
            let mapping = [documents.mapping(place)?];
            let authenticator = Authenticator::start(&aws, place.cluster, &mapping, scratch.path()).await?;
            options.push(Options::default().with_token_webhook(authenticator.webhook_kubeconfig()));
            authenticators.push(authenticator);
        }
        let fleet = Fleet::start_each(Options::default(), options, scratch.path()).await?;
        for (place, cluster) in PLACES.iter().zip(&fleet.followers) {
            let described = Cluster::new(place.account, place.region, place.cluster);
            aws.change(|world| world.add_cluster(described.at(&cluster.url(), cluster.ca_pem())));
            cluster.apply_yaml(documents.rbac()?).await?;
        }
        let lab = Lab::of(fleet, scratch).await?;
        Ok(Self { documents, _authenticators: authenticators, aws, lab })
    }

    /// Starts Towline, and waits until it is in all followers.
    pub(super) async fn start_towline(&self, program: &Path) -> Result<Towline> {
        let hub = self.lab.hub_kubeconfig()?;
        let followers = self.lab.file(FOLLOWERS_FILE, &self.documents.followers_file()?)?;
        let flags = [
            &format!("--kubeconfig={}", hub.display()),
            &format!("--followers-file={}", followers.display()),
            &format!("--cluster-name={HUB}"),
            "--deletion-delay=3s",
        ];
        let log = self.lab.folder().join("towline.log");
        let towline = Towline::start_in(&self.environment()?, program, log, &flags).await?;
        towline.connected(&FOLLOWERS).await?;
        Ok(towline)
    }

    /// Whom a follower is reached as, in plain words.
    pub(super) fn ways(&self) -> Result<Vec<String>> {
        let way = |place: &Place| {
            let role = self.documents.role_at(place)?;
            let Place { follower, account, region, cluster } = place;
            Ok([
                format!("   {follower:<6} is cluster {cluster} of account {account} in {region},"),
                format!("          reached by role {role}"),
            ])
        };
        let ways: Vec<_> = PLACES.iter().map(way).collect::<Result<_>>()?;
        Ok(ways.into_iter().flatten().collect())
    }

    /// The role that Towline starts as.
    pub(super) fn hub_role(&self) -> Result<&str> {
        self.documents.hub_role()
    }

    /// How often AWS was asked what so far.
    pub(super) fn calls(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for call in self.aws.calls().into_iter().filter(|call| call.code == "OK") {
            *counts.entry(call.operation).or_default() += 1;
        }
        counts
    }

    /// What a pod with IRSA has: a token in a file, the role that it stands for, and a region. Whatever else is set here for the
    /// AWS of whoever looks on is taken away, and so is a proxy that would stand between.
    fn environment(&self) -> Result<Vec<(&'static str, String)>> {
        let token = self.aws.web_identity_token(ISSUER, SUBJECT, TOKEN_LIFETIME).context("no web identity")?;
        let token = self.lab.file("web-identity-token", &token)?;
        let foreign =
            ["AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
        let files = ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"];
        let mut environment: Vec<_> = foreign.map(|name| (name, String::new())).into();
        environment.extend(files.map(|name| (name, "/dev/null".to_owned())));
        environment.extend([
            ("AWS_WEB_IDENTITY_TOKEN_FILE", token.display().to_string()),
            ("AWS_ROLE_ARN", self.hub_role()?.to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ENDPOINT_URL_STS", self.aws.url()),
            ("AWS_ENDPOINT_URL_EKS", self.aws.url()),
            ("NO_PROXY", "127.0.0.1".to_owned()),
            ("no_proxy", "127.0.0.1".to_owned()),
        ]);
        Ok(environment)
    }
}
