//! The IAM that `towline manifests iam` prints is as little as there can be: whatever is taken out of it breaks something. That
//! it is enough is what all other tests here stand on.

use super::{daemon::plan, tenant::Tenant};
use serde_json::{Value, json};
use std::path::Path;

/// The place of one action in a bundle, as JSON pointers of its statement and of itself.
struct Spot {
    document: String,
    statement: usize,
    action: usize,
}

#[tokio::test]
async fn with_irsa_every_action_that_is_printed_is_needed() {
    let tenant = Tenant::new("needs-irsa").await;
    let bundle = tenant.irsa_bundle();
    every_action_is_needed(&tenant, &bundle, &tenant.irsa()).await;
}

#[tokio::test]
async fn with_pod_identity_every_action_that_is_printed_is_needed() {
    let tenant = Tenant::new("needs-pod").await;
    let bundle = tenant.bundle(&["--follower-trust", "hub-account"]);
    let agent = tenant.agent(&tenant.hub_role());
    every_action_is_needed(&tenant, &bundle, &tenant.pod(&agent)).await;
}

async fn every_action_is_needed(tenant: &Tenant, bundle: &Value, environment: &[(&'static str, String)]) {
    let file = tenant.followers_file(&[0, 1, 2]);
    assert_eq!(unreachable(tenant, bundle, environment, &file).await, json!({}), "as printed");
    let spots = spots(bundle);
    assert!(spots.len() >= 6, "trust and policies of three roles");
    for spot in spots {
        let (less, taken) = without(bundle, &spot);
        let missed = unreachable(tenant, &less, environment, &file).await;
        let missed = missed.as_object().unwrap().len();
        assert!(missed > 0, "{taken} in {} is not needed", spot.document);
    }
}

/// The followers that a Towline that starts with these documents does not reach.
async fn unreachable(tenant: &Tenant, bundle: &Value, environment: &[(&'static str, String)], file: &Path) -> Value {
    tenant.settle(bundle);
    plan(tenant, environment, file).await["unreachable"].clone()
}

fn spots(bundle: &Value) -> Vec<Spot> {
    let followers = 0..bundle["followers"].as_array().unwrap().len();
    let roles = std::iter::once("/hub".to_owned()).chain(followers.map(|index| format!("/followers/{index}")));
    roles.flat_map(|role| documents(bundle, &role)).flat_map(|document| actions(bundle, &document)).collect()
}

/// The trust policy and the permission policies of a role.
fn documents(bundle: &Value, role: &str) -> Vec<String> {
    let policies = bundle.pointer(&format!("{role}/policies")).unwrap().as_object().unwrap();
    let policies = policies.keys().map(|name| format!("{role}/policies/{name}"));
    std::iter::once(format!("{role}/trustPolicy")).chain(policies).collect()
}

fn actions(bundle: &Value, document: &str) -> Vec<Spot> {
    let statements = bundle.pointer(&format!("{document}/Statement")).unwrap().as_array().unwrap();
    let spots = statements.iter().enumerate().flat_map(|(statement, found)| {
        let actions = 0..found["Action"].as_array().unwrap().len();
        actions.map(move |action| Spot { document: document.to_owned(), statement, action })
    });
    spots.collect()
}

/// The bundle without an action, and that action. A statement goes with its last one.
fn without(bundle: &Value, spot: &Spot) -> (Value, Value) {
    let mut less = bundle.clone();
    let statements = less.pointer_mut(&format!("{}/Statement", spot.document)).unwrap().as_array_mut().unwrap();
    let actions = statements[spot.statement]["Action"].as_array_mut().unwrap();
    let taken = actions.remove(spot.action);
    if actions.is_empty() {
        statements.remove(spot.statement);
    }
    (less, taken)
}
