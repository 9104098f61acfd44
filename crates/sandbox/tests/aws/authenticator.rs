//! The real aws-iam-authenticator as webhook of a real kube-apiserver, with our STS behind it.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use controlplane::{Cluster, Etcd, Options, Scratch, status_code};
use sandbox::{Authenticator, RoleMapping, Service};
use serde_json::{Value, json};

use crate::makers::{FOLLOWER, Ground, REGION};
use crate::token::token;

/// As the authenticator sees the follower role: without the path.
const MAPPED: &str = "arn:aws:iam::222222222222:role/towline-follower";

fn mapping() -> [RoleMapping; 1] {
    [RoleMapping { role: MAPPED.into(), username: "towline".into(), groups: vec!["towline".into()] }]
}

/// A cluster that asks an authenticator of its own.
async fn start(ground: &Ground, etcd: &Etcd, scratch: &Scratch, name: &str) -> Result<(Cluster, Authenticator)> {
    let authenticator = Authenticator::start(&ground.aws, name, &mapping(), scratch.path()).await?;
    let options = Options::default().with_token_webhook(authenticator.webhook_kubeconfig());
    Ok((Cluster::start(etcd, scratch.path(), name, options).await?, authenticator))
}

/// Whom the cluster sees in a token.
async fn who_am_i(cluster: &Cluster, token: &str) -> Result<Value> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = cluster.api_with(token).await?.create(path, &review).await?;
    answer.pointer("/status/userInfo").cloned().context("no user")
}

async fn is_refused(cluster: &Cluster, token: &str) -> bool {
    who_am_i(cluster, token).await.is_err_and(|error| status_code(&error) == Some(401))
}

#[tokio::test]
async fn a_real_cluster_believes_tokens_of_mapped_roles_and_no_others() -> Result<()> {
    let (ground, scratch) = (Ground::new(), Scratch::new("authenticator")?);
    let etcd = Etcd::start(scratch.path()).await?;
    let (cluster, authenticator) = start(&ground, &etcd, &scratch, "prod").await?;
    let (follower, now) = (ground.follower().await, SystemTime::now());

    let user = who_am_i(&cluster, &token(&follower, REGION, "prod", now)).await.context(authenticator.log())?;
    ensure!(user["username"] == "towline", "{user}");
    ensure!(user["groups"] == json!(["towline", "system:authenticated"]), "{user}");
    let judged = ground.aws.calls().pop().context("STS was not asked")?;
    ensure!((judged.service, judged.operation.as_str()) == (Service::Sts, "GetCallerIdentity"), "{judged:?}");
    ensure!(judged.code == "OK" && judged.region == REGION, "{judged:?}");

    ensure!(is_refused(&cluster, &token(&follower, REGION, "other", now)).await, "for another cluster");
    ensure!(ground.aws.calls().pop().is_some_and(|call| call.code == "SignatureDoesNotMatch"));
    ensure!(is_refused(&cluster, &token(&ground.hub().await, REGION, "prod", now)).await, "of an unmapped role");
    ensure!(ground.aws.calls().pop().is_some_and(|call| call.code == "OK"), "it is a good signature, though");
    let old = now - Duration::from_secs(16 * 60);
    ensure!(is_refused(&cluster, &token(&follower, REGION, "prod", old)).await, "of 16 minutes ago");
    let almost = now - Duration::from_secs(14 * 60);
    ensure!(who_am_i(&cluster, &token(&follower, REGION, "prod", almost)).await.is_ok(), "of 14 minutes ago");

    ground.aws.change(|world| world.remove_role(FOLLOWER));
    // A token that the cluster has not seen: it remembers the others for a second.
    let later = almost + Duration::from_secs(1);
    ensure!(is_refused(&cluster, &token(&follower, REGION, "prod", later)).await, "of a role that is gone");
    let log = authenticator.log();
    for secret in ground.aws.secrets() {
        ensure!(!log.contains(&secret), "the authenticator logs a secret");
    }
    Ok(())
}

#[tokio::test]
async fn two_clusters_have_an_authenticator_each() -> Result<()> {
    let (ground, scratch) = (Ground::new(), Scratch::new("authenticators")?);
    let etcd = Etcd::start(scratch.path()).await?;
    // Both want port 21363 for their health, and one of them gets it.
    let (first, second) =
        tokio::join!(start(&ground, &etcd, &scratch, "first"), start(&ground, &etcd, &scratch, "second"));
    let (follower, now) = (ground.follower().await, SystemTime::now());
    for ((cluster, authenticator), name) in [(first?, "first"), (second?, "second")] {
        for named in ["first", "second"] {
            let token = token(&follower, REGION, named, now);
            match named == name {
                true => ensure!(who_am_i(&cluster, &token).await.is_ok(), "{name}: {}", authenticator.log()),
                false => ensure!(is_refused(&cluster, &token).await, "{name} took a token for {named}"),
            }
        }
    }
    Ok(())
}
