//! Sources that go: what happens to their copies, and when nothing happens to them.

use super::{
    makers::{Maker, secret},
    towline::Towline,
    world::World,
};
use serde_json::Value;

fn key(world: &World, token: &str) -> Maker {
    secret(&world.name, "key").data("token", token)
}

fn start(world: &World, delay: &str) -> Towline {
    Towline::start(world, &world.contexts(&[("a", 0)]), &["--deletion-delay", delay])
}

/// Nothing on it says that it ever was a copy; what it holds is still there.
fn assert_released(object: &Value) {
    assert!(object["metadata"]["labels"].get("towline.dev/origin").is_none(), "{object}");
    let annotations = object["metadata"]["annotations"].as_object();
    let marks = annotations.into_iter().flatten().filter(|(key, _)| key.starts_with("towline.dev/"));
    assert_eq!(marks.count(), 0, "{object}");
    assert_eq!(object["data"]["token"], "b25l");
}

fn is_released(object: &Value) -> bool {
    object["metadata"]["labels"].get("towline.dev/origin").is_none()
}

/// What happened to an object since this version of it.
async fn happened_since(world: &World, follower: usize, object: &Value) -> Vec<String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap();
    let path = format!(
        "/api/v1/namespaces/{}/secrets?watch=1&timeoutSeconds=1&resourceVersion={}&fieldSelector=metadata.name%3D{}",
        text("/metadata/namespace"),
        text("/metadata/resourceVersion"),
        text("/metadata/name"),
    );
    let events = world.followers[follower].kubectl(&["get", "--raw", &path]).await.unwrap();
    let type_of = |line: &str| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned();
    events.lines().map(type_of).collect()
}

#[tokio::test]
async fn a_source_deleted_while_towline_is_down_loses_its_copies_after_the_delay() {
    let world = World::new("departures-down").await;
    let mut towline = start(&world, "4s");
    world.apply(key(&world, "one").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    towline.stop().await;
    world.delete("Secret", "key").await;
    let towline = start(&world, "4s");
    let row = towline.row("a", "key", "DeletionPending").await;
    assert_eq!(row["class"], "Unwitnessed");
    assert!(world.there(0, "Secret", "key").await.is_some());
    world.gone(0, "Secret", "key").await;
}

#[tokio::test]
async fn an_orphan_source_deleted_while_towline_is_down_leaves_its_copies_released() {
    let world = World::new("departures-orphan").await;
    let mut towline = start(&world, "1s");
    world.apply(key(&world, "one").contexts("a").annotation("towline.dev/deletion-policy", "Orphan").build()).await;
    let copy = world.copy(0, "Secret", "key", |_| true).await;
    towline.stop().await;
    world.delete("Secret", "key").await;
    let _towline = start(&world, "1s");
    let released = world.copy(0, "Secret", "key", is_released).await;
    assert_released(&released);
    assert_eq!(released["metadata"]["uid"], copy["metadata"]["uid"]);
}

#[tokio::test]
async fn an_orphan_source_that_loses_its_route_leaves_its_copies_released() {
    let world = World::new("departures-unannotated").await;
    let _towline = start(&world, "1s");
    world.apply(key(&world, "one").contexts("a").annotation("towline.dev/deletion-policy", "Orphan").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    world.apply(key(&world, "one").annotation("towline.dev/deletion-policy", "Orphan").build()).await;
    assert_released(&world.copy(0, "Secret", "key", is_released).await);
}

#[tokio::test]
async fn an_orphan_source_that_loses_all_annotations_leaves_its_copies_released() {
    let world = World::new("departures-bare").await;
    let _towline = start(&world, "1s");
    world.apply(key(&world, "one").contexts("a").annotation("towline.dev/deletion-policy", "Orphan").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    world.apply(key(&world, "one").build()).await;
    assert_released(&world.copy(0, "Secret", "key", is_released).await);
}

#[tokio::test]
async fn a_source_deleted_and_created_again_never_loses_its_copies() {
    let world = World::new("departures-again").await;
    let _towline = start(&world, "30s");
    world.apply(key(&world, "zero").contexts("a").build()).await;
    let first = world.copy(0, "Secret", "key", |_| true).await;
    for (token, encoded) in [("one", "b25l"), ("two", "dHdv"), ("three", "dGhyZWU=")] {
        world.delete("Secret", "key").await;
        world.apply(key(&world, token).contexts("a").build()).await;
        world.copy(0, "Secret", "key", |copy| copy["data"]["token"] == encoded).await;
    }
    let events = happened_since(&world, 0, &first).await;
    assert!(!events.is_empty() && events.iter().all(|event| event == "MODIFIED"), "{events:?}");
}

#[tokio::test]
async fn a_source_that_comes_back_within_the_delay_finds_its_copies_where_they_were() {
    let world = World::new("departures-back").await;
    let towline = start(&world, "600s");
    world.apply(key(&world, "one").contexts("a").build()).await;
    let first = world.copy(0, "Secret", "key", |_| true).await;
    world.delete("Secret", "key").await;
    let row = towline.row("a", "key", "DeletionPending").await;
    assert_eq!(row["class"], "Witnessed");
    world.apply(key(&world, "two").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |copy| copy["data"]["token"] == "dHdv").await;
    assert_eq!(happened_since(&world, 0, &first).await, ["MODIFIED"]);
}

#[tokio::test]
async fn a_source_replaced_while_towline_is_down_keeps_its_copies() {
    let world = World::new("departures-replaced").await;
    let mut towline = start(&world, "0s");
    world.apply(key(&world, "one").contexts("a").build()).await;
    let first = world.copy(0, "Secret", "key", |_| true).await;
    towline.stop().await;
    world.delete("Secret", "key").await;
    world.apply(key(&world, "two").contexts("a").build()).await;
    let _towline = start(&world, "0s");
    world.copy(0, "Secret", "key", |copy| copy["data"]["token"] == "dHdv").await;
    assert_eq!(happened_since(&world, 0, &first).await, ["MODIFIED"]);
}

#[tokio::test]
async fn the_delay_that_a_source_asked_for_outlives_it() {
    let world = World::new("departures-delay").await;
    let mut towline = start(&world, "600s");
    world.apply(key(&world, "one").contexts("a").annotation("towline.dev/deletion-delay", "1s").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    towline.stop().await;
    world.delete("Secret", "key").await;
    let _towline = start(&world, "600s");
    world.gone(0, "Secret", "key").await;
}
