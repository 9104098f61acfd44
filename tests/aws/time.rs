//! What time does: credentials and tokens that end, roles that are revoked, a clock that is off.

use super::{daemon::Daemon, makers::secret, tenant::Tenant, world::CAP};
use base64::{Engine, engine::general_purpose::STANDARD};
use controlplane::eventually;
use serde_json::json;
use std::{cell::Cell, time::Duration};

/// An hour's life of credentials, accelerated.
const LIFETIME: Duration = Duration::from_secs(16);
/// A role that may not be assumed is asked for again after more than a minute.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test]
async fn no_copy_fails_while_credentials_tokens_and_the_web_identity_roll_over() {
    let tenant = Tenant::alone("aging").await;
    tenant.ground.aws.set_lifetime(LIFETIME);
    let towline = tenant.start(&tenant.irsa(), &tenant.followers_file(&[0, 1, 2]));
    let mut updates = 0;
    while tenant.count("AssumeRole", "OK") < 8 || tenant.count("AssumeRoleWithWebIdentity", "OK") < 4 {
        tenant.web_identity(LIFETIME);
        copied(&tenant, &[0, 1, 2], &format!("update {updates}")).await;
        updates += 1;
    }
    assert!(updates > 20, "{updates}");
    let page = towline.page("/metrics").await;
    let writes: Vec<_> = page.lines().filter(|line| line.starts_with("towline_writes_total")).collect();
    assert!(!writes.is_empty() && writes.iter().all(|line| line.contains(r#"result="Done""#)), "{writes:#?}");
    let failed: Vec<_> = tenant.calls().into_iter().filter(|call| call.code != "OK").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(!towline.logged().contains("follower not connected"), "{updates} updates");
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_revoked_role_is_told_and_not_asked_for_all_the_time_and_works_again_when_it_is_restored() {
    let tenant = Tenant::alone("revoked").await;
    tenant.ground.aws.set_lifetime(LIFETIME);
    let towline = tenant.start(&tenant.irsa(), &tenant.followers_file(&[0, 2]));
    copied(&tenant, &[0, 2], "one").await;
    let (role, account) = (tenant.role(0), tenant.accounts[0].clone());
    let nobody = trust(&format!("arn:aws:iam::{account}:role/somebody-else"));
    tenant.ground.aws.change(|world| world.role_mut(&role).unwrap().set_trust(&nobody)).unwrap();
    let told = refused(&tenant, &towline, &format!("sts:AssumeRole of {role} as {}: ", tenant.hub_role())).await;
    assert!(told.contains("AccessDenied: the role's trust policy must allow the caller"), "{told}");
    let about = |event: &serde_json::Value| event["note"].as_str().unwrap().contains(&role);
    tenant.world.event("FollowerNotConnected", about).await;
    towline.counts(r#"towline_follower_up{follower="blue"}"#, |up| up == 0.0).await;
    copied(&tenant, &[2], "meanwhile").await;

    let before = tenant.count("AssumeRole", "AccessDenied");
    let trusted = trust(&tenant.hub_role());
    tenant.ground.aws.change(|world| world.role_mut(&role).unwrap().set_trust(&trusted)).unwrap();
    let path = super::world::path("Secret", &tenant.world.name, "key");
    let arrived = async || {
        let copy = tenant.world.followers[0].get(&path).await?;
        Ok((super::canary::plain(copy)["data"]["token"] == STANDARD.encode("meanwhile")).then_some(()))
    };
    eventually("the copy after the role was restored", PATIENCE, arrived).await.unwrap();
    assert!(before <= 3, "{before} calls in vain");
    assert_eq!(tenant.count("AssumeRole", "AccessDenied"), before);
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_clock_that_is_twenty_minutes_behind_harms_nothing_and_is_told() {
    let tenant = Tenant::alone("late").await;
    tenant.ground.aws.set_clock_offset(1200);
    let towline = tenant.start(&tenant.irsa(), &tenant.followers_file(&[0, 1, 2]));
    copied(&tenant, &[0, 1, 2], "one").await;
    towline.logs(" s behind AWS's: tokens are signed by AWS's time; set the clock").await;
    towline.counts("towline_clock_skew_seconds", |skew| (1195.0..=1205.0).contains(&skew)).await;
    towline.shows_no_secret().await;
}

/// Changes the source, and waits until followers have it.
async fn copied(tenant: &Tenant, followers: &[usize], value: &str) {
    let world = &tenant.world;
    world.apply(secret(&world.name, "key").data("token", value).contexts("blue, green, red").build()).await;
    let encoded = STANDARD.encode(value);
    for follower in followers {
        world.copy(*follower, "Secret", "key", |copy| copy["data"]["token"] == encoded).await;
    }
}

/// Changes the source until blue is not reached any more, which is noticed when its credentials end; why.
async fn refused(tenant: &Tenant, towline: &Daemon, text: &str) -> String {
    let (world, updates) = (&tenant.world, Cell::new(0));
    let look = async || {
        updates.set(updates.get() + 1);
        let value = format!("update {}", updates.get());
        world.apply(secret(&world.name, "key").data("token", &value).contexts("blue, green, red").build()).await;
        let problem = towline.report("blue").await["problem"].as_str().unwrap_or_default().to_owned();
        Ok(problem.starts_with(text).then_some(problem))
    };
    let problem = eventually("blue to be refused", CAP, look).await.unwrap();
    towline.logs(&problem).await;
    problem
}

fn trust(role: &str) -> serde_json::Value {
    let statement = json!({"Effect": "Allow", "Principal": {"AWS": role}, "Action": "sts:AssumeRole"});
    json!({"Version": "2012-10-17", "Statement": [statement]})
}
