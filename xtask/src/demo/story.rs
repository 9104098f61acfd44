//! The story: copies arrive, are renewed, heal and go. Each step is written by the admin and seen by watches.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};

use super::certificate::Certificate;
use super::scene::{Follower, SECRETS, SETTINGS, Scene};
use super::stage::Stage;
use crate::progress::{say, span};

const TLS: &str = "wildcard-tls";
const MAP: &str = "settings";

/// Says who Towline is on AWS, and how it came into the followers.
pub(super) fn introduce(stage: &Stage) -> Result<()> {
    chapter("0. Who is who");
    for way in stage.ways()? {
        say(way);
    }
    say("Towline has a web identity token in a file, as a pod with IRSA has, and nothing else. With it, it became");
    say(format!("{}. AWS was asked so far:", stage.hub_role()?));
    let reasons = [
        ("AssumeRoleWithWebIdentity", "the token became the hub role"),
        ("AssumeRole", "the hub role became the role of each account"),
        ("DescribeCluster", "where the clusters are, and whom to trust there"),
        ("GetCallerIdentity", "by the followers' authenticators: who signed this token?"),
    ];
    let calls = stage.calls();
    for (operation, reason) in reasons {
        say(format!("   {operation:<25} {:>3}  {reason}", calls.get(operation).copied().unwrap_or_default()));
    }
    say("In the followers, RBAC knows only the group `towline`. The roles are what `towline manifests iam` prints.");
    Ok(())
}

/// Tells it.
pub(super) async fn tell(scene: &Scene<'_>) -> Result<()> {
    let certificate = arrive(scene).await?;
    let certificate = renew(scene, &certificate).await?;
    heal(scene, &certificate).await?;
    leave(scene).await
}

async fn arrive(scene: &Scene<'_>) -> Result<Certificate> {
    chapter("1. Copies arrive");
    let certificate = Certificate::issue()?;
    say("demo-hub: Secret ingress/wildcard-tls is created, annotated towline.dev/followers: \"*\"");
    say(format!("          a wildcard certificate with serial {}", certificate.serial));
    let began = Instant::now();
    scene.hub().create(SECRETS, &secret(&certificate)).await?;
    for follower in scene.followers() {
        arrived(follower, &certificate, began).await?;
    }
    say("demo-hub: ConfigMap apps/settings is created, annotated kubed.appscode.com/sync-contexts: alpha, beta");
    let began = Instant::now();
    scene.hub().create(SETTINGS, &settings()).await?;
    for follower in scene.followers().iter().filter(|follower| follower.name != "gamma") {
        let seen = follower.settings.sees(MAP, |sight| sight.data.get("colour").is_some_and(|now| now == "blue"));
        told(follower.name, seen.await?, began, "colour: blue");
    }
    say("   gamma             nothing: it was not named");
    Ok(certificate)
}

async fn renew(scene: &Scene<'_>, old: &Certificate) -> Result<Certificate> {
    chapter("2. The certificate is renewed");
    let certificate = Certificate::issue()?;
    say(format!("demo-hub: serial {} is replaced by {}", old.serial, certificate.serial));
    let began = Instant::now();
    scene.hub().patch(&format!("{SECRETS}/{TLS}"), &json!({"data": certificate.data()})).await?;
    for follower in scene.followers() {
        arrived(follower, &certificate, began).await?;
    }
    Ok(certificate)
}

async fn heal(scene: &Scene<'_>, certificate: &Certificate) -> Result<()> {
    chapter("3. Copies heal");
    let (alpha, somebody) = scene.somebody_in("alpha")?;
    say("alpha:    somebody deletes the copy of wildcard-tls");
    let began = Instant::now();
    somebody.delete(&format!("{SECRETS}/{TLS}")).await?;
    let back = |at: Instant| at > began;
    let seen = alpha.secrets.sees(TLS, |sight| back(sight.at)).await?;
    told("alpha", seen, began, &format!("back, with serial {}", certificate.serial));
    let (beta, somebody) = scene.somebody_in("beta")?;
    say("beta:     somebody paints the copy of settings red, and adds a key");
    let began = Instant::now();
    let edit = json!({"data": {"colour": "red", "shade": "dark"}});
    somebody.patch(&format!("{SETTINGS}/{MAP}"), &edit).await?;
    let healed = |data: &std::collections::BTreeMap<String, String>| {
        data.len() == 1 && data.get("colour").is_some_and(|now| now == "blue")
    };
    let seen = beta.settings.sees(MAP, |sight| back(sight.at) && healed(&sight.data)).await?;
    told("beta", seen, began, "colour: blue again, and no other key");
    Ok(())
}

async fn leave(scene: &Scene<'_>) -> Result<()> {
    chapter("4. Copies go");
    say("demo-hub: ConfigMap apps/settings is deleted; copies outlive it by 3 s here (30 s by default),");
    say("          in case it was a mistake or a `kubectl replace`");
    let began = Instant::now();
    scene.hub().delete(&format!("{SETTINGS}/{MAP}")).await?;
    for follower in scene.followers().iter().filter(|follower| follower.name != "gamma") {
        let gone = follower.settings.misses(MAP).await?;
        told(follower.name, gone, began, "gone");
    }
    Ok(())
}

/// Says when a follower had just this certificate.
async fn arrived(follower: &Follower, certificate: &Certificate, began: Instant) -> Result<()> {
    let expected = certificate.encoded();
    let same = follower.secrets.sees(TLS, |sight| sight.data.get("tls.crt") == Some(&expected));
    told(follower.name, same.await?, began, &format!("serial {}", certificate.serial));
    Ok(())
}

fn told(follower: &str, seen: Instant, began: Instant, what: &str) {
    say(format!("   {follower:<6} {:>9}  {what}", span(seen.saturating_duration_since(began))));
}

fn chapter(title: &str) {
    say(format!("\n{title}"));
}

fn secret(certificate: &Certificate) -> Value {
    json!({
        "metadata": {"name": TLS, "annotations": {"towline.dev/followers": "*"}},
        "type": "kubernetes.io/tls",
        "data": certificate.data(),
    })
}

fn settings() -> Value {
    json!({
        "metadata": {"name": MAP, "annotations": {"kubed.appscode.com/sync-contexts": "alpha, beta"}},
        "data": {"colour": "blue"},
    })
}
