//! Copies that kubed left behind.

use super::{
    makers::{Maker, secret},
    towline::Towline,
    world::World,
};
use serde_json::{Value, json};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const TRACKING: &str = "argocd.argoproj.io/tracking-id";

#[tokio::test]
async fn kubeds_copy_is_adopted_without_a_change_of_data() {
    let world = World::new("kubed-adopted").await;
    let uid = source(&world, "one").await;
    let theirs = kubeds(&world, "one", &uid).annotation(LAST_APPLIED, "{}").annotation(TRACKING, "app:x");
    let theirs = theirs.label("app.kubernetes.io/instance", "app").label("theirs", "yes");
    let old = world.put(0, theirs.annotation("kubed.appscode.com/sync", "app=x").build()).await;
    let mark = world.audit(0).mark();
    let towline = start(&world, &[]);
    let copy = world.copy(0, "Secret", "key", is_ours).await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "InStep").await;
    let meta = &copy["metadata"];
    assert_eq!((&meta["uid"], &copy["data"]), (&old["metadata"]["uid"], &old["data"]));
    for key in [LAST_APPLIED, TRACKING, "kubed.appscode.com/origin"] {
        assert!(meta["annotations"][key].is_null(), "{key}");
    }
    let labels = meta["labels"].as_object().unwrap();
    assert!(labels.keys().all(|key| !key.starts_with("kubed.") && key != "app.kubernetes.io/instance"), "{labels:?}");
    assert_eq!((&labels["theirs"], &meta["annotations"]["kubed.appscode.com/sync"]), (&json!("yes"), &json!("app=x")));
    let writes = world.writes(0, mark).await;
    assert_eq!(writes.len(), 2, "a create that finds kubed's copy, a patch that adopts it: {writes:#?}");
    assert!(writes[1].starts_with("patch "), "{writes:#?}");
}

#[tokio::test]
async fn metadata_that_kubed_copied_is_known_as_the_sources_own() {
    let world = World::new("kubed-metadata").await;
    let uid = source(&world, "one").await;
    world.put(0, kubeds(&world, "one", &uid).label("team", "x").build()).await;
    let _towline = start(&world, &[]);
    world.copy(0, "Secret", "key", is_ours).await;
    world.amend("Secret", "key", json!({"metadata": {"labels": {"team": null}}})).await;
    world.copy(0, "Secret", "key", |copy| copy["metadata"]["labels"]["team"].is_null()).await;
}

#[tokio::test]
async fn kubeds_old_copy_is_adopted_and_brought_in_step() {
    let world = World::new("kubed-old").await;
    let uid = source(&world, "two").await;
    world.put(0, kubeds(&world, "one", &uid).data("dropped", "one").build()).await;
    let _towline = start(&world, &[]);
    let copy = world.copy(0, "Secret", "key", is_ours).await;
    assert_eq!(copy["data"], json!({"token": "dHdv"}));
}

#[tokio::test]
async fn another_hubs_kubed_copy_is_never_touched() {
    let world = World::new("kubed-other").await;
    source(&world, "one").await;
    let theirs = world.put(0, kubeds(&world, "theirs", "11111111-2222-3333-4444-555555555555").build()).await;
    let towline = start(&world, &[]);
    towline.shows("a", &format!("Secret/{}/key", world.name), "Conflict").await;
    world.event("Conflict", |event| event["regarding"]["name"] == "key").await;
    world.apply(secret(&world.name, "later").data("token", "one").contexts("a").build()).await;
    world.copy(0, "Secret", "later", |_| true).await;
    let now = world.there(0, "Secret", "key").await.unwrap();
    assert_eq!(now["metadata"]["resourceVersion"], theirs["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn kubeds_copy_of_a_source_that_was_made_anew_is_adopted_by_name_if_asked() {
    let world = World::new("kubed-by-name").await;
    source(&world, "two").await;
    let old = world.put(0, kubeds(&world, "one", "11111111-2222-3333-4444-555555555555").build()).await;
    let _towline = start(&world, &["--adopt-kubed", "by-name"]);
    let copy = world.copy(0, "Secret", "key", is_ours).await;
    assert_eq!((&copy["metadata"]["uid"], &copy["data"]), (&old["metadata"]["uid"], &json!({"token": "dHdv"})));
}

#[tokio::test]
async fn kubeds_marks_stay_for_a_way_back_if_asked() {
    let world = World::new("kubed-marks").await;
    let uid = source(&world, "one").await;
    let old = world.put(0, kubeds(&world, "one", &uid).annotation(LAST_APPLIED, "{}").build()).await;
    let towline = start(&world, &["--keep-kubed-marks"]);
    let copy = world.copy(0, "Secret", "key", is_ours).await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "InStep").await;
    let origin = "kubed.appscode.com/origin";
    assert_eq!(copy["metadata"]["annotations"][origin], old["metadata"]["annotations"][origin]);
    let labels = old["metadata"]["labels"].as_object().unwrap();
    assert!(labels.iter().all(|(key, value)| copy["metadata"]["labels"][key] == *value), "{copy}");
    assert!(copy["metadata"]["annotations"][LAST_APPLIED].is_null());
}

/// A source with a label; answers its uid.
async fn source(world: &World, token: &str) -> String {
    let source = secret(&world.name, "key").data("token", token).label("team", "x").contexts("a").build();
    world.apply(source).await["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// What kubed makes of it.
fn kubeds(world: &World, token: &str, uid: &str) -> Maker {
    let origin = json!({"namespace": world.name, "name": "key", "uid": uid, "resourceVersion": "1"}).to_string();
    secret(&world.name, "key")
        .data("token", token)
        .label("kubed.appscode.com/origin.name", "key")
        .label("kubed.appscode.com/origin.namespace", &world.name)
        .label("kubed.appscode.com/origin.cluster", "hub")
        .annotation("kubed.appscode.com/origin", &origin)
}

fn start(world: &World, flags: &[&str]) -> Towline {
    Towline::start(world, &world.contexts(&[("a", 0)]), &[&["--cluster-name", "hub"], flags].concat())
}

fn is_ours(copy: &Value) -> bool {
    copy["metadata"]["labels"]["towline.dev/origin"].is_string()
}
